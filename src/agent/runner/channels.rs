//! What work in the background sends to the runner, and the channels for it.

use crate::llm::Provider;
use crate::protocol::ToolBody;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Both ends of a bounded channel: work in the background sends, the runner hears.
pub(super) struct Channel<T> {
    pub tx: mpsc::Sender<T>,
    pub rx: mpsc::Receiver<T>,
}

impl<T> Channel<T> {
    /// An empty one.
    pub fn new(bound: usize) -> Self {
        let (tx, rx) = mpsc::channel(bound);
        Self { tx, rx }
    }
}

/// The result of a call.
pub(super) struct Done {
    /// The number of the step with the call.
    pub batch: u64,
    pub body: Box<ToolBody>,
}

/// A provider that knows the window of its model.
pub(super) struct ModelAnswer {
    /// The model choice that it was asked about.
    pub choice: Option<String>,
    pub provider: Arc<dyn Provider>,
}

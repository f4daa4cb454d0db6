//! Requests of other programs to this window, and who waits for the word of the screen.

use crate::app::Msg;
use crate::app::window::talk::{AskedId, Word};
use crate::engine::{ScreenAsk, ScreenWord};
use std::collections::HashMap;
use tokio::sync::oneshot;

/// Those that are not answered.
#[derive(Default)]
pub struct Talk {
    count: u64,
    waiting: HashMap<AskedId, oneshot::Sender<ScreenWord>>,
}

impl Talk {
    /// A request came: the message for the screen.
    pub fn asked(&mut self, ask: ScreenAsk) -> Msg {
        self.waiting.retain(|_, reply| !reply.is_closed());
        self.count += 1;
        let id = AskedId(self.count);
        self.waiting.insert(id, ask.reply);
        Msg::Window(id, ask.request, ask.by)
    }

    /// The screen has said its word. Whoever asked may have left by now: then nothing happens.
    pub fn answer(&mut self, id: AskedId, word: Word) {
        let Some(reply) = self.waiting.remove(&id) else { return };
        let _ = reply.send(match word {
            Word::CarryOut => ScreenWord::CarryOut,
            Word::Done => ScreenWord::Done,
            Word::Refuse(why) => ScreenWord::Refuse(why),
        });
    }
}

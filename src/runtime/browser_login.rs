//! A login that waits for the browser: one at a time. Both kinds, of providers and of MCP servers, wait in the same way.

use std::future::Future;
use tokio::sync::mpsc;

/// A login that is under way.
#[derive(Default)]
pub struct BrowserLogin {
    task: Option<tokio::task::JoinHandle<()>>,
    pasted: Option<mpsc::Sender<String>>,
}

impl BrowserLogin {
    /// Begins one, which hears the address that the browser ended at; the one before ends.
    pub fn begin<W>(&mut self, login: impl FnOnce(mpsc::Receiver<String>) -> W)
    where
        W: Future<Output = ()> + Send + 'static,
    {
        self.leave();
        let (paste, pasted) = mpsc::channel(1);
        self.pasted = Some(paste);
        self.task = Some(tokio::spawn(login(pasted)));
    }

    /// The address that the browser ended at.
    pub fn came_back(&self, address: String) {
        if let Some(pasted) = &self.pasted {
            // One is waited for; more are of no use.
            let _ = pasted.try_send(address);
        }
    }

    /// Ends it, wherever it is.
    pub fn leave(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
        }
        self.pasted = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_hears_where_the_browser_ended_and_the_next_one_takes_its_place() {
        let mut login = BrowserLogin::default();
        let (said, mut heard) = mpsc::channel(4);
        let wait = |name: &'static str, said: mpsc::Sender<String>| {
            move |mut pasted: mpsc::Receiver<String>| async move {
                let address = pasted.recv().await.unwrap_or_default();
                let _ = said.send(format!("{name} {address}")).await;
            }
        };
        login.begin(wait("first", said.clone()));
        login.begin(wait("second", said.clone()));
        login.came_back("http://localhost/?code=1".into());
        login.came_back("once is enough".into());
        assert_eq!(heard.recv().await.as_deref(), Some("second http://localhost/?code=1"));
        login.begin(wait("third", said));
        login.leave();
        login.came_back("nobody waits".into());
        assert_eq!(heard.recv().await, None, "what was left says nothing");
    }
}

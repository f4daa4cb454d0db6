//! Requests of other programs to this window, and who waits for the word of the screen.

use crate::app::Msg;
use crate::app::window::talk::{AskedId, Word};
use crate::engine::{ScreenAsk, ScreenWord};
use std::collections::HashMap;
use tokio::sync::{mpsc, oneshot};

/// Those that are not answered.
#[derive(Default)]
pub struct Talk {
    count: u64,
    waiting: HashMap<AskedId, oneshot::Sender<ScreenWord>>,
}

impl Talk {
    /// A request came: the message for the screen, which hears when whoever asked has left.
    pub fn asked(&mut self, ask: ScreenAsk, screen: &mpsc::Sender<Msg>) -> Msg {
        self.waiting.retain(|_, word| !word.is_closed());
        self.count += 1;
        let id = AskedId(self.count);
        let (word, said) = oneshot::channel();
        self.waiting.insert(id, word);
        let (mut reply, screen) = (ask.reply, screen.clone());
        tokio::spawn(async move {
            tokio::select! {
                Ok(word) = said => drop(reply.send(word)),
                // The screen is gone: nobody waits.
                () = reply.closed() => drop(screen.send(Msg::WindowGone(id)).await),
            }
        });
        Msg::Window(id, ask.request, ask.by)
    }

    /// The screen has said its word. Whoever asked may have left by now: then nothing happens.
    pub fn answer(&mut self, id: AskedId, word: Word) {
        let Some(waits) = self.waiting.remove(&id) else { return };
        let _ = waits.send(match word {
            Word::CarryOut => ScreenWord::CarryOut,
            Word::Done => ScreenWord::Done,
            Word::Refuse(why) => ScreenWord::Refuse(why),
        });
    }
}

//! Requests of other programs to this window, and who waits for the word of the screen.

use crate::app::Msg;
use crate::app::window::talk::{AskedId, Word};
use crate::engine::{Engine, ScreenAsk};
use crate::protocol::{WindowReply, WindowRequest};
use std::collections::HashMap;
use tokio::sync::oneshot;

/// Those that are not answered.
#[derive(Default)]
pub struct Talk {
    count: u64,
    waiting: HashMap<AskedId, (WindowRequest, oneshot::Sender<WindowReply>)>,
}

impl Talk {
    /// A request came: the message for the screen.
    pub fn asked(&mut self, ask: ScreenAsk) -> Msg {
        self.waiting.retain(|_, (_, reply)| !reply.is_closed());
        self.count += 1;
        let id = AskedId(self.count);
        self.waiting.insert(id, (ask.request.clone(), ask.reply));
        Msg::Window(id, ask.request, ask.by)
    }

    /// The screen has said its word.
    pub fn answer(&mut self, id: AskedId, word: Word, engine: &Engine) {
        let Some((request, reply)) = self.waiting.remove(&id) else { return };
        let engine = engine.clone();
        tokio::spawn(async move {
            let said = match word {
                Word::CarryOut => engine.carry_out(request).await,
                Word::Done => WindowReply::Done,
                Word::Refuse(why) => WindowReply::Refused(why),
            };
            // Who asked has left.
            let _ = reply.send(said);
        });
    }
}

//! Questions of programs to the user: passwords and other answers, on a terminal or through the helper. An answer goes to
//! the program that asked and nowhere else.

use crate::exec::process::hub::Hub;
use crate::exec::process::record::Process;
use crate::exec::{Exec, Hidden, ProcessEvent, ProcessId};
use crate::lock::lock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::oneshot;

/// Counts up within a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AskId(pub u64);

/// A program wants something that only the person can say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    pub id: AskId,
    /// The command of ours that it belongs to.
    pub process: ProcessId,
    /// That command's line.
    pub command: String,
    /// The name of the program that asks: of its file, not what it calls itself.
    pub who: String,
    /// That file, where it can be seen.
    pub path: Option<String>,
    /// Its own words, one line, control characters made visible.
    pub prompt: String,
    /// What is typed is not shown.
    pub masked: bool,
    /// It asks once more: the answer before was not taken.
    pub again: bool,
    /// It is none of the programs that are known to ask for passwords, as the system has them, and either asks with our
    /// helper or has the name of one.
    pub stranger: bool,
}

/// Where an answer goes.
pub(in crate::exec) enum Answer {
    /// Typed into the terminal.
    Terminal,
    /// To the helper; `None`: the person gives none.
    Helper(oneshot::Sender<Option<Hidden>>),
}

/// What is open.
#[derive(Default)]
pub(crate) struct Asks {
    open: Mutex<Vec<Open>>,
    numbers: AtomicU64,
}

struct Open {
    id: AskId,
    process: Arc<Process>,
    answer: Answer,
    masked: bool,
}

/// A question before it has a number.
pub(in crate::exec) struct Wanted {
    pub(in crate::exec) who: String,
    pub(in crate::exec) path: Option<String>,
    pub(in crate::exec) prompt: String,
    pub(in crate::exec) masked: bool,
    pub(in crate::exec) again: bool,
    pub(in crate::exec) stranger: bool,
}

impl Hub {
    /// Shows a question to the person.
    pub(in crate::exec) fn ask(&self, process: &Arc<Process>, wanted: Wanted, answer: Answer) -> AskId {
        let id = AskId(self.asks.numbers.fetch_add(1, Ordering::Relaxed) + 1);
        let Wanted { who, path, prompt, masked, again, stranger } = wanted;
        if matches!(answer, Answer::Helper(_)) {
            lock(&process.life).helpers += 1;
            process.phase.send_modify(|phase| phase.asking += 1);
        }
        lock(&self.asks.open).push(Open { id, process: Arc::clone(process), answer, masked });
        let ask = Ask {
            id,
            process: process.id.clone(),
            command: process.command.clone(),
            who,
            path,
            prompt,
            masked,
            again,
            stranger,
        };
        self.outbox.post(ProcessEvent::Asks(ask));
        self.tell(process);
        id
    }

    /// Nobody waits for an answer any more.
    pub(super) fn unask(&self, id: AskId) {
        if let Some(open) = self.take(id) {
            self.tell(&open.process);
        }
    }

    /// What this process asked on its terminal is over: it goes on, or has ended.
    pub(in crate::exec) fn unask_terminal(&self, process: &Process) {
        let of_it = |open: &&Open| matches!(open.answer, Answer::Terminal) && open.process.id == process.id;
        let ids: Vec<AskId> = lock(&self.asks.open).iter().filter(of_it).map(|open| open.id).collect();
        for id in ids {
            self.take(id);
        }
    }

    /// Whether it asks on its terminal already.
    pub(in crate::exec) fn asks_on_terminal(&self, process: &Process) -> bool {
        lock(&self.asks.open)
            .iter()
            .any(|open| matches!(open.answer, Answer::Terminal) && open.process.id == process.id)
    }

    fn take(&self, id: AskId) -> Option<Open> {
        let open = {
            let mut all = lock(&self.asks.open);
            let at = all.iter().position(|open| open.id == id)?;
            all.remove(at)
        };
        if matches!(open.answer, Answer::Helper(_)) {
            let mut life = lock(&open.process.life);
            life.helpers = life.helpers.saturating_sub(1);
            drop(life);
            open.process.phase.send_modify(|phase| phase.asking = phase.asking.saturating_sub(1));
        }
        self.outbox.post(ProcessEvent::AskClosed(open.process.id.clone(), id));
        Some(open)
    }
}

impl Exec {
    /// The person answers; `None`: they do not want to, and the program is told so. A question that is over is left.
    pub fn answer(&self, id: AskId, text: Option<Hidden>) {
        let Some(open) = self.hub.take(id) else { return };
        if let Some(secret) = text.as_ref().filter(|_| open.masked) {
            self.hub.learn(secret);
        }
        match open.answer {
            // The helper is gone: it was ended meanwhile.
            Answer::Helper(sender) => drop(sender.send(text)),
            Answer::Terminal => {
                crate::exec::terminal::waiting::typed(&self.hub, &open.process, text.as_ref(), open.masked)
            }
        }
        self.hub.tell(&open.process);
    }

    /// Passwords that a person types are masked wherever these values are, as soon as they are typed.
    pub fn masks_in(&self, secrets: crate::policy::redact::Secrets) {
        // Only the first counts: there is one such list in a program.
        self.hub.secrets.set(secrets).ok();
    }
}

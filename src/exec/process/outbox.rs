//! Events on their way to the UI: merged while it is busy, so that memory is bounded and nothing important is lost.

use super::record::Process;
use crate::exec::{ProcessEvent, ProcessInfo};
use crate::lock::lock;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::mpsc::Sender;
use tokio::sync::mpsc::error::TrySendError;

/// Sends at once when there is room; keeps the newest of each kind for each process otherwise.
pub(crate) struct Outbox {
    sender: Sender<ProcessEvent>,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    events: VecDeque<ProcessEvent>,
    /// A thread waits for room.
    sending: bool,
}

impl Outbox {
    pub(crate) fn new(sender: Sender<ProcessEvent>) -> Self {
        Self { sender, waiting: Mutex::default() }
    }

    /// Never blocks. Order is kept; a receiver that is gone is ignored.
    pub(crate) fn post(self: &Arc<Self>, event: ProcessEvent) {
        self.queue(lock(&self.waiting), event);
    }

    /// Posts the row of a process as it is at this place in the order: two threads that tell of one process must not
    /// overtake each other with what they saw before, or a row that has ended would run again on the screen for ever. Call
    /// it without a lock of that process.
    pub(crate) fn row(self: &Arc<Self>, kind: fn(ProcessInfo) -> ProcessEvent, process: &Process) {
        let waiting = lock(&self.waiting);
        let event = kind(process.info());
        self.queue(waiting, event);
    }

    fn queue(self: &Arc<Self>, mut waiting: MutexGuard<'_, Waiting>, event: ProcessEvent) {
        if waiting.events.is_empty() && !waiting.sending {
            match self.sender.try_send(event) {
                Ok(()) | Err(TrySendError::Closed(_)) => return,
                Err(TrySendError::Full(event)) => waiting.events.push_back(event),
            }
        } else {
            merge(&mut waiting.events, event);
        }
        if !waiting.sending {
            waiting.sending = true;
            let outbox = Arc::clone(self);
            let started = std::thread::Builder::new().name("exec-events".into()).spawn(move || outbox.send_waiting());
            if let Err(error) = started {
                tracing::error!("process events are delayed until the next one: {error}");
                waiting.sending = false;
            }
        }
    }

    fn send_waiting(&self) {
        loop {
            let event = {
                let mut waiting = lock(&self.waiting);
                match waiting.events.pop_front() {
                    Some(event) => event,
                    None => {
                        waiting.sending = false;
                        return;
                    }
                }
            };
            if self.sender.blocking_send(event).is_err() {
                let mut waiting = lock(&self.waiting);
                waiting.events.clear();
                waiting.sending = false;
                return;
            }
        }
    }
}

/// Adds an event to those that wait, replacing what it makes old.
fn merge(events: &mut VecDeque<ProcessEvent>, event: ProcessEvent) {
    use ProcessEvent::{Changed, Exited, Screen, Started};
    let place = events.iter().rposition(|old| {
        old.process() == event.process()
            && matches!(
                (old, &event),
                (Started(_) | Changed(_), Changed(_)) | (Changed(_), Exited(_)) | (Screen(..), Screen(..))
            )
    });
    match (place.map(|at| &mut events[at]), event) {
        (Some(Started(old)), Changed(new)) => *old = new,
        (Some(old), new) => *old = new,
        (None, new) => events.push_back(new),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::{ProcessId, ProcessState};
    use crate::text::Snapshot;

    fn info(name: &str, bytes: u64) -> ProcessInfo {
        ProcessInfo {
            task: "s".into(),
            id: ProcessId(name.into()),
            command: "x".into(),
            cwd: "/".into(),
            pid: 1,
            background: false,
            started_at: 0,
            state: ProcessState::Running,
            port: None,
            output_bytes: bytes,
            vitals: crate::exec::Vitals::default(),
        }
    }

    #[test]
    fn a_slow_reader_gets_the_newest_of_each() {
        let mut events = VecDeque::new();
        let screen = |columns| {
            ProcessEvent::Screen(ProcessId("a".into()), Arc::new(Snapshot { columns, ..Snapshot::default() }))
        };
        for event in [
            ProcessEvent::Started(info("a", 0)),
            ProcessEvent::Changed(info("a", 1)),
            screen(1),
            ProcessEvent::Started(info("b", 0)),
            screen(2),
            ProcessEvent::Changed(info("a", 2)),
            ProcessEvent::Exited(info("a", 3)),
            ProcessEvent::Exited(info("b", 4)),
        ] {
            merge(&mut events, event);
        }
        assert_eq!(
            events,
            [
                ProcessEvent::Started(info("a", 2)),
                screen(2),
                ProcessEvent::Started(info("b", 0)),
                ProcessEvent::Exited(info("a", 3)),
                ProcessEvent::Exited(info("b", 4)),
            ]
        );
    }

    #[test]
    fn everything_important_arrives_through_a_full_channel() {
        let (sender, mut receiver) = tokio::sync::mpsc::channel(1);
        let outbox = Arc::new(Outbox::new(sender));
        for n in 0..100 {
            outbox.post(ProcessEvent::Started(info(&format!("p{n}"), 0)));
            outbox.post(ProcessEvent::Exited(info(&format!("p{n}"), 1)));
        }
        let mut exited = 0;
        while exited < 100 {
            if let Some(ProcessEvent::Exited(_)) = receiver.blocking_recv() {
                exited += 1;
            }
        }
    }
}

//! Real shells and terminals: what every promise of this room looks like from outside.

mod commands;
#[cfg(target_os = "linux")]
mod kin;
mod life;
mod many;
mod output;
mod panes;
mod recording;
mod rows;
mod start;
mod table;
mod waits;

use super::*;
use crate::text::Snapshot;
use std::future::Future;
use std::time::Duration;
use tokio::sync::mpsc;

const DEADLINE: Duration = Duration::from_secs(20);

struct Room {
    exec: Exec,
    events: mpsc::Receiver<ProcessEvent>,
    folder: tempfile::TempDir,
}

fn room() -> Room {
    room_with(|_| {})
}

fn room_with(change: impl FnOnce(&mut ExecOptions)) -> Room {
    let folder = tempfile::tempdir().unwrap();
    let mut options = ExecOptions {
        spill: folder.path().join("spill"),
        login_env: false,
        term_grace: Duration::from_millis(300),
        ..ExecOptions::default()
    };
    change(&mut options);
    let (exec, events) = Exec::new(options);
    Room { exec, events, folder }
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, future).await.expect("it takes too long")
}

impl Room {
    fn spawn(&self, command: &str) -> Spawn {
        Spawn {
            sandbox: None,
            command: command.into(),
            cwd: self.folder.path().canonicalize().unwrap(),
            pty: false,
            background: false,
            task: "t".into(),
            size: (80, 24),
            headless: false,
        }
    }

    async fn start(&self, command: &str) -> Running {
        self.exec.start(self.spawn(command)).await.unwrap()
    }

    async fn background(&self, command: &str, pty: bool) -> Running {
        let mut spawn = self.spawn(command);
        (spawn.background, spawn.pty) = (true, pty);
        self.exec.start(spawn).await.unwrap()
    }

    fn info(&self, running: &Running) -> ProcessInfo {
        self.exec.last_output(&running.id, 0).unwrap().info
    }

    async fn run(&self, command: &str) -> Finished {
        finished(&self.start(command).await).await
    }

    /// Waits for an event that fits.
    async fn event(&mut self, what: &str, mut fits: impl FnMut(&ProcessEvent) -> bool) -> ProcessEvent {
        let found = async {
            loop {
                let event = self.events.recv().await.expect("events go on");
                if fits(&event) {
                    return event;
                }
            }
        };
        match tokio::time::timeout(DEADLINE, found).await {
            Ok(event) => event,
            Err(_) => panic!("no event: {what}"),
        }
    }

    /// Waits for a screen that holds `text`.
    async fn screen(&mut self, text: &str) -> std::sync::Arc<Snapshot> {
        let event = self
            .event(text, |event| match event {
                ProcessEvent::Screen(_, snapshot) => shown(snapshot).contains(text),
                _ => false,
            })
            .await;
        match event {
            ProcessEvent::Screen(_, snapshot) => snapshot,
            _ => unreachable!(),
        }
    }
}

async fn finished(running: &Running) -> Finished {
    match soon(running.wait()).await {
        Waited::Finished(finished) => finished,
        Waited::Moved(output) => panic!("moved: {output:?}"),
    }
}

fn text(finished: &Finished) -> String {
    String::from_utf8_lossy(&finished.output.head).into_owned()
}

fn text_of(running: &Running) -> String {
    String::from_utf8_lossy(&running.captured().head).into_owned()
}

fn shown(snapshot: &Snapshot) -> String {
    let rows = snapshot.rows.iter().map(|l| l.spans.iter().map(|s| s.text.as_str()).collect::<String>());
    rows.collect::<Vec<_>>().join("\n")
}

fn alive(pid: &str) -> bool {
    // A zombie that nobody waits for is dead as well.
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|s| !s.contains(") Z "))
}

async fn until(what: &str, mut done: impl FnMut() -> bool) {
    let waiting = async {
        while !done() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(DEADLINE, waiting).await.is_ok(), "never: {what}");
}

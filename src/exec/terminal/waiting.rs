//! Waiting for input: when a command does, what follows from it, and whose the keyboard is.
//!
//! A command is only looked at after its output stopped, and then at times that are twice as far apart each time.

use super::blocked;
use super::input::Kind;
use crate::exec::askpass::asks::{Answer, Wanted};
use crate::exec::process::handle::Running;
use crate::exec::process::hub::Hub;
use crate::exec::process::process_identity;
use crate::exec::process::process_identity::Program;
use crate::exec::process::record::{Phase, Process};
use crate::exec::{Exec, ExecError, Hidden, ProcessEvent, ProcessId};
use crate::lock::lock;
use crate::text::clean::clean;
use crate::text::screen::Screen;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// Bytes of the pane that a look at its screen reads.
const LAST: u64 = 16 * 1024;
/// Characters of a prompt.
const PROMPT: usize = 200;

/// What a command shows that has stopped printing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Shown {
    /// The line with the cursor, when it is not empty: a prompt stands there.
    prompt: Option<String>,
    /// The program has the whole screen.
    alternate: bool,
}

/// How the terminal of a command treats keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Modes {
    /// Keys arrive one by one, not line by line.
    pub(crate) raw: bool,
    pub(crate) echo: bool,
}

/// Whether it waits for input, and the number of the process that does.
///
/// A program that waits for keys only until it paints again (`top`, `watch`) asks nothing: it waits when it has stayed silent
/// for longer than that.
fn waits(readers: &blocked::Readers, shown: &Shown, modes: Modes, silent: Duration) -> Option<u32> {
    let secret = !modes.echo && !modes.raw;
    let prompted = shown.prompt.is_some() || shown.alternate;
    if readers.reads.is_some() {
        return readers.reads;
    }
    // What waits for several things may wait for another one: a prompt says which.
    if let Some((pid, limit)) = readers.polls.filter(|_| prompted)
        && limit.is_none_or(|limit| silent > limit)
    {
        return Some(pid);
    }
    // Nobody turns the echo off and stops after a prompt for anything else.
    let guessed = if cfg!(target_os = "linux") { secret && shown.prompt.is_some() } else { prompted };
    readers.unseen.filter(|_| guessed)
}

/// Looks at a silent process. `true`: what its row tells has changed.
pub(crate) fn look(hub: &Hub, process: &Arc<Process>) -> bool {
    if crate::exec::process::stopped::look(process) {
        // It reads nothing, whatever it waited in.
        lock(&process.life).needs_input = false;
        went_on(hub, process);
        return false;
    }
    let left: Vec<u32> = lock(&process.kin).iter().map(|one| one.pid).collect();
    let (readers, modes) = {
        let tty = lock(&process.tty);
        let Some(tty) = tty.as_ref() else { return false };
        (blocked::readers(process.pid, &left, tty.foreground(), &tty.name), tty.key_modes())
    };
    let shown = shown(hub, process);
    let last = process.last_output.load(Ordering::Relaxed);
    let silent = Duration::from_millis(u64::try_from(crate::exec::now_ms() - last).unwrap_or(0));
    let found = waits(&readers, &shown, modes, silent);
    let secret = found.is_some() && !modes.echo && !modes.raw;
    let changed = {
        let mut life = lock(&process.life);
        std::mem::replace(&mut life.needs_input, found.is_some()) != found.is_some()
    };
    let asks = secret || hub.asks_person.load(Ordering::Relaxed) && !modes.raw && !shown.alternate;
    match found {
        Some(pid) if asks => {
            if !hub.asks_on_terminal(process) {
                let prompt = shown.prompt.clone().unwrap_or_default();
                let program = process_identity::of(pid);
                let stranger = program.pretends();
                let Program { name: who, path, .. } = program;
                let wanted = Wanted { who, path, prompt, masked: secret, again: false, stranger };
                hub.ask(process, wanted, Answer::Terminal);
            }
        }
        _ => hub.unask_terminal(process),
    }
    process.phase.send_if_modified(|phase| {
        let now = (needs_input(process), secret);
        std::mem::replace(&mut (phase.waits, phase.secret), now) != now && {
            (phase.waits, phase.secret) = now;
            true
        }
    });
    changed
}

fn needs_input(process: &Process) -> bool {
    lock(&process.life).needs_input
}

/// It printed, or has ended: it does not wait any more.
pub(crate) fn went_on(hub: &Hub, process: &Process) {
    hub.unask_terminal(process);
    process.phase.send_if_modified(|phase| std::mem::take(&mut phase.waits) | std::mem::take(&mut phase.secret));
}

/// The end of what the pane of a process shows.
fn screen(hub: &Hub, process: &Process) -> Screen {
    let bytes = {
        let out = lock(&process.out);
        let end = out.pane_end();
        out.pane_bytes(end.saturating_sub(LAST).max(out.pane_begin()), end)
    };
    let (columns, rows) = hub.size_of(process);
    let mut screen = Screen::new(columns, rows);
    screen.feed_lines(&bytes);
    screen
}

fn shown(hub: &Hub, process: &Process) -> Shown {
    let screen = screen(hub, process);
    let (column, row) = screen.cursor();
    let line = rows(&screen).into_iter().nth(usize::from(row)).unwrap_or_default();
    let line = line.trim();
    let prompt = (column > 0 && !line.is_empty()).then(|| line.chars().take(PROMPT).collect());
    Shown { prompt, alternate: screen.alternate() }
}

fn rows(screen: &Screen) -> Vec<String> {
    let rows = screen.snapshot().rows;
    rows.iter().map(|row| row.spans.iter().map(|span| span.text.as_str()).collect()).collect()
}

/// Types an answer to a question on the terminal; without one the program is interrupted. A secret is typed only while the
/// terminal does not show it: it is looked at here, and once more when the keys are typed.
pub(in crate::exec) fn typed(hub: &Hub, process: &Process, text: Option<&Hidden>, masked: bool) {
    let shows = lock(&process.tty).as_ref().is_none_or(|tty| tty.key_modes().echo);
    if text.is_some() && masked && shows {
        return held_back(hub, process);
    }
    // Before the keys: the program may end as soon as it has them.
    lock(&process.life).typed = true;
    let result = match text {
        None => process.type_in(b"\x03", Kind::Person),
        Some(text) if masked => {
            let mut bytes = Vec::with_capacity(text.reveal().len() + 1);
            bytes.extend_from_slice(text.reveal().as_bytes());
            bytes.push(b'\r');
            process.type_secret(bytes)
        }
        Some(text) => process.type_in(format!("{}\r", text.reveal()).as_bytes(), Kind::Person),
    };
    if let Err(error) = result {
        tracing::debug!("{error}");
    }
}

/// A secret was not typed: the terminal would have shown it.
pub(super) fn held_back(hub: &Hub, process: &Process) {
    let words = "password not sent: the program now echoes input".to_owned();
    hub.outbox.post(ProcessEvent::Told(process.id.clone(), words));
}

impl Running {
    /// Comes back when this much time has passed in which nobody else had the command in hand: while the person types into
    /// it, or is asked for a password, time stands still.
    pub async fn time(&self, limit: Duration) {
        passed(self.process.phase.subscribe(), limit).await;
    }

    /// Comes back when it waits for input that the agent could give: nothing secret, and nobody types into it.
    pub async fn wants_input(&self) {
        let mut phase = self.process.phase.subscribe();
        let free = |phase: &Phase| phase.waits && !phase.secret && !phase.is_in_hand();
        if phase.wait_for(free).await.is_err() {
            std::future::pending().await
        }
    }

    /// Whether it was stopped (Ctrl-Z) when it went to the background.
    pub fn was_stopped(&self) -> bool {
        self.process.phase.borrow().stopped
    }

    /// Whether the person typed into it.
    pub fn was_typed_into(&self) -> bool {
        lock(&self.process.life).typed
    }
}

/// Waits for the sum of times in which the command was left alone.
async fn passed(mut phase: watch::Receiver<Phase>, limit: Duration) {
    let mut left = limit;
    loop {
        // The sender lives as long as the process is known; without it nothing can be held.
        reached(&mut phase, |phase| !phase.is_in_hand()).await;
        let began = Instant::now();
        tokio::select! {
            () = tokio::time::sleep(left) => return,
            true = reached(&mut phase, Phase::is_in_hand) => left = left.saturating_sub(began.elapsed()),
        }
    }
}

/// Waits for this; `false`: nothing changes any more.
async fn reached(phase: &mut watch::Receiver<Phase>, wanted: impl FnMut(&Phase) -> bool) -> bool {
    phase.wait_for(wanted).await.is_ok()
}

impl Exec {
    /// The person has the keys of this process, or of none.
    pub(in crate::exec) fn hold_keys(&self, id: Option<&ProcessId>) {
        for process in self.hub.all() {
            let held = Some(&process.id) == id;
            process.phase.send_if_modified(|phase| std::mem::replace(&mut phase.held, held) != held);
            // At once, not with the first key: a program that is told of another size while it reads may lose that key.
            if held && process.is_watched() {
                process.fit(None, *lock(&self.hub.size));
            }
        }
    }

    /// Comes back when the person does not type into it (any more): until then it is theirs alone.
    pub async fn handed_back(&self, id: &ProcessId) -> Result<(), ExecError> {
        let process = self.hub.find(id)?;
        let mut phase = process.phase.subscribe();
        reached(&mut phase, |phase| !phase.held || phase.exited).await;
        Ok(())
    }

    /// As [`Running::time`], for a tracked process.
    pub async fn time(&self, id: &ProcessId, limit: Duration) -> Result<(), ExecError> {
        let process = self.hub.find(id)?;
        passed(process.phase.subscribe(), limit).await;
        Ok(())
    }

    /// Whether programs that wait for input ask the person by a question (`terminal.on_input: ask-user`).
    pub fn ask_person(&self, asks: bool) {
        self.hub.asks_person.store(asks, Ordering::Relaxed);
    }

    /// The end of what the terminal of a process shows, without empty lines around it.
    pub fn last_screen(&self, id: &ProcessId) -> Result<String, ExecError> {
        let process = self.hub.find(id)?;
        let screen = screen(&self.hub, &process);
        let text = rows(&screen).iter().map(|row| row.trim_end()).collect::<Vec<_>>().join("\n");
        Ok(clean(text.trim_matches('\n').as_bytes()))
    }
}

impl Hub {
    /// From now on this is masked wherever secrets are.
    pub(in crate::exec) fn learn(&self, secret: &Hidden) {
        if let Some(secrets) = self.secrets.get() {
            secrets.keep(secret.reveal().to_owned());
        }
    }

    /// The row of a process may have changed.
    pub(in crate::exec) fn tell(&self, process: &Process) {
        process.changed();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blocked::Readers;

    #[test]
    fn who_waits_for_input() {
        let prompt = |text: &str| Shown { prompt: Some(text.into()), alternate: false };
        let (empty, full) = (Shown::default(), Shown { prompt: None, alternate: true });
        let reads = || Readers { reads: Some(1), ..Readers::default() };
        let polls = || Readers { polls: Some((2, None)), ..Readers::default() };
        let paints = |seconds| Readers { polls: Some((2, Some(Duration::from_secs(seconds)))), ..Readers::default() };
        let unseen = || Readers { unseen: Some(3), ..Readers::default() };
        let (lines, keys) = (Modes { raw: false, echo: true }, Modes { raw: true, echo: false });
        let hidden = Modes { raw: false, echo: false };
        for (readers, shown, modes, want) in [
            (Readers::default(), prompt("building"), lines, None),
            (Readers::default(), prompt("Password:"), hidden, None),
            // A read of the terminal is one, whatever is shown.
            (reads(), prompt("name?"), lines, Some(1)),
            (reads(), empty.clone(), lines, Some(1)),
            // What waits for events needs a prompt or the whole screen.
            (polls(), prompt(">>>"), keys, Some(2)),
            (polls(), prompt("name?"), lines, Some(2)),
            (polls(), full.clone(), keys, Some(2)),
            (polls(), empty.clone(), keys, None),
            // What paints by itself waits for nobody; what only looks around in between does.
            (paints(3), full.clone(), keys, None),
            (paints(3), prompt("top - 12:00"), keys, None),
            (paints(0), prompt(">>>"), keys, Some(2)),
            // Another user's process: only a password is certain.
            (unseen(), prompt("[sudo] password:"), hidden, Some(3)),
            (unseen(), prompt("Get:1 http"), lines, (!cfg!(target_os = "linux")).then_some(3)),
            (unseen(), empty, hidden, None),
        ] {
            assert_eq!(waits(&readers, &shown, modes, Duration::from_secs(1)), want, "{readers:?} {shown:?} {modes:?}");
        }
    }

    #[tokio::test]
    async fn time_stands_still_while_somebody_has_it_in_hand() {
        let sender = watch::Sender::new(Phase::default());
        let over = |limit| passed(sender.subscribe(), limit);
        over(Duration::ZERO).await;
        for (hold, release) in [
            (sender_set(|phase| phase.held = true), sender_set(|phase| phase.held = false)),
            (sender_set(|phase| phase.asking = 1), sender_set(|phase| phase.asking = 0)),
        ] {
            hold(&sender);
            let mut waiting = std::pin::pin!(over(Duration::ZERO));
            assert!(futures::poll!(&mut waiting).is_pending());
            release(&sender);
            waiting.await;
        }
    }

    fn sender_set(change: fn(&mut Phase)) -> impl Fn(&watch::Sender<Phase>) {
        move |sender| sender.send_modify(change)
    }
}

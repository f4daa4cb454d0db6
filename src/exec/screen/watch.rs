//! What the watched process shows. One thread while something is watched; it sleeps until output comes.

use super::view::View;
use crate::exec::process::outbox::Outbox;
use crate::exec::process::record::Process;
use crate::exec::process::usage;
use crate::exec::{ProcessEvent, ProcessId, Scroll, Way};
use crate::lock::lock;
use crate::text::Snapshot;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// At most one screen in this time: a frame at 60 Hz.
const FRAME: Duration = Duration::from_millis(16);
/// How often it is looked at what a process uses that is shown and at work.
const USAGE: Duration = Duration::from_secs(2);

/// The watched process, if any.
#[derive(Default)]
pub(crate) struct Screens {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    target: Option<Arc<Process>>,
    size: (u16, u16),
    /// Not yet carried out, oldest first.
    scroll: Vec<Scroll>,
    /// First and last line of text that is asked for.
    lines: Option<(i64, i64)>,
    /// Words that are looked for.
    find: Option<(String, Way)>,
    dirty: bool,
    /// The thread runs.
    running: bool,
}

impl Screens {
    /// Shows `target` at `size` (columns, rows), or nothing.
    pub(crate) fn watch(self: &Arc<Self>, target: Option<Arc<Process>>, size: (u16, u16), outbox: &Arc<Outbox>) {
        let mut state = lock(&self.state);
        let same = match (&state.target, &target) {
            (Some(old), Some(new)) => Arc::ptr_eq(old, new),
            _ => false,
        };
        if !same {
            if let Some(old) = &state.target {
                old.watchers.fetch_sub(1, Ordering::Relaxed);
            }
            if let Some(new) = &target {
                new.watchers.fetch_add(1, Ordering::Relaxed);
            }
            state.scroll.clear();
            (state.lines, state.find) = (None, None);
        }
        if let Some(process) = &target {
            if process.phase.borrow().held {
                process.fit(None, size);
            }
            process.resize(size);
            process.rouse();
        }
        state.target = target;
        state.size = size;
        state.dirty = true;
        if state.target.is_some() && !state.running {
            state.running = true;
            let (screens, outbox) = (Arc::clone(self), Arc::clone(outbox));
            let started = std::thread::Builder::new().name("exec-screen".into()).spawn(move || screens.run(&outbox));
            if let Err(error) = started {
                tracing::error!("no thread for the terminal pane: {error}");
                state.running = false;
            }
        }
        drop(state);
        self.wake.notify_all();
    }

    /// Moves the view of the watched process.
    pub(crate) fn scroll(&self, id: &ProcessId, scroll: Scroll) {
        let mut state = lock(&self.state);
        if state.target.as_ref().is_some_and(|t| t.id == *id) {
            state.scroll.push(scroll);
            state.dirty = true;
            drop(state);
            self.wake.notify_all();
        }
    }

    /// Sends lines of the watched process.
    pub(crate) fn lines(&self, id: &ProcessId, lines: (i64, i64)) {
        let mut state = lock(&self.state);
        if state.target.as_ref().is_some_and(|t| t.id == *id) {
            state.lines = Some(lines);
            state.dirty = true;
            drop(state);
            self.wake.notify_all();
        }
    }

    /// Looks for words from the line that was found last, or from the end.
    pub(crate) fn find(&self, id: &ProcessId, words: &str, way: Way) {
        let mut state = lock(&self.state);
        if state.target.as_ref().is_some_and(|t| t.id == *id) {
            state.find = Some((words.to_owned(), way));
            state.dirty = true;
            drop(state);
            self.wake.notify_all();
        }
    }

    /// A process was started again: its new run is shown where the old one was.
    pub(crate) fn replaced(&self, new: &Arc<Process>) {
        let mut state = lock(&self.state);
        if let Some(old) = state.target.as_mut().filter(|old| old.id == new.id) {
            old.watchers.fetch_sub(1, Ordering::Relaxed);
            new.watchers.fetch_add(1, Ordering::Relaxed);
            *old = Arc::clone(new);
            state.dirty = true;
            drop(state);
            self.wake.notify_all();
        }
    }

    /// A process printed.
    pub(crate) fn touch(&self, id: &ProcessId) {
        let mut state = lock(&self.state);
        if !state.dirty && state.target.as_ref().is_some_and(|t| t.id == *id) {
            state.dirty = true;
            drop(state);
            self.wake.notify_all();
        }
    }

    /// Shows nothing any more; the thread ends.
    pub(crate) fn stop(&self) {
        let mut state = lock(&self.state);
        if let Some(old) = state.target.take() {
            old.watchers.fetch_sub(1, Ordering::Relaxed);
        }
        state.dirty = true;
        drop(state);
        self.wake.notify_all();
    }

    fn run(&self, outbox: &Arc<Outbox>) {
        self.rounds(&mut |shown, work, began| round(shown, work, began, outbox));
    }

    /// One round of work after the other, at most one a frame, until nothing is shown any more.
    fn rounds(&self, round: &mut dyn FnMut(&mut Option<Shown>, Work, Instant)) {
        let mut shown: Option<Shown> = None;
        while let Some(work) = self.work(shown.as_ref().and_then(|s| s.look_at)) {
            let began = Instant::now();
            let (target, size) = (Arc::clone(&work.target), work.size);
            let end = lock(&target.out).pane_end();
            if catch_unwind(AssertUnwindSafe(|| round(&mut shown, work, began))).is_err() {
                tracing::error!("the screen of {} stopped early", target.id.0);
                // What it broke at is not read again: the pane goes on with what comes next.
                shown = Some(Shown::after(end, target, size));
            }
            self.rest_of_frame(began);
        }
    }

    /// The next thing to do: something changed, or it is time to look at what the process uses. `None`: nothing is shown
    /// any more.
    fn work(&self, look_at: Option<Instant>) -> Option<Work> {
        let mut state = lock(&self.state);
        while !state.dirty {
            state = match look_at.map(|at| at.saturating_duration_since(Instant::now())) {
                Some(Duration::ZERO) => break,
                Some(left) => self.wake.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
                None => self.wake.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
        state.dirty = false;
        let Some(target) = state.target.clone() else {
            state.running = false;
            return None;
        };
        let scroll = std::mem::take(&mut state.scroll);
        Some(Work { target, size: state.size, scroll, lines: state.lines.take(), find: state.find.take() })
    }

    /// Waits until a frame has passed. Only a change of the target ends it early.
    fn rest_of_frame(&self, began: Instant) {
        let mut state = lock(&self.state);
        while let Some(left) = FRAME.checked_sub(began.elapsed())
            && state.target.is_some()
        {
            state = self.wake.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// What a pane waits for.
struct Work {
    target: Arc<Process>,
    size: (u16, u16),
    scroll: Vec<Scroll>,
    lines: Option<(i64, i64)>,
    find: Option<(String, Way)>,
}

/// The process in a pane.
struct Shown {
    process: Arc<Process>,
    view: View,
    last: Option<Arc<Snapshot>>,
    /// When to look at what it uses, and when that was done last.
    look_at: Option<Instant>,
    looked: Option<Instant>,
}

impl Shown {
    fn new(process: Arc<Process>, view: View) -> Self {
        Self { process, view, last: None, look_at: None, looked: None }
    }

    /// Without what was printed before this position of the pane's stream.
    fn after(position: u64, process: Arc<Process>, size: (u16, u16)) -> Self {
        let mut view = View::new(size);
        view.fed = position;
        Self::new(process, view)
    }
}

/// Does what is to be done, and shows what has changed.
fn round(shown: &mut Option<Shown>, work: Work, began: Instant, outbox: &Arc<Outbox>) {
    let Work { target, size, scroll, lines, find } = work;
    let fits = |s: &Shown| Arc::ptr_eq(&s.process, &target) && (s.view.size == size || s.view.screen.alternate());
    if !shown.as_ref().is_some_and(fits) {
        // Another size lays the lines out anew; the reader stays as far above the end as before.
        let before = shown.take().filter(|s| Arc::ptr_eq(&s.process, &target));
        let mut view = View::new(size);
        view.feed(&target);
        view.scroll(Scroll::AuditBy(before.as_ref().map_or(0, |s| s.view.back())));
        *shown = Some(Shown::new(target, view));
    }
    let Some(Shown { process, view, last, look_at, looked }) = shown else { return };
    if view.size != size {
        view.screen.resize(size);
        view.size = size;
    }
    view.feed(process);
    for scroll in scroll {
        view.scroll(scroll);
    }
    if let Some((words, way)) = find {
        let found = view.find(process, &words, way);
        outbox.post(ProcessEvent::Found(process.id.clone(), found));
    }
    let snapshot = view.show(process);
    if last.as_deref() != Some(&snapshot) {
        let snapshot = Arc::new(snapshot);
        *last = Some(Arc::clone(&snapshot));
        outbox.post(ProcessEvent::Screen(process.id.clone(), snapshot));
    }
    if let Some((first, last)) = lines {
        outbox.post(ProcessEvent::Lines(process.id.clone(), Arc::new(view.lines(process, first, last))));
    }
    if looked.is_none_or(|at| at.elapsed() >= USAGE) {
        *looked = Some(began);
        // While it works it is looked at again; one that sleeps is left alone until it prints.
        *look_at = look(process).then(|| began + USAGE);
    }
}

/// Looks at what a process uses and tells when that changed. Whether it works.
fn look(process: &Arc<Process>) -> bool {
    let before = process.info().vitals.usage;
    usage::look(std::slice::from_ref(process));
    let now = process.info().vitals.usage;
    if now != before {
        process.changed();
    }
    now.is_some_and(|usage| usage.processor > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::{Exec, ExecOptions, Spawn};

    #[tokio::test]
    async fn a_screen_that_breaks_off_goes_on_with_what_comes_next() {
        let folder = tempfile::tempdir().unwrap();
        let spill = folder.path().join("spill");
        let (exec, _events) = Exec::new(ExecOptions { spill, login_env: false, ..ExecOptions::default() });
        let spawn = Spawn {
            command: "echo first; read x; echo second; read x".into(),
            cwd: folder.path().to_owned(),
            pty: true,
            background: true,
            task: "t".into(),
            size: (20, 4),
            headless: false,
            sandbox: None,
        };
        let process = exec.start(spawn).await.unwrap().process;
        let screens = Arc::new(Screens::default());
        // The thread is this test's.
        lock(&screens.state).running = true;
        screens.watch(Some(Arc::clone(&process)), (20, 4), &exec.hub.outbox);
        let (tell, told) = std::sync::mpsc::channel();
        let thread = {
            let (screens, outbox) = (Arc::clone(&screens), Arc::clone(&exec.hub.outbox));
            std::thread::spawn(move || {
                screens.rounds(&mut |shown, work, began| {
                    round(shown, work, began, &outbox);
                    let rows = shown.as_ref().unwrap().last.as_ref().unwrap().rows.clone();
                    let text: String = rows.iter().map(crate::text::Line::text).collect();
                    tell.send(text.clone()).unwrap();
                    assert!(!text.contains("first"), "a parser that cannot take this");
                });
            })
        };
        let shows = |word: &str| {
            let deadline = Instant::now() + Duration::from_secs(20);
            while !told.recv_timeout(Duration::from_secs(20)).unwrap().contains(word) {
                assert!(Instant::now() < deadline, "never: {word}");
                screens.touch(&process.id);
            }
        };
        shows("first");
        process.type_in(b"\r", crate::exec::terminal::input::Kind::Other).unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        while !process.captured().head.ends_with(b"second\n") {
            assert!(Instant::now() < deadline, "{:?}", process.captured());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        screens.touch(&process.id);
        shows("second");
        screens.stop();
        thread.join().unwrap();
        exec.shutdown(true).await;
    }
}

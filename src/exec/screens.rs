//! What the watched process shows. One thread while something is watched; it sleeps until output comes.

use super::glass::Glass;
use super::outbox::Outbox;
use super::process::{Process, lock};
use super::search::Hits;
use super::{Hit, LINES, ProcessEvent, ProcessId, Scroll, Way, usage};
use crate::text::Snapshot;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// At most one screen in this time: a frame at 60 Hz.
const FRAME: Duration = Duration::from_millis(16);
/// Bytes of lines that one frame parses: more than any screen holds.
const LINE_BYTES: u64 = 64 * 1024;
/// Bytes of a program that lays out for the pane that one frame parses; what prints faster is not read by a person.
const LAYOUT_BYTES: u64 = 256 * 1024;

/// How often it is looked at what a process uses that is shown and at work.
const USAGE: Duration = Duration::from_secs(2);

/// What the terminal of a process shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Sight {
    pub rows: Vec<String>,
    /// Columns and rows.
    pub size: (u16, u16),
    /// Column and row; `None` when hidden.
    pub cursor: Option<(u16, u16)>,
    pub title: String,
    /// The program has the whole screen.
    pub alternate: bool,
}

impl Sight {
    /// The screen of a process as a terminal of this size shows it.
    pub(crate) fn of(process: &Process, size: (u16, u16)) -> Self {
        let snapshot = emulated(process, size).seen().0;
        let text = |line: &crate::text::Line| line.spans.iter().map(|span| span.text.as_str()).collect::<String>();
        let mut rows: Vec<String> = snapshot.rows.iter().map(|line| text(line).trim_end().to_owned()).collect();
        let last = rows.iter().rposition(|row| !row.is_empty()).map_or(0, |at| at + 1);
        rows.truncate(last);
        Self { rows, size, cursor: snapshot.cursor, title: snapshot.title, alternate: snapshot.alternate }
    }
}

/// Whether a program asked for application cursor keys.
pub(crate) fn application_keys(process: &Process, size: (u16, u16)) -> bool {
    emulated(process, size).modes().application_cursor
}

/// The screen after everything that is in memory of the pane's stream, as far as one frame parses.
fn emulated(process: &Process, size: (u16, u16)) -> Glass {
    let mut view = View::new(size);
    view.feed(process);
    view.screen
}

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
                tracing::error!("the screen of {} broke off", target.id.0);
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
        view.scroll(Scroll::By(before.as_ref().map_or(0, |s| s.view.back())));
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

/// The emulated screen of one process.
struct View {
    size: (u16, u16),
    screen: Glass,
    /// Its program has ended, and the screen shows it.
    settled: bool,
    /// Position in the pane's stream up to which it was fed.
    fed: u64,
    /// Line feeds that went by: the number of the line that is being printed.
    lines: i64,
    /// The number of the line in the last row; `None` follows the end.
    anchor: Option<i64>,
    /// The number of the line that was found last.
    found: Option<i64>,
    /// The lines with the words that were looked for last.
    hits: Option<Hits>,
}

impl View {
    fn new(size: (u16, u16)) -> Self {
        Self { size, screen: Glass::new(size), settled: false, fed: 0, lines: 0, anchor: None, found: None, hits: None }
    }

    fn feed(&mut self, process: &Process) {
        let over = process.over();
        let (bytes, from, fitted) = {
            let out = lock(&process.out);
            let most = if out.fitted.is_some() { LAYOUT_BYTES } else { LINE_BYTES };
            let end = out.pane_end();
            let mut from = self.fed.max(out.pane_begin());
            let skip = from > self.fed || end - from > most;
            if skip {
                // Lines that nobody counted went by: the numbers of those before them are others now.
                (self.hits, self.found) = (None, None);
            }
            from = from.max(end.saturating_sub(most));
            self.fed = end;
            let mut bytes = out.pane_bytes(from, end);
            // What was skipped ends with a line, or escapes would be cut in two.
            if skip && let Some(at) = bytes.iter().position(|&b| b == b'\n') {
                bytes.drain(..=at);
                from = end - bytes.len() as u64;
            }
            (bytes, from, out.fitted)
        };
        self.lines += bytes.iter().filter(|&&b| b == b'\n').count() as i64;
        self.screen.feed(&bytes, from, fitted);
        if over && !self.settled {
            self.settled = true;
            self.screen.settle();
        }
    }

    /// Lines between the last one shown and the end.
    fn back(&self) -> i64 {
        self.anchor.map_or(0, |anchor| (self.lines - anchor).max(0))
    }

    fn scroll(&mut self, scroll: Scroll) {
        self.anchor = match scroll {
            Scroll::Follow => None,
            Scroll::Hold => Some(self.anchor.unwrap_or(self.lines)),
            Scroll::By(up) => {
                let to = self.anchor.unwrap_or(self.lines).saturating_sub(up);
                (to < self.lines).then_some(to)
            }
        };
    }

    /// Moves to the next line with these words, which comes to stand in the middle.
    fn find(&mut self, process: &Process, words: &str, way: Way) -> Option<Hit> {
        if self.screen.alternate() {
            return None;
        }
        let mut hits = self.hits.take().filter(|hits| hits.are_of(words)).unwrap_or_else(|| {
            self.found = None;
            Hits::new(words)
        });
        hits.look(&lock(&process.out), self.lines);
        let next = hits.next(self.found, way);
        self.hits = Some(hits);
        let (line, hit) = next?;
        self.found = Some(line);
        self.scroll(Scroll::Follow);
        self.scroll(Scroll::By(self.lines - line - i64::from(self.size.1 / 2)));
        Some(hit)
    }

    fn show(&mut self, process: &Process) -> Snapshot {
        if self.screen.alternate() {
            // It has no history: what it shows is all there is.
            self.anchor = None;
            return Snapshot { last_line: i64::from(self.size.1) - 1, ..self.screen.seen().0 };
        }
        match usize::try_from(self.back()) {
            Ok(0) | Err(_) => self.at(&self.screen, 0),
            Ok(wanted) => {
                let (screen, back) = earlier(process, self.size, wanted, self.fed);
                // Near the beginning it cannot go back as far.
                self.anchor = Some(self.lines - back as i64);
                let snapshot = self.at(&screen, back);
                // Of a flood only the end was counted: that more lines are above is known by having reached them.
                let scrollback = if back < wanted { 0 } else { snapshot.scrollback.max(1) };
                Snapshot { cursor: None, scrollback, modes: self.screen.modes(), ..snapshot }
            }
        }
    }

    /// The lines from `first` to `last` on a screen of their own; a line that is not the last one printed has ended.
    fn lines(&self, process: &Process, first: i64, last: i64) -> Snapshot {
        let last = last.min(first.saturating_add(LINES - 1)).min(self.lines);
        let rows = u16::try_from((last - first + 1).clamp(1, LINES) * 2).unwrap_or(u16::MAX);
        let size = (self.size.0, rows);
        let wanted = usize::try_from(self.lines - last).unwrap_or(0);
        let (screen, back) = earlier(process, size, wanted, self.fed);
        self.at(&screen, back)
    }

    /// The snapshot of a screen that ends `below` lines above the end.
    fn at(&self, screen: &Glass, below: usize) -> Snapshot {
        let (snapshot, cursor) = screen.seen();
        let at = self.lines - below as i64;
        let under = snapshot.wrapped.iter().skip(usize::from(cursor.1));
        // The last row ends no line that another row follows.
        let rest = under.take(snapshot.wrapped.len().saturating_sub(usize::from(cursor.1) + 1));
        let last_line = at + rest.filter(|wrapped| !**wrapped).count() as i64;
        let snapshot = Snapshot { below, last_line, ..snapshot };
        let first = snapshot.places().first().map_or(0, |place| place.line);
        Snapshot { scrollback: usize::try_from(first).unwrap_or(0), ..snapshot }
    }
}

/// The screen as it was before the last `lines` lines, and how many lines back that is (less near the beginning).
/// Reads backwards from `end` through memory and the spill file.
fn earlier(process: &Process, size: (u16, u16), lines: usize, end: u64) -> (Glass, usize) {
    let out = lock(&process.out);
    let wanted = lines + usize::from(size.1);
    // Positions of line feeds, from the last one on.
    let mut feeds: Vec<u64> = Vec::new();
    let mut at = end;
    while feeds.len() < wanted && at > 0 {
        let from = at.saturating_sub(LINE_BYTES);
        let bytes = out.pane_bytes(from, at);
        if bytes.is_empty() {
            break;
        }
        let from = at - bytes.len() as u64;
        feeds.extend(bytes.iter().enumerate().rev().filter(|(_, b)| **b == b'\n').map(|(i, _)| from + i as u64));
        at = from;
    }
    let back =
        if feeds.len() < wanted { lines.min((feeds.len() + 1).saturating_sub(usize::from(size.1))) } else { lines };
    let cut = if back == 0 { end } else { feeds.get(back - 1).copied().unwrap_or(end) };
    let from =
        feeds.get(back + usize::from(size.1) * 2).map_or(at, |feed| feed + 1).max(cut.saturating_sub(LINE_BYTES));
    let bytes = out.pane_bytes(from, cut);
    let fitted = out.fitted;
    drop(out);
    let mut screen = Glass::for_lines(size, &bytes);
    screen.feed(&bytes, from, fitted);
    (screen, back)
}

/// A screen that is read at places of the pane's stream, one after the other.
pub(crate) struct Reading {
    screen: Glass,
    /// Up to where it was fed.
    upto: u64,
}

impl Reading {
    pub(crate) fn new(size: (u16, u16)) -> Self {
        Self { screen: Glass::new(size), upto: 0 }
    }

    /// The screen after the stream up to `position`, which is not before the last one.
    pub(crate) fn at(&mut self, process: &Process, position: u64) -> &Glass {
        let (bytes, from, fitted) = {
            let out = lock(&process.out);
            let from = position.saturating_sub(LINE_BYTES).max(out.pane_begin()).max(self.upto);
            (out.pane_bytes(from, position), from, out.fitted)
        };
        self.screen.feed(&bytes, from, fitted);
        self.upto = position;
        &self.screen
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Exec, ExecOptions, Spawn};
    use super::*;

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
        process.type_in(b"\r").unwrap();
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

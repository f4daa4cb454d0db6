//! What the agent is told of background processes by itself: that one ended, that a pattern appeared.

use super::record::Process;
use crate::exec::terminal::plain::plain_rest;
use crate::exec::{Exit, ProcessId};
use crate::lock::lock;
use crate::policy::redact::{RedactKind, redact};
use crate::text::clean::clean;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// At most one match notice of a process in this time.
const COOLDOWN: Duration = Duration::from_secs(15);
/// Cooldowns in a row with matches in them, after which a pattern is noise.
const STRIKES: u32 = 3;
/// Lines and characters of one match notice.
const LINES: usize = 20;
const CHARACTERS: usize = 2000;
/// Match notices of all processes in `BREAKER_WINDOW`, after which all pause for `BREAKER_PAUSE`.
const BREAKER: usize = 15;
const BREAKER_WINDOW: Duration = Duration::from_secs(10);
const BREAKER_PAUSE: Duration = Duration::from_secs(30);
/// Characters of output in the notice of an end.
const TAIL: usize = 2000;
/// Notices that may wait for the agent, and how many of them are kept free for ends.
const ROOM: usize = 256;
const ROOM_FOR_ENDS: usize = 64;

/// Something to tell the agent at the next step boundary, or in a new turn when it is idle.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// A process ended that was started with `notify_on_complete`.
    Completed {
        id: ProcessId,
        task: String,
        command: String,
        exit: Exit,
        /// The end of its output, clean, at most 2,000 characters.
        tail: String,
    },
    /// Lines with a watched pattern.
    Matched {
        id: ProcessId,
        task: String,
        command: String,
        pattern: String,
        lines: String,
        /// Matching lines since the last notice that were not told.
        suppressed: u64,
    },
}

/// How secrets in the output of a command are masked; `None`: not at all, the configuration says so.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mask(Option<RedactKind>);

impl Mask {
    pub(crate) fn of(command: &str, masks: bool) -> Self {
        Self(masks.then(|| RedactKind::of_command(command)))
    }

    fn apply(self, text: &str) -> Cow<'_, str> {
        self.0.map_or(Cow::Borrowed(text), |kind| redact(text, kind))
    }
}

impl Notice {
    /// The task whose process it is about.
    pub(crate) fn task(&self) -> &str {
        match self {
            Notice::Completed { task, .. } | Notice::Matched { task, .. } => task,
        }
    }

    pub(crate) fn completed(process: &Process, exit: Exit, output: &[u8], masks: bool) -> Self {
        let output = plain_rest(output);
        let output = Mask::of(&process.command, masks).apply(&output);
        Self::Completed {
            id: process.id.clone(),
            task: process.owner(),
            command: process.command.clone(),
            exit,
            tail: whole_lines(&output, last_characters(&output, TAIL)).to_owned(),
        }
    }
}

/// The end of a text from its first whole line on, where it has one.
fn whole_lines<'a>(text: &str, end: &'a str) -> &'a str {
    let before = text.trim_end().len() - end.len();
    let is_cut = before > 0 && !text[..before].ends_with('\n');
    end.split_once('\n').filter(|(_, rest)| is_cut && !rest.is_empty()).map_or(end, |(_, rest)| rest)
}

/// The end of a text, at most `count` characters.
pub(crate) fn last_characters(text: &str, count: usize) -> &str {
    let text = text.trim_end();
    let start = text.char_indices().rev().nth(count.saturating_sub(1)).map_or(0, |(at, _)| at);
    &text[start..]
}

/// The channel to the agent, and the bound on how much all processes together may say.
pub(crate) struct Notices {
    /// Who listens, by task.
    listeners: Mutex<HashMap<String, mpsc::Sender<Notice>>>,
    breaker: Mutex<Breaker>,
}

#[derive(Debug, Default)]
struct Breaker {
    recent: Vec<Instant>,
    paused_until: Option<Instant>,
}

impl Notices {
    pub(crate) fn new() -> Self {
        Self { listeners: Mutex::default(), breaker: Mutex::default() }
    }

    /// The notices of a task from now on; who listened before hears no more.
    pub(crate) fn of(&self, task: &str) -> mpsc::Receiver<Notice> {
        let (sender, receiver) = mpsc::channel(ROOM);
        let mut listeners = lock(&self.listeners);
        listeners.retain(|_, listener| !listener.is_closed());
        listeners.insert(task.to_owned(), sender);
        receiver
    }

    /// Whether somebody listens to a task: a session does as long as it is open.
    pub(crate) fn are_heard(&self, task: &str) -> bool {
        lock(&self.listeners).get(task).is_some_and(|listener| !listener.is_closed())
    }

    /// Never blocks. A task that nobody listens to is told nothing; when its listener is slow, matches go first.
    pub(crate) fn post(&self, notice: Notice) {
        let Some(listener) = lock(&self.listeners).get(notice.task()).cloned() else { return };
        if matches!(notice, Notice::Matched { .. }) && listener.capacity() <= ROOM_FOR_ENDS {
            return;
        }
        if let Err(error) = listener.try_send(notice) {
            tracing::warn!("could not deliver a background process notice: {error}");
        }
    }

    /// Whether one more match may be told now.
    fn allow(&self, now: Instant) -> bool {
        let mut breaker = lock(&self.breaker);
        if breaker.paused_until.is_some_and(|until| now < until) {
            return false;
        }
        breaker.paused_until = None;
        breaker.recent.retain(|at| now.duration_since(*at) < BREAKER_WINDOW);
        if breaker.recent.len() >= BREAKER {
            breaker.paused_until = Some(now + BREAKER_PAUSE);
            return false;
        }
        breaker.recent.push(now);
        true
    }
}

/// Watches one process for substrings, line by line.
#[derive(Debug)]
pub(crate) struct Matches {
    patterns: Vec<String>,
    /// The unfinished last line.
    partial: Vec<u8>,
    last: Option<Instant>,
    suppressed: u64,
    strikes: u32,
    struck: bool,
}

/// A match to tell.
#[derive(Debug, PartialEq)]
pub(crate) struct Found {
    pub(crate) pattern: String,
    pub(crate) lines: String,
    pub(crate) suppressed: u64,
    /// It matched all the time: it is watched no more, its end is told instead.
    pub(crate) gave_up: bool,
}

impl Matches {
    pub(crate) fn new(patterns: Vec<String>) -> Self {
        Self { patterns, partial: Vec::new(), last: None, suppressed: 0, strikes: 0, struck: false }
    }

    /// Takes new output; returns what may be told now.
    pub(crate) fn take(&mut self, bytes: &[u8], now: Instant, notices: &Notices, mask: Mask) -> Option<Found> {
        self.partial.extend_from_slice(bytes);
        let end = self.partial.iter().rposition(|&b| b == b'\n')? + 1;
        let text = clean(&self.partial[..end]);
        self.partial.drain(..end);
        // A line that never ends is not kept.
        self.partial.truncate(64 * 1024);
        let mut first = None;
        let mut lines: Vec<&str> = Vec::new();
        for line in text.lines() {
            if let Some(pattern) = self.patterns.iter().find(|p| line.contains(p.as_str())) {
                first.get_or_insert_with(|| pattern.clone());
                lines.push(line);
            }
        }
        let pattern = first?;
        let cooling = self.last.is_some_and(|last| now.duration_since(last) < COOLDOWN);
        if cooling || !notices.allow(now) {
            self.suppressed += lines.len() as u64;
            self.struck |= cooling;
            return None;
        }
        self.strikes = if std::mem::take(&mut self.struck) { self.strikes + 1 } else { 0 };
        self.last = Some(now);
        let extra = lines.len().saturating_sub(LINES) as u64;
        lines.truncate(LINES);
        // Masked before the cut: half a key is no key to the rules.
        let lines: String = mask.apply(&lines.join("\n")).chars().take(CHARACTERS).collect();
        let suppressed = std::mem::take(&mut self.suppressed) + extra;
        Some(Found { pattern, lines, suppressed, gave_up: self.strikes >= STRIKES })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: Mask = Mask(Some(RedactKind::Code));

    #[test]
    fn one_notice_in_a_cooldown_and_none_for_noise() {
        let notices = Notices::new();
        let mut matches = Matches::new(vec!["ERROR".into(), "ready".into()]);
        let start = Instant::now();
        assert_eq!(matches.take(b"fine\nERR", start, &notices, CODE), None);
        let found = matches.take(b"OR one\nok\nready two\n", start, &notices, CODE).unwrap();
        assert_eq!((found.pattern.as_str(), found.lines.as_str()), ("ERROR", "ERROR one\nready two"));
        for window in 1..=3u32 {
            let at = start + COOLDOWN * window;
            assert_eq!(matches.take(b"ERROR again\n", at - Duration::from_secs(1), &notices, CODE), None);
            let found = matches.take(b"ERROR next\n", at, &notices, CODE).unwrap();
            assert_eq!((found.suppressed, found.gave_up), (1, window == 3), "{window}");
        }
    }

    #[test]
    fn matches_tell_no_keys() {
        let key = format!("sk-{}", "a1".repeat(20));
        let line = format!("ERROR {key}\nERROR TOKEN=plainwords\n");
        let told = |mask| {
            let mut matches = Matches::new(vec!["ERROR".into()]);
            matches.take(line.as_bytes(), Instant::now(), &Notices::new(), mask).unwrap().lines
        };
        let code = told(CODE);
        assert!(code.starts_with("ERROR ") && !code.contains(&key) && code.contains("plainwords"), "{code}");
        let dump = told(Mask::of("env | sort", true));
        assert!(!dump.contains(&key) && !dump.contains("plainwords"), "{dump}");
        assert_eq!(told(Mask::of("env", false)), line.trim_end(), "the configuration says so");
    }

    #[test]
    fn all_together_are_bounded() {
        let notices = Notices::new();
        let now = Instant::now();
        let told =
            (0..100).filter(|_| Matches::new(vec!["x".into()]).take(b"x\n", now, &notices, CODE).is_some()).count();
        assert_eq!(told, BREAKER);
        let later = now + BREAKER_PAUSE + Duration::from_secs(1);
        assert!(Matches::new(vec!["x".into()]).take(b"x\n", later, &notices, CODE).is_some());
    }

    #[test]
    fn tails_end_on_characters() {
        assert_eq!(last_characters("héllo\n", 4), "éllo");
        assert_eq!(last_characters("ab", 10), "ab");
        for (text, count, end) in
            [("one\ntwo\nthree\n", 7, "three"), ("one\ntwo", 3, "two"), ("one\ntwo", 99, "one\ntwo"), ("long", 2, "ng")]
        {
            assert_eq!(whole_lines(text, last_characters(text, count)), end, "{text:?} {count}");
        }
    }
}

//! Files that one part of a line reads while another may still write them: in the background, in the other parts of a pipe, in
//! the next round of a loop, from a named pipe. Such a line is walked once more, with what it writes there from the beginning.

use crate::policy::shell::programs::decode::Stream;
use crate::policy::shell::read::ast::Script;
use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::state::State;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Paths that are remembered.
const MAX_PATHS: usize = 256;

/// Times that a line is walked again: what it writes may read what is written later.
const MAX_ROUNDS: usize = 3;

/// What was looked for too early.
#[derive(Default)]
pub(in crate::policy::shell) struct Late {
    /// Parts that run beside others, around the one that runs.
    beside: usize,
    /// Where such a part looked for what a file holds.
    sought: RefCell<HashSet<String>>,
    /// What was written there afterwards.
    written: HashMap<String, Stream>,
    /// The same, while the line is walked once more.
    given: HashMap<String, Stream>,
}

impl Late {
    /// Notes that a path was looked at.
    pub(in crate::policy::shell) fn seek(&self, path: &str) {
        let mut sought = self.sought.borrow_mut();
        if self.beside > 0 && sought.len() < MAX_PATHS && !sought.contains(path) {
            sought.insert(path.to_owned());
        }
    }

    /// What a path holds that is written now.
    pub(in crate::policy::shell) fn write(&mut self, path: &str, stream: Stream) -> Stream {
        if let Some(given) = self.given.get(path) {
            let both = given.either(&stream);
            let holds = |text: &String| given.text.as_ref().is_some_and(|known| known.contains(text.trim_end()));
            if stream.text.as_ref().is_some_and(|text| !holds(text)) {
                self.written.insert(path.to_owned(), both.clone());
            }
            return both;
        }
        if self.sought.borrow().contains(path) {
            let both = self.written.get(path).map_or_else(|| stream.clone(), |known| known.either(&stream));
            self.written.insert(path.to_owned(), both);
        }
        stream
    }
}

impl Walker<'_> {
    /// Runs a part of the line that does not wait for the others.
    pub(in crate::policy::shell) fn beside<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        self.late.beside += 1;
        let out = work(self);
        self.late.beside -= 1;
        out
    }

    /// Walks the line again where that may say something else. What it says no more of is not noted twice.
    pub(in crate::policy::shell) fn once_more(&mut self, script: &Script) {
        let known: HashSet<String> = self.findings.iter().map(|finding| finding.effect.clone()).collect();
        let kept = (self.findings.len(), self.invocations.len(), self.touched.len(), self.payloads.len());
        for _ in 0..MAX_ROUNDS {
            if self.late.written.is_empty() {
                break;
            }
            let written = std::mem::take(&mut self.late.written);
            self.late.given.extend(written);
            let files = Rc::new(self.late.given.clone());
            let again = State { cwds: vec![self.start.clone()], files, ..State::default() };
            let state = std::mem::replace(&mut self.state, again);
            self.current = None;
            self.whole(script);
            self.state = state;
            self.current = None;
        }
        if self.findings[kept.0..].iter().all(|finding| known.contains(&finding.effect)) {
            self.findings.truncate(kept.0);
            self.invocations.truncate(kept.1);
            self.brought.truncate(kept.1);
            self.touched.truncate(kept.2);
            self.payloads.truncate(kept.3);
        }
    }
}

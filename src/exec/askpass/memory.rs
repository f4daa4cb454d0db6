//! The password of `sudo`, for a while: in memory only, by task, and for no other `sudo` than those of a line that was judged
//! and rewritten here.
//!
//! A command whose line has such a `sudo` gets a word of its own in its environment (a *pass*), which is good while the
//! command runs, for as many `sudo`s as the line has.

use crate::exec::procfs::Identity;
use crate::exec::{Hidden, ProcessId, process::lock};
use std::collections::HashMap;
use std::io::{self, Read};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The variable with the pass of a command.
pub(in crate::exec) const PASS: &str = "HERMES_SUDO_PASS";
/// A password that nobody needed for so long is wiped; `sudo` itself forgets as soon.
const KEPT: Duration = Duration::from_secs(300);

/// What is known of passwords of `sudo`.
#[derive(Default)]
pub(in crate::exec) struct Passwords {
    /// Of the environment, for all.
    configured: Option<Hidden>,
    tasks: Mutex<HashMap<String, Kept>>,
    passes: Mutex<HashMap<ProcessId, Pass>>,
}

#[derive(Default)]
struct Kept {
    /// With the time when it was of use last.
    password: Option<(Hidden, Instant)>,
    /// The `sudo` that was answered last: when it asks again the answer was wrong.
    told: Option<Identity>,
    /// The configured one was wrong.
    refused: bool,
}

struct Pass {
    word: Hidden,
    /// How many more may use it.
    left: usize,
    used: Vec<Identity>,
}

#[derive(Debug, PartialEq)]
pub(super) enum Known {
    Answer(Hidden),
    /// What it was told was wrong.
    Wrong,
    Nothing,
}

impl Passwords {
    pub(in crate::exec) fn new(configured: Option<Hidden>) -> Self {
        Self { configured, ..Self::default() }
    }

    /// Gives this command a pass for so many `sudo`s; the one that it had before is void.
    ///
    /// # Errors
    /// The system has no random bytes.
    pub(in crate::exec) fn admit(&self, id: &ProcessId, sudos: usize) -> io::Result<Hidden> {
        let mut bytes = [0; 16];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let word = Hidden::new(format!("{:032x}", u128::from_ne_bytes(bytes)));
        lock(&self.passes).insert(id.clone(), Pass { word: word.clone(), left: sudos, used: Vec::new() });
        Ok(word)
    }

    /// This command has ended: its pass is void.
    pub(in crate::exec) fn dismiss(&self, id: &ProcessId) {
        lock(&self.passes).remove(id);
    }

    /// Whether this `sudo` may use the pass of this command: again, or as one of those that the line has.
    pub(super) fn admits(&self, id: &ProcessId, word: &str, sudo: Identity) -> bool {
        let mut passes = lock(&self.passes);
        let Some(pass) = passes.get_mut(id).filter(|pass| pass.word.reveal() == word) else { return false };
        if pass.used.contains(&sudo) {
            return true;
        }
        let Some(left) = pass.left.checked_sub(1) else { return false };
        pass.left = left;
        pass.used.push(sudo);
        true
    }

    pub(super) fn known(&self, task: &str, sudo: Identity, now: Instant) -> Known {
        self.expire(now);
        let mut tasks = lock(&self.tasks);
        let kept = tasks.entry(task.to_owned()).or_default();
        if kept.told == Some(sudo) {
            kept.refused |= kept.password.take().is_none();
            return Known::Wrong;
        }
        let configured = self.configured.as_ref().filter(|_| !kept.refused);
        let found = match &mut kept.password {
            Some((password, used)) => {
                *used = now;
                Some(password.clone())
            }
            None => configured.cloned(),
        };
        match found {
            Some(password) => {
                kept.told = Some(sudo);
                Known::Answer(password)
            }
            None => Known::Nothing,
        }
    }

    pub(super) fn keep(&self, task: &str, sudo: Identity, password: Hidden, now: Instant) {
        let mut tasks = lock(&self.tasks);
        let kept = tasks.entry(task.to_owned()).or_default();
        (kept.password, kept.told) = (Some((password, now)), Some(sudo));
    }

    /// The `sudo` that was told last did not take it and gave up.
    pub(super) fn was_wrong(&self, task: &str, sudo: Identity) {
        if let Some(kept) = lock(&self.tasks).get_mut(task).filter(|kept| kept.told == Some(sudo)) {
            kept.refused |= kept.password.take().is_none();
        }
    }

    /// Wipes what was of no use for long; returns when there is something to wipe next.
    pub(super) fn expire(&self, now: Instant) -> Option<Instant> {
        let mut tasks = lock(&self.tasks);
        let ends = tasks.values_mut().filter_map(|kept| {
            let end = kept.password.as_ref()?.1 + KEPT;
            if end <= now {
                kept.password = None;
                return None;
            }
            Some(end)
        });
        ends.min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(text: &str) -> Hidden {
        Hidden::new(text.into())
    }

    fn sudo(pid: u32) -> Identity {
        Identity { pid, start: 100 + u64::from(pid) }
    }

    #[test]
    fn a_wrong_password_is_asked_for_again() {
        let passwords = Passwords::new(None);
        let now = Instant::now();
        let known = |task: &str, pid| passwords.known(task, sudo(pid), now);
        assert_eq!(known("a", 1), Known::Nothing);
        passwords.keep("a", sudo(1), hidden("one"), now);
        // Another sudo of the session gets it; another session does not.
        assert_eq!(known("a", 2), Known::Answer(hidden("one")));
        assert_eq!(known("b", 2), Known::Nothing);
        // The same sudo asks again: it was wrong, and the next one is not told it either.
        assert_eq!(known("a", 2), Known::Wrong);
        assert_eq!(known("a", 3), Known::Nothing);
        // One that gave up at once.
        passwords.keep("a", sudo(4), hidden("two"), now);
        passwords.was_wrong("a", sudo(3));
        assert_eq!(known("a", 5), Known::Answer(hidden("two")), "that was another one");
        passwords.was_wrong("a", sudo(5));
        assert_eq!(known("a", 6), Known::Nothing);
    }

    #[test]
    fn the_configured_one_answers_until_it_is_wrong() {
        let passwords = Passwords::new(Some(hidden("env")));
        let now = Instant::now();
        let known = |pid| passwords.known("a", sudo(pid), now);
        assert_eq!(known(1), Known::Answer(hidden("env")));
        assert_eq!(known(1), Known::Wrong);
        assert_eq!(known(2), Known::Nothing, "the configured one was wrong");
        passwords.keep("a", sudo(2), hidden("typed"), now);
        assert_eq!(known(3), Known::Answer(hidden("typed")));
    }

    #[test]
    fn it_is_wiped_when_nobody_needs_it() {
        let passwords = Passwords::new(None);
        let start = Instant::now();
        let second = Duration::from_secs(1);
        assert_eq!(passwords.expire(start), None);
        passwords.keep("a", sudo(1), hidden("one"), start);
        assert_eq!(passwords.expire(start), Some(start + KEPT));
        // Each use counts from anew.
        let later = start + KEPT - second;
        assert_eq!(passwords.known("a", sudo(2), later), Known::Answer(hidden("one")));
        assert_eq!(passwords.expire(start + KEPT), Some(later + KEPT));
        assert_eq!(passwords.expire(later + KEPT), None);
        assert_eq!(passwords.known("a", sudo(3), later + KEPT), Known::Nothing);
        // Without anybody that wiped it, it is not given either.
        passwords.keep("a", sudo(3), hidden("two"), start);
        assert_eq!(passwords.known("a", sudo(4), start + KEPT), Known::Nothing);
    }

    #[test]
    fn a_pass_is_good_for_its_command_and_so_many_sudos() {
        let passwords = Passwords::new(None);
        let (one, other) = (ProcessId("one".into()), ProcessId("other".into()));
        let word = passwords.admit(&one, 2).unwrap();
        let foreign = passwords.admit(&other, 1).unwrap();
        assert!(word != foreign && word.reveal().len() == 32);
        assert!(!passwords.admits(&one, "", sudo(1)) && !passwords.admits(&one, foreign.reveal(), sudo(1)));
        for (pid, admitted) in [(1, true), (1, true), (2, true), (3, false), (2, true)] {
            assert_eq!(passwords.admits(&one, word.reveal(), sudo(pid)), admitted, "{pid}");
        }
        // Started again, it has another one.
        let again = passwords.admit(&one, 1).unwrap();
        assert!(!passwords.admits(&one, word.reveal(), sudo(1)) && passwords.admits(&one, again.reveal(), sudo(4)));
        passwords.dismiss(&one);
        assert!(!passwords.admits(&one, again.reveal(), sudo(4)));
    }
}

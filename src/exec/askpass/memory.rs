//! The password of `sudo`, for a while: in memory only, by task, and for no other `sudo` than one that is all of its line
//! (`line`). One that was given away is kept again only once it proved right.

use crate::exec::Hidden;
use crate::exec::process::procfs::Identity;
use crate::lock::lock;
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A password that nobody needed for so long is wiped; `sudo` itself forgets as soon.
const KEPT: Duration = Duration::from_secs(300);

/// What is known of passwords of `sudo`.
#[derive(Default)]
pub(in crate::exec) struct Passwords {
    /// Of the environment, for all.
    configured: Option<Hidden>,
    memory: Mutex<Memory>,
}

#[derive(Default)]
struct Memory {
    tasks: HashMap<String, Kept>,
    /// Somebody wipes what gets too old.
    wiped: bool,
}

#[derive(Default)]
struct Kept {
    /// With the time when it was of use last.
    password: Option<(Hidden, Instant)>,
    /// What has not proved right yet, with the `sudo` that has it; `None` is the configured one.
    given: Vec<(Identity, Option<Hidden>)>,
    /// The `sudo` that the person answered last, whatever its line is.
    answered: Option<Identity>,
    /// The configured one was wrong, or is not known to be right.
    doubted: bool,
}

impl Passwords {
    pub(in crate::exec) fn new(configured: Option<Hidden>) -> Self {
        Self { configured, ..Self::default() }
    }

    /// A `sudo` asks: whether it was answered before, which then was wrong and is kept no more.
    pub(super) fn is_back(&self, task: &str, sudo: Identity) -> bool {
        let had = self.drop_given(task, sudo);
        let mut memory = lock(&self.memory);
        let answered = memory.tasks.get_mut(task).and_then(|kept| kept.answered.take_if(|answered| *answered == sudo));
        had || answered.is_some()
    }

    /// The person answered this `sudo`; nothing of that is kept.
    pub(super) fn answered(&self, task: &str, sudo: Identity) {
        lock(&self.memory).tasks.entry(task.to_owned()).or_default().answered = Some(sudo);
    }

    /// The kept password for this `sudo`, or the configured one. Until it proved right nobody else gets it.
    pub(super) fn give(&self, task: &str, sudo: Identity, now: Instant) -> Option<Hidden> {
        let mut memory = lock(&self.memory);
        memory.expire(now);
        let kept = memory.tasks.entry(task.to_owned()).or_default();
        if let Some((password, _)) = kept.password.take() {
            kept.given.push((sudo, Some(password.clone())));
            return Some(password);
        }
        let configured = self.configured.as_ref().filter(|_| !kept.doubted)?;
        kept.doubted = true;
        kept.given.push((sudo, None));
        Some(configured.clone())
    }

    /// The person typed this one for this `sudo`.
    pub(super) fn typed(&self, task: &str, sudo: Identity, password: Hidden) {
        let mut memory = lock(&self.memory);
        memory.tasks.entry(task.to_owned()).or_default().given.push((sudo, Some(password)));
    }

    /// What this `sudo` was given is right: it is kept. `true`: somebody must begin to call [`Self::expire`].
    pub(super) fn proved(&self, task: &str, sudo: Identity, now: Instant) -> bool {
        let mut memory = lock(&self.memory);
        let Memory { tasks, wiped } = &mut *memory;
        let Some(kept) = tasks.get_mut(task) else { return false };
        let Some(at) = kept.given.iter().position(|given| given.0 == sudo) else { return false };
        match kept.given.remove(at).1 {
            Some(password) => {
                kept.password = Some((password, now));
                !std::mem::replace(wiped, true)
            }
            None => {
                kept.doubted = false;
                false
            }
        }
    }

    /// Nothing says that what this `sudo` was given is right: it is kept no more. Whether it had something.
    pub(super) fn drop_given(&self, task: &str, sudo: Identity) -> bool {
        let mut memory = lock(&self.memory);
        let Some(kept) = memory.tasks.get_mut(task) else { return false };
        let before = kept.given.len();
        kept.given.retain(|given| given.0 != sudo);
        kept.given.len() < before
    }

    /// Whether this `sudo` has one that did not prove right yet.
    pub(super) fn is_given(&self, task: &str, sudo: Identity) -> bool {
        lock(&self.memory).tasks.get(task).is_some_and(|kept| kept.given.iter().any(|given| given.0 == sudo))
    }

    /// Wipes what was of no use for long; returns when there is something to wipe next. `None`: nothing is kept, and the
    /// next [`Self::proved`] says so.
    pub(super) fn expire(&self, now: Instant) -> Option<Instant> {
        let mut memory = lock(&self.memory);
        let next = memory.expire(now);
        memory.wiped &= next.is_some();
        next
    }
}

impl Memory {
    fn expire(&mut self, now: Instant) -> Option<Instant> {
        let ends = self.tasks.values_mut().filter_map(|kept| {
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
    fn only_what_proved_right_is_kept() {
        let passwords = Passwords::new(None);
        let now = Instant::now();
        let give = |task: &str, pid| passwords.give(task, sudo(pid), now);
        passwords.typed("a", sudo(1), hidden("one"));
        assert!(passwords.is_given("a", sudo(1)) && give("a", 2).is_none(), "it may be wrong");
        assert!(passwords.proved("a", sudo(1), now), "the first to be wiped");
        assert!(!passwords.is_given("a", sudo(1)) && !passwords.proved("a", sudo(1), now));
        // Another sudo of the session gets it; another session does not.
        assert_eq!(give("b", 2), None);
        assert_eq!(give("a", 2), Some(hidden("one")));
        assert!(!passwords.is_back("a", sudo(3)));
        assert!(!passwords.proved("a", sudo(2), now), "it is wiped by the same one");
        // The same sudo asks again: it was wrong, and the next one is not told it either.
        assert_eq!(give("a", 4), Some(hidden("one")));
        assert!(passwords.is_back("a", sudo(4)) && !passwords.is_back("a", sudo(4)));
        assert!(!passwords.proved("a", sudo(4), now) && give("a", 5).is_none());
        // One that ended, in whatever words.
        passwords.typed("a", sudo(6), hidden("two"));
        assert!(passwords.drop_given("a", sudo(6)) && give("a", 7).is_none());
        // One of a longer line is known to come back, and leaves nothing.
        passwords.answered("a", sudo(8));
        assert!(give("a", 9).is_none() && passwords.is_back("a", sudo(8)) && !passwords.is_back("a", sudo(8)));
    }

    #[test]
    fn the_configured_one_answers_until_it_is_wrong() {
        let passwords = Passwords::new(Some(hidden("env")));
        let now = Instant::now();
        let give = |pid| passwords.give("a", sudo(pid), now);
        assert_eq!(give(1), Some(hidden("env")));
        assert!(!passwords.proved("a", sudo(1), now), "it is never wiped");
        assert_eq!(give(2), Some(hidden("env")));
        assert!(passwords.is_back("a", sudo(2)));
        assert_eq!(give(3), None, "the configured one was wrong");
        passwords.typed("a", sudo(3), hidden("typed"));
        passwords.proved("a", sudo(3), now);
        assert_eq!(give(4), Some(hidden("typed")));
    }

    #[test]
    fn it_is_wiped_when_nobody_needs_it() {
        let passwords = Passwords::new(None);
        let start = Instant::now();
        let second = Duration::from_secs(1);
        assert_eq!(passwords.expire(start), None);
        let keep = |pid, now| {
            passwords.typed("a", sudo(pid), hidden("one"));
            passwords.proved("a", sudo(pid), now)
        };
        assert!(keep(1, start));
        assert_eq!(passwords.expire(start), Some(start + KEPT));
        // Each use counts from anew.
        let later = start + KEPT - second;
        assert_eq!(passwords.give("a", sudo(2), later), Some(hidden("one")));
        assert!(!passwords.proved("a", sudo(2), later));
        assert_eq!(passwords.expire(start + KEPT), Some(later + KEPT));
        assert_eq!(passwords.expire(later + KEPT), None);
        assert_eq!(passwords.give("a", sudo(3), later + KEPT), None);
        // Without anybody that wiped it, it is not given either; who wiped has ended.
        assert!(keep(3, start));
        assert_eq!(passwords.give("a", sudo(4), start + KEPT), None);
    }
}

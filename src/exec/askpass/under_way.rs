//! How many may ask at once, and whether a command begins that is not in the table yet.

use crate::lock::lock;
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Questions of one command that wait at once. Programs that work on many things at a time ask for each.
const OF_ONE: usize = 8;

/// What is under way.
#[derive(Default)]
pub(in crate::exec) struct UnderWay {
    launches: AtomicUsize,
    /// Open connections by the number of the leader.
    open: Mutex<HashMap<u32, usize>>,
}

/// A command begins, until this is dropped.
pub(in crate::exec) struct Launching<'a>(&'a UnderWay);

/// A place among the connections of a command.
pub(super) struct Place<'a> {
    bounds: &'a UnderWay,
    leader: u32,
}

impl UnderWay {
    pub(in crate::exec) fn launching(&self) -> Launching<'_> {
        self.launches.fetch_add(1, Ordering::SeqCst);
        Launching(self)
    }

    pub(super) fn is_launching(&self) -> bool {
        self.launches.load(Ordering::SeqCst) > 0
    }

    /// A place for one more connection of the command with this leader.
    ///
    /// # Errors
    /// It has too many: what to tell the one that asks.
    pub(super) fn place(&self, leader: u32) -> Result<Place<'_>, String> {
        let mut open = lock(&self.open);
        let count = open.entry(leader).or_default();
        if *count >= OF_ONE {
            return Err(format!("this command already has {OF_ONE} open questions: refused"));
        }
        *count += 1;
        Ok(Place { bounds: self, leader })
    }
}

impl Drop for Launching<'_> {
    fn drop(&mut self) {
        self.0.launches.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut open = lock(&self.bounds.open);
        if let Some(count) = open.get_mut(&self.leader) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.leader);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_by_command_and_given_back() {
        let bounds = UnderWay::default();
        let mut held: Vec<_> = (0..OF_ONE).map(|_| bounds.place(7).unwrap()).collect();
        assert!(bounds.place(7).is_err() && bounds.place(8).is_ok());
        held.pop();
        assert!(bounds.place(7).is_ok());
        held.clear();
        assert!(lock(&bounds.open).is_empty());
        let first = bounds.launching();
        drop(bounds.launching());
        assert!(bounds.is_launching());
        drop(first);
        assert!(!bounds.is_launching());
    }
}

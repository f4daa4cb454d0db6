//! Locks whose data stays valid after a panic elsewhere.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, whatever happened to another holder: what stands behind our locks is whole between any two statements, and a
/// panic that was caught (a tool, a parser) must not take the whole program along.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

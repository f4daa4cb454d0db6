//! What follows a failed model call, by the class of its error. Pure.

use crate::llm::{ErrorKind, NextKey};
use std::time::Duration;

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Try the same model again after this.
    Wait(Duration),
    /// Make the context smaller and try again.
    Trim,
    /// Call at once, with what the pool of keys offers now: another key, unless it is the same one renewed.
    NextKey {
        other: bool,
    },
    /// Go on with the next fallback model, or give up when there is none.
    NextModel,
    GiveUp,
}

/// The first wait; doubled each time (as Python Hermes has it).
const BASE: Duration = Duration::from_secs(2);
/// The longest wait of our own.
const CAP: Duration = Duration::from_secs(60);
/// The longest wait that a provider may ask for.
const RETRY_AFTER_CAP: Duration = Duration::from_secs(600);

/// What is known of a failed call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    pub kind: ErrorKind,
    /// How long the provider wants us to wait.
    pub retry_after: Option<Duration>,
    pub next_key: NextKey,
    /// 0 to 99: places the wait in a jitter window of half its length, so that many clients do not return at once.
    pub dice: u8,
}

impl Failure {
    /// One of this class, with nothing else known.
    pub fn of(kind: ErrorKind) -> Self {
        Self { kind, retry_after: None, next_key: NextKey::Unchanged, dice: 0 }
    }
}

/// Decides after failure number `failures` (from 1) of at most `retries` repeats, when `switches` times another key was taken
/// in this step.
pub fn decide(failure: &Failure, failures: u32, retries: u32, switches: usize) -> Verdict {
    let Failure { kind, retry_after, next_key, dice } = *failure;
    match next_key {
        NextKey::Renewed => return Verdict::NextKey { other: false },
        // Each key has its turn once: one that rests for seconds is free again before the last one was tried.
        NextKey::Other { of } if switches + 1 < of => return Verdict::NextKey { other: true },
        NextKey::Other { .. } | NextKey::AllRest => return Verdict::NextModel,
        NextKey::Unchanged => {}
    }
    match kind {
        ErrorKind::RateLimit
        | ErrorKind::Overloaded
        | ErrorKind::Network
        | ErrorKind::Stalled
        | ErrorKind::Malformed => {
            if failures > retries {
                return Verdict::NextModel;
            }
            match retry_after {
                Some(wanted) => Verdict::Wait(wanted.min(RETRY_AFTER_CAP)),
                None => Verdict::Wait(backoff(failures, dice)),
            }
        }
        ErrorKind::ContextOverflow => Verdict::Trim,
        ErrorKind::Auth | ErrorKind::Quota | ErrorKind::ModelNotFound | ErrorKind::BadRequest => Verdict::NextModel,
        ErrorKind::ContentFilter | ErrorKind::Budget | ErrorKind::Cancelled => Verdict::GiveUp,
    }
}

fn backoff(failures: u32, dice: u8) -> Duration {
    let plain = BASE.saturating_mul(1 << failures.saturating_sub(1).min(10)).min(CAP);
    plain + plain / 2 * u32::from(dice.min(99)) / 100
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_has_its_own_behaviour() {
        let s = Duration::from_secs;
        let table = [
            (ErrorKind::RateLimit, 1, None, 0, Verdict::Wait(s(2))),
            (ErrorKind::RateLimit, 2, None, 0, Verdict::Wait(s(4))),
            (ErrorKind::RateLimit, 3, Some(s(7)), 50, Verdict::Wait(s(7))),
            (ErrorKind::RateLimit, 1, Some(s(9000)), 0, Verdict::Wait(s(600))),
            (ErrorKind::RateLimit, 4, None, 0, Verdict::NextModel),
            (ErrorKind::Overloaded, 1, None, 50, Verdict::Wait(Duration::from_millis(2500))),
            (ErrorKind::Network, 1, None, 0, Verdict::Wait(s(2))),
            (ErrorKind::Stalled, 1, None, 0, Verdict::Wait(s(2))),
            (ErrorKind::Malformed, 4, None, 0, Verdict::NextModel),
            (ErrorKind::ContextOverflow, 1, None, 0, Verdict::Trim),
            (ErrorKind::Auth, 1, None, 0, Verdict::NextModel),
            (ErrorKind::Quota, 1, Some(s(1)), 0, Verdict::NextModel),
            (ErrorKind::ContentFilter, 1, None, 0, Verdict::GiveUp),
        ];
        for (kind, failures, after, dice, expected) in table {
            let failure = Failure { retry_after: after, dice, ..Failure::of(kind) };
            assert_eq!(decide(&failure, failures, 3, 0), expected, "{kind:?} {failures}");
        }
        for kind in [ErrorKind::RateLimit, ErrorKind::Auth, ErrorKind::Quota] {
            for (next_key, switches, expected) in [
                (NextKey::Renewed, 9, Verdict::NextKey { other: false }),
                (NextKey::Other { of: 3 }, 0, Verdict::NextKey { other: true }),
                (NextKey::Other { of: 3 }, 1, Verdict::NextKey { other: true }),
                (NextKey::Other { of: 3 }, 2, Verdict::NextModel),
                (NextKey::AllRest, 0, Verdict::NextModel),
            ] {
                let failure = Failure { next_key, ..Failure::of(kind) };
                assert_eq!(decide(&failure, 9, 3, switches), expected, "{kind:?} {next_key:?} {switches}");
            }
        }
    }

    #[test]
    fn waits_stay_bounded() {
        for failures in 1..40 {
            let failure = Failure { dice: 99, ..Failure::of(ErrorKind::Network) };
            let Verdict::Wait(delay) = decide(&failure, failures, 99, 0) else {
                unreachable!("network errors wait");
            };
            assert!(delay <= CAP + CAP / 2);
        }
    }
}

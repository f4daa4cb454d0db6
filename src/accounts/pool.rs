//! Several keys of one provider: which is next, how long one rests, when the first is back. Pure.

use super::entry::Entry;
use crate::llm::ErrorKind;
use std::time::Duration;

/// A key that was refused rests so long (as Python Hermes has it).
const REFUSED: Duration = Duration::from_secs(5 * 60);
/// One that reached a limit, where the provider does not say until when (as Python Hermes has it).
const LIMITED: Duration = Duration::from_secs(60 * 60);
/// A dead login is kept so long, so that a person sees why it is gone (as Python Hermes has it).
const BURIED_AFTER: i64 = 24 * 3600 * 1000;
/// A limit that ends sooner is waited for; one that lasts longer is a reason to take another key at once.
const PATIENCE: Duration = Duration::from_secs(60);
/// A login is renewed so long before it ends (as Python Hermes has it).
const EARLY: i64 = 120 * 1000;

/// How one of several keys is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// The first by priority until it has to rest.
    #[default]
    FillFirst,
    RoundRobin,
    Random,
    LeastUsed,
}

impl Strategy {
    /// The word of `credential_pool_strategies.*`.
    pub fn parse(word: &str) -> Self {
        match word {
            "round_robin" => Self::RoundRobin,
            "random" => Self::Random,
            "least_used" => Self::LeastUsed,
            _ => Self::FillFirst,
        }
    }
}

/// Whether a key can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Free,
    /// Until then, in milliseconds since the epoch.
    Resting(i64),
    /// Its login is over: only a person can mend it.
    Dead,
}

/// How an entry stands now.
pub fn standing(entry: &Entry, now: i64) -> Standing {
    let ms = |seconds: f64| (seconds * 1000.0) as i64;
    match entry.last_status.as_str() {
        "dead" => Standing::Dead,
        "exhausted" => {
            let usual = || entry.last_status_at.map(|at| ms(at) + millis(usual(entry.last_error_code)));
            match entry.last_error_reset_at.map(ms).or_else(usual) {
                Some(until) if until > now => Standing::Resting(until),
                _ => Standing::Free,
            }
        }
        _ => Standing::Free,
    }
}

fn usual(code: Option<u16>) -> Duration {
    if code == Some(401) { REFUSED } else { LIMITED }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// The position of the key to use; `None` when none is free. `last` is the one that was used last, `dice` any number.
pub fn choose(entries: &[Entry], strategy: Strategy, last: Option<&str>, now: i64, dice: usize) -> Option<usize> {
    let mut free: Vec<usize> = (0..entries.len()).filter(|at| standing(&entries[*at], now) == Standing::Free).collect();
    free.sort_by_key(|at| entries[*at].priority);
    let first = *free.first()?;
    Some(match strategy {
        Strategy::FillFirst => first,
        Strategy::RoundRobin => {
            // The order of all, so that one that rests keeps its place.
            let mut order: Vec<usize> = (0..entries.len()).collect();
            order.sort_by_key(|at| entries[*at].priority);
            let after = order.iter().position(|at| Some(entries[*at].id.as_str()) == last).map_or(0, |at| at + 1);
            let (before, from) = order.split_at(after.min(order.len()));
            from.iter().chain(before).copied().find(|at| free.contains(at)).unwrap_or(first)
        }
        Strategy::Random => free[dice % free.len()],
        Strategy::LeastUsed => free.into_iter().min_by_key(|at| entries[*at].request_count).unwrap_or(first),
    })
}

/// When the first of the keys that rest is back.
pub fn earliest(entries: &[Entry], now: i64) -> Option<i64> {
    let until = |entry: &Entry| match standing(entry, now) {
        Standing::Resting(until) => Some(until),
        Standing::Free | Standing::Dead => None,
    };
    entries.iter().filter_map(until).min()
}

/// What a failure means for the key that was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is not to blame.
    Unchanged,
    /// The same once more, after the usual wait.
    Again,
    /// It rests until then, in milliseconds since the epoch.
    Rests(i64),
}

/// Decides after a failed call. `again`: this key was limited in the call before, too.
pub fn fate(kind: ErrorKind, status: Option<u16>, reset_after: Option<Duration>, again: bool, now: i64) -> Fate {
    let rests = |code| Fate::Rests(now.saturating_add(millis(reset_after.unwrap_or_else(|| usual(code)))));
    match kind {
        ErrorKind::RateLimit if !again && reset_after.is_none_or(|reset| reset <= PATIENCE) => Fate::Again,
        ErrorKind::RateLimit | ErrorKind::Quota => rests(status.or(Some(429))),
        ErrorKind::Auth => Fate::Rests(now + millis(usual(status.or(Some(401))))),
        ErrorKind::ContextOverflow
        | ErrorKind::Overloaded
        | ErrorKind::Network
        | ErrorKind::Stalled
        | ErrorKind::Malformed
        | ErrorKind::ContentFilter
        | ErrorKind::ModelNotFound
        | ErrorKind::BadRequest
        | ErrorKind::Budget
        | ErrorKind::Cancelled => Fate::Unchanged,
    }
}

/// Whether a login is to be renewed before it is used.
pub fn is_old(entry: &Entry, now: i64) -> bool {
    entry.is_login() && entry.expires_at().is_some_and(|at| at - EARLY <= now)
}

/// Takes out logins that have been dead for a day.
pub fn bury(entries: &mut Vec<Entry>, now: i64) {
    entries.retain(|entry| {
        let died = entry.last_status_at.map_or(now, |at| (at * 1000.0) as i64);
        entry.last_status != "dead" || now - died < BURIED_AFTER
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_700_000_000_000;
    const MINUTE: i64 = 60_000;

    fn entry(id: &str, priority: i64, used: i64) -> Entry {
        Entry { id: id.into(), priority, request_count: used, ..Entry::default() }
    }

    fn resting(id: &str, priority: i64, until: i64) -> Entry {
        let mut entry = entry(id, priority, 0);
        entry.mark("exhausted", Some(429), "", Some(until), NOW);
        entry
    }

    #[test]
    fn each_failure_has_its_own_rest() {
        let s = Duration::from_secs;
        let minutes = |count: i64| Fate::Rests(NOW + count * MINUTE);
        for (kind, status, reset, again, expected) in [
            (ErrorKind::RateLimit, Some(429), None, false, Fate::Again),
            (ErrorKind::RateLimit, Some(429), Some(s(20)), false, Fate::Again),
            (ErrorKind::RateLimit, Some(429), Some(s(20)), true, Fate::Rests(NOW + 20_000)),
            (ErrorKind::RateLimit, Some(429), Some(s(7200)), false, minutes(120)),
            (ErrorKind::RateLimit, Some(429), None, true, minutes(60)),
            (ErrorKind::Quota, Some(402), None, false, minutes(60)),
            (ErrorKind::Quota, Some(402), Some(s(600)), false, minutes(10)),
            (ErrorKind::Auth, Some(401), None, false, minutes(5)),
            (ErrorKind::Auth, Some(403), None, false, minutes(60)),
            (ErrorKind::Network, None, None, false, Fate::Unchanged),
            (ErrorKind::Overloaded, Some(503), Some(s(9)), true, Fate::Unchanged),
            (ErrorKind::BadRequest, Some(400), None, true, Fate::Unchanged),
        ] {
            assert_eq!(fate(kind, status, reset, again, NOW), expected, "{kind:?} {status:?} {reset:?} {again}");
        }
    }

    #[test]
    fn the_next_key_is_chosen_by_strategy() {
        use Strategy::{FillFirst, LeastUsed, Random, RoundRobin};
        let all = [entry("c", 2, 1), entry("a", 0, 9), entry("b", 1, 4)];
        let one_rests = [entry("c", 2, 1), resting("a", 0, NOW + MINUTE), entry("b", 1, 4)];
        let none = [resting("a", 0, NOW + MINUTE)];
        for (entries, strategy, last, dice, expected) in [
            (&all[..], FillFirst, None, 0, Some("a")),
            (&all, FillFirst, Some("a"), 0, Some("a")),
            (&one_rests, FillFirst, Some("a"), 0, Some("b")),
            (&all, RoundRobin, None, 0, Some("a")),
            (&all, RoundRobin, Some("a"), 0, Some("b")),
            (&all, RoundRobin, Some("c"), 0, Some("a")),
            (&one_rests, RoundRobin, Some("c"), 0, Some("b")),
            (&all, Random, None, 4, Some("b")),
            (&all, LeastUsed, None, 0, Some("c")),
            (&none, RoundRobin, None, 0, None),
        ] {
            let chosen = choose(entries, strategy, last, NOW, dice).map(|at| entries[at].id.as_str());
            assert_eq!(chosen, expected, "{strategy:?} after {last:?}");
        }
        assert_eq!(earliest(&one_rests, NOW), Some(NOW + MINUTE));
    }

    #[test]
    fn a_key_comes_back_and_what_another_program_wrote_counts() {
        let entry = |text: &str| serde_json::from_str::<Entry>(text).unwrap();
        let at = NOW / 1000;
        for (text, expected) in [
            (
                format!(r#"{{"last_status":"exhausted","last_status_at":{at}.5,"last_error_code":401}}"#),
                5 * MINUTE + 500,
            ),
            (format!(r#"{{"last_status":"exhausted","last_status_at":{at},"last_error_code":429}}"#), 60 * MINUTE),
            (format!(r#"{{"last_status":"exhausted","last_error_reset_at":{}}}"#, NOW + 7_000), 7_000),
            (r#"{"last_status":"exhausted","last_error_reset_at":"2023-11-14T22:15:20+00:00"}"#.into(), 2 * MINUTE),
        ] {
            assert_eq!(standing(&entry(&text), NOW), Standing::Resting(NOW + expected), "{text}");
            assert_eq!(standing(&entry(&text), NOW + expected), Standing::Free, "{text}");
        }
        assert_eq!(standing(&entry(r#"{"last_status":"dead"}"#), NOW), Standing::Dead);
        assert_eq!(standing(&entry(r#"{"last_status":null,"id":null}"#), NOW), Standing::Free);
    }

    #[test]
    fn the_dead_are_buried_after_a_day_and_logins_renewed_before_they_end() {
        let mut dead = entry("d", 0, 0);
        dead.mark("dead", Some(400), "invalid_grant", None, NOW);
        let mut all = vec![dead, entry("a", 1, 0)];
        bury(&mut all, NOW + BURIED_AFTER - 1);
        assert_eq!(all.len(), 2);
        bury(&mut all, NOW + BURIED_AFTER);
        assert_eq!(all.len(), 1);
        let login = |end: i64| Entry { auth_type: "oauth".into(), expires_at_ms: Some(end), ..Entry::default() };
        assert!(!is_old(&login(NOW + EARLY + 1), NOW) && is_old(&login(NOW + EARLY), NOW));
        let key = Entry { auth_type: "api_key".into(), expires_at_ms: Some(0), ..Entry::default() };
        assert!(!is_old(&key, NOW));
    }
}

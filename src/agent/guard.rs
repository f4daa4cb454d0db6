//! The guard against loops: the same calls with the same results, again and again.

use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet, VecDeque};

/// Longest round of calls that counts as one: A, B, C, D, A, B, C, D.
const MAX_PERIOD: usize = 4;

/// A call with its result, as one number.
type Print = [u8; 32];

fn print(parts: &[&str]) -> Print {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().into()
}

fn print_of(name: &str, args: &str) -> Print {
    print(&[name, args])
}

/// A round of calls that came again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// Names of the tools in the round, in order; one for a call that follows itself.
    pub names: Vec<String>,
    /// Times it came in a row.
    pub times: u32,
}

/// Work that does not get on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standstill {
    /// The same calls with the same results, again and again.
    Round(Round),
    /// So many steps in a row brought nothing new: each of their calls had been made before, with the same result.
    NoNews(u32),
}

/// Remembers the last calls, and for every length of a round how long it has been going on.
#[derive(Clone, Debug, Default)]
pub struct LoopGuard {
    /// Calls of the running step by their place in it: results come in any order.
    step: Vec<(usize, Option<(Print, String)>)>,
    /// The newest last, at most [`MAX_PERIOD`].
    last: VecDeque<(Print, String)>,
    /// Calls in a row that are equal to the one `index + 1` before.
    same: [u32; MAX_PERIOD],
    /// All calls so far.
    seen: HashSet<Print>,
    /// The newest of each call, by its name and arguments.
    results: HashMap<Print, Print>,
    /// Steps in a row in which every call had been seen before.
    stale: u32,
}

impl LoopGuard {
    /// Takes a finished call, the `place`-th of its step.
    pub fn saw(&mut self, place: usize, name: &str, args: &str, result: &str) {
        let print = print(&[name, args, result]);
        self.results.insert(print_of(name, args), print);
        self.step.push((place, Some((print, name.to_owned()))));
    }

    /// As [`LoopGuard::saw`], of a call whose result says that it is still what the same call gave before.
    pub fn saw_again(&mut self, place: usize, name: &str, args: &str) {
        let print = *self.results.entry(print_of(name, args)).or_insert_with(|| print(&[name, args, ""]));
        self.step.push((place, Some((print, name.to_owned()))));
    }

    /// As [`LoopGuard::saw`], of a call that is repeated by design: no loop, and the end of one.
    pub fn saw_other(&mut self, place: usize) {
        self.step.push((place, None));
    }

    /// The step is over: its calls count, in the order in which they were asked for.
    pub fn step_ended(&mut self) {
        let mut step = std::mem::take(&mut self.step);
        step.sort_by_key(|(place, _)| *place);
        let mut all_known = !step.is_empty();
        for (_, call) in &step {
            // What is repeated by design waits for news.
            all_known &= call.as_ref().is_some_and(|(print, _)| self.seen.contains(print));
        }
        self.stale = if all_known { self.stale + 1 } else { 0 };
        self.seen.extend(step.iter().filter_map(|(_, call)| call.as_ref().map(|(print, _)| *print)));
        for (_, call) in step {
            match call {
                Some(call) => self.count(call),
                None => self.break_round(),
            }
        }
    }

    fn count(&mut self, call: (Print, String)) {
        for (period, same) in (1..).zip(&mut self.same) {
            let before = self.last.len().checked_sub(period).and_then(|at| self.last.get(at));
            *same = if before.is_some_and(|before| before.0 == call.0) { *same + 1 } else { 0 };
        }
        if self.last.len() == MAX_PERIOD {
            self.last.pop_front();
        }
        self.last.push_back(call);
    }

    /// The round that goes on: one call `limit` times, several calls one time less (at least twice), since each time is
    /// more work that came to nothing.
    pub fn repeated(&self, limit: u32) -> Option<Round> {
        (1..).zip(self.same).find_map(|(period, same)| {
            let times = same / period + 1;
            let enough = if period == 1 { limit } else { limit.saturating_sub(1).max(2) };
            let from = self.last.len().checked_sub(period as usize)?;
            (times >= enough).then(|| Round { names: self.last.range(from..).map(|c| c.1.clone()).collect(), times })
        })
    }

    /// What keeps the work from getting on: a round, or `stale` steps in a row without anything new.
    pub fn standstill(&self, repeats: u32, stale: Option<u32>) -> Option<Standstill> {
        let round = self.repeated(repeats).map(Standstill::Round);
        round.or_else(|| stale.filter(|most| self.stale >= *most).map(|_| Standstill::NoNews(self.stale)))
    }

    /// Starts to count anew. What was seen stays known.
    pub fn reset(&mut self) {
        self.break_round();
        self.stale = 0;
    }

    fn break_round(&mut self) {
        self.last.clear();
        self.same = Default::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each word is a call with its result, one a step: `a`, `a:other result`.
    fn after(calls: &str) -> LoopGuard {
        let mut guard = LoopGuard::default();
        for call in calls.split_whitespace() {
            let (name, result) = call.split_once(':').unwrap_or((call, ""));
            match name {
                "watch" => guard.saw_other(0),
                name if result == "same" => guard.saw_again(0, name, "{}"),
                name => guard.saw(0, name, "{}", result),
            }
            guard.step_ended();
        }
        guard
    }

    #[test]
    fn rounds_of_up_to_four_calls_are_seen_and_nothing_else() {
        let table: &[(&str, Option<(&str, u32)>)] = &[
            ("a a a", None),
            ("a a a a", Some(("a", 4))),
            ("b a a a a", Some(("a", 4))),
            ("a a a:other a", None),
            ("a b a b", None),
            ("a b a b a b", Some(("a b", 3))),
            ("x a b a b a b a", Some(("b a", 3))),
            ("a b a b a b:other", None),
            ("a b c a b c a b c", Some(("a b c", 3))),
            ("a b c a b c a b", None),
            ("a a b a a b a a b", Some(("a a b", 3))),
            ("a b c d a b c d a b c d", Some(("a b c d", 3))),
            ("a b c d e a b c d e a b c d e", None),
            // a state that is polled: what comes back differs
            ("a:1 b a:2 b a:3 b a:4 b", None),
            ("a:1 a:2 a:1 a:3 a:1 a:4", None),
            // what says that it is still the same is the same
            ("a:1 a:same a:same a:same", Some(("a", 4))),
            ("a:1 a:same b a:2 a:same", None),
            // watching is no loop, and ends one
            ("watch watch watch watch watch", None),
            ("a a a watch a", None),
            ("a watch a watch a watch a watch", None),
        ];
        for (calls, expected) in table {
            let expected =
                expected.map(|(names, times)| Round { names: names.split(' ').map(str::to_owned).collect(), times });
            assert_eq!(after(calls).repeated(4), expected, "{calls}");
        }
    }

    #[test]
    fn steps_without_anything_new_are_counted() {
        let table: &[(&str, Option<u32>)] = &[
            ("a b c", None),
            // no round of four, and nothing new either
            ("a b c d e a b", None),
            ("a b c d e a b c", Some(3)),
            ("a b c d e a b f c", None),
            ("a b c d e a b:other c", None),
            ("a b c d e a watch b c", None),
        ];
        for (calls, expected) in table {
            let expected = expected.map(Standstill::NoNews);
            assert_eq!(after(calls).standstill(9, Some(3)), expected, "{calls}");
            assert_eq!(after(calls).standstill(9, None), None, "{calls}");
        }
        let mut guard = after("a b c d e a b c");
        guard.reset();
        assert_eq!(guard.standstill(9, Some(3)), None, "counted anew");
        // One known call among new ones is no standstill.
        for place in [0, 1] {
            guard.saw(place, ["a", "z"][place], "{}", "");
        }
        guard.step_ended();
        assert_eq!(guard.stale, 0);
    }

    #[test]
    fn the_order_in_which_results_come_does_not_matter() {
        let mut guard = LoopGuard::default();
        for flip in [false, true, false] {
            let (first, second) = if flip { (1, 0) } else { (0, 1) };
            for place in [first, second] {
                guard.saw(place, ["a", "b"][place], "{}", "same");
            }
            guard.step_ended();
        }
        assert_eq!(guard.repeated(4).map(|round| round.times), Some(3));
    }

    #[test]
    fn other_arguments_are_another_call() {
        let mut guard = LoopGuard::default();
        for n in 0..9 {
            guard.saw(0, "read_file", &format!("{{\"path\":\"{n}\"}}"), "x");
            guard.step_ended();
        }
        assert_eq!(guard.repeated(2), None);
    }
}

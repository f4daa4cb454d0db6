//! How often and how lately each command was used, in one number each: what is used comes first in lists.
//!
//! A use counts one and halves every week. The number is the time at which the sum has fallen (or will fall) to one, so that
//! numbers of different days compare without being brought up to date.

use super::palette;
use crate::app::effect::Effect;
use crate::app::model::Model;
use crate::store::StoreJob;
use std::collections::BTreeMap;

/// Milliseconds in which a use loses half of its weight.
const HALF: f64 = 7.0 * 24.0 * 3600.0 * 1000.0;

/// Names of actions and skills (`/name`), and their numbers.
pub type Uses = BTreeMap<String, i64>;

/// A command was called by its name.
pub fn record(model: &mut Model, out: &mut Vec<Effect>, name: &str) {
    let rank = after(model.uses.get(name).copied(), model.now);
    model.uses.insert(name.to_owned(), rank);
    out.push(Effect::Store(StoreJob::SaveUse { name: name.to_owned(), rank }));
}

/// The number after one more use at a time.
fn after(rank: Option<i64>, now: i64) -> i64 {
    let weight = rank.map_or(0.0, |rank| ((rank - now) as f64 / HALF).clamp(-60.0, 60.0).exp2());
    now + (HALF * (weight + 1.0).log2()) as i64
}

/// The stored numbers came; those of this run stay.
pub fn loaded(model: &mut Model, stored: Vec<(String, i64)>) {
    for (name, rank) in stored {
        model.uses.entry(name).or_insert(rank);
    }
    palette::refresh(model);
}

/// The names that were used, most first.
pub fn most(model: &Model) -> Vec<&str> {
    let mut names: Vec<(&str, i64)> = model.uses.iter().map(|(name, rank)| (name.as_str(), *rank)).collect();
    names.sort_by_key(|(_, rank)| std::cmp::Reverse(*rank));
    names.into_iter().map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 24 * 3600 * 1000;

    #[test]
    fn often_and_lately_come_first() {
        let mut model = crate::app::tests::model();
        let mut out = Vec::new();
        for (day, name) in [(1, "old"), (1, "old"), (1, "old"), (20, "often"), (21, "often"), (21, "once")] {
            model.now = day * DAY;
            record(&mut model, &mut out, name);
        }
        assert_eq!(most(&model), ["often", "once", "old"]);
        // three uses three weeks ago weigh less than one of today
        assert!(model.uses["old"] < model.uses["once"]);
        assert_eq!(out.len(), 6);
    }

    #[test]
    fn what_was_stored_gives_way_to_this_run() {
        let mut model = crate::app::tests::model();
        model.uses.insert("help".into(), 50);
        loaded(&mut model, vec![("help".into(), 7), ("quit".into(), 9)]);
        assert_eq!(model.uses["help"], 50);
        assert_eq!(most(&model), ["help", "quit"]);
    }
}

//! Whether a request may be sent, and how long its answer may be, so that no limit is passed. Pure.

use super::{Budget, Scope, Spending};
use crate::config::BudgetLimits;
use crate::llm::{ModelInfo, Price};
use crate::protocol::{Raise, Usage};
use crate::store::{Tally, Worst};
use crate::text::format::{count, dollars};
use std::fmt;

/// Tokens that an answer must be allowed: a shorter one is of no use.
const LEAST: u64 = 1_000;
/// Tokens of the longest answer where neither the request nor the model says, and of any that is not asked for.
const USUAL: u64 = 32_000;

/// Why no model is called.
#[derive(Clone, Debug, PartialEq)]
pub struct Stop {
    /// With the setting and how to go on.
    pub text: String,
    pub way: Way,
}

/// What a person can do about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Way {
    /// Raise the limit, which is this, by no less than what the request lacks.
    Raise { limit: Raise, lacks: Raise },
    /// Let calls pass whose price is not known.
    Uncounted,
    /// Nothing here.
    None,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Stop {
    /// A raise must leave room for this request.
    #[must_use]
    pub fn of_request(mut self, need: &Need) -> Self {
        if let Way::Raise { limit, lacks } = &mut self.way {
            *lacks = lacks.plus(need.as_raise(limit));
        }
        self
    }

    /// What was spent can't be told.
    pub fn unknown(text: String) -> Self {
        Self { text, way: Way::None }
    }
}

/// What a request may cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Need {
    /// Tokens of the request.
    pub input: u64,
    /// Tokens of the longest answer.
    pub output: u64,
    pub price: Option<Price>,
}

impl Need {
    /// A request with so many tokens, whose answer may have `wanted`.
    pub fn of(model: &ModelInfo, input: u64, wanted: Option<u32>) -> Self {
        let usual = model.max_output.unwrap_or(USUAL).min(USUAL);
        Self { input, output: wanted.map_or(usual, u64::from).max(1), price: model.price }
    }

    /// US dollars of the request and an answer of so many tokens: nothing of it cached.
    pub fn cost(&self, output: u64) -> Option<f64> {
        self.price.map(|price| {
            let written = Usage { input: self.input, cache_write: self.input, output, ..Usage::default() };
            let plain = Usage { cache_write: 0, ..written };
            price.cost(&plain).max(price.cost(&written))
        })
    }

    /// With an answer of so many tokens.
    pub fn worst(&self, output: u64) -> Worst {
        Worst { tokens: self.input.saturating_add(output), cost: self.cost(output).unwrap_or_default() }
    }

    /// The least that it costs, as an amount of the kind that a limit has.
    fn as_raise(&self, limit: &Raise) -> Raise {
        if limit.cost > 0.0 {
            return Raise { cost: self.cost(self.least()).unwrap_or_default(), ..Raise::default() };
        }
        Raise { tokens: self.input.saturating_add(self.least()), ..Raise::default() }
    }

    fn least(&self) -> u64 {
        self.output.min(LEAST)
    }
}

/// Where a request finds room.
#[derive(Clone, Debug, PartialEq)]
pub enum Room {
    /// Its answer may have so many tokens.
    Fits(u64),
    /// What others that are under way don't use is enough.
    Waits,
    Stops(Stop),
}

impl Room {
    /// The narrower of two.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Stops(stop), _) | (_, Self::Stops(stop)) => Self::Stops(stop),
            (Self::Waits, _) | (_, Self::Waits) => Self::Waits,
            (Self::Fits(a), Self::Fits(b)) => Self::Fits(a.min(b)),
        }
    }
}

/// The longest answer for which `free` is enough; `None`: it isn't even for the request.
fn by_tokens(free: u64, need: &Need) -> Option<u64> {
    free.checked_sub(need.input)
}

fn by_cost(free: f64, need: &Need) -> Option<u64> {
    let left = free - need.cost(0)?;
    let each = need.price?.output / 1e6;
    (left >= 0.0).then(|| if each > 0.0 { (left / each) as u64 } else { u64::MAX })
}

impl Budget {
    /// Room in the limits of the session.
    pub fn room_of_session(&self, spent: &Tally, held: &Tally, need: &Need) -> Room {
        self.room(Scope::Session, &self.config.session, spent, held, need)
    }

    /// Room in the limits of the day.
    pub fn room_of_day(&self, spent: &Tally, held: &Tally, need: &Need) -> Room {
        self.room(Scope::Day, &self.config.day, spent, held, need)
    }

    fn room(&self, scope: Scope, limits: &BudgetLimits, spent: &Tally, held: &Tally, need: &Need) -> Room {
        let of = match scope {
            Scope::Session => Spending { session: *spent, ..Spending::default() },
            Scope::Day => Spending { day: *spent, ..Spending::default() },
        };
        if let Some(stop) = self.stop(&of) {
            return Room::Stops(stop.of_request(need));
        }
        let mut room = Room::Fits(need.output);
        if let Some(most) = self.hard_tokens(limits) {
            let free = most.saturating_sub(spent.tokens);
            let (alone, now) = (by_tokens(free, need), by_tokens(free.saturating_sub(held.tokens), need));
            let needs = need.input + need.least();
            let short = Short {
                used: format!("{} of {} tokens", count(spent.tokens), count(most)),
                needs: format!("about {} tokens", count(needs)),
                lacks: Raise { tokens: needs.saturating_sub(free), ..Raise::default() },
            };
            room = room.and(self.among(scope, limits, "hard_tokens", (alone, now), need, short));
        }
        if let Some(most) = self.hard_cost(limits).filter(|_| need.price.is_some()) {
            let free = most - spent.cost;
            let (alone, now) = (by_cost(free, need), by_cost(free - held.cost, need));
            let needs = need.cost(need.least()).unwrap_or_default();
            let short = Short {
                used: format!("{} of {}", dollars(spent.cost), dollars(most)),
                needs: dollars(needs),
                lacks: Raise { cost: (needs - free).max(0.0), ..Raise::default() },
            };
            room = room.and(self.among(scope, limits, "hard_cost", (alone, now), need, short));
        }
        room
    }

    /// One limit: what it allows when nothing else is under way, and now.
    fn among(
        &self,
        scope: Scope,
        limits: &BudgetLimits,
        key: &str,
        (alone, now): (Option<u64>, Option<u64>),
        need: &Need,
        short: Short,
    ) -> Room {
        let fits = |cap: Option<u64>| cap.filter(|cap| *cap >= need.least());
        match (fits(alone), fits(now)) {
            (Some(_), Some(now)) => Room::Fits(now.min(need.output)),
            (Some(_), None) => Room::Waits,
            (None, _) => {
                let (setting, in_money) = (format!("budget.{}.{key}", scope.word()), key == "hard_cost");
                let Short { used, needs, lacks } = short;
                let text = format!(
                    "{} has no room for another request: {used} used, and it needs {needs} ({setting}); {}",
                    scope.budget(),
                    self.way_on(scope, &setting, if in_money { "+5" } else { "+200k" })
                );
                Room::Stops(Stop { text, way: Way::Raise { limit: limits.as_raise(in_money), lacks } })
            }
        }
    }
}

/// What is said of a limit that has too little room.
struct Short {
    used: String,
    needs: String,
    lacks: Raise,
}

impl BudgetLimits {
    /// The hard limit of one kind, as an amount to raise it by.
    pub(super) fn as_raise(&self, money: bool) -> Raise {
        let (cost, tokens) = (self.hard_cost.unwrap_or_default(), self.hard_tokens.unwrap_or_default());
        if money { Raise { cost, ..Raise::default() } } else { Raise { tokens, ..Raise::default() } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::BudgetConfig;

    fn budget(tokens: Option<u64>, cost: Option<f64>) -> Budget {
        let session = BudgetLimits { hard_tokens: tokens, hard_cost: cost, ..BudgetLimits::default() };
        Budget { config: BudgetConfig { session, ..BudgetConfig::default() }, is_person: true, ..Budget::default() }
    }

    fn tokens(tokens: u64) -> Tally {
        Tally { tokens, ..Tally::default() }
    }

    fn dollars(cost: f64) -> Tally {
        Tally { cost, ..Tally::default() }
    }

    const PRICE: Price = Price { input: 1.0, cached: 0.1, output: 10.0, cache_write: Some(2.0) };

    #[test]
    fn an_answer_is_as_long_as_the_limits_allow() {
        let need = Need { input: 5_000, output: 32_000, price: Some(PRICE) };
        let none = Tally::default();
        let table = [
            // Limits of tokens and dollars, spent, held by others; the longest answer, or why there is none.
            (None, None, none, none, Ok(32_000)),
            (Some(100_000), None, none, none, Ok(32_000)),
            (Some(100_000), None, tokens(70_000), none, Ok(25_000)),
            (Some(100_000), None, tokens(50_000), tokens(30_000), Ok(15_000)),
            (Some(100_000), None, tokens(50_000), tokens(45_000), Err("waits")),
            (Some(100_000), None, tokens(94_001), none, Err("no room for another request: 94,001 of 100,000 tokens")),
            (Some(100_000), None, tokens(94_000), none, Ok(1_000)),
            (Some(100_000), None, tokens(100_000), none, Err("used up: 100,000 of 100,000 tokens")),
            // 5,000 tokens are written to the cache at 2 dollars a million, each token of the answer costs 0.00001.
            (None, Some(1.0), none, none, Ok(32_000)),
            (None, Some(1.0), dollars(0.89), none, Ok(9_999)),
            (None, Some(1.0), dollars(0.5), dollars(0.45), Ok(4_000)),
            (None, Some(1.0), dollars(0.5), dollars(0.49), Err("waits")),
            (None, Some(1.0), dollars(0.985), none, Err("$0.98 of $1.00 used, and it needs $0.02")),
            (Some(100_000), Some(1.0), tokens(80_000), dollars(0.9), Ok(9_000)),
        ];
        for (most_tokens, most_cost, spent, held, expected) in table {
            let budget = budget(most_tokens, most_cost);
            let room = budget.room_of_session(&spent, &held, &need);
            match (&room, expected) {
                (Room::Fits(output), Ok(expected)) => assert!(output.abs_diff(expected) <= 1, "{output} {expected}"),
                (Room::Waits, Err("waits")) => {}
                (Room::Stops(stop), Err(text)) => assert!(stop.text.contains(text), "{}", stop.text),
                (room, expected) => panic!("{room:?}, not {expected:?}"),
            }
        }
    }

    #[test]
    fn a_short_answer_needs_no_more_room_than_it_may_take() {
        let need = Need::of(&ModelInfo::default(), 100, Some(50));
        assert_eq!(budget(Some(150), None).room_of_session(&tokens(0), &tokens(0), &need), Room::Fits(50));
        assert_eq!(Need::of(&ModelInfo::default(), 100, None).output, USUAL);
        let small = ModelInfo { max_output: Some(8_000), ..ModelInfo::default() };
        assert_eq!(Need::of(&small, 100, None).output, 8_000);
    }
}

//! What a session and a day may cost: when a person is told, and when no model is called any more. Pure: what was spent is
//! an argument. [`purse`] counts it, [`held`] asks before every call.

pub mod held;
mod hold;
pub mod purse;
mod room;

pub use room::{Need, Room, Stop, Way};

use crate::config::{BudgetConfig, BudgetLimits};
use crate::protocol::{BudgetSign, Raise};
use crate::store::Tally;
use crate::text::format::{count, dollars};
use chrono::{Duration, NaiveTime, TimeZone};

/// The name of the session's fact: what was raised, and what a person was told.
pub const BUDGET: &str = "budget";

/// Milliseconds since the epoch at which the local day of `now` began.
pub fn day_began<Z: TimeZone>(now: i64, zone: &Z) -> i64 {
    let Some(here) = zone.timestamp_millis_opt(now).single() else { return now };
    let midnight = here.date_naive().and_time(NaiveTime::MIN);
    // Where clocks go forward at midnight, the day begins an hour later.
    let begins = (0..4).find_map(|hours| zone.from_local_datetime(&(midnight + Duration::hours(hours))).earliest());
    begins.map_or(now, |begins| begins.timestamp_millis())
}

/// Percent of a hard limit at which a person is told, where no soft one is set.
const SOFT: u64 = 80;

/// Whose limit it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Session,
    Day,
}

impl Scope {
    fn word(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Day => "day",
        }
    }

    /// In a sentence.
    fn budget(self) -> &'static str {
        match self {
            Self::Session => "the budget of this session",
            Self::Day => "today's budget",
        }
    }
}

/// What was spent in the session and, over all sessions, today.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spending {
    pub session: Tally,
    pub day: Tally,
}

/// A soft limit that is passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// The same limit has the same name.
    pub name: String,
    /// For the person.
    pub text: String,
}

/// The limits of one session.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Budget {
    pub config: BudgetConfig,
    pub raise: Raise,
    /// Somebody can raise a limit by `/budget`.
    pub is_person: bool,
}

/// Dollars of a sum that may not be whole: `$0.12 + ?`.
fn cost(tally: &Tally) -> String {
    match (tally.unpriced, tally.cost > 0.0) {
        (0, true) => dollars(tally.cost),
        (0, false) => "$0".to_owned(),
        (_, true) => format!("{} + ?", dollars(tally.cost)),
        (_, false) => "?".to_owned(),
    }
}

impl Budget {
    fn scopes(&self, spent: &Spending) -> [(Scope, BudgetLimits, Tally); 2] {
        [(Scope::Session, self.config.session, spent.session), (Scope::Day, self.config.day, spent.day)]
    }

    fn hard_cost(&self, limits: &BudgetLimits) -> Option<f64> {
        limits.hard_cost.map(|most| most + self.raise.cost)
    }

    fn hard_tokens(&self, limits: &BudgetLimits) -> Option<u64> {
        limits.hard_tokens.map(|most| most.saturating_add(self.raise.tokens))
    }

    /// Whether a day's sum is needed.
    pub fn has_day(&self) -> bool {
        self.config.day != BudgetLimits::default()
    }

    /// Why no model is called any more; `None`: one may be called.
    pub fn stop(&self, spent: &Spending) -> Option<Stop> {
        self.scopes(spent).into_iter().find_map(|(scope, limits, tally)| {
            let (name, what) = (scope.word(), scope.budget());
            if let Some(most) = self.hard_cost(&limits) {
                let setting = format!("budget.{name}.hard_cost");
                if tally.cost >= most {
                    let used = format!("{} of {}", cost(&tally), dollars(most));
                    let text = format!("{what} is used up: {used} ({setting}); {}", self.way_on(scope, &setting, "+5"));
                    let lacks = Raise { cost: tally.cost - most, ..Raise::default() };
                    return Some(Stop { text, way: Way::Raise { limit: limits.as_raise(true), lacks } });
                }
                // What a person raised goes on though part of the sum is unknown: that is their word.
                if tally.unpriced > 0 && self.raise.cost == 0.0 && !self.raise.uncounted {
                    let text = format!(
                        "{what} can't hold: the price of {} is not known ({setting}); limit tokens in its place \
                         (budget.{name}.hard_tokens){}",
                        if tally.unpriced == 1 { "a call".to_owned() } else { format!("{} calls", tally.unpriced) },
                        if self.is_person { ", or /budget +5 goes on without counting them" } else { "" }
                    );
                    return Some(Stop { text, way: Way::Uncounted });
                }
            }
            let most = self.hard_tokens(&limits).filter(|most| tally.tokens >= *most)?;
            let setting = format!("budget.{name}.hard_tokens");
            let used = format!("{} of {} tokens", count(tally.tokens), count(most));
            let text = format!("{what} is used up: {used} ({setting}); {}", self.way_on(scope, &setting, "+200k"));
            let lacks = Raise { tokens: tally.tokens - most, ..Raise::default() };
            Some(Stop { text, way: Way::Raise { limit: limits.as_raise(false), lacks } })
        })
    }

    fn way_on(&self, scope: Scope, setting: &str, raise: &str) -> String {
        let later = if scope == Scope::Day { "it starts again at midnight, or " } else { "" };
        if self.is_person {
            format!("{later}/budget {raise} raises it for this session")
        } else {
            format!("{later}raise it: hermes config set {setting} AMOUNT")
        }
    }

    /// Why a model without a known price is not called: a limit in money could not hold.
    pub fn unpriced(&self, model: &str) -> Option<Stop> {
        if self.raise.uncounted {
            return None;
        }
        let limited = |(scope, limits): (Scope, &BudgetLimits)| limits.hard_cost.map(|_| scope.word());
        let name =
            [(Scope::Session, &self.config.session), (Scope::Day, &self.config.day)].into_iter().find_map(limited)?;
        let text = format!(
            "the price of {model} is not known, so budget.{name}.hard_cost can't hold: set its price (prices.json, see \
             docs/MODELS.md), or limit tokens in its place (budget.{name}.hard_tokens)"
        );
        Some(Stop { text, way: Way::Uncounted })
    }

    /// The soft limit in dollars: the one that is set, else [`SOFT`] of the hard one.
    fn soft_cost(&self, limits: &BudgetLimits) -> Option<f64> {
        limits.soft_cost.or_else(|| self.hard_cost(limits).map(|most| most * SOFT as f64 / 100.0))
    }

    fn soft_tokens(&self, limits: &BudgetLimits) -> Option<u64> {
        limits.soft_tokens.or_else(|| self.hard_tokens(limits).map(|most| most / 100 * SOFT + most % 100 * SOFT / 100))
    }

    /// Soft limits that are passed.
    pub fn crossed(&self, spent: &Spending, day: i64) -> Vec<Crossing> {
        let mut out = Vec::new();
        for (scope, limits, tally) in self.scopes(spent) {
            let (name, of) = match scope {
                Scope::Session => (scope.word(), String::new()),
                Scope::Day => (scope.word(), format!("@{day}")),
            };
            let whose = if scope == Scope::Day { "all sessions of today" } else { "this session" };
            let mut tell = |unit: &str, is_set: bool, used: String, soft: String, hard: Option<String>| {
                let text = match hard {
                    Some(hard) if !is_set => {
                        format!(
                            "{SOFT} % of a budget is used: {whose} used {used} of {hard} (budget.{name}.hard_{unit})"
                        )
                    }
                    hard => {
                        let hard = hard.map_or_else(String::new, |hard| format!("; the hard limit is {hard}"));
                        format!("soft limit reached: {whose} used {used} of {soft} (budget.{name}.soft_{unit}){hard}")
                    }
                };
                out.push(Crossing { name: format!("{name}.soft_{unit}={soft}{of}"), text });
            };
            // Where nobody set a soft limit, it is over with the hard one: that this is used up is said anyhow.
            let (costs, tokens) = (limits.soft_cost.is_some(), limits.soft_tokens.is_some());
            let costs = costs || self.hard_cost(&limits).is_none_or(|hard| tally.cost < hard);
            let tokens = tokens || self.hard_tokens(&limits).is_none_or(|hard| tally.tokens < hard);
            if let Some(most) = self.soft_cost(&limits).filter(|most| costs && tally.cost >= *most) {
                let hard = self.hard_cost(&limits).map(dollars);
                tell("cost", limits.soft_cost.is_some(), cost(&tally), dollars(most), hard);
            }
            if let Some(most) = self.soft_tokens(&limits).filter(|most| tokens && tally.tokens >= *most) {
                let words = |amount: u64| format!("{} tokens", count(amount));
                let hard = self.hard_tokens(&limits).map(words);
                tell("tokens", limits.soft_tokens.is_some(), count(tally.tokens), words(most), hard);
            }
        }
        out
    }

    /// What the status line says; `None`: no limit is passed.
    pub fn sign(&self, spent: &Spending) -> Option<BudgetSign> {
        if self.stop(spent).is_some() {
            return Some(BudgetSign { text: "budget used up: /budget".into(), hard: true });
        }
        self.scopes(spent).into_iter().find_map(|(scope, limits, tally)| {
            let of = |used: String, hard: Option<String>| hard.map_or(used.clone(), |hard| format!("{used} of {hard}"));
            let by_cost = self.soft_cost(&limits).filter(|most| tally.cost >= *most);
            let by_tokens = self.soft_tokens(&limits).filter(|most| tally.tokens >= *most);
            let used = match (by_cost, by_tokens) {
                (Some(_), _) => of(cost(&tally), self.hard_cost(&limits).map(dollars)),
                (None, Some(_)) => {
                    let short = |tokens: u64| crate::text::format::tokens(i64::try_from(tokens).unwrap_or(i64::MAX));
                    format!("{} tokens", of(short(tally.tokens), self.hard_tokens(&limits).map(short)))
                }
                (None, None) => return None,
            };
            let whose = if scope == Scope::Day { "today" } else { "budget" };
            Some(BudgetSign { text: format!("{whose} {used}"), hard: false })
        })
    }

    /// The state of each limit, a line each: `session   $0.42 of $5.00, soft $4.00`.
    pub fn lines(&self, spent: &Spending) -> Vec<String> {
        let mut out = Vec::new();
        for (scope, limits, tally) in self.scopes(spent) {
            let name = if scope == Scope::Day { "today" } else { "session" };
            let mut line = |used: String, hard: Option<String>, soft: Option<String>, unit: &str| {
                let soft = soft.map(|soft| format!("soft {soft}"));
                let limits = [hard.map(|hard| format!("hard {hard}")), soft];
                let limits: Vec<String> = limits.into_iter().flatten().collect();
                if !limits.is_empty() {
                    out.push(format!("{name:<9} {used}{unit}: {}", limits.join(", ")));
                }
            };
            line(cost(&tally), self.hard_cost(&limits).map(dollars), limits.soft_cost.map(dollars), "");
            line(count(tally.tokens), self.hard_tokens(&limits).map(count), limits.soft_tokens.map(count), " tokens");
        }
        out
    }

    /// The hard limits as they hold: `$10.00 a session, 400,000 tokens a day`.
    pub fn limits(&self) -> String {
        let of = |(limits, name): (&BudgetLimits, &str)| {
            let parts = [
                self.hard_cost(limits).map(|most| format!("{} a {name}", dollars(most))),
                self.hard_tokens(limits).map(|most| format!("{} tokens a {name}", count(most))),
            ];
            parts.into_iter().flatten().collect::<Vec<_>>()
        };
        [(&self.config.session, "session"), (&self.config.day, "day")].map(of).concat().join(", ")
    }

    /// Whether a raise of this kind changes anything.
    pub fn can_raise(&self, by: Raise) -> bool {
        let all = [self.config.session, self.config.day];
        let (cost, tokens) = (
            all.iter().any(|limits| limits.hard_cost.is_some()),
            all.iter().any(|limits| limits.hard_tokens.is_some()),
        );
        ((by.cost > 0.0 || by.uncounted) && cost) || (by.tokens > 0 && tokens)
    }
}

#[cfg(test)]
mod tests;

//! Figures over time: what was used, by day, tool, model and project.

use crate::text::format::dollars;

/// What a day used.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Day {
    /// As `2026-11-01`, in local time.
    pub date: String,
    pub spent: Spending,
}

/// What calls of models used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spending {
    pub calls: u64,
    /// Tokens; `input` counts cached ones.
    pub input: u64,
    pub cached: u64,
    pub output: u64,
    /// US dollars, of the calls with a known price.
    pub cost: f64,
    /// Calls without one.
    pub unpriced: u64,
}

impl Spending {
    /// Adds another one.
    pub fn add(&mut self, more: &Self) {
        self.calls += more.calls;
        self.input += more.input;
        self.cached += more.cached;
        self.output += more.output;
        self.cost += more.cost;
        self.unpriced += more.unpriced;
    }

    /// What it cost, as far as prices are known: `$0.25`, `$0.25 + ?`, `$?`; empty without a call.
    pub fn price(&self) -> String {
        match self.unpriced {
            0 if self.calls == 0 => String::new(),
            0 => dollars(self.cost),
            unpriced if unpriced == self.calls => "$?".to_owned(),
            _ => format!("{} + ?", dollars(self.cost)),
        }
    }

    /// Tokens in and out.
    pub fn tokens(&self) -> u64 {
        self.input + self.output
    }
}

/// What became of the calls of a tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolUse {
    pub name: String,
    pub calls: u64,
    /// Those that failed or did not run.
    pub failed: u64,
    /// Milliseconds.
    pub median: u64,
    pub p95: u64,
    pub total: u64,
}

/// The sessions of a folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Project {
    pub folder: String,
    pub sessions: u64,
    pub tokens: u64,
    pub cost: Option<f64>,
}

/// All of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// Each day from the first to today, also those without a call.
    pub days: Vec<Day>,
    /// The most called first.
    pub tools: Vec<ToolUse>,
    /// By name, the dearest first.
    pub models: Vec<(String, Spending)>,
    /// Those with the most sessions first.
    pub projects: Vec<Project>,
}

impl Figures {
    /// All that was used.
    pub fn sum(&self) -> Spending {
        let mut sum = Spending::default();
        self.days.iter().for_each(|day| sum.add(&day.spent));
        sum
    }
}

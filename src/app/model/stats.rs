//! Figures over time: which are shown, and of which days.

use crate::protocol::Figures;

/// What is shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatsModal {
    pub tab: StatsTab,
    pub range: Range,
    /// `None`: they are on their way.
    pub figures: Option<Box<Figures>>,
    /// Why there are none.
    pub problem: String,
    /// The first row of a list that shows.
    pub scroll: usize,
}

/// Its pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatsTab {
    #[default]
    Tokens,
    Tools,
    Durations,
    Cost,
    Projects,
}

impl StatsTab {
    /// In their order.
    pub const ALL: [Self; 5] = [Self::Tokens, Self::Tools, Self::Durations, Self::Cost, Self::Projects];

    /// The word on it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Tokens => "Tokens",
            Self::Tools => "Tools",
            Self::Durations => "Durations",
            Self::Cost => "Cost",
            Self::Projects => "Projects",
        }
    }

    /// The page so many further, around the ends.
    pub fn moved(self, by: isize) -> Self {
        let at = Self::ALL.iter().position(|tab| *tab == self).unwrap_or_default();
        let count = Self::ALL.len() as isize;
        Self::ALL[(at as isize + by).rem_euclid(count) as usize]
    }
}

/// The days that figures are of, today's last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Range {
    Week,
    #[default]
    Month,
    Quarter,
    All,
}

impl Range {
    /// In their order.
    pub const ALL: [Self; 4] = [Self::Week, Self::Month, Self::Quarter, Self::All];

    /// How many days; `None`: all.
    pub fn days(self) -> Option<u32> {
        match self {
            Self::Week => Some(7),
            Self::Month => Some(30),
            Self::Quarter => Some(90),
            Self::All => None,
        }
    }

    /// As it is typed after the command.
    pub fn read(word: &str) -> Option<Self> {
        let word = word.trim().trim_end_matches('d');
        Self::ALL.into_iter().find(|range| range.days().map_or("all".to_owned(), |days| days.to_string()) == word)
    }
}

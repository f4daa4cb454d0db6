//! Short messages over the status bar: they expire by themselves, errors after a key.

use super::model::notices::{Notice, Notices};
use crate::agent::event::Level;

/// Milliseconds that information stays.
const INFO: i64 = 4000;
const WARNING: i64 = 8000;
/// Milliseconds that an error stays after the first key.
const AFTER_KEY: i64 = 3000;
/// More would hide the conversation.
const SHOWN: usize = 4;

impl Notices {
    /// Shows a message; one that is shown already starts anew.
    pub fn add(&mut self, now: i64, level: Level, text: impl Into<String>) {
        let text = text.into();
        let until = match level {
            Level::Info => Some(now + INFO),
            Level::Warning => Some(now + WARNING),
            Level::Error => None,
        };
        self.shown.retain(|notice| notice.text != text);
        self.shown.push(Notice { level, text, until });
        if self.shown.len() > SHOWN {
            // the least serious of the oldest goes first
            let goes = self.shown.iter().position(|notice| notice.until.is_some()).unwrap_or(0);
            self.shown.remove(goes);
        }
    }

    /// A key was pressed: errors begin to leave.
    pub fn key(&mut self, now: i64) {
        for notice in &mut self.shown {
            notice.until.get_or_insert(now + AFTER_KEY);
        }
    }

    /// Removes what has expired.
    pub fn woke(&mut self, now: i64) {
        self.shown.retain(|notice| notice.until.is_none_or(|until| until > now));
    }

    /// When the next one expires.
    pub fn next_wake(&self) -> Option<i64> {
        self.shown.iter().filter_map(|notice| notice.until).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_stay_until_a_key() {
        let mut notices = Notices::default();
        notices.add(0, Level::Info, "info");
        notices.add(0, Level::Error, "error");
        assert_eq!(notices.next_wake(), Some(INFO));
        notices.woke(INFO);
        assert_eq!(notices.shown.len(), 1);
        assert_eq!(notices.next_wake(), None);
        notices.key(100_000);
        assert_eq!(notices.next_wake(), Some(100_000 + AFTER_KEY));
        notices.woke(100_000 + AFTER_KEY);
        assert!(notices.shown.is_empty());
    }

    #[test]
    fn errors_outlive_a_flood_of_information() {
        let mut notices = Notices::default();
        notices.add(0, Level::Error, "error");
        for i in 0..10 {
            notices.add(0, Level::Info, format!("info {i}"));
        }
        assert_eq!(notices.shown.len(), SHOWN);
        assert_eq!(notices.shown[0].text, "error");
    }
}

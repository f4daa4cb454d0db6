//! Short messages over the status bar: they expire by themselves, errors after a key.

use crate::app::model::notices::{About, Notice, Notices};
use crate::protocol::Level;

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
        self.about(now, level, About::Itself, text);
    }

    /// Shows a message about something, in place of an older one about the same.
    pub fn about(&mut self, now: i64, level: Level, about: About, text: impl Into<String>) {
        let text = text.into();
        let until = match level {
            // Somebody has to do something, or wants to read figures.
            Level::Info if matches!(about, About::Input(_) | About::SelfTest) => Some(now + WARNING),
            Level::Info => Some(now + INFO),
            Level::Warning => Some(now + WARNING),
            Level::Error => None,
        };
        let same = |notice: &Notice| notice.text == text || (about != About::Itself && notice.about == about);
        self.shown.retain(|notice| !same(notice));
        self.shown.push(Notice { level, text, about, until });
        if self.shown.len() > SHOWN {
            // the least serious of the oldest goes first
            let goes = self.shown.iter().position(|notice| notice.until.is_some()).unwrap_or(0);
            self.shown.remove(goes);
        }
    }

    /// Something is settled: what was said about it goes.
    pub fn settled(&mut self, about: &About) {
        self.shown.retain(|notice| notice.about != *about);
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
    fn a_later_word_about_the_same_replaces_the_earlier_one() {
        let mut notices = Notices::default();
        notices.about(0, Level::Info, About::Setting("effort"), "effort: low");
        notices.add(0, Level::Info, "other");
        notices.about(0, Level::Info, About::Setting("effort"), "effort: high");
        let texts: Vec<&str> = notices.shown.iter().map(|notice| notice.text.as_str()).collect();
        assert_eq!(texts, ["other", "effort: high"]);
        notices.settled(&About::Setting("effort"));
        assert_eq!(notices.shown.len(), 1);
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

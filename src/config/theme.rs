//! Colours: the only place where raw ones stand. A theme maps the roles of text and the slots of the screen to styles.

use crate::text::{Ground, Role};
use ratatui::style::Style;

/// Parts of the screen that are not text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// The ground of everything.
    Base,
    /// One step of tone: user messages, code, the composer.
    Raised,
    /// Two steps: modals and popups.
    Overlay,
    Border,
    BorderFocused,
    Title,
    TitleFocused,
    StatusBar,
    StatusStrong,
    StatusDim,
    /// Badges: worded and coloured.
    BadgeGood,
    BadgeCareful,
    BadgeBad,
    /// The selected row of a list.
    Selection,
    /// Marked text.
    Marked,
    /// Matched characters in a picker.
    Match,
    Prompt,
    Placeholder,
    Spinner,
    UserBar,
    ScrollThumb,
    Meter,
    MeterEmpty,
}

/// A palette, resolved for what the terminal can show.
#[derive(Clone, Debug, PartialEq)]
pub struct Theme {
    pub name: String,
    pub dark: bool,
}

impl Theme {
    /// The style of a span.
    pub fn text(&self, _role: Role) -> Style {
        Style::new()
    }

    /// The background of a row.
    pub fn ground(&self, _ground: Ground) -> Style {
        Style::new()
    }

    /// The style of a part of the screen.
    pub fn slot(&self, _slot: Slot) -> Style {
        Style::new()
    }
}

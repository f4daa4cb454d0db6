//! Colours: the only place where raw ones stand. A theme maps the roles of text and the slots of the screen to styles.

mod color;
mod depth;
mod file;
mod paint;

pub use color::Rgb;
pub use depth::{Canvas, ColorDepth};
pub use file::ThemeFile;
pub(super) use paint::Paints;

use super::ConfigError;
use crate::text::{Cell, Ground, Paint, Role, Syntax};
use ratatui::style::{Color, Modifier, Style};
use std::collections::BTreeMap;
use std::sync::Arc;

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

/// Slots in order of their declaration, with their names in theme files.
const SLOTS: [(Slot, &str); 23] = [
    (Slot::Base, "base"),
    (Slot::Raised, "raised"),
    (Slot::Overlay, "overlay"),
    (Slot::Border, "border"),
    (Slot::BorderFocused, "border-focused"),
    (Slot::Title, "title"),
    (Slot::TitleFocused, "title-focused"),
    (Slot::StatusBar, "status-bar"),
    (Slot::StatusStrong, "status-strong"),
    (Slot::StatusDim, "status-dim"),
    (Slot::BadgeGood, "badge-good"),
    (Slot::BadgeCareful, "badge-careful"),
    (Slot::BadgeBad, "badge-bad"),
    (Slot::Selection, "selection"),
    (Slot::Marked, "marked"),
    (Slot::Match, "match"),
    (Slot::Prompt, "prompt"),
    (Slot::Placeholder, "placeholder"),
    (Slot::Spinner, "spinner"),
    (Slot::UserBar, "user-bar"),
    (Slot::ScrollThumb, "scroll-thumb"),
    (Slot::Meter, "meter"),
    (Slot::MeterEmpty, "meter-empty"),
];

/// Roles without an argument and headings 1 to 3 (deeper ones look like the third), with their names in theme files.
const ROLES: [(Role, &str); 25] = [
    (Role::Text, "text"),
    (Role::Dim, "dim"),
    (Role::Accent, "accent"),
    (Role::Strong, "strong"),
    (Role::Emphasis, "emphasis"),
    (Role::StrongEmphasis, "strong-emphasis"),
    (Role::Strike, "strike"),
    (Role::Heading(1), "heading-1"),
    (Role::Heading(2), "heading-2"),
    (Role::Heading(3), "heading-3"),
    (Role::Link, "link"),
    (Role::Code, "code"),
    (Role::Quote, "quote"),
    (Role::Bullet, "bullet"),
    (Role::Rule, "rule"),
    (Role::TableBorder, "table-border"),
    (Role::TableHeader, "table-header"),
    (Role::Good, "good"),
    (Role::Careful, "careful"),
    (Role::Bad, "bad"),
    (Role::Added, "added"),
    (Role::Removed, "removed"),
    (Role::AddedStrong, "added-strong"),
    (Role::RemovedStrong, "removed-strong"),
    (Role::LineNumber, "line-number"),
];

/// Kinds of tokens in order of their declaration.
const SYNTAX: [(Syntax, &str); 16] = [
    (Syntax::Plain, "syntax-plain"),
    (Syntax::Comment, "syntax-comment"),
    (Syntax::Keyword, "syntax-keyword"),
    (Syntax::String, "syntax-string"),
    (Syntax::Number, "syntax-number"),
    (Syntax::Constant, "syntax-constant"),
    (Syntax::Function, "syntax-function"),
    (Syntax::Type, "syntax-type"),
    (Syntax::Variable, "syntax-variable"),
    (Syntax::Operator, "syntax-operator"),
    (Syntax::Punctuation, "syntax-punctuation"),
    (Syntax::Tag, "syntax-tag"),
    (Syntax::Attribute, "syntax-attribute"),
    (Syntax::Inserted, "syntax-inserted"),
    (Syntax::Deleted, "syntax-deleted"),
    (Syntax::Heading, "syntax-heading"),
];

const GROUND_STYLES: [&str; 4] = ["ground-base", "ground-raised", "ground-added", "ground-removed"];

/// A palette, resolved for what the terminal can show.
#[derive(Clone, Debug, PartialEq)]
pub struct Theme {
    pub name: String,
    pub dark: bool,
    pub depth: ColorDepth,
    tables: Arc<Tables>,
}

/// One style for everything that can be asked for.
#[derive(Clone, Debug, PartialEq)]
struct Tables {
    roles: [Style; ROLES.len()],
    syntax: [Style; SYNTAX.len()],
    slots: [Style; SLOTS.len()],
    grounds: [Style; GROUND_STYLES.len()],
    /// What programs mean by colours 0 to 15.
    terminal: [Color; 16],
}

impl Theme {
    /// A theme file for a depth, without a skin.
    ///
    /// # Errors
    /// [`ConfigError::Asset`] for a style that names what is not there.
    pub fn resolve(file: &ThemeFile, depth: ColorDepth) -> Result<Self, ConfigError> {
        let none = BTreeMap::new();
        Self::painted(file, &Paints::new(file, &none, false, depth), depth)
    }

    /// A theme file with the colours of a skin in it.
    pub(super) fn painted(file: &ThemeFile, paints: &Paints<'_>, depth: ColorDepth) -> Result<Self, ConfigError> {
        let style = |name: &str| -> Result<Style, ConfigError> {
            paints.style(name, file.styles.get(name).map(String::as_str).unwrap_or("text"))
        };
        let mut tables = Tables {
            roles: [Style::new(); ROLES.len()],
            syntax: [Style::new(); SYNTAX.len()],
            slots: [Style::new(); SLOTS.len()],
            grounds: [Style::new(); GROUND_STYLES.len()],
            terminal: paints.terminal(),
        };
        for (index, (_, name)) in ROLES.iter().enumerate() {
            tables.roles[index] = style(name)?;
        }
        for (index, (_, name)) in SYNTAX.iter().enumerate() {
            tables.syntax[index] = style(name)?;
        }
        for (index, (_, name)) in SLOTS.iter().enumerate() {
            tables.slots[index] = style(&format!("slot-{name}"))?;
        }
        for (index, name) in GROUND_STYLES.iter().enumerate() {
            tables.grounds[index] = style(name)?;
        }
        Ok(Self { name: file.name.clone(), dark: file.dark, depth, tables: Arc::new(tables) })
    }

    /// The style of a span: a foreground and modifiers; a background only where the role has its own.
    pub fn text(&self, role: Role) -> Style {
        let index = match role {
            Role::Syntax(syntax) => return self.tables.syntax[syntax as usize],
            Role::Screen(cell) => return self.cell(cell),
            Role::Text => 0,
            Role::Dim => 1,
            Role::Accent => 2,
            Role::Strong => 3,
            Role::Emphasis => 4,
            Role::StrongEmphasis => 5,
            Role::Strike => 6,
            Role::Heading(level) => 6 + usize::from(level.clamp(1, 3)),
            Role::Link => 10,
            Role::Code => 11,
            Role::Quote => 12,
            Role::Bullet => 13,
            Role::Rule => 14,
            Role::TableBorder => 15,
            Role::TableHeader => 16,
            Role::Good => 17,
            Role::Careful => 18,
            Role::Bad => 19,
            Role::Added => 20,
            Role::Removed => 21,
            Role::AddedStrong => 22,
            Role::RemovedStrong => 23,
            Role::LineNumber => 24,
        };
        self.tables.roles[index]
    }

    /// The background of a row, with the foreground of plain text on it.
    pub fn ground(&self, ground: Ground) -> Style {
        self.tables.grounds[ground as usize]
    }

    /// The style of a part of the screen.
    pub fn slot(&self, slot: Slot) -> Style {
        self.tables.slots[slot as usize]
    }

    fn cell(&self, cell: Cell) -> Style {
        let mut style = Style::new();
        if let Some(color) = self.paint(cell.fg) {
            style = style.fg(color);
        }
        if let Some(color) = self.paint(cell.bg) {
            style = style.bg(color);
        }
        let flags = [
            (cell.bold, Modifier::BOLD),
            (cell.dim, Modifier::DIM),
            (cell.italic, Modifier::ITALIC),
            (cell.underline, Modifier::UNDERLINED),
            (cell.inverse, Modifier::REVERSED),
        ];
        flags.into_iter().filter(|(on, _)| *on).fold(style, |style, (_, modifier)| style.add_modifier(modifier))
    }

    fn paint(&self, paint: Paint) -> Option<Color> {
        match (paint, self.depth) {
            (Paint::Default, _) | (_, ColorDepth::NoColor) => None,
            (Paint::Index(index), _) if index < 16 => Some(self.tables.terminal[usize::from(index)]),
            (Paint::Index(index), ColorDepth::True | ColorDepth::Ansi256) => Some(Color::Indexed(index)),
            (Paint::Index(index), ColorDepth::Ansi16) => Rgb::of_index(index).named(),
            (Paint::Rgb(r, g, b), ColorDepth::True) => Some(Color::Rgb(r, g, b)),
            (Paint::Rgb(r, g, b), ColorDepth::Ansi256) => Some(Color::Indexed(Rgb(r, g, b).indexed())),
            (Paint::Rgb(r, g, b), ColorDepth::Ansi16) => Rgb(r, g, b).named(),
        }
    }
}

#[cfg(test)]
#[path = "theme/tests.rs"]
mod tests;

//! A theme file and a skin's colours into styles, for what the terminal can show.

use super::color::Rgb;
use super::depth::ColorDepth;
use super::file::ThemeFile;
use crate::config::ConfigError;
use ratatui::style::{Color, Modifier, Style};
use std::collections::BTreeMap;

/// Names of the palette that lie under text.
const GROUNDS: &[&str] = &[
    "base",
    "raised",
    "overlay",
    "status",
    "selection",
    "marked",
    "added-ground",
    "removed-ground",
    "added-mark",
    "removed-mark",
];
/// Names that are drawn, not read; 3:1 is asked of them.
const DECOR: &[&str] = &["border", "border-focused"];
/// What decoration must stand out by (WCAG 1.4.11).
const DECOR_RATIO: f64 = 3.0;

/// The palette after adjusting, ready to paint with.
pub struct Paints<'a> {
    file: &'a ThemeFile,
    depth: ColorDepth,
    /// Colours as they will be seen.
    seen: BTreeMap<String, Rgb>,
    /// Accents that a skin chose: their hue decides among 16 colours.
    skin: &'a BTreeMap<String, Rgb>,
}

impl<'a> Paints<'a> {
    /// The theme's palette with the skin's colours over it, each text colour moved until it is readable on all of its
    /// grounds. `grounds`: the skin's grounds count too.
    pub fn new(file: &'a ThemeFile, skin: &'a BTreeMap<String, Rgb>, grounds: bool, depth: ColorDepth) -> Self {
        let mut palette = file.palette.clone();
        for (name, color) in skin {
            let is_ground = GROUNDS.contains(&name.as_str());
            let signal = matches!(name.as_str(), "good" | "careful" | "bad" | "added" | "removed");
            let voice = matches!(name.as_str(), "text" | "soft" | "dim");
            if (is_ground && (!grounds || file.own_voices))
                || (signal && file.own_signals)
                || (voice && file.own_voices)
            {
                continue;
            }
            palette.insert(name.clone(), *color);
        }
        let theirs = |name: &str| file.palette.get(name).copied();
        let base = palette.get("base").copied().unwrap_or_default();
        // Made for the other ground: the theme's own voice, and the accent for the prompt.
        for (name, ratio) in [("text", 7.0), ("soft", 6.0), ("prompt", 3.0)] {
            if palette.get(name).is_some_and(|color| color.contrast(base) < ratio) {
                let spare = if name == "prompt" { palette.get("accent").copied() } else { theirs(name) };
                palette.extend(spare.map(|color| (name.to_owned(), color)));
            }
        }
        let mut seen = BTreeMap::new();
        for name in GROUNDS {
            if let Some(color) = palette.get(*name) {
                let shown = if depth == ColorDepth::Ansi256 { Rgb::of_index(color.indexed()) } else { *color };
                seen.insert((*name).to_owned(), shown);
            }
        }
        if depth == ColorDepth::Ansi256 {
            separate(&mut seen, file.dark);
        }
        for (name, color) in palette.iter().filter(|(name, _)| !GROUNDS.contains(&name.as_str())) {
            let under: Vec<Rgb> = grounds_of(name).filter_map(|ground| seen.get(ground).copied()).collect();
            let decor = DECOR.contains(&name.as_str());
            let ratio = if decor { DECOR_RATIO } else { file.minimum };
            let fitted = match name.as_str() {
                "border" => color.fitted_to(under.first().copied().unwrap_or(base), ratio),
                _ => color.readable_on(&under, ratio),
            };
            let shown = match depth {
                ColorDepth::Ansi256 => Rgb::of_index(fitted.indexed_on(&under, ratio)),
                _ => fitted,
            };
            seen.insert(name.clone(), shown);
        }
        Self { file, depth, seen, skin }
    }

    /// A style from words: `FOREGROUND [on GROUND] [bold italic underline faint strike reverse]`.
    ///
    /// # Errors
    /// [`ConfigError::Asset`] for a word that is neither a palette name nor a modifier.
    pub fn style(&self, key: &str, words: &str) -> Result<Style, ConfigError> {
        let mut style = Style::new();
        let mut on = false;
        for word in words.split_whitespace() {
            if word == "on" {
                on = true;
            } else if let Some(modifier) = modifier(word) {
                style = style.add_modifier(modifier);
            } else if self.seen.contains_key(word) {
                style = if on { style.patch(self.under(word)) } else { style.patch(self.over(word)) };
                on = false;
            } else {
                let text = format!(
                    "{key}: {word} is neither a colour of the palette nor bold, italic, underline, faint, strike or reverse"
                );
                return Err(ConfigError::Asset { path: format!("theme {}", self.file.name), text });
            }
        }
        Ok(style)
    }

    fn over(&self, name: &str) -> Style {
        match self.depth {
            ColorDepth::True | ColorDepth::Ansi256 => {
                self.color(name).map_or(Style::new(), |color| Style::new().fg(color))
            }
            ColorDepth::Ansi16 => self.ansi(name),
            ColorDepth::NoColor => modifiers(self.file.plain.get(name)),
        }
    }

    fn under(&self, name: &str) -> Style {
        let is_ground = GROUNDS.contains(&name);
        match self.depth {
            ColorDepth::True | ColorDepth::Ansi256 => {
                self.color(name).map_or(Style::new(), |color| Style::new().bg(color))
            }
            ColorDepth::Ansi16 if is_ground => modifiers(self.file.ansi.get(name)),
            // A chip: the colour as a ground, with whatever the terminal writes on it.
            ColorDepth::Ansi16 => self.ansi(name).add_modifier(Modifier::REVERSED),
            ColorDepth::NoColor if is_ground => modifiers(self.file.plain.get(name)),
            ColorDepth::NoColor => Style::new().add_modifier(Modifier::REVERSED),
        }
    }

    fn color(&self, name: &str) -> Option<Color> {
        self.seen.get(name).map(|color| self.show(*color))
    }

    /// A colour as this depth writes it.
    fn show(&self, color: Rgb) -> Color {
        if self.depth == ColorDepth::Ansi256 {
            Color::Indexed(color.indexed())
        } else {
            Color::Rgb(color.0, color.1, color.2)
        }
    }

    fn ansi(&self, name: &str) -> Style {
        let written = self.file.ansi.get(name).map(String::as_str).unwrap_or_default();
        let style = modifiers(Some(&written.to_owned()));
        let signal = matches!(name, "good" | "careful" | "bad");
        let chosen = self.skin.get(name).filter(|_| !signal).and_then(|color| color.named());
        let named = || written.split_whitespace().find_map(|word| word.replace('-', "").parse::<Color>().ok());
        match chosen.or_else(named) {
            Some(color) => style.fg(color),
            None => style,
        }
    }

    /// The 16 colours of terminals.
    pub fn terminal(&self) -> [Color; 16] {
        let mut colors = [Color::Reset; 16];
        for (index, slot) in colors.iter_mut().enumerate() {
            *slot = match (self.depth, self.file.terminal.get(index)) {
                (ColorDepth::NoColor, _) => Color::Reset,
                (ColorDepth::Ansi16, _) | (_, None) => Color::Indexed(index as u8),
                (_, Some(color)) => self.show(*color),
            };
        }
        colors
    }

    /// A colour of the palette as it will be seen.
    #[cfg(test)]
    pub fn seen(&self, name: &str) -> Option<Rgb> {
        self.seen.get(name).copied()
    }
}

/// Grounds that a colour is read on.
fn grounds_of(name: &str) -> impl Iterator<Item = &'static str> {
    let grounds: &[&str] = match name {
        "border" | "border-focused" => &["base"],
        "added" => &["base", "raised", "overlay", "added-ground", "added-mark"],
        "removed" => &["base", "raised", "overlay", "removed-ground", "removed-mark"],
        "text" => &["base", "raised", "overlay", "status", "selection", "marked"],
        "soft" | "dim" | "accent" | "match" | "good" | "careful" | "bad" => {
            &["base", "raised", "overlay", "status", "selection"]
        }
        name if name.starts_with("syntax-") => &["base", "raised", "overlay", "added-ground", "removed-ground"],
        _ => &["base", "raised", "overlay"],
    };
    grounds.iter().copied()
}

/// Steps of tone stay apart among 256 colours: neighbours of the grey ramp where they fell together.
fn separate(seen: &mut BTreeMap<String, Rgb>, dark: bool) {
    let mut last = seen.get("base").copied().unwrap_or_default();
    for name in ["raised", "overlay", "selection"] {
        let Some(color) = seen.get(name).copied() else { continue };
        let apart = |a: Rgb, b: Rgb| if dark { a.luminance() > b.luminance() } else { a.luminance() < b.luminance() };
        if !apart(color, last) {
            let ramp = (232..=255).map(Rgb::of_index);
            let next = if dark {
                ramp.clone().find(|grey| apart(*grey, last))
            } else {
                ramp.rev().find(|grey| apart(*grey, last))
            };
            seen.extend(next.map(|grey| (name.to_owned(), grey)));
        }
        last = seen.get(name).copied().unwrap_or(color);
    }
}

fn modifiers(words: Option<&String>) -> Style {
    let words = words.map(String::as_str).unwrap_or_default();
    words.split_whitespace().filter_map(modifier).fold(Style::new(), Style::add_modifier)
}

fn modifier(word: &str) -> Option<Modifier> {
    Some(match word {
        "bold" => Modifier::BOLD,
        "faint" => Modifier::DIM,
        "italic" => Modifier::ITALIC,
        "underline" => Modifier::UNDERLINED,
        "strike" => Modifier::CROSSED_OUT,
        "reverse" => Modifier::REVERSED,
        _ => return None,
    })
}

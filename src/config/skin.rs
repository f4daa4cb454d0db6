//! Skins: character (faces, verbs, words, glyphs, banner) and accents over a theme.

use super::theme::Theme;
use std::collections::BTreeMap;

/// A skin and the theme under it, ready to draw with. Compared by name and revision.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    pub skin: Skin,
    pub theme: Theme,
    /// Part of every layout cache key; differs between looks.
    pub revision: u32,
}

/// What gives the program its face. Every key of a skin file is optional and inherits from `default`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Skin {
    pub name: String,
    pub description: String,
    pub waiting_faces: Vec<String>,
    pub thinking_faces: Vec<String>,
    pub thinking_verbs: Vec<String>,
    /// `Hermes Agent`.
    pub agent_name: String,
    pub welcome: String,
    pub goodbye: String,
    /// Before the program's name and answers: `☤`.
    pub glyph: String,
    /// Before the composer and user messages: `❯`.
    pub prompt_symbol: String,
    pub tool_prefix: String,
    pub tool_emojis: BTreeMap<String, String>,
    /// Lines of the banner; empty when the skin has none.
    pub banner: Vec<String>,
}

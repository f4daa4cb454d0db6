//! Skins: character (faces, verbs, words, glyphs, banner) and accents over a theme.

mod file;

use super::theme::{Canvas, Paints, Theme, ThemeFile};
use super::{ConfigError, embedded};
use file::SkinFile;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;

/// A skin and the theme under it, ready to draw with. Compared by name and revision.
#[derive(Clone, Debug, PartialEq)]
pub struct Appearance {
    pub skin: Arc<Skin>,
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

/// Where a person's own skins and themes are; `None` where there are none to look for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LookDirs {
    pub skins: Option<PathBuf>,
    pub themes: Option<PathBuf>,
}

/// One row of a picker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub name: String,
    pub description: String,
    /// From the person's folder.
    pub own: bool,
    /// What is wrong with the file, when it can't be used.
    pub problem: Option<String>,
}

impl Appearance {
    /// A skin over a theme, for a canvas. An empty theme means the skin's own for the canvas' ground.
    ///
    /// # Errors
    /// [`ConfigError::NoLook`] with the nearest name, or what is wrong with one of the files. The caller goes on with
    /// [`Appearance::fallback`].
    pub fn load(skin: &str, theme: &str, dirs: &LookDirs, canvas: impl Into<Canvas>) -> Result<Self, ConfigError> {
        let canvas = canvas.into();
        let base = SkinFile::load("default", None)?;
        let skin_file = match skin {
            "" | "default" if dirs.skins.is_none() => base,
            name => SkinFile::load(if name.is_empty() { "default" } else { name }, dirs.skins.as_deref())?.over(base),
        };
        let chosen = if theme.is_empty() { skin_file.theme(canvas.light) } else { theme };
        let theme_file = ThemeFile::load(chosen, dirs.themes.as_deref())?;
        let own_theme = theme.is_empty() || theme == skin_file.theme(!theme_file.dark);
        let palette = skin_file.palette(theme_file.dark);
        let paints = Paints::new(&theme_file, &palette, own_theme, canvas.depth);
        let theme = Theme::painted(&theme_file, &paints, canvas.depth)?;
        let mut hasher = DefaultHasher::new();
        format!("{:?} {:?}", skin_file.skin, theme).hash(&mut hasher);
        Ok(Self { skin: Arc::new(skin_file.skin), theme, revision: hasher.finish() as u32 })
    }

    /// The embedded default skin, for when the chosen one can't be used.
    ///
    /// # Errors
    /// Only when the program's own assets are broken, which a test rules out.
    pub fn fallback(canvas: impl Into<Canvas>) -> Result<Self, ConfigError> {
        Self::load("default", "", &LookDirs::default(), canvas)
    }
}

/// All skins: embedded ones in their order, then the person's.
pub fn list_skins(dirs: &LookDirs) -> Vec<Listed> {
    let own = |name: &str| dirs.skins.as_ref().is_some_and(|dir| dir.join(format!("{name}.yaml")).is_file());
    let describe = |name: String| {
        let found = SkinFile::load(&name, dirs.skins.as_deref());
        listed(own(&name), name, found.map(|file| file.skin.description))
    };
    embedded::list(embedded::SKINS, dirs.skins.as_deref()).into_iter().map(describe).collect()
}

/// All themes: embedded ones in their order, then the person's.
pub fn list_themes(dirs: &LookDirs) -> Vec<Listed> {
    let own = |name: &str| dirs.themes.as_ref().is_some_and(|dir| dir.join(format!("{name}.yaml")).is_file());
    let describe = |name: String| {
        let found = ThemeFile::load(&name, dirs.themes.as_deref());
        listed(own(&name), name, found.map(|file| file.description))
    };
    embedded::list(embedded::THEMES, dirs.themes.as_deref()).into_iter().map(describe).collect()
}

fn listed(own: bool, name: String, found: Result<String, ConfigError>) -> Listed {
    match found {
        Ok(description) => Listed { name, description, own, problem: None },
        Err(error) => Listed { name, description: String::new(), own, problem: Some(error.to_string()) },
    }
}

#[cfg(test)]
#[path = "skin/tests.rs"]
mod tests;

//! Themes and skins inside the program; a person's file of the same name comes first.

use super::{ConfigError, suggest};
use std::path::Path;

/// The theme at the end of every chain of `inherits`.
pub const BASE_THEME: &str = "hermes-dark";

macro_rules! assets {
    ($folder:literal: $($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../../", $folder, "/", $name, ".yaml")))),+]
    };
}

/// Names and texts of the themes, in the order of the picker.
pub const THEMES: &[(&str, &str)] = assets!(
    "themes": "hermes-dark", "hermes-light", "contrast-dark", "contrast-light", "clear-dark", "clear-light"
);

/// Names and texts of the skins, in the order of the picker.
pub const SKINS: &[(&str, &str)] = assets!(
    "skins": "default", "ares", "mono", "slate", "daylight", "warm-lightmode", "poseidon", "sisyphus", "charizard", "clear",
    "contrast"
);

/// The place (for messages) and text of a theme.
///
/// # Errors
/// [`ConfigError::NoLook`] with the nearest name.
pub fn theme(name: &str, user: Option<&Path>) -> Result<(String, String), ConfigError> {
    find("theme", THEMES, name, user)
}

/// The place (for messages) and text of a skin.
///
/// # Errors
/// [`ConfigError::NoLook`] with the nearest name.
pub fn skin(name: &str, user: Option<&Path>) -> Result<(String, String), ConfigError> {
    find("skin", SKINS, name, user)
}

fn find(
    kind: &'static str,
    known: &[(&str, &str)],
    name: &str,
    user: Option<&Path>,
) -> Result<(String, String), ConfigError> {
    let safe = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\']);
    if let Some(path) = user.filter(|_| safe).map(|dir| dir.join(format!("{name}.yaml"))) {
        match std::fs::read_to_string(&path) {
            Ok(text) => return Ok((path.to_string_lossy().into_owned(), text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(ConfigError::Read { path, reason: error.to_string() }),
        }
    }
    match known.iter().find(|(known, _)| *known == name) {
        Some((name, text)) => Ok((format!("{kind} {name}"), (*text).to_owned())),
        None => {
            let names = list(known, user);
            let hint = suggest::hint(name, names.iter().map(String::as_str));
            let hint = if hint.is_empty() { format!("; available: {}", names.join(", ")) } else { hint };
            Err(ConfigError::NoLook { kind, name: name.into(), hint })
        }
    }
}

/// Embedded names in order, then a person's own by name.
pub fn list(known: &[(&str, &str)], user: Option<&Path>) -> Vec<String> {
    let mut names: Vec<String> = known.iter().map(|(name, _)| (*name).to_owned()).collect();
    let mut own: Vec<String> = user
        .and_then(|dir| std::fs::read_dir(dir).ok())
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_suffix(".yaml").map(str::to_owned))
        .filter(|name| !name.starts_with('.') && !names.contains(name))
        .collect();
    own.sort();
    names.extend(own);
    names
}

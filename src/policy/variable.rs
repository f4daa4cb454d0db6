//! Whether the value of a variable makes other programs run code, by what the table says of its name.

use super::glob;
use super::table::{Each, VariableSpec};

/// Values that name nothing that could run.
const PLAIN: &[&str] = &["", "true", "false", "yes", "no", "on", "off", "none", "auto", "never", "always"];

/// What a value is compared with.
pub struct Place<'a> {
    /// What `~` stands for in the table.
    pub home: &'a str,
    /// The absolute paths that a part of the value can be.
    pub absolute: &'a dyn Fn(&str) -> Vec<String>,
    /// Whether a part of the value stays in the working folder.
    pub inside: &'a dyn Fn(&str) -> bool,
}

/// A number or a switch: harmless under any name that nothing exact is said of.
pub fn is_plain(value: &str) -> bool {
    value.bytes().all(|b| b.is_ascii_digit() || b == b'.') || PLAIN.contains(&value.to_ascii_lowercase().as_str())
}

/// Whether the table calls this value harmless. What is not known of it stands as `$`.
pub fn is_harmless(spec: &VariableSpec, value: &str, place: &Place<'_>) -> bool {
    let matches = |globs: &[String], text: &str| {
        globs.iter().any(|pattern| match pattern.strip_prefix('~') {
            Some(rest) => text.strip_prefix(place.home).is_some_and(|text| glob::matches(rest, text)),
            None => glob::matches(pattern, text),
        })
    };
    let parts: Vec<&str> = match spec.each {
        Each::Whole => vec![value],
        Each::Word => value.split_whitespace().collect(),
        Each::Path => value.split(':').collect(),
    };
    if !spec.only.is_empty() {
        return !matches(&spec.only, value) && !parts.iter().any(|part| matches(&spec.only, part));
    }
    let known = |part: &str| {
        let leads = |path: String| !path.contains("..") && matches(&spec.safe, &path);
        let is_path = spec.each == Each::Path && !part.starts_with('$');
        !part.contains("/../") && matches(&spec.safe, part) && !part.ends_with("/..")
            || spec.inside && (place.inside)(part)
            || is_path && (place.absolute)(part).into_iter().all(leads)
    };
    matches(&spec.safe, value) && !value.contains("..") || !parts.is_empty() && parts.iter().all(|part| known(part))
}

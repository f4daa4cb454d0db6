//! `.env`: keys of providers, one `NAME=value` a line, readable by its owner only.

use super::ConfigError;
use crate::fs;
use std::collections::BTreeMap;
use std::path::Path;

/// Reads `NAME=value` lines: an `export ` before the name, single or double quotes around the value, and comments are
/// understood. Lines that are none of this are skipped and returned by number (1-based).
pub fn parse(text: &str) -> (BTreeMap<String, String>, Vec<usize>) {
    let mut values = BTreeMap::new();
    let mut odd = Vec::new();
    for (index, line) in text.strip_prefix('\u{feff}').unwrap_or(text).lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match assignment(line) {
            Some((name, value)) => {
                values.insert(name.to_owned(), value);
            }
            None => odd.push(index + 1),
        }
    }
    (values, odd)
}

fn assignment(line: &str) -> Option<(&str, String)> {
    let line = line.strip_prefix("export ").map_or(line, str::trim_start);
    let (name, value) = line.split_once('=')?;
    let name = name.trim_end();
    is_name(name).then(|| (name, unquote(value.trim_start())))
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Double quotes know `\n`, `\"` and `\\`; single quotes know nothing; a bare value ends at ` #`.
fn unquote(value: &str) -> String {
    let mut chars = value.chars();
    match chars.next() {
        Some('\'') => chars.as_str().split('\'').next().unwrap_or_default().to_owned(),
        Some('"') => {
            let mut out = String::new();
            while let Some(c) = chars.next() {
                match c {
                    '"' => break,
                    '\\' => match chars.next() {
                        Some('n') => out.push('\n'),
                        Some('t') => out.push('\t'),
                        Some(other) => out.push(other),
                        None => {}
                    },
                    other => out.push(other),
                }
            }
            out
        }
        _ => {
            let end = value.find(" #").or_else(|| value.find("\t#")).unwrap_or(value.len());
            value[..end].trim_end().to_owned()
        }
    }
}

/// Sets one name, keeping every other line; the file is made when it is not there, and is 0600 afterwards.
///
/// # Errors
/// [`ConfigError::BadValue`] for a name that is none, [`ConfigError::Write`] or [`ConfigError::Read`].
pub fn set(path: &Path, name: &str, value: &str) -> Result<(), ConfigError> {
    if !is_name(name) {
        return Err(ConfigError::BadValue {
            key: name.into(),
            value: "a variable".into(),
            expected: "names consist of letters, digits and underscores".into(),
        });
    }
    let old = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(ConfigError::Read { path: path.into(), reason: error.to_string() }),
    };
    fs::write_atomic(path, &upsert(&old, name, value))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))
            .map_err(|error| fs::WriteError::new(path, &error))?;
    }
    Ok(())
}

fn upsert(old: &str, name: &str, value: &str) -> String {
    let line = format!("{name}={}", quote(value));
    let mut out = String::with_capacity(old.len() + line.len() + 1);
    let mut done = false;
    for existing in old.lines() {
        match assignment(existing.trim()) {
            Some((known, _)) if known == name && done => continue,
            Some((known, _)) if known == name => {
                done = true;
                out.push_str(&line);
            }
            _ => out.push_str(existing),
        }
        out.push('\n');
    }
    if !done {
        out.push_str(&line);
        out.push('\n');
    }
    out
}

fn quote(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@+=,%".contains(c);
    if !value.is_empty() && value.chars().all(plain) {
        return value.to_owned();
    }
    let escaped = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t");
    format!("\"{escaped}\"")
}

/// Whether others than the owner may read the file. `false` when it is not there.
pub fn is_exposed(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o077 != 0)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_usual_forms() {
        let text = "# keys\nexport A=1\nB = two words # not this\nC=\"q \\\"x\\\" # in\"\nD='$raw # in'\nE=\nF=a#b\nnonsense\n=x\n";
        let (values, odd) = parse(text);
        for (name, value) in
            [("A", "1"), ("B", "two words"), ("C", "q \"x\" # in"), ("D", "$raw # in"), ("E", ""), ("F", "a#b")]
        {
            assert_eq!(values.get(name).map(String::as_str), Some(value), "{name}");
        }
        assert_eq!(odd, [8, 9]);
    }

    #[test]
    fn setting_keeps_the_rest_and_the_file_private() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("h/.env");
        set(&path, "KEY", "sk-1").unwrap();
        std::fs::write(&path, "# mine\nexport KEY=old\nOTHER=1\nKEY=older\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(is_exposed(&path));
        set(&path, "KEY", "a b\"c").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "# mine\nKEY=\"a b\\\"c\"\nOTHER=1\n");
        assert_eq!(parse(&std::fs::read_to_string(&path).unwrap()).0["KEY"], "a b\"c");
        assert!(!is_exposed(&path));
        assert!(set(&path, "bad name", "x").is_err());
    }
}

//! What a person is shown of the files that decide: the keys that matter, without secrets, and how they differ.

use super::{Content, redacted};
use crate::config::schema::{self, Found, Kind};
use crate::policy::redact::{RedactKind, redact};
use crate::yaml;
use sha2::{Digest, Sha256};
use similar::TextDiff;
use std::fmt::Write as _;
use std::path::Path;

/// Top-level keys of a configuration that decide what is asked, what runs and what it may see.
const KEYS: &[&str] = &[
    "approvals",
    "command_allowlist",
    "auxiliary",
    "permissions",
    "hooks",
    "hooks_auto_accept",
    "plugins",
    "mcp_servers",
    "security",
    "sandbox",
    "toolsets",
    "custom_toolsets",
];
/// Single keys of other sections.
const SINGLE: &[(&str, &str)] = &[
    ("terminal", "backend"),
    ("terminal", "env_passthrough"),
    ("terminal", "shell_init_files"),
    ("checks", "commands"),
    ("skills", "external_dirs"),
];

/// Lines of a difference that are shown, and characters of one.
const LINES: usize = 200;
const LINE: usize = 240;

/// The keys of a configuration that matter, one line each, in the order of [`KEYS`].
pub(super) fn config(path: &Path) -> Content {
    let Ok(bytes) = std::fs::read(path) else { return Content::default() };
    let root = String::from_utf8(bytes.clone()).ok().and_then(|text| yaml::parse(&text, "config.yaml").ok());
    // What cannot be read is compared as it is.
    let Some(root) = root else { return redacted(&bytes) };
    let whole = KEYS.iter().map(|key| ((*key).to_owned(), root.get(key)));
    let single = SINGLE
        .iter()
        .map(|(section, key)| (format!("{section}.{key}"), root.get(section).and_then(|section| section.get(key))));
    let (mut shown, mut all) = (String::new(), String::new());
    for (path, node) in whole.chain(single) {
        let Some(node) = node.map(yaml::Node::to_json) else { continue };
        lines(&mut shown, &path, &node, 0, &path);
        // Writing to a string cannot fail.
        let _ = writeln!(all, "{path}: {node}");
    }
    Content::new(shown, all.as_bytes())
}

/// A value in lines that can be compared: `key: value`, deeper ones indented.
fn lines(out: &mut String, key: &str, value: &serde_json::Value, depth: usize, path: &str) {
    use serde_json::Value;
    let indent = "  ".repeat(depth);
    let secret = |path: &str| matches!(schema::find(path), Found::Leaf(spec) if matches!(spec.kind, Kind::Secret | Kind::SecretMap));
    // Writing to a string cannot fail.
    let _ = match value {
        Value::Object(fields) => {
            let _ = writeln!(out, "{indent}{key}:");
            for (name, inner) in fields {
                let below = if secret(path) { "*".to_owned() } else { format!("{path}.{name}") };
                lines(out, name, inner, depth + 1, &below);
            }
            Ok(())
        }
        Value::Array(items) if !items.is_empty() => {
            let _ = writeln!(out, "{indent}{key}:");
            items.iter().for_each(|item| lines(out, "-", item, depth + 1, path));
            Ok(())
        }
        plain => {
            let shown = match plain {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let hidden = path == "*" || secret(path);
            let shown = if hidden {
                format!("*** {}", short(&shown))
            } else {
                redact(&shown, RedactKind::Default).into_owned()
            };
            let mark = if key == "-" { "- ".to_owned() } else { format!("{key}: ") };
            writeln!(out, "{indent}{mark}{}", shown.replace('\n', "⏎"))
        }
    };
}

/// Tells one secret from another without telling it.
fn short(text: &str) -> String {
    let sum = Sha256::digest(text.as_bytes());
    format!("({:02x}{:02x})", sum[0], sum[1])
}

/// A unified difference without the heads of files, bounded.
pub(super) fn difference(before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    let mut out = String::new();
    let mut count = 0;
    for hunk in diff.unified_diff().context_radius(2).iter_hunks() {
        for line in hunk.to_string().lines() {
            count += 1;
            if count > LINES {
                out.push_str("  … more lines changed\n");
                return out;
            }
            if line.starts_with("@@") {
                if !out.is_empty() {
                    out.push_str("  …\n");
                }
                continue;
            }
            out.extend(line.chars().take(LINE));
            out.push('\n');
        }
    }
    if out.is_empty() {
        out.push_str("  a value hidden here changed\n");
    }
    out
}

//! Reads what a permission is about: `NAME[@BACKEND][(ARGUMENT)]`.

use super::{Argument, Subject};
use crate::policy::rule::{Action, Rule, split};

/// Actions by the tool they belong to, and tools by their own names. A name with a `*` may match more: those of servers
/// and plugins begin with `mcp__` and `plugin__`.
const KNOWN: &[&str] = &[
    "terminal",
    "terminal.run",
    "code.run",
    "terminal.background",
    "terminal.write",
    "file",
    "file.read",
    "file.write",
    "file.delete",
    "web",
    "web.fetch",
    "web.search",
    "browser",
    "browser.open",
    "agent",
    "process",
    "read_file",
    "search_files",
    "write_file",
    "patch",
    "execute_code",
    "delegate_task",
    "cronjob",
    "memory",
    "session_search",
    "skills_list",
    "skill_view",
    "skill_manage",
    "todo",
    "clarify",
    "send_message",
    "web_search",
    "web_extract",
    "image_generate",
    "vision_analyze",
    "text_to_speech",
];

/// Why a line is no permission.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("{0:?} names no tool or action; write for example `terminal.*` or `file.write(src/**)`")]
    Empty(String),
    #[error("{0:?} has no closing parenthesis; quote it if it contains `: ` or ` #`")]
    Open(String),
    #[error("unknown name {name:?}{hint}")]
    Unknown { name: String, hint: String },
    #[error("{0:?} cannot have parentheses: only commands, files and hosts can")]
    Argument(String),
}

/// Reads a subject.
///
/// # Errors
/// What is wrong with it.
pub fn subject(text: &str) -> Result<Subject, Problem> {
    let text = text.trim();
    let (head, argument) = match text.split_once('(') {
        Some((head, rest)) => {
            let inner = rest.trim_end().strip_suffix(')').ok_or_else(|| Problem::Open(text.into()))?;
            (head.trim(), Some(inner.trim()))
        }
        None if text.ends_with(')') => return Err(Problem::Open(text.into())),
        None => (text, None),
    };
    let (name, backend) = match head.split_once('@') {
        Some((name, backend)) => (name.trim(), Some(backend.trim().to_owned())),
        None => (head, None),
    };
    let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '*' | '?');
    if name.is_empty() || !name.chars().all(letters) || backend.as_deref() == Some("") {
        return Err(Problem::Empty(text.into()));
    }
    let dynamic = ["mcp__", "plugin__", "mcp.", "plugin."].iter().any(|start| name.starts_with(start));
    let known = KNOWN.iter().any(|known| crate::policy::glob::matches(name, known));
    let family = |family: &str| name == family || name.split('.').next() == Some(family);
    if !dynamic && !known && !family("browser") && !family("web") {
        let near = KNOWN.iter().min_by_key(|known| apart(name, known)).filter(|known| apart(name, known) <= 3);
        let hint = near.map(|near| format!("; did you mean {near}")).unwrap_or_default();
        return Err(Problem::Unknown { name: name.into(), hint });
    }
    let any = || Rule { action: Action::Allow, words: vec!["*".into()] };
    let (argument, rule) = match argument {
        None => (Argument::None, any()),
        Some(inner) => {
            let file_tools = ["read_file", "search_files", "write_file", "patch"];
            if inner.is_empty() || inner == "=" {
                return Err(Problem::Empty(text.into()));
            } else if let Some(line) = inner.strip_prefix("= ").filter(|_| family("terminal")) {
                (Argument::Line(line.trim().to_owned()), any())
            } else if family("terminal") || name == "process" {
                (Argument::Words, Rule { action: Action::Allow, words: split(inner) })
            } else if family("file") || file_tools.contains(&name) {
                (Argument::Path(inner.to_owned()), any())
            } else if family("web") || family("browser") || name.starts_with("web_") {
                (Argument::Host(inner.to_lowercase()), any())
            } else {
                return Err(Problem::Argument(name.into()));
            }
        }
    };
    if argument == Argument::Words && rule.words.is_empty() {
        return Err(Problem::Empty(text.into()));
    }
    Ok(Subject { text: text.to_owned(), name: name.to_owned(), backend, argument, rule })
}

/// How many letters two short names differ by, at most their length; places count.
fn apart(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1; b.len() + 1];
        for (j, y) in b.iter().enumerate() {
            row[j + 1] = (last[j] + usize::from(x != y)).min(last[j + 1] + 1).min(row[j] + 1);
        }
        last = row;
    }
    last[b.len()]
}

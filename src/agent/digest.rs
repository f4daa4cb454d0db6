//! What a session says in short: by a model, or else an extract of it that needs none.

use super::compaction::transcript;
use crate::llm::message::Message;
use crate::llm::{Effort, Provider, Request};
use crate::protocol::{Body, Item, ItemId, Origin, Outcome, Usage};
use crate::text::width::truncate_end;
use crate::tools::builtin::terminal;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Characters of a summary.
const SUMMARY: usize = 600;
/// Words to find it by, and characters of one.
const KEYWORDS: usize = 10;
const KEYWORD: usize = 40;
/// Characters of a prompt, of the sentence of an answer, and of a command in an extract.
const PROMPT: usize = 160;
const SENTENCE: usize = 200;
const COMMAND: usize = 40;
/// Files and commands that an extract names.
const NAMED: usize = 5;
/// Characters of the entries that a model reads: the start and the end of a long session.
const READ: usize = 24_000;
/// Tokens of the answer; some models think first.
const ANSWER: u32 = 1_200;

/// What a session says in short.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Digest {
    pub text: String,
    pub keywords: Vec<String>,
}

/// The first prompt, the first sentence of the last answer, files and commands. `None` when nothing was said.
pub(super) fn extract(items: &[Item], files: &[PathBuf], cwd: &Path) -> Option<Digest> {
    let prompt = items.iter().find_map(|item| match &item.body {
        Body::User { text, origin: Origin::Person, .. } => {
            // A key that was typed is none of a summary's business.
            let text = crate::policy::redact::redact(text, crate::policy::redact::RedactKind::Default);
            Some(one_line(&text, PROMPT))
        }
        Body::User { .. } | Body::Assistant(_) | Body::Tool(_) | Body::Summary(_) | Body::Note { .. } => None,
    })?;
    let answer = items.iter().rev().find_map(|item| match &item.body {
        Body::Assistant(body) if !body.text.trim().is_empty() => Some(first_sentence(&body.text)),
        Body::Assistant(_) | Body::User { .. } | Body::Tool(_) | Body::Summary(_) | Body::Note { .. } => None,
    });
    let mut commands: Vec<&str> = Vec::new();
    for item in items {
        if let Body::Tool(body) = &item.body
            && body.name == terminal::NAME
            && !matches!(body.outcome, Outcome::Denied | Outcome::Refused)
            && !commands.contains(&body.view.target.as_str())
        {
            commands.push(&body.view.target);
        }
    }
    commands.retain(|line| !line.trim().is_empty());
    let names: BTreeSet<String> =
        files.iter().map(|path| path.strip_prefix(cwd).unwrap_or(path).display().to_string()).collect();
    let names: Vec<String> = names.into_iter().collect();
    let lines: Vec<String> = commands.iter().map(|line| one_line(line, COMMAND)).collect();
    let mut parts = vec![prompt];
    parts.extend(answer.map(|answer| format!("→ {answer}")));
    parts.extend(listed("files", &names));
    parts.extend(listed("commands", &lines));
    let stem = |name: &String| name.rsplit('/').next().unwrap_or(name).to_owned();
    let program = |line: &&str| line.split_whitespace().next().map(|word| stem(&word.to_owned()));
    let mut keywords: Vec<String> = Vec::new();
    for word in names.iter().map(stem).chain(commands.iter().filter_map(program)) {
        let word = one_line(&word, KEYWORD);
        if !word.is_empty() && !keywords.contains(&word) && keywords.len() < KEYWORDS {
            keywords.push(word);
        }
    }
    Some(Digest { text: truncate_end(&parts.join(" "), SUMMARY), keywords })
}

fn listed(what: &str, names: &[String]) -> Option<String> {
    let shown = names.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(NAMED) {
        _ if names.is_empty() => None,
        None | Some(0) => Some(format!("· {what}: {shown}")),
        Some(more) => Some(format!("· {what}: {shown} and {more} more")),
    }
}

fn one_line(text: &str, most: usize) -> String {
    truncate_end(&text.split_whitespace().collect::<Vec<_>>().join(" "), most)
}

fn first_sentence(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let line = line.trim_start_matches(['#', '*', '-', '>', ' ']);
    let end = line.match_indices(['.', '?', '!']).map(|(at, _)| at + 1);
    let end = end.into_iter().find(|at| line[*at..].chars().next().is_none_or(char::is_whitespace));
    one_line(end.map_or(line, |end| &line[..end]), SENTENCE)
}

/// Asks a model, once and within bounds; `None` when nothing of use came. What it used is told all the same.
pub(super) async fn written(
    provider: Arc<dyn Provider>,
    items: &[Item],
    patience: Duration,
) -> (Option<Digest>, Option<Usage>) {
    let pieces = transcript::pieces(items, ItemId(0), ItemId(i64::MAX), READ / 2);
    let entries = match pieces.as_slice() {
        [] => return (None, None),
        [one] => one.clone(),
        [first, .., last] => format!("{first}[…]\n{last}"),
    };
    let request = Request {
        system: include_str!("../../assets/prompts/session-summary.md").trim().into(),
        tools: Vec::new().into(),
        messages: vec![Message::User { text: format!("<entries>\n{entries}</entries>"), images: Vec::new() }],
        effort: Effort::None,
        max_output: Some(ANSWER),
        grammar: None,
        cache_key: "session-summary".into(),
    };
    let stop = CancellationToken::new();
    let _ended = stop.clone().drop_guard();
    // Nobody reads the pieces of the stream.
    let (sink, _) = mpsc::channel(1);
    match tokio::time::timeout(patience, provider.stream(&request, sink, stop)).await {
        Ok(Ok(reply)) => (read(&reply.text), reply.usage),
        Ok(Err(error)) => {
            tracing::debug!("no summary of a session: {}", error.message);
            (None, None)
        }
        Err(_) => (None, None),
    }
}

/// The sentences and the keywords of an answer.
fn read(answer: &str) -> Option<Digest> {
    let (mut text, mut keywords) = (Vec::new(), Vec::new());
    for line in answer.lines() {
        let bare = line.trim().trim_matches(['*', '#', '`']).trim_start();
        match bare.split_once(':').filter(|(head, _)| head.trim_matches('*').eq_ignore_ascii_case("keywords")) {
            Some((_, words)) => keywords.extend(words.split(',')),
            None => text.push(line),
        }
    }
    let text = one_line(&text.join(" "), SUMMARY);
    let clean = |word: &str| one_line(word.trim_matches(|c: char| c.is_whitespace() || "*`.".contains(c)), KEYWORD);
    let keywords = keywords.into_iter().map(clean).filter(|word| !word.is_empty()).take(KEYWORDS).collect();
    (!text.is_empty()).then_some(Digest { text, keywords })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{AssistantBody, ToolBody, ToolView};

    fn items() -> Vec<Item> {
        let prompt = Body::User {
            text: "fix the\nparser".into(),
            images: Vec::new(),
            context: String::new(),
            origin: Origin::Person,
            gist: String::new(),
        };
        let ran = |line: &str, outcome| {
            let view = ToolView { target: line.into(), ..ToolView::default() };
            Body::Tool(ToolBody { name: terminal::NAME.into(), view, outcome, ..ToolBody::default() })
        };
        let answer = AssistantBody { text: "## The parser ends. All tests pass.".into(), ..AssistantBody::default() };
        let bodies = [
            prompt,
            ran("cargo test -p parser", Outcome::Ok),
            ran("rm -rf /", Outcome::Denied),
            Body::Assistant(answer),
        ];
        bodies.into_iter().zip(1..).map(|(body, id)| Item { id: ItemId(id), at: 0, turn: 1, body }).collect()
    }

    #[test]
    fn an_extract_names_what_was_asked_and_what_came_of_it() {
        let files: Vec<PathBuf> = ["/w/src/parse.rs", "/w/src/lex.rs"].map(PathBuf::from).into();
        let digest = extract(&items(), &files, Path::new("/w")).unwrap();
        let text =
            "fix the parser → The parser ends. · files: src/lex.rs, src/parse.rs · commands: cargo test -p parser";
        assert_eq!(digest.text, text);
        assert_eq!(digest.keywords, ["lex.rs", "parse.rs", "cargo"]);
        assert_eq!(extract(&[], &files, Path::new("/w")), None);
    }

    #[test]
    fn an_answer_is_read_whatever_it_looks_like() {
        let digest = read("The parser\nends now.\n\n**Keywords:** parser, `lexer`, off by one.\n").unwrap();
        assert_eq!(digest.text, "The parser ends now.");
        assert_eq!(digest.keywords, ["parser", "lexer", "off by one"]);
        assert_eq!(read("Keywords: only"), None);
        assert!(read(&"word ".repeat(900)).unwrap().text.chars().count() <= SUMMARY);
    }
}

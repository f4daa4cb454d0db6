//! A session as Markdown to read: what was said in full, tool calls folded away.

use super::text::{local, one_line, plain};
use crate::protocol::{Body, FileDiff, Item, Origin, Outcome, ToolBody, ToolCall};
use crate::store::SessionMeta;
use std::io::{Result, Write};

pub(super) fn write(about: &SessionMeta, items: &[Item], out: &mut dyn Write) -> Result<()> {
    let row = &about.row;
    let name = row.title.as_deref().unwrap_or(&row.preview);
    writeln!(out, "# {}\n", one_line(if name.is_empty() { &row.id } else { name }, 120))?;
    writeln!(out, "- session: `{}`\n- folder: `{}`\n- model: `{}`", row.id, row.cwd, row.model)?;
    writeln!(out, "- {} to {}", local(row.started_at), local(row.updated_at))?;
    let mut calls: Vec<&ToolCall> = Vec::new();
    for item in items {
        match &item.body {
            Body::User { text, origin: Origin::Program, .. } => {
                writeln!(out, "\n> Sent to the model: {}", plain(text).replace('\n', "\n> "))?;
            }
            Body::User { text, images, .. } => {
                writeln!(out, "\n## You, {}\n\n{}", local(item.at), plain(text))?;
                for image in images {
                    writeln!(out, "\n![image](data:{};base64,{})", image.media_type, image.data)?;
                }
            }
            Body::Assistant(body) => {
                if !body.text.trim().is_empty() {
                    writeln!(out, "\n## Hermes, {}\n\n{}", local(item.at), plain(body.text.trim()))?;
                }
                calls = body.calls.iter().collect();
            }
            Body::Tool(body) => {
                let args = calls.iter().find(|call| call.id == body.call_id).map_or("", |call| &call.args);
                tool(body, args, out)?;
            }
            Body::Summary(summary) => {
                let (line, text) = (escaped(&summary.line()), plain(summary.text.trim()));
                writeln!(out, "\n<details><summary>{line}</summary>\n\n{text}\n\n</details>")?;
            }
            Body::Note { text, .. } => writeln!(out, "\n> {}", plain(text).replace('\n', "\n> "))?,
        }
    }
    Ok(())
}

fn tool(body: &ToolBody, args: &str, out: &mut dyn Write) -> Result<()> {
    let head = escaped(&summary(body, args));
    writeln!(out, "\n<details><summary>{head}</summary>\n")?;
    if !args.is_empty() {
        fenced("json", args, out)?;
    }
    let shown = if body.view.output.is_empty() { &body.content } else { &body.view.output };
    fenced("text", &plain(shown), out)?;
    for FileDiff { unified, .. } in body.view.diffs.iter().filter(|diff| !diff.unified.is_empty()) {
        fenced("diff", &plain(unified), out)?;
    }
    writeln!(out, "</details>")
}

/// One line for a finished call: name, target, result.
pub(super) fn summary(body: &ToolBody, args: &str) -> String {
    let mark = match body.outcome {
        Outcome::Ok => "✓",
        Outcome::Failed => "✗",
        Outcome::Denied | Outcome::TimedOut | Outcome::NoOne | Outcome::Refused => "⊘",
        Outcome::Interrupted => "◼",
    };
    let target = if body.view.target.is_empty() { args } else { &body.view.target };
    let result = if body.view.summary.is_empty() { String::new() } else { format!(" · {}", body.view.summary) };
    one_line(&format!("{mark} {} {target}{result}", body.name), 160)
}

/// A code block whose fence is longer than any in the text.
fn fenced(language: &str, text: &str, out: &mut dyn Write) -> Result<()> {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    writeln!(out, "{fence}{language}\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

/// The text with what HTML would take for markup written as entities.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}

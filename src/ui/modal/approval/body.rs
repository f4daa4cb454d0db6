//! What is read before an answer: the command and its reasons, what it would run and touch, who asks.

use super::super::command;
use super::choices::WIDE;
use crate::app::Model;
use crate::app::approvals;
use crate::app::model::modal::{ApprovalModal, ApprovalStage, Judged};
use crate::policy::{Approval, Intent, Payload, Target, Verdict};
use crate::text::visible::visible;
use crate::text::width::{pad, truncate_end, truncate_middle, width};
use crate::text::wrap::{Row, Wrap, wrap_into};
use crate::text::{Ground, Line, Role, Span, diff, format, highlight};

/// What is to be read, and how many of its rows must have been shown before it can be allowed.
pub fn rows(model: &Model, approval: &Approval, state: &ApprovalModal, room: usize) -> (Vec<Row>, usize) {
    let mut rows = vec![Row::blank()];
    if let ApprovalStage::ConfirmingEdit(line, judged) = &state.stage {
        let must = edited(line, judged, room, &mut rows);
        rows.push(Row::blank());
        return (rows, must);
    }
    if !approval.changed.is_empty() {
        rows.push(Row::ornament(Line::plain("Asked again: it is not as it was", Role::Careful)));
        for sentence in &approval.changed {
            wrapped(&mut rows, &format!("· {sentence}"), Role::Text, room);
        }
        rows.push(Row::blank());
    }
    intent(approval, room, &mut rows);
    payloads(&approval.payloads, room, &mut rows);
    let must = rows.len();
    let asked = [place(model, &approval.intent), asked_by(model, approval)];
    let asked: Vec<String> = asked.into_iter().filter(|part| !part.is_empty()).collect();
    if !asked.is_empty() {
        rows.push(Row::blank());
        wrapped(&mut rows, &asked.join(" · "), Role::Dim, room);
    }
    if approval.kept {
        wrapped(&mut rows, "/rewind brings back what these files hold now", Role::Dim, room);
    }
    touched(&approval.targets, room, &mut rows);
    rows.push(Row::blank());
    (rows, must)
}

/// The line that the person wrote, and how it would be judged.
fn edited(line: &str, judged: &Judged, room: usize, rows: &mut Vec<Row>) -> usize {
    let Judged::As(preview) = judged else {
        rows.extend(command::rows(line, &[], room));
        return rows.len();
    };
    // What is allowed in a mode is shown with its reasons, too.
    rows.extend(command::rows(line, preview.verdict.reasons(), room));
    payloads(&preview.payloads, room, rows);
    let words = match &preview.verdict {
        Verdict::Allow(why) if why.is_empty() => "Nothing in it is asked about.",
        Verdict::Refuse(_) => "No mode runs this line.",
        Verdict::DeniedByRule(_) => "A rule of yours denies this line.",
        Verdict::Allow(_) | Verdict::Ask(_) | Verdict::AskAlways(_) => "",
    };
    if !words.is_empty() {
        rows.push(Row::blank());
        wrapped(rows, words, Role::Dim, room);
    }
    let must = rows.len();
    touched(&preview.targets, room, rows);
    must
}

/// What the call means to do, with the reasons for the question.
fn intent(approval: &Approval, room: usize, rows: &mut Vec<Row>) {
    let reasons = approval.verdict.reasons();
    let alone = |rows: &mut Vec<Row>| rows.extend(command::rows("", reasons, room).into_iter().skip(1));
    match &approval.intent {
        Intent::Command { line, .. } => rows.extend(command::rows(line, reasons, room)),
        Intent::Input { text, .. } => rows.extend(command::rows(text, reasons, room)),
        Intent::Edit(edits) => {
            for edit in edits {
                let path = edit.path.display().to_string();
                let word = if edit.removes { "removes " } else { "writes " };
                let mut spans = vec![Span::new(word, if edit.removes { Role::Bad } else { Role::Dim })];
                spans.push(Span::new(truncate_middle(&visible(&path).text, room.saturating_sub(9)), Role::Strong));
                rows.push(Row { line: Line { spans, ground: Ground::Base }, ..Row::default() });
                let mut code = highlight::Highlighter::default();
                rows.extend(diff::render(&edit.diff, "", room, usize::MAX, &mut code));
            }
            alone(rows);
        }
        Intent::Read(path) => rows.extend(command::rows(&path.display().to_string(), reasons, room)),
        Intent::Remote { server, tool, args, claims } => {
            let spans = vec![Span::new(truncate_middle(&visible(tool).text, room), Role::Strong)];
            rows.push(Row { line: Line { spans, ground: Ground::Base }, ..Row::default() });
            rows.extend(command::rows(args, &[], room));
            alone(rows);
            for claim in claims {
                rows.extend(command::said(&format!("{server} says: {claim}"), room));
            }
        }
        Intent::Talk => alone(rows),
    }
}

/// Where it would run.
fn place(model: &Model, intent: &Intent) -> String {
    match intent {
        Intent::Command { cwd, .. } => {
            let place = model.session.as_ref().map_or(model.config.terminal.backend.as_str(), |session| &session.place);
            format!("in {} · {place}", model.shown_folder(&cwd.to_string_lossy()))
        }
        Intent::Input { process, .. } => format!("into {process}"),
        Intent::Read(_) | Intent::Edit(_) | Intent::Remote { .. } | Intent::Talk => String::new(),
    }
}

fn asked_by(model: &Model, approval: &Approval) -> String {
    let words = without_marks(&approval.origin.words());
    match approvals::elsewhere(model, &approval.origin) {
        Some(session) => format!("asked in {session} by {words}"),
        None => format!("asked by {words}"),
    }
}

/// All of the texts that an interpreter would get: nothing of them is left out.
fn payloads(payloads: &[Payload], room: usize, rows: &mut Vec<Row>) {
    for payload in payloads {
        rows.push(Row::blank());
        let word = if payload.decoded { "Decoded, this is what runs" } else { "This is what runs" };
        rows.push(Row::ornament(Line::plain(word, Role::Strong)));
        let from = visible(payload.from.trim()).text.replace('\n', " ");
        if !from.is_empty() {
            let from = truncate_end(&format!("from {from}"), room);
            rows.push(Row { line: Line::plain(from, Role::Dim), ..Row::default() });
        }
        let text = payload.text.trim_end_matches('\n');
        rows.extend(command::rows(text, &[], room));
    }
}

fn touched(all: &[Target], room: usize, rows: &mut Vec<Row>) {
    if !all.is_empty() {
        rows.push(Row::blank());
        rows.push(Row::ornament(Line::plain("What it would touch", Role::Strong)));
        rows.extend(targets(all, room));
    }
}

fn wrapped(rows: &mut Vec<Row>, text: &str, role: Role, room: usize) {
    let text = visible(text).text.replace('\n', " ");
    wrap_into(rows, &[Span::new(text, role)], Ground::Base, &Wrap { width: room, ..Wrap::default() });
}

/// A quote of Markdown without its marks of emphasis.
fn without_marks(text: &str) -> String {
    text.replace("**", "").replace("__", "").replace('`', "")
}

/// Name, files, size and note in columns; narrow screens put the note below.
fn targets(targets: &[Target], room: usize) -> Vec<Row> {
    let name = targets.iter().map(|target| width(&target.name)).max().unwrap_or(0).min(room / 3).max(8);
    let mut rows = Vec::new();
    for target in targets {
        let more = if target.at_least { "≥ " } else { "" };
        let files = target.files.map(|count| format!("{more}{}", format::plural(count, "file", "files")));
        let bytes = target.bytes.map(|count| format!("{more}{}", format::bytes(count)));
        let note = visible(&target.note).text.replace('\n', " ");
        let mut spans = vec![
            Span::new(pad(&truncate_middle(&visible(&target.name).text, name), name + 2), Role::Text),
            Span::new(format!("{:>14}", files.unwrap_or_default()), Role::Text),
            Span::new(format!("{:>10}   ", bytes.unwrap_or_default()), Role::Text),
        ];
        let below = room < WIDE && !note.is_empty();
        if !below {
            spans.push(Span::new(note.clone(), Role::Dim));
        }
        let rest = [Span::new("    ", Role::Text)];
        let first = [Span::new("  ", Role::Text)];
        wrap_into(&mut rows, &spans, Ground::Base, &Wrap { width: room, first: &first, rest: &rest, verbatim: false });
        if below {
            let how = Wrap { width: room, first: &rest, rest: &rest, verbatim: false };
            wrap_into(&mut rows, &[Span::new(note, Role::Dim)], Ground::Base, &how);
        }
    }
    rows
}

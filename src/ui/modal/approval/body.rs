//! What is read before an answer: the command and its reasons, what it would touch and run, who asks.

use super::super::command;
use super::choices::WIDE;
use crate::app::Model;
use crate::app::action::Action;
use crate::app::approvals;
use crate::app::input::hint;
use crate::app::model::modal::{ApprovalModal, ApprovalStage, Judged};
use crate::policy::{Approval, Intent, Payload, Speaker, Target, Verdict, Why};
use crate::text::visible::visible;
use crate::text::width::{pad, truncate_end, truncate_middle, width};
use crate::text::wrap::{Row, Wrap, wrap_into};
use crate::text::{Ground, Line, Role, Span, diff, format, highlight};

/// The room for it.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    pub columns: usize,
    /// Without blank rows.
    pub tight: bool,
    /// Rows of the command beyond which its middle is left out.
    pub most: usize,
}

/// What is to be read.
#[derive(Debug, Default)]
pub struct Body {
    pub rows: Vec<Row>,
    /// Rows that must have been shown before it can be allowed, and what they tell.
    pub must: Vec<(usize, &'static str)>,
    /// Rows of the command and its reasons.
    pub command: usize,
    pub folded: bool,
}

/// What rows tell that must be seen.
const REASONS: &str = "reasons";
const TOUCHED: &str = "what it would touch";
/// Turns that leave the conversation and are named.
const DROPS: usize = 12;
const END: &str = "its end";
const RUNS: &str = "what runs";

/// Lays out what is to be read.
pub fn of(model: &Model, approval: &Approval, state: &ApprovalModal, room: Room) -> Body {
    let mut body = Body::default();
    body.gap(room);
    if let ApprovalStage::ConfirmingEdit(line, judged) = &state.stage {
        body.edited(model, line, judged, room);
    } else {
        body.asked(model, approval, room);
    }
    body.gap(room);
    body
}

impl Body {
    fn gap(&mut self, room: Room) {
        if !room.tight {
            self.rows.push(Row::blank());
        }
    }

    /// The rows from this one on must be seen.
    fn must_from(&mut self, from: usize, what: &'static str) {
        self.must.extend((from..self.rows.len()).map(|row| (row, what)));
    }

    fn asked(&mut self, model: &Model, approval: &Approval, room: Room) {
        if !approval.changed.is_empty() {
            let from = self.rows.len();
            self.rows.push(Row::ornament(Line::plain("Asking again: this changed since you saw it", Role::Careful)));
            for sentence in &approval.changed {
                wrapped(&mut self.rows, &format!("· {sentence}"), Role::Text, room.columns);
            }
            self.must_from(from, REASONS);
            self.gap(room);
        }
        self.dropped(&approval.drops, room);
        self.intent(model, approval, room);
        self.touched(&approval.targets, room);
        self.payloads(&approval.payloads, room);
        let asked = [place(model, &approval.intent), asked_by(model, approval)];
        let asked: Vec<String> = asked.into_iter().filter(|part| !part.is_empty()).collect();
        if !asked.is_empty() {
            self.gap(room);
            wrapped(&mut self.rows, &asked.join(" · "), Role::Dim, room.columns);
        }
        if approval.kept {
            wrapped(&mut self.rows, "/rewind can restore these files", Role::Dim, room.columns);
        }
    }

    /// Turns that would leave the conversation, before what would become of files.
    fn dropped(&mut self, drops: &[String], room: Room) {
        if drops.is_empty() {
            return;
        }
        let from = self.rows.len();
        let head = format!("{} would leave the conversation", format::plural(drops.len() as u64, "turn", "turns"));
        self.rows.push(Row::ornament(Line::plain(head, Role::Careful)));
        for prompt in drops.iter().take(DROPS) {
            wrapped(&mut self.rows, &format!("· {prompt}"), Role::Text, room.columns);
        }
        let more = drops.len().saturating_sub(DROPS);
        if more > 0 {
            self.rows.push(Row::ornament(Line::plain(format!("… {more} more"), Role::Dim)));
        }
        self.must_from(from, TOUCHED);
        self.gap(room);
    }

    /// The line that the person wrote, and how it would be judged.
    fn edited(&mut self, model: &Model, line: &str, judged: &Judged, room: Room) {
        let Judged::As(preview) = judged else { return self.command(model, line, &[], room) };
        // What is allowed in a mode is shown with its reasons, too.
        self.command(model, line, preview.verdict.reasons(), room);
        self.touched(&preview.targets, room);
        self.payloads(&preview.payloads, room);
        let words = match &preview.verdict {
            Verdict::Allow(why) if why.is_empty() => "Nothing here needs approval.",
            Verdict::Refuse(_) => "This is refused in every mode.",
            Verdict::DeniedByRule(_) => "One of your rules denies this.",
            Verdict::Allow(_) | Verdict::Ask(_) | Verdict::AskAlways(_) => "",
        };
        if !words.is_empty() {
            self.gap(room);
            wrapped(&mut self.rows, words, Role::Dim, room.columns);
        }
    }

    /// A command with its reasons: they and its end must be seen.
    fn command(&mut self, model: &Model, line: &str, reasons: &[Why], room: Room) {
        let mut explained = command::explained(line, reasons, room.columns);
        let unfold = hint::list(&[(hint::here(model, Action::Unfold), "shows them")]);
        self.folded |= explained.fold(room.most, &unfold);
        let from = self.rows.len();
        self.command = explained.rows.len();
        self.must.extend(explained.named.iter().map(|row| (from + row, REASONS)));
        self.rows.extend(explained.rows);
        self.must_from(self.rows.len().saturating_sub(1), END);
    }

    /// The reasons for a call that has no words of its own.
    fn reasons(&mut self, reasons: &[Why], room: Room) {
        let from = self.rows.len();
        self.rows.extend(command::rows("", reasons, room.columns).into_iter().skip(1));
        self.must_from(from, REASONS);
    }

    /// What the call means to do, with the reasons for the question.
    fn intent(&mut self, model: &Model, approval: &Approval, room: Room) {
        let reasons = approval.verdict.reasons();
        match &approval.intent {
            Intent::Command { line, .. } => self.command(model, line, reasons, room),
            Intent::Input { text, .. } => self.command(model, text, reasons, room),
            Intent::Read(path) => self.command(model, &path.display().to_string(), reasons, room),
            Intent::Edit(edits) => {
                self.reasons(reasons, room);
                for edit in edits {
                    let from = self.rows.len();
                    let path = visible(&edit.path.display().to_string()).text;
                    let (word, role) = if edit.removes { ("removes ", Role::Bad) } else { ("writes ", Role::Dim) };
                    let first = [Span::new(word, role)];
                    let rest = [Span::new("  ", Role::Text)];
                    let how =
                        Wrap { width: room.columns, first: &first, rest: &rest, verbatim: true, ..Wrap::default() };
                    wrap_into(&mut self.rows, &[Span::new(path, Role::Strong)], Ground::Base, &how);
                    self.must_from(from, TOUCHED);
                    let mut code = highlight::Highlighter::default();
                    self.rows.extend(diff::render(&edit.diff, "", room.columns, usize::MAX, &mut code));
                }
                self.must_from(self.rows.len().saturating_sub(1), END);
            }
            Intent::Remote { server, tool, args, claims } => {
                let name = truncate_middle(&visible(tool).text, room.columns);
                self.rows.push(Row { line: Line::plain(name, Role::Strong), ..Row::default() });
                self.reasons(reasons, room);
                self.command(model, args, &[], room);
                for claim in claims {
                    self.rows.extend(command::said(&format!("{server} says: {claim}"), room.columns));
                }
            }
            Intent::Code { code, .. } => self.command(model, code.trim_end(), reasons, room),
            Intent::Talk | Intent::Handle => self.reasons(reasons, room),
        }
    }

    /// All of the texts that an interpreter would get: nothing of them is left out.
    fn payloads(&mut self, payloads: &[Payload], room: Room) {
        for payload in payloads {
            self.gap(room);
            let word = if payload.decoded { "This is what runs, decoded" } else { "This is what runs" };
            self.rows.push(Row::ornament(Line::plain(word, Role::Strong)));
            let source = visible(payload.from.trim()).text.replace('\n', " ");
            if !source.is_empty() {
                let source = truncate_end(&format!("from {source}"), room.columns);
                self.rows.push(Row { line: Line::plain(source, Role::Dim), ..Row::default() });
            }
            self.rows.extend(command::rows(payload.text.trim_end_matches('\n'), &[], room.columns));
            self.must_from(self.rows.len().saturating_sub(1), RUNS);
        }
    }

    fn touched(&mut self, all: &[Target], room: Room) {
        if !all.is_empty() {
            self.gap(room);
            let from = self.rows.len();
            let (shared, all) = parted(all, room.columns);
            self.rows.push(Row::ornament(Line::plain("What it would touch", Role::Strong)));
            if !shared.is_empty() {
                wrapped(&mut self.rows, &shared, Role::Dim, room.columns);
            }
            self.rows.extend(targets(&all, room.columns));
            self.must_from(from, TOUCHED);
        }
    }
}

/// Where it would run.
fn place(model: &Model, intent: &Intent) -> String {
    match intent {
        Intent::Command { cwd, .. } => {
            let place =
                model.tab.session.as_ref().map_or(model.config.terminal.backend.as_str(), |session| &session.place);
            format!("in {} · {place}", model.shown_folder(&cwd.to_string_lossy()))
        }
        // It runs here wherever commands do.
        Intent::Code { language, cwd, .. } => {
            format!("{language} in {} · this machine", model.shown_folder(&cwd.to_string_lossy()))
        }
        Intent::Input { process, .. } => format!("into {process}"),
        Intent::Read(_) | Intent::Edit(_) | Intent::Remote { .. } | Intent::Talk | Intent::Handle => String::new(),
    }
}

fn asked_by(model: &Model, approval: &Approval) -> String {
    let words = without_marks(&approval.origin.words());
    match (approvals::elsewhere(model, &approval.origin), &approval.origin.by) {
        (None, Speaker::Person) => "you asked for it".to_owned(),
        (Some(session), _) => format!("asked in {session} by {words}"),
        (None, _) => format!("asked by {words}"),
    }
}

/// A text that stands in one row: an end of a line, in the name of a file for example, is shown as a sign.
fn one_line(text: &str) -> String {
    visible(text).text.replace('\n', "⏎")
}

fn wrapped(rows: &mut Vec<Row>, text: &str, role: Role, room: usize) {
    let text = one_line(text);
    wrap_into(rows, &[Span::new(text, role)], Ground::Base, &Wrap { width: room, ..Wrap::default() });
}

/// A quote of Markdown without its marks of emphasis.
fn without_marks(text: &str) -> String {
    text.replace("**", "").replace("__", "").replace('`', "")
}

/// How many rows of targets make it worth to say once what they share.
const MANY: usize = 3;

/// What many targets share, in words, and the targets without it: the folder where their names are too long for the
/// column, the note where it would take a row of its own below each.
fn parted(all: &[Target], room: usize) -> (String, Vec<Target>) {
    let mut all = all.to_vec();
    let is_path = |target: &Target| target.files.is_some() || !target.note.is_empty();
    let paths = all.iter().filter(|target| is_path(target)).count();
    if paths < MANY {
        return (String::new(), all);
    }
    let mut said = Vec::new();
    let names: Vec<&str> = all.iter().filter(|target| is_path(target)).map(|target| target.name.as_str()).collect();
    let folder = shared_folder(&names).to_owned();
    if !folder.is_empty() && names.iter().any(|name| width(name) > name_column(&all, room)) {
        for target in all.iter_mut().filter(|target| is_path(target)) {
            target.name = target.name.strip_prefix(&folder).unwrap_or(&target.name).to_owned();
        }
        said.push(format!("below {folder}"));
    }
    let note = all.first().map(|target| target.note.clone()).unwrap_or_default();
    if room < WIDE && !note.is_empty() && all.iter().filter(|target| is_path(target)).all(|one| one.note == note) {
        all.iter_mut().for_each(|target| target.note.clear());
        said.push(format!("each: {note}"));
    }
    (said.join(" · "), all)
}

/// The folder that all names begin with, with its slash.
fn shared_folder<'n>(names: &[&'n str]) -> &'n str {
    let Some((first, rest)) = names.split_first() else { return "" };
    let mut end = first.rfind('/').map_or(0, |at| at + 1);
    // What is a folder's own row would be left without a name.
    let leaves = |end: usize| {
        let named = |name: &&str| name.starts_with(&first[..end]) && name.len() > end;
        first.len() > end && rest.iter().all(named)
    };
    while end > 1 && !leaves(end) {
        end = first[..end - 1].rfind('/').map_or(0, |at| at + 1);
    }
    if end > 1 { &first[..end] } else { "" }
}

/// Cells of files, of bytes, and of the air around the columns.
const FIGURES: usize = 14 + 10 + 3 + 4;

/// Cells of the column of names: a third, and what notes leave.
fn name_column(targets: &[Target], room: usize) -> usize {
    let widest = |of: fn(&Target) -> &str| targets.iter().map(|target| width(of(target))).max().unwrap_or(0);
    let notes = if room < WIDE { 0 } else { widest(|target| &target.note).min(room / 3) };
    let spare = room.saturating_sub(FIGURES + notes);
    widest(|target| &target.name).min(spare.max(room / 3)).max(8)
}

/// Name, files, size and note in columns; narrow screens put the note below.
fn targets(targets: &[Target], room: usize) -> Vec<Row> {
    let name = name_column(targets, room);
    let mut rows = Vec::new();
    for target in targets {
        let more = if target.at_least { "≥ " } else { "" };
        let files = target.files.map(|count| format!("{more}{}", format::plural(count, "file", "files")));
        let bytes = target.bytes.map(|count| format!("{more}{}", format::bytes(count)));
        let note = one_line(&target.note);
        let mut spans = vec![
            Span::new(pad(&truncate_middle(&one_line(&target.name), name), name + 2), Role::Text),
            Span::new(format!("{:>14}", files.unwrap_or_default()), Role::Text),
            Span::new(format!("{:>10}   ", bytes.unwrap_or_default()), Role::Text),
        ];
        let below = room < WIDE && !note.is_empty();
        if !below {
            spans.push(Span::new(note.clone(), Role::Dim));
        }
        let rest = [Span::new("    ", Role::Text)];
        let first = [Span::new("  ", Role::Text)];
        wrap_into(
            &mut rows,
            &spans,
            Ground::Base,
            &Wrap { width: room, first: &first, rest: &rest, verbatim: false, ..Wrap::default() },
        );
        if below {
            let how = Wrap { width: room, first: &rest, rest: &rest, verbatim: false, ..Wrap::default() };
            wrap_into(&mut rows, &[Span::new(note, Role::Dim)], Ground::Base, &how);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(name: &str, note: &str) -> Target {
        Target { name: name.into(), files: None, bytes: None, at_least: false, note: note.into() }
    }

    #[test]
    fn what_many_targets_share_is_said_once() {
        let folder = "build/some/very/deep/folder/of/many/";
        let mut all: Vec<Target> =
            (0..4).map(|at| target(&format!("{folder}name-{at}.txt"), "does not exist")).collect();
        all.push(target("and 49 more", ""));
        let (said, rest) = parted(&all, 50);
        assert_eq!(said, format!("below {folder} · each: does not exist"));
        let names: Vec<&str> = rest.iter().map(|target| target.name.as_str()).collect();
        assert_eq!(names, ["name-0.txt", "name-1.txt", "name-2.txt", "name-3.txt", "and 49 more"]);
        assert!(rest.iter().all(|target| target.note.is_empty()));
        assert_eq!(targets(&rest, 50).len(), 5, "a row each");
        // Where there is room for them, they stand as they are.
        assert_eq!(parted(&all, 100), (String::new(), all.clone()));
        // Two are told apart as they are; other notes stay with their names.
        assert_eq!(parted(&all[..2], 50).1, all[..2]);
        all[1].note = "a new file".into();
        let (said, rest) = parted(&all, 50);
        assert_eq!((said, rest[1].note.as_str()), (format!("below {folder}"), "a new file"));
    }

    #[test]
    fn the_shared_folder_leaves_every_name() {
        for (names, want) in [
            (&["a/b/c", "a/b/d", "a/x"][..], "a/"),
            (&["a/b/c", "a/b/d"], "a/b/"),
            (&["a/b/c", "a/b/"], "a/"),
            (&["/a", "/b"], ""),
            (&["ab/c", "abc/d"], ""),
            (&["日本/x", "日本/y"], "日本/"),
            (&[], ""),
        ] {
            assert_eq!(shared_folder(names), want, "{names:?}");
        }
    }
}

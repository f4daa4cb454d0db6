//! What is below the text: the choices, how wide an answer that lasts is, the fields.

use super::grants;
use crate::app::Model;
use crate::app::action::Action;
use crate::app::approvals::choices::GRID;
use crate::app::approvals::{answers, choices};
use crate::app::input::hint;
use crate::app::model::modal::{ApprovalChoice, ApprovalModal, ApprovalStage, Judged};
use crate::policy::{Approval, Speaker, Verdict};
use crate::text::visible::visible;
use crate::text::width::width;
use crate::text::wrap::{Wrap, wrap_into};
use crate::text::{Ground, Line, Role, Span};

/// Cells from which the notes of targets stand beside them.
pub const WIDE: usize = 70;
/// Cells of the mark before a label and of a key of one letter after it.
const KEY: u16 = 6;
/// How many choices stand in the left column.
const LEFT: usize = 2;

/// A row below the text.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    Line(Line),
    Field(&'static str, String),
    /// Index into the choices and label, for each column.
    Choices(Vec<Option<(usize, String)>>),
    /// The label of a choice goes on.
    More(usize, String),
}

/// The key of a choice; empty when it has none.
pub fn key(model: &Model, choice: ApprovalChoice) -> String {
    hint::here(model, answers::naming(choice)).unwrap_or_default()
}

/// Cells of the mark before a label and of the longest key after one.
pub fn margin(model: &Model) -> u16 {
    let longest = GRID.iter().map(|choice| width(&key(model, *choice))).max().unwrap_or(1).max(1);
    KEY + u16::try_from(longest - 1).unwrap_or(0)
}

/// The rows of a stage.
pub fn below(model: &Model, approval: &Approval, state: &ApprovalModal, room: usize) -> Vec<Part> {
    let line = |text: &str, role| Part::Line(Line::plain(text, role));
    match &state.stage {
        ApprovalStage::Reason(text) => {
            [whole("Why not? The model sees this; optional.", Role::Dim, room), vec![Part::Field("❯ ", text.clone())]]
                .concat()
        }
        ApprovalStage::Editing(text) => {
            vec![line("Run instead:", Role::Dim), Part::Field("$ ", text.clone())]
        }
        ApprovalStage::ConfirmingEdit(_, judged) => {
            let question = match judged {
                Judged::Waiting => "Checking what it would do…",
                Judged::As(preview) if choices::is_barred(preview) => "It cannot run.",
                Judged::As(_) => "Run this instead?",
                Judged::Unknown => "Run this instead? It may need approval too.",
            };
            whole(question, Role::Careful, room)
        }
        ApprovalStage::Confirming if matches!(state.selected, ApprovalChoice::Session | ApprovalChoice::Always) => {
            lasting(approval, state, room)
        }
        ApprovalStage::ConfirmingYolo => yolo(model, room),
        ApprovalStage::Choosing | ApprovalStage::Confirming => {
            let mut parts = choices(model, approval, room);
            if state.stage == ApprovalStage::Confirming {
                parts.push(line("", Role::Text));
                parts.push(line("Allow once?", Role::Careful));
            }
            parts
        }
    }
}

/// The grid of choices.
pub fn choices(model: &Model, approval: &Approval, room: usize) -> Vec<Part> {
    let mut parts = Vec::new();
    let always = matches!(approval.verdict, Verdict::AskAlways(_));
    if always {
        parts.push(Part::Line(Line::plain("This asks every time, in every mode.", Role::Careful)));
    }
    let open = choices::choices(approval);
    let offered: Vec<Option<(usize, String)>> = GRID
        .iter()
        .enumerate()
        .map(|(index, choice)| open.contains(choice).then(|| (index, label(*choice, approval).to_owned())))
        .collect();
    let half = (room / 2).saturating_sub(usize::from(margin(model)));
    if offered.iter().flatten().all(|(_, label)| width(label) <= half) {
        for at in 0..GRID.len() - LEFT {
            let left = if at < LEFT { offered.get(at).cloned().flatten() } else { None };
            parts.push(Part::Choices(vec![left, offered.get(LEFT + at).cloned().flatten()]));
        }
        // A row without a choice says nothing.
        parts.retain(|part| !matches!(part, Part::Choices(all) if all.iter().all(Option::is_none)));
    } else {
        for (index, label) in offered.into_iter().flatten() {
            let mut rows = label_rows(&label, room.saturating_sub(usize::from(margin(model)))).into_iter();
            parts.extend(rows.next().map(|first| Part::Choices(vec![Some((index, first))])));
            parts.extend(rows.map(|more| Part::More(index, more)));
        }
    }
    parts
}

/// What an answer that lasts would let pass, a sentence each; of the chosen one also where it is written and what it would
/// have passed before.
fn lasting(approval: &Approval, state: &ApprovalModal, room: usize) -> Vec<Part> {
    let session = state.selected == ApprovalChoice::Session;
    let title = match &approval.origin.by {
        Speaker::Agent(child) if session => format!("Allow for the rest of {child}'s work"),
        _ if session => "Allow for the rest of this session".to_owned(),
        _ => "Always allow".to_owned(),
    };
    let mut parts = whole(&title, Role::Strong, room);
    let offers = choices::offers(approval, state.selected);
    let mut sentences: Vec<String> = offers.iter().map(|offer| grants::sentence(offer, approval)).collect();
    if session {
        sentences.push("Everything, except commands that always ask (yolo)".to_owned());
    }
    let indent = [Span::new("    ", Role::Text)];
    let details: Vec<Vec<Part>> = offers
        .iter()
        .map(|offer| {
            let said = [grants::written(offer), grants::past(&offer.past, &approval.intent)];
            let said = said.iter().filter(|line| !line.is_empty());
            said.flat_map(|line| hanging(line, Role::Dim, &indent, &indent, room)).collect()
        })
        .collect();
    // The last row stays where it is, whichever is chosen.
    let tallest = details.iter().map(Vec::len).max().unwrap_or(0);
    let mut spare = tallest;
    let rest = [Span::new("  ", Role::Text)];
    for (at, sentence) in sentences.iter().enumerate() {
        let chosen = at == state.offer;
        let mark = [Span::new(if chosen { "▸ " } else { "  " }, Role::Accent)];
        let role = if chosen { Role::Strong } else { Role::Text };
        parts.extend(hanging(sentence, role, &mark, &rest, room));
        if let Some(details) = details.get(at).filter(|_| chosen) {
            spare = tallest - details.len();
            parts.extend(details.iter().cloned());
        }
    }
    parts.extend(std::iter::repeat_n(Part::Line(Line::default()), spare));
    parts
}

/// How many answers that last can be chosen from.
pub fn widths(approval: &Approval, state: &ApprovalModal) -> usize {
    let yolo = usize::from(state.selected == ApprovalChoice::Session);
    match state.selected {
        ApprovalChoice::Session | ApprovalChoice::Always => choices::offers(approval, state.selected).len() + yolo,
        ApprovalChoice::Deny | ApprovalChoice::Edit | ApprovalChoice::Once => 1,
    }
}

/// A text in as many rows as it needs, hanging from a mark.
fn hanging(text: &str, role: Role, first: &[Span], rest: &[Span], room: usize) -> Vec<Part> {
    let mut rows = Vec::new();
    let how = Wrap { width: room, first, rest, verbatim: false, ..Wrap::default() };
    wrap_into(&mut rows, &[Span::new(visible(text).text.replace('\n', " "), role)], Ground::Base, &how);
    rows.into_iter().map(|row| Part::Line(row.line)).collect()
}

/// The second question before little is asked any more.
fn yolo(model: &Model, room: usize) -> Vec<Part> {
    let back = match hint::key(model, Action::ApprovalMode) {
        Some(key) => format!(" {key} turns it off."),
        None => String::new(),
    };
    [
        whole("Run everything without asking for the rest of this session?", Role::Bad, room),
        whole(
            &format!(
                "This call runs, and so does every dangerous one after it. Commands that are never allowed stay refused; \
                 commands that always ask still ask.{back}"
            ),
            Role::Text,
            room,
        ),
    ]
    .concat()
}

/// A text in as many rows as it needs.
fn whole(text: &str, role: Role, room: usize) -> Vec<Part> {
    let mut rows = Vec::new();
    let shown = visible(text).text.replace('\n', " ");
    let how = Wrap { width: room, ..Wrap::default() };
    wrap_into(&mut rows, &[Span::new(shown, role)], Ground::Base, &how);
    rows.into_iter().map(|row| Part::Line(row.line)).collect()
}

/// The label of a choice in the rows that it needs, in so many cells beside mark and key.
fn label_rows(label: &str, room: usize) -> Vec<String> {
    let mut rows = Vec::new();
    let how = Wrap { width: room.saturating_sub(2).max(1), ..Wrap::default() };
    wrap_into(&mut rows, &[Span::new(label, Role::Text)], Ground::Base, &how);
    rows.into_iter().map(|row| row.line.text()).collect()
}

fn label(choice: ApprovalChoice, approval: &Approval) -> &'static str {
    match choice {
        ApprovalChoice::Deny => "Deny, and say why",
        ApprovalChoice::Once if choices::leaves_sandbox(approval) => "Run again without the sandbox",
        ApprovalChoice::Once => "Allow once",
        ApprovalChoice::Edit => "Edit the command",
        ApprovalChoice::Session => "For this session …",
        ApprovalChoice::Always => "Always …",
    }
}

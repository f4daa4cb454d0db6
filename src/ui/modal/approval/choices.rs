//! What is below the text: the choices, how wide an answer that lasts is, the fields.

use crate::app::approvals::{self, GRID};
use crate::app::model::modal::{ApprovalChoice, ApprovalModal, ApprovalStage, Judged};
use crate::policy::rule::Exact;
use crate::policy::{self, Approval, Intent, Past, Proposal, Scope, Verdict, Width};
use crate::text::visible::visible;
use crate::text::width::{pad, truncate_end, width};
use crate::text::wrap::{Wrap, wrap_into};
use crate::text::{Ground, Line, Role, Span, format};

/// Cells from which the choices stand in two columns, where they fit.
pub const WIDE: usize = 70;
/// Cells of the mark before a label and of the key after it.
pub const KEY: u16 = 6;
/// Cells of the name of a server beside the rule that names its tools.
const SERVER: usize = 20;
/// How many choices stand in the left column.
const LEFT: usize = 2;
/// Rows of a label in the grid; all of it stands in the question that follows.
const LABEL_ROWS: usize = 2;

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

/// The key of a choice.
pub fn key(choice: ApprovalChoice) -> &'static str {
    match choice {
        ApprovalChoice::Deny => "d",
        ApprovalChoice::Edit => "e",
        ApprovalChoice::Once => "y",
        ApprovalChoice::Session => "s",
        ApprovalChoice::Always => "a",
    }
}

/// The rows of a stage.
pub fn below(approval: &Approval, state: &ApprovalModal, room: usize) -> Vec<Part> {
    let line = |text: &str, role| Part::Line(Line::plain(text, role));
    match &state.stage {
        ApprovalStage::Reason(text) => [
            whole("Why not? The model reads it. Enter denies, with or without a reason.", Role::Dim, room),
            vec![Part::Field("❯ ", text.clone())],
        ]
        .concat(),
        ApprovalStage::Editing(text) => {
            vec![line("Enter shows it once more before it runs.", Role::Dim), Part::Field("$ ", text.clone())]
        }
        ApprovalStage::ConfirmingEdit(_, judged) => {
            let question = match judged {
                Judged::Waiting => "Looking at what it would do …",
                Judged::As(preview) if approvals::is_barred(preview) => "It cannot run.",
                Judged::As(_) => "Run this instead? Enter allows it.",
                Judged::Unknown => "Run this instead? Enter allows it, unless it needs an answer of its own.",
            };
            [whole(question, Role::Careful, room), whole("Any other key goes back to the field.", Role::Dim, room)]
                .concat()
        }
        ApprovalStage::Confirming if matches!(state.selected, ApprovalChoice::Session | ApprovalChoice::Always) => {
            lasting(approval, state, room)
        }
        ApprovalStage::ConfirmingYolo => yolo(room),
        ApprovalStage::Choosing | ApprovalStage::Confirming => {
            let mut parts = choices(approval, room);
            if state.stage == ApprovalStage::Confirming {
                parts.push(line("", Role::Text));
                parts.push(line("Enter confirms · Esc goes back", Role::Careful));
            }
            parts
        }
    }
}

/// The grid of choices.
pub fn choices(approval: &Approval, room: usize) -> Vec<Part> {
    let mut parts = Vec::new();
    let always = matches!(approval.verdict, Verdict::AskAlways(_));
    if always {
        parts.push(Part::Line(Line::plain("This is asked every time, in every mode.", Role::Careful)));
    }
    let open = approvals::choices(approval);
    let offered: Vec<Option<(usize, String)>> = GRID
        .iter()
        .enumerate()
        .map(|(index, choice)| open.contains(choice).then(|| (index, label(*choice, approval, room))))
        .collect();
    let half = (room / 2).saturating_sub(usize::from(KEY));
    if room >= WIDE && offered.iter().flatten().all(|(_, label)| width(label) <= half) {
        for at in 0..GRID.len() - LEFT {
            let left = if at < LEFT { offered.get(at).cloned().flatten() } else { None };
            parts.push(Part::Choices(vec![left, offered.get(LEFT + at).cloned().flatten()]));
        }
        // A row without a choice says nothing.
        parts.retain(|part| !matches!(part, Part::Choices(all) if all.iter().all(Option::is_none)));
    } else {
        for (index, label) in offered.into_iter().flatten() {
            let mut rows = label_rows(&label, room).into_iter();
            parts.extend(rows.next().map(|first| Part::Choices(vec![Some((index, first))])));
            parts.extend(rows.map(|more| Part::More(index, more)));
        }
    }
    parts
}

/// How wide an answer that lasts is: each width with where it holds and what it covers, and what the chosen one would also
/// have answered. As many rows whichever is chosen.
fn lasting(approval: &Approval, state: &ApprovalModal, room: usize) -> Vec<Part> {
    let session = state.selected == ApprovalChoice::Session;
    let title = if session { "Allow for the rest of this session" } else { "Always allow" };
    let mut parts = vec![Part::Line(Line::plain(title, Role::Strong))];
    let offers = approvals::offers(approval, state.selected);
    let mut rows: Vec<(String, &str, String)> = offers.iter().map(|offer| words(offer, approval)).collect();
    if session {
        rows.push(("everything".into(), "", "yolo: nothing asks any more in this session".into()));
    }
    let column = rows.iter().map(|(words, _, _)| width(words)).max().unwrap_or(0) + 2;
    let places = rows.iter().map(|(_, place, _)| width(place)).max().unwrap_or(0);
    let place_column = if places > 0 { places + 2 } else { 0 };
    let lead = column + place_column + 2;
    for (at, (words, place, rules)) in rows.iter().enumerate() {
        let chosen = at == state.offer;
        let role = if chosen { Role::Strong } else { Role::Text };
        let mark = Span::new(if chosen { "▸ " } else { "  " }, Role::Accent);
        let place = Span::new(pad(place, place_column), if chosen { Role::Text } else { Role::Dim });
        let rules_role = if chosen { Role::Careful } else { Role::Dim };
        // All that is granted shows, however long it is; beside its width where there is room for that.
        let mut rows = Vec::new();
        if room >= WIDE {
            let (first, rest) =
                ([mark, Span::new(pad(words, column), role), place], [Span::new(" ".repeat(lead), Role::Text)]);
            let how = Wrap { width: room, first: &first, rest: &rest, verbatim: false };
            wrap_into(&mut rows, &[Span::new(rules.clone(), rules_role)], Ground::Base, &how);
        } else {
            let spans = vec![mark, Span::new(pad(words, column), role), place];
            parts.push(Part::Line(Line { spans, ground: Ground::Base }));
            let indent = [Span::new("    ", Role::Text)];
            let how = Wrap { width: room, first: &indent, rest: &indent, verbatim: false };
            wrap_into(&mut rows, &[Span::new(rules.clone(), rules_role)], Ground::Base, &how);
        }
        parts.extend(rows.into_iter().map(|row| Part::Line(row.line)));
    }
    let pasts: Vec<Vec<Part>> = offers.iter().map(|offer| past(&offer.past, room)).collect();
    let tallest = pasts.iter().map(Vec::len).max().unwrap_or(0);
    let mut told = pasts.into_iter().nth(state.offer).unwrap_or_default();
    told.resize(tallest, Part::Line(Line::default()));
    parts.extend(told);
    parts.push(Part::Line(Line::default()));
    let switch = if rows.len() > 1 { "Tab switches · " } else { "" };
    parts.push(Part::Line(Line::plain(format!("{switch}Enter confirms · Esc goes back"), Role::Careful)));
    parts
}

/// How wide a grant is, where it holds and what it covers, in words.
fn words(offer: &Proposal, approval: &Approval) -> (String, &'static str, String) {
    let wide = match (offer.grant.width, &approval.intent) {
        (Width::Command, _) => "this very command".to_owned(),
        (Width::Words, Intent::Edit(_) | Intent::Read(_)) => "these paths".to_owned(),
        (Width::Words, _) => "what begins so".to_owned(),
        (Width::Server, Intent::Remote { server, .. }) => {
            format!("every tool of {}", truncate_end(&visible(server).text, SERVER))
        }
        (Width::Effects, Intent::Remote { .. }) => "this tool".to_owned(),
        (Width::Effects | Width::Server, _) => "all that would".to_owned(),
    };
    let in_folder = offer.grant.entries.iter().any(|entry| Exact::read(entry).is_some());
    let place = match offer.grant.scope {
        _ if in_folder => "in this folder",
        Scope::Session => "",
        Scope::Project => "in this project",
        Scope::Global => "everywhere",
    };
    let entries: Vec<String> = offer.grant.entries.iter().map(|entry| name(entry)).collect();
    (wide, place, visible(&entries.join(", ")).text.replace('\n', " "))
}

/// An entry of a grant as a person reads it.
fn name(entry: &str) -> String {
    Exact::read(entry).map_or_else(|| policy::label(entry).to_owned(), |exact| exact.line)
}

/// What a grant would have answered before.
fn past(past: &Past, room: usize) -> Vec<Part> {
    if past.matched == 0 {
        return Vec::new();
    }
    let commands = format::plural(past.matched as u64, "command", "commands");
    let examples =
        if past.examples.is_empty() { String::new() } else { format!(", for example: {}", past.examples.join(" · ")) };
    whole(&format!("It would also have matched {commands} of the past{examples}"), Role::Dim, room)
}

/// The second question before nothing asks any more.
fn yolo(room: usize) -> Vec<Part> {
    [
        whole("Run everything without asking, in this session?", Role::Bad, room),
        whole(
            "This call runs, and so does every dangerous one that follows. What is never allowed stays refused, what is asked \
             in every mode is still asked. Shift-Tab takes it back.",
            Role::Text,
            room,
        ),
        vec![Part::Line(Line::default())],
        whole("Enter says yes · Esc goes back", Role::Careful, room),
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

/// The label of a choice in the rows that it needs.
fn label_rows(label: &str, room: usize) -> Vec<String> {
    let mut rows = Vec::new();
    let how = Wrap { width: room.saturating_sub(usize::from(KEY) + 2).max(1), ..Wrap::default() };
    wrap_into(&mut rows, &[Span::new(label, Role::Text)], Ground::Base, &how);
    rows.into_iter().map(|row| row.line.text()).collect()
}

/// The effects that a lasting answer is about: the first ones by name, the others counted, the first one always. All of them
/// stand in the question that follows.
fn granted(lead: &str, effects: &[String], room: usize) -> String {
    let names: Vec<String> = effects.iter().map(|effect| name(effect)).collect();
    let most = if room < WIDE { 1 } else { LABEL_ROWS };
    let short = |shown: usize| match names.len() - shown {
        0 => format!("{lead}: {}", names.join(", ")),
        more => format!("{lead}: {} and {more} more", names[..shown].join(", ")),
    };
    let fitting = (1..=names.len()).rev().map(short).find(|label| label_rows(label, room).len() <= most);
    fitting.unwrap_or_else(|| short(1.min(names.len())))
}

/// What an answer that lasts is about: the effects, where a grant of them is offered; else the narrowest grant.
fn lasts(lead: &str, choice: ApprovalChoice, approval: &Approval, room: usize) -> String {
    let offers = approvals::offers(approval, choice);
    let wide = |offer: &&Proposal| matches!(offer.grant.width, Width::Effects | Width::Server);
    match (offers.iter().any(wide), offers.first()) {
        (false, Some(offer)) if offer.grant.width == Width::Command => format!("{lead}: this very command"),
        (false, Some(offer)) => granted(lead, &offer.grant.entries, room),
        (true, _) | (false, None) => granted(lead, &approvals::effects(approval), room),
    }
}

fn label(choice: ApprovalChoice, approval: &Approval, room: usize) -> String {
    match choice {
        ApprovalChoice::Deny => "Deny, and say why".to_owned(),
        ApprovalChoice::Once if approvals::leaves_sandbox(approval) => "Run again without the sandbox".to_owned(),
        ApprovalChoice::Once => "Allow once".to_owned(),
        ApprovalChoice::Edit => "Edit the command".to_owned(),
        ApprovalChoice::Session => lasts("This session", choice, approval, room),
        ApprovalChoice::Always => lasts("Always", choice, approval, room),
    }
}

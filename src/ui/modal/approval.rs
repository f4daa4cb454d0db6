//! The answer to a dangerous command: what it would run, why it is asked, what it would touch, and the choices.

use super::{Frame, command, field};
use crate::app::Model;
use crate::app::approvals;
use crate::app::model::approvals::Entry;
use crate::app::model::layout::{Area, Hit, Layout, Reading};
use crate::app::model::modal::{ApprovalChoice, ApprovalModal, ApprovalStage};
use crate::app::model::selection::Surface;
use crate::config::theme::Slot;
use crate::policy::{Approval, Intent, Target, Verdict, Width};
use crate::text::visible::visible;
use crate::text::width::{pad, truncate_end, truncate_middle, width};
use crate::text::wrap::{Row, Wrap, wrap_into};
use crate::text::{Ground, Line, Role, Span, diff, format, highlight};
use crate::ui::flat;
use crate::ui::paint::{Paint, cells, row};
use ratatui::layout::Rect;

/// Cells of content at most.
const WIDEST: u16 = 100;
/// Choices in the order of the grid, two columns, top down.
const CHOICES: [(ApprovalChoice, &str); 5] = [
    (ApprovalChoice::Deny, "d"),
    (ApprovalChoice::Edit, "e"),
    (ApprovalChoice::Once, "y"),
    (ApprovalChoice::Session, "s"),
    (ApprovalChoice::Always, "a"),
];
/// Cells from which the choices stand in two columns, where they fit.
const WIDE: usize = 70;
/// Cells of the mark before a label and of the key after it.
const KEY: u16 = 6;
/// Cells of the name of a server beside the rule that names its tools.
const SERVER: usize = 20;
/// How many of them stand in the left column.
const LEFT: usize = 2;

/// Draws it and returns where its caret is.
pub fn draw(
    model: &Model,
    state: &ApprovalModal,
    paint: &mut Paint<'_>,
    area: Rect,
    layout: &mut Layout,
) -> Option<(u16, u16)> {
    let approval = model.approvals.entries.iter().find_map(|entry| match entry {
        Entry::Approval(approval) if approval.id == state.id => Some(&**approval),
        _ => None,
    })?;
    let columns = WIDEST.min(area.width.saturating_sub(10)).max(area.width.min(24).saturating_sub(6));
    let room = usize::from(columns);
    let (body, must) = body(model, approval, state, room);
    let below = below(approval, state, room);
    let number = model
        .approvals
        .entries
        .iter()
        .position(|entry| matches!(entry, Entry::Approval(found) if found.id == state.id));
    let count = model.approvals.entries.len();
    let note =
        if count > 1 { format!("{} of {count} in the inbox", number.map_or(1, |at| at + 1)) } else { String::new() };
    let inert = state.inert_until > model.now;
    let foot = match (inert, &state.stage) {
        (true, _) => "answers after a quiet moment",
        (false, _) if state.read.refused && !state.read.whole => "see the whole command first: PgDn",
        (false, ApprovalStage::Choosing) if state.stray => stray(approval),
        (false, ApprovalStage::Choosing) => "Esc keeps it in the inbox",
        (false, _) => "Esc goes back",
    };
    let title = match &approval.intent {
        Intent::Command { background: true, .. } => "⚠ Approve a background command",
        Intent::Command { .. } => "⚠ Approve a command",
        Intent::Edit(edits) if edits.iter().any(|edit| edit.removes) => "⚠ Approve removing files",
        Intent::Edit(_) => "⚠ Approve an edit",
        Intent::Input { .. } => "⚠ Approve typing into a program",
        Intent::Read(_) => "⚠ Approve reading",
        Intent::Remote { .. } => "⚠ Approve a tool of another program",
        Intent::Talk => "⚠ Approve",
    };
    let frame = Frame { title, title_role: Role::Careful, note: &note, foot, ..Frame::default() };
    let rows = cells(body.len() + below.len());
    let place = frame.draw(paint, area, columns, rows.saturating_add(1));
    // A blank row below, where there is room for one.
    let place = Rect { height: place.height.min(rows), ..place };
    // The choices always show; what is to be read scrolls, and says how much is hidden.
    let fixed = cells(below.len()).min(place.height.saturating_sub(1));
    let room_for_text = place.height - fixed;
    // What does not fit scrolls, and a row of its own says how much is hidden.
    let says = usize::from(room_for_text) < body.len() && room_for_text > 1;
    let window = room_for_text - u16::from(says);
    let most = body.len().saturating_sub(usize::from(window));
    let rows = usize::from(window);
    let skip = if state.read.begun { usize::from(state.scroll) } else { first_reason(&body, rows) }.min(most);
    layout.reading = Some(Reading {
        id: state.id,
        edited: matches!(state.stage, ApprovalStage::ConfirmingEdit(_)),
        first: cells(skip),
        rows: window,
        all: cells(must),
    });
    for (index, line) in body.iter().skip(skip).take(usize::from(window)).enumerate() {
        let at = row(place, index as u16);
        paint.line(at, &line.line);
        flat::put(layout, Surface::Modal, at, flat::nth(skip + index), line.line.spans.is_empty());
    }
    if flat::selection(model, Surface::Modal).is_some() {
        flat::finish(model, paint, Surface::Modal, &flat::numbered(body.iter().cloned()), layout);
    }
    if says {
        let left = most - skip;
        let text = if left > 0 {
            format!("↓ {} (PgDn)", format::plural(left as u64, "more row", "more rows"))
        } else {
            "↑ all read".to_owned()
        };
        paint.right(place.right(), place.y + window, &text, paint.role(Role::Careful));
    }
    let mut caret = None;
    let base = Rect { y: place.y + room_for_text, height: fixed, ..place };
    for (index, part) in below.iter().take(usize::from(fixed)).enumerate() {
        let line = row(base, index as u16);
        match part {
            Part::Line(text) => paint.line(line, text),
            Part::Field(prompt, text) => caret = field(model, paint, line, prompt, text, state.cursor),
            Part::Choices(choices) => {
                let half = if choices.len() > 1 { line.width / 2 } else { line.width };
                for (at, choice) in choices.iter().enumerate() {
                    if let Some((index, label)) = choice {
                        let place = Rect { x: line.x + half * at as u16, width: half, ..line };
                        draw_choice(state, inert, paint, place, *index, label, layout);
                    }
                }
            }
            Part::More(index, label) => draw_more(state, inert, paint, line, *index, label, layout),
        }
    }
    caret
}

fn draw_choice(
    state: &ApprovalModal,
    inert: bool,
    paint: &mut Paint<'_>,
    place: Rect,
    index: usize,
    label: &str,
    layout: &mut Layout,
) {
    let Some((choice, key)) = CHOICES.get(index) else { return };
    let chosen = *choice == state.selected;
    let place = Rect { width: place.width.saturating_sub(1), ..place };
    if chosen {
        paint.tone(place, Slot::Selection);
        paint.put(place.x, place.y, 2, "▸", paint.slot(Slot::Prompt));
    }
    let role = match (inert, chosen) {
        (true, _) => Role::Dim,
        (false, true) => Role::Strong,
        (false, false) => Role::Text,
    };
    paint.fit(place.x + 2, place.y, place.width.saturating_sub(5), label, paint.role(role));
    let key_role = if inert { Role::Dim } else { Role::Accent };
    paint.right(place.right().saturating_sub(1), place.y, key, paint.role(key_role));
    let hit = Area { x: place.x, y: place.y, width: place.width, height: 1 };
    layout.targets.push((hit, Hit::ModalRow(index)));
}

/// A row that goes on with the label of a choice.
fn draw_more(
    state: &ApprovalModal,
    inert: bool,
    paint: &mut Paint<'_>,
    place: Rect,
    index: usize,
    label: &str,
    layout: &mut Layout,
) {
    let Some((choice, _)) = CHOICES.get(index) else { return };
    let chosen = *choice == state.selected;
    let place = Rect { width: place.width.saturating_sub(1), ..place };
    if chosen {
        paint.tone(place, Slot::Selection);
    }
    let role = match (inert, chosen) {
        (true, _) => Role::Dim,
        (false, true) => Role::Strong,
        (false, false) => Role::Text,
    };
    paint.fit(place.x + 4, place.y, place.width.saturating_sub(KEY), label, paint.role(role));
    let hit = Area { x: place.x, y: place.y, width: place.width, height: 1 };
    layout.targets.push((hit, Hit::ModalRow(index)));
}

/// What letters mean here, for someone who typed another one.
fn stray(approval: &Approval) -> &'static str {
    match approval.intent {
        Intent::Command { .. } => "d denies with a reason · e edits it",
        _ => "d denies with a reason",
    }
}

/// The row to begin at, so that the first words with a reason and the reason itself are in view.
fn first_reason(body: &[Row], window: usize) -> usize {
    let careful = |row: &Row| row.line.spans.iter().any(|span| span.role == Role::Careful);
    match body.iter().position(careful) {
        Some(at) if at + 3 > window => at.saturating_sub(window / 3),
        _ => 0,
    }
}

/// What is to be read, and how many of its rows must have been shown before it can be allowed.
fn body(model: &Model, approval: &Approval, state: &ApprovalModal, room: usize) -> (Vec<Row>, usize) {
    let mut rows = vec![Row::blank()];
    if let ApprovalStage::ConfirmingEdit(line) = &state.stage {
        rows.extend(command::rows(line, &[], room));
        let must = rows.len();
        rows.push(Row::blank());
        return (rows, must);
    }
    let reasons = approval.verdict.reasons();
    let mut place = String::new();
    match &approval.intent {
        Intent::Command { line, cwd, .. } => {
            rows.extend(command::rows(line, reasons, room));
            place = format!("in {} · {}", model.shown_folder(&cwd.to_string_lossy()), model.config.terminal.backend);
        }
        Intent::Input { process, text } => {
            rows.extend(command::rows(text, reasons, room));
            place = format!("into {process}");
        }
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
            rows.extend(command::rows("", reasons, room).into_iter().skip(1));
        }
        Intent::Read(path) => {
            rows.extend(command::rows(&path.display().to_string(), reasons, room));
        }
        Intent::Remote { server, tool, args, claims } => {
            let spans = vec![Span::new(truncate_middle(&visible(tool).text, room), Role::Strong)];
            rows.push(Row { line: Line { spans, ground: Ground::Base }, ..Row::default() });
            rows.extend(command::rows(args, &[], room));
            rows.extend(command::rows("", reasons, room).into_iter().skip(1));
            for claim in claims {
                rows.extend(command::said(&format!("{server} says: {claim}"), room));
            }
        }
        Intent::Talk => rows.extend(command::rows("", reasons, room).into_iter().skip(1)),
    }
    let must = rows.len();
    let asked = [
        place,
        if approval.asker.is_empty() { String::new() } else { format!("asked by {}", without_marks(&approval.asker)) },
    ];
    let asked: Vec<String> = asked.into_iter().filter(|part| !part.is_empty()).collect();
    if !asked.is_empty() {
        rows.push(Row::blank());
        let text = visible(&asked.join(" · ")).text.replace('\n', " ");
        wrap_into(&mut rows, &[Span::new(text, Role::Dim)], Ground::Base, &Wrap { width: room, ..Wrap::default() });
    }
    if !approval.targets.is_empty() {
        rows.push(Row::blank());
        rows.push(Row::ornament(Line::plain("What it would touch", Role::Strong)));
        rows.extend(targets(&approval.targets, room));
    }
    rows.push(Row::blank());
    (rows, must)
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
        let spans = [
            Span::new(pad(&truncate_middle(&visible(&target.name).text, name), name + 2), Role::Text),
            Span::new(format!("{:>14}", files.unwrap_or_default()), Role::Text),
            Span::new(format!("{:>10}   ", bytes.unwrap_or_default()), Role::Text),
            Span::new(visible(&target.note).text.replace('\n', " "), Role::Dim),
        ];
        let rest = [Span::new("    ", Role::Text)];
        let first = [Span::new("  ", Role::Text)];
        wrap_into(&mut rows, &spans, Ground::Base, &Wrap { width: room, first: &first, rest: &rest, verbatim: false });
    }
    rows
}

/// What is below the text: choices, or the field of a stage.
enum Part {
    Line(Line),
    Field(String, String),
    /// Index into the choices and label, for each column.
    Choices(Vec<Option<(usize, String)>>),
    /// The label of a choice goes on.
    More(usize, String),
}

fn below(approval: &Approval, state: &ApprovalModal, room: usize) -> Vec<Part> {
    let line = |text: &str, role| Part::Line(Line::plain(text, role));
    match &state.stage {
        ApprovalStage::Reason(text) => vec![
            line("Why not? The model reads it. Enter denies, with or without a reason.", Role::Dim),
            Part::Field("❯ ".to_owned(), text.clone()),
        ],
        ApprovalStage::Editing(text) => vec![
            line("Enter shows it once more before it runs.", Role::Dim),
            Part::Field("$ ".to_owned(), text.clone()),
        ],
        ApprovalStage::ConfirmingEdit(_) => vec![
            line("Run this instead? Enter allows it, unless it needs an answer of its own.", Role::Careful),
            line("Any other key goes back to the field.", Role::Dim),
        ],
        ApprovalStage::Confirming if state.selected == ApprovalChoice::Always => lasting(approval, state, room),
        ApprovalStage::Confirming if approvals::offers(approval, state.selected).len() > 1 => {
            lasting(approval, state, room)
        }
        ApprovalStage::Choosing | ApprovalStage::Confirming => {
            let mut parts = Vec::new();
            if matches!(approval.verdict, Verdict::AskAlways(_)) {
                parts.push(line("This is asked every time, in every mode.", Role::Careful));
            }
            let always = matches!(approval.verdict, Verdict::AskAlways(_));
            let label = |index: usize| choice_label(CHOICES.get(index)?.0, approval, room).map(|text| (index, text));
            let offered: Vec<Option<(usize, String)>> =
                (0..CHOICES.len()).map(|index| label(index).filter(|_| !(always && index > LEFT))).collect();
            let half = (room / 2).saturating_sub(usize::from(KEY));
            if room >= WIDE && offered.iter().flatten().all(|(_, label)| width(label) <= half) {
                for at in 0..CHOICES.len() - LEFT {
                    let left = if at < LEFT { offered.get(at).cloned().flatten() } else { None };
                    parts.push(Part::Choices(vec![left, offered.get(LEFT + at).cloned().flatten()]));
                }
            } else {
                for (index, label) in offered.into_iter().flatten() {
                    let mut rows = label_rows(&label, room).into_iter();
                    parts.extend(rows.next().map(|first| Part::Choices(vec![Some((index, first))])));
                    parts.extend(rows.map(|more| Part::More(index, more)));
                }
            }
            if state.stage == ApprovalStage::Confirming {
                parts.push(line("", Role::Text));
                if state.selected == ApprovalChoice::Session {
                    let text = format!("For this session: {}", approvals::effects(approval).join(", "));
                    parts.extend(whole(&text, Role::Strong, room));
                }
                parts.push(line("Enter confirms · Esc goes back", Role::Careful));
            }
            parts
        }
    }
}

/// How wide an answer that lasts is, each width with the rules that it makes.
fn lasting(approval: &Approval, state: &ApprovalModal, room: usize) -> Vec<Part> {
    let title = match state.selected {
        ApprovalChoice::Session => "Allow for the rest of this session",
        _ => "Always allow, in every session",
    };
    let mut parts = vec![Part::Line(Line::plain(title, Role::Strong))];
    let widths: Vec<(bool, String, String)> = approvals::offers(approval, state.selected)
        .into_iter()
        .enumerate()
        .map(|(at, offer)| {
            let words = match (offer.grant.width, &approval.intent) {
                (Width::Command, _) => "this very command".to_owned(),
                (Width::Words, _) => "these words".to_owned(),
                (Width::Server, Intent::Remote { server, .. }) => {
                    format!("every tool of {}", truncate_end(&visible(server).text, SERVER))
                }
                (Width::Effects, Intent::Remote { .. }) => "this tool".to_owned(),
                (Width::Effects | Width::Server, _) => "all that would".to_owned(),
            };
            (at == state.offer, words, visible(&offer.grant.entries.join(", ")).text.replace('\n', " "))
        })
        .collect();
    let column = widths.iter().map(|(_, words, _)| width(words)).max().unwrap_or(0).max(17) + 4;
    for (chosen, words, rules) in &widths {
        let role = if *chosen { Role::Strong } else { Role::Text };
        let mark = Span::new(if *chosen { "▸ " } else { "  " }, Role::Accent);
        // all that is written shows, however long it is
        let mut rows = Vec::new();
        let spans = [Span::new(rules.clone(), if *chosen { Role::Careful } else { Role::Dim })];
        let (first, rest) =
            ([mark, Span::new(pad(words, column), role)], [Span::new(" ".repeat(column + 2), Role::Text)]);
        let how = Wrap { width: room, first: &first, rest: &rest, verbatim: false };
        wrap_into(&mut rows, &spans, Ground::Base, &how);
        parts.extend(rows.into_iter().map(|row| Part::Line(row.line)));
    }
    parts.push(Part::Line(Line::default()));
    let switch = if widths.len() > 1 { "Tab switches · " } else { "" };
    parts.push(Part::Line(Line::plain(format!("{switch}Enter confirms · Esc goes back"), Role::Careful)));
    parts
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

/// The effects that a lasting answer is about, in two rows at most, in one on a narrow screen: the first ones by name, the
/// others counted. All of them stand in the question that follows.
fn granted(lead: &str, effects: &[String], room: usize) -> String {
    let most = if room < WIDE { 1 } else { 2 };
    let fits = |label: &String| label_rows(label, room).len() <= most;
    let short = |shown: usize| match effects.len() - shown {
        0 => format!("{lead}: {}", effects.join(", ")),
        more => format!("{lead}: {} and {more} more", effects[..shown].join(", ")),
    };
    let fitting = (1..=effects.len()).rev().map(short).find(fits);
    fitting.unwrap_or_else(|| format!("{lead}: {}", format::plural(effects.len() as u64, "effect", "effects")))
}

fn choice_label(choice: ApprovalChoice, approval: &Approval, room: usize) -> Option<String> {
    let what = approvals::effects(approval);
    let is_command = matches!(approval.intent, Intent::Command { .. });
    Some(match choice {
        ApprovalChoice::Deny => "Deny, and say why".to_owned(),
        ApprovalChoice::Once if approvals::leaves_sandbox(approval) => "Run again without the sandbox".to_owned(),
        ApprovalChoice::Once => "Allow once".to_owned(),
        ApprovalChoice::Session if what.is_empty() => "Allow for this session".to_owned(),
        ApprovalChoice::Session => granted("This session", &what, room),
        ApprovalChoice::Edit if !is_command || approvals::leaves_sandbox(approval) => return None,
        ApprovalChoice::Edit => "Edit the command".to_owned(),
        ApprovalChoice::Always if what.is_empty() => "Always: this very command".to_owned(),
        ApprovalChoice::Always => granted("Always", &what, room),
    })
}

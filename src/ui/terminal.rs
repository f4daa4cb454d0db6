//! The terminal pane: a line of tabs over the screen of one process.

use super::paint::{Paint, cells, inset, row};
use super::{flat, hints, live, to_area};
use crate::app::Model;
use crate::app::model::layout::{Area, Border, Hit, Layout};
use crate::app::model::processes::TerminalPane;
use crate::app::model::selection::Surface;
use crate::app::model::types::{LogState, Origin, ProcessInfo, ProcessState};
use crate::app::model::{Pane, Pressed};
use crate::app::terminal::{editor, processes};
use crate::config::theme::Slot;
use crate::text::Role;
use crate::text::format;
use crate::text::width::{truncate_end, width};
use ratatui::layout::Rect;

/// Columns of a pane that two terminals fit into.
const TWO: u16 = 40;
/// Cells of the names of tabs: of any at most, and where there is little room, of the one that is shown and of the others at
/// least.
const MAX_NAME: usize = 60;
const SHOWN: usize = 28;
const MIN_NAME: usize = 16;

/// Draws the pane and returns the caret of copy mode, or the program's cursor when its keys go there.
pub fn draw(model: &Model, paint: &mut Paint<'_>, area: Rect, layout: &mut Layout) -> Option<(u16, u16)> {
    layout.panes.push((Pane::Terminal, to_area(area)));
    let pane = &model.tab.processes.pane;
    let focused = model.tab.focus == Pane::Terminal;
    let whole = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..inset(area, 2, 2) };
    let body = second(model, paint, whole, layout);
    layout.terminal = Some((body.width, body.height));
    tabs(model, paint, row(area, 0), focused, layout);
    if pane.shown.is_none() {
        paint.fit(body.x, body.y, body.width, "No command has run here yet.", paint.role(Role::Dim));
        return None;
    }
    let screen = pane.screen.as_ref()?;
    let rows = screen.rows.iter().zip(screen.places()).take(usize::from(body.height));
    for (index, (line, place)) in rows.enumerate() {
        let at = row(body, index as u16);
        paint.line(at, line);
        if let Some(find) = &pane.find {
            hits(paint, at, line, &find.words);
        }
        flat::put(layout, Surface::Terminal, at, place, line.spans.is_empty());
    }
    let kept = flat::selection(model, Surface::Terminal).map(|selection| &selection.kept);
    let caret = kept.and_then(|rows| flat::finish(model, paint, Surface::Terminal, rows, layout));
    let label = whereabouts(pane);
    if !label.is_empty() {
        let style = paint.slot(Slot::Overlay).patch(paint.role(Role::Accent));
        paint.right(body.right(), body.bottom().saturating_sub(1), &format!(" {label} "), style);
    }
    if caret.is_some() {
        return caret;
    }
    let shown = model.tab.processes.rows.iter().find(|row| Some(&row.id) == pane.shown.as_ref());
    let runs = shown.is_some_and(processes::is_running);
    let ended = shown.is_some_and(|process| matches!(process.state, ProcessState::Exited(_)));
    if ended && screen.is_blank() {
        paint.fit(body.x, body.y, body.width, "It exited without output.", paint.role(Role::Dim));
    }
    // Nothing types into a command that has ended.
    let (x, y) = screen.cursor.filter(|_| focused && runs && pane.scroll == 0)?;
    (x < body.width && y < body.height).then_some((body.x + x, body.y + y))
}

/// Which hit is shown, how far above the end that is, and how much came meanwhile: `3/17 · ↑ 60 lines · 5 new`.
fn whereabouts(pane: &TerminalPane) -> String {
    let hit = pane.find.as_ref().and_then(|find| find.hit).map(|hit| format!("{}/{}", hit.nth, hit.of));
    // The way back does not grow while more is printed.
    let back = pane.scroll.saturating_sub(pane.fresh);
    let up = (back > 0).then(|| format!("↑ {}", format::plural(back as u64, "line", "lines")));
    let new = (pane.fresh > 0).then(|| format!("{} new", pane.fresh));
    [hit, up, new].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// Draws the second of two terminals, with a line of names over both, and returns the place of the first.
fn second(model: &Model, paint: &mut Paint<'_>, whole: Rect, layout: &mut Layout) -> Rect {
    let Some(second) = &model.tab.processes.pane.second else { return whole };
    if whole.width < TWO || whole.height < 3 {
        return whole;
    }
    let half = (whole.width - 3) / 2;
    let left = Rect { width: half, ..whole };
    let right = Rect { x: whole.x + half + 3, width: whole.width - half - 3, ..whole };
    let line = Rect { x: whole.x + half + 1, width: 1, ..whole };
    let border = paint.slot(Slot::Border);
    for index in 0..line.height {
        paint.repeat(row(line, index), "│", border);
    }
    let (shown, other) = if second.first { (right, left) } else { (left, right) };
    let body = |half: Rect| Rect { y: half.y + 1, height: half.height - 1, ..half };
    let rows = &model.tab.processes.rows;
    for (half, id, role) in
        [(shown, model.tab.processes.pane.shown.as_ref(), Role::Strong), (other, Some(&second.id), Role::Dim)]
    {
        let at = rows.iter().position(|process| Some(&process.id) == id);
        let Some((index, process)) = at.map(|at| (at, &rows[at])) else { continue };
        let name = process.command.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        let name = truncate_end(&format!("{} {name}", index + 1), usize::from(half.width.saturating_sub(6)));
        let end = paint.put(half.x, half.y, half.width, &name, paint.role(role));
        let (mark, role) = state(model, process);
        paint.put(end + 1, half.y, half.right().saturating_sub(end + 1), &mark, paint.role(role));
    }
    let place = body(other);
    layout.second = Some((place.width, place.height));
    layout.targets.push((to_area(other), Hit::OtherTerminal));
    let lines = second.screen.iter().flat_map(|screen| &screen.rows).take(usize::from(place.height));
    for (index, line) in lines.enumerate() {
        paint.line(row(place, index as u16), line);
    }
    body(shown)
}

/// Marks what was looked for in a row; lower-case words are found in both cases.
fn hits(paint: &mut Paint<'_>, at: Rect, line: &crate::text::Line, words: &str) {
    let exact = words.chars().any(char::is_uppercase);
    let text: String = line.spans.iter().map(|span| span.text.as_str()).collect();
    // Letters whose small form is longer would move what comes after them.
    let searched = if exact { text.clone() } else { text.chars().map(small).collect() };
    for (start, found) in searched.match_indices(words) {
        let before = cells(width(&text[..start.min(text.len())]));
        let len = cells(width(found));
        let x = at.x.saturating_add(before);
        if x < at.right() {
            paint.tone(Rect { x, width: len.min(at.right() - x), ..at }, Slot::Match);
        }
    }
}

fn small(letter: char) -> char {
    let mut small = letter.to_lowercase();
    match (small.next(), small.next()) {
        (Some(one), None) if one.len_utf8() == letter.len_utf8() => one,
        _ => letter,
    }
}

/// A tab: its number and name, and the state of its process.
struct Tab<'a> {
    process: &'a ProcessInfo,
    number: usize,
    name: String,
    mark: String,
    role: Role,
    /// It is the one that is shown.
    current: bool,
}

impl Tab<'_> {
    /// Its number and name, the name in so many cells at most.
    fn label(&self, most: usize) -> String {
        let most = if self.current { most.max(SHOWN) } else { most };
        format!(" {} {} ", self.number, truncate_end(&self.name, most))
    }

    fn width(&self, most: usize) -> u16 {
        cells(width(&self.label(most)) + width(&self.mark) + 1)
    }
}

/// `Terminal  1 agent  2 dev server ●  ───`, the line between the panes. The tab that is shown is always on it.
fn tabs(model: &Model, paint: &mut Paint<'_>, area: Rect, focused: bool, layout: &mut Layout) {
    layout.targets.push((to_area(area), Hit::Border(Border::Terminal)));
    let moves = model.pressed == Some(Pressed::Border(Border::Terminal));
    let line = paint.slot(if focused || moves { Slot::BorderFocused } else { Slot::Border });
    paint.repeat(inset(area, 0, 0), "─", line);
    let title = paint.slot(if focused { Slot::TitleFocused } else { Slot::Title });
    let mut x = area.x + 1;
    let mut end = area.right().saturating_sub(2);
    // On a small screen the tabs need the room of the word.
    if area.width >= 50 {
        x = paint.put(x, area.y, end.saturating_sub(x), " Terminal ", title);
    }
    if model.tab.processes.pane.taken_over {
        let key = hints::key_of(model, "take-over");
        let badge =
            if area.width >= 80 { format!(" TAKEN OVER · {key} returns ") } else { format!(" {key} returns ") };
        end = paint.right(end, area.y, &badge, paint.slot(Slot::BadgeCareful)).saturating_sub(1);
    }
    let shown = model.tab.processes.pane.shown.as_ref();
    let process = model.tab.processes.rows.iter().find(|row| Some(&row.id) == shown);
    if let Some(words) =
        process.map(|process| about(model, process)).filter(|words| !words.is_empty() && area.width >= 90)
    {
        end = paint.right(end, area.y, &format!(" {words} "), paint.role(Role::Dim)).saturating_sub(1);
    }
    let room = end.saturating_sub(x);
    let rows = model.tab.processes.rows.iter().enumerate();
    let tabs: Vec<Tab<'_>> =
        rows.map(|(index, process)| tab(model, index, process, room, Some(&process.id) == shown)).collect();
    let current = tabs.iter().position(|tab| tab.current).unwrap_or(0);
    let (from, to) = window(&tabs, current, room);
    // Names are cut only where not all of them have room, and take all that there is.
    let most = (MIN_NAME..=MAX_NAME).rev().find(|most| fits(&tabs, from, to, room, *most)).unwrap_or(MIN_NAME);
    let dim = paint.role(Role::Dim);
    if from > 0 {
        x = paint.put(x, area.y, end.saturating_sub(x), &format!("‹{from} "), dim);
    }
    for (index, tab) in tabs.iter().enumerate().take(to).skip(from) {
        let start = x;
        let style = paint.role(if index == current { Role::Strong } else { Role::Dim });
        x = paint.put(x, area.y, end.saturating_sub(x), &tab.label(most), style);
        let style = paint.role(tab.role);
        x = paint.put(x, area.y, end.saturating_sub(x), &format!("{} ", tab.mark), style);
        if index == current {
            paint.tone(Rect { x: start, width: x - start, ..area }, Slot::Selection);
        }
        let hit = Area { x: start, y: area.y, width: x - start, height: 1 };
        layout.targets.push((hit, Hit::ShowProcess(tab.process.id.clone())));
    }
    if to < tabs.len() {
        paint.put(x, area.y, end.saturating_sub(x), &format!(" {}› ", tabs.len() - to), dim);
    }
}

fn tab<'a>(model: &Model, index: usize, process: &'a ProcessInfo, room: u16, current: bool) -> Tab<'a> {
    let (mark, role) = state(model, process);
    let name: String = if editor::is(model, &process.id) {
        "prompt".to_owned()
    } else {
        process.command.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
    };
    // Number, mark and blanks around them, and the counts at both ends.
    let all = model.tab.processes.rows.len();
    let counts = if all > 1 { counts(all, all) } else { 0 };
    let second = usize::from(counts) + width(&mark) + (index + 1).to_string().len() + 4;
    let most = usize::from(room).saturating_sub(second).max(4);
    Tab { process, number: index + 1, name: truncate_end(&name, MAX_NAME.min(most)), mark, role, current }
}

/// Cells of the counts of so many hidden tabs at both ends: `‹2 `, ` 3› `.
fn counts(before: usize, after: usize) -> u16 {
    let cells = |hidden: usize, signs: usize| if hidden > 0 { hidden.to_string().len() + signs } else { 0 };
    (cells(before, 2) + cells(after, 3)) as u16
}

/// Whether some of the tabs fit, with counts of those that are hidden and names of so many cells at most.
fn fits(tabs: &[Tab<'_>], from: usize, to: usize, room: u16, most: usize) -> bool {
    tabs[from..to].iter().fold(counts(from, tabs.len() - to), |sum, tab| sum.saturating_add(tab.width(most))) <= room
}

/// The tabs that fit around the one that is shown: the first and the one after the last.
fn window(tabs: &[Tab<'_>], current: usize, room: u16) -> (usize, usize) {
    let fits = |from: usize, to: usize| fits(tabs, from, to, room, MIN_NAME);
    let (mut from, mut to) = (current.min(tabs.len()), (current + 1).min(tabs.len()));
    // Earlier ones first, so that the tabs stand still while they fit.
    while from > 0 && fits(from - 1, to) {
        from -= 1;
    }
    while to < tabs.len() && fits(from, to + 1) {
        to += 1;
    }
    (from, to)
}

/// Milliseconds of silence that are worth a word.
const SILENT: i64 = 10_000;

/// How the shown process is: `12 % · 48 MiB · silent for 3 min`.
fn about(model: &Model, process: &ProcessInfo) -> String {
    let vitals = &process.vitals;
    if let ProcessState::Exited(_) = process.state {
        return String::new();
    }
    let mut words = Vec::new();
    if let Some(place) = &vitals.place {
        words.push(format!("on {place}"));
    }
    match vitals.origin {
        Origin::Ours => {}
        Origin::Earlier => words.push("from an earlier session: no typing".to_owned()),
        Origin::Elsewhere if vitals.place.is_some() => {
            let unreachable = if vitals.unreachable.is_some() { "unreachable: view only" } else { "reconnecting" };
            words.push(unreachable.to_owned());
        }
        Origin::Elsewhere => words.push("on another host: view only".to_owned()),
    }
    if let Some(usage) = vitals.usage {
        words.push(format!("{} % · {}", usage.processor, format::bytes(usage.memory)));
    }
    if let Some(at) = vitals.last_output.filter(|at| model.now - at >= SILENT) {
        words.push(format!("no output for {}", format::age(model.now - at)));
    }
    match vitals.log {
        LogState::Whole => {}
        LogState::Full => words.push("log full".to_owned()),
        LogState::Failed => words.push("log failed: disk full?".to_owned()),
    }
    words.join(" · ")
}

/// The signal that comes next, counted down: `TERM in 2 s`.
pub(super) fn ending(model: &Model, process: &ProcessInfo) -> Option<String> {
    let ending = process.vitals.ending?;
    let seconds = (ending.at - model.now).max(0).unsigned_abs().div_ceil(1000);
    Some(format!("{} in {seconds} s", ending.signal))
}

fn state(model: &Model, process: &ProcessInfo) -> (String, Role) {
    if let Some(words) = ending(model, process) {
        return (words, Role::Careful);
    }
    match &process.state {
        ProcessState::Running if process.vitals.origin == Origin::Earlier => ("○".to_owned(), Role::Careful),
        ProcessState::Running if process.vitals.origin == Origin::Elsewhere => ("◌".to_owned(), Role::Dim),
        ProcessState::Running if process.background => ("●".to_owned(), Role::Good),
        ProcessState::Running => (live::spinner(model.now).to_owned(), Role::Accent),
        ProcessState::NeedsInput => ("⌨".to_owned(), Role::Careful),
        ProcessState::Stopped => ("‖ stopped".to_owned(), Role::Careful),
        ProcessState::Exited(exit) if exit.code == 0 => ("✓".to_owned(), Role::Dim),
        // How it ended is not known: an earlier run had started it.
        ProcessState::Exited(exit) if exit.code < 0 => ("✗".to_owned(), Role::Dim),
        ProcessState::Exited(exit) => (format!("✗ {}", exit.code), Role::Bad),
    }
}

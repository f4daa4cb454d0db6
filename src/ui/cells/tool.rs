//! One line a tool call, on a grid: emoji, name, target, result, time. Opened, its output and diffs; failures and changes open
//! a little by themselves.

mod scripts;

use super::{CellRows, Context};
use crate::app::model::transcript::{ToolCell, ToolState};
use crate::protocol::{CallRow, NAMED, Outcome, PERSONS};
use crate::text::width::{pad, truncate_end, truncate_middle, width};
use crate::text::wrap::{Joint, Wrap, wrap_into};
use crate::text::{Ground, Line, Role, Row, Span, ansi, columns, diff, format, highlight};

/// Cells of the time, which a running clock needs too: `59 m 59 s`.
pub const TIME: usize = 10;
/// Columns on the right: a space, the fold mark or spinner, the margin.
pub const AFTER_TIME: usize = 4;
/// Cells of names on a wide screen: `search_files`.
const NAME: usize = 12;
/// From this width on names stand in a column.
const ROOMY: usize = 72;
/// Cells that a result gets however long the target: the words of every state fit.
const SHORTEST_RESULT: usize = 16;
/// Lines of output shown when opened.
const OPEN_LINES: usize = 400;
/// Lines at the start and the end of a failed call's output.
const FAILED: (usize, usize) = (3, 7);
/// Lines that are shown beyond those, to begin where a block does.
const BLOCK: usize = 3;
/// Those of what the person ran to see it.
const OWN: (usize, usize) = (8, 24);

/// Lays out a call: its line, and what is open below it; one that stands for others is a line.
pub fn layout(tool: &ToolCell, context: &mut Context<'_>) -> CellRows {
    let mut rows = vec![match context.group {
        [] => head(tool, can_open(tool), 0, context),
        group => head(&together(tool, group), true, 0, context),
    }];
    if !context.group.is_empty() {
        let mut out = CellRows::new(rows);
        out.indent = 0;
        return out;
    }
    super::children::rows(&tool.children, context, &mut rows);
    if tool.duration_ms.is_none() || context.expanded {
        scripts::rows(tool, context, &mut rows);
    }
    if context.expanded && can_open(tool) {
        opened(tool, context, &mut rows);
    } else if tool.state == ToolState::Done(Outcome::Failed) {
        excerpt(&tool.output, FAILED, context, &mut rows);
    } else if tool.state == ToolState::Done(Outcome::Ok) && !tool.diffs.is_empty() {
        diffs(tool, context.config.display.diff_rows, context, &mut rows);
    } else if tool.call_id.starts_with(PERSONS) {
        // What was not run says why.
        let said = if tool.output.is_empty() && tool.state != ToolState::Done(Outcome::Ok) {
            &tool.approval[..]
        } else {
            &tool.output
        };
        excerpt(said, OWN, context, &mut rows);
    }
    let mut out = CellRows::new(rows);
    out.indent = 0;
    out
}

/// What stands in the column of names, and what after it. A tool of a server has a name too long for the column: the
/// server stands there, and the tool before what it works on.
fn named(tool: &ToolCell) -> (&str, String) {
    match tool.name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
        Some((server, name)) => (server, format!("{name} {}", tool.target).trim_end().to_owned()),
        None => (&tool.name, tool.target.clone()),
    }
}

/// Whether there is anything to open.
pub fn can_open(tool: &ToolCell) -> bool {
    // The plan has a pane of its own; its JSON tells a person nothing.
    tool.row != CallRow::Closed
        && !(tool.output.is_empty() && tool.diffs.is_empty() && tool.approval.is_empty() && tool.inner.is_empty())
}

/// A line for like calls: *Read 6 files: a.rs, b.rs …*
fn together(tool: &ToolCell, group: &[&ToolCell]) -> ToolCell {
    let mut targets: Vec<&str> = Vec::new();
    for call in group {
        if !targets.contains(&&*call.target) {
            targets.push(&call.target);
        }
    }
    let count = match tool.row {
        CallRow::Files => format::plural(targets.len() as u64, "file", "files"),
        CallRow::Own | CallRow::Times | CallRow::Closed => format::plural(group.len() as u64, "time", "times"),
    };
    ToolCell {
        name: format::capitalized(&tool.verb),
        target: format!("{count}: {}", targets.join(", ")),
        summary: String::new(),
        duration_ms: Some(group.iter().filter_map(|call| call.duration_ms).sum()),
        emoji: tool.emoji.clone(),
        state: tool.state,
        ..ToolCell::default()
    }
}

/// The line of a call, so many cells further in than others.
fn head(tool: &ToolCell, opens: bool, deeper: usize, context: &Context<'_>) -> Row {
    let of = context.group.first().map_or(&tool.name, |call| &call.name);
    let emoji = context.look.skin.tool_emojis.get(of).unwrap_or(&tool.emoji);
    let emoji = if emoji.is_empty() { "⚡" } else { emoji };
    let roomy = context.width >= ROOMY;
    let (name, target) = named(tool);
    let name_cells = if roomy { NAME.max(width(name)) } else { width(name).min(10) };
    let mut spans = vec![
        Span::new(" ".repeat(usize::from(super::MARK) + deeper), Role::Text),
        Span::new(pad(emoji, 3), Role::Text),
        // A name that is cut leaves a cell of air, too.
        Span::new(pad(&truncate_end(name, name_cells), name_cells + 1), Role::Dim),
    ];
    let from = usize::from(super::MARK) + deeper + 3 + name_cells + 1;
    let time_cells = if roomy { TIME } else { TIME - 1 };
    let result_end = context.width.saturating_sub(AFTER_TIME + time_cells);
    let room = result_end.saturating_sub(from);
    let (result, role) = result(tool);
    let result = truncate_end(&result, (room * 2 / 5).clamp(SHORTEST_RESULT, 40).min(room));
    let target_room = room.saturating_sub(width(&result) + 2);
    let target = fit_target(&spoken(&target), target_room);
    let used = width(&target);
    spans.push(Span::new(target, Role::Strong));
    let gap = room.saturating_sub(used + width(&result));
    spans.push(Span::new(" ".repeat(gap), Role::Text));
    match changes(&result).filter(|_| role == Role::Text) {
        Some((added, removed)) => {
            spans.push(Span::new(added, Role::Good));
            spans.push(Span::new(format!(" {removed}"), if removed == "−0" { Role::Dim } else { Role::Bad }));
        }
        None => spans.push(Span::new(result, role)),
    }
    let time = tool.duration_ms.map(format::elapsed).unwrap_or_default();
    spans.push(Span::new(format!("{time:>time_cells$}"), Role::Dim));
    let fold = match (opens, context.expanded) {
        (false, _) => " ",
        (true, false) => "▸",
        (true, true) => "▾",
    };
    spans.push(Span::new(format!(" {fold}"), Role::Dim));
    Row { line: Line { spans, ground: Ground::Base }, lead: super::MARK, ..Row::default() }
}

/// `+14 −6` in its two halves.
fn changes(result: &str) -> Option<(&str, &str)> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (added, removed) = result.split_once(' ')?;
    (digits(added.strip_prefix('+')?) && digits(removed.strip_prefix('−')?)).then_some((added, removed))
}

/// `planning 4 task(s)`, which logs and other programs know, as a person says it: `4 tasks`.
fn spoken(target: &str) -> std::borrow::Cow<'_, str> {
    let count = target.strip_suffix(" task(s)").and_then(|rest| rest.rsplit(' ').next()?.parse().ok());
    match count {
        Some(count) => format::plural(count, "task", "tasks").into(),
        None => target.into(),
    }
}

/// Paths are cut in the middle, everything else at the end; line breaks of commands show as one space.
fn fit_target(target: &str, cells: usize) -> String {
    let line: String = target.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    let clean: String = crate::text::visible::visible(&line).text;
    let is_path = !clean.contains(' ') && clean.contains('/');
    if is_path { truncate_middle(&clean, cells) } else { truncate_end(&clean, cells) }
}

/// The short result and its role; words as well as colours tell the state.
fn result(tool: &ToolCell) -> (String, Role) {
    let or = |word: &str| if tool.summary.is_empty() { word.to_owned() } else { tool.summary.clone() };
    let (text, role) = match tool.state {
        ToolState::Proposed => ("waiting".to_owned(), Role::Dim),
        ToolState::Asking => ("⚠ needs approval".to_owned(), Role::Careful),
        ToolState::Running => (tool.progress.clone(), Role::Dim),
        ToolState::Done(Outcome::Ok) => (tool.summary.clone(), Role::Text),
        ToolState::Done(Outcome::Failed) => (format!("✗ {}", or("failed")), Role::Bad),
        ToolState::Done(Outcome::Denied) => (format!("⊘ {}", or("denied")), Role::Careful),
        ToolState::Done(Outcome::TimedOut) => (format!("⊘ {}", or("no answer in time")), Role::Careful),
        ToolState::Done(Outcome::NoOne) => (format!("⊘ {}", or("no one to ask")), Role::Careful),
        ToolState::Done(Outcome::Refused) => (format!("⊘ {}", or("refused")), Role::Bad),
        ToolState::Done(Outcome::Interrupted) => (format!("■ {}", or("stopped")), Role::Careful),
    };
    if tool.call_id.starts_with(NAMED) {
        (format!("{text} · named in your prompt"), role)
    } else if tool.repaired {
        (format!("{text} · repaired"), role)
    } else {
        (text, role)
    }
}

fn opened(tool: &ToolCell, context: &mut Context<'_>, rows: &mut Vec<Row>) {
    let body = context.room();
    if !tool.approval.is_empty() {
        let rest = [Span::new(" ".repeat(usize::from(super::TEXT)), Role::Text)];
        let how = Wrap {
            width: body + usize::from(super::TEXT),
            first: &rest,
            rest: &rest,
            verbatim: false,
            ..Wrap::default()
        };
        wrap_into(rows, &[Span::new(tool.approval.clone(), Role::Dim)], Ground::Base, &how);
    }
    // A script says what it made of the changes of its calls; of other calls the changes are what there is to say.
    let shows = tool.diffs.is_empty() || !tool.inner.is_empty();
    if shows && !tool.output.is_empty() {
        let lines = ansi::lines(&tool.output);
        let more = lines.len().saturating_sub(OPEN_LINES);
        for at in 0..lines.len().min(OPEN_LINES) {
            output(rows, &lines, at, body);
        }
        if more > 0 {
            rows.push(marker(format!("… {more} more lines")));
        }
    }
    let all = tool.diffs.len() * (diff::FOLDED_LINES + 1);
    diffs(tool, all, context, rows);
}

/// The changes of a call, each with its path where there are several; so many lines at most.
fn diffs(tool: &ToolCell, most: usize, context: &mut Context<'_>, rows: &mut Vec<Row>) {
    let indent = Span::new(" ".repeat(usize::from(super::TEXT)), Role::Text);
    let body = context.room();
    let from = rows.len();
    for (index, change) in tool.diffs.iter().enumerate() {
        let left = most.saturating_sub(rows.len() - from);
        // A path needs a line below it to be worth a row.
        if left < 2 {
            if most > 0 {
                let hidden = (tool.diffs.len() - index) as u64;
                rows.push(marker(format!("… {} more", format::plural(hidden, "file", "files"))));
            }
            return;
        }
        if tool.diffs.len() > 1 {
            let spans = vec![
                indent.clone(),
                Span::new(truncate_middle(&change.path, body.saturating_sub(12)), Role::Strong),
                Span::new(format!("  +{} −{}", change.added, change.removed), Role::Dim),
            ];
            rows.push(Row::ornament(Line { spans, ground: Ground::Raised }));
        }
        let language = highlight::language_of(&change.path);
        let lines = (left - usize::from(tool.diffs.len() > 1)).min(diff::FOLDED_LINES);
        let lines = diff::render(&change.unified, language, body, lines, context.code);
        rows.extend(lines.into_iter().map(|row| shift(row, &indent)));
    }
}

fn excerpt(text: &str, (head, tail): (usize, usize), context: &Context<'_>, rows: &mut Vec<Row>) {
    let body = context.room();
    let lines: Vec<Line> = ansi::lines(text.trim_end());
    if text.trim().is_empty() {
        return;
    }
    let tail = whole_block(&lines, head, tail);
    let hidden = lines.len().saturating_sub(head + tail);
    for index in 0..lines.len() {
        // One hidden line takes as much room as saying so.
        let inside = index >= head && index < head + hidden;
        if hidden > 1 && inside {
            if index == head {
                rows.push(marker(format!("… {hidden} more lines")));
            }
            continue;
        }
        output(rows, &lines, index, body);
    }
}

/// The last `tail` lines and, when those begin inside of an indented block, the few lines up to the one that opens it: in a
/// traceback the place and the code over a row of carets.
fn whole_block(lines: &[Line], head: usize, tail: usize) -> usize {
    let start = lines.len().saturating_sub(tail);
    let indent = |at: usize| lines.get(at).map(Line::text).map_or(0, |text| text.len() - text.trim_start().len());
    let own = indent(start);
    let from = start.saturating_sub(BLOCK).max(head);
    let opener = (from..start).rev().find(|at| indent(*at) < own);
    opener.map_or(tail, |at| tail + start - at)
}

fn output(rows: &mut Vec<Row>, lines: &[Line], at: usize, body: usize) {
    let Some(line) = lines.get(at) else { return };
    let first = [Span::new(" ".repeat(usize::from(super::TEXT) + 2), Role::Text)];
    // One cell of padding on the right of the block.
    let width = (body + usize::from(super::TEXT)).saturating_sub(1).max(1);
    if let Some(names) = columns::names(lines, at, width.saturating_sub(usize::from(super::TEXT) + 2)) {
        let text = line.text();
        for (index, row) in names.into_iter().enumerate() {
            let spans = first.iter().cloned().chain(row.line.spans).collect();
            let raw = text.get(row.source.clone()).map(Box::from);
            let joint = if index == 0 { Joint::Line } else { Joint::Soft(0) };
            let line = Line { spans, ground: Ground::Raised };
            rows.push(Row { line, source: row.source, lead: super::TEXT + 2, joint, raw });
        }
        return;
    }
    let how = Wrap { width, first: &first, rest: &first, verbatim: true, terminal_tabs: true };
    wrap_into(rows, &line.spans, Ground::Raised, &how);
}

fn marker(text: String) -> Row {
    let spans = vec![Span::new(" ".repeat(usize::from(super::TEXT) + 2), Role::Text), Span::new(text, Role::Dim)];
    Row::ornament(Line { spans, ground: Ground::Raised })
}

fn shift(mut row: Row, indent: &Span) -> Row {
    row.lead += super::TEXT;
    row.line.spans.insert(0, indent.clone());
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_output_goes_on_where_a_block_begins() {
        let traceback = [
            "first",
            "second",
            "third",
            "fourth",
            "Traceback (most recent call last):",
            "  File \"test_a.py\", line 4, in <module>",
            "    add(1, 2)",
            "    ^^^^^^^^^",
            "AssertionError",
            "FAILED",
        ];
        let lines: Vec<Line> = traceback.iter().map(|line| Line::plain(*line, Role::Text)).collect();
        for (tail, want) in [(1, 1), (2, 2), (3, 5), (4, 5), (5, 6), (6, 6), (7, 7), (20, 20)] {
            assert_eq!(whole_block(&lines, 1, tail), want, "the last {tail}");
        }
        // A head that is shown is not shown twice, and a block of great length is cut.
        assert_eq!(whole_block(&lines, 6, 3), 3);
        let deep: Vec<Line> = (0..20).map(|at| Line::plain(if at == 0 { "{" } else { "  x" }, Role::Text)).collect();
        assert_eq!(whole_block(&deep, 0, 5), 5);
    }

    #[test]
    fn like_calls_are_counted_by_what_they_looked_at_or_how_often() {
        let call = |row, verb: &str, target: &str| ToolCell {
            row,
            verb: verb.into(),
            target: target.into(),
            ..ToolCell::default()
        };
        for (row, verb, want) in
            [(CallRow::Files, "read", "Read 2 files: a, b"), (CallRow::Times, "searched", "Searched 3 times: a, b")]
        {
            let calls = ["a", "b", "a"].map(|target| call(row, verb, target));
            let one = together(&calls[0], &calls.each_ref());
            assert_eq!(format!("{} {}", one.name, one.target), want);
        }
    }

    #[test]
    fn a_tool_of_a_server_stands_behind_its_server() {
        for (name, target, want) in [
            ("mcp__git__git_status", "/src", ("git", "git_status /src")),
            ("mcp__my_git__log", "", ("my_git", "log")),
            ("mcp__git__a__b", "x", ("git", "a__b x")),
            ("mcp__odd", "x", ("mcp__odd", "x")),
            ("read_file", "a.rs", ("read_file", "a.rs")),
        ] {
            let cell = ToolCell { name: name.into(), target: target.into(), ..ToolCell::default() };
            assert_eq!((named(&cell).0, named(&cell).1.as_str()), want);
        }
    }
}

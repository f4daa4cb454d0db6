//! What a turn did, from the line at its end: the files that it changed and the commands that it ran, each with the way to
//! its place in the conversation.

use super::select;
use crate::app::action::Action;
use crate::app::input::{focus, hint};
use crate::app::lists::pickers;
use crate::app::model::modal::{PickItem, PickerKind};
use crate::app::model::transcript::{Cell, CellId, CellKind, Position, ToolState};
use crate::app::model::{Model, Pane};
use crate::protocol::Level;
use crate::text::format;

/// Columns of a path or a command in the list.
const LABEL: usize = 56;

/// Something that a turn did, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// Lines added and removed; the place is that of the last change.
    File {
        path: String,
        added: u32,
        removed: u32,
        cell: CellId,
    },
    Command {
        line: String,
        exit: i32,
        took: Option<u64>,
        cell: CellId,
    },
}

/// What the turn did that ends at this place: its files in the order of their first change, its commands as they ran.
pub fn done(cells: &[Cell], end: usize) -> Vec<Done> {
    let begin =
        cells[..end].iter().rposition(|cell| matches!(cell.kind, CellKind::TurnEnd { .. })).map_or(0, |at| at + 1);
    let (mut files, mut commands): (Vec<Done>, Vec<Done>) = (Vec::new(), Vec::new());
    for cell in &cells[begin..end] {
        let CellKind::Tool(tool) = &cell.kind else { continue };
        for diff in tool.diffs.iter().chain(&tool.changed) {
            let known = files.iter_mut().find(|file| matches!(file, Done::File { path, .. } if *path == diff.path));
            match known {
                Some(Done::File { added, removed, cell: last, .. }) => {
                    (*added, *removed, *last) = (*added + diff.added, *removed + diff.removed, cell.id);
                }
                Some(Done::Command { .. }) | None => files.push(Done::File {
                    path: diff.path.clone(),
                    added: diff.added,
                    removed: diff.removed,
                    cell: cell.id,
                }),
            }
        }
        if let (Some(exit), ToolState::Done(_)) = (tool.exit_code, tool.state) {
            let line = tool.target.clone();
            commands.push(Done::Command { line, exit, took: tool.duration_ms, cell: cell.id });
        }
    }
    files.extend(commands);
    files
}

/// Whether a line at the end of a turn tells of files or commands, and so leads to them.
pub fn leads(line: &str) -> bool {
    let counts = |part: &str| {
        let mut words = part.split(' ');
        let number = words.next().is_some_and(|word| word.parse::<u64>().is_ok());
        number
            && words
                .next()
                .is_some_and(|word| matches!(word.trim_end_matches(','), "file" | "files" | "command" | "commands"))
    };
    line.split(" · ").any(counts)
}

/// The check that a line at the end of a turn names.
fn check(line: &str) -> Option<&str> {
    let last = line.rsplit(" · ").next()?;
    let failed = || last.strip_prefix("unverified: ").and_then(|rest| rest.strip_suffix(" failed"));
    last.strip_prefix("verified: ").or_else(|| last.strip_prefix("partial: edited after ")).or_else(failed)
}

/// Lists what the last turn did.
pub fn open_last(model: &mut Model) {
    let cells = &model.tab.transcript.cells;
    let is_end = |cell: &&Cell| matches!(&cell.kind, CellKind::TurnEnd { text } if leads(text));
    match cells.iter().rev().find(is_end).map(|cell| cell.id) {
        Some(id) => open(model, id),
        None => model.notices.add(model.now, Level::Info, "no turn changed a file or ran a command yet"),
    }
}

/// Lists what the turn did that ends with this cell; nothing where it did nothing.
pub fn open(model: &mut Model, end: CellId) {
    let cells = &model.tab.transcript.cells;
    let Some(at) = cells.iter().rposition(|cell| cell.id == end) else { return };
    let CellKind::TurnEnd { text } = &cells[at].kind else { return };
    let note = text.clone();
    let items: Vec<PickItem> = done(cells, at).iter().map(|done| item(done, check(&note))).collect();
    if items.is_empty() {
        if leads(&note) {
            model.notices.add(model.now, Level::Info, "what this turn did is further up: scroll there first");
        }
        return;
    }
    pickers::open(model, PickerKind::Turn, "What the turn did", items);
    let key = hint::picker(model, Action::Accept);
    if let Some(picker) = pickers::top(model, PickerKind::Turn) {
        let jump = hint::sentence(&[(key, "goes to it in the conversation")]);
        picker.footnote = format!("{note}\n{jump}");
    }
}

fn item(done: &Done, check: Option<&str>) -> PickItem {
    match done {
        Done::File { path, added, removed, cell } => PickItem {
            label: crate::text::width::truncate_middle(path, LABEL),
            hint: format!("+{added} −{removed}"),
            value: cell.0.to_string(),
            group: "Files".into(),
            ..PickItem::default()
        },
        Done::Command { line, exit, took, cell } => {
            let mark = if *exit == 0 { "✓" } else { "✗" };
            let short = crate::text::width::truncate_end(line, LABEL);
            let took = took.map(|took| format!(" · {}", format::elapsed(took))).unwrap_or_default();
            PickItem {
                label: format!("{mark} {short}"),
                detail: if check.is_some_and(|check| line.contains(check)) { "check".into() } else { String::new() },
                hint: format!("exit {exit}{took}"),
                value: cell.0.to_string(),
                group: "Commands".into(),
                ..PickItem::default()
            }
        }
    }
}

/// Goes to the place of what was chosen, and opens it.
pub fn chosen(model: &mut Model, value: &str) {
    let Some(id) = value.parse().ok().map(CellId) else { return };
    let Some(cell) = model.tab.transcript.cell(id) else { return };
    let is_open = cell.expanded;
    if !is_open {
        select::toggle(model, id);
    }
    model.tab.transcript.selected = Some(id);
    model.tab.transcript.position = Position::Anchor { cell: id, row: 0 };
    model.tab.transcript.scroll = 0;
    focus::set(model, Pane::Conversation);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::effect::Effect;
    use crate::app::model::modal::Modal;
    use crate::app::session::items;
    use crate::app::tests::{ready, script, user};
    use crate::protocol::{Body, FileDiff, Item, ItemId, NoteKind, ToolBody, ToolView};

    fn tool(id: i64, target: &str, exit: Option<i32>, files: &[(&str, u32, u32)]) -> Item {
        let diff = |(path, added, removed): &(&str, u32, u32)| FileDiff {
            path: (*path).into(),
            added: *added,
            removed: *removed,
            ..FileDiff::default()
        };
        let view = ToolView {
            target: target.into(),
            exit_code: exit,
            diffs: files.iter().map(diff).collect(),
            ..ToolView::default()
        };
        let body = ToolBody { call_id: format!("c{id}"), name: "t".into(), view, ..ToolBody::default() };
        Item { id: ItemId(id), at: 0, turn: 1, body: Body::Tool(body) }
    }

    fn end(id: i64, text: &str) -> Item {
        let body = Body::Note { kind: NoteKind::TurnEnd, text: text.into() };
        Item { id: ItemId(id), at: 0, turn: 1, body }
    }

    fn worked() -> Model {
        let mut model = ready();
        for item in [
            user(1, "one"),
            tool(2, "ls", Some(0), &[]),
            end(3, "1 step · 1 command"),
            user(4, "two"),
            tool(5, "edit", None, &[("a.rs", 3, 1)]),
            tool(6, "cargo test", Some(1), &[]),
            tool(7, "edit", None, &[("a.rs", 1, 0), ("b.rs", 2, 2)]),
            end(8, "3 steps · 2 files +6 −3 · 1 command, 1 failed · unverified: cargo test failed"),
        ] {
            items::finished(&mut model, item);
        }
        model
    }

    fn rows(model: &Model) -> Vec<String> {
        let Some(Modal::Picker(picker)) = model.tab.modals.last() else { return Vec::new() };
        picker
            .items
            .iter()
            .map(|item| format!("{}: {} {} {}", item.group, item.label, item.hint, item.detail))
            .collect()
    }

    #[test]
    fn files_and_commands_of_the_turn_are_listed_and_those_of_others_are_not() {
        let mut model = worked();
        script(&mut model, "/turn<ret>");
        let rows = rows(&model);
        assert_eq!(rows.len(), 3, "{rows:?}");
        assert!(rows[0].starts_with("Files: a.rs +4 −1") && rows[1].starts_with("Files: b.rs +2 −2"), "{rows:?}");
        assert!(rows[2].starts_with("Commands: ✗ cargo test exit 1") && rows[2].ends_with("check"), "{rows:?}");
    }

    #[test]
    fn an_item_goes_to_its_place_which_is_opened() {
        let mut model = worked();
        // The line at the end is selected and opened, the first file chosen.
        focus::set(&mut model, Pane::Conversation);
        let last = model.tab.transcript.cells.last().unwrap().id;
        model.tab.transcript.selected = Some(last);
        let effects: Vec<Effect> = script(&mut model, "<ret>");
        assert!(effects.iter().all(|effect| !matches!(effect, Effect::Agent(_))), "{effects:?}");
        assert_eq!(rows(&model).len(), 3);
        script(&mut model, "<ret>");
        assert!(model.tab.modals.is_empty());
        let id = model.tab.transcript.selected.unwrap();
        let cell = model.tab.transcript.cell(id).unwrap();
        assert!(cell.expanded && cell.item == Some(ItemId(7)), "the last change of the file: {cell:?}");
        assert_eq!(model.tab.transcript.position, Position::Anchor { cell: id, row: 0 });
        // By mouse: a click on the line.
        select::toggle(&mut model, last);
        assert_eq!(rows(&model).len(), 3);
    }

    #[test]
    fn a_turn_that_did_nothing_has_no_list() {
        let mut model = ready();
        items::finished(&mut model, user(1, "hi"));
        items::finished(&mut model, end(2, "1 step"));
        script(&mut model, "/turn<ret>");
        assert!(rows(&model).is_empty());
        assert!(leads("3 steps · 1 command, 1 failed") && leads("1 file +1 −0 · x") && !leads("1 step · 4 s"));
        for (line, named) in [
            ("1 step · verified: npm test", Some("npm test")),
            ("x · partial: edited after cargo test", Some("cargo test")),
            ("x · unverified: pytest failed", Some("pytest")),
            ("x · unverified", None),
        ] {
            assert_eq!(check(line), named);
        }
    }
}

//! Terminal pane and sidebar: their sizes, their tabs, and what is copied from them.

use super::fixture::{approval, busy, screen, with_terminal};
use crate::app::Model;
use crate::app::model::layout::{Border, FlatRow, Hit, Layout};
use crate::app::model::selection::Surface;
use crate::app::model::tab::{Tab, TabId};
use crate::app::model::{Pane, processes};
use crate::app::msg::{Mouse, MouseKind, Msg};
use crate::app::{Effect, update};
use crate::exec::{Exit, ExitReason, ProcessId, ProcessInfo, ProcessState};
use crate::text::Snapshot;
use crate::text::screen::Screen;
use crate::ui::ViewCache;
use std::sync::Arc;

/// Draws and lets the model know what was put where.
fn drawn(model: &mut Model, size: (u16, u16)) -> (String, Vec<Effect>) {
    let (text, layout) = screen(model, &mut ViewCache::default(), size.0, size.1);
    let now = model.now;
    let effects = update(model, now, Msg::Drawn(Box::new(layout)));
    (text, effects)
}

fn mouse(model: &mut Model, (column, row): (u16, u16), kind: MouseKind) -> Vec<Effect> {
    let now = model.now;
    update(model, now, Msg::Mouse(Mouse { column, row, kind, shift: false }))
}

/// The text that dragging from one cell to another copies.
fn dragged(model: &mut Model, from: (u16, u16), to: (u16, u16), size: (u16, u16)) -> Option<String> {
    drawn(model, size);
    mouse(model, from, MouseKind::Press);
    mouse(model, to, MouseKind::Drag);
    mouse(model, to, MouseKind::Release);
    copied(&drawn(model, size).1)
}

fn copied(effects: &[Effect]) -> Option<String> {
    effects.iter().find_map(|effect| match effect {
        Effect::Copy(text) => Some(text.clone()),
        _ => None,
    })
}

fn row(model: &Model, surface: Surface, index: usize) -> FlatRow {
    *model.layout.flat.iter().filter(|row| row.surface == surface).nth(index).expect("a row")
}

/// A terminal that printed this, not taken over.
fn printed(bytes: &[u8]) -> Model {
    let mut model = with_terminal();
    model.tab.processes.pane.taken_over = false;
    let mut screen = Screen::new(20, 8);
    screen.feed(bytes);
    let lines = bytes.iter().filter(|&&b| b == b'\n').count() as i64;
    let below = 7 - i64::from(screen.cursor().1);
    model.tab.processes.pane.screen = Some(Arc::new(Snapshot { last_line: lines + below, ..screen.snapshot() }));
    model
}

#[test]
fn a_terminal_gives_its_text_without_blanks_and_breaks() {
    let mut model = printed(b"first\r\na long line that wraps over rows   \r\nlast");
    drawn(&mut model, (140, 45));
    let (first, end) = (row(&model, Surface::Terminal, 0), row(&model, Surface::Terminal, 3));
    let all = dragged(&mut model, (first.x, first.y), (end.x + 19, end.y), (140, 45));
    assert_eq!(all.as_deref(), Some("first\na long line that wraps over rows\nlast"));
    let part = dragged(&mut model, (first.x + 2, first.y), (first.x + 3, first.y), (140, 45));
    assert_eq!(part.as_deref(), Some("rs"));
}

#[test]
fn clicks_in_a_terminal_take_words_and_lines() {
    let mut model = printed(b"error at src/a.rs:3, a line that wraps\r\nlast");
    drawn(&mut model, (140, 45));
    let first = row(&model, Surface::Terminal, 0);
    let at = (first.x + 11, first.y);
    let mut said = Vec::new();
    for _ in 0..3 {
        mouse(&mut model, at, MouseKind::Press);
        mouse(&mut model, at, MouseKind::Release);
        said.push(copied(&drawn(&mut model, (140, 45)).1));
    }
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(said, [None, text("src/a.rs:3"), text("error at src/a.rs:3, a line that wraps")]);
}

#[test]
fn copy_mode_works_in_the_terminal_and_the_sidebar() {
    let keys = |model: &mut Model, script: &str| crate::app::tests::script(model, script);
    let mut model = printed(b"one\r\ntwo\r\nthree");
    model.tab.focus = Pane::Terminal;
    drawn(&mut model, (140, 45));
    keys(&mut model, "<A-v>kvj$y");
    assert_eq!(copied(&drawn(&mut model, (140, 45)).1).as_deref(), Some("two\nthree"));
    assert_eq!(model.tab.pane_selection, None);
    let mut model = busy();
    model.tab.sidebar.shown = Some(true);
    model.tab.focus = Pane::Sidebar;
    drawn(&mut model, (140, 45));
    keys(&mut model, "<A-v>gjV");
    let (_, layout) = screen(&model, &mut ViewCache::default(), 140, 45);
    assert_eq!(layout.selected_text.as_deref(), Some("Plan"));
}

#[test]
fn the_sidebar_gives_what_it_cut() {
    let mut model = busy();
    let path = "src/a/very/long/path/that/does/not/fit/in/the/sidebar/mod.rs";
    model.tab.sidebar.files = vec![(path.into(), 1, 0)];
    let (text, _) = drawn(&mut model, (140, 45));
    assert!(!text.contains(path), "it is cut:\n{text}");
    let row = model.layout.flat.iter().filter(|row| row.surface == Surface::Sidebar);
    let y = text.lines().position(|line| line.contains("+1 −0")).expect("the file") as u16;
    let at = *row.clone().find(|row| row.y == y).expect("its row");
    let all = dragged(&mut model, (at.x, y), (at.x + at.width - 1, y), (140, 45));
    assert_eq!(all.as_deref(), Some(path));
}

#[test]
fn the_command_of_an_approval_is_copied_by_mouse() {
    let mut model = approval();
    drawn(&mut model, (140, 45));
    let line = row(&model, Surface::Modal, 1);
    let text = dragged(&mut model, (line.x, line.y), (line.x + line.width - 1, line.y), (140, 45));
    assert_eq!(text.as_deref(), Some("rm -rf build/ ~/.cache/app && git clean -fdx"));
    assert!(!model.tab.modals.is_empty());
}

#[test]
fn dragging_selects_unless_the_program_that_was_taken_over_asked_for_the_mouse() {
    let asked = b"\x1b[?1002h\x1b[?1006htext of a menu";
    let is_write = |effects: &[Effect]| {
        effects.iter().any(|e| matches!(e, Effect::Process(crate::exec::ProcessCommand::Write(..))))
    };
    for (taken_over, shift, told) in [(true, false, true), (true, true, false), (false, false, false)] {
        let mut model = printed(asked);
        model.tab.processes.pane.taken_over = taken_over;
        drawn(&mut model, (140, 45));
        let first = row(&model, Surface::Terminal, 0);
        let mut at = |column: u16, kind| {
            let event = Mouse { column: first.x + column, row: first.y, kind, shift };
            let now = model.now;
            is_write(&update(&mut model, now, Msg::Mouse(event)))
        };
        let said = [at(0, MouseKind::Press), at(3, MouseKind::Drag), at(3, MouseKind::Release)];
        assert_eq!(said, [told; 3], "taken over {taken_over}, shift {shift}");
        assert_eq!(model.tab.pane_selection.is_some(), !told);
    }
    let mut model = printed(b"no mouse here");
    model.tab.processes.pane.taken_over = true;
    drawn(&mut model, (140, 45));
    let first = row(&model, Surface::Terminal, 0);
    assert!(!is_write(&mouse(&mut model, (first.x, first.y), MouseKind::Press)));
}

#[test]
fn borders_stand_where_they_can_be_dragged() {
    let mut model = with_terminal();
    drawn(&mut model, (140, 45));
    let place = |model: &Model, border| {
        let hit = model.layout.targets.iter().find(|(_, hit)| *hit == Hit::Border(border));
        hit.map(|(area, _)| (area.x, area.y)).expect("a border")
    };
    let (_, y) = place(&model, Border::Terminal);
    for to in [y - 9, y + 4] {
        let from = place(&model, Border::Terminal);
        mouse(&mut model, from, MouseKind::Press);
        mouse(&mut model, (from.0, to), MouseKind::Drag);
        mouse(&mut model, (from.0, to), MouseKind::Release);
        drawn(&mut model, (140, 45));
        assert_eq!(place(&model, Border::Terminal).1, to, "it is where the mouse left it");
    }
    let (x, y) = place(&model, Border::Sidebar);
    mouse(&mut model, (x, y), MouseKind::Press);
    mouse(&mut model, (x - 7, y), MouseKind::Drag);
    mouse(&mut model, (x - 7, y), MouseKind::Release);
    drawn(&mut model, (140, 45));
    assert_eq!(place(&model, Border::Sidebar).0, x - 7);
    // Another size of the screen keeps both panes and the conversation usable.
    for size in [(300, 100), (120, 30), (100, 30), (60, 20), (40, 12)] {
        let (_, layout) = screen(&model, &mut ViewCache::default(), size.0, size.1);
        let conversation = layout.panes.iter().find(|(pane, _)| *pane == Pane::Conversation);
        if let Some((_, area)) = conversation.filter(|_| size.0 >= 120) {
            assert!(area.width >= 60 && area.height >= 4, "{size:?}: {area:?}");
        }
    }
}

fn with_processes(count: usize, shown: usize) -> Model {
    let mut model = with_terminal();
    let states = [ProcessState::Running, ProcessState::NeedsInput];
    let exit = |code| ProcessState::Exited(Exit { code, reason: ExitReason::Exited, duration: Default::default() });
    let commands = ["npm run dev -- --host", "cargo watch -x test", "python3 -m http.server", "tail -f a.log"];
    model.tab.processes.rows = (0..count)
        .map(|index| ProcessInfo {
            task: "s".into(),
            id: ProcessId(format!("proc_{index}")),
            command: commands[index % commands.len()].into(),
            cwd: "/src".into(),
            pid: 1,
            background: index != 1,
            started_at: 0,
            state: match index {
                5 => exit(0),
                6 => exit(2),
                _ => states[index % 2].clone(),
            },
            port: None,
            output_bytes: 0,
            vitals: crate::exec::Vitals::default(),
        })
        .collect();
    model.tab.processes.pane = processes::TerminalPane {
        shown: Some(ProcessId(format!("proc_{shown}"))),
        taken_over: false,
        ..model.tab.processes.pane
    };
    model
}

fn tab_line(layout: &Layout, text: &str) -> String {
    let pane = layout.panes.iter().find(|(pane, _)| *pane == Pane::Terminal);
    pane.map(|(_, area)| text.lines().nth(usize::from(area.y)).unwrap_or_default().to_owned()).unwrap_or_default()
}

#[test]
fn the_shown_tab_is_on_every_screen() {
    let mut lines = String::new();
    for count in [1, 3, 9] {
        for (columns, rows) in [(140, 45), (100, 30), (60, 20)] {
            for taken_over in [false, true] {
                for shown in 0..count {
                    let mut model = with_processes(count, shown);
                    model.tab.processes.pane.taken_over = taken_over;
                    let (text, layout) = screen(&model, &mut ViewCache::default(), columns, rows);
                    let id = model.tab.processes.pane.shown.clone().expect("a process");
                    let tab = layout.targets.iter().find(|(_, hit)| *hit == Hit::ShowProcess(id.clone()));
                    let line = tab_line(&layout, &text);
                    let area = tab.map(|(area, _)| *area).expect("its tab");
                    assert!(area.width >= 6, "{count} {columns} {shown}: {line}");
                    assert!(line.contains(&format!(" {} ", shown + 1)), "{line}");
                    if shown == 0 || shown + 1 == count {
                        lines.push_str(&format!("{line}\n"));
                    }
                }
            }
        }
    }
    insta::assert_snapshot!("tabs", lines);
}

#[test]
fn no_name_of_a_tab_is_cut_beside_room_that_nothing_uses() {
    for count in 1..12 {
        for columns in 40..90 {
            let mut model = with_processes(count, count / 2);
            model.tab.processes.pane.taken_over = false;
            for (index, row) in model.tab.processes.rows.iter_mut().enumerate() {
                row.command = "word ".repeat(1 + index % 5 * 2);
            }
            let (text, layout) = screen(&model, &mut ViewCache::default(), columns, 24);
            let tabs = layout.targets.iter().filter(|(_, hit)| matches!(hit, Hit::ShowProcess(_)));
            let ends: Vec<u16> = tabs.map(|(area, _)| area.x + area.width).collect();
            let line = tab_line(&layout, &text);
            let hidden = usize::from(line.contains('›'));
            let spare = usize::from(columns - 2 - ends.last().expect("a tab"));
            // Less than a cell for each of them, and a count.
            assert!(!line.contains('…') || spare < ends.len() + hidden * 5, "{columns} {spare}: {line}");
        }
    }
}

#[test]
fn a_program_that_needs_a_screen_gets_it() {
    let rows = |model: &Model, size: (u16, u16)| {
        let (_, layout) = screen(model, &mut ViewCache::default(), size.0, size.1);
        let height = |pane| layout.panes.iter().find(|(other, _)| *other == pane).map_or(0, |(_, area)| area.height);
        (height(Pane::Conversation), height(Pane::Terminal), height(Pane::Composer))
    };
    let mut model = with_terminal();
    let editor = processes::Editor { id: model.tab.processes.pane.shown.clone(), ..Default::default() };
    let usual = rows(&model, (140, 45));
    model.tab.processes.editor = Some(editor);
    let large = rows(&model, (140, 45));
    assert!(large.1 > usual.1 && large.0 >= 8, "{usual:?} {large:?}");
    let (conversation, terminal, composer) = rows(&model, (60, 20));
    assert_eq!((conversation, composer), (0, 0), "the whole area");
    assert!(terminal >= 18, "{terminal}");
    model.tab.focus = Pane::Composer;
    let (conversation, _, composer) = rows(&model, (60, 20));
    assert!(conversation > 0 && composer > 0, "handed back");
}

#[test]
fn the_footer_names_the_keys_that_work_on_the_shown_command_the_most_useful_first() {
    let mut model = with_terminal();
    model.tab.processes.pane.taken_over = false;
    model.tab.focus = Pane::Terminal;
    let footer = |model: &Model, size: (u16, u16)| {
        let (text, _) = screen(model, &mut ViewCache::default(), size.0, size.1);
        text.lines().last().unwrap_or_default().to_owned()
    };
    let wide = footer(&model, (140, 45));
    for key in ["Enter take over", "K kill it", "/ find", "| two", "Ctrl-T close"] {
        assert!(wide.contains(key), "{key}: {wide}");
    }
    let narrow = footer(&model, (60, 20));
    assert!(narrow.contains("Enter take over") && !narrow.contains("close"), "{narrow}");
    let shown = model.tab.processes.pane.shown.clone();
    let row = model.tab.processes.rows.iter_mut().find(|row| Some(&row.id) == shown.as_ref()).expect("the shown one");
    row.state = ProcessState::Exited(Exit { code: 0, reason: ExitReason::Exited, duration: Default::default() });
    let ended = footer(&model, (140, 45));
    assert!(ended.contains("x remove") && !ended.contains("take over") && !ended.contains("kill it"), "{ended}");
    model.tab.processes.pane.screen = Some(Arc::new(Snapshot::default()));
    let (text, _) = screen(&model, &mut ViewCache::default(), 140, 45);
    assert!(text.contains("It exited without output."), "{text}");
}

#[test]
fn the_way_back_in_a_terminal_says_what_was_found_and_what_came() {
    let mut model = printed(b"one\r\ntwo");
    let hit = crate::exec::Hit { nth: 3, of: 17 };
    model.tab.processes.pane.find = Some(processes::Seek { words: "two".into(), hit: Some(hit) });
    (model.tab.processes.pane.scroll, model.tab.processes.pane.fresh) = (65, 5);
    let (text, _) = drawn(&mut model, (140, 45));
    assert!(text.contains("3/17 · ↑ 60 lines · 5 new"), "{text}");
}

#[test]
fn a_notice_is_read_beside_a_modal_or_not_at_all() {
    use crate::protocol::Level;
    for size in [(60, 20), (100, 30), (140, 45)] {
        let mut model = approval();
        let now = model.now;
        model.notices.add(now, Level::Info, "mark begins here and goes on to the very end of the row mark");
        let (text, _) = drawn(&mut model, size);
        for line in text.lines().filter(|line| line.contains("mark") || line.contains("begins here")) {
            assert!(!line.contains('│') && !line.contains('╭') && !line.contains('╰'), "{size:?}\n{text}");
        }
    }
}

#[test]
fn the_way_from_the_prompt_to_an_open_terminal_is_named_and_leads_there() {
    for size in [(140, 45), (100, 30), (60, 20)] {
        let mut model = with_terminal();
        model.tab.processes.pane.taken_over = false;
        model.tab.focus = Pane::Composer;
        (model.tab.queue, model.tab.turn) = Default::default();
        let (text, _) = drawn(&mut model, size);
        assert!(text.lines().last().unwrap_or_default().contains("Alt-↑ terminal"), "{text}");
        crate::app::tests::script(&mut model, "<A-up>");
        assert_eq!(model.tab.focus, Pane::Terminal, "{size:?}");
    }
}

#[test]
fn the_tabs_of_several_sessions_are_on_every_screen() {
    for (columns, rows) in [(140, 45), (100, 30), (60, 20)] {
        let mut model = busy();
        model.parked.push(Tab::new(TabId(2), "/src/other".into()));
        let text = screen(&model, &mut ViewCache::default(), columns, rows).0;
        let title = text.lines().next().unwrap_or_default();
        assert!(title.contains("1 ● fix the") && title.contains("2   other"), "{columns}: {title}");
    }
}

#[test]
fn the_title_row_names_a_profile_that_is_not_the_default() {
    let mut rows = String::new();
    for several in [false, true] {
        for (columns, height) in [(140, 45), (100, 30), (60, 20), (40, 12)] {
            let mut model = busy();
            if several {
                model.parked.push(Tab::new(TabId(2), "/src/other".into()));
            }
            for profile in [None, Some("work"), Some("a-name-of-thirty-two-characters-")] {
                model.profile = profile.map(str::to_owned);
                let text = screen(&model, &mut ViewCache::default(), columns, height).0;
                rows.push_str(text.lines().next().unwrap_or_default());
                rows.push('\n');
            }
        }
    }
    insta::assert_snapshot!("profile", rows);
}

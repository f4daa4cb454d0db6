//! How little is done again, where the reader stays, and what copying gives.

use super::fixture::{busy, model, screen};
use crate::app::Model;
use crate::app::model::selection::Grain;
use crate::app::model::transcript::{CellKind, Position, Selection, Spot};
use crate::protocol::{Level, Origin};
use crate::ui::ViewCache;

fn user(text: &str) -> CellKind {
    CellKind::User { text: text.into(), images: 0, origin: Origin::Person }
}

fn assistant(text: &str) -> CellKind {
    CellKind::Assistant { text: text.into() }
}

fn long(cells: usize) -> Model {
    let mut model = model();
    for index in 0..cells {
        model.tab.transcript.push(
            assistant(&format!("cell {index} with some words\n\nand a second paragraph")),
            None,
            true,
        );
    }
    model
}

/// The first word of the conversation's first row.
fn first_row(model: &Model, cache: &mut ViewCache) -> String {
    let (text, layout) = screen(model, cache, 100, 30);
    let row = layout.rows.first().map_or(0, |(row, _, _)| usize::from(*row));
    text.lines().nth(row).unwrap_or_default().trim().to_owned()
}

#[test]
fn an_unchanged_frame_lays_nothing_out() {
    let mut cache = ViewCache::default();
    let mut model = busy();
    screen(&model, &mut cache, 140, 45);
    let before = cache.counters();
    model.now += 100;
    screen(&model, &mut cache, 140, 45);
    assert_eq!(cache.counters().layouts, before.layouts);
    assert!(cache.counters().hits > before.hits);
}

#[test]
fn a_key_lays_out_only_the_composer() {
    let mut cache = ViewCache::default();
    let mut model = busy();
    screen(&model, &mut cache, 140, 45);
    let before = cache.counters().layouts;
    model.tab.composer.area.insert_str("hello");
    let (text, _) = screen(&model, &mut cache, 140, 45);
    assert!(text.contains("❯ hello"));
    assert_eq!(cache.counters().layouts, before);
}

#[test]
fn only_what_shows_is_laid_out() {
    let mut cache = ViewCache::default();
    screen(&long(10_000), &mut cache, 100, 30);
    assert!(cache.counters().layouts <= 30, "{:?}", cache.counters());
}

#[test]
fn a_stream_lays_out_one_cell_a_frame() {
    let mut cache = ViewCache::default();
    let mut model = long(50);
    let id = model.tab.transcript.push(assistant("start"), None, false);
    screen(&model, &mut cache, 100, 30);
    let before = cache.counters().layouts;
    for _ in 0..10 {
        if let Some(cell) = model.tab.transcript.cells.iter_mut().find(|cell| cell.id == id) {
            cell.change(|kind| {
                if let CellKind::Assistant { text } = kind {
                    text.push_str(" and more");
                }
            });
        }
        screen(&model, &mut cache, 100, 30);
    }
    assert_eq!(cache.counters().layouts, before + 10);
}

#[test]
fn memory_is_bounded() {
    let mut cache = ViewCache::default();
    let mut model = model();
    for index in 0..400 {
        model.tab.transcript.push(assistant(&format!("{index} {}", "long words ".repeat(4_000))), None, true);
    }
    for _ in 0..400 {
        model.tab.transcript.scroll = -60;
        let (_, layout) = screen(&model, &mut cache, 100, 60);
        model.tab.transcript.position = layout.position;
    }
    assert!(cache.bytes() <= 1 << 20, "{} bytes", cache.bytes());
    assert!(cache.counters().layouts > 40);
}

#[test]
fn notices_hide_no_last_words() {
    for (width, height) in [(140, 45), (100, 30), (60, 20)] {
        let mut model = long(59);
        model.tab.transcript.push(assistant("An answer.\n\nIt ends with the last words"), None, true);
        for text in ["the first notice", "the second notice", "the third notice"] {
            model.notices.add(model.now, Level::Warning, text);
        }
        let (text, _) = screen(&model, &mut ViewCache::default(), width, height);
        let rows = |wanted: &str| text.lines().filter(|line| line.contains(wanted)).count();
        for wanted in ["the last words", "the first notice", "the second notice", "the third notice"] {
            assert_eq!(rows(wanted), 1, "{wanted:?} at {width}×{height}:\n{text}");
        }
    }
}

#[test]
fn a_long_notice_shows_its_remedy_on_every_width() {
    let told = "this session is not saved: could not save the item in /home/somebody/.hermes/state.db: \
                database or disk is full; free some disk space";
    for (width, height) in [(140, 45), (100, 30), (60, 20)] {
        let mut model = long(60);
        model.notices.add(model.now, Level::Info, "an earlier one");
        model.notices.add(model.now, Level::Error, told);
        let (text, _) = screen(&model, &mut ViewCache::default(), width, height);
        for wanted in ["an earlier one", "this session is not", "space"] {
            assert!(text.contains(wanted), "{wanted:?} at {width}×{height}:\n{text}");
        }
    }
}

#[test]
fn the_view_stays_under_the_reader() {
    let mut cache = ViewCache::default();
    let mut model = long(100);
    model.tab.transcript.scroll = -40;
    let (_, layout) = screen(&model, &mut cache, 100, 30);
    assert!(matches!(layout.position, Position::Anchor { .. }));
    model.tab.transcript.position = layout.position;
    model.tab.transcript.scroll = 0;
    let before = first_row(&model, &mut cache);
    model.tab.transcript.push(user("new"), None, true);
    let older = (0..20).map(|index| (assistant(&format!("older {index}")), None)).collect();
    model.tab.transcript.prepend(older);
    assert_eq!(first_row(&model, &mut cache), before);
    let (text, _) = screen(&model, &mut cache, 100, 30);
    assert!(text.contains("↓ 1 new (Ctrl-End)"), "{text}");
}

#[test]
fn scrolling_there_and_back_ends_at_the_end() {
    let mut cache = ViewCache::default();
    let mut model = long(100);
    for step in [-7, -30, 1, 40] {
        model.tab.transcript.scroll = step;
        model.tab.transcript.position = screen(&model, &mut cache, 100, 30).1.position;
    }
    assert_eq!(model.tab.transcript.position, Position::Latest);
    model.tab.transcript.scroll = i32::MIN;
    let (_, layout) = screen(&model, &mut cache, 100, 30);
    assert!(layout.at_top);
    assert_eq!(layout.rows.first().map(|row| row.2), Some(0));
}

fn selected(model: &mut Model, from: (usize, usize, u16), to: (usize, usize, u16)) -> Option<String> {
    let spot = |(index, row, column): (usize, usize, u16), model: &Model| Spot {
        cell: model.tab.transcript.cells[index].id,
        row,
        column,
    };
    model.tab.transcript.selection =
        Some(Selection { from: spot(from, model), to: spot(to, model), grain: Grain::Cell });
    screen(model, &mut ViewCache::default(), 60, 20).1.selected_text
}

#[test]
fn copying_gives_the_source() {
    let mut model = model();
    let text = "A **bold** sentence that is long enough to wrap over more than one row of it.";
    model.tab.transcript.push(assistant(text), None, true);
    model.tab.transcript.push(assistant("- one\n- two\n\n```rust\nlet a =\t1;\n```"), None, true);
    assert_eq!(selected(&mut model, (0, 0, 0), (0, 1, 99)).as_deref(), Some(text));
    // A part: as shown, but without the break.
    let part = selected(&mut model, (0, 0, 6), (0, 1, 99)).unwrap_or_default();
    assert_eq!(part, "bold sentence that is long enough to wrap over more than one row of it.");
    // Backwards is the same.
    assert_eq!(selected(&mut model, (0, 1, 99), (0, 0, 6)), Some(part));
    // Bullets and labels are ornaments.
    let list = selected(&mut model, (1, 0, 5), (1, 4, 99)).unwrap_or_default();
    assert_eq!(list, "one\ntwo\n\nlet a =\t1;");
}

#[test]
fn a_double_click_takes_the_word_and_a_triple_click_the_line() {
    let mut model = model();
    let text = "Look at src/app/run.rs, a sentence that is long enough to wrap over more than one row of it.";
    model.tab.transcript.push(assistant(text), None, true);
    let at = Spot { cell: model.tab.transcript.cells[0].id, row: 0, column: 14 };
    for (grain, expected) in [(Grain::Word, "src/app/run.rs"), (Grain::Line, text)] {
        model.tab.transcript.selection = Some(Selection { from: at, to: at, grain });
        let shown = screen(&model, &mut ViewCache::default(), 60, 20).1.selected_text;
        assert_eq!(shown.as_deref(), Some(expected));
    }
}

#[test]
fn find_and_selection_do_not_lay_out_again() {
    let mut cache = ViewCache::default();
    let mut model = busy();
    screen(&model, &mut cache, 140, 45);
    let before = cache.counters().layouts;
    model.tab.transcript.find =
        Some(crate::app::model::transcript::Find { query: "STORE".into(), ..Default::default() });
    screen(&model, &mut cache, 140, 45);
    assert_eq!(cache.counters().layouts, before);
}

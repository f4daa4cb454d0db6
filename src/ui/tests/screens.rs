//! What the screens show, and that no size breaks them.

use super::fixture::{self, all, screen};
use crate::ui::ViewCache;
use proptest::prelude::*;

fn shown(model: &crate::app::Model, columns: u16, rows: u16) -> String {
    screen(model, &mut ViewCache::default(), columns, rows).0
}

#[test]
fn dump() {
    for (name, model) in all() {
        for (columns, rows) in [(140, 45), (100, 30), (60, 20)] {
            println!("=== {name} {columns}x{rows}\n{}", shown(&model, columns, rows));
        }
    }
}

#[test]
fn no_state_breaks_at_any_corner_size() {
    for (_, model) in all() {
        for (columns, rows) in [(0, 0), (1, 1), (10, 3), (39, 11), (40, 12), (79, 19), (80, 20), (119, 24), (300, 100)] {
            shown(&model, columns, rows);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn no_size_breaks_any_state(columns in 0u16..200, rows in 0u16..60, pick in 0usize..12) {
        let states = all();
        let (_, model) = &states[pick % states.len()];
        let (_, layout) = screen(model, &mut ViewCache::default(), columns, rows);
        for (area, hit) in &layout.targets {
            prop_assert!(area.x + area.width <= columns.max(1) && area.y + area.height <= rows.max(1), "{hit:?} {area:?}");
        }
    }
}

#[test]
fn fixture_is_used() {
    assert_eq!(fixture::span("x").text, "x");
}

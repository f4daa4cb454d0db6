//! What every theme promises, seen through its resolved styles.

use super::*;
use crate::config::embedded;

fn file(name: &str) -> ThemeFile {
    ThemeFile::load(name, None).unwrap()
}

fn rgb(color: Option<Color>) -> Option<Rgb> {
    match color? {
        Color::Rgb(r, g, b) => Some(Rgb(r, g, b)),
        Color::Indexed(index) => Some(Rgb::of_index(index)),
        _ => None,
    }
}

#[test]
fn every_theme_paints_every_role_and_slot_at_every_depth() {
    for (name, _) in embedded::THEMES {
        let file = file(name);
        for depth in [ColorDepth::True, ColorDepth::Ansi256, ColorDepth::Ansi16, ColorDepth::NoColor] {
            let theme = Theme::resolve(&file, depth).unwrap_or_else(|error| panic!("{name} {depth:?}: {error}"));
            assert_eq!(theme.dark, name.ends_with("dark"), "{name}");
        }
        assert_eq!(file.terminal.len(), 16, "{name}");
        for style in file.styles.keys() {
            let known = ROLES.iter().map(|(_, name)| *name).chain(SYNTAX.iter().map(|(_, name)| *name));
            let known = known.chain(GROUND_STYLES).any(|known| known == style)
                || SLOTS.iter().any(|(_, slot)| style.strip_prefix("slot-") == Some(slot));
            assert!(known, "{name}: {style} paints nothing");
        }
    }
}

#[test]
fn the_tables_are_in_the_order_of_the_enums() {
    for (index, (slot, _)) in SLOTS.iter().enumerate() {
        assert_eq!(*slot as usize, index, "{slot:?}");
    }
    for (index, (syntax, _)) in SYNTAX.iter().enumerate() {
        assert_eq!(*syntax as usize, index, "{syntax:?}");
    }
    let mut theme = Theme::resolve(&file("hermes-dark"), ColorDepth::True).unwrap();
    for (index, (role, name)) in ROLES.iter().enumerate() {
        Arc::make_mut(&mut theme.tables).roles[index] = Style::new().fg(Color::Indexed(index as u8));
        assert_eq!(theme.text(*role).fg, Some(Color::Indexed(index as u8)), "{name}");
    }
}

/// The shipped palettes need no adjusting: what is written is what is seen.
#[test]
fn shipped_palettes_are_readable_as_written() {
    let mut low = Vec::new();
    for (name, _) in embedded::THEMES {
        let file = file(name);
        let none = BTreeMap::new();
        let paints = Paints::new(&file, &none, false, ColorDepth::True);
        for (color, written) in &file.palette {
            if color != "border" && paints.seen(color) != Some(*written) {
                low.push(format!("{name} {color} {written:?} -> {:?}", paints.seen(color)));
            }
        }
    }
    assert!(low.is_empty(), "{low:#?}");
}

#[test]
fn tones_stay_apart_at_256_colours() {
    for (name, _) in embedded::THEMES {
        let theme = Theme::resolve(&file(name), ColorDepth::Ansi256).unwrap();
        let grounds = [Slot::Base, Slot::Raised, Slot::Overlay].map(|slot| theme.slot(slot).bg);
        assert!(grounds[0] != grounds[1] && grounds[1] != grounds[2], "{name} {grounds:?}");
    }
}

#[test]
fn without_colours_modifiers_tell_things_apart() {
    for depth in [ColorDepth::Ansi16, ColorDepth::NoColor] {
        for (name, _) in embedded::THEMES {
            let theme = Theme::resolve(&file(name), depth).unwrap();
            for (one, other) in [
                (theme.text(Role::Bad), theme.text(Role::Text)),
                (theme.text(Role::Bad), theme.text(Role::Careful)),
                (theme.text(Role::Dim), theme.text(Role::Text)),
                (theme.slot(Slot::Selection), theme.slot(Slot::Overlay)),
                (theme.slot(Slot::TitleFocused), theme.slot(Slot::Title)),
                (theme.slot(Slot::Marked), theme.slot(Slot::Base)),
                (theme.text(Role::AddedStrong), theme.text(Role::Added)),
            ] {
                assert_ne!(one.add_modifier, other.add_modifier, "{name} {depth:?} {one:?}");
            }
            let colors = |style: Style| style.fg.is_some() || style.bg.is_some();
            if depth == ColorDepth::NoColor {
                assert!(ROLES.iter().all(|(role, _)| !colors(theme.text(*role))), "{name}");
                assert!(SLOTS.iter().all(|(slot, _)| !colors(theme.slot(*slot))), "{name}");
            }
        }
    }
}

#[test]
fn cells_of_terminals() {
    let theme = Theme::resolve(&file("hermes-dark"), ColorDepth::True).unwrap();
    let cell = |fg, bg| theme.text(Role::Screen(Cell { fg, bg, bold: true, ..Cell::default() }));
    assert_eq!(cell(Paint::Default, Paint::Default), Style::new().add_modifier(Modifier::BOLD));
    assert_eq!(rgb(cell(Paint::Index(1), Paint::Default).fg), Some(file("hermes-dark").terminal[1]));
    assert_eq!(cell(Paint::Rgb(1, 2, 3), Paint::Index(200)).bg, Some(Color::Indexed(200)));
    let plain = Theme::resolve(&file("hermes-dark"), ColorDepth::NoColor).unwrap();
    assert_eq!(plain.text(Role::Screen(Cell { fg: Paint::Rgb(1, 2, 3), ..Cell::default() })).fg, None);
}

#[test]
fn what_is_wrong_in_a_theme_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let load = |text: &str| {
        std::fs::write(dir.path().join("mine.yaml"), text).unwrap();
        let file = ThemeFile::load("mine", Some(dir.path())).map_err(|error| error.to_string())?;
        Theme::resolve(&file, ColorDepth::True).map_err(|error| error.to_string())
    };
    assert!(load("palette: {accent: '#ff0000'}\n").is_ok());
    assert!(load("inherits: clear-light\ndark: false\n").is_ok_and(|theme| !theme.dark));
    for (text, part) in [
        ("palette: {accent: red}\n", "accent is not a colour like #1a2b3c"),
        ("styles: {text: blurple}\n", "text: blurple is neither a colour"),
        ("terminal: ['#000']\n", "a list of 16 colours"),
        ("pallette: {}\n", "unknown theme key pallette; did you mean palette"),
        ("inherits: nope\n", "no theme named \"nope\""),
        ("minimum: 0\n", "contrast from 1 to 21"),
    ] {
        let error = load(text).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
    let error = ThemeFile::load("hermes-drak", None).unwrap_err().to_string();
    assert_eq!(error, "no theme named \"hermes-drak\"; did you mean hermes-dark");
}

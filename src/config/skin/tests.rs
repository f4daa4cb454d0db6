//! What every skin promises: it loads, it speaks, and it is readable over every theme.

use super::*;
use crate::config::theme::{ColorDepth, Rgb, Slot};
use crate::text::{Ground, Role, Syntax};
use ratatui::style::{Color, Style};
use unicode_width::UnicodeWidthStr;

fn look(skin: &str, theme: &str, canvas: impl Into<Canvas>) -> Appearance {
    Appearance::load(skin, theme, &LookDirs::default(), canvas)
        .unwrap_or_else(|error| panic!("{skin} {theme}: {error}"))
}

fn rgb(color: Option<Color>) -> Rgb {
    match color {
        Some(Color::Rgb(r, g, b)) => Rgb(r, g, b),
        Some(Color::Indexed(index)) => Rgb::of_index(index),
        other => panic!("no number: {other:?}"),
    }
}

const VOICES: [Role; 22] = [
    Role::Text,
    Role::Dim,
    Role::Accent,
    Role::Strong,
    Role::Emphasis,
    Role::Heading(1),
    Role::Heading(2),
    Role::Heading(3),
    Role::Link,
    Role::Code,
    Role::Quote,
    Role::TableHeader,
    Role::Good,
    Role::Careful,
    Role::Bad,
    Role::Added,
    Role::Removed,
    Role::LineNumber,
    Role::Syntax(Syntax::Comment),
    Role::Syntax(Syntax::Keyword),
    Role::Syntax(Syntax::String),
    Role::Syntax(Syntax::Punctuation),
];

/// WCAG contrast of every text role on every ground it can stand on, for every skin over every theme.
#[test]
fn everything_is_readable() {
    for (skin, _) in embedded::SKINS {
        for (theme, _) in embedded::THEMES.iter().chain(&[("", "")]) {
            // The search among 256 colours is slow in a debug build: each skin over its own theme is enough.
            let depths = [ColorDepth::True, ColorDepth::Ansi256];
            for depth in depths.into_iter().take(if theme.is_empty() { 2 } else { 1 }) {
                for light in [false, true] {
                    let look = look(skin, theme, Canvas { depth, light });
                    let minimum = if look.theme.name.starts_with("contrast") { 7.0 } else { 4.5 };
                    let check = |what: &str, style: Style, ground: Option<Color>, ratio: f64| {
                        let found = rgb(style.fg).contrast(rgb(style.bg.or(ground)));
                        assert!(found >= ratio - 0.005, "{skin} over {theme} {depth:?}: {what} has {found:.2}");
                    };
                    let grounds = [Slot::Base, Slot::Raised, Slot::Overlay].map(|slot| look.theme.slot(slot).bg);
                    for ground in grounds {
                        for role in VOICES {
                            check(&format!("{role:?}"), look.theme.text(role), ground, minimum);
                        }
                        for slot in [
                            Slot::Title,
                            Slot::TitleFocused,
                            Slot::Prompt,
                            Slot::Placeholder,
                            Slot::Spinner,
                            Slot::Match,
                        ] {
                            check(&format!("{slot:?}"), look.theme.slot(slot), ground, minimum);
                        }
                    }
                    for slot in [
                        Slot::StatusBar,
                        Slot::StatusStrong,
                        Slot::StatusDim,
                        Slot::BadgeGood,
                        Slot::BadgeCareful,
                        Slot::BadgeBad,
                        Slot::Selection,
                        Slot::Marked,
                    ] {
                        check(&format!("{slot:?}"), look.theme.slot(slot), grounds[0], minimum);
                    }
                    for (role, ground) in [(Role::Added, Ground::Added), (Role::Removed, Ground::Removed)] {
                        check(
                            &format!("{role:?} on its ground"),
                            look.theme.text(role),
                            look.theme.ground(ground).bg,
                            minimum,
                        );
                        let keyword = look.theme.text(Role::Syntax(Syntax::Keyword));
                        check("keyword in a diff", keyword, look.theme.ground(ground).bg, minimum);
                    }
                    let selected = look.theme.slot(Slot::Selection).bg;
                    for role in [Role::Dim, Role::Accent, Role::Good, Role::Careful, Role::Bad] {
                        check(&format!("{role:?} on a selected row"), look.theme.text(role), selected, minimum);
                    }
                    check("added part", look.theme.text(Role::AddedStrong), None, minimum);
                    for slot in [Slot::Border, Slot::BorderFocused, Slot::ScrollThumb, Slot::MeterEmpty, Slot::UserBar]
                    {
                        check(&format!("{slot:?}"), look.theme.slot(slot), grounds[0], 3.0);
                    }
                }
            }
        }
    }
}

#[test]
fn every_skin_has_a_character() {
    for (name, _) in embedded::SKINS {
        let skin = look(name, "", ColorDepth::True).skin;
        assert_eq!(&skin.name, name);
        for (what, text) in [
            ("description", &skin.description),
            ("agent_name", &skin.agent_name),
            ("welcome", &skin.welcome),
            ("goodbye", &skin.goodbye),
            ("glyph", &skin.glyph),
            ("prompt_symbol", &skin.prompt_symbol),
            ("tool_prefix", &skin.tool_prefix),
        ] {
            assert!(!text.is_empty(), "{name}: {what}");
        }
        assert!(
            skin.waiting_faces.len() >= 5 && skin.thinking_faces.len() >= 5 && skin.thinking_verbs.len() >= 8,
            "{name}"
        );
        assert!(
            skin.banner.len() <= 8 && skin.banner.iter().all(|line| line.width() <= 60),
            "{name}: {:#?}",
            skin.banner
        );
        for (tool, emoji) in &skin.tool_emojis {
            assert_eq!(emoji.width(), 2, "{name}: {tool}");
            assert!(!emoji.contains('\u{fe0f}'), "{name}: {tool} has a variation selector");
        }
    }
    let skin = look("default", "", ColorDepth::True).skin;
    assert_eq!((skin.glyph.as_str(), skin.prompt_symbol.as_str()), ("☤", "❯"));
    assert_eq!((skin.thinking_verbs.len(), skin.waiting_faces.len(), skin.thinking_faces.len()), (15, 10, 15));
    for name in ["default", "ares", "poseidon", "sisyphus", "charizard"] {
        assert!(!look(name, "", ColorDepth::True).skin.banner.is_empty(), "{name}");
    }
}

#[test]
fn the_ground_follows_the_terminal_unless_a_theme_is_named() {
    let light = Canvas { depth: ColorDepth::True, light: true };
    assert!(!look("default", "", light).theme.dark);
    assert!(look("default", "", ColorDepth::True).theme.dark);
    assert!(look("default", "hermes-dark", light).theme.dark);
    assert!(!look("daylight", "", ColorDepth::True).theme.dark, "made for bright rooms, wherever it is chosen");
    assert_eq!(look("clear", "", light).theme.name, "clear-light");
}

#[test]
fn signals_of_safe_themes_are_their_own() {
    let own = look("clear", "", ColorDepth::True).theme.text(Role::Bad);
    assert_eq!(look("ares", "clear-dark", ColorDepth::True).theme.text(Role::Bad), own);
    assert_ne!(look("ares", "", ColorDepth::True).theme.text(Role::Bad), own);
}

#[test]
fn looks_differ_and_stay_the_same() {
    let mut revisions: Vec<u32> =
        embedded::SKINS.iter().map(|(name, _)| look(name, "", ColorDepth::True).revision).collect();
    assert_eq!(look("ares", "", ColorDepth::True), look("ares", "", ColorDepth::True));
    revisions.sort_unstable();
    revisions.dedup();
    assert_eq!(revisions.len(), embedded::SKINS.len());
}

#[test]
fn a_skin_of_the_python_program_works() {
    let dir = tempfile::tempdir().unwrap();
    let text = "name: mine\ncolors:\n  banner_border: '#00ff00'\n  ui_accent: '#FF90FF'\n  ui_ok: ''\n  status_bar_bg: '#111111'\n\
                spinner:\n  waiting_faces: ['(x)']\n  wings: [['<', '>']]\nbranding:\n  response_label: ' ⚑ Mine '\n  agent_name: Mine\n\
                tool_prefix: '|'\ntool_emojis: {terminal: '🚀'}\nbanner_logo: |\n  [bold #ff0000]LOGO[/] [x]\n";
    std::fs::write(dir.path().join("mine.yaml"), text).unwrap();
    std::fs::write(dir.path().join("bad.yaml"), "colors: {ui_accent: '#12'}\n").unwrap();
    let dirs = LookDirs { skins: Some(dir.path().into()), themes: None };
    let look = Appearance::load("mine", "", &dirs, ColorDepth::True).unwrap();
    assert_eq!(look.theme.text(Role::Accent).fg, Some(Color::Rgb(255, 144, 255)));
    assert_eq!((look.skin.glyph.as_str(), look.skin.waiting_faces.len()), ("⚑", 1));
    assert_eq!(look.skin.banner, ["LOGO [x]"]);
    assert_eq!((look.skin.tool_emojis["terminal"].as_str(), look.skin.tool_emojis["patch"].as_str()), ("🚀", "🔧"));
    assert_eq!(look.skin.prompt_symbol, "❯");
    let error = Appearance::load("bad", "", &dirs, ColorDepth::True).unwrap_err().to_string();
    assert!(error.contains("bad.yaml:1") && error.contains("ui_accent"), "{error}");
    let listed = list_skins(&dirs);
    assert_eq!(listed.len(), embedded::SKINS.len() + 2);
    assert!(listed.iter().any(|row| row.name == "bad" && row.own && row.problem.is_some()));
    assert!(list_themes(&dirs).iter().all(|row| row.problem.is_none() && !row.description.is_empty()));
    let error = Appearance::load("posiedon", "", &dirs, ColorDepth::True).unwrap_err().to_string();
    assert_eq!(error, "no skin named \"posiedon\"; did you mean poseidon");
    assert!(Appearance::load("../x", "", &dirs, ColorDepth::True).is_err());
    assert!(Appearance::fallback(ColorDepth::NoColor).is_ok());
}

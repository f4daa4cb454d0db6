//! Spelling, lookup, merging, conflicts.

use super::*;

fn key(text: &str) -> Key {
    parse(text).unwrap()[0]
}

#[test]
fn keys_are_read_and_shown() {
    for (written, shown) in [
        ("ctrl-x b", "Ctrl-X b"),
        ("alt-,", "Alt-,"),
        ("f9", "F9"),
        ("shift-tab", "Shift-Tab"),
        ("pgup", "PgUp"),
        ("Ctrl-PgDn", "Ctrl-PgDn"),
        ("alt-enter", "Alt-Enter"),
        ("ctrl-]", "Ctrl-]"),
        ("ctrl--", "Ctrl--"),
        ("-", "-"),
        ("space", "Space"),
        ("shift-enter", "Shift-Enter"),
        ("G", "G"),
        ("shift-g", "G"),
        ("?", "?"),
        ("escape", "Esc"),
        ("ctrl-alt-left", "Ctrl-Alt-←"),
        ("é", "é"),
    ] {
        assert_eq!(display(&parse(written).unwrap()), shown, "{written}");
    }
    assert_eq!(key("shift-tab").code, Code::BackTab);
    assert_eq!(key("c-x"), key("ctrl-x"));
    for wrong in ["", "  ", "ctrl-", "hyper-x", "f0", "f25", "foo", "shift-1"] {
        assert!(parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn the_defaults_have_no_conflict_and_know_every_action() {
    let keymap = Keymap::defaults().unwrap();
    let actions = keymap.actions();
    for action in [
        "stop-turn",
        "interrupt",
        "quit",
        "command-palette",
        "session-browser",
        "next-tab",
        "model-picker",
        "model-next",
        "skin-picker",
        "skin-next",
        "effort-down",
        "effort-up",
        "approval-mode",
        "toggle-terminal",
        "next-terminal",
        "take-over",
        "background-command",
        "toggle-sidebar",
        "focus-next",
        "focus-left",
        "focus-right",
        "focus-up",
        "focus-down",
        "scroll-up",
        "scroll-down",
        "page-up",
        "page-down",
        "to-end",
        "queue-strip",
        "history-search",
        "paste-image",
        "inbox",
        "find",
        "copy-mode",
        "release-mouse",
        "external-editor",
        "rewind",
        "help",
        "suspend",
        "theme-picker",
        "newline",
        "send",
        "tab-9",
        "new-session",
    ] {
        assert!(actions.contains(&action), "{action}");
    }
}

/// Wherever a terminal swallows the direct key, the chord reaches the action.
#[test]
fn every_global_action_with_a_direct_key_has_a_chord() {
    let keymap = Keymap::defaults().unwrap();
    let global = |binding: &&Binding| binding.context == Context::Global;
    let swallowed = ["stop-turn", "interrupt", "previous-tab"];
    for binding in keymap.bindings.iter().filter(global) {
        let action = binding.action.as_str();
        let chord = keymap.bindings.iter().filter(global).any(|other| other.action == action && other.keys.len() > 1);
        assert!(chord || action.starts_with("tab-") || swallowed.contains(&action), "{action}");
    }
}

#[test]
fn lookup_knows_actions_and_beginnings() {
    let keymap = Keymap::defaults().unwrap();
    let keys = |text: &str| parse(text).unwrap();
    assert_eq!(keymap.lookup(Context::Global, &keys("ctrl-p")), Match::Action("command-palette"));
    assert_eq!(keymap.lookup(Context::Global, &keys("ctrl-x")), Match::Prefix);
    assert_eq!(keymap.lookup(Context::Global, &keys("ctrl-x b")), Match::Action("background-command"));
    assert_eq!(keymap.lookup(Context::Global, &keys("ctrl-x ctrl-q")), Match::None);
    assert_eq!(keymap.lookup(Context::Composer, &keys("ctrl-p")), Match::None);
    assert_eq!(keymap.lookup(Context::Composer, &keys("enter")), Match::Action("send"));
    assert_eq!(keymap.lookup(Context::Global, &keys("f1")), Match::Action("help"));
    assert_eq!(keymap.keys_for("command-palette"), ["Ctrl-P", "Ctrl-X p"]);
    assert_eq!(keymap.keys_for("take-over")[0], "F9");
    assert_eq!(keymap.keys_for("nothing"), Vec::<String>::new());
    let following = keymap.following(Context::Global, &keys("ctrl-x"));
    assert!(following.contains(&("b".to_owned(), "background-command")), "{following:?}");
    assert!(following.len() > 25);
}

fn merged(text: &str) -> Result<Keymap, String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("keymap.yaml");
    std::fs::write(&path, text).unwrap();
    Keymap::load(&path).map_err(|error| error.to_string())
}

#[test]
fn a_persons_file_lies_over_the_defaults() {
    let keymap = merged("global:\n  command-palette: f2\n  inbox: []\n  help:\n").unwrap();
    assert_eq!(keymap.keys_for("command-palette"), ["F2"]);
    assert_eq!(keymap.lookup(Context::Global, &parse("ctrl-p").unwrap()), Match::None);
    assert_eq!(keymap.lookup(Context::Global, &parse("f4").unwrap()), Match::None);
    assert_eq!(merged("").unwrap(), Keymap::defaults().unwrap());
    assert_eq!(Keymap::load(Path::new("/nonexistent/keymap.yaml")).unwrap(), Keymap::defaults().unwrap());
}

#[test]
fn the_leader_can_move() {
    let keymap = merged("leader: ctrl-q\nglobal:\n  inbox: <leader> j\n").unwrap();
    assert_eq!(keymap.keys_for("inbox"), ["Ctrl-Q j"]);
    assert_eq!(keymap.lookup(Context::Global, &parse("ctrl-q b").unwrap()), Match::Action("background-command"));
    assert_eq!(keymap.lookup(Context::Global, &parse("ctrl-x").unwrap()), Match::None);
}

#[test]
fn what_is_wrong_is_named() {
    for (text, parts) in [
        ("global:\n  inbox: ctrl-p\n", &["keymap.yaml:2", "Ctrl-P in global means both command-palette", "inbox"][..]),
        ("global:\n  find: ctrl-x\n", &["keymap.yaml:2", "Ctrl-X in global hides Ctrl-X"]),
        ("global:\n  inbx: f2\n", &["keymap.yaml:2", "no action named inbx; did you mean inbox"]),
        ("globl: {inbox: f2}\n", &["keymap.yaml:1", "did you mean global"]),
        ("global:\n  inbox: [f2, hyper-q]\n", &["keymap.yaml:2", "inbox: \"hyper-q\" is not a key"]),
        ("global: [\n", &["keymap.yaml:"]),
        ("- a\n", &["expected contexts with actions"]),
    ] {
        let error = merged(text).unwrap_err();
        for part in parts {
            assert!(error.contains(part), "{part}\n{error}");
        }
    }
}

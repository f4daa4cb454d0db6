//! Writing: vi keys, paths after `@`, the palette by use, commands that answer.

use crate::harness::{Home, Mock, Step, Term, until};

fn settle(term: &mut Term) {
    term.wait("❯");
}

/// Esc as a person presses it: nothing follows at once that would make it Alt.
fn escape(term: &mut Term) {
    let before = term.frames();
    term.send("\x1b").drawn_after(before);
}

#[test]
fn vi_keys_edit_send_and_shape_the_cursor() {
    let mock = Mock::start(vec![Step::Text("heard".into())]);
    let home = Home::with(&mock, "composer:\n  mode: vi\n");
    let mut term = Term::start(&home, &[]);
    settle(&mut term);
    term.wait("INSERT");
    term.send("one two three");
    term.wait("one two three");
    escape(&mut term);
    term.wait("NORMAL");
    term.send("bcwfour").wait("one two four");
    escape(&mut term);
    term.send("0dw").wait("❯ two four");
    term.send("u").wait("one two four");
    term.send("vee").wait("VISUAL");
    term.send("d").gone("one two");
    term.send("u").wait("one two four");
    let raw = String::from_utf8_lossy(&term.raw()).into_owned();
    assert!(raw.contains("\x1b[6 q") && raw.contains("\x1b[2 q"), "a bar in insert mode, a block in normal mode");
    term.send("\r").wait("heard");
    term.wait("INSERT");
    assert!(mock.requests()[0]["messages"].to_string().contains("one two four"));
    // the same keys in the field of a list
    term.send("\x10").wait("Commands");
    term.send("open zzz").wait("nothing matches");
    escape(&mut term);
    term.send("dd").gone("nothing matches");
    escape(&mut term);
    term.gone("Commands");
    term.send("/vi off\r").gone("INSERT");
    let saved =
        || std::fs::read_to_string(home.hermes().join("config.yaml")).unwrap_or_default().contains("mode: emacs");
    until("the setting is saved", saved);
}

#[test]
fn a_path_is_found_by_some_of_its_letters() {
    let mock = Mock::start(vec![]);
    let home = Home::with(&mock, "");
    for file in ["src/agent/runner.rs", "src/text/wrap.rs", "docs/notes.md", "junk/runner.o"] {
        let path = home.project().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }
    std::fs::write(home.project().join(".gitignore"), "junk\n").unwrap();
    let mut term = Term::start(&home, &[]);
    settle(&mut term);
    term.send("see @agrun").wait("@src/agent/runner.rs");
    assert!(!term.text().contains("junk"), "{}", term.text());
    term.send("\t").wait("see @src/agent/runner.rs");
    term.send("and @srctext").wait("@src/text/");
}

#[test]
fn an_export_leaves_the_repository_alone_unless_a_file_is_named() {
    let mock = Mock::start(vec![Step::Text("said-so".into())]);
    let home = Home::with(&mock, "");
    std::fs::write(home.project().join("taken.md"), "theirs").unwrap();
    let before = std::fs::read_dir(home.project()).unwrap().count();
    let mut term = Term::start(&home, &[]);
    settle(&mut term);
    term.send("go\r").wait("said-so").wait("1 step");
    term.send("/export\r").wait("written to").wait("exports/hermes-");
    escape(&mut term);
    term.send("/export taken.md\r").wait("already exists");
    escape(&mut term);
    let exports: Vec<_> =
        std::fs::read_dir(home.hermes().join("exports")).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(exports.len(), 1, "{exports:?}");
    assert!(std::fs::read_to_string(&exports[0]).unwrap().contains("said-so"));
    assert_eq!(std::fs::read_dir(home.project()).unwrap().count(), before);
    assert_eq!(std::fs::read_to_string(home.project().join("taken.md")).unwrap(), "theirs");
    term.send("/export notes.md\r");
    until("it is written", || home.project().join("notes.md").exists());
}

#[test]
fn the_palette_puts_what_was_used_first_also_after_a_restart() {
    let mock = Mock::start(vec![]);
    let home = Home::with(&mock, "");
    let mut term = Term::start(&home, &[]);
    settle(&mut term);
    term.send("/keys\r").wait("Esc");
    escape(&mut term);
    term.send("/export\r").wait("nothing to export");
    term.send("\x10").wait("Used");
    escape(&mut term);
    term.send("/quit\r");
    assert_eq!(term.ended(), 0);
    let mut term = Term::start(&home, &[]);
    settle(&mut term);
    term.send("\x10").wait("Used");
    let text = term.text();
    let used = text.lines().skip_while(|line| !line.contains("Used")).take(3).collect::<String>();
    assert!(used.contains("/export") && used.contains("/keys") | used.contains("Quit"), "{text}");
}

#[test]
fn context_usage_and_permissions_answer_with_figures() {
    let mock = Mock::start(vec![Step::Text("fine".into())]);
    let home = Home::with(&mock, "");
    let mut term = Term::start(&home, &[]);
    settle(&mut term);
    term.send("how are you\r").wait("fine");
    term.send("/context\r").wait("system prompt").wait("of 200,000 tokens");
    escape(&mut term);
    term.send("/usage\r").wait("By model").wait("1 prompt · 1 answer");
    escape(&mut term);
    term.send("/permissions\r").wait("Permissions · ask").wait("no rules");
    escape(&mut term);
    term.send("/retry\r");
    until("the prompt is sent again", || mock.requests().len() == 2);
}

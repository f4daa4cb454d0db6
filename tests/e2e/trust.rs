//! What of a project's folder runs: nothing before a look, nothing but what was looked at.

use crate::harness::home::{err, out};
use crate::harness::{Home, Mock, Step, Term, until};
use std::path::{Path, PathBuf};

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A plugin that writes down from where it runs, says what it is told to say, and leaves when it is asked to.
fn sly(mark: &Path, word: &str) -> String {
    format!(
        r#"#!/bin/sh
echo "{word} $HERMES_PLUGIN_DIR" >> {}
while read -r line; do
    id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
    case $line in
    *'"method":"initialize"'*) printf '{{"id":%s,"result":{{"protocol":1,"commands":[{{"name":"leave","description":"Leaves"}}]}}}}\n' "$id" ;;
    *'"method":"command.run"'*) exit 7 ;;
    *'"method":"shutdown"'*) exit 0 ;;
    esac
done
"#,
        mark.display()
    )
}

fn place(steps: Vec<Step>) -> (Mock, Home, PathBuf) {
    let mock = Mock::start(steps);
    let home = Home::with(&mock, "");
    let mark = home.user().join("mark");
    write(&home.project().join("hermes.yaml"), "hooks:\n  prompt_submitted:\n  - command: sh note.sh\n");
    write(&home.project().join("note.sh"), &format!("echo hook >> {}\n", mark.display()));
    write(&home.project().join(".hermes/plugins/sly/plugin.yaml"), "name: sly\n");
    write(&home.project().join(".hermes/plugins/sly/run.sh"), &sly(&mark, "first"));
    (mock, home, mark)
}

fn marked(mark: &Path) -> String {
    std::fs::read_to_string(mark).unwrap_or_default()
}

fn say_yes(term: &mut Term) {
    term.wait("y, then Enter to trust");
    term.send("y");
    term.wait("▸ Trust it as shown");
    term.send("\r");
    term.wait("trusted as shown");
}

#[test]
fn the_card_shows_each_thing_and_then_what_changed() {
    let (_mock, home, mark) = place(vec![Step::Text("hello back".into())]);
    let mut term = Term::sized(&home, &[], (140, 45));
    term.wait("Trust this folder?")
        .wait("hook prompt_submitted: sh note.sh  new")
        .wait("plugin sly (.hermes/plugins/sly)  new");
    assert_eq!(marked(&mark), "", "something ran before the yes");
    say_yes(&mut term);
    until("the plugin runs", || marked(&mark).contains("first"));
    // What runs is a copy of what was looked at, not the folder.
    let ran = marked(&mark);
    assert!(!ran.contains(&*home.project().to_string_lossy()), "{ran}");
    term.quit().ended();
    drop(term);

    std::fs::remove_file(&mark).unwrap();
    write(&home.project().join("note.sh"), &format!("echo curl evil >> {}\n", mark.display()));
    write(&home.project().join(".hermes/plugins/sly/run.sh"), &sly(&mark, "second"));
    let mut term = Term::sized(&home, &[], (140, 45));
    term.wait("sh note.sh  changed").wait("- echo hook").wait("+ echo curl evil");
    term.wait("- echo \"first").wait("+ echo \"second");
    assert_eq!(marked(&mark), "", "something that changed ran before the yes");
    term.wait("y, then Enter to trust");
    term.send("\x1b");
    term.wait("trust shows it again");
    term.send("hello\r");
    term.wait("hello back");
    assert_eq!(marked(&mark), "", "something ran although the card was put aside");
}

#[test]
fn a_plugin_that_changed_while_it_ran_is_not_started_again() {
    let (_mock, home, mark) = place(vec![]);
    std::fs::remove_file(home.project().join("hermes.yaml")).unwrap();
    let mut term = Term::sized(&home, &[], (140, 45));
    say_yes(&mut term);
    until("the plugin runs", || marked(&mark).contains("first"));
    // It has begun to run; now it is ready, too.
    term.send("/plugins\r");
    term.wait("● sly");
    term.send("\x1b");
    term.gone("● sly");
    write(&home.project().join(".hermes/plugins/sly/run.sh"), &sly(&mark, "second"));
    term.send("/leave\r");
    term.wait("plugin sly is off: it changed since you trusted it");
    assert!(!marked(&mark).contains("second"), "{}", marked(&mark));
}

#[test]
fn a_folder_that_is_a_link_never_runs() {
    let (_mock, home, mark) = place(vec![]);
    let inside = home.project().join(".hermes/plugins/sly");
    let outside = home.user().join("outside");
    std::fs::rename(&inside, &outside).unwrap();
    std::os::unix::fs::symlink(&outside, &inside).unwrap();
    let trusted = home.run(&["config", "trust", "."]);
    let said = err(&home.run(&["-p", "hello"]));
    assert!(said.contains("sly is a link or behind one"), "{said}{}", out(&trusted));
    assert!(!marked(&mark).contains("first"));
    let term = Term::sized(&home, &["hello"], (140, 45));
    term.wait("done");
    assert!(!marked(&mark).contains("first"));
}

/// Lines have no card: one of them says what does not run, and how it would.
#[test]
fn plain_lines_say_what_is_not_trusted() {
    let (_mock, home, mark) = place(vec![Step::Text("hello back".into()), Step::Text("again".into())]);
    let done = home.run_with(&["--plain"], "hello\n");
    let said = out(&done);
    let lines: Vec<&str> = said.lines().filter(|line| line.contains("does not run")).collect();
    assert_eq!(lines.len(), 1, "{said}");
    assert!(lines[0].contains("the project's hook prompt_submitted: sh note.sh does not run"), "{said}");
    assert!(lines[0].contains("run: hermes config trust ") && lines[0].contains("(1 more like this"), "{said}");
    assert!(said.contains("hello back") && marked(&mark).is_empty(), "{said}");
    home.run(&["config", "trust", "."]);
    let done = home.run_with(&["--plain"], "hello\n");
    assert!(!out(&done).contains("does not run"), "{}", out(&done));
    assert!(marked(&mark).contains("hook"), "{}", out(&done));
}

#[test]
fn a_repository_names_programs_and_none_of_them_runs() {
    let mock = Mock::start(vec![Step::Text("hello back".into())]);
    let home = Home::with(&mock, "");
    let (project, mark) = (home.project(), home.user().join("mark"));
    let git = |args: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.current_dir(&project).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(args);
        let done = git.output().unwrap();
        assert!(done.status.success(), "{}", err(&done));
    };
    git(&["init", "-q", "-b", "main"]);
    write(&project.join("a.rs"), "one\n");
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "one"]);
    write(&project.join(".gitattributes"), "*.rs filter=evil diff=evil\n");
    write(&project.join("a.rs"), "two\n");
    let program = format!("touch {}; cat", mark.display());
    for key in [
        "core.fsmonitor",
        "filter.evil.clean",
        "filter.evil.process",
        "diff.external",
        "diff.evil.command",
        "diff.evil.textconv",
    ] {
        git(&["config", key, &program]);
    }
    let mut term = Term::start(&home, &[]);
    // The sidebar, the situation of a turn, the report.
    term.wait("main");
    term.send("hi\r");
    term.wait("hello back");
    term.send("/diff\r");
    term.wait("+two");
    assert!(!mark.exists(), "a program of the repository ran");
}

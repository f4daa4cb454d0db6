//! The modal of a dangerous command: what it tells before the answer, and that nothing else runs than was answered.

use crate::harness::home::{err, out};
use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term, until};
use base64::Engine as _;
use serde_json::{Value, json};
use std::os::unix::fs::symlink;
use std::path::Path;

const SIZES: [(u16, u16); 3] = [(140, 45), (100, 30), (60, 20)];

fn terminal(command: &str) -> Step {
    Step::Calls(String::new(), vec![call("terminal", json!({ "command": command }))])
}

fn git(folder: &Path, args: &[&str]) {
    let mut command = std::process::Command::new("git");
    command.current_dir(folder).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(args);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let done = command.output().unwrap();
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// A session whose first request is asked about.
fn asked(home: &Home, size: (u16, u16)) -> Term {
    let mut term = Term::sized(home, &[], size);
    term.wait("❯");
    term.send("go\r").wait("Esc: decide later");
    term
}

/// The last result that the model was given.
fn told(mock: &Mock) -> String {
    let requests = mock.requests();
    let messages = requests.last().unwrap()["messages"].as_array().unwrap().clone();
    messages.iter().rev().find(|message| message["role"] == "tool").map(ToString::to_string).unwrap_or_default()
}

#[test]
fn what_git_would_lose_stands_in_the_modal() {
    for size in SIZES {
        let mock = Mock::start(vec![terminal("git reset --hard && git clean -fd"), Step::Text("understood".into())]);
        let home = Home::with(&mock, "");
        let project = home.project();
        git(&project, &["init", "-q"]);
        std::fs::write(project.join("a.rs"), "1").unwrap();
        git(&project, &["add", "-A"]);
        git(&project, &["commit", "-q", "-m", "one"]);
        std::fs::write(project.join("a.rs"), "2").unwrap();
        std::fs::write(project.join("notes.md"), "mine").unwrap();
        let mut term = asked(&home, size);
        // Above the choices, without a key.
        term.wait("1 not committed: a.rs").wait("never committed:").wait("notes.md").wait("Allow once");
        term.send("d").wait("Why not?");
        term.send("commit first\r").wait("understood");
        assert!(told(&mock).contains("the user denied this call and says: commit first"), "{}", told(&mock));
        assert_eq!(std::fs::read(project.join("a.rs")).unwrap(), b"2");
    }
}

#[test]
fn a_decoded_payload_is_shown_whole_and_read_before_it_runs() {
    for size in SIZES {
        let script: String =
            (1..60).map(|line| format!("echo line-{line}\n")).collect::<String>() + "touch ran-at-last\n";
        let encoded = base64::engine::general_purpose::STANDARD.encode(&script);
        let mock =
            Mock::start(vec![terminal(&format!("echo {encoded} | base64 -d | sh")), Step::Text("done it".into())]);
        let home = Home::with(&mock, "");
        let mut term = asked(&home, size);
        term.send("y").wait("scroll to the end to approve");
        while !term.text().contains("touch ran-at-last") {
            let before = term.text();
            term.send("\x1b[6~");
            until("the next page", || term.text() != before);
        }
        // Nothing more is to be seen, and nothing says so.
        term.gone("scroll to the end to approve").gone("PgDn more");
        term.send("y").wait("Enter confirms");
        term.send("\r").wait("done it");
        until("it ran", || home.project().join("ran-at-last").exists());
    }
}

#[test]
fn an_edited_command_is_judged_before_it_is_confirmed_and_named_afterwards() {
    for size in SIZES {
        let mock = Mock::start(vec![terminal("rm -rf build"), Step::Text("edited and run".into())]);
        let home = Home::with(&mock, "");
        for folder in ["build", "dist"] {
            std::fs::create_dir(home.project().join(folder)).unwrap();
            std::fs::write(home.project().join(folder).join("file"), "12345").unwrap();
        }
        let mut term = asked(&home, size);
        // From its letter on every key is for the field, also those of the same read.
        term.send("e\x15rm -rf dist/ && git push --for\r").wait("Run this instead?");
        assert!(!term.text().contains("❯ rm"), "{}", term.text());
        // What is typed there is for nobody: it would say yes to another line than the one that was written.
        term.send("y").send("\x1b").wait("Enter shows it again");
        assert!(home.project().join("dist/file").exists() && !term.text().contains("--fory"), "{}", term.text());
        term.send("ce\r").wait("rm -rf dist/ && git push --force").wait("Run this instead?");
        assert!(!term.text().contains("❯ ce"), "{}", term.text());
        term.wait("recursive delete").wait("dist/").wait("1 file");
        term.send("\x1b").wait("Enter shows it again");
        term.send("\x15rm -rf dist; echo edited > edited.txt\r").wait("Run this instead?").wait("1 file");
        // It answers once it could be read and the keys were quiet.
        term.wait("Enter allows it");
        term.send("\r");
        until("the edited command runs", || home.project().join("edited.txt").exists());
        term.wait("edited and run").wait("steps ·");
        assert!(home.project().join("build").exists() && !home.project().join("dist").exists());
        assert!(told(&mock).contains("the user edited the command before it ran"), "{}", told(&mock));
        term.wait("rm -rf dist");
        if size.0 >= 100 {
            term.send("/rewind\r").wait("rm -rf dist; echo edited > edited.txt");
        }
    }
}

#[test]
fn a_question_that_nobody_answers_in_time_is_a_no_of_its_own() {
    let mock = Mock::start(vec![terminal("rm -rf build"), Step::Text("went on without".into())]);
    let home = Home::with(&mock, "approvals:\n  timeout: 1\n");
    std::fs::create_dir(home.project().join("build")).unwrap();
    let mut term = Term::sized(&home, &[], (100, 30));
    term.wait("❯");
    term.send("go\r").wait("went on without").gone("Approve a command");
    term.wait("no answer in time");
    assert!(told(&mock).contains("no one answered in time"), "{}", told(&mock));
    assert!(home.project().join("build").exists());
}

#[test]
fn time_that_is_spent_writing_does_not_count() {
    let mock = Mock::start(vec![terminal("rm -rf build"), Step::Text("understood".into())]);
    /// Far more than it takes to begin to write, however busy the machine is.
    const TIME: std::time::Duration = std::time::Duration::from_secs(6);
    let home = Home::with(&mock, &format!("approvals:\n  timeout: {}\n", TIME.as_secs()));
    std::fs::create_dir(home.project().join("build")).unwrap();
    let mut term = Term::sized(&home, &[], (100, 30));
    term.wait("❯");
    let began = std::time::Instant::now();
    term.send("go\r").wait("Esc: decide later");
    term.send("d").wait("Why not?");
    // The rest of its time would have been over by then.
    until("the time is over", || began.elapsed() > TIME + std::time::Duration::from_secs(1));
    term.send("I was still writing\r").wait("understood");
    assert!(told(&mock).contains("says: I was still writing"), "{}", told(&mock));
}

#[test]
fn a_stopped_turn_and_an_unanswered_question_are_no_denials() {
    let mock = Mock::start(vec![terminal("rm -rf build"), terminal("rm -rf build"), Step::Text("understood".into())]);
    let home = Home::with(&mock, "");
    std::fs::create_dir(home.project().join("build")).unwrap();
    let mut term = asked(&home, (100, 30));
    term.send("\x03").wait("stopped").gone("Approve a command").wait("stopped ·");
    // It was not denied: the same call is asked about again.
    term.send("again\r").wait("Approve a command").wait("Esc: decide later");
    let before = mock.requests().last().unwrap()["messages"].to_string();
    assert!(before.contains("the user stopped the turn"), "{before}");
    term.send("d").wait("Why not?");
    term.send("\r").wait("understood").wait("denied");
    assert!(told(&mock).contains("the user denied this call. Do not repeat it"), "{}", told(&mock));
}

#[test]
fn a_rule_that_a_person_writes_answers_the_question_that_waits() {
    let mock = Mock::start(vec![terminal("rm -rf build"), Step::Text("it is gone".into())]);
    let home = Home::with(&mock, "");
    std::fs::create_dir(home.project().join("build")).unwrap();
    let mut term = asked(&home, (140, 45));
    term.send("\x1b").wait("the question is still pending");
    std::fs::write(home.hermes().join("permissions.yaml"), "terminal(rm -rf build): allow\n").unwrap();
    // What loosens waits for the person.
    term.send("/reload\r").wait("The policy changed on disk");
    term.wait("o or t, then Enter");
    term.send("t\r").wait("it is gone").wait("now allowed");
    assert!(!home.project().join("build").exists());
}

#[test]
fn one_goes_through_the_inbox_and_answers_in_any_order() {
    let names = ["id_rsa", "id_ed25519"];
    let calls = names.map(|name| call("read_file", json!({ "path": name })));
    let mock = Mock::start(vec![Step::Calls(String::new(), calls.into()), Step::Text("both heard".into())]);
    let home = Home::with(&mock, "");
    for name in names {
        std::fs::write(home.project().join(name), format!("text of {name}\n")).unwrap();
    }
    let mut term = asked(&home, (100, 30));
    term.wait("of 2 waiting");
    let first = if term.text().contains("project/id_rsa") { 0 } else { 1 };
    term.send("\x1bOS").wait("2 of 2");
    term.send("\x1bOS").wait("1 of 2");
    term.send("d").wait("Why not?");
    term.send("keep this one\r").gone("of 2 waiting").wait("Esc: decide later");
    term.send("y").wait("Enter confirms");
    term.send("\r").wait("both heard");
    let sent = mock.requests().last().unwrap()["messages"].to_string();
    assert!(!sent.contains(&format!("text of {}", names[first])), "{sent}");
    assert!(sent.contains(&format!("text of {}", names[1 - first])), "{sent}");
}

#[test]
fn what_was_denied_is_not_asked_again_until_the_person_speaks() {
    let mock = Mock::start(vec![
        terminal("rm -rf build"),
        terminal("rm  -rf build"),
        Step::Text("given up".into()),
        terminal("rm -rf build"),
        Step::Text("the end".into()),
    ]);
    let home = Home::with(&mock, "");
    std::fs::create_dir(home.project().join("build")).unwrap();
    let mut term = asked(&home, (100, 30));
    term.send("d").wait("Why not?");
    term.send("it holds my notes\r").wait("given up");
    assert!(told(&mock).contains("already denied this and said: it holds my notes"), "{}", told(&mock));
    // The audit log keeps the reason, too.
    let log = out(&home.run(&["approvals", "log", "--json"]));
    assert!(log.contains("the user denied this call and says: it holds my notes"), "{log}");
    // A new prompt is a new matter.
    term.send("now do it\r").wait("Approve a command").wait("Esc: decide later");
    term.send("y").wait("Enter confirms");
    term.send("\r").wait("the end");
    assert!(!home.project().join("build").exists());
}

#[test]
fn a_link_that_turned_while_it_was_asked_is_asked_again() {
    for size in SIZES {
        let mock = Mock::start(vec![terminal("rm -rf build/*"), Step::Text("left alone".into())]);
        let home = Home::with(&mock, "");
        let (build, precious) = (home.project().join("build"), home.user().join("precious"));
        for folder in [&build, &precious] {
            std::fs::create_dir(folder).unwrap();
            std::fs::write(folder.join("file"), "1").unwrap();
        }
        let mut term = asked(&home, size);
        term.send("y").wait("Enter confirms");
        std::fs::rename(&build, home.project().join("built")).unwrap();
        symlink(&precious, &build).unwrap();
        term.send("\r").wait("Asking again").wait("Esc: decide later");
        assert!(precious.join("file").exists());
        term.send("d").wait("Why not?");
        term.send("\r").wait("left alone");
        assert!(precious.join("file").exists());
    }
}

#[test]
fn without_a_person_it_is_said_what_did_not_run_and_why() {
    let steps = || vec![terminal("rm -rf keep"), Step::Text("it stays".into())];
    let home = Home::with(&Mock::start(vec![]), "");
    std::fs::create_dir(home.project().join("keep")).unwrap();
    let mock = Mock::start(steps());
    home.model(&mock, "");
    let done = home.run(&["-p", "clean"]);
    assert_eq!((done.status.code(), out(&done).trim()), (Some(2), "it stays"));
    let said = err(&done);
    assert!(said.contains("terminal rm -rf keep did not run") && said.contains("no one can approve here"), "{said}");
    let mock = Mock::start(steps());
    home.model(&mock, "");
    let envelope: Value = serde_json::from_str(&out(&home.run(&["-p", "clean", "--output", "json"]))).unwrap();
    assert_eq!(envelope["tool_calls"][0]["status"], "no_one");
    let denied = envelope["denied"][0].as_object().unwrap();
    assert_eq!(denied.keys().collect::<Vec<_>>(), ["name", "args", "why"]);
}

/// The rows of the audit log that a filter means.
fn logged(home: &Home, filter: &[&str]) -> Vec<Value> {
    let said = out(&home.run(&[&["approvals", "log", "--json"], filter].concat()));
    serde_json::from_str::<Value>(&said).unwrap()["rows"].as_array().unwrap().clone()
}

#[test]
fn a_question_that_was_open_when_the_program_was_killed_is_in_the_log_as_interrupted() {
    let mock = Mock::start(vec![terminal("rm -rf build"), Step::Text("understood".into())]);
    let home = Home::with(&mock, "");
    std::fs::create_dir(home.project().join("build")).unwrap();
    let mut term = asked(&home, (100, 30));
    term.kill();
    let mut term = Term::sized(&home, &["-c"], (100, 30));
    term.wait("the program exited during this turn");
    let rows = logged(&home, &["--outcome", "interrupted"]);
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!((&rows[0]["kind"], &rows[0]["what"]), (&json!("call"), &json!("rm -rf build")));
    assert!(rows[0]["why"].as_str().unwrap().contains("outcome unknown"), "{rows:?}");
    assert!(home.project().join("build").exists());
    // Once: another start adds nothing.
    term.kill();
    Term::sized(&home, &["-c"], (100, 30)).wait("the program exited during this turn");
    assert_eq!(logged(&home, &["--outcome", "interrupted"]).len(), 1);
}

#[test]
fn a_question_that_was_open_when_the_program_was_left_was_stopped_by_nobody() {
    use rustix::process::Signal;
    for (signal, how) in [(Some(Signal::HUP), "hung up"), (Some(Signal::TERM), "ended"), (None, "quit")] {
        let mock = Mock::start(vec![terminal("rm -rf build"), Step::Text("understood".into())]);
        let home = Home::with(&mock, "");
        std::fs::create_dir(home.project().join("build")).unwrap();
        let mut term = asked(&home, (100, 30));
        match signal {
            Some(signal) => term.signal(signal),
            // Esc keeps the question, Ctrl-D leaves.
            None => {
                term.send("\x1b").gone("Approve a command");
                term.send("\x04").wait("Quit");
                term.send("y\r");
            }
        }
        term.ended();
        let rows = logged(&home, &["--outcome", "interrupted"]);
        assert_eq!(rows.len(), 1, "{how}: {rows:?}");
        assert_eq!((&rows[0]["by"], &rows[0]["what"]), (&json!("nobody"), &json!("rm -rf build")), "{how}");
        assert!(rows[0]["why"].as_str().unwrap().contains("the program quit before anyone answered"), "{rows:?}");
        assert!(home.project().join("build").exists());
    }
}

#[test]
fn each_way_that_a_question_ends_without_a_yes_has_its_own_text_and_its_own_row() {
    let steps = || vec![terminal("rm -rf build"), Step::Text("understood".into())];
    let ended = |home: &Home, mock: &Mock, outcome: &str, by: &str, text: &str| {
        let rows = logged(home, &["--outcome", outcome]);
        assert_eq!(rows.len(), 1, "{outcome}: {:?}", logged(home, &[]));
        assert_eq!((&rows[0]["by"], &rows[0]["what"]), (&json!(by), &json!("rm -rf build")));
        let why = rows[0]["why"].as_str().unwrap();
        assert!(why.contains(text), "{outcome}: {why}");
        let messages = mock.requests().last().unwrap()["messages"].to_string();
        assert!(messages.contains(text), "{outcome}: {messages}");
    };
    let home = Home::with(&Mock::start(vec![]), "");
    std::fs::create_dir(home.project().join("build")).unwrap();

    let mock = Mock::start(steps());
    home.model(&mock, "");
    let mut term = asked(&home, (100, 30));
    term.send("d").wait("Why not?");
    term.send("keep it\r").wait("understood");
    ended(&home, &mock, "denied", "person", "the user denied this call and says: keep it");
    term.kill();

    let mock = Mock::start(steps());
    home.model(&mock, "");
    let mut term = asked(&home, (100, 30));
    term.send("\x03").wait("stopped ·");
    term.send("go on\r").wait("understood");
    ended(&home, &mock, "interrupted", "person", "the user stopped the turn before answering");
    term.kill();

    let mock = Mock::start(steps());
    home.model(&mock, "");
    home.run(&["-p", "clean"]);
    ended(&home, &mock, "no_one", "nobody", "no one can approve here");

    let mock = Mock::start(steps());
    home.model(&mock, "approvals:\n  timeout: 1\n");
    let mut term = Term::sized(&home, &[], (100, 30));
    term.wait("❯");
    term.send("go\r").wait("understood");
    ended(&home, &mock, "timed_out", "nobody", "no one answered in time");
}

#[test]
fn a_question_leaves_the_end_of_the_conversation_and_the_terminal_in_view() {
    let line = "python3 -c 'import shop; shop.sell(1)' && rm -rf build";
    let server =
        || Step::Calls(String::new(), vec![call("terminal", json!({ "command": "sleep 30", "background": true }))]);
    let steps = || vec![server(), Step::Text("the-words-before".into()), terminal(line)];
    let mock = Mock::start(steps());
    let home = Home::with(&mock, "");
    std::fs::create_dir(home.project().join("build")).unwrap();
    for size in [(140, 45), (100, 40)] {
        let mut term = Term::sized(&home, &[], size);
        term.wait("❯");
        term.send("say\r").wait("the-words-before").wait("2 steps");
        term.send("go\r").wait("Approve a command").wait("Esc: decide later");
        let text = term.text();
        let row =
            |what: &str| text.lines().position(|line| line.contains(what)).unwrap_or_else(|| panic!("{what}: {text}"));
        let card = row("Approve a command");
        assert!(row("needs approval") < card && row("the-words-before") < card, "{text}");
        assert_eq!(row("Esc: decide later"), usize::from(size.1) - 2, "{text}");
        // The whole line stands in its row, and what is only code is no file.
        assert!(text.lines().take(card).any(|row| row.contains("sell(1)' && rm -rf")), "{text}");
        assert!(text.contains("build") && !text.contains("does not exist"), "{text}");
        term.send("\x14").wait(" Terminal ").wait("Approve a command");
        term.send("\x14").gone(" Terminal ");
        term.kill();
        mock.push(steps());
    }
}

#[test]
fn what_was_decided_is_read_on_the_screen_with_the_same_filters_as_on_the_command_line() {
    let mock = Mock::start(vec![terminal("rm -rf build"), Step::Text("understood".into())]);
    let home = Home::with(&mock, "");
    std::fs::create_dir(home.project().join("build")).unwrap();
    let mut term = asked(&home, (100, 30));
    term.send("d").wait("Why not?");
    term.send("keep it\r").wait("understood");
    term.send("\x1b[Z").wait("review: each edit needs approval");
    until("the mode is in the log", || logged(&home, &["--kind", "mode"]).len() == 1);
    term.send("/approvals log --kind mode\r").wait("only: --kind mode").wait("ask → review");
    assert!(!term.text().contains("rm -rf build · "), "{}", term.text());
    term.send("\x1b").gone("only: --kind mode");
    term.send("/approvals log --outcome denied build\r")
        .wait("only: --outcome denied build")
        .wait("terminal: rm -rf build");
    term.send("\x1b").gone("only: --outcome");
    term.send("/approvals log --kind nonsense\r").wait("must be one of call, rule, mode, pruned");
    let mode = logged(&home, &["--kind", "mode"]);
    assert_eq!((mode.len(), &mode[0]["what"]), (1, &json!("ask → review")));
    assert!(err(&home.run(&["approvals", "log", "--by", "nonsense"])).contains("must be one of policy, rule"));
}

#[test]
fn the_narrowest_answer_is_chosen_in_both_lists_and_holds_for_that_command_alone() {
    let steps =
        |lines: &[&str]| lines.iter().map(|line| terminal(line)).chain([Step::Text("understood".into())]).collect();
    let mock = Mock::start(steps(&["rm -rf build", "rm -rf build", "rm -rf build dist"]));
    let home = Home::with(&mock, "");
    for folder in ["build", "dist"] {
        std::fs::create_dir(home.project().join(folder)).unwrap();
    }
    let mut term = asked(&home, (100, 30));
    term.send("a").wait("Always allow").wait("▸ Exactly this, here");
    term.send("\x1b").gone("Always allow");
    term.send("s").wait("Allow for the rest").wait("▸ Exactly this, here");
    // The second passes, the third is another command.
    term.send("\r").wait("rm -rf build dist").wait("Esc: decide later");
    term.send("d").wait("Why not?");
    term.send("\r").wait("understood");
    assert!(home.project().join("dist").exists() && !home.project().join("build").exists());
}

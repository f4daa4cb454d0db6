//! `permissions.yaml` and the audit log: a line lets a command pass and another denies one, *always* writes a line that the
//! next session honours, the log shows it all, and shows when it was tampered with.

use crate::harness::home::{err, out};
use crate::harness::{Home, Mock, Step, Term, until};
use serde_json::{Value, json};

fn run(home: &Home, args: &[&str]) -> (Option<i32>, String, String) {
    let done = home.run_with(args, "");
    (done.status.code(), out(&done), err(&done))
}

/// One call of the terminal.
fn command(line: &str) -> Step {
    Step::Calls(String::new(), vec![("terminal".into(), json!({ "command": line }))])
}

fn tool_results(mock: &Mock) -> Vec<Value> {
    let last = mock.requests().pop().unwrap();
    let messages = last["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "tool");
    messages.map(|message| serde_json::from_str(message["content"].as_str().unwrap()).unwrap_or_default()).collect()
}

#[test]
fn lines_of_the_file_allow_and_deny_without_anybody_to_ask() {
    let mock = Mock::start(vec![
        command("rm -rf build/a"),
        command("rm -rf src"),
        command("echo denied > notes.txt"),
        command("git log --oneline"),
        Step::Text("Done.".into()),
    ]);
    let home = Home::with(&mock, "");
    for folder in ["build/a", "src"] {
        std::fs::create_dir_all(home.project().join(folder)).unwrap();
    }
    let text = "# mine\nterminal(rm -rf build/*): allow\nfile.write(notes.txt): deny\nterminal(git log *): deny\n";
    std::fs::write(home.hermes().join("permissions.yaml"), text).unwrap();
    let (code, said, told) = run(&home, &["-p", "go", "--output", "json"]);
    assert!(code.is_some(), "{said}{told}");
    assert!(!home.project().join("build/a").exists(), "allowed by a line");
    assert!(home.project().join("src").exists() && !home.project().join("notes.txt").exists());
    let results: Vec<String> = tool_results(&mock).iter().map(|result| result["error"].to_string()).collect();
    assert!(results[1].contains("needs approval"), "{results:?}");
    assert!(results[2].contains("file.write(notes.txt): deny (permissions.yaml:3)"), "{results:?}");
    assert!(results[3].contains("terminal(git log *): deny"), "{results:?}");

    // The log has each call with its verdict, whose word it was, and how it ended.
    let (code, said, told) = run(&home, &["approvals", "log", "--json"]);
    assert_eq!(code, Some(0), "{told}");
    let rows: Value = serde_json::from_str(&said).unwrap();
    let rows = rows["rows"].as_array().unwrap();
    let seen: Vec<[&str; 4]> = rows
        .iter()
        .rev()
        .map(|row| ["what", "verdict", "by", "outcome"].map(|name| row[name].as_str().unwrap_or_default()))
        .collect();
    assert_eq!(
        seen,
        [
            ["rm -rf build/a", "allow", "rule", "ok"],
            ["rm -rf src", "ask", "nobody", "no_one"],
            ["echo denied > notes.txt", "denied-by-rule", "rule", "denied"],
            ["git log --oneline", "denied-by-rule", "rule", "denied"],
        ]
    );
    assert!(rows[3]["by_detail"][0].as_str().unwrap().contains("permissions.yaml:2"), "{}", rows[3]);
    let session = rows[0]["session_id"].as_str().unwrap();
    let (_, said, _) = run(&home, &["approvals", "log", "--session", session, "-n", "1"]);
    assert!(said.contains("git log --oneline") && !said.contains("build/a"), "{said}");

    // A line that is none is told with its place, and makes a question of everything.
    std::fs::write(home.hermes().join("permissions.yaml"), format!("{text}terminl.*: deny\n")).unwrap();
    let (_, said, _) = run(&home, &["approvals", "rules"]);
    assert!(said.contains("permissions.yaml:5") && said.contains("did you mean terminal"), "{said}");
    let (code, said, _) = run(&home, &["approvals", "test", "--mode", "off", "ls"]);
    assert!(code == Some(2) && said.contains("permissions.yaml:5") && said.contains("everything asks"), "{said}");

    // What was tampered with shows.
    assert_eq!(run(&home, &["approvals", "log", "--verify"]).0, Some(0));
    let database = rusqlite::Connection::open(home.hermes().join("state.db")).unwrap();
    database.execute("DELETE FROM audit WHERE key = 2", []).unwrap();
    drop(database);
    let (code, said, _) = run(&home, &["approvals", "log", "--verify"]);
    assert!(code == Some(1) && said.contains("rows 2 to 2 are missing"), "{said}");
}

#[test]
fn a_call_is_tested_and_a_rule_is_taken_back() {
    let home = Home::empty();
    let file = home.hermes().join("permissions.yaml");
    std::fs::write(&file, "# mine\nterminal(cargo publish *): allow # why\nfile.*: ask\n").unwrap();
    home.config("command_allowlist:\n  # kept\n  - git push --force\napprovals:\n  deny: [\"*evil*\"]\n");
    let (code, said, told) = run(&home, &["approvals", "test", "cargo", "publish", "-p", "x"]);
    assert_eq!(code, Some(0), "{said}{told}");
    assert!(said.starts_with("allow\n") && said.contains("permissions.yaml:2"), "{said}");
    let (code, said, _) = run(&home, &["approvals", "test", "--json", "rm -rf src"]);
    let verdict: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((code, verdict["verdict"].as_str()), (Some(2), Some("ask")), "{said}");
    let args = r#"{"path":"a.txt","content":"x"}"#;
    let (code, said, told) = run(&home, &["approvals", "test", "--tool", "write_file", "--args", args]);
    assert_eq!(code, Some(2), "{said}{told}");
    assert!(said.contains("file.*: ask (permissions.yaml:3)"), "{said}");
    assert!(!home.project().join("a.txt").exists(), "nothing runs");

    let (_, said, _) = run(&home, &["approvals", "rules", "--json"]);
    let rules: Value = serde_json::from_str(&said).unwrap();
    let names: Vec<(&str, u64)> = rules["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| (rule["rule"].as_str().unwrap(), rule["line"].as_u64().unwrap()))
        .collect();
    let all = [("terminal(cargo publish *)", 2), ("file.*", 3), ("git push --force", 3), ("*evil*", 5)];
    assert_eq!(names, all);
    for rule in ["terminal(cargo publish *)", "git push --force"] {
        let (code, said, told) = run(&home, &["approvals", "revoke", rule]);
        assert_eq!(code, Some(0), "{told}");
        assert!(said.contains("is no longer in"), "{said}");
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "# mine\nfile.*: ask\n");
    let config = std::fs::read_to_string(home.hermes().join("config.yaml")).unwrap();
    assert!(config.contains("# kept") && !config.contains("force") && config.contains("evil"), "{config}");
    assert_eq!(run(&home, &["approvals", "test", "cargo publish"]).0, Some(2));
    let (code, _, told) = run(&home, &["approvals", "revoke", "9"]);
    assert!(code == Some(1) && told.contains("there are 2 rules"), "{told}");
    let (_, said, _) = run(&home, &["approvals", "log"]);
    assert!(said.contains("revoked a rule"), "{said}");
}

#[test]
fn words_that_were_always_allowed_are_written_and_hold_in_the_next_session() {
    let mock = Mock::start(vec![command("git push --force origin main"), Step::Text("Pushed.".into())]);
    let home = Home::with(&mock, "");
    let file = home.hermes().join("permissions.yaml");
    std::fs::write(&file, "# mine\n").unwrap();
    let mut term = Term::sized(&home, &[], (140, 45));
    term.wait("❯");
    term.send("push\r").wait("Approve").wait("Esc: decide later");
    // The narrowest first, then its words.
    term.send("a").wait("Enter confirms").wait("▸ Exactly this, here");
    term.send("\t").wait("git push --force *");
    term.send("\r").wait("Pushed.");
    until("the line is written", || {
        std::fs::read_to_string(&file).unwrap().contains("terminal(git push --force *): allow")
    });
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("# mine\n") && text.contains("your answer to a question"), "{text}");
    // The pane lists it with who made it, tries what is typed, and takes it back after a yes.
    term.send("/permissions\r").wait("terminal(git push --force *)").wait("you, ").wait("Enter revokes it");
    term.send("git push --force x").wait("by rule: terminal(git push --force *)");
    for _ in 0.."git push --force x".len() {
        term.send("\x7f");
    }
    term.wait("Enter revokes it");
    drop(term);
    mock.push(vec![command("git push --force origin other"), Step::Text("Again.".into())]);
    let (_, said, told) = run(&home, &["-p", "again"]);
    assert!(said.contains("Again."), "{said}{told}");
    let last = tool_results(&mock).pop().unwrap();
    assert_ne!(last["status"], "blocked", "{last}");
}

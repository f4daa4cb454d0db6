//! Doors through which calls come to the gate without a screen.

use crate::harness::home::{err, out};
use crate::harness::{Home, Mock, Step};
use serde_json::Value;

/// The answer of a command that must end by itself, long before the time limit of a tool.
pub fn soon(home: &Home, args: &[&str]) -> std::process::Output {
    let child = home.command(args).spawn().unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    let (ended, end) = std::sync::mpsc::channel();
    let waiting = std::thread::spawn(move || ended.send(child.wait_with_output().unwrap()));
    let done = end.recv_timeout(std::time::Duration::from_secs(60)).unwrap_or_else(|_| {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        panic!("{args:?} never ended");
    });
    waiting.join().unwrap().unwrap();
    done
}

#[test]
fn every_headless_door_runs_a_command_and_comes_back() {
    let home = Home::empty();
    let long = r#"{"command":"for i in 1 2 3; do echo line $i; done; exit 3","timeout":100}"#;
    for (name, args, code, said) in [
        ("terminal", r#"{"command":"echo hi"}"#, 0, r#""exit_code":0"#),
        ("terminal", long, 1, r#""exit_code":3"#),
        ("terminal", r#"{"command":"echo hi","pty":true}"#, 0, "hi"),
        ("terminal", r#"{"command":"echo hi","background":true}"#, 0, "session_id"),
        ("tool_call", r#"{"name":"terminal","arguments":{"command":"echo hi"}}"#, 0, r#""exit_code":0"#),
    ] {
        let done = soon(&home, &["tools", "run", name, args]);
        assert_eq!(done.status.code(), Some(code), "{name} {args}: {}{}", out(&done), err(&done));
        let answer: Value = serde_json::from_str(out(&done).trim()).unwrap_or_else(|e| panic!("{name} {args}: {e}"));
        assert!(answer.to_string().contains(said), "{name} {args}: {answer}");
    }
    let mock = Mock::start(vec![
        Step::Calls(String::new(), vec![("terminal".into(), serde_json::json!({"command": "echo hi"}))]),
        Step::Text("It said hi.".into()),
    ]);
    home.model(&mock, "");
    let done = soon(&home, &["-p", "greet"]);
    assert!(done.status.success() && out(&done).contains("It said hi."), "{}{}", out(&done), err(&done));
}

/// Calls of one headless run, one a step; gives the results as the model saw them.
fn results(home: &Home, more: &str, args: &[&str], calls: &[(&str, Value)]) -> Vec<Value> {
    let call = |(tool, args): &(&str, Value)| Step::Calls(String::new(), vec![((*tool).into(), args.clone())]);
    let steps = calls.iter().map(call).chain([Step::Text("Done.".into())]).collect();
    let mock = Mock::start(steps);
    home.model(&mock, more);
    let done = soon(home, &[args, &["-p", "go"]].concat());
    assert!(out(&done).contains("Done."), "{}{}", out(&done), err(&done));
    let last = mock.requests().pop().unwrap();
    let messages = last["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "tool");
    messages.map(|message| serde_json::from_str(message["content"].as_str().unwrap()).unwrap_or_default()).collect()
}

#[test]
fn what_a_command_exports_is_known_to_the_judge_of_the_next() {
    let home = Home::empty();
    std::fs::create_dir(home.project().join("victim")).unwrap();
    let run = |line: &str| ("terminal", serde_json::json!({ "command": line }));
    let calls = [
        run("export LANG='rm -rf victim'"),
        run("$LANG"),
        run("read LD_AUDIT <<< ./x; export LD_AUDIT"),
        run("echo \"[$LD_AUDIT]\""),
        run("mkdir x && cd x && touch ../kept"),
        run("rmdir \"$PWD\""),
        run("rm -f *"),
    ];
    let seen = results(&home, "", &[], &calls);
    assert_eq!(seen.len(), calls.len());
    assert_eq!(seen[1]["status"], "blocked", "{}", seen[1]);
    assert_eq!(seen[2]["status"], "blocked", "{}", seen[2]);
    assert_eq!(seen[3]["output"], "[]");
    assert!(seen[6]["error"].as_str().unwrap().contains("project/x no longer exists"), "{}", seen[6]);
    assert!(home.project().join("kept").exists() && home.project().join("victim").exists());
}

#[test]
fn the_border_of_a_session_is_moved_by_no_command_and_widened_by_a_flag() {
    let home = Home::empty();
    let (thesis, other) = (home.user().join("thesis.txt"), home.user().join("other"));
    std::fs::write(&thesis, "years of work").unwrap();
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("a.o"), "x").unwrap();
    let run = |line: &str| ("terminal", serde_json::json!({ "command": line }));
    let there = |line: &str| ("terminal", serde_json::json!({ "command": line, "workdir": home.user() }));
    let calls = [
        there("rm thesis.txt"),
        there("echo x > thesis.txt"),
        ("write_file", serde_json::json!({ "path": "~/thesis.txt", "content": "x" })),
        run("ln ~/thesis.txt mine && echo x >> mine"),
        run("cp --link ~/thesis.txt mine"),
        run("rm ~/other/a.o"),
        run("cd ~ && ls"),
        run("rm thesis.txt"),
        run("rm *.txt"),
        // What the session makes in a temporary folder it may remove, in a later call, too.
        run("echo x > made.txt"),
        run("rm made.txt"),
    ];
    let seen = results(&home, "", &[], &calls);
    assert_eq!(seen.len(), calls.len());
    for (at, seen) in seen.iter().enumerate() {
        let goes = matches!(at, 6 | 9 | 10);
        assert_eq!(seen["status"] != "blocked", goes, "{:?}: {seen}", calls[at]);
    }
    assert_eq!(std::fs::read_to_string(&thesis).unwrap(), "years of work");
    assert!(!home.user().join("made.txt").exists() && !home.project().join("mine").exists());
    let added = other.display().to_string();
    let seen = results(&home, "", &["--add-dir", &added], &[run("rm ~/other/a.o"), run("rm ~/thesis.txt")]);
    assert_ne!(seen[0]["status"], "blocked", "{}", seen[0]);
    assert_eq!(seen[1]["status"], "blocked", "{}", seen[1]);
    assert!(!other.join("a.o").exists() && thesis.exists());
}

#[test]
fn no_tool_writes_what_the_program_obeys_or_touches_another_backends_files() {
    let home = Home::empty();
    std::os::unix::fs::symlink(home.hermes(), home.project().join("link")).unwrap();
    std::fs::write(home.project().join("key.sh"), "KEY=sk-abcdefghijklmnop1234\n").unwrap();
    let calls = [
        ("write_file", serde_json::json!({"path": "~/.hermes/trusted.yaml", "content": "x: 1\n"})),
        ("write_file", serde_json::json!({"path": "link/plugins/p/main.py", "content": "x"})),
        ("terminal", serde_json::json!({"command": "cp key.sh ../home/.hermes/"})),
        ("write_file", serde_json::json!({"path": "key.sh", "content": "KEY=«redacted:sk-…»\n"})),
    ];
    for seen in results(&home, "", &["--yolo"], &calls[..3]) {
        assert_eq!(seen["status"], "blocked", "{seen}");
    }
    let seen = results(&home, "", &["--yolo"], &calls[3..]);
    assert!(seen[0]["error"].as_str().unwrap().contains("is a mask for a secret"), "{}", seen[0]);
    let calls = [("write_file", serde_json::json!({"path": "new.txt", "content": "x"}))];
    let seen = results(&home, "terminal:\n  backend: docker\n", &["--yolo"], &calls);
    assert!(seen[0]["error"].as_str().unwrap().contains("is unavailable"), "{}", seen[0]);
    let names = |folder: &std::path::Path| {
        let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&home.project()), ["key.sh", "link"]);
    assert!(!names(&home.hermes()).iter().any(|name| name == "trusted.yaml" || name == "plugins" || name == "key.sh"));
}

#[test]
fn known_secrets_reach_neither_model_nor_disk_nor_export() {
    let mut home = Home::empty();
    let (known, exported) = ("plain-looking-4711", "another-value-0815");
    std::fs::write(home.hermes().join(".env"), format!("MY_SERVICE_TOKEN={known}\n")).unwrap();
    home.set("DEPLOY_SECRET", exported);
    home.set("HERMES_LOG", "trace");
    std::fs::write(home.project().join("notes.txt"), format!("one\nuse {known} or {exported}\n")).unwrap();
    let mock = Mock::start(vec![
        Step::Calls(
            format!("I try {known}."),
            vec![
                ("read_file".into(), serde_json::json!({"path": "notes.txt"})),
                ("terminal".into(), serde_json::json!({"command": "cat notes.txt"})),
            ],
        ),
        Step::Calls(
            String::new(),
            vec![("terminal".into(), serde_json::json!({"command": format!("echo {exported}")}))],
        ),
        Step::Text("Done.".into()),
    ]);
    home.model(&mock, "");
    let done = soon(&home, &["-p", &format!("deploy with {known}")]);
    assert!(done.status.success(), "{}{}", out(&done), err(&done));
    let requests = mock.requests();
    let sent = serde_json::to_string(&requests).unwrap();
    assert!(
        sent.contains("one") && sent.contains("«redacted:known secret…»") && sent.contains("deploy with"),
        "{sent}"
    );
    let found: Value = serde_json::from_str(&out(&home.run(&["sessions", "search", "deploy", "--json"]))).unwrap();
    let id = found[0]["session_id"].as_str().unwrap();
    let export = out(&home.run(&["sessions", "export", id, "--format", "jsonl"]));
    assert!(export.contains("deploy with"));
    let mut kept = vec![("the requests".to_owned(), sent.into_bytes()), ("the export".to_owned(), export.into_bytes())];
    let mut folders = vec![home.hermes()];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                // What an undo restores from holds files as they are, for their owner alone.
                folders.extend((!path.ends_with("history")).then_some(path));
            } else if path.is_file() && !path.ends_with(".env") {
                kept.push((path.display().to_string(), std::fs::read(&path).unwrap()));
            }
        }
    }
    for (place, bytes) in kept {
        for secret in [known, exported] {
            assert!(!bytes.windows(secret.len()).any(|at| at == secret.as_bytes()), "{place} holds {secret}");
        }
    }
}

#[test]
fn a_name_that_was_mended_and_a_call_that_did_not_run_are_told_on_standard_error() {
    let home = Home::empty();
    let done = soon(&home, &["tools", "run", "Terminal", r#"{"command":"echo hi"}"#]);
    assert_eq!(done.status.code(), Some(0), "{}{}", out(&done), err(&done));
    assert!(err(&done).contains("no tool named Terminal; using terminal"), "{}", err(&done));
    let quiet = soon(&home, &["tools", "run", "terminal", r#"{"command":"echo hi"}"#]);
    assert!(!err(&quiet).contains("; using"), "{}", err(&quiet));
    let mock = Mock::start(vec![
        Step::Calls(String::new(), vec![("terminal".into(), serde_json::json!({"command": "rm -rf build"}))]),
        Step::Text("I could not.".into()),
    ]);
    home.model(&mock, "");
    let done = soon(&home, &["-p", "clean"]);
    assert_eq!((done.status.code(), out(&done).trim()), (Some(2), "I could not."));
    assert!(err(&done).contains("terminal rm -rf build did not run: not run: it needs approval"), "{}", err(&done));
}

#[test]
fn secrets_of_a_project_do_not_reach_the_model() {
    let home = Home::empty();
    let first = "project-value-4711";
    let later = "later-value-0815x";
    std::fs::write(home.project().join(".env"), format!("STRIPE_SECRET_KEY={first}\nNAME=plain-name-1234\n")).unwrap();
    std::fs::write(home.project().join("notes.txt"), format!("{first} plain-name-1234\n")).unwrap();
    let make = format!("printf 'API_TOKEN=%s\\n' {later} > .env.local");
    let calls = [
        ("terminal", serde_json::json!({"command": "cat notes.txt"})),
        ("terminal", serde_json::json!({"command": make})),
        ("terminal", serde_json::json!({"command": format!("printf '%s\\n' later-value-0815 | sed 's/$/x/'")})),
    ];
    let seen = results(&home, "", &["--yolo"], &calls);
    let text = serde_json::to_string(&seen).unwrap();
    assert!(text.contains("plain-name-1234") && !text.contains(first), "{text}");
    assert!(home.project().join(".env.local").exists() && !text.contains(later), "{text}");
}

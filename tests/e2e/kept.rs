//! A secret that calls touched is in nothing that is kept, sent or exported, but in the bytes that a rewind needs.

use super::doors::soon;
use crate::harness::home::{err, out};
use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term, until};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const TOKEN: &str = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8";
const PASSWORD: &str = "Wahlscheid-7-Birnen";

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => all.extend(files(&entry.path())),
            Ok(kind) if kind.is_file() => all.push(entry.path()),
            _ => {}
        }
    }
    all
}

fn holds(bytes: &[u8]) -> Option<&'static str> {
    [TOKEN, PASSWORD].into_iter().find(|secret| bytes.windows(secret.len()).any(|part| part == secret.as_bytes()))
}

#[test]
fn a_secret_that_calls_touched_is_in_nothing_that_is_kept_or_exported() {
    let home = Home::empty();
    let env = format!("PORT=80\nGITHUB_TOKEN={TOKEN}\nDATABASE_URL=postgres://app:{PASSWORD}@db/app\nDEBUG=0\n");
    fs::write(home.project().join(".env"), &env).unwrap();
    let steps = [
        call("read_file", json!({"path": ".env"})),
        call("patch", json!({"path": ".env", "old_string": "DEBUG=0", "new_string": "DEBUG=1"})),
        call("write_file", json!({"path": "notes.txt", "content": format!("the token is {TOKEN}\n")})),
        call("terminal", json!({"command": "cat .env; echo; cat .env >&2"})),
        call("terminal", json!({"command": format!("echo {TOKEN} | wc -c")})),
        call("search_files", json!({"pattern": "DATABASE", "path": ".env"})),
        call("todo", json!({"todos": [{"id": "1", "content": format!("use {PASSWORD}"), "status": "pending"}]})),
    ];
    let steps = steps.map(|step| Step::Calls(format!("It uses {TOKEN}."), vec![step]));
    let mock = Mock::start(steps.into_iter().chain([Step::Text("Done.".into())]).collect());
    home.model(&mock, "approvals: { mode: \"off\" }\n");
    let done = soon(&home, &["-p", "look at the settings"]);
    assert!(done.status.success(), "{}{}", out(&done), err(&done));
    let after = fs::read_to_string(home.project().join(".env")).unwrap();
    assert_eq!(after, env.replace("DEBUG=0", "DEBUG=1"), "the file itself has what it had");

    let mut kept: Vec<(String, Vec<u8>)> = vec![("stderr".into(), done.stderr)];
    let listed: Value = serde_json::from_str(&out(&soon(&home, &["sessions", "list", "--json"]))).unwrap();
    let id = listed.pointer("/sessions/0/id").and_then(Value::as_str);
    let id = id.unwrap_or_else(|| panic!("{listed}"));
    for format in ["md", "jsonl", "html", "sharegpt"] {
        let done = soon(&home, &["sessions", "export", "--format", format, id]);
        assert!(done.status.success(), "{format}: {}{}", out(&done), err(&done));
        assert!(out(&done).contains("DEBUG=1"), "{format} has the change: {}", out(&done));
        kept.push((format.to_owned(), done.stdout));
    }
    // What the model said by itself it has said: the requests are looked at for what results gave away.
    for request in mock.requests() {
        let results = request["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "tool");
        kept.extend(results.map(|result| ("a result".to_owned(), result.to_string().into_bytes())));
    }
    let mut exact = 0;
    for file in files(&home.hermes()) {
        let bytes = fs::read(&file).unwrap();
        let name = file.strip_prefix(home.hermes()).unwrap().display().to_string();
        if name.starts_with("history/") {
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700), "{name}");
            exact += usize::from(holds(&bytes).is_some());
        } else {
            kept.push((name, bytes));
        }
    }
    assert!(exact > 0, "a rewind needs the bytes of the file");
    assert!(kept.iter().any(|(name, _)| name.contains("state.db")), "the store was looked at");
    for (name, bytes) in &kept {
        assert_eq!(holds(bytes), None, "{name}: {}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn a_secret_that_was_typed_is_in_no_history_queue_or_draft() {
    let slow = Step::Slow("a slow answer ".repeat(400), std::time::Duration::from_millis(20));
    let mock = Mock::start(vec![slow]);
    let home = Home::with(&mock, "");
    fs::write(home.project().join(".env"), format!("SERVICE_TOKEN={PASSWORD}\n")).unwrap();
    let mut term = Term::start(&home, &[]);
    term.wait("❯");
    term.send(&format!("the first prompt uses {PASSWORD}\r")).wait("a slow answer");
    term.send(&format!("the second prompt uses {PASSWORD}\r")).wait("queued");
    term.send(&format!("half a draft uses {TOKEN} {PASSWORD}"));
    let all = || files(&home.hermes()).into_iter().filter_map(|file| Some((fs::read(&file).ok()?, file)));
    let kept = |text: &str| all().any(|(bytes, _)| bytes.windows(text.len()).any(|part| part == text.as_bytes()));
    for text in ["first prompt", "second prompt", "half a draft"] {
        until("it is on the disk", || kept(text));
    }
    // The screen has what was typed.
    term.wait(PASSWORD);
    term.kill();
    // Copies of files for an undo are exact (docs/SECURITY.md): that folder is no place for what was typed, either.
    let copies = home.hermes().join("history");
    for (bytes, file) in all().filter(|(_, file)| !file.starts_with(&copies)) {
        assert_eq!(holds(&bytes), None, "{}", file.display());
    }
}

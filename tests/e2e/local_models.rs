//! Models that run on this computer, from the card of the first start to the server that outlives a killed program.

use crate::harness::{Home, Hub, MODEL, Manner, Served, Term, has, until};
use serde_json::json;
use std::path::Path;

/// A home without a model, with a hub and a stand-in for llama.cpp's server.
fn home(hub: &Hub) -> (Home, Served) {
    let mut home = Home::empty();
    let served = Served::in_home(&home);
    home.config(&served.config());
    hub.offer(&mut home);
    (home, served)
}

/// The program with its card, and the model to get selected on it.
fn card(home: &Home, row: &str) -> Term {
    let mut term = Term::sized(home, &[], (120, 45));
    term.wait(row).gone("looking for keys");
    // Keys that came before the card was full get nothing: one that moves shows that it was seen.
    term.send("\x1b[B").shows("the next row", |text| chosen(text, "Other models"));
    term.send("\x1b[A").shows("the first row", |text| chosen(text, row));
    term
}

fn chosen(text: &str, row: &str) -> bool {
    text.lines().any(|line| line.contains("▸") && line.contains(row))
}

fn is_alive(pid: u32) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    state.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
}

#[test]
fn with_one_key_a_model_comes_answers_writes_a_file_and_is_found_again_after_a_kill() {
    if !has("with_one_key_a_model_comes_answers_writes_a_file_and_is_found_again_after_a_kill", "python3") {
        return;
    }
    let hub = Hub::start(300);
    let (home, served) = home(&hub);
    let mut term = card(&home, "Get Tiny Test");
    let said = term.text();
    let host = hub.url().trim_start_matches("http://").to_owned();
    assert!(said.contains("MIT") && said.contains("307 KB") && said.contains(&format!("from {host}")), "{said}");
    assert!(hub.asked().is_empty(), "nothing is fetched before the yes: {:?}", hub.asked());
    term.send("\r").gone("Welcome").wait(&format!("local:{MODEL}"));
    assert_eq!(std::fs::read(home.hermes().join(format!("models/{MODEL}.gguf"))).unwrap(), hub.file());
    let config = || std::fs::read_to_string(home.hermes().join("config.yaml")).unwrap();
    until("the model is written", || config().contains("provider: local"));
    assert!(config().contains(&format!("default: {MODEL}")), "{}", config());
    assert!(served.started().is_empty(), "the first prompt starts the server");
    term.send("say it runs on this machine\r").wait("it runs on this machine");
    // The sidebar knows the server.
    term.shows("the server's line", |text| text.lines().any(|line| line.contains(&format!("● {MODEL}"))));
    let call = json!({ "path": "note.txt", "content": "from a local model\n" });
    term.send(&format!("call write_file {call}\r"));
    term.wait("note.txt").wait("that is done");
    assert_eq!(std::fs::read_to_string(home.project().join("note.txt")).unwrap(), "from a local model\n");
    let [server] = served.started()[..] else { panic!("one server: {:?}", served.started()) };
    assert!(served.heard()[0]["key_in_words"] == json!(false));
    term.kill();
    assert!(is_alive(server), "it is found again, not started anew");
    let mut term = Term::start(&home, &["-c"]);
    term.wait("that is done");
    term.send("say still the same\r").shows("the answer", |text| text.matches("still the same").count() == 2);
    assert_eq!(served.started(), [server], "no second server");
    term.quit();
    assert_eq!(term.ended(), 0);
    until("the server ends with its last user", || !is_alive(server));
    assert!(!home.hermes().join(format!("run/{MODEL}.key")).exists());
}

#[test]
fn a_download_is_paused_gone_on_with_after_a_restart_and_checked() {
    let hub = Hub::start(1000);
    hub.behave(Manner::Holds(400 << 10));
    let (home, _served) = home(&hub);
    let mut term = card(&home, "Get Tiny Test");
    let part = home.hermes().join(format!("models/{MODEL}.gguf.part"));
    term.send("\r").wait("% of 1 MB").wait("Enter pauses");
    until("all that the hub gives", || length(&part) == 400 << 10);
    term.send("\r").wait("paused at").wait("Enter resumes");
    let came = length(&part);
    term.quit();
    assert_eq!(term.ended(), 0);
    // Tomorrow.
    hub.behave(Manner::Wrong);
    let mut term = card(&home, "Resume Tiny Test");
    assert!(term.text().contains("% here"), "{}", term.text());
    term.send("\r").wait("gave another file").wait("Enter tries again");
    let ranges: Vec<_> = hub.asked().into_iter().filter_map(|(_, range)| range).collect();
    assert_eq!(ranges.first(), Some(&format!("bytes={came}-")), "it goes on from there");
    assert!(!home.hermes().join(format!("models/{MODEL}.gguf")).exists());
    hub.behave(Manner::Whole);
    term.send("\r").gone("Welcome").wait(&format!("local:{MODEL}"));
}

#[test]
fn quitting_pauses_and_cancelling_removes_what_came_when_it_is_asked_to() {
    let hub = Hub::start(1000);
    hub.behave(Manner::Holds(400 << 10));
    let (home, _served) = home(&hub);
    let part = home.hermes().join(format!("models/{MODEL}.gguf.part"));
    let mut term = card(&home, "Get Tiny Test");
    term.send("\r").wait("% of 1 MB");
    until("something comes", || length(&part) > 0);
    term.quit();
    assert_eq!(term.ended(), 0);
    assert!(length(&part) > 0, "what came stays");
    let mut term = card(&home, "Resume Tiny Test");
    term.send("\r").wait("Enter pauses");
    term.send("\x1b[3~").wait("Cancel the download");
    term.send("y\r").gone("Cancel the download").wait("Get Tiny Test");
    until("the part is gone", || !part.exists());
}

#[test]
fn a_prompt_waits_for_the_model_comes_back_and_is_sent_when_it_is_there() {
    if !has("a_prompt_waits_for_the_model_comes_back_and_is_sent_when_it_is_there", "python3") {
        return;
    }
    let hub = Hub::start(1000);
    hub.behave(Manner::Holds(400 << 10));
    let (home, _served) = home(&hub);
    let mut term = card(&home, "Get Tiny Test");
    term.send("\r").wait("Enter pauses");
    term.send("say it was worth the wait\r").wait("queued 1").wait("sent when the model is here · Esc takes it back");
    term.send("\x1b").gone("queued 1").wait("say it was worth the wait");
    term.send("\r").wait("queued 1");
    let part = home.hermes().join(format!("models/{MODEL}.gguf.part"));
    until("all that the hub gives", || length(&part) == 400 << 10);
    term.kill();
    // What waited is the draft again: nothing can be sent before a model is there.
    let mut term = Term::sized(&home, &[], (120, 45));
    term.wait("Resume Tiny Test").wait("say it was worth the wait");
    assert!(!term.text().contains("queued 1"), "{}", term.text());
    term.send("\x03").gone("say it was worth the wait");
    term.send("\x1b[B").shows("the next row", |text| chosen(text, "Other models"));
    term.send("\x1b[A\r").wait("Enter pauses");
    term.send("say it was worth the wait\r").wait("queued 1");
    hub.behave(Manner::Whole);
    let both = |text: &str| text.matches("it was worth the wait").count() >= 2;
    term.gone("Welcome").gone("queued 1").shows("the answer", both);
}

#[test]
fn a_name_that_does_not_exist_is_refused_at_once_with_what_does() {
    let hub = Hub::start(300);
    let (home, _served) = home(&hub);
    assert!(home.run(&["models", "get", MODEL, "--yes"]).status.success());
    let mut term = Term::sized(&home, &[], (140, 45));
    term.wait(&format!("local:{MODEL}"));
    term.send("/model tiny-tst\r").wait(&format!("no model is named tiny-tst: did you mean {MODEL}?"));
    term.send("/login foo\r").wait("no provider is named foo: /login lists all");
    term.send("/local nosuch\r").wait(&format!("no model for this computer is named nosuch: there is {MODEL}"));
    assert!(term.text().contains(&format!("local:{MODEL}")), "the model stays:\n{}", term.text());
}

#[test]
fn the_doctor_and_plain_lines_say_what_is_here_and_what_to_do() {
    let hub = Hub::start(300);
    let (home, _served) = home(&hub);
    let said = |args: &[&str]| String::from_utf8_lossy(&home.run(args).stdout).into_owned();
    let plain = said(&["--plain"]);
    assert!(
        plain.contains("[no model is chosen yet") && plain.contains("[local models: none on this computer"),
        "{plain}"
    );
    assert!(plain.contains("hermes models get fetches one") && plain.contains("[engine: "), "{plain}");
    assert!(home.run(&["models", "get", MODEL, "--yes"]).status.success());
    for text in [said(&["doctor"]), said(&["--plain"])] {
        assert!(text.contains(&format!("{MODEL} (307 KB), 307 KB in ")), "{text}");
        assert!(text.contains("llama-server; not running, the first prompt starts it"), "{text}");
    }
    std::fs::remove_file(home.hermes().join(format!("models/{MODEL}.gguf"))).unwrap();
    let text = said(&["doctor"]);
    assert!(text.contains(&format!("your default model {MODEL} is not here")), "{text}");
    assert!(text.contains(&format!("→ hermes models get {MODEL}")), "{text}");
}

fn length(file: &Path) -> u64 {
    std::fs::metadata(file).map_or(0, |about| about.len())
}

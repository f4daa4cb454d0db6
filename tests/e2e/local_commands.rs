//! `hermes models` for models of this computer, and what goes wrong with them.

use crate::harness::{Home, Hub, MODEL, Manner, Served, has, until};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Output};

/// A home whose model and engine are stand-ins; nothing is fetched yet.
fn home(hub: &Hub, more: &str) -> (Home, Served) {
    let mut home = Home::empty();
    let served = Served::in_home(&home);
    home.config(&format!("{}{more}", served.config()));
    hub.offer(&mut home);
    (home, served)
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The same with the model on the shelf and chosen.
fn ready(hub: &Hub) -> (Home, Served) {
    let (home, served) = home(hub, "");
    let got = home.run(&["models", "get", MODEL, "--yes"]);
    assert!(got.status.success(), "{}", said(&got));
    (home, served)
}

fn ask(home: &Home, prompt: &str) -> Output {
    home.run(&["-p", prompt, "-m", &format!("local:{MODEL}")])
}

fn skipped(test: &str) -> bool {
    !has(test, "python3")
}

#[test]
fn a_model_is_listed_got_used_and_removed() {
    if skipped("a_model_is_listed_got_used_and_removed") {
        return;
    }
    let hub = Hub::start(300);
    let (home, served) = home(&hub, "");
    let list = said(&home.run(&["models", "list", "--local"]));
    assert!(list.contains(MODEL) && list.contains("MIT") && list.contains("best for this computer"), "{list}");
    // Nobody said yes.
    let asked = home.run(&["models", "get"]);
    assert!(!asked.status.success() && said(&asked).contains("pass --yes"), "{}", said(&asked));
    assert!(said(&asked).contains("Tiny Test · 307 KB · MIT · from 127.0.0.1"), "{}", said(&asked));
    assert!(hub.asked().is_empty());

    let got = said(&home.run(&["models", "get", "-y"]));
    assert!(got.contains("Tiny Test is here") && got.contains("your default model now"), "{got}");
    assert!(said(&home.run(&["models", "get", MODEL])).contains("is here already"));
    let rows: Value = serde_json::from_slice(&home.run(&["models", "list", "--local", "--json"]).stdout).unwrap();
    assert_eq!(rows["models"][0]["state"], "here");
    assert!(said(&home.run(&["models", "list"])).contains(&format!("local:{MODEL}")));

    let answer = home.run(&["-p", "say hello from here"]);
    assert_eq!(String::from_utf8_lossy(&answer.stdout).trim(), "hello from here", "{}", said(&answer));
    let [server] = served.started()[..] else { panic!("{:?}", served.started()) };
    until("the server ends with its last user", || !std::path::Path::new(&format!("/proc/{server}/cmdline")).exists());
    assert!(!home.hermes().join(format!("run/{MODEL}.key")).exists(), "no key stays");

    let removed = home.run(&["models", "remove", MODEL, "--yes"]);
    assert!(said(&removed).contains(&format!("removed {MODEL}")), "{}", said(&removed));
    let gone = ask(&home, "say x");
    assert!(!gone.status.success() && said(&gone).contains(&format!("hermes models get {MODEL}")), "{}", said(&gone));
}

#[test]
fn a_file_of_ones_own_and_one_of_a_repository_are_models_too() {
    let hub = Hub::start(64);
    let (home, _served) = home(&hub, "");
    let mine = home.user().join("My Model.gguf");
    std::fs::write(&mine, hub.file()).unwrap();
    let got = said(&home.run(&["models", "get", mine.to_str().unwrap()]));
    assert!(got.contains("my-model is") && got.contains("stays where it is"), "{got}");
    std::fs::write(home.user().join("page.gguf"), "<html>not found</html>").unwrap();
    let no = said(&home.run(&["models", "get", home.user().join("page.gguf").to_str().unwrap()]));
    assert!(no.contains("not a model in the GGUF format"), "{no}");

    let got = said(&home.run(&["models", "get", "tests/tiny:tiny", "--yes"]));
    assert!(got.contains("tiny.gguf of tests/tiny") && got.contains("mit") && got.contains("is here"), "{got}");
    let unknown = said(&home.run(&["models", "get", "tests/other:x", "--yes"]));
    assert!(unknown.contains("tests/other"), "{unknown}");
    let unknown = said(&home.run(&["models", "get", "nobody", "--yes"]));
    assert!(unknown.contains("unknown model \"nobody\"") && unknown.contains("REPO:FILE"), "{unknown}");
    let list = said(&home.run(&["models", "list", "--local"]));
    assert!(list.contains("my-model") && list.contains("your file"), "{list}");
    assert!(said(&home.run(&["models", "remove", "my-model", "-y"])).contains("removed my-model"));
    assert!(mine.exists());
}

#[test]
fn a_wrong_file_and_a_hub_that_refuses_leave_nothing_behind() {
    let hub = Hub::start(300);
    let (home, _served) = home(&hub, "");
    hub.behave(Manner::Wrong);
    let wrong = home.run(&["models", "get", MODEL, "-y"]);
    assert!(!wrong.status.success() && said(&wrong).contains("its SHA-256 is"), "{}", said(&wrong));
    for (status, words) in [(403, "HF_TOKEN"), (404, "does not have this file"), (500, "answered 500")] {
        hub.behave(Manner::Refuses(status));
        let refused = home.run(&["models", "get", MODEL, "-y"]);
        let text = said(&refused);
        assert!(!refused.status.success() && text.contains(words) && text.contains("models.mirror"), "{text}");
    }
    assert!(!home.hermes().join(format!("models/{MODEL}.gguf")).exists());
    hub.behave(Manner::Whole);
    assert!(home.run(&["models", "get", MODEL, "-y"]).status.success());
}

#[test]
fn an_engine_that_ends_says_what_to_do() {
    if skipped("an_engine_that_ends_says_what_to_do") {
        return;
    }
    let hub = Hub::start(64);
    let (home, served) = ready(&hub);
    for (settings, words) in [
        (json!({"dies": "error loading model: unable to allocate CPU buffer"}), "does not fit into memory"),
        (json!({"signal": 4}), "instructions that this processor does not have"),
        (json!({"signal": 9}), "was killed (signal 9)"),
        (json!({"dies": "unknown model architecture: 'new'"}), "too old for Tiny Test (new)"),
        (
            json!({"dies": "tensor data is not within the file bounds, model is corrupted or incomplete"}),
            "hermes models remove",
        ),
        (json!({"dies": "error: invalid argument: --jinja"}), "update llama.cpp"),
        (json!({"dies": "something else"}), "something else (log: "),
    ] {
        served.behave(&settings);
        let answer = ask(&home, "say x");
        assert!(!answer.status.success() && said(&answer).contains(words), "{settings}: {}", said(&answer));
    }
    // It ended in the middle of an answer: the next try starts another one.
    served.behave(&json!({}));
    assert_eq!(String::from_utf8_lossy(&ask(&home, "say back again").stdout).trim(), "back again");
}

#[test]
fn a_port_that_somebody_takes_is_tried_again() {
    if skipped("a_port_that_somebody_takes_is_tried_again") {
        return;
    }
    let hub = Hub::start(64);
    let (home, served) = ready(&hub);
    served.behave(&json!({"dies": "couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 1"}));
    let answer = ask(&home, "say x");
    assert!(said(&answer).contains("no free port"), "{}", said(&answer));
    assert_eq!(served.started().len(), 3);
}

/// `hermes models serve`, once it answers: the process, and what it goes on to print.
fn serve(home: &Home) -> (Child, BufReader<ChildStdout>) {
    let mut child = home.command(&["models", "serve"]).spawn().unwrap();
    let mut line = String::new();
    let mut printed = BufReader::new(child.stdout.take().unwrap());
    printed.read_line(&mut line).unwrap();
    let address = line.trim().rsplit(' ').next().unwrap_or_default().to_owned();
    assert!(address.starts_with("http://127.0.0.1:"), "{line}");
    (child, printed)
}

#[test]
fn one_server_is_shared_and_ends_by_order() {
    if skipped("one_server_is_shared_and_ends_by_order") {
        return;
    }
    let hub = Hub::start(64);
    let (home, served) = ready(&hub);
    let (mut child, _printed) = serve(&home);
    assert_eq!(String::from_utf8_lossy(&ask(&home, "say shared").stdout).trim(), "shared");
    assert_eq!(served.started().len(), 1, "the other program uses the same server");
    let busy = said(&home.run(&["models", "remove", MODEL, "-y"]));
    assert!(busy.contains("is running"), "{busy}");
    assert!(said(&home.run(&["models", "list", "--local"])).contains("running"));
    // Killed, it leaves the server, which the next one finds.
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(String::from_utf8_lossy(&ask(&home, "say found").stdout).trim(), "found");
    assert_eq!(served.started().len(), 1);
    let (mut child, _printed) = serve(&home);
    assert!(said(&home.run(&["models", "stop"])).contains(&format!("stopped {MODEL}")));
    let ended = child.wait().unwrap();
    assert!(!ended.success(), "it says that its server has ended");
    assert!(said(&home.run(&["models", "stop"])).contains("no model is running"));
}

#[test]
fn a_test_says_what_a_model_can_do_and_small_ones_get_little() {
    if skipped("a_test_says_what_a_model_can_do_and_small_ones_get_little") {
        return;
    }
    let hub = Hub::start(64);
    let (home, served) = ready(&hub);
    let tested = said(&home.run(&["models", "test", &format!("local:{MODEL}")]));
    assert!(tested.contains("fewer tools and shorter texts"), "{tested}");
    let before = served.heard().len();
    ask(&home, "say ok");
    let request = served.heard().into_iter().skip(before).find(|heard| heard.get("request").is_some()).unwrap();
    let body = &request["request"];
    assert!(body["tools"].as_array().is_none_or(|tools| tools.len() <= 8), "{body}");
    assert!(body["grammar"].is_string(), "calls are held by a grammar: {body}");
    let weight = body.to_string().len();
    assert!(weight / 4 <= 1_600, "about {} tokens", weight / 4);
}

#[test]
fn a_server_that_loads_for_ever_can_be_stopped() {
    if skipped("a_server_that_loads_for_ever_can_be_stopped") {
        return;
    }
    let hub = Hub::start(64);
    let (home, served) = ready(&hub);
    served.behave(&json!({"hangs": true}));
    let mut child = home.command(&["-p", "say x", "-m", &format!("local:{MODEL}")]).spawn().unwrap();
    until("the server is started", || served.started().len() == 1);
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let ended = child.wait().unwrap();
    assert!(!ended.success());
    until("its server is gone too", || {
        served.started().iter().all(|pid| !std::path::Path::new(&format!("/proc/{pid}/cmdline")).exists())
    });
}

//! The card of a start without a model, up to the first answer.

use crate::harness::{Home, Mock, Step, Term, UNTESTED, has, until};
use std::os::unix::fs::PermissionsExt as _;

/// A home without a model whose OpenRouter is this server.
fn bare(mock: &Mock) -> Home {
    let mut home = Home::empty();
    home.set("OPENROUTER_BASE_URL", &format!("{}/v1", mock.url()));
    home.config(UNTESTED);
    home
}

/// Takes the row of a provider.
fn choose(term: &mut Term, name: &str) {
    select(term, name);
    term.send("\r").wait(&format!("Key for {name}"));
}

/// Selects a row of the card.
fn select(term: &mut Term, name: &str) {
    term.wait("Without an account").gone("looking for keys");
    let chosen = |text: &str, row: &str| text.lines().any(|line| line.trim_start().starts_with(&format!("▸ {row}")));
    for _ in 0..40 {
        let before = term.text();
        if chosen(&before, name) {
            return;
        }
        term.send("\x1b[B").shows("the selection moves", |text| *text != before);
    }
    panic!("{name} can't be reached:\n{}", term.text());
}

fn env_file(home: &Home) -> String {
    let file = home.hermes().join(".env");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::read_to_string(&file).unwrap()
}

#[test]
fn a_pasted_key_is_tried_once_stored_and_used() {
    let mock = Mock::start(vec![Step::Text("ok".into()), Step::Text("a first answer".into())]);
    let home = bare(&mock);
    let mut term = Term::start(&home, &[]);
    term.wait("Nothing is sent anywhere until you choose");
    choose(&mut term, "OpenRouter");
    term.paste("sk-or-pasted-key").wait("••••");
    assert_eq!(mock.count(), 0, "nothing is sent before Enter");
    assert!(!term.text().contains("sk-or"), "the key shows:\n{}", term.text());
    // One live call, then the models of the provider.
    term.send("\r").wait("mock-model");
    assert_eq!(mock.keys(), ["Bearer sk-or-pasted-key"]);
    assert_eq!(env_file(&home), "OPENROUTER_API_KEY=sk-or-pasted-key\n");
    term.send("\r").gone("Welcome");
    term.send("hello\r").wait("a first answer");
    assert_eq!(mock.keys().last().unwrap(), "Bearer sk-or-pasted-key");
    // Tomorrow it starts with the same.
    term.quit();
    assert_eq!(term.ended(), 0);
    let term = Term::start(&home, &[]);
    term.wait("mock-model");
    assert!(!term.text().contains("Welcome"));
    assert!(!String::from_utf8_lossy(&term.raw()).contains("sk-or-pasted"));
}

#[test]
fn a_refused_key_is_told_and_stored_all_the_same() {
    let refusal = r#"{"error":{"message":"no such key"}}"#;
    let mock = Mock::start(vec![Step::Error(401, refusal.into(), None), Step::Text("works by now".into())]);
    let home = bare(&mock);
    home.config(&format!("# mine\ndisplay:\n  skin: slate # quiet\n{UNTESTED}"));
    std::fs::write(home.hermes().join(".env"), "# other keys\nMY_OTHER_KEY=stays\n").unwrap();
    let mut term = Term::start(&home, &[]);
    choose(&mut term, "OpenRouter");
    term.paste("sk-or-not-yet-active\n");
    // With or without the line's end in the paste.
    term.send("\r").wait("Esc cancels");
    let said = term.text();
    assert!(said.contains("key"), "{said}");
    let env = std::fs::read_to_string(home.hermes().join(".env")).unwrap();
    assert!(!env.contains("OPENROUTER"), "not stored before it is asked for: {env}");
    term.send("\r").wait("mock-model");
    assert_eq!(env_file(&home), "# other keys\nMY_OTHER_KEY=stays\nOPENROUTER_API_KEY=sk-or-not-yet-active\n");
    term.send("\r").gone("Welcome");
    term.send("hello\r").wait("works by now");
    let config = || std::fs::read_to_string(home.hermes().join("config.yaml")).unwrap();
    until("the model is written", || config().contains("mock-model"));
    assert!(config().contains("# mine") && config().contains("skin: slate # quiet"), "{}", config());
}

#[test]
fn an_unreachable_provider_is_no_wall_either() {
    let mut home = Home::empty();
    home.set("OPENROUTER_BASE_URL", "http://127.0.0.1:9/v1");
    let mut term = Term::start(&home, &[]);
    choose(&mut term, "OpenRouter");
    term.paste("sk-or-offline");
    term.send("\r").wait("Esc cancels");
    term.send("\r").gone("Key for");
    assert_eq!(env_file(&home), "OPENROUTER_API_KEY=sk-or-offline\n");
}

#[test]
fn a_server_that_was_found_answers_after_one_key() {
    let mock = Mock::start(vec![Step::Text("from your own server".into())]);
    let mut home = Home::empty();
    home.set("LM_BASE_URL", &format!("{}/v1", mock.url()));
    for size in [(140, 45), (100, 30), (60, 20)] {
        home.config(UNTESTED);
        mock.push(vec![Step::Text("from your own server".into())]);
        let mut term = Term::sized(&home, &[], size);
        let port = mock.url().rsplit(':').next().unwrap_or_default().to_owned();
        select(&mut term, &format!("server on port {port}"));
        term.send("\r").gone("Welcome");
        term.send("hello\r").wait("from your own server");
        let config = std::fs::read_to_string(home.hermes().join("config.yaml")).unwrap();
        assert!(config.contains("mock-model") && config.contains(&mock.url()), "{config}");
        term.quit();
        assert_eq!(term.ended(), 0);
    }
    // Tomorrow it starts with the same.
    let term = Term::start(&home, &[]);
    term.wait("custom:mock-model");
}

#[test]
fn an_address_can_be_given_in_the_program() {
    let mock = Mock::start(vec![Step::Text("from that address".into())]);
    let home = Home::empty();
    home.config(UNTESTED);
    let mut term = Term::start(&home, &[]);
    select(&mut term, "My own server");
    term.send("\r").wait("Address of your server");
    term.send("127.0.0.1:9\r").wait("no answer from http://127.0.0.1:9/v1");
    term.send("\x15");
    term.send(mock.url().trim_start_matches("http://")).send("\r").gone("Welcome");
    term.send("hello\r").wait("from that address");
}

/// No list of models or providers is a dead end: without a key and a server it still leads to both, and to a model of one's own.
#[test]
fn the_model_picker_without_models_leads_on() {
    let home = Home::empty();
    let mut term = Term::start(&home, &[]);
    term.wait("Nothing is sent anywhere");
    term.send("/model \r").wait("My own server…").wait("A provider…").wait("Get another model for this computer…");
    term.send("zzzz").wait("My own server…");
    term.send("\x1b[B\x1b[B\r").wait("Address of your server");
}

#[test]
fn the_demo_offers_its_scenes_and_a_click_takes_one() {
    let home = Home::empty();
    let mut term = Term::start(&home, &["--demo"]);
    // The facts above are complete: nothing moves any more.
    term.wait("danger: a command that needs approval").wait(" skills").wait(" ready");
    let row = term.text().lines().position(|line| line.contains("ask: the model")).unwrap() + 1;
    term.send(&format!("\x1b[<0;12;{row}M\x1b[<0;12;{row}m"));
    term.shows("it stands in the composer", |text| text.matches("ask: the model").count() == 2);
    term.send("\r").wait("What should the greeter say?");
}

/// A stand-in for `ollama`: it answers where `OLLAMA_BASE_URL` says, and notes its number.
const OLLAMA: &str = r#"#!/usr/bin/env python3
import http.server, json, os, sys
assert sys.argv[1:] == ["serve"] and "SECRET_API_KEY" not in os.environ
port = int(os.environ["OLLAMA_BASE_URL"].split(":")[2].split("/")[0])
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass
    def do_GET(self):
        known = {"/api/tags": {"models": [{"name": "qwen3:4b"}]}, "/v1/models": {"data": [{"id": "qwen3:4b"}]}}
        body = json.dumps(known.get(self.path, {})).encode()
        self.send_response(200 if self.path in known else 404)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
with open(os.environ["OLLAMA_PID"], "w") as file:
    file.write(str(os.getpid()))
server.serve_forever()
"#;

/// The process of the stand-in; ends with the test.
struct Ollama(std::path::PathBuf);

impl Drop for Ollama {
    fn drop(&mut self) {
        let pid = std::fs::read_to_string(&self.0).unwrap_or_default();
        if let Some(pid) = pid.trim().parse().ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}

#[test]
fn an_ollama_that_is_installed_is_named_and_started_after_a_yes() {
    if !has("an_ollama_that_is_installed_is_named_and_started_after_a_yes", "python3") {
        return;
    }
    let mut home = Home::empty();
    home.config(UNTESTED);
    let (bin, pid) = (home.user().join("bin"), home.user().join("ollama.pid"));
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::write(bin.join("ollama"), OLLAMA).unwrap();
    std::fs::set_permissions(bin.join("ollama"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    home.set("PATH", &format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default()));
    home.set("OLLAMA_BASE_URL", &format!("http://127.0.0.1:{port}/v1"));
    home.set("OLLAMA_PID", &pid.display().to_string());
    home.set("SECRET_API_KEY", "of nobody's business");
    let _ends = Ollama(pid.clone());
    let said = |args: &[&str]| String::from_utf8_lossy(&home.run(args).stdout).into_owned();
    let list = said(&["models", "list", "--local"]);
    assert!(list.contains("Ollama is installed and not running: `ollama serve` starts it"), "{list}");
    let doctor = said(&["doctor"]);
    assert!(doctor.contains("installed, not running") && doctor.contains("`ollama serve` starts it"), "{doctor}");
    let mut term = Term::sized(&home, &[], (120, 45));
    select(&mut term, "Start Ollama");
    term.wait("installed, not running · ollama serve");
    term.send("\r").wait("It runs `ollama serve` in the background");
    assert!(!pid.exists(), "nothing is started before the yes");
    term.send("y\r").wait(&format!("Ollama on port {port}")).gone("Start Ollama");
    select(&mut term, &format!("Ollama on port {port}"));
    term.send("\r").gone("Welcome").wait("qwen3:4b");
    term.quit();
    assert_eq!(term.ended(), 0);
    let number = std::fs::read_to_string(&pid).unwrap();
    assert!(std::path::Path::new(&format!("/proc/{}", number.trim())).exists(), "it goes on");
}

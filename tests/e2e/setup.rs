//! `hermes setup` in a terminal: the questions of the first start in plain lines.

use crate::harness::home::out;
use crate::harness::mock::call;
use crate::harness::{Home, Mock, Portal, Step, Term, UNTESTED};
use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;

/// Takes the row of the menu with this label.
fn choose(term: &mut Term, label: &str) {
    term.wait("Choose a number");
    let text = term.text();
    let row = text.lines().rfind(|line| line.contains(label)).unwrap_or_else(|| panic!("no {label:?} in\n{text}"));
    let number = row.split_whitespace().next().unwrap();
    term.send(&format!("{number}\r"));
}

/// Copies of `config.yaml`.
fn copies(home: &Home) -> Vec<String> {
    let names =
        std::fs::read_dir(home.hermes()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("config.yaml.bak.")).collect()
}

#[test]
fn a_key_is_pasted_tried_and_stored_and_its_model_chosen_and_tested() {
    let booked = call("book_room", json!({"room": "Blue", "people": 3}));
    let steps = vec![
        Step::Text("ok".into()),
        Step::Calls(String::new(), vec![booked]),
        Step::Text("I am a model of a test".into()),
    ];
    let mock = Mock::start(steps);
    let mut home = Home::empty();
    home.set("OPENROUTER_BASE_URL", &format!("{}/v1", mock.url()));
    home.config("# mine\ndisplay:\n  skin: slate\n");
    let mut term = Term::sized(&home, &["setup"], (120, 60));
    term.wait("Nothing is sent anywhere until you choose").wait("Sign in to Nous Portal");
    choose(&mut term, "Paste a key");
    term.wait("Provider:");
    term.send("openrouter\r").wait("Key for OpenRouter:");
    assert_eq!(mock.count(), 0);
    term.send("sk-or-typed\r").wait("stored the key in").wait("[mock-model]:");
    assert_eq!(mock.keys(), ["Bearer sk-or-typed"]);
    term.send("\r").wait("calls tools").wait("openrouter:mock-model is your default model now");
    assert_eq!(term.ended(), 0);
    assert_eq!(mock.count(), 3, "one for the key, two for the model");
    assert!(!String::from_utf8_lossy(&term.raw()).contains("sk-or-typed"));
    let env = home.hermes().join(".env");
    assert_eq!(std::fs::read_to_string(&env).unwrap(), "OPENROUTER_API_KEY=sk-or-typed\n");
    assert_eq!(std::fs::metadata(&env).unwrap().permissions().mode() & 0o777, 0o600);
    let config = std::fs::read_to_string(home.hermes().join("config.yaml")).unwrap();
    assert!(config.contains("# mine") && config.contains("default: mock-model"), "{config}");
    let [copy] = &copies(&home)[..] else { panic!("one copy: {:?}", copies(&home)) };
    assert_eq!(std::fs::read_to_string(home.hermes().join(copy)).unwrap(), "# mine\ndisplay:\n  skin: slate\n");
    // Once more: Enter keeps it all.
    let mut term = Term::sized(&home, &["setup"], (120, 60));
    term.wait("[Enter keeps openrouter:mock-model]:").wait("OPENROUTER_API_KEY in ~/.hermes/.env");
    term.send("\r").wait("nothing was changed");
    assert_eq!(term.ended(), 0);
    assert_eq!((copies(&home).len(), mock.count()), (1, 3));
}

#[test]
fn an_own_server_and_a_sign_in_are_set_up_and_what_fails_leads_back_to_the_questions() {
    let (mock, portal) = (Mock::start(vec![]), Portal::start());
    let mut home = Home::empty();
    home.set("NOUS_BASE_URL", &format!("{}/v1", mock.url()));
    home.config(&format!("{}{UNTESTED}", portal.config("nous", "device")));
    let mut term = Term::sized(&home, &["setup"], (120, 90));
    choose(&mut term, "My own server");
    term.wait("Address of your server");
    term.send("127.0.0.1:9\r").wait("no answer from http://127.0.0.1:9/v1");
    term.shows("the questions again", |text| text.matches("Choose a number").count() == 2);
    choose(&mut term, "My own server");
    term.shows("the address", |text| text.matches("Address of your server").count() == 2);
    term.send(&format!("{}\r", mock.url().trim_start_matches("http://")));
    term.wait("custom:mock-model is your default model now");
    assert_eq!((term.ended(), mock.count()), (0, 0));
    let mut term = Term::sized(&home, &["setup"], (120, 60));
    term.wait("[Enter keeps custom:mock-model]");
    choose(&mut term, "Sign in to Nous Portal");
    term.wait("WXYZ-1234").wait("signed in to Nous Portal").wait("[mock-model]:");
    term.send("1\r").wait("nous:mock-model is your default model now");
    assert_eq!(term.ended(), 0);
}

#[test]
fn without_a_terminal_it_says_what_to_run_instead() {
    let home = Home::empty();
    for args in [&["setup"][..], &["setup", "--non-interactive"][..]] {
        let done = home.run(args);
        assert_eq!(done.status.code(), Some(1));
        let said = out(&done);
        assert!(said.contains("hermes models get --yes") && said.contains("hermes config set model.default"), "{said}");
    }
    assert!(!home.hermes().join("config.yaml").exists());
}

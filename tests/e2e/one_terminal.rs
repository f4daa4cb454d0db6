//! Every command on one real terminal: what the person sees of it, and what the model reads.

use crate::harness::home::out;
use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term};
use serde_json::{Value, json};

/// The results of tools in the last request.
fn results(mock: &Mock) -> Vec<Value> {
    let request = mock.requests().pop().unwrap();
    let messages = request["messages"].as_array().unwrap().clone();
    let said = messages.iter().filter(|message| message["role"] == "tool");
    said.map(|message| serde_json::from_str(message["content"].as_str().unwrap()).unwrap()).collect()
}

#[test]
fn the_pane_shows_a_terminal_and_the_model_reads_text() {
    let bar = "for n in 10 50 100; do printf '\\r[%*s] %d%%' $((n*9)) '' $n; done; echo";
    let command = format!(
        "[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo a-terminal; stty size | cut -d' ' -f2; printf '%0150d\\n' 7; \
         printf '\\033[1;38;2;1;200;3mgreen\\033[0m\\n'; {bar}; printf '\\033[?1049hmenu\\033[?1049l'; read -p 'Name? ' name; \
         echo hello-$name; read -s -p 'Secret? ' secret; echo; echo ${{#secret}}; stty size | cut -d' ' -f2"
    );
    let mock = Mock::start(vec![
        Step::Calls(String::new(), vec![call("terminal", json!({ "command": command }))]),
        Step::Text("all-is-said".into()),
    ]);
    let home = Home::with(&mock, "approvals:\n  mode: \"off\"\n");
    let mut term = Term::sized(&home, &[], (120, 40));
    term.wait("❯");
    term.send("run it\r").wait("Name?").wait("needs input");
    // The colour is in the pane.
    assert!(String::from_utf8_lossy(&term.raw()).contains("38;2;1;200;3"));
    term.send("\x1b[20~").wait("F9 return");
    term.send("ada\r").wait("hello-ada").wait("Secret?");
    term.send("geheim77\r").wait("all-is-said");
    let output = results(&mock).pop().unwrap()["output"].as_str().unwrap().to_owned();
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(&lines[..2], ["a-terminal", "1000"], "{output}");
    assert_eq!((lines[2].len(), lines[3]), (150, "green"), "{output}");
    assert!(lines[4].ends_with("] 100%") && !output.contains("menu") && !output.contains('\x1b'), "{output}");
    // Neither the echo of the answer nor the secret; the width is the pane's once somebody typed.
    assert_eq!(&lines[5..8], ["Name? hello-ada", "Secret? ", "8"], "{output}");
    assert!(lines[8].parse::<u16>().unwrap() < 120, "{output}");
    assert!(!String::from_utf8_lossy(&term.raw()).contains("geheim77"));
}

#[test]
fn without_a_person_there_is_no_terminal() {
    let command = "[ -t 0 ] || [ -t 1 ] || [ -t 2 ] || echo none; read answer; echo \"read: $?\"; (: </dev/tty) 2>/dev/null || echo no-tty";
    let mock = Mock::start(vec![
        Step::Calls(String::new(), vec![call("terminal", json!({ "command": command }))]),
        Step::Text("all-is-said".into()),
    ]);
    let home = Home::with(&mock, "");
    let done = home.run(&["-p", "go", "--yolo"]);
    assert!(out(&done).contains("all-is-said"));
    assert_eq!(results(&mock).pop().unwrap()["output"], "none\nread: 1\nno-tty");
}

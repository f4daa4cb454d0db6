//! What a person types where programs read keys: programs that echo by themselves ask for nothing and give nothing away,
//! and those that turned the echo off open the masked field.

use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term, skipped};
use serde_json::{Value, json};

const F9: &str = "\x1b[20~";

/// Not in any program's words.
const TYPED: &str = "quetzalcoatl";

fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// The agent runs this command, and the screen shows `sign` of it.
fn running(command: &str, sign: &str) -> (Mock, Home, Term) {
    let mock = Mock::start(vec![
        Step::Calls(String::new(), vec![call("terminal", json!({ "command": command }))]),
        Step::Text("all-is-said".into()),
    ]);
    let home = Home::with(&mock, "approvals:\n  mode: \"off\"\n");
    // High enough for all that is printed.
    let mut term = Term::sized(&home, &[], (120, 100));
    term.wait("❯");
    term.send("run it\r").wait(sign);
    (mock, home, term)
}

/// What the agent read when the command had ended; nothing that it got before or after holds what was typed.
fn told(mock: &Mock, term: &Term) -> Value {
    term.wait("all-is-said");
    let requests = mock.requests();
    for request in requests.iter().map(Value::to_string) {
        let around = request.find(TYPED).map(|at| &request[request.floor_char_boundary(at.saturating_sub(200))..]);
        assert_eq!(around, None, "the agent reads what was typed");
    }
    let messages = requests.last().unwrap()["messages"].as_array().unwrap().clone();
    let answer = messages.iter().rev().find(|message| message["role"] == "tool").unwrap();
    serde_json::from_str(answer["content"].as_str().unwrap()).unwrap()
}

#[test]
fn programs_that_echo_by_themselves_open_no_field_and_their_echo_is_left_out() {
    let python = "python3 -c \"import readline; x = input('your word? '); print('got-%d' % len(x))\"";
    for (program, command) in [
        ("bash", "read -e -p 'your word? ' x; echo got-${#x}"),
        ("python3", python),
        // A client of a database, which keeps its own prompt until it is left.
        ("sqlite3", "sqlite3 -interactive :memory:"),
    ] {
        if !has(program) {
            skipped("e2e::echoes::programs_that_echo_by_themselves", &format!("{program} is not installed"));
            continue;
        }
        let asks = if program == "sqlite3" { "sqlite>" } else { "your word?" };
        let (mock, _home, mut term) = running(command, asks);
        // Long enough for a look at what it waits for: the row says so, and nothing hides what is typed.
        if program != "sqlite3" {
            term.wait("needs input");
        }
        term.send(F9).wait("TAKEN OVER");
        if program == "sqlite3" {
            let line = format!("select 'got-' || length('{TYPED}');");
            term.send(&line).wait(&line);
            term.send("\r").wait(&format!("got-{}", TYPED.len()));
            term.send("\x04");
        } else {
            term.send(TYPED).wait(TYPED);
            assert!(!term.text().contains("asks for a password") && !term.text().contains('•'), "{}", term.text());
            term.send("\r");
        }
        let told = told(&mock, &term);
        assert!(told["output"].as_str().unwrap().contains(&format!("got-{}", TYPED.len())), "{program}: {told}");
        assert_eq!(told["note"], "the user typed into this command's terminal", "{program}");
        // It was seen on the terminal, as everywhere.
        assert!(!String::from_utf8_lossy(&term.raw()).contains("asks for a password"), "{program}");
    }
}

#[test]
fn programs_that_turn_the_echo_off_open_the_masked_field() {
    for (program, command) in [
        ("bash", "read -r -s -p 'your word: ' x; echo; echo got-${#x}"),
        ("python3", "python3 -c \"import getpass; print('got-%d' % len(getpass.getpass('your word: ')))\""),
        ("stty", "stty -echo; printf 'your word: '; IFS= read -r x; stty echo; echo; echo got-${#x}"),
    ] {
        if !has(program) {
            skipped("e2e::echoes::programs_that_turn_the_echo_off", &format!("{program} is not installed"));
            continue;
        }
        let (mock, _home, mut term) = running(command, "asks for a password");
        term.wait("your word:").wait("Ctrl-C no answer");
        term.send(TYPED).wait(&"•".repeat(TYPED.len()));
        term.send("\r").gone("asks for a password");
        let told = told(&mock, &term);
        assert!(told["output"].as_str().unwrap().contains(&format!("got-{}", TYPED.len())), "{program}: {told}");
        assert_eq!(told["note"], "the user typed into this command's terminal", "{program}");
        assert!(!String::from_utf8_lossy(&term.raw()).contains(TYPED), "{program}: it was on the screen");
    }
}

/// Recalled, searched for, edited, completed, pasted and cut over rows: whatever a line editor draws of a typed line.
#[test]
fn lines_that_are_recalled_and_edited_stay_out_of_what_the_agent_reads() {
    // The program, its prompt (spelled so that the command does not show it), a line that it takes, and its answer.
    let python = format!("print('got-%d' % len('{TYPED}'))");
    let sql = format!("select 'got-' || length('{TYPED}');");
    let shell = format!("echo got-$((6*2)); : {TYPED}");
    let answer = "got-12";
    let mut told_of = 0;
    for (program, command, prompt, line) in [
        ("python3", "python3 -q -i", ">>>", &python),
        ("bash", "PS1='pro''mpt> ' bash --norc -i", "prompt>", &shell),
        ("bash", "while read -e -p 'pro''mpt> ' x; do history -s \"$x\"; echo got-12; done", "prompt>", &shell),
        ("sqlite3", "sqlite3 -interactive :memory:", "sqlite>", &sql),
    ] {
        if !has(program) {
            skipped("e2e::echoes::lines_that_are_recalled_and_edited", &format!("{program} is not installed"));
            continue;
        }
        let (mock, _home, mut term) = running(command, prompt);
        term.send(F9).wait("TAKEN OVER");
        let mut answers = 0;
        let mut enter = |term: &mut Term, keys: &str, shows: bool| {
            if shows {
                term.send(keys)
                    .shows("the line", |text| text.rsplit(prompt).next().is_some_and(|row| row.contains(TYPED)));
                term.send("\r");
            } else {
                // All at once: what is drawn comes late.
                term.send(&format!("{keys}\r"));
            }
            answers += 1;
            term.shows("its answer", |text| {
                let rows = text.lines().filter(|row| row.trim() == answer).count();
                rows >= answers && text.trim_end().lines().any(|row| row.trim() == prompt)
            });
        };
        enter(&mut term, line, true);
        // Up, and up again after a pause; then edited at both ends.
        enter(&mut term, "\x1b[A", true);
        enter(&mut term, "\x1b[A\x01 \x08\x05 \x7f", true);
        enter(&mut term, "\x1b[A", false);
        enter(&mut term, &format!("\x12{}", &TYPED[..5]), false);
        // Completion lists, and the row drawn again.
        term.send(&TYPED[..4]).send("\t\t").send("\x15");
        enter(&mut term, "\x1b[A\x01\x05", true);
        term.paste(line);
        enter(&mut term, "", false);
        term.send("\x04");
        let told = told(&mock, &term);
        let output = told["output"].as_str().unwrap();
        assert!(output.contains(answer), "{program}: {told}");
        assert!(output.contains("[left out: this may show what the user typed]"), "{program}: {told}");
        told_of += 1;
    }
    assert!(told_of > 0 || !has("bash"));
}

//! A person's own keys in the programs that people use, inside the terminal pane.

use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term, skipped, until};
use serde_json::{Value, json};
use std::process::{Command, Stdio};

const F9: &str = "\x1b[20~";

/// A program that the agent runs, and the person at the screen.
struct Person {
    mock: Mock,
    home: Home,
    term: Term,
}

impl Person {
    /// A home to make things in, before the program is started.
    fn place() -> (Mock, Home) {
        let mock = Mock::start(vec![]);
        let home = Home::with(&mock, "approvals:\n  mode: \"off\"\n");
        (mock, home)
    }

    /// The agent runs this command; once the pane shows `sign`, the person has its keys.
    fn at(command: &str, sign: &str) -> Self {
        let (mock, home) = Self::place();
        Self::with(mock, home, command, sign)
    }

    fn with(mock: Mock, home: Home, command: &str, sign: &str) -> Self {
        let call = call("terminal", json!({ "command": command }));
        mock.push(vec![Step::Calls(String::new(), vec![call]), Step::Text("all-is-said".into())]);
        let mut term = Term::sized(&home, &[], (120, 40));
        term.wait("❯");
        term.send("run it\r").wait(" Terminal ").wait(sign);
        term.send(F9).wait("TAKEN OVER");
        Self { mock, home, term }
    }

    /// What the agent read when the command had ended.
    fn told(&self) -> Value {
        self.term.wait("all-is-said");
        let last = self.mock.requests().pop().unwrap();
        let messages = last["messages"].as_array().unwrap().clone();
        let answer = messages.iter().rev().find(|message| message["role"] == "tool").unwrap();
        serde_json::from_str(answer["content"].as_str().unwrap()).unwrap()
    }

    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.home.project().join(name)).unwrap_or_default()
    }
}

/// The first of these programs that is there; says that the test is skipped where none is.
fn first(test: &str, programs: &[&'static str]) -> Option<&'static str> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has = |program: &&&str| std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    let found = programs.iter().find(has).copied();
    if found.is_none() {
        skipped(&format!("e2e::programs::{test}"), &format!("{} is not installed", programs[0]));
    }
    found
}

const VI: &[&str] = &["vim", "vim.tiny", "vi"];

#[test]
fn vim_takes_text_and_a_paste_and_writes_the_file() {
    let Some(vi) = first("vim_takes_text_and_a_paste_and_writes_the_file", VI) else { return };
    // With autoindent a paste that is typed line by line would drift to the right.
    let mut person = Person::at(&format!("{vi} -u NONE -N -n -c 'set ai' notes.txt"), "\n  ~");
    person.term.send("ityped by hand\r").wait("typed by hand");
    person.term.paste("    first\n    second").wait("second");
    person.term.send("\x1b:wq\r");
    let told = person.told();
    assert_eq!(person.file("notes.txt"), "typed by hand\n    first\n    second\n");
    // That the person typed is told, and never what.
    assert!(told.to_string().contains("the user typed into this command's terminal"), "{told}");
    assert!(!told.to_string().contains("by hand") && !told.to_string().contains("second"), "{told}");
    // Its pane has gone with it, and the keys are the composer's.
    person.term.gone(" Terminal ");
    person.term.send("next words").wait("❯ next words");
}

#[test]
fn less_searches_and_is_left() {
    let Some(less) = first("less_searches_and_is_left", &["less"]) else { return };
    let mut person = Person::at(&format!("seq -f 'row-%g' 1 5000 > rows; {less} rows"), "row-");
    // It draws for the pane's size, from the top, before it is typed into.
    person.term.shows("its top", |text| text.lines().any(|line| line.trim() == "row-1"));
    person.term.send("/row-4321\r").wait("row-4322");
    person.term.send("G").wait("row-5000");
    person.term.send("q");
    assert_eq!(person.told()["exit_code"], 0);
}

#[test]
fn python_answers_and_ends_with_ctrl_d() {
    let Some(python) = first("python_answers_and_ends_with_ctrl_d", &["python3"]) else { return };
    let mut person = Person::at(&format!("{python} -q -i"), ">>>");
    person.term.send("print(6 * 7 * 1000)\r").wait("42000");
    // Up brings back the line, as its own line editor has it.
    person.term.send("\x1b[A").send("\r").shows("twice", |text| text.matches("42000").count() >= 2);
    person.term.send("\x04");
    let told = person.told();
    assert_eq!(told["exit_code"], 0, "{told}");
    // Ctrl-D was for the program: this one goes on.
    person.term.send("still here").wait("❯ still here");
}

#[test]
fn a_rebase_is_edited_by_hand() {
    let test = "a_rebase_is_edited_by_hand";
    let (Some(vi), Some(_)) = (first(test, VI), first(test, &["git"])) else { return };
    let (mock, home) = Person::place();
    let git = |home: &Home, args: &[&str]| {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(args);
        command.env_clear().envs(home.environment()).current_dir(home.project()).stderr(Stdio::null());
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    git(&home, &["init", "-q", "."]);
    for name in ["one", "two", "three"] {
        git(&home, &["commit", "-q", "--allow-empty", "-m", name]);
    }
    let editor = format!("GIT_SEQUENCE_EDITOR='{vi} -u NONE -N -n'");
    let command = format!("{editor} git -c user.name=a -c user.email=a@b rebase -i --keep-empty HEAD~2");
    let mut person = Person::with(mock, home, &command, "three");
    person.term.send("ddp").shows("the lines changed places", |text| {
        text.find(" three").zip(text.rfind(" two")).is_some_and(|(three, two)| three < two)
    });
    person.term.send(":wq\r");
    let told = person.told();
    assert_eq!(told["exit_code"], 0, "{told}");
    assert_eq!(git(&person.home, &["log", "--format=%s"]), "two\nthree\none\n");
}

#[test]
fn htop_ends_by_key_and_by_mouse() {
    let Some(htop) = first("htop_ends_by_key_and_by_mouse", &["htop"]) else { return };
    let mut person = Person::at(&format!("{htop} -d 50"), "F1Help");
    person.term.send("\x1b[21~");
    assert_eq!(person.told()["exit_code"], 0);
    let mut person = Person::at(&format!("{htop} -d 50"), "F10Quit");
    let place = |text: &str| {
        let mut lines = text.lines().enumerate();
        lines.find_map(|(row, line)| line.find("Quit").map(|at| (line[..at].chars().count(), row)))
    };
    // The pane grows for a program of the whole screen: its last row comes to rest before it is clicked at.
    person.term.shows("the whole of it", |text| place(text).is_some() && text.contains("F1Help"));
    let frames = person.term.frames();
    person.term.drawn_after(frames);
    let (column, row) = place(&person.term.text()).unwrap();
    let click = |end: char| format!("\x1b[<0;{};{}{end}", column + 1, row + 1);
    person.term.send(&click('M')).send(&click('m'));
    assert_eq!(person.told()["exit_code"], 0);
}

#[test]
fn tmux_has_its_prefix_and_is_detached_from() {
    let Some(tmux) = first("tmux_has_its_prefix_and_is_detached_from", &["tmux"]) else { return };
    let socket = "s";
    let (mock, mut home) = Person::place();
    home.set("TMUX_TMPDIR", &home.tmp().display().to_string());
    let command = format!("{tmux} -L {socket} -f /dev/null new-session sh");
    let mut person = Person::with(mock, home, &command, "0:sh*");
    // A second window, by its prefix key.
    person.term.send("\x02").send("c").shows("a second window", |text| text.contains("0:sh- 1:"));
    person.term.send("echo in-$((40+2))\r").wait("in-42");
    person.term.send("\x02").send("d");
    let told = person.told();
    assert_eq!(told["exit_code"], 0, "{told}");
    assert!(told["output"].as_str().unwrap().contains("detached"), "{told}");
    let mut end = Command::new(tmux);
    end.args(["-L", socket, "kill-server"]).env_clear().envs(person.home.environment());
    assert!(end.status().unwrap().success(), "its server went on");
}

/// Counts what tells it that its terminal has another size.
const COUNTS: &str = "
import os, signal, sys
count = 0
def resized(*_):
    global count
    count += 1
    print('size', *os.get_terminal_size(), flush=True)
signal.signal(signal.SIGWINCH, resized)
print('primed', flush=True)
for line in sys.stdin:
    print(f'told-{count}-times', *os.get_terminal_size(), flush=True)
";

#[test]
fn a_program_is_told_of_another_size_once() {
    let Some(python) = first("a_program_is_told_of_another_size_once", &["python3"]) else { return };
    let (mock, home) = Person::place();
    std::fs::write(home.project().join("counts.py"), COUNTS).unwrap();
    let mut person = Person::with(mock, home, &format!("{python} counts.py"), "primed");
    // The pane's own size, before the first key.
    person.term.send("\r").wait("told-1-times");
    for (times, size) in [(2, (100, 30)), (3, (60, 20)), (4, (140, 45))] {
        let before = person.term.text();
        person.term.resize(size.0, size.1);
        let is_new = |line: &str| line.trim().starts_with("size ") && !before.contains(line.trim());
        person.term.shows("it heard", |text| text.lines().any(is_new));
        person.term.send("\r").wait(&format!("told-{times}-times"));
    }
    person.term.send("\x04");
    assert_eq!(person.told()["exit_code"], 0);
}

#[test]
fn keys_go_to_the_program_until_they_are_handed_back() {
    let mut person = Person::at("read -r first; echo got-$first; read -r second; echo got-$second", "");
    person.term.send("one\r").wait("got-one");
    person.term.send(F9).gone("TAKEN OVER");
    person.term.send("a draft").wait("❯ a draft");
    person.term.send(F9).wait("TAKEN OVER");
    person.term.send("two\r");
    let told = person.told();
    assert_eq!(told["output"], "got-one\ngot-two", "{told}");
    assert!(told.to_string().contains("the user typed into this command's terminal"), "{told}");
    person.term.wait("❯ a draft");
    until("nothing was typed twice", || !person.term.text().contains("a drafttwo"));
}

/// A program that paints its whole screen again for one number: the person's terminal gets what changed.
#[test]
fn a_repaint_costs_the_person_what_changed() {
    const TIMES: usize = 8;
    let rows = "for r in {2..24}; do printf '\\033[%d;1H%-80.80s' $r \"row $r $filler\"; done";
    let command = format!(
        "printf -v filler '%080d'; printf '\\033[?1049h'; for n in {{0..{TIMES}}}; do \
         printf '\\033[1;1H%-80s' \"tick-$n-\"; {rows}; read -rsn1 key; done; printf '\\033[?1049l'; echo over"
    );
    let mut person = Person::at(&command, "tick-0-");
    person.term.shows("all of it", |text| text.contains("row 3 0000"));
    let before = person.term.bytes();
    for n in 1..=TIMES {
        person.term.send("x").wait(&format!("tick-{n}-"));
    }
    let each = (person.term.bytes() - before) / TIMES;
    person.term.send("x");
    assert_eq!(person.told()["exit_code"], 0);
    // It wrote more than 80 × 24 bytes each time.
    assert!(each < 80 * 24 / 2, "{each} bytes for each repaint");
}

#[test]
#[cfg(target_os = "linux")]
fn ctrl_z_stops_an_editor_and_a_key_continues_it() {
    let Some(vi) = first("ctrl_z_stops_an_editor_and_a_key_continues_it", VI) else { return };
    for command in [format!("{vi} -u NONE -N -n notes.txt"), format!("cd . && {vi} -u NONE -N -n notes.txt")] {
        let mut person = Person::at(&command, "\n  ~");
        person.term.send("iunsaved words\x1b").wait("unsaved words");
        person.term.send("\x1a").wait("is stopped: F9 continues it");
        // The agent is told, and goes on without it.
        let told = person.told();
        assert_eq!((&told["stopped"], &told["exit_code"]), (&json!(true), &Value::Null), "{told}");
        assert!(told["hint"].as_str().unwrap().contains("sends it CONT"), "{told}");
        assert!(!told.to_string().contains("unsaved"), "{told}");
        // Stopped twice and continued twice, with nothing lost.
        for _ in 0..2 {
            person.term.send(F9).wait("TAKEN OVER").wait("unsaved words");
            person.term.send("\x1a").gone("TAKEN OVER").wait("stopped");
        }
        assert_eq!(person.file("notes.txt"), "");
        person.term.send(F9).wait("TAKEN OVER").wait("unsaved words");
        person.term.send(":wq\r");
        until("it is written", || person.file("notes.txt") == "unsaved words\n");
        person.term.gone("TAKEN OVER");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn the_agent_continues_what_was_stopped() {
    let (mock, home) = Person::place();
    let mut person = Person::with(mock, home, "echo ready; cat > typed", "ready");
    person.term.send("words\r").wait("words");
    person.term.send("\x1a").wait("is stopped: F9 continues it");
    let told = person.told();
    let id = told["session_id"].as_str().unwrap();
    let order = |action: Value| Step::Calls(String::new(), vec![call("process", action)]);
    person.mock.push(vec![
        order(json!({ "action": "poll", "session_id": id })),
        order(json!({ "action": "signal", "session_id": id, "signal": "CONT" })),
        order(json!({ "action": "submit", "session_id": id, "data": "more" })),
        order(json!({ "action": "close", "session_id": id })),
        order(json!({ "action": "wait", "session_id": id })),
        Step::Text("it-went-on".into()),
    ]);
    person.term.send("go on\r").wait("it-went-on");
    let messages = person.mock.requests().pop().unwrap()["messages"].to_string();
    assert!(messages.contains("\\\"stopped\\\":true"), "{messages}");
    assert_eq!(person.file("typed"), "words\nmore\n");
}

#[test]
#[cfg(target_os = "linux")]
fn what_paints_by_itself_asks_nothing() {
    for (program, command, quit) in [("top", "top -d 1", "q"), ("watch", "watch -n 1 date +now-is-%s", "\x03")] {
        if first("what_paints_by_itself_asks_nothing", &[program]).is_none() {
            continue;
        }
        let sign = if program == "top" { "load average" } else { "now-is-" };
        // The first row of a whole screen is shown once the program has the size of the pane.
        let mut person = Person::at(command, " Terminal ");
        person.term.wait(sign);
        let line = |text: &str| text.lines().find(|line| line.contains(sign)).unwrap_or_default().to_owned();
        for _ in 0..3 {
            let before = line(&person.term.text());
            person.term.shows("it paints again", |text| line(text) != before && !line(text).is_empty());
        }
        assert!(!String::from_utf8_lossy(&person.term.raw()).contains("needs input"), "{program}");
        person.term.send(quit);
        person.told();
    }
}

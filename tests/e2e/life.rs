//! Processes outlive the program that started them, real programs are driven by keys and screens, and nothing is left over.

use crate::harness::mock::call;
use crate::harness::{Home, Mock, PATIENCE, Step, Term, skipped, until};
use serde_json::{Value, json};
use std::path::Path;

/// A session in which each prompt is one call of a tool.
struct Driver {
    mock: Mock,
    home: Home,
    term: Term,
    turns: usize,
}

impl Driver {
    fn start(more: &str) -> Self {
        let mock = Mock::start(vec![]);
        let home = Home::with(&mock, more);
        let term = Term::sized(&home, &["--yolo"], (140, 45));
        term.wait("❯");
        Self { mock, home, term, turns: 0 }
    }

    /// The answer of a tool.
    fn call(&mut self, name: &str, args: Value) -> Value {
        self.turns += 1;
        let done = format!("turn-{}-over.", self.turns);
        self.mock.push(vec![Step::Calls(String::new(), vec![call(name, args)]), Step::Text(done.clone())]);
        // Without a question: keys by name, and code for an interpreter, are none in this mode.
        self.term.send("go\r").wait(&done).wait("Ask anything");
        let last = self.mock.requests().pop().unwrap();
        let messages = last["messages"].as_array().unwrap();
        let answer = messages.iter().rev().find(|message| message["role"] == "tool").unwrap();
        serde_json::from_str(answer["content"].as_str().unwrap()).unwrap()
    }

    /// Starts a program on a terminal of its own; its id.
    fn program(&mut self, command: &str) -> String {
        let started = self.call("terminal", json!({ "command": command, "background": true, "pty": true }));
        started["session_id"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned()
    }

    fn keys(&mut self, id: &str, keys: &[&str]) -> String {
        let answer = self.call("process", json!({ "action": "send_keys", "session_id": id, "keys": keys }));
        answer["screen"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// Looks at the screen until it shows this.
    fn shows(&mut self, id: &str, text: &str) -> String {
        let began = std::time::Instant::now();
        while began.elapsed() < PATIENCE {
            let answer = self.call("process", json!({ "action": "screen", "session_id": id }));
            let screen = answer["screen"].as_str().unwrap().to_owned();
            if screen.contains(text) {
                return screen;
            }
        }
        panic!("{id} never shows {text:?}");
    }
}

fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn alive(pid: &str) -> bool {
    // A zombie that nobody waits for is dead as well.
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// The number that a command wrote into this file.
fn pid(file: &Path) -> String {
    until("its number", || std::fs::read_to_string(file).is_ok_and(|text| text.ends_with('\n')));
    std::fs::read_to_string(file).unwrap().trim().to_owned()
}

fn registered(home: &Home) -> Vec<Value> {
    let text = std::fs::read_to_string(home.hermes().join("processes.json")).unwrap_or_default();
    let contents: Value = serde_json::from_str(&text).unwrap_or_default();
    contents["processes"].as_array().cloned().unwrap_or_default()
}

/// Ticks into its log as long as it runs, and tells its number in a file.
const SERVER: &str = "echo $$ > pid; echo server is up; while :; do echo tick; sleep 0.05; done";

#[test]
#[cfg(target_os = "linux")]
fn a_server_outlives_a_crash_is_found_again_and_can_be_ended() {
    let mut driver = Driver::start("");
    driver.call("terminal", json!({ "command": SERVER, "background": true }));
    let server = pid(&driver.home.project().join("pid"));
    until("it is in the register", || registered(&driver.home).len() == 1);
    let log = registered(&driver.home)[0]["log"].as_str().unwrap().to_owned();
    driver.term.kill();
    // Its terminal stays open and its log goes on without the program.
    let size = || std::fs::metadata(&log).map_or(0, |about| about.len());
    let before = size();
    until("the log goes on", || size() > before + 50);
    assert!(alive(&server));
    let mut term = Term::sized(&driver.home, &[], (140, 45));
    term.wait("is still running, from an earlier session");
    term.send("\x14").wait("no typing").wait("tick");
    // Nobody types into it; the focus goes to the pane all the same, and ending it takes a yes.
    term.send("\x1b[20~").wait("no typing");
    term.send("K").wait("Kill a command");
    term.send("y\r");
    until("it is ended", || !alive(&server));
    until("and forgotten", || registered(&driver.home).is_empty());
}

#[test]
#[cfg(target_os = "linux")]
fn what_ended_while_nobody_looked_is_told_once() {
    let mut driver = Driver::start("");
    let command = "echo $$ > pid; echo waiting; while ! [ -e go ]; do sleep 0.02; done; echo over";
    driver.call("terminal", json!({ "command": command, "background": true }));
    let server = pid(&driver.home.project().join("pid"));
    until("it is in the register", || registered(&driver.home).len() == 1);
    driver.term.kill();
    std::fs::write(driver.home.project().join("go"), "").unwrap();
    until("it ends", || !alive(&server));
    let mut term = Term::sized(&driver.home, &[], (140, 45));
    term.wait("exited (exit status unknown)");
    until("it is forgotten", || registered(&driver.home).is_empty());
    term.quit().ended();
}

#[test]
#[cfg(target_os = "linux")]
fn at_quit_each_command_goes_on_or_ends() {
    let mut driver = Driver::start("");
    let server = |name: &str| format!("echo $$ > {name}; while :; do echo {name}; sleep 0.05; done");
    driver.call("terminal", json!({ "command": server("first"), "background": true }));
    driver.call("terminal", json!({ "command": server("second"), "background": true }));
    let first = pid(&driver.home.project().join("first"));
    let second = pid(&driver.home.project().join("second"));
    driver.term.send("\x04").wait("Still running").wait("killed");
    driver.term.send(" ").wait("keeps running");
    driver.term.send("\r").ended();
    // What goes on, and how to come back to it.
    let said = || String::from_utf8_lossy(&driver.term.raw()).into_owned();
    until("the farewell", || said().contains("the next hermes lists it"));
    assert!(said().contains(&format!("still running: {} (pid ", server("first"))), "{}", said());
    assert!(!said().contains(&format!("still running: {}", server("second"))), "{}", said());
    until("the other is ended", || !alive(&second));
    assert!(alive(&first));
    let log = registered(&driver.home)[0]["log"].as_str().unwrap().to_owned();
    let size = || std::fs::metadata(&log).map_or(0, |about| about.len());
    let before = size();
    until("its log goes on", || size() > before + 20);
    let mut term = Term::sized(&driver.home, &[], (140, 45));
    term.wait("is still running, from an earlier session");
    // Left as it is, the default ends it.
    term.send("\x04").wait("Still running");
    term.send("\r").ended();
    until("it is ended", || !alive(&first));
}

#[test]
#[cfg(target_os = "linux")]
fn a_foreground_command_that_ignores_the_hangup_is_found_again() {
    let mut driver = Driver::start("");
    let command = "trap '' HUP; echo $$ > pid; while :; do sleep 0.05; done";
    driver.mock.push(vec![Step::Calls(String::new(), vec![call("terminal", json!({ "command": command }))])]);
    driver.term.send("go\r");
    let server = pid(&driver.home.project().join("pid"));
    // It has lasted for a while.
    until("it is in the register", || registered(&driver.home).len() == 1);
    assert_eq!(registered(&driver.home)[0]["foreground"], true);
    driver.term.kill();
    let mut term = Term::sized(&driver.home, &[], (140, 45));
    term.wait("is still running, from an earlier session");
    assert!(alive(&server));
    term.send("\x14").wait("no typing");
    term.send("\x1b[20~").wait("no typing");
    term.send("K").wait("Kill a command");
    term.send("y\r");
    until("it is ended", || !alive(&server));
    until("and forgotten", || registered(&driver.home).is_empty());
}

#[test]
#[cfg(target_os = "linux")]
fn a_foreground_command_that_went_with_its_terminal_is_not_told() {
    let mut driver = Driver::start("");
    let command = "echo $$ > pid; while :; do sleep 0.05; done";
    driver.mock.push(vec![Step::Calls(String::new(), vec![call("terminal", json!({ "command": command }))])]);
    driver.term.send("go\r");
    let leader = pid(&driver.home.project().join("pid"));
    until("it is in the register", || registered(&driver.home).len() == 1);
    driver.term.kill();
    until("its terminal took it along", || !alive(&leader));
    let mut term = Term::sized(&driver.home, &[], (140, 45));
    until("it is forgotten", || registered(&driver.home).is_empty());
    term.wait("❯");
    term.quit();
    assert_eq!(term.ended(), 0);
    assert!(!term.text().contains("(exit status unknown)"), "{}", term.text());
}

#[test]
#[cfg(target_os = "linux")]
fn processes_of_another_container_are_shown_and_left_alone() {
    let mock = Mock::start(vec![]);
    let home = Home::with(&mock, "");
    // Runs here, under the number that the other container's process has there.
    let mut innocent = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    let number = innocent.id();
    let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap();
    let start: u64 = stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().nth(19).unwrap().parse().unwrap();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let log = home.hermes().join("their.log");
    std::fs::write(&log, "a line of theirs\n").unwrap();
    // One that began long ago is forgotten.
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_millis() as u64;
    let entry = json!({
        "id": "proc_0123456789ab", "task": "theirs", "command": "serve --theirs", "cwd": "/", "pty": false, "log": log,
        "started_at": now - 60_000, "port": null, "pid": number, "start": start, "owner": { "pid": 1, "start": 1 },
        "boot": boot.trim(), "machine": "", "namespace": 1,
    });
    let contents = json!({ "version": 1, "processes": [entry] });
    std::fs::write(home.hermes().join("processes.json"), contents.to_string()).unwrap();
    let mut term = Term::sized(&home, &[], (140, 45));
    term.wait("on another host");
    // Its log can be read; it gets no key, and leaving does not ask about it.
    term.send("\x14").wait("a line of theirs").wait("view only");
    term.send("\x1b[20~").wait("view only");
    term.quit();
    assert_eq!(term.ended(), 0);
    assert!(innocent.try_wait().unwrap().is_none(), "it was ended");
    assert_eq!(registered(&home)[0]["id"], "proc_0123456789ab");
    innocent.kill().unwrap();
    innocent.wait().unwrap();
}

#[test]
fn vim_is_driven_by_keys() {
    let Some(vi) = ["vim.tiny", "vi", "vim"].into_iter().find(|name| has(name)) else {
        return skipped("vim_is_driven_by_keys", "no vi is installed");
    };
    let mut driver = Driver::start("");
    let id = driver.program(&format!("{vi} -u NONE -N notes.txt"));
    driver.shows(&id, "~");
    driver.keys(&id, &["i", "first line", "Enter", "second", "Escape"]);
    let screen = driver.shows(&id, "second");
    assert!(screen.contains("first line\nsecond"), "{screen}");
    driver.keys(&id, &["Up", "A", " more", "Escape", ":wq", "Enter"]);
    let file = driver.home.project().join("notes.txt");
    until("it is written", || std::fs::read_to_string(&file).is_ok_and(|t| t == "first line more\nsecond\n"));
    let ended = driver.call("process", json!({ "action": "wait", "session_id": id, "timeout": 30 }));
    assert_eq!(ended["exit_code"], 0, "{ended}");
}

#[test]
fn less_and_python_are_driven_by_keys() {
    let mut driver = Driver::start("");
    if has("less") {
        let id = driver.program("seq 1 5000 > numbers; less numbers");
        driver.shows(&id, "1\n2\n3");
        driver.keys(&id, &["/4321", "Enter"]);
        driver.shows(&id, "4321\n4322");
        driver.keys(&id, &["q"]);
        let ended = driver.call("process", json!({ "action": "wait", "session_id": id, "timeout": 30 }));
        assert_eq!(ended["exit_code"], 0, "{ended}");
    } else {
        skipped("less_and_python_are_driven_by_keys", "less is not installed");
    }
    if has("python3") {
        let id = driver.program("python3 -q -i");
        driver.shows(&id, ">>>");
        driver.keys(&id, &["print(6 * 7)", "Enter"]);
        driver.shows(&id, "42");
        driver.keys(&id, &["Up", "Enter"]);
        driver.keys(&id, &["C-d"]);
        let ended = driver.call("process", json!({ "action": "wait", "session_id": id, "timeout": 30 }));
        assert_eq!(ended["exit_code"], 0, "{ended}");
    } else {
        skipped("less_and_python_are_driven_by_keys", "python3 is not installed");
    }
}

#[test]
fn an_interactive_rebase_is_driven_by_keys() {
    let Some(vi) = ["vim.tiny", "vi", "vim"].into_iter().find(|name| has(name)).filter(|_| has("git")) else {
        return skipped("an_interactive_rebase_is_driven_by_keys", "git or vi is not installed");
    };
    let mut driver = Driver::start("");
    let commit = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m";
    let made = format!("git init -q . && {commit} one && {commit} two && {commit} three");
    let made = driver.call("terminal", json!({ "command": made }));
    assert_eq!(made["exit_code"], 0, "{made}");
    let id = driver.program(&format!(
        "GIT_SEQUENCE_EDITOR='{vi} -u NONE -N' git -c user.name=a -c user.email=a@b rebase -i --keep-empty HEAD~2"
    ));
    driver.shows(&id, "three");
    driver.keys(&id, &["dd", ":wq", "Enter"]);
    let ended = driver.call("process", json!({ "action": "wait", "session_id": id, "timeout": 30 }));
    assert_eq!(ended["exit_code"], 0, "{ended}");
    let log = driver.call("terminal", json!({ "command": "git log --format=%s" }));
    assert_eq!(log["output"], "three\none");
}

#[test]
fn two_terminals_stand_side_by_side_and_words_are_found_in_them() {
    let mut driver = Driver::start("");
    driver.call("terminal", json!({ "command": "seq -f 'left-%g' 1 300; sleep 60", "background": true }));
    driver.call("terminal", json!({ "command": "seq -f 'right-%g' 1 300; sleep 60", "background": true }));
    // The pane is opened by a look at the first.
    driver.term.send("\x14").wait("left-300");
    driver.term.send("\x18|").wait("right-300").wait("left-300");
    driver.term.send("/processes\r");
    driver.term.send("/").wait("Find in the output");
    driver.term.send("left-42\r").wait("left-42");
    driver.term.send("w").wait("right-300");
    driver.term.send("|").gone("left-300");
}

#[test]
#[cfg(target_os = "linux")]
fn fifty_commands_leave_nothing_over() {
    let calls = |count: usize| {
        (0..count).map(|n| call("terminal", json!({ "command": format!("echo {n}"), "pty": n % 2 == 0 }))).collect()
    };
    let mut driver = Driver::start("");
    let pid = driver.term.pid();
    let descriptors = || std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
    // Others come and go with the load: the runtime keeps idle threads for a while.
    let threads = || {
        let all = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
        let names = all.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
        names.filter(|name| name.starts_with("exec-")).count()
    };
    let zombies = || {
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        let stats = all.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
        let of_ours = |stat: &String| {
            let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
            let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
            fields.first() == Some(&"Z") && fields.get(1) == Some(&pid.to_string().as_str())
        };
        stats.filter(of_ours).count()
    };
    let mut round = |name: &str, many: usize| {
        driver.mock.push(vec![Step::Calls(String::new(), calls(many)), Step::Text(format!("round-{name}."))]);
        driver.term.send("go\r").wait(&format!("round-{name}."));
    };
    round("warm", 5);
    until("it is quiet", || zombies() == 0 && threads() == 0);
    let before = descriptors();
    round("many", 50);
    // Screens of the newest ended commands can still be looked at: none of them holds a terminal or a thread.
    until("nothing is left", || descriptors() <= before + 12 && threads() == 0 && zombies() == 0);
}

#[test]
#[cfg(target_os = "linux")]
fn a_closed_window_keeps_servers_and_the_next_start_says_so() {
    let mut driver = Driver::start("");
    driver.call("terminal", json!({ "command": SERVER, "background": true }));
    let server = pid(&driver.home.project().join("pid"));
    until("it is in the register", || registered(&driver.home).len() == 1);
    // One that somebody waits for has nobody any more.
    let waited = json!({ "command": "echo $$ > waited; exec sleep 600" });
    driver.mock.push(vec![Step::Calls(String::new(), vec![call("terminal", waited)])]);
    driver.term.send("go\r");
    let waited = pid(&driver.home.project().join("waited"));
    until("it is in the register, too", || registered(&driver.home).len() == 2);
    driver.term.signal(rustix::process::Signal::HUP);
    driver.term.ended();
    assert!(alive(&server));
    until("what was waited for has ended", || !alive(&waited));
    let mut term = Term::sized(&driver.home, &[], (140, 45));
    term.wait("is still running, from an earlier session").wait("exited when the window was closed");
    term.send("\x14").wait("tick");
    term.send("\x1b[20~").wait("no typing");
    term.send("K").wait("Kill a command");
    term.send("y\r");
    until("it is ended", || !alive(&server));
    until("and forgotten", || registered(&driver.home).is_empty());
}

#[test]
#[cfg(target_os = "linux")]
fn a_closed_window_ends_servers_where_the_settings_say_so_and_that_is_told_once() {
    let mut driver = Driver::start("terminal:\n  on_hangup: end\n");
    driver.call("terminal", json!({ "command": SERVER, "background": true }));
    let server = pid(&driver.home.project().join("pid"));
    until("it is in the register", || registered(&driver.home).len() == 1);
    driver.term.signal(rustix::process::Signal::HUP);
    driver.term.ended();
    until("it is ended", || !alive(&server));
    let mut term = Term::sized(&driver.home, &[], (140, 45));
    term.wait("exited when the window was closed");
    until("it is forgotten", || registered(&driver.home).is_empty());
    term.quit().ended();
}

/// Lines that leave something running which has let go of its terminal, session or parent. It tells its number in a file.
const LEAVES: &[&str] = &[
    "(sh -c 'echo $$ > pid; exec sleep 600' </dev/null >/dev/null 2>&1 &)",
    "nohup setsid sh -c 'echo $$ > pid; exec sleep 600' </dev/null >out 2>&1 &",
    // It takes no hint.
    "(setsid sh -c 'trap \"\" INT TERM HUP; echo $$ > pid; while :; do sleep 0.1; done' </dev/null >/dev/null 2>&1 &)",
];

/// The command that runs this script.
fn script(driver: &Driver, lines: &str) -> Value {
    std::fs::write(driver.home.project().join("start.sh"), lines).unwrap();
    json!({ "command": "bash start.sh; echo begun" })
}

#[test]
#[cfg(target_os = "linux")]
fn what_went_into_a_session_of_its_own_ends_with_its_command() {
    for line in LEAVES.iter().chain(&["setsid -w sh -c 'echo $$ > pid; exec sleep 600'"]) {
        let mut driver = Driver::start("");
        let command = script(&driver, &format!("{line}\nsleep 600\n"));
        driver.mock.push(vec![Step::Calls(String::new(), vec![call("terminal", command)])]);
        driver.term.send("go\r");
        let started = pid(&driver.home.project().join("pid"));
        assert!(alive(&started), "{line}");
        driver.term.send("\x1b").wait("stopped");
        until("all of it ends", || !alive(&started));
        // Nothing runs: nothing is asked.
        driver.term.quit().ended();
    }
}

#[test]
#[cfg(target_os = "linux")]
fn what_a_command_left_behind_is_listed_and_quit_does_as_it_says() {
    for (line, ends) in LEAVES.iter().flat_map(|line| [(line, true), (line, false)]) {
        let mut driver = Driver::start("");
        let command = script(&driver, line);
        let answer = driver.call("terminal", command);
        let started = pid(&driver.home.project().join("pid"));
        assert!(answer["hint"].as_str().is_some_and(|hint| hint.contains("still running")), "{answer}");
        let listed = driver.call("process", json!({ "action": "list" }));
        assert_eq!(listed["processes"][0]["survivors"], true, "{listed}");
        // It would go on without this program: so it does, unless the person says otherwise.
        driver.term.send("\x04").wait("Still running").wait("keeps running");
        if ends {
            driver.term.send(" ").wait("✗ killed");
        }
        driver.term.send("\r").ended();
        if ends {
            until("it ends", || !alive(&started));
            continue;
        }
        assert!(alive(&started), "{line}");
        let mut term = Term::sized(&driver.home, &[], (140, 45));
        term.wait("is still running, from an earlier session");
        term.send("\x14").wait("no typing");
        term.send("\x1b[20~").wait("no typing");
        term.send("K").wait("Kill a command");
        term.send("y\r");
        until("it is ended", || !alive(&started));
    }
}

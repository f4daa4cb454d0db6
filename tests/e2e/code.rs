//! Scripts that call tools: what they get, what asks, what the person sees of their calls, and that nothing of them stays.

use crate::harness::home::{err, out};
use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term, has, until};
use serde_json::{Value, json};

pub(super) fn script(code: &str) -> Step {
    Step::Calls(String::new(), vec![call("execute_code", json!({ "code": code }))])
}

/// The last result that the model was given.
pub(super) fn told(mock: &Mock) -> Value {
    let requests = mock.requests();
    let messages = requests.last().unwrap()["messages"].as_array().unwrap().clone();
    let last = messages.iter().rev().find(|message| message["role"] == "tool").unwrap();
    serde_json::from_str(last["content"].as_str().unwrap()).unwrap()
}

/// The result of a script that ran without a screen.
fn result_of(code: &str, more: &str) -> Value {
    let mock = Mock::start(vec![script(code)]);
    let home = Home::with(&mock, more);
    home.run(&["-p", "go"]);
    told(&mock)
}

/// A project with twenty files, every fifth of which has something to do.
fn project(home: &Home) {
    for n in 0..20 {
        let todo = if n % 5 == 0 { "# TODO: rename\n" } else { "" };
        std::fs::write(home.project().join(format!("file{n}.py")), format!("{todo}value = {n}\n")).unwrap();
    }
    std::fs::create_dir_all(home.project().join("build/old")).unwrap();
}

const STORY: &str = r##"
import re
from hermes_tools import search, read_file, patch, terminal

found = search("TODO", path=".", file_glob="*.py")
paths = sorted({match["path"] for match in found["matches"]})
for path in paths:
    page = read_file(path)
    number = re.search(r"value = (\d+)", page["content"]).group(1)
    patch(path=path, old_string="# TODO: rename", new_string=f"# file {number}")
cleaned = terminal("rm -rf build")
print(len(paths), "files, exit", cleaned["exit_code"])
"##;

#[test]
fn a_script_searches_filters_and_patches_with_one_approval() {
    if !has("a_script_searches_filters_and_patches_with_one_approval", "python3") {
        return;
    }
    for size in [(140, 45), (60, 20)] {
        let mock = Mock::start(vec![script(STORY), Step::Text("All renamed.".into())]);
        let home = Home::with(&mock, "");
        project(&home);
        let mut term = Term::sized(&home, &[], size);
        term.wait("❯");
        // Only the dangerous call of the script asks; what it did before stands under its line.
        term.send("rename them\r").wait("Approve a command").wait("rm -rf build").wait("Esc: decide later");
        term.send("y").wait("Enter confirms");
        term.send("\r").wait("All renamed.");
        assert_eq!(told(&mock)["output"], "4 files, exit 0");
        assert_eq!(told(&mock)["tool_calls_made"], 10);
        assert_eq!(std::fs::read_to_string(home.project().join("file5.py")).unwrap(), "# file 5\nvalue = 5\n");
        assert!(!home.project().join("build").exists());
        // What the calls gave never reached the model.
        let requests = mock.requests();
        assert_eq!(requests.len(), 2);
        assert!(!requests[1].to_string().contains("value = 5"), "{}", requests[1]);
        // Where the diffs leave room for the line of the script.
        if size.1 > 20 {
            term.wait("10 calls");
        }
        term.quit();
        assert_eq!(term.ended(), 0);
        assert!(home.leftovers().is_empty(), "{:?}", home.leftovers());
    }
}

#[test]
fn a_script_gets_whole_results_and_the_model_what_it_prints() {
    if !has("a_script_gets_whole_results_and_the_model_what_it_prints", "python3") {
        return;
    }
    let code = r#"
from hermes_tools import terminal, read_file, write_file
lines = terminal("seq 1 60000")["output"].splitlines()
write_file("numbers.txt", "\n".join(lines))
page = read_file("numbers.txt", limit=2000)
again = read_file("numbers.txt", limit=2000)
print(len(lines), lines[29999], page["total_lines"], len(page["content"].splitlines()), page == again)
terminal("cd /")
print(terminal("pwd")["output"])
"#;
    let got = result_of(code, "");
    assert_eq!(got["output"], "60000 30000 60000 2000 True\n/", "{got}");
    assert_eq!(got["status"], "success");
}

#[test]
fn calls_that_scripts_may_not_make_say_why() {
    if !has("calls_that_scripts_may_not_make_say_why", "python3") {
        return;
    }
    let code = r#"
import hermes_tools
from hermes_tools import terminal
print(terminal("true", workdir=None)["exit_code"])
for n in range(3):
    print(terminal("echo " + str(n)).get("error"))
"#;
    let got = result_of(code, "code_execution:\n  max_tool_calls: 3\n");
    let limit = "Tool call limit reached (3). No more tool calls allowed in this execution.";
    assert_eq!(got["output"], format!("0\nNone\nNone\n{limit}"), "{got}");
    assert_eq!(got["tool_calls_made"], 3);
    // By name, as the socket is spoken to: the module has no function for these. What is not in its list asks, and nobody
    // is here to answer.
    let code = "import hermes_tools\nfor name in ['clarify', 'execute_code', 'nothing']:\n    print(hermes_tools._call(name, {})['error'])";
    let got = result_of(code, "");
    assert!(got["error"].as_str().unwrap().contains("code that is not fully read"), "{got}");
    let got = result_of(code, "approvals:\n  mode: yolo\n");
    let lines: Vec<&str> = got["output"].as_str().unwrap().lines().collect();
    let normal =
        |name: &str| format!("Tool '{name}' is not available in execute_code. Use it as a normal tool call instead.");
    assert_eq!(lines[0], normal("clarify"));
    assert_eq!(lines[1], normal("execute_code"));
    let there = "Unknown tool: nothing. Available: read_file, write_file, search, patch, terminal";
    assert_eq!(lines[2], there, "{got}");
}

#[test]
fn a_script_ends_at_its_time_when_it_is_stopped_and_when_hermes_is_killed() {
    if !has("a_script_ends_at_its_time_when_it_is_stopped_and_when_hermes_is_killed", "python3") {
        return;
    }
    let got = result_of("print('begun', flush=True)\nwhile True: pass", "code_execution:\n  timeout: 1\n");
    assert_eq!((&got["status"], &got["output"]), (&json!("timeout"), &json!("begun")), "{got}");
    assert!(got["errors"].as_str().unwrap().contains("timed out after 1s"), "{got}");
    // It ignores what asks it to end, and what it started hides in a session of its own.
    let code = "import os, signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nif os.fork() == 0:\n    os.setsid()\n    open('hidden', 'w').write(str(os.getpid()))\n    time.sleep(600)\nopen('leader', 'w').write(str(os.getpid()))\ntime.sleep(600)";
    for killed in [false, true] {
        let mock = Mock::start(vec![script(code)]);
        let home = Home::with(&mock, "approvals:\n  mode: yolo\n");
        let mut term = Term::start(&home, &[]);
        term.wait("❯");
        term.send("go\r");
        let pid =
            |name: &str| std::fs::read_to_string(home.project().join(name)).ok().and_then(|text| text.parse().ok());
        until("both run", || pid("hidden").is_some() && pid("leader").is_some());
        let pids: [i32; 2] = [pid("hidden").unwrap(), pid("leader").unwrap()];
        let began = std::time::Instant::now();
        if killed {
            term.kill();
        } else {
            term.send("\x1b");
        }
        until("both ended", || pids.iter().all(|pid| !alive(*pid)));
        assert!(began.elapsed().as_millis() < 1_000, "{killed}: {:?}", began.elapsed());
    }
}

fn alive(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn plan_mode_holds_a_script_read_only_and_refuses_its_edits() {
    if !has("plan_mode_holds_a_script_read_only_and_refuses_its_edits", "python3") {
        return;
    }
    let code = "from hermes_tools import write_file, read_file\nprint(write_file('new.txt', 'x').get('error'))\nprint(read_file('a.txt')['total_lines'])";
    let mock = Mock::start(vec![script(code)]);
    let home = Home::with(&mock, "approvals:\n  mode: plan\n");
    std::fs::write(home.project().join("a.txt"), "one\ntwo\n").unwrap();
    let done = home.run(&["-p", "go"]);
    let got = told(&mock);
    assert!(!home.project().join("new.txt").exists());
    let text = got.to_string();
    assert!(text.contains("plan mode"), "{text} {}", err(&done));
}

#[test]
fn without_a_screen_the_calls_of_a_script_are_events_of_their_own() {
    if !has("without_a_screen_the_calls_of_a_script_are_events_of_their_own", "python3") {
        return;
    }
    let mock = Mock::start(vec![script("from hermes_tools import terminal\nprint(terminal('echo hi')['output'])")]);
    let home = Home::with(&mock, "");
    let done = home.run(&["-p", "go", "--output", "stream-json"]);
    let lines: Vec<Value> = out(&done).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let inner = lines.iter().find(|line| line["type"] == "sandbox_tool_call").unwrap_or_else(|| panic!("{lines:?}"));
    assert_eq!((&inner["tool"], &inner["outcome"]), (&json!("terminal"), &json!("ok")), "{inner}");
    assert_eq!(inner["args"], json!({"command": "echo hi"}));
    assert!(inner["duration"].is_f64(), "{inner}");
    let started = lines.iter().find(|line| line["type"] == "tool_started" && line["name"] == "terminal").unwrap();
    assert_eq!(started["within"], inner["within"]);
    // It is kept, and found.
    let found = home.run(&["sessions", "search", "hi"]);
    assert!(found.status.success(), "{}", err(&found));
}

const HOSTILE: &str = r#"
import json, os, socket, sys, threading
import hermes_tools
from hermes_tools import terminal

def raw(data):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(os.environ["HERMES_RPC_SOCKET"])
        try:
            s.sendall(data)
            return s.makefile("rb").readline().decode().strip() or "closed"
        except OSError:
            return "closed"

def request(token, command):
    return json.dumps({"tool": "terminal", "args": {"command": command}, "token": token}).encode() + b"\n"

print(raw(b"not json\n")[:30])
print(raw(b"[1]\n")[:30])
print(raw(request("0" * 64, "touch stolen")))
print(raw(request("", "touch stolen")))
huge = raw(b'{"tool": "' + b"x" * (17 << 20) + b'"}\n')
print(huge == "closed" or "more than 16 MiB" in huge)
# Its own connection, closed under it: an error of this call, and the next one has another.
hermes_tools._stream().close()
try:
    terminal("true")
except RuntimeError as error:
    print("RuntimeError")
got = []
def one(n):
    got.append(terminal(f"echo {n}")["output"])
threads = [threading.Thread(target=one, args=(n,)) for n in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(sorted(got))
if os.fork() == 0:
    print(terminal("echo child")["output"], flush=True)
    os._exit(0)
os.wait()
sys.stdout.flush()
sys.stdout.buffer.write(bytes(range(256)) + b"\n")
"#;

#[test]
fn a_hostile_script_gets_errors_and_others_get_nothing() {
    if !has("a_hostile_script_gets_errors_and_others_get_nothing", "python3") {
        return;
    }
    let mock = Mock::start(vec![script(HOSTILE)]);
    let home = Home::with(&mock, "approvals:\n  mode: yolo\n");
    home.run(&["-p", "go"]);
    let got = told(&mock);
    let lines: Vec<&str> = got["output"].as_str().unwrap_or_else(|| panic!("{got}")).lines().collect();
    assert_eq!(&lines[..2], [r#"{"error":"Invalid RPC request:"#; 2], "{got}");
    assert_eq!(&lines[2..4], [r#"{"error":"Unauthorized RPC request"}"#; 2]);
    assert_eq!(&lines[4..6], ["True", "RuntimeError"]);
    assert_eq!(lines[6], "['0', '1', '2', '3', '4', '5', '6', '7']");
    assert_eq!(lines[7], "child");
    assert_eq!((&got["status"], &got["tool_calls_made"]), (&json!("success"), &json!(9)), "{got}");
    assert!(!home.project().join("stolen").exists());
    assert!(home.leftovers().is_empty(), "{:?}", home.leftovers());
}

#[test]
fn a_flood_is_cut_and_kept_in_a_file() {
    if !has("a_flood_is_cut_and_kept_in_a_file", "python3") {
        return;
    }
    let code = "for n in range(400000):\n    print('line', n)\nraise ValueError('after the flood')";
    let got = result_of(code, "");
    let output = got["output"].as_str().unwrap();
    assert!(output.starts_with("line 0\nline 1\n") && output.ends_with("\n[output truncated at 50KB]"), "{got}");
    assert!(output.len() < 50_100);
    assert!(got["errors"].as_str().unwrap().ends_with("ValueError: after the flood"), "{got}");
    assert_eq!((&got["status"], &got["exit_code"]), (&json!("error"), &json!(1)));
    assert!(got["full_output"].as_str().unwrap().contains("-output.txt; page through it with read_file"), "{got}");
}

#[test]
fn what_a_script_does_by_itself_asks_once_with_its_effects_named() {
    if !has("what_a_script_does_by_itself_asks_once_with_its_effects_named", "python3") {
        return;
    }
    let code = "import subprocess\nfrom pathlib import Path\nPath('made').write_text('x')\nprint(subprocess.run(['echo', 'ran'], capture_output=True, text=True).stdout)";
    for size in [(140, 45), (60, 20)] {
        let mock = Mock::start(vec![script(code)]);
        let home = Home::with(&mock, "");
        let mut term = Term::sized(&home, &[], size);
        term.wait("❯");
        term.send("go\r")
            .wait("Approve a script")
            .wait("code that runs programs: subprocess")
            .wait("Esc: decide later");
        assert!(!home.project().join("made").exists());
        term.send("y");
        term.shows("confirmed or done", |text| text.contains("Enter confirms") || text.contains("done"));
        term.send("\r").wait("done");
        assert_eq!(told(&mock)["output"], "ran");
        // What it wrote is a change of the session, and can be undone.
        assert!(!mock.requests()[1].to_string().contains("created externally"), "{}", mock.requests()[1]);
        term.send("/undo-command\r").wait("made");
    }
}

#[test]
fn javascript_calls_tools_too() {
    if !has("javascript_calls_tools_too", "python3") || !has("javascript_calls_tools_too", "node") {
        return;
    }
    let code = "const { terminal, read_file, retry } = require('hermes_tools');\nconst made = await terminal('echo one > a.txt; echo two >> a.txt');\nconst pages = await Promise.all([read_file({ path: 'a.txt' }), read_file('a.txt', 2, 1)]);\nconsole.log(made.exit_code, pages[0].total_lines, pages[1].content);";
    let step =
        Step::Calls(String::new(), vec![call("execute_code", json!({ "code": code, "language": "javascript" }))]);
    let mock = Mock::start(vec![step]);
    let home = Home::with(&mock, "approvals:\n  mode: yolo\n");
    home.run(&["-p", "go"]);
    assert_eq!(told(&mock)["output"], "0 2 2|two", "{}", told(&mock));
    // It is not followed: without a yes it does not run.
    let step =
        Step::Calls(String::new(), vec![call("execute_code", json!({ "code": code, "language": "javascript" }))]);
    let mock = Mock::start(vec![step]);
    let home = Home::with(&mock, "");
    home.run(&["-p", "go"]);
    assert!(told(&mock)["error"].as_str().unwrap().contains("code that is not fully read"), "{}", told(&mock));
}

#[test]
fn with_the_setting_scripts_call_tools_of_servers_that_no_request_has_a_schema_of() {
    if !has("with_the_setting_scripts_call_tools_of_servers_that_no_request_has_a_schema_of", "python3") {
        return;
    }
    const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/mcp-server.sh");
    let code = "from hermes_tools import call_tool, mcp__t__echo\nfirst = mcp__t__echo(text='one, and many more words of a stranger')\nsecond = call_tool('mcp__t__echo', {'text': 'two'})\nprint(first, '|', second)";
    let servers = format!(
        "mcp_discovery_timeout: 30\nmcp_servers:\n  t:\n    command: bash\n    args: [{SERVER}, good]\ncommand_allowlist: [mcp__t__echo]\n"
    );
    for on in [true, false] {
        let mock = Mock::start(vec![script(code)]);
        let home = Home::with(&mock, &format!("{servers}code_execution:\n  mcp: {on}\n"));
        home.run(&["-p", "go"]);
        let (got, request) = (told(&mock), mock.requests()[0]["tools"].to_string());
        let has_schema = request.contains(r#""name":"mcp__t__echo""#);
        assert!(!has_schema, "{request}");
        assert_eq!(request.contains("call_tool(name, args)"), on, "{request}");
        if on {
            let output = got["output"].as_str().unwrap_or_else(|| panic!("{got}"));
            assert!(output.contains("words of a stranger | you said two"), "{got}");
            // What a stranger wrote is fenced in what the script prints.
            assert!(output.starts_with("<untrusted_tool_result "), "{got}");
        } else {
            assert!(got["errors"].as_str().unwrap().contains("ImportError"), "{got}");
        }
    }
}

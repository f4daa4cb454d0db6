//! What scripts cost and what bounds them: tokens against the same work in calls, what is left running, many threads.

use super::code::{script, told};
use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term, has, until};
use serde_json::{Value, json};

/// The result of a script that nobody is asked about, in a home that is left as it was.
fn ran(code: &str, more: &str) -> (Value, Home) {
    let mock = Mock::start(vec![script(code)]);
    let home = Home::with(&mock, &format!("approvals:\n  mode: yolo\n{more}"));
    home.run(&["-p", "go"]);
    (told(&mock), home)
}

fn alive(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

const DAEMON: &str = r#"
import os, time
# A daemon: no session, no parent and no variable of the script.
reads, writes = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        os.write(writes, str(os.getpid()).encode())
        os.close(1); os.close(2)
        os.execve("/bin/sleep", ["sleep", "600"], {})
    os._exit(0)
os.wait()
pid = os.read(reads, 20).decode()
with open("daemon.new", "w") as file:
    file.write(pid)
os.rename("daemon.new", "daemon")
print("begun")
"#;

#[test]
fn a_daemon_without_a_trace_of_its_script_ends_with_it() {
    if !has("a_daemon_without_a_trace_of_its_script_ends_with_it", "python3") {
        return;
    }
    let daemon = |home: &Home| std::fs::read_to_string(home.project().join("daemon")).ok()?.parse::<i32>().ok();
    let (got, home) = ran(DAEMON, "");
    assert_eq!(got["output"], "begun", "{got}");
    let pid = daemon(&home).unwrap();
    assert!(!alive(pid), "{pid} still runs");
    // Nor does it stay when Hermes is killed.
    let mock = Mock::start(vec![script(&format!("{DAEMON}\ntime.sleep(600)"))]);
    let home = Home::with(&mock, "approvals:\n  mode: yolo\n");
    let mut term = Term::start(&home, &[]);
    term.wait("❯");
    term.send("go\r");
    until("the daemon runs", || daemon(&home).is_some());
    let pid = daemon(&home).unwrap();
    assert!(alive(pid));
    term.kill();
    until("the daemon ended", || !alive(pid));
}

#[test]
fn no_call_begins_or_goes_on_once_the_time_of_a_script_is_over() {
    if !has("no_call_begins_or_goes_on_once_the_time_of_a_script_is_over", "python3") {
        return;
    }
    let code = r#"
import signal, threading, time
from hermes_tools import terminal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
began = time.monotonic()
threading.Thread(target=lambda: terminal("echo $$ > slow; exec sleep 600"), daemon=True).start()
while True:
    try:
        terminal(f"echo {time.monotonic() - began} >> calls")
    except Exception:
        time.sleep(0.05)
"#;
    let (got, home) = ran(code, "code_execution:\n  timeout: 2\n  max_tool_calls: 10000\n");
    assert_eq!(got["status"], "timeout", "{got}");
    let read = |name: &str| std::fs::read_to_string(home.project().join(name)).unwrap_or_default();
    if let Ok(slow) = read("slow").trim().parse::<i32>() {
        until("the slow command ended", || !alive(slow));
    }
    let late: Vec<f64> = read("calls").lines().filter_map(|line| line.parse().ok()).filter(|at| *at > 3.5).collect();
    assert!(late.is_empty(), "{late:?}");
}

#[test]
fn forty_threads_call_at_the_same_time() {
    if !has("forty_threads_call_at_the_same_time", "python3") {
        return;
    }
    let code = r#"
from concurrent.futures import ThreadPoolExecutor
from hermes_tools import read_file, write_file
paths = [f"file{n}.txt" for n in range(40)]
for path in paths:
    write_file(path, path)
with ThreadPoolExecutor(max_workers=40) as pool:
    pages = list(pool.map(read_file, paths))
print(all(path in page["content"] for path, page in zip(paths, pages)))
"#;
    // Text that only computes and calls tools: nobody is asked.
    let mock = Mock::start(vec![script(code)]);
    let home = Home::with(&mock, "code_execution:\n  max_tool_calls: 100\n");
    home.run(&["-p", "go"]);
    let got = told(&mock);
    assert_eq!((&got["output"], &got["tool_calls_made"]), (&json!("True"), &json!(80)), "{got}");
}

const STRANGERS: &str = r#"
import os, socket
from hermes_tools import terminal

def connected():
    stream = socket.socket(socket.AF_UNIX)
    stream.settimeout(20)
    stream.connect(os.environ["HERMES_RPC_SOCKET"])
    return stream

# Strangers that say much, and strangers that say nothing, keep nobody else from being served.
idle = [connected() for n in range(100)]
cut = 0
for n in range(40):
    stream = connected()
    try:
        stream.sendall(b'{"tool": "' + b"x" * (1 << 20))
        cut += not stream.makefile("rb").readline().startswith(b'{"error":"Unauthorized')
    except OSError:
        pass
print(cut, terminal("echo served")["output"])
"#;

#[test]
fn strangers_at_the_socket_cost_little_and_block_nobody() {
    if !has("strangers_at_the_socket_cost_little_and_block_nobody", "python3") {
        return;
    }
    let (got, _home) = ran(STRANGERS, "");
    assert_eq!((&got["output"], &got["tool_calls_made"]), (&json!("0 served"), &json!(1)), "{got}");
}

#[test]
fn results_have_one_shape_and_nothing_of_them_is_cut() {
    if !has("results_have_one_shape_and_nothing_of_them_is_cut", "python3") {
        return;
    }
    let code = r#"
from hermes_tools import read_file, search, write_file
write_file("long.jsonl", "z" * 9000 + "\n")
write_file("many.txt", "\n".join(["zebra"] * 60))
for limit in (4, 5, 50):
    found = search("zebra", limit=limit)
    print(len(found["matches"]), found["truncated"], {match["content"] for match in found["matches"]})
print(len(read_file("long.jsonl")["content"]), len(search("zzz")["matches"][0]["content"]))
print(len(read_file("many.txt", limit=5000)["content"].splitlines()))
"#;
    let (got, _home) = ran(code, "");
    let lines: Vec<&str> = got["output"].as_str().unwrap_or_else(|| panic!("{got}")).lines().collect();
    assert_eq!(lines[..3], ["4 True {'zebra'}", "5 True {'zebra'}", "50 True {'zebra'}"], "{got}");
    assert_eq!(lines[3..], ["9002 9000", "60"], "{got}");
}

#[test]
fn a_script_has_the_environment_that_is_promised() {
    if !has("a_script_has_the_environment_that_is_promised", "python3") {
        return;
    }
    let code = r#"
import os
own = ["HERMES_HOME", "HERMES_PROFILE", "TZ", "LET_ME_TOKEN", "NODE_PATH", "OPENAI_API_KEY"]
print([name for name in own if name in os.environ])
print(os.path.exists(os.path.join(os.environ["PYTHONPATH"].split(":")[0], "hermes_tools.py")), os.environ["TZ"])
print("größer", __file__.endswith("script.py"))
"#;
    let mock = Mock::start(vec![script(code)]);
    let mut home = Home::with(&mock, "approvals:\n  mode: yolo\nterminal:\n  env_passthrough: [LET_ME_TOKEN]\n");
    for (name, value) in [("LET_ME_TOKEN", "x"), ("OPENAI_API_KEY", "y"), ("NODE_PATH", "/x")] {
        home.set(name, value);
    }
    home.set("HERMES_TIMEZONE", "Asia/Tokyo");
    home.run(&["-p", "go"]);
    let got = told(&mock);
    let lines: Vec<&str> = got["output"].as_str().unwrap_or_else(|| panic!("{got}")).lines().collect();
    assert_eq!(lines, ["['HERMES_HOME', 'TZ', 'LET_ME_TOKEN']", "True Asia/Tokyo", "größer True"], "{got}");
}

#[test]
fn where_nothing_runs_a_script_the_tool_is_not_there() {
    let mock = Mock::start(vec![Step::Text("hi".into())]);
    let mut home = Home::with(&mock, "");
    let tools = |mock: &Mock| mock.requests()[0]["tools"].to_string();
    // A PATH with a shell and nothing else.
    let folder = home.user().join("bin");
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["sh", "bash"] {
        let _ = std::os::unix::fs::symlink(format!("/bin/{name}"), folder.join(name));
    }
    home.set("PATH", folder.to_str().unwrap());
    home.run(&["-p", "go"]);
    assert!(!tools(&mock).contains("execute_code"), "{}", tools(&mock));
}

#[test]
fn waiting_for_what_never_comes_is_no_success() {
    if !has("waiting_for_what_never_comes_is_no_success", "node") {
        return;
    }
    let run = |code: &str| {
        let step = call("execute_code", json!({ "code": code, "language": "javascript" }));
        let mock = Mock::start(vec![Step::Calls(String::new(), vec![step])]);
        let home = Home::with(&mock, "approvals:\n  mode: yolo\n");
        home.run(&["-p", "go"]);
        told(&mock)
    };
    let got = run("console.log('before'); await new Promise(() => {}); console.log('after')");
    assert_eq!((&got["status"], &got["output"]), (&json!("error"), &json!("before")), "{got}");
    assert!(got["errors"].as_str().unwrap().contains("waits for a promise that nothing resolves"), "{got}");
    let got = run("await new Promise((yes) => setTimeout(yes, 10)); console.log('after')");
    assert_eq!((&got["status"], &got["output"]), (&json!("success"), &json!("after")), "{got}");
    assert_eq!(run("process.exit(0)")["status"], "success");
}

/// Tokens of a request's tools, near enough: four bytes each.
fn tokens(mock: &Mock) -> usize {
    mock.requests()[0]["tools"].to_string().len() / 4
}

#[test]
fn code_mode_offers_the_tools_of_servers_for_half_of_their_schemas() {
    const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/mcp-server.sh");
    if !has("code_mode_offers_the_tools_of_servers_for_half_of_their_schemas", "python3") {
        return;
    }
    let servers: String =
        ["a", "b", "c", "d"].map(|name| format!("  {name}:\n    command: bash\n    args: [{SERVER}, many]\n")).concat();
    let servers = format!("mcp_discovery_timeout: 30\nmcp_servers:\n{servers}");
    let cost = |more: &str| {
        let mock = Mock::start(vec![Step::Text("hi".into())]);
        let home = Home::with(&mock, more);
        home.run(&["-p", "go"]);
        (tokens(&mock), mock.requests()[0]["tools"].to_string())
    };
    let (none, _) = cost("");
    let (schemas, text) = cost(&format!("{servers}tools:\n  tool_search:\n    enabled: 'off'\n"));
    assert!(text.contains("mcp__a__tool_3"), "{text}");
    let (code, text) = cost(&format!("{servers}code_execution:\n  mcp: true\n"));
    assert!(text.contains("call_tool(name, args)") && text.contains("mcp__d__tool_11"), "{text}");
    println!("{none} tokens of tools without servers, {schemas} with all schemas, {code} in code mode");
    assert!((code - none) * 2 <= schemas - none, "{none} {schemas} {code}");
    // As one model has it, whatever holds for the others.
    let of_model =
        |id: &str| format!("{servers}providers:\n  custom:\n    models:\n      {id}:\n        code_mode: true\n");
    assert!(cost(&of_model("mock-model")).1.contains("call_tool(name, args)"));
    assert!(!cost(&of_model("other-model")).1.contains("call_tool(name, args)"));
}

/// Read twenty files, filter, edit five and look at them: as calls, in as few steps as a model can, and as a script.
#[test]
fn the_same_work_costs_at_most_forty_percent_of_the_tokens_in_a_script() {
    if !has("the_same_work_costs_at_most_forty_percent_of_the_tokens_in_a_script", "python3") {
        return;
    }
    let path = |n: usize| format!("file{n}.py");
    let files = |home: &Home| {
        for n in 0..20 {
            let body: String = (0..60).map(|line| format!("value_{line} = compute({line}, {n})\n")).collect();
            let todo = if n % 4 == 0 { "# TODO: rename\n" } else { "" };
            std::fs::write(home.project().join(path(n)), format!("{todo}{body}")).unwrap();
        }
    };
    let cost = |mock: &Mock| mock.requests().iter().map(|request| request.to_string().len()).sum::<usize>();
    let step = |calls: Vec<(String, Value)>| Step::Calls(String::new(), calls);
    let read = |n: usize| call("read_file", json!({ "path": path(n) }));
    let edit =
        |n: usize| call("patch", json!({ "path": path(n), "old_string": "# TODO: rename", "new_string": "# renamed" }));
    let some = || (0..20).step_by(4);
    let mock = Mock::start(vec![
        step((0..10).map(read).collect()),
        step((10..20).map(read).collect()),
        step(some().map(edit).collect()),
        step(some().map(read).collect()),
    ]);
    let home = Home::with(&mock, "");
    files(&home);
    home.run(&["-p", "rename them"]);
    let calls = cost(&mock);
    let code = "from hermes_tools import read_file, patch\ndone = []\nfor n in range(20):\n    path = f'file{n}.py'\n    if 'TODO' in read_file(path)['content']:\n        patch(path=path, old_string='# TODO: rename', new_string='# renamed')\n        done.append(path)\nprint(all('renamed' in read_file(path)['content'] for path in done), done)";
    let mock = Mock::start(vec![script(code)]);
    let home = Home::with(&mock, "");
    files(&home);
    home.run(&["-p", "rename them"]);
    assert_eq!(told(&mock)["tool_calls_made"], 30, "{}", told(&mock));
    assert!(told(&mock)["output"].as_str().unwrap().starts_with("True "), "{}", told(&mock));
    let in_script = cost(&mock);
    assert!(in_script * 100 <= calls * 40, "{in_script} bytes of requests in a script, {calls} as calls");
    println!("{in_script} bytes of requests in a script, {calls} as calls");
}

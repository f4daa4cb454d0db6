//! Other machines, for real: sshd on loopback, containers of podman. One site has the whole way of a call: plan, gate, run.

mod again;
mod alone;
mod clients;
mod container;
mod daytona;
mod modal;
mod real;
mod rounds;
mod ssh;

use crate::harness::Home;
use crate::harness::home::{err, out};
use hermes::agent::AgentHandle;
use hermes::backends::{Backends, Keys, Worlds};
use hermes::config::{Config, TerminalConfig};
use hermes::exec::{Exec, ExecOptions};
use hermes::policy::redact::redact;
use hermes::policy::{Mode, Rules};
use hermes::protocol::{ToolBody, ToolCall};
use hermes::tools::dispatch::Dispatch;
use hermes::tools::gate::{Asker, Gate};
use hermes::tools::registry::Registry;
use hermes::tools::spec::ToolCtx;
use hermes::tools::world::LocalWorld;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// A session without a person, whose commands run in a place. All that would be asked is allowed.
struct Site {
    runtime: Runtime,
    backends: Backends,
    gate: Gate,
    ctx: ToolCtx,
    root: tempfile::TempDir,
}

impl Site {
    fn new(terminal: TerminalConfig) -> Self {
        Self::with(Config { terminal, ..Config::default() }, Mode::Yolo)
    }

    fn with(config: Config, mode: Mode) -> Self {
        Self::reached(config, mode, Keys::default())
    }

    /// The same with keys for services.
    fn reached(config: Config, mode: Mode, keys: Keys) -> Self {
        let root = tempfile::tempdir().unwrap();
        let (home, workspace) = (Self::home_in(root.path()), root.path().join("workspace"));
        std::fs::create_dir_all(&workspace).unwrap();
        std::fs::write(workspace.join("here.txt"), "of this machine\n").unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let options = ExecOptions {
            spill: root.path().join("spill"),
            login_env: false,
            env_passthrough: config.terminal.env_passthrough.clone(),
            headless: true,
            ..ExecOptions::default()
        };
        let (exec, _events) = Exec::new(options);
        let backends = Backends::new(&config.terminal, &exec, &home, &workspace, keys);
        let here = Arc::new(LocalWorld::new(root.path().join("user"), home));
        let world = Arc::new(Worlds::new(here, backends.clone()));
        let asker: Arc<dyn Asker> = Arc::new(AgentHandle::alone());
        let dispatch = Arc::new(Dispatch::new(Arc::new(Registry::builtin()), redact));
        let gate = Gate::new(dispatch, Rules::default(), mode, world.clone(), asker);
        let ctx = ToolCtx {
            config: Arc::new(config),
            call_id: "call".into(),
            task: "task".into(),
            cwd: Arc::new(Mutex::new(workspace.clone())),
            workspace,
            unconfined: false,
            read_only: false,
            exec,
            backends: backends.clone(),
            world,
            files: Arc::default(),
            kin: None,
            agent: Arc::new(AgentHandle::alone()),
            progress: mpsc::channel(1).0,
            cancel: CancellationToken::new(),
            history: None,
            sessions: None,
            spill: root.path().join("spill"),
            calls: None,
            within: None,
            room: Default::default(),
            closed: Default::default(),
        };
        Self { runtime, backends, gate, ctx, root }
    }

    /// The program's own home: containers are found by it.
    fn home_in(root: &Path) -> PathBuf {
        root.join(format!("home-{}", root.file_name().unwrap().to_string_lossy().trim_start_matches('.')))
    }

    fn call_with(&self, tool: &str, args: &Value, ctx: ToolCtx) -> ToolBody {
        let call = ToolCall { id: "call".into(), name: tool.into(), args: args.to_string(), ..ToolCall::default() };
        let (events, unheard) = mpsc::channel(1);
        drop(unheard);
        self.runtime.block_on(self.gate.call(&call, ctx, events))
    }

    /// The result of a call as the model has it.
    fn call(&self, tool: &str, args: Value) -> Value {
        let body = self.call_with(tool, &args, self.ctx.clone());
        serde_json::from_str(&body.content).unwrap_or_else(|error| panic!("{tool} {args}: {error}: {}", body.content))
    }

    fn run(&self, line: &str) -> Value {
        self.call("terminal", json!({ "command": line }))
    }

    /// What a line prints.
    fn prints(&self, line: &str) -> String {
        let result = self.run(line);
        assert_eq!(result["exit_code"], 0, "{line}: {result}");
        result["output"].as_str().unwrap().to_owned()
    }

    fn workspace(&self) -> PathBuf {
        self.root.path().join("workspace")
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.runtime.block_on(self.ctx.exec.shutdown(true));
        self.backends.leave().unwrap();
    }
}

/// What is the same in every place.
fn works_like_home(site: &Site) {
    // Folder and exported variables last; nothing of ours is in the output.
    assert_eq!(site.prints("printf 'a\\nb\\n'"), "a\nb");
    let made = site.run("mkdir -p sub/deep && cd sub && export COLOUR='deep blue' && pwd");
    assert!(made["cwd"].as_str().unwrap().ends_with("/sub"), "{made}");
    assert_eq!(site.prints("echo \"$COLOUR\"; basename \"$PWD\"; env | grep HERMES_HOME; true"), "deep blue\nsub");
    let refused = site.run("export LD_PRELOAD=/tmp/x.so");
    assert_eq!(refused["not_kept"], json!(["LD_PRELOAD"]), "{refused}");
    // Exit codes, quoting, and text that looks like a shell's end.
    assert_eq!(site.run("exit 7")["exit_code"], 7);
    assert_eq!(site.prints("cat <<'EOF'\n$HOME `id` \"x\" 'y' \\\nEOF"), "$HOME `id` \"x\" 'y' \\");
    let gone = site.call("terminal", json!({"command": "pwd", "workdir": "/no/such/folder"}));
    assert!(gone["error"].as_str().unwrap().contains("/no/such/folder"), "{gone}");
    files_work_like_home(site);
}

/// A home whose commands run in a sandbox of this service, by the built program.
fn sandbox_home(backend: &str, variables: Vec<(&'static str, String)>) -> Home {
    let mut home = Home::empty();
    for (name, value) in variables {
        home.set(name, &value);
    }
    home.config(&format!("terminal:\n  backend: {backend}\n"));
    home
}

/// What `terminal` says to a command, by the built program.
fn run(home: &Home, command: &str) -> Value {
    told(home, command).0
}

/// The same, and what the program says on standard error.
fn told(home: &Home, command: &str) -> (Value, String) {
    let args = json!({ "command": command }).to_string();
    let done = home.run(&["tools", "run", "terminal", &args, "--yolo"]);
    let said = serde_json::from_str(out(&done).trim());
    (said.unwrap_or_else(|error| panic!("{command}: {error}: {} {}", out(&done), err(&done))), err(&done).to_owned())
}

fn files_work_like_home(site: &Site) {
    let written = site.call("write_file", json!({"path": "a b/new.txt", "content": "one\ntwo\nthree\n"}));
    assert_eq!((&written["bytes_written"], &written["dirs_created"]), (&json!(14), &json!(true)), "{written}");
    let read = site.call("read_file", json!({"path": "a b/new.txt", "offset": 2, "limit": 1}));
    assert_eq!(read["content"], "2|two", "{read}");
    site.prints("chmod 751 'a b/new.txt'");
    let patched = site.call("patch", json!({"path": "a b/new.txt", "old_string": "two", "new_string": "2"}));
    assert_eq!(patched["success"], true, "{patched}");
    assert_eq!(site.prints("cat 'a b/new.txt'; stat -c %a 'a b/new.txt'; ls -A 'a b'"), "one\n2\nthree\n751\nnew.txt");
    let v4a = "*** Begin Patch\n*** Update File: a b/new.txt\n*** Move to: moved.txt\n@@\n-three\n+3\n*** Add File: c/d.txt\n+x\n*** End Patch";
    let patched = site.call("patch", json!({"mode": "patch", "patch": v4a}));
    assert_eq!(patched["success"], true, "{patched}");
    assert_eq!(site.prints("cat moved.txt c/d.txt; ls -A 'a b'"), "one\n2\n3\nx");
    // A large file, and bytes that are no text.
    site.prints("head -c 600000 /dev/zero | tr '\\0' 'x' >large; printf '\\n' >>large");
    let large = site.call("read_file", json!({"path": "large"}));
    assert_eq!(large["file_size"], 600_001, "{}", large["error"]);
    site.prints("printf 'a\\0b' >bytes");
    assert_eq!(site.call("read_file", json!({"path": "bytes"}))["is_binary"], true);
    let whole = "line of text\n".repeat(40_000);
    let written = site.call("write_file", json!({"path": "big.txt", "content": whole}));
    assert_eq!(written["bytes_written"], 520_000, "{written}");
    assert_eq!(site.prints("wc -l <big.txt; cksum <big.txt | cut -d' ' -f2"), "40000\n520000");
    // A file that somebody else changed, a missing one and its neighbours.
    site.prints("sleep 0.01; echo other >moved.txt");
    let stale = site.call("patch", json!({"path": "moved.txt", "old_string": "other", "new_string": "mine"}));
    assert!(stale["_warning"].as_str().unwrap().contains("changed since you last read it"), "{stale}");
    let missing = site.call("read_file", json!({"path": "movd.txt"}));
    assert!(missing["similar_files"][0].as_str().unwrap().ends_with("/moved.txt"), "{missing}");
    let found = site.call("search_files", json!({"pattern": "min[e]"}));
    assert_eq!(
        (&found["matches"][0]["path"], &found["matches"][0]["line"]),
        (&json!("moved.txt"), &json!(1)),
        "{found}"
    );
    let named = site.call("search_files", json!({"pattern": "*.txt", "target": "files", "path": "c"}));
    assert_eq!(named["files"], json!(["c/d.txt"]), "{named}");
    // Nothing of it is on this machine.
    let here: Vec<_> = std::fs::read_dir(site.workspace()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(here, ["here.txt"]);
}

/// Ends by time and by the stop key, and nothing of it stays.
fn ends_there(site: &Site) {
    // Its shell does not listen to the first signal, its child to none that can be ignored.
    let child = "trap '' INT TERM HUP; echo $$ >child; while :; do sleep 0.05; done";
    let line = format!("trap '' INT; echo $$ >pid; bash -c \"{}\"", child.replace('$', "\\$"));
    let timed = site.call("terminal", json!({"command": line, "timeout": 2}));
    assert_eq!(timed["exit_code"], 124, "{timed}");
    assert!(timed["output"].as_str().unwrap().contains("timed out after 2s"), "{timed}");
    gone_there(site, "pid child");
    let mut ctx = site.ctx.clone();
    ctx.cancel = CancellationToken::new();
    let cancel = ctx.cancel.clone();
    let marker = site.prints("rm -f running; pwd");
    let backends = site.backends.clone();
    let stopper = std::thread::spawn(move || {
        let there = backends.current().unwrap();
        crate::harness::until("the command runs", || there.is_dir(&Path::new(&marker).join("running")).unwrap());
        cancel.cancel();
    });
    let body = site.call_with("terminal", &json!({"command": "echo $$ >pid; mkdir running; sleep 600"}), ctx);
    stopper.join().unwrap();
    assert!(body.content.contains("\"exit_code\":130"), "{}", body.content);
    gone_there(site, "pid");
}

/// The processes whose numbers stand in these files are gone, or only wait for an init that takes its time.
fn gone_there(site: &Site, files: &str) {
    let line = format!(
        "for p in $(cat {files}); do [ -e /proc/$p ] && ! grep -q '^State:.Z' /proc/$p/status && echo $p; done; true"
    );
    crate::harness::until("what was stopped is gone", || site.prints(&line).is_empty());
}

/// Work in the background: its output comes, its end is known, and it can be ended.
fn background_works(site: &Site) {
    let started = site.call(
        "terminal",
        json!({"command": "echo begun; until [ -e go ]; do sleep 0.05; done; echo done; exit 3", "background": true}),
    );
    let id = started["session_id"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned();
    crate::harness::until("its output", || {
        site.call("process", json!({"action": "log", "session_id": id})).to_string().contains("begun")
    });
    site.prints("touch go");
    let ended = site.call("process", json!({"action": "wait", "session_id": id, "timeout": 40}));
    assert_eq!(ended["exit_code"], 3, "{ended}");
    assert!(ended.to_string().contains("done"), "{ended}");
    let started = site.call("terminal", json!({"command": "echo $$ >bg; exec sleep 600", "background": true}));
    let id = started["session_id"].as_str().unwrap().to_owned();
    crate::harness::until("it runs", || site.run("[ -s bg ] && kill -0 $(cat bg)")["exit_code"] == 0);
    site.call("process", json!({"action": "kill", "session_id": id}));
    gone_there(site, "bg");
}

/// The gate asks that machine: links and files there decide.
fn is_judged_there(site: &Site) {
    site.prints(
        "mkdir -p judged ~/.ssh && cd judged && echo key >~/.ssh/id_made && ln -s \"$HOME/.ssh\" keys && echo x >plain",
    );
    site.gate.set_mode(Mode::Ask);
    for line in ["cat keys/id_made", "cat k*/id_*", "cd keys && cat id_made"] {
        let result = site.run(line);
        assert!(result["error"].as_str().is_some_and(|why| why.contains("read of a secret")), "{line}: {result}");
    }
    let read = site.call("read_file", json!({"path": "keys/id_made"}));
    assert!(read["error"].as_str().is_some_and(|why| why.contains("needs approval")), "{read}");
    assert_eq!(site.prints("cat plain"), "x");
    site.gate.set_mode(Mode::Yolo);
}

/// A person at the screen: the terminal there has the size of all terminals, keys reach the program, a secret is not shown,
/// and once somebody types the size is that of the pane.
fn types_there(home: Home, kind: &str) {
    use crate::harness::mock::call;
    use crate::harness::{Mock, Step, Term};
    let command = "[ -t 0 ] && [ -t 1 ] && echo a-terminal; stty size | cut -d' ' -f2; read -p 'Name? ' name; echo hello-$name; \
                   read -s -p 'Secret? ' secret; echo; echo ${#secret}; \
                   until [ \"$(stty size | cut -d' ' -f2)\" -lt 120 ]; do sleep 0.05; done; echo fits";
    let mock = Mock::start(vec![
        Step::Calls(String::new(), vec![call("terminal", json!({ "command": command }))]),
        Step::Text("all-is-said".into()),
    ]);
    home.model(&mock, &format!("terminal:\n  backend: {kind}\napprovals:\n  mode: \"off\"\n"));
    let mut term = Term::sized(&home, &[], (120, 40));
    term.wait("❯").wait(kind);
    term.send("run it\r").wait("Name?");
    term.send("\x1b[20~").wait("F9 return");
    term.send("ada\r").wait("hello-ada").wait("Secret?");
    term.send("geheim77\r").wait("all-is-said");
    let request = mock.requests().pop().unwrap();
    let mut results = request["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "tool");
    let result: Value = serde_json::from_str(results.next_back().unwrap()["content"].as_str().unwrap()).unwrap();
    let output = result["output"].as_str().unwrap();
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(&lines[..2], ["a-terminal", "1000"], "{output}");
    assert_eq!(lines.last(), Some(&"fits"), "{output}");
    // Behind a client the terminal is raw: what repeats a typed word cannot be told from its echo for sure.
    let greets = output.contains("hello-ada") || output.contains("[left out: this may show what the user typed]");
    assert!(lines.contains(&"8") && greets, "{output}");
    assert!(!String::from_utf8_lossy(&term.raw()).contains("geheim77"));
    term.quit();
}

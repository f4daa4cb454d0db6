//! The two terminal tools on real processes.

mod processes;

use super::*;
use crate::config::Config;
use crate::exec::{Exec, ExecOptions, ProcessCommand, ProcessId};
use crate::protocol::Outcome;
use crate::tools::builtin::process::process;
use crate::tools::spec::FileLedger;
use crate::tools::spec::Progress;
use crate::tools::testing::{Here, Person};
use std::sync::Mutex;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

struct Desk {
    folder: tempfile::TempDir,
    ctx: ToolCtx,
    progress: mpsc::Receiver<Progress>,
}

fn desk() -> Desk {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let options = ExecOptions { spill: root.join("exec"), login_env: false, ..ExecOptions::default() };
    let (exec, _) = Exec::new(options);
    let (sender, progress) = mpsc::channel(8);
    let mut config = Config::default();
    config.terminal.daemon_term_grace_seconds = 0.2;
    let ctx = ToolCtx {
        backends: Default::default(),
        config: Arc::new(config),
        call_id: "call_1".into(),
        task: "t".into(),
        cwd: Arc::new(Mutex::new(root.clone())),
        workspace: root.clone(),
        unconfined: false,
        read_only: false,
        closed: Default::default(),
        exec,
        world: Arc::new(Here::new(root.clone(), || {})),
        files: Arc::new(Mutex::new(FileLedger::default())),
        kin: None,
        agent: Arc::new(Person { nobody: true, ..Person::default() }),
        progress: sender,
        cancel: CancellationToken::new(),
        history: None,
        sessions: None,
        spill: root.join("spill"),
        calls: None,
        within: None,
        room: Default::default(),
    };
    Desk { folder, ctx, progress }
}

impl Desk {
    async fn call(&self, tool: Arc<dyn Tool>, args: Value) -> Result<ToolOutput, ToolError> {
        let call = tool.plan(args, &self.ctx).await?;
        tokio::time::timeout(Duration::from_secs(20), call.run(self.ctx.clone())).await.expect("it takes too long")
    }

    async fn terminal(&self, args: Value) -> (Value, ToolOutput) {
        let output = self.call(terminal(), args).await.unwrap();
        (serde_json::from_str(&output.content).unwrap(), output)
    }

    async fn process(&self, args: Value) -> (Value, ToolOutput) {
        let output = self.call(process(), args).await.unwrap();
        (serde_json::from_str(&output.content).unwrap(), output)
    }

    async fn refused(&self, args: Value) -> String {
        match terminal().plan(args, &self.ctx).await {
            Err(error) => error.to_string(),
            Ok(call) => panic!("planned: {:?}", call.intent()),
        }
    }

    fn cwd(&self) -> PathBuf {
        self.ctx.cwd.lock().unwrap().clone()
    }

    async fn process_id(&mut self) -> ProcessId {
        match self.progress.recv().await {
            Some(Progress::Process(id)) => id,
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_command_gives_output_code_and_view() {
    let desk = desk();
    let (value, output) = desk.terminal(json!({"command": "echo a; printf '10%%\\r100%%\\n'; exit 2"})).await;
    assert_eq!(value, json!({"output": "a\n100%", "exit_code": 2, "error": null}));
    assert_eq!((output.outcome, output.view.summary.as_str()), (Outcome::Failed, "exit 2"));
    assert_eq!((output.view.exit_code, output.view.output.as_str()), (Some(2), "a\n100%"));
    let (value, output) = desk.terminal(json!({"command": "grep nothing /dev/null"})).await;
    assert_eq!(value["exit_code_meaning"], "No matches found (not an error)");
    assert_eq!(output.outcome, Outcome::Failed);
    let (_, output) = desk.terminal(json!({"command": "echo x"})).await;
    assert_eq!((output.outcome, output.view.summary.as_str()), (Outcome::Ok, "1 line"));
}

#[tokio::test]
async fn data_in_the_output_is_a_note() {
    let desk = desk();
    let data = r"for i in $(seq 300); do printf '\001\002\377\376ab\000c'; done";
    let (result, _) = desk.terminal(json!({"command": format!("echo begin; {data}; echo; echo end")})).await;
    assert_eq!(result["output"], "begin\n[binary output, 2.4 KB]\nend", "{result}");
}

#[tokio::test]
async fn nothing_runs_elsewhere_when_the_folder_is_gone() {
    let desk = desk();
    let root = desk.cwd();
    desk.terminal(json!({"command": "touch kept; mkdir x; cd x"})).await;
    // Its own end is no error: it began where it was judged.
    let (value, _) = desk.terminal(json!({"command": "rmdir \"$PWD\"; echo done"})).await;
    assert_eq!(value["exit_code"], 0, "{value}");
    let why = desk.refused(json!({"command": "rm -f *"})).await;
    assert!(why.contains(root.join("x").to_str().unwrap()) && why.contains("workdir"), "{why}");
    // Planned while it was there, gone before it ran.
    std::fs::create_dir(root.join("x")).unwrap();
    let call = terminal().plan(json!({"command": "rm -f *"}), &desk.ctx).await.unwrap();
    std::fs::remove_dir(root.join("x")).unwrap();
    let Err(error) = call.run(desk.ctx.clone()).await else { panic!("it ran") };
    assert!(error.to_string().contains("no longer exists"), "{error}");
    assert!(root.join("kept").exists());
    // The way on: a folder that exists becomes the working folder.
    let (value, _) = desk.terminal(json!({"command": "pwd", "workdir": root.to_str().unwrap()})).await;
    assert_eq!((value["exit_code"].as_i64(), desk.cwd()), (Some(0), root));
}

#[tokio::test]
async fn variables_that_are_not_kept_are_named() {
    let desk = desk();
    let (value, _) = desk.terminal(json!({"command": "read LD_AUDIT <<< ./x; export LD_AUDIT KEPT=1"})).await;
    assert_eq!(value["not_kept"], json!(["LD_AUDIT"]), "{value}");
    let (value, _) = desk.terminal(json!({"command": "echo $KEPT$LD_AUDIT"})).await;
    assert_eq!((value["output"].as_str(), value.get("not_kept")), (Some("1"), None));
}

#[tokio::test]
async fn the_folder_moves_with_commands_and_workdir_is_for_one() {
    let desk = desk();
    let root = desk.cwd();
    let (value, _) = desk.terminal(json!({"command": "mkdir -p a/b; cd a; export V=1"})).await;
    assert_eq!(value["cwd"], root.join("a").to_str().unwrap());
    assert_eq!(desk.cwd(), root.join("a"));
    let (value, _) = desk.terminal(json!({"command": "pwd; echo $V; cd /", "workdir": "b"})).await;
    assert_eq!(value, json!({"output": format!("{}/a/b\n1", root.display()), "exit_code": 0, "error": null}));
    assert_eq!(desk.cwd(), root.join("a"));
    let (value, _) = desk.terminal(json!({"command": "pwd", "workdir": "~"})).await;
    assert_eq!(value["output"], root.to_str().unwrap());
}

#[tokio::test]
async fn what_cannot_work_is_refused_before_it_is_asked_about() {
    let desk = desk();
    assert!(desk.refused(json!({"command": "npm run dev"})).await.starts_with("This foreground command appears"));
    assert!(desk.refused(json!({"command": "sleep 1 &"})).await.contains("background=true"));
    assert!(desk.refused(json!({"command": 3})).await.contains("must be a string"));
    assert!(desk.refused(json!({"command": " "})).await.contains("missing or empty"));
    assert!(desk.refused(json!({"command": "a", "workdir": "x;y"})).await.starts_with("Blocked: workdir"));
    assert!(desk.refused(json!({"command": "a", "workdir": "nowhere"})).await.contains("is not a folder"));
    assert!(desk.refused(json!({"command": "a", "timeout": 601})).await.contains("exceeds the maximum of 600s"));
    assert!(desk.refused(json!({"command": "a", "timeout": "soon"})).await.contains("`timeout`"));
}

#[tokio::test]
async fn the_intent_is_what_runs() {
    let desk = desk();
    let args = json!({"command": "cd x && serve &", "background": true});
    let call = terminal().plan(args, &desk.ctx).await.unwrap();
    let expected = Intent::Command { line: "cd x && { serve & }".into(), cwd: desk.cwd(), background: true };
    assert_eq!((call.intent(), call.target().as_str()), (&expected, "cd x && { serve & }"));
    let call = process().plan(json!({"action": "submit", "session_id": "p", "data": "yes"}), &desk.ctx).await.unwrap();
    assert_eq!(*call.intent(), Intent::Input { process: "p".into(), text: "yes\n".into() });
    let call = process().plan(json!({"action": "kill", "session_id": "p"}), &desk.ctx).await.unwrap();
    assert_eq!((call.intent(), call.target().as_str()), (&Intent::Handle, "kill p"));
}

#[tokio::test]
async fn long_output_is_cut_and_kept() {
    let desk = desk();
    let (value, output) = desk.terminal(json!({"command": "seq 1 20000"})).await;
    let text = value["output"].as_str().unwrap();
    assert!(text.starts_with("1\n2\n") && text.ends_with("\n20000"));
    assert!(text.chars().count() < 50_400);
    let path = desk.ctx.spill.join("call_1.txt");
    assert!(text.contains(path.to_str().unwrap()), "{output:?}");
    assert_eq!(std::fs::read_to_string(path).unwrap().lines().count(), 20_000);
    let (value, _) = desk.terminal(json!({"command": "seq 1 500000"})).await;
    assert!(value["output"].as_str().unwrap().contains(desk.ctx.spill.join("call_1-").to_str().unwrap()));
}

#[tokio::test]
async fn time_runs_out_with_the_output_so_far() {
    let desk = desk();
    let (value, output) = desk.terminal(json!({"command": "echo begun; sleep 600", "timeout": 1})).await;
    let expected = json!({"output": "begun\n[Command timed out after 1s]", "exit_code": 124, "error": null});
    assert_eq!((value, output.outcome), (expected, Outcome::Failed));
    assert_eq!(output.view.summary, "timed out after 1 s");
}

/// Processes that hang in the kernel end for nobody.
#[test]
fn one_that_outlives_its_time_limit_or_a_stop_is_told_as_that() {
    let output = super::result::late("begun", 5, "proc_1", 77);
    let value: Value = serde_json::from_str(&output.content).unwrap();
    let text = "begun\n[Command timed out after 5s and was signalled; it has not exited yet]";
    let expected = json!({"output": text, "session_id": "proc_1", "pid": 77, "exit_code": 124, "error": null});
    assert_eq!((value, output.outcome), (expected, Outcome::Failed));
    assert_eq!(output.view.summary, "timed out after 5 s, still exiting");
    let output = super::result::interrupted("");
    let value: Value = serde_json::from_str(&output.content).unwrap();
    let text = "[Command interrupted; it has not exited yet]";
    assert_eq!(
        (value, output.outcome),
        (json!({"output": text, "exit_code": 130, "error": null}), Outcome::Interrupted)
    );
}

#[tokio::test]
async fn a_stop_delivers_the_outcome() {
    let mut desk = desk();
    let call = terminal().plan(json!({"command": "read x; echo no"}), &desk.ctx).await.unwrap();
    let running = tokio::spawn(call.run(desk.ctx.clone()));
    desk.process_id().await;
    desk.ctx.cancel.cancel();
    let output = running.await.unwrap().unwrap();
    let value: Value = serde_json::from_str(&output.content).unwrap();
    assert_eq!(value, json!({"output": "[Command interrupted]", "exit_code": 130, "error": null}));
    assert_eq!(output.outcome, Outcome::Interrupted);
}

#[tokio::test]
async fn typing_and_moving_to_the_background() {
    let mut desk = desk();
    let call = terminal().plan(json!({"command": "head -n 1 && cat"}), &desk.ctx).await.unwrap();
    let running = tokio::spawn(call.run(desk.ctx.clone()));
    let id = desk.process_id().await;
    desk.ctx.exec.command(ProcessCommand::Write(id.clone(), b"typed\r".to_vec()));
    // The line comes back through the program: then it runs.
    while !String::from_utf8_lossy(&desk.ctx.exec.last_output(&id, 100).unwrap().output.into_bytes()).contains("typed")
    {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    desk.ctx.exec.command(ProcessCommand::Background(id.clone()));
    let output = running.await.unwrap().unwrap();
    let value: Value = serde_json::from_str(&output.content).unwrap();
    assert_eq!((value["output"].as_str(), value["session_id"].as_str()), (Some("typed"), Some(id.0.as_str())));
    assert!(value["hint"].as_str().unwrap().contains("moved to the background by the user"));
    let (value, _) = desk.process(json!({"action": "close", "session_id": id.0})).await;
    assert_eq!(value["status"], "ok");
    let (value, _) = desk.process(json!({"action": "wait", "session_id": id.0})).await;
    assert_eq!((&value["status"], &value["exit_code"]), (&json!("exited"), &json!(0)));
}

#[tokio::test]
async fn a_background_process_is_managed() {
    let desk = desk();
    let command = "echo ready; read name; echo \"hi $name\"; sleep 600";
    let (value, _) = desk.terminal(json!({"command": command, "background": true, "notify_on_complete": true})).await;
    assert_eq!((&value["output"], &value["exit_code"]), (&json!("Background process started"), &json!(0)));
    assert_eq!(value["notify_on_complete"], true);
    let id = value["session_id"].as_str().unwrap().to_owned();
    assert!(id.len() == 17 && id.starts_with("proc_"), "{id}");
    let (value, _) = desk.process(json!({"action": "submit", "session_id": id, "data": "you"})).await;
    assert_eq!(value["bytes_written"], 4);
    let (value, output) = desk.process(json!({"action": "wait", "session_id": id, "timeout": 1})).await;
    assert_eq!((&value["status"], &value["output"]), (&json!("timeout"), &json!("ready\nhi you")));
    assert_eq!(output.view.summary, "still running");
    let (value, _) = desk.process(json!({"action": "list"})).await;
    assert_eq!(
        (&value["processes"][0]["session_id"], &value["processes"][0]["status"]),
        (&json!(id), &json!("running"))
    );
    let (value, _) = desk.process(json!({"action": "log", "session_id": id, "limit": 1})).await;
    assert_eq!((&value["output"], &value["total_lines"]), (&json!("hi you"), &json!(2)));
    let (value, _) = desk.process(json!({"action": "kill", "session_id": id})).await;
    assert_eq!((&value["status"], &value["completion_reason"]), (&json!("killed"), &json!("killed")));
    let (value, output) = desk.process(json!({"action": "kill", "session_id": id})).await;
    assert_eq!((&value["status"], output.outcome), (&json!("already_exited"), Outcome::Failed));
    let (value, output) = desk.process(json!({"action": "poll", "session_id": "proc_none"})).await;
    assert_eq!(value, json!({"status": "not_found", "error": "No process with ID proc_none"}));
    assert_eq!(output.outcome, Outcome::Failed);
}

#[tokio::test]
async fn processes_of_other_tasks_are_not_there() {
    let mut desk = desk();
    let (value, _) = desk.terminal(json!({"command": "sleep 60", "background": true})).await;
    let id = value["session_id"].clone();
    let own = std::mem::replace(&mut desk.ctx.task, "another".into());
    let (value, _) = desk.process(json!({"action": "list"})).await;
    assert_eq!(value["processes"], json!([]));
    for action in ["poll", "log", "wait", "write", "submit", "kill", "close"] {
        let (value, _) = desk.process(json!({"action": action, "session_id": id, "timeout": 1})).await;
        assert_eq!(value["status"], "not_found", "{action}");
    }
    desk.ctx.task = own;
    let (value, _) = desk.process(json!({"action": "kill", "session_id": id})).await;
    assert_eq!(value["status"], "killed");
}

#[tokio::test]
async fn an_order_that_comes_too_late_leaves_the_end_to_be_told() {
    let mut desk = desk();
    let args = json!({"command": "echo last words; exit 4", "background": true, "notify_on_complete": true});
    let (value, _) = desk.terminal(args).await;
    let id = ProcessId(value["session_id"].as_str().unwrap().into());
    desk.ctx.exec.wait(&id).await.unwrap();
    let own = std::mem::replace(&mut desk.ctx.task, "another".into());
    desk.process(json!({"action": "poll", "session_id": id.0})).await;
    desk.ctx.task = own;
    let (value, _) = desk.process(json!({"action": "submit", "session_id": id.0, "data": "x"})).await;
    assert!(value["error"].as_str().unwrap().contains("has already exited"), "{value}");
    assert!(!desk.ctx.exec.is_consumed(&id), "nobody was told how");
    let (value, _) = desk.process(json!({"action": "poll", "session_id": id.0})).await;
    assert_eq!((&value["exit_code"], &value["output_preview"]), (&json!(4), &json!("last words")));
    assert!(desk.ctx.exec.is_consumed(&id));
}

#[tokio::test]
async fn descriptions_are_short() {
    for (tool, most) in [(terminal(), 190), (process(), 120)] {
        let words = tool.spec().description.split_whitespace().count();
        assert!(words <= most, "{}: {words}", tool.spec().name);
    }
    assert!(desk().folder.path().is_dir());
}

#[tokio::test]
async fn a_background_dump_of_the_environment_is_masked_as_one() {
    let desk = desk();
    std::fs::write(desk.folder.path().join("vars"), "export DEPLOY_TOKEN=plainwords\n").unwrap();
    let (started, _) = desk.terminal(json!({"command": ". ./vars; env; env | grep DEPLOY", "background": true})).await;
    let id = started["session_id"].as_str().unwrap();
    let registry = Arc::new(crate::tools::registry::Registry::builtin());
    let dispatch = crate::tools::dispatch::Dispatch::new(registry, crate::policy::redact::redact);
    for action in ["wait", "log", "list"] {
        let args = json!({"action": action, "session_id": id}).to_string();
        let planned = dispatch.plan("process", &args, &desk.ctx).await;
        let output = dispatch.run(planned.call.ok().unwrap(), desk.ctx.clone()).await;
        assert!(!format!("{output:?}").contains("plainwords"), "{action}: {output:?}");
        assert!(action == "list" || output.content.contains("DEPLOY_TOKEN"), "{action}: {output:?}");
    }
}

//! The world as one call finds it: its variables are those that the command will start with, not those of this program.

use super::{Gate, disk, folder};
use crate::exec::{ForegroundReader, ProcessId};
use crate::lock::lock;
use crate::policy::border::makes;
use crate::policy::permissions::Reader;
use crate::policy::shell::UNKNOWN;
use crate::policy::{About, Intent, Matches, World};
use crate::tools::spec::{FileLedger, ToolCtx};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Variables that the shell sets itself, whatever its environment says.
const SHELLS_OWN: &[&str] = &[
    "COLUMNS",
    "COPROC",
    "DIRSTACK",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "FUNCNAME",
    "GROUPS",
    "HOSTNAME",
    "HOSTTYPE",
    "LINES",
    "MACHTYPE",
    "MAPFILE",
    "OPTARG",
    "OPTERR",
    "OPTIND",
    "OSTYPE",
    "PIPESTATUS",
    "SHELLOPTS",
    "SHLVL",
    "SRANDOM",
    "_",
];

/// A world with the variables of one task, and with what its session made.
struct CallWorld {
    world: Arc<dyn World>,
    env: Variables,
    files: Arc<Mutex<FileLedger>>,
}

/// The variables that a call starts with.
enum Variables {
    /// Those of the task.
    Task(Arc<BTreeMap<OsString, OsString>>),
    /// The line is for a program whose variables nobody knows.
    Unknown,
    /// It is no line.
    World,
}

impl World for CallWorld {
    fn home(&self) -> PathBuf {
        self.world.home()
    }

    fn hermes_home(&self) -> PathBuf {
        self.world.hermes_home()
    }

    fn variable(&self, name: &str) -> Option<String> {
        let unknown = || Some(UNKNOWN.to_string());
        let env = match &self.env {
            Variables::Task(env) if !SHELLS_OWN.contains(&name) && !name.starts_with("BASH") => env,
            Variables::Task(_) | Variables::Unknown => return unknown(),
            Variables::World => return self.world.variable(name),
        };
        match env.get(OsStr::new(name)) {
            Some(value) => value.to_str().map(str::to_owned).or_else(unknown),
            None => None,
        }
    }

    fn glob(&self, pattern: &str, cwd: &Path, limit: usize) -> Matches {
        self.world.glob(pattern, cwd, limit)
    }

    fn resolve(&self, path: &Path) -> PathBuf {
        self.world.resolve(path)
    }

    fn text(&self, path: &Path, limit: usize) -> Option<String> {
        self.world.text(path, limit)
    }

    fn border(&self) -> Vec<PathBuf> {
        self.world.border()
    }

    fn made(&self, path: &Path) -> bool {
        lock(&self.files).made.has(path)
    }

    fn about(&self, path: &Path) -> Option<About> {
        self.world.about(path)
    }

    fn fresh(&self) {
        self.world.fresh();
    }

    fn is_here(&self) -> bool {
        self.world.is_here()
    }
}

/// Where a call does its work, as that is now.
pub(super) struct Environment {
    pub world: Arc<dyn World>,
    /// The folder of the task; for typed text that of the program that reads it.
    pub cwd: PathBuf,
    /// What reads typed text.
    pub reader: Reader,
}

impl Gate {
    /// The place in which this call would run; `None` when the turn was stopped before that was known.
    pub(super) async fn environment(&self, intent: &Intent, ctx: &ToolCtx) -> Option<Environment> {
        let world = Arc::clone(&self.world);
        let (mut cwd, mut reader) = (folder(ctx), Reader::Unknown);
        let env = match intent {
            Intent::Command { line, cwd, .. } => match ctx.backends.current() {
                Some(there) => {
                    let (line, cwd, task) = (line.clone(), cwd.clone(), ctx.task.to_string());
                    let asked = disk::unless_stopped(&ctx.cancel, move || {
                        there.look_ahead(&line, &cwd);
                        there.environment_of(&task).ok()
                    });
                    asked.await?.map_or(Variables::Unknown, Variables::Task)
                }
                None => tokio::select! {
                    biased;
                    () = ctx.cancel.cancelled() => return None,
                    env = ctx.exec.environment_of(&ctx.task) => Variables::Task(env),
                },
            },
            Intent::Input { process, .. } => {
                let (exec, task, id) = (ctx.exec.clone(), Arc::clone(&ctx.task), ProcessId(process.clone()));
                (cwd, reader) = reads(disk::unless_stopped(&ctx.cancel, move || exec.front(&task, &id)).await?);
                Variables::Unknown
            }
            Intent::Read(_)
            | Intent::Edit(_)
            | Intent::Remote { .. }
            | Intent::Code { .. }
            | Intent::Talk
            | Intent::Handle => Variables::World,
        };
        Some(Environment { world: Arc::new(CallWorld { world, env, files: Arc::clone(&ctx.files) }), cwd, reader })
    }
}

impl Gate {
    /// Remembers what a call that is about to run makes in temporary folders: the session may change and delete it later.
    pub(super) async fn note_made(&self, intent: &Intent, ctx: &ToolCtx) {
        if !matches!(intent, Intent::Edit(_) | Intent::Command { .. }) {
            return;
        }
        let Some(environment) = self.environment(intent, ctx).await else { return };
        let (intent, files) = (intent.clone(), Arc::clone(&ctx.files));
        let note = move || {
            for path in makes(&intent, &*environment.world) {
                lock(&files).made.note(path);
            }
        };
        // A call that is stopped here makes nothing.
        let _ = disk::unless_stopped(&ctx.cancel, note).await;
    }
}

/// The folder and the kind of what reads typed text. Where a shell will be when it comes to the line is only known while it
/// waits for one.
fn reads(front: Option<ForegroundReader>) -> (PathBuf, Reader) {
    let nowhere = || PathBuf::from(UNKNOWN.to_string());
    match front {
        Some(front) if front.takes_commands => (if front.waits { front.cwd } else { nowhere() }, Reader::Shell),
        Some(front) if front.takes_code => (front.cwd, Reader::Code(front.name)),
        Some(front) => (front.cwd, Reader::Program(front.name)),
        None => (nowhere(), Reader::Unknown),
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use crate::policy::{Decision, Mode, Rules};
    use crate::protocol::{Outcome, ToolCall};
    use crate::tools::gate::Asker;
    use crate::tools::testing::{Answers, Bench, until};
    use serde_json::{Value, json};
    use tokio::sync::mpsc;

    #[tokio::test]
    async fn an_interpreter_at_its_prompt_gets_code_and_keys_without_a_question() {
        if std::process::Command::new("python3").arg("--version").output().is_err() {
            return;
        }
        let bench = Bench::new();
        // Its start may be asked about; what is typed is denied when it is asked about.
        let asker = Answers::new(|approval| match approval.intent {
            Intent::Input { .. } => Decision::Deny { feedback: String::new() },
            _ => Decision::Once,
        });
        let ctx = bench.ctx();
        let world = Arc::clone(&ctx.world);
        let dispatch = Arc::new(bench.dispatch.clone());
        let gate = Gate::new(dispatch, Rules::default(), Mode::Ask, world, Arc::clone(&asker) as Arc<dyn Asker>);
        let run = async |name: &str, args: Value| {
            let call = ToolCall { id: "c".into(), name: name.into(), args: args.to_string(), ..ToolCall::default() };
            let body = gate.call(&call, ctx.clone(), mpsc::channel(64).0).await;
            (body.outcome, serde_json::from_str::<Value>(&body.content).unwrap())
        };
        let started = run("terminal", json!({ "command": "exec python3 -q", "background": true, "pty": true })).await;
        let id = ProcessId(started.1["session_id"].as_str().unwrap().to_owned());
        let typed = |action: &str, more: (&str, Value)| json!({ "action": action, "session_id": id.0, more.0: more.1 });
        let waits = async || {
            until(|| ctx.exec.front(&ctx.task, &id).is_some_and(|front| front.takes_code && front.waits)).await;
        };
        waits().await;
        assert_eq!(run("process", typed("submit", ("data", json!("print(6*7)")))).await.0, Outcome::Ok);
        until(|| bench_output(&ctx, &id).contains("42")).await;
        waits().await;
        let keys = typed("send_keys", ("keys", json!(["print(6*8)", "Enter"])));
        assert_eq!(run("process", keys).await.0, Outcome::Ok);
        waits().await;
        let force = "import os; os.system('git push --force')";
        assert_eq!(run("process", typed("submit", ("data", json!(force)))).await.0, Outcome::Denied);
        run("process", json!({ "action": "kill", "session_id": id.0 })).await;
    }

    fn bench_output(ctx: &ToolCtx, id: &ProcessId) -> String {
        ctx.exec
            .list()
            .iter()
            .find(|report| report.info.id == *id)
            .map(|report| report.output.clone())
            .unwrap_or_default()
    }
}

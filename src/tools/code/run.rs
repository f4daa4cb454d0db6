//! One script, from its files to its result.

use super::language::Language;
use super::server::{self, Caller};
use super::{result, stubs};
use crate::config::CodeMode;
use crate::exec::{Scratch, rooms};
use crate::lock::lock;
use crate::tools::confine;
use crate::tools::file::commands::CommandRecorder;
use crate::tools::offer::selection::VisibleTools;
use crate::tools::spec::{AgentPort, ToolCtx, ToolError, ToolOutput};
use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long a script may take to end when its time is over, and when it was stopped by a person.
const GRACE: Duration = Duration::from_secs(5);
const STOP: Duration = Duration::from_millis(300);
/// Bytes that the address of a socket holds.
const ADDRESS: usize = 100;
/// The socket in the script's folder.
const SOCKET: &str = "rpc.sock";
/// Behind the text of a script in JavaScript, which is a function that may wait: an error ends it, and so does waiting for
/// what never comes, when nothing else goes on.
const WAITS: &str = r#".then(
  () => process.removeAllListeners("beforeExit"),
  (error) => { process.removeAllListeners("beforeExit"); console.error(error); process.exitCode = 1; });
process.once("beforeExit", () => {
  console.error("the script waits for a promise that nothing resolves");
  process.exitCode = 13;
});"#;
/// What the names of variables begin with that a script gets from the environment.
const KEPT: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LANG",
    "LC_",
    "TERM",
    "TMPDIR",
    "TMP",
    "TEMP",
    "SHELL",
    "LOGNAME",
    "XDG_",
    "PYTHONPATH",
    "VIRTUAL_ENV",
    "CONDA",
    "TZ",
];
/// Names of this program's own that it gets: where it is at home, by no secret.
const OWN: &[&str] = &["HERMES_PROFILE", "HERMES_CONFIG", "HERMES_ENV"];
/// Has an interpreter load other code: it does not go to a script whose text nobody looked at.
const LOADS: &str = "PYTHONPATH";

/// A script to run.
pub struct Script {
    pub language: Language,
    pub code: String,
    /// How it is told in one line.
    pub line: String,
    /// Its folder.
    pub cwd: PathBuf,
    /// Nobody was asked about it: it runs with nothing but the modules of its language.
    pub plain: bool,
    pub among: VisibleTools,
}

/// How it came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Itself,
    TimedOut,
    Stopped,
}

/// A time that stands still while a person is asked.
pub struct Clock {
    until: Duration,
    began: Instant,
    waited: Duration,
    agent: Arc<dyn AgentPort>,
}

impl Clock {
    /// Runs from now on.
    pub fn start(until: Duration, agent: Arc<dyn AgentPort>) -> Self {
        Self { until, began: Instant::now(), waited: agent.waited(), agent }
    }

    fn spent(&self) -> Duration {
        self.began.elapsed().saturating_sub(self.agent.waited().saturating_sub(self.waited))
    }

    /// Comes back when the time is over.
    pub async fn over(&mut self) {
        loop {
            let left = self.until.saturating_sub(self.spent());
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left).await;
        }
    }
}

/// Runs a script to its end.
///
/// # Errors
/// It could not be started: nothing of it ran.
pub async fn run(script: Script, ctx: ToolCtx) -> Result<ToolOutput, ToolError> {
    let Some(calls) = ctx.calls.clone() else {
        return Err(ToolError::Failed("a script can't be run from a script".into()));
    };
    let settings = &ctx.config.code_execution;
    let failed = |what: &str, error: &dyn std::fmt::Display| ToolError::Failed(format!("cannot {what}: {error}"));
    let folder = {
        let (language, code, module) =
            (script.language, script.code.clone(), stubs::module(script.language, &script.among));
        crate::tools::blocking(move || files(language, &code, &module)).await?
    };
    let folder = folder.map_err(|error| failed("prepare the script's folder", &error))?;
    let socket = folder.path().join(SOCKET);
    let caller = Arc::new(Caller {
        among: script.among.clone(),
        calls,
        agent: Arc::clone(&ctx.agent),
        token: token().map_err(|error| failed("make its token", &error))?,
        most: settings.max_tool_calls,
        made: Default::default(),
        turns: Default::default(),
        bounds: Default::default(),
    });
    let server =
        server::listen(&socket, Arc::clone(&caller)).map_err(|error| failed("listen for its calls", &error))?;
    let server = Listening(server);
    let cwd = if settings.mode == CodeMode::Strict { folder.path().to_owned() } else { script.cwd.clone() };
    let command = command(&script, folder.path(), &socket, &caller.token, &ctx).await?;
    let sandbox = confine::sandbox(&ctx);
    // What only computes changes nothing but by its calls, which are recorded one by one.
    let recorder = if script.plain { None } else { CommandRecorder::begin(&ctx, &script.line, &cwd, None).await };
    let mut clock = Clock::start(Duration::from_secs(settings.timeout), Arc::clone(&ctx.agent));
    let mut running = ctx
        .exec
        .script(command, &cwd, sandbox.as_ref(), result::KEPT)
        .await
        .map_err(|error| ToolError::Failed(error.to_string()))?;
    let ended = tokio::select! {
        biased;
        () = running.wait() => Ended::Itself,
        () = ctx.cancel.cancelled() => Ended::Stopped,
        () = clock.over() => Ended::TimedOut,
    };
    // No call begins any more, and those that run end, before the script is asked to: it may not listen.
    drop(server);
    match ended {
        Ended::Itself => {}
        Ended::Stopped => running.ask_to_end(STOP).await,
        Ended::TimedOut => running.ask_to_end(GRACE).await,
    }
    let took = clock.spent();
    let end = running.end().await.map_err(|error| failed("see how the script ended", &error))?;
    let changed = match recorder {
        Some(recorder) => recorder.end().await,
        None => Vec::new(),
    };
    let (made, most) = (caller.made.load(Ordering::Relaxed), settings.timeout);
    let spill = ctx.spill.join(format!("{}-output.txt", ctx.call_id.replace('/', "_")));
    crate::tools::blocking(move || {
        let mut output = result::of(&end, ended, made, took, &spill, most);
        output.view.changed = changed;
        if let Some(sandbox) = &sandbox {
            let mut told: Vec<String> = Vec::new();
            if end.code != Some(0) {
                told.extend(confine::blocked(&output.view.output, &cwd, sandbox));
            }
            told.extend(
                end.guard
                    .close()
                    .iter()
                    .map(|(path, _)| format!("creating {}, which other programs run later", path.display())),
            );
            if !told.is_empty() {
                let words = sandbox.words();
                let text =
                    format!("the sandbox ({words}) blocked {}. Do not look for a way around it", told.join("; "));
                result::with(&mut output, "sandbox", &text);
            }
        }
        // Before its folder goes: whatever the script wrote there goes with it.
        drop(folder);
        output
    })
    .await
}

/// The task that answers, ended with this value.
struct Listening(tokio::task::JoinHandle<()>);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// 32 random bytes, as text.
fn token() -> io::Result<String> {
    let mut bytes = [0_u8; 32];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A private folder with the script and its module.
fn files(language: Language, code: &str, module: &str) -> io::Result<Scratch> {
    let fits =
        |room: &&PathBuf| room.as_os_str().len() + "/hermes-code-4294967295-ffffff/".len() + SOCKET.len() <= ADDRESS;
    let rooms = rooms();
    let room = rooms.iter().find(fits).or(rooms.last()).ok_or(io::ErrorKind::NotFound)?;
    let folder = Scratch::new(room, "code")?;
    let write = |name: &str, text: &str| {
        let mut file =
            std::fs::File::options().write(true).create_new(true).mode(0o600).open(folder.path().join(name))?;
        io::Write::write_all(&mut file, text.as_bytes())
    };
    match language {
        Language::Python => {
            write("hermes_tools.py", module)?;
            // What the text says of its encoding is none of what was read of it.
            let says = code.split(['\n', '\r']).take(3).any(|line| line.contains("coding"));
            let cookie = if says { "# coding: utf-8\n" } else { "" };
            write("script.py", &format!("{cookie}{code}"))?;
        }
        Language::JavaScript => {
            write("hermes_tools.js", module)?;
            // So that it may wait at its top. Lines keep their numbers.
            write("script.js", &format!("(async () => {{ {code}\n}})(){WAITS}\n"))?;
        }
    }
    Ok(folder)
}

/// The interpreter with its environment: of this machine wherever commands run, without keys and tokens.
async fn command(
    script: &Script,
    folder: &Path,
    socket: &Path,
    token: &str,
    ctx: &ToolCtx,
) -> Result<Command, ToolError> {
    let base = ctx.exec.environment().await;
    let strict = ctx.config.code_execution.mode == CodeMode::Strict;
    let value = |name: &str| base.get(name).map(String::as_str);
    let path = value("PATH").unwrap_or("/usr/local/bin:/usr/bin:/bin");
    // What was not asked about runs with nothing that the agent could have put there.
    let not = script.plain.then_some(ctx.workspace.as_path());
    let language = script.language;
    let of_environment = || {
        let folders = ["VIRTUAL_ENV", "CONDA_PREFIX"].map(value);
        let chosen = folders.into_iter().find_map(|folder| language.of_environment(folder));
        chosen.filter(|_| !strict && !script.plain)
    };
    let program = of_environment().or_else(|| language.program(path, not)).ok_or_else(|| {
        ToolError::Failed(format!(
            "{} is not installed on this machine: use normal tool calls instead",
            language.word()
        ))
    })?;
    let mut command = Command::new(program);
    match language {
        Language::Python => {
            if script.plain {
                // Neither the packages of the system nor what variables name: the standard modules alone.
                command.args(["-E", "-s", "-S"]);
            }
            command.args(["-B", "-X", "utf8"]).arg(folder.join("script.py"));
        }
        Language::JavaScript => {
            command.arg(folder.join("script.js"));
        }
    }
    command.env_clear().envs(kept(&base, &ctx.config.terminal.env_passthrough));
    // Programs that the script starts find the module, too.
    let more = value(LOADS).filter(|more| !strict && !script.plain && !more.is_empty());
    let mut modules = folder.as_os_str().to_owned();
    more.into_iter().for_each(|more| modules.push(format!(":{more}")));
    match language {
        Language::Python => command.env(LOADS, modules),
        // Node looks for modules below folders of its own name alone, and here.
        Language::JavaScript => command.env("NODE_PATH", folder),
    };
    command.env("HERMES_HOME", ctx.world.hermes_home());
    command.envs(OWN.iter().filter_map(|name| Some((name, crate::environment::get(name)?))));
    if let Some(zone) = crate::environment::get("HERMES_TIMEZONE").filter(|zone| !zone.is_empty()) {
        command.env("TZ", zone);
    }
    command.env("HERMES_RPC_SOCKET", socket).env("HERMES_RPC_TOKEN", token);
    command.env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONIOENCODING", "utf-8").env("PYTHONUTF8", "1");
    if let Some(home) = value("HOME") {
        command.env("HERMES_REAL_HOME", home);
    }
    Ok(command)
}

/// What a script gets of an environment, from which the secrets of commands are gone already; `passed` has the names that
/// the person lets through.
fn kept<'a>(base: &'a BTreeMap<String, String>, passed: &[String]) -> impl Iterator<Item = (&'a String, &'a String)> {
    let usual = |name: &str| KEPT.iter().any(|start| name.starts_with(start)) && !looks_secret(name);
    base.iter().filter(move |(name, _)| passed.contains(name) || usual(name))
}

/// Whether a name says that its variable is none of a script's. Stricter than for commands: any part of it may.
fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let parts =
        ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "PASSWD", "AUTH", "DSN", "WEBHOOK", "CREDS", "BEARER"];
    parts.iter().any(|part| name.contains(part))
}

/// The folder of a session where a script runs.
pub fn folder(ctx: &ToolCtx) -> PathBuf {
    // That of another machine means nothing here.
    if ctx.backends.current().is_some() { ctx.workspace.clone() } else { lock(&ctx.cwd).clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_gets_what_it_needs_and_no_secret() {
        let base: BTreeMap<String, String> = [
            "PATH",
            "HOME",
            "LC_ALL",
            "PYTHONPATH",
            "VIRTUAL_ENV",
            "XDG_SECRET",
            "OPENAI_API_KEY",
            "LD_PRELOAD",
            "TERM_TOKEN",
            "CONDA_PREFIX",
            "EDITOR",
        ]
        .into_iter()
        .map(|name| (name.to_owned(), String::new()))
        .collect();
        let names = |passed: &[String]| kept(&base, passed).map(|(name, _)| name.clone()).collect::<Vec<_>>();
        let usual = ["CONDA_PREFIX", "HOME", "LC_ALL", "PATH", "PYTHONPATH", "VIRTUAL_ENV"];
        assert_eq!(names(&[]), usual);
        assert_eq!(names(&["EDITOR".into(), "TERM_TOKEN".into()]).len(), usual.len() + 2);
    }

    #[test]
    fn tokens_are_long_and_never_the_same() {
        assert_eq!(token().unwrap().len(), 64);
        assert_ne!(token().unwrap(), token().unwrap());
    }
}

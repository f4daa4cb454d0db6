//! How a model is served: the window that fits, the words of the command, and the wait until it answers.

use super::super::LocalError;
use super::super::choice::{self, ENGINE, LEAST, TOKEN};
use super::super::gguf::Header;
use super::super::machine::Machine;
use super::super::table::Table;
use super::fault;
use super::find::Engine;
use super::record::{Files, Record};
use crate::exec::Daemon;
use crate::fs::{WriteError, ensure_dir, write_atomic, write_whole};
use crate::llm::http::Http;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The script that serves with the package.
const SCRIPT: &str = include_str!("../../../assets/local/serve.py");
/// Between two looks at whether it answers.
const GLANCE: Duration = Duration::from_millis(100);
/// Tokens of a window that nobody asked for.
const WINDOW: u64 = 65_536;
/// Loading reads the file: slower than this, in bytes a second, it hangs.
const SLOWEST: u64 = 20 << 20;
/// What variables of ours the engine gets: nothing of keys.
const PASSED: &[&str] = &["PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"];
const PASSED_STARTS: &[&str] = &["CUDA_", "HIP_", "ROCR_", "GGML_", "VK_", "OMP_"];

/// What is to be served.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    pub name: String,
    /// For people.
    pub title: String,
    /// Name and title of the next smaller model.
    pub smaller: Option<(String, String)>,
    pub file: PathBuf,
    /// Tokens of the window.
    pub context: u64,
    /// Bytes of memory that it takes.
    pub memory: u64,
    /// Minutes without a request after which it sleeps; 0: never.
    pub idle_minutes: u64,
}

/// What a plan is made of.
pub struct Wish<'a> {
    pub name: &'a str,
    pub file: &'a Path,
    pub bytes: u64,
    pub header: &'a Header,
    /// Tokens that the person wants; 0: what fits.
    pub context: u64,
    pub idle_minutes: u64,
}

/// Fits the window to the memory: weights and window take what is free now, and never more than all of it but a quarter.
pub fn plan(wish: &Wish<'_>, machine: &Machine, table: &Table) -> Plan {
    let (header, bytes) = (wish.header, wish.bytes);
    let token = header.bytes_per_token().unwrap_or(TOKEN);
    let trained = if header.context > 0 { header.context } else { LEAST };
    let wanted = WINDOW.min(trained);
    let there = machine.free.unwrap_or(choice::UNKNOWN).min(machine.memory.map_or(u64::MAX, |memory| memory / 4 * 3));
    let there = machine.video.filter(|video| *video > bytes.saturating_add(ENGINE)).unwrap_or(there);
    let fitting = there.saturating_sub(bytes.saturating_add(ENGINE)) / token.max(1);
    // A window that was asked for is the person's business.
    let fitted = (wanted.min(fitting).max(LEAST.min(trained)) / 1024 * 1024).max(trained.min(1024));
    let context = if wish.context > 0 { wish.context } else { fitted };
    let row = table.find(wish.name);
    let smaller = table.smaller(row.map_or(bytes, |row| row.bytes));
    Plan {
        name: wish.name.to_owned(),
        title: row.map_or(wish.name, |row| &row.title).to_owned(),
        smaller: smaller.map(|row| (row.name.clone(), row.title.clone())),
        file: wish.file.to_path_buf(),
        context,
        memory: bytes.saturating_add(context.saturating_mul(token)).saturating_add(ENGINE),
        idle_minutes: wish.idle_minutes,
    }
}

impl Plan {
    /// Whether the memory is there now.
    ///
    /// # Errors
    /// [`LocalError::Memory`] with the smaller model to take.
    pub fn check(&self, machine: &Machine) -> Result<(), LocalError> {
        let on_card = machine.video.is_some_and(|video| video >= self.memory);
        match machine.free.filter(|free| *free < self.memory && !on_card) {
            None => Ok(()),
            Some(free) => Err(LocalError::Memory {
                model: self.title.clone(),
                need: super::super::fetch::size(self.memory),
                free: super::super::fetch::size(free),
                smaller: fault::smaller(self),
            }),
        }
    }

    fn bytes(&self) -> u64 {
        std::fs::metadata(&self.file).map_or(0, |about| about.len())
    }
}

/// Starts the server and waits until it answers.
///
/// # Errors
/// It does not come up, and why.
pub(in crate::local) async fn start(
    engine: &Engine,
    plan: &Plan,
    files: &Files,
    home: &Path,
    http: &Http,
) -> Result<(Record, Daemon), LocalError> {
    // Between the look for a free port and its use somebody else may take it.
    let mut tries = 0;
    loop {
        let (record, daemon) = launch(engine, plan, files, home)?;
        match settled(&record, &daemon, plan, files, http).await {
            Ok(()) => return Ok((record, daemon)),
            Err(fault) => {
                let ending = daemon.clone();
                let _ = tokio::task::spawn_blocking(move || ending.end(Duration::from_secs(2))).await;
                files.forget();
                tries += 1;
                if !(fault.is_port() && tries < 3) {
                    return Err(LocalError::Engine(fault.words(plan, &files.log())));
                }
            }
        }
    }
}

fn launch(engine: &Engine, plan: &Plan, files: &Files, home: &Path) -> Result<(Record, Daemon), LocalError> {
    let port = free_port()?;
    let key = random_key().map_err(|error| LocalError::Engine(format!("no random numbers: {error}")))?;
    write_atomic(&files.key(), &format!("{key}\n")).map_err(LocalError::Write)?;
    let log = files.log();
    let opened = ensure_dir(log.parent().unwrap_or(home))
        .and_then(|()| File::create(&log).map_err(|error| WriteError::new(&log, &error)));
    let mut command = match engine {
        Engine::Server(program) => server(program, plan, port, &files.key()),
        Engine::Package { python, folder } => {
            let script = home.join("cache").join("serve.py");
            write_whole(&script, SCRIPT).map_err(LocalError::Write)?;
            package(python, folder, &script, plan, port, &files.key())
        }
    };
    command.env_clear().envs(passed(&[]));
    // Threads that wait for work would keep a processor busy.
    command.env("OMP_WAIT_POLICY", "passive").current_dir(home);
    let daemon = Daemon::start(command, opened.map_err(LocalError::Write)?)
        .map_err(|error| LocalError::NoEngine(error.to_string()))?;
    let record = Record { id: daemon.id().clone(), port, context: plan.context };
    files.write(&record)?;
    Ok((record, daemon))
}

/// A key that nobody can guess.
fn random_key() -> std::io::Result<String> {
    let mut bytes = [0; 24];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The variables that a server of models gets: those that it needs, and those that start like this.
pub(in crate::local) fn passed(own: &[&str]) -> Vec<(OsString, OsString)> {
    let fits = |name: &str| is_passed(name) || own.iter().any(|start| name.starts_with(start));
    std::env::vars_os().filter(|(name, _)| fits(&name.to_string_lossy())).collect()
}

fn is_passed(name: &str) -> bool {
    PASSED.contains(&name) || PASSED_STARTS.iter().any(|start| name.starts_with(start))
}

fn free_port() -> Result<u16, LocalError> {
    let taken = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    let failed = |error| LocalError::Engine(format!("no free port on this computer: {error}"));
    taken.map(|address| address.port()).map_err(failed)
}

fn server(program: &Path, plan: &Plan, port: u16, key: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg("--model").arg(&plan.file).args(["--alias", &plan.name]);
    command.args(["--host", "127.0.0.1", "--port", &port.to_string(), "--ctx-size", &plan.context.to_string()]);
    // One conversation at a time keeps all of the window, and the prompt's beginning stays computed.
    command.args(["--parallel", "1", "--jinja", "--no-webui", "--api-key-file"]).arg(key);
    command
}

fn package(python: &Path, folder: &Path, script: &Path, plan: &Plan, port: u16, key: &Path) -> Command {
    let settings = serde_json::json!({
        "package": folder, "model": plan.file, "alias": plan.name, "port": port, "context": plan.context,
        "key_file": key,
        // We end it when it is idle; this is for when we were killed.
        "sleep": if plan.idle_minutes > 0 { (plan.idle_minutes + 10) * 60 } else { 0 },
    });
    let mut command = Command::new(python);
    command.arg("-I").arg(script).arg(settings.to_string());
    command
}

/// Whether what answers on the server's port knows our key: a number or a port may be another's by now.
pub(in crate::local) async fn knows_key(record: &Record, files: &Files, http: &Http) -> bool {
    let address = format!("http://127.0.0.1:{}/v1/models", record.port);
    let key = std::fs::read_to_string(files.key()).unwrap_or_default();
    let Ok(client) = http.to(&address) else { return false };
    let ask = |key: &str| client.get(&address).bearer_auth(key).timeout(Duration::from_secs(5)).send();
    let right = ask(key.trim()).await.is_ok_and(|answer| answer.status().is_success());
    right && ask("nobody's").await.is_ok_and(|answer| answer.status().as_u16() == 401)
}

/// Waits until it answers.
pub(in crate::local) async fn settled(
    record: &Record,
    daemon: &Daemon,
    plan: &Plan,
    files: &Files,
    http: &Http,
) -> Result<(), fault::Fault> {
    let address = format!("http://127.0.0.1:{}/health", record.port);
    let patience = Duration::from_secs(90 + plan.bytes() / SLOWEST);
    let begun = Instant::now();
    loop {
        if !daemon.is_alive() {
            return Err(fault::of_log(&files.log(), daemon.ended()));
        }
        if let Ok(client) = http.to(&address)
            && let Ok(answer) = client.get(&address).timeout(Duration::from_secs(2)).send().await
            && answer.status().is_success()
        {
            return Ok(());
        }
        if begun.elapsed() > patience {
            return Err(fault::Fault::Hangs(patience));
        }
        tokio::time::sleep(GLANCE).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GB: u64 = 1 << 30;

    fn header(context: u64) -> Header {
        Header { context, layers: 32, heads: 8, head_size: 256, ..Header::default() }
    }

    #[test]
    fn the_window_fits_the_memory() {
        let file = Path::new("/m.gguf");
        let table = [
            // file, trained for, memory, asked: window
            (GB / 2, 32_768, 24 * GB, 0, 32_768),
            (3 * GB, 262_144, 24 * GB, 0, 65_536),
            (3 * GB, 262_144, 64 * GB, 0, 65_536),
            (3 * GB, 262_144, 8 * GB, 0, 21_504),
            (5 * GB, 262_144, 8 * GB, 0, 8_192),
            (5 * GB, 4_096, 8 * GB, 0, 4_096),
            (5 * GB, 262_144, 8 * GB, 131_072, 131_072),
        ];
        for (bytes, trained, memory, asked, window) in table {
            let machine = Machine { memory: Some(memory), free: Some(memory), ..Machine::default() };
            let header = header(trained);
            let wish = Wish { name: "m", file, bytes, header: &header, context: asked, idle_minutes: 15 };
            let plan = plan(&wish, &machine, &Table::default());
            assert_eq!(plan.context, window, "{bytes} {trained} {memory} {asked}");
            assert_eq!(plan.memory, bytes + window * 131_072 + ENGINE);
        }
    }

    #[test]
    fn too_little_memory_names_the_smaller_model() {
        let machine = Machine { free: Some(GB), ..Machine::default() };
        let plan = Plan {
            title: "Qwen3.5 9B".into(),
            smaller: Some(("small-4b".into(), "Small 4B".into())),
            memory: 7 * GB,
            ..Plan::default()
        };
        let said = plan.check(&machine).unwrap_err().to_string();
        assert!(said.contains("Qwen3.5 9B needs 7.5 GB of memory and 1.1 GB are free"), "{said}");
        assert!(said.contains("take the smaller Small 4B: `hermes models get small-4b`"), "{said}");
        assert!(plan.check(&Machine { video: Some(8 * GB), ..machine }).is_ok(), "it fits the graphics card");
    }

    #[test]
    fn the_key_is_in_no_argument_and_no_variable_of_ours_goes_along() {
        let plan = Plan { name: "m".into(), file: "/m.gguf".into(), context: 8192, ..Plan::default() };
        let command = server(Path::new("/bin/llama-server"), &plan, 1234, Path::new("/k"));
        let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
        assert_eq!(
            words.join(" "),
            "--model /m.gguf --alias m --host 127.0.0.1 --port 1234 --ctx-size 8192 --parallel 1 --jinja --no-webui --api-key-file /k"
        );
        assert!(is_passed("PATH") && is_passed("CUDA_VISIBLE_DEVICES"));
        assert!(!is_passed("OPENAI_API_KEY") && !is_passed("HERMES_HOME"));
    }
}

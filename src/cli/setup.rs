//! Builds the parts that commands share, in one visible order: paths, configuration, workers.

use super::ChatArgs;
use super::beside::Beside;
use crate::agent::Models;
use crate::agent::frozen::Frozen;
use crate::agent::runner::Deps;
use crate::backends::{Backends, Keys, Worlds};
use crate::config::Config;
use crate::config::OnInput;
use crate::config::load::{self, Loaded, Sources};
use crate::config::paths::{Paths, expand_home};
use crate::exec::{Exec, ExecOptions, Hidden, Notice, ProcessEvent};
use crate::llm::Provider;
use crate::mcp::{self, Mcp};
use crate::plugins::Extensions;
use crate::plugins::host::Options;
use crate::policy::World;
use crate::policy::redact::{RedactKind, Secrets, redact};
use crate::store::Store;
use crate::tools::dispatch::Dispatch;
use crate::tools::registry::Registry;
use crate::tools::world::LocalWorld;
use anyhow::Context as _;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::mpsc;

/// What is known before anything runs.
pub struct Base {
    pub paths: Paths,
    pub sources: Arc<Sources>,
    pub loaded: Arc<Loaded>,
    pub cwd: PathBuf,
    /// The folders of `--add-dir`, links followed.
    pub added: Vec<PathBuf>,
    /// `--accept-hooks`.
    pub accept_hooks: bool,
    /// Values that are masked wherever they stand.
    pub secrets: Secrets,
}

/// The workers.
pub struct House {
    pub deps: Deps,
    pub notices: mpsc::Receiver<Notice>,
    pub processes: mpsc::Receiver<ProcessEvent>,
    pub registry: Arc<Registry>,
    pub beside: Beside,
}

/// The folders of this home.
pub fn paths() -> anyhow::Result<Paths> {
    Paths::discover(|name| std::env::var(name).ok()).context("no home folder: set HOME or HERMES_HOME")
}

/// Paths, working folder and configuration; the flags win over the files.
pub fn base(args: &ChatArgs) -> anyhow::Result<Base> {
    let paths = paths()?;
    let cwd = match &args.cwd {
        Some(folder) => folder.clone(),
        None => std::env::current_dir().context("the current folder is gone; cd to one that exists")?,
    };
    let cwd = std::fs::canonicalize(&cwd).with_context(|| format!("no folder {}", cwd.display()))?;
    let sources = Sources { cwd: Some(cwd.clone()), ..Sources::of_process(paths.clone()) };
    let mut loaded = load::load(&sources);
    crate::config::said::once(&paths, &mut loaded.warnings);
    let loaded = Arc::new(loaded);
    // `terminal.cwd` names a folder to work in; these words mean the current one.
    let configured = loaded.config.terminal.cwd.trim();
    let cwd = match configured {
        _ if args.cwd.is_some() || !is_here(&loaded.config) => cwd,
        "" | "." | "auto" | "cwd" => cwd,
        folder => std::fs::canonicalize(expand_home(folder))
            .with_context(|| format!("terminal.cwd in config.yaml names {folder}, which is no folder"))?,
    };
    let added: Vec<PathBuf> = args.add_dir.iter().map(|folder| added(folder)).collect::<anyhow::Result<_>>()?;
    let secrets = Secrets::default();
    let project = crate::agent::secrets::of_project(&cwd);
    secrets.learn(crate::agent::secrets::values(&loaded, &paths.mcp_tokens()).into_iter().chain(project));
    Ok(Base { paths, sources: Arc::new(sources), loaded, cwd, added, accept_hooks: args.accept_hooks, secrets })
}

/// A folder of `--add-dir`.
fn added(folder: &std::path::Path) -> anyhow::Result<PathBuf> {
    let real = std::fs::canonicalize(expand_home(&folder.to_string_lossy()));
    let real = real.with_context(|| format!("--add-dir names {}, which is no folder", folder.display()))?;
    anyhow::ensure!(real.is_dir(), "--add-dir names {}, which is no folder", folder.display());
    Ok(real)
}

impl Base {
    /// The folders that the session works in: the one it is opened in first, then those that were added.
    pub fn border(&self) -> Vec<PathBuf> {
        std::iter::once(&self.cwd).chain(&self.added).cloned().collect()
    }
}

/// Whether commands run on this machine: only then is `terminal.cwd` one of its folders.
fn is_here(config: &Config) -> bool {
    matches!(config.terminal.backend.as_str(), "" | "local")
}

/// The model that the flags ask for.
pub fn model_choice(args: &ChatArgs) -> Option<String> {
    match (&args.provider, &args.model) {
        (Some(provider), Some(model)) => Some(format!("{provider}:{model}")),
        (Some(provider), None) => Some(format!("{provider}:")),
        (None, model) => model.clone(),
    }
}

/// The approval mode that the flags ask for.
pub fn mode(args: &ChatArgs) -> Option<crate::policy::Mode> {
    args.yolo.then_some(crate::policy::Mode::Off)
}

/// The async runtime. Two workers: the machine's cores belong to what the person runs.
pub fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .thread_stack_size(crate::policy::STACK)
        .worker_threads(2)
        .max_blocking_threads(16)
        .enable_all()
        .build()
        .context("the async runtime could not start")
}

/// Runs a command that awaits. What still blocks a thread afterwards (a slow login shell) does not keep the program.
pub fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = runtime()?;
    let done = runtime.block_on(work);
    runtime.shutdown_timeout(std::time::Duration::from_millis(200));
    done
}

/// Starts the workers. Must be called inside the runtime.
pub fn house(base: &Base, script: Option<Arc<dyn Provider>>, headless: bool) -> House {
    let store = Store::spawn(base.paths.home.clone());
    let terminal = &base.loaded.config.terminal;
    let (exec, processes) = Exec::new(ExecOptions {
        spill: base.paths.spill(),
        secret_names: key_names(&base.loaded.config),
        env_passthrough: terminal.env_passthrough.clone(),
        shell_init_files: terminal.shell_init_files.iter().map(|file| expand_home(file)).collect(),
        headless,
        term_grace: std::time::Duration::from_secs_f64(terminal.daemon_term_grace_seconds.clamp(0.0, 60.0)),
        program: Some(this_program()),
        sudo_password: base.loaded.env("SUDO_PASSWORD").map(|password| Hidden::new(password.to_owned())),
        max_processes: terminal.max_processes,
        register: Some(base.paths.processes()),
        ..ExecOptions::default()
    });
    // A closed channel never tells anything: nothing is lost when somebody else took it.
    let notices = exec.completions().unwrap_or_else(|| mpsc::channel(1).1);
    let registry = Arc::new(Registry::builtin());
    exec.mask_notices(base.loaded.config.security.redact_secrets);
    exec.masks_in(base.secrets.clone());
    exec.ask_person(terminal.on_input == OnInput::AskUser);
    // What a killed program left behind; nobody waits for it.
    tokio::task::spawn_blocking(|| {
        crate::exec::rooms().iter().for_each(|room| {
            crate::exec::sweep(room);
        })
    });
    let extensions = Extensions::new(Options {
        paths: base.paths.clone(),
        cwd: base.cwd.clone(),
        loaded: Arc::clone(&base.loaded),
        exec: exec.clone(),
        publish: registry.clone(),
        accept_hooks: base.accept_hooks,
    });
    let here: Arc<dyn World> = Arc::new(LocalWorld::of_user(&base.paths.home).within(base.border()));
    let backends = Backends::new(terminal, &exec, &base.paths.home, &base.cwd, service_keys(&base.loaded));
    let world: Arc<dyn World> = Arc::new(Worlds::new(here, backends.clone()));
    let mut models = Models::new(Arc::clone(&base.loaded), base.paths.cache());
    if let Some(script) = script {
        models = models.scripted(script);
    }
    let mcp = Mcp::new(mcp::Needs {
        publish: registry.clone(),
        models: Some(Arc::new(Answering(models.clone()))),
        tokens: mcp::Logins { dir: base.paths.mcp_tokens(), secrets: base.secrets.clone() },
        env: base.loaded.env.clone(),
        root: base.cwd.clone(),
    });
    let deps = Deps {
        loaded: Arc::clone(&base.loaded),
        sources: Arc::clone(&base.sources),
        paths: base.paths.clone(),
        store,
        exec,
        models,
        dispatch: Arc::new(
            Dispatch::new(Arc::clone(&registry), redact)
                .with_secrets(base.secrets.clone())
                .with_hooks(Arc::new(extensions.clone())),
        ),
        backends,
        world,
        extensions,
        policy: Arc::new(Frozen::new(base.paths.clone(), Arc::clone(&base.sources))),
    };
    let beside = Beside {
        extensions: deps.extensions.clone(),
        mcp,
        exec: deps.exec.clone(),
        backends: deps.backends.clone(),
        loaded: Arc::clone(&base.loaded),
    };
    House { deps, notices, processes, registry, beside }
}

/// The models as servers see them.
struct Answering(Models);

impl mcp::Models for Answering {
    fn model(&self, choice: Option<&str>) -> Result<Arc<dyn Provider>, String> {
        self.0.provider(choice, 0).map_err(|error| error.to_string())
    }
}

/// The file of this program; on Linux the very one that runs, even when it was replaced since. A path that leads nowhere
/// where the system does not tell: what needs it then says that it could not be run.
fn this_program() -> PathBuf {
    if cfg!(target_os = "linux") {
        return "/proc/self/exe".into();
    }
    std::env::current_exe().unwrap_or_default()
}

/// The environment variables that hold keys of the configured providers.
pub(super) fn key_names(config: &Config) -> Vec<String> {
    let providers = config.providers.values().map(|provider| &provider.key_env);
    let all = providers.chain(config.fallback_providers.iter().map(|fallback| &fallback.key_env));
    let services = Keys::SECRETS.iter().map(|name| (*name).to_owned());
    all.filter(|name| !name.is_empty()).cloned().chain(services).collect()
}

/// What services of sandboxes know this person by.
pub(super) fn service_keys(loaded: &Loaded) -> Keys {
    Keys::find(|name| loaded.env(name))
}

/// Logs to `<home>/logs/hermes.log`; the screen and standard output stay clean. The guard flushes at the end.
pub fn logging(base: &Base) -> Option<tracing_appender::non_blocking::WorkerGuard> {
    let folder = base.paths.logs();
    crate::config::paths::ensure_dir(&folder).ok()?;
    let filter =
        tracing_subscriber::EnvFilter::try_from_env("HERMES_LOG").unwrap_or_else(|_| "hermes=info,warn".into());
    let file = tracing_appender::rolling::RollingFileAppender::builder()
        .rotation(tracing_appender::rolling::Rotation::DAILY)
        .filename_prefix("hermes")
        .filename_suffix("log")
        .max_log_files(5)
        .build(&folder)
        .ok()?;
    let (writer, guard) = tracing_appender::non_blocking(file);
    let secrets = base.loaded.config.security.redact_secrets.then(|| base.secrets.clone());
    let masked = move || Masked { writer: writer.clone(), secrets: secrets.clone() };
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(masked).with_ansi(false).try_init().ok()?;
    Some(guard)
}

/// A log without secrets. Each event comes as one write.
struct Masked {
    writer: tracing_appender::non_blocking::NonBlocking,
    /// `None`: the configuration wants none masked.
    secrets: Option<Secrets>,
}

impl std::io::Write for Masked {
    fn write(&mut self, event: &[u8]) -> std::io::Result<usize> {
        let (Some(secrets), Ok(text)) = (&self.secrets, std::str::from_utf8(event)) else {
            return self.writer.write(event);
        };
        let text = secrets.mask(text, RedactKind::Default);
        self.writer.write_all(redact(&text, RedactKind::Default).as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.writer.flush()
    }
}

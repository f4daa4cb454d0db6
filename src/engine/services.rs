//! What all sessions share: store, commands, models, backends, hooks, plugins and MCP servers, built, started and ended in
//! one place.

use super::{Base, EngineOptions, key_names, service_keys};
use crate::accounts::Accounts;
use crate::agent::Models;
use crate::agent::budget::purse::Purse;
use crate::backends::Backends;
use crate::checkpoints::Checkpoints;
use crate::config::paths::expand_home;
use crate::config::{Loaded, OnInput};
use crate::exec::{Exec, ExecOptions, Hidden, ProcessEvent};
use crate::mcp::{self, Mcp};
use crate::plugins::Extensions;
use crate::plugins::consent::Standing;
use crate::plugins::host::Options;
use crate::recordings::Limits;
use crate::store::Store;
use crate::tools::registry::Registry;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// How long a command waits for plugins that are starting.
const PLUGINS_LIMIT: Duration = Duration::from_secs(15);
/// How long leaving another machine may take before a line says what is waited for.
const LEAVE_NOTICE_AFTER: Duration = Duration::from_secs(1);
/// How long it may take at all: a service keeps what is in its sandbox.
const LEAVE_LIMIT: Duration = Duration::from_secs(120);

/// The handles. Cheap to clone.
#[derive(Clone)]
pub struct Services {
    pub store: Store,
    pub registry: Arc<Registry>,
    pub models: Models,
    pub accounts: Accounts,
    pub extensions: Extensions,
    pub mcp: Mcp,
    pub exec: Exec,
    pub backends: Backends,
    pub checkpoints: Checkpoints,
    pub loaded: Arc<Loaded>,
}

impl Services {
    /// Builds them; nothing of hooks, plugins and servers runs yet. Must be called inside the runtime.
    pub(super) fn build(base: &Base, options: EngineOptions) -> (Self, mpsc::Receiver<ProcessEvent>) {
        let store = Store::spawn(base.paths.home.clone());
        let terminal = &base.loaded.config.terminal;
        let (exec, processes) = Exec::new(ExecOptions {
            spill: base.paths.spill(),
            secret_names: key_names(&base.loaded.config),
            env_passthrough: terminal.env_passthrough.clone(),
            shell_init_files: terminal.shell_init_files.iter().map(|file| expand_home(file)).collect(),
            headless: options.headless,
            term_grace: std::time::Duration::from_secs_f64(terminal.daemon_term_grace_seconds.clamp(0.0, 60.0)),
            program: Some(this_program()),
            sudo_password: base.loaded.env("SUDO_PASSWORD").map(|password| Hidden::new(password.to_owned())),
            max_processes: terminal.max_processes,
            register: Some(base.paths.processes()),
            recordings: recorded(base),
            ..ExecOptions::default()
        });
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
        let backends = Backends::new(terminal, &exec, &base.paths.home, &base.cwd, service_keys(&base.loaded));
        let accounts = Accounts::new(&base.paths, base.secrets.clone());
        let mut models = Models::new(Arc::clone(&base.loaded), &base.paths, accounts.clone());
        if let Some(script) = options.script {
            models = models.scripted(script);
        }
        // Calls of no session: only the day's limits hold for them.
        let budget = base.loaded.config.budget;
        let apart = Purse::new(store.clone(), None, budget, false, crate::agent::now, |_| ());
        models = models.within(apart);
        let mcp = Mcp::new(mcp::Needs {
            publish: registry.clone(),
            tokens: mcp::Logins { dir: base.paths.mcp_tokens(), secrets: base.secrets.clone() },
            env: base.loaded.env.clone(),
            root: base.cwd.clone(),
        });
        let loaded = Arc::clone(&base.loaded);
        let checkpoints = Checkpoints::default();
        (Self { store, registry, models, accounts, extensions, mcp, exec, backends, checkpoints, loaded }, processes)
    }

    /// Starts all that the configuration names, behind the first frame. Returns at once.
    pub fn start(&self) {
        self.mcp.apply(&self.loaded.config.mcp_servers);
        self.extensions.start();
    }

    /// Starts all of it where nobody can be asked, and says on standard error what does not run and why.
    pub async fn begin(&self) {
        self.mcp.apply(&self.loaded.config.mcp_servers);
        self.begin_extensions().await;
    }

    /// As [`begin`](Self::begin), with no server but the one that a tool of this name would come from; waits for it.
    pub async fn begin_for(&self, tool: &str) {
        let mut servers = self.loaded.config.mcp_servers.clone();
        servers.retain(|name, _| tool.starts_with(&mcp::prefix(name)));
        let patience = servers.values().map(|server| server.connect_timeout).fold(0.0, f64::max);
        self.mcp.apply(&servers);
        self.begin_extensions().await;
        self.mcp.settled(Duration::from_secs_f64(patience.clamp(0.0, 3600.0))).await;
        self.extensions.settled(PLUGINS_LIMIT).await;
    }

    /// Waits for plugins that are starting, and for servers that are connecting as long as the configuration says.
    pub async fn settled(&self) {
        let seconds = self.loaded.config.mcp_discovery_timeout.0;
        let servers = self.mcp.settled(Duration::from_secs_f64(seconds.clamp(0.0, 120.0)));
        tokio::join!(servers, self.extensions.settled(PLUGINS_LIMIT));
    }

    /// Starts hooks and plugins without servers, where nobody can be asked; says what does not run and why.
    async fn begin_extensions(&self) {
        self.extensions.reload(None).await;
        for text in self.refused().into_iter().chain(self.extensions.view().problems) {
            writeln!(std::io::stderr(), "hermes: {text}").ok();
        }
    }

    /// What of hooks and plugins does not run and why, a line each; known once they have been looked at.
    fn refused(&self) -> Vec<String> {
        let view = self.extensions.view();
        let mut said = view.project.iter().flat_map(|project| project.refusals()).collect::<Vec<_>>();
        for (hook, standing) in &view.hooks {
            if *standing == Standing::Unasked {
                let remedy = "run `hermes hooks accept` once, or pass --accept-hooks";
                said.push(format!("hook {}: {} does not run: not approved; {remedy}", hook.written, hook.label()));
            }
        }
        said
    }

    /// The same in one line, for a conversation that has no card to show; `None` when everything runs. Waits until it is
    /// known.
    pub async fn refused_line(&self) -> Option<String> {
        self.extensions.looked().await;
        let said = self.refused();
        let (first, rest) = said.split_first()?;
        let more = match rest.len() {
            0 => String::new(),
            count => format!(" ({count} more like this: hermes doctor)"),
        };
        Some(format!("{first}{more}"))
    }

    /// Hooks and plugins alone, ready to be used.
    pub async fn extensions_only(&self) {
        self.begin_extensions().await;
        self.extensions.settled(PLUGINS_LIMIT).await;
    }

    /// Ends hooks, plugins, servers, and with `kill` every process.
    pub(super) async fn end(&self, kill: bool) {
        tokio::join!(self.extensions.shutdown(), self.mcp.shutdown(), self.models.local().leave());
        self.exec.shutdown(kill).await;
    }
}

/// Leaves where commands ran, within bounds; says on standard error what that waits for and what could not be kept.
pub async fn leave(backends: Backends) {
    let label = backends.label();
    let say = |text: &str| {
        writeln!(std::io::stderr(), "hermes: {text}").ok();
    };
    let mut left = tokio::task::spawn_blocking(move || backends.leave());
    let mut done = tokio::time::timeout(LEAVE_NOTICE_AFTER, &mut left).await;
    if done.is_err() {
        say(&format!("leaving {label}: waiting for an answer (up to {} s)", LEAVE_LIMIT.as_secs()));
        done = tokio::time::timeout(LEAVE_LIMIT, &mut left).await;
    }
    match done {
        Ok(Ok(Ok(()))) => {}
        Ok(Ok(Err(error))) => say(&error.to_string()),
        Ok(Err(error)) => tracing::error!("could not leave the backend: {error}"),
        Err(_) => say(&format!("{label} did not answer: it may still hold resources of this session")),
    }
}

/// How terminals are recorded, if they are.
fn recorded(base: &Base) -> Option<Limits> {
    let settings = &base.loaded.config.recordings;
    let limits =
        Limits { home: base.paths.home.clone(), terminal: settings.terminal_bytes, all: settings.budget_bytes };
    settings.enabled.then_some(limits)
}

/// The file of this program; on Linux the very one that runs, even when it was replaced since. A path that leads nowhere
/// where the system does not tell: what needs it then says that it could not be run.
fn this_program() -> PathBuf {
    if cfg!(target_os = "linux") {
        return "/proc/self/exe".into();
    }
    std::env::current_exe().unwrap_or_default()
}

//! The place where a session works, and how it is changed.

use super::backend::{Backend, PlaceError, Programs, Terminal, Traits};
use super::container::{Container, Setting};
use super::daytona::Daytona;
use super::keys::Keys;
use super::kubernetes::Kubernetes;
use super::modal::Modal;
use super::remote::Remote;
use super::singularity::Singularity;
use super::slurm::Slurm;
use super::ssh::Ssh;
use crate::config::TerminalConfig;
use crate::exec::Exec;
use crate::lock::lock;
use crate::protocol::UnavailableBackend;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// What `terminal.backend` may be, with what each is.
pub const KINDS: &[(&str, &str)] = &[
    ("local", "this machine"),
    ("ssh", "a machine over SSH"),
    ("docker", "a Docker container"),
    ("podman", "a Podman container"),
    ("singularity", "a Singularity instance"),
    ("apptainer", "an Apptainer instance"),
    ("kubernetes", "a pod"),
    ("slurm", "a Slurm job"),
    ("modal", "a Modal sandbox"),
    ("daytona", "a Daytona sandbox"),
];

/// Work that is no other's.
const DEFAULT: &str = "default";

/// Where the commands of a session, or of a task of it, run and where its files are. Cheap to clone; clones are the same.
#[derive(Clone, Default)]
pub struct Backends {
    pub(super) inner: Arc<Inner>,
}

#[derive(Default)]
pub(super) struct Inner {
    needs: Option<Needs>,
    current: Mutex<Option<Arc<Lease>>>,
    unavailable: OnceLock<Vec<UnavailableBackend>>,
    /// Other machines on which earlier runs of this program left work.
    pub(super) earlier: Mutex<Vec<Arc<Remote>>>,
}

/// A place that one task or several work in: it is left when the last of them goes.
struct Lease(Arc<Remote>);

/// Gives a seat up; the last one to do so leaves the place. Blocks.
fn vacate(seat: Option<Arc<Lease>>) {
    if let Some(Lease(there)) = seat.and_then(Arc::into_inner) {
        // Told in the log, and what could not be kept is still there to be found again.
        let _told = there.leave();
    }
}

/// What backends are made from.
#[derive(Clone)]
struct Needs {
    config: TerminalConfig,
    home: PathBuf,
    workspace: PathBuf,
    task: String,
    programs: Programs,
    keys: Keys,
    variables: Vec<(String, String)>,
}

impl Needs {
    fn backend(&self, kind: &str) -> Result<Box<dyn Backend>, PlaceError> {
        let known = KINDS.iter().map(|(known, _)| *known).find(|known| *known == kind);
        let Some(kind) = known else {
            let all: Vec<&str> = KINDS.iter().map(|(known, _)| *known).collect();
            return Err(PlaceError::Config(format!("no backend named `{kind}`; available: {}", all.join(", "))));
        };
        let mut traits = Traits { kind, patience: Duration::from_secs(60), ..Traits::default() };
        traits.variables = self.variables.clone();
        let (config, programs) = (&self.config, self.programs.of(&traits.leaving));
        let setting =
            Setting { workspace: self.workspace.clone(), home: self.home.clone(), task: self.task.clone(), programs };
        Ok(match kind {
            "ssh" => Box::new(Ssh::new(config, setting.programs, traits)?),
            "kubernetes" => Box::new(Kubernetes::new(config, &setting, traits)),
            "slurm" => Box::new(Slurm::new(config, setting, traits)),
            "modal" => Box::new(Modal::new(config, setting, &self.keys, traits)?),
            "daytona" => Box::new(Daytona::new(config, setting, &self.keys, traits)?),
            "singularity" | "apptainer" => Box::new(Singularity::new(config, &setting, traits)),
            _ => {
                traits.variables.extend(config.docker_env.clone());
                Box::new(Container::new(config, &setting, traits))
            }
        })
    }
}

impl Needs {
    /// What a kind of backend lacks.
    fn lack(&self, kind: &'static str) -> Option<String> {
        if let Err(error) = self.backend(kind) {
            return Some(error.to_string());
        }
        let config = TerminalConfig { backend: kind.to_owned(), ..self.config.clone() };
        let client = client_of(&config)?;
        self.programs.find(&client).is_none().then(|| format!("`{client}` is not installed"))
    }
}

impl Backends {
    /// Places as they are configured; the configured one is current, and not reached before it is needed. `home` is this
    /// program's own, `workspace` where it was started, `keys` are for services. When the configuration lacks something no other place stands in for
    /// it: what is to be done there fails and says so.
    pub fn new(config: &TerminalConfig, exec: &Exec, home: &Path, workspace: &Path, keys: Keys) -> Self {
        let options = exec.options();
        let needs = Needs {
            config: config.clone(),
            home: home.to_owned(),
            workspace: workspace.to_owned(),
            task: DEFAULT.to_owned(),
            programs: Programs::new(options.clean()),
            keys,
            variables: options.forwarded(&config.docker_forward_env),
        };
        let backends = Self { inner: Arc::new(Inner { needs: Some(needs), ..Inner::default() }) };
        // Told by what is to be done there.
        let _told = backends.insist(&config.backend);
        backends
    }

    /// Those of a task of its own: it works where this one works now, over the same connection, until it chooses another
    /// place for itself. Folder and variables are each task's own in any place.
    #[must_use]
    pub fn of_child(&self) -> Self {
        let current = Mutex::new(lock(&self.inner.current).clone());
        Self { inner: Arc::new(Inner { needs: self.inner.needs.clone(), current, ..Inner::default() }) }
    }

    /// The other machine that work is done on; `None`: on this one.
    pub fn current(&self) -> Option<Arc<Remote>> {
        lock(&self.inner.current).as_ref().map(|seat| Arc::clone(&seat.0))
    }

    /// As `terminal.backend` and permissions name it.
    pub fn kind(&self) -> &'static str {
        self.current().map_or("local", |there| there.backend().traits().kind)
    }

    /// As people read it: `local`, `ssh dev@host`.
    pub fn label(&self) -> String {
        self.current().map_or_else(|| "local".to_owned(), |there| there.label().to_owned())
    }

    /// Whether it is a container of ours without a folder of this machine in it.
    pub fn is_isolated(&self) -> bool {
        self.current().is_some_and(|there| there.backend().traits().isolated)
    }

    /// Works there from now on; the place before is left. Blocks.
    ///
    /// # Errors
    /// When there is no such backend, or its configuration lacks something: all stays as it was.
    pub fn choose(&self, kind: &str) -> Result<(), PlaceError> {
        let next = match kind.trim() {
            "" | "local" => None,
            kind => Some(Arc::new(Lease(Arc::new(self.made(kind)?)))),
        };
        let before = std::mem::replace(&mut *lock(&self.inner.current), next);
        vacate(before);
        Ok(())
    }

    /// The same, but when it lacks something no other place stands in for it: what is to be done there fails and says why.
    ///
    /// # Errors
    /// What it lacks.
    pub fn insist(&self, kind: &str) -> Result<(), PlaceError> {
        let error = match self.choose(kind) {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        let broken = Arc::new(Remote::new(Box::new(Broken::new(kind, error.clone()))));
        let before = lock(&self.inner.current).replace(Arc::new(Lease(broken)));
        vacate(before);
        Err(error)
    }

    /// The backend of the configuration.
    pub fn configured(&self) -> &str {
        let kind = self.inner.needs.as_ref().map_or("", |needs| needs.config.backend.trim());
        if kind.is_empty() { "local" } else { kind }
    }

    /// What cannot be used and why, found out once; nothing is reached.
    pub fn unavailable(&self) -> &[UnavailableBackend] {
        let found = || {
            let Some(needs) = &self.inner.needs else { return Vec::new() };
            let all = KINDS.iter().map(|(kind, _)| *kind).filter(|kind| *kind != "local");
            all.filter_map(|kind| Some(UnavailableBackend { kind: kind.to_owned(), reason: needs.lack(kind)? }))
                .collect()
        };
        self.inner.unavailable.get_or_init(found)
    }

    /// A backend of this kind as it is configured.
    ///
    /// # Errors
    /// When its configuration lacks something.
    pub(super) fn made(&self, kind: &str) -> Result<Remote, PlaceError> {
        match &self.inner.needs {
            Some(needs) => Ok(Remote::new(needs.backend(kind)?)),
            None => Err(PlaceError::Config(format!("`{kind}` cannot be used here"))),
        }
    }

    /// The program ends: who waits for the place to be ready waits no longer. [`leave`](Self::leave) comes later.
    pub fn give_up(&self) {
        if let Some(there) = self.current() {
            there.give_up();
        }
    }

    /// Leaves the place, at the end of the program or of a task, unless another task works there. Blocks.
    ///
    /// # Errors
    /// When something there could not be kept.
    pub fn leave(&self) -> Result<(), PlaceError> {
        let mut left = Ok(());
        for there in std::mem::take(&mut *lock(&self.inner.earlier)) {
            left = left.and(there.leave());
        }
        let (kind, mut current) = (self.kind(), lock(&self.inner.current));
        let Some(seat) = current.take() else { return left };
        // What comes late must not run on this machine instead: it stays the place of its last task.
        if Arc::strong_count(&seat) == 1 {
            let there = Arc::clone(&seat.0);
            *current = Some(seat);
            drop(current);
            return left.and(there.leave());
        }
        let error = PlaceError::Config(format!("`{kind}` was left"));
        *current = Some(Arc::new(Lease(Arc::new(Remote::new(Box::new(Broken::new(kind, error)))))));
        drop(current);
        // Another task that works there leaves it later.
        match Arc::into_inner(seat) {
            Some(Lease(there)) => left.and(there.leave()),
            None => left,
        }
    }
}

/// A place that cannot be used as it is configured.
struct Broken {
    traits: Traits,
    error: PlaceError,
}

impl Broken {
    fn new(kind: &str, error: PlaceError) -> Self {
        let known = KINDS.iter().find(|(known, _)| *known == kind).map_or("unknown", |(known, _)| *known);
        Self { traits: Traits { kind: known, label: format!("{kind} (not set up)"), ..Traits::default() }, error }
    }
}

impl Backend for Broken {
    fn traits(&self) -> &Traits {
        &self.traits
    }

    fn start(&self) -> Result<(), PlaceError> {
        Err(self.error.clone())
    }

    fn identity(&self, _: &str) -> String {
        self.traits.label.clone()
    }

    /// Never asked for: it does not start.
    fn client(&self, _: &[&str], _: Terminal) -> Command {
        Command::new("false")
    }

    fn why_gone(&self) -> Option<String> {
        Some(self.error.to_string())
    }

    fn stop(&self) -> Result<(), String> {
        Ok(())
    }
}

/// What the configuration of its backend lacks, without reaching anything.
///
/// # Errors
/// Says what, and what to do.
pub fn check(config: &TerminalConfig, keys: &Keys) -> Result<String, PlaceError> {
    let needs = Needs {
        config: config.clone(),
        home: PathBuf::new(),
        workspace: PathBuf::new(),
        task: DEFAULT.to_owned(),
        programs: Programs::default(),
        keys: keys.clone(),
        variables: Vec::new(),
    };
    match config.backend.trim() {
        "" | "local" => Ok("local".to_owned()),
        kind => needs.backend(kind).map(|backend| backend.traits().label.clone()),
    }
}

/// The program that a backend is reached with; `None` for this machine.
pub fn client_of(config: &TerminalConfig) -> Option<String> {
    match config.backend.trim() {
        "docker" | "podman" if !config.docker_program.trim().is_empty() => {
            Some(crate::config::paths::expand_home(config.docker_program.trim()).display().to_string())
        }
        "" | "local" => None,
        "kubernetes" => Some("kubectl".to_owned()),
        "slurm" => Some("srun".to_owned()),
        "daytona" => Some("ssh".to_owned()),
        kind => Some(kind.to_owned()),
    }
}

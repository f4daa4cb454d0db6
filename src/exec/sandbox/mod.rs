//! The sandbox of local commands: what a command may write, and whether it reaches the network.
//!
//! It holds the commands that tools start, never this program. Landlock bounds what can be written; a mount namespace, where
//! the system lets us have one, makes everything else read-only and guards files inside the workspace that other programs run
//! later; it has no capabilities, root included; seccomp refuses calls that go around all that, and sockets. What cannot be had is an error of the command, never a command without it.

pub(super) mod confine;
#[cfg(target_os = "linux")]
mod filter;
mod guard;
#[cfg(target_os = "linux")]
mod kernel;
mod plan;
mod probe;
#[cfg(target_os = "linux")]
mod rights;

pub use guard::{Guard, protected};
#[cfg(target_os = "linux")]
pub(crate) use kernel::{Prepared, failed_step};
#[cfg(not(target_os = "linux"))]
pub(crate) use none::{Prepared, failed_step};
pub use probe::{Support, probe};

use crate::config::SandboxMode;
use plan::Plan;
use std::io;
use std::path::{Path, PathBuf};

/// What a command is held in.
#[derive(Clone, Debug, PartialEq)]
pub struct Sandbox {
    /// `Off`: it writes where it likes, and only the network is held back.
    pub mode: SandboxMode,
    pub network: bool,
    /// The folder of the session; never that of the task, which a command can move.
    pub workspace: PathBuf,
    /// Folders beside the workspace that can be written.
    pub writable: Vec<PathBuf>,
    /// Never written, wherever it lies: our own home.
    pub closed: PathBuf,
    /// The person's home.
    pub home: PathBuf,
}

/// A command cannot be held in its sandbox, and was not started.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot set up the sandbox (sandbox.mode: {mode}, sandbox.network: {network}): {why}; nothing was run. `hermes doctor` shows what this system supports; sandbox.mode: off and sandbox.network: on in config.yaml run commands without it"
)]
pub struct SandboxError {
    mode: &'static str,
    network: &'static str,
    why: String,
}

impl Sandbox {
    fn fail(&self, why: impl Into<String>) -> SandboxError {
        SandboxError { mode: self.mode.word(), network: if self.network { "on" } else { "off" }, why: why.into() }
    }

    /// In a few words: `workspace-write, network off`.
    pub fn words(&self) -> String {
        let network = if self.network { "" } else { "network off" };
        match (self.mode, network) {
            (SandboxMode::Off, network) => network.to_owned(),
            (mode, "") => mode.word().to_owned(),
            (mode, network) => format!("{}, {network}", mode.word()),
        }
    }

    /// Makes everything ready that the child then only switches on. `scratch` is the shell's private folder, `state` the
    /// file in it that this command writes. Blocks for some looks at the disk.
    pub(crate) fn prepare(
        &self,
        support: &Support,
        scratch: &Path,
        state: Option<&Path>,
        cwd: &Path,
    ) -> Result<ReadySandbox, SandboxError> {
        let lacks = |what: &str| self.fail(what.to_owned());
        if self.mode != SandboxMode::Off && support.landlock == 0 {
            return Err(lacks(
                "this system has no Landlock (needs Linux 5.13 or later with the landlock security module)",
            ));
        }
        if !support.seccomp {
            return Err(lacks(
                "this system has no seccomp filters (x86-64 or aarch64), which block sockets and mounts",
            ));
        }
        let plan = Plan::new(self, scratch, state, support.mounts.is_ok());
        let guard = Guard::new(&plan.absent, &plan.links, &plan.deep);
        let private_temp = plan.private_temp.clone();
        let prepared = Prepared::new(self, plan, cwd).map_err(|error| self.fail(error.to_string()))?;
        Ok(ReadySandbox { prepared, guard, private_temp })
    }

    pub(crate) fn broke(&self, step: Step, error: &io::Error) -> SandboxError {
        self.fail(format!("{}: {error}", step.words()))
    }
}

/// A sandbox that is ready for one child.
pub(crate) struct ReadySandbox {
    pub(crate) prepared: Prepared,
    pub(crate) guard: Guard,
    /// The folder for temporary files, where the common one cannot be written.
    pub(crate) private_temp: Option<PathBuf>,
}

/// What the child does, in its order; told to the parent when it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Namespace = 1,
    Mounts = 2,
    Folder = 3,
    Privileges = 4,
    Landlock = 5,
    Seccomp = 6,
    Capabilities = 7,
}

impl Step {
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "this sandbox is not shared"))]
    pub(crate) fn of(byte: u8) -> Option<Self> {
        use Step::{Capabilities, Folder, Landlock, Mounts, Namespace, Privileges, Seccomp};
        [Namespace, Mounts, Folder, Privileges, Landlock, Seccomp, Capabilities]
            .into_iter()
            .find(|step| *step as u8 == byte)
    }

    fn words(self) -> &'static str {
        match self {
            Self::Namespace => "a private mount namespace",
            Self::Mounts => "read-only mounts",
            Self::Folder => "its working folder",
            Self::Privileges => "giving up new privileges",
            Self::Landlock => "Landlock",
            Self::Seccomp => "the seccomp filter",
            Self::Capabilities => "giving up capabilities",
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod none {
    use super::{Plan, Sandbox};
    use std::io;
    use std::path::Path;

    /// There is no sandbox on this system: `prepare` has said so before.
    pub(crate) struct Prepared;

    pub(crate) fn failed_step(_: io::PipeReader) -> Option<super::Step> {
        None
    }

    impl Prepared {
        pub(super) fn new(_: &Sandbox, _: Plan, _: &Path) -> io::Result<Self> {
            Err(io::Error::other("this system has no sandbox"))
        }
        pub(crate) fn enter(self, _: &mut std::process::Command) -> io::Result<Option<io::PipeReader>> {
            Err(io::Error::other("this system has no sandbox"))
        }
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;

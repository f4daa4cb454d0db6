//! What commands of this program have in common.

use super::Hidden;
use crate::recordings::Limits;
use std::path::PathBuf;
use std::time::Duration;

/// What commands of this program have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecOptions {
    /// Folder for output that outgrows memory.
    pub spill: PathBuf,
    /// Largest size of one spill file in bytes.
    pub spill_limit: u64,
    /// Names of variables that reach children although they look like secrets (`terminal.env_passthrough`).
    pub env_passthrough: Vec<String>,
    /// Names of variables that never reach children, whatever they look like: those that the configuration reads keys from.
    pub secret_names: Vec<String>,
    /// Files to source instead of asking the login shell (`terminal.shell_init_files`).
    pub shell_init_files: Vec<PathBuf>,
    /// Ask the login shell for its environment before the first command.
    pub login_env: bool,
    /// Nobody can type.
    pub headless: bool,
    /// Between SIGTERM and SIGKILL for `kill` (`terminal.daemon_term_grace_seconds`).
    pub term_grace: Duration,
    /// Columns and rows of terminals before a pane tells its size.
    pub size: (u16, u16),
    /// This program, for work that is done in a process of its own; `None` when there is no such program.
    pub program: Option<PathBuf>,
    /// The answer to `sudo` (`SUDO_PASSWORD` of the environment or `.env`).
    pub sudo_password: Option<Hidden>,
    /// Processes that are tracked at most, ended ones included (`terminal.max_processes`).
    pub max_processes: usize,
    /// The file that names what runs in the background, for the next run of this program.
    pub register: Option<PathBuf>,
    /// Where terminals of sessions are recorded and how much of them; `None`: nothing is.
    pub recordings: Option<Limits>,
}

impl Default for ExecOptions {
    fn default() -> Self {
        Self {
            spill: std::env::temp_dir(),
            spill_limit: 64 * 1024 * 1024,
            env_passthrough: Vec::new(),
            secret_names: Vec::new(),
            shell_init_files: Vec::new(),
            login_env: true,
            headless: false,
            term_grace: Duration::from_secs(2),
            size: (120, 30),
            program: None,
            sudo_password: None,
            max_processes: 200,
            register: None,
            recordings: None,
        }
    }
}

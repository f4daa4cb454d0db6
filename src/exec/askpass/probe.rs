//! Does `sudo` need a password at all? It may not: by its rules, or because it was given one a moment ago.

use crate::exec::process::env::Env;
use crate::exec::{Exec, Limits, Oneshot, OutputLimit, Remainder};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A directory service may have to be asked; a command does not wait longer for it.
const PROBE_LIMIT: Duration = Duration::from_secs(3);

impl Exec {
    /// Whether `sudo -n true` fails for want of a password. Where there is no `sudo`, it wants none.
    pub async fn sudo_wants_password(&self, task: &str, cancel: &CancellationToken) -> bool {
        let env = self.environment_of(task).await;
        let Some(program) = find("sudo", &env) else { return false };
        let mut command = std::process::Command::new(program);
        command.args(["-n", "true"]).env_clear().envs(env.iter());
        let bounds = Limits { time: PROBE_LIMIT, stdout: OutputLimit::None, stderr: OutputLimit::None };
        let probe = Oneshot { command, input: Vec::new(), bounds, rest: Remainder::Ends };
        !probe.run(cancel).await.is_ok_and(|done| done.status.success())
    }
}

/// The program of this name that a command would find.
fn find(name: &str, env: &Env) -> Option<std::path::PathBuf> {
    let path = env.get(std::ffi::OsStr::new("PATH"))?;
    std::env::split_paths(path).map(|folder| folder.join(name)).find(|file| file.is_absolute() && file.is_file())
}

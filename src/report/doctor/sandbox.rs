//! Whether this system can hold commands in a sandbox, and how well.

use super::Row;
use crate::config::{SandboxConfig, SandboxMode};
use crate::exec::Support;

const WHAT: &str = "sandbox";

/// The row: what is set, and what the kernel has.
pub(super) fn row(config: &SandboxConfig, support: &Support) -> Row {
    let network = if config.network { "on" } else { "off" };
    let landlock = match support.landlock {
        0 => "no Landlock".to_owned(),
        version => format!("Landlock {version}"),
    };
    let mounts = match &support.mounts {
        Ok(()) => "read-only mounts".to_owned(),
        Err(why) => format!("no read-only mounts ({why})"),
    };
    let seccomp = if support.seccomp { "seccomp" } else { "no seccomp" };
    let found = format!("{}, network {network}; this system has {landlock}, {mounts}, {seccomp}", config.mode.word());
    let holds = config.mode != SandboxMode::Off;
    if holds && support.landlock == 0 {
        return Row::fail(
            WHAT,
            found,
            "commands do not run: boot a kernel of 5.13 or later with Landlock, or hermes config set sandbox.mode off",
        );
    }
    if !config.network && !support.seccomp {
        return Row::fail(
            WHAT,
            found,
            "commands do not run: hermes config set sandbox.network on, or a kernel with seccomp",
        );
    }
    if holds && support.mounts.is_err() {
        return Row::warn(
            WHAT,
            found,
            "workspace-write blocks .git and new top-level entries in the workspace: allow user namespaces to permit them",
        );
    }
    if holds && support.landlock < 3 {
        return Row::warn(
            WHAT,
            found,
            "where mounts do not help, files outside can be truncated with truncate(2): kernel 6.2 or later prevents that",
        );
    }
    Row::ok(WHAT, found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::doctor::Health;

    #[test]
    fn it_fails_only_where_commands_would() {
        let whole = Support { landlock: 7, mounts: Ok(()), seccomp: true };
        let none = Support { landlock: 0, mounts: Err("not permitted".into()), seccomp: false };
        let no_mounts = Support { mounts: Err("not permitted".into()), ..whole.clone() };
        let old = Support { landlock: 2, ..whole.clone() };
        let set = |mode, network| SandboxConfig { mode, network, writable: Vec::new() };
        for (mode, network, support, health, says) in [
            (
                SandboxMode::Off,
                true,
                &whole,
                Health::Ok,
                "off, network on; this system has Landlock 7, read-only mounts, seccomp",
            ),
            (SandboxMode::Off, true, &none, Health::Ok, "no Landlock, no read-only mounts (not permitted), no seccomp"),
            (SandboxMode::WorkspaceWrite, true, &whole, Health::Ok, "workspace-write"),
            (SandboxMode::ReadOnly, true, &none, Health::Fail, "read-only"),
            (SandboxMode::Off, false, &none, Health::Fail, "network off"),
            (SandboxMode::WorkspaceWrite, true, &no_mounts, Health::Warn, "not permitted"),
            (SandboxMode::WorkspaceWrite, true, &old, Health::Warn, "Landlock 2"),
        ] {
            let row = row(&set(mode, network), support);
            assert_eq!(row.health, health, "{}", row.found);
            assert!(row.found.contains(says), "{}", row.found);
        }
    }
}

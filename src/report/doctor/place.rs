//! Where commands run: whether that is set up, and its client there. Nothing is reached.

use super::Row;
use crate::backends::{Keys, PlaceError, check, client_of};
use crate::config::TerminalConfig;

const WHAT: &str = "backend";

/// The row.
pub(super) fn row(config: &TerminalConfig, keys: &Keys) -> Row {
    let label = match check(config, keys) {
        Ok(label) => label,
        Err(PlaceError::Config(why)) => return Row::fail(WHAT, config.backend.clone(), why),
        Err(error) => return Row::fail(WHAT, config.backend.clone(), error.to_string()),
    };
    let missing = client_of(config).filter(|program| !found(program));
    match missing {
        Some(program) => Row::fail(
            WHAT,
            label,
            format!("`{program}` is not installed: install it, or hermes config set terminal.backend local"),
        ),
        None => Row::ok(WHAT, label),
    }
}

fn found(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    program.contains('/') && std::path::Path::new(program).is_file()
        || std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::doctor::Health;

    #[test]
    fn it_says_what_is_missing() {
        let config = |backend: &str| TerminalConfig { backend: backend.into(), ..TerminalConfig::default() };
        let none = Keys::default();
        assert_eq!(
            (row(&config("local"), &none).health, row(&config("local"), &none).found.as_str()),
            (Health::Ok, "local")
        );
        let empty = row(&config("ssh"), &none);
        assert!(empty.health == Health::Fail && empty.remedy.contains("terminal.ssh_host"), "{empty:?}");
        let engine = TerminalConfig { docker_program: "/no/such/engine".into(), ..config("docker") };
        let missing = row(&engine, &none);
        assert!(
            missing.health == Health::Fail && missing.remedy.contains("`/no/such/engine` is not installed"),
            "{missing:?}"
        );
        let keyless = row(&config("daytona"), &none);
        assert!(keyless.health == Health::Fail && keyless.remedy.contains("DAYTONA_API_KEY"), "{keyless:?}");
    }
}

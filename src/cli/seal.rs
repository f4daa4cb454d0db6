//! The first thing that the program does: the profile is known, the secrets are taken out of its environment, and nobody may
//! look into it.

use super::{profile, setup};
use crate::config::profiles;
use crate::environment;
use crate::exec::keeps_back;
use regex::Regex;
use std::ffi::OsStr;
use std::path::PathBuf;

/// Beginnings of names that the system, the C library or a terminal go by: never taken out, whatever `config.yaml` says.
const SYSTEM: &[&str] = &[
    "HOME",
    "PATH",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "COLORTERM",
    "LANG",
    "LC_",
    "TMPDIR",
    "XDG_",
    "PWD",
    "DISPLAY",
    "WAYLAND_",
    "SSH_",
    "DBUS_",
    "EDITOR",
    "VISUAL",
    "HERMES_",
];

/// Closes this process to others and takes its secrets out of the environment. The helper that programs ask for passwords
/// stays as it is: it has no secrets, and the program that it asks looks at it.
///
/// # Safety
/// No other thread may run yet.
pub unsafe fn seal() {
    if is_helper().is_some() {
        return;
    }
    // SAFETY: the caller's word.
    unsafe { choose() };
    let named =
        named(&setup::paths().ok().and_then(|paths| std::fs::read_to_string(paths.config()).ok()).unwrap_or_default());
    // SAFETY: the caller's word.
    unsafe { environment::seal(|name| is_secret(name, &named)) }
}

/// Puts the profile that is meant into the environment, where whatever asks for the home finds it: it stays the same while
/// the program runs, whatever becomes of the file that names the active one.
///
/// # Safety
/// No other thread may run yet.
unsafe fn choose() {
    let asked = profile::asked(std::env::args_os().collect());
    let asked = asked.or_else(|| std::env::var(profiles::VARIABLE).ok());
    let found = setup::profiles().ok().and_then(|all| Some(all.chosen(asked.as_deref()).ok()?.profile()?.to_owned()));
    // A name that is wrong is told of by the command that needs the home.
    if let Some(name) = found.or(asked) {
        // SAFETY: the caller's word.
        unsafe { std::env::set_var(profiles::VARIABLE, name) };
    }
}

/// The link by which this program was started, when it is the one of the helper.
pub(super) fn is_helper() -> Option<PathBuf> {
    std::env::args_os().next().map(PathBuf::from).filter(|link| link.ends_with(crate::exec::HELPER))
}

/// Whether a variable holds a secret: by its name, or since the configuration takes a key from it.
fn is_secret(name: &OsStr, named: &[String]) -> bool {
    let Some(name) = name.to_str() else { return false };
    // Addresses are kept from children, too, but are no secrets. The login of another agent goes on to children, from us.
    let telling = |name: &str| keeps_back(name, named) && !name.ends_with("_URL") && !name.ends_with("_ENDPOINT");
    match name.strip_prefix("HERMES_") {
        Some(rest) => telling(rest),
        None => telling(name) || name == "CLAUDE_CODE_OAUTH_TOKEN",
    }
}

/// Names that a configuration takes values from: `key_env: NAME` and `${NAME}`. Read as text: a file that cannot be parsed is
/// told of later, and its keys are keys all the same.
fn named(config: &str) -> Vec<String> {
    let Ok(taken) = Regex::new(r#"\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\bkey_env["']?\s*:\s*["']?([A-Za-z_][A-Za-z0-9_]*)"#)
    else {
        return Vec::new();
    };
    let names = taken.captures_iter(config).filter_map(|found| found.get(1).or_else(|| found.get(2)));
    let names = names.map(|name| name.as_str().to_owned());
    names
        .filter(|name| !SYSTEM.iter().any(|start| name.starts_with(start)) && !name.to_lowercase().ends_with("_proxy"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_tell_and_names_of_the_configuration_are_secrets() {
        let config = "model:\n  api_key: ${WORK_LLM}\n  base_url: ${HOME}/x\nproviders:\n  lab:\n    key_env: LAB\n  b: {\"key_env\": \"B\"}\n";
        let named = named(config);
        assert_eq!(named, ["WORK_LLM", "LAB", "B"]);
        for name in [
            "WORK_LLM",
            "LAB",
            "B",
            "OPENAI_API_KEY",
            "GH_TOKEN",
            "SUDO_PASSWORD",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "HERMES_X_API_KEY",
        ] {
            assert!(is_secret(OsStr::new(name), &named), "{name}");
        }
        for name in [
            "HOME",
            "PATH",
            "TERM",
            "HERMES_HOME",
            "HERMES_MODEL",
            "HERMES_PROCESS",
            "OPENAI_BASE_URL",
            "SSH_AUTH_SOCK",
            "HTTPS_PROXY",
            "PWD",
            "OLDPWD",
        ] {
            assert!(!is_secret(OsStr::new(name), &named), "{name}");
        }
    }
}

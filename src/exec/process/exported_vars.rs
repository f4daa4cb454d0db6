//! Which variables that a command exported later commands of its task get.
//!
//! A name that makes programs run, load or find something else keeps the value that it had when this program started: a
//! command that was judged by itself must not change what later ones do.

use super::env::Env;
use crate::policy::{glob, table, variable};
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Names beside the variables of the policy that do so, as globs.
const EXECUTING: &[&str] = &[
    "LD_*",
    "DYLD_*",
    "BASH*",
    "CDPATH",
    "ENV",
    "EXECIGNORE",
    "GLOBIGNORE",
    "IFS",
    "INPUTRC",
    "PROMPT_COMMAND",
    "PS[0-9]",
    "SHELLOPTS",
    "ZDOTDIR",
    "FPATH",
    // Whose files are read, and which words `~` and `$USER` stand for.
    "HOME",
    "USER",
    "LOGNAME",
    "XDG_CONFIG_HOME",
    "XDG_CONFIG_DIRS",
    "HERMES_*",
    "GIT_DIR",
    "GIT_CONFIG*",
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
    "*_ASKPASS",
    "*_SSH",
    "*_SSH_COMMAND",
    "*_COMMAND",
    "*_PRELOAD",
    "*_WRAPPER",
    "*_RUNNER",
    "*_LINKER",
    "*PAGER",
    "*EDITOR",
    "*VISUAL",
    "VIMINIT",
    "EXINIT",
    "MAKEFILES",
    "PERL5DB",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "npm_config_script_shell",
    "npm_config_node_options",
];

/// Folders that anybody may write to: no programs are looked for there.
const OPEN_TO_ALL: &[&str] = &["/tmp", "/var/tmp", "/dev/shm", "/private/tmp"];

/// What is kept of `exported`, and the names whose new values are not. `base` is what the first command started with.
pub(in crate::exec) fn kept(base: &Env, mut exported: Env) -> (Env, Vec<String>) {
    let mut refused = Vec::new();
    let changed: Vec<OsString> =
        exported.iter().filter(|(name, value)| base.get(*name) != Some(value)).map(|(name, _)| name.clone()).collect();
    for name in changed {
        let (Some(text), Some(value)) = (name.to_str(), exported.get(&name)) else { continue };
        let instead = if text == "PATH" {
            let path = searched(value, base.get(&name));
            if path.as_ref() == Some(value) {
                continue;
            }
            path.or_else(|| base.get(&name).cloned())
        } else if executes(text, value) {
            base.get(&name).cloned()
        } else {
            continue;
        };
        refused.push(text.to_owned());
        match instead {
            Some(value) => exported.insert(name, value),
            None => exported.remove(&name),
        };
    }
    (exported, refused)
}

fn executes(name: &str, value: &OsStr) -> bool {
    if EXECUTING.iter().any(|known| glob::matches(known, name)) {
        return true;
    }
    let Ok(table) = table::table() else { return true };
    let Some((spec, exact)) = table.variable(name) else { return false };
    let Some(value) = value.to_str() else { return true };
    // Where later commands run is not known here: the gate asked about folders outside when it was set.
    let place = variable::Place {
        home: "",
        absolute: &|part| vec![part.to_owned()],
        inside: &|part| !part.contains("..") && !OPEN_TO_ALL.iter().any(|open| Path::new(part).starts_with(open)),
    };
    !(!exact && variable::is_plain(value) || variable::is_harmless(spec, value, &place))
}

/// `PATH` without new folders that are relative or open to everybody.
fn searched(path: &OsStr, before: Option<&OsString>) -> Option<OsString> {
    let before: Vec<_> = before.map(|before| std::env::split_paths(before).collect()).unwrap_or_default();
    let trusted = |folder: &Path| {
        let plain = folder.is_absolute() && !folder.components().any(|part| part == std::path::Component::ParentDir);
        let real = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
        plain && !OPEN_TO_ALL.iter().any(|open| folder.starts_with(open) || real.starts_with(open))
    };
    let folders = std::env::split_paths(path).filter(|folder| before.contains(folder) || trusted(folder));
    std::env::join_paths(folders).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &[(&str, &str)]) -> Env {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn what_executes_keeps_its_first_value() {
        let base =
            env(&[("PATH", "/usr/bin:/tmp/mine"), ("EDITOR", "hx"), ("LD_LIBRARY_PATH", "/mine"), ("HOME", "/h")]);
        for (name, value, want) in [
            ("LD_PRELOAD", "./x", None),
            ("LD_LIBRARY_PATH", "/mine", Some("/mine")),
            ("LD_LIBRARY_PATH", "./x", Some("/mine")),
            ("BASH_ENV", "./x", None),
            ("PROMPT_COMMAND", "x", None),
            ("GIT_SSH_COMMAND", "./x", None),
            ("GIT_EXTERNAL_DIFF", "./x", None),
            ("GIT_CONFIG_COUNT", "1", None),
            ("CDPATH", "/", None),
            ("HOME", "/elsewhere", Some("/h")),
            ("EDITOR", "./x", Some("hx")),
            ("NODE_OPTIONS", "--require ./x", None),
            ("NODE_OPTIONS", "--max-old-space-size=4096", Some("--max-old-space-size=4096")),
            ("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER", "./x", None),
            ("RUST_LOG", "debug", Some("debug")),
            ("VIRTUAL_ENV", "/h/p/.venv", Some("/h/p/.venv")),
            ("DATABASE_URL", "x", Some("x")),
            ("PATH", "/h/p/.venv/bin:/usr/bin", Some("/h/p/.venv/bin:/usr/bin")),
            ("PATH", "/usr/bin:/tmp/mine", Some("/usr/bin:/tmp/mine")),
            ("PATH", ".:/tmp/other:x:/tmp/mine:/h/../tmp/y:/usr/bin", Some("/tmp/mine:/usr/bin")),
        ] {
            let (kept, refused) = kept(&base, env(&[(name, value)]));
            assert_eq!(kept.get(OsStr::new(name)).and_then(|v| v.to_str()), want, "{name}={value}");
            assert_eq!(refused.is_empty(), want == Some(value), "{name}={value}: {refused:?}");
        }
    }

    #[test]
    fn what_was_unset_stays_unset() {
        let base = env(&[("EDITOR", "hx"), ("PATH", "/bin")]);
        assert_eq!(kept(&base, Env::new()), (Env::new(), Vec::new()));
    }
}

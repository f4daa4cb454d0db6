//! Plugins from elsewhere: a folder is copied, a Python package gets an environment of its own. Nothing is enabled by it.

use super::manifest::{self, FILE, is_name};
use crate::config::Paths;
use crate::exec::{Limits, Oneshot, OneshotError, OutputLimit, Remainder};
use crate::fs::remove::{self, Tree};
use crate::fs::{ensure_dir, write_atomic};
use crate::text::foreign;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// How long an environment may take to be made, a package to be installed, its entry points to be listed.
const TIMES: [Duration; 3] = [Duration::from_secs(180), Duration::from_secs(900), Duration::from_secs(60)];
/// Bytes of what an installer prints that are kept, and lines of it that are shown.
const KEPT: (usize, usize) = (64 * 1024, 12);
/// What is said where python3 itself is missing or has no pip.
const NEEDS: &str = "a Python package needs python3 with the modules venv and pip (on Debian: python3-venv)";

/// Lists the entry points of a package's environment as JSON.
const LIST: &str = r#"
import importlib.metadata as m, json
print(json.dumps([{"name": e.name, "version": e.dist.version, "description": e.dist.metadata.get("Summary") or "",
                   "author": e.dist.metadata.get("Author") or ""} for e in m.entry_points(group="hermes_agent.plugins")]))
"#;

/// What was installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    pub name: String,
    pub dir: PathBuf,
}

/// What an installation runs with.
pub struct Around<'a> {
    /// Exactly these variables: a package's own installation is a stranger's code.
    pub env: &'a BTreeMap<String, String>,
    /// Whether the person wants it stopped.
    pub stopped: &'a dyn Fn() -> bool,
}

/// Installs `pip:REQUIREMENT` or a folder. Runs the package's own installation, so only on a person's word. Blocks.
///
/// # Errors
/// What failed, in words, with the last lines of what it printed. Nothing of it is left then.
pub fn install(paths: &Paths, source: &str, around: &Around<'_>) -> Result<Vec<Installed>, String> {
    match source.strip_prefix("pip:") {
        Some(requirement) => package(paths, requirement.trim(), around),
        None => folder(paths, Path::new(source)).map(|installed| vec![installed]),
    }
}

fn folder(paths: &Paths, source: &Path) -> Result<Installed, String> {
    let source = std::fs::canonicalize(source)
        .map_err(|error| format!("{}: {error}; give a folder, or pip:PACKAGE", source.display()))?;
    let read = manifest::read(&source).map_err(|error| error.to_string())?;
    manifest::start(&source, &read).map_err(|error| error.to_string())?;
    let dir = fresh(paths, &read.name)?;
    mark(Tree::Plugin, &dir)?;
    if let Err(error) = copy(&source, &dir) {
        let why = format!("could not copy {}: {error}", source.display());
        return Err(discard(Tree::Plugin, paths, &dir, why));
    }
    Ok(Installed { name: read.name, dir })
}

fn fresh(paths: &Paths, name: &str) -> Result<PathBuf, String> {
    let dir = paths.plugins().join(name);
    if dir.exists() {
        return Err(format!("{} already exists; remove it with hermes plugins uninstall {name}", dir.display()));
    }
    Ok(dir)
}

fn mark(kind: Tree, dir: &Path) -> Result<(), String> {
    remove::mark(kind, dir).map_err(|error| error.to_string())
}

/// Half of it helps nobody: it goes, and `why` says so when it does not.
fn discard(kind: Tree, paths: &Paths, dir: &Path, why: String) -> String {
    match remove::tree(kind, &paths.home, dir) {
        Ok(_) => why,
        Err(error) => format!("{why}; {error}"),
    }
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        // A mark stands for the folder that it lies in.
        if entry.file_name() == ".git" || entry.file_name() == remove::MARK {
            continue;
        }
        if kind.is_dir() {
            copy(&entry.path(), &target)?;
        } else if kind.is_file() {
            std::fs::copy(entry.path(), target)?;
        }
        // Links are left out: what they lead to is not part of the plugin.
    }
    Ok(())
}

fn package(paths: &Paths, requirement: &str, around: &Around<'_>) -> Result<Vec<Installed>, String> {
    if requirement.is_empty() || requirement.starts_with('-') {
        return Err("give a package: pip:NAME".into());
    }
    let label: String = requirement
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or(requirement)
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        .collect();
    if label.trim_matches('.').is_empty() {
        return Err(format!("{requirement} does not name a package: give the name of its folder or file"));
    }
    let venv = paths.plugin_venvs().join(&label);
    if venv.exists() {
        return Err(format!("{} already exists; uninstall its plugins first", venv.display()));
    }
    ensure_dir(&venv).map_err(|error| error.to_string())?;
    mark(Tree::Environment, &venv)?;
    packaged(paths, requirement, &venv, around).map_err(|why| discard(Tree::Environment, paths, &venv, why))
}

fn packaged(paths: &Paths, requirement: &str, venv: &Path, around: &Around<'_>) -> Result<Vec<Installed>, String> {
    let python = venv.join("bin/python");
    let run = |program: &Path, args: &[&str], time: Duration, what: &str| {
        let mut command = Command::new(program);
        command.args(args).env_clear().envs(around.env);
        run(command, time, what, around.stopped)
    };
    let [making, installing, listing] = TIMES;
    let place = venv.to_string_lossy();
    run("python3".as_ref(), &["-m", "venv", &*place], making, "python3 -m venv")
        .map_err(|why| format!("{why}\n{NEEDS}"))?;
    let pip = ["-m", "pip", "install", "--disable-pip-version-check", "--no-input", requirement];
    run(&python, &pip, installing, "pip install")?;
    let listed = run(&python, &["-c", LIST], listing, "listing its entry points")?;
    let points: Vec<serde_json::Value> = serde_json::from_str(listed.trim()).unwrap_or_default();
    if points.is_empty() {
        return Err(format!("{requirement} has no entry point in the group hermes_agent.plugins: it is not a plugin"));
    }
    let mut names = Vec::new();
    for point in &points {
        let word = |key: &str| point.get(key).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
        let name = word("name");
        if !is_name(&name) {
            return Err(format!("the entry point {name:?} of {requirement} is not a valid plugin name"));
        }
        names.push((fresh(paths, &name)?, name, point));
    }
    let mut installed = Vec::new();
    for (dir, name, point) in names {
        let word = |key: &str| point.get(key).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
        // JSON is YAML.
        let manifest = serde_json::json!({
            "name": name, "version": word("version"), "description": word("description"), "author": word("author"),
            "source": format!("pip:{requirement}"), "python": python, "entry_point": name,
        });
        let text = serde_json::to_string_pretty(&manifest).unwrap_or_default();
        mark(Tree::Plugin, &dir)?;
        write_atomic(&dir.join(FILE), &format!("{text}\n")).map_err(|error| error.to_string())?;
        installed.push(Installed { name, dir });
    }
    Ok(installed)
}

/// What it printed to standard output.
fn run(command: Command, time: Duration, what: &str, stopped: &dyn Fn() -> bool) -> Result<String, String> {
    let bounds = Limits { time, stdout: OutputLimit::Last(KEPT.0), stderr: OutputLimit::Last(KEPT.0) };
    let once = Oneshot { command, input: Vec::new(), bounds, rest: Remainder::Ends };
    let done = once.block(stopped).map_err(|error| match error {
        OneshotError::Stopped => format!("{what} was stopped"),
        error => format!("{what} {error}"),
    })?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if done.status.success() {
        return Ok(text(&done.stdout));
    }
    let all = text(&done.stdout) + &text(&done.stderr);
    let lines: Vec<String> = all.lines().map(|line| foreign::line(line, 400)).filter(|line| !line.is_empty()).collect();
    let last = lines[lines.len().saturating_sub(KEPT.1)..].join("\n  ");
    Err(format!("{what} failed ({}):\n  {last}", done.status))
}

/// Removes a plugin of the home folder, with its environment when no other plugin uses it. What it kept for itself stays.
///
/// # Errors
/// It is not there, or cannot be removed.
pub fn uninstall(paths: &Paths, name: &str) -> Result<PathBuf, String> {
    let dir = paths.plugins().join(name);
    if !is_name(name) || !dir.is_dir() {
        return Err(format!("no plugin {name} in {}", paths.plugins().display()));
    }
    let venv = |dir: &Path| {
        let python = manifest::read(dir).ok()?.python?;
        // A manifest may name anything: only an environment that lies right in our folder is ours to remove.
        let venv = python.parent()?.parent()?.canonicalize().ok()?;
        let ours = venv.parent() == paths.plugin_venvs().canonicalize().ok().as_deref();
        let ours = ours.then(|| venv.file_name().map(|name| paths.plugin_venvs().join(name)))??;
        ours.join("pyvenv.cfg").is_file().then_some(ours)
    };
    let own = venv(&dir);
    remove::tree(Tree::Plugin, &paths.home, &dir).map_err(|error| error.to_string())?;
    if let Some(own) = own {
        let others = std::fs::read_dir(paths.plugins()).into_iter().flatten().filter_map(Result::ok);
        if !others.map(|entry| entry.path()).any(|other| venv(&other).as_ref() == Some(&own)) {
            remove::tree(Tree::Environment, &paths.home, &own).map_err(|error| error.to_string())?;
        }
    }
    Ok(dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_copied_and_removed() {
        let root = tempfile::tempdir().unwrap();
        let paths = Paths::at(root.path().join("home"));
        let source = super::super::create::create(root.path(), "demo", super::super::create::Language::Sh).unwrap();
        let env = BTreeMap::new();
        let around = Around { env: &env, stopped: &|| false };
        let install = |source: &str| install(&paths, source, &around);
        let installed = install(&source.to_string_lossy()).unwrap();
        assert!(installed[0].dir.join("run.sh").is_file());
        assert!(install(&source.to_string_lossy()).unwrap_err().contains("already exists"));
        uninstall(&paths, "demo").unwrap();
        assert!(!installed[0].dir.exists() && source.exists());
        assert!(uninstall(&paths, "demo").is_err() && uninstall(&paths, "../demo").is_err());
        assert!(install("/nowhere").unwrap_err().contains("pip:PACKAGE"));
        assert!(install("pip:").is_err());
    }

    #[test]
    fn an_installation_that_cannot_be_or_does_not_end_says_so_and_leaves_nothing() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        let (paths, bin) = (Paths::at(root.path().join("home")), root.path().join("bin"));
        std::fs::create_dir_all(&bin).unwrap();
        let env: BTreeMap<String, String> = [("PATH".to_owned(), format!("{}:/bin:/usr/bin", bin.display()))].into();
        let python = |script: &str| {
            std::fs::write(bin.join("python3"), format!("#!/bin/sh\n{script}\n")).unwrap();
            std::fs::set_permissions(bin.join("python3"), PermissionsExt::from_mode(0o755)).unwrap();
        };
        for (script, words) in [
            ("echo 'No module named venv' >&2; exit 1", "No module named venv\na Python package needs python3"),
            // What it made has a pip that fails.
            (
                r#"mkdir -p "$3/bin"; printf '#!/bin/sh\necho gone >&2; exit 1\n' > "$3/bin/python"; chmod +x "$3/bin/python""#,
                "pip install failed (exit status: 1):\n  gone",
            ),
        ] {
            python(script);
            let why = install(&paths, "pip:x", &Around { env: &env, stopped: &|| false }).unwrap_err();
            assert!(why.contains(words), "{why}");
            assert!(!paths.plugin_venvs().join("x").exists() && !paths.plugins().exists());
        }
        python("sleep 600");
        let why = install(&paths, "pip:x", &Around { env: &env, stopped: &|| true }).unwrap_err();
        assert!(why.starts_with("python3 -m venv was stopped"), "{why}");
        let nothing = [("PATH".to_owned(), root.path().display().to_string())].into();
        let why = install(&paths, "pip:x", &Around { env: &nothing, stopped: &|| false }).unwrap_err();
        assert!(why.contains("could not be run") && why.contains(NEEDS), "{why}");
    }
}

//! Plugins from elsewhere: a folder is copied, a Python package gets an environment of its own. Nothing is enabled by it.

use super::manifest::{self, FILE, is_name};
use crate::config::Paths;
use crate::config::paths::{ensure_dir, write_atomic};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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

/// Installs `pip:REQUIREMENT` or a folder. Runs the package's own installation, so only on a person's word.
///
/// # Errors
/// What failed, in words, with the last lines of what it printed.
pub fn install(paths: &Paths, source: &str) -> Result<Vec<Installed>, String> {
    match source.strip_prefix("pip:") {
        Some(requirement) => package(paths, requirement.trim()),
        None => folder(paths, Path::new(source)).map(|installed| vec![installed]),
    }
}

fn folder(paths: &Paths, source: &Path) -> Result<Installed, String> {
    let source = std::fs::canonicalize(source)
        .map_err(|error| format!("{}: {error}; name a folder, or pip:PACKAGE", source.display()))?;
    let read = manifest::read(&source).map_err(|error| error.to_string())?;
    manifest::start(&source, &read).map_err(|error| error.to_string())?;
    let dir = fresh(paths, &read.name)?;
    copy(&source, &dir).map_err(|error| format!("{} could not be copied: {error}", source.display()))?;
    Ok(Installed { name: read.name, dir })
}

fn fresh(paths: &Paths, name: &str) -> Result<PathBuf, String> {
    let dir = paths.plugins().join(name);
    if dir.exists() {
        return Err(format!("{} is there already; hermes plugins uninstall {name} removes it", dir.display()));
    }
    Ok(dir)
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if entry.file_name() == ".git" {
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

fn package(paths: &Paths, requirement: &str) -> Result<Vec<Installed>, String> {
    if requirement.is_empty() || requirement.starts_with('-') {
        return Err("name a package: pip:NAME".into());
    }
    let label: String = requirement
        .rsplit('/')
        .next()
        .unwrap_or(requirement)
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        .collect();
    let venv = paths.plugin_venvs().join(&label);
    if venv.exists() {
        return Err(format!("{} is there already; uninstall its plugins first", venv.display()));
    }
    ensure_dir(&paths.plugin_venvs()).map_err(|error| error.to_string())?;
    let done = packaged(paths, requirement, &venv);
    if done.is_err() {
        // Half an environment helps nobody.
        let _ = std::fs::remove_dir_all(&venv);
    }
    done
}

fn packaged(paths: &Paths, requirement: &str, venv: &Path) -> Result<Vec<Installed>, String> {
    let python = venv.join("bin/python");
    run(Command::new("python3").arg("-m").arg("venv").arg(venv), "python3 -m venv")?;
    run(
        Command::new(&python).args(["-m", "pip", "install", "--disable-pip-version-check", "--no-input", requirement]),
        "pip install",
    )?;
    let listed = run(Command::new(&python).arg("-c").arg(LIST), "listing its entry points")?;
    let points: Vec<serde_json::Value> = serde_json::from_str(listed.trim()).unwrap_or_default();
    if points.is_empty() {
        return Err(format!("{requirement} has no entry point in the group hermes_agent.plugins: it is no plugin"));
    }
    let mut installed = Vec::new();
    for point in &points {
        let word = |key: &str| point.get(key).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
        let name = word("name");
        if !is_name(&name) {
            return Err(format!("the entry point {name:?} of {requirement} is no name for a plugin"));
        }
        let dir = fresh(paths, &name)?;
        // JSON is YAML.
        let manifest = serde_json::json!({
            "name": name, "version": word("version"), "description": word("description"), "author": word("author"),
            "source": format!("pip:{requirement}"), "python": python, "entry_point": name,
        });
        let text = serde_json::to_string_pretty(&manifest).unwrap_or_default();
        write_atomic(&dir.join(FILE), &format!("{text}\n")).map_err(|error| error.to_string())?;
        installed.push(Installed { name, dir });
    }
    Ok(installed)
}

fn run(command: &mut Command, what: &str) -> Result<String, String> {
    let output =
        command.stdin(Stdio::null()).output().map_err(|error| format!("{what} could not be started: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        return Ok(text(&output.stdout));
    }
    let all = text(&output.stdout) + &text(&output.stderr);
    let lines: Vec<&str> = all.lines().collect();
    let last = lines[lines.len().saturating_sub(12)..].join("\n  ");
    Err(format!("{what} failed ({}):\n  {last}", output.status))
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
        Some(python.parent()?.parent()?.to_path_buf()).filter(|venv| venv.starts_with(paths.plugin_venvs()))
    };
    let own = venv(&dir);
    std::fs::remove_dir_all(&dir).map_err(|error| format!("{} cannot be removed: {error}", dir.display()))?;
    if let Some(own) = own {
        let others = std::fs::read_dir(paths.plugins()).into_iter().flatten().filter_map(Result::ok);
        if !others.map(|entry| entry.path()).any(|other| venv(&other).as_ref() == Some(&own)) {
            std::fs::remove_dir_all(&own).map_err(|error| format!("{} cannot be removed: {error}", own.display()))?;
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
        let installed = install(&paths, &source.to_string_lossy()).unwrap();
        assert!(installed[0].dir.join("run.sh").is_file());
        assert!(install(&paths, &source.to_string_lossy()).unwrap_err().contains("is there already"));
        uninstall(&paths, "demo").unwrap();
        assert!(!installed[0].dir.exists() && source.exists());
        assert!(uninstall(&paths, "demo").is_err() && uninstall(&paths, "../demo").is_err());
        assert!(install(&paths, "/nowhere").unwrap_err().contains("pip:PACKAGE"));
        assert!(install(&paths, "pip:").is_err());
    }
}

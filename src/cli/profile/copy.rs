//! What a new profile takes over from another one.

use crate::fs::ensure_dir;
use anyhow::{Context as _, Result, ensure};
use std::path::{Path, PathBuf};

/// What makes a home behave as it does, and who is spoken to.
const SETTINGS: &[&str] = &[
    "config.yaml",
    "permissions.yaml",
    "keymap.yaml",
    ".env",
    "SOUL.md",
    "memories/MEMORY.md",
    "memories/USER.md",
    "skills",
    "skins",
    "themes",
];

/// What belongs to one home alone, its own records and what can be made again. Databases are left out by their name.
const OWN: &[&str] = &[
    super::profiles::ACTIVE,
    super::profiles::FOLDER,
    super::remove::MARK,
    "backups",
    "bin",
    "cache",
    "checkpoints",
    "exports",
    "gateway.pid",
    "gateway_state.json",
    "history",
    "journal",
    "logs",
    "node_modules",
    "processes.json",
    "recordings",
    "run",
    "sessions",
    "state-snapshots",
];

/// What is not taken over, and told, because a person may miss it.
pub(super) const TOLD: &[(&str, &str)] = &[
    // Renewal tokens are good once: of two homes with the same login, one loses it.
    ("auth.json", "keys and logins: sign in again with `hermes login`"),
    ("mcp-tokens", "logins of MCP servers"),
    ("models", "models of this computer: get them again with `hermes models get`"),
    ("engines", "what serves them: it comes with the first model"),
];

/// Folders in folders that are followed.
const DEEPEST: usize = 64;

/// Settings, keys, skills and memory; returns what was left out.
pub(super) fn settings(from: &Path, to: &Path) -> Result<Vec<String>> {
    let mut left = Vec::new();
    for name in SETTINGS {
        let (source, target) = (from.join(name), to.join(name));
        // A settings file may be a link into a folder of dotfiles: the copy is a file.
        let Ok(about) = std::fs::metadata(&source) else { continue };
        if let Some(parent) = target.parent() {
            ensure_dir(parent)?;
        }
        if about.is_dir() {
            folder(&source, &target, 0, &|_| true, &mut left)?;
        } else {
            file(&source, &target)?;
        }
    }
    Ok(left)
}

/// Everything that is neither [`OWN`] nor [`TOLD`]; returns what was left out.
pub(super) fn everything(from: &Path, to: &Path) -> Result<Vec<String>> {
    let mut left = Vec::new();
    let is_told = |name: &str| TOLD.iter().any(|(told, _)| *told == name);
    let taken = |name: &str| !OWN.contains(&name) && !is_told(name) && !name.contains(".db");
    if from.is_dir() {
        folder(from, to, 0, &taken, &mut left)?;
    }
    let told = TOLD.iter().filter(|(name, _)| from.join(name).symlink_metadata().is_ok());
    left.extend(told.map(|(name, what)| format!("{name} ({what})")));
    Ok(left)
}

fn folder(from: &Path, to: &Path, depth: usize, taken: &dyn Fn(&str) -> bool, left: &mut Vec<String>) -> Result<()> {
    ensure!(depth < DEEPEST, "{} is nested too deep to be copied", from.display());
    ensure_dir(to)?;
    for entry in std::fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry.with_context(|| from.display().to_string())?;
        let name = entry.file_name();
        if !taken(&name.to_string_lossy()) {
            continue;
        }
        let (source, target) = (entry.path(), to.join(&name));
        let kind = entry.file_type().with_context(|| source.display().to_string())?;
        if kind.is_symlink() {
            link(&source, &target)?;
        } else if kind.is_dir() {
            folder(&source, &target, depth + 1, &|_| true, left)?;
        } else if kind.is_file() {
            file(&source, &target)?;
        } else {
            left.push(format!("{} (not a file)", source.display()));
        }
    }
    Ok(())
}

fn file(from: &Path, to: &Path) -> Result<()> {
    std::fs::copy(from, to).map(drop).with_context(|| format!("could not copy {}", from.display()))
}

/// A link to the same place; one that stays within its folder goes on doing so.
fn link(from: &Path, to: &Path) -> Result<()> {
    let place = std::fs::read_link(from).with_context(|| from.display().to_string())?;
    let near = place.is_relative() && place.components().count() == 1;
    let place: PathBuf = if near { place } else { from.parent().map(|dir| dir.join(&place)).unwrap_or(place) };
    std::os::unix::fs::symlink(&place, to).with_context(|| to.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// Paths below a folder, in order.
    fn below(dir: &Path) -> Vec<String> {
        let mut found = Vec::new();
        let mut open = vec![dir.to_owned()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() && !path.is_symlink() {
                    open.push(path);
                } else {
                    found.push(path.strip_prefix(dir).unwrap().display().to_string());
                }
            }
        }
        found.sort_unstable();
        found
    }

    #[test]
    fn a_copy_has_settings_or_all_but_records() {
        let dir = tempfile::tempdir().unwrap();
        let from = dir.path().join("from");
        for name in [
            "config.yaml",
            ".env",
            "SOUL.md",
            "auth.json",
            "mcp-tokens/x.json",
            "models/m.gguf",
            "engines/e/bin",
            "memories/MEMORY.md",
            "memories/notes.md",
            "skills/a/SKILL.md",
            "plugins/p/run",
            "state.db",
            "state.db-wal",
            "sessions/x.json",
            "history/aa",
            "run/1.tabs",
            "cache/spill/x",
            "profiles/other/config.yaml",
            "active_profile",
            "processes.json",
            ".hermes-made",
        ] {
            let path = from.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, name).unwrap();
        }
        fs::set_permissions(from.join(".env"), fs::Permissions::from_mode(0o600)).unwrap();
        symlink("SKILL.md", from.join("skills/a/near")).unwrap();
        symlink("../../SOUL.md", from.join("skills/a/far")).unwrap();
        let (some, all) = (dir.path().join("some"), dir.path().join("all"));
        assert_eq!(settings(&from, &some).unwrap(), [""; 0]);
        let settings = [
            ".env",
            "SOUL.md",
            "config.yaml",
            "memories/MEMORY.md",
            "skills/a/SKILL.md",
            "skills/a/far",
            "skills/a/near",
        ];
        assert_eq!(below(&some), settings);
        assert_eq!(fs::metadata(some.join(".env")).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_link(some.join("skills/a/near")).unwrap(), Path::new("SKILL.md"));
        assert_eq!(fs::read_to_string(some.join("skills/a/far")).unwrap(), "SOUL.md");
        let left = everything(&from, &all).unwrap();
        let names: Vec<_> = left.iter().filter_map(|left| left.split(' ').next()).collect();
        assert_eq!(names, ["auth.json", "mcp-tokens", "models", "engines"]);
        let mut wanted = settings.to_vec();
        wanted.extend(["memories/notes.md", "plugins/p/run"]);
        wanted.sort_unstable();
        assert_eq!(below(&all), wanted);
        assert!(everything(&dir.path().join("nothing"), &all).unwrap().is_empty());
    }
}

//! A profile as one file: what it is made of, without what lets others in.

use super::copy::TOLD;
use super::{sessions, tell_left};
use crate::config::schema::{self, Found, Kind};
use crate::config::{ConfigError, Paths, edit};
use crate::yaml::{self, Node};
use anyhow::{Context as _, Result, bail, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// What a profile is made of, at the top of its home. Nothing else goes out or comes in: no trust, no records of this machine.
pub(super) const PARTS: &[&str] = &[
    "config.yaml",
    "permissions.yaml",
    "keymap.yaml",
    "SOUL.md",
    "memories",
    "skills",
    "skins",
    "themes",
    "plugins",
    "cron",
    "scripts",
];
/// Keys and logins, wherever they lie.
const CREDENTIALS: &[&str] = &[".env", "auth.json", "mcp-tokens"];
/// Bounds of a profile as a file, out and in: far above any that was made by hand.
pub(super) const MOST_ENTRIES: usize = 50_000;
pub(super) const MOST_BYTES: u64 = 1 << 30;
pub(super) const DEEPEST: usize = 32;
const LARGEST: u64 = 64 << 20;

/// Whether a name is that of keys or logins.
pub(super) fn is_credential(name: &str) -> bool {
    CREDENTIALS.contains(&name)
}

/// Writes the profile to a file that is not there yet.
pub(super) async fn export(paths: &Paths, name: &str, file: &Path, out: &mut dyn Write) -> Result<()> {
    ensure!(file.symlink_metadata().is_err(), "{} exists already: name another file with -o", file.display());
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let new = tempfile::NamedTempFile::new_in(folder);
    let mut new = new.with_context(|| format!("could not create a file in {}", folder.display()))?;
    let mut pack = Pack::new(name, new.as_file_mut());
    pack.folder(Path::new(name))?;
    for part in PARTS {
        pack.part(&paths.home.join(part), &Path::new(name).join(part), 0)?;
    }
    for credential in CREDENTIALS.iter().filter(|name| paths.home.join(name).exists()) {
        pack.left.push(format!("{credential} (keys and logins)"));
    }
    let others = TOLD.iter().filter(|(name, _)| !is_credential(name) && paths.home.join(name).exists());
    pack.left.extend(others.map(|(name, what)| format!("{name} ({what})")));
    let count = sessions::export(paths, &mut pack).await?;
    let left = pack.finish()?;
    new.persist_noclobber(file).with_context(|| format!("could not write {}", file.display()))?;
    writeln!(out, "wrote {name} with {count} sessions to {}", file.display())?;
    tell_left(&left, out)
}

/// An archive that is being written.
pub(super) struct Pack<W: Write> {
    name: PathBuf,
    tar: tar::Builder<GzEncoder<W>>,
    entries: usize,
    bytes: u64,
    left: Vec<String>,
}

impl<W: Write> Pack<W> {
    fn new(name: &str, to: W) -> Self {
        let tar = tar::Builder::new(GzEncoder::new(to, Compression::default()));
        Self { name: name.into(), tar, entries: 0, bytes: 0, left: Vec::new() }
    }

    /// Adds a text of ours below the profile's folder.
    pub(super) fn text(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.name.join(name);
        self.add(&path, tar::EntryType::Regular, 0o600, bytes)
    }

    fn folder(&mut self, path: &Path) -> Result<()> {
        self.add(path, tar::EntryType::Directory, 0o700, &[])
    }

    fn add(&mut self, path: &Path, kind: tar::EntryType, mode: u32, bytes: &[u8]) -> Result<()> {
        self.entries += 1;
        self.bytes += bytes.len() as u64;
        let fits = self.entries <= MOST_ENTRIES && self.bytes <= MOST_BYTES;
        ensure!(fits, "this profile is too large: at most {MOST_ENTRIES} files and {} MiB", MOST_BYTES >> 20);
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_size(bytes.len() as u64);
        Ok(self.tar.append_data(&mut header, path, bytes)?)
    }

    /// A file or folder with all that is in it, where there is one.
    fn part(&mut self, from: &Path, path: &Path, depth: usize) -> Result<()> {
        let Ok(about) = from.symlink_metadata() else { return Ok(()) };
        let name = from.file_name().unwrap_or_default().to_string_lossy();
        // A settings file may be a link into a folder of dotfiles.
        let led = std::fs::metadata(from).ok().filter(|led| led.is_file() && about.is_symlink() && depth == 0);
        let about = led.unwrap_or(about);
        let shown = path.strip_prefix(&self.name).unwrap_or(path).display().to_string();
        if is_credential(&name) {
            self.left.push(format!("{shown} (keys and logins)"));
        } else if about.is_dir() {
            ensure!(depth < DEEPEST, "{} is nested too deep", from.display());
            self.folder(path)?;
            let entries = std::fs::read_dir(from).with_context(|| from.display().to_string())?;
            let mut names = entries.map(|entry| Ok(entry?.file_name())).collect::<std::io::Result<Vec<_>>>()?;
            names.sort_unstable();
            for name in names {
                self.part(&from.join(&name), &path.join(&name), depth + 1)?;
            }
        } else if !about.is_file() {
            self.left.push(format!("{shown} (a link or no file)"));
        } else if about.len() > LARGEST {
            self.left.push(format!("{shown} (larger than {} MiB)", LARGEST >> 20));
        } else {
            let bytes = if depth == 0 && name == "config.yaml" {
                let (text, taken) = without_secrets(from)?;
                self.left.extend(taken.into_iter().map(|key| format!("{key} of config.yaml (a key)")));
                text.into_bytes()
            } else {
                std::fs::read(from).with_context(|| from.display().to_string())?
            };
            let mode = if about.permissions().mode() & 0o100 == 0 { 0o600 } else { 0o700 };
            self.add(path, tar::EntryType::Regular, mode, &bytes)?;
        }
        Ok(())
    }

    fn finish(self) -> Result<Vec<String>> {
        self.tar.into_inner()?.finish()?.flush()?;
        Ok(self.left)
    }
}

/// A configuration without the keys that stand in it, and where they stood. References such as `${NAME}` stay.
fn without_secrets(file: &Path) -> Result<(String, Vec<String>)> {
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let root = yaml::parse(&text, &file.to_string_lossy())?;
    let mut keys = Vec::new();
    secrets(&root, "", &mut keys);
    if keys.is_empty() {
        return Ok((text, keys));
    }
    let copy = tempfile::NamedTempFile::new()?;
    std::fs::write(copy.path(), &text)?;
    for key in &keys {
        match edit::remove(copy.path(), key) {
            Ok(()) => {}
            Err(ConfigError::Write(error)) => return Err(error.into()),
            Err(_) => bail!("{} holds a key at {key}: move it to .env first, and name it as ${{NAME}}", file.display()),
        }
    }
    let text = std::fs::read_to_string(copy.path())?;
    // What can't be shown to be without them does not go out.
    let mut rest = Vec::new();
    secrets(&yaml::parse(&text, &file.to_string_lossy())?, "", &mut rest);
    ensure!(rest.is_empty(), "{} holds keys that can't be taken out: move them to .env first", file.display());
    Ok((text, keys))
}

fn secrets(node: &Node, path: &str, found: &mut Vec<String>) {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    let is_literal = |node: &Node| node.scalar().is_some_and(|text| !text.trim().is_empty() && !text.contains("${"));
    match schema::find(path) {
        Found::Leaf(spec) if spec.kind == Kind::Secret => found.extend(is_literal(node).then(|| path.to_owned())),
        Found::Leaf(spec) if spec.kind == Kind::SecretMap => {
            let literal = node.entries().iter().filter(|(_, value)| is_literal(value));
            found.extend(literal.map(|(name, _)| below(&name.text)));
        }
        _ => {
            node.entries().iter().for_each(|(name, value)| secrets(value, &below(&name.text), found));
            node.items().iter().enumerate().for_each(|(at, value)| secrets(value, &below(&at.to_string()), found));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without(text: &str) -> Result<(String, Vec<String>)> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.yaml");
        std::fs::write(&file, text).unwrap();
        without_secrets(&file)
    }

    #[test]
    fn keys_of_a_configuration_stay_at_home() {
        let text = "# mine\nmodel:\n  default: m # why\n  api_key: sk-1\nproviders:\n  lab:\n    base_url: http://x/v1\n    api_key: sk-2\n  other:\n    api_key: ${OTHER}\nmcp_servers:\n  a:\n    command: x\n    env:\n      TOKEN: t-3\n      SAFE: ${SAFE}\n";
        let (text, taken) = without(text).unwrap();
        assert_eq!(taken, ["model.api_key", "providers.lab.api_key", "mcp_servers.a.env.TOKEN"]);
        assert!(!["sk-1", "sk-2", "t-3"].iter().any(|key| text.contains(key)), "{text}");
        assert!(
            ["# mine", "# why", "${OTHER}", "${SAFE}", "http://x/v1"].iter().all(|kept| text.contains(kept)),
            "{text}"
        );
        let plain = "model: {default: m, api_key: \"${X}\"}\n";
        assert_eq!(without(plain).unwrap(), (plain.to_owned(), Vec::new()));
        // Where one can't be taken out alone nothing goes out.
        let error = without("fallback_providers:\n  - {provider: a, api_key: sk-4}\n").unwrap_err().to_string();
        assert!(error.contains("move it to .env") && !error.contains("sk-4"), "{error}");
    }
}

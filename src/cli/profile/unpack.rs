//! A profile from a file that anybody may have made: nothing leaves its folder, links and keys stay out, all has bounds, and
//! what is not whole leaves nothing behind.

use super::archive::{DEEPEST, MOST_BYTES, MOST_ENTRIES, PARTS, is_credential};
use super::{New, free, sessions, tell_left};
use crate::config::profiles::{self, DEFAULT, Profiles};
use crate::config::{Paths, Sources, load};
use crate::fs::ensure_dir;
use anyhow::{Context as _, Result, bail, ensure};
use flate2::read::GzDecoder;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Component, Path};
use tar::EntryType;

/// Bytes of a path, and of what goes before an entry whose path is long.
const LONGEST: u64 = 4096;
/// Names of parts that are left out, as many as are told.
const TOLD: usize = 20;

/// Creates a profile from an archive.
pub(super) async fn import(all: &Profiles, file: &Path, name: Option<&str>, out: &mut dyn Write) -> Result<()> {
    let inner = checked(file)?;
    let name = name.unwrap_or(&inner);
    ensure!(name != DEFAULT, "{} holds the default profile: give it a name with --name", file.display());
    free(all, name)?;
    let (new, apart) = (New::begin(all)?, New::begin(all)?);
    let mut left = unpack(file, new.path(), apart.path())?;
    let (count, more) = sessions::import(apart.path(), new.path()).await?;
    left.extend(more);
    let home = new.finish(all, name)?;
    writeln!(out, "created {name} in {} with {count} sessions", home.display())?;
    left.dedup();
    let more = left.len().saturating_sub(TOLD);
    left.truncate(TOLD);
    if more > 0 {
        left.push(format!("{more} more"));
    }
    tell_left(&left, out)?;
    let brings = brings(&all.paths(name));
    if !brings.is_empty() {
        writeln!(out, "it brings {}: read {} before you use it", brings.join(", "), home.display())?;
    }
    writeln!(out, "use it once: hermes --profile {name}")?;
    Ok(())
}

fn reader(file: &Path) -> Result<tar::Archive<impl Read>> {
    let opened = File::open(file).with_context(|| format!("could not open {}", file.display()))?;
    // Blocks around the entries count as well.
    let most = MOST_BYTES + MOST_ENTRIES as u64 * 4 * 512;
    Ok(tar::Archive::new(GzDecoder::new(opened).take(most)))
}

fn damaged(file: &Path, error: &io::Error) -> anyhow::Error {
    anyhow::anyhow!("{} is no whole .tar.gz: {error}", file.display())
}

/// Looks at every entry before anything is written; returns the name of the profile in the archive.
fn checked(file: &Path) -> Result<String> {
    // Headers in front of an entry are read into memory as a whole: their size comes first.
    for entry in reader(file)?.entries()?.raw(true) {
        let entry = entry.map_err(|error| damaged(file, &error))?;
        let kind = entry.header().entry_type();
        let ahead = kind.is_gnu_longname() || kind.is_gnu_longlink() || kind.is_pax_local_extensions();
        ensure!(!(ahead || kind.is_pax_global_extensions()) || entry.size() <= LONGEST, "a path in it is too long");
    }
    let (mut names, mut count, mut bytes) = (std::collections::BTreeSet::new(), 0, 0);
    for entry in reader(file)?.entries()? {
        let entry = entry.map_err(|error| damaged(file, &error))?;
        let kind = entry.header().entry_type();
        if kind == EntryType::XGlobalHeader {
            continue;
        }
        count += 1;
        bytes += entry.size();
        ensure!(count <= MOST_ENTRIES, "it holds more than {MOST_ENTRIES} files");
        ensure!(bytes <= MOST_BYTES, "it holds more than {} MiB", MOST_BYTES >> 20);
        let parts = parts(&entry)?;
        match kind {
            EntryType::Regular | EntryType::Continuous | EntryType::Directory => {}
            EntryType::Symlink | EntryType::Link => bail!("it holds a link, {}", parts.join("/")),
            _ => bail!("it holds what is no file, {}", parts.join("/")),
        }
        names.extend(parts.into_iter().next());
    }
    let mut names = names.into_iter();
    match (names.next(), names.next()) {
        (Some(name), None) if name == DEFAULT || profiles::check(&name).is_ok() => Ok(name),
        (Some(name), None) => bail!("{name:?} in it is no name of a profile"),
        (Some(_), Some(_)) => bail!("it holds more than one folder: export one with hermes profile export"),
        (None, _) => bail!("{} holds nothing", file.display()),
    }
}

/// The names that lead to an entry, each a plain one.
fn parts<R: Read>(entry: &tar::Entry<'_, R>) -> Result<Vec<String>> {
    let bytes = entry.path_bytes();
    let text = std::str::from_utf8(&bytes).context("a path in it is not UTF-8")?;
    let shown = text.escape_debug();
    ensure!(text.len() as u64 <= LONGEST && !text.chars().any(char::is_control), "it holds an odd path, {shown}");
    let mut parts = Vec::new();
    for part in Path::new(text).components() {
        match part {
            Component::Normal(name) => parts.push(name.to_string_lossy().into_owned()),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                bail!("it holds a path that leads out of its folder, {shown}")
            }
        }
    }
    ensure!(parts.len() <= DEEPEST, "it holds a path that is too deep, {shown}");
    Ok(parts)
}

/// Writes the parts of a profile to its new home, and sessions to a folder beside it; returns what was left out.
fn unpack(file: &Path, home: &Path, apart: &Path) -> Result<Vec<String>> {
    let mut left = Vec::new();
    let mut room = MOST_BYTES;
    for entry in reader(file)?.entries()? {
        let mut entry = entry.map_err(|error| damaged(file, &error))?;
        let kind = entry.header().entry_type();
        if kind == EntryType::XGlobalHeader {
            continue;
        }
        let parts = parts(&entry)?;
        let Some((first, below)) = parts.get(1..).and_then(<[String]>::split_first) else { continue };
        if let Some(credential) = parts[1..].iter().find(|name| is_credential(name)) {
            left.push(format!("{credential} (keys and logins)"));
            continue;
        }
        let target = match below {
            [name] if first == sessions::FOLDER => apart.join(name),
            _ if PARTS.contains(&first.as_str()) => below.iter().fold(home.join(first), |path, name| path.join(name)),
            [] if first == sessions::FOLDER => continue,
            _ => {
                left.push(format!("{first} (no part of a profile)"));
                continue;
            }
        };
        if kind == EntryType::Directory {
            ensure_dir(&target)?;
            continue;
        }
        if let Some(folder) = target.parent() {
            ensure_dir(folder)?;
        }
        let mode = if entry.header().mode().unwrap_or_default() & 0o100 == 0 { 0o600 } else { 0o700 };
        let made = File::options().write(true).create_new(true).mode(mode).open(&target);
        let mut made = made.with_context(|| format!("could not write {}", parts.join("/")))?;
        let written = io::copy(&mut entry.by_ref().take(room), &mut made);
        room -= written.map_err(|error| damaged(file, &error))?;
    }
    Ok(left)
}

/// What of a profile runs programs, or asks less than it would by default.
fn brings(paths: &Paths) -> Vec<&'static str> {
    let loaded = load(&Sources { cwd: None, ..Sources::of_process(paths.clone()) });
    let config = &loaded.config;
    [
        ("hooks", !config.hooks.is_null()),
        ("MCP servers", !config.mcp_servers.is_empty()),
        ("plugins", paths.plugins().exists()),
        ("permissions", paths.permissions().exists() || !config.command_allowlist.is_empty()),
        ("an approval mode", config.approvals.mode != Default::default()),
        ("skills", paths.skills().exists()),
    ]
    .into_iter()
    .filter_map(|(what, is_there)| is_there.then_some(what))
    .collect()
}

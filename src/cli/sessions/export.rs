//! `sessions export`: one session to standard output or a file, or all that a filter holds for to a folder.

use crate::protocol::SessionId;
use crate::report::sessions::export::{export, gather};
use crate::report::sessions::text::one_line;
use crate::report::sessions::{ExportError, Format};
use crate::store::filter::Filter;
use crate::store::{SessionRow, Shelf, Store, hash, tags_of};
use crate::text::format::{bytes, count, plural};
use anyhow::{Context as _, bail, ensure};
use clap::{Args, ValueEnum as _};
use serde_json::json;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Characters of a title in the name of a file.
const NAME: usize = 48;
/// Characters of an id there; longer ones end in a hash.
const ID: usize = 80;
/// How often a long export says how far it is.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// What to export, and where to.
#[derive(Args, Clone, Debug)]
pub struct ExportArgs {
    /// The session; with --all words that narrow a search: in:FOLDER since:7d before:2026-11-01 tag:TAG model:M
    #[arg(required_unless_present = "all", value_name = "ID|FILTER")]
    id: Vec<String>,
    /// All sessions but those in the trash, a file each
    #[arg(long)]
    all: bool,
    #[arg(short, long, value_enum, default_value_t)]
    format: Format,
    /// A file, or with --all a folder (exports/ in the home folder); `-`: standard output
    #[arg(short, long, value_name = "PATH")]
    out: Option<PathBuf>,
    /// Write over files that exist
    #[arg(long)]
    force: bool,
    /// Leave secrets as they are stored
    #[arg(long)]
    no_redact: bool,
    /// With `--format asciicast`: only this terminal, counted from 1
    #[arg(long, value_name = "N", conflicts_with = "all")]
    terminal: Option<usize>,
    /// With --all: only sessions with this tag
    #[arg(long, requires = "all")]
    tag: Option<String>,
    /// With --all: only those that are archived
    #[arg(long, requires = "all")]
    archived: bool,
}

/// Exports. Exits 0, or 1 when something was not exported.
pub(super) async fn run(
    store: &Store,
    wanted: &ExportArgs,
    here: Option<&str>,
    json: bool,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<i32> {
    if wanted.all {
        return all(store, wanted, here, json, out, err).await;
    }
    let session = store.resolve(&wanted.id.join(" ")).await?;
    let from = gather(store, &session, wanted.format, wanted.terminal, !wanted.no_redact).await?;
    match wanted.out.as_deref().filter(|path| *path != Path::new("-")) {
        None => export(&from, wanted.format, out, err)?,
        Some(path) => {
            let (path, folder) = (path.to_owned(), path.parent().unwrap_or(Path::new("")).to_owned());
            let size = write(&path, &folder, wanted.force, |file| export(&from, wanted.format, file, err))?;
            writeln!(err, "written to {} ({})", path.display(), bytes(size))?;
        }
    }
    Ok(0)
}

/// What became of all.
#[derive(Default)]
struct Outcome {
    /// Session and file.
    done: Vec<(String, PathBuf)>,
    bytes: u64,
    /// Session and why not.
    failed: Vec<(String, String)>,
    /// Sessions of which no terminal was recorded.
    without: u64,
}

async fn all(
    store: &Store,
    wanted: &ExportArgs,
    here: Option<&str>,
    json: bool,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<i32> {
    let rows = meant(store, wanted, here).await?;
    let together = wanted.out.as_deref() == Some(Path::new("-"));
    ensure!(
        !together || wanted.format == Format::Jsonl,
        "only jsonl goes to standard output as one: name a folder with --out, or add --format jsonl"
    );
    let folder = match &wanted.out {
        Some(folder) => folder.clone(),
        None => crate::cli::setup::paths()?.exports(),
    };
    let (mut told, mut outcome) = (Instant::now(), Outcome::default());
    for (at, row) in rows.iter().enumerate() {
        let session = SessionId(row.id.clone());
        match gather(store, &session, wanted.format, None, !wanted.no_redact).await {
            Err(ExportError::NoRecording(_)) => outcome.without += 1,
            Err(error) => outcome.failed.push((row.id.clone(), error.to_string())),
            Ok(from) if together => export(&from, wanted.format, out, err)?,
            Ok(from) => {
                let path = folder.join(file_name(row, wanted.format));
                match write(&path, &folder, wanted.force, |file| export(&from, wanted.format, file, err)) {
                    Ok(size) => {
                        outcome.bytes += size;
                        outcome.done.push((row.id.clone(), path));
                    }
                    Err(error) => outcome.failed.push((row.id.clone(), format!("{error:#}"))),
                }
            }
        }
        if told.elapsed() > TELL_EVERY {
            told = Instant::now();
            writeln!(err, "{} of {}…", count(at as u64 + 1), plural(rows.len() as u64, "session", "sessions"))?;
        }
    }
    tell(&outcome, &folder, together, json, out, err)?;
    Ok(i32::from(!outcome.failed.is_empty()))
}

fn tell(
    outcome: &Outcome,
    folder: &Path,
    together: bool,
    json: bool,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<()> {
    for (id, why) in &outcome.failed {
        writeln!(err, "hermes: {id} was not exported: {why}")?;
    }
    if outcome.without > 0 {
        writeln!(err, "no terminal was recorded in {}", plural(outcome.without, "session", "sessions"))?;
    }
    if together {
        return Ok(());
    }
    if json {
        let done: Vec<_> = outcome.done.iter().map(|(id, file)| json!({"id": id, "file": file})).collect();
        let failed: Vec<_> = outcome.failed.iter().map(|(id, why)| json!({"id": id, "why": why})).collect();
        let value = json!({
            "version": 1, "folder": folder, "bytes": outcome.bytes, "exported": done, "failed": failed,
            "without_recording": outcome.without,
        });
        return Ok(writeln!(out, "{value}")?);
    }
    let sessions = plural(outcome.done.len() as u64, "session", "sessions");
    Ok(writeln!(out, "exported {sessions} to {} ({})", folder.display(), bytes(outcome.bytes))?)
}

/// The sessions that the filter holds for, newest first.
async fn meant(store: &Store, wanted: &ExportArgs, here: Option<&str>) -> anyhow::Result<Vec<SessionRow>> {
    let (rest, mut filter) = Filter::read(&wanted.id.join(" "), here);
    if !rest.is_empty() {
        bail!("`{}` is no filter: use in:FOLDER, since:7d, before:DAY, tag:TAG, model:M, on:tui", one_line(&rest, 60));
    }
    filter.tags.extend(wanted.tag.iter().flat_map(|tag| tags_of(tag)));
    if wanted.archived {
        filter.shelf = Shelf::Archived;
    }
    let archive = (filter.shelf == Shelf::Shown).then(|| Filter { shelf: Shelf::Archived, ..filter.clone() });
    let mut rows = store.fitting(filter, usize::MAX).await?;
    if let Some(archive) = archive {
        rows.extend(store.fitting(archive, usize::MAX).await?);
    }
    Ok(rows)
}

/// A name that is safe in a shell and on every file system, and no other session's: the id stands in it.
fn file_name(row: &SessionRow, format: Format) -> String {
    let name = row.title.as_deref().unwrap_or(&row.preview);
    let mut title = String::new();
    for c in name.chars() {
        if c.is_alphanumeric() {
            title.push(c);
        } else if !title.is_empty() && !title.ends_with('-') {
            title.push('-');
        }
        if title.chars().count() == NAME {
            break;
        }
    }
    let plain = |c: char| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '-' };
    let mut id: String = row.id.chars().map(plain).take(ID).collect();
    if id != row.id {
        id = format!("{id}-{}", &hash(row.id.as_bytes())[..12]);
    }
    let title = title.trim_end_matches('-');
    let ending = match format {
        Format::Asciicast => "cast".to_owned(),
        Format::Sharegpt => "sharegpt.json".to_owned(),
        _ => format.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned()),
    };
    let parts: Vec<&str> = [title, &id].into_iter().filter(|part| !part.is_empty()).collect();
    format!("{}.{ending}", parts.join("."))
}

/// Writes a file that is there as a whole or not at all, readable by its owner; returns its bytes.
fn write(
    path: &Path,
    folder: &Path,
    force: bool,
    fill: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> anyhow::Result<u64> {
    let there = || format!("{} already exists: --force writes over it", path.display());
    if !force && path.symlink_metadata().is_ok() {
        bail!(there());
    }
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    crate::fs::ensure_dir(folder)?;
    let whole = || format!("could not write {}", path.display());
    let mut file = tempfile::NamedTempFile::new_in(folder).with_context(whole)?;
    let mut buffer = std::io::BufWriter::new(file.as_file_mut());
    fill(&mut buffer).and_then(|()| buffer.flush()).with_context(whole)?;
    drop(buffer);
    file.as_file().sync_data().with_context(whole)?;
    let size = file.as_file().metadata().with_context(whole)?.len();
    let kept = if force { file.persist(path) } else { file.persist_noclobber(path) };
    kept.map(|_| size).map_err(|error| match error.error.kind() {
        ErrorKind::AlreadyExists => anyhow::anyhow!(there()),
        _ => anyhow::Error::from(error.error).context(whole()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_safe_and_unique() {
        let row = |id: &str, title: &str| SessionRow { id: id.into(), title: Some(title.into()), ..Default::default() };
        let name = |id: &str, title: &str| file_name(&row(id, title), Format::Md);
        for (id, title, expected) in [
            ("20260101_101010_abcdef", "Fix: the /etc race…", "Fix-the-etc-race.20260101_101010_abcdef.md"),
            ("20260101_101010_abcdef", "../..", "20260101_101010_abcdef.md"),
            ("s1", "-rf *", "rf.s1.md"),
            ("s1", "修复 竞争", "修复-竞争.s1.md"),
        ] {
            assert_eq!(name(id, title), expected);
        }
        let (one, two) = (name("a/b", "t"), name("a:b", "t"));
        assert!(one != two && one.starts_with("t.a-b-") && !one.contains('/'), "{one} {two}");
        assert!(name(&"x".repeat(4000), &"y".repeat(4000)).len() < 200);
        assert_eq!(file_name(&row("s1", "t"), Format::Asciicast), "t.s1.cast");
    }

    #[test]
    fn a_file_is_whole_or_not_there_and_none_is_written_over_unasked() {
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().join("new");
        let path = to.join("a.md");
        let put = |force, text: &str| write(&path, &to, force, |file| file.write_all(text.as_bytes()));
        assert_eq!(put(false, "one").unwrap(), 3);
        assert!(put(false, "two").unwrap_err().to_string().contains("--force"));
        assert_eq!(put(true, "three").unwrap(), 5);
        let broken = |file: &mut dyn Write| {
            file.write_all(b"half")?;
            Err(std::io::Error::other("the disk is full"))
        };
        assert!(write(&path, &to, true, broken).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "three");
        assert_eq!(std::fs::read_dir(&to).unwrap().count(), 1, "nothing half-written is left");
    }
}

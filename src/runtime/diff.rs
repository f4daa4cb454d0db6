//! What changed in a folder since the last commit, as `/diff` shows it: what git tells, files that git takes for binary or
//! whose encoding it does not know, read as the file tools read them, and new files.

use crate::exec::{Repo, RepoError};
use crate::protocol::FileDiff;
use crate::text::format;
use crate::text::width::width;
use crate::tools::file::diff::file_diff;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Instant;

/// Characters of the whole.
const MAX_CHARS: usize = 400_000;
/// Bytes of a file that git cannot compare. What git knows of it is cut there, too.
const COMPARED: u64 = 1024 * 1024 - 1;
/// New files that are shown, and bytes of each.
const NEW: usize = 50;
const NEW_BYTES: u64 = 64 * 1024;

/// One file, as the list over the differences and below it.
struct Part {
    path: String,
    /// `+1 −2`, or what else there is to say.
    said: String,
    patch: String,
}

/// The text for a folder. Blocks until `until` at most, but for reading files.
///
/// # Errors
/// It is in no repository, git failed or is late.
pub fn changes(folder: &Path, until: Instant) -> Result<String, RepoError> {
    let repo = Repo::of(folder, until)?;
    let root = repo.root(until)?;
    let mut parts = known(&repo, &root, &repo.diff(until)?, until);
    let names = repo.new_files(&root, until)?;
    let names: Vec<&[u8]> = names.split(|byte| *byte == 0).filter(|name| !name.is_empty()).collect();
    parts.extend(names.iter().take(NEW).map(|name| new(&root, name)));
    if parts.is_empty() {
        return Ok("nothing changed since the last commit".into());
    }
    let column = parts.iter().map(|part| width(&part.path)).max().unwrap_or_default().min(60);
    let mut out = String::new();
    for part in &parts {
        let blanks = column.saturating_sub(width(&part.path)) + 2;
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{}{}{}", part.path, " ".repeat(blanks), part.said);
    }
    if names.len() > NEW {
        let left = (names.len() - NEW) as u64;
        let _ = writeln!(out, "and {}", format::plural(left, "more new file", "more new files"));
    }
    for part in parts.iter().filter(|part| !part.patch.is_empty()) {
        let _ = write!(out, "\n{}", part.patch);
    }
    if let Some((end, _)) = out.char_indices().nth(MAX_CHARS) {
        out.truncate(end);
        out.push_str("\n… the rest is left out");
    }
    Ok(out)
}

/// What git tells: entries, ended by zeros, then their differences in the same order.
fn known(repo: &Repo, root: &Path, diff: &[u8], until: Instant) -> Vec<Part> {
    let mut rest = diff;
    let mut next = || {
        let end = rest.iter().position(|byte| *byte == 0)?;
        let field = &rest[..end];
        rest = &rest[end + 1..];
        Some(field)
    };
    let mut entries = Vec::new();
    while let Some(about) = next().filter(|about| about.starts_with(b":")) {
        let about = String::from_utf8_lossy(about).into_owned();
        let mut about = about.split(' ').skip(2).map(str::to_owned);
        let (id, state) = (about.next().unwrap_or_default(), about.nth(1).unwrap_or_default());
        let Some(first) = next() else { break };
        // A file that was moved has two names.
        let second = if state.starts_with(['R', 'C']) { next() } else { None };
        entries.push(Entry { id, state, from: second.map(|_| first), path: second.unwrap_or(first) });
    }
    let sections = sections(rest);
    // Differences that are not those of the entries, like a path that is not merged, are shown as they are.
    let same = sections.len() == entries.len();
    let mut parts: Vec<Part> = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let section = sections.get(index).copied().filter(|_| same).unwrap_or_default();
        parts.push(entry.part(repo, root, section, until));
    }
    if let Some(first) = parts.first_mut().filter(|_| !same) {
        first.patch = String::from_utf8_lossy(rest).into_owned();
    }
    parts
}

/// The differences of each file. Lines of a file have a sign before them.
fn sections(mut rest: &[u8]) -> Vec<&[u8]> {
    const HEAD: &[u8] = b"\ndiff --git ";
    let mut out = Vec::new();
    while !rest.is_empty() {
        let end = rest.windows(HEAD.len()).position(|window| window == HEAD).map_or(rest.len(), |at| at + 1);
        let (section, after) = rest.split_at(end);
        out.push(section);
        rest = after;
    }
    out
}

/// A file that git knows.
struct Entry<'a> {
    /// The content that was committed; zeros where there is none.
    id: String,
    /// `M`, `A`, `D`, `R100`…
    state: String,
    from: Option<&'a [u8]>,
    path: &'a [u8],
}

impl Entry<'_> {
    fn part(&self, repo: &Repo, root: &Path, section: &[u8], until: Instant) -> Part {
        const BINARY: &[u8] = b"\nBinary files ";
        let mut binary = section.windows(BINARY.len()).any(|window| window == BINARY);
        let mut patch = String::from_utf8_lossy(section).into_owned();
        if binary || std::str::from_utf8(section).is_err() {
            let diff = self.compared(repo, root, until);
            if !diff.unified.is_empty() {
                let whole = |line: &&str| !line.starts_with("Binary files ") && !line.starts_with("--- ");
                let head: String = patch.split_inclusive('\n').take_while(whole).collect();
                patch = head + &diff.unified;
                binary = false;
            }
        }
        let path = String::from_utf8_lossy(self.path).into_owned();
        let (added, removed) = counted(&patch);
        let mut said = match self.state.chars().next() {
            _ if binary => vec!["binary".to_owned()],
            _ if (added, removed) == (0, 0) => Vec::new(),
            _ => vec![format!("+{added} −{removed}")],
        };
        match (self.state.chars().next(), self.from) {
            (Some('A'), _) => said.push("new".into()),
            (Some('D'), _) => said.push("removed".into()),
            (Some('U'), _) => said.push("not merged".into()),
            (_, Some(from)) => said.push(format!("was {}", String::from_utf8_lossy(from))),
            _ if said.is_empty() && patch.contains("\nnew mode ") => said.push("another mode".into()),
            _ => {}
        }
        Part { path, said: said.join(" · "), patch }
    }

    /// Both sides, compared by the file tools. No difference where one is too large.
    fn compared(&self, repo: &Repo, root: &Path, until: Instant) -> FileDiff {
        let shown = String::from_utf8_lossy(self.path);
        let before = if self.id.bytes().all(|digit| digit == b'0') {
            Some(None)
        } else {
            let blob = repo.ask(&["cat-file", "blob", &self.id], until).ok();
            blob.filter(|blob| blob.len() as u64 <= COMPARED).map(Some)
        };
        let after = if self.state.starts_with('D') {
            Some(None)
        } else {
            let file = read(&root.join(OsStr::from_bytes(self.path)), COMPARED + 1);
            file.ok().filter(|(bytes, _)| bytes.len() as u64 <= COMPARED).map(|(bytes, _)| Some(bytes))
        };
        match (before, after) {
            (Some(before), Some(after)) => file_diff(&shown, before.as_deref(), after.as_deref()),
            _ => FileDiff::default(),
        }
    }
}

/// Lines that came and went.
fn counted(patch: &str) -> (usize, usize) {
    let lines = || patch.lines().skip_while(|line| !line.starts_with("@@"));
    let count = |sign| lines().filter(|line| line.starts_with(sign)).count();
    (count('+'), count('-'))
}

/// A file that git does not know, as if all of it were added.
fn new(root: &Path, name: &[u8]) -> Part {
    let path = String::from_utf8_lossy(name).into_owned();
    let plain = |said: String| Part { path: path.clone(), said, patch: String::new() };
    let place = root.join(OsStr::from_bytes(name));
    if name.ends_with(b"/") {
        return plain("new · a nested repository".into());
    }
    if let Ok(target) = std::fs::read_link(&place) {
        return plain(format!("new · link to {}", target.display()));
    }
    let (bytes, size) = match read(&place, NEW_BYTES) {
        Ok(read) => read,
        Err(error) => return plain(format!("new · cannot be read: {error}")),
    };
    if bytes.is_empty() {
        return plain("new · empty".into());
    }
    let diff = file_diff(&path, None, Some(whole_characters(&bytes, size)));
    if diff.unified.is_empty() {
        return plain(format!("new · binary, {}", format::bytes(size)));
    }
    let cut = size > bytes.len() as u64;
    let (of, rest) = if cut {
        (
            format!(" in the first {} of {}", format::bytes(NEW_BYTES), format::bytes(size)),
            "… the rest of this file is left out\n",
        )
    } else {
        (String::new(), "")
    };
    let patch = format!("{}{rest}", diff.unified);
    Part { said: format!("+{}{of} · new", diff.added), patch, path }
}

/// The beginning of a regular file, and its size.
fn read(path: &Path, most: u64) -> std::io::Result<(Vec<u8>, u64)> {
    // A pipe that stands there would wait for somebody.
    let about = std::fs::symlink_metadata(path)?;
    if !about.is_file() {
        return Err(std::io::Error::other("it is no regular file"));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok((bytes, about.len()))
}

/// Without the part of a character that a cut left at the end.
fn whole_characters(bytes: &[u8], size: u64) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if size > bytes.len() as u64 && error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
    }
}

#[cfg(test)]
mod tests;

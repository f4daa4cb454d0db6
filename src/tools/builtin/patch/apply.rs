//! A V4A patch played through in memory: every fault is found before a byte is written.

use super::v4a::{self, FileOp};
use crate::tools::file::edit::{self, After, Change};
use crate::tools::file::masks;
use crate::tools::file::syntax;
use crate::tools::file::text::Text;
use crate::tools::input::paths::{self, Place};
use crate::tools::spec::{ToolCtx, ToolError};
use std::path::{Component, Path, PathBuf};

/// What a whole patch would do.
#[derive(Debug, Default, PartialEq)]
pub struct Played {
    pub changes: Vec<Change>,
    pub warnings: Vec<String>,
}

/// A file as it stands while the patch is played.
struct Staged {
    place: Place,
    before: Option<Vec<u8>>,
    /// How the text is stored; `Err` says why it is not text.
    stored: Result<Text, &'static str>,
    /// `None` when it is not there (any more).
    now: Option<Now>,
    moved_to: Option<Place>,
}

#[derive(PartialEq)]
enum Now {
    Untouched,
    Text(String),
}

/// Plays `patch`. The error lists every fault found.
pub fn play(patch: &str, ctx: &ToolCtx) -> Result<Played, ToolError> {
    let ops = v4a::parse(patch).map_err(|why| ToolError::Args(format!("the patch could not be read: {why}")))?;
    let mut stage = Stage { ctx, files: Vec::new() };
    let mut faults: Vec<String> = ops.iter().filter_map(|op| stage.play(op).err()).collect();
    let (changes, warnings) = stage.finish(&mut faults);
    if faults.is_empty() && changes.is_empty() {
        faults.push("the patch contains no changes (only context lines)".into());
    }
    if faults.is_empty() {
        return Ok(Played { changes, warnings });
    }
    let list: String = faults.iter().map(|fault| format!("\n  • {fault}")).collect();
    Err(ToolError::Failed(format!("patch validation failed (no files were modified):{list}")))
}

struct Stage<'a> {
    ctx: &'a ToolCtx,
    files: Vec<Staged>,
}

impl Stage<'_> {
    fn play(&mut self, op: &FileOp) -> Result<(), String> {
        match op {
            FileOp::Add { path, text } => {
                let file = self.file(path)?;
                file.now = Some(Now::Text(text.clone()));
                Ok(())
            }
            FileOp::Delete { path } => {
                let file = self.file(path)?;
                file.now.take().map(drop).ok_or(format!("{path}: file not found for deletion"))
            }
            FileOp::Move { path, to } => self.rename(path, to),
            FileOp::Update { path, hunks, to } => {
                let ctx = self.ctx;
                let file = self.file(path)?;
                let text = match (&file.now, &file.stored) {
                    (None, _) => return Err(format!("{path}: file not found{}", suggestion(&file.place.path, ctx))),
                    (Some(Now::Text(text)), _) => text.clone(),
                    (Some(Now::Untouched), Ok(stored)) => stored.text.clone(),
                    (Some(Now::Untouched), Err(why)) => return Err(format!("{path}: {why}")),
                };
                let old: Vec<String> = hunks.iter().map(|hunk| hunk.old_lines(true).join("\n")).collect();
                if let Some(hint) = masks::hint(&old.join("\n"), &text, ctx) {
                    return Err(format!("{path}: {hint}"));
                }
                let new = v4a::apply_hunks(&text, hunks).map_err(|why| format!("{path}: {why}"))?;
                if new != text {
                    file.now = Some(Now::Text(new));
                }
                to.as_ref().map_or(Ok(()), |to| self.rename(path, to))
            }
        }
    }

    fn rename(&mut self, path: &str, to: &str) -> Result<(), String> {
        let target = self.place(to)?;
        if self.ctx.disk().about(&target.path).is_ok() || self.files.iter().any(|file| file.is_at(&target.path)) {
            return Err(format!("{to}: the move destination already exists"));
        }
        let file = self.file(path)?;
        if file.now.is_none() || file.before.is_none() {
            return Err(format!("{path}: file not found for moving"));
        }
        file.moved_to = Some(target);
        Ok(())
    }

    fn place(&self, path: &str) -> Result<Place, String> {
        if Path::new(path).components().any(|part| part == Component::ParentDir) {
            return Err(format!("{path}: `..` is not allowed in a patch; write the path without it"));
        }
        paths::place(path, self.ctx).map_err(|error| error.to_string())
    }

    /// The staged file that is (now) at `path`.
    fn file(&mut self, path: &str) -> Result<&mut Staged, String> {
        let place = self.place(path)?;
        let index = match self.files.iter().position(|file| file.is_at(&place.path)) {
            Some(index) => index,
            None => {
                let before = edit::read(&*self.ctx.disk(), &place.path, path).map_err(|error| error.to_string())?;
                let stored = before.as_deref().map_or(Ok(Text::default()), Text::decode);
                let now = before.is_some().then_some(Now::Untouched);
                self.files.push(Staged { place, before, stored, now, moved_to: None });
                self.files.len() - 1
            }
        };
        Ok(&mut self.files[index])
    }

    fn finish(self, faults: &mut Vec<String>) -> (Vec<Change>, Vec<String>) {
        let (mut changes, mut warnings) = (Vec::new(), Vec::new());
        for file in self.files {
            let bytes = match (&file.now, &file.stored) {
                (Some(Now::Text(text)), stored) => {
                    let name = &file.moved_to.as_ref().unwrap_or(&file.place).path;
                    let was_valid = stored.as_ref().is_ok_and(|old| syntax::check(name, &old.text).is_ok());
                    if let (Err(fault), true) = (syntax::check(name, text), was_valid) {
                        faults.push(format!("{}: would no longer parse: {fault}", file.place.shown));
                    }
                    let stored = stored.as_ref().ok().cloned().unwrap_or_default();
                    stored.encode(text).map_err(|why| faults.push(format!("{}: {why}", file.place.shown))).ok()
                }
                _ => None,
            };
            let after = match (file.now, file.moved_to) {
                (None, _) if file.before.is_none() => continue,
                (None, _) => After::Delete,
                (Some(_), Some(to)) => After::Move { to: to.path, shown: to.shown, bytes },
                (Some(_), None) => match bytes {
                    Some(bytes) => After::Write(bytes),
                    None => continue,
                },
            };
            match edit::stale(self.ctx, &file.place.path, &file.place.shown) {
                Ok(warning) => warnings.extend(warning),
                Err(refused) => faults.push(refused.to_string()),
            }
            changes.push(Change { path: file.place.path, shown: file.place.shown, before: file.before, after });
        }
        (changes, warnings)
    }
}

impl Staged {
    fn is_at(&self, path: &PathBuf) -> bool {
        self.now.is_some() && self.moved_to.as_ref().unwrap_or(&self.place).path == *path
            || self.now.is_none() && self.place.path == *path
    }
}

fn suggestion(path: &Path, ctx: &ToolCtx) -> String {
    let similar = paths::similar_files(path, &*ctx.disk());
    if similar.is_empty() { String::new() } else { format!("; did you mean {}?", similar.join(", ")) }
}

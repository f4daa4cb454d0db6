//! The one place that deletes what the program itself made. It deletes nothing that is not in a place where we make such
//! things and marked as ours, follows no link and leaves the file system of our folder for none.
//!
//! Files that a person let a tool delete are another matter: `tools::file::write::remove`.

use super::write_atomic;
use crate::environment::user_home;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, openat, statat, unlinkat};
use rustix::io::Errno;
use rustix::process::getuid;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// The file in a folder that says that we made it: its kind and its name, so that a copy under another name has no mark.
pub const MARK: &str = ".hermes-made";
/// The file that the owner of a [`Tree::Scratch`] keeps locked; it is that folder's mark. It is empty or begins with the
/// number of the owner, as the name of the folder says it.
pub const OWNER: &str = ".owner";
/// Bytes that it has at most.
pub const OWNER_MOST: u64 = 256;
/// What folders that vanish with the program are for: `hermes-KIND-PID-XXXXXX`.
pub const SCRATCH: [&str; 7] = ["shell", "demo", "plugin", "askpass", "ssh", "place", "code"];
/// Bytes of a mark that are read: more than any of ours has.
const MARK_MOST: u64 = 4096;
/// Folders in folders that are followed: each keeps a descriptor open.
const DEEPEST: usize = 128;

/// Files of ours, each with the one place and the names that it can have below the folder that is given with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum File {
    /// `mcp-tokens/NAME.json` of the home: the login of a server.
    Login,
    /// `journal/ID.journal` of the home, or the same with `.new` where it was begun; `journal/ID.jsonl` of older versions, or the same with the number of the process that
    /// takes it in; `journal/open/NUMBERS`: which journals a process writes to.
    Journal,
    /// `backups/NAME.db` of the home: a copy of the database from before a new version changed it.
    Backup,
    /// `history/HASH` of the home, or a part of one: bytes as they were before a tool changed them.
    Kept,
    /// `checkpoints/SESSION/NAME.json` of the home: a named checkpoint.
    Checkpoint,
    /// `cache/trees/NAME.run` of the home: a working folder as it was before a command that ran.
    Tree,
    /// `recordings/SESSION/NAME.rec` of the home: what a terminal showed.
    Recording,
    /// `cache/spill/NAME`, or that in a folder or two there, of the home: output that was too long for memory or a result.
    Spill,
    /// `cache/NAME.asked` of the home: when a provider was asked for its models.
    Asked,
    /// `run/NUMBER.tabs`, `run/NUMBER.lock` or `run/NUMBER.HOST.sock` of the home: what a window that was open kept.
    Window,
    /// `NAME.gguf`, `NAME.gguf.part` or `NAME.gguf.from` in the folder of models: a model that was fetched, a part of one, or
    /// where it came from.
    Model,
    /// `engines/NAME.whl` of the home, a part of one, or where it came from: the archive of an engine.
    Archive,
    /// `run/NAME.model` or `run/NAME.key` of the home: which process serves a model, and the key to it. Of a model that is
    /// gone also `run/NAME.HOST.lock`, `run/NAME.HOST.start` and `logs/model-NAME.log`.
    Served,
    /// `NAME.db-shm` of the home: the index of a log that is no more.
    LogIndex,
    /// `state/NAME`, sixteen hexadecimal digits, in a folder of [`Tree::Scratch`]: what a shell left behind.
    ShellState,
}

/// Folders of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tree {
    /// `plugins/NAME` of the home, installed by us.
    Plugin,
    /// `plugin-venvs/NAME` of the home: the Python environment of a package.
    Environment,
    /// `engines/NAME` of the home: what serves local models.
    Engine,
    /// `profiles/NAME` of the root home: the home of a profile.
    Profile,
    /// `hermes-KIND-PID-XXXXXX`, most often in the folder of temporary files: private, and gone with its process.
    Scratch,
}

/// Why something was not deleted.
#[derive(Debug, thiserror::Error)]
pub enum RemoveError {
    #[error("{} not removed: {why}", .path.display())]
    NotOurs { path: PathBuf, why: String },
    #[error("could not remove {}: {source}", .path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl From<RemoveError> for io::Error {
    fn from(error: RemoveError) -> Self {
        match error {
            RemoveError::NotOurs { .. } => Self::new(io::ErrorKind::PermissionDenied, error.to_string()),
            RemoveError::Io { source, .. } => source,
        }
    }
}

/// Puts our mark into a folder that we have just made.
///
/// # Errors
/// It cannot be written.
pub fn mark(kind: Tree, folder: &Path) -> io::Result<()> {
    mark_as(kind, folder, folder.file_name().unwrap_or_default())
}

/// The same for a folder that gets its name next: there is no moment in which it has the name and no mark.
///
/// # Errors
/// It cannot be written.
pub fn mark_as(kind: Tree, folder: &Path, name: &OsStr) -> io::Result<()> {
    write_atomic(&folder.join(MARK), &words(kind, name)).map_err(io::Error::other)
}

/// Deletes a file of ours that lies below `home`; `false` when there is none. Blocks.
///
/// # Errors
/// It is not where and what this kind is, or the system refuses.
pub fn file(kind: File, home: &Path, path: &Path) -> Result<bool, RemoveError> {
    let at = At { path };
    let (home, inside) = at.below(home, |parts| kind.fits(parts))?;
    let Some(folder) = at.walk(&home, &inside)? else { return Ok(false) };
    let name = path.file_name().unwrap_or_default();
    let Some(about) = at.look(&folder, name)? else { return Ok(false) };
    let is_socket = |name: &OsStr| kind == File::Window && name.as_bytes().ends_with(b".sock");
    let kept_as = if is_socket(name) { FileType::Socket } else { FileType::RegularFile };
    if FileType::from_raw_mode(about.st_mode) != kept_as {
        return Err(at.not_ours("it is not a regular file"));
    }
    if kind == File::ShellState {
        // The folder around it.
        let Some(scratch) = at.walk(&home, Path::new("state"))? else { return Ok(false) };
        at.is_marked(&scratch, Tree::Scratch, home.file_name().unwrap_or_default())?;
    }
    match unlinkat(&folder, name, AtFlags::empty()) {
        Ok(()) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(at.failed(error)),
    }
}

/// Deletes `recordings/SESSION`, `checkpoints/SESSION` or a folder in `cache/spill` of the home when nothing is left in it.
/// Blocks.
pub fn emptied(home: &Path, folder: &Path) {
    let at = At { path: folder };
    let fits = |parts: &[&str]| {
        matches!(parts, ["recordings" | "checkpoints", _] | ["cache", "spill", _] | ["cache", "spill", _, _])
    };
    let done = at.below(home, fits).and_then(|(home, inside)| {
        let Some(parent) = at.walk(&home, &inside)? else { return Ok(()) };
        match unlinkat(&parent, folder.file_name().unwrap_or_default(), AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST) => Ok(()),
            Err(error) => Err(at.failed(error)),
        }
    });
    if let Err(error) = done {
        tracing::debug!("{error}");
    }
}

/// Deletes a folder of ours in `home` with all that is in it; `false` when there is none. Blocks.
///
/// # Errors
/// It is not where and what this kind is, has no mark, holds another file system, or the system refuses. Nothing of it is
/// deleted unless all of it may be.
pub fn tree(kind: Tree, home: &Path, path: &Path) -> Result<bool, RemoveError> {
    let at = At { path };
    let (home, inside) = at.below(home, |parts| kind.fits(parts))?;
    let Some(parent) = at.walk(&home, &inside)? else { return Ok(false) };
    let name = path.file_name().unwrap_or_default();
    if at.look(&parent, name)?.is_none() {
        return Ok(false);
    }
    let folder = at.enter(&parent, name)?;
    at.is_far_from_a_person(&home.join(&inside))?;
    at.is_marked(&folder, kind, name)?;
    at.check(&folder, 0)?;
    at.empty(&folder, Some(kind.mark()))?;
    match unlinkat(&parent, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(true),
        Err(error) => Err(at.failed(error)),
    }
}

/// The process in a name that we give to folders that vanish with the program.
pub fn scratch_owner(name: &str) -> Option<i32> {
    let (kind, rest) = name.strip_prefix("hermes-")?.split_once('-')?;
    let (pid, random) = rest.split_once('-')?;
    let plain = random.len() == 6 && random.bytes().all(|byte| byte.is_ascii_hexdigit());
    pid.parse().ok().filter(|pid| *pid > 0 && plain && SCRATCH.contains(&kind))
}

impl File {
    fn fits(self, parts: &[&str]) -> bool {
        let hex = |name: &str| name.bytes().all(|byte| byte.is_ascii_hexdigit());
        let digits = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        match (self, parts) {
            (Self::Login, ["mcp-tokens", name]) => name.ends_with(".json"),
            (Self::Journal, ["journal", name]) => match name.split_once(".jsonl") {
                Some((_, rest)) => rest.is_empty() || rest.strip_prefix('.').is_some_and(digits),
                None => name.ends_with(".journal") || name.ends_with(".journal.new"),
            },
            (Self::Journal, ["journal", "open", name]) => name.split('.').count() == 3 && name.split('.').all(digits),
            (Self::Backup, ["backups", name]) => name.contains("-schema-") && name.ends_with(".db"),
            (Self::Kept, ["history", name]) => name.starts_with(".new-") || name.len() == 64 && hex(name),
            (Self::Checkpoint, ["checkpoints", _, name]) => name.ends_with(".json"),
            (Self::Tree, ["cache", "trees", name]) => name.ends_with(".run"),
            (Self::Recording, ["recordings", _, name]) => name.ends_with(".rec"),
            (Self::Spill, ["cache", "spill", _] | ["cache", "spill", _, _] | ["cache", "spill", _, _, _]) => true,
            (Self::Asked, ["cache", name]) => name.ends_with(".asked"),
            (Self::Window, ["run", name]) => match name.strip_suffix(".sock").and_then(|name| name.split_once('.')) {
                Some((pid, host)) => digits(pid) && host.len() == 8 && hex(host),
                None => [".tabs", ".lock"].iter().find_map(|end| name.strip_suffix(end)).is_some_and(digits),
            },
            (Self::Model, [_, name]) => [".gguf", ".gguf.part", ".gguf.from"].iter().any(|end| name.ends_with(end)),
            (Self::Archive, ["engines", name]) => {
                [".whl", ".whl.part", ".whl.from"].iter().any(|end| name.ends_with(end))
            }
            (Self::Served, ["run", name]) => match name.rsplit_once('.') {
                Some((_, "model" | "key")) => true,
                // A window's has no host.
                Some((rest, "lock" | "start")) => {
                    rest.rsplit_once('.').is_some_and(|(_, host)| host.len() == 8 && hex(host))
                }
                _ => false,
            },
            (Self::Served, ["logs", name]) => name.starts_with("model-") && name.ends_with(".log"),
            (Self::LogIndex, [name]) => name.ends_with(".db-shm"),
            (Self::ShellState, ["state", name]) => name.len() == 16 && hex(name),
            _ => false,
        }
    }
}

impl Tree {
    fn fits(self, parts: &[&str]) -> bool {
        match (self, parts) {
            (Self::Plugin, ["plugins", _])
            | (Self::Environment, ["plugin-venvs", _])
            | (Self::Engine, ["engines", _]) => true,
            (Self::Profile, ["profiles", _]) => true,
            (Self::Scratch, [name]) => scratch_owner(name).is_some(),
            _ => false,
        }
    }

    fn mark(self) -> &'static str {
        match self {
            Self::Plugin | Self::Environment | Self::Engine | Self::Profile => MARK,
            Self::Scratch => OWNER,
        }
    }
}

/// What a mark says.
fn words(kind: Tree, name: &OsStr) -> String {
    let name = name.to_string_lossy();
    match kind {
        Tree::Plugin => format!("hermes installed the plugin {name}\n"),
        Tree::Environment => format!("hermes made the environment {name}\n"),
        Tree::Engine => format!("hermes unpacked the engine {name}\n"),
        Tree::Profile => format!("hermes made the profile {name}\n"),
        Tree::Scratch => String::new(),
    }
}

/// Whether this is what the mark of a folder with this name says.
fn is_mark(kind: Tree, name: &OsStr, text: &str) -> bool {
    if kind != Tree::Scratch {
        return text == words(kind, name);
    }
    let number = text.split_ascii_whitespace().next().map(str::parse);
    text.is_empty() || matches!(number, Some(Ok(pid)) if name.to_str().and_then(scratch_owner) == Some(pid))
}

/// What is to be deleted, for the words of an error.
struct At<'a> {
    path: &'a Path,
}

impl At<'_> {
    fn not_ours(&self, why: &str) -> RemoveError {
        RemoveError::NotOurs { path: self.path.to_owned(), why: why.to_owned() }
    }

    fn failed(&self, error: Errno) -> RemoveError {
        RemoveError::Io { path: self.path.to_owned(), source: error.into() }
    }

    /// The folder with its links followed, and the path inside it, which is one of those that we make.
    fn below(&self, home: &Path, fits: impl Fn(&[&str]) -> bool) -> Result<(PathBuf, PathBuf), RemoveError> {
        let inside = self.path.strip_prefix(home).map_err(|_| self.not_ours("it is outside our folder"))?;
        let parts: Option<Vec<&str>> = inside
            .components()
            .map(|part| match part {
                Component::Normal(name) => name.to_str(),
                _ => None,
            })
            .collect();
        // The iterator drops a `.` in the middle and a `/` at the end: nobody of ours writes them.
        let plain = self.path.iter().collect::<PathBuf>().as_os_str() == self.path.as_os_str();
        if !home.is_absolute() || !plain || !fits(&parts.unwrap_or_default()) {
            return Err(self.not_ours("Hermes creates nothing of this kind there"));
        }
        let home = match home.canonicalize() {
            Ok(home) => home,
            // Then there is nothing in it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => home.to_owned(),
            Err(source) => return Err(RemoveError::Io { path: self.path.to_owned(), source }),
        };
        if home.parent().is_none() {
            return Err(self.not_ours("the folder cannot be the root"));
        }
        Ok((home, inside.to_owned()))
    }

    /// Opens the folder that holds it, one step at a time, so that no link and no mount can stand on the way, not even one
    /// that is put there meanwhile. `None` when it is not there.
    fn walk(&self, home: &Path, inside: &Path) -> Result<Option<OwnedFd>, RemoveError> {
        let mut folder = match rustix::fs::open(home, FOLDER, Mode::empty()) {
            Ok(folder) => folder,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(self.failed(error)),
        };
        for part in inside.parent().into_iter().flat_map(Path::components) {
            if self.look(&folder, part.as_os_str())?.is_none() {
                return Ok(None);
            }
            folder = self.enter(&folder, part.as_os_str())?;
        }
        Ok(Some(folder))
    }

    fn look(&self, folder: &OwnedFd, name: &OsStr) -> Result<Option<Stat>, RemoveError> {
        match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(about) => Ok(Some(about)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Opens a folder in a folder: no link, on the same file system, ours.
    fn enter(&self, parent: impl AsFd, name: &OsStr) -> Result<OwnedFd, RemoveError> {
        let folder = open_here(parent.as_fd(), name).map_err(|error| match error {
            Errno::LOOP | Errno::NOTDIR => self.not_ours("a link or file is in place of the folder"),
            Errno::XDEV => self.not_ours(OTHER),
            error => self.failed(error),
        })?;
        let (outer, inner) = (self.about(&parent)?, self.about(&folder)?);
        if outer.st_dev != inner.st_dev {
            return Err(self.not_ours(OTHER));
        }
        Ok(folder)
    }

    fn about(&self, folder: impl AsFd) -> Result<Stat, RemoveError> {
        fstat(folder).map_err(|error| self.failed(error))
    }

    /// Never the root, a home folder or the folder that this process works in, nor one that holds them.
    fn is_far_from_a_person(&self, real: &Path) -> Result<(), RemoveError> {
        let near = [std::env::current_dir().ok(), user_home(), user_home().and_then(|home| home.canonicalize().ok())];
        if real.parent().is_none() || near.iter().flatten().any(|near| near.starts_with(real)) {
            return Err(self.not_ours("it holds the home folder or the folder that this command runs in"));
        }
        Ok(())
    }

    fn is_marked(&self, folder: &OwnedFd, kind: Tree, name: &OsStr) -> Result<(), RemoveError> {
        let unmarked = || self.not_ours("it was not created by Hermes; delete it yourself");
        let Some(about) = self.look(folder, OsStr::new(kind.mark()))? else { return Err(unmarked()) };
        if FileType::from_raw_mode(about.st_mode) != FileType::RegularFile || about.st_uid != getuid().as_raw() {
            return Err(unmarked());
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mark = openat(folder, kind.mark(), flags, Mode::empty()).map_err(|error| self.failed(error))?;
        let mut text = String::new();
        let read = io::Read::read_to_string(&mut io::Read::take(std::fs::File::from(mark), MARK_MOST), &mut text);
        if read.is_err() || !is_mark(kind, name, &text) { Err(unmarked()) } else { Ok(()) }
    }

    /// Whether everything below may go, before anything does.
    fn check(&self, folder: &OwnedFd, depth: usize) -> Result<(), RemoveError> {
        if depth > DEEPEST {
            return Err(self.not_ours("its folders are nested too deep"));
        }
        for (name, is_folder) in self.entries(folder)? {
            if is_folder {
                self.check(&self.enter(folder, &name)?, depth + 1)?;
            }
        }
        Ok(())
    }

    /// Deletes what is in a folder, the mark last: a deletion that is cut off can be completed.
    fn empty(&self, folder: &OwnedFd, mark: Option<&str>) -> Result<(), RemoveError> {
        for (name, is_folder) in self.entries(folder)? {
            if mark.is_some_and(|mark| name == mark) {
                continue;
            }
            if is_folder {
                self.empty(&self.enter(folder, &name)?, None)?;
            }
            self.unlink(folder, &name, is_folder)?;
        }
        mark.map_or(Ok(()), |mark| self.unlink(folder, OsStr::new(mark), false))
    }

    fn unlink(&self, folder: &OwnedFd, name: &OsStr, is_folder: bool) -> Result<(), RemoveError> {
        let flags = if is_folder { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        match unlinkat(folder, name, flags) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Names, and whether each is a folder (a link to one is none).
    fn entries(&self, folder: &OwnedFd) -> Result<Vec<(OsString, bool)>, RemoveError> {
        let mut found = Vec::new();
        for entry in Dir::read_from(folder).map_err(|error| self.failed(error))? {
            let entry = entry.map_err(|error| self.failed(error))?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => match self.look(folder, name)? {
                    Some(about) => FileType::from_raw_mode(about.st_mode),
                    None => continue,
                },
                kind => kind,
            };
            found.push((name.to_owned(), kind == FileType::Directory));
        }
        Ok(found)
    }
}

/// Why a mount stays.
const OTHER: &str = "it is on another file system";

/// How folders are opened.
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A folder by its name; `LOOP` for a link, and where the system can tell, `XDEV` for anything mounted, also a part of the
/// same file system.
fn open_here(parent: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        let only = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
        match openat2(parent, name, FOLDER | OFlags::NOFOLLOW, Mode::empty(), only) {
            // An old kernel, or a container whose filter does not know the call.
            Err(Errno::NOSYS | Errno::PERM) => {}
            done => return done,
        }
    }
    openat(parent, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())
}

#[cfg(test)]
mod tests;

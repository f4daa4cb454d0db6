//! Named checkpoints: a folder as it was, as a list of hashes. One file each, `checkpoints/SESSION/NAME.json` of the home.

use crate::fs::remove;
use crate::fs::write_atomic;
use crate::protocol::SessionId;
use crate::store::{Blobs, FileChange, FileState};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

/// The version of the form.
const VERSION: u32 = 1;
/// Characters of a name.
const NAME: usize = 64;
/// Where they are in the home.
const FOLDER: &str = "checkpoints";
/// The folder of checkpoints that belong to no session.
pub const NO_SESSION: &str = "none";

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    pub version: u32,
    pub name: String,
    /// The session that it was made in; [`NO_SESSION`] when there was none.
    pub session: String,
    /// Milliseconds since the epoch.
    pub at: i64,
    /// The folder, absolute.
    pub root: PathBuf,
    /// The last item of the conversation at that time; 0: none.
    pub item: i64,
    /// By path below the root.
    pub files: BTreeMap<PathBuf, FileState>,
    /// What was there and is not saved, by path, with the reason.
    pub left_out: BTreeMap<PathBuf, String>,
}

/// Why there is no such checkpoint.
#[derive(Debug, thiserror::Error)]
pub enum NamedError {
    #[error("`{0}` is no name for a checkpoint: use up to 64 letters, digits, dots, dashes and underscores")]
    Name(String),
    #[error("there is no checkpoint {0}: list them with `hermes checkpoints list`")]
    Missing(String),
    #[error("several sessions have a checkpoint {name}: name one with `--session`: {sessions}")]
    Several { name: String, sessions: String },
    #[error("there is a checkpoint {0} already: choose another name")]
    Exists(String),
    #[error("the checkpoint {name} can't be used: {why}")]
    Unusable { name: String, why: String },
}

/// The checkpoints of a home.
#[derive(Clone, Debug)]
pub struct Shelf {
    home: PathBuf,
    folder: PathBuf,
}

impl Named {
    /// Its file in a home.
    pub fn path(&self, home: &Path) -> PathBuf {
        home.join(FOLDER).join(&self.session).join(format!("{}.json", self.name))
    }

    /// Hashes of the bytes that it names.
    pub fn hashes(self) -> impl Iterator<Item = String> {
        self.files.into_values().filter(FileState::has_bytes).filter_map(|state| state.hash)
    }

    /// A checkpoint of what a workspace holds.
    pub fn new(name: &str, session: Option<&str>, item: i64, workspace: &super::Workspace) -> Self {
        let (mut files, rest) = workspace.snapshot();
        let mut left_out: BTreeMap<PathBuf, String> =
            workspace.left_out().into_iter().map(|path| (path, "is left out".to_owned())).collect();
        left_out.extend(rest.into_iter().map(|(path, why)| (path, why.to_owned())));
        for path in files.keys().filter_map(|path| unwritable(path)).map(Path::to_owned).collect::<BTreeSet<_>>() {
            left_out.insert(path, "has a name that is not UTF-8".to_owned());
        }
        files.retain(|path, _| path.to_str().is_some());
        let readable = |path: PathBuf| PathBuf::from(path.to_string_lossy().into_owned());
        Self {
            version: VERSION,
            name: name.to_owned(),
            session: session.unwrap_or(NO_SESSION).to_owned(),
            at: chrono::Utc::now().timestamp_millis(),
            root: workspace.root().to_owned(),
            item,
            files,
            left_out: left_out.into_iter().map(|(path, why)| (readable(path), why)).collect(),
        }
    }

    /// What changed since: as changes whose undoing leads back to it. What is not saved of then or of now is left alone with
    /// all that is in it, and named.
    pub fn changes(&self, workspace: &super::Workspace) -> (Vec<FileChange>, Vec<String>) {
        let (now, rest) = workspace.snapshot();
        let left_out = workspace.left_out();
        let unsaved: BTreeSet<&Path> = self
            .left_out
            .keys()
            .chain(rest.iter().map(|(path, _)| path))
            .chain(&left_out)
            .map(PathBuf::as_path)
            .chain(now.keys().filter_map(|path| unwritable(path)))
            .collect();
        let paths: BTreeSet<&PathBuf> = self.files.keys().chain(now.keys()).collect();
        let nothing = FileState::default();
        let at = chrono::Utc::now().timestamp_millis();
        let is_saved = |path: &Path| !path.ancestors().any(|folder| unsaved.contains(folder));
        let differs = |path: &&&PathBuf| self.files.get(**path) != now.get(**path) && is_saved(path);
        let change = |path: &PathBuf| FileChange {
            turn: 0,
            at,
            call: String::new(),
            place: String::new(),
            path: self.root.join(path),
            before: self.files.get(path).unwrap_or(&nothing).clone(),
            size: 0,
            after: now.get(path).unwrap_or(&nothing).clone(),
            command: None,
        };
        let changes = paths.iter().filter(differs).map(|path| change(path)).collect();
        let unsaved: BTreeSet<String> = unsaved.iter().map(|path| path.display().to_string()).collect();
        (changes, unsaved.into_iter().collect())
    }
}

/// The part of a path up to the first name that can't be written down as text; `None`: all of it can.
fn unwritable(path: &Path) -> Option<&Path> {
    path.to_str().is_none().then(|| path.ancestors().take_while(|part| part.to_str().is_none()).last()).flatten()
}

impl Shelf {
    /// The checkpoints of this home.
    pub fn new(home: &Path) -> Self {
        Self { home: home.to_owned(), folder: home.join(FOLDER) }
    }

    fn path(&self, session: &str, name: &str) -> Result<PathBuf, NamedError> {
        let plain = |text: &str| {
            !text.is_empty()
                && text.len() <= NAME
                && !text.starts_with('.')
                && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
        };
        if !plain(name) {
            return Err(NamedError::Name(name.to_owned()));
        }
        Ok(self.folder.join(SessionId::from(session).file_name()).join(format!("{name}.json")))
    }

    /// Keeps it. A name is given once in a session.
    ///
    /// # Errors
    /// [`NamedError`].
    pub fn add(&self, named: &Named) -> Result<(), NamedError> {
        let path = self.path(&named.session, &named.name)?;
        if path.exists() {
            return Err(NamedError::Exists(named.name.clone()));
        }
        let unusable = |why: String| NamedError::Unusable { name: named.name.clone(), why };
        let text = serde_json::to_string(named).map_err(|error| unusable(error.to_string()))?;
        write_atomic(&path, &text).map_err(|error| unusable(error.to_string()))
    }

    /// All of them, the newest first; files that can't be read are left out.
    pub fn list(&self) -> Vec<Named> {
        let inside =
            |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let files =
            inside(&self.folder).filter(|path| path.is_dir()).flat_map(|folder| inside(&folder).collect::<Vec<_>>());
        let mut found: Vec<Named> = files.filter_map(|file| read(&file).ok()).collect();
        found.sort_by_key(|named| std::cmp::Reverse(named.at));
        found
    }

    /// The one of this name that was made in a session.
    ///
    /// # Errors
    /// [`NamedError`].
    pub fn of_session(&self, name: &str, session: &str) -> Result<Named, NamedError> {
        match read(&self.path(session, name)?) {
            Ok(named) => Ok(named),
            Err(ReadError::Missing) => Err(NamedError::Missing(name.to_owned())),
            Err(ReadError::Other(why)) => Err(NamedError::Unusable { name: name.to_owned(), why }),
        }
    }

    /// The one of a name that was made in this folder, in the session whose id begins like this where several have it.
    ///
    /// # Errors
    /// [`NamedError::Missing`] and [`NamedError::Several`].
    pub fn find(&self, name: &str, root: &Path, session: Option<&str>) -> Result<Named, NamedError> {
        let is_of = |named: &Named| session.is_none_or(|session| named.session.starts_with(session));
        let fits = |named: &Named| named.name == name && named.root == root && is_of(named);
        let mut found: Vec<Named> = self.list().into_iter().filter(fits).collect();
        if found.len() > 1 {
            let sessions = found.iter().map(|named| named.session.as_str()).collect::<Vec<_>>().join(", ");
            return Err(NamedError::Several { name: name.to_owned(), sessions });
        }
        found.pop().ok_or_else(|| NamedError::Missing(name.to_owned()))
    }

    /// Forgets one. Bytes that nothing else keeps go when they are old.
    ///
    /// # Errors
    /// When it can't be deleted.
    pub fn remove(&self, named: &Named) -> io::Result<()> {
        let path = self.path(&named.session, &named.name).map_err(io::Error::other)?;
        remove::file(remove::File::Checkpoint, &self.home, &path)?;
        remove::emptied(&self.home, path.parent().unwrap_or(&path));
        Ok(())
    }

    /// Hashes of the bytes that checkpoints name, all but these.
    pub(super) fn hashes(&self, without: &[Named]) -> BTreeSet<String> {
        self.list().into_iter().filter(|named| !without.contains(named)).flat_map(Named::hashes).collect()
    }

    /// Keeps the bytes of all checkpoints from being counted as old.
    pub fn hold(&self, blobs: &Blobs) {
        for hash in self.hashes(&[]) {
            // What is gone is named by a restore.
            blobs.hold(&hash);
        }
    }
}

enum ReadError {
    Missing,
    Other(String),
}

fn read(file: &Path) -> Result<Named, ReadError> {
    let text = std::fs::read_to_string(file).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => ReadError::Missing,
        _ => ReadError::Other(error.to_string()),
    })?;
    let named: Named = serde_json::from_str(&text).map_err(|error| ReadError::Other(error.to_string()))?;
    if named.version == VERSION { Ok(named) } else { Err(ReadError::Other("made by another version".into())) }
}

//! One file, link or folder of a workspace as it was last seen, and the bytes that are kept of it.

use crate::store::{Blobs, FOLDER, FileState, LARGEST, LINK};
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// A hash is not trusted when the file changed this shortly before it was read (nanoseconds): clocks of file systems tick
/// slowly, and a second change may bear the same time.
const SAME_TICK: i64 = 20_000_000;
/// Bytes of a file that git ignores: settings and small databases, but no logs and no data.
const IGNORED_LARGEST: u64 = 1024 * 1024;

/// Where the bits of the kind stand in a mode.
const KIND: u32 = 0o170_000;

/// What tells whether a file was touched, without reading it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Nanoseconds since the epoch.
    pub modified: i64,
    pub changed: i64,
    pub size: u64,
    pub inode: u64,
}

impl Stamp {
    fn of(about: &Metadata) -> Self {
        let nanos = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        Self {
            modified: nanos(about.mtime(), about.mtime_nsec()),
            changed: nanos(about.ctime(), about.ctime_nsec()),
            size: about.len(),
            inode: about.ino(),
        }
    }
}

/// Whether the bytes are kept, and why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// By SHA-256.
    Kept([u8; 32]),
    TooLarge,
    /// The workspace holds more than the baseline may take.
    NoRoom,
    /// Git ignores it, and it is more than is kept of such files.
    Ignored,
    Unreadable,
    /// A pipe, a socket or a device.
    Special,
}

impl Content {
    /// Why an undo can't restore it; `None`: it can.
    pub(super) fn why(self) -> Option<&'static str> {
        match self {
            Self::Kept(_) => None,
            Self::TooLarge => Some("is too large to be saved"),
            Self::NoRoom => Some("is beyond `checkpoints.baseline_bytes`"),
            Self::Ignored => Some("is ignored by git and too large to be saved"),
            Self::Unreadable => Some("can't be read"),
            Self::Special => Some("is neither a file nor a link nor a folder"),
        }
    }
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub stamp: Stamp,
    /// Permission bits and the kind, as in [`FileState::mode`].
    pub mode: u32,
    pub content: Content,
    /// The hash may be of a moment before a change that left the same stamp.
    pub racy: bool,
    /// How many commands had begun when the baseline came to it: what these found is not known.
    pub seen: u32,
}

impl Entry {
    /// As it is written down; `None` when its bytes are not kept.
    pub(super) fn state(&self) -> Option<FileState> {
        match self.content {
            Content::Kept(hash) => Some(FileState { hash: Some(hex(&hash)), mode: Some(self.mode) }),
            _ => None,
        }
    }

    pub(super) fn is_folder(&self) -> bool {
        self.mode & KIND == FOLDER
    }

    /// Whether both are the same thing with the same bytes and mode.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let same = match (self.content, other.content) {
            (Content::Kept(one), Content::Kept(two)) => one == two,
            // What passes through a pipe changes its times.
            (Content::Special, Content::Special) => true,
            // Without bytes the stamp is all that is known.
            _ => self.stamp == other.stamp,
        };
        same && self.mode == other.mode
    }
}

/// A hash in hex.
pub(super) fn hex(hash: &[u8; 32]) -> String {
    use std::fmt::Write as _;
    hash.iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The hash of such a text.
pub(super) fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut hash = [0; 32];
    if text.len() != 64 {
        return None;
    }
    for (at, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(hash)
}

/// Keeps bytes, within bounds.
pub(super) struct Keeper {
    pub blobs: Blobs,
    /// Bytes that the files of the workspace may take together, and how many they take.
    pub most: u64,
    pub taken: u64,
}

impl Keeper {
    /// Looks at a path, without following a link. What is known of it saves reading it again. `None`: there is
    /// nothing.
    pub(super) fn look(&mut self, path: &Path, known: Option<&Entry>, ignored: bool) -> io::Result<Option<Entry>> {
        let about = match fs::symlink_metadata(path) {
            Ok(about) => about,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
            Err(error) => return Err(error),
        };
        let stamp = Stamp::of(&about);
        let permissions = about.mode() & 0o7777;
        let entry = |mode, content, racy| Entry { stamp, mode, content, racy, seen: 0 };
        if about.is_dir() {
            return Ok(Some(entry(FOLDER | permissions, Content::Kept(digest(b"")), false)));
        }
        let mode = if about.is_symlink() { LINK | 0o777 } else { permissions };
        if let Some(known) = known.filter(|known| known.stamp == stamp && known.mode == mode && !known.racy) {
            return Ok(Some(known.clone()));
        }
        if about.is_symlink() {
            let target = fs::read_link(path)?;
            let target = target.as_os_str().as_bytes();
            return Ok(Some(entry(mode, self.keep(target, None), false)));
        }
        if !about.is_file() {
            return Ok(Some(entry(mode, Content::Special, false)));
        }
        let before = known.filter(|known| matches!(known.content, Content::Kept(_)));
        self.taken = self.taken.saturating_sub(before.map_or(0, |known| known.stamp.size));
        if stamp.size > LARGEST {
            return Ok(Some(entry(mode, Content::TooLarge, false)));
        }
        if ignored && stamp.size > IGNORED_LARGEST {
            return Ok(Some(entry(mode, Content::Ignored, false)));
        }
        if self.taken + stamp.size > self.most {
            return Ok(Some(entry(mode, Content::NoRoom, false)));
        }
        let began = chrono::Utc::now().timestamp_nanos_opt().unwrap_or(i64::MAX);
        let content = self.read(path);
        self.taken += stamp.size;
        let racy = began.saturating_sub(stamp.changed.max(stamp.modified)) < SAME_TICK;
        Ok(Some(entry(mode, content, racy)))
    }

    fn read(&self, path: &Path) -> Content {
        let opened = File::options().read(true).custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32).open(path);
        let Ok(file) = opened else { return Content::Unreadable };
        let mut bytes = Vec::new();
        match (&file).take(LARGEST + 1).read_to_end(&mut bytes) {
            Ok(read) if read as u64 > LARGEST => Content::TooLarge,
            Ok(_) => self.keep(&bytes, Some(&file)),
            Err(_) => Content::Unreadable,
        }
    }

    fn keep(&self, bytes: &[u8], source: Option<&File>) -> Content {
        match self.blobs.keep_soon(bytes, source) {
            Ok(name) => unhex(&name).map_or(Content::Unreadable, Content::Kept),
            Err(error) => {
                tracing::warn!(%error, "a file could not be saved for an undo");
                Content::NoRoom
            }
        }
    }
}

/// SHA-256.
fn digest(bytes: &[u8]) -> [u8; 32] {
    use sha2::Digest;
    sha2::Sha256::digest(bytes).into()
}

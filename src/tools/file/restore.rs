//! Putting files back: what would become of each is worked out first, and only what still is as planned is written.
//!
//! A path is never followed through a link: it was recorded without links, and where one stands now the file is left alone.

use super::restore_target::{Now, RestoreTarget};
use crate::store::{Blobs, FOLDER, FileChange, FileState, RewoundFile};
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// One file and what it should become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Back {
    /// The machine that it is on, as of its changes.
    pub place: String,
    pub path: PathBuf,
    pub target: FileState,
    /// What our own last change left; anything else there is somebody else's work.
    pub left: FileState,
    pub now: Now,
    pub verdict: Verdict,
}

impl Back {
    /// The changes cancelled each other out: nothing happens to it. A restore that was cut off leaves a file as it should
    /// be, too, but not one that its changes had left so.
    pub fn is_untouched(&self) -> bool {
        self.verdict == Verdict::Already && self.target.is_like(&self.left)
    }
}

/// Whether a file can be put back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Ready,
    /// It is as it should be.
    Already,
    /// Somebody else changed it; says how that is known.
    Foreign(&'static str),
    /// It can't be put back; says why.
    Lost(String),
}

/// What going back before these changes means for each file, by path. Changes come oldest first.
pub fn undoing(changes: &[FileChange], blobs: &Blobs, ground: &RestoreTarget) -> Vec<Back> {
    let mut files: BTreeMap<(&str, &Path), Vec<&FileChange>> = BTreeMap::new();
    for change in changes {
        files.entry((&change.place, &change.path)).or_default().push(change);
    }
    let backs = files.into_iter().filter_map(|((place, path), changes)| {
        let (first, last) = (changes.first()?, changes.last()?);
        let unbroken = changes.windows(2).all(|pair| pair[0].after.is_like(&pair[1].before));
        let now = ground.look(place, path);
        let spot = (place.to_owned(), path.to_owned());
        Some(back(spot, now, &first.before, &last.after, unbroken, first.size, blobs))
    });
    let mut backs: Vec<Back> = backs.collect();
    keep_moved(changes, &mut backs);
    keep_filled(&mut backs);
    in_order(backs)
}

/// What goes, the deepest first; then what comes, folders before what is in them.
fn in_order(mut backs: Vec<Back>) -> Vec<Back> {
    backs.sort_by(|one, two| {
        let goes = |back: &Back| back.target.hash.is_none();
        let by_path = (&one.place, &one.path).cmp(&(&two.place, &two.path));
        goes(two).cmp(&goes(one)).then(if goes(one) && goes(two) { by_path.reverse() } else { by_path })
    });
    backs
}

/// A file that was moved stays where it is as long as it can't be put back where it came from: its bytes are nowhere else.
fn keep_moved(changes: &[FileChange], backs: &mut [Back]) {
    for pair in changes.windows(2) {
        let [from, to] = pair else { continue };
        let moved =
            from.call == to.call && from.after.hash.is_none() && from.before.hash.is_some() && to.before.hash.is_none();
        let same = |back: &Back, change: &FileChange| back.path == change.path && back.place == change.place;
        let stays = |back: &&Back| same(back, from) && matches!(back.verdict, Verdict::Lost(_) | Verdict::Foreign(_));
        if moved
            && backs.iter().any(|back| stays(&back))
            && let Some(back) = backs.iter_mut().find(|back| same(back, to) && back.target.hash.is_none())
            && back.verdict == Verdict::Ready
        {
            back.verdict = Verdict::Lost("the file it was moved from can't be restored".into());
        }
    }
}

/// A folder stays as long as something is in it that does not go with it.
fn keep_filled(backs: &mut [Back]) {
    let goes = |back: &Back| back.target.hash.is_none() && back.verdict == Verdict::Ready && back.place.is_empty();
    let mut going: BTreeSet<PathBuf> = backs.iter().filter(|back| goes(back)).map(|back| back.path.clone()).collect();
    // By path: what is in a folder comes after it.
    for back in backs.iter_mut().rev().filter(|back| goes(back) && back.left.kind() == FOLDER) {
        let held = std::fs::read_dir(&back.path).into_iter().flatten().flatten();
        if held.into_iter().any(|entry| !going.contains(&entry.path())) {
            going.remove(&back.path);
            back.verdict = Verdict::Lost("it is not empty: it stays with what is in it".into());
        }
    }
}

/// What taking a rewind back means for each of its files.
pub fn redoing(files: &[RewoundFile], blobs: &Blobs, ground: &RestoreTarget) -> Vec<Back> {
    let redoing = |file: &RewoundFile| {
        let now = ground.look(&file.place, &file.path);
        let spot = (file.place.clone(), file.path.clone());
        back(spot, now, &file.was, &file.became, true, 0, blobs)
    };
    in_order(files.iter().map(redoing).collect())
}

/// The files that somebody else changed.
pub fn foreign(backs: &[Back]) -> Vec<PathBuf> {
    let theirs = backs.iter().filter(|back| matches!(back.verdict, Verdict::Foreign(_)));
    theirs.map(|back| named(&back.place, &back.path)).collect()
}

/// A file as people read it: with the name of its machine, when that is another one.
pub fn named(place: &str, path: &Path) -> PathBuf {
    if place.is_empty() { path.to_owned() } else { format!("{place}: {}", path.display()).into() }
}

/// `spot` is its place and path.
fn back(
    spot: (String, PathBuf),
    now: Now,
    target: &FileState,
    left: &FileState,
    unbroken: bool,
    size: u64,
    blobs: &Blobs,
) -> Back {
    let verdict = verdict(&now, target, left, unbroken, size, blobs);
    let (place, path) = spot;
    Back { place, path, target: target.clone(), left: left.clone(), now, verdict }
}

fn verdict(now: &Now, target: &FileState, left: &FileState, unbroken: bool, size: u64, blobs: &Blobs) -> Verdict {
    let state = match (now, now.state()) {
        (Now::Other(why), _) => return Verdict::Lost(why.clone()),
        (_, None) => return Verdict::Lost("it can't be read".into()),
        (_, Some(state)) => state,
    };
    // A link or a folder that we neither found nor left is not written over, even when that is asked for.
    let known = state.kind() == 0 || [target, left].iter().any(|known| known.kind() == state.kind());
    if !known {
        let what = if matches!(now, Now::Link { .. }) { "it is now a link" } else { "it is now a folder" };
        return Verdict::Lost(what.into());
    }
    // File tools keep modes: what became of one since is not theirs to judge.
    let is_back = if left.mode.is_some() { state.is_like(target) } else { state.hash == target.hash };
    if is_back {
        return Verdict::Already;
    }
    match &target.hash {
        Some(hash) if target.has_bytes() && !blobs.has(hash) => Verdict::Lost(if size > crate::store::LARGEST {
            format!("its {} were too large to save", crate::text::format::bytes(size))
        } else {
            "its old content is no longer saved".to_owned()
        }),
        _ if !state.is_like(left) => Verdict::Foreign("changed elsewhere since"),
        _ if !unbroken => Verdict::Foreign("changed elsewhere in between"),
        _ => Verdict::Ready,
    }
}

/// What a restore did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Files that are as they should be now.
    pub files: Vec<RewoundFile>,
    /// How many of them the changes had left so.
    pub untouched: usize,
    /// Somebody else's work, left alone.
    pub left: Vec<PathBuf>,
    /// Files that can't be put back, and why.
    pub lost: Vec<(PathBuf, String)>,
    /// Files that should have been put back and could not be written.
    pub failed: Vec<(PathBuf, String)>,
}

impl Restored {
    /// Files that it put back: one that was moved counts once.
    pub fn count(&self) -> usize {
        let is_move = |from: &RewoundFile, to: &RewoundFile| {
            from.became.hash.is_none()
                && to.was.hash.is_none()
                && from.was.has_bytes()
                && from.was.hash == to.became.hash
        };
        let moved = |from: &&RewoundFile| self.files.iter().any(|to| is_move(from, to));
        (self.files.len() - self.files.iter().filter(moved).count()).saturating_sub(self.untouched)
    }
}

/// Puts files back, each by one rename, and keeps what was there. A restore that was cut off is completed by the next.
pub fn restore(backs: &[Back], overwrite: bool, blobs: &Blobs, ground: &RestoreTarget) -> Restored {
    let mut done = Restored::default();
    for back in backs {
        let path = named(&back.place, &back.path);
        match &back.verdict {
            Verdict::Foreign(_) if !overwrite => done.left.push(path),
            Verdict::Lost(why) => done.lost.push((path, why.clone())),
            Verdict::Already => {
                // Put back by a restore that was cut off: what was there is kept under the hash that our change left.
                let mode = back.left.mode.or(back.target.mode);
                let known = !back.left.has_bytes() || back.left.hash.as_ref().is_some_and(|hash| blobs.has(hash));
                let was = FileState { hash: back.left.hash.clone(), mode: mode.filter(|_| back.left.hash.is_some()) };
                let was = if known { was } else { back.target.clone() };
                let (place, path) = (back.place.clone(), back.path.clone());
                done.files.push(RewoundFile { place, path, was, became: back.target.clone() });
                done.untouched += usize::from(back.is_untouched());
            }
            Verdict::Ready | Verdict::Foreign(_) => match put(back, blobs, ground) {
                Ok(file) => done.files.push(file),
                // Somebody put something into it since.
                Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => done.left.push(path),
                Err(error) => done.failed.push((path, error.to_string().to_lowercase())),
            },
        }
    }
    done
}

/// As [`restore`], but all or nothing: when one file can't be written, what was put back before it is taken back again, and
/// `failed` says so.
pub fn restore_all(backs: &[Back], overwrite: bool, blobs: &Blobs, ground: &RestoreTarget) -> Restored {
    let is_wanted = |back: &&Back| match back.verdict {
        Verdict::Ready => true,
        Verdict::Foreign(_) => overwrite,
        Verdict::Already | Verdict::Lost(_) => false,
    };
    // What can be known to fail fails before anything is touched.
    let unready: Vec<(PathBuf, String)> = backs
        .iter()
        .filter(is_wanted)
        .filter_map(|back| Some((named(&back.place, &back.path), check(back, blobs, ground).err()?.to_string())))
        .collect();
    if !unready.is_empty() {
        return Restored { failed: unready, ..Restored::default() };
    }
    let mut done = Restored::default();
    let mut put = Vec::new();
    for back in backs {
        let one = restore(std::slice::from_ref(back), overwrite, blobs, ground);
        let failed = !one.failed.is_empty();
        if back.verdict != Verdict::Already {
            put.extend(one.files.clone());
        }
        done.untouched += one.untouched;
        done.files.extend(one.files);
        done.left.extend(one.left);
        done.lost.extend(one.lost);
        done.failed.extend(one.failed);
        if failed {
            done.files.clear();
            done.untouched = 0;
            done.failed.extend(restore(&redoing(&put, blobs, ground), true, blobs, ground).failed);
            return done;
        }
    }
    done
}

fn check(back: &Back, blobs: &Blobs, ground: &RestoreTarget) -> std::io::Result<()> {
    if ground.look(&back.place, &back.path) != back.now {
        return Err(std::io::Error::other("it just changed"));
    }
    match &back.target.hash {
        Some(name) if back.target.has_bytes() && blobs.read(name)?.is_none() => {
            Err(std::io::Error::other("its old content is no longer saved"))
        }
        _ => Ok(()),
    }
}

fn put(back: &Back, blobs: &Blobs, ground: &RestoreTarget) -> std::io::Result<RewoundFile> {
    let (place, path) = (&back.place, &back.path);
    if ground.look(place, path) != back.now {
        return Err(std::io::Error::other("it just changed"));
    }
    let was = back.now.state().unwrap_or_default();
    if was.has_bytes() {
        blobs.keep(&ground.read(place, path)?)?;
    }
    match &back.target.hash {
        None => ground.remove(place, path)?,
        Some(_) if !back.target.has_bytes() => ground.write(place, path, &[], &back.target)?,
        Some(name) => {
            let bytes = blobs.read(name)?.ok_or_else(|| std::io::Error::other("its old content is no longer saved"))?;
            ground.write(place, path, &bytes, &back.target)?;
        }
    }
    Ok(RewoundFile { place: place.clone(), path: path.clone(), was, became: back.target.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::hash;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    struct Place {
        _dir: tempfile::TempDir,
        root: PathBuf,
        blobs: Blobs,
    }

    impl Place {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let root = dir.path().canonicalize().unwrap();
            let blobs = Blobs::new(root.join("history"));
            Self { _dir: dir, root, blobs }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.root.join(name)
        }

        /// A change as a tool would record it; `after` is written.
        fn change(&self, name: &str, before: Option<&str>, after: Option<&str>) -> FileChange {
            let path = self.path(name);
            let mode = fs::metadata(&path).ok().map(|about| about.permissions().mode() & 0o7777);
            let before_hash = before.map(|text| self.blobs.keep(text.as_bytes()).unwrap());
            match after {
                Some(text) => fs::write(&path, text).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            FileChange {
                turn: 1,
                at: 0,
                call: "c".into(),
                place: String::new(),
                path,
                before: FileState { mode: mode.filter(|_| before.is_some()), hash: before_hash },
                size: before.map_or(0, |text| text.len() as u64),
                after: FileState { hash: after.map(|text| hash(text.as_bytes())), mode: None },
                command: None,
            }
        }

        fn read(&self, name: &str) -> Option<String> {
            fs::read_to_string(self.path(name)).ok()
        }
    }

    #[test]
    fn a_moved_file_stays_when_its_old_place_cannot_be_had() {
        let place = Place::new();
        let mut from = place.change("to", None, Some("moved"));
        let to = from.clone();
        // What was moved was too large to keep.
        from.path = place.path("from");
        from.before = FileState { hash: Some("0".repeat(64)), mode: Some(0o644) };
        from.after = FileState::default();
        let done = restore(
            &undoing(&[from.clone(), to.clone()], &place.blobs, &RestoreTarget::default()),
            true,
            &place.blobs,
            &RestoreTarget::default(),
        );
        assert_eq!((done.lost.len(), done.files.len()), (2, 0), "{done:?}");
        assert_eq!(fs::read_to_string(place.path("to")).unwrap(), "moved");
        // Somebody made a new file at the old place: it is theirs, and the moved one stays too.
        let kept = place.blobs.keep(b"moved").unwrap();
        from.before.hash = Some(kept);
        fs::write(place.path("from"), "theirs").unwrap();
        let done = restore(
            &undoing(&[from, to], &place.blobs, &RestoreTarget::default()),
            false,
            &place.blobs,
            &RestoreTarget::default(),
        );
        assert_eq!((done.left.len(), done.lost.len(), done.files.len()), (1, 1, 0), "{done:?}");
        assert_eq!(fs::read_to_string(place.path("to")).unwrap(), "moved");
    }

    #[test]
    fn files_come_back_byte_for_byte_with_their_mode_and_go_again() {
        let place = Place::new();
        for name in ["edited", "deleted"] {
            fs::write(place.path(name), "one").unwrap();
        }
        fs::set_permissions(place.path("deleted"), fs::Permissions::from_mode(0o640)).unwrap();
        let changes = [
            place.change("edited", Some("one"), Some("two")),
            place.change("new", None, Some("fresh")),
            place.change("edited", Some("two"), Some("three")),
            place.change("deleted", Some("one"), None),
        ];
        let backs = undoing(&changes, &place.blobs, &RestoreTarget::default());
        assert!(backs.iter().all(|back| back.verdict == Verdict::Ready), "{backs:?}");
        let done = restore(&backs, false, &place.blobs, &RestoreTarget::default());
        assert_eq!((done.files.len(), done.left.len(), done.failed.len()), (3, 0, 0), "{done:?}");
        let state = |place: &Place| (place.read("edited"), place.read("new"), place.read("deleted"));
        assert_eq!(state(&place), (Some("one".into()), None, Some("one".into())));
        let mode = fs::metadata(place.path("deleted")).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o640);
        let again = restore(
            &redoing(&done.files, &place.blobs, &RestoreTarget::default()),
            false,
            &place.blobs,
            &RestoreTarget::default(),
        );
        assert_eq!(again.files.len(), 3);
        assert_eq!(state(&place), (Some("three".into()), Some("fresh".into()), None));
    }

    #[test]
    fn the_work_of_others_stays_unless_it_is_named() {
        let place = Place::new();
        for name in ["after", "between"] {
            fs::write(place.path(name), "one").unwrap();
        }
        let mut changes = vec![place.change("after", Some("one"), Some("two"))];
        fs::write(place.path("after"), "mine").unwrap();
        changes.push(place.change("between", Some("one"), Some("two")));
        fs::write(place.path("between"), "two and mine").unwrap();
        changes.push(place.change("between", Some("two and mine"), Some("three")));
        let backs = undoing(&changes, &place.blobs, &RestoreTarget::default());
        assert!(backs.iter().all(|back| matches!(back.verdict, Verdict::Foreign(_))), "{backs:?}");
        let done = restore(&backs, false, &place.blobs, &RestoreTarget::default());
        assert_eq!(
            (done.left.len(), place.read("after"), place.read("between")),
            (2, Some("mine".into()), Some("three".into()))
        );
        let done = restore(&backs, true, &place.blobs, &RestoreTarget::default());
        assert_eq!((place.read("after"), place.read("between")), (Some("one".into()), Some("one".into())));
        // Even that is not lost.
        restore(
            &redoing(&done.files, &place.blobs, &RestoreTarget::default()),
            false,
            &place.blobs,
            &RestoreTarget::default(),
        );
        assert_eq!((place.read("after"), place.read("between")), (Some("mine".into()), Some("three".into())));
    }

    #[test]
    fn a_restore_that_was_cut_off_is_completed_and_can_be_redone() {
        let place = Place::new();
        for name in ["a", "b"] {
            fs::write(place.path(name), "one").unwrap();
        }
        let changes = [place.change("a", Some("one"), Some("two")), place.change("b", Some("one"), Some("two"))];
        // The first file only, and then the program is gone.
        restore(
            &undoing(&changes, &place.blobs, &RestoreTarget::default())[..1],
            false,
            &place.blobs,
            &RestoreTarget::default(),
        );
        assert_eq!((place.read("a"), place.read("b")), (Some("one".into()), Some("two".into())));
        let done = restore(
            &undoing(&changes, &place.blobs, &RestoreTarget::default()),
            false,
            &place.blobs,
            &RestoreTarget::default(),
        );
        assert_eq!((place.read("a"), place.read("b")), (Some("one".into()), Some("one".into())));
        restore(
            &redoing(&done.files, &place.blobs, &RestoreTarget::default()),
            false,
            &place.blobs,
            &RestoreTarget::default(),
        );
        assert_eq!((place.read("a"), place.read("b")), (Some("two".into()), Some("two".into())));
    }

    #[test]
    fn links_are_not_followed() {
        let place = Place::new();
        fs::create_dir_all(place.path("dir")).unwrap();
        fs::create_dir_all(place.path("elsewhere")).unwrap();
        fs::write(place.path("elsewhere/f"), "two").unwrap();
        fs::write(place.path("f"), "one").unwrap();
        fs::write(place.path("dir/f"), "one").unwrap();
        let changes = [place.change("f", Some("one"), Some("two")), place.change("dir/f", Some("one"), Some("two"))];
        fs::remove_file(place.path("f")).unwrap();
        std::os::unix::fs::symlink(place.path("elsewhere/f"), place.path("f")).unwrap();
        fs::remove_dir_all(place.path("dir")).unwrap();
        std::os::unix::fs::symlink(place.path("elsewhere"), place.path("dir")).unwrap();
        let backs = undoing(&changes, &place.blobs, &RestoreTarget::default());
        assert!(backs.iter().all(|back| matches!(back.verdict, Verdict::Lost(_))), "{backs:?}");
        let done = restore(&backs, true, &place.blobs, &RestoreTarget::default());
        assert_eq!((done.lost.len(), place.read("elsewhere/f")), (2, Some("two".into())));
    }

    #[test]
    fn what_is_not_kept_is_named() {
        let place = Place::new();
        fs::write(place.path("big"), "one").unwrap();
        let mut change = place.change("big", Some("one"), Some("two"));
        change.before.hash = Some(hash(b"never kept"));
        let verdict = |change: &FileChange| {
            undoing(std::slice::from_ref(change), &place.blobs, &RestoreTarget::default())[0].verdict.clone()
        };
        assert_eq!(verdict(&change), Verdict::Lost("its old content is no longer saved".into()));
        change.size = crate::store::LARGEST + 1;
        let Verdict::Lost(why) = verdict(&change) else { panic!() };
        assert!(why.contains("too large"), "{why}");
    }
}

//! The state of a workspace: everything in it as it was last seen, and what was found changed while commands ran.

use super::base::Base;
use super::entry::{Content, Entry, Keeper};
use super::leave_out::LeaveOut;
use super::outside::Hearing;
use super::watch::Watch;
use crate::lock::lock;
use crate::store::FileState;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Files and folders that git ignores and that are looked at all the same.
pub(super) const MOST_IGNORED: usize = 5_000;
/// Names that one command's gaps hold at most.
const GAPS: usize = 40;
/// Files of git that change when its history or its branch does; the index changes whenever somebody looks.
const GIT: &[&str] = &["HEAD", "ORIG_HEAD", "MERGE_HEAD", "packed-refs", "logs/HEAD"];

/// What a command changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// By path; the two sides of a move stand together, the old place first.
    pub changes: Vec<FoundChange>,
    /// What an undo can't restore, in words.
    pub gaps: Vec<String>,
}

/// A change of one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundChange {
    /// Absolute.
    pub path: PathBuf,
    pub before: FileState,
    /// Bytes before.
    pub size: u64,
    pub after: FileState,
    /// When it was seen, in milliseconds since the epoch.
    pub at: i64,
}

/// How far the baseline is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    NotBegun,
    /// Files looked at so far.
    Looking(usize),
    Ready,
    /// There is none, and why.
    Off(String),
}

/// What was at a path when a command first touched it.
#[derive(Clone, Debug)]
pub(super) enum Before {
    Nothing,
    Entry(Entry),
    /// The baseline had not come to it.
    Unknown,
}

pub(super) struct Found {
    pub before: Before,
    pub after: Option<Entry>,
    pub at: i64,
}

/// A command that runs.
pub(super) struct Open {
    /// How many had begun, itself included.
    pub began: u32,
    /// The listener whose command it is.
    pub by: Option<u32>,
    pub found: BTreeMap<PathBuf, Found>,
    pub gaps: BTreeSet<String>,
}

/// Paths that something changed which is no command, for this listener.
#[derive(Clone, Copy, Default)]
pub(super) struct Own<'a> {
    pub paths: &'a [PathBuf],
    pub by: Option<u32>,
}

/// The state.
pub(super) struct State {
    pub root: PathBuf,
    /// The folder of git's records: below the root, or absolute.
    pub git: PathBuf,
    pub tree: BTreeMap<PathBuf, Entry>,
    pub keeper: Keeper,
    /// `None`: everything is looked at around each command.
    pub watch: Option<Watch>,
    pub phase: Phase,
    /// Commands that have begun.
    pub begun: u32,
    /// While the baseline is taken: folders whose names are all known, and how many commands had begun by then.
    pub listed: HashMap<PathBuf, u32>,
    pub open: HashMap<u32, Open>,
    /// Who hears of what others change, and how many have.
    pub listeners: HashMap<u32, Hearing>,
    pub listened: u32,
    /// Paths that tools write now, each for a listener: a look meanwhile takes them for nobody else's.
    pub writing: Vec<(PathBuf, Option<u32>)>,
    /// Folders that are left out, as they were met.
    pub left_out: BTreeSet<PathBuf>,
    /// Paths that the watch has told of.
    pub told: usize,
    /// Files and folders that git ignores and that are looked at all the same.
    pub ignored: usize,
    /// The folder as it is, in a file.
    pub base: Option<Base>,
    /// What became another one since the file was written, as far as it is not in it.
    pub touched: Option<BTreeSet<PathBuf>>,
    /// Commands of programs that were killed, whose changes are yet to be found: no other one begins before.
    pub owed: usize,
    dirty: BTreeSet<PathBuf>,
    lost: bool,
}

impl State {
    pub(super) fn new(root: PathBuf, keeper: Keeper, phase: Phase) -> Self {
        Self {
            root,
            git: ".git".into(),
            tree: BTreeMap::new(),
            keeper,
            watch: None,
            phase,
            begun: 0,
            listed: HashMap::new(),
            open: HashMap::new(),
            listeners: HashMap::new(),
            listened: 0,
            writing: Vec::new(),
            left_out: BTreeSet::new(),
            told: 0,
            ignored: 0,
            base: None,
            touched: None,
            owed: 0,
            dirty: BTreeSet::new(),
            lost: false,
        }
    }

    /// A command of this listener begins; returns its number.
    pub(super) fn begin(&mut self, by: Option<u32>) -> u32 {
        self.begun += 1;
        let mut gaps = BTreeSet::new();
        if self.watch.is_none() && self.phase != Phase::Ready {
            gaps.insert("what it changed: Hermes had not yet saved the folder as it was".to_owned());
        }
        let open = Open { began: self.begun, by, found: BTreeMap::new(), gaps };
        self.open.insert(self.begun, open);
        self.begun
    }

    /// What stands for the folder as it is now, when the program is killed; `None`: nothing.
    pub(super) fn standing(&mut self) -> Option<String> {
        let base = self.base.as_mut()?;
        let touched = self.touched.replace(BTreeSet::new()).unwrap_or_default();
        match base.add(&touched, &self.tree, &self.left_out) {
            Ok(word) => Some(word),
            Err(error) => {
                tracing::warn!(%error, "what a command changes will not be known when the program is killed");
                (self.base, self.touched) = (None, None);
                None
            }
        }
    }

    fn touch(&mut self, path: &Path) {
        if let Some(touched) = &mut self.touched {
            touched.insert(path.to_owned());
        }
    }

    /// A command ended: what was found changed since it began.
    pub(super) fn end(&mut self, number: u32) -> Recorded {
        self.open.remove(&number).map(|open| open.recorded(&self.root)).unwrap_or_default()
    }

    /// Looks at what was touched since the last look, if somebody wants to know. For a listener alone not everything is
    /// looked at.
    pub(super) fn look_if_asked(&mut self, rules: &Mutex<LeaveOut>, ours: Own<'_>) {
        if !self.open.is_empty() || !self.listeners.is_empty() && self.watch.is_some() {
            self.catch_up(rules, ours);
        }
    }

    /// Looks at what was touched since the last look.
    pub(super) fn catch_up(&mut self, rules: &Mutex<LeaveOut>, ours: Own<'_>) {
        if let Some(watch) = &mut self.watch {
            let seen = watch.take();
            self.lost |= seen.lost;
            self.told += seen.paths.len();
            for path in seen.paths {
                if path.starts_with(&self.git) {
                    self.git(&path);
                } else {
                    self.dirty.insert(path);
                }
            }
        } else {
            self.lost = self.phase == Phase::Ready;
        }
        let rules = &mut *lock(rules);
        if std::mem::take(&mut self.lost) {
            self.look_at_all(rules, ours);
        }
        while let Some(path) = self.dirty.pop_first() {
            self.look(&path, rules, ours);
        }
    }

    /// These may have been touched while nobody knew of them.
    pub(super) fn look_again(&mut self, paths: impl Iterator<Item = PathBuf>) {
        self.dirty.extend(paths);
    }

    fn git(&mut self, path: &Path) {
        if path.strip_prefix(&self.git).is_ok_and(|path| GIT.iter().any(|name| path == Path::new(name))) {
            self.gap("git's own records (commits, branches): an undo never changes .git");
            self.tell_git();
        }
    }

    fn look_at_all(&mut self, rules: &mut LeaveOut, ours: Own<'_>) {
        let known: Vec<PathBuf> = self.tree.keys().cloned().collect();
        let is_gone = |path: &&PathBuf| self.root.join(path).symlink_metadata().is_err();
        let gone: Vec<PathBuf> = self.left_out.iter().filter(is_gone).cloned().collect();
        for path in known.iter().chain(&gone) {
            self.look(path, rules, ours);
        }
        let folders = known.iter().filter(|path| self.tree.get(*path).is_some_and(Entry::is_folder)).cloned();
        for folder in std::iter::once(PathBuf::new()).chain(folders).collect::<Vec<_>>() {
            for name in names(&self.root.join(&folder)) {
                let path = folder.join(name);
                if !self.tree.contains_key(&path) && !self.left_out.contains(&path) {
                    self.look(&path, rules, ours);
                }
            }
        }
    }

    /// Looks at one path, and at all that is in a folder that is new.
    fn look(&mut self, path: &Path, rules: &mut LeaveOut, ours: Own<'_>) {
        if rules.below(path) || path.ancestors().skip(1).any(|folder| self.left_out.contains(folder)) {
            return;
        }
        if path.file_name().is_some_and(|name| name == ".gitignore") {
            rules.read(path.parent().unwrap_or(Path::new("")));
        }
        let known = self.tree.get(path).cloned();
        let ignored = rules.ignored(path, false);
        let now = match self.keeper.look(&self.root.join(path), known.as_ref(), ignored) {
            Ok(now) => now,
            Err(error) => {
                let gap = format!("{}: {}", path.display(), error.to_string().to_lowercase());
                self.gap(&gap);
                return;
            }
        };
        let was_folder = known.as_ref().is_some_and(Entry::is_folder);
        let Some(mut now) = now else { return self.gone(path, ours) };
        if self.left_out.contains(path) {
            // What was there is not known: nothing of it may be taken for new.
            return self.leave_out(path);
        }
        let ignored = known.is_none() && rules.ignored(path, now.is_folder());
        if rules.out(path, now.is_folder()) || ignored && self.ignored >= MOST_IGNORED {
            return self.leave_out(path);
        }
        self.ignored += usize::from(ignored);
        if was_folder && !now.is_folder() {
            self.left_out_gone(path);
            self.gone_below(path, ours);
        }
        now.seen = known.as_ref().map_or(self.begun, |known| known.seen);
        let is_new_folder = now.is_folder() && !was_folder;
        if known.as_ref().is_none_or(|known| !known.is_like(&now)) {
            self.changed(path, known, Some(&now), ours);
        }
        self.tree.insert(path.to_owned(), now);
        self.touch(path);
        if is_new_folder {
            self.watch_folder(path);
            if let Phase::Looking(_) = self.phase {
                // A folder that is new was empty; of one that was not come to nothing is known.
                let listed = path.parent().and_then(|folder| self.listed.get(folder)).copied();
                self.listed.insert(path.to_owned(), listed.unwrap_or(self.begun));
            }
            for name in names(&self.root.join(path)) {
                self.look(&path.join(name), rules, ours);
            }
        }
    }

    /// Every command that runs has this gap.
    fn gap(&mut self, gap: &str) {
        for open in self.open.values_mut() {
            open.gaps.insert(gap.to_owned());
        }
    }

    fn leave_out(&mut self, path: &Path) {
        self.left_out.insert(path.to_owned());
        self.touch(path);
        let gap = format!("{} is left out: what programs make there is not saved", path.display());
        self.gap(&gap);
    }

    /// What was left out is gone with the path, or below it.
    fn left_out_gone(&mut self, path: &Path) {
        let below = self.left_out.range(path.to_owned()..).take_while(|below| below.starts_with(path));
        for gone in below.cloned().collect::<Vec<_>>() {
            self.left_out.remove(&gone);
            self.touch(&gone);
            self.gap(&format!("{} was removed: it is left out, and was not saved", gone.display()));
        }
    }

    /// Watches a folder. When the system has no more watches, everything is looked at from now on.
    pub(super) fn watch_folder(&mut self, path: &Path) {
        let Some(watch) = &mut self.watch else { return };
        match watch.add(path) {
            Ok(()) => {}
            // Gone again already: that is told by the folder that it was in.
            Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {}
            Err(error) => {
                tracing::warn!(%error, folders = watch.len(), "a workspace is not watched: it is read around each command");
                self.watch = None;
            }
        }
    }

    fn gone(&mut self, path: &Path, ours: Own<'_>) {
        self.left_out_gone(path);
        if self.tree.get(path).is_some_and(Entry::is_folder) {
            self.gone_below(path, ours);
        }
        let known = self.tree.remove(path);
        self.touch(path);
        // Without an entry it was never seen: made and gone again, or not yet come to.
        if known.is_some() || !self.is_known_absent(path) {
            self.changed(path, known, None, ours);
        }
    }

    fn gone_below(&mut self, folder: &Path, ours: Own<'_>) {
        if let Some(watch) = &mut self.watch {
            watch.forget(folder);
        }
        let below = self.tree.range(folder.to_owned()..).map(|(path, _)| path);
        let below: Vec<PathBuf> =
            below.skip_while(|path| *path == folder).take_while(|path| path.starts_with(folder)).cloned().collect();
        for path in below {
            let known = self.tree.remove(&path);
            self.touch(&path);
            self.changed(&path, known, None, ours);
        }
    }

    /// Whether nothing was at a path that has no entry, as far as the baseline can tell now.
    pub(super) fn is_known_absent(&self, path: &Path) -> bool {
        match self.phase {
            Phase::Looking(_) => path.parent().is_some_and(|folder| self.listed.contains_key(folder)),
            _ => true,
        }
    }

    fn changed(&mut self, path: &Path, before: Option<Entry>, after: Option<&Entry>, ours: Own<'_>) {
        if let Some(Entry { content: Content::Kept(_), stamp, .. }) = before.as_ref().filter(|_| after.is_none()) {
            self.keeper.taken = self.keeper.taken.saturating_sub(stamp.size);
        }
        let place = self.root.join(path);
        let written = self.writing.iter().find(|(own, _)| *own == place).map(|(_, by)| *by);
        let written = written.or_else(|| ours.paths.contains(&place).then_some(ours.by));
        let is_own = written.is_some();
        self.tell(path, before.as_ref(), after, written.flatten());
        if self.open.is_empty() || is_own {
            return;
        }
        let looking = matches!(self.phase, Phase::Looking(_));
        let listed = path.parent().and_then(|folder| self.listed.get(folder)).copied();
        let at = chrono::Utc::now().timestamp_millis();
        for open in self.open.values_mut() {
            let first = || match &before {
                Some(entry) if looking && entry.seen >= open.began => Before::Unknown,
                Some(entry) => Before::Entry(entry.clone()),
                None if looking && listed.is_none_or(|begun| begun >= open.began) => Before::Unknown,
                None => Before::Nothing,
            };
            let found = open.found.entry(path.to_owned()).or_insert_with(|| Found { before: first(), after: None, at });
            found.after = after.cloned();
            found.at = at;
        }
    }
}

/// The names in a folder; none when it can't be read.
pub(super) fn names(folder: &Path) -> Vec<std::ffi::OsString> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).collect()
}

impl Open {
    pub(super) fn recorded(self, root: &Path) -> Recorded {
        let mut gaps: Vec<String> = self.gaps.into_iter().collect();
        let mut changes = Vec::new();
        let mut late = 0;
        for (path, found) in self.found {
            let before = match found.before {
                Before::Unknown => {
                    late += 1;
                    continue;
                }
                Before::Nothing => None,
                Before::Entry(entry) => Some(entry),
            };
            let same = match (&before, &found.after) {
                (None, None) => true,
                (Some(before), Some(after)) => before.is_like(after),
                (None, Some(_)) | (Some(_), None) => false,
            };
            if same {
                continue;
            }
            let unkept = [&before, &found.after].into_iter().flatten().find_map(|entry| entry.content.why());
            if let Some(why) = unkept {
                gaps.push(format!("{} {why}", path.display()));
                continue;
            }
            let state = |entry: &Option<Entry>| entry.as_ref().and_then(Entry::state).unwrap_or_default();
            changes.push(FoundChange {
                before: state(&before),
                size: before.as_ref().map_or(0, |entry| entry.stamp.size),
                after: state(&found.after),
                path: root.join(path),
                at: found.at,
            });
        }
        if late > 0 {
            let files = crate::text::format::plural(late, "file", "files");
            gaps.push(format!("{files} touched before Hermes had saved the folder as it was"));
        }
        if gaps.len() > GAPS {
            let more = gaps.len() - GAPS;
            gaps.truncate(GAPS);
            gaps.push(format!("{more} more"));
        }
        Recorded { changes: with_moves(changes), gaps }
    }
}

/// The same changes, each file that was moved beside the place that it came from.
fn with_moves(changes: Vec<FoundChange>) -> Vec<FoundChange> {
    let is_file = |state: &FileState| state.hash.is_some() && state.kind() == 0;
    let mut made: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, change) in changes.iter().enumerate().rev() {
        if let (None, true, Some(hash)) = (&change.before.hash, is_file(&change.after), &change.after.hash) {
            made.entry(hash.clone()).or_default().push(at);
        }
    }
    let mut partner: HashMap<usize, usize> = HashMap::new();
    for (at, change) in changes.iter().enumerate() {
        if let (None, true, Some(hash)) = (&change.after.hash, is_file(&change.before), &change.before.hash)
            && change.size > 0
            && let Some(to) = made.get_mut(hash).and_then(Vec::pop)
        {
            partner.insert(at, to);
        }
    }
    let targets: BTreeSet<usize> = partner.values().copied().collect();
    let mut ordered = Vec::with_capacity(changes.len());
    for (at, change) in changes.iter().enumerate().filter(|(at, _)| !targets.contains(at)) {
        ordered.push(change.clone());
        ordered.extend(partner.get(&at).map(|to| changes[*to].clone()));
    }
    ordered
}

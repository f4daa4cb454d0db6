//! What a worktree holds that the checkout of a session does not: files, their hunks, and what taking them would write.

use super::{LOOK, Worktree, WorktreeError, common, entries, line, merge, on};
use crate::exec::{Repo, RepoError};
use crate::protocol::{FileKind, Pick, Swap, TakeOrder, TreeChanges, TreeFile, TreeHunks};
use crate::store::{Blobs, FileState, LINK, hash};
use crate::text::format::{self, plural};
use crate::tools::file::restore::{Back, Verdict};
use crate::tools::file::restore_target::{Now, RestoreTarget};
use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Files that are listed.
const FILES: usize = 2_000;
/// New files whose lines are counted, and bytes of each.
const COUNTED: usize = 200;
/// Bytes of a file that is shown or counted.
const SHOWN: usize = 4 * 1024 * 1024;
/// Bytes of one that is taken: the history keeps both sides.
const TAKEN: usize = 64 * 1024 * 1024;
/// Lines of the hunks of a file.
const LINES: usize = 20_000;
/// Bytes in which a zero makes a file binary, as git has it.
const SNIFFED: usize = 8_000;

/// Arguments of every comparison: nothing that the settings of the repository name runs.
const PLAIN: [&str; 7] = [
    "diff",
    "--no-ext-diff",
    "--no-textconv",
    "--submodule=short",
    "--ignore-submodules=dirty",
    "-z",
    "--find-renames",
];
/// The mode of a submodule.
const SUBMODULE: &str = "160000";

/// One side of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Side {
    state: FileState,
    bytes: Vec<u8>,
}

impl Side {
    fn new(bytes: Vec<u8>, mode: u32) -> Self {
        Self { state: FileState { hash: Some(hash(&bytes)), mode: Some(mode) }, bytes }
    }

    fn is_text(&self) -> bool {
        self.state.kind() == 0 && !is_binary(&self.bytes)
    }
}

fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(SNIFFED)].contains(&0)
}

/// What taking comes to, before anything is written.
#[derive(Debug, Default)]
pub struct Plan {
    /// What is written, each path as it should become.
    pub backs: Vec<Back>,
    /// The files that these make up, as people read them, and those that are so already.
    pub files: Vec<String>,
    /// Files of which nothing is taken, and why.
    pub left: Vec<(String, String)>,
}

impl Worktree {
    /// The top folder of the checkout that a folder is in, which must be another one of the same repository. Blocks.
    ///
    /// # Errors
    /// It is in none, or in the worktree itself.
    pub fn target(&self, folder: &Path) -> Result<PathBuf, WorktreeError> {
        let until = Instant::now() + LOOK;
        let repo = Repo::of(folder, until)?;
        let root = repo.root(until)?;
        if common(&repo, until)? != self.repository {
            return Err(WorktreeError::Foreign { name: self.name(), project: self.project().to_owned() });
        }
        if self.folder.canonicalize().is_ok_and(|own| own == root) {
            return Err(WorktreeError::Inside { name: self.name(), project: self.project().to_owned() });
        }
        Ok(root)
    }

    /// What is in it that is not in a checkout of its repository, with this top folder: its commits since both parted, what is
    /// in no commit, and new files. Blocks.
    ///
    /// # Errors
    /// Git failed or is late, or it is gone.
    pub fn differs(&self, root: &Path) -> Result<TreeChanges, WorktreeError> {
        let until = Instant::now() + LOOK;
        if !self.folder.join(".git").exists() {
            return Err(WorktreeError::Gone(self.name()));
        }
        let repo = Repo::of(&self.folder, until)?;
        let head = |repo: &Repo| repo.ask(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], until);
        let (own, theirs) = (head(&repo)?, head(&Repo::of(root, until)?)?);
        let (own, theirs) = (line(own), line(theirs));
        let base = match repo.ask(&[OsStr::new("merge-base"), &own, &theirs], until) {
            Ok(base) => line(base),
            // Without a common commit all of both sides is compared.
            Err(RepoError::Failed(_)) => theirs,
            Err(error) => return Err(error.into()),
        };
        let base = base.to_string_lossy().into_owned();
        let loose: HashSet<OsString> = self.loose(&repo, until)?;
        let mut files = self.known(&repo, &base, &loose, until)?;
        let new = repo.new_files(&self.folder, until)?;
        let known: HashSet<String> = files.iter().map(|file| file.path.clone()).collect();
        let new = entries(&new).filter(|name| !known.contains(&*name.to_string_lossy()));
        files.extend(new.enumerate().map(|(at, name)| self.new_file(name, at < COUNTED)));
        files.sort_by(|one, two| one.path.cmp(&two.path));
        let more = files.len().saturating_sub(FILES) as u64;
        files.truncate(FILES);
        for file in files.iter_mut().filter(|file| file.stuck.is_none()) {
            file.here = self.has(root, file);
        }
        let stays = match self.stays() {
            Ok(why) => why.iter().map(ToString::to_string).collect(),
            Err(error) => vec![format!("what can't be known: {error}")],
        };
        let (folder, branch) = (self.folder.display().to_string(), on(&repo, until)?);
        let mark = self.mark()?;
        Ok(TreeChanges { name: self.name(), folder, branch, base, files, more, stays, mark })
    }

    /// Paths that are in no commit, or not as they are now.
    fn loose(&self, repo: &Repo, until: Instant) -> Result<HashSet<OsString>, WorktreeError> {
        let status =
            ["status", "--porcelain=v1", "-z", "--untracked-files=no", "--no-renames", "--ignore-submodules=dirty"];
        let answer = repo.ask(&status, until)?;
        Ok(entries(&answer)
            .filter_map(|entry| entry.as_bytes().get(3..))
            .map(|it| OsStr::from_bytes(it).into())
            .collect())
    }

    fn known(
        &self,
        repo: &Repo,
        base: &str,
        loose: &HashSet<OsString>,
        until: Instant,
    ) -> Result<Vec<TreeFile>, WorktreeError> {
        let counts = repo.ask(&[&PLAIN[..], &["--numstat", base, "--"]].concat(), until)?;
        let counts = counted(&counts);
        let raw = repo.ask(&[&PLAIN[..], &["--raw", "--no-abbrev", base, "--"]].concat(), until)?;
        let mut fields = entries(&raw);
        let mut files = Vec::new();
        while let Some(about) = fields.next() {
            let about = about.to_string_lossy().into_owned();
            let mut about = about.trim_start_matches(':').split(' ');
            let (was, is) = (about.next().unwrap_or_default().to_owned(), about.next().unwrap_or_default().to_owned());
            let state = about.nth(2).unwrap_or_default().chars().next().unwrap_or_default();
            let Some(first) = fields.next() else { break };
            let second = if matches!(state, 'R' | 'C') { fields.next() } else { None };
            let path = second.unwrap_or(first);
            let (added, removed, binary) = counts.get(path).copied().unwrap_or_default();
            let kind = match state {
                'A' | 'C' => FileKind::Added,
                'D' => FileKind::Deleted,
                'R' => FileKind::Moved,
                _ if was != is && added + removed == 0 && !binary => FileKind::Mode,
                _ => FileKind::Modified,
            };
            let stuck = if [&was, &is].iter().any(|mode| *mode == SUBMODULE) {
                Some("a submodule: merge the branch instead".to_owned())
            } else if state == 'U' {
                Some("a merge of it has begun and not ended".to_owned())
            } else {
                unnameable(path)
            };
            let text = |path: &OsStr| path.to_string_lossy().into_owned();
            files.push(TreeFile {
                path: text(path),
                from: second.filter(|_| state == 'R').map(|_| text(first)),
                kind,
                added,
                removed,
                binary,
                loose: loose.contains(path),
                here: false,
                stuck,
            });
        }
        Ok(files)
    }

    /// A file that git does not know.
    fn new_file(&self, name: &OsStr, count: bool) -> TreeFile {
        let mut file = TreeFile {
            path: name.to_string_lossy().into_owned(),
            from: None,
            kind: FileKind::Added,
            added: 0,
            removed: 0,
            binary: false,
            loose: true,
            here: false,
            stuck: unnameable(name),
        };
        if name.as_bytes().ends_with(b"/") {
            file.stuck = Some("a repository inside this one".into());
        } else if count && let Ok(Some(side)) = read(&self.folder, &file.path, SHOWN) {
            file.binary = !side.is_text();
            file.added = if file.binary { 0 } else { merge::lines(&side.bytes).len() as u32 };
        }
        file
    }

    /// Whether a checkout has a file as it is here.
    fn has(&self, root: &Path, file: &TreeFile) -> bool {
        let is_gone = |from: &String| root.join(from).symlink_metadata().is_err();
        if !file.from.as_ref().is_none_or(is_gone) {
            return false;
        }
        let (here, there) = (self.folder.join(&file.path), root.join(&file.path));
        let size = |path: &Path| path.symlink_metadata().ok().map(|about| (about.len(), about.file_type()));
        if size(&here) != size(&there) {
            return false;
        }
        match (read(&self.folder, &file.path, SHOWN), read(root, &file.path, SHOWN)) {
            (Ok(None), Ok(None)) => true,
            (Ok(Some(one)), Ok(Some(two))) => {
                let runs = |side: &Side| runs(side.state.mode.unwrap_or_default());
                one.bytes == two.bytes && runs(&one) == runs(&two)
            }
            _ => false,
        }
    }

    /// The hunks of one of its files since the commit in common, and which of them a checkout has. Blocks.
    ///
    /// # Errors
    /// Git failed or is late, or it is gone.
    pub fn hunks(&self, root: &Path, base: &str, path: &str, from: Option<&str>) -> Result<TreeHunks, WorktreeError> {
        let until = Instant::now() + LOOK;
        if !self.folder.join(".git").exists() {
            return Err(WorktreeError::Gone(self.name()));
        }
        let repo = Repo::of(&self.folder, until)?;
        let note = |note: String| Ok(TreeHunks { path: path.to_owned(), note, ..TreeHunks::default() });
        let old = match before(&repo, base, from.unwrap_or(path), SHOWN, until) {
            Ok(old) => old.unwrap_or_default(),
            Err(why) => return note(why),
        };
        let new = match read(&self.folder, path, SHOWN) {
            Ok(new) => new.unwrap_or_default(),
            Err(why) => return note(why),
        };
        if !old.is_text() || !new.is_text() {
            let size = |side: &Side| match &side.state.hash {
                Some(_) if side.state.kind() == LINK => format!("link to {}", String::from_utf8_lossy(&side.bytes)),
                Some(_) => format::bytes(side.bytes.len() as u64),
                None => "nothing".to_owned(),
            };
            return note(format!("not text: {} → {}", size(&old), size(&new)));
        }
        let seen = new.state.hash.clone().unwrap_or_default();
        let (mut hunks, hidden) = merge::hunks(&merge::lines(&old.bytes), &merge::lines(&new.bytes), LINES);
        let now = read(root, path, SHOWN).ok().flatten().unwrap_or_default();
        if from.is_none() && now.is_text() && (now.state.hash.is_some() || new.state.hash.is_none()) {
            for hunk in &mut hunks {
                let with = merge::merge(&old.bytes, &now.bytes, &new.bytes, &hunk.swaps);
                hunk.here = with.is_ok_and(|with| with == now.bytes);
            }
        }
        let mut notes: Vec<String> = Vec::new();
        if let (Some(was), Some(is)) = (old.state.mode, new.state.mode)
            && runs(was) != runs(is)
        {
            notes.push(format!("mode {was:o} → {is:o}, taken with all of the file"));
        }
        if hidden > 0 {
            notes.push(format!("{} not shown", plural(hidden as u64, "more line is", "more lines are")));
        }
        Ok(TreeHunks { path: path.to_owned(), seen, hunks, note: notes.join("; ") })
    }

    /// What an order to take comes to in a checkout with this top folder; the bytes of it are kept already. Blocks.
    ///
    /// # Errors
    /// Git failed or is late, or it is gone.
    pub fn plan(&self, order: &TakeOrder, root: &Path, blobs: &Blobs) -> Result<Plan, WorktreeError> {
        let until = Instant::now() + LOOK;
        if !self.folder.join(".git").exists() {
            return Err(WorktreeError::Gone(self.name()));
        }
        let repo = Repo::of(&self.folder, until)?;
        let mut plan = Plan::default();
        for pick in &order.picks {
            match self.pick(&repo, &order.base, pick, root, until) {
                Ok(steps) => {
                    let kept = steps.iter().try_for_each(|(_, after)| match &after.state.hash {
                        Some(_) => blobs.keep(&after.bytes).map(drop),
                        None => Ok(()),
                    });
                    if let Err(error) = kept {
                        plan.left.push((pick.path.clone(), error.to_string().to_lowercase()));
                        continue;
                    }
                    plan.files.push(pick.path.clone());
                    plan.backs.extend(steps.into_iter().map(|(back, _)| back));
                }
                Err(why) => plan.left.push((pick.path.clone(), why)),
            }
        }
        // What goes makes room for what comes.
        plan.backs.sort_by_key(|back| back.target.hash.is_some());
        Ok(plan)
    }

    fn pick(
        &self,
        repo: &Repo,
        base: &str,
        pick: &Pick,
        root: &Path,
        until: Instant,
    ) -> Result<Vec<(Back, Side)>, String> {
        let inside =
            |path: &str| Path::new(path).components().all(|part| matches!(part, std::path::Component::Normal(_)));
        if !inside(&pick.path) || !pick.from.as_deref().is_none_or(inside) {
            return Err("its path leads out of the folder".into());
        }
        let old = before(repo, base, pick.from.as_deref().unwrap_or(&pick.path), TAKEN, until)?.unwrap_or_default();
        let new = read(&self.folder, &pick.path, TAKEN)?.unwrap_or_default();
        let take = match &pick.part {
            Some((seen, _))
                if new.state.hash.as_ref() != Some(seen) && !(seen.is_empty() && new.state.hash.is_none()) =>
            {
                return Err("it changed in the worktree since it was shown: reload the list".into());
            }
            Some((_, swaps)) => Some(swaps.as_slice()),
            None => None,
        };
        let Some(from) = &pick.from else { return Ok(step(root, &pick.path, &old, &new, take)?.into_iter().collect()) };
        if take.is_some() {
            return Err("a file that was moved is taken whole".into());
        }
        // The old place goes only as it was; what was changed in it here goes along.
        let (there, here) = (look(root, from)?, look(root, &pick.path)?);
        if there.state.hash.is_none() && here.state.hash == new.state.hash {
            return Ok(Vec::new());
        }
        if here.state.hash.is_some() {
            return Err("there is a file of this name already".into());
        }
        let moved = if there.state.hash == old.state.hash || there.state.hash.is_none() {
            if there.state.hash.is_none() {
                return Err(format!("{from} is not here any more"));
            }
            new.clone()
        } else {
            merged(&old, &there, &new, None)?
        };
        Ok(vec![back(root, from, &Side::default())?, back(root, &pick.path, &moved)?])
    }
}

/// What taking a file writes; none: it is so already.
fn step(
    root: &Path,
    path: &str,
    old: &Side,
    new: &Side,
    take: Option<&[Swap]>,
) -> Result<Option<(Back, Side)>, String> {
    let now = look(root, path)?;
    let after = match (&old.state.hash, &now.state.hash, &new.state.hash) {
        _ if take.is_none() && now.state.is_like(&new.state) => return Ok(None),
        (_, None, None) => return Ok(None),
        (None, Some(_), Some(_)) => return Err("there is another file of this name here".into()),
        (Some(_), None, Some(_)) => return Err("it was deleted here".into()),
        (None, None, Some(_)) => new.clone(),
        (_, Some(_), None) if now.state.hash == old.state.hash => Side::default(),
        (_, Some(_), None) => return Err("it was changed here since, and would be deleted".into()),
        (Some(_), Some(_), Some(_)) => merged(old, &now, new, take)?,
    };
    if now.state.is_like(&after.state) { Ok(None) } else { back(root, path, &after).map(Some) }
}

/// What becomes of a file that is on all three sides.
fn merged(old: &Side, now: &Side, new: &Side, take: Option<&[Swap]>) -> Result<Side, String> {
    let conflict = || "it was changed here too, in a way that can't be put together".to_owned();
    let plain = [old, now, new].iter().all(|side| side.state.kind() == 0);
    if !plain || ![old, now, new].iter().all(|side| side.is_text()) {
        // Neither links nor binary files are put together.
        return if now.state.hash == old.state.hash && take.is_none() { Ok(new.clone()) } else { Err(conflict()) };
    }
    let all = match take {
        Some(_) => Vec::new(),
        None => merge::swaps(&merge::lines(&old.bytes), &merge::lines(&new.bytes)),
    };
    let bytes = merge::merge(&old.bytes, &now.bytes, &new.bytes, take.unwrap_or(&all))
        .map_err(|merge::Conflict(line)| format!("it was changed here too, around line {line}"))?;
    let mode = now.state.mode.unwrap_or(0o644);
    let (was, is) = (old.state.mode.unwrap_or(mode), new.state.mode.unwrap_or(mode));
    // Only whether it can be run crosses, as in git.
    let mode = match (take, runs(was), runs(is)) {
        (None, false, true) => mode | 0o111,
        (None, true, false) => mode & !0o111,
        _ => mode,
    };
    Ok(Side::new(bytes, mode))
}

fn runs(mode: u32) -> bool {
    mode & 0o100 != 0
}

/// The write of a file as it should become.
fn back(root: &Path, path: &str, after: &Side) -> Result<(Back, Side), String> {
    let place = root.join(path);
    // A file where a folder is needed stays.
    let wall = place.ancestors().skip(1).take_while(|at| at.starts_with(root)).find(|at| at.is_file());
    if let Some(wall) = wall {
        return Err(format!("{} is a file here", wall.strip_prefix(root).unwrap_or(wall).display()));
    }
    let now = RestoreTarget::default().look("", &place);
    let left = now.state().unwrap_or_default();
    let target = after.state.clone();
    Ok((Back { place: String::new(), path: place, target, left, now, verdict: Verdict::Ready }, after.clone()))
}

/// A file as it stands in the checkout of the session.
fn look(root: &Path, path: &str) -> Result<Side, String> {
    Ok(read(root, path, TAKEN)?.unwrap_or_default())
}

/// A file below a folder; `None`: there is none. A link is not followed.
fn read(root: &Path, path: &str, most: usize) -> Result<Option<Side>, String> {
    let (ground, place) = (RestoreTarget::default(), root.join(path));
    if let Ok(about) = place.symlink_metadata()
        && about.is_file()
        && about.len() > most as u64
    {
        return Err(format!("too large to be compared: {}", format::bytes(about.len())));
    }
    let now = ground.look("", &place);
    match &now {
        Now::Missing => return Ok(None),
        Now::Other(why) => return Err(why.clone()),
        Now::Folder { .. } => return Err("a folder stands there".into()),
        Now::File { .. } | Now::Link { .. } => {}
    }
    let bytes = ground.read("", &place).map_err(|error| error.to_string().to_lowercase())?;
    Ok(Some(Side { state: now.state().unwrap_or_default(), bytes }))
}

/// A file as it was in a commit, with the line ends of a checkout; `None`: it was not there.
fn before(repo: &Repo, base: &str, path: &str, most: usize, until: Instant) -> Result<Option<Side>, String> {
    let said = |error: RepoError| error.to_string();
    let answer = repo.ask(&["ls-tree", "-z", "--full-tree", base, "--", path], until).map_err(said)?;
    let Some(entry) = entries(&answer).next() else { return Ok(None) };
    let entry = entry.to_string_lossy().into_owned();
    let mut about = entry.split(['\t', ' ']);
    let (mode, id) = (about.next().unwrap_or_default().to_owned(), about.nth(1).unwrap_or_default().to_owned());
    let bytes = match mode.as_str() {
        "120000" => repo.whole(&["cat-file", "blob", &id], most, until),
        SUBMODULE | "040000" => return Err("it was a folder or a submodule".into()),
        _ => repo.whole(&["cat-file", "--filters", &format!("--path={path}"), &id], most, until),
    };
    let mode = match mode.as_str() {
        "120000" => LINK | 0o777,
        "100755" => 0o755,
        _ => 0o644,
    };
    bytes.map(|bytes| Some(Side::new(bytes, mode))).map_err(said)
}

/// Why a path can't be named in an order.
fn unnameable(path: &OsStr) -> Option<String> {
    path.to_str().is_none().then(|| "its name is not UTF-8: use git".to_owned())
}

/// Lines added and removed by path, and whether it is binary.
fn counted(answer: &[u8]) -> HashMap<OsString, (u32, u32, bool)> {
    let mut out = HashMap::new();
    let mut fields = answer.split(|byte| *byte == 0);
    while let Some(field) = fields.next().filter(|field| !field.is_empty()) {
        let mut parts = field.splitn(3, |byte| *byte == b'\t');
        let number = |part: Option<&[u8]>| std::str::from_utf8(part.unwrap_or_default()).ok()?.parse::<u32>().ok();
        let (added, removed) = (number(parts.next()), number(parts.next()));
        let path = match parts.next().filter(|path| !path.is_empty()) {
            Some(path) => path,
            // A file that was moved: the old path, then the new one.
            None => fields.nth(1).unwrap_or_default(),
        };
        let binary = added.is_none();
        out.insert(OsStr::from_bytes(path).to_owned(), (added.unwrap_or(0), removed.unwrap_or(0), binary));
    }
    out
}

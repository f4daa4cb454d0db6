//! Which files: a parallel walk under ignore rules, filtered by name.

use super::{Bounds, Secrets};
use crate::lock::lock;
use crate::places::Reach;
use crate::tools::spec::ToolError;
use globset::{Glob, GlobBuilder, GlobMatcher};
use ignore::{WalkBuilder, WalkState};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Paths are held in memory; beyond this the search says that it is not complete.
const MAX_FILES: usize = 400_000;

/// Entries after which a thread looks whether the search is over.
const LOOK_EVERY: u32 = 64;

/// Threads of one search: enough to be fast, not so many that the program stutters.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(2, std::num::NonZero::get).min(4)
}

/// A glob for file names, or for paths below the folder when it has a `/`.
pub struct Names {
    matcher: GlobMatcher,
    on_path: bool,
}

impl Names {
    /// `*.rs`, `src/**/*.rs`; a bare word matches names that contain it.
    pub fn new(glob: &str) -> Result<Self, ToolError> {
        let glob = glob.trim().trim_start_matches("./");
        let on_path = glob.contains('/');
        let bare = !glob.contains(['*', '?', '[', '{']);
        let pattern = match (on_path, bare) {
            (false, true) => format!("*{}*", globset::escape(glob)),
            (true, _) => format!("**/{}", glob.trim_start_matches('/')),
            (false, false) => glob.to_owned(),
        };
        let built: Result<Glob, _> = GlobBuilder::new(&pattern).literal_separator(true).build();
        let matcher = built
            .map_err(|error| ToolError::Args(format!("`{glob}` is not a valid glob: {}", error.kind())))?
            .compile_matcher();
        Ok(Self { matcher, on_path })
    }

    /// Whether it names hidden files: `.env`, `conf/.*rc`.
    pub fn are_hidden(glob: &str) -> bool {
        glob.trim().rsplit('/').next().is_some_and(|name| name.starts_with('.') && name.len() > 1)
    }

    /// Whether it is meant; `root` is the folder that is searched.
    pub fn matches(&self, path: &Path, root: &Path) -> bool {
        match (self.on_path, path.file_name()) {
            (true, _) => self.matcher.is_match(path.strip_prefix(root).unwrap_or(path)),
            (false, Some(name)) => self.matcher.is_match(name),
            (false, None) => false,
        }
    }
}

/// Files found, sorted by path.
#[derive(Default)]
pub struct Walked {
    pub files: Vec<PathBuf>,
    pub notes: Vec<String>,
    /// There are more files than were looked at.
    pub cut: bool,
}

/// All files below `root` (or `root` itself) within this reach that are not among the secrets, and match.
pub fn walk(root: &Path, names: Option<&Names>, secrets: Option<&Secrets>, reach: Reach, bounds: &Bounds) -> Walked {
    let left_out = AtomicUsize::new(0);
    let files = Mutex::new(Vec::new());
    let (count, unreadable) = (AtomicUsize::new(0), AtomicBool::new(false));
    let mut walker = WalkBuilder::new(root);
    if reach != Reach::Usual {
        walker.hidden(false);
    }
    if reach == Reach::All {
        walker.ignore(false).parents(false).git_ignore(false).git_global(false).git_exclude(false);
    }
    // Kernel files are not files of a project: some have no end. What git keeps is nobody's file.
    walker.threads(threads()).filter_entry(|entry| {
        let kernel = [Path::new("/proc"), Path::new("/sys"), Path::new("/dev")];
        entry.depth() == 0 || entry.file_name() != ".git" && (entry.depth() != 1 || !kernel.contains(&entry.path()))
    });
    walker.build_parallel().run(|| {
        let mut mine = Batch { files: Vec::new(), all: &files, count: &count };
        let mut entries = 0u32;
        let (unreadable, left_out, bounds) = (&unreadable, &left_out, bounds);
        Box::new(move |entry| {
            entries = entries.wrapping_add(1);
            if entries.is_multiple_of(LOOK_EVERY) && bounds.over() {
                return WalkState::Quit;
            }
            match entry {
                Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => {
                    if names.is_none_or(|names| names.matches(entry.path(), root)) {
                        if secrets.is_some_and(|secrets| secrets.has(entry.path())) {
                            left_out.fetch_add(1, Ordering::Relaxed);
                        } else if !mine.push(entry.into_path()) {
                            return WalkState::Quit;
                        }
                    }
                }
                Ok(_) => {}
                Err(_) => unreadable.store(true, Ordering::Relaxed),
            }
            WalkState::Continue
        })
    });
    let mut files = files.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    // A stable sort finds the sorted runs.
    files.sort_by(|a, b| by_bytes(a, b));
    let mut notes = Vec::new();
    let cut = count.into_inner() > MAX_FILES;
    if cut {
        notes.push(format!("only the first {MAX_FILES} files were looked at; name a folder"));
    }
    match left_out.into_inner() {
        0 => {}
        1 => notes.push("left out: 1 file with secrets".to_owned()),
        n => notes.push(format!("left out: {n} files with secrets")),
    }
    if unreadable.into_inner() {
        notes.push("some folders could not be read".to_owned());
    }
    Walked { files, notes, cut }
}

/// What one thread has found, handed over in the end, sorted: what is left to do is a merge.
struct Batch<'a> {
    files: Vec<PathBuf>,
    all: &'a Mutex<Vec<PathBuf>>,
    count: &'a AtomicUsize,
}

impl Batch<'_> {
    /// Whether there is room for more.
    fn push(&mut self, path: PathBuf) -> bool {
        self.files.push(path);
        self.count.fetch_add(1, Ordering::Relaxed) < MAX_FILES
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.files.sort_unstable_by(|a, b| by_bytes(a, b));
        lock(self.all).append(&mut self.files);
    }
}

/// By bytes: one comparison of memory instead of one for each part.
fn by_bytes(a: &Path, b: &Path) -> std::cmp::Ordering {
    a.as_os_str().as_bytes().cmp(b.as_os_str().as_bytes())
}

/// The same files by time of change, newest first.
pub fn newest_first(files: Vec<PathBuf>) -> Vec<PathBuf> {
    let changed = |path: &PathBuf| std::fs::metadata(path).and_then(|meta| meta.modified()).ok();
    let mut times = vec![None; files.len()];
    // Asking costs more than the walk when there are many.
    let lot = files.len().div_ceil(threads()).max(512);
    std::thread::scope(|scope| {
        for (files, times) in files.chunks(lot).zip(times.chunks_mut(lot)) {
            scope.spawn(move || times.iter_mut().zip(files).for_each(|(time, path)| *time = changed(path)));
        }
    });
    let mut dated: Vec<_> = times.into_iter().zip(files).collect();
    dated.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| by_bytes(&a.1, &b.1)));
    dated.into_iter().map(|(_, path)| path).collect()
}

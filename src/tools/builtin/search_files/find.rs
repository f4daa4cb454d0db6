//! Which files: a parallel walk under ignore rules, filtered by name.

use super::{Bounds, Secrets};
use crate::backends::Reach;
use crate::lock::lock;
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

/// What is known after a walk.
#[derive(Default)]
pub struct Walked {
    pub notes: Vec<String>,
    /// There are more files than were looked at.
    pub cut: bool,
}

/// Gives each file below `root` (or `root` itself) within this reach that matches and is not among the secrets to what
/// `each` makes for one thread, until that returns false.
pub fn walk<Each: FnMut(PathBuf) -> bool + Send>(
    root: &Path,
    names: Option<&Names>,
    secrets: Option<&Secrets>,
    reach: Reach,
    bounds: &Bounds,
    each: impl Fn() -> Each,
) -> Walked {
    let left_out = AtomicUsize::new(0);
    let (cut, unreadable) = (AtomicBool::new(false), AtomicBool::new(false));
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
        let mut mine = each();
        let mut entries = 0u32;
        let (cut, unreadable, left_out, bounds) = (&cut, &unreadable, &left_out, bounds);
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
                        } else if !mine(entry.into_path()) {
                            cut.store(true, Ordering::Relaxed);
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
    let mut notes = Vec::new();
    match left_out.into_inner() {
        0 => {}
        1 => notes.push("left out: 1 file with secrets".to_owned()),
        n => notes.push(format!("left out: {n} files with secrets")),
    }
    if unreadable.into_inner() {
        notes.push("some folders could not be read".to_owned());
    }
    Walked { notes, cut: cut.into_inner() }
}

/// The files that match, the one that was changed last first.
pub fn files(root: &Path, names: &Names, reach: Reach, bounds: &Bounds) -> (Vec<PathBuf>, Walked) {
    let (all, count) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    let mut walked = walk(root, Some(names), None, reach, bounds, || {
        let mut mine = Batch { files: Vec::new(), all: &all };
        let count = &count;
        move |path| {
            mine.files.push(path);
            count.fetch_add(1, Ordering::Relaxed) < MAX_FILES
        }
    });
    if walked.cut {
        walked.notes.push(format!("only the first {MAX_FILES} files were searched; name a folder"));
    }
    (newest_first(all.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)), walked)
}

/// What one thread has found, handed over in the end.
struct Batch<'a> {
    files: Vec<PathBuf>,
    all: &'a Mutex<Vec<PathBuf>>,
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        lock(self.all).append(&mut self.files);
    }
}

/// By bytes: one comparison of memory instead of one for each part.
pub fn by_bytes(a: &Path, b: &Path) -> std::cmp::Ordering {
    a.as_os_str().as_bytes().cmp(b.as_os_str().as_bytes())
}

/// The same files by time of change, newest first.
fn newest_first(files: Vec<PathBuf>) -> Vec<PathBuf> {
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

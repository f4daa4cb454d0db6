//! A world that asks the machine once for each thing: a line names the same paths again and again.

use crate::lock::lock;
use crate::policy::files::normal;
use crate::policy::{About, Matches, World};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Links that one path goes through, and that one line makes.
const MAX_LINKS: usize = 8;
const MAX_MADE: usize = 64;
/// Answers that are kept.
const MAX_KEPT: usize = 8192;
/// Looks at the disk for one line: each takes some microseconds.
const MAX_LOOKS: usize = 1536;

/// The machine, with its answers kept for one line.
pub(super) struct Memo<'w> {
    world: &'w dyn World,
    home: PathBuf,
    own: PathBuf,
    resolved: Mutex<HashMap<PathBuf, PathBuf>>,
    matched: Mutex<HashMap<(String, PathBuf, usize), Matches>>,
    /// Links that the line makes, and what they lead to.
    links: Mutex<HashMap<String, String>>,
    /// How often the machine was asked.
    looks: AtomicUsize,
}

/// A path below one of these, told by where that leads.
pub(super) fn followed(links: &HashMap<String, String>, path: &str) -> Option<String> {
    if links.is_empty() {
        return None;
    }
    let clean = normal(Path::new("/"), path);
    let mut end = clean.len();
    loop {
        if let Some(target) = links.get(&clean[..end]) {
            return Some(normal(Path::new("/"), &format!("{target}{}", &clean[end..])));
        }
        end = clean[..end].rfind('/').filter(|at| *at > 0)?;
    }
}

impl<'w> Memo<'w> {
    pub fn new(world: &'w dyn World) -> Self {
        let (home, own) = (world.home(), world.hermes_home());
        Self {
            world,
            home,
            own,
            resolved: Mutex::default(),
            matched: Mutex::default(),
            links: Mutex::default(),
            looks: AtomicUsize::new(0),
        }
    }

    /// Whether the line has made the machine look for as much as one line may.
    pub fn has_looked_enough(&self) -> bool {
        self.looks.load(Ordering::Relaxed) > MAX_LOOKS
    }

    /// The line makes a link.
    pub fn link(&self, path: String, target: String) {
        let mut links = lock(&self.links);
        if links.len() < MAX_MADE {
            links.insert(path, target);
        }
        lock(&self.resolved).clear();
    }

    /// Whether the line makes links.
    pub fn has_links(&self) -> bool {
        !lock(&self.links).is_empty()
    }
}

impl World for Memo<'_> {
    fn home(&self) -> PathBuf {
        self.home.clone()
    }

    fn hermes_home(&self) -> PathBuf {
        self.own.clone()
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.world.variable(name)
    }

    fn glob(&self, pattern: &str, cwd: &Path, limit: usize) -> Matches {
        let key = (pattern.to_owned(), cwd.to_path_buf(), limit);
        let mut kept = lock(&self.matched);
        if let Some(found) = kept.get(&key) {
            return found.clone();
        }
        self.looks.fetch_add(1, Ordering::Relaxed);
        let found = self.world.glob(pattern, cwd, limit);
        if kept.len() < MAX_KEPT {
            kept.insert(key, found.clone());
        }
        found
    }

    fn is_here(&self) -> bool {
        self.world.is_here()
    }

    fn border(&self) -> Vec<PathBuf> {
        self.world.border()
    }

    fn made(&self, path: &Path) -> bool {
        self.world.made(path)
    }

    fn about(&self, path: &Path) -> Option<About> {
        self.looks.fetch_add(1, Ordering::Relaxed);
        self.world.about(path)
    }

    fn text(&self, path: &Path, limit: usize) -> Option<String> {
        self.world.text(path, limit)
    }

    fn resolve(&self, path: &Path) -> PathBuf {
        let mut kept = lock(&self.resolved);
        if let Some(found) = kept.get(path) {
            return found.clone();
        }
        let mut text = path.to_string_lossy().into_owned();
        {
            let links = lock(&self.links);
            for _ in 0..MAX_LINKS {
                let Some(next) = followed(&links, &text) else { break };
                text = next;
            }
        }
        self.looks.fetch_add(1, Ordering::Relaxed);
        let found = self.world.resolve(Path::new(&text));
        if kept.len() < MAX_KEPT {
            kept.insert(path.to_path_buf(), found.clone());
        }
        found
    }
}

//! What a permission means: names of calls, paths with `**`, and which lines hold for a call.

use super::{Argument, Here, Permission};
use crate::policy::files::normal;
use crate::policy::rule::Action;
use crate::policy::{Intent, World, glob};
use std::path::Path;

/// The names of a call: its tool, its action, and the family of the action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names<'a> {
    pub tool: &'a str,
    /// `file.write`; empty for tools that have none.
    pub action: &'a str,
    /// `file`.
    pub family: &'a str,
}

impl<'a> Names<'a> {
    /// The names of a call; `None` for files stands for the paths of it, which have names each.
    pub fn of(intent: &'a Intent, here: &'a Here) -> Self {
        let (action, family) = match intent {
            Intent::Command { background: false, .. } => ("terminal.run", "terminal"),
            Intent::Command { .. } => ("terminal.background", "terminal"),
            Intent::Input { .. } => ("terminal.write", "terminal"),
            Intent::Read(_) => ("file.read", "file"),
            Intent::Edit(_) => ("file.write", "file"),
            Intent::Code { .. } => ("code.run", "code"),
            Intent::Remote { tool, .. } => return Self { tool, action: "", family: "" },
            Intent::Talk | Intent::Handle => ("", "agent"),
        };
        Self { tool: &here.tool, action, family }
    }

    /// The same tool with another action of its family.
    pub fn acting(self, action: &'a str) -> Self {
        Self { action, ..self }
    }
}

impl Permission {
    /// Whether its name means a call.
    pub fn names(&self, names: Names<'_>) -> bool {
        let name = &self.on.name;
        let means = |known: &str| !known.is_empty() && glob::matches(name, known);
        // A removal is a write to what asks or denies, and not to what allows.
        let stricter = self.action != Action::Allow && names.action == "file.delete" && means("file.write");
        means(names.tool) || means(names.action) || means(names.family) || stricter
    }

    /// Whether its path means this one: resolved (`real`) and as named (`literal`), both absolute. An allowing one needs
    /// both, and stays below its folder. Without a path it means all.
    pub fn means_path(&self, literal: &str, real: &str, here: &Here, cwd: &Path, world: &dyn World) -> bool {
        let Argument::Path(pattern) = &self.on.argument else { return matches!(self.on.argument, Argument::None) };
        let base = self.folder.as_deref().unwrap_or(cwd);
        let means = |path: &str, base: &Path| path_matches(&relative_to(pattern, base, &world.home()), path);
        // The folder itself may stand behind a link.
        let behind = |path: &str| means(path, base) || means(path, &world.resolve(base));
        if self.action == Action::Allow {
            return behind(literal) && behind(real);
        }
        // What forbids a name forbids it wherever the session goes.
        let elsewhere = |path: &str| {
            means(path, &here.folder)
                || (!pattern.contains('/')
                    && Path::new(path)
                        .components()
                        .any(|part| part.as_os_str().to_str().is_some_and(|name| glob::matches(pattern, name))))
        };
        [literal, real].into_iter().any(|path| behind(path) || elsewhere(path))
    }

    /// Whether its path may be one below any of these folders.
    pub fn may_mean_below(&self, folders: [&str; 2], here: &Here, cwd: &Path, world: &dyn World) -> bool {
        let Argument::Path(pattern) = &self.on.argument else { return matches!(self.on.argument, Argument::None) };
        let base = self.folder.as_deref().unwrap_or(cwd);
        let resolved = world.resolve(base);
        // A name without a folder is forbidden wherever it is.
        !pattern.contains('/')
            || [base, &resolved, &here.folder].into_iter().any(|base| {
                let pattern = relative_to(pattern, base, &world.home());
                folders.into_iter().any(|folder| may_be_below(&pattern, folder))
            })
    }

    /// Whether it tells the place of what it allows: a path that is absolute, or one below a folder of its own.
    pub fn tells_the_place(&self) -> bool {
        matches!(&self.on.argument, Argument::Path(path) if path.starts_with(['/', '~']) || self.folder.is_some())
    }

    /// Whether its host means this one.
    pub fn means_host(&self, host: &str) -> bool {
        match &self.on.argument {
            Argument::None => true,
            Argument::Host(wanted) => {
                let bare = wanted.strip_prefix("*.").unwrap_or(wanted);
                glob::matches(wanted, host) || (self.action != Action::Allow && bare == host)
            }
            Argument::Words | Argument::Line(_) | Argument::Path(_) | Argument::Entry(_) => false,
        }
    }
}

/// A pattern as an absolute one: `~` is the home folder, a name without a folder means it at any depth below `base`.
pub fn relative_to(pattern: &str, base: &Path, home: &Path) -> String {
    if let Some(rest) = pattern.strip_prefix('~') {
        return format!("{}{rest}", home.display());
    }
    if pattern.starts_with('/') {
        return pattern.to_owned();
    }
    let base = normal(Path::new("/"), &base.to_string_lossy());
    let base = base.trim_end_matches('/');
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    if pattern.contains('/') { format!("{base}/{pattern}") } else { format!("{base}/**/{pattern}") }
}

/// Whether a path matches: `*` stays within a name, `**` crosses folders, and what matches a folder matches what is below
/// `FOLDER/**`, the folder itself included.
pub fn path_matches(pattern: &str, path: &str) -> bool {
    let parts = |text: &'_ str| -> Vec<String> {
        text.split('/').filter(|part| !part.is_empty() && *part != ".").map(str::to_owned).collect()
    };
    let (pattern, path) = (parts(pattern), parts(path));
    if path.iter().any(|part| part == "..") {
        return false;
    }
    let (mut p, mut t) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while t < path.len() {
        match pattern.get(p) {
            Some(part) if part == "**" => {
                retry = Some((p + 1, t));
                p += 1;
                continue;
            }
            Some(part) if glob::matches(part, &path[t]) => {
                p += 1;
                t += 1;
                continue;
            }
            _ => {}
        }
        match retry {
            Some((after, from)) => {
                retry = Some((after, from + 1));
                p = after;
                t = from + 1;
            }
            None => return false,
        }
    }
    pattern[p..].iter().all(|part| part == "**")
}

/// Whether a pattern of [`path_matches`] may match something below a folder, or the folder.
fn may_be_below(pattern: &str, folder: &str) -> bool {
    let mut pattern = pattern.split('/').filter(|part| !part.is_empty() && *part != ".");
    for part in folder.split('/').filter(|part| !part.is_empty()) {
        match pattern.next() {
            Some("**") => return true,
            Some(wanted) if glob::matches(wanted, part) => {}
            _ => return false,
        }
    }
    true
}

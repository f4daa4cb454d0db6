//! Which classes of paths a word can mean, itself or with what lies below it, links followed.

use crate::policy::files::{class_in, normal};
use crate::policy::glob;
use crate::policy::reach::{self, Places};
use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::resolve::{Field, UNKNOWN};
use crate::policy::table::{Level, PathClass};
use std::path::Path;

impl<'w> Walker<'w> {
    /// The worst effect that a file could have that is made below a folder.
    pub(in crate::policy::shell) fn worst_below(&mut self, folder: &Field) -> Option<&'w str> {
        let mut worst: Option<(Level, &'w str)> = None;
        for class in self.classes_below(folder, true) {
            let level = self.table.effect(&class.write).level;
            // That it could hit a device too does not make it certain.
            if !class.write.is_empty() && level < Level::Refuse && worst.is_none_or(|(worst, _)| worst < level) {
                worst = Some((level, &class.write));
            }
        }
        worst.map(|(_, effect)| effect)
    }

    /// The classes of what may lie below a folder, links followed.
    pub(in crate::policy::shell) fn classes_below(&mut self, folder: &Field, hidden: bool) -> Vec<&'w PathClass> {
        let mut found: Vec<&PathClass> = Vec::new();
        for path in self.absolute(&folder.text) {
            if path.starts_with(&format!("/{UNKNOWN}")) || !self.spend(4, &folder.span) {
                continue;
            }
            let real = if folder.glob || path.contains(UNKNOWN) {
                path.clone()
            } else {
                self.world.resolve(Path::new(&path)).to_string_lossy().into_owned()
            };
            let both = [Some(&path), Some(&real).filter(|real| **real != path)];
            for path in both.into_iter().flatten() {
                let (home, own) = (self.home.as_str(), self.own.as_str());
                for class in reach::below(self.table, path, folder.glob, hidden, Places { home, own }) {
                    if !self.is_meaningless(class, path) && !found.iter().any(|c| c.name == class.name) {
                        found.push(class);
                    }
                }
            }
        }
        found
    }

    /// The class of one absolute path.
    pub(in crate::policy::shell) fn class(&self, path: &str) -> Option<&'w PathClass> {
        class_in(self.table, path, &self.home, &self.own)
    }

    /// Whether a class is only for what is outside the working folder, and this is inside.
    fn is_meaningless(&self, class: &PathClass, path: &str) -> bool {
        class.elsewhere && self.border.has_beside(Path::new(path), Path::new(&self.home))
    }

    /// The classes of all paths that a field can mean, links followed, and whether it certainly means one of that class.
    pub(in crate::policy::shell) fn classes(&mut self, field: &Field, writes: bool) -> Vec<(&'w PathClass, bool)> {
        let table = self.table;
        let mut paths = Vec::new();
        let mut found: Vec<(&PathClass, bool)> = Vec::new();
        let text = field
            .text
            .strip_prefix("file://")
            .map_or(field.text.as_str(), |path| path.strip_prefix("localhost").unwrap_or(path));
        if text.is_empty() || text.len() > 4096 {
            return Vec::new();
        }
        for path in self.absolute(text) {
            let vague = writes && path.contains(UNKNOWN) && !path.starts_with(&format!("/{UNKNOWN}"));
            if field.glob || vague {
                // Reading folders costs.
                if !self.spend(reach::work(&path), &field.span) {
                    break;
                }
                let places = Places { home: &self.home, own: &self.own };
                for class in reach::may_be(table, &path, field.glob, places) {
                    if !found.iter().any(|(c, _)| c.name == class.name) {
                        found.push((class, false));
                    }
                }
                if field.glob {
                    let listed = self.world.glob(&path, Path::new("/"), 64).names;
                    for found in listed {
                        let real = self.world.resolve(&found);
                        paths.extend([found, real].map(|p| p.to_string_lossy().into_owned()));
                    }
                }
            } else if !path.contains(UNKNOWN) {
                let real = self.world.resolve(Path::new(&path)).to_string_lossy().into_owned();
                if real != path {
                    paths.push(real);
                }
            }
            paths.push(path);
        }
        // Links before `..` lead elsewhere than the text says.
        if text.contains("..") && !text.contains(UNKNOWN) && !field.glob {
            for cwd in &self.state.cwds {
                paths.push(self.world.resolve(&Path::new(cwd).join(text)).to_string_lossy().into_owned());
            }
        }
        for path in paths {
            if !self.spend(1, &field.span) {
                break;
            }
            let Some(class) = class_in(table, &path, &self.home, &self.own) else { continue };
            if self.is_meaningless(class, &path) {
                continue;
            }
            match found.iter_mut().find(|(c, _)| c.name == class.name) {
                Some(known) => known.1 = true,
                None => found.push((class, true)),
            }
        }
        found
    }

    /// The folders that a path names or empties (`DIR/*`), and whether it empties them.
    pub(in crate::policy::shell) fn base(&self, field: &Field) -> (Vec<String>, bool) {
        let mut text = field.text.as_str();
        let mut all = false;
        loop {
            if !field.glob {
                break;
            }
            let trimmed = text.trim_end_matches('/');
            let (folder, last) = trimmed.rsplit_once('/').map_or(("", trimmed), |(f, l)| (f, l));
            if !matches!(
                last,
                "*" | "**"
                    | ".*"
                    | "?*"
                    | "*?"
                    | ".??*"
                    | ".[!.]*"
                    | ".[^.]*"
                    | "[!.]*"
                    | "[a-z]*"
                    | "[a-zA-Z]*"
                    | "{*,.*}"
            ) {
                break;
            }
            all = true;
            text = if folder.is_empty() && trimmed.starts_with('/') { "/" } else { folder };
            if text.is_empty() || text == "/" {
                break;
            }
        }
        let mut paths = Vec::new();
        for (i, path) in self.absolute(text).into_iter().enumerate() {
            if path.contains(UNKNOWN) || glob::is_pattern(&path) {
                paths.push(path);
                continue;
            }
            // A link is removed itself, unless what it leads to is named: `link/`, `link/.`, `link/*`.
            let through = all || text.ends_with('/') || text.ends_with("/.") || text.ends_with("..");
            let written = if text.starts_with('/') {
                Path::new(text).to_path_buf()
            } else {
                Path::new(self.state.cwds.get(i).map_or("/", String::as_str)).join(text)
            };
            let real = match (written.parent(), written.file_name()) {
                (Some(parent), Some(name)) if !through => self.world.resolve(parent).join(name),
                _ => self.world.resolve(&written),
            };
            let real = normal(Path::new("/"), &real.to_string_lossy());
            if real != path {
                paths.push(real);
            }
            paths.push(path);
        }
        (paths, all)
    }
}

//! What commands do to paths: deletes, writes, reads, and redirections.

use super::findings::{Touch, Touched};
use super::resolve::{Field, UNKNOWN};
use super::walk::Walker;
use crate::policy::files::{class_in, is_protected, may_match_protected, normal};
use crate::policy::glob;
use crate::policy::table::{PathClass, Role};
use std::path::Path;

/// Operands of one command that are looked at; more are a question.
const MAX_PATHS: usize = 1024;

impl<'w> Walker<'w> {
    /// Judges the operands of a command by what it does to them.
    pub(super) fn touch_all(&mut self, role: Role, fields: &[Field]) {
        if role == Role::None {
            return;
        }
        if fields.len() > MAX_PATHS
            && let Some(last) = fields.last()
        {
            self.limit(&last.span);
            self.beyond(role, &fields[MAX_PATHS..]);
        }
        let fields = &fields[..fields.len().min(MAX_PATHS)];
        match (role, fields) {
            (Role::Copy | Role::Mirror | Role::Move | Role::Link, [sources @ .., last]) if !sources.is_empty() => {
                if role == Role::Mirror {
                    self.loses_all(last);
                }
                self.nowhere(role, sources, last);
                for source in sources {
                    match role {
                        Role::Copy | Role::Mirror => self.touch(Role::Copy, source),
                        Role::Move => self.touch(Role::Move, source),
                        _ => {}
                    }
                    // `cp x DIR` writes DIR/x.
                    let name = source.text.rsplit('/').find(|n| !n.is_empty()).unwrap_or("");
                    let mut inside = last.clone();
                    inside.text = format!("{}/{name}", last.text.trim_end_matches('/'));
                    self.touch(Role::Write, &inside);
                }
                self.touch(Role::Write, last);
            }
            (Role::Link, _) => {}
            _ => {
                for field in fields {
                    self.touch(role, field);
                }
            }
        }
    }

    /// Judges one path.
    pub(super) fn touch(&mut self, role: Role, field: &Field) {
        self.note_touch(role, field);
        if matches!(role, Role::Delete | Role::DeleteTree) {
            return self.delete(field, role == Role::DeleteTree);
        }
        if role == Role::PermissionsTree {
            let (base, _) = self.base(field);
            if base.iter().any(|path| is_protected(path, self.world)) {
                self.find("permissions of a system folder", field.span.clone());
            }
        }
        if role == Role::Move {
            let (base, _) = self.base(field);
            if base.iter().any(|path| is_protected(path, self.world)) {
                self.find("moves a protected folder", field.span.clone());
            }
        }
        if role == Role::Wipe {
            self.loses(field);
        }
        self.unresolved_target(role, field);
        for class in self.classes(field) {
            let effect = match role {
                Role::Read => &class.read,
                Role::Copy | Role::Mirror => &class.copy,
                Role::Write | Role::Device | Role::Wipe => &class.write,
                Role::Edit => &class.edit,
                Role::Move => {
                    if class.delete.is_empty() {
                        &class.copy
                    } else {
                        &class.delete
                    }
                }
                Role::Permissions | Role::PermissionsTree => &class.permissions,
                Role::None | Role::Delete | Role::DeleteTree | Role::Link => continue,
            };
            if !effect.is_empty() {
                self.find_path(effect, field);
            }
        }
    }

    /// Notes the path for permissions that name paths.
    fn note_touch(&mut self, role: Role, field: &Field) {
        let how = match role {
            Role::Read | Role::Copy => Touch::Read,
            Role::Delete | Role::DeleteTree | Role::Move | Role::Wipe => Touch::Delete,
            Role::Write | Role::Device | Role::Edit | Role::Permissions | Role::PermissionsTree | Role::Mirror => {
                Touch::Write
            }
            Role::None | Role::Link => return,
        };
        if self.touched.len() < MAX_PATHS && !field.text.is_empty() && field.text.len() <= 4096 {
            let paths = self.absolute(&field.text);
            self.touched.push(Touched { paths, how, glob: field.glob, span: field.span.clone() });
        }
    }

    pub(super) fn find_path(&mut self, effect: &str, field: &Field) {
        let say = self.table.effect(effect).say;
        let path = field.text.replace(UNKNOWN, "…");
        self.find_as(effect, format!("{say}: {path}"), field.span.clone());
    }

    /// The classes of all paths that a field can mean, links followed.
    fn classes(&mut self, field: &Field) -> Vec<&'w PathClass> {
        let table = self.table;
        let mut paths = Vec::new();
        let text = field.text.strip_prefix("file://").unwrap_or(&field.text);
        if text.is_empty() || text.len() > 4096 {
            return Vec::new();
        }
        for path in self.absolute(text) {
            if field.glob {
                // Reading folders costs.
                if !self.spend(16, &field.span) {
                    break;
                }
                paths.extend(
                    self.world.glob(&path, Path::new("/"), 64).into_iter().map(|p| p.to_string_lossy().into_owned()),
                );
            } else if !path.contains(UNKNOWN) {
                let real = self.world.resolve(Path::new(&path)).to_string_lossy().into_owned();
                if real != path {
                    paths.push(real);
                }
                // Links before `..` lead elsewhere than the text says.
                if text.contains("..") {
                    let cwd = self.state.cwds.first().map_or("/", String::as_str);
                    paths.push(self.world.resolve(&Path::new(cwd).join(text)).to_string_lossy().into_owned());
                }
            }
            paths.push(path);
        }
        let mut found: Vec<&PathClass> = Vec::new();
        for path in paths {
            if !self.spend(1, &field.span) {
                break;
            }
            if let Some(class) = class_in(table, &path, &self.home, &self.own)
                && !found.iter().any(|c| c.name == class.name)
            {
                found.push(class);
            }
        }
        found
    }

    /// The folders that a path names or empties (`DIR/*`), and whether it empties them.
    pub(super) fn base(&self, field: &Field) -> (Vec<String>, bool) {
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
        for path in self.absolute(text) {
            if path.contains(UNKNOWN) || glob::is_pattern(&path) {
                paths.push(path);
                continue;
            }
            // A link is removed itself, unless what it leads to is named: `link/`, `link/.`, `link/*`.
            let through = all || text.ends_with('/') || text.ends_with("/.") || text.ends_with("..");
            let written = if text.starts_with('/') {
                Path::new(text).to_path_buf()
            } else {
                Path::new(self.state.cwds.first().map_or("/", String::as_str)).join(text)
            };
            let real = if through {
                self.world.resolve(&written)
            } else {
                match (written.parent(), written.file_name()) {
                    (Some(parent), Some(name)) => self.world.resolve(parent).join(name),
                    _ => written,
                }
            };
            let real = normal(Path::new("/"), &real.to_string_lossy());
            if real != path {
                paths.push(real);
            }
            paths.push(path);
        }
        (paths, all)
    }

    /// Judges a deletion.
    pub(super) fn delete(&mut self, field: &Field, tree: bool) {
        if !self.spend(1, &field.span) {
            return;
        }
        let span = field.span.clone();
        let (paths, all) = self.base(field);
        for path in &paths {
            if path.contains(UNKNOWN) {
                // When the variable is empty, what is left is what goes.
                let left = normal(Path::new("/"), &path.replace(UNKNOWN, ""));
                // A name of its own is one file of a folder: only a rest that is a place by itself counts.
                let place = field.text.len() > 1 && (all || field.text.contains('/'));
                if place && is_protected(&left, self.world) {
                    self.find("delete of an unknown place", span.clone());
                }
                continue;
            }
            if is_protected(path, self.world) && (tree || all || !field.glob) {
                self.find_path("delete of root, home or a system folder", field);
            } else if field.glob && glob::is_pattern(path) && self.spend(16, &span) {
                let matched = self.world.glob(path, Path::new("/"), 64);
                let real = matched.iter().any(|p| is_protected(&p.to_string_lossy(), self.world));
                if real || may_match_protected(path, self.world) {
                    self.find_path("delete of root, home or a system folder", field);
                }
            }
            if Path::new(&self.own).starts_with(path) && !is_protected(path, self.world) {
                self.find_path("edit of the approval policy", field);
            }
        }
        if all && !tree && field.is_known() {
            self.find_path("delete of everything in a folder", field);
        }
        for class in self.classes(field) {
            if !class.delete.is_empty() && class.delete != "delete in root path" {
                self.find_path(&class.delete, field);
            }
        }
        if !field.is_known() || paths.iter().all(|path| path.contains(UNKNOWN)) {
            self.find("delete of unresolved paths", span);
        } else if self.is_outside(field) && !self.is_own_scratch(field) {
            self.find_path("delete in root path", field);
        }
    }

    fn is_outside(&self, field: &Field) -> bool {
        let start = normal(Path::new(&self.state.cwds.first().cloned().unwrap_or_default()), "");
        self.absolute(&field.text).iter().any(|path| {
            let inside = |cwd: &String| path != cwd && Path::new(path).starts_with(cwd) && cwd != "/";
            let known = start != "/" && Path::new(path).starts_with(&start);
            !known && !self.state.cwds.iter().any(inside)
        }) || (field.text.starts_with('/') && self.state.cwds.iter().all(|cwd| cwd.as_str() == "/"))
    }

    /// One file that a check of ours left in the temporary folder.
    fn is_own_scratch(&self, field: &Field) -> bool {
        if field.glob || field.text.contains(UNKNOWN) {
            return false;
        }
        let alone = self
            .current
            .and_then(|i| self.invocations.get(i))
            .is_some_and(|i| i.words.iter().filter(|w| !w.starts_with('-')).count() == 2);
        let name = field.text.strip_prefix("/tmp/").unwrap_or("");
        alone && !name.contains('/') && (name.starts_with("hermes-verify-") || name.starts_with("hermes-ad-hoc-"))
    }
}

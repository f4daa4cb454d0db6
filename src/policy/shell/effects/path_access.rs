//! What commands do to paths: deletes, writes, reads, and redirections.

use super::findings::{Touch, Touched};
use crate::policy::border::overwrites;
use crate::policy::files::{is_free, is_protected};
use crate::policy::glob;
use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::resolve::{Field, UNKNOWN};
use crate::policy::table::{Level, Role};
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
            (Role::Copy | Role::CopyTree | Role::Mirror | Role::Move | Role::Link, [sources @ .., last])
                if !sources.is_empty() =>
            {
                if role == Role::Mirror {
                    self.loses_all(last);
                }
                self.nowhere(role, sources, last);
                if role == Role::Move {
                    self.leaves(sources, last);
                }
                let renames = role == Role::Copy && sources.len() == 1 && self.is_no_folder(last);
                for source in sources {
                    self.touch_source(role, source);
                    if !renames {
                        self.lands(source, last, matches!(role, Role::CopyTree | Role::Mirror | Role::Move));
                    }
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

    /// Whether a path is certainly no folder into which a file could go: it names a file, nothing is there that is a folder, and
    /// nothing before it in the line could make one.
    fn is_no_folder(&self, to: &Field) -> bool {
        const HARMLESS_COMMANDS: &[&str] = &["cd", "ls", "cat", "echo", "pwd", "test", "[", "true", "diff"];
        let name = to.text.rsplit('/').next().unwrap_or("");
        let is_file = to.is_known() && !to.glob && !matches!(name, "" | "." | "..");
        let mut before = self.invocations.iter().enumerate().filter(|(at, _)| Some(*at) != self.current);
        let quiet =
            before.all(|(_, one)| one.words.first().is_some_and(|word| HARMLESS_COMMANDS.contains(&word.as_str())));
        let folder = |path: &String| {
            let real = self.world.resolve(Path::new(path));
            real != Path::new(path)
                || is_protected(path, self.world)
                || self.world.about(&real).is_some_and(|about| about.folder)
                || !self.world.glob(&format!("{path}/."), Path::new("/"), 1).none()
        };
        is_file && quiet && self.elsewhere.is_none() && !self.absolute(&to.text).iter().any(folder)
    }

    /// What a copy, move or link does to what it starts from.
    pub(super) fn touch_source(&mut self, role: Role, source: &Field) {
        match role {
            Role::CopyTree | Role::Mirror => self.reads_tree(source, true),
            Role::Copy | Role::Move => self.touch(role, source),
            _ => {}
        }
    }

    /// `cp x DIR` writes `DIR/x`; a `tree` may bring files of any name with it.
    pub(super) fn lands(&mut self, source: &Field, folder: &Field, tree: bool) {
        let name = source.text.trim_end_matches('/').rsplit('/').next().unwrap_or("");
        let within = |name: &str| Field {
            text: format!("{}/{name}", folder.text.trim_end_matches('/')),
            glob: folder.glob || source.glob && glob::is_pattern(name),
            ..folder.clone()
        };
        if matches!(name, "" | "." | "..") {
            return self.fills(folder);
        }
        let inside = within(name);
        self.touch(Role::Write, &inside);
        if tree {
            self.fills(&inside);
            // Where there is no such folder, it becomes the copy.
            let exists = folder.text.ends_with('/')
                || self.absolute(&folder.text).iter().all(|path| {
                    is_protected(path, self.world) || self.world.glob(&format!("{path}/."), Path::new("/"), 1).some()
                });
            if !exists {
                self.fills(folder);
            }
        }
    }

    /// Judges one path.
    pub(in crate::policy::shell) fn touch(&mut self, role: Role, field: &Field) {
        self.note_touch(role, field);
        match role {
            Role::None | Role::Link => return,
            Role::Delete | Role::DeleteTree => return self.delete(field, role == Role::DeleteTree),
            Role::ReadTree | Role::CopyTree => return self.reads_tree(field, true),
            Role::Open => {
                self.touch(Role::Read, field);
                return self.touch(Role::Edit, field);
            }
            _ => {}
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
        let writes = matches!(role, Role::Write | Role::Make | Role::Edit | Role::Move | Role::Device | Role::Wipe);
        let mut noted = false;
        for (class, certain) in self.classes(field, writes) {
            let effect = match role {
                Role::Read => &class.read,
                Role::Unsaid if class.named.is_empty() => &class.read,
                Role::Unsaid => &class.named,
                Role::Copy | Role::Mirror => &class.copy,
                Role::Edit => &class.edit,
                Role::Move if class.delete.is_empty() => &class.copy,
                Role::Move => &class.delete,
                Role::Permissions | Role::PermissionsTree => &class.permissions,
                // An empty file or folder says nothing to other programs.
                Role::Create if self.table.effect(&class.write).level < Level::AskAlways => continue,
                _ => &class.write,
            };
            if effect.is_empty() {
                continue;
            }
            noted = true;
            // What is only possible is no reason to refuse.
            if !certain && self.table.effect(effect).level == Level::Refuse {
                self.find_path("write to an unresolved path", field);
            } else {
                self.find_path(effect, field);
            }
        }
        if writes && role != Role::Move || matches!(role, Role::Permissions | Role::PermissionsTree) {
            self.writes_other_names(field);
        }
        // What git makes beside a repository, a clone or a work tree, is new and has its own questions.
        let of_git = || {
            self.current
                .and_then(|at| self.invocations.get(at))
                .is_some_and(|one| one.plain.first().is_some_and(|name| name == "git"))
        };
        if (writes || role == Role::Create) && !noted && !(role == Role::Make && of_git()) {
            self.writes_outside(role, field);
        }
    }

    /// Notes the path for permissions that name paths.
    fn note_touch(&mut self, role: Role, field: &Field) {
        let how = match role {
            Role::Read | Role::Unsaid | Role::ReadTree | Role::Copy | Role::CopyTree => Touch::Read,
            Role::Delete | Role::DeleteTree | Role::Move | Role::Wipe => Touch::Delete,
            Role::Write
            | Role::Make
            | Role::Create
            | Role::Device
            | Role::Edit
            | Role::Permissions
            | Role::PermissionsTree
            | Role::Mirror => Touch::Write,
            // An editor's file is noted for both that it does.
            Role::None | Role::Link | Role::Open => return,
        };
        if self.touched.len() < MAX_PATHS && !field.text.is_empty() && field.text.len() <= 4096 {
            let paths = self.absolute(&field.text);
            let cwd = self.state.cwds.first().cloned().unwrap_or_default();
            let (text, glob, span) = (field.text.clone(), field.glob, field.span.clone());
            self.touched.push(Touched { paths, how, role, text, glob, cwd, span, by: self.current });
        }
    }

    pub(in crate::policy::shell) fn find_path(&mut self, effect: &str, field: &Field) {
        let say = self.table.effect(effect).say;
        let path = field.text.replace(UNKNOWN, "…");
        self.find_as(effect, format!("{say}: {path}"), field.span.clone());
    }

    /// Asks about a write outside the folders of the session, as for the file tools.
    fn writes_outside(&mut self, role: Role, field: &Field) {
        // On another machine or in a container there is no such folder.
        if self.elsewhere.is_some() || field.text.is_empty() {
            return;
        }
        let mut paths = self.absolute(&field.text);
        // What a pattern matches may be a link to elsewhere.
        if field.glob && self.spend(16, &field.span) {
            let matched: Vec<_> =
                paths.iter().flat_map(|path| self.world.glob(path, Path::new("/"), 64).names).collect();
            paths.extend(matched.iter().map(|path| path.to_string_lossy().into_owned()));
        }
        for path in paths {
            let known = match path.find(UNKNOWN) {
                Some(at) => path[..at].rsplit_once('/').map_or("", |(folder, _)| folder),
                None => path.as_str(),
            };
            if known.is_empty() || !self.spend(1, &field.span) {
                continue;
            }
            let real = self.world.resolve(Path::new(known)).to_string_lossy().into_owned();
            let free = |path: &str| is_free(self.table, path, &self.home, &self.own);
            let inside = self.border.has(known) && self.border.has(&real);
            // What `/dev/stdout` is depends on who runs it.
            let leads = real != known && !known.starts_with("/dev/");
            if !inside && !(free(known) && (!leads || free(&real))) {
                return self.find_path("write outside this folder", field);
            }
            // An empty file that is there stays as it is, and a folder, too.
            let changes = !matches!(role, Role::Create | Role::Make) && known == path;
            if !inside && changes && overwrites(self.table, &real, self.world) {
                let say = format!("changes a file this session did not create: {path}");
                return self.find_as("write outside this folder", say, field.span.clone());
            }
        }
    }

    /// Judges a folder that gets files whose names are not known: whatever could be made below it counts.
    pub(in crate::policy::shell) fn fills(&mut self, folder: &Field) {
        self.note_touch(Role::Write, folder);
        match self.worst_below(folder) {
            Some(effect) => self.find_filled(effect, folder),
            None => self.writes_outside(Role::Make, folder),
        }
    }

    pub(in crate::policy::shell) fn find_filled(&mut self, effect: &str, folder: &Field) {
        let say = self.table.effect(effect).say;
        let path = folder.text.replace(UNKNOWN, "…");
        self.find_as(effect, format!("{say}: it writes everything it gets into {path}"), folder.span.clone());
    }

    /// Judges a read of a folder with all that is in it.
    pub(in crate::policy::shell) fn reads_tree(&mut self, folder: &Field, hidden: bool) {
        self.touch(Role::Read, folder);
        if self.classes_below(folder, hidden).iter().any(|class| !class.read.is_empty()) {
            self.find_path("read of a secret", folder);
        }
    }
}

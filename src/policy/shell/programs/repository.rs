//! Programs that the settings of a repository name: git runs them, whoever wrote them there.

use crate::policy::files::normal;
use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::invoke::Known;
use crate::policy::shell::walk::resolve::UNKNOWN;
use std::path::Path;

/// Bytes of one file of settings.
const LONGEST: usize = 64 * 1024;
/// Folders above that are looked at, and settings of submodules.
const MAX_FOLDERS: usize = 16;
/// Commands that run hooks of a repository. The others run one at most, where it is there: see [`AFTER_INDEX`].
const HOOKED: &[&str] =
    &["am", "checkout", "cherry-pick", "commit", "merge", "pull", "push", "rebase", "revert", "switch", "worktree"];
/// The hook that runs wherever the index is written: `git status` does.
const AFTER_INDEX: &str = "post-index-change";
/// The class of a git command that would run what the repository names.
const EFFECT: &str = "runs programs that a repository names";

impl Walker<'_> {
    /// Asks about git where the repository itself names a program that git would run.
    pub(in crate::policy::shell) fn repository_programs(&mut self, known: &Known<'_>) {
        // On another machine each look is a round trip, and that one's repositories are its own.
        if self.elsewhere.is_some() || !self.world.is_here() {
            return;
        }
        let command = known.operand(0).map(|field| field.text.clone()).unwrap_or_default();
        for folder in self.folders_of(known).iter().filter(|folder| !folder.contains(UNKNOWN)).take(MAX_FOLDERS) {
            if !self.spend(8, &known.span()) {
                return;
            }
            let texts = self.settings_of(folder);
            let named = texts.iter().find_map(|text| program_of(text, &command));
            let hooks =
                || texts.iter().filter_map(|text| hooks_of(text)).find(|hooks| self.hooks_run(folder, hooks, &command));
            if let Some(name) = named.or_else(|| hooks().map(|_| "core.hookspath".to_owned())) {
                let say = format!("runs a program named by the repository ({name}): {folder}");
                return self.find_as(EFFECT, say, known.span());
            }
        }
    }

    /// Whether a command in this folder runs hooks of the folder that the settings name.
    fn hooks_run(&self, folder: &str, hooks: &str, command: &str) -> bool {
        // Off, as a person turns them.
        if matches!(hooks, "" | "/dev/null") {
            return false;
        }
        let after_index = || {
            let above = Path::new(folder).ancestors().take(MAX_FOLDERS).filter_map(Path::to_str);
            above
                .map(|above| normal(Path::new(above), &format!("{hooks}/{AFTER_INDEX}")))
                .any(|path| self.world.about(Path::new(&path)).is_some())
        };
        HOOKED.contains(&command) || after_index()
    }

    /// The texts of the settings of the repository that a folder is in, with those of its submodules.
    fn settings_of(&self, folder: &str) -> Vec<String> {
        let text = |path: &str| self.world.text(Path::new(path), LONGEST);
        for above in Path::new(folder).ancestors().take(MAX_FOLDERS).filter_map(Path::to_str) {
            let above = above.trim_end_matches('/');
            let mut own = format!("{above}/.git");
            if let Some(file) = text(&own) {
                let Some(leads) = file.trim().strip_prefix("gitdir:") else { continue };
                own = normal(Path::new(above), leads.trim());
            } else if text(&format!("{own}/HEAD")).is_none() && text(&format!("{own}/config")).is_none() {
                // A bare one is a repository itself.
                if text(&format!("{above}/HEAD")).is_none() || text(&format!("{above}/config")).is_none() {
                    continue;
                }
                own = above.to_owned();
            }
            let common = text(&format!("{own}/commondir")).map(|to| normal(Path::new(&own), to.trim()));
            let mut files: Vec<String> = [Some(own), common]
                .into_iter()
                .flatten()
                .flat_map(|folder| ["config", "config.worktree"].map(|name| format!("{folder}/{name}")))
                .collect();
            let modules = files[0].trim_end_matches("/config").to_owned();
            for deep in ["*", "*/*"] {
                let found = self.world.glob(&format!("{modules}/modules/{deep}/config"), Path::new("/"), MAX_FOLDERS);
                files.extend(found.names.iter().map(|path| path.to_string_lossy().into_owned()));
            }
            return files.iter().filter_map(|file| text(file)).collect();
        }
        Vec::new()
    }
}

/// The first setting of a repository whose value git runs with this command.
fn program_of(text: &str, command: &str) -> Option<String> {
    let runs =
        |setting: &Setting<'_>| names_program(&setting.section, setting.sub, &setting.key, setting.value, command);
    settings(text).into_iter().find(runs).map(|setting| format!("{}.{}", setting.section, setting.key))
}

/// The folder of hooks that a repository names.
fn hooks_of(text: &str) -> Option<&str> {
    let is_it = |setting: &Setting<'_>| setting.section == "core" && setting.key == "hookspath";
    settings(text).into_iter().rev().find(is_it).map(|setting| setting.value)
}

/// One line of settings; names in lower case.
struct Setting<'a> {
    section: String,
    /// The section has a name: `[diff "x"]`.
    sub: bool,
    key: String,
    value: &'a str,
}

fn settings(text: &str) -> Vec<Setting<'_>> {
    let mut all = Vec::new();
    let (mut section, mut sub) = (String::new(), false);
    for line in text.lines().map(str::trim) {
        let line = match line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((head, rest)) => {
                let name = head.split(|c: char| c == '"' || c == '.' || c.is_whitespace()).next().unwrap_or("");
                (section, sub) = (name.to_lowercase(), head.trim().len() > name.len());
                rest.trim()
            }
            None => line,
        };
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, "true"));
        let (key, value) = (key.trim().to_lowercase(), value.trim().trim_matches('"'));
        all.push(Setting { section: section.clone(), sub, key, value });
    }
    all
}

fn names_program(section: &str, sub: bool, key: &str, value: &str, command: &str) -> bool {
    let switch =
        matches!(value.to_lowercase().as_str(), "true" | "false" | "yes" | "no" | "on" | "off" | "1" | "0" | "");
    // A plain name is a program of the person's, found in their PATH.
    let line = value.contains(|c: char| c.is_whitespace() || "/;|&$`!('\"\\".contains(c));
    match (section, key) {
        ("core", "fsmonitor" | "sshcommand" | "askpass" | "gitproxy" | "alternaterefscommand") => !switch,
        ("core" | "sequence", "pager" | "editor") | ("pager" | "interactive", _) => !switch && line,
        ("diff", "external") => !switch,
        ("diff", "command" | "textconv") | ("merge", "driver") => sub && !switch,
        // The one that its own installer writes.
        ("filter", "clean" | "smudge" | "process") => !switch && !value.starts_with("git-lfs "),
        ("credential", "helper") => !switch && line,
        ("gpg", "program") => !switch && line,
        ("remote", "uploadpack" | "receivepack" | "vcs") => !switch,
        ("alias", name) => value.starts_with('!') && name == command.to_lowercase(),
        // What is taken in from elsewhere is not read here.
        ("include" | "includeif", "path") => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_name_programs() {
        for (text, command, want) in [
            ("[core]\n\tfsmonitor = ./evil.sh\n", "status", Some("core.fsmonitor")),
            ("[core] fsmonitor=/tmp/x", "status", Some("core.fsmonitor")),
            ("[core]\n fsmonitor = true\n", "status", None),
            ("[CORE]\n FSMonitor = \"sh -c x\"\n", "diff", Some("core.fsmonitor")),
            ("[diff]\n external = x\n", "diff", Some("diff.external")),
            ("[diff \"a\"]\n textconv = x\n", "log", Some("diff.textconv")),
            ("[filter \"a\"]\n clean = ./x %f\n", "add", Some("filter.clean")),
            ("[filter \"lfs\"]\n clean = git-lfs clean -- %f\n", "add", None),
            ("[pager]\n log = ./x\n", "log", Some("pager.log")),
            ("[core]\n pager = less\n editor = vim\n", "log", None),
            ("[alias]\n st = !./x\n", "st", Some("alias.st")),
            ("[alias]\n st = !./x\n", "log", None),
            ("[alias]\n st = status\n", "st", None),
            ("[include]\n path = ../x\n", "status", Some("include.path")),
            ("[core]\n # fsmonitor = x\n bare = false\n[remote \"origin\"]\n url = https://x/y\n", "status", None),
            ("", "status", None),
            // Hooks are looked at apart.
            ("[core]\n hooksPath = .husky\n", "commit", None),
        ] {
            assert_eq!(program_of(text, command).as_deref(), want, "{text}");
        }
    }

    #[test]
    fn the_folder_of_hooks() {
        for (text, want) in [
            ("[core]\n hooksPath = .husky/_\n", Some(".husky/_")),
            ("[core]\n hookspath = a\n[x]\n y = 1\n[core] hooksPath=\"b\"", Some("b")),
            ("[other]\n hooksPath = a\n", None),
        ] {
            assert_eq!(hooks_of(text), want, "{text}");
        }
    }
}

//! Git: the folder in which it works, and the work that it throws away there.

use crate::policy::files::{is_protected, normal};
use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::invoke::Known;
use crate::policy::shell::walk::resolve::{Field, UNKNOWN};
use crate::policy::table::Role;
use std::path::Path;

/// Options that name a folder, and operands, that are followed.
const MAX_FOLDERS: usize = 32;
const MAX_TARGETS: usize = 1024;

/// Subcommands that change files of the working folder.
const CHANGES: &[&str] = &[
    "checkout",
    "checkout-index",
    "switch",
    "restore",
    "reset",
    "clean",
    "rm",
    "mv",
    "stash",
    "merge",
    "pull",
    "rebase",
    "cherry-pick",
    "revert",
    "apply",
    "am",
    "read-tree",
    "clone",
    "init",
    "worktree",
    "submodule",
    "sparse-checkout",
    "bisect",
];

/// Subcommands of git that leave the files and settings of the repository as they are.
const GIT_READS: &[&str] = &[
    "status",
    "log",
    "diff",
    "show",
    "blame",
    "grep",
    "describe",
    "shortlog",
    "reflog",
    "cat-file",
    "rev-parse",
    "rev-list",
    "ls-files",
    "ls-tree",
    "ls-remote",
    "remote",
    "branch",
    "tag",
    "fetch",
    "config",
    "count-objects",
    "fsck",
    "help",
    "version",
    "name-rev",
    "merge-base",
    "check-ignore",
    "for-each-ref",
    "archive",
    "bundle",
];

/// Subcommands that show what files hold, or held, or keep it to be sent.
const SHOWS: &[&str] =
    &["add", "commit", "log", "show", "diff", "grep", "blame", "cat-file", "archive", "whatchanged", "annotate"];

impl Walker<'_> {
    /// What a subcommand of git does in the folder where it works. `outer` has the options before the subcommand.
    pub(in crate::policy::shell) fn git(&mut self, outer: &Known<'_>, known: &Known<'_>, name: &str, from: usize) {
        if name == "checkout" {
            self.git_checkout(known, from);
        }
        if SHOWS.contains(&name) {
            let inside = |path: &String| self.border.has(path);
            let other = |path: &&String| !inside(path) && !Path::new(path).starts_with(&self.own);
            let others: Vec<String> = self.state.cwds.iter().filter(other).cloned().collect();
            others.iter().for_each(|path| self.reads_tree(&Field::known(path.clone(), known.span()), true));
        }
        if name == "push"
            && let Some(remote) = known.operand(0)
            && self.adds_remote(&remote.text)
        {
            self.find("sends data out", known.span());
        }
        if !CHANGES.contains(&name) {
            return;
        }
        let (folders, given) = (self.state.cwds.clone(), self.work_tree(outer).is_some());
        let span = known.span();
        let own = |path: &String| Path::new(path).starts_with(&self.own);
        if folders.iter().any(own) {
            self.find("edit of the approval policy", span.clone());
        }
        self.git_fills(known, name, &folders);
        let (force, dry) = (known.has(&["-f", "--force"]), known.has(&["-n", "--dry-run"]));
        let targets: Vec<Field> = match name {
            "clean" if force && !dry => {
                let named: Vec<Field> = known.operands().cloned().collect();
                if named.is_empty() { vec![Field::known(".", span.clone())] } else { named }
            }
            "rm" if known.has(&["-r"]) && !dry && !known.has(&["--cached"]) => known.operands().cloned().collect(),
            // In the own folder this throws changes away; with a folder of another place it overwrites what is there.
            "checkout" | "switch" if given && force => vec![Field::known(".", span.clone())],
            "reset" if given && known.has(&["--hard"]) => vec![Field::known(".", span.clone())],
            "read-tree" if given && known.has(&["-u"]) => vec![Field::known(".", span.clone())],
            "checkout-index" if given && force => vec![Field::known(".", span.clone())],
            _ => return,
        };
        let here = std::mem::replace(&mut self.state.cwds, folders);
        if targets.len() > MAX_TARGETS {
            self.limit(&span);
        }
        for target in targets.iter().take(MAX_TARGETS) {
            self.loses(target);
            let whole = self.absolute(&target.text);
            if whole.iter().any(|path| is_protected(path, self.world)) {
                self.find_path("delete of root, home or a system folder", target);
            } else if whole.iter().any(|path| Path::new(&self.own).starts_with(path)) {
                self.find_path("edit of the approval policy", target);
            }
        }
        self.state.cwds = here;
    }

    /// Whether this line gave a remote of this name its address.
    fn adds_remote(&self, name: &str) -> bool {
        self.invocations.iter().rev().take(MAX_FOLDERS).any(|before| match before.plain.as_slice() {
            [git, remote, how, words @ ..] => {
                let named = words.iter().any(|word| word == name);
                git == "git" && remote == "remote" && matches!(how.as_str(), "add" | "set-url") && named
            }
            _ => false,
        })
    }

    /// Another folder than that of the task gets files of any name: that matters where some of them would.
    fn git_fills(&mut self, known: &Known<'_>, name: &str, folders: &[String]) {
        let inside = |path: &String| self.border.has(path);
        let mut targets: Vec<Field> = match name {
            "clone" => known.operands().skip(1).take(1).cloned().collect(),
            _ => folders.iter().map(|path| Field::known(path.clone(), known.span())).collect(),
        };
        targets.retain(|target| !self.absolute(&target.text).iter().all(inside));
        for target in &targets {
            if let Some(effect) = self.worst_below(target) {
                self.find_filled(effect, target);
            }
        }
    }

    /// Where git works: each `-C` is below the one before, and the working tree below the last.
    pub(in crate::policy::shell) fn folders_of(&self, outer: &Known<'_>) -> Vec<String> {
        let given = outer.args.flags.iter().filter(|flag| flag.name == "-C").filter_map(|flag| flag.value.as_ref());
        let known = given.filter(|(path, _)| !path.contains(UNKNOWN)).take(MAX_FOLDERS);
        let folders = known.fold(self.state.cwds.clone(), |folders, (path, _)| self.below(&folders, path));
        self.work_tree(outer).map_or_else(|| folders.clone(), |tree| self.below(&folders, &tree))
    }

    fn below(&self, folders: &[String], path: &str) -> Vec<String> {
        let place = |folder: &String| match path.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{}{rest}", self.home),
            _ => normal(Path::new(folder), path),
        };
        folders.iter().map(place).collect()
    }

    /// The working tree that an option or a variable names.
    fn work_tree(&self, outer: &Known<'_>) -> Option<String> {
        let set = self.state.vars.get("GIT_WORK_TREE").and_then(|values| values.first().cloned());
        let flags = outer.args.flags.iter().filter(|flag| flag.name == "--work-tree").take(MAX_FOLDERS);
        let tree = flags.filter_map(|flag| flag.value.as_ref()).last().map(|(path, _)| path.clone()).or(set);
        tree.filter(|path| !path.is_empty() && !path.contains(UNKNOWN))
    }

    /// `git checkout PATH` throws changes away, `git checkout BRANCH` does not.
    fn git_checkout(&mut self, known: &Known<'_>, from: usize) {
        let creates = known.has(&["-b", "-B", "--orphan", "-t", "--track"]);
        let dashes = known.argv[from..].iter().any(|f| f.text == "--");
        let several = known.args.operands.len() > 1 && !creates;
        let exists = !creates
            && known.operand(0).is_some_and(|f| {
                f.is_known() && self.absolute(&f.text).iter().any(|p| !self.world.glob(p, Path::new("/"), 1).none())
            });
        if (dashes && !known.args.operands.is_empty()) || several || exists {
            self.find("git discards work", known.span());
        }
    }

    /// Git below our own folder, and files that its options write.
    pub(in crate::policy::shell) fn git_folder(&mut self, known: &Known<'_>) {
        let span = known.span();
        let sub = self.current.and_then(|me| self.invocations[me].plain.get(1).cloned()).unwrap_or_default();
        let folder = known.argv.iter().position(|f| f.text == "-C").and_then(|at| known.argv.get(at + 1)).cloned();
        let folders = match folder {
            Some(folder) => self.absolute(&folder.text),
            None => self.state.cwds.clone(),
        };
        let ours = |path: &String| Path::new(path).starts_with(&self.own);
        if folders.iter().any(ours) && !GIT_READS.contains(&sub.as_str()) {
            self.find("edit of the approval policy", span);
        }
        for flag in &known.args.flags {
            let Some((text, at)) = &flag.value else { continue };
            let field = Field { text: text.clone(), ..known.argv[*at].clone() };
            match flag.name.as_str() {
                "--output" => self.touch(Role::Write, &field),
                "--output-directory" => self.fills(&field),
                _ => {}
            }
        }
        let after = known.argv.iter().position(|f| f.text == "-o").and_then(|at| known.argv.get(at + 1)).cloned();
        if let Some(field) = after {
            match sub.as_str() {
                "format-patch" => self.fills(&field),
                "archive" => self.touch(Role::Write, &field),
                _ => {}
            }
        }
        if let ("bundle", Some(at)) = (sub.as_str(), known.argv.iter().position(|f| f.text == "create"))
            && let Some(field) = known.argv.get(at + 1).cloned()
        {
            self.touch(Role::Write, &field);
        }
    }
}

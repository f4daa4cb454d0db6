//! Losses without a deletion: what leaves the workspace, what nobody can read any more, and files that become links.

use super::invoke::Known;
use super::resolve::{Field, UNKNOWN};
use super::walk::Walker;
use crate::policy::files::is_free;
use crate::policy::glob;
use std::path::Path;

/// Endings of names that are made and deleted every day.
const SCRATCH: &[&str] = &["log", "tmp", "temp", "o", "obj", "pid", "out", "err", "swp", "swo", "orig", "rej"];

/// Whether a pattern is only about files that are made and deleted every day.
fn is_scratch(pattern: &str) -> bool {
    let name = pattern.rsplit('/').next().unwrap_or(pattern);
    name.ends_with('~') || name.rsplit_once('.').is_some_and(|(_, end)| SCRATCH.contains(&end))
}

/// What a mode takes from the owner of a file: reading, or with folders writing and entering, too.
fn takes_rights(mode: &str, tree: bool) -> bool {
    if !mode.is_empty() && mode.len() < 6 && mode.bytes().all(|digit| (b'0'..=b'7').contains(&digit)) {
        let number = u32::from_str_radix(mode, 8).unwrap_or(0o777);
        return number & 0o400 == 0 || tree && number & 0o200 == 0;
    }
    mode.split(',').any(|clause| {
        let Some(at) = clause.find(['-', '+', '=']) else { return false };
        let (who, sign, rights) = (&clause[..at], &clause[at..=at], &clause[at + 1..]);
        let owner = who.is_empty() || who.contains(['u', 'a']);
        let known = who.chars().all(|c| "ugoa".contains(c)) && rights.chars().all(|c| "rwxXstugo".contains(c));
        let lost = match sign {
            "-" => rights.contains('r') || tree && rights.contains(['w', 'x']),
            "=" => !rights.contains(['r', 'u', 'g', 'o']),
            _ => false,
        };
        owner && known && lost
    })
}

impl Walker<'_> {
    /// A pattern that deletes files of the workspace: how many, nobody says.
    pub(super) fn deletes_by_pattern(&mut self, field: &Field) {
        if field.glob && glob::is_pattern(&field.text) && !is_scratch(&field.text) {
            self.find_path("deletes by pattern", field);
        }
    }

    /// What is moved from the workspace to a place where everything may be made and deleted is as good as gone.
    pub(super) fn leaves(&mut self, sources: &[Field], to: &Field) {
        if self.elsewhere.is_some() || !to.is_known() {
            return;
        }
        let inside = |path: &String| self.border.has(path);
        let goes = self.absolute(&to.text).iter().any(|path| !inside(path));
        let dear = |path: &String| {
            let known = path.split(UNKNOWN).next().unwrap_or(path);
            inside(path) || !known.is_empty() && !is_free(self.table, known, &self.home, &self.own)
        };
        let lost = sources.iter().take(64).find(|field| self.absolute(&field.text).iter().any(dear)).cloned();
        if let Some(field) = lost.filter(|_| goes) {
            self.find_path("moves files away", &field);
        }
    }

    /// A link takes the place of a file.
    pub(super) fn links_over(&mut self, known: &Known<'_>, fields: &[Field]) {
        let [sources @ .., last] = fields else { return };
        if sources.is_empty() || !known.has(&["-f", "--force"]) {
            return;
        }
        let device = sources.iter().any(|field| field.text.starts_with("/dev/"));
        let is_file = |path: &String| {
            let at = Path::new(path);
            let folder = self.world.glob(&format!("{path}/."), Path::new("/"), 1).some();
            !folder && self.world.glob(path, Path::new("/"), 1).some() && self.world.resolve(at) == at
        };
        let over = last.is_known() && !last.glob && self.absolute(&last.text).iter().any(is_file);
        if self.spend(4, &last.span) && (device || over) {
            self.find_path("replaces files by links", last);
        }
    }

    /// Rights that are taken from whoever works here, and files that become another's.
    pub(super) fn loses_rights(&mut self, known: &Known<'_>) {
        if self.elsewhere.is_some() {
            return;
        }
        let tree = known.has(&["-R", "--recursive"]);
        let open = |field: &Field| field.glob || !field.is_known() || field.text.contains("{}");
        let many = tree || known.operands().skip(1).any(open);
        match known.name.as_str() {
            "chmod" => {
                let mode = known.argv[1..].iter().find(|field| {
                    let text = field.text.as_str();
                    !matches!(text, "-R" | "-v" | "-c" | "-f" | "--") && !text.starts_with("--")
                });
                let lost = mode.filter(|mode| takes_rights(&mode.text, many) && known.argv.len() > 2).cloned();
                if let Some(mode) = lost {
                    self.find_path("makes files unusable", &mode);
                }
            }
            "chown" => {
                let mine = self.home.rsplit('/').next().unwrap_or("").to_owned();
                let other = known.operand(0).filter(|who| {
                    let user = who.text.split([':', '.']).next().unwrap_or("");
                    who.is_known() && who.via.is_empty() && !user.is_empty() && user != mine
                });
                if let Some(who) = other.cloned() {
                    self.find_path("gives files away", &who);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_that_take_rights() {
        for mode in ["000", "0", "a-rwx", "u-r", "-r", "ugo-rw", "a=", "=", "u=x", "077", "g+w,u-r"] {
            assert!(takes_rights(mode, false), "{mode}");
        }
        for mode in ["644", "0755", "go-rwx", "+x", "-x", "-w", "u+x", "a+r", "u=rw,go=", "o-r", "u=rwx,go-rwx", "400"]
        {
            assert!(!takes_rights(mode, false), "{mode}");
        }
        for mode in ["a-w", "444", "-x", "u-x", "-rwx"] {
            assert!(takes_rights(mode, true), "{mode}");
        }
        for mode in ["go-w", "755", "u+rwX", "a+rX", "o-x", "644"] {
            assert!(!takes_rights(mode, true), "{mode}");
        }
    }
}

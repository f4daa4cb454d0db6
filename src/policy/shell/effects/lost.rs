//! Losses without a deletion: what leaves the workspace, what nobody can read any more, and files that become links.

use crate::policy::files::is_free;
use crate::policy::glob;
use crate::policy::shell::programs::code::Lang;
use crate::policy::shell::programs::interpret::CODE_TEXT;
use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::invoke::Known;
use crate::policy::shell::walk::resolve::{Field, UNKNOWN};
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

/// What `s/FROM/TO/FLAGS` puts in; with `e` among the flags it is code.
fn replacement(expression: &str) -> Option<String> {
    let rest = expression.trim().strip_prefix('s')?;
    let mark = rest.chars().next().filter(|mark| mark.is_ascii_punctuation() && !"([{<_-.".contains(*mark))?;
    let (mut parts, mut escaped) = (vec![String::new()], false);
    for c in rest[mark.len_utf8()..].chars() {
        match c {
            c if c == mark && !escaped => parts.push(String::new()),
            '\\' if !escaped => {
                escaped = true;
                continue;
            }
            c => parts.last_mut()?.push(c),
        }
        escaped = false;
    }
    match parts.as_slice() {
        [_, to, flags] if flags.chars().all(|flag| "gimsx".contains(flag)) => Some(to.clone()),
        _ => None,
    }
}

/// Whether a new name may lie outside the folder of the old one and of what is below it.
fn leads_away(to: &str) -> bool {
    to.starts_with(['/', '~', UNKNOWN])
        || to.split('/').any(|part| part == "..")
        || to.contains('/') && to.contains('$')
}

impl Walker<'_> {
    /// A pattern that deletes files of the workspace: how many, nobody says.
    pub(super) fn deletes_by_pattern(&mut self, field: &Field) {
        if field.glob && glob::is_pattern(&field.text) && !is_scratch(&field.text) {
            self.find_path("deletes by pattern", field);
        }
    }

    /// What is moved from the workspace to a place where everything may be made and deleted is as good as gone.
    pub(in crate::policy::shell) fn leaves(&mut self, sources: &[Field], to: &Field) {
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

    /// The output of a pipe takes the place of a file.
    pub(super) fn soaks_up(&mut self, known: &Known<'_>) {
        let appends = known.name != "sponge" || known.has(&["-a"]);
        let Some(field) = known.operand(0).filter(|field| !appends && !is_scratch(&field.text)).cloned() else {
            return;
        };
        let there = |path: &String| self.world.glob(path, Path::new("/"), 1).some();
        if self.spend(4, &field.span) && (!field.is_known() || self.absolute(&field.text).iter().any(there)) {
            self.find_path("replaces a file by a pipe", &field);
        }
    }

    /// `rename EXPRESSION FILES` of Perl, and `rename FROM TO FILES`: new names may lead to another folder.
    pub(in crate::policy::shell) fn renames(&mut self, known: &Known<'_>) {
        if !matches!(known.name.as_str(), "rename" | "prename" | "perl-rename" | "file-rename" | "rename.ul") {
            return;
        }
        if known.has(&["-n", "--no-act", "--nono", "--just-print"]) {
            return;
        }
        let given = known.value(&["-e"]).or_else(|| known.operand(0).cloned());
        let Some(first) = given else { return };
        let away = match replacement(&first.text) {
            Some(to) => leads_away(&to),
            // `rename FROM TO FILES`: the first two are plain texts.
            None => known.args.operands.len() > 2 && known.operand(1).is_some_and(|to| leads_away(&to.text)),
        };
        if away && self.elsewhere.is_none() {
            self.find_path("moves files away", &first);
        }
        // Anything but one plain substitution is code.
        let code = first.text.contains(['(', ';', '`', '$', '{']) || !first.is_known();
        if code && replacement(&first.text).is_none_or(|to| to.contains(['`', '(', ';', '{', UNKNOWN])) {
            let harmless = self.code(Lang::Perl, &first.text, &first.span);
            if !harmless || !first.is_known() {
                self.find(CODE_TEXT, first.span.clone());
            }
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
            "chgrp" => {
                let group = known.operand(0).filter(|group| tree && group.is_known()).cloned();
                if let Some(group) = group {
                    self.find_path("gives files away", &group);
                }
            }
            "chown" => {
                let mine = self.home.rsplit('/').next().unwrap_or("").to_owned();
                let other = known.operand(0).filter(|who| {
                    let user = who.text.split([':', '.']).next().unwrap_or("");
                    // `:group` leaves the owner; with a whole folder others lose what they could do there.
                    let group = user.is_empty() && tree && who.text.len() > 1;
                    who.is_known() && who.via.is_empty() && (group || !user.is_empty() && user != mine)
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
    fn new_names() {
        for (expression, to) in [
            ("s/a/b/", Some("b")),
            ("s|^|/tmp/|", Some("/tmp/")),
            ("s/^/\\/tmp\\//g", Some("/tmp/")),
            ("s/a/unlink/e", None),
            ("y/a/b/", None),
            ("s/a/b/; unlink $_", None),
        ] {
            assert_eq!(replacement(expression).as_deref(), to, "{expression}");
        }
        for (to, want) in [
            ("/tmp/", true),
            ("../x/", true),
            ("~/old/", true),
            ("a/$1", true),
            ("done/", false),
            ("a..b", false),
            ("$1.md", false),
        ] {
            assert_eq!(leads_away(to), want, "{to}");
        }
    }

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

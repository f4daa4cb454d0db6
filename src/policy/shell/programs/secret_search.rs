//! Secrets, and files of ours, that a search finds by the names that it looks for.

use super::search::fd_words;
use crate::policy::glob;
use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::invoke::Known;
use crate::policy::shell::walk::resolve::{Field, UNKNOWN};
use crate::policy::table::{Level, PathClass};

/// Tests of the name, and of the whole path.
const NAMES: &[&str] = &["-name", "-iname"];
const PATHS: &[&str] = &["-path", "-ipath", "-wholename"];
/// Secrets that one search stands for, and names that one looks for.
const MAX_SECRETS: usize = 4;
const MAX_NAMES: usize = 16;

impl Walker<'_> {
    /// A name that says by itself that a file holds a secret, wherever it lies.
    pub(super) fn telling(&self, name: Option<String>) -> Option<String> {
        let secret =
            |name: &String| self.class(&format!("/{UNKNOWN}/{name}")).is_some_and(|class| !class.read.is_empty());
        name.filter(secret)
    }

    /// Paths of secrets, and of files of ours, that a search below these folders finds: one of each class, where the names that
    /// it looks for are not those of other files.
    pub(super) fn secrets_among(&mut self, known: &Known<'_>, folders: &[Field], words: &[&str]) -> Vec<String> {
        let fd = known.name.starts_with("fd");
        if fd && !known.has(&["-H", "--hidden", "-u", "--unrestricted"]) {
            return Vec::new();
        }
        let dear = |w: &Self, class: &PathClass| {
            let level = |effect: &String| !effect.is_empty() && w.table.effect(effect).level == Level::AskAlways;
            !class.read.is_empty() || level(&class.write)
        };
        let mut classes: Vec<&PathClass> = Vec::new();
        for folder in folders.iter().take(8) {
            let below = self.classes_below(folder, true);
            classes.extend(below.into_iter().filter(|class| dear(self, class)));
        }
        let (names, paths) =
            if fd { (fd_names(known), Vec::new()) } else { (after(words, NAMES), after(words, PATHS)) };
        let unsure = names.iter().chain(&paths).any(|name| name.contains(UNKNOWN)) || names.len() > MAX_NAMES;
        let all = unsure || names.is_empty() && paths.is_empty();
        // Only the beginning of a name tells a secret among the files of a project.
        let telling = names.iter().any(|name| !name.starts_with(['*', '?', '[']));
        // All patterns of the classes are compared with all names.
        if classes.is_empty() && (all || !telling) || !self.spend(24, &known.argv[0].span) {
            return Vec::new();
        }
        let folder = folders[0].text.trim_end_matches('/');
        // Files of those names are looked for anywhere, those of the others where they are.
        let anywhere = self.table.paths.classes.iter().filter(|class| !all && !class.read.is_empty());
        let found_below: Vec<&str> = classes.iter().map(|class| class.name.as_str()).collect();
        let mut found: Vec<String> = Vec::new();
        for class in classes.into_iter().chain(anywhere) {
            let below = found_below.iter().any(|name| *name == class.name);
            let mut wanted = class.paths.iter().filter(|pattern| below || pattern.starts_with("**/"));
            let wanted = if all {
                wanted.find(|pattern| !pattern.starts_with("**/"))
            } else {
                wanted.find(|pattern| is_wanted(pattern, &names, &paths))
            };
            let Some(pattern) = wanted else { continue };
            let path = self.example(pattern, folder);
            if found.len() < MAX_SECRETS && !found.contains(&path) {
                found.push(path);
            }
        }
        found
    }

    /// A path that a pattern of a class matches.
    fn example(&self, pattern: &str, folder: &str) -> String {
        let plain = without_stars(pattern.trim_end_matches("/**").trim_start_matches("**/"));
        let path = match pattern.as_bytes().first() {
            Some(b'~') => format!("{}{}", self.home, &plain[1..]),
            Some(b'@') => format!("{}{}", self.own, &plain[1..]),
            Some(b'*') => format!("{folder}/{UNKNOWN}/{plain}"),
            _ => plain,
        };
        if pattern.ends_with("/**") { format!("{path}/x") } else { path }
    }
}

/// The values of these tests that are not turned around.
fn after(words: &[&str], tests: &[&str]) -> Vec<String> {
    let given = (1..words.len()).filter(|at| tests.contains(&words[at - 1]));
    let plain = given.filter(|at| *at < 2 || !matches!(words[at - 2], "!" | "-not"));
    let lower =
        |at: usize| if words[at - 1].starts_with("-i") { words[at].to_lowercase() } else { words[at].to_owned() };
    plain.map(lower).collect()
}

/// The names that `fd` looks for: its pattern is found anywhere in them.
fn fd_names(known: &Known<'_>) -> Vec<String> {
    let kind = known.argv.windows(2).find(|pair| matches!(pair[0].text.as_str(), "-e" | "--extension"));
    let kind = kind.map(|pair| format!("*.{}", pair[1].text));
    let plain = |field: &&Field| !field.text.contains(['.', '*', '[', '\\', '(', '|', '?', '+', '^', '$']);
    let name = fd_words(known.argv).next().filter(plain).filter(|field| !field.text.is_empty());
    kind.into_iter().chain(name.map(|field| format!("*{}*", field.text))).collect()
}

/// Whether files of a pattern of a class are among those of these names, or have a part of these paths.
fn is_wanted(pattern: &str, names: &[String], paths: &[String]) -> bool {
    let deep = pattern.ends_with("/**");
    let mut parts = pattern.split('/').filter(|part| !matches!(*part, "" | "~" | "@" | "**"));
    let last = pattern.rsplit('/').next().filter(|_| !deep).unwrap_or("");
    // What only the end of a name tells is told by `telling`.
    let meets = |name: &str, part: &str| {
        !part.starts_with('*')
            && !part.is_empty()
            && (glob::matches(name, &without_stars(part)) || glob::matches(part, &without_stars(name)))
    };
    let piece = |path: &String| path.rsplit('/').find(|piece| !without_stars(piece).is_empty()).map(str::to_owned);
    names.iter().any(|name| meets(name, last))
        || paths.iter().filter_map(piece).any(|piece| parts.any(|part| meets(&piece, part)))
}

fn without_stars(pattern: &str) -> String {
    pattern.replace(['*', '?'], "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_mean_a_secret() {
        let wanted = |name: &str, pattern: &str| is_wanted(pattern, &[name.to_owned()], &[]);
        for (name, pattern, want) in [
            ("id_*", "**/id_rsa", true),
            ("*token*", "~/.vault-token", true),
            ("*credentials*", "~/.cargo/credentials*", true),
            ("*.json", "**/client_secret*.json", true),
            ("*.log", "~/.cargo/credentials*", false),
            ("README*", "**/*.key", false),
            ("*.md", "~/.ssh/**", false),
        ] {
            assert_eq!(wanted(name, pattern), want, "{name} {pattern}");
        }
        assert!(is_wanted("~/.ssh/**", &[], &["*ssh*".into()]));
        assert!(!is_wanted("~/.ssh/**", &[], &["*/src/*".into()]));
    }
}

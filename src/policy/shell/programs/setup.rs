//! Set-up that well-known programs print for a shell: what `eval "$(direnv hook bash)"` runs. The program has to be found
//! outside the workspace, with the arguments that `assets/policy/setup.yaml` lists.

use super::decode::Stream;
use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::resolve::{Field, UNKNOWN};
use crate::policy::table;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::LazyLock;

const SHELLS: &[&str] = &["bash", "zsh", "fish", "sh", "ksh", "posix", "nu", "elvish", "tcsh"];
/// Folders of PATH in which a program is looked for.
const MAX_FOLDERS: usize = 64;

static SETUP: LazyLock<Result<HashMap<String, Vec<String>>, String>> = LazyLock::new(|| {
    let read: BTreeMap<String, Vec<String>> =
        table::read("setup.yaml", include_str!("../../../../assets/policy/setup.yaml"))?;
    let names = |(names, lines): (String, Vec<String>)| {
        names.split(',').map(|name| (name.trim().to_owned(), lines.clone())).collect::<Vec<_>>()
    };
    Ok(read.into_iter().flat_map(names).collect())
});

/// Whether these are the words of such a call.
fn is_listed(argv: &[Field]) -> bool {
    let Some((first, rest)) = argv.split_first() else { return false };
    let Some(lines) = SETUP.as_ref().ok().and_then(|all| all.get(&first.text)) else { return false };
    let is = |want: &str, word: &str| match want.strip_suffix("SHELL") {
        Some(before) => word.strip_prefix(before).is_some_and(|name| SHELLS.contains(&name)),
        None => want == word,
    };
    argv.iter().all(Field::is_known)
        && lines.iter().any(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.len() == rest.len() && words.iter().zip(rest).all(|(want, field)| is(want, &field.text))
        })
}

impl Walker<'_> {
    /// Whether a command, run directly on this machine, only prints set-up for a shell.
    pub(in crate::policy::shell) fn prints_setup(&mut self, argv: &[Field], me: usize) -> bool {
        let wrapped = self.invocations.get(me).is_none_or(|one| one.within.is_some());
        if wrapped || self.elsewhere.is_some() || !is_listed(argv) || !self.state.files.is_empty() {
            return false;
        }
        self.spend(8, &argv[0].span) && self.is_found_outside(&argv[0].text)
    }

    /// Whether the program that a word names is found first in a folder outside the workspace.
    fn is_found_outside(&self, name: &str) -> bool {
        let outside = |path: &str| {
            let real = self.world.resolve(Path::new(path));
            !self.border.has_below_root(Path::new(path)) && !self.border.has_below_root(&real)
        };
        if name.contains('/') {
            return outside(name);
        }
        let before = self.world.variable("PATH");
        let values = self.state.vars.get("PATH").cloned();
        // Where nothing is known of PATH it is the one of the system.
        let Some(values) = values.or_else(|| before.clone().map(|path| vec![path])) else { return true };
        let inherited = before.unwrap_or_default();
        values.iter().all(|value| {
            let folders = value.split(':').flat_map(|folder| match folder {
                _ if folder.chars().eq([UNKNOWN]) => inherited.split(':').collect::<Vec<_>>(),
                folder => vec![folder],
            });
            for folder in folders.take(MAX_FOLDERS) {
                // A folder that is not absolute is wherever the line stands.
                if !folder.starts_with('/') || folder.contains(UNKNOWN) {
                    return false;
                }
                let path = format!("{}/{name}", folder.trim_end_matches('/'));
                if self.world.glob(&path, Path::new("/"), 1).some() {
                    return outside(&path);
                }
            }
            false
        })
    }
}

impl Field {
    /// Whether it is nothing but the output of one command that prints set-up for a shell.
    pub(super) fn is_setup(&self) -> bool {
        self.stream.as_ref().is_some_and(|stream: &Stream| stream.setup)
            && self.via.len() == 1
            && (self.process || self.text.chars().eq([UNKNOWN]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_print_setup() {
        assert_eq!(SETUP.as_ref().err(), None);
        let listed = |line: &str| is_listed(&line.split(' ').map(|word| Field::known(word, 0..0)).collect::<Vec<_>>());
        for line in
            ["direnv hook bash", "ssh-agent -s", "ssh-agent", "fzf --zsh", "gh completion -s bash", "brew shellenv"]
        {
            assert!(listed(line), "{line}");
        }
        for line in [
            "direnv export bash",
            "direnv hook evil",
            "direnv hook bash x",
            "ssh-agent bash",
            "./direnv hook bash",
            "kubectl completion",
            "mise env",
            "kubectl get pods",
            "pyenv",
        ] {
            assert!(!listed(line), "{line}");
        }
    }
}

//! Which commands a rule is about: those that it allows as they are written, and those that it catches however they are spelled.

use super::Rule;
use crate::policy::files::normal;
use crate::policy::shell::{Invocation, UNKNOWN};
use crate::policy::{World, glob};
use std::path::{Path, PathBuf};

impl Rule {
    /// Whether an allow rule covers this command: the whole of it, as written, by its name or in a system folder.
    pub fn covers(&self, invocation: &Invocation) -> bool {
        let Some(first) = invocation.words.first() else { return false };
        let dirs = ["/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/", "/opt/homebrew/bin/"];
        let base = dirs.iter().find_map(|dir| first.strip_prefix(dir)).unwrap_or(first);
        let mut words = invocation.words.clone();
        if words.iter().take(self.literal_words().max(1)).any(|w| w.contains(UNKNOWN)) {
            return false;
        }
        // A name alone means the program with any words, as it does in a deny rule.
        let named = |first: &str| self.words.len() == 1 && !self.words[0].contains('*') && self.words[0] == first;
        if matches(&self.words, &words) || named(first) || named(base) {
            return true;
        }
        words[0] = base.to_owned();
        matches(&self.words, &words)
    }

    /// Whether the paths of a command that this rule covers are those that the rule names: resolved, links followed, below the
    /// folder that the task works in (`start`) unless the rule itself names a place.
    pub fn holds(&self, invocation: &Invocation, start: &Path, world: &dyn World) -> bool {
        let base = world.resolve(start);
        invocation.words.iter().enumerate().skip(1).filter(|(_, word)| !word.starts_with('-')).all(|(at, word)| {
            let Some(real) = real(word, invocation, world) else { return false };
            let literal = normal(Path::new(&invocation.cwd), word);
            // What follows the last word of the rule is held to it, when it is a path with a `*`.
            let last = self.words.last().filter(|word| word.len() > 1 && word.ends_with('*') && !word.starts_with('-'));
            match self.words.get(at).or(last).map_or("*", String::as_str) {
                "*" => real.starts_with(&base),
                named if named.starts_with(['/', '~']) => {
                    let named = match named.strip_prefix('~') {
                        Some(rest) => format!("{}{rest}", world.home().display()),
                        None => named.to_owned(),
                    };
                    // Where the place itself stands behind a link, what is below it does too.
                    let fixed = named.split('*').next().unwrap_or_default();
                    let folder = fixed.rsplit_once('/').map_or("/", |(folder, _)| folder);
                    glob::matches(&named, &literal)
                        && (glob::matches(&named, &real.to_string_lossy())
                            || real.starts_with(world.resolve(Path::new(&normal(Path::new("/"), folder)))))
                }
                relative if glob::is_pattern(relative) => {
                    real.starts_with(&base)
                        && glob::matches(&format!("{}/{relative}", base.display()), &real.to_string_lossy())
                }
                relative => real == world.resolve(Path::new(&normal(start, relative))),
            }
        })
    }

    /// Whether a deny or ask rule means this command: by base name, options in any place, longer commands too.
    pub fn catches(&self, invocation: &Invocation) -> bool {
        let lower = |word: &String| word.rsplit('/').next().unwrap_or(word).to_lowercase();
        [&invocation.words, &invocation.plain].into_iter().any(|given| {
            let Some(first) = given.first() else { return false };
            let mut words = given.clone();
            words[0] = lower(first);
            // `/bin/r?` can be what the rule names.
            let pattern =
                words[0].contains(['*', '?', '[']) && self.words.first().is_some_and(|w| glob::matches(&words[0], w));
            if pattern && !words[0].trim_matches(['*', '?', '.']).is_empty() {
                words[0].clone_from(&self.words[0]);
            }
            // `git-push` is `git push`.
            if let Some(sub) = words[0].strip_prefix("git-").filter(|sub| !sub.is_empty()).map(str::to_owned) {
                words.splice(..1, ["git".to_owned(), sub]);
            }
            if matches(&self.words, given) || matches(&self.words, &words) || matches_joined(&self.words, &words) {
                return true;
            }
            let (flags, plain): (Vec<&String>, Vec<&String>) = self.words.iter().partition(|w| w.starts_with('-'));
            let rest: Vec<&String> = words.iter().filter(|w| !w.starts_with('-')).collect();
            let plain: Vec<&String> = plain.into_iter().filter(|w| *w != "*").collect();
            plain.len() <= rest.len()
                && plain.iter().zip(&rest).all(|(p, w)| glob::matches(p, w))
                && flags.iter().all(|f| words.iter().any(|w| glob::matches(f, w)))
        })
    }

    /// How many words, and letters of them, it says without a `*`.
    pub fn says(&self) -> (usize, usize) {
        let literal = self.words.iter().filter(|word| !word.contains('*'));
        let letters = self.words.iter().flat_map(|word| word.chars()).filter(|c| *c != '*');
        (literal.count(), letters.count())
    }

    /// Words before the first `*`.
    pub fn literal_words(&self) -> usize {
        self.words.iter().take_while(|w| !w.contains('*')).count()
    }
}

/// Whether every path of a command lies below this folder.
pub fn stays_below(start: &Path, invocation: &Invocation, world: &dyn World) -> bool {
    let base = world.resolve(start);
    let mut operands = invocation.words.iter().skip(1).filter(|word| !word.starts_with('-'));
    operands.all(|word| {
        let plain = !word.split('/').any(|part| part == "..");
        plain && real(word, invocation, world).is_some_and(|real| real.starts_with(&base))
    })
}

/// The place that a word names where the command runs; `None` when that is not certain.
fn real(word: &str, invocation: &Invocation, world: &dyn World) -> Option<PathBuf> {
    let certain = !word.contains(UNKNOWN) && !invocation.cwd.contains(UNKNOWN);
    // Not without the links before a `..`: they lead elsewhere than the text says.
    let resolved = || world.resolve(&Path::new(&invocation.cwd).join(word));
    certain.then(|| PathBuf::from(normal(Path::new("/"), &resolved().to_string_lossy())))
}

/// Word by word; a last `*` takes all that follows, and nothing too.
fn matches(pattern: &[String], words: &[String]) -> bool {
    for (i, p) in pattern.iter().enumerate() {
        if p == "*" && i + 1 == pattern.len() {
            return true;
        }
        let Some(word) = words.get(i) else { return false };
        // A `*` at the end of the last word takes the following words too.
        if i + 1 == pattern.len() && p.ends_with('*') {
            return glob::matches(p, word);
        }
        if !glob::matches(p, word) {
            return false;
        }
    }
    pattern.len() == words.len()
}

fn matches_joined(pattern: &[String], words: &[String]) -> bool {
    pattern.iter().any(|p| p.contains('*')) && words.len() < 64 && glob::matches(&pattern.join(" "), &words.join(" "))
}

//! Rules that a person gave: `allow|ask|deny WORDS` with `*`, effects and commands of `command_allowlist`, session grants.

use super::files::normal;
use super::granted::Granted;
use super::permissions::{Argument, Here, Permission};
use super::shell::{Invocation, UNKNOWN};
use super::{World, glob};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Allow,
    Ask,
    Deny,
}

impl Action {
    /// As a permission says it.
    pub fn word(self) -> &'static str {
        match self {
            Action::Allow => "allow",
            Action::Ask => "ask",
            Action::Deny => "deny",
        }
    }
}

/// Words of a command, compared one command of a line at a time, after its words were resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub action: Action,
    pub words: Vec<String>,
}

/// All rules that hold for a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Granted for this session.
    pub session: Granted,
    /// Lines of permission files, entries of `config.yaml`, and what a question comes with.
    pub permissions: Arc<Vec<Permission>>,
    /// Why a permission file cannot be read: its denials are not known, so everything is asked about.
    pub unreadable: Option<String>,
    /// Where the call comes from.
    pub here: Here,
}

/// Before a command among the entries of grants, and between its parts.
const EXACTLY: &str = "$ ";
const BETWEEN: char = '\u{1f}';
/// Where commands run unless a setting names another place.
const LOCAL: &str = "local";

/// This very command, in the folder and on the backend where it was allowed: elsewhere the same words mean other files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exact {
    pub line: String,
    pub folder: PathBuf,
    pub backend: String,
}

impl Exact {
    /// A command in a folder; no backend is the local one.
    pub fn of(line: &str, folder: &Path, backend: &str) -> Self {
        let backend = if backend.is_empty() { LOCAL } else { backend };
        Self { line: line.trim().to_owned(), folder: folder.to_owned(), backend: backend.to_owned() }
    }

    /// As an entry of a grant.
    pub fn entry(&self) -> String {
        format!("{EXACTLY}{}{BETWEEN}{}{BETWEEN}{}", self.line, self.folder.display(), self.backend)
    }

    /// What [`Exact::entry`] wrote; `None` for another entry.
    pub fn read(entry: &str) -> Option<Self> {
        let mut parts = entry.strip_prefix(EXACTLY)?.rsplitn(3, BETWEEN);
        let (backend, folder, line) = (parts.next()?, parts.next()?, parts.next()?);
        Some(Self { line: line.to_owned(), folder: folder.into(), backend: backend.to_owned() })
    }

    /// As a line of `permissions.yaml`, for the section of its folder: `terminal@local(= rm -rf build)`.
    pub fn subject(&self) -> String {
        format!("terminal@{}(= {})", self.backend, self.line)
    }
}

/// An entry of a grant as a person reads it.
pub fn said(entry: &str) -> String {
    match Exact::read(entry) {
        Some(exact) => format!("{} (in {})", exact.line, exact.folder.display()),
        None => entry.to_owned(),
    }
}

/// A rule that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    #[error("rule {0:?} does not start with allow, ask or deny")]
    Action(String),
    #[error("rule {0:?} names no command; write for example `deny rm *`")]
    Empty(String),
}

impl Rules {
    /// Adds the rules of a text: `allow git *, grep *` or `deny rm *`; a part without a verb takes the one before it.
    ///
    /// # Errors
    /// When a part has no verb at all or no words.
    pub fn add(&mut self, text: &str) -> Result<(), RuleError> {
        let mut action = None;
        for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            let (verb, rest) = part.split_once(char::is_whitespace).unwrap_or((part, ""));
            let (now, rest) = match verb {
                "allow" => (Action::Allow, rest),
                "ask" => (Action::Ask, rest),
                "deny" => (Action::Deny, rest),
                _ => (action.ok_or_else(|| RuleError::Action(part.into()))?, part),
            };
            action = Some(now);
            let words = split(rest);
            if words.is_empty() {
                return Err(RuleError::Empty(part.into()));
            }
            self.hold([Permission::given(Rule { action: now, words })]);
        }
        Ok(())
    }

    /// Holds these too.
    pub fn hold(&mut self, more: impl IntoIterator<Item = Permission>) {
        Arc::make_mut(&mut self.permissions).extend(more);
    }

    /// The entries of `command_allowlist`, or of `approvals.deny`.
    pub fn entries(&self, action: Action) -> impl Iterator<Item = &str> + Clone {
        self.permissions.iter().filter_map(move |one| match &one.on.argument {
            Argument::Entry(text) if one.action == action => Some(text.as_str()),
            _ => None,
        })
    }

    /// Grants entries for this session.
    pub fn grant(&mut self, entries: &[String]) {
        entries.iter().for_each(|entry| self.session.add(entry));
    }

    /// The permissions that hold for a call in `cwd`, and are written for it.
    pub fn held<'a>(&'a self, cwd: &'a Path) -> impl Iterator<Item = &'a Permission> {
        self.session.lines().iter().chain(self.permissions.iter()).filter(move |one| one.holds(&self.here, cwd))
    }

    /// Where this very command was granted for this folder and backend, in words; `None` when it was not.
    pub fn grants_line(&self, line: &str, cwd: &Path, world: &dyn World) -> Option<String> {
        let here = Exact::of(line, cwd, &self.here.backend).entry();
        if self.session.has(&here) {
            return Some("this command (this session)".into());
        }
        let mut lines = self.held(cwd).filter(|one| one.action == Action::Allow && one.is_line(line));
        let of_folder = |one: &&Permission| {
            one.folder.as_deref().is_some_and(|folder| folder == cwd || *folder == world.resolve(cwd))
        };
        lines.find(of_folder).map(Permission::label)
    }

    /// Whether a class of effect was granted, by any of its names.
    pub fn grants(&self, effect: &str, aka: &[String]) -> bool {
        self.granter(effect, aka).is_some()
    }

    /// Where a class of effect was granted, in words; `None` when it was not.
    pub fn granter(&self, effect: &str, aka: &[String]) -> Option<String> {
        let means = |entry: &&str| *entry == effect || aka.iter().any(|name| name == entry);
        let session = self.session.entries().iter().map(String::as_str).find(means);
        let session = session.map(|entry| format!("{entry} (this session)"));
        session.or_else(|| self.entries(Action::Allow).find(means).map(|entry| format!("command_allowlist: {entry}")))
    }
}

/// Words of a rule; double quotes hold a word with blanks together.
pub(super) fn split(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            c if c.is_whitespace() && !quoted => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            c => word.push(c),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.action.word(), self.words.join(" "))
    }
}

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

/// Whether the whole command is in an allowlist, literally or by a glob. A line with operators never is by a glob.
pub fn listed<'a>(mut allowlist: impl Iterator<Item = &'a str> + Clone, command: &str) -> Option<Listed> {
    if allowlist.clone().any(|entry| entry == command) {
        return Some(Listed::Exactly);
    }
    let operators = ["\n", "&", "|", ";", "<", ">", "`", "$("];
    if operators.iter().any(|op| command.contains(op)) {
        return None;
    }
    allowlist.any(|entry| glob::is_pattern(entry) && glob::matches(entry, command)).then_some(Listed::ByGlob)
}

/// How an allowlist names a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    Exactly,
    ByGlob,
}

/// The first glob that matches the whole command, without regard to case.
pub fn denied_by_glob<'a>(mut globs: impl Iterator<Item = &'a str>, command: &str) -> Option<&'a str> {
    let command = command.to_lowercase();
    globs.find(|g| glob::matches(&g.to_lowercase(), &command))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn rules(text: &str) -> Rules {
        let mut rules = Rules::default();
        rules.add(text).unwrap();
        rules
    }

    fn entries(action: Action, list: &Value) -> Rules {
        let mut rules = Rules::default();
        rules.hold(list.as_array().unwrap().iter().map(|entry| Permission::entry(action, entry.as_str().unwrap())));
        rules
    }

    fn invocation(text: &str) -> Invocation {
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        Invocation {
            plain: words.clone(),
            words,
            span: 0..0,
            cwd: "/".into(),
            within: None,
            quiet: false,
            perhaps: false,
        }
    }

    #[test]
    fn reads_rules() {
        let rules = rules("allow .venv/bin/pylint *, grep *, deny rm *");
        let labels: Vec<String> = rules.permissions.iter().map(Permission::label).collect();
        assert_eq!(labels, ["allow .venv/bin/pylint *", "allow grep *", "deny rm *"]);
        assert_eq!(Rules::default().add("git *"), Err(RuleError::Action("git *".into())));
        assert_eq!(Rules::default().add("deny"), Err(RuleError::Empty("deny".into())));
    }

    #[test]
    fn a_command_is_kept_with_its_place() {
        let exact = Exact::of("make && echo a\u{1f}b", Path::new("/srv/my app"), "");
        assert_eq!(Exact::read(&exact.entry()), Some(exact.clone()));
        assert_eq!(exact.subject(), "terminal@local(= make && echo a\u{1f}b)");
        assert_eq!(said(&Exact::of("make", Path::new("/srv"), "ssh").entry()), "make (in /srv)");
        for other in ["recursive delete", "terminal(make *)", "$ make"] {
            assert_eq!((Exact::read(other), said(other).as_str()), (None, other));
        }
    }

    #[test]
    fn allow_covers_only_what_it_says() {
        for (rule, command, want) in [
            ("allow ls", "ls", true),
            ("allow ls", "ls -la", true),
            ("allow npm test", "npm test -- x", false),
            ("allow ls", "./bin/ls", false),
            ("allow ls", "/bin/ls", true),
            ("allow git *", "git log", true),
            ("allow git *", "git", true),
            ("allow git log *", "git push", false),
            ("allow git add -A*", "git add -A", true),
        ] {
            assert_eq!(rules(rule).permissions[0].on.rule.covers(&invocation(command)), want, "{rule}: {command}");
        }
    }

    #[test]
    fn deny_catches_spellings() {
        for (rule, command, want) in [
            ("deny rm", "rm -rf x", true),
            ("deny rm *", "/bin/rm x", true),
            ("deny git push --force", "git push origin main --force", true),
            ("deny git add -A*", "git add -A", true),
            ("deny git clean *", "git clean -fd", true),
            ("deny git clean *", "git commit", false),
            ("deny id", "ls", false),
            ("deny rm *", "/bin/r? y", true),
            ("deny rm", "/b*/r[m] y", true),
            ("deny rm", "g* y", false),
        ] {
            assert_eq!(rules(rule).permissions[0].on.rule.catches(&invocation(command)), want, "{rule}: {command}");
        }
    }

    #[test]
    fn allowlist_cases() {
        for line in include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/approval-allow-globs.jsonl")).lines()
        {
            let case: Value = serde_json::from_str(line).unwrap();
            let rules = entries(Action::Allow, &case["allow"]);
            let command = case["command"].as_str().unwrap();
            assert_eq!(
                listed(rules.entries(Action::Allow), command).is_some(),
                case["allowed_by_glob"].as_bool().unwrap(),
                "{line}"
            );
        }
    }

    #[test]
    fn deny_glob_cases() {
        for line in include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/approval-deny-globs.jsonl")).lines()
        {
            let case: Value = serde_json::from_str(line).unwrap();
            let (rules, command) = (entries(Action::Deny, &case["deny"]), case["command"].as_str().unwrap());
            assert_eq!(denied_by_glob(rules.entries(Action::Deny), command), case["matched"].as_str(), "{line}");
        }
    }
}

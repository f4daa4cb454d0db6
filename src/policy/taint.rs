//! Untrusted text in a conversation: what brings it, and what is asked about from then on.
//!
//! Text of strangers may hold orders that the model follows. What lasts beyond the conversation and what sends data out is
//! therefore asked about while such text is in it, whatever rules and grants say. The lists are `assets/policy/taint.yaml`.

mod named;

pub use named::moved;

use super::shell::{self, Invocation, UNKNOWN};
use super::{Intent, Mode, Verdict, Why, World, glob};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The class of the reason.
pub const AFTER: &str = "after untrusted text";

/// The name of the session's fact that holds it.
pub const UNTRUSTED: &str = "untrusted";

/// Origins that are kept, and files that were written by what fetches.
const ORIGINS: usize = 12;
const FILES: usize = 256;
/// Origins that a reason names.
const NAMED: usize = 3;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Lists {
    effects_that_persist: Vec<String>,
    effects_that_send: Vec<String>,
    persist: Vec<String>,
    send: Vec<String>,
    reach: Vec<String>,
    fetch: Vec<String>,
    obeyed: Vec<String>,
    print: Vec<String>,
}

static LISTS: LazyLock<Result<Lists, String>> =
    LazyLock::new(|| super::table::read("taint.yaml", include_str!("../../assets/policy/taint.yaml")));

/// Where untrusted text of a session came from, and where more of it lies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Untrusted {
    /// `MCP server git`, `example.com`, in the order of their coming.
    pub origins: Vec<String>,
    /// Files and folders that were fetched, and from where.
    pub files: Vec<(PathBuf, String)>,
    /// Hosts that the person has named in this conversation.
    pub named: Vec<String>,
}

impl Untrusted {
    /// Text of this origin entered the conversation; whether that was not known yet.
    pub fn entered(&mut self, origin: &str) -> bool {
        if self.origins.iter().any(|known| known == origin) || self.origins.len() >= ORIGINS {
            return false;
        }
        self.origins.push(origin.to_owned());
        true
    }

    /// This file, or all in this folder, was fetched.
    pub fn fetched(&mut self, path: PathBuf, origin: &str) {
        if self.files.iter().any(|(known, _)| *known == path) {
            return;
        }
        if self.files.len() >= FILES {
            self.files.remove(0);
        }
        self.files.push((path, origin.to_owned()));
    }

    /// Where a file came from, when it was fetched.
    pub fn origin_of(&self, path: &Path) -> Option<&str> {
        self.files.iter().rev().find(|(known, _)| path.starts_with(known)).map(|(_, origin)| origin.as_str())
    }

    /// `MCP server git, example.com and 2 more`.
    pub fn words(&self) -> String {
        let named = self.origins.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        match self.origins.len().saturating_sub(NAMED) {
            0 => named,
            more => format!("{named} and {more} more"),
        }
    }
}

/// What a line brings from elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fetched {
    /// `example.com`; the name of the command where the address is not known.
    pub origin: String,
    /// Files and folders that it writes, as far as that is known.
    pub into: Vec<PathBuf>,
}

/// What a line fetches; `None` when it fetches nothing, or only from this machine.
pub fn fetched(line: &str, cwd: &Path, world: &dyn World) -> Option<Fetched> {
    let lists = LISTS.as_ref().ok()?;
    // Cheap, and true of nearly every line.
    if !lists.fetch.iter().any(|entry| line.contains(first_of(entry)) || entry.starts_with('{')) {
        return None;
    }
    let invocations = shell::judge(line, cwd, world).invocations;
    let mut found = Fetched::default();
    for invocation in invocations.iter().filter(|invocation| is_any(&lists.fetch, invocation)) {
        let hosts: Vec<String> = invocation.words.iter().skip(1).filter_map(|word| host(word)).collect();
        if !hosts.is_empty() && hosts.iter().all(|host| is_this_machine(host)) {
            continue;
        }
        if found.origin.is_empty() {
            let name = invocation.plain.first().map_or("", |name| name.rsplit('/').next().unwrap_or(name));
            found.origin = hosts.into_iter().find(|host| !is_this_machine(host)).unwrap_or_else(|| name.to_owned());
        }
        let here = Path::new(&invocation.cwd);
        found.into.extend(written(invocation).into_iter().map(|path| world.resolve(&here.join(path))));
    }
    if found.origin.is_empty() {
        return None;
    }
    found.into.extend(targets(line).into_iter().map(|path| world.resolve(&cwd.join(path))));
    let tees = invocations.iter().filter(|i| i.plain.first().is_some_and(|name| name == "tee"));
    let teed = tees.flat_map(|i| i.words.iter().skip(1).filter(|word| !word.starts_with('-')));
    found.into.extend(teed.map(|path| world.resolve(&cwd.join(path))));
    found.into.retain(|path| !path.starts_with("/dev"));
    Some(found)
}

/// Where the text comes from that a line prints out of files that were fetched.
pub fn printed(line: &str, cwd: &Path, world: &dyn World, untrusted: &Untrusted) -> Option<String> {
    let lists = LISTS.as_ref().ok()?;
    if untrusted.files.is_empty() || !lists.print.iter().any(|name| line.contains(name.as_str())) {
        return None;
    }
    let invocations = shell::judge(line, cwd, world).invocations;
    invocations.iter().filter(|invocation| is_any(&lists.print, invocation)).find_map(|invocation| {
        let here = Path::new(&invocation.cwd);
        let words = invocation.words.iter().skip(1).filter(|word| !word.starts_with('-') && !word.contains(UNKNOWN));
        words.map(|word| world.resolve(&here.join(word))).find_map(|path| Some(untrusted.origin_of(&path)?.to_owned()))
    })
}

/// Files that a fetching command writes by its own options.
fn written(invocation: &Invocation) -> Vec<String> {
    let words = &invocation.words;
    let name = words.first().map_or("", |name| name.rsplit('/').next().unwrap_or(name));
    let last_part = |address: &String| {
        let path = address.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
        path.rsplit('/').next().filter(|part| !part.is_empty()).map(|part| part.trim_end_matches(".git").to_owned())
    };
    let addresses = || words.iter().skip(1).filter(|word| host(word).is_some());
    let value = |options: &[&str]| {
        words.iter().enumerate().find_map(|(at, word)| {
            if options.contains(&word.as_str()) {
                return words.get(at + 1).cloned();
            }
            options
                .iter()
                .filter(|o| o.starts_with("--"))
                .find_map(|o| Some(word.strip_prefix(*o)?.strip_prefix('=')?.to_owned()))
        })
    };
    let found = match name {
        "curl" => match value(&["-o", "--output"]) {
            Some(file) => vec![file],
            None if words.iter().any(|word| word == "-O" || word == "--remote-name" || is_flag_with(word, 'O')) => {
                addresses().filter_map(last_part).collect()
            }
            None => Vec::new(),
        },
        "wget" => match value(&["-O", "--output-document"]) {
            Some(file) => vec![file],
            None => match value(&["-P", "--directory-prefix"]) {
                Some(folder) => vec![folder],
                None => addresses().filter_map(last_part).collect(),
            },
        },
        "aria2c" | "axel" | "yt-dlp" => match value(&["-o", "-O", "--out", "--output"]) {
            Some(file) => vec![file],
            None => addresses().filter_map(last_part).collect(),
        },
        // `git clone ADDRESS [FOLDER]` and the like.
        "git" | "hg" | "svn" | "gh" if words.iter().any(|word| word == "clone" || word == "checkout") => {
            let after = words.iter().skip_while(|word| *word != "clone" && *word != "checkout").skip(1);
            let plain: Vec<&String> = after.filter(|word| !word.starts_with('-')).collect();
            match plain[..] {
                [address] => last_part(address).into_iter().collect(),
                [.., folder] => vec![folder.clone()],
                [] => Vec::new(),
            }
        }
        _ => Vec::new(),
    };
    found.into_iter().filter(|file| !file.contains(UNKNOWN) && file != "-" && !file.starts_with("/dev/")).collect()
}

/// `-sSLO`: one-letter options written together.
fn is_flag_with(word: &str, flag: char) -> bool {
    word.strip_prefix('-').is_some_and(|rest| {
        !rest.starts_with('-') && rest.contains(flag) && rest.chars().all(|c| c.is_ascii_alphabetic())
    })
}

/// Files that `>` and `>>` write, as they are written in the line.
fn targets(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find('>') {
        rest = rest[at + 1..].trim_start_matches(['>', '|']).trim_start_matches(' ');
        let end = rest.find(|c: char| c.is_whitespace() || ";&|<>()".contains(c)).unwrap_or(rest.len());
        let word = rest[..end].trim_matches(['"', '\'']);
        if !word.is_empty() && !word.contains(['$', '`', '*']) {
            found.push(word.to_owned());
        }
    }
    found
}

/// The host of an address, also as `user@host:path`.
fn host(word: &str) -> Option<String> {
    let plain = |text: &str| {
        let text = text.rsplit('@').next().unwrap_or(text);
        let text = match text.strip_prefix('[') {
            Some(inner) => inner.split(']').next().unwrap_or(inner),
            None => text.split(':').next().unwrap_or(text),
        };
        (!text.is_empty() && !text.contains(UNKNOWN)).then(|| text.to_lowercase())
    };
    if let Some((scheme, rest)) = word.split_once("://") {
        let fits = !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
        return fits.then(|| plain(rest.split(['/', '?', '#']).next().unwrap_or(rest))).flatten();
    }
    if word.starts_with(['-', '/', '.', '~']) || word.contains([' ', '=', '{', '"']) {
        return None;
    }
    // `git@github.com:a/b`, `example.com/x`, `localhost:8080`
    let first = word.split('/').next().unwrap_or(word);
    let name = plain(first)?;
    let looks = name == "localhost"
        || name.contains('.')
            && !name.ends_with('.')
            && (word.contains('/') || first.contains('@') || first.contains(':'));
    looks.then_some(name)
}

fn is_this_machine(host: &str) -> bool {
    host == "localhost"
        || host.ends_with(".localhost")
        || host.starts_with("127.")
        || host == "::1"
        || host == "0.0.0.0"
}

/// The first word of an entry, to look for it in a text.
fn first_of(entry: &str) -> &str {
    entry.split_whitespace().next().unwrap_or(entry)
}

fn is_any(entries: &[String], invocation: &Invocation) -> bool {
    entries.iter().any(|entry| is(entry, &invocation.plain) || is(entry, &invocation.words))
}

/// Whether a command is one of an entry: its first plain words, its options anywhere, `{a,b}` for one of several.
fn is(entry: &str, words: &[String]) -> bool {
    let Some((first, rest)) = words.split_first() else { return false };
    let name = first.rsplit('/').next().unwrap_or(first).to_lowercase();
    let mut plain =
        std::iter::once(name.as_str()).chain(rest.iter().filter(|word| !word.starts_with('-')).map(String::as_str));
    entry.split_whitespace().all(|part| {
        if part.starts_with('-') {
            rest.iter().any(|word| glob::matches(part, word))
        } else {
            plain.next().is_some_and(|word| match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
                Some(several) => several.split(',').any(|one| glob::matches(one, word)),
                None => glob::matches(part, word),
            })
        }
    })
}

/// The verdict while this text is in the conversation; `unaided` is what it would be without rules and grants of files.
/// What persists or sends data out asks, and says why. Yolo is the person's word that nothing but our own policy asks.
pub fn guarded(
    verdict: Verdict,
    unaided: &Verdict,
    intent: &Intent,
    mode: Mode,
    untrusted: &Untrusted,
    world: &dyn World,
) -> Verdict {
    if untrusted.origins.is_empty() || mode == Mode::Yolo || !matches!(verdict, Verdict::Allow(_) | Verdict::Ask(_)) {
        return verdict;
    }
    let strange = LISTS.as_ref().ok().and_then(|lists| named::unnamed(intent, untrusted, lists, world));
    let reaches = strange.map(|host| format!("contacts {host}, which you did not name"));
    let Some(what) = lasts_or_leaves(unaided, intent, world).map(str::to_owned).or(reaches) else { return verdict };
    let mut why: Vec<Why> = match (&verdict, unaided) {
        (Verdict::Ask(why), _) | (_, Verdict::Ask(why)) => why.clone(),
        _ => Vec::new(),
    };
    let text = format!("this conversation contains untrusted text from {}, and this {what}", untrusted.words());
    why.push(Why { effect: AFTER.into(), text, span: 0..0 });
    Verdict::Ask(why)
}

/// `outlasts it`, `sends data out`; `None` when it does neither.
fn lasts_or_leaves(unaided: &Verdict, intent: &Intent, world: &dyn World) -> Option<&'static str> {
    const LASTS: &str = "outlasts it";
    const LEAVES: &str = "sends data out";
    let Ok(lists) = LISTS.as_ref() else { return Some(LASTS) };
    let has = |words: &[String]| {
        unaided.reasons().iter().any(|why| words.iter().any(|word| why.effect.contains(word.as_str())))
    };
    let remote = matches!(intent, Intent::Remote { .. });
    if !remote && has(&lists.effects_that_persist) {
        return Some(LASTS);
    }
    if !remote && has(&lists.effects_that_send) {
        return Some(LEAVES);
    }
    let obeyed = |path: &str| lists.obeyed.iter().any(|name| path.rsplit('/').next() == Some(name));
    match intent {
        Intent::Edit(edits) => edits
            .iter()
            .any(|edit| edit.path.to_str().is_some_and(|path| obeyed(path) || path.contains("/.cursor/rules/")))
            .then_some(LASTS),
        Intent::Command { line, cwd, .. } => {
            let invocations = shell::judge(line, cwd, world).invocations;
            let reaches = |invocation: &Invocation| {
                is_any(&lists.reach, invocation) && invocation.words.iter().any(|word| word.contains(UNKNOWN))
            };
            let to_host = |invocation: &Invocation| {
                is("rsync", &invocation.plain)
                    && invocation.words.iter().any(|word| word.contains(':') && !word.starts_with('-'))
            };
            let writes = |invocation: &Invocation| {
                let changes = ["tee", "cp", "mv", "ln", "install", "sed", "perl", "dd", "patch"];
                changes.iter().any(|name| is(name, &invocation.plain))
                    && invocation.words.iter().any(|word| obeyed(word))
            };
            if invocations.iter().any(|i| is_any(&lists.persist, i) || writes(i))
                || targets(line).iter().any(|t| obeyed(t))
            {
                return Some(LASTS);
            }
            invocations.iter().any(|i| is_any(&lists.send, i) || reaches(i) || to_host(i)).then_some(LEAVES)
        }
        // What computes asks nothing, and the calls of a script are looked at one by one.
        Intent::Code { .. } if !matches!(unaided, Verdict::Allow(_)) => Some(LEAVES),
        Intent::Read(_)
        | Intent::Input { .. }
        | Intent::Remote { .. }
        | Intent::Code { .. }
        | Intent::Talk
        | Intent::Handle => None,
    }
}

#[cfg(test)]
mod tests;

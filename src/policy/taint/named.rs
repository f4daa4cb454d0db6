//! Hosts that the user has named, those that a call would reach without that, and where files of strangers are put.

use super::{Lists, Untrusted, first_of, host, is_this_machine};
use crate::policy::shell::{self, UNKNOWN};
use crate::policy::{Intent, World};
use std::path::{Path, PathBuf};

/// Hosts that are kept.
const NAMES: usize = 256;

impl Untrusted {
    /// The person said this: the hosts in it are theirs. Whether one is new.
    pub fn heard(&mut self, text: &str) -> bool {
        let before = self.named.len();
        for word in text.split(|c: char| c.is_whitespace() || "'\"`<>()[]{},;|&=".contains(c)) {
            let word = word.trim_end_matches(['.', ':', '!', '?']);
            let bare = || Some(word.to_lowercase()).filter(|word| is_name(word));
            if let Some(host) = host(word).or_else(bare)
                && self.named.len() < NAMES
                && !self.named.contains(&host)
            {
                self.named.push(host);
            }
        }
        self.named.len() > before
    }

    /// Whether the person has named a host, or the domain that it is in.
    pub(super) fn is_named(&self, host: &str) -> bool {
        self.named.iter().any(|named| host == named || host.strip_suffix(named).is_some_and(|rest| rest.ends_with('.')))
    }
}

/// `example.com`: letters, digits and dots, with an ending of letters.
fn is_name(word: &str) -> bool {
    let ending = word.rsplit('.').next().unwrap_or_default();
    word.contains('.')
        && ending.len() >= 2
        && ending.chars().all(|c| c.is_ascii_alphabetic())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '-')
        && !word.starts_with('.')
}

/// The first host that a call would reach and that the person has not named.
pub(super) fn unnamed(intent: &Intent, untrusted: &Untrusted, lists: &Lists, world: &dyn World) -> Option<String> {
    let strange = |host: &String| !is_this_machine(host) && !untrusted.is_named(host);
    let (line, cwd) = match intent {
        Intent::Command { line, cwd, .. } => (line, cwd),
        // A tool of a server that takes an address may go there, and so may a script that names one.
        Intent::Remote { args, .. } | Intent::Code { code: args, .. } => {
            let words = args.split(|c: char| c.is_whitespace() || "'\"`<>()[]{},".contains(c));
            return words.filter(|word| word.contains("://")).filter_map(host).find(strange);
        }
        Intent::Read(_) | Intent::Edit(_) | Intent::Input { .. } | Intent::Talk | Intent::Handle => return None,
    };
    let entries = || lists.reach.iter().chain(&lists.fetch).chain(&lists.send).map(|entry| first_of(entry));
    let reaches = |name: &str| entries().any(|known| known == name || in_braces(known, name)) || name == "rsync";
    let invocations = shell::judge(line, cwd, world).invocations;
    invocations.iter().find_map(|invocation| {
        let name = invocation.plain.first()?.rsplit('/').next()?.to_lowercase();
        let words = || invocation.words.iter().skip(1);
        // `ssh build` names a host without a dot.
        let bare = || {
            words()
                .find(|word| !word.starts_with('-'))
                .cloned()
                .filter(|_| matches!(&*name, "ssh" | "sftp" | "telnet" | "nc"))
        };
        let bare = || bare().map(|word| word.rsplit('@').next().unwrap_or_default().to_lowercase());
        let is_address = |word: &String| {
            word.contains("://") || !matches!(&*name, "git" | "docker" | "npm" | "kubectl") || word.contains('@')
        };
        reaches(&name)
            .then(|| {
                words()
                    .filter(|word| is_address(word))
                    .filter_map(|word| host(word))
                    .find(strange)
                    .or_else(|| bare().filter(strange))
            })
            .flatten()
    })
}

/// `{http,https}` and `https`.
fn in_braces(entry: &str, name: &str) -> bool {
    entry
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
        .is_some_and(|all| all.split(',').any(|one| one == name))
}

/// Files of strangers that a line puts elsewhere: where they are then, and where they came from.
pub fn moved(line: &str, cwd: &Path, world: &dyn World, untrusted: &Untrusted) -> Vec<(PathBuf, String)> {
    const MOVERS: &[&str] = &["mv", "cp", "ln", "install", "rsync", "scp"];
    if untrusted.files.is_empty() || !MOVERS.iter().any(|name| line.contains(name)) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for invocation in shell::judge(line, cwd, world).invocations {
        let name = invocation.plain.first().map_or("", |name| name.rsplit('/').next().unwrap_or(name));
        let by_git = name == "git" && invocation.words.get(1).is_some_and(|word| word == "mv");
        if !by_git && !MOVERS.contains(&name) {
            continue;
        }
        let here = Path::new(&invocation.cwd);
        let known = |word: &&String| !word.starts_with('-') && !word.contains(UNKNOWN);
        let given = invocation.words.iter().skip(1 + usize::from(by_git));
        let mut paths: Vec<PathBuf> = given.filter(known).map(|word| world.resolve(&here.join(word))).collect();
        // `mv -t FOLDER FILE`, `mv --target-directory=FOLDER FILE`: the folder stands first.
        let mut options = invocation.words.iter().enumerate();
        if let Some((at, option)) = options.find(|(_, word)| *word == "-t" || word.starts_with("--target-directory")) {
            let value = option.split_once('=').map(|(_, value)| value);
            let folder = value.or(invocation.words.get(at + 1).map(String::as_str)).unwrap_or_default();
            let folder = world.resolve(&here.join(folder));
            paths.retain(|path| *path != folder);
            paths.push(folder);
        }
        let Some((to, from)) = paths.split_last() else { continue };
        for source in from {
            let Some(origin) = untrusted.origin_of(source) else { continue };
            // A folder takes it under its own name.
            if !world.glob(".", to, 1).some() {
                found.push((to.clone(), origin.to_owned()));
            }
            found.extend(source.file_name().map(|name| (to.join(name), origin.to_owned())));
        }
    }
    found
}

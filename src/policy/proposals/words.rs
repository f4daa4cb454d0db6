//! Words that stand for a command: its program and subcommand, its paths by their folders.

use super::super::shell::{self, Invocation, UNKNOWN};
use super::super::table::Level;
use super::super::{Intent, Verdict, World, files};
use std::path::Path;

/// Programs whose second word says what they do, and how many such words there may be.
const SUBCOMMANDS: &[(&str, usize)] = &[
    ("apt", 1),
    ("apt-get", 1),
    ("aws", 2),
    ("az", 2),
    ("brew", 1),
    ("bun", 1),
    ("bundle", 1),
    ("cargo", 1),
    ("composer", 1),
    ("conda", 1),
    ("deno", 1),
    ("dnf", 1),
    ("docker", 2),
    ("dotnet", 1),
    ("flyctl", 1),
    ("gcloud", 3),
    ("gem", 1),
    ("gh", 2),
    ("git", 1),
    ("glab", 2),
    ("go", 1),
    ("gradle", 1),
    ("helm", 1),
    ("jj", 1),
    ("just", 1),
    ("kubectl", 1),
    ("make", 1),
    ("mix", 1),
    ("mvn", 1),
    ("npm", 2),
    ("nix", 1),
    ("npx", 1),
    ("pip", 1),
    ("pip3", 1),
    ("pipx", 1),
    ("pnpm", 2),
    ("podman", 2),
    ("poetry", 1),
    ("rustup", 2),
    ("systemctl", 1),
    ("terraform", 1),
    ("tofu", 1),
    ("uv", 2),
    ("vercel", 1),
    ("yarn", 2),
];
/// Commands of one line that words are offered for.
const MAX_COMMANDS: usize = 3;

/// Lines of `permissions.yaml` for a call, the best first; each a list that only together answers.
pub(super) fn candidates(intent: &Intent, verdict: &Verdict, cwd: &Path, world: &dyn World) -> Vec<Vec<String>> {
    match intent {
        Intent::Command { line, cwd, .. } => of_line(line, cwd, world),
        Intent::Edit(edits) => {
            let all: Option<Vec<String>> =
                edits.iter().map(|edit| of_file(action(edit.removes), &edit.path, cwd, world)).collect();
            each_once(all, verdict)
        }
        Intent::Read(path) => each_once(of_file("file.read", path, cwd, world).map(|line| vec![line]), verdict),
        Intent::Input { .. } | Intent::Remote { .. } | Intent::Code { .. } | Intent::Talk | Intent::Handle => {
            Vec::new()
        }
    }
}

/// The files of a call by their own names.
pub(super) fn very_files(intent: &Intent, verdict: &Verdict, cwd: &Path) -> Vec<String> {
    let all: Option<Vec<String>> = match intent {
        Intent::Edit(edits) => edits.iter().map(|edit| of_very_file(action(edit.removes), &edit.path, cwd)).collect(),
        Intent::Read(path) => of_very_file("file.read", path, cwd).map(|line| vec![line]),
        Intent::Command { .. }
        | Intent::Input { .. }
        | Intent::Remote { .. }
        | Intent::Code { .. }
        | Intent::Talk
        | Intent::Handle => None,
    };
    each_once(all, verdict).into_iter().next().unwrap_or_default()
}

fn action(removes: bool) -> &'static str {
    if removes { "file.delete" } else { "file.write" }
}

fn of_very_file(action: &str, path: &Path, cwd: &Path) -> Option<String> {
    let literal = files::normal(cwd, &path.to_string_lossy());
    (!literal.contains(['*', '?', '[', '"', '\n'])).then(|| format!("{action}({literal})"))
}

fn each_once(lines: Option<Vec<String>>, verdict: &Verdict) -> Vec<Vec<String>> {
    let Some(mut lines) = lines.filter(|_| matches!(verdict, Verdict::Ask(_))) else { return Vec::new() };
    lines.sort();
    lines.dedup();
    if lines.is_empty() || lines.len() > MAX_COMMANDS { Vec::new() } else { vec![lines] }
}

/// A file by its folder; one that stands in the home folder itself or above by its own name.
fn of_file(action: &str, path: &Path, cwd: &Path, world: &dyn World) -> Option<String> {
    let own_name = of_very_file(action, path, cwd)?;
    let literal = files::normal(cwd, &path.to_string_lossy());
    let folder = literal.rsplit_once('/').map_or("", |(folder, _)| folder);
    let below = |folder: &str| match folder.strip_prefix(&*format!("{}/", cwd.display())) {
        Some(rest) => format!("{action}({rest}/**)"),
        None => format!("{action}({folder}/**)"),
    };
    let own = Path::new(folder) == cwd;
    let wide = files::is_protected(folder, world) || folder.matches('/').count() < 2;
    Some(if wide || own { own_name } else { below(folder) })
}

fn of_line(line: &str, cwd: &Path, world: &dyn World) -> Vec<Vec<String>> {
    let judged = shell::judge(line, cwd, world);
    // What no rule for a command answers, or no command does, has no words.
    let asking = || judged.findings.iter().filter(|f| f.level == Level::Ask);
    if asking().any(|f| f.fixed || f.by.is_none()) {
        return Vec::new();
    }
    let mut at: Vec<usize> = asking().filter_map(|f| f.by).collect();
    at.sort_unstable();
    at.dedup();
    // Asked about by a rule of the person: every part of the line may be meant, and its options say nothing more.
    let by_person = at.is_empty();
    if by_person {
        at = (0..judged.invocations.len()).filter(|i| !judged.invocations[*i].quiet).collect();
    }
    if at.is_empty() || at.len() > MAX_COMMANDS {
        return Vec::new();
    }
    let ways: [fn(&Invocation) -> Option<String>; 3] =
        [if by_person { widely } else { generally }, by_folders, as_written];
    let mut found: Vec<Vec<String>> = Vec::new();
    for way in ways {
        let lines: Option<Vec<String>> = at.iter().map(|i| judged.invocations.get(*i).and_then(way)).collect();
        if let Some(mut lines) = lines {
            lines.dedup();
            if !found.contains(&lines) {
                found.push(lines);
            }
        }
    }
    found
}

/// As general as is sensible.
fn generally(invocation: &Invocation) -> Option<String> {
    by_options(invocation).or_else(|| by_subcommand(invocation)).or_else(|| by_folders(invocation))
}

/// Whatever the options are.
fn widely(invocation: &Invocation) -> Option<String> {
    let count = head(&invocation.words);
    entry_of(&invocation.words[..count], true)
}

/// How many words of a command are its program and subcommand.
fn head(words: &[String]) -> usize {
    let Some(first) = words.first() else { return 0 };
    let name = first.rsplit('/').next().unwrap_or(first);
    let most = SUBCOMMANDS.iter().find(|(known, _)| *known == name).map_or(0, |(_, most)| *most);
    let plain = |word: &&String| {
        word.starts_with(|c: char| c.is_ascii_alphabetic())
            && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':'))
    };
    // `npm run build` has its third word, `npm publish x` has none.
    let deep = words.get(1).is_some_and(|sub| {
        matches!(sub.as_str(), "run" | "compose" | "pip" | "tool" | "image" | "container" | "volume" | "workspace")
            || matches!(name, "aws" | "az" | "gcloud" | "gh" | "glab" | "rustup")
    });
    let most = if deep { most } else { most.min(1) };
    1 + words.iter().skip(1).take(most).take_while(plain).count()
}

/// `git push *`, where no option says more than that.
fn by_subcommand(invocation: &Invocation) -> Option<String> {
    let count = head(&invocation.words);
    (count > 1 && !invocation.words.iter().any(|word| word.starts_with('-')))
        .then(|| entry_of(&invocation.words[..count], true))?
}

/// `git push --force *`: with the options that follow, when there are no others.
fn by_options(invocation: &Invocation) -> Option<String> {
    let words = &invocation.words;
    let count = head(words);
    let options = words.iter().skip(count).take_while(|word| word.starts_with('-')).count();
    let others = words.iter().skip(count + options).any(|word| word.starts_with('-'));
    (count > 1 && options > 0 && !others).then(|| entry_of(&words[..count + options], true))?
}

/// `rm -rf build/out/*`: each path by its folder.
fn by_folders(invocation: &Invocation) -> Option<String> {
    let mut out = vec![invocation.words.first()?.clone()];
    let mut wide = false;
    for word in invocation.words.iter().skip(1) {
        match word.trim_end_matches('/').rsplit_once('/') {
            Some((folder, _))
                if !word.starts_with('-')
                    && folder.matches('/').count() >= usize::from(word.starts_with('/')) * 3
                    && !folder.is_empty()
                    && !word.contains("..")
                    && !word.contains("://") =>
            {
                wide = true;
                let pattern = format!("{folder}/*");
                if out.last() != Some(&pattern) {
                    out.push(pattern);
                }
            }
            _ => out.push(word.clone()),
        }
    }
    if !wide {
        return as_written(invocation);
    }
    // Only the folders that were made may have wildcards.
    let literal = invocation.words.iter().all(|word| is_plain(word));
    literal.then(|| line(&out))
}

/// The words as they are.
fn as_written(invocation: &Invocation) -> Option<String> {
    entry_of(&invocation.words, false)
}

fn is_plain(word: &str) -> bool {
    !word.is_empty() && !word.contains(['*', '?', '[', '"', '\n', UNKNOWN]) && !word.contains(char::is_control)
}

fn entry_of(words: &[String], more: bool) -> Option<String> {
    if !words.iter().all(|word| is_plain(word)) {
        return None;
    }
    let mut words = words.to_vec();
    if more {
        words.push("*".into());
    }
    Some(line(&words))
}

fn line(words: &[String]) -> String {
    let quoted = |word: &String| if word.contains(char::is_whitespace) { format!("\"{word}\"") } else { word.clone() };
    format!("terminal({})", words.iter().map(quoted).collect::<Vec<_>>().join(" "))
}

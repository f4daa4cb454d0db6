//! What a call would touch, for the modal: paths with their files and bytes, what git would lose, and the text that an
//! interpreter would get. Every look is bounded; each row goes out as soon as it is known, for nobody may wait for all.

mod find;
mod git;
mod measure;
mod named;

use crate::lock::lock;
use crate::policy::shell::{self, Judgement};
use crate::policy::table::Role;
use crate::policy::{Intent, Matches, Payload, Target, Verdict, World, glob};
use measure::Sum;
use named::Named;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Rows of targets.
const MAX_TARGETS: usize = 12;
/// Paths of one glob that are counted.
const MAX_MATCHES: usize = 4096;

/// What was found so far.
#[derive(Clone, Debug, Default)]
pub struct Found {
    pub targets: Vec<Target>,
    pub payloads: Vec<Payload>,
    /// Where its paths lead; `None` until that is known.
    pub resolved_paths: Option<ResolvedPaths>,
    /// The rows of paths are complete; what git says may still come.
    pub counted: bool,
    /// Git was asked, and its time was over before it had said all.
    pub git_is_late: bool,
    /// Nothing more comes, and nothing is missing.
    pub complete: bool,
}

/// How long a look at the disk may take.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// To count files and bytes.
    pub count: Duration,
    /// Until git has said all, the counting included.
    pub git: Duration,
}

/// Where the paths of a call lead: what must not change between the question and the run.
pub type ResolvedPaths = BTreeMap<String, BTreeSet<PathBuf>>;

const IGNORED: &str = "ignored by git";

/// The folder that a call starts in.
pub const FOLDER: &str = "this folder";

fn judged(intent: &Intent, cwd: &Path, world: &dyn World) -> Judgement {
    match intent {
        Intent::Command { line, cwd, .. } => shell::judge(line, cwd, world),
        Intent::Input { text, .. } => shell::judge(text, cwd, world),
        Intent::Read(_)
        | Intent::Edit(_)
        | Intent::Remote { .. }
        | Intent::Code { .. }
        | Intent::Talk
        | Intent::Handle => Judgement::default(),
    }
}

/// Counts files and bytes below each path that a reason points at, then asks git.
pub fn look(intent: &Intent, verdict: &Verdict, cwd: &Path, times: Times, world: &dyn World, found: &Mutex<Found>) {
    let until = Instant::now() + times.count;
    let git_until = Instant::now() + times.git;
    let judgement = judged(intent, cwd, world);
    let here = match intent {
        Intent::Command { cwd, .. } => cwd.as_path(),
        _ => cwd,
    };
    let tell = |work: &dyn Fn(&mut Found)| work(&mut lock(found));
    tell(&|found| found.payloads = payloads(intent, &judgement));
    let named = named::of(intent, verdict, &judgement, world);
    let resolved_paths = leads(&named, here, world);
    tell(&|found| found.resolved_paths = Some(resolved_paths.clone()));
    if !world.is_here() {
        return elsewhere(&named, world, found);
    }
    let mut repos = git::Stakes::default();
    for (at, named) in named.iter().take(MAX_TARGETS).enumerate() {
        let target = row(named, here, world, until, &mut repos, at);
        tell(&|found| found.targets.push(target.clone()));
    }
    if named.len() > MAX_TARGETS {
        let name = format!("and {} more", named.len() - MAX_TARGETS);
        let more = Target { name, files: None, bytes: None, at_least: false, note: String::new() };
        tell(&|found| found.targets.push(more.clone()));
    }
    for target in find::of(verdict, &judgement, until) {
        tell(&|found| found.targets.push(target.clone()));
    }
    tell(&|found| found.counted = true);
    for (at, note) in repos.of_files(git_until) {
        tell(&|found| {
            if let Some(target) = found.targets.get_mut(at) {
                add_note(&mut target.note, &note);
            }
        });
    }
    for target in git::of_commands(verdict, &judgement, git_until) {
        tell(&|found| found.targets.push(target.clone()));
    }
    let late = Instant::now() >= git_until && (repos.are_asked() || git::is_meant(verdict, &judgement));
    tell(&|found| (found.git_is_late, found.complete) = (late, !late));
}

/// How much a pattern matches.
fn matching(matches: &Matches) -> String {
    let count = crate::text::format::plural(matches.names.len() as u64, "path", "paths");
    match (matches.some(), matches.complete) {
        (true, true) => count,
        (true, false) => format!("at least {count}"),
        (false, true) => "matches nothing now".into(),
        (false, false) => "cannot tell what it matches".into(),
    }
}

/// Rows of paths on another machine: named, not counted. A count there takes as long as it takes.
fn elsewhere(named: &[Named], world: &dyn World, found: &Mutex<Found>) {
    let row = |named: &Named| {
        let note = match () {
            () if named.is_unknown() => "known only when it runs".to_owned(),
            () if glob::is_pattern(&named.text) => matching(&named.paths(world, MAX_MATCHES)),
            () => "not counted on another machine".to_owned(),
        };
        Target { name: named.name.clone(), files: None, bytes: None, at_least: false, note }
    };
    let rows: Vec<Target> = named.iter().take(MAX_TARGETS).map(row).collect();
    let mut found = lock(found);
    found.targets.extend(rows);
    (found.counted, found.complete) = (true, true);
}

/// Where every path of the call leads now. Reads links, counts nothing.
pub fn resolved_paths(intent: &Intent, verdict: &Verdict, cwd: &Path, world: &dyn World) -> ResolvedPaths {
    world.fresh();
    let here = match intent {
        Intent::Command { cwd, .. } => cwd.as_path(),
        _ => cwd,
    };
    leads(&named::of(intent, verdict, &judged(intent, cwd, world), world), here, world)
}

fn leads(named: &[Named], here: &Path, world: &dyn World) -> ResolvedPaths {
    let mut resolved_paths = ResolvedPaths::new();
    resolved_paths.entry(FOLDER.into()).or_default().insert(world.resolve(here));
    for named in named {
        let leads = resolved_paths.entry(named.name.clone()).or_default();
        for path in named.paths(world, MAX_MATCHES).names {
            // A link counts as itself and as what it leads to: either may be what the command means.
            leads.insert(world.resolve(&path));
            leads.insert(path);
        }
    }
    resolved_paths
}

/// What is not as it was, a sentence each.
pub fn differences(before: &ResolvedPaths, now: &ResolvedPaths) -> Vec<String> {
    let mut told = Vec::new();
    for (name, now) in now {
        let known = BTreeSet::new();
        let before = before.get(name).unwrap_or(&known);
        if before == now {
            continue;
        }
        let list = |set: Vec<&PathBuf>| {
            let shown: Vec<String> = set.iter().take(3).map(|path| path.display().to_string()).collect();
            let more = set.len().saturating_sub(3);
            if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
        };
        let came: Vec<_> = now.difference(before).collect();
        // When only some are gone, less is touched than was allowed.
        if !came.is_empty() && glob::is_pattern(name) {
            told.push(format!("{name} now also means {}", list(came)));
        } else if !came.is_empty() {
            told.push(format!("{name} now leads to {}", list(came)));
        }
    }
    told
}

/// Texts for an interpreter that do not stand in the line as they run.
fn payloads(intent: &Intent, judgement: &Judgement) -> Vec<Payload> {
    let line = match intent {
        Intent::Command { line, .. } => line,
        Intent::Input { text, .. } => text,
        Intent::Read(_)
        | Intent::Edit(_)
        | Intent::Remote { .. }
        | Intent::Code { .. }
        | Intent::Talk
        | Intent::Handle => {
            return Vec::new();
        }
    };
    let hidden = |payload: &&shell::Payload| !payload.text.trim().is_empty() && !line.contains(payload.text.trim());
    let shown = judgement.payloads.iter().filter(hidden).map(|payload| Payload {
        from: line.get(payload.span.clone()).unwrap_or_default().to_owned(),
        text: payload.text.replace(shell::UNKNOWN, "…"),
        decoded: payload.decoded,
    });
    shown.collect()
}

/// One row: what a path is and how much is below it.
fn row(named: &Named, cwd: &Path, world: &dyn World, until: Instant, repos: &mut git::Stakes, at: usize) -> Target {
    let mut target =
        Target { name: named.name.clone(), files: None, bytes: None, at_least: false, note: String::new() };
    if named.is_unknown() {
        target.note = "known only when it runs".into();
        return target;
    }
    let matches = named.paths(world, MAX_MATCHES);
    let paths = &matches.names;
    let [path, rest @ ..] = paths.as_slice() else {
        target.note = matching(&matches);
        return target;
    };
    if rest.is_empty() && !glob::is_pattern(&named.text) && path.symlink_metadata().is_err() {
        let new = matches!(named.role, Role::Write | Role::Edit | Role::Move);
        target.note = if new { "a new file" } else { "does not exist" }.into();
        note_place(&mut target.note, path, cwd, world);
        return target;
    }
    if glob::is_pattern(&named.text) {
        add_note(&mut target.note, &matching(&matches));
    }
    note_place(&mut target.note, path, cwd, world);
    if rest.is_empty() {
        for note in measure::nature(path, cwd, named.role, world) {
            add_note(&mut target.note, &note);
        }
    }
    let mut sum = Sum::default();
    for path in paths {
        sum.add(path, until);
    }
    (target.files, target.bytes, target.at_least) = (Some(sum.files), Some(sum.bytes), sum.cut || !matches.complete);
    // What is built changes all the time.
    let built = target.note.contains(IGNORED);
    for note in sum.notes(!built) {
        add_note(&mut target.note, &note);
    }
    if matches!(named.role, Role::Delete | Role::DeleteTree | Role::Write | Role::Edit | Role::Move) {
        repos.ask(at, paths);
    }
    target
}

fn note_place(note: &mut String, path: &Path, cwd: &Path, world: &dyn World) {
    let real = world.resolve(path);
    let inside = |path: &Path| path.starts_with(cwd) && path != cwd;
    if !inside(path) && !inside(&real) && !cwd.starts_with(path) {
        add_note(note, "outside this folder");
    } else if measure::is_ignored(path, cwd) {
        add_note(note, IGNORED);
    }
}

fn add_note(notes: &mut String, note: &str) {
    if !notes.is_empty() && !note.is_empty() {
        notes.push_str(", ");
    }
    notes.push_str(note);
}

#[cfg(test)]
mod tests;

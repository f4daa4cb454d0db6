//! Which lasting answers a question offers: this very command, its words, its effects, the tools of a server; and what
//! each would have answered in the past.

mod past;
mod words;

pub use past::{Seen, tell_past};

use super::decide::{BY_RULE, decide_in, in_process};
use super::permissions::{Layer, Permission};
use super::rule::{Action, Exact, Rules};
use super::{Grant, Intent, Mode, Past, Proposal, Scope, Verdict, Width, World, glob, remote};
use std::path::{Path, PathBuf};

/// Names of questions that are no class of effect: a grant of them would answer questions about anything.
const NO_CLASS: &[&str] = &[
    BY_RULE,
    "outside the rule",
    "asked by a hook",
    "unreadable permissions",
    "auto mode",
    super::decide::PLANNING,
    super::decide::REVIEWED,
    "sends a secret",
    super::unreviewed::CHANGED,
    super::taint::AFTER,
    super::WITHOUT_SANDBOX,
];

/// The proposals for a call, those of the session first, then the narrowest. None for what is asked every time.
pub fn offered(intent: &Intent, verdict: &Verdict) -> Vec<Proposal> {
    if !matches!(verdict, Verdict::Ask(_)) {
        return Vec::new();
    }
    let effects = effects(verdict);
    let server = match intent {
        // A rule that names the tool, not what it does, is what is asked about.
        Intent::Remote { server, tool, .. } if effects == [tool.as_str()] => remote::every_tool(server, tool),
        _ => None,
    };
    let lasting = |scope| {
        let effects = (!effects.is_empty()).then(|| proposal(scope, Width::Effects, effects.clone()));
        let server = server.clone().map(|entry| proposal(scope, Width::Server, vec![entry]));
        effects.into_iter().chain(server)
    };
    // Commands run here where nothing else is known.
    let very =
        |scope| very_command(intent, scope, "").map(|exact| proposal(scope, Width::Command, vec![exact.entry()]));
    let here = match intent {
        Intent::Input { process, .. } if !effects.is_empty() => {
            let entries = effects.iter().map(|effect| in_process(effect, process)).collect();
            Some(proposal(Scope::Session, Width::Command, entries))
        }
        _ => None,
    };
    let of = |scope| very(scope).into_iter().chain(lasting(scope));
    here.into_iter().chain(of(Scope::Session)).chain(of(Scope::Global)).collect()
}

fn proposal(scope: Scope, width: Width, entries: Vec<String>) -> Proposal {
    Proposal { grant: Grant { scope, width, entries }, past: Past::default() }
}

/// As [`offered`], for a task in `cwd` with these rules: also the words of a command and the folder of a file, for this
/// session, this project and always; and only what would answer this question.
pub fn offered_in(intent: &Intent, verdict: &Verdict, cwd: &Path, rules: &Rules, world: &dyn World) -> Vec<Proposal> {
    let mut all = offered(intent, verdict);
    if all.is_empty() && !matches!(verdict, Verdict::Ask(_)) {
        return all;
    }
    let answers = |grant: &Grant| {
        let mut rules = rules.clone();
        with(&mut rules, grant, world);
        matches!(decide_in(intent, cwd, &rules, Mode::Ask, world), Verdict::Allow(_))
    };
    for one in all.iter_mut().filter(|one| one.grant.width == Width::Command) {
        if let Some(exact) = very_command(intent, one.grant.scope, &rules.here.backend) {
            one.grant.entries = vec![exact.entry()];
        }
    }
    all.retain(|one| {
        let a_class = one.grant.width == Width::Effects && !matches!(intent, Intent::Remote { .. });
        !(a_class && one.grant.entries.iter().any(|entry| NO_CLASS.contains(&entry.as_str()))) && answers(&one.grant)
    });
    let mut scopes = vec![Scope::Session, Scope::Global];
    if !rules.here.folder.as_os_str().is_empty() && cwd.starts_with(&rules.here.folder) {
        scopes.insert(1, Scope::Project);
    }
    // The file itself before its folder.
    let file = words::very_files(intent, verdict, cwd);
    for scope in scopes.iter().filter(|_| !file.is_empty()) {
        all.push(proposal(*scope, Width::Words, file.clone()));
    }
    all.retain(|one| one.grant.width != Width::Words || answers(&one.grant));
    for candidate in words::candidates(intent, verdict, cwd, world).into_iter().filter(|words| *words != file) {
        scopes.retain(|scope| {
            let one = proposal(*scope, Width::Words, candidate.clone());
            let fits = answers(&one.grant);
            if fits {
                all.push(one);
            }
            !fits
        });
    }
    let narrow = |width| match width {
        Width::Command => 0,
        Width::Words => 1,
        Width::Effects => 2,
        Width::Server => 3,
    };
    // One list for the session, one for what outlives it; both begin with the least that answers.
    all.sort_by_key(|one| (one.grant.scope > Scope::Session, narrow(one.grant.width), one.grant.scope));
    all
}

/// Puts a grant into the rules as it will hold.
pub fn with(rules: &mut Rules, grant: &Grant, world: &dyn World) {
    if grant.scope == Scope::Session {
        return rules.grant(&grant.entries);
    }
    rules.hold(lines(rules, grant, world));
}

/// The lines that an answer which lasts beyond the session adds to these rules.
pub fn lines(rules: &Rules, grant: &Grant, world: &dyn World) -> Vec<Permission> {
    if grant.scope == Scope::Global && !matches!(grant.width, Width::Words | Width::Command) {
        return grant.entries.iter().map(|entry| Permission::entry(Action::Allow, entry)).collect();
    }
    let here = (grant.scope == Scope::Project).then(|| rules.here.folder.clone());
    let place = |entry: &String| match Exact::read(entry) {
        Some(exact) => (exact.subject(), Some(world.resolve(&exact.folder))),
        None => (entry.clone(), here.clone()),
    };
    let lines = grant.entries.iter().map(place);
    let lines = lines.filter_map(|(line, folder)| Some((Permission::granted(&line).ok()?, folder)));
    let lines = lines.map(|(one, folder)| Permission {
        layer: Layer::Own,
        folder,
        file: Some(PathBuf::from("permissions.yaml")),
        ..one
    });
    lines.collect()
}

/// The classes of effect that are asked about, each once.
pub fn effects(verdict: &Verdict) -> Vec<String> {
    let mut effects: Vec<String> = Vec::new();
    for why in verdict.reasons() {
        if !why.effect.is_empty() && !effects.contains(&why.effect) {
            effects.push(why.effect.clone());
        }
    }
    effects
}

/// The command as a rule that matches nothing else. Beyond the session it has no wildcards, for what they mean changes, and
/// no second line, for several are no rule.
fn very_command(intent: &Intent, scope: Scope, backend: &str) -> Option<Exact> {
    let Intent::Command { line, cwd, .. } = intent else { return None };
    let fits = scope == Scope::Session || !(glob::is_pattern(line) || line.contains(char::is_control));
    fits.then(|| Exact::of(line, cwd, backend))
}

#[cfg(test)]
mod tests;

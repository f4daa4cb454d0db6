//! What each lasting answer would have answered among the calls of the past; looks at no disk.

use super::super::decide::decide_in;
use super::super::permissions::Permission;
use super::super::rule::Rules;
use super::super::shell::{self, Judgement};
use super::super::table::Level;
use super::super::{Grant, Intent, Matches, Mode, Past, Proposal, Scope, Verdict, Width, World, files};
use super::with;
use std::path::{Path, PathBuf};

/// A call of the past and the folder that its task worked in.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    pub intent: Intent,
    pub cwd: PathBuf,
}

/// Examples that are told.
const EXAMPLES: usize = 3;

/// One answer on offer, and how calls are compared with it.
enum Measure {
    /// Lines that a command must be meant by.
    Words(Vec<Permission>),
    /// The classes that a command may be asked about.
    Class(Vec<String>),
    /// The rules as they would be: for calls that are no commands.
    Rules(Box<Rules>),
    /// It means nothing but what is asked about now.
    Nothing,
}

/// Fills in what each proposal for this call would have answered among these of its kind, newest first. When it is `late`
/// before the last, nothing is told.
pub fn tell_past(
    proposals: &mut [Proposal],
    now: &Intent,
    seen: &[Seen],
    rules: &Rules,
    world: &dyn World,
    late: impl Fn() -> bool,
) {
    let blind = Blind(world);
    let measures: Vec<Measure> = proposals.iter().map(|one| measure(&one.grant, now, rules, &blind)).collect();
    let mut found: Vec<Past> = vec![Past::default(); proposals.len()];
    let mut known: Vec<&Intent> = Vec::new();
    for one in seen {
        if late() {
            return;
        }
        if is_same(&one.intent, now) || known.iter().any(|known| is_same(known, &one.intent)) {
            continue;
        }
        known.push(&one.intent);
        let judged = match &one.intent {
            Intent::Command { line, .. } => Judged::Command(shell::judge(line, &one.cwd, &blind)),
            // What passes anyway is let through by no answer.
            call => match decide_in(call, &one.cwd, rules, Mode::Ask, &blind) {
                Verdict::Ask(_) => Judged::Asked(call),
                _ => continue,
            },
        };
        for (measure, past) in measures.iter().zip(&mut found) {
            if passes(measure, &judged, &one.cwd, &blind) {
                past.matched += 1;
                let example = name(one);
                if past.examples.len() < EXAMPLES && !past.examples.contains(&example) {
                    past.examples.push(example);
                }
            }
        }
    }
    for (proposal, past) in proposals.iter_mut().zip(found) {
        proposal.past = Past { of: known.len(), ..past };
    }
}

/// A call of the past as it would be judged now.
enum Judged<'a> {
    Command(Judgement),
    /// It would be asked about.
    Asked(&'a Intent),
}

fn measure(grant: &Grant, now: &Intent, rules: &Rules, world: &dyn World) -> Measure {
    match (now, grant.width) {
        (Intent::Command { .. }, Width::Words) => Measure::Words(lines_of(grant, rules)),
        (Intent::Command { .. }, Width::Effects) => Measure::Class(grant.entries.clone()),
        (Intent::Command { .. } | Intent::Input { .. } | Intent::Code { .. } | Intent::Talk | Intent::Handle, _) => {
            Measure::Nothing
        }
        (Intent::Read(_) | Intent::Edit(_) | Intent::Remote { .. }, _) => {
            let mut then = rules.clone();
            with(&mut then, grant, world);
            Measure::Rules(Box::new(then))
        }
    }
}

fn passes(measure: &Measure, judged: &Judged<'_>, cwd: &Path, world: &dyn World) -> bool {
    match (measure, judged) {
        (Measure::Words(lines), Judged::Command(judged)) => by_words(lines, judged, cwd, world),
        (Measure::Class(classes), Judged::Command(judged)) => by_class(classes, judged),
        (Measure::Rules(rules), Judged::Asked(call)) => {
            matches!(decide_in(call, cwd, rules, Mode::Ask, world), Verdict::Allow(_))
        }
        _ => false,
    }
}

/// Whether two calls come to the same, for a count of each once.
fn is_same(a: &Intent, b: &Intent) -> bool {
    match (a, b) {
        (Intent::Command { line: a, .. }, Intent::Command { line: b, .. }) => a == b,
        (Intent::Edit(a), Intent::Edit(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.path == b.path && a.removes == b.removes)
        }
        (a, b) => a == b,
    }
}

/// How a call is told as an example: its line, its first file, its tool.
fn name(seen: &Seen) -> String {
    let short = |path: &Path| path.strip_prefix(&seen.cwd).unwrap_or(path).display().to_string();
    match &seen.intent {
        Intent::Command { line, .. } => line.clone(),
        Intent::Read(path) => short(path),
        Intent::Edit(edits) => match &edits[..] {
            [] => String::new(),
            [one] => short(&one.path),
            [one, rest @ ..] => format!("{} and {} more", short(&one.path), rest.len()),
        },
        Intent::Remote { tool, .. } => tool.clone(),
        Intent::Code { code, .. } => code.clone(),
        Intent::Input { process, .. } => process.clone(),
        Intent::Talk | Intent::Handle => String::new(),
    }
}

/// Whether a command passes by words: they mean a part of it, and nothing else in it is asked about.
fn by_words(lines: &[Permission], judged: &Judgement, cwd: &Path, world: &dyn World) -> bool {
    let holds = |line: &&Permission| line.folder.as_deref().is_none_or(|folder| cwd.starts_with(folder));
    let means = |one: &shell::Invocation| {
        lines.iter().filter(holds).any(|line| line.on.rule.covers(one) && line.on.rule.holds(one, cwd, world))
    };
    let answers = |finding: &shell::Finding| {
        finding.level == Level::Ask
            && !finding.fixed
            && finding.by.and_then(|by| judged.invocations.get(by)).is_some_and(means)
    };
    judged.invocations.iter().any(means)
        && judged.findings.iter().filter(|finding| finding.level >= Level::Ask).all(answers)
}

/// Whether a command passes by classes: it has one of them, and no question about anything else.
fn by_class(classes: &[String], judged: &Judgement) -> bool {
    let mut asked = judged.findings.iter().filter(|finding| finding.level >= Level::Ask).peekable();
    asked.peek().is_some() && asked.all(|finding| finding.level == Level::Ask && classes.contains(&finding.effect))
}

/// The lines of an answer for commands; those of a project hold in its folder.
fn lines_of(grant: &Grant, rules: &Rules) -> Vec<Permission> {
    let folder = (grant.scope == Scope::Project).then(|| rules.here.folder.clone());
    let lines = grant.entries.iter().filter_map(|entry| Permission::granted(entry).ok());
    lines.map(|line| Permission { folder: folder.clone(), ..line }).collect()
}

/// A world without a disk.
struct Blind<'a>(&'a dyn World);

impl World for Blind<'_> {
    fn home(&self) -> PathBuf {
        self.0.home()
    }
    fn hermes_home(&self) -> PathBuf {
        self.0.hermes_home()
    }
    fn variable(&self, _: &str) -> Option<String> {
        Some(shell::UNKNOWN.to_string())
    }
    fn glob(&self, _: &str, _: &Path, _: usize) -> Matches {
        Matches::default()
    }
    fn border(&self) -> Vec<PathBuf> {
        self.0.border()
    }
    fn resolve(&self, path: &Path) -> PathBuf {
        files::normal(Path::new("/"), &path.to_string_lossy()).into()
    }
}

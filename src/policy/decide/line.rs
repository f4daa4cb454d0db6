//! A line of shell: which rules mean which of its commands, and which of its questions they answer.

use super::path::{Place, means};
use super::{asked, denied};
use crate::policy::files::verdict;
use crate::policy::low_risk::tell_built_again;
use crate::policy::permissions::{Argument, Layer, Names, Weight};
use crate::policy::rule::{Action, Listed, Rule, Rules, denied_by_glob, listed, stays_below};
use crate::policy::shell::{self, Finding, Invocation, Judgement, Touch, Touched};
use crate::policy::table::{Level, table};
use crate::policy::{Verdict, Why, World, glob};
use std::path::Path;

/// Commands that never make a line fall out of an allow rule: they change nothing but the line itself.
const NEUTRAL: &[&str] = &["cd", "pushd", "popd", "true", ":", "false", "set", "export", "test", "[", "exit"];
/// Programs whose words name hosts.
const FETCHERS: &[&str] = &["curl", "wget", "wget2", "http", "https", "xh", "aria2c", "axel", "lynx", "w3m", "links"];
/// Words in the names of effects that change or remove what paths name: a rule answers them for its own paths only.
const OF_PATHS: &[&str] = &["delete", "rm", "overwrite", "truncate", "permission", "chown", "move", "edit", "clean"];

/// A rule for commands that holds here.
struct ActiveRule<'a> {
    rule: &'a Rule,
    weight: Weight,
    /// Its commands run below this folder.
    folder: Option<&'a Path>,
    /// Parts of a line that no rule allows are asked about beside it.
    whole: bool,
    label: String,
}

impl ActiveRule<'_> {
    fn covers(&self, invocation: &Invocation) -> bool {
        self.rule.covers(invocation) && self.folder.is_none_or(|folder| Path::new(&invocation.cwd).starts_with(folder))
    }
}

/// The rules of a line by what they do.
struct Book<'a> {
    allow: Vec<ActiveRule<'a>>,
    ask: Vec<ActiveRule<'a>>,
    deny: Vec<ActiveRule<'a>>,
}

impl<'a> Book<'a> {
    fn of(rules: &'a Rules, names: Names<'_>, cwd: &'a Path) -> Self {
        let mut book = Self { allow: Vec::new(), ask: Vec::new(), deny: Vec::new() };
        for one in rules.in_effect(cwd) {
            let of_commands = matches!(one.on.argument, Argument::Words | Argument::None);
            if !of_commands || !one.names(names) {
                continue;
            }
            let active = ActiveRule {
                rule: &one.on.rule,
                weight: one.weight(),
                // What asks or denies holds wherever the line goes.
                folder: one.folder.as_deref().filter(|_| one.action == Action::Allow),
                whole: one.layer == Layer::Given,
                label: one.label(),
            };
            match one.action {
                Action::Allow => book.allow.push(active),
                Action::Ask => book.ask.push(active),
                Action::Deny => book.deny.push(active),
            }
        }
        book
    }

    /// The strongest question about a command; none where an allowing rule says more.
    fn asks(&self, invocation: &Invocation) -> Option<&ActiveRule<'a>> {
        let ask =
            self.ask.iter().filter(|active| active.rule.catches(invocation)).max_by_key(|active| active.weight)?;
        let more = self.allow.iter().any(|active| active.weight > ask.weight && active.covers(invocation));
        (!more).then_some(ask)
    }

    /// The rules that allow a command, unless one that asks says as much.
    fn covering<'b>(&'b self, invocation: &'b Invocation) -> impl Iterator<Item = &'b ActiveRule<'a>> + 'b {
        let open = self.ask.is_empty() || self.asks(invocation).is_none();
        self.allow.iter().filter(move |active| open && active.covers(invocation))
    }

    /// Whether an allow rule covers a command: itself, or with the literal words of a rule for the command that runs it.
    fn is_covered(&self, i: usize, invocations: &[Invocation]) -> bool {
        if self.covering(&invocations[i]).next().is_some() {
            return true;
        }
        let (mut at, mut offset) = (i, 0);
        while let Some((outer, from)) = invocations[at].within {
            offset += from;
            if self.covering(&invocations[outer]).any(|active| active.rule.literal_words() > offset) {
                return true;
            }
            at = outer;
        }
        false
    }
}

/// The verdict on a line.
pub(super) fn judge(
    line: &str,
    cwd: &Path,
    rules: &Rules,
    names: Names<'_>,
    world: &dyn World,
    by: &mut Vec<String>,
) -> Verdict {
    let mut judged = shell::judge(line, cwd, world);
    tell_built_again(&mut judged, line, cwd, world);
    let Judgement { mut findings, invocations, touched, .. } = judged;
    if findings.iter().any(|f| f.level == Level::Refuse) {
        return verdict(reasons(findings));
    }
    let book = Book::of(rules, names, cwd);
    if let Some((label, span)) = forbidden(line, rules, &book, &invocations) {
        by.push(label.clone());
        return denied(&label, span);
    }
    let mut places = on_places(line, rules, &touched, &invocations, cwd, world);
    if let Some(at) = places.iter().position(|(action, ..)| *action == Action::Deny) {
        let (_, label, span) = places.swap_remove(at);
        by.push(label.clone());
        return denied(&label, span);
    }
    allow(line, cwd, rules, &book, &invocations, &mut findings, world, by);
    let exactly = listed(rules.entries(Action::Allow), line) == Some(Listed::Exactly)
        || rules.grants_line(line, cwd, world).is_some();
    let neutral = |i: &Invocation| i.quiet || i.plain.first().is_some_and(|name| NEUTRAL.contains(&name.as_str()));
    let only_neutral = invocations.iter().all(neutral);
    for invocation in &invocations {
        let Some(active) = book.asks(invocation) else { continue };
        let wide = active.rule.literal_words() == 0;
        if (wide && neutral(invocation) && !only_neutral)
            || (exactly && active.rule.words.iter().any(|w| w.contains('*')))
        {
            continue;
        }
        by.push(active.label.clone());
        findings.push(by_rule(&active.label, invocation.span.clone()));
    }
    // What an unknown program may run is no more certain than a question.
    for active in &book.deny {
        if let Some(hit) = invocations.iter().find(|i| i.perhaps && active.rule.catches(i)) {
            by.push(active.label.clone());
            findings.push(by_rule(&active.label, hit.span.clone()));
        }
    }
    // A line without any command still does something.
    if invocations.is_empty()
        && let Some(active) = book.ask.iter().find(|active| active.rule.words == ["*"])
    {
        by.push(active.label.clone());
        findings.push(by_rule(&active.label, 0..line.len()));
    }
    for (_, label, span) in places {
        findings.push(by_rule(&label, span));
        by.push(label);
    }
    verdict(reasons(findings))
}

fn reasons(findings: Vec<Finding>) -> Vec<(Level, Why)> {
    findings.into_iter().map(|f| (f.level, Why { effect: f.effect, text: f.text, span: f.span })).collect()
}

fn by_rule(label: &str, span: std::ops::Range<usize>) -> Finding {
    let Why { effect, text, span } = asked(label, span);
    Finding { effect, text, span, level: Level::Ask, fixed: true, by: None }
}

fn forbidden(
    line: &str,
    rules: &Rules,
    book: &Book<'_>,
    invocations: &[Invocation],
) -> Option<(String, std::ops::Range<usize>)> {
    for active in &book.deny {
        if let Some(hit) = invocations.iter().find(|i| !i.perhaps && active.rule.catches(i)) {
            return Some((active.label.clone(), hit.span.clone()));
        }
        if invocations.is_empty() && active.rule.words == ["*"] {
            return Some((active.label.clone(), 0..line.len()));
        }
    }
    if let Some(glob) = denied_by_glob(rules.entries(Action::Deny), line) {
        return Some((format!("deny {glob}"), 0..line.len()));
    }
    invocations.iter().find_map(|i| {
        [&i.words, &i.plain]
            .into_iter()
            .find_map(|words| denied_by_glob(rules.entries(Action::Deny), &words.join(" ")))
            .map(|glob| (format!("deny {glob}"), i.span.clone()))
    })
}

/// What permissions for files, for hosts and for whole lines ask about or deny in a line. They allow nothing here: a command does more than to
/// name a path.
fn on_places(
    line: &str,
    rules: &Rules,
    touched: &[Touched],
    invocations: &[Invocation],
    cwd: &Path,
    world: &dyn World,
) -> Vec<(Action, String, std::ops::Range<usize>)> {
    let mut found = Vec::new();
    let mut places: Vec<(&Touched, Touching)> = Vec::new();
    let mut left = MAX_NAMES;
    for one in rules.in_effect(cwd).filter(|one| one.action != Action::Allow) {
        match &one.on.argument {
            Argument::Path(_) => {
                if places.is_empty() {
                    places = touched.iter().map(|touched| (touched, of(touched, world, &mut left))).collect();
                }
                for (touched, places) in &places {
                    let action = match touched.how {
                        Touch::Read => "file.read",
                        Touch::Write => "file.write",
                        Touch::Delete => "file.delete",
                    };
                    let names = Names { tool: "", action, family: "file" };
                    if places.known.iter().any(|place| means(one, names, place, cwd, rules, world)) {
                        found.push((one.action, one.label(), touched.span.clone()));
                    } else if one.names(names)
                        && places.unseen.iter().any(|below| below.may_hold(one, cwd, rules, world))
                    {
                        found.push((Action::Ask, one.label(), touched.span.clone()));
                    }
                }
            }
            Argument::Host(_) if one.names(Names { tool: "", action: "web.fetch", family: "web" }) => {
                for invocation in invocations.iter().filter(|i| fetches(i)) {
                    let hosts = invocation.words.iter().skip(1).filter_map(|word| host(word));
                    if hosts.into_iter().any(|host| one.means_host(&host)) {
                        found.push((one.action, one.label(), invocation.span.clone()));
                    }
                }
            }
            Argument::Line(_) if one.is_line(line) => found.push((one.action, one.label(), 0..line.len())),
            Argument::Line(_) | Argument::Host(_) | Argument::Words | Argument::Entry(_) | Argument::None => {}
        }
    }
    found
}

/// Most names that the patterns of a line are looked at for.
const MAX_NAMES: usize = 2048;

/// What a word reaches.
struct Touching {
    known: Vec<Place>,
    /// Where a pattern matches more than was looked at: below its fixed beginning.
    unseen: Vec<Place>,
}

/// `left`: names that may still be looked at.
fn of(touched: &Touched, world: &dyn World, left: &mut usize) -> Touching {
    let place = |path: &str| Place::absolute(path, world);
    let mut known: Vec<Place> = touched.paths.iter().map(|path| place(path)).collect();
    let mut unseen = Vec::new();
    for path in touched.paths.iter().filter(|_| touched.glob) {
        let matched = world.glob(path, Path::new("/"), *left);
        *left = left.saturating_sub(matched.names.len());
        known.extend(matched.names.iter().map(|path| place(&path.to_string_lossy())));
        if !matched.complete {
            unseen.push(place(glob::fixed(path)));
        }
    }
    Touching { known, unseen }
}

fn fetches(invocation: &Invocation) -> bool {
    let name = invocation.plain.first().map_or("", |first| first.rsplit('/').next().unwrap_or(first));
    FETCHERS.contains(&name) || (name == "git" && invocation.plain.get(1).is_some_and(|sub| sub == "clone"))
}

/// The host of a word that is an address: `https://user@HOST:443/x`, `HOST/x`.
fn host(word: &str) -> Option<String> {
    let rest = word.split_once("://").map_or(word, |(_, rest)| rest);
    if word.starts_with('-') {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = host.split(':').next()?.trim_end_matches('.').to_lowercase();
    (host.contains('.') || host == "localhost").then_some(host)
}

/// Takes away the questions that rules and grants answer.
#[expect(clippy::too_many_arguments, reason = "all of one judgement")]
fn allow(
    line: &str,
    cwd: &Path,
    rules: &Rules,
    book: &Book<'_>,
    invocations: &[Invocation],
    findings: &mut Vec<Finding>,
    world: &dyn World,
    by: &mut Vec<String>,
) {
    let covered: Vec<bool> = (0..invocations.len()).map(|i| book.is_covered(i, invocations)).collect();
    let in_list = listed(rules.entries(Action::Allow), line);
    let granted = rules.grants_line(line, cwd, world);
    let table = table().ok();
    findings.retain(|f| {
        if f.level != Level::Ask {
            return true;
        }
        let known = table.map(|t| t.effect(&f.effect)).unwrap_or_default();
        if let Some(granter) = rules.granter(&f.effect, &known.aka) {
            by.push(granter);
            return false;
        }
        if granted.is_some() || in_list == Some(Listed::Exactly) {
            by.push(granted.clone().unwrap_or_else(|| format!("command_allowlist: {line}")));
            return false;
        }
        let of_paths = OF_PATHS.iter().any(|word| f.effect.contains(word));
        let by_rule = f.by.is_some_and(|by| {
            covered.get(by).copied().unwrap_or(false) && {
                let invocation = &invocations[by];
                let mut direct = book.covering(invocation).peekable();
                !of_paths
                    || match direct.peek() {
                        Some(_) => {
                            direct.any(|active| active.rule.holds(invocation, active.folder.unwrap_or(cwd), world))
                        }
                        None => stays_below(cwd, invocation, world),
                    }
            }
        });
        let by_glob = in_list == Some(Listed::ByGlob)
            && (!of_paths || invocations.iter().all(|invocation| stays_below(cwd, invocation, world)));
        let named = !known.flagged
            || book.allow.iter().any(|h| h.rule.words.iter().take(h.rule.literal_words()).any(|w| w.starts_with('-')));
        let stays = f.fixed || !named || !(by_rule || by_glob);
        if !stays && by_glob {
            by.push("command_allowlist".into());
        }
        stays
    });
    for invocation in invocations {
        by.extend(book.covering(invocation).max_by_key(|active| active.weight).map(|active| active.label.clone()));
    }
    // A line passes a rule of `given` only when every part of it does; beside a permission each part is judged by itself.
    let whole = invocations.iter().any(|i| book.covering(i).any(|active| active.whole));
    if whole && covered.contains(&true) {
        for (i, invocation) in invocations.iter().enumerate() {
            let name = invocation.plain.first().map_or("", String::as_str);
            if !covered[i] && !invocation.quiet && !NEUTRAL.contains(&name) {
                let text = "no rule allows this part of the line".into();
                let span = invocation.span.clone();
                let level = Level::Ask;
                findings.push(Finding { effect: "outside the rule".into(), text, span, level, fixed: true, by: None });
            }
        }
    }
}

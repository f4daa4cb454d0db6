//! Walks a line the way a shell would run it: state moves from step to step, substitutions are judged where they stand.

use super::ast::*;
use super::bomb::is_bomb;
use super::decode::Stream;
use super::findings::{Finding, Invocation};
use super::memo::{Memo, followed};
use super::parse::{Parsed, parse_at};
use super::resolve::UNKNOWN;
use super::source::Origin;
use super::state::{Function, State};
use crate::policy::World;
use crate::policy::files::normal;
use crate::policy::table::{Level, Table};
use std::collections::HashSet;
use std::path::Path;
use std::rc::Rc;

/// Steps of work for one line: commands, looked-up paths, copies of state.
const BUDGET: usize = 12_000;
/// Commands inside commands that are followed.
const MAX_DEPTH: usize = 40;

/// One reading of one line.
pub struct Walker<'w> {
    pub(super) world: &'w dyn World,
    pub(super) memo: &'w Memo<'w>,
    pub(super) table: &'w Table,
    pub(super) original: &'w str,
    pub(super) home: String,
    pub(super) own: String,
    pub(super) state: State,
    /// The working folder of the task: what a line writes elsewhere is asked about, as a file tool would.
    pub(super) start: String,
    /// The depth at which a command started that runs others on another machine or in a container.
    pub(super) elsewhere: Option<usize>,
    pub findings: Vec<Finding>,
    pub invocations: Vec<Invocation>,
    pub touched: Vec<super::findings::Touched>,
    pub payloads: Vec<super::findings::Payload>,
    pub(super) current: Option<usize>,
    /// What the commands at the start brought here, one by one.
    pub(super) brought: Vec<super::fetch::Brought>,
    budget: usize,
    /// The budget ran out, and that was noted.
    exhausted: bool,
    pub(super) depth: usize,
    /// Shells inside this one.
    pub(super) nested: usize,
    /// What the running command reads.
    pub(super) stdin: Option<Stream>,
    /// So many commands at the start have moved nothing.
    pub(super) quiet: usize,
    /// Texts of `trap` that run at the end.
    pub(super) traps: Vec<(String, Span)>,
    pub(super) calls: Vec<Rc<Node>>,
    /// Names of the functions that run, the innermost last.
    pub(super) names: Vec<String>,
    pub(super) called: HashSet<String>,
    /// How things stand when the step that just ran had failed, where that is another state.
    pub(super) failed: Option<State>,
    /// States in which the running function returned early.
    pub(super) returned: Option<State>,
    /// What is written after it was looked for.
    pub(super) late: super::late::Late,
}

impl<'w> Walker<'w> {
    /// A walker that starts in `cwd`. `original` is the command that spans are told in.
    pub fn new(original: &'w str, cwd: &Path, table: &'w Table, memo: &'w Memo<'w>) -> Self {
        let world: &dyn World = memo;
        Self {
            world,
            memo,
            table,
            original,
            home: world.home().to_string_lossy().into_owned(),
            own: world.hermes_home().to_string_lossy().into_owned(),
            state: State { cwds: vec![normal(cwd, "")], ..State::default() },
            start: normal(cwd, ""),
            elsewhere: None,
            findings: Vec::new(),
            invocations: Vec::new(),
            touched: Vec::new(),
            payloads: Vec::new(),
            current: None,
            brought: Vec::new(),
            budget: BUDGET,
            exhausted: false,
            depth: 0,
            nested: 0,
            stdin: None,
            quiet: 0,
            traps: Vec::new(),
            calls: Vec::new(),
            names: Vec::new(),
            called: HashSet::new(),
            failed: None,
            returned: None,
            late: super::late::Late::default(),
        }
    }

    /// Judges a whole text.
    pub fn run(&mut self, parsed: &Parsed) {
        for (span, what) in &parsed.troubles {
            self.find_as("malformed shell", format!("{what}; it may run otherwise than it looks"), span.clone());
        }
        self.whole(&parsed.script);
        self.once_more(&parsed.script);
        // Functions that nothing called may still run, through `trap` or `export -f`.
        let functions = self.state.functions.clone();
        let mut idle: Vec<_> = functions.iter().filter(|(name, _)| !self.called.contains(*name)).collect();
        idle.sort_by_key(|(name, _)| *name);
        for (_, function) in idle {
            for body in &function.bodies {
                self.subshell(|w| {
                    w.state.positional = None;
                    w.node(body, None)
                });
            }
        }
    }

    /// Runs all steps, and the traps at the end.
    pub(super) fn whole(&mut self, script: &Script) {
        self.script(script, None);
        for (text, span) in std::mem::take(&mut self.traps) {
            self.subshell(|w| w.text(&text, &span, None));
        }
    }

    /// Takes work from the budget; false when it is used up, which is noted.
    pub(super) fn spend(&mut self, work: usize, span: &Span) -> bool {
        if self.budget < work || self.memo.has_looked_enough() {
            if !std::mem::replace(&mut self.exhausted, true) {
                self.budget = 0;
                self.current = None;
                self.limit(span);
            }
            return false;
        }
        self.budget -= work;
        true
    }

    /// What the work inside found, without keeping it.
    pub(super) fn try_out(&mut self, work: impl FnOnce(&mut Self)) -> Level {
        let kept = (self.findings.len(), self.invocations.len(), self.current);
        let (touched, payloads) = (self.touched.len(), self.payloads.len());
        let all = std::mem::take(&mut self.findings);
        let (state, exhausted) = (self.state.clone(), self.exhausted);
        self.subshell(|w| {
            work(w);
            None
        });
        self.state = state;
        let level = self.findings.iter().map(|f| f.level).max().unwrap_or(Level::Allow);
        self.findings = all;
        self.findings.truncate(kept.0);
        self.invocations.truncate(kept.1);
        self.brought.truncate(kept.1);
        self.touched.truncate(touched);
        self.payloads.truncate(payloads);
        self.current = kept.2;
        // The rest of the line is not judged: that stays known.
        if self.exhausted && !exhausted {
            self.limit(&(0..self.original.len()));
            return level.max(Level::AskAlways);
        }
        level
    }

    pub(super) fn subshell(&mut self, work: impl FnOnce(&mut Self) -> Option<Stream>) -> Option<Stream> {
        let size = 1 + (self.state.vars.len() + self.state.files.len()) / 8;
        if !self.spend(size, &(0..0)) {
            return None;
        }
        let saved = self.state.without_files();
        self.nested += 1;
        let out = work(self);
        self.nested -= 1;
        // What it wrote to the disk is there afterwards.
        let after = std::mem::replace(&mut self.state, saved);
        self.state.keep_files(after);
        self.failed = None;
        out
    }

    pub(super) fn deeper<T: Default>(&mut self, span: &Span, work: impl FnOnce(&mut Self) -> T) -> T {
        if self.depth >= MAX_DEPTH {
            self.limit(span);
            return T::default();
        }
        self.depth += 1;
        let value = work(self);
        self.depth -= 1;
        value
    }

    /// Runs the steps; gives what they write. Where a step may fail or may not run, both states go on.
    pub(super) fn script(&mut self, script: &Script, input: Option<Stream>) -> Option<Stream> {
        let mut texts: Vec<Option<Stream>> = Vec::new();
        // The state after a failure so far in this `&&` and `||` list; `None`: the same as after success.
        let mut bad: Option<State> = None;
        for (i, step) in script.iter().enumerate() {
            if self.exhausted {
                break;
            }
            let listed = script.get(i + 1).is_some_and(|next| next.after != After::Any);
            let out = match step.after {
                After::Any => {
                    self.settle(bad.take());
                    let out = self.step(step, &input);
                    bad = self.failed.take();
                    out
                }
                // Either way the state without this step stays possible.
                After::Success => {
                    let before = bad.take().unwrap_or_else(|| self.state.clone());
                    let out = self.step(step, &input);
                    let mut failed = self.failed.take().unwrap_or_else(|| self.state.clone());
                    self.merge(&mut failed, before);
                    bad = Some(failed);
                    out
                }
                After::Failure => {
                    let ok = self.state.clone();
                    if let Some(failed) = bad.take() {
                        self.state = failed;
                    }
                    let out = self.step(step, &input);
                    bad = Some(self.failed.take().unwrap_or_else(|| self.state.clone()));
                    self.settle(Some(ok));
                    out
                }
            };
            // `set -e` ends the line at a command that fails by itself.
            if self.state.errexit && step.after == After::Any && !listed {
                bad = None;
            }
            if matches!(step.node, Node::Function { .. } | Node::Words(_)) {
                continue;
            }
            texts.push(out);
        }
        self.failed = bad;
        if script.len() > 1 {
            let failed = self.failed.clone();
            self.settle(failed);
        }
        // Several steps write one after the other.
        let streams: Vec<Stream> = texts.into_iter().flatten().collect();
        match streams.len() {
            0 => None,
            1 => streams.into_iter().next(),
            _ => {
                let text: Option<String> = streams.iter().map(|s| s.text.as_deref()).collect();
                // What is known of them is looked at even where it is not all.
                let some: String = streams.iter().filter_map(|s| s.text.as_deref().or(s.some.as_deref())).collect();
                let some = (text.is_none() && !some.is_empty()).then_some(some);
                let any = |test: fn(&Stream) -> bool| streams.iter().any(test);
                let (remote, decoded) = (any(|s| s.remote), any(|s| s.decoded));
                let (partial, matched) = (any(|s| s.partial), any(|s| s.matched));
                let span = streams[0].span.clone();
                Some(Stream { text, some, remote, decoded, partial, matched, span, ..Stream::default() })
            }
        }
    }

    /// Goes on with this state and another that is as possible.
    pub(super) fn settle(&mut self, other: Option<State>) {
        if let Some(other) = other {
            let mut state = std::mem::take(&mut self.state);
            self.merge(&mut state, other);
            self.state = state;
        }
    }

    /// Merges two states; what was set or written on one way only is copied, which costs work.
    fn merge(&mut self, state: &mut State, other: State) {
        if self.spend(state.differences(&other) / 8, &(0..0)) {
            state.merge(other);
        }
    }

    fn step(&mut self, step: &Step, input: &Option<Stream>) -> Option<Stream> {
        self.failed = None;
        if !step.background {
            return self.node(&step.node, input.clone());
        }
        // What runs in the background changes files, and nothing of this shell.
        let before = self.state.without_files();
        let out = self.beside(|w| w.node(&step.node, input.clone()));
        self.failed = None;
        let after = std::mem::replace(&mut self.state, before);
        self.state.keep_files(after);
        out
    }

    /// The script of `$(…)`: names of its commands and what it writes.
    pub(super) fn substitution(&mut self, script: &Script, input: Option<Stream>) -> (Vec<String>, Option<Stream>) {
        let span = self.current.and_then(|i| self.invocations.get(i)).map_or(0..0, |i| i.span.clone());
        let from = self.invocations.len();
        let outer = self.current.take();
        let out = self.deeper(&span, |w| {
            w.subshell(|w| {
                w.state.unplug();
                w.script(script, input)
            })
        });
        self.current = outer;
        let names = self.invocations[from.min(self.invocations.len())..]
            .iter()
            .filter_map(|i| i.plain.first().cloned())
            .collect();
        (names, out)
    }

    /// Judges shell text that a command was given.
    pub(super) fn text(&mut self, text: &str, span: &Span, input: Option<Stream>) -> Option<Stream> {
        if !self.spend(1 + text.len() / 512, span) {
            return None;
        }
        self.deeper(span, |w| {
            let parsed = parse_at(text, Origin::nested(w.original, span, text), w.depth);
            for (at, what) in &parsed.troubles {
                w.find_as("malformed shell", format!("{what}; it may run otherwise than it looks"), at.clone());
            }
            w.script(&parsed.script, input)
        })
    }

    pub(super) fn node(&mut self, node: &Node, input: Option<Stream>) -> Option<Stream> {
        if !self.spend(1, &(0..0)) {
            return None;
        }
        match node {
            Node::Command(command) => self.command(command, input),
            Node::Pipe(stages) => {
                let mut stream = input;
                for (i, stage) in stages.iter().enumerate() {
                    if self.exhausted {
                        return None;
                    }
                    stream = self.subshell(|w| {
                        if i + 1 < stages.len() {
                            w.state.unplug();
                        }
                        Some(w.beside(|w| w.node(stage, stream)).unwrap_or_default())
                    });
                }
                stream
            }
            Node::Subshell(script) => self.subshell(|w| w.script(script, input)),
            Node::Group(script) => self.script(script, input),
            Node::Branch { always, arms } => {
                let asked = self.script(always, input.clone());
                let failed = self.failed.take();
                let before = self.state.clone();
                let mut after = failed.unwrap_or_else(|| before.clone());
                let mut all: Option<Stream> = None;
                for arm in arms {
                    self.state = before.clone();
                    let out = self.script(arm, input.clone());
                    all = match (all, out) {
                        (Some(all), Some(out)) => Some(all.either(&out)),
                        (all, out) => all.or(out),
                    };
                    let arm = std::mem::take(&mut self.state);
                    self.merge(&mut after, arm);
                }
                self.state = after;
                // What the condition prints comes first; most conditions print nothing.
                let asked = asked.filter(|s| s.remote || s.decoded || s.text.as_ref().is_some_and(|t| !t.is_empty()));
                match (asked, all) {
                    (Some(asked), Some(all)) => Some(asked.then(&all)),
                    (asked, all) => asked.or(all),
                }
            }
            Node::Loop { name, values, body } => {
                if let Some(name) = name {
                    let (all, span, pattern) = match values {
                        Some(words) => {
                            let fields = self.expand_all(words);
                            let span = words.first().map_or(0..0, |w| w.span.clone());
                            let pattern = fields.iter().any(|f| f.glob);
                            (fields.into_iter().map(|f| f.text).collect(), span, pattern)
                        }
                        None => {
                            (self.state.positional.clone().unwrap_or_else(|| vec![UNKNOWN.to_string()]), 0..0, false)
                        }
                    };
                    self.assign(name, if all.is_empty() { vec![String::new()] } else { all }, &span);
                    if pattern {
                        Rc::make_mut(&mut self.state.patterns).insert(name.clone());
                    } else if self.state.patterns.contains(name) {
                        Rc::make_mut(&mut self.state.patterns).remove(name);
                    }
                }
                let before = self.state.clone();
                let mut out = self.beside(|w| w.script(body, input.clone()));
                // A later round sees what an earlier one set.
                if self.state.vars != before.vars || self.state.cwds != before.cwds {
                    let after = self.state.clone();
                    self.settle(Some(before));
                    out = self.beside(|w| w.script(body, input)).or(out);
                    self.settle(Some(after));
                }
                // There may be more rounds than one.
                out.map(|s| Stream { partial: true, ..s })
            }
            Node::Function { name, body, span } => {
                let function = Function { bodies: vec![body.clone()], certain: true, exported: false };
                Rc::make_mut(&mut self.state.functions).insert(name.clone(), function);
                if self.spend(self.state.functions.len(), span) && is_bomb(name, body, &self.state.functions) {
                    self.find("fork bomb", span.clone());
                }
                None
            }
            Node::Words(words) => {
                self.tested(words);
                None
            }
            Node::Redirected(node, redirects) => {
                let before = (self.state.inputs.clone(), self.state.outputs.clone(), self.state.sinks.clone());
                let (stream, sinks) = self.redirects(redirects, input);
                if !sinks.files.is_empty() || !sinks.scripts.is_empty() {
                    self.state.unplug();
                }
                let out = self.node(node, stream);
                (self.state.inputs, self.state.outputs, self.state.sinks) = before;
                self.written(sinks, out)
            }
        }
    }

    /// The absolute paths that a path can mean, from where the line may be.
    pub(super) fn absolute(&self, path: &str) -> Vec<String> {
        if path.starts_with('/') {
            return self.mounted(vec![normal(Path::new("/"), path)]);
        }
        if path.starts_with(UNKNOWN) {
            return vec![normal(Path::new("/"), path)];
        }
        self.mounted(self.state.cwds.iter().map(|cwd| normal(Path::new(cwd), path)).collect())
    }

    /// These paths, and what is mounted there.
    fn mounted(&self, mut paths: Vec<String>) -> Vec<String> {
        if !self.state.mounts.is_empty() {
            let more: Vec<String> = paths.iter().filter_map(|path| followed(&self.state.mounts, path)).collect();
            paths.extend(more);
        }
        paths
    }
}

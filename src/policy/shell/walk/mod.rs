//! Walks a line the way a shell would run it: state moves from step to step, substitutions are judged where they stand.

pub(super) mod args;
mod assigns;
mod brace;
mod builtins;
mod command;
mod conditions;
mod evaluate;
pub(super) mod invoke;
pub(super) mod resolve;
pub(super) mod state;
mod steps;
pub(super) mod streams;
mod subcommand;
mod subwords;
mod unresolved;
mod values;

use super::effects::findings::{Finding, Invocation};
use super::memo::{Memo, followed};
use super::programs::decode::Stream;
use super::read::ast::*;
use super::read::parse::Parsed;
use crate::policy::World;
use crate::policy::border::Border;
use crate::policy::files::normal;
use crate::policy::table::{Level, Table};
use resolve::UNKNOWN;
use state::State;
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
    /// The folder in which the line begins.
    pub(super) start: String,
    /// The folders that the session works in: what a line writes elsewhere is asked about, as a file tool would.
    pub(super) border: Border,
    /// The depth at which a command started that runs others on another machine or in a container.
    pub(super) elsewhere: Option<usize>,
    pub findings: Vec<Finding>,
    pub invocations: Vec<Invocation>,
    pub touched: Vec<super::effects::findings::Touched>,
    pub payloads: Vec<super::effects::findings::Payload>,
    pub(super) current: Option<usize>,
    /// What the commands at the start brought here, one by one.
    pub(super) brought: Vec<super::programs::fetch::Brought>,
    budget: usize,
    /// The budget ran out, and that was noted.
    pub(super) exhausted: bool,
    pub(super) depth: usize,
    /// Shells inside this one.
    pub(super) nested: usize,
    /// What the running command reads.
    pub(super) stdin: Option<Stream>,
    /// Filters whose outcome was computed.
    pub(super) filtered: usize,
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
    pub(super) late: super::effects::races::Late,
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
            border: Border::of(cwd, world),
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
            filtered: 0,
            quiet: 0,
            traps: Vec::new(),
            calls: Vec::new(),
            names: Vec::new(),
            called: HashSet::new(),
            failed: None,
            returned: None,
            late: super::effects::races::Late::default(),
        }
    }

    /// Judges a whole text.
    pub fn run(&mut self, parsed: &Parsed) {
        for (span, what) in &parsed.troubles {
            self.find_as("malformed shell", format!("{what}; it may do something other than it seems"), span.clone());
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

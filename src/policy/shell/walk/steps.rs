//! The steps of a script: lists, pipes, branches, loops, functions, and the state that goes from one to the next.

use super::Walker;
use super::resolve::UNKNOWN;
use super::state::{Function, State};
use crate::policy::shell::effects::bomb::is_bomb;
use crate::policy::shell::programs::decode::Stream;
use crate::policy::shell::read::ast::*;
use crate::policy::shell::read::parse::parse_at;
use crate::policy::shell::read::source::Origin;
use std::rc::Rc;

impl Walker<'_> {
    /// Runs the steps; gives what they write. Where a step may fail or may not run, both states go on.
    pub(in crate::policy::shell) fn script(&mut self, script: &Script, input: Option<Stream>) -> Option<Stream> {
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
    pub(in crate::policy::shell) fn substitution(
        &mut self,
        script: &Script,
        input: Option<Stream>,
    ) -> (Vec<String>, Option<Stream>) {
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
    pub(in crate::policy::shell) fn text(&mut self, text: &str, span: &Span, input: Option<Stream>) -> Option<Stream> {
        if !self.spend(1 + text.len() / 512, span) {
            return None;
        }
        self.deeper(span, |w| {
            let parsed = parse_at(text, Origin::nested(w.original, span, text), w.depth);
            for (at, what) in &parsed.troubles {
                w.find_as("malformed shell", format!("{what}; it may do something other than it seems"), at.clone());
            }
            w.script(&parsed.script, input)
        })
    }

    pub(in crate::policy::shell) fn node(&mut self, node: &Node, input: Option<Stream>) -> Option<Stream> {
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
                if self.is_trusted(name) {
                    self.find("alias definition", span.clone());
                }
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
}

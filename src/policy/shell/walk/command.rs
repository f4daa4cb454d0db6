//! One command of a walk: its assignments, its words, its redirections, and the files that it writes.

use super::Walker;
use super::invoke::program;
use super::resolve::Field;
use super::streams::{Sinks, sink_script};
use crate::policy::shell::programs::decode::Stream;
use crate::policy::shell::read::ast::*;
use std::rc::Rc;

/// Rounds of a function that calls itself.
const MAX_ROUNDS: usize = 3;

impl Walker<'_> {
    pub(in crate::policy::shell) fn command(&mut self, command: &Command, input: Option<Stream>) -> Option<Stream> {
        let outer = self.current.take();
        self.elsewhere = self.elsewhere.filter(|depth| self.depth > *depth);
        let fields = self.expand_all(&command.words);
        let kept = |w: &Self| (w.state.inputs.clone(), w.state.outputs.clone(), w.state.sinks.clone());
        let descriptors = kept(self);
        let mut before: Vec<(String, Option<Vec<String>>)> = Vec::new();
        for assign in &command.assigns {
            if let Some((name, values)) = self.assigned(assign) {
                if !command.words.is_empty() {
                    values.iter().for_each(|value| self.check_variable(&name, value, &assign.span));
                }
                before.push((name.clone(), self.state.vars.get(&name).cloned()));
                self.state.set(&name, values);
            }
        }
        let (stream, mut sinks) = self.redirects(&command.redirects, input);
        // `exec` alone changes what this shell itself reads and writes.
        let stays = fields.len() == 1 && fields[0].text == "exec";
        let assigns_only = fields.is_empty();
        let out = if fields.is_empty() || stays {
            if stays {
                if let Some(stream) = stream {
                    Rc::make_mut(&mut self.state.inputs).insert("0".into(), stream);
                }
                if let Some((path, _)) = sinks.files.first() {
                    Rc::make_mut(&mut self.state.outputs).insert("1".into(), vec![path.clone()]);
                }
                if !sinks.scripts.is_empty() {
                    Rc::make_mut(&mut self.state.sinks).insert("1".into(), std::mem::take(&mut sinks.scripts));
                }
                sinks = Sinks::default();
                None
            } else {
                (self.state.inputs, self.state.outputs, self.state.sinks) = descriptors;
                // `$(<file)` is what the file holds.
                let reads = command.assigns.is_empty() && command.redirects.iter().any(|r| r.op == "<");
                if reads { stream } else { Some(Stream::text("", command.span.clone())) }
            }
        } else {
            let stdin = std::mem::replace(&mut self.stdin, stream.clone());
            let tees = fields.first().is_some_and(|field| program(&field.text) == "tee");
            for script in command.words.iter().filter(|_| tees).filter_map(sink_script) {
                let (span, input) = (command.span.clone(), stream.clone());
                self.deeper(&span, |w| w.subshell(|w| w.script(&script, input)));
            }
            let out = self.invoke(fields, stream, None);
            self.stdin = stdin;
            self.state.inputs = descriptors.0;
            // What `exec` opens in a function or a file that is sourced stays open.
            if !command.redirects.is_empty() {
                (self.state.outputs, self.state.sinks) = (descriptors.1, descriptors.2);
            }
            for (name, values) in before.into_iter().rev() {
                match values {
                    Some(values) => self.state.set(&name, values),
                    None => {
                        Rc::make_mut(&mut self.state.vars).remove(&name);
                    }
                }
            }
            out
        };
        if out.as_ref().and_then(|s| s.text.as_deref()).is_some_and(|text| text.trim().is_empty()) {
            self.empties(&command.redirects);
        }
        self.current = outer;
        // What was opened for good is written to where the command does not say otherwise.
        if sinks.files.is_empty() && sinks.scripts.is_empty() && !stays && !assigns_only {
            let paths = self.state.outputs.get("1").into_iter().flatten();
            sinks.files.extend(paths.map(|path| (path.clone(), true)));
            sinks.scripts.extend(self.state.sinks.get("1").cloned().unwrap_or_default());
        }
        self.written(sinks, out)
    }

    /// What an assignment sets; elements of arrays are kept here.
    fn assigned(&mut self, assign: &Assign) -> Option<(String, Vec<String>)> {
        if let Some(index) = &assign.index {
            let text = self.expand_text(index).text;
            self.arithmetic(&text, &assign.span, 0);
        }
        let mut values: Vec<String> = Vec::new();
        let mut pattern = false;
        for word in &assign.values {
            let fields = if assign.array { self.expand(word) } else { vec![self.expand_text(word)] };
            pattern |= assign.array && fields.iter().any(|f| f.glob);
            values.extend(fields.into_iter().map(|f| f.text));
        }
        let name = self.state.refs.get(&assign.name).cloned().unwrap_or_else(|| assign.name.clone());
        if assign.array {
            if pattern {
                Rc::make_mut(&mut self.state.patterns).insert(name.clone());
            }
            let list = Rc::make_mut(&mut self.state.arrays).entry(name).or_default();
            if !assign.append {
                list.clear();
            }
            list.append(&mut values);
            list.truncate(64);
            return None;
        }
        let mut value = values.pop().unwrap_or_default();
        if assign.append {
            let old = self.value_of(&name);
            value = format!("{}{value}", old.first().map_or("", String::as_str));
        }
        if !self.spend(value.len() / 512, &assign.span) {
            return None;
        }
        if assign.index.is_some() {
            self.assign(&format!("{name}[]"), vec![value], &assign.span);
            return None;
        }
        let known = self.state.vars.get(&name).cloned();
        self.assign(&name, vec![value.clone()], &assign.span);
        // The caller sets it, and may take it back.
        match known {
            Some(values) => self.state.set(&name, values),
            None => {
                Rc::make_mut(&mut self.state.vars).remove(&name);
            }
        }
        Some((name, vec![value]))
    }

    /// Calls a function of the line: all bodies that it may have.
    pub(in crate::policy::shell) fn call(
        &mut self,
        name: &str,
        argv: &[Field],
        input: Option<Stream>,
    ) -> Option<Stream> {
        let bodies = self.state.functions.get(name)?.bodies.clone();
        self.called.insert(name.to_owned());
        let before = (bodies.len() > 1).then(|| self.state.clone());
        let mut out = None;
        for (i, body) in bodies.iter().enumerate() {
            // A function that calls itself is followed a few times: each round may pass other words.
            if self.calls.iter().filter(|running| Rc::ptr_eq(running, body)).count() >= MAX_ROUNDS {
                continue;
            }
            let other =
                (i > 0).then(|| before.clone().map(|start| std::mem::replace(&mut self.state, start))).flatten();
            self.calls.push(body.clone());
            self.names.push(name.to_owned());
            let outer = self.returned.take();
            let saved = self.state.positional.replace(argv[1..].iter().map(|f| f.text.clone()).collect());
            out = self.deeper(&argv[0].span, |w| w.node(body, input.clone())).or(out);
            let failed = self.failed.take();
            self.settle(failed);
            if let Some(early) = std::mem::replace(&mut self.returned, outer) {
                self.settle(Some(early));
            }
            self.state.positional = saved;
            self.calls.pop();
            self.names.pop();
            if let Some(other) = other {
                self.settle(Some(other));
            }
        }
        out
    }
}

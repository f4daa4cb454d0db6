//! One command of a walk: its assignments, its words, its redirections, and the files that it writes.

use super::ast::*;
use super::decode::Stream;
use super::resolve::Field;
use super::walk::Walker;
use std::rc::Rc;

/// Rounds of a function that calls itself.
const MAX_ROUNDS: usize = 3;

impl Walker<'_> {
    pub(super) fn command(&mut self, command: &Command, input: Option<Stream>) -> Option<Stream> {
        let outer = self.current.take();
        self.elsewhere = self.elsewhere.filter(|depth| self.depth > *depth);
        let assigned = self.assigns(command);
        let fields = self.expand_all(&command.words);
        let (stream, files) = self.redirects(&command.redirects, input);
        let out = if fields.is_empty() {
            for (name, values) in assigned {
                self.state.set(&name, values);
            }
            None
        } else {
            let before: Vec<_> =
                assigned.iter().map(|(name, _)| (name.clone(), self.state.vars.get(name).cloned())).collect();
            for (name, values) in assigned {
                self.state.set(&name, values);
            }
            let out = self.invoke(fields, stream, None);
            for (name, values) in before {
                match values {
                    Some(values) => self.state.set(&name, values),
                    None => {
                        Rc::make_mut(&mut self.state.vars).remove(&name);
                    }
                }
            }
            out
        };
        self.current = outer;
        self.written(files, out)
    }

    pub(super) fn assigns(&mut self, command: &Command) -> Vec<(String, Vec<String>)> {
        let mut all = Vec::new();
        for assign in &command.assigns {
            if let Some(index) = &assign.index {
                let _ = self.expand_text(index);
            }
            let mut values: Vec<String> = Vec::new();
            for word in &assign.values {
                let fields = if assign.array { self.expand(word) } else { vec![self.expand_text(word)] };
                values.extend(fields.into_iter().map(|f| f.text));
            }
            if assign.array {
                let arrays = Rc::make_mut(&mut self.state.arrays);
                let list = arrays.entry(assign.name.clone()).or_default();
                if !assign.append {
                    list.clear();
                }
                list.append(&mut values);
                list.truncate(64);
                continue;
            }
            let mut value = values.pop().unwrap_or_default();
            if assign.append {
                let old = self.value_of(&assign.name);
                value = format!("{}{value}", old.first().map_or("", String::as_str));
            }
            self.check_assignment(&assign.name, &value, !command.words.is_empty(), &assign.span);
            if assign.index.is_none() {
                all.push((assign.name.clone(), vec![value]));
            } else {
                Rc::make_mut(&mut self.state.arrays).entry(assign.name.clone()).or_default().push(value);
            }
        }
        all
    }

    /// Remembers what the files hold that the output went to.
    pub(super) fn written(&mut self, files: Vec<String>, out: Option<Stream>) -> Option<Stream> {
        if files.is_empty() {
            return out;
        }
        let stream = out.unwrap_or_default();
        for path in files {
            Rc::make_mut(&mut self.state.files).insert(path, stream.clone());
        }
        None
    }

    /// Calls a function of the line: all bodies that it may have.
    pub(super) fn call(&mut self, name: &str, argv: &[Field], input: Option<Stream>) -> Option<Stream> {
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
            let outer = self.returned.take();
            let saved = self.state.positional.replace(argv[1..].iter().map(|f| f.text.clone()).collect());
            out = self.deeper(&argv[0].span, |w| w.node(body, input.clone())).or(out);
            if let Some(failed) = self.failed.take() {
                self.state.merge(failed);
            }
            if let Some(early) = std::mem::replace(&mut self.returned, outer) {
                self.state.merge(early);
            }
            self.state.positional = saved;
            self.calls.pop();
            if let Some(other) = other {
                self.state.merge(other);
            }
        }
        out
    }

    /// Pipe stages run in subshells; files that they wrote are seen by later steps.
    pub(super) fn pipe_files(&mut self, stages: &[Node]) {
        let Some(Node::Command(last)) = stages.last() else { return };
        let literal: Vec<String> = last.words.iter().filter_map(Word::literal).collect();
        let targets = last.redirects.iter().filter(|r| r.op.contains('>')).filter_map(|r| r.target.literal());
        let tee = if literal.first().is_some_and(|n| n == "tee") { literal[1..].to_vec() } else { Vec::new() };
        let first = match stages.first() {
            Some(Node::Command(c)) => c.words.first().and_then(Word::literal).unwrap_or_default(),
            _ => String::new(),
        };
        let remote = self
            .table
            .command(&super::invoke::program(&first))
            .is_some_and(|s| s.kind == crate::policy::table::Kind::Fetch);
        let stream = Stream { remote, span: last.span.clone(), ..Stream::default() };
        for target in targets.chain(tee.into_iter().filter(|t| !t.starts_with('-'))).collect::<Vec<_>>() {
            for path in self.absolute(&target) {
                Rc::make_mut(&mut self.state.files).insert(path, stream.clone());
            }
        }
    }
}

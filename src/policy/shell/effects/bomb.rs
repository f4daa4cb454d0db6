//! Recognises fork bombs: functions that start copies of themselves, or of each other.

use crate::policy::shell::read::ast::{Node, Part, Script, Word};
use crate::policy::shell::walk::state::Function;
use std::collections::HashMap;

/// Functions that one calls through others.
const MAX_BETWEEN: usize = 4;

struct Bomb<'a> {
    name: &'a str,
    functions: &'a HashMap<String, Function>,
}

/// Whether a function starts itself more than once, or in the background, by itself or through the functions that it calls.
pub(in crate::policy::shell) fn is_bomb(name: &str, body: &Node, functions: &HashMap<String, Function>) -> bool {
    Bomb { name, functions }.bomb(body, false, 0)
}

impl Bomb<'_> {
    /// How often a node starts the function, in pipes and subshells and by way of other functions.
    fn calls(&self, node: &Node, depth: usize) -> usize {
        match node {
            Node::Command(c) => match c.words.first() {
                Some(word) => self.called(word, depth),
                None => 0,
            },
            Node::Pipe(stages) => stages.iter().map(|n| self.calls(n, depth)).sum(),
            Node::Subshell(s) | Node::Group(s) => self.all(s, depth),
            Node::Branch { always, arms } => {
                self.all(always, depth) + arms.iter().map(|arm| self.all(arm, depth)).max().unwrap_or(0)
            }
            Node::Loop { body, .. } => self.all(body, depth),
            Node::Redirected(n, _) => self.calls(n, depth),
            _ => 0,
        }
    }

    fn all(&self, script: &Script, depth: usize) -> usize {
        script.iter().map(|s| self.calls(&s.node, depth)).sum()
    }

    fn called(&self, word: &Word, depth: usize) -> usize {
        let own = matches!(word.parts.as_slice(), [Part::Variable { name, .. }] if name == "FUNCNAME");
        let Some(name) = (if own { Some(self.name.to_owned()) } else { word.literal() }) else { return 0 };
        if name == self.name {
            return 1;
        }
        match self.functions.get(&name) {
            Some(function) if depth < MAX_BETWEEN => {
                function.bodies.iter().map(|body| self.calls(body, depth + 1)).max().unwrap_or(0)
            }
            _ => 0,
        }
    }

    fn bomb(&self, node: &Node, background: bool, depth: usize) -> bool {
        match node {
            Node::Pipe(stages) => stages.iter().map(|n| self.calls(n, depth)).sum::<usize>() >= 2,
            Node::Command(c) => {
                if background && self.calls(node, depth) > 0 {
                    return true;
                }
                // What it calls may be what starts it twice.
                let other = c.words.first().and_then(Word::literal).filter(|name| name != self.name);
                let function = other.and_then(|name| self.functions.get(&name)).filter(|_| depth < MAX_BETWEEN);
                function.is_some_and(|f| f.bodies.iter().any(|body| self.bomb(body, background, depth + 1)))
            }
            Node::Subshell(s) | Node::Group(s) => self.list(s, background, depth),
            Node::Branch { always, arms } => {
                self.list(always, background, depth) || arms.iter().any(|arm| self.list(arm, background, depth))
            }
            Node::Loop { body, .. } => {
                body.iter().any(|s| s.background && self.calls(&s.node, depth) > 0)
                    || body.iter().any(|s| self.bomb(&s.node, background || s.background, depth))
            }
            Node::Redirected(n, _) => self.bomb(n, background, depth),
            _ => false,
        }
    }

    fn list(&self, script: &Script, background: bool, depth: usize) -> bool {
        let starts = script.iter().filter(|s| s.background).map(|s| self.calls(&s.node, depth)).sum::<usize>();
        (starts > 0 && self.all(script, depth) >= 2)
            || script.iter().any(|step| self.bomb(&step.node, background || step.background, depth))
    }
}

//! Recognises fork bombs: functions that start copies of themselves.

use super::ast::{Node, Word};

/// Whether a function starts itself more than once, or in the background.
pub(super) fn is_bomb(name: &str, body: &Node) -> bool {
    fn calls(name: &str, node: &Node) -> usize {
        match node {
            Node::Command(c) => usize::from(c.words.first().and_then(Word::literal).as_deref() == Some(name)),
            Node::Pipe(stages) => stages.iter().map(|n| calls(name, n)).sum(),
            Node::Subshell(s) | Node::Group(s) => s.iter().map(|s| calls(name, &s.node)).sum(),
            Node::Redirected(n, _) => calls(name, n),
            _ => 0,
        }
    }
    fn bomb(name: &str, node: &Node, background: bool) -> bool {
        match node {
            Node::Pipe(stages) => stages.iter().map(|n| calls(name, n)).sum::<usize>() >= 2,
            Node::Command(_) => background && calls(name, node) > 0,
            Node::Subshell(s) | Node::Group(s) => {
                let starts = s.iter().filter(|s| s.background).map(|s| calls(name, &s.node)).sum::<usize>();
                (starts > 0 && s.iter().map(|s| calls(name, &s.node)).sum::<usize>() >= 2)
                    || s.iter().any(|step| bomb(name, &step.node, background || step.background))
            }
            Node::Loop { body, .. } => body.iter().any(|s| s.background && calls(name, &s.node) > 0),
            Node::Redirected(n, _) => bomb(name, n, background),
            _ => false,
        }
    }
    bomb(name, body, false)
}

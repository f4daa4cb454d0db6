//! Whether Python only computes and calls what a list names. The list is of what may stand in a text, from the forms of its
//! tree to the functions that it calls: what is none of it is found, and what could be read in two ways is not read.
//!
//! No value that can be made from the list leads to the machine, so that any of them may be handed on. What may not be handed
//! on, since its arguments tell what it does, may only be called.

mod names;
mod source;
mod uses;

use super::Harmless;
use names::Names;
use std::ops::Range;
use tree_sitter::Node;
use uses::Reader;

/// What was found in a text and is not in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// A dotted path, a member, or a form in words.
    pub what: String,
    pub span: Range<usize>,
    pub kind: Kind,
}

/// What kind of thing was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name, by what it stands for.
    Name,
    /// A member of a value.
    Member,
    /// A form that is not followed.
    Form,
}

/// How strictly a text is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// Of a script that runs unasked: each module it loads is in the list.
    Script,
    /// Of a command: the version of any module may be looked at.
    Command,
}

/// What a call of something computed is told as.
const COMPUTED: &str = "what it calls is computed";
/// Functions of Python that need no import and do what their arguments say. No variable has such a name: where it is not
/// bound, the function would be meant.
pub(super) const DANGEROUS: &[&str] = &[
    "eval",
    "exec",
    "compile",
    "open",
    "getattr",
    "setattr",
    "delattr",
    "globals",
    "locals",
    "vars",
    "breakpoint",
    "help",
    "super",
    "memoryview",
];

/// What of a text is not in the list; `None` when it could not be read to its end.
pub(super) fn read(text: &str, known: &Harmless, reading: Reading) -> Option<Vec<Found>> {
    let tree = source::tree(text)?;
    let names = Names::of(tree.root_node(), text)?;
    let mut reader = Reader::new(text, known, reading, names);
    source::walk(tree.root_node(), &mut |node, above| reader.look(node, above))?;
    Some(reader.found())
}

/// The text of a node.
fn of<'t>(text: &'t str, node: Node<'_>) -> &'t str {
    text.get(node.byte_range()).unwrap_or_default()
}

/// The children of a node that have a name.
fn children<'t>(node: Node<'t>) -> impl Iterator<Item = Node<'t>> {
    (0..node.named_child_count()).filter_map(move |at| node.named_child(at as u32))
}

/// The child of this name, if it is this very node.
fn is_field(parent: Node<'_>, field: &str, node: Node<'_>) -> bool {
    parent.child_by_field_name(field) == Some(node)
}

#[cfg(test)]
mod tests;

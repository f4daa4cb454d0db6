//! A second reader: tree-sitter-bash reads the same text. Where it finds an error, or a command that our own reader did not see,
//! the line is not certain.

use std::collections::BTreeSet;
use std::ops::{ControlFlow, Range};

/// Calls of the progress callback before parsing is given up; tree-sitter makes one every few hundred operations.
const MAX_PROGRESS: usize = 20_000;

/// What tree-sitter saw.
#[derive(Debug, PartialEq)]
pub enum Second {
    /// It read the text and found commands with these literal names.
    Read(BTreeSet<String>),
    /// It did not, and this is the first place that it did not understand.
    Error(Range<usize>),
}

/// Reads the text.
pub fn read(text: &str) -> Second {
    let mut parser = tree_sitter::Parser::new();
    if parser.set_language(&tree_sitter_bash::LANGUAGE.into()).is_err() {
        return Second::Error(0..0);
    }
    let mut calls = 0;
    let mut progress = |_: &tree_sitter::ParseState| {
        calls += 1;
        if calls > MAX_PROGRESS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let bytes = text.as_bytes();
    let options = tree_sitter::ParseOptions::new().progress_callback(&mut progress);
    let tree = parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), None, Some(options));
    let Some(tree) = tree else { return Second::Error(0..0) };
    let mut names = BTreeSet::new();
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if node.is_error() || node.is_missing() {
            return Second::Error(node.byte_range());
        }
        if node.kind() == "command_name" && node.child_count() == 1 && node.child(0).is_some_and(|c| c.kind() == "word")
        {
            names.insert(text[node.byte_range()].replace("\\\n", ""));
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return Second::Read(names);
            }
        }
    }
}

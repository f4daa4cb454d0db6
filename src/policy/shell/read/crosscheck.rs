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

/// A name as this reader sees it: letters beyond ASCII are an `x` a byte.
pub fn seen(name: &str) -> String {
    name.bytes().map(|b| if b.is_ascii() && b != 0 { char::from(b) } else { 'x' }).collect()
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
    // The scanner of the grammar hands code points to functions of C that are defined for bytes alone, and crashes on some.
    let ascii: Vec<u8> = text.bytes().map(|b| if b.is_ascii() && b != 0 { b } else { b'x' }).collect();
    let bytes = ascii.as_slice();
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
            names.insert(String::from_utf8_lossy(&bytes[node.byte_range()]).replace("\\\n", ""));
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

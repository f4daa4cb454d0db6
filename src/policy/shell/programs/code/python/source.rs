//! The text of a script as a tree, where nothing in it could be read in two ways: what the grammar takes for a text, a
//! comment or a name is one for Python, too.

use crate::policy::shell::walk::resolve::UNKNOWN;
use std::ops::{ControlFlow, Range};
use tree_sitter::{Node, ParseOptions, Parser, Tree};

/// Nodes inside of nodes that are followed.
const MOST_DEEP: usize = 200;
/// Calls of the progress callback before parsing is given up; tree-sitter makes one every few hundred operations.
const MAX_PROGRESS: usize = 20_000;
/// What may stand before the quote of a text.
const PREFIXES: &[&str] = &["", "r", "u", "b", "br", "rb", "f", "fr", "rf"];

/// A node with those around it, the outermost first.
pub(super) type Visit<'v, 't> = &'v mut dyn FnMut(Node<'t>, &[Node<'t>]) -> bool;

/// Shows every node, those around it before it; one that gives false is not looked into. `None`: it goes too deep.
pub(super) fn walk<'t>(root: Node<'t>, visit: Visit<'_, 't>) -> Option<()> {
    let (mut cursor, mut above) = (root.walk(), Vec::new());
    loop {
        let node = cursor.node();
        if above.len() > MOST_DEEP {
            return None;
        }
        if visit(node, &above) && cursor.goto_first_child() {
            above.push(node);
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return Some(());
            }
            above.pop();
        }
    }
}

/// The tree of a text; `None` where it is not plain, has an error, or could be something else for Python.
pub(super) fn tree(text: &str) -> Option<Tree> {
    if !is_plain(text) {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_python::LANGUAGE.into()).ok()?;
    let mut calls = 0;
    let mut progress = |_: &tree_sitter::ParseState| {
        calls += 1;
        if calls > MAX_PROGRESS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    // Scanners of grammars hand code points to functions of C that are defined for bytes alone. Letters that are none of
    // ASCII are looked at in `sound`.
    let masked: Vec<u8> = text.bytes().map(|b| if b.is_ascii() { b } else { b'x' }).collect();
    let options = ParseOptions::new().progress_callback(&mut progress);
    let tree = parser.parse_with_options(&mut |at, _| masked.get(at..).unwrap_or_default(), None, Some(options))?;
    let mut sound = Sound { text, bytes: text.as_bytes(), end: 0, format: 0..0, is: !tree.root_node().has_error() };
    walk(tree.root_node(), &mut |node, above| {
        sound.look(node, above);
        sound.is
    })?;
    sound.gap(text.len());
    sound.is.then_some(tree)
}

/// Whether the text has nothing that ends a line, a comment or the file for Python alone, and says nothing of its encoding.
fn is_plain(text: &str) -> bool {
    let control = |c: char| (c.is_control() && !matches!(c, '\n' | '\t') && c.is_ascii()) || c == UNKNOWN;
    let cookie = |line: &str| line.split_once('#').is_some_and(|(_, comment)| comment.contains("coding"));
    !text.contains(control) && !text.lines().take(2).any(cookie)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// Whether the leaves of a tree are the tokens that Python sees.
struct Sound<'t> {
    text: &'t str,
    bytes: &'t [u8],
    /// Where the last leaf ended.
    end: usize,
    /// Where the last value put into a text is told how to be written.
    format: Range<usize>,
    is: bool,
}

impl Sound<'_> {
    fn look(&mut self, node: Node<'_>, above: &[Node<'_>]) {
        let around = above.last().map_or("", |node| node.kind());
        let (from, to) = (node.start_byte(), node.end_byte());
        let slice = &self.bytes[from..to];
        match node.kind() {
            "string" => self.is &= self.is_string(node),
            "comment" => {
                let ended = self.bytes.get(to).is_none_or(|next| *next == b'\n');
                let in_text = above.iter().any(|node| node.kind() == "interpolation");
                self.is &= slice.first() == Some(&b'#') && !slice.contains(&b'\n') && ended && !in_text;
            }
            "format_specifier" => {
                self.is &= !slice.windows(2).any(|pair| pair == b"{{");
                self.format = from..to;
            }
            _ => {}
        }
        let content = matches!(node.kind(), "string_content" | "escape_interpolation" | "escape_sequence");
        let within = content || matches!(around, "string" | "string_content" | "format_specifier");
        if node.child_count() > 0 && node.kind() != "string_content" || from == to || around == "string_content" {
            return;
        }
        self.gap(from);
        self.end = to;
        if content || node.kind() == "comment" {
            return;
        }
        let before = from.checked_sub(1).is_some_and(|at| is_word(self.bytes[at]));
        let after = self.bytes.get(to).copied().is_some_and(is_word);
        // `1if`, `ifrb""`: where a word ends is told by its rules.
        let joined = is_word(slice[0]) && before || is_word(slice[slice.len() - 1]) && after;
        self.is &= slice.is_ascii() && (within && node.kind() != "string_start" || !joined);
    }

    /// What stands between two leaves is blank, or says how a value is written.
    fn gap(&mut self, to: usize) {
        let Some(gap) = self.bytes.get(self.end..to) else {
            self.is = false;
            return;
        };
        let mut at = 0;
        while at < gap.len() {
            match gap[at] {
                b' ' | b'\t' | b'\n' => at += 1,
                b'\\' if gap.get(at + 1) == Some(&b'\n') => at += 2,
                b'{' | b'}' | b'\\' | b'\'' | b'"' | b'#' => break,
                _ if self.format.contains(&(self.end + at)) => at += 1,
                _ => break,
            }
        }
        self.is &= at == gap.len();
    }

    /// Whether a text ends where Python ends it, and what is put into it is where the tree has it.
    fn is_string(&self, node: Node<'_>) -> bool {
        let Some(start) = node.child(0).and_then(|start| self.text.get(start.byte_range())) else { return false };
        let quotes = start.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        let prefix = start[..start.len() - quotes.len()].to_ascii_lowercase();
        if !PREFIXES.contains(&prefix.as_str()) || !matches!(quotes, "'" | "\"" | "'''" | "\"\"\"") {
            return false;
        }
        let slice = &self.bytes[node.byte_range()];
        if !prefix.contains('f') {
            return ends(&slice[start.len()..], quotes.as_bytes());
        }
        let escaped = slice.windows(2).any(|pair| pair[0] == b'\\' && matches!(pair[1], b'{' | b'}' | b'N'));
        let lines = quotes.len() == 1 && slice.contains(&b'\n');
        let parts = (0..node.child_count()).filter_map(|at| node.child(at));
        let said = |part: Node<'_>| part.kind() == "string_content" && says_code(&self.text[part.byte_range()]);
        !escaped && !lines && !parts.into_iter().any(said)
    }
}

/// Whether a text, from behind its opening quotes, ends with these and not before.
fn ends(slice: &[u8], quotes: &[u8]) -> bool {
    let mut at = 0;
    while at < slice.len() {
        match slice[at] {
            b'\\' => at += 2,
            b'\n' if quotes.len() == 1 => return false,
            _ if slice[at..].starts_with(quotes) => return at + quotes.len() == slice.len(),
            _ => at += 1,
        }
    }
    false
}

/// Whether the words of a text with code in it look like code, too: the tree may have missed a brace.
fn says_code(text: &str) -> bool {
    text.contains("__") || super::DANGEROUS.iter().any(|name| text.contains(&format!("{name}(")))
}

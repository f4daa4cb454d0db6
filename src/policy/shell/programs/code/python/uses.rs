//! What a text does with its names: every form, name, member and call of it is in the list, or is found.

use super::names::{self, Meaning, Names};
use super::{DANGEROUS, Found, Kind, Reading, children, is_field, of};
use crate::policy::shell::programs::code::Harmless;
use crate::policy::shell::programs::code::harmless::{has_module, listed};
use std::ops::Range;
use tree_sitter::Node;

/// The forms that are followed.
const FORMS: &[&str] = &[
    "module",
    "expression_statement",
    "comment",
    "line_continuation",
    "block",
    "call",
    "argument_list",
    "keyword_argument",
    "list_splat",
    "dictionary_splat",
    "identifier",
    "attribute",
    "subscript",
    "slice",
    "string",
    "string_start",
    "string_content",
    "string_end",
    "escape_sequence",
    "escape_interpolation",
    "interpolation",
    "type_conversion",
    "format_specifier",
    "format_expression",
    "concatenated_string",
    "integer",
    "float",
    "true",
    "false",
    "none",
    "ellipsis",
    "list",
    "tuple",
    "dictionary",
    "pair",
    "set",
    "list_comprehension",
    "set_comprehension",
    "dictionary_comprehension",
    "generator_expression",
    "for_in_clause",
    "if_clause",
    "lambda",
    "lambda_parameters",
    "parameters",
    "default_parameter",
    "typed_parameter",
    "typed_default_parameter",
    "list_splat_pattern",
    "dictionary_splat_pattern",
    "keyword_separator",
    "positional_separator",
    "tuple_pattern",
    "list_pattern",
    "pattern_list",
    "expression_list",
    "parenthesized_expression",
    "binary_operator",
    "unary_operator",
    "boolean_operator",
    "not_operator",
    "comparison_operator",
    "conditional_expression",
    "named_expression",
    "assignment",
    "augmented_assignment",
    "if_statement",
    "elif_clause",
    "else_clause",
    "for_statement",
    "while_statement",
    "try_statement",
    "except_clause",
    "finally_clause",
    "with_statement",
    "with_clause",
    "with_item",
    "as_pattern",
    "as_pattern_target",
    "function_definition",
    "decorated_definition",
    "decorator",
    "return_statement",
    "yield",
    "raise_statement",
    "assert_statement",
    "pass_statement",
    "break_statement",
    "continue_statement",
    "delete_statement",
    "global_statement",
    "nonlocal_statement",
    "import_statement",
    "import_from_statement",
    "future_import_statement",
    "dotted_name",
    "aliased_import",
    "type",
    "generic_type",
    "type_parameter",
    "union_type",
];
/// Functions that may be called and not handed on.
const CALLED_ONLY: &[&str] = &["open", "type"];
/// What a value may always be asked for.
const OF_ANY: &[&str] = &["__name__", "__version__", "__file__"];
/// Of modules, what may only be looked at where it stands.
const LOOKED_AT: &[&str] = &["sys.path", "sys.argv"];

/// Functions that keep nothing of a list.
const LOOKS: &[&str] = &["print", "len", "sorted", "str", "repr"];

pub(super) struct Reader<'a> {
    text: &'a str,
    known: &'a Harmless,
    reading: Reading,
    names: Names,
    found: Vec<Found>,
}

impl<'a> Reader<'a> {
    pub fn new(text: &'a str, known: &'a Harmless, reading: Reading, mut names: Names) -> Self {
        let found = std::mem::take(&mut names.set);
        Self { text, known, reading, names, found }
    }

    /// All that was found, as it stands in the text.
    pub fn found(mut self) -> Vec<Found> {
        self.found.sort_by_key(|one| one.span.start);
        self.found
    }

    fn add(&mut self, kind: Kind, what: impl Into<String>, span: Range<usize>) {
        self.found.push(Found { what: what.into(), span, kind });
    }

    /// Looks at a node; whether to look into it.
    pub fn look(&mut self, node: Node<'_>, above: &[Node<'_>]) -> bool {
        if !node.is_named() {
            if matches!(node.kind(), "async" | "await") {
                self.add(Kind::Form, node.kind(), node.byte_range());
            }
            return false;
        }
        if !FORMS.contains(&node.kind()) {
            let form = node.kind().trim_end_matches("_definition").trim_end_matches("_statement").replace('_', " ");
            self.add(Kind::Form, form, node.start_byte()..node.start_byte());
            return true;
        }
        let parent = above.last().copied();
        match node.kind() {
            "import_statement" | "import_from_statement" => {
                self.import(node);
                return false;
            }
            "future_import_statement" | "string_content" => return false,
            "identifier" => self.identifier(node, parent),
            "attribute" => self.attribute(node, parent),
            "call" => self.call(node),
            "subscript" => self.subscript(node),
            "decorator" => self.decorator(node),
            _ => {}
        }
        true
    }

    fn import(&mut self, node: Node<'_>) {
        if children(node).any(|one| one.kind() == "wildcard_import") {
            self.add(Kind::Form, "import *", node.byte_range());
        }
        if node.child_by_field_name("module_name").is_some_and(|module| module.kind() != "dotted_name") {
            return self.add(Kind::Form, "an import of its folder", node.byte_range());
        }
        for (path, at) in names::paths(node, self.text) {
            // An import alone runs what stands in the module.
            if !has_module(self.known, &path) && (self.reading == Reading::Script || path.contains('.')) {
                self.add(Kind::Name, path, at.byte_range());
            }
        }
    }

    fn identifier(&mut self, node: Node<'_>, parent: Option<Node<'_>>) {
        let name = of(self.text, node);
        let Some(parent) = parent else { return };
        match parent.kind() {
            // Judged with what it belongs to.
            "attribute" => return,
            "keyword_argument" if is_field(parent, "name", node) => {
                if name.starts_with("__") {
                    self.add(Kind::Form, name, node.byte_range());
                }
                return;
            }
            _ => {}
        }
        let called = parent.kind() == "call" && is_field(parent, "function", node);
        self.path(name, &[], called, node, parent);
    }

    /// A chain of members, judged at its outermost: `json.load`, `page["content"].strip`.
    fn attribute(&mut self, node: Node<'_>, parent: Option<Node<'_>>) {
        if parent.is_some_and(|parent| parent.kind() == "attribute") {
            return;
        }
        let called = parent.is_some_and(|parent| parent.kind() == "call" && is_field(parent, "function", node));
        let (mut parts, mut root) = (Vec::new(), node);
        while root.kind() == "attribute" {
            parts.extend(root.child_by_field_name("attribute"));
            let Some(object) = root.child_by_field_name("object") else { break };
            root = object;
        }
        parts.reverse();
        match root.kind() {
            "identifier" => self.path(of(self.text, root), &parts, called, root, parent.unwrap_or(node)),
            _ => self.members(&parts, called),
        }
    }

    /// A name with the members that stand behind it.
    fn path(&mut self, root: &str, parts: &[Node<'_>], called: bool, at: Node<'_>, parent: Node<'_>) {
        let text = self.text;
        let whole = |from: &str| {
            let parts = parts.iter().map(|part| of(text, *part));
            std::iter::once(from).chain(parts).collect::<Vec<_>>().join(".")
        };
        let span = at.start_byte()..parts.last().map_or(at.end_byte(), Node::end_byte);
        if DANGEROUS.contains(&root) && !self.is_open(root, parts, called, parent)
            || root.starts_with("__") && !(root == "__name__" && parts.is_empty())
        {
            return self.add(Kind::Name, whole(root), span);
        }
        let (from, given) = match self.names.meaning(root) {
            Meaning::Confused => return self.add(Kind::Form, format!("{root}, which means two things"), span),
            Meaning::Own { callable } => {
                if called && parts.is_empty() && !callable {
                    return self.add(Kind::Form, root, span);
                }
                return self.members(parts, called);
            }
            Meaning::Imported(path) => (whole(path), false),
            Meaning::Given => (whole(root), true),
        };
        // As much of it as the list has; the rest are members of that.
        let mut ends = from.match_indices('.').map(|(at, _)| at).chain([from.len()]);
        let best = ends.rfind(|end| from[..*end].contains('.') && listed(self.known, &from[..*end]));
        if let Some(end) = best {
            let rest = from[end..].matches('.').count();
            if LOOKED_AT.contains(&&from[..end]) && !(rest == 0 && self.is_looked_at(parent)) {
                return self.add(Kind::Name, from, span);
            }
            return self.members(&parts[parts.len() - rest.min(parts.len())..], called);
        }
        if given {
            if !self.known.words.iter().any(|word| word == root) {
                return self.add(Kind::Name, from, span);
            }
            if CALLED_ONLY.contains(&root) && !(called && parts.is_empty() && self.is_called_plainly(root, parent)) {
                return self.add(Kind::Name, from, span);
            }
            return self.members(parts, called);
        }
        // A module that is handed on gives all that it has to whoever has it.
        if !from.contains('.') && !called {
            self.add(Kind::Form, root, span.clone());
        }
        let last = from.rsplit('.').next().unwrap_or_default();
        let version = OF_ANY.contains(&last) || matches!(last, "version" | "VERSION");
        if !(version && from.matches('.').count() == 1 && self.reading == Reading::Command) {
            self.add(Kind::Name, from, span);
        }
    }

    /// Members of a value: the last of them may be called.
    fn members(&mut self, parts: &[Node<'_>], called: bool) {
        for (at, part) in parts.iter().enumerate() {
            let name = of(self.text, *part);
            let is = |list: &[String]| list.iter().any(|one| one == name);
            let called = called && at + 1 == parts.len();
            let hidden = name.starts_with('_') && (called || !OF_ANY.contains(&name));
            // `Path("a").replace("b")` moves a file, `"a".replace("b", "c")` does not.
            let moves = name == "replace" && self.names.imports("pathlib.Path");
            let fits = match name {
                "format" | "format_map" => called && self.is_plain_format(*part),
                _ if OF_ANY.contains(&name) => !called,
                _ => is(&self.known.methods) || !called && is(&self.known.fields),
            };
            if hidden || moves || !fits {
                self.add(Kind::Member, name, part.byte_range());
            }
        }
    }

    fn call(&mut self, node: Node<'_>) {
        let Some(function) = node.child_by_field_name("function") else { return };
        let fits = match function.kind() {
            "identifier" | "attribute" => true,
            "parenthesized_expression" => children(function).all(|one| one.kind() == "lambda"),
            _ => false,
        };
        if !fits {
            self.add(Kind::Form, super::COMPUTED, function.byte_range());
        }
    }

    fn subscript(&mut self, node: Node<'_>) {
        for key in children(node).filter(|one| is_text(*one)) {
            if of(self.text, key).contains("__") {
                self.add(Kind::Form, of(self.text, key), key.byte_range());
            }
        }
    }

    /// `@cache`, `@lru_cache(maxsize=None)`: a function that is named.
    fn decorator(&mut self, node: Node<'_>) {
        let given = children(node).next();
        let function =
            given.and_then(|one| if one.kind() == "call" { one.child_by_field_name("function") } else { given });
        if !function.is_some_and(|function| matches!(function.kind(), "identifier" | "attribute")) {
            self.add(Kind::Form, super::COMPUTED, node.byte_range());
        }
    }

    /// `"{} of {}".format(…)`: a text that asks nothing of the values but what they say.
    fn is_plain_format(&self, name: Node<'_>) -> bool {
        let object = name.parent().and_then(|attribute| attribute.child_by_field_name("object"));
        let plain = |one: Node<'_>| {
            let text = of(self.text, one);
            let escapes =
                text.match_indices('\\').any(|(at, _)| !matches!(text.as_bytes().get(at + 1), Some(b'n' | b't')));
            !escapes && !text.contains("._") && !text.contains("[_")
        };
        object.is_some_and(|object| is_text(object) && !is_filled(object) && plain(object))
    }

    /// Whether `open` is there to be called, and only reads.
    fn is_open(&self, name: &str, parts: &[Node<'_>], called: bool, call: Node<'_>) -> bool {
        let known = self.known.words.iter().any(|word| word == name);
        name == "open" && known && parts.is_empty() && called && self.is_called_plainly(name, call)
    }

    /// The arguments of a function that does what they say.
    fn is_called_plainly(&self, name: &str, call: Node<'_>) -> bool {
        let Some(arguments) = call.child_by_field_name("arguments").filter(|one| one.kind() == "argument_list") else {
            return false;
        };
        let mut placed = 0;
        children(arguments).filter(|one| one.kind() != "comment").all(|one| match one.kind() {
            "list_splat" | "dictionary_splat" => false,
            "keyword_argument" => {
                let key = one.child_by_field_name("name").map_or("", |name| of(self.text, name));
                match key {
                    "mode" => one.child_by_field_name("value").is_some_and(|value| self.only_reads(value)),
                    "opener" => false,
                    _ => name == "open",
                }
            }
            _ => {
                placed += 1;
                match (name, placed) {
                    ("open", 2) => self.only_reads(one),
                    ("open", _) => true,
                    _ => placed == 1,
                }
            }
        })
    }

    /// Whether a list is only looked at: printed, counted, gone through.
    fn is_looked_at(&self, parent: Node<'_>) -> bool {
        match parent.kind() {
            "for_statement" | "for_in_clause" | "interpolation" | "comparison_operator" => true,
            "subscript" => parent.parent().is_some_and(|around| {
                !is_field(around, "left", parent)
                    && !around.kind().contains("pattern")
                    && !around.kind().contains("delete")
            }),
            "argument_list" => {
                let function = parent.parent().and_then(|call| call.child_by_field_name("function"));
                function.is_some_and(|one| match one.kind() {
                    "attribute" => {
                        one.child_by_field_name("attribute").is_some_and(|name| of(self.text, name) == "join")
                    }
                    _ => {
                        let name = of(self.text, one);
                        LOOKS.contains(&name) && matches!(self.names.meaning(name), Meaning::Given)
                    }
                })
            }
            _ => false,
        }
    }

    /// `"r"`, `"rb"`.
    fn only_reads(&self, mode: Node<'_>) -> bool {
        let text = of(self.text, mode);
        mode.kind() == "string" && text.trim_matches(['"', '\'']).chars().all(|c| matches!(c, 'r' | 'b' | 't'))
    }
}

/// A text as it stands there, or several.
fn is_text(node: Node<'_>) -> bool {
    match node.kind() {
        "string" => true,
        "concatenated_string" => true,
        "parenthesized_expression" => node.named_child(0).is_some_and(|one| one.kind().ends_with("string")),
        _ => false,
    }
}

/// Whether a text has code in it.
fn is_filled(node: Node<'_>) -> bool {
    children(node).any(|one| one.kind() == "interpolation" || one.kind().ends_with("string") && is_filled(one))
}

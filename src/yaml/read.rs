//! From the events of the parser to a tree. Settings, looks and keys are read before the first frame, so this goes
//! straight from event to node: deserializing a position with each value takes three times as long.

use super::{Key, Node, Value};
use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, Span, Tag};
use std::collections::HashMap;

/// How deep values may stand in each other.
const MAX_DEPTH: usize = 128;
/// How many nodes a document may have once its aliases are filled in, and how many bytes their texts.
const MAX_NODES: usize = 200_000;
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// Which of two equal keys counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Repeated {
    First,
    Last,
}

/// What is wrong, and where (1-based).
pub struct Fault {
    pub line: u64,
    pub column: u64,
    pub reason: String,
}

/// The one document of a text.
pub fn document(text: &str, repeated: Repeated) -> Result<Node, Fault> {
    let mut reader =
        Reader { repeated, open: Vec::new(), root: None, anchors: HashMap::new(), documents: 0, used: Size::default() };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let at = error.marker();
            Fault { line: at.line() as u64, column: at.col() as u64 + 1, reason: error.info() }
        })?;
        reader.event(event, &span)?;
    }
    Ok(reader.root.unwrap_or(Node { line: 1, column: 1, value: Value::Null }))
}

/// A list or mapping that has not ended.
struct Open {
    node: Node,
    anchor: usize,
    /// The key that waits for its value.
    key: Option<Pending>,
    /// Mappings of `<<`, whose keys count where the mapping has none of its own.
    merged: Vec<(Key, Node)>,
}

/// What the next value of a mapping is for.
enum Pending {
    Key(Key),
    /// `<<`: its entries count where the mapping has none of its own.
    Merge,
}

struct Reader {
    repeated: Repeated,
    open: Vec<Open>,
    root: Option<Node>,
    anchors: HashMap<usize, Anchor>,
    documents: usize,
    used: Size,
}

/// A node that aliases repeat.
struct Anchor {
    node: Node,
    size: Size,
}

/// What a node takes, with all that is in it.
#[derive(Clone, Copy, Default)]
struct Size {
    nodes: usize,
    bytes: usize,
    /// Levels below it.
    depth: usize,
}

impl Reader {
    fn event(&mut self, event: Event<'_>, span: &Span) -> Result<(), Fault> {
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(fault(span, "a second document starts here; only one is read"));
                }
                Ok(())
            }
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain;
                let merge = plain && text == "<<";
                let node = place(span, scalar(&text, plain, tag.as_deref()));
                self.ended(node, anchor, merge, span)
            }
            Event::SequenceStart(_, anchor, _) => self.begin(place(span, Value::List(Vec::new())), anchor, span),
            Event::MappingStart(_, anchor, _) => self.begin(place(span, Value::Map(Vec::new())), anchor, span),
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(mut open) => {
                    if let Value::Map(entries) = &mut open.node.value {
                        for (key, node) in open.merged {
                            if !entries.iter().any(|(known, _)| known.text == key.text) {
                                entries.push((key, node));
                            }
                        }
                    }
                    self.ended(open.node, open.anchor, false, span)
                }
                None => Ok(()),
            },
            Event::Alias(anchor) => {
                let Some(known) = self.anchors.get(&anchor) else {
                    return Err(fault(span, "an alias stands within its own anchor"));
                };
                if self.open.len() + known.size.depth > MAX_DEPTH {
                    return Err(fault(span, "nested too deeply"));
                }
                let size = known.size;
                self.take(size, span)?;
                let Some(known) = self.anchors.get(&anchor) else { return Ok(()) };
                let node = Node { value: known.node.value.clone(), ..place(span, Value::Null) };
                self.ended(node, 0, false, span)
            }
            _ => Ok(()),
        }
    }

    /// Counts what is kept, before it is copied.
    fn take(&mut self, size: Size, span: &Span) -> Result<(), Fault> {
        self.used.nodes += size.nodes;
        self.used.bytes += size.bytes;
        if self.used.nodes > MAX_NODES || self.used.bytes > MAX_BYTES {
            return Err(fault(span, "it is too large, with its aliases filled in"));
        }
        Ok(())
    }

    fn begin(&mut self, node: Node, anchor: usize, span: &Span) -> Result<(), Fault> {
        if self.open.len() >= MAX_DEPTH {
            return Err(fault(span, "nested too deeply"));
        }
        self.open.push(Open { node, anchor, key: None, merged: Vec::new() });
        Ok(())
    }

    /// A whole node: an item, a key, a value, or the document.
    fn ended(&mut self, node: Node, anchor: usize, merge: bool, span: &Span) -> Result<(), Fault> {
        let bytes = if let Value::Text(text) = &node.value { text.len() } else { 0 };
        self.take(Size { nodes: 1, bytes, depth: 0 }, span)?;
        if anchor != 0 {
            let size = size(&node);
            self.take(size, span)?;
            self.anchors.insert(anchor, Anchor { node: node.clone(), size });
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match (&mut open.node.value, open.key.take()) {
            (Value::List(items), _) => items.push(node),
            (Value::Map(_), None) if merge => open.key = Some(Pending::Merge),
            (Value::Map(_), None) => {
                open.key = Some(Pending::Key(Key { line: node.line, text: node.scalar().unwrap_or_default() }));
            }
            (Value::Map(_), Some(Pending::Merge)) => {
                let maps = if let Value::List(maps) = node.value { maps } else { vec![node] };
                for map in maps {
                    let Value::Map(entries) = map.value else {
                        return Err(fault(span, "only mappings can be merged"));
                    };
                    open.merged.extend(entries);
                }
            }
            (Value::Map(entries), Some(Pending::Key(key))) => {
                let known = entries.iter().position(|(known, _)| known.text == key.text);
                if known.is_none() || self.repeated == Repeated::Last {
                    known.map(|index| entries.remove(index));
                    entries.push((key, node));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn place(span: &Span, value: Value) -> Node {
    Node { line: span.start.line() as u64, column: span.start.col() as u64 + 1, value }
}

fn fault(span: &Span, reason: &str) -> Fault {
    let Node { line, column, .. } = place(span, Value::Null);
    Fault { line, column, reason: reason.into() }
}

fn size(node: &Node) -> Size {
    let below: Vec<Size> = match &node.value {
        Value::Text(text) => return Size { nodes: 1, bytes: text.len(), depth: 0 },
        Value::List(items) => items.iter().map(size).collect(),
        Value::Map(entries) => entries.iter().map(|(_, node)| size(node)).collect(),
        Value::Null | Value::Bool(_) | Value::Integer(_) | Value::Float(_) => Vec::new(),
    };
    Size {
        nodes: 1 + below.iter().map(|size| size.nodes).sum::<usize>(),
        bytes: below.iter().map(|size| size.bytes).sum(),
        depth: below.iter().map(|size| size.depth + 1).max().unwrap_or_default(),
    }
}

/// What a scalar means by the core schema of YAML 1.2. `y`, `no` and `off` are text: a key, a model, a mode. Who wants
/// a truth value reads the words.
fn scalar(text: &str, plain: bool, tag: Option<&Tag>) -> Value {
    let tag = tag.and_then(Tag::core_suffix);
    if tag == Some("str") || (!plain && tag.is_none()) {
        return Value::Text(text.to_owned());
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => number(text).unwrap_or_else(|| Value::Text(text.to_owned())),
    }
}

fn number(text: &str) -> Option<Value> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let whole = digits.starts_with(|c: char| c.is_ascii_digit());
    if !whole && !digits.starts_with('.') {
        return None;
    }
    match digits {
        ".inf" | ".Inf" | ".INF" => return Some(Value::Float(f64::INFINITY.copysign(sign(text)))),
        ".nan" | ".NaN" | ".NAN" => return Some(Value::Float(f64::NAN)),
        _ => {}
    }
    let prefixed = [("0x", 16), ("0o", 8), ("0b", 2)]
        .into_iter()
        .find_map(|(prefix, radix)| digits.strip_prefix(prefix).map(|digits| (digits, radix)));
    if let Some((digits, radix)) = prefixed {
        // A second sign, `0x-1`, is no number.
        let digits = ungrouped(digits).filter(|digits| !digits.starts_with(['-', '+']))?;
        let value = u64::from_str_radix(&digits, radix).ok().and_then(|value| i64::try_from(value).ok())?;
        return Some(Value::Integer(if text.starts_with('-') { -value } else { value }));
    }
    let plain = ungrouped(text)?;
    // `007` is no whole number of this schema: it is read as 7.0.
    match plain.parse::<i64>() {
        Ok(value) if digits == "0" || !digits.starts_with('0') => Some(Value::Integer(value)),
        _ => text.parse::<f64>().ok().filter(|value| value.is_finite()).map(Value::Float),
    }
}

fn sign(text: &str) -> f64 {
    if text.starts_with('-') { -1.0 } else { 1.0 }
}

/// `1_000` without its grouping; `None` where a `_` does not stand between two digits.
fn ungrouped(digits: &str) -> Option<String> {
    let wrong = digits.starts_with('_') || digits.ends_with('_') || digits.contains("__");
    (!wrong).then(|| digits.replace('_', ""))
}

#[cfg(test)]
mod tests {
    use crate::yaml;

    fn json(text: &str) -> serde_json::Value {
        yaml::parse(text, "f").unwrap().to_json()
    }

    /// The library's own reading of the same text.
    fn library(text: &str) -> serde_json::Value {
        let mut options = serde_saphyr::Options::default();
        options.strict_booleans = true;
        serde_saphyr::from_str_with_options(text, options).unwrap()
    }

    #[test]
    fn scalars_mean_what_the_library_takes_them_for() {
        let words = [
            "1",
            "-1",
            "+1",
            "0",
            "007",
            "-0",
            "1_000",
            "_1",
            "1_",
            "0x1f",
            "0o17",
            "0b11",
            "0x",
            "0x-1",
            "0x+1",
            "1.5",
            ".5",
            "5.",
            "1e3",
            "1.2.3",
            "1-2",
            "+",
            ".",
            "..",
            "-.5",
            "~",
            "null",
            "NULL",
            "nUll",
            "true",
            "True",
            "tRue",
            "yes",
            "no",
            "off",
            "y",
            "n",
            "inf",
            "nan",
            "infinity",
            "1:30",
            "12:30:45",
            "2024-01-02",
            "9223372036854775807",
            "x y",
            "\"1\"",
            "'true'",
            "\"\"",
            "!!str 1",
            "!!str true",
            "1 # c",
            "gpt-4o",
            "0.1.0",
            "1e",
            "1f",
            "é",
        ];
        let read = |word: &str| (json(&format!("a: {word}\n")), library(&format!("a: {word}\n")));
        let differ: Vec<_> = words.map(read).into_iter().filter(|(ours, theirs)| ours != theirs).collect();
        assert_eq!(differ, []);
    }

    #[test]
    fn documents_mean_what_the_library_takes_them_for() {
        for text in [
            include_str!("../../assets/keymap.yaml"),
            include_str!("../../assets/config.yaml"),
            include_str!("../../assets/providers.yaml"),
            include_str!("../../skins/ares.yaml"),
            include_str!("../../themes/hermes-dark.yaml"),
            "a: |\n  two\n  lines\nb: >-\n  folded\n  words\n",
            "base: &b {x: 1, y: 2}\nuse:\n  <<: *b\n  y: 3\nlist: [*b, *b]\n",
            "a: &a {x: 1}\nb: &b {x: 2, z: 3}\nuse: {<<: [*a, *b], w: 1}\n",
            "? key\n: value\n\"quoted key\": {nested: [1, [2, 3], {}]}\nempty:\n",
            "- 1\n- - 2\n  - 3\n-\n",
        ] {
            assert_eq!(json(text), library(text), "{text}");
        }
    }

    #[test]
    fn what_would_take_all_memory_is_refused() {
        let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..9 {
            let inner = vec![format!("*a{}", level - 1); 10].join(", ");
            bomb.push_str(&format!("a{level}: &a{level} [{inner}]\n"));
        }
        assert!(yaml::parse(&bomb, "f").unwrap_err().reason.contains("too large"));
        // A megabyte a hundred times, anchors in anchors, and levels that only aliases add.
        let text = format!("a: &a \"{}\"\nb: [{}]\n", "x".repeat(1_000_000), vec!["*a"; 100].join(", "));
        assert!(yaml::parse(&text, "f").unwrap_err().reason.contains("too large"));
        let nested: String = (0..100).map(|level| format!("&n{level} [")).collect();
        let text = format!("a: {nested}{}{}\n", vec!["x"; 5_000].join(", "), "]".repeat(100));
        assert!(yaml::parse(&text, "f").unwrap_err().reason.contains("too large"));
        let mut chain = String::from("c0: &c0 [x]\n");
        (1..300).for_each(|level| chain.push_str(&format!("c{level}: &c{level} [*c{}]\n", level - 1)));
        assert!(yaml::parse(&chain, "f").unwrap_err().reason.contains("deeply"));
        let deep = format!("a: {}{}", "[".repeat(5_000), "]".repeat(5_000));
        assert!(yaml::parse(&deep, "f").is_err());
        assert!(yaml::parse("a: 1\n---\nb: 2\n", "f").unwrap_err().reason.contains("second document"));
        assert!(yaml::parse("a: &a [*a]\n", "f").is_err());
    }
}

//! Tools that do not stand in a request: a short list of them, and a search over names and descriptions (BM25).

use crate::tools::spec::ToolSpec;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

/// Bytes of the list, about 700 tokens.
pub const LIST_BYTES: usize = 3_000;
/// Characters of a description in the list, and in what a search finds.
const LINE_CHARS: usize = 80;
const FOUND_CHARS: usize = 240;
/// The usual weights of BM25.
const K1: f64 = 1.2;
const B: f64 = 0.75;
/// What a word of the name counts more than one of the description.
const NAME_WEIGHT: usize = 3;

/// What can be searched for, as fits: a line each, else names, else numbers, by toolset. Empty when there is nothing.
pub fn list(specs: &[&ToolSpec]) -> String {
    if specs.is_empty() {
        return String::new();
    }
    let mut sets: BTreeMap<&str, Vec<&ToolSpec>> = BTreeMap::new();
    for spec in specs {
        sets.entry(&spec.toolset).or_default().push(spec);
    }
    let lines = || {
        let mut out = String::from("What can be found:");
        for spec in specs {
            let _ = write!(out, "\n{}: {}", spec.name, one_line(&spec.description, LINE_CHARS));
        }
        out
    };
    let names = || {
        let mut out = String::from("What can be found, by toolset:");
        for (set, specs) in &sets {
            let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_ref()).collect();
            let _ = write!(out, "\n{}: {}", one_line(set, 64), names.join(", "));
        }
        out
    };
    let numbers = || {
        let mut out = String::from("What can be found, by toolset:");
        for (set, specs) in &sets {
            let _ = write!(out, "\n{} ({})", one_line(set, 64), specs.len());
        }
        out
    };
    let shapes: [&dyn Fn() -> String; 3] = [&lines, &names, &numbers];
    let fitting = shapes.iter().map(|shape| shape()).find(|text| text.len() <= LIST_BYTES);
    fitting.unwrap_or_else(|| format!("What can be found: {} tools of {} toolsets.", specs.len(), sets.len()))
}

/// The first sentence, in one line without control characters, at most so many characters. Other programs wrote it.
pub fn one_line(text: &str, most: usize) -> String {
    let sentence = text.trim().split(". ").next().unwrap_or_default();
    let sentence = sentence.lines().next().unwrap_or_default().trim_end_matches('.');
    let mut out: String = sentence.chars().filter(|c| !c.is_control()).take(most).collect();
    if sentence.chars().count() > most {
        out.pop();
        out.push('…');
    }
    out
}

/// What a search tells of a tool: enough to choose it, and often enough to call it.
pub fn found(spec: &ToolSpec) -> Value {
    let text: String = spec.description.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut short: String = text.chars().filter(|c| !c.is_control()).take(FOUND_CHARS).collect();
    if text.chars().count() > FOUND_CHARS {
        short.push('…');
    }
    serde_json::json!({
        "name": spec.name,
        "toolset": spec.toolset,
        "description": short,
        "arguments": arguments(&spec.schema),
    })
}

/// `path: string, limit?: integer`.
fn arguments(schema: &Value) -> String {
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = schema.get("properties").and_then(Value::as_object);
    let one = |(name, about): (&String, &Value)| {
        let optional = if required.contains(&name.as_str()) { "" } else { "?" };
        format!("{name}{optional}: {}", about.get("type").and_then(Value::as_str).unwrap_or("any"))
    };
    properties.into_iter().flatten().take(24).map(one).collect::<Vec<_>>().join(", ")
}

/// The tools that fit the query, best first. An empty query finds the first ones by name.
pub fn search<'a>(query: &str, specs: &[&'a ToolSpec], limit: usize) -> Vec<&'a ToolSpec> {
    let wanted = words(query);
    if wanted.is_empty() {
        return specs.iter().copied().take(limit).collect();
    }
    let documents: Vec<HashMap<String, usize>> = specs.iter().map(|spec| document(spec)).collect();
    let lengths: Vec<usize> = documents.iter().map(|document| document.values().sum()).collect();
    let average = lengths.iter().sum::<usize>() as f64 / documents.len().max(1) as f64;
    let mut scores: Vec<(f64, &ToolSpec)> = specs.iter().map(|spec| (0.0, *spec)).collect();
    for word in &wanted {
        let counts: Vec<f64> = documents.iter().map(|document| count(document, word)).collect();
        let having = counts.iter().filter(|count| **count > 0.0).count() as f64;
        let rarity = ((documents.len() as f64 - having + 0.5) / (having + 0.5) + 1.0).ln();
        for ((score, count), length) in scores.iter_mut().zip(&counts).zip(&lengths) {
            let norm = K1 * (1.0 - B + B * *length as f64 / average.max(1.0));
            score.0 += rarity * count * (K1 + 1.0) / (count + norm);
        }
    }
    let asked = query.trim().to_lowercase();
    for (score, spec) in &mut scores {
        // Who knows the name wants this one.
        if spec.name.eq_ignore_ascii_case(&asked) {
            *score += 1_000.0;
        }
    }
    scores.retain(|(score, _)| *score > 0.0);
    scores.sort_by(|(a, x), (b, y)| b.total_cmp(a).then_with(|| x.name.cmp(&y.name)));
    scores.into_iter().take(limit).map(|(_, spec)| spec).collect()
}

/// How often a word is there; one that only begins like it counts half.
fn count(document: &HashMap<String, usize>, word: &str) -> f64 {
    if let Some(count) = document.get(word) {
        return *count as f64;
    }
    if word.len() < 3 {
        return 0.0;
    }
    let alike = |other: &str| other.starts_with(word) || (other.len() > 3 && word.starts_with(other));
    document.iter().filter(|(other, _)| alike(other)).map(|(_, count)| *count as f64 / 2.0).fold(0.0, f64::max)
}

fn document(spec: &ToolSpec) -> HashMap<String, usize> {
    let mut found: HashMap<String, usize> = HashMap::new();
    let mut add = |text: &str, weight: usize| {
        for word in words(text) {
            *found.entry(word).or_default() += weight;
        }
    };
    add(&spec.name, NAME_WEIGHT);
    add(&spec.toolset, 1);
    // A server may send a book.
    add(&spec.description[..spec.description.floor_char_boundary(4_000)], 1);
    for name in spec.schema.get("properties").and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name) {
        add(name, 1);
    }
    found
}

/// Lower-case words; `mcp__gh__listIssues` has `mcp`, `gh`, `list` and `issues`.
fn words(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut lower = false;
    for c in text.chars().chain([' ']) {
        if !word.is_empty() && (!c.is_alphanumeric() || (c.is_uppercase() && lower)) {
            out.push(std::mem::take(&mut word));
        }
        lower = c.is_lowercase();
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn spec(name: &str, set: &str, about: &str) -> ToolSpec {
        let schema =
            json!({"properties": {"repo": {"type": "string"}, "limit": {"type": "integer"}}, "required": ["repo"]});
        ToolSpec::dynamic(name, set, about, schema)
    }

    fn some() -> Vec<ToolSpec> {
        vec![
            spec("mcp__db__query", "mcp-db", "Run a read-only SQL query."),
            spec("mcp__gh__createIssue", "mcp-gh", "Open a new issue in a repository. Needs a token."),
            spec("mcp__gh__list_issues", "mcp-gh", "List the issues of a repository, newest first."),
            spec("mcp__gh__list_pulls", "mcp-gh", "List pull requests."),
            spec("speak", "voice", "Reads a text aloud\nand more"),
        ]
    }

    #[test]
    fn searches_find_by_name_description_and_parameter() {
        let specs = some();
        let all: Vec<&ToolSpec> = specs.iter().collect();
        for (query, want) in [
            ("list issues github", "mcp__gh__list_issues"),
            ("create issue", "mcp__gh__createIssue"),
            ("sql", "mcp__db__query"),
            ("pull request", "mcp__gh__list_pulls"),
            ("read something aloud", "speak"),
            ("MCP__GH__LIST_PULLS", "mcp__gh__list_pulls"),
            ("", "mcp__db__query"),
        ] {
            assert_eq!(search(query, &all, 5)[0].name, want, "{query}");
        }
        assert!(search("zebra", &all, 5).is_empty());
        assert_eq!(search("repo", &all, 2).len(), 2);
        assert!(search("x", &[], 5).is_empty());
    }

    #[test]
    fn the_list_shrinks_to_what_fits() {
        let specs = some();
        let all: Vec<&ToolSpec> = specs.iter().collect();
        assert!(list(&all).contains("\nmcp__gh__createIssue: Open a new issue in a repository\n"), "{}", list(&all));
        assert!(list(&all).ends_with("speak: Reads a text aloud"));
        let many: Vec<ToolSpec> =
            (0..120).map(|n| spec(&format!("mcp__a__tool{n}"), "mcp-a", &"word ".repeat(20))).collect();
        let many: Vec<&ToolSpec> = many.iter().collect();
        assert!(list(&many).contains("mcp-a: mcp__a__tool0, mcp__a__tool1,"), "{}", list(&many));
        let more: Vec<ToolSpec> =
            (0..900).map(|n| spec(&format!("mcp__a__tool{n}"), &format!("mcp-{}", n % 9), "x")).collect();
        let more: Vec<&ToolSpec> = more.iter().collect();
        assert!(list(&more).contains("\nmcp-8 (100)"), "{}", list(&more));
        assert_eq!(list(&[]), "");
    }

    #[test]
    fn what_is_found_can_be_called() {
        let told = found(&spec("a", "b", &format!("One.\n\u{1b}[2J{}", "x".repeat(500))));
        assert_eq!(told["arguments"], "repo: string, limit?: integer");
        let text = told["description"].as_str().unwrap();
        assert!(!text.contains('\u{1b}') && text.ends_with('…') && text.chars().count() <= FOUND_CHARS + 1);
    }
}

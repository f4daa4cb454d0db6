//! Syntax highlighting: code to roles. Grammars load once, off the drawing thread; until then code is plain.
//!
//! Growing blocks keep the parser's state at the end of their last whole line, so each line is parsed once.

use super::{Role, Span, Syntax};
use std::collections::HashMap;
use std::sync::OnceLock;
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

/// Lines longer than this stay plain: minified code costs more than it shows.
const LONGEST_LINE: usize = 2_000;
/// Blocks stay plain from this line on.
const MAX_LINES: usize = 2_000;
/// Blocks kept.
const MAX_BLOCKS: usize = 64;
/// Bytes of code kept.
const MAX_BYTES: usize = 1 << 20;

/// Spans of one line.
pub type CodeLine = Vec<Span>;

static GRAMMARS: OnceLock<SyntaxSet> = OnceLock::new();

/// Loads the grammars; about 10 ms once. The first highlighter that needs them calls it in a thread of its own.
pub fn load() -> &'static SyntaxSet {
    GRAMMARS.get_or_init(two_face::syntax::extra_newlines)
}

/// Whether the grammars are there.
pub fn is_loaded() -> bool {
    GRAMMARS.get().is_some()
}

/// Highlighted blocks, remembered.
#[derive(Default)]
pub struct Highlighter {
    blocks: Vec<Block>,
    kinds: HashMap<Scope, Option<Syntax>>,
    asked: bool,
    clock: u64,
    waiting: bool,
}

struct Block {
    lang: String,
    /// The whole lines that are parsed.
    source: String,
    lines: Vec<CodeLine>,
    /// What follows the last line feed, as the last of `lines`.
    tail: Option<String>,
    parser: Option<(ParseState, ScopeStack)>,
    used: u64,
}

impl Highlighter {
    /// The lines of `code`, coloured by kind of token. An unknown language is plain.
    pub fn lines(&mut self, lang: &str, code: &str) -> &[CodeLine] {
        self.clock += 1;
        let syntax = self.syntax(lang);
        let known = self.blocks.iter().position(|block| {
            block.lang == lang && code.starts_with(&block.source) && block.parser.is_some() == syntax.is_some()
        });
        let index = known.unwrap_or_else(|| {
            self.trim(code.len());
            self.blocks.push(Block {
                lang: lang.to_owned(),
                source: String::new(),
                lines: Vec::new(),
                tail: None,
                parser: syntax.map(|syntax| (ParseState::new(syntax), ScopeStack::new())),
                used: 0,
            });
            self.blocks.len() - 1
        });
        let Some(block) = self.blocks.get_mut(index) else { return &[] };
        block.used = self.clock;
        block.grow(code, &mut self.kinds);
        &block.lines
    }

    /// Whether plain code was handed out; forgets it.
    pub fn take_waiting(&mut self) -> bool {
        std::mem::take(&mut self.waiting)
    }

    fn syntax(&mut self, lang: &str) -> Option<&'static SyntaxReference> {
        let token = alias(lang)?;
        let Some(set) = GRAMMARS.get() else {
            self.waiting = true;
            if !self.asked {
                self.asked = true;
                // Without a thread the code stays plain, which is what it is now.
                let spawned = std::thread::Builder::new().name("grammars".into()).spawn(|| {
                    load();
                });
                drop(spawned);
            }
            return None;
        };
        set.find_syntax_by_token(&token)
    }

    fn trim(&mut self, coming: usize) {
        let mut bytes: usize = coming + self.blocks.iter().map(|block| block.source.len()).sum::<usize>();
        while self.blocks.len() >= MAX_BLOCKS || (bytes > MAX_BYTES && !self.blocks.is_empty()) {
            let oldest = self.blocks.iter().enumerate().min_by_key(|(_, block)| block.used);
            let Some((index, _)) = oldest else { return };
            bytes -= self.blocks.swap_remove(index).source.len();
        }
    }
}

impl Block {
    fn grow(&mut self, code: &str, kinds: &mut HashMap<Scope, Option<Syntax>>) {
        let rest = code.get(self.source.len()..).unwrap_or_default();
        let whole = rest.rfind('\n').map_or(0, |at| at + 1);
        let (fresh, tail) = rest.split_at(whole);
        if fresh.is_empty() && self.tail.as_deref().unwrap_or_default() == tail {
            return;
        }
        if self.tail.take().is_some() {
            self.lines.pop();
        }
        for line in fresh.split_inclusive('\n') {
            let spans = self.parse(line, kinds);
            self.lines.push(spans);
        }
        self.source.push_str(fresh);
        if !tail.is_empty() {
            // The tail may still change: its state is thrown away.
            let parser = self.parser.clone();
            let spans = self.parse(tail, kinds);
            self.parser = parser;
            self.lines.push(spans);
            self.tail = Some(tail.to_owned());
        }
    }

    fn parse(&mut self, line: &str, kinds: &mut HashMap<Scope, Option<Syntax>>) -> CodeLine {
        let shown = line.trim_end_matches(['\n', '\r']);
        let plain = |syntax| {
            if shown.is_empty() { Vec::new() } else { vec![Span::new(shown, Role::Syntax(syntax))] }
        };
        let Some((state, stack)) = self.parser.as_mut() else { return plain(Syntax::Plain) };
        if line.len() > LONGEST_LINE || self.lines.len() > MAX_LINES {
            return plain(Syntax::Plain);
        }
        let Some(set) = GRAMMARS.get() else { return plain(Syntax::Plain) };
        let Ok(operations) = state.parse_line(line, set) else { return plain(Syntax::Plain) };
        let mut spans: CodeLine = Vec::new();
        let mut at = 0;
        let mut push = |from: usize, to: usize, stack: &ScopeStack| {
            let Some(text) = shown.get(from..to.min(shown.len())).filter(|text| !text.is_empty()) else { return };
            let role = Role::Syntax(kind(stack, kinds));
            match spans.last_mut() {
                Some(last) if last.role == role => last.text.push_str(text),
                _ => spans.push(Span::new(text, role)),
            }
        };
        for (offset, operation) in &operations {
            push(at, *offset, stack);
            at = *offset;
            if stack.apply(operation).is_err() {
                break;
            }
        }
        push(at, shown.len(), stack);
        spans
    }
}

/// The kind of the innermost scope that has one.
fn kind(stack: &ScopeStack, kinds: &mut HashMap<Scope, Option<Syntax>>) -> Syntax {
    stack
        .as_slice()
        .iter()
        .rev()
        .find_map(|scope| *kinds.entry(*scope).or_insert_with(|| kind_of(&scope.build_string())))
        .unwrap_or_default()
}

/// Scope prefixes, more special ones first.
const KINDS: &[(&str, Syntax)] = &[
    ("comment", Syntax::Comment),
    ("punctuation.definition.comment", Syntax::Comment),
    ("punctuation.definition.string", Syntax::String),
    ("constant.character.escape", Syntax::Constant),
    ("constant.numeric", Syntax::Number),
    ("constant", Syntax::Constant),
    ("string", Syntax::String),
    ("keyword.operator.word", Syntax::Keyword),
    ("keyword.operator", Syntax::Operator),
    ("keyword", Syntax::Keyword),
    ("storage", Syntax::Keyword),
    ("variable.language", Syntax::Keyword),
    ("variable.function", Syntax::Function),
    ("variable.annotation", Syntax::Attribute),
    ("variable", Syntax::Variable),
    ("entity.name.function", Syntax::Function),
    ("entity.name.tag", Syntax::Tag),
    ("entity.name.section", Syntax::Heading),
    ("entity.name", Syntax::Type),
    ("entity.other.attribute-name", Syntax::Attribute),
    ("entity.other.inherited-class", Syntax::Type),
    ("support.function", Syntax::Function),
    ("support.macro", Syntax::Function),
    ("support.constant", Syntax::Constant),
    ("support", Syntax::Type),
    ("meta.annotation", Syntax::Attribute),
    ("markup.heading", Syntax::Heading),
    ("markup.inserted", Syntax::Inserted),
    ("markup.deleted", Syntax::Deleted),
    ("markup.raw", Syntax::String),
    ("punctuation", Syntax::Punctuation),
];

fn kind_of(scope: &str) -> Option<Syntax> {
    let is = |prefix: &str| scope.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    KINDS.iter().find(|(prefix, _)| is(prefix)).map(|(_, syntax)| *syntax)
}

/// The token that finds a grammar; `None` for plain text.
fn alias(lang: &str) -> Option<String> {
    let word = lang.trim().to_ascii_lowercase();
    let token = match word.as_str() {
        "" | "text" | "txt" | "plain" | "plaintext" | "output" | "log" => return None,
        "shell" | "sh" | "zsh" | "console" | "shell-session" | "shellscript" => "bash",
        "jsonc" | "json5" | "jsonl" | "ndjson" => "json",
        "jsx" => "js",
        "golang" => "go",
        "c++" | "cxx" => "cpp",
        "docker" => "dockerfile",
        other => other,
    };
    Some(token.to_owned())
}

/// The language of a file, as a token for [`Highlighter::lines`]: its extension, or its name.
pub fn language_of(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or(name, |(_, extension)| extension)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(lang: &str, code: &str) -> Vec<(String, Role)> {
        load();
        let mut highlighter = Highlighter::default();
        let lines = highlighter.lines(lang, code);
        lines.iter().flatten().map(|span| (span.text.clone(), span.role)).collect()
    }

    #[test]
    fn tokens_have_kinds() {
        let found = roles("rust", "fn main() { let x = \"hi\"; } // note\n");
        let has = |text: &str, syntax| found.contains(&(text.to_owned(), Role::Syntax(syntax)));
        assert!(has("fn", Syntax::Keyword), "{found:?}");
        assert!(has("main", Syntax::Function), "{found:?}");
        assert!(has("\"hi\"", Syntax::String), "{found:?}");
        assert!(has("// note", Syntax::Comment), "{found:?}");
        for lang in ["python", "ts", "toml", "bash", "diff", "json", "yaml", "go", "html", "sql"] {
            assert!(load().find_syntax_by_token(lang).is_some(), "{lang}");
        }
    }

    #[test]
    fn growing_equals_whole() {
        load();
        let code = "/* a\n b */ let s = \"x\ny\";\nfn f() -> u8 { 1 }";
        let mut whole = Highlighter::default();
        let expected = whole.lines("rust", code).to_vec();
        let mut growing = Highlighter::default();
        for end in 0..=code.len() {
            growing.lines("rust", &code[..end]);
        }
        assert_eq!(growing.lines("rust", code), expected);
        assert_eq!(growing.blocks.len(), 1);
    }

    #[test]
    fn long_lines_and_unknown_languages_stay_plain() {
        let long = format!("let x = \"{}\";", "a".repeat(3_000));
        assert_eq!(roles("rust", &long), vec![(long.clone(), Role::Syntax(Syntax::Plain))]);
        assert_eq!(roles("klingon", "fn x"), vec![("fn x".to_owned(), Role::Syntax(Syntax::Plain))]);
    }

    #[test]
    fn memory_is_bounded() {
        load();
        let mut highlighter = Highlighter::default();
        for index in 0..200 {
            highlighter.lines("text", &format!("{index}\n{}", "x\n".repeat(20_000)));
        }
        assert!(highlighter.blocks.iter().map(|block| block.source.len()).sum::<usize>() <= MAX_BYTES + 50_000);
    }
}

//! From text to the shape of a shell line: the grammar of lists, compound commands and redirections.
//!
//! Our own reader, because the spans of every word have to be exact and a word such as `rm$IFS-rf$IFS/` has to be one word.
//! `crosscheck` reads the same text with tree-sitter. What is not understood is a trouble, which makes a question.

use super::ast::*;
use super::source::Origin;
use std::cell::OnceCell;
use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;

/// Nested lists, substitutions and compound commands that are followed.
const MAX_DEPTH: usize = 48;

/// A line as it was read.
#[derive(Debug, Default)]
pub struct Parsed {
    pub script: Script,
    /// What could not be read, with the original bytes.
    pub troubles: Vec<(Span, &'static str)>,
    /// Literal command names in every position.
    pub names: BTreeSet<String>,
}

/// Reads a shell text whose bytes come from `origin`.
pub fn parse(text: &str, origin: Origin) -> Parsed {
    parse_at(text, origin, 0)
}

pub(super) fn parse_at(text: &str, origin: Origin, depth: usize) -> Parsed {
    let mut parser = Parser {
        text,
        bytes: text.as_bytes(),
        pos: 0,
        origin,
        depth,
        pending: Vec::new(),
        troubles: Vec::new(),
        not_arithmetic: HashSet::new(),
        names: BTreeSet::new(),
    };
    let mut script = Vec::new();
    loop {
        script.append(&mut parser.list(&[]));
        if parser.pos >= parser.bytes.len() {
            break;
        }
        // A stray `)`, `}` or `done`: note it and read on, so that what follows is judged too.
        parser.trouble(parser.pos, "this is not valid shell");
        parser.skip_stray();
    }
    parser.read_heredocs();
    Parsed { script, troubles: parser.troubles, names: parser.names }
}

pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    pub(super) bytes: &'a [u8],
    pub(super) pos: usize,
    pub(super) origin: Origin,
    pub(super) depth: usize,
    pending: Vec<Pending>,
    pub(super) troubles: Vec<(Span, &'static str)>,
    /// Places where `((` is known not to open arithmetic; without it, nested ones would be read twice a level.
    pub(super) not_arithmetic: HashSet<usize>,
    pub(super) names: BTreeSet<String>,
}

/// A here-document whose body follows the end of the line.
struct Pending {
    delimiter: String,
    literal: bool,
    strip_tabs: bool,
    body: Rc<OnceCell<Word>>,
}

const CLOSERS: &[&str] = &["then", "else", "elif", "fi", "do", "done", "esac", "}", "in"];

impl Parser<'_> {
    pub(super) fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.pos + ahead).copied().unwrap_or(0)
    }

    pub(super) fn at(&self, text: &str) -> bool {
        self.bytes[self.pos.min(self.bytes.len())..].starts_with(text.as_bytes())
    }

    pub(super) fn done(&self) -> bool {
        self.pos >= self.bytes.len()
    }

    pub(super) fn advance_char(&mut self) {
        self.pos += self.text[self.pos..].chars().next().map_or(1, char::len_utf8);
    }

    pub(super) fn trouble(&mut self, at: usize, what: &'static str) {
        if self.troubles.len() < 8 {
            let at = self.text.floor_char_boundary(at);
            let end = self.text[at..].chars().next().map_or(at, |c| at + c.len_utf8());
            self.troubles.push((self.origin.span(at..end), what));
        }
    }

    pub(super) fn deeper<T: Default>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        if self.depth >= MAX_DEPTH {
            self.trouble(self.pos, "this is nested too deep to be judged");
            self.pos = self.bytes.len();
            return T::default();
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    pub(super) fn skip_blanks(&mut self) {
        loop {
            match self.peek(0) {
                b' ' | b'\t' => self.pos += 1,
                b'\\' if self.peek(1) == b'\n' => self.pos += 2,
                b'#' if self.pos == 0
                    || matches!(self.bytes[self.pos - 1], b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')') =>
                {
                    while !self.done() && self.peek(0) != b'\n' {
                        self.pos += 1;
                    }
                }
                _ => return,
            }
        }
    }

    pub(super) fn skip_lines(&mut self) {
        loop {
            self.skip_blanks();
            if self.peek(0) != b'\n' {
                return;
            }
            self.newline();
        }
    }

    fn newline(&mut self) {
        self.pos += 1;
        if !self.pending.is_empty() {
            self.read_heredocs();
        }
    }

    fn read_heredocs(&mut self) {
        for wanted in std::mem::take(&mut self.pending) {
            let start = self.pos;
            let (mut body_end, mut next) = (self.bytes.len(), self.bytes.len());
            let mut line_start = start;
            let mut found = false;
            while line_start < self.bytes.len() {
                let line_end = self.text[line_start..].find('\n').map_or(self.bytes.len(), |i| line_start + i);
                let line = &self.text[line_start..line_end];
                let line = if wanted.strip_tabs { line.trim_start_matches('\t') } else { line };
                // `)` directly after the delimiter ends a here-document inside a substitution.
                if line == wanted.delimiter {
                    (body_end, next, found) = (line_start, (line_end + 1).min(self.bytes.len()), true);
                    break;
                }
                line_start = line_end + 1;
            }
            if !found {
                self.trouble(start.saturating_sub(1), "this here-document has no end");
            }
            let text = &self.text[start.min(body_end)..body_end];
            let span = self.origin.span(start.min(body_end)..body_end);
            let parts = if wanted.literal {
                vec![Part::Quoted(text.to_owned())]
            } else {
                let mut inner = Parser {
                    text,
                    bytes: text.as_bytes(),
                    pos: 0,
                    origin: self.origin.slice(start.min(body_end)..body_end),
                    depth: self.depth,
                    pending: Vec::new(),
                    troubles: Vec::new(),
                    not_arithmetic: HashSet::new(),
                    names: BTreeSet::new(),
                };
                let parts = inner.heredoc_parts();
                self.troubles.append(&mut inner.troubles);
                self.names.append(&mut inner.names);
                parts
            };
            let _ = wanted.body.set(Word { parts, span });
            self.pos = next;
        }
    }

    /// The bare word at the current place, when it is a reserved word that ends or divides a list.
    fn peek_keyword(&self) -> Option<&'static str> {
        CLOSERS.iter().copied().find(|k| self.at_keyword(k))
    }

    pub(super) fn at_keyword(&self, keyword: &str) -> bool {
        self.at(keyword)
            && matches!(
                self.peek(keyword.len()),
                0 | b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>'
            )
    }

    pub(super) fn keyword(&mut self, keyword: &str) -> bool {
        self.skip_lines();
        let here = self.at_keyword(keyword);
        if here {
            self.pos += keyword.len();
        }
        here
    }

    pub(super) fn require(&mut self, keyword: &str) {
        if !self.keyword(keyword) {
            self.trouble(self.pos.min(self.bytes.len()), "this compound command is not complete");
        }
    }

    /// Passes a word or character that cannot stand here.
    pub(super) fn skip_stray(&mut self) {
        match self.peek_keyword() {
            Some(keyword) => self.pos += keyword.len(),
            None => self.advance_char(),
        }
    }

    /// Steps of a substitution.
    pub(super) fn inner_list(&mut self) -> Script {
        self.list(&[])
    }

    /// Steps until a closer, `)`, `;;` or the end.
    pub(super) fn list(&mut self, stop: &[&str]) -> Script {
        let mut steps = Vec::new();
        loop {
            self.skip_lines();
            if self.done() || self.peek(0) == b')' || self.at(";;") || self.at(";&") {
                return steps;
            }
            if stop.iter().any(|k| self.at_keyword(k)) || self.peek_keyword().is_some_and(|k| k != "in") {
                return steps;
            }
            let before = self.pos;
            let node = self.pipeline();
            self.skip_blanks();
            let mut background = false;
            if self.at("&&") || self.at("||") {
                self.pos += 2;
                self.skip_lines();
            } else if self.at(";;") || self.at(";&") {
            } else if self.peek(0) == b';' {
                self.pos += 1;
            } else if self.peek(0) == b'&' {
                self.pos += 1;
                background = true;
            } else if self.peek(0) == b'\n' {
                self.newline();
            }
            if let Some(node) = node {
                steps.push(Step { node, background });
            }
            if self.pos == before {
                return steps;
            }
        }
    }

    fn pipeline(&mut self) -> Option<Node> {
        let mut stages = Vec::new();
        loop {
            self.skip_blanks();
            // `!`, `time` and `coproc` stand before any command, compound ones too.
            loop {
                if self.at_keyword("!") {
                    self.pos += 1;
                } else if (self.at_keyword("time") && self.timed()) || self.at_keyword("coproc") {
                    while !matches!(self.peek(0), b' ' | b'\t' | b'\n' | 0) {
                        self.pos += 1;
                    }
                    self.skip_blanks();
                    if self.at_keyword("-p") {
                        self.pos += 2;
                    }
                } else {
                    break;
                }
                self.skip_blanks();
            }
            if let Some(node) = self.deeper(Self::command) {
                stages.push(node);
            }
            self.skip_blanks();
            if self.peek(0) == b'|' && self.peek(1) != b'|' {
                self.pos += if self.peek(1) == b'&' { 2 } else { 1 };
                self.skip_lines();
            } else {
                break;
            }
        }
        match stages.len() {
            0 => None,
            1 => stages.pop(),
            _ => Some(Node::Pipe(stages)),
        }
    }

    /// Whether `time` is the keyword here: `/usr/bin/time` has options of its own.
    fn timed(&self) -> bool {
        let rest = self.text[self.pos + 4..].trim_start_matches([' ', '\t']);
        !rest.starts_with('-') || rest.starts_with("-p ")
    }

    pub(super) fn command(&mut self) -> Option<Node> {
        let node = if self.at("((") {
            match self.arithmetic_command() {
                Some(node) => node,
                None => self.subshell(),
            }
        } else if self.peek(0) == b'(' {
            self.subshell()
        } else if self.at_keyword("{") {
            self.pos += 1;
            let body = self.list(&["}"]);
            self.require("}");
            Node::Group(body)
        } else if self.at_keyword("if") {
            self.if_command()
        } else if self.at_keyword("while") || self.at_keyword("until") {
            self.pos += 5;
            let mut body = self.list(&["do"]);
            self.require("do");
            body.append(&mut self.list(&["done"]));
            self.require("done");
            Node::Loop { name: None, values: None, body }
        } else if self.at_keyword("for") || self.at_keyword("select") || self.at("for((") {
            self.for_command()
        } else if self.at_keyword("case") {
            self.case_command()
        } else if self.at_keyword("[[") {
            self.test_command()
        } else if self.at_keyword("function") {
            let start = self.pos;
            self.pos += 8;
            self.skip_blanks();
            let name = self.word().and_then(|w| w.literal()).unwrap_or_default();
            self.skip_blanks();
            if self.peek(0) == b'(' {
                self.pos += 1;
                self.skip_blanks();
                if self.peek(0) == b')' {
                    self.pos += 1;
                }
            }
            return self.function(name, start);
        } else {
            return self.simple();
        };
        let redirects = self.redirects();
        Some(if redirects.is_empty() { node } else { Node::Redirected(Box::new(node), redirects) })
    }

    fn simple(&mut self) -> Option<Node> {
        let start = self.pos;
        let mut command = Command::default();
        let mut end = start;
        loop {
            self.skip_blanks();
            let before = self.pos;
            if let Some(redirect) = self.redirect() {
                command.redirects.push(redirect);
            } else if let Some(assign) = (command.words.is_empty()).then(|| self.assign()).flatten() {
                command.assigns.push(assign);
            } else if let Some(word) = self.word() {
                let first = command.words.is_empty();
                command.words.push(word);
                let touching = self.pos;
                self.skip_blanks();
                if self.peek(0) == b'(' && !first && touching == self.pos && self.bytes[self.pos - 1] == b'=' {
                    // `declare -a list=(…)`
                    self.pos += 1;
                    self.skip_lines();
                    while let Some(word) = self.word() {
                        command.words.push(word);
                        self.skip_lines();
                    }
                    self.pos += usize::from(self.peek(0) == b')' && !self.done());
                } else if self.peek(0) == b'(' {
                    if first && command.assigns.is_empty() {
                        let open = self.pos;
                        self.pos += 1;
                        self.skip_blanks();
                        if self.peek(0) == b')' {
                            self.pos += 1;
                            let name = command.words[0].literal().unwrap_or_default();
                            return self.function(name, start);
                        }
                        self.pos = open;
                    }
                    self.trouble(self.pos, "this is not valid shell");
                    self.pos += 1;
                }
            }
            if self.pos == before {
                break;
            }
            end = self.pos;
        }
        if end == start {
            return None;
        }
        command.span = self.origin.span(start..end.min(self.bytes.len()));
        self.names.extend(command.words.first().and_then(Word::literal));
        Some(Node::Command(Box::new(command)))
    }

    fn redirects(&mut self) -> Vec<Redirect> {
        let mut all = Vec::new();
        loop {
            self.skip_blanks();
            match self.redirect() {
                Some(redirect) => all.push(redirect),
                None => return all,
            }
        }
    }

    fn redirect(&mut self) -> Option<Redirect> {
        let start = self.pos;
        while self.peek(0).is_ascii_digit() {
            self.pos += 1;
        }
        if self.peek(0) == b'{' {
            let name =
                self.bytes[self.pos + 1..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
            if name > 0 && self.peek(name + 1) == b'}' && matches!(self.peek(name + 2), b'<' | b'>') {
                self.pos += name + 2;
            }
        }
        let ops = ["&>>", "&>", "<<<", "<<-", "<<", "<>", "<&", "<", ">>", ">|", ">&", ">"];
        let process = (self.at("<(") || self.at(">(")) && self.pos == start;
        let Some(op) = ops.iter().find(|op| !process && self.at(op)) else {
            self.pos = start;
            return None;
        };
        self.pos += op.len();
        self.skip_blanks();
        if op.starts_with("<<") && *op != "<<<" {
            let word = self.word().unwrap_or_default();
            let delimiter = word.literal().unwrap_or_default();
            let body = Rc::new(OnceCell::new());
            self.pending.push(Pending {
                delimiter,
                literal: word.bare().is_none(),
                strip_tabs: *op == "<<-",
                body: body.clone(),
            });
            let span = self.origin.span(start..self.pos);
            return Some(Redirect { op: "<<".into(), target: Word::default(), body: Some(body), span });
        }
        let Some(target) = self.word() else {
            self.trouble(start, "this redirection has no target");
            return Some(Redirect {
                op: (*op).into(),
                target: Word::default(),
                body: None,
                span: self.origin.span(start..self.pos),
            });
        };
        Some(Redirect { op: (*op).into(), target, body: None, span: self.origin.span(start..self.pos) })
    }
}

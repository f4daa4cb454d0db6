//! From text to the shape of a shell line: the grammar of lists and commands.
//!
//! Our own reader, because the spans of every word have to be exact and a word such as `rm$IFS-rf$IFS/` has to be one word.
//! `crosscheck` reads the same text with tree-sitter. What is not understood is a trouble, which makes a question.

use super::ast::*;
use super::redirect::Pending;
use super::source::Origin;
use std::collections::{BTreeSet, HashSet};

/// A line as it was read.
#[derive(Debug, Default)]
pub struct Parsed {
    pub script: Script,
    /// What could not be read, with the original bytes.
    pub troubles: Vec<(Span, &'static str)>,
    /// Literal command names in every position.
    pub names: BTreeSet<String>,
    /// Simple commands outside of substitutions in backticks and here-documents.
    pub commands: usize,
    /// Bodies of here-documents, in bytes of the text.
    pub bodies: Vec<std::ops::Range<usize>>,
}

/// Reads a shell text whose bytes come from `origin`.
pub fn parse(text: &str, origin: Origin) -> Parsed {
    parse_at(text, origin, 0)
}

pub(in crate::policy::shell) fn parse_at(text: &str, origin: Origin, depth: usize) -> Parsed {
    parse_again(text, origin, depth, &mut 0)
}

/// Reads a part of a text that was read before: `again` counts the bytes.
pub(super) fn parse_again(text: &str, origin: Origin, depth: usize, again: &mut usize) -> Parsed {
    let mut parser = Parser::new(text, origin, depth);
    parser.again = *again;
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
    *again = parser.again;
    Parsed { script, troubles: parser.troubles, names: parser.names, commands: parser.commands, bodies: parser.bodies }
}

/// Reads a text as between double quotes: what the shell expands in a subscript, a prompt, or a here-document.
pub(in crate::policy::shell) fn parse_quoted(text: &str, origin: Origin, depth: usize) -> Word {
    let span = origin.span(0..text.len());
    let mut parser = Parser::new(text, origin, depth);
    Word { parts: parser.heredoc_parts(), span }
}

pub(super) struct Parser<'a> {
    pub(in crate::policy::shell) text: &'a str,
    pub(in crate::policy::shell) bytes: &'a [u8],
    pub(super) pos: usize,
    pub(in crate::policy::shell) origin: Origin,
    pub(in crate::policy::shell) depth: usize,
    pub(super) pending: Vec<Pending>,
    pub(in crate::policy::shell) troubles: Vec<(Span, &'static str)>,
    /// Places where `((` is known not to open arithmetic; without it, nested ones would be read twice a level.
    pub(super) not_arithmetic: HashSet<usize>,
    pub(in crate::policy::shell) names: BTreeSet<String>,
    pub(in crate::policy::shell) commands: usize,
    /// Bytes that were read more than once, as another thing than before or within a body.
    pub(in crate::policy::shell) again: usize,
    /// Bodies of here-documents, in bytes of this text.
    pub(in crate::policy::shell) bodies: Vec<std::ops::Range<usize>>,
}

impl<'a> Parser<'a> {
    pub(in crate::policy::shell) fn new(text: &'a str, origin: Origin, depth: usize) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            pos: 0,
            origin,
            depth,
            pending: Vec::new(),
            troubles: Vec::new(),
            not_arithmetic: HashSet::new(),
            names: BTreeSet::new(),
            commands: 0,
            again: 0,
            bodies: Vec::new(),
        }
    }

    /// Steps of a substitution.
    pub(super) fn inner_list(&mut self) -> Script {
        self.list(&[])
    }

    /// Steps until a closer, `)`, `;;` or the end.
    pub(in crate::policy::shell) fn list(&mut self, stop: &[&str]) -> Script {
        let mut steps = Vec::new();
        let mut after = After::Any;
        loop {
            self.skip_lines();
            if self.done() || self.peek(0) == b')' || self.at(";;") || self.at(";&") {
                if after != After::Any {
                    self.trouble(self.pos.min(self.bytes.len()), "a command is missing here");
                }
                return steps;
            }
            if stop.iter().any(|k| self.at_keyword(k)) || self.peek_keyword().is_some_and(|k| k != "in") {
                return steps;
            }
            let before = self.pos;
            let node = self.pipeline();
            self.skip_blanks();
            let mut background = false;
            let mut next = After::Any;
            if self.at("&&") || self.at("||") {
                if node.is_none() {
                    self.trouble(self.pos, "a command is missing here");
                }
                next = if self.at("&&") { After::Success } else { After::Failure };
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
                steps.push(Step { node, background, after });
            }
            after = next;
            if self.pos == before {
                return steps;
            }
        }
    }

    fn pipeline(&mut self) -> Option<Node> {
        let mut stages = Vec::new();
        let mut piped = false;
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
                    self.skip_name_of_coproc();
                } else {
                    break;
                }
                self.skip_blanks();
            }
            match self.deeper(Self::command) {
                Some(node) => stages.push(node),
                None if piped => self.trouble(self.pos.min(self.bytes.len()), "this pipe has no command"),
                None => {}
            }
            self.skip_blanks();
            if self.peek(0) == b'|' && self.peek(1) != b'|' {
                if stages.is_empty() {
                    self.trouble(self.pos, "this pipe has no command");
                }
                piped = true;
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

    /// `coproc NAME { …; }`: the name is no command.
    fn skip_name_of_coproc(&mut self) {
        let len = self.name_len(0);
        let rest = &self.text[self.pos + len..];
        let next = rest.trim_start_matches([' ', '\t']);
        let compound =
            ["{", "(", "if", "while", "until", "for", "case", "[[", "select"].iter().any(|k| next.starts_with(k));
        if len > 0 && next.len() < rest.len() && compound && self.text[..self.pos].trim_end().ends_with("coproc") {
            self.pos += len;
        }
    }

    /// Whether `time` is the keyword here: `/usr/bin/time` has options of its own.
    fn timed(&self) -> bool {
        let rest = self.text[self.pos + 4..].trim_start_matches([' ', '\t']);
        !rest.starts_with('-') || rest.starts_with("-p ")
    }

    pub(in crate::policy::shell) fn command(&mut self) -> Option<Node> {
        let node = if self.at("((") {
            match self.arithmetic_command() {
                Some(node) => node,
                None if self.done() => return None,
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
        self.commands += 1;
        self.names.extend(command.words.first().and_then(Word::literal));
        Some(Node::Command(Box::new(command)))
    }
}

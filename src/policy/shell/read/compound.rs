//! Reads compound commands: functions, subshells, `if`, `for`, `while`, `case`, `[[ … ]]`, `(( … ))`.

use super::ast::*;
use super::parse::Parser;
use std::rc::Rc;

impl Parser<'_> {
    pub(in crate::policy::shell) fn function(&mut self, name: String, start: usize) -> Option<Node> {
        let span = self.origin.span(start..self.pos);
        self.skip_lines();
        let body = Rc::new(self.deeper(Self::command)?);
        Some(Node::Function { name, body, span })
    }

    pub(in crate::policy::shell) fn subshell(&mut self) -> Node {
        self.pos += 1;
        let body = self.list(&[]);
        self.skip_lines();
        if self.peek(0) == b')' {
            self.pos += 1;
        } else {
            self.trouble(self.pos.min(self.bytes.len()), "this parenthesis is not closed");
        }
        Node::Subshell(body)
    }

    pub(super) fn if_command(&mut self) -> Node {
        self.pos += 2;
        let mut always = self.list(&["then"]);
        self.require("then");
        let mut arms = vec![self.list(&["elif", "else", "fi"])];
        loop {
            if self.keyword("elif") {
                always.append(&mut self.list(&["then"]));
                self.require("then");
                arms.push(self.list(&["elif", "else", "fi"]));
            } else if self.keyword("else") {
                arms.push(self.list(&["fi"]));
            } else {
                self.require("fi");
                return Node::Branch { always, arms };
            }
        }
    }

    pub(super) fn for_command(&mut self) -> Node {
        self.pos += if self.at("select") { 6 } else { 3 };
        self.skip_blanks();
        let (mut name, mut values) = (None, None);
        let mut words = Vec::new();
        if self.at("((") {
            match self.arithmetic_command() {
                Some(Node::Words(found)) => words = found,
                _ => self.trouble(self.pos, "this loop is not understood"),
            }
        } else {
            name = self.word().and_then(|w| w.literal());
            if self.keyword("in") {
                let mut found = Vec::new();
                self.skip_blanks();
                while let Some(word) = self.word() {
                    found.push(word);
                    self.skip_blanks();
                }
                values = Some(found);
            }
        }
        self.skip_blanks();
        if self.peek(0) == b';' {
            self.pos += 1;
        }
        let mut body = Vec::new();
        if !words.is_empty() {
            body.push(Step { node: Node::Words(words), background: false, after: After::Any });
        }
        let braces = self.keyword("{");
        if !braces {
            self.require("do");
        }
        body.append(&mut self.list(&["done", "}"]));
        self.require(if braces { "}" } else { "done" });
        Node::Loop { name, values, body }
    }

    pub(super) fn case_command(&mut self) -> Node {
        self.pos += 4;
        self.skip_blanks();
        let mut words: Vec<Word> = self.word().into_iter().collect();
        self.require("in");
        let mut arms = Vec::new();
        loop {
            self.skip_lines();
            if self.done() || self.at_keyword("esac") {
                break;
            }
            if self.peek(0) == b'(' {
                self.pos += 1;
            }
            let before = self.pos;
            loop {
                self.skip_lines();
                words.extend(self.word());
                self.skip_blanks();
                if self.peek(0) != b'|' {
                    break;
                }
                self.pos += 1;
            }
            if self.peek(0) != b')' || self.pos == before {
                self.trouble(self.pos.min(self.bytes.len()), "this case is not understood");
                break;
            }
            self.pos += 1;
            arms.push(self.list(&["esac"]));
            for end in [";;&", ";;", ";&"] {
                if self.at(end) {
                    self.pos += end.len();
                    break;
                }
            }
        }
        self.require("esac");
        Node::Branch { always: vec![Step { node: Node::Words(words), background: false, after: After::Any }], arms }
    }

    pub(super) fn test_command(&mut self) -> Node {
        self.pos += 2;
        let mut words = Vec::new();
        loop {
            self.skip_lines();
            if self.done() {
                self.trouble(self.bytes.len(), "this test is not complete");
                break;
            }
            if self.at("]]") {
                self.pos += 2;
                break;
            }
            match self.word() {
                Some(word) => words.push(word),
                None => self.advance_char(),
            }
        }
        Node::Words(words)
    }

    pub(super) fn arithmetic_command(&mut self) -> Option<Node> {
        let start = self.pos;
        if self.not_arithmetic.contains(&start) {
            return None;
        }
        self.pos += 2;
        match self.arithmetic("))") {
            Some(words) => {
                let span = self.origin.span(start..self.pos);
                Some(Node::Words(vec![Word { parts: vec![Part::Number(words)], span }]))
            }
            None => {
                self.not_arithmetic.insert(start);
                if self.reads_again(self.pos - start) {
                    self.pos = start;
                }
                None
            }
        }
    }
}

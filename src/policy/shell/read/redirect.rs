//! Redirections, and the here-documents that follow the end of their line.

use super::ast::*;
use super::parse::Parser;
use std::cell::OnceCell;
use std::rc::Rc;

/// A here-document whose body follows the end of the line.
pub(super) struct Pending {
    delimiter: String,
    literal: bool,
    strip_tabs: bool,
    body: Rc<OnceCell<Word>>,
}

impl Parser<'_> {
    pub(super) fn read_heredocs(&mut self) {
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
                let origin = self.origin.slice(start.min(body_end)..body_end);
                let mut inner = Parser::new(text, origin, self.depth);
                inner.again = self.again + text.len();
                let parts = if inner.reads_again(0) { inner.heredoc_parts() } else { Vec::new() };
                self.again = inner.again;
                self.troubles.append(&mut inner.troubles);
                self.names.extend(inner.names);
                parts
            };
            self.bodies.push(start.min(body_end)..body_end);
            let _ = wanted.body.set(Word { parts, span });
            self.pos = next;
        }
    }

    pub(in crate::policy::shell) fn redirects(&mut self) -> Vec<Redirect> {
        let mut all = Vec::new();
        loop {
            self.skip_blanks();
            match self.redirect() {
                Some(redirect) => all.push(redirect),
                None => return all,
            }
        }
    }

    pub(in crate::policy::shell) fn redirect(&mut self) -> Option<Redirect> {
        let start = self.pos;
        while self.peek(0).is_ascii_digit() {
            self.pos += 1;
        }
        let mut fd = self.text[start..self.pos].to_owned();
        if self.peek(0) == b'{' {
            let name =
                self.bytes[self.pos + 1..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
            if name > 0 && self.peek(name + 1) == b'}' && matches!(self.peek(name + 2), b'<' | b'>') {
                fd = self.text[self.pos..self.pos + 1 + name].to_owned();
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
            return Some(Redirect { fd, op: "<<".into(), target: Word::default(), body: Some(body), span });
        }
        let Some(target) = self.word() else {
            self.trouble(start, "this redirection has no target");
            return Some(Redirect {
                fd,
                op: (*op).into(),
                target: Word::default(),
                body: None,
                span: self.origin.span(start..self.pos),
            });
        };
        Some(Redirect { fd, op: (*op).into(), target, body: None, span: self.origin.span(start..self.pos) })
    }
}

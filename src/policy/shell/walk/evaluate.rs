//! Texts that the shell expands although they stand in quotes: arithmetic, whose names stand for text that is arithmetic again,
//! subscripts, prompts; and the words of tests.

use super::Walker;
use crate::policy::shell::read::ast::{Span, Word};
use crate::policy::shell::read::parse::parse_quoted;
use crate::policy::shell::read::source::Origin;

/// Names in one text of arithmetic that are followed, and how far.
const MAX_NAMES: usize = 16;
const MAX_ROUNDS: usize = 4;

/// Whether a text holds a command that an expansion would run.
fn runs(text: &str) -> bool {
    text.contains("$(") || text.contains('`') || text.contains("${")
}

impl Walker<'_> {
    /// Judges the commands in a text that is expanded as between double quotes.
    pub(super) fn evaluate(&mut self, text: &str, span: &Span) {
        if !runs(text) || !self.spend(1 + text.len() / 512, span) {
            return;
        }
        self.deeper(span, |w| {
            let word = parse_quoted(text, Origin::nested(w.original, span, text), w.depth);
            let _ = w.expand_text(&word);
        });
    }

    /// A name that may have a subscript: `a[$(command)]`.
    pub(in crate::policy::shell) fn subscript(&mut self, name: &str, span: &Span) {
        if name.contains('[') {
            self.evaluate(name, span);
        }
    }

    /// A text that is computed.
    pub(in crate::policy::shell) fn arithmetic(&mut self, text: &str, span: &Span, round: usize) {
        self.evaluate(text, span);
        if round >= MAX_ROUNDS || self.state.vars.is_empty() {
            return;
        }
        let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let names = text.split(|c| !letter(c)).filter(|n| n.starts_with(|c: char| !c.is_ascii_digit())).take(MAX_NAMES);
        for name in names.map(str::to_owned).collect::<Vec<_>>() {
            for value in self.state.vars.get(&name).cloned().unwrap_or_default() {
                if value != name && value.contains(|c: char| c == '`' || c == '$' || c.is_ascii_alphabetic()) {
                    self.arithmetic(&value, span, round + 1);
                }
            }
        }
    }

    /// The words of `[[ … ]]`, `case` and `((…))`.
    pub(super) fn tested(&mut self, words: &[Word]) {
        let compares = |text: &str| matches!(text, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge");
        let fields: Vec<_> = words.iter().map(|word| self.expand_text(word)).collect();
        for (i, field) in fields.iter().enumerate() {
            if compares(&field.text) && i > 0 {
                for side in [fields.get(i - 1), fields.get(i + 1)].into_iter().flatten() {
                    self.arithmetic(&side.text, &side.span, 0);
                }
            } else if let ("-v", Some(name)) = (field.text.as_str(), fields.get(i + 1)) {
                self.subscript(&name.text, &name.span);
            }
        }
    }
}

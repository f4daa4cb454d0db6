//! What a walk finds: effects with their sentences, and the commands that would run.

use crate::policy::shell::read::ast::Span;
use crate::policy::shell::walk::Walker;
use crate::policy::table::{Level, Role};

/// Something that the line would do.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    pub effect: String,
    pub text: String,
    pub span: Span,
    pub level: Level,
    /// No rule for the command covers it.
    pub fixed: bool,
    /// The command that does it, an index into [`Walker::invocations`].
    pub by: Option<usize>,
}

/// A command as it would run.
#[derive(Clone, Debug)]
pub struct Invocation {
    pub words: Vec<String>,
    /// Without the options between a command and its subcommand.
    pub plain: Vec<String>,
    pub span: Span,
    /// Where it would run, as far as that is known.
    pub cwd: String,
    /// The command that runs this one with its own last words, and where they start.
    pub within: Option<(usize, usize)>,
    /// Adds nothing to what the command inside does.
    pub quiet: bool,
    /// The words of a program that is not known, which may run them.
    pub perhaps: bool,
}

/// A path that a command names, and what it does to it.
#[derive(Clone, Debug)]
pub struct Touched {
    /// Absolute; several where the folder is not certain.
    pub paths: Vec<String>,
    pub how: Touch,
    pub role: Role,
    /// As the command gets it, with globs and [`crate::policy::shell::UNKNOWN`] still in it.
    pub text: String,
    /// Names have to be compared with what is there.
    pub glob: bool,
    /// Where it is looked for, as far as that is known.
    pub cwd: String,
    pub span: Span,
    /// The command, an index into [`Walker::invocations`].
    pub by: Option<usize>,
}

/// A text that an interpreter gets.
#[derive(Clone, Debug, PartialEq)]
pub struct Payload {
    pub text: String,
    /// Where it comes from.
    pub span: Span,
    /// Went through a decoder.
    pub decoded: bool,
}

/// Payloads of one line that are kept.
const MAX_PAYLOADS: usize = 8;

/// What a command does to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    Read,
    Write,
    Delete,
}

impl Walker<'_> {
    /// Keeps a text that reaches an interpreter for the modal.
    pub(in crate::policy::shell) fn reaches(&mut self, text: &str, span: &Span, decoded: bool) {
        let known = |p: &Payload| p.text == text && p.span == *span;
        if self.payloads.len() < MAX_PAYLOADS && !self.payloads.iter().any(known) {
            self.payloads.push(Payload { text: text.to_owned(), span: span.clone(), decoded });
        }
    }

    /// Notes an effect with the sentence of the table.
    pub(in crate::policy::shell) fn find(&mut self, effect: &str, span: Span) {
        let text = self.table.effect(effect).say;
        self.find_as(effect, text, span);
    }

    /// Notes an effect with the sentence of the table and a level of its own.
    pub(in crate::policy::shell) fn find_at(&mut self, effect: &str, level: Level, span: Span) {
        let known = self.table.effect(effect);
        let (effect, text, fixed) = (effect.to_owned(), known.say, known.fixed);
        self.note(Finding { effect, text, span, level, fixed, by: self.current });
    }

    /// Notes an effect with a sentence of its own.
    pub(in crate::policy::shell) fn find_as(&mut self, effect: &str, text: String, span: Span) {
        let known = self.table.effect(effect);
        self.note(Finding {
            effect: effect.into(),
            text,
            span,
            level: known.level,
            fixed: known.fixed,
            by: self.current,
        });
    }

    pub(in crate::policy::shell) fn note(&mut self, finding: Finding) {
        let same = |f: &Finding| f.effect == finding.effect && f.span == finding.span && f.by == finding.by;
        // Past a few hundred reasons only worse ones are of use.
        if self.findings.iter().rev().take(64).any(same) {
            return;
        }
        if self.findings.len() < 256 || self.findings.iter().all(|f| f.level < finding.level) {
            self.findings.push(finding);
        }
    }

    /// Notes that a bound was reached.
    pub(in crate::policy::shell) fn limit(&mut self, span: &Span) {
        self.find("command parser limit or malformed executable payload", span.clone());
    }
}

//! Variables that a line sets: which of them make other programs run something, and which of them hold secrets.

use crate::policy::shell::read::ast::{Operation, Span};
use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::resolve::UNKNOWN;
use crate::policy::table::{Level, VariableSpec};
use crate::policy::variable::{self, Place, is_plain};
use std::path::Path;

/// Whether a name says that its value is a secret: a part of it does.
fn names_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    if name.starts_with("PUBLIC_") || name.contains("_PUBLIC_") {
        return false;
    }
    let mut parts = name.split('_').peekable();
    let mut last = "";
    while let Some(part) = parts.next() {
        let secret = matches!(
            part,
            "TOKEN"
                | "SECRET"
                | "SECRETS"
                | "PASSWORD"
                | "PASSWD"
                | "PASSPHRASE"
                | "PASS"
                | "PAT"
                | "CREDENTIALS"
                | "APIKEY"
                | "PGPASSWORD"
        ) || part.len() > 8 && ["TOKEN", "SECRET", "PASSWORD"].iter().any(|end| part.ends_with(end));
        // `API_KEY`, `PRIVATE_KEY`, but neither `KEY` nor `SORT_KEY`.
        let key = matches!(part, "KEY" | "KEYS")
            && matches!(
                last,
                "API"
                    | "ACCESS"
                    | "PRIVATE"
                    | "SECRET"
                    | "SIGNING"
                    | "ENCRYPTION"
                    | "MASTER"
                    | "DEPLOY"
                    | "SERVICE"
                    | "ACCOUNT"
                    | "SSH"
                    | "AUTH"
            );
        // A path, a name or a size of one is none.
        let about = matches!(
            parts.peek().copied(),
            Some(
                "PATH"
                    | "FILE"
                    | "DIR"
                    | "NAME"
                    | "ID"
                    | "URL"
                    | "COUNT"
                    | "LIMIT"
                    | "LENGTH"
                    | "TTL"
                    | "TYPE"
                    | "ENV"
                    | "VAR"
            )
        );
        if (secret || key) && !about {
            return true;
        }
        last = part;
    }
    false
}

impl Walker<'_> {
    /// `export NAME`, `export NAME=value`: programs see it from here on.
    pub(in crate::policy::shell) fn exports(&mut self, word: &str, span: &Span) {
        match word.split_once('=') {
            Some((name, value)) => self.check_variable(name, value, span),
            None => {
                for value in self.state.vars.get(word).cloned().unwrap_or_default() {
                    self.check_variable(word, &value, span);
                }
            }
        }
    }

    /// A variable is set for a program.
    pub(in crate::policy::shell) fn check_variable(&mut self, name: &str, value: &str, span: &Span) {
        self.check_assignment(name, value, true, span);
    }

    /// A variable is set; other programs see it when it is `exported`, or was already.
    pub(in crate::policy::shell) fn check_assignment(&mut self, name: &str, value: &str, exported: bool, span: &Span) {
        let name = name.trim_end_matches('+');
        let Some((spec, exact)) = self.table.variable(name) else { return };
        // A name that only looks like one of those is of this shell alone until it is exported.
        if !exact && (!exported || is_plain(value)) {
            return;
        }
        // A value that grows with each step is compared again at each.
        if !self.spend(4 + value.len() / 64, span) || self.is_harmless(spec, value) {
            return;
        }
        if matches!(name, "HERMES_HOME" | "HERMES_PROFILE" | "HERMES_YOLO_MODE" | "HERMES_EXEC_ASK") {
            self.find_as("edit of the approval policy", format!("{name} decides what asks"), span.clone());
        }
        let say = if name == "PATH" {
            "makes command names run other programs".to_owned()
        } else {
            format!("{name} makes other programs run or trust something")
        };
        self.find_as("environment that runs programs", say, span.clone());
        self.runs_text(value, span);
    }

    fn is_harmless(&mut self, spec: &VariableSpec, value: &str) -> bool {
        let shown = value.replace(UNKNOWN, "$");
        let place =
            Place { home: &self.home, absolute: &|part| self.absolute(part), inside: &|part| self.is_inside(part) };
        variable::is_harmless(spec, &shown, &place) || spec.line && self.is_harmless_line(value, &(0..0))
    }

    /// Whether a path of a value stays in the working folder.
    fn is_inside(&self, part: &str) -> bool {
        let below = |path: &String| self.border.has_below_root(Path::new(path));
        !part.contains(['$', ' ', '=']) && self.absolute(part).iter().all(below)
    }

    /// Whether a line of shell starts with a program that the table knows and does nothing that is asked about.
    fn is_harmless_line(&mut self, line: &str, span: &Span) -> bool {
        let first = line.split_whitespace().next().unwrap_or("");
        if first.contains('/')
            || self.table.command(&crate::policy::shell::walk::invoke::program(first)).is_none()
            || !self.spend(4, span)
        {
            return false;
        }
        self.try_out(|w| {
            w.text(line, span, None);
        }) == Level::Allow
    }

    /// Whether a variable of a word is a secret of the environment: one that this line did not set.
    pub(in crate::policy::shell) fn is_secret(&self, name: &str, operation: &Operation) -> bool {
        let shows = match operation {
            Operation::Plain | Operation::Default(..) | Operation::Indirect => true,
            // `${#NAME}` and the first letters of it tell little.
            Operation::Compute(_) | Operation::Alternative(_) | Operation::Error(_) | Operation::Other => false,
        };
        // `${!NAME}` is the variable that NAME names.
        if matches!(operation, Operation::Indirect) && !name.ends_with(['@', '*']) {
            let unset = |value: &String| !self.state.vars.contains_key(value);
            return self.value_of(name).iter().any(|v| v.contains(UNKNOWN) || names_secret(v) && unset(v));
        }
        shows && names_secret(name) && !self.state.vars.contains_key(name)
    }
}

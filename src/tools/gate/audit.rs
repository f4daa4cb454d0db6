//! What the gate writes into the audit log: each call that changes something or was asked about, how it ended, and rules that
//! a person made. Nothing here waits: secrets are masked and rows are saved on the store's thread.

use super::assessment::Assessment;
use super::request::Request;
use super::{Gate, folder};
use crate::policy::redact::RedactKind;
use crate::policy::rule::{Exact, said};
use crate::policy::{Grant, Intent, Scope, Verdict};
use crate::protocol::{Outcome, ToolCall};
use crate::store::audit::{AuditBy, Kind, Record, bounded};
use crate::tools::spec::ToolCtx;

/// Paths of one call that are named.
const PATHS: usize = 20;
/// Stands before a path that goes.
pub(super) const REMOVES: &str = "removes ";

impl Gate {
    /// A call was judged, and maybe answered; whether the log has it. Plain reads and the agent's own state are left out.
    pub(super) fn log_resolved(
        &self,
        request: &Request<'_>,
        assessment: Option<&Assessment>,
        by: AuditBy,
        ended: Option<(Outcome, &str)>,
    ) -> bool {
        let Some(store) = &self.log else { return false };
        let Request { call, tool, ref intent, ctx, .. } = *request;
        let outcome = ended.map(|(outcome, _)| outcome);
        let quiet = matches!(intent, Intent::Read(_) | Intent::Talk);
        let passes = |judged: &Assessment| matches!(judged.verdict, Verdict::Allow(_)) && !judged.unasked;
        let plain = assessment.is_some_and(passes);
        if quiet && plain && outcome.is_none() {
            return false;
        }
        let mut record = self.row(Kind::Call, call, tool, ctx);
        let (what, kind) = told(intent);
        record.what = what;
        record.cwd = match intent {
            Intent::Command { cwd, .. } | Intent::Code { cwd, .. } => cwd.display().to_string(),
            _ => folder(ctx).display().to_string(),
        };
        record.backend = match ctx.backends.current() {
            None => String::new(),
            Some(there) => there.label().to_owned(),
        };
        if let Some(judged) = assessment {
            record.verdict = if judged.unasked { "ask" } else { judged.verdict.name() }.into();
            record.reasons = judged.effects();
        }
        record.by = by;
        record.why = ended.map(|(_, why)| why.to_owned()).unwrap_or_default();
        record.outcome = outcome.map(Outcome::word).unwrap_or_default().into();
        let masks = self.dispatch().masks_for(ctx);
        store.audit(move || {
            let mask = |text: &str| bounded(&masks.apply(text, kind));
            record.what = mask(&record.what);
            record.why = mask(&record.why);
            if let AuditBy::Person(said) = &mut record.by {
                *said = mask(said);
            }
            record
        });
        true
    }

    /// A hook kept a call from being planned: all that is known of it is its name and its target.
    pub(super) fn log_blocked_by_hook(&self, call: &ToolCall, tool: &str, target: &str, why: &str, ctx: &ToolCtx) {
        let Some(store) = &self.log else { return };
        let mut record = self.row(Kind::Call, call, tool, ctx);
        (record.what, record.why, record.by) = (target.to_owned(), why.to_owned(), AuditBy::Hook);
        record.cwd = folder(ctx).display().to_string();
        record.outcome = Outcome::Denied.word().into();
        let masks = self.dispatch().masks_for(ctx);
        store.audit(move || {
            let mask = |text: &str| bounded(&masks.apply(text, RedactKind::Code));
            (record.what, record.why) = (mask(&record.what), mask(&record.why));
            record
        });
    }

    /// A row for the end of a call, to be filled in when it has ended.
    pub(super) fn end_row(&self, call: &ToolCall, tool: &str, ctx: &ToolCtx) -> Record {
        self.row(Kind::End, call, tool, ctx)
    }

    /// A call that the log has is over.
    pub(super) fn log_end(&self, row: Option<Record>, outcome: Outcome, ms: u64) {
        if let (Some(store), Some(row)) = (&self.log, row) {
            let record = Record { at: self.asker.now(), outcome: outcome.word().into(), ms, ..row };
            store.audit(move || record);
        }
    }

    /// A person made a rule.
    pub(super) fn log_rule(&self, grant: &Grant, ctx: &ToolCtx) {
        let Some(store) = &self.log else { return };
        let scope = match grant.scope {
            Scope::Session => "session",
            Scope::Project => "project",
            Scope::Global => "always",
        };
        let record = Record {
            at: self.asker.now(),
            session: ctx.task.to_string(),
            kind: Kind::Rule,
            cwd: folder(ctx).display().to_string(),
            by: AuditBy::Person("answered a question".into()),
            entries: grant.entries.iter().map(|entry| lasting(grant.scope, entry)).collect(),
            scope: scope.into(),
            ..Record::default()
        };
        let masks = self.dispatch().masks_for(ctx);
        store.audit(move || Record {
            entries: record.entries.iter().map(|entry| bounded(&masks.apply(entry, RedactKind::Code))).collect(),
            ..record
        });
    }

    fn row(&self, kind: Kind, call: &ToolCall, tool: &str, ctx: &ToolCtx) -> Record {
        let (at, session) = (self.asker.now(), ctx.task.to_string());
        let within = ctx.within.as_ref().map(|within| within.call.to_string()).unwrap_or_default();
        Record { at, session, kind, call: call.id.clone(), within, tool: tool.to_owned(), ..Record::default() }
    }
}

/// An entry of a grant as it is found again in the list of rules.
fn lasting(scope: Scope, entry: &str) -> String {
    match Exact::read(entry) {
        Some(exact) if scope != Scope::Session => exact.subject(),
        _ => said(entry),
    }
}

/// What a call does, in one text, and how its secrets look.
fn told(intent: &Intent) -> (String, RedactKind) {
    match intent {
        Intent::Command { line, .. } => (line.clone(), RedactKind::Code),
        Intent::Read(path) => (path.display().to_string(), RedactKind::Code),
        Intent::Edit(edits) => {
            let mut names: Vec<String> = edits
                .iter()
                .take(PATHS)
                .map(|edit| format!("{}{}", if edit.removes { REMOVES } else { "" }, edit.path.display()))
                .collect();
            if edits.len() > PATHS {
                names.push(format!("{} more", edits.len() - PATHS));
            }
            (names.join("\n"), RedactKind::Code)
        }
        Intent::Input { process, text } => (format!("{process}: {text}"), RedactKind::Code),
        Intent::Remote { args, .. } => (args.clone(), RedactKind::Code),
        Intent::Code { code, .. } => (code.clone(), RedactKind::Code),
        Intent::Talk | Intent::Handle => (String::new(), RedactKind::Code),
    }
}

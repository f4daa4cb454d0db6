//! The audit log of approvals, for people and for programs.

use crate::store::Store;
use crate::store::audit::told::{self, Filter, outcome};
use crate::store::audit::{AuditBy, Kind, Record, Row};
use serde_json::{Value, json};

/// Rows of the log that a screen shows.
const SCREEN_ROWS: usize = 200;

/// Rows of the audit log that a filter means, as text.
pub async fn log(argument: &str, store: &Store) -> String {
    let mut filter = match Filter::read(argument) {
        Ok(filter) => filter,
        Err(error) => return error.to_string(),
    };
    // A screen can be scrolled: more rows than a terminal is given, unless a number is named.
    if filter.limit == told::ROWS {
        filter.limit = SCREEN_ROWS;
    }
    let faults = match store.audit_verify().await {
        Ok(found) if found.faults.is_empty() => format!("{} rows, none missing or changed", found.rows),
        Ok(found) => format!("⚠ the log was changed: {}", found.faults.join("; ")),
        Err(error) => format!("⚠ {error}"),
    };
    let shown = match argument.trim() {
        "" => format!("filter with /approvals log --{} and words", told::FILTERS.join(", --")),
        chosen => format!("only: {chosen}"),
    };
    match told::chosen(store, &filter).await {
        Ok(rows) if rows.is_empty() && !argument.trim().is_empty() => {
            format!("{faults}\n{shown}\n\nno matching rows\n")
        }
        Ok(rows) => format!("{faults}\n{shown}\n\n{}", told::text(&rows, told::SHORT)),
        Err(error) => error.to_string(),
    }
}

/// A row for programs; `docs/CLI.md` has its shape.
pub fn as_json(row: &Row, end: Option<&Record>) -> Value {
    let one = &row.record;
    let kind = match one.kind {
        Kind::Call => "call",
        Kind::End => "end",
        Kind::Rule => "rule",
        Kind::Mode => "mode",
        Kind::Pruned => "pruned",
    };
    let detail = match &one.by {
        AuditBy::Rule(rules) => json!(rules),
        AuditBy::Person(said) => json!(said),
        AuditBy::Policy | AuditBy::Yolo | AuditBy::Smart | AuditBy::Nobody | AuditBy::Hook => json!(null),
    };
    let outcome = outcome(one, end);
    json!({
        "row": row.key,
        "at": one.at,
        "kind": kind,
        "session_id": one.session,
        "call_id": one.call,
        "tool": one.tool,
        "what": one.what,
        "cwd": one.cwd,
        "backend": if one.backend.is_empty() { "local" } else { &one.backend },
        "verdict": one.verdict,
        "reasons": one.reasons,
        "by": one.by.name(),
        "by_detail": detail,
        "why": if one.why.is_empty() { json!(null) } else { json!(one.why) },
        "outcome": if outcome.is_empty() { json!(null) } else { json!(outcome) },
        "duration_ms": end.map(|end| end.ms),
        "rules": one.entries,
        "scope": one.scope,
    })
}

//! `hermes approvals log`: the audit log for people and programs, and the check of its chain.

use crate::cli::setup;
use crate::store::Store;
use crate::store::audit::{By, Kind, Record, Row, Wanted};
use crate::text::visible::visible;
use anyhow::{Context, bail};
use chrono::{DateTime, Local, NaiveDate, TimeZone};
use clap::Args;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::Write;

/// Version of the JSON shape.
const VERSION: u32 = 1;

/// `hermes approvals log`.
#[derive(Args, Debug, Default)]
pub struct LogArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Only this session: an id, its unique start, or a title
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// At most this many
    #[arg(short = 'n', long, default_value_t = 50)]
    pub limit: usize,
    /// Only from then on: `30m`, `2h`, `3d`, `2026-11-22`
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Check that no row was changed or removed
    #[arg(long)]
    pub verify: bool,
}

pub(super) async fn run(args: &LogArgs, out: &mut impl Write) -> anyhow::Result<i32> {
    let store = Store::spawn(setup::paths()?.home);
    let code = show(args, &store, out).await;
    store.close().await;
    code
}

async fn show(args: &LogArgs, store: &Store, out: &mut impl Write) -> anyhow::Result<i32> {
    if args.verify {
        let found = store.audit_verify().await?;
        if args.json {
            writeln!(out, "{}", json!({"version": VERSION, "rows": found.rows, "faults": found.faults}))?;
        } else if found.faults.is_empty() {
            writeln!(out, "{} rows: none is missing or changed", found.rows)?;
        } else {
            for fault in &found.faults {
                writeln!(out, "{fault}")?;
            }
            writeln!(out, "{} rows: the log was tampered with, or the database was damaged", found.rows)?;
        }
        return Ok(i32::from(!found.faults.is_empty()));
    }
    let since = args.since.as_deref().map(|text| since(text, Local::now())).transpose()?;
    let session = match &args.session {
        // A session that was deleted is still in the log.
        Some(query) => Some(store.resolve(query).await.map_or_else(|_| query.clone(), |id| id.0)),
        None => None,
    };
    // A call that ran has two rows.
    let wanted = Wanted { session, since, limit: args.limit.saturating_mul(2).saturating_add(64) };
    let rows = joined(store.audit_rows(wanted).await?, args.limit);
    if args.json {
        let rows: Vec<Value> = rows.iter().map(|(row, end)| as_json(row, end.as_ref())).collect();
        writeln!(out, "{}", json!({"version": VERSION, "rows": rows}))?;
    } else {
        out.write_all(text(&rows).as_bytes())?;
    }
    Ok(0)
}

/// Calls with how they ended, newest first.
pub(crate) type Joined = Vec<(Row, Option<Record>)>;

/// Puts the end of a call to its beginning.
pub(crate) fn joined(rows: Vec<Row>, limit: usize) -> Joined {
    let mut ends: HashMap<(String, String), Record> = HashMap::new();
    let mut all = Vec::new();
    for row in rows {
        let key = || (row.record.session.clone(), row.record.call.clone());
        match row.record.kind {
            Kind::End => drop(ends.insert(key(), row.record)),
            Kind::Call => {
                let end = ends.remove(&key());
                all.push((row, end));
            }
            Kind::Rule | Kind::Mode | Kind::Pruned => all.push((row, None)),
        }
    }
    all.truncate(limit);
    all
}

/// The log for people: a line a row, and a second one for the reasons.
pub(crate) fn text(rows: &[(Row, Option<Record>)]) -> String {
    let mut out = String::new();
    if rows.is_empty() {
        out.push_str("nothing yet\n");
    }
    for (row, end) in rows {
        let one = &row.record;
        let at = Local.timestamp_millis_opt(one.at).earliest();
        let at = at.map_or_else(String::new, |at| at.format("%Y-%m-%d %H:%M:%S").to_string());
        let line = match one.kind {
            Kind::Rule => format!("rule     {} ({}) {}", one.entries.join(", "), one.scope, one.by.words()),
            Kind::Mode => format!("mode     {} {}", one.what, one.by.words()),
            Kind::Pruned => "older rows went, as the bound says".to_owned(),
            Kind::Call | Kind::End => {
                let outcome = end.as_ref().map_or(one.outcome.as_str(), |end| end.outcome.as_str());
                let outcome = if outcome.is_empty() { "no end known" } else { outcome };
                let what = one.what.lines().next().unwrap_or_default();
                let more = if one.what.lines().nth(1).is_some() { " …" } else { "" };
                format!("{:<12} {}: {}{more}", outcome, one.tool, visible(what).text)
            }
        };
        out.push_str(&format!("{at}  {line}\n"));
        if one.kind == Kind::Call {
            let mut parts = vec![one.verdict.clone(), one.by.words()];
            if !one.reasons.is_empty() {
                parts.push(one.reasons.join(", "));
            }
            if !one.why.is_empty() {
                parts.push(one.why.clone());
            }
            if !one.cwd.is_empty() {
                parts.push(format!("in {}", one.cwd));
            }
            if !one.backend.is_empty() {
                parts.push(format!("on {}", one.backend));
            }
            parts.push(format!("session {}", one.session));
            out.push_str(&format!("{:21}{}\n", "", visible(&parts.join(" · ")).text));
        }
    }
    out
}

fn as_json(row: &Row, end: Option<&Record>) -> Value {
    let one = &row.record;
    let kind = match one.kind {
        Kind::Call => "call",
        Kind::End => "end",
        Kind::Rule => "rule",
        Kind::Mode => "mode",
        Kind::Pruned => "pruned",
    };
    let (by, detail) = match &one.by {
        By::Policy => ("policy", json!(null)),
        By::Rule(rules) => ("rule", json!(rules)),
        By::Person(said) => ("person", json!(said)),
        By::Yolo => ("yolo", json!(null)),
        By::Smart => ("smart", json!(null)),
        By::Nobody => ("nobody", json!(null)),
        By::Hook => ("hook", json!(null)),
    };
    let outcome = end.map_or(one.outcome.as_str(), |end| end.outcome.as_str());
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
        "by": by,
        "by_detail": detail,
        "why": if one.why.is_empty() { json!(null) } else { json!(one.why) },
        "outcome": if outcome.is_empty() { json!(null) } else { json!(outcome) },
        "duration_ms": end.map(|end| end.ms),
        "rules": one.entries,
        "scope": one.scope,
    })
}

/// A time in words, in milliseconds since the epoch.
fn since(text: &str, now: DateTime<Local>) -> anyhow::Result<i64> {
    let text = text.trim();
    if let Ok(day) = NaiveDate::parse_from_str(text, "%Y-%m-%d") {
        let start = day.and_hms_opt(0, 0, 0).and_then(|at| Local.from_local_datetime(&at).earliest());
        return start.map(|at| at.timestamp_millis()).context("that day has no midnight here");
    }
    if let Ok(at) = DateTime::parse_from_rfc3339(text) {
        return Ok(at.timestamp_millis());
    }
    let unit = |text: &str| match text {
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        "d" => Some(86_400_000),
        "w" => Some(7 * 86_400_000_i64),
        _ => None,
    };
    let split = text.len().saturating_sub(1);
    let parsed = text.is_char_boundary(split).then(|| text.split_at(split));
    match parsed.and_then(|(count, last)| Some((count.parse::<i64>().ok()?, unit(last)?))) {
        Some((count, unit)) if count >= 0 => Ok(now.timestamp_millis().saturating_sub(count.saturating_mul(unit))),
        _ => bail!("--since {text:?} is no time: write 30m, 2h, 3d or 2026-11-22"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_words() {
        let now = Local::now();
        let ago = |text: &str| now.timestamp_millis() - since(text, now).unwrap();
        assert_eq!((ago("30m"), ago("2h"), ago("3d")), (1_800_000, 7_200_000, 259_200_000));
        assert!(since("2026-11-22", now).is_ok());
        for bad in ["", "h", "2x", "-1h", "ü"] {
            assert!(since(bad, now).unwrap_err().to_string().contains("is no time"), "{bad}");
        }
    }

    #[test]
    fn ends_belong_to_their_calls() {
        let row = |key, kind, call: &str, outcome: &str| Row {
            key,
            record: Record { kind, call: call.into(), outcome: outcome.into(), ..Record::default() },
        };
        let rows = vec![row(3, Kind::End, "a", "ok"), row(2, Kind::Call, "b", ""), row(1, Kind::Call, "a", "")];
        let joined = joined(rows, 9);
        assert_eq!(
            joined.iter().map(|(row, end)| (row.key, end.is_some())).collect::<Vec<_>>(),
            [(2, false), (1, true)]
        );
        assert!(text(&joined).contains("no end known") && text(&joined).contains("ok "));
    }
}

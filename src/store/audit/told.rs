//! The audit log for people: calls with how they ended, which rows are wanted, a line a row.

use super::{KEPT, Kind, Record, Row, Wanted};
use crate::store::{Store, StoreError};
use crate::text::visible::visible;
use crate::text::width::truncate_middle;
use chrono::{DateTime, Local, NaiveDate, TimeZone};
use std::collections::HashMap;

/// Rows that are told unless a filter says otherwise.
pub const ROWS: usize = 50;
/// What rows can be chosen by.
pub const FILTERS: &[&str] = &["kind", "tool", "by", "verdict", "outcome", "session", "since"];
const KINDS: &[(&str, Kind)] =
    &[("call", Kind::Call), ("rule", Kind::Rule), ("mode", Kind::Mode), ("pruned", Kind::Pruned)];
const WHO: &[&str] = &["policy", "rule", "person", "yolo", "smart", "nobody", "hook"];
const VERDICTS: &[&str] = &["allow", "ask", "ask-always", "denied-by-rule", "refuse"];
const OUTCOMES: &[&str] = &["ok", "failed", "denied", "timed_out", "no_one", "refused", "interrupted", "unknown"];

/// Which rows a person wants to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    pub kind: Option<Kind>,
    tool: Option<String>,
    by: Option<String>,
    verdict: Option<String>,
    outcome: Option<String>,
    /// An id, its unique start, or a title.
    session: Option<String>,
    /// Milliseconds since the epoch.
    since: Option<i64>,
    /// Words that stand in what was called, or in the rule.
    words: Vec<String>,
    pub limit: usize,
}

impl Default for Filter {
    fn default() -> Self {
        Self {
            kind: None,
            tool: None,
            by: None,
            verdict: None,
            outcome: None,
            session: None,
            since: None,
            words: Vec::new(),
            limit: ROWS,
        }
    }
}

/// A filter that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    #[error("--{name} {value:?} must be one of {}", .all.join(", "))]
    Value { name: &'static str, value: String, all: Vec<&'static str> },
    #[error("--since {0:?} is not a time: write 30m, 2h, 3d or 2026-11-22")]
    Time(String),
    #[error("-n {0:?} is not a number")]
    Number(String),
    #[error("{0} needs a value")]
    Missing(String),
    #[error("{0} is not a filter: write --{all} VALUE, -n N, or words to search for", all = FILTERS.join(", --"))]
    Unknown(String),
}

impl Filter {
    /// All rows, the newest so many.
    pub fn newest(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    /// As it is written after `/approvals log`: `--kind mode --since 2h git push`.
    ///
    /// # Errors
    /// When a name or a value is not known.
    pub fn read(text: &str) -> Result<Self, FilterError> {
        let mut filter = Self::default();
        let mut words = text.split_whitespace();
        while let Some(word) = words.next() {
            if !word.starts_with('-') {
                filter.word(word);
                continue;
            }
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name, value.to_owned()),
                None => (word, words.next().ok_or_else(|| FilterError::Missing(word.to_owned()))?.to_owned()),
            };
            match name {
                "-n" | "--limit" => filter.limit = value.parse().map_err(|_| FilterError::Number(value))?,
                _ => filter.set(name.trim_start_matches('-'), &value)?,
            }
        }
        Ok(filter)
    }

    /// Rows with this word in what was called, or in the rule.
    pub fn word(&mut self, word: &str) {
        self.words.push(word.to_lowercase());
    }

    /// One of [`FILTERS`].
    ///
    /// # Errors
    /// When the name or the value is not known.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), FilterError> {
        let one_of = |name: &'static str, all: &[&'static str]| {
            if all.contains(&value) {
                Ok(Some(value.to_owned()))
            } else {
                Err(FilterError::Value { name, value: value.to_owned(), all: all.to_vec() })
            }
        };
        match name {
            "kind" => {
                let names: Vec<&str> = KINDS.iter().map(|(name, _)| *name).collect();
                one_of("kind", &names)?;
                self.kind = KINDS.iter().find(|(name, _)| *name == value).map(|(_, kind)| *kind);
            }
            "tool" => self.tool = Some(value.to_owned()),
            "by" => self.by = one_of("by", WHO)?,
            "verdict" => self.verdict = one_of("verdict", VERDICTS)?,
            "outcome" => self.outcome = one_of("outcome", OUTCOMES)?,
            "session" => self.session = Some(value.to_owned()),
            "since" => {
                self.since = Some(since(value, Local::now()).ok_or_else(|| FilterError::Time(value.to_owned()))?);
            }
            other => return Err(FilterError::Unknown(format!("--{other}"))),
        }
        Ok(())
    }

    /// Whether rows are left out for what stands in them.
    fn looks_into(&self) -> bool {
        let named = [&self.tool, &self.by, &self.verdict, &self.outcome];
        self.kind.is_some() || !self.words.is_empty() || named.into_iter().any(Option::is_some)
    }

    fn means(&self, row: &Record, end: Option<&Record>) -> bool {
        let same = |wanted: &Option<String>, is: &str| wanted.as_deref().is_none_or(|wanted| wanted == is);
        let text = || format!("{} {} {}", row.what, row.entries.join(" "), row.scope).to_lowercase();
        let outcome = match (row.kind, outcome(row, end)) {
            (Kind::Call | Kind::End, "") => "unknown",
            (_, outcome) => outcome,
        };
        self.kind.is_none_or(|kind| kind == row.kind)
            && same(&self.tool, &row.tool)
            && same(&self.by, row.by.name())
            && same(&self.verdict, &row.verdict)
            && same(&self.outcome, outcome)
            && (self.words.is_empty() || self.words.iter().all(|word| text().contains(word)))
    }
}

/// How a call ended, as far as the log knows.
pub fn outcome<'a>(row: &'a Record, end: Option<&'a Record>) -> &'a str {
    end.map_or(row.outcome.as_str(), |end| end.outcome.as_str())
}

/// The rows that a filter means, newest first.
///
/// # Errors
/// When the log cannot be read.
pub async fn chosen(store: &Store, filter: &Filter) -> Result<Joined, StoreError> {
    let session = match &filter.session {
        // A session that was deleted is still in the log.
        Some(query) => Some(store.resolve(query).await.map_or_else(|_| query.clone(), |id| id.0)),
        None => None,
    };
    // A call that ran has two rows.
    let most = filter.limit.saturating_mul(2).saturating_add(64);
    let limit = if filter.looks_into() { usize::try_from(KEPT).unwrap_or(usize::MAX).saturating_mul(2) } else { most };
    let rows = store.audit_rows(Wanted { session, since: filter.since, limit }).await?;
    let mut rows = joined(rows, usize::MAX);
    rows.retain(|(row, end)| filter.means(&row.record, end.as_ref()));
    rows.truncate(filter.limit);
    Ok(rows)
}

/// Calls with how they ended, newest first.
pub type Joined = Vec<(Row, Option<Record>)>;

/// Puts the end of a call to its beginning.
pub fn joined(rows: Vec<Row>, limit: usize) -> Joined {
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

/// How the time of a row is told: in full, and where there is less room.
pub const FULL: &str = "%Y-%m-%d %H:%M:%S";
pub const SHORT: &str = "%m-%d %H:%M";

/// Cells of what was called that a row shows, its beginning and its end; JSON has all that was kept.
const WHAT: usize = 480;

/// The log for people: a line a row, and a second one for the reasons.
pub fn text(rows: &[(Row, Option<Record>)], clock: &str) -> String {
    let mut out = String::new();
    if rows.is_empty() {
        out.push_str("nothing yet\n");
    }
    for (row, end) in rows {
        let one = &row.record;
        let at = Local.timestamp_millis_opt(one.at).earliest();
        let at = at.map_or_else(String::new, |at| at.format(clock).to_string());
        let line = match one.kind {
            Kind::Rule => format!("{:<12} {} ({}) {}", "rule", one.entries.join(", "), one.scope, one.by.words()),
            Kind::Mode => format!("{:<12} {} {}", "mode", one.what, one.by.words()),
            Kind::Pruned => "older rows were pruned".to_owned(),
            Kind::Call | Kind::End => {
                let outcome = match outcome(one, end.as_ref()) {
                    "" => "outcome unknown",
                    known => known,
                };
                let what = visible(one.what.lines().next().unwrap_or_default()).text;
                let more = if one.what.lines().nth(1).is_some() { " …" } else { "" };
                format!("{:<12} {}: {}{more}", outcome, one.tool, truncate_middle(&what, WHAT))
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
            out.push_str(&format!("{:1$}{2}\n", "", at.len() + 2, visible(&parts.join(" · ")).text));
        }
    }
    out
}

/// A time in words, in milliseconds since the epoch.
fn since(text: &str, now: DateTime<Local>) -> Option<i64> {
    let text = text.trim();
    if let Ok(day) = NaiveDate::parse_from_str(text, "%Y-%m-%d") {
        let start = day.and_hms_opt(0, 0, 0).and_then(|at| Local.from_local_datetime(&at).earliest());
        return start.map(|at| at.timestamp_millis());
    }
    if let Ok(at) = DateTime::parse_from_rfc3339(text) {
        return Some(at.timestamp_millis());
    }
    let split = text.len().saturating_sub(1);
    let (count, unit) = text.is_char_boundary(split).then(|| text.split_at(split))?;
    let unit = match unit {
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "w" => 7 * 86_400_000_i64,
        _ => return None,
    };
    let count = count.parse::<i64>().ok().filter(|count| *count >= 0)?;
    Some(now.timestamp_millis().saturating_sub(count.saturating_mul(unit)))
}

#[cfg(test)]
mod tests {
    use super::super::AuditBy;
    use super::*;

    #[test]
    fn times_in_words() {
        let now = Local::now();
        let ago = |text: &str| now.timestamp_millis() - since(text, now).unwrap();
        assert_eq!((ago("30m"), ago("2h"), ago("3d")), (1_800_000, 7_200_000, 259_200_000));
        assert!(since("2026-11-22", now).is_some());
        for bad in ["", "h", "2x", "-1h", "ü"] {
            assert_eq!(since(bad, now), None, "{bad}");
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
        let text = text(&joined, FULL);
        assert!(text.contains("outcome unknown") && text.contains("ok "));
    }

    #[tokio::test]
    async fn every_filter_chooses_rows() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::spawn(home.path());
        let call = |call: &str, tool: &str, what: &str| Record {
            at: 5,
            session: "s1".into(),
            call: call.into(),
            tool: tool.into(),
            what: what.into(),
            verdict: "ask".into(),
            by: AuditBy::Person("once".into()),
            ..Record::default()
        };
        let end = Record { kind: Kind::End, outcome: "ok".into(), by: AuditBy::Policy, ..call("a", "terminal", "") };
        let other =
            Record { session: "s2".into(), by: AuditBy::Yolo, verdict: "allow".into(), ..call("c", "terminal", "ls") };
        let denied = Record { outcome: "denied".into(), by: AuditBy::Nobody, ..call("b", "write_file", "/srv/Notes") };
        let rule = Record { kind: Kind::Rule, entries: vec!["terminal(git push *)".into()], ..Record::default() };
        let mode = Record {
            kind: Kind::Mode,
            what: "smart".into(),
            by: AuditBy::Person("chose it".into()),
            ..Record::default()
        };
        for record in [call("a", "terminal", "git push"), end, other, denied, rule, mode] {
            store.audit(move || record);
        }
        let found = async |text: &str| {
            let rows = chosen(&store, &Filter::read(text).unwrap()).await.unwrap();
            rows.into_iter().map(|(row, _)| row.key).collect::<Vec<_>>()
        };
        for (text, keys) in [
            ("", vec![6, 5, 4, 3, 1]),
            ("-n 2", vec![6, 5]),
            ("--kind mode", vec![6]),
            ("--kind=rule", vec![5]),
            ("--kind call", vec![4, 3, 1]),
            ("--kind call -n 1", vec![4]),
            ("--tool write_file", vec![4]),
            ("--by nobody", vec![4]),
            ("--by yolo", vec![3]),
            ("--verdict allow", vec![3]),
            ("--outcome denied", vec![4]),
            ("--outcome ok", vec![1]),
            ("--outcome unknown", vec![3]),
            ("--session s2", vec![3]),
            ("--since 1h", vec![]),
            ("notes", vec![4]),
            ("git push", vec![5, 1]),
        ] {
            assert_eq!(found(text).await, keys, "{text}");
        }
        for (text, says) in [
            ("--kind x", "must be one of call, rule, mode, pruned"),
            ("--since x", "is not a time"),
            ("--kind", "needs a value"),
            ("--colour red", "is not a filter"),
            ("-n x", "is not a number"),
        ] {
            assert!(Filter::read(text).unwrap_err().to_string().contains(says), "{text}");
        }
        store.close().await;
    }
}

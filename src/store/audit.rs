//! The audit log: what ran or was kept from running, by whose word, chained by hashes so that a changed or missing row shows.
//!
//! A call that runs has two rows: one before it, one with how it ended. A crash between them leaves the first.

pub mod told;

use super::db::Db;
use super::error::StoreError;
use super::handle::Store;
use rusqlite::{Connection, OptionalExtension, Transaction};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::PathBuf;

/// Rows that are kept; the oldest go in batches.
pub const KEPT: i64 = 50_000;
const BATCH: i64 = 500;
/// Rows that are looked through for calls of the past.
const LOOKED_AT: i64 = 5_000;
/// Bytes of a text in a row.
pub const TEXT: usize = 2_000;
/// Where the highest key stands besides: a log that lost its end is noticed.
const HEAD: &str = "audit:head";

/// What a row tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A call was judged; it runs when its verdict or an answer says so.
    #[default]
    Call,
    /// It ended.
    End,
    /// A person made a rule that lasts, or took one back.
    Rule,
    /// A person changed how questions are treated.
    Mode,
    /// The oldest rows went.
    Pruned,
}

/// Whose word let a call run, or kept it from running.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditBy {
    /// Nothing to ask about.
    #[default]
    Policy,
    /// These rules.
    Rule(Vec<String>),
    /// A person, and what the answer was.
    Person(String),
    /// Questions were off.
    Yolo,
    /// The auxiliary model of smart approvals.
    Smart,
    /// It was a question, and nobody could be asked or answered.
    Nobody,
    /// A hook of the person's.
    Hook,
}

impl AuditBy {
    /// In one word, as filters and JSON have it.
    pub fn name(&self) -> &'static str {
        match self {
            AuditBy::Policy => "policy",
            AuditBy::Rule(_) => "rule",
            AuditBy::Person(_) => "person",
            AuditBy::Yolo => "yolo",
            AuditBy::Smart => "smart",
            AuditBy::Nobody => "nobody",
            AuditBy::Hook => "hook",
        }
    }

    /// For people.
    pub fn words(&self) -> String {
        match self {
            AuditBy::Policy => "no approval needed".into(),
            AuditBy::Rule(rules) => format!("by rule: {}", rules.join("; ")),
            AuditBy::Person(answer) => format!("by you: {answer}"),
            AuditBy::Yolo => "yolo: did not ask".into(),
            AuditBy::Smart => "by the auxiliary model".into(),
            AuditBy::Nobody => "no answer".into(),
            AuditBy::Hook => "by a hook".into(),
        }
    }
}

/// One row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    /// Milliseconds since the epoch.
    pub at: i64,
    pub session: String,
    pub kind: Kind,
    /// The call of the model.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub call: String,
    /// The call of the script that made it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub within: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tool: String,
    /// The command, the paths, the arguments: bounded, secrets masked.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub what: String,
    /// The folder that it ran in.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cwd: String,
    /// Where it ran; empty: here.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub backend: String,
    /// `allow`, `ask`, `ask-always`, `denied-by-rule`, `refuse`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub verdict: String,
    /// Classes of effect.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    #[serde(skip_serializing_if = "is_policy")]
    pub by: AuditBy,
    /// Why it did not run, as the model was told; secrets masked.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// `ok`, `failed`, `denied`, `refused`, `interrupted`; empty while it runs.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub outcome: String,
    #[serde(skip_serializing_if = "is_zero")]
    pub ms: u64,
    /// Of a rule: what it says and how far it reaches. Of [`Kind::Pruned`]: the last row that went, and its hash.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub scope: String,
}

fn is_policy(by: &AuditBy) -> bool {
    *by == AuditBy::Policy
}

fn is_zero(ms: &u64) -> bool {
    *ms == 0
}

/// A row as it stands in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub key: i64,
    pub record: Record,
}

/// Which rows are wanted.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    pub session: Option<String>,
    /// Milliseconds since the epoch.
    pub since: Option<i64>,
    /// The newest of them.
    pub limit: usize,
}

/// What a check of the chain found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    pub rows: u64,
    /// In words: which row is missing or changed.
    pub faults: Vec<String>,
}

/// A call of the past.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastCall {
    pub tool: String,
    /// The command, the files or the arguments, as the log has them.
    pub what: String,
    pub cwd: PathBuf,
}

/// `text` with at most [`TEXT`] bytes.
pub fn bounded(text: &str) -> String {
    if text.len() <= TEXT {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(TEXT);
    format!("{}… ({} bytes more)", &text[..end], text.len() - end)
}

/// Whether a text of the log is the beginning of a longer one.
pub fn is_cut(text: &str) -> bool {
    text.ends_with(" bytes more)")
}

fn hash(before: &str, key: i64, body: &str) -> String {
    let mut hasher = Sha256::new();
    hasher.update(before.as_bytes());
    hasher.update(key.to_be_bytes());
    hasher.update(body.as_bytes());
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Store {
    /// Adds a row without waiting; `make` runs on the store's thread. What cannot be saved goes to the log file.
    pub fn audit(&self, make: impl FnOnce() -> Record + Send + 'static) {
        self.send_soon(move |db| {
            let record = make();
            if let Err(error) = append(db, &record) {
                let body = serde_json::to_string(&record).unwrap_or_default();
                tracing::error!(%error, record = %body, "could not save a row of the audit log");
                db.shared
                    .set_trouble(Some(format!("the audit log is not saved: {error}; its rows go to the log file")));
            } else if db.in_memory {
                let body = serde_json::to_string(&record).unwrap_or_default();
                tracing::warn!(record = %body, "the audit log is in memory only");
            }
        });
    }

    /// Rows, newest first.
    pub async fn audit_rows(&self, wanted: Wanted) -> Result<Vec<Row>, StoreError> {
        self.ask(move |db| db.read("read the audit log", |conn| rows(conn, &wanted))).await
    }

    /// Recomputes the chain from its first row to its last.
    pub async fn audit_verify(&self) -> Result<Verified, StoreError> {
        self.ask(|db| db.read("check the audit log", verify)).await
    }

    /// The newest calls of these tools (names with `*`) that were judged, newest first.
    pub async fn audit_calls(&self, tools: &'static [&'static str], limit: usize) -> Result<Vec<PastCall>, StoreError> {
        self.ask(move |db| {
            db.read("read the audit log", |conn| {
                let sql = "SELECT body ->> 'tool', body ->> 'what', body ->> 'cwd' FROM audit
                   WHERE key > (SELECT max(key) FROM audit) - ?2 AND body ->> 'kind' = 'call'
                     AND EXISTS (SELECT 1 FROM json_each(?3) WHERE body ->> 'tool' GLOB value)
                   ORDER BY key DESC LIMIT ?1";
                let limit = i64::try_from(limit).unwrap_or(i64::MAX);
                let past = |row: &rusqlite::Row<'_>| {
                    let (tool, what, cwd): (String, Option<String>, Option<String>) =
                        (row.get(0)?, row.get(1)?, row.get(2)?);
                    Ok(PastCall { tool, what: what.unwrap_or_default(), cwd: cwd.unwrap_or_default().into() })
                };
                let tools = serde_json::json!(tools).to_string();
                conn.prepare_cached(sql)?.query_map((limit, LOOKED_AT, tools), past)?.collect()
            })
        })
        .await
    }
}

fn append(db: &mut Db, record: &Record) -> Result<(), StoreError> {
    db.write("add to the audit log", |tx| {
        let key = add(tx, record)?;
        if key % BATCH == 0 { prune(tx, record.at) } else { Ok(()) }
    })
}

/// Adds a row behind the last one; its key.
pub(super) fn add(tx: &Transaction<'_>, record: &Record) -> rusqlite::Result<i64> {
    let last = tx.prepare_cached("SELECT key, hash FROM audit ORDER BY key DESC LIMIT 1")?;
    let last: Option<(i64, String)> = one(last)?;
    // A log that lost all its rows goes on behind them.
    let head: Option<i64> =
        tx.prepare_cached("SELECT value FROM state WHERE name = ?1")?.query_row([HEAD], |row| row.get(0)).optional()?;
    let (mut key, before) = last.unwrap_or_default();
    key = key.max(head.unwrap_or(0)) + 1;
    let body = serde_json::to_string(record).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    tx.prepare_cached("INSERT INTO audit (key, at, session, body, hash) VALUES (?1, ?2, ?3, ?4, ?5)")?.execute((
        key,
        record.at,
        &record.session,
        &body,
        hash(&before, key, &body),
    ))?;
    tx.prepare_cached("INSERT OR REPLACE INTO state (name, value) VALUES (?1, ?2)")?.execute((HEAD, key))?;
    Ok(key)
}

fn one(mut statement: rusqlite::CachedStatement<'_>) -> rusqlite::Result<Option<(i64, String)>> {
    statement.query_row([], |row| Ok((row.get(0)?, row.get(1)?))).optional()
}

/// Takes the oldest rows away beyond the bound, and says so in the log itself.
fn prune(tx: &Transaction<'_>, at: i64) -> rusqlite::Result<()> {
    let sql = "SELECT key, hash FROM audit ORDER BY key DESC LIMIT 1 OFFSET ?1";
    let gone: Option<(i64, String)> = tx.query_row(sql, [KEPT], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let Some((last, hash)) = gone else { return Ok(()) };
    let record = Record { at, kind: Kind::Pruned, entries: vec![last.to_string(), hash], ..Record::default() };
    add(tx, &record)?;
    tx.execute("DELETE FROM audit WHERE key <= ?1", [last]).map(drop)
}

fn rows(conn: &Connection, wanted: &Wanted) -> rusqlite::Result<Vec<Row>> {
    let sql = "SELECT key, body FROM audit WHERE (?1 IS NULL OR session = ?1) AND (?2 IS NULL OR at >= ?2)
       ORDER BY key DESC LIMIT ?3";
    let limit = i64::try_from(wanted.limit).unwrap_or(i64::MAX);
    let row = |row: &rusqlite::Row<'_>| {
        let body: String = row.get(1)?;
        // A row that cannot be read is one that somebody has changed: it is shown as what it is.
        let record =
            serde_json::from_str(&body).unwrap_or_else(|_| Record { what: bounded(&body), ..Record::default() });
        Ok(Row { key: row.get(0)?, record })
    };
    conn.prepare_cached(sql)?.query_map((&wanted.session, wanted.since, limit), row)?.collect()
}

fn verify(conn: &Connection) -> rusqlite::Result<Verified> {
    let mut found = Verified::default();
    let mut statement = conn.prepare("SELECT key, body, hash FROM audit ORDER BY key")?;
    let mut rows = statement.query([])?;
    let mut last: Option<(i64, String)> = None;
    let mut first_key = 1;
    let mut pruned: Option<(i64, String)> = None;
    while let Some(row) = rows.next()? {
        let (key, body, kept): (i64, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        found.rows += 1;
        match &last {
            Some((before, _)) if *before + 1 != key => {
                found.faults.push(format!("rows {} to {} are missing", before + 1, key - 1));
            }
            Some((_, before)) if hash(before, key, &body) != kept => {
                found.faults.push(format!("row {key} was changed"))
            }
            None if key == 1 && hash("", key, &body) != kept => found.faults.push("row 1 was changed".into()),
            None => first_key = key,
            Some(_) => {}
        }
        if let Ok(Record { kind: Kind::Pruned, entries, .. }) = serde_json::from_str(&body)
            && let [through, hash] = &entries[..]
            && let Ok(through) = through.parse()
        {
            pruned = Some((through, hash.clone()));
        }
        last = Some((key, kept));
    }
    // The first row that is left follows what was pruned, and nothing else.
    if first_key > 1 {
        let first: (String, String) =
            conn.query_row("SELECT body, hash FROM audit WHERE key = ?1", [first_key], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
        match pruned {
            Some((through, before)) if through + 1 == first_key => {
                if hash(&before, first_key, &first.0) != first.1 {
                    found.faults.push(format!("row {first_key} was changed"));
                }
            }
            _ => found.faults.push(format!("rows before {first_key} are missing")),
        }
    }
    let head: Option<i64> =
        conn.query_row("SELECT value FROM state WHERE name = ?1", [HEAD], |row| row.get(0)).optional()?;
    let end = last.map_or(0, |(key, _)| key);
    if head.unwrap_or(0) > end {
        found.faults.push(format!("rows {} to {} are missing at the end", end + 1, head.unwrap_or(0)));
    }
    if head.unwrap_or(0) < end {
        found.faults.push(format!("rows after {} were not written by this program", head.unwrap_or(0)));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(what: &str) -> Record {
        let (session, tool) = ("s1".into(), "terminal".into());
        Record {
            at: 1,
            session,
            tool,
            what: what.into(),
            cwd: "/p".into(),
            verdict: "allow".into(),
            ..Record::default()
        }
    }

    fn all() -> Wanted {
        Wanted { limit: 1000, ..Wanted::default() }
    }

    async fn filled(home: &std::path::Path, count: usize) -> Store {
        let store = Store::spawn(home);
        for at in 0..count {
            store.audit(move || record(&format!("echo {at}")));
        }
        assert_eq!(store.audit_rows(all()).await.expect("rows").len(), count);
        store
    }

    #[tokio::test]
    async fn rows_come_back_newest_first_and_the_chain_holds() {
        let home = tempfile::tempdir().expect("a folder");
        let store = filled(home.path(), 5).await;
        let rows = store.audit_rows(Wanted { limit: 2, ..Wanted::default() }).await.expect("rows");
        let what: Vec<&str> = rows.iter().map(|row| row.record.what.as_str()).collect();
        assert_eq!(what, ["echo 4", "echo 3"]);
        assert_eq!(store.audit_verify().await.expect("checked"), Verified { rows: 5, faults: vec![] });
        store.audit(|| Record { tool: "mcp__git__log".into(), ..record("{}") });
        let past = store.audit_calls(&["terminal"], 3).await.expect("calls");
        assert_eq!((past.len(), past[0].what.as_str()), (3, "echo 4"));
        let past = store.audit_calls(&["patch", "mcp__*"], 3).await.expect("calls");
        assert_eq!(past.iter().map(|call| call.tool.as_str()).collect::<Vec<_>>(), ["mcp__git__log"]);
        let none = Wanted { session: Some("other".into()), ..all() };
        assert!(store.audit_rows(none).await.expect("rows").is_empty());
    }

    #[tokio::test]
    async fn a_row_costs_its_caller_microseconds() {
        let home = tempfile::tempdir().expect("a folder");
        let store = Store::spawn(home.path());
        store.opened().await;
        let cost = |at: usize| {
            let began = std::time::Instant::now();
            store.audit(move || record(&format!("echo {at}")));
            began.elapsed()
        };
        let best = (0..200).map(cost).min().expect("some");
        assert!(best < std::time::Duration::from_micros(100), "{best:?}");
        assert_eq!(store.audit_rows(all()).await.expect("rows").len(), 200, "and none is lost");
    }

    #[tokio::test]
    async fn what_was_tampered_with_shows() {
        for (sql, want) in [
            (
                "DROP TRIGGER audit_stays; UPDATE audit SET body = replace(body, 'echo 2', 'echo x')",
                "row 3 was changed",
            ),
            ("DELETE FROM audit WHERE key = 3", "rows 3 to 3 are missing"),
            ("DELETE FROM audit WHERE key = 1", "rows before 2 are missing"),
            ("DELETE FROM audit WHERE key = 5", "rows 5 to 5 are missing at the end"),
            ("DELETE FROM audit", "rows 1 to 5 are missing at the end"),
            (
                "INSERT INTO audit SELECT 6, at, session, body, hash FROM audit WHERE key = 5",
                "rows after 5 were not written",
            ),
        ] {
            let home = tempfile::tempdir().expect("a folder");
            filled(home.path(), 5).await.close().await;
            let conn = Connection::open(home.path().join("state.db")).expect("the database");
            conn.execute_batch(sql).expect("tampered");
            drop(conn);
            let found = Store::spawn(home.path()).audit_verify().await.expect("checked");
            assert!(found.faults.iter().any(|fault| fault.contains(want)), "{sql}: {found:?}");
        }
    }

    #[tokio::test]
    async fn a_row_cannot_be_rewritten_by_a_plain_update() {
        let home = tempfile::tempdir().expect("a folder");
        filled(home.path(), 1).await.close().await;
        let conn = Connection::open(home.path().join("state.db")).expect("the database");
        let error = conn.execute("UPDATE audit SET body = ''", []).expect_err("refused");
        assert!(error.to_string().contains("never changed"), "{error}");
    }

    #[test]
    fn the_bound_keeps_the_chain_checkable() {
        let mut conn = Connection::open_in_memory().expect("a database");
        super::super::db::immediate(&mut conn, super::super::schema::migrate).expect("tables");
        let tx = conn.transaction().expect("begun");
        for at in 0..KEPT + BATCH {
            let key = add(&tx, &record(&at.to_string())).expect("added");
            if key % BATCH == 0 {
                prune(&tx, 1).expect("pruned");
            }
        }
        tx.commit().expect("kept");
        let count: i64 = conn.query_row("SELECT count(*) FROM audit", [], |row| row.get(0)).expect("counted");
        assert!((KEPT..=KEPT + BATCH).contains(&count), "{count}");
        assert_eq!(verify(&conn).expect("checked").faults, Vec::<String>::new());
        conn.execute("DELETE FROM audit WHERE key = (SELECT min(key) FROM audit)", []).expect("tampered");
        assert!(!verify(&conn).expect("checked").faults.is_empty());
    }
}

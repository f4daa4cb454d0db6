//! The rules of the gate as a list: each with where it stands, how long, and who made it; and taking one back.

use crate::config::load::Loaded;
use crate::config::{ConfigError, Paths, edit, permissions};
use crate::policy::permissions::Layer;
use crate::policy::rule::said;
use crate::protocol::SessionId;
use crate::store::Store;
use crate::store::audit::{AuditBy, Kind, Record, Wanted};
use crate::yaml;
use chrono::{Local, TimeZone};
use std::path::{Path, PathBuf};

/// Rows of the audit log that are looked at for who made a rule.
const LOOKED_AT: usize = 10_000;

/// What kind of rule it is, and so how it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// A line of a permissions file.
    Permission,
    /// An entry of `command_allowlist`.
    Allowlist,
    /// An entry of `approvals.deny`.
    Deny,
    /// A grant of the session.
    Session,
}

/// A rule as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// From 1, in the order of the list.
    pub number: usize,
    pub sort: Sort,
    pub action: &'static str,
    pub rule: String,
    /// `None` for the session.
    pub file: Option<PathBuf>,
    /// 0 when unknown.
    pub line: u64,
    /// `everywhere`, `in /srv/app`, `telegram group`, `this session`.
    pub scope: String,
    /// Milliseconds since the epoch.
    pub until: Option<i64>,
    pub expired: bool,
    /// Who made it and when, as far as it is known: `you, 2026-11-22 10:04`.
    pub who: String,
}

impl Row {
    /// `permissions.yaml:3`, or `this session`.
    pub fn place(&self) -> String {
        match &self.file {
            None => "this session".into(),
            Some(file) if self.line > 0 => format!("{}:{}", file.display(), self.line),
            Some(file) => file.display().to_string(),
        }
    }

    /// Until when it holds, in words; empty when it has no end.
    pub fn end(&self) -> String {
        match self.until.map(|until| when(until - 1)) {
            Some(at) if self.expired => format!("expired {at}"),
            Some(at) => format!("until {at}"),
            None => String::new(),
        }
    }
}

fn when(at: i64) -> String {
    Local.timestamp_millis_opt(at).earliest().map_or_else(String::new, |at| at.format("%Y-%m-%d %H:%M").to_string())
}

/// All rules of a configuration and a session, with what the audit log knows of them.
pub fn collect(paths: &Paths, loaded: &Loaded, session: &[String], made: &[Record], now: i64) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let row = |sort, action, rule: &str, file: Option<&Path>, line, scope: String| Row {
        number: 0,
        sort,
        action,
        rule: rule.to_owned(),
        file: file.map(Path::to_path_buf),
        line,
        scope,
        until: None,
        expired: false,
        who: who(rule, made),
    };
    for one in loaded.permissions.all.iter() {
        let mut parts: Vec<String> = Vec::new();
        parts.extend(one.platform.clone());
        parts.extend(one.chat.clone());
        parts.extend(one.folder.as_ref().map(|folder| format!("in {}", folder.display())));
        let scope = if parts.is_empty() { "everywhere".into() } else { parts.join(" ") };
        let file = one.file.as_deref();
        let mut found = row(Sort::Permission, one.action.word(), &one.on.text, file, one.line, scope);
        (found.until, found.expired) = (one.until, one.is_over(now));
        if one.layer == Layer::Project {
            found.who = "the project".into();
        }
        rows.push(found);
    }
    let config = paths.config();
    let everywhere = || "everywhere".to_owned();
    for entry in &loaded.config.command_allowlist {
        let line = line_of(&config, "command_allowlist", entry);
        rows.push(row(Sort::Allowlist, "allow", entry, Some(&config), line, everywhere()));
    }
    for entry in &loaded.config.approvals.deny {
        let (mut file, mut line) = (config.clone(), line_of(&config, "approvals.deny", entry));
        if let Some(theirs) = loaded.project.as_ref().filter(|_| line == 0) {
            (file, line) = (theirs.clone(), line_of(theirs, "approvals.deny", entry));
        }
        rows.push(row(Sort::Deny, "deny", entry, Some(&file), line, everywhere()));
    }
    for entry in session {
        rows.push(row(Sort::Session, "allow", &said(entry), None, 0, "this session".into()));
    }
    for (index, row) in rows.iter_mut().enumerate() {
        row.number = index + 1;
    }
    rows
}

/// The line of an entry of a list; 0 when it is not there.
fn line_of(file: &Path, key: &str, entry: &str) -> u64 {
    let Ok(text) = std::fs::read_to_string(file) else { return 0 };
    let Ok(root) = yaml::parse(&text, "") else { return 0 };
    let list = key.split('.').try_fold(&root, |at, name| at.get(name));
    let found = list.and_then(|list| list.items().iter().find(|item| item.scalar().as_deref() == Some(entry)));
    found.map_or(0, |item| item.line)
}

/// Who made a rule, as the newest row of the log that names it says.
fn who(rule: &str, made: &[Record]) -> String {
    let names = |record: &&Record| record.entries.iter().any(|entry| entry == rule);
    match made.iter().find(names) {
        Some(record) if record.scope != "revoked" => format!("you, {}", when(record.at)),
        _ => String::new(),
    }
}

/// Rows of the log that tell of rules, newest first.
pub async fn made(store: &Store) -> Vec<Record> {
    let rows = store.audit_rows(Wanted { limit: LOOKED_AT, ..Wanted::default() }).await;
    let rows = rows.unwrap_or_else(|error| {
        tracing::warn!(%error, "unknown who made the rules");
        Vec::new()
    });
    rows.into_iter().map(|row| row.record).filter(|record| record.kind == Kind::Rule).collect()
}

/// The grants of a session.
pub async fn granted(store: &Store, session: &SessionId) -> Vec<String> {
    let values = store.meta(session).await.unwrap_or_default();
    let grants = values.get("grants").cloned().and_then(|value| serde_json::from_value::<Vec<String>>(value).ok());
    grants.unwrap_or_default()
}

/// Why a rule stays.
#[derive(Debug, thiserror::Error)]
pub enum RevokeError {
    #[error("`{0}` was allowed for this session and ends with it; /new starts one without it")]
    OfSession(String),
    #[error(transparent)]
    File(#[from] ConfigError),
}

/// Takes a rule away from its file, and says so in the log.
///
/// # Errors
/// When it stands in no file, or the file does not have it any more or cannot be written.
pub fn revoke(paths: &Paths, row: &Row, store: &Store) -> Result<String, RevokeError> {
    let Some(file) = &row.file else { return Err(RevokeError::OfSession(row.rule.clone())) };
    match row.sort {
        Sort::Permission => permissions::remove(file, row.line, &row.rule)?,
        Sort::Allowlist => edit::take(file, "command_allowlist", &row.rule)?,
        Sort::Deny => edit::take(file, "approvals.deny", &row.rule)?,
        Sort::Session => {}
    }
    let record = Record {
        at: chrono::Utc::now().timestamp_millis(),
        kind: Kind::Rule,
        by: AuditBy::Person("revoked a rule".into()),
        entries: vec![row.rule.clone()],
        scope: "revoked".into(),
        ..Record::default()
    };
    store.audit(move || record);
    let own = file.starts_with(&paths.home);
    let whose = if own { "" } else { " (a project file)" };
    Ok(format!("`{}: {}` is no longer in {}{whose}", row.rule, row.action, file.display()))
}

/// What is wrong in the files of permissions.
pub fn warnings(loaded: &Loaded) -> Vec<String> {
    let named = |path: &Path| path.file_name().is_some_and(|name| name == permissions::FILE);
    let found = loaded.warnings.iter().filter(|warning| warning.path.as_deref().is_some_and(named));
    found.map(ToString::to_string).collect()
}

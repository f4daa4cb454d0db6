//! The rules that hold here: each with where it stands, how long, and who made it; and taking one back.

use crate::cli::setup;
use crate::config::load::{Loaded, load};
use crate::config::{Paths, edit, permissions, yaml};
use crate::llm::message::SessionId;
use crate::policy::permissions::Layer;
use crate::policy::rule::said;
use crate::store::Store;
use crate::store::audit::{By, Kind, Record, Wanted};
use anyhow::{anyhow, bail};
use chrono::{Local, TimeZone};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Version of the JSON shape.
const VERSION: u32 = 1;
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
        tracing::warn!(%error, "who made the rules is not known");
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

/// Takes a rule away from its file, and says so in the log.
///
/// # Errors
/// Why it stays, in words with a remedy.
pub fn revoke(paths: &Paths, row: &Row, store: &Store) -> anyhow::Result<String> {
    let Some(file) = &row.file else {
        bail!("`{}` was allowed for this session and ends with it; /new begins one without it", row.rule);
    };
    match row.sort {
        Sort::Permission => permissions::remove(file, row.line, &row.rule)?,
        Sort::Allowlist => edit::take(file, "command_allowlist", &row.rule)?,
        Sort::Deny => edit::take(file, "approvals.deny", &row.rule)?,
        Sort::Session => {}
    }
    let record = Record {
        at: chrono::Utc::now().timestamp_millis(),
        kind: Kind::Rule,
        by: By::Person("took a rule back".into()),
        entries: vec![row.rule.clone()],
        scope: "revoked".into(),
        ..Record::default()
    };
    store.audit(move || record);
    let own = file.starts_with(&paths.home);
    let whose = if own { "" } else { " (a file of the project)" };
    Ok(format!("`{}: {}` no longer stands in {}{whose}", row.rule, row.action, file.display()))
}

async fn here(store: &Store) -> anyhow::Result<(Paths, Vec<Row>, Vec<String>)> {
    let base = setup::base(&crate::cli::ChatArgs::default())?;
    let loaded = load(&base.sources);
    let now = chrono::Utc::now().timestamp_millis();
    let rows = collect(&base.paths, &loaded, &[], &made(store).await, now);
    Ok((base.paths, rows, warnings(&loaded)))
}

/// What is wrong in the files of permissions.
pub fn warnings(loaded: &Loaded) -> Vec<String> {
    let named = |path: &Path| path.file_name().is_some_and(|name| name == permissions::FILE);
    let found = loaded.warnings.iter().filter(|warning| warning.path.as_deref().is_some_and(named));
    found.map(ToString::to_string).collect()
}

pub(super) async fn run(as_json: bool, out: &mut impl Write) -> anyhow::Result<i32> {
    let store = Store::spawn(setup::paths()?.home);
    let found = here(&store).await;
    store.close().await;
    let (_, rows, warnings) = found?;
    if as_json {
        let rows: Vec<serde_json::Value> = rows
            .iter()
            .map(|row| {
                json!({
                    "number": row.number, "action": row.action, "rule": row.rule, "scope": row.scope,
                    "file": row.file, "line": row.line, "until": row.until, "expired": row.expired, "who": row.who,
                })
            })
            .collect();
        writeln!(out, "{}", json!({"version": VERSION, "rules": rows, "warnings": warnings}))?;
        return Ok(0);
    }
    if rows.is_empty() {
        writeln!(out, "no rules: what is not harmless is asked about")?;
    }
    for row in &rows {
        let mut parts = vec![row.scope.clone(), row.place()];
        parts.extend(Some(row.end()).filter(|end| !end.is_empty()));
        parts.extend(Some(row.who.clone()).filter(|who| !who.is_empty()));
        writeln!(out, "{:>3}  {:<5}  {}\n            {}", row.number, row.action, row.rule, parts.join(" · "))?;
    }
    for warning in &warnings {
        writeln!(out, "⚠ {warning}")?;
    }
    Ok(0)
}

pub(super) async fn revoke_named(named: &str, out: &mut impl Write) -> anyhow::Result<i32> {
    let store = Store::spawn(setup::paths()?.home);
    let done = async {
        let (paths, rows, _) = here(&store).await?;
        let row = pick(&rows, named)?;
        revoke(&paths, row, &store)
    }
    .await;
    store.close().await;
    writeln!(out, "{}", done?)?;
    Ok(0)
}

/// The rule that is meant: by its number, or as it is written.
fn pick<'a>(rows: &'a [Row], named: &str) -> anyhow::Result<&'a Row> {
    if let Ok(number) = named.parse::<usize>() {
        return rows
            .iter()
            .find(|row| row.number == number)
            .ok_or_else(|| anyhow!("there are {} rules; `hermes approvals rules` lists them", rows.len()));
    }
    let named = named.trim();
    let means = |row: &&Row| row.rule == named || format!("{}: {}", row.rule, row.action) == named;
    match rows.iter().filter(means).collect::<Vec<_>>()[..] {
        [one] => Ok(one),
        [] => {
            bail!("no rule is `{named}`; `hermes approvals rules` lists them. What a session was granted ends with it")
        }
        ref several => {
            let all: Vec<String> = several.iter().map(|row| format!("{} ({})", row.number, row.place())).collect();
            bail!("`{named}` stands in several places: name one by its number: {}", all.join(", "))
        }
    }
}

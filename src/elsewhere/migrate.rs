//! All sessions of Python Hermes brought over: in batches, each either whole or not at all, so that it can be stopped or
//! killed anywhere and goes on where it ended.

use super::hermes_py::{self, Row};
use super::take::{self, ORIGIN};
use super::{Conversation, Found, read};
use crate::policy::redact::Secrets;
use crate::protocol::SessionId;
use crate::store::{Imported, Incoming, SessionChange, Store};
use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Sessions of a batch, and entries that end one early: the store serves others between two batches.
const BATCH: usize = 20;
const ENTRIES: usize = 1_000;
/// Starts of the program that try sessions again which could not be read.
const TRIES: u64 = 3;
/// The file of a home that says that it is done, and the one that keeps a second process out.
const DONE: &str = "imported.json";
const LOCK: &str = "imported.lock";

/// What was brought over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Migrated {
    pub new: u64,
    /// Sessions that were here and got more entries.
    pub extended: u64,
    /// Sessions that were here already.
    pub same: u64,
    /// Sessions of the same id that say something else.
    pub differ: u64,
    pub items: u64,
    /// Sessions that were left out, by kind.
    pub skipped: BTreeMap<String, u64>,
    /// Sessions that could not be read, and why.
    pub failed: Vec<String>,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    pub done: usize,
    pub of: usize,
}

/// Sessions on their way into the store.
#[derive(Clone, Debug)]
pub struct Migration {
    from: From,
}

#[derive(Clone, Debug)]
enum From {
    PythonHermes(PathBuf),
    List(Vec<Found>),
}

impl Migration {
    /// All of this home of a Python Hermes.
    pub fn of_python(home: PathBuf) -> Self {
        Self { from: From::PythonHermes(home) }
    }

    /// These.
    pub fn of(list: Vec<Found>) -> Self {
        Self { from: From::List(list) }
    }

    fn rows(self) -> Result<Vec<Row>, String> {
        match self.from {
            From::PythonHermes(home) => hermes_py::list(&home),
            From::List(list) => Ok(list
                .into_iter()
                .map(|found| {
                    let mark = json!({"changed_at": found.updated_at, "messages": found.messages});
                    Row { found, hidden: None, mark, lineage: Value::Null }
                })
                .collect()),
        }
    }

    /// Brings over what is not here yet; with `dry` nothing is written. What comes back counts every session once.
    pub async fn run(
        &self,
        store: &Store,
        secrets: &Secrets,
        dry: bool,
        mut told: impl FnMut(Progress),
    ) -> Result<Migrated, String> {
        let migration = self.clone();
        let rows = tokio::task::spawn_blocking(move || migration.rows()).await.map_err(|error| error.to_string())??;
        let known = store.facts(ORIGIN).await.map_err(|error| error.to_string())?;
        let mut done = Migrated::default();
        let of = rows.len();
        let mut rows = rows.into_iter().enumerate().peekable();
        while rows.peek().is_some() {
            let (mut batch, mut at) = (Vec::new(), 0);
            while let Some((number, row)) = rows.next_if(|_| batch.len() < BATCH) {
                at = number + 1;
                match row.hidden {
                    Some(kind) => *done.skipped.entry(kind.to_owned()).or_default() += 1,
                    None if is_here(&known, &row) => done.same += 1,
                    None => batch.push(row),
                }
            }
            self.batch(store, secrets, dry, batch, &mut done).await?;
            told(Progress { done: at, of });
        }
        Ok(done)
    }

    async fn batch(
        &self,
        store: &Store,
        secrets: &Secrets,
        dry: bool,
        rows: Vec<Row>,
        done: &mut Migrated,
    ) -> Result<(), String> {
        let held = secrets.clone();
        let work = move || -> Vec<(String, Result<Conversation, String>)> {
            rows.iter().map(|row| (row.found.id.clone(), whole(row, &held))).collect()
        };
        let read = tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string())?;
        let (mut batch, mut entries) = (Vec::new(), 0);
        for (id, conversation) in read {
            match conversation {
                Ok(conversation) => {
                    entries += conversation.items.len();
                    batch.push(take::incoming(&conversation));
                }
                Err(why) => done.failed.push(format!("{id}: {why}")),
            }
            if entries >= ENTRIES {
                entries = 0;
                put(store, std::mem::take(&mut batch), dry, done).await?;
            }
        }
        put(store, batch, dry, done).await
    }
}

async fn put(store: &Store, batch: Vec<Incoming>, dry: bool, done: &mut Migrated) -> Result<(), String> {
    if batch.is_empty() {
        return Ok(());
    }
    if dry {
        for incoming in &batch {
            let there = store.about(&incoming.new.id).await.is_ok();
            (done.new, done.extended) = (done.new + u64::from(!there), done.extended + u64::from(there));
            done.items += incoming.items.len() as u64;
        }
        return Ok(());
    }
    let archived: Vec<Option<SessionId>> = batch.iter().map(archived).collect();
    for (outcome, archived) in store.import(batch).await.map_err(|error| error.to_string())?.into_iter().zip(archived) {
        if let (Imported::New(_), Some(id)) = (outcome, archived) {
            store.change_session(&id, SessionChange::Archived(true)).await.map_err(|error| error.to_string())?;
        }
        match outcome {
            Imported::New(items) => (done.new, done.items) = (done.new + 1, done.items + items as u64),
            Imported::Extended(items) => (done.extended, done.items) = (done.extended + 1, done.items + items as u64),
            Imported::Same => done.same += 1,
            Imported::Differs => done.differ += 1,
        }
    }
    Ok(())
}

/// A session that its person had put away: it is put away here, too.
fn archived(incoming: &Incoming) -> Option<SessionId> {
    let is_so = |(name, value): &(String, Value)| name == ORIGIN && value["lineage"]["archived"] == true;
    incoming.facts.iter().any(is_so).then(|| incoming.new.id.clone())
}

/// Whether all of a session was brought over before.
fn is_here(known: &BTreeMap<SessionId, Value>, row: &Row) -> bool {
    let id = SessionId(row.found.agent.our_id(&row.found.id));
    known.get(&id).is_some_and(|origin| origin["mark"] == row.mark)
}

fn whole(row: &Row, secrets: &Secrets) -> Result<Conversation, String> {
    let mut conversation = read(&row.found, secrets)?;
    conversation.marks.insert("mark".to_owned(), row.mark.clone());
    if !row.lineage.is_null() {
        conversation.marks.insert("lineage".to_owned(), row.lineage.clone());
    }
    Ok(conversation)
}

impl Migrated {
    /// In one line: `142 sessions of Python Hermes brought over (8,120 entries), 3 were here already; …`.
    pub fn line(&self, of: &str, dry: bool) -> String {
        use crate::text::format::{count, plural};
        let verb = if dry { "would be brought over" } else { "brought over" };
        let sessions = plural(self.new, "session", "sessions");
        let mut text = format!("{sessions} of {of} {verb} ({} entries)", count(self.items));
        let more = [
            (self.extended, "got more entries"),
            (self.same, "were here already"),
            (self.differ, "went on in another way here and stay as they are"),
        ];
        for (number, what) in more.into_iter().filter(|(number, _)| *number > 0) {
            text.push_str(&format!("; {} {what}", count(number)));
        }
        for (kind, number) in &self.skipped {
            text.push_str(&format!("; left out: {} {kind}", count(*number)));
        }
        if !self.failed.is_empty() {
            text.push_str(&format!("; {} could not be read", count(self.failed.len() as u64)));
        }
        text
    }
}

/// Whether a home holds sessions of a Python Hermes that were never brought over, or should be tried again.
pub fn waits(home: &Path) -> bool {
    if let Ok(done) = std::fs::read(home.join(DONE)) {
        let done: Value = serde_json::from_slice(&done).unwrap_or_default();
        return done["python_hermes"]["again"] == true;
    }
    hermes_py::database(home).is_some()
        || std::fs::read_dir(home.join("sessions")).is_ok_and(|mut entries| {
            entries
                .any(|entry| entry.is_ok_and(|entry| entry.path().extension().is_some_and(|ending| ending == "jsonl")))
        })
}

/// The migration of a program's first start: in one process at a time, and once. `None`: another does it, or it is done.
pub async fn first(home: &Path, store: &Store, secrets: &Secrets) -> Option<Result<Migrated, String>> {
    if !waits(home) {
        return None;
    }
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).mode(0o600);
    let lock = options.open(home.join(LOCK)).ok()?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive).ok()?;
    if !waits(home) {
        return None;
    }
    let done = Migration::of_python(home.to_owned()).run(store, secrets, false, |_| {}).await;
    if let Ok(done) = &done {
        let at = chrono::Utc::now().to_rfc3339();
        let before = std::fs::read(home.join(DONE)).ok().and_then(|text| serde_json::from_slice::<Value>(&text).ok());
        let tries = before.and_then(|before| before["python_hermes"]["tries"].as_u64()).unwrap_or_default() + 1;
        // Another program may have been writing; what is broken for good is not read at each start for ever.
        let again = !done.failed.is_empty() && tries < TRIES;
        let sessions = done.new + done.extended + done.same;
        let told = json!({"at": at, "sessions": sessions, "failed": done.failed, "tries": tries, "again": again});
        let text = json!({"version": 1, "python_hermes": told});
        if let Err(error) = crate::fs::write_whole(&home.join(DONE), &format!("{text}\n")) {
            tracing::warn!("the import of earlier sessions will be looked at again: {error}");
        }
    }
    Some(done)
}

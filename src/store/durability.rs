//! Durability against power loss, figures, and repair.

pub(super) mod check;
pub(super) mod swap;
pub(super) mod written;

use super::db::Db;
use super::error::StoreError;
use super::open::{self, Found};
use super::{Opened, Repaired, Stats, index, journal, salvage};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Everything committed so far survives a power loss when this returns. Failures are told as the store's trouble: the
/// items themselves are in the operating system's hands.
pub(super) fn sync(db: &mut Db) {
    if db.in_memory {
        return;
    }
    if let Err(error) = journal::sync(db) {
        db.shared.set_journal_trouble(Some(error.to_string()));
    }
    // Not into the database itself: its pages would be written with each turn, and a page is changed by many.
    sync_log(db);
}

/// Moves the log into the database, on the disk. Whether all that was committed survives a power loss now.
pub(super) fn checkpoint(db: &mut Db) -> bool {
    if db.in_memory {
        return true;
    }
    let checkpoint = db.conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
        let (busy, in_log, moved): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(busy == 0 && moved >= in_log)
    });
    // Another process may be at it, or still read an older state; then the log alone is enough.
    matches!(checkpoint, Ok(true)) || sync_log(db)
}

/// Moves the log into the database and empties it, when nobody else reads or writes.
pub(super) fn truncate_log(db: &Db) {
    if let Err(error) = db.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())) {
        tracing::debug!(%error, "the log of the database stays as long as it is");
    }
}

fn sync_log(db: &Db) -> bool {
    let log = beside(&db.path, "-wal");
    match File::open(&log).and_then(|log| log.sync_data()) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            db.shared.set_trouble(Some(StoreError::file("write to the disk", &log, &error).to_string()));
            false
        }
        _ => true,
    }
}

/// The files that SQLite keeps beside a database.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

pub(super) fn stats(db: &Db) -> Result<Stats, StoreError> {
    let mut stats = db.read("count the sessions", |conn| {
        conn.query_row(
            "SELECT count(*), coalesce(sum(item_count), 0), min(started_at), max(updated_at), coalesce(sum(input_tokens), 0),
               coalesce(sum(cached_tokens), 0), coalesce(sum(output_tokens), 0), sum(cost), coalesce(sum(last_turn), 0)
             FROM sessions WHERE item_count > 0",
            [],
            |row| {
                let count = |column| row.get::<_, i64>(column).map(|count| u64::try_from(count).unwrap_or(0));
                Ok(Stats {
                    path: String::new(),
                    bytes: 0,
                    journal_bytes: 0,
                    log_bytes: 0,
                    turns: count(8)?,
                    sessions: count(0)?,
                    items: count(1)?,
                    first_at: row.get(2)?,
                    last_at: row.get(3)?,
                    input: count(4)?,
                    cached: count(5)?,
                    output: count(6)?,
                    cost: row.get(7)?,
                })
            },
        )
    })?;
    (stats.journal_bytes, stats.log_bytes) = written::sums(db)?;
    if db.in_memory {
        stats.path = ":memory:".to_owned();
    } else {
        stats.path = db.path.display().to_string();
        let sizes = [db.path.clone(), beside(&db.path, "-wal")];
        stats.bytes = sizes.iter().filter_map(|path| fs::metadata(path).ok()).map(|about| about.len()).sum();
    }
    Ok(stats)
}

/// Makes everything sound again: journals taken in, counts and search index made anew; damaged and dated databases merged
/// into a fresh one. Nothing is deleted: what is replaced keeps its content under another name.
pub(super) fn repair(db: &mut Db) -> Result<Repaired, StoreError> {
    let mut report = Repaired::default();
    if db.in_memory {
        report.done.push("sessions are in memory only: make the home writable and start again".to_owned());
        return Ok(report);
    }
    let sources = sources(db);
    let sound = is_sound(db);
    if sound && sources == [db.path.clone()] && db.path == primary(&db.home) {
        from_journals(db, &mut report);
        recount(db)?;
        if !index::is_sound(db) {
            index::rebuild(db)?;
            report.done.push("rebuilt the search index".to_owned());
        }
        index::catch_up(db)?;
        check::repaired(db);
        report.done.push(format!("{} is intact", db.path.display()));
        return Ok(report);
    }
    merge(db, &sources, &mut report)?;
    from_journals(db, &mut report);
    recount(db)?;
    index::rebuild(db)?;
    check::repaired(db);
    Ok(report)
}

fn from_journals(db: &mut Db, report: &mut Repaired) {
    let taken = journal::take_in::all(db);
    if taken.items > 0 {
        report.done.push(format!("recovered {} items from the journal", taken.items));
    }
    if taken.damaged > 0 {
        report.done.push(format!("the journal is damaged in {} places; the rest was read", taken.damaged));
    }
}

/// Where the sessions belong.
pub(super) fn primary(home: &Path) -> PathBuf {
    let usual = home.join(open::PRIMARY);
    match open::look(&usual) {
        Found::Nothing | Found::Ours => usual,
        Found::Foreign | Found::Unreadable(_) => home.join(open::SECOND),
    }
}

/// Every database of ours in the home, the one in use first.
fn sources(db: &Db) -> Vec<PathBuf> {
    let mut found = vec![db.path.clone()];
    // The last one is left where a repair was cut off.
    let named = [open::PRIMARY, open::SECOND, swap::WHOLE].map(|name| db.home.join(name));
    for path in named.into_iter().chain(open::dated(&db.home)) {
        if !found.contains(&path) && open::look(&path) == Found::Ours {
            found.push(path);
        }
    }
    found
}

fn is_sound(db: &Db) -> bool {
    let answer = db.conn.query_row("PRAGMA integrity_check(1)", [], |row| row.get::<_, String>(0));
    answer.is_ok_and(|text| text == "ok" || index::is_named_in(&text))
}

/// What is derived from the items, from the items.
fn recount(db: &mut Db) -> Result<(), StoreError> {
    db.write("count the items", |tx| {
        tx.execute_batch(
            "UPDATE sessions SET
               item_count = (SELECT count(*) FROM items i WHERE i.session = sessions.key),
               updated_at = max(updated_at, coalesce((SELECT max(at) FROM items i WHERE i.session = sessions.key), 0)),
               last_item = coalesce((SELECT max(id) FROM items i WHERE i.session = sessions.key), 0),
               last_turn = coalesce((SELECT max(turn) FROM items i WHERE i.session = sessions.key), 0),
               message_count = (SELECT count(*) FROM items i WHERE i.session = sessions.key AND i.role IN ('user', 'assistant')),
               tool_call_count = (SELECT count(*) FROM items i WHERE i.session = sessions.key AND i.role = 'tool')",
        )
    })
}

/// Puts what all sources hold into a fresh database, which then takes the place of the first.
fn merge(db: &mut Db, sources: &[PathBuf], report: &mut Repaired) -> Result<(), StoreError> {
    let doing = "repair";
    // Leaving WAL needs the database alone: a program that still writes would write into a file that is moved away.
    let alone = db.conn.query_row("PRAGMA journal_mode = DELETE", [], |row| row.get::<_, String>(0));
    if let Err(error) = &alone
        && super::error::is_busy(error)
    {
        return Err(db.fault("repair while another hermes has it open", error));
    }
    let stamp = chrono::Local::now().format("%Y%m%d-%H%M%S").to_string();
    let fresh_path = db.home.join(format!("repair-{stamp}.tmp"));
    let mut fresh = open::fresh(&fresh_path).map_err(|why| place(doing, &fresh_path, why))?;
    for source in sources {
        let saved = salvage::copy(source, &db.home, &mut fresh)?;
        report.done.push(format!(
            "{}: recovered {} sessions and {} items, {} rows unreadable",
            source.display(),
            saved.sessions,
            saved.items,
            saved.unreadable
        ));
    }
    swap::seal(fresh, &fresh_path).map_err(|why| place(doing, &fresh_path, why))?;
    // The old connection goes before its file gets another name.
    let none = rusqlite::Connection::open_in_memory().map_err(|error| db.fault(doing, &error))?;
    drop(std::mem::replace(&mut db.conn, none));
    let target = primary(&db.home);
    let steps = swap::steps(&db.home, &fresh_path, sources, &target, &stamp);
    let done = steps.iter().try_for_each(|step| swap::run(&db.home, step));
    let synced = done.and_then(|()| File::open(&db.home)?.sync_all());
    // Whatever became of it, the program goes on with what stands there now.
    let Opened { path, warning } = reopen(db).map_err(|error| db.fault(doing, &error))?;
    synced.map_err(|error| StoreError::file(doing, &target, &error))?;
    report.kept.extend(sources.iter().map(|source| swap::kept(source, &stamp).display().to_string()));
    report.done.push(format!("sessions are in {path}{}", warning.map(|text| format!(" ({text})")).unwrap_or_default()));
    Ok(())
}

/// Opens the sessions of the home again. What waits to be saved still does.
fn reopen(db: &mut Db) -> rusqlite::Result<Opened> {
    let (mut again, opened) = open::open(&db.home, db.shared.clone())?;
    again.journal = std::mem::take(&mut db.journal);
    again.pending = std::mem::take(&mut db.pending);
    again.pending.forget_known();
    *db = again;
    Ok(opened)
}

fn place(doing: &'static str, path: &Path, reason: String) -> StoreError {
    let remedy = "free some space or make the folder writable";
    StoreError::File { doing, path: path.display().to_string(), reason, remedy }
}

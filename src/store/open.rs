//! Which file holds the sessions, and how it is opened: never one that another program wrote, never over a damaged one.

pub(super) mod backup;

use super::actor::Shared;
use super::db::{BUSY, Db, birth, immediate};
use super::error::{is_busy, is_damage, reason};
use super::{Opened, schema};
use rusqlite::{Connection, OpenFlags};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The usual name.
pub(super) const PRIMARY: &str = "state.db";
/// The name when another program has the usual one.
pub(super) const SECOND: &str = "hermes.db";
/// A database with more than this is not copied into memory when the home is read-only.
const COPY_LIMIT: u64 = 64 << 20;

/// What stands at a path, judged by the first 100 bytes, without SQLite.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    Ours,
    /// Another program's, or too damaged to tell.
    Foreign,
    Unreadable(String),
}

pub(super) fn look(path: &Path) -> Found {
    let mut head = Vec::with_capacity(100);
    match File::open(path).and_then(|file| file.take(100).read_to_end(&mut head)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Found::Nothing,
        Err(error) => Found::Unreadable(error.to_string().to_lowercase()),
        Ok(0) => Found::Nothing,
        Ok(_) => {
            let id = head.get(68..72).and_then(|bytes| bytes.try_into().ok()).map(i32::from_be_bytes);
            let ours = head.starts_with(b"SQLite format 3\0") && id == Some(schema::APPLICATION_ID);
            if ours { Found::Ours } else { Found::Foreign }
        }
    }
}

/// Why a database of ours can't be used.
enum Refused {
    Damaged(String),
    Newer(i64),
    /// The place, not the content: read-only, full, locked.
    Place(String),
}

impl From<rusqlite::Error> for Refused {
    fn from(error: rusqlite::Error) -> Self {
        let text = reason(&error);
        if is_damage(&error) { Self::Damaged(text) } else { Self::Place(text) }
    }
}

impl From<std::io::Error> for Refused {
    fn from(error: std::io::Error) -> Self {
        Self::Place(error.to_string().to_lowercase())
    }
}

/// Opens the sessions of a home. When no file can be used the sessions are kept in memory; the only error is SQLite
/// refusing even that.
pub(super) fn open(home: &Path, shared: Arc<Shared>) -> rusqlite::Result<(Db, Opened)> {
    let pid = i64::from(std::process::id());
    let whole = |conn, path: PathBuf, in_memory, shared| Db {
        conn,
        path,
        home: home.to_owned(),
        in_memory,
        unindexed: true,
        journal: Default::default(),
        pending: Default::default(),
        tries: super::db::TRIES,
        is_locked: false,
        shared,
        pid,
        born: birth(pid).unwrap_or(0),
    };
    let mut notes = Vec::new();
    match find(home, &mut notes) {
        Ok((mut conn, path)) => {
            super::durability::written::follow(&mut conn, shared.clone())?;
            let shown = path.display().to_string();
            let warning = (!notes.is_empty()).then(|| notes.join("; "));
            Ok((whole(conn, path, false, shared), Opened { path: shown, warning }))
        }
        Err((path, why)) => {
            let conn = memory(&path, &mut notes)?;
            let place = path.display();
            notes.insert(
                0,
                format!("sessions are not saved: {place}: {why}; free some space or make the folder writable, then start again"),
            );
            let opened = Opened { path: ":memory:".to_owned(), warning: Some(notes.join("; ")) };
            Ok((whole(conn, path, true, shared), opened))
        }
    }
}

/// The first usable file: `state.db`, `hermes.db` beside another program's, a dated one beside a damaged one.
fn find(home: &Path, notes: &mut Vec<String>) -> Result<(Connection, PathBuf), (PathBuf, String)> {
    if let Err(error) = DirBuilder::new().recursive(true).mode(0o700).create(home) {
        return Err((home.to_owned(), error.to_string().to_lowercase()));
    }
    super::durability::swap::finish(home);
    let mut path = home.join(PRIMARY);
    if let Found::Foreign | Found::Unreadable(_) = look(&path) {
        let second = home.join(SECOND);
        // Said when the second file is made: afterwards it is no news.
        if !second.exists() {
            notes.push(format!(
                "{} belongs to another program; sessions are saved next to it in {SECOND}",
                path.display()
            ));
        }
        path = second;
    }
    let is_new = look(&path) == Found::Nothing;
    match attempt(&path) {
        Ok(conn) => {
            let journals = if is_new { super::journal::orphans(home) } else { 0 };
            if journals > 0 {
                notes.push(format!(
                    "{} is new, but there are journals of {journals} sessions: bring them back with `hermes sessions repair`",
                    path.display()
                ));
            }
            return Ok((conn, path));
        }
        Err(Refused::Place(why)) => return Err((path, why)),
        Err(refused) => notes.push(refusal_text(&path, &refused)),
    }
    for spare in spares(home) {
        match attempt(&spare) {
            Ok(conn) => {
                notes.push(format!("sessions are saved in {}", spare.display()));
                return Ok((conn, spare));
            }
            Err(Refused::Place(why)) => return Err((spare, why)),
            Err(refused) => notes.push(refusal_text(&spare, &refused)),
        }
    }
    Err((path, "no free name for a new database".to_owned()))
}

fn refusal_text(path: &Path, refused: &Refused) -> String {
    let path = path.display();
    match refused {
        Refused::Damaged(why) => {
            format!("{path} is damaged ({why}); recover it with `hermes sessions repair`")
        }
        Refused::Newer(version) => format!("{path} has schema {version} from a newer hermes: update this one"),
        Refused::Place(why) => format!("{path}: {why}"),
    }
}

/// Dated databases that exist, newest first, then new ones for today.
fn spares(home: &Path) -> Vec<PathBuf> {
    let mut found = dated(home);
    let today = chrono::Local::now().format("%Y%m%d");
    let first = home.join(format!("hermes-{today}.db"));
    let more = (2..10).map(|number| home.join(format!("hermes-{today}-{number}.db")));
    for path in std::iter::once(first).chain(more) {
        if !found.contains(&path) {
            found.push(path);
        }
    }
    found
}

/// `hermes-DATE.db` files of a home, newest first.
pub(super) fn dated(home: &Path) -> Vec<PathBuf> {
    let names =
        fs::read_dir(home).into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<_> = names.filter(|name| name.starts_with("hermes-") && name.ends_with(".db")).collect();
    names.sort_unstable_by(|a, b| b.cmp(a));
    names.into_iter().map(|name| home.join(name)).collect()
}

/// Opens or creates one database of ours.
fn attempt(path: &Path) -> Result<Connection, Refused> {
    match look(path) {
        Found::Ours => {}
        Found::Nothing => {
            OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
        }
        Found::Foreign => return Err(Refused::Damaged("not a database of this program".to_owned())),
        Found::Unreadable(why) => return Err(Refused::Place(why)),
    }
    let mode = fs::metadata(path)?.permissions().mode();
    if mode & 0o077 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    }
    prepare(path)
}

/// Connects, migrates, and probes what every start needs; never reads a whole table.
pub(super) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(BUSY)?;
    conn.set_prepared_statement_cache_capacity(64);
    Ok(conn)
}

/// A new database for a repair; the error in words.
pub(super) fn fresh(path: &Path) -> Result<Connection, String> {
    attempt(path).map_err(|refused| refusal_text(path, &refused))
}

fn prepare(path: &Path) -> Result<Connection, Refused> {
    let mut conn = connect(path)?;
    if conn.is_readonly("main")? {
        return Err(Refused::Place("the file is read-only".to_owned()));
    }
    let version = patiently(|| schema::version(&conn))?;
    if version > schema::VERSION {
        return Err(Refused::Newer(version));
    }
    if version < schema::VERSION {
        if version > 0 {
            // Without room for the copy nothing is changed: the sessions are more than the new version.
            let copy = backup::before_migration(&conn, path, version)?;
            tracing::info!(copy = %copy.display(), from = version, to = schema::VERSION, "the database was copied before its schema changed");
        }
        immediate(&mut conn, schema::migrate)?;
    }
    let mode: String = patiently(|| conn.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)))?;
    tune(&conn, mode.eq_ignore_ascii_case("wal"))?;
    conn.query_row("SELECT value FROM state WHERE name = 'indexed'", [], |row| row.get::<_, i64>(0))?;
    conn.query_row("SELECT count(*) FROM (SELECT key FROM sessions ORDER BY key DESC LIMIT 1)", [], |_| Ok(()))?;
    conn.query_row("SELECT count(*) FROM (SELECT key FROM items ORDER BY key DESC LIMIT 1)", [], |_| Ok(()))?;
    Ok(conn)
}

/// In WAL a commit survives the program's death without an fsync; some file systems have no WAL and pay for each commit.
fn tune(conn: &Connection, wal: bool) -> rusqlite::Result<()> {
    conn.pragma_update(None, "synchronous", if wal { "NORMAL" } else { "FULL" })?;
    conn.pragma_update(None, "wal_autocheckpoint", 4000)?;
    conn.pragma_update(None, "journal_size_limit", 8 << 20)?;
    conn.pragma_update(None, "foreign_keys", true)
}

/// What can meet another process's lock outside a transaction of ours.
fn patiently<T>(work: impl Fn() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    for _ in 0..40 {
        match work() {
            Err(error) if is_busy(&error) => std::thread::sleep(Duration::from_millis(fastrand::u64(20..100))),
            done => return done,
        }
    }
    work()
}

/// A database that lives as long as the program, with what the file at `path` holds when it can be read.
pub(super) fn memory(path: &Path, notes: &mut Vec<String>) -> rusqlite::Result<Connection> {
    let mut conn = Connection::open_in_memory()?;
    immediate(&mut conn, schema::migrate)?;
    conn.pragma_update(None, "foreign_keys", true)?;
    if look(path) == Found::Ours {
        let small = fs::metadata(path).is_ok_and(|about| about.len() <= COPY_LIMIT);
        let copied = if small { copy_from(&mut conn, path) } else { Ok(false) };
        if !matches!(copied, Ok(true)) {
            notes.push("cannot show earlier sessions".to_owned());
        }
    }
    Ok(conn)
}

/// Tables in the order that references need.
const TABLES: &[&str] = &[
    "sessions",
    "items",
    "partials",
    "prompts",
    "session_meta",
    "drafts",
    "history",
    "changes",
    "commands",
    "rewinds",
    "rewind_files",
    "audit",
    "usage",
    "session_summaries",
    "lineage",
    "learnings",
];

/// Copies every table of a database that must not be written to; `false` when its schema is another.
fn copy_from(conn: &mut Connection, path: &Path) -> rusqlite::Result<bool> {
    // `immutable` reads without a lock file, which a read-only folder could not take.
    let escaped = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    conn.execute("ATTACH ?1 AS old", [format!("file:{escaped}?mode=ro&immutable=1")])?;
    let version: i64 = conn.pragma_query_value(Some("old"), "user_version", |row| row.get(0))?;
    let same = version == schema::VERSION;
    if same {
        immediate(conn, |tx| {
            for table in TABLES {
                tx.execute(&format!("INSERT INTO main.{table} SELECT * FROM old.{table}"), [])?;
            }
            Ok(())
        })?;
    }
    conn.execute("DETACH old", [])?;
    Ok(same)
}

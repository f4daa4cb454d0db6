//! What an undo needs of a damaged database: commands, what they and file tools changed, and what was rewound.

use super::{Keys, each, rest};
use rusqlite::types::Value;
use rusqlite::{Row, Transaction};
use std::collections::HashMap;

/// Rewinds and commands of the old database by their keys in the new one.
#[derive(Default)]
pub(super) struct Moved {
    rewinds: HashMap<i64, i64>,
    commands: HashMap<i64, i64>,
}

impl Moved {
    /// What stands in place of the number of a rewind: one that did not come over can't be redone, and what it left out
    /// stays out.
    pub fn rewind(&self, number: i64) -> i64 {
        if number <= 0 { number } else { self.rewinds.get(&number).copied().unwrap_or(-1) }
    }
}

/// The value of a column that older schemas lack.
fn value(row: &Row<'_>, name: &str) -> rusqlite::Result<Value> {
    match row.as_ref().column_index(name) {
        Ok(column) => row.get(column),
        Err(_) => Ok(Value::Null),
    }
}

fn values(row: &Row<'_>, names: &[&str]) -> rusqlite::Result<Vec<Value>> {
    names.iter().map(|name| value(row, name)).collect()
}

/// Writes a row whose first values are its key and its session. The key of before when that is free. Returns its key.
fn put(tx: &Transaction<'_>, table: &str, columns: &[&str], key: i64, rest: Vec<Value>) -> rusqlite::Result<i64> {
    let taken: bool =
        tx.query_row(&format!("SELECT EXISTS (SELECT 1 FROM {table} WHERE key = ?1)"), [key], |row| row.get(0))?;
    let marks: Vec<String> = (1..=rest.len() + 1).map(|at| format!("?{at}")).collect();
    let sql = format!("INSERT INTO {table} (key, {}) VALUES ({})", columns.join(", "), marks.join(", "));
    let all = std::iter::once(if taken { Value::Null } else { Value::Integer(key) }).chain(rest);
    tx.prepare_cached(&sql)?.execute(rusqlite::params_from_iter(all))?;
    Ok(tx.last_insert_rowid())
}

/// Rewinds and commands, before the items and changes that name them. Returns how many rows can't be read.
pub(super) fn marks(keys: &mut Keys<'_>, has: impl Fn(&str) -> bool, moved: &mut Moved) -> rusqlite::Result<u64> {
    let (old, tx) = (keys.old, keys.tx);
    let mut unreadable = 0;
    if has("SELECT 1 FROM commands") {
        unreadable += each(old, "commands", |row| {
            let key: i64 = row.get("key")?;
            let session = keys.new_key(row.get("session")?, row.get("at")?)?;
            let columns = ["turn", "at", "call", "line", "gaps"];
            let mut rest = values(row, &columns)?;
            let sql = "SELECT key FROM commands WHERE session = ?1 AND at = ?2 AND call = ?3 AND line = ?4";
            let same = (session, &rest[1], &rest[2], &rest[3]);
            let known = rusqlite::OptionalExtension::optional(tx.query_row(sql, same, |row| row.get(0)))?;
            rest.insert(0, Value::Integer(session));
            rest.push(match value(row, "running")? {
                Value::Integer(running) => Value::Integer(running),
                _ => Value::Integer(0),
            });
            rest.push(value(row, "base")?);
            let columns = ["session", "turn", "at", "call", "line", "gaps", "running", "base"];
            let new = known.map_or_else(|| put(tx, "commands", &columns, key, rest), Ok)?;
            moved.commands.insert(key, new);
            Ok(())
        })?;
    }
    if !has("SELECT 1 FROM rewinds") {
        return Ok(unreadable);
    }
    unreadable += each(old, "rewinds", |row| {
        let (key, at): (i64, i64) = (row.get("key")?, row.get("at")?);
        let session = keys.new_key(row.get("session")?, at)?;
        let known = rusqlite::OptionalExtension::optional(tx.query_row(
            "SELECT key FROM rewinds WHERE session = ?1 AND at = ?2 AND item = ?3",
            (session, at, value(row, "item")?),
            |row| row.get(0),
        ))?;
        if let Some(known) = known {
            moved.rewinds.insert(key, known);
            return Ok(());
        }
        let columns = ["session", "at", "item", "conversation", "last_item", "context_from", "command", "redone"];
        let mut rest = values(row, &columns)?;
        rest[0] = Value::Integer(session);
        // Zero and less name no command: the way back of a checkpoint.
        if let Value::Integer(command @ 1..) = rest[6] {
            // Without its command nobody knows what was undone.
            let Some(command) = moved.commands.get(&command) else { return Ok(()) };
            rest[6] = Value::Integer(*command);
        }
        if rest[7] == Value::Null {
            rest[7] = Value::Integer(0);
        }
        moved.rewinds.insert(key, put(tx, "rewinds", &columns, key, rest)?);
        Ok(())
    })?;
    let place = if has("SELECT place FROM rewind_files") { "place" } else { "''" };
    let sql = format!("SELECT rewind, path, was, was_mode, became, became_mode, {place} FROM rewind_files");
    unreadable += rest(old, &sql, |row| {
        let mut values: Vec<Value> = (0..7).map(|at| row.get(at)).collect::<rusqlite::Result<_>>()?;
        let Some(rewind) = moved.rewinds.get(&row.get(0)?) else { return Ok(()) };
        values[0] = Value::Integer(*rewind);
        let sql = "INSERT OR IGNORE INTO rewind_files (rewind, path, was, was_mode, became, became_mode, place)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        tx.prepare_cached(sql)?.execute(rusqlite::params_from_iter(values)).map(drop)
    })?;
    Ok(unreadable)
}

/// What tools and commands changed. What was undone by a rewind that did not come over is over for good. Returns how many
/// rows can't be read.
pub(super) fn changes(keys: &mut Keys<'_>, moved: &Moved) -> rusqlite::Result<u64> {
    let (old, tx) = (keys.old, keys.tx);
    each(old, "changes", |row| {
        let columns = ["turn", "at", "call", "path", "before", "mode", "size", "after", "place", "after_mode"];
        let mut all = values(row, &columns)?;
        if all[8] == Value::Null {
            all[8] = Value::Text(String::new());
        }
        let command = match value(row, "command")? {
            Value::Integer(command) => moved.commands.get(&command).map_or(Value::Null, |key| Value::Integer(*key)),
            _ => Value::Null,
        };
        let undone = moved.rewind(row.get("undone")?);
        if undone < 0 {
            return Ok(());
        }
        let session = keys.new_key(row.get("session")?, row.get("at")?)?;
        all.extend([command, Value::Integer(undone), Value::Integer(session)]);
        let sql = "INSERT INTO changes (turn, at, call, path, before, mode, size, after, place, after_mode, command, undone, session)
             SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13
             WHERE NOT EXISTS (SELECT 1 FROM changes WHERE session = ?13 AND at = ?2 AND call = ?3 AND path = ?4 AND place = ?9
               AND before IS ?5 AND after IS ?8)";
        tx.prepare_cached(sql)?.execute(rusqlite::params_from_iter(all)).map(drop)
    })
}

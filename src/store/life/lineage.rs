//! Forks: a session with the conversation of another one up to some point, and the tree that they make.

use crate::protocol::{ItemId, SessionId};
use crate::store::error::StoreError;
use crate::store::rewind::{read, settled};
use crate::store::{SessionRow, Store, commands, journal, sanitize_title, sessions, title};
use rusqlite::{Connection, OptionalExtension, Transaction};

/// Sessions of a tree, and forks of forks, that are looked at.
const LARGEST: usize = 200;
const DEEPEST: usize = 32;

/// A session in a tree of forks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Branch {
    pub row: SessionRow,
    /// 0: the root.
    pub depth: usize,
    /// The turn of its parent that it goes on from; 0: from the beginning.
    pub turn: u32,
}

/// The first entry that a fork does not have, with its turn: a prompt stays behind with what follows it, at any other entry
/// its turn comes along to its end. `None`: all comes along.
fn end(conn: &Connection, key: i64, at: ItemId) -> rusqlite::Result<Option<(i64, u32)>> {
    // What was told while a turn ran belongs to it.
    conn.prepare_cached(
        "SELECT id, turn FROM items WHERE session = ?1 AND id >= ?2 AND role = 'user' AND rewound = 0
           AND json_valid(body) AND coalesce(body ->> '$.origin', 'person') = 'person' ORDER BY id LIMIT 1",
    )?
    .query_row((key, at.0), |row| Ok((row.get(0)?, row.get(1)?)))
    .optional()
}

/// Copies what is in the conversation, its prompt, plan and effort. Grants stay with the session they were given in,
/// and tokens with the one that they were spent in.
fn fork(
    tx: &Transaction<'_>,
    key: i64,
    id: &SessionId,
    until: Option<ItemId>,
    at: i64,
) -> rusqlite::Result<Option<String>> {
    let end = until.map(|until| end(tx, key, until)).transpose()?.flatten();
    let (end, end_turn) = end.unwrap_or((i64::MAX, u32::MAX));
    tx.execute(
        "INSERT INTO sessions (id, source, cwd, model, preview, started_at, updated_at, item_count, last_item, last_turn,
           context_from, branch, parent, tags, message_count, tool_call_count)
         SELECT ?2, source, cwd, model, preview, ?3, ?3, count(i.key), coalesce(max(i.id), 0), coalesce(max(i.turn), 0),
           context_from, branch, ?1, tags, count(*) FILTER (WHERE i.role IN ('user', 'assistant')),
           count(*) FILTER (WHERE i.role = 'tool')
         FROM sessions s LEFT JOIN items i ON i.session = s.key AND i.rewound = 0 AND i.id < ?4 WHERE s.key = ?1",
        (key, &id.0, at, end),
    )?;
    let copy = tx.last_insert_rowid();
    tx.execute(
        "INSERT INTO items (session, id, at, turn, role, cjk, body)
         SELECT ?2, id, at, turn, role, cjk, body FROM items WHERE session = ?1 AND rewound = 0 AND id < ?3 ORDER BY id",
        (key, copy, end),
    )?;
    tx.execute("INSERT INTO prompts (session, text) SELECT ?2, text FROM prompts WHERE session = ?1", (key, copy))?;
    // An earlier plan is read from the entries; what was granted, or raised of a budget, holds in
    // that session only, and its children tell it what they did.
    tx.execute(
        "INSERT INTO session_meta (session, name, value)
         SELECT ?2, name, value FROM session_meta
         WHERE session = ?1 AND name NOT IN ('grants', 'budget', 'children')
           AND (?3 = 9223372036854775807 OR name <> 'plan')",
        (key, copy, end),
    )?;
    commands::copy(tx, key, copy, end_turn)?;
    tx.execute(
        // Numbers of turns that were rewound are not given again.
        "INSERT INTO lineage (session, parent, item, turn, at)
         SELECT key, ?2, last_item,
           (SELECT count(DISTINCT turn) FROM items WHERE items.session = sessions.key AND role = 'user'), ?3
         FROM sessions WHERE key = ?1",
        (copy, key, at),
    )?;
    let (name, preview): (Option<String>, String) =
        tx.query_row("SELECT title, preview FROM sessions WHERE key = ?1", [key], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    let name = name.unwrap_or(preview);
    // A fork of a fork is a fork: the number tells them apart.
    let name = name.rsplit_once(" (fork)").map_or(name.as_str(), |(base, _)| base);
    let room = crate::store::TITLE_CHARS - " (fork)".len();
    let base: String = name.chars().take(room).collect();
    let Some(named) = sanitize_title(&format!("{} (fork)", base.trim_end())) else { return Ok(None) };
    let named = title::unique(tx, copy, &named)?;
    tx.execute("UPDATE sessions SET title = ?2 WHERE key = ?1", (copy, &named))?;
    Ok(Some(named))
}

/// The sessions that this one was forked from and all their forks, each after its parent, the oldest first.
pub(in crate::store) fn tree(conn: &Connection, key: i64) -> rusqlite::Result<Vec<Branch>> {
    let mut above = conn.prepare_cached("SELECT parent FROM lineage WHERE session = ?1 AND parent IS NOT NULL")?;
    let mut root = key;
    for _ in 0..DEEPEST {
        match above.query_row([root], |row| row.get(0)).optional()? {
            Some(parent) => root = parent,
            None => break,
        }
    }
    let mut one = conn.prepare_cached(&format!("SELECT {} FROM sessions s WHERE s.key = ?1", sessions::COLUMNS))?;
    let mut below =
        conn.prepare_cached("SELECT session, turn FROM lineage WHERE parent = ?1 ORDER BY at DESC, session DESC")?;
    let mut found = Vec::new();
    let mut open = vec![(root, 0, 0)];
    while let Some((key, depth, turn)) = open.pop() {
        found.push(Branch { row: one.query_row([key], sessions::row)?, depth, turn });
        if found.len() == LARGEST {
            break;
        }
        if depth < DEEPEST {
            let forks = below.query_map([key], |row| Ok((row.get(0)?, depth + 1, row.get(1)?)))?;
            open.extend(forks.collect::<rusqlite::Result<Vec<_>>>()?);
        }
    }
    Ok(found)
}

impl Store {
    /// A new session with the conversation of this one and the same system prompt; returns its title. `until`: a prompt that
    /// stays behind with what follows it, or another entry, whose turn comes along to its end.
    pub async fn fork(
        &self,
        session: &SessionId,
        new: &SessionId,
        until: Option<ItemId>,
    ) -> Result<Option<String>, StoreError> {
        let (session, new) = (session.clone(), new.clone());
        self.ask(move |db| {
            settled(db)?;
            let work = |tx: &Transaction<'_>, key| fork(tx, key, &new, until, crate::store::now());
            let title = sessions::change(db, "fork the session", &session, work);
            db.unindexed = true;
            if title.is_ok() {
                journal::follow(db, &new, &[]);
            }
            title
        })
        .await
    }

    /// A session works for another one: what it spends is spent there, too.
    pub async fn adopt(&self, child: &SessionId, parent: &SessionId) -> Result<(), StoreError> {
        let (child, parent) = (child.clone(), parent.clone());
        self.ask(move |db| {
            db.write("note whose child a session is", |tx| {
                let sql = "UPDATE sessions SET parent = (SELECT key FROM sessions WHERE id = ?2) WHERE id = ?1";
                tx.prepare_cached(sql)?.execute((&child.0, &parent.0)).map(drop)
            })
        })
        .await
    }

    /// The tree of forks that a session is in, each after its parent; only itself when it has no relatives.
    pub async fn tree(&self, session: &SessionId) -> Result<Vec<Branch>, StoreError> {
        let session = session.clone();
        self.ask(move |db| read(db, &session, tree)).await
    }
}

//! What sessions say in short: one summary each, with words to find it by.

use super::{Spent, spend};
use crate::protocol::{ItemId, SessionId};
use crate::store::error::StoreError;
use crate::store::filter::Filter;
use crate::store::sessions::{self, like_escaped};
use crate::store::{SearchHit, SessionRow, Store};
use rusqlite::{Connection, OptionalExtension, ToSql};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// Hits that a list of hits takes from summaries.
const HITS: usize = 5;

/// What a session says in short.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    pub text: String,
    pub keywords: Vec<String>,
    /// `extract`, or the `PROVIDER:MODEL` that wrote it.
    pub by: String,
    /// The last item that it knows.
    pub upto: ItemId,
}

impl Summary {
    /// The word in place of a model.
    pub const EXTRACT: &str = "extract";
}

/// What the summaries are asked for.
pub(in crate::store) enum Asked<'a> {
    /// An FTS5 expression.
    Words(&'a str),
    /// Substrings; any of them or all.
    Parts { words: &'a [String], any: bool },
}

/// Sessions whose summary holds what is asked for, best or newest first. None where entries are asked for.
pub(in crate::store) fn rows(
    conn: &Connection,
    asked: &Asked<'_>,
    filter: &Filter,
    limit: usize,
) -> rusqlite::Result<Vec<SessionRow>> {
    Ok(find(conn, asked, filter, limit)?.into_iter().map(|(row, ..)| row).collect())
}

/// The same as hits, for sessions that are not among `known`. The last entry that a summary knows stands for it.
pub(in crate::store) fn hits(
    conn: &Connection,
    asked: &Asked<'_>,
    filter: &Filter,
    known: &[SearchHit],
) -> rusqlite::Result<Vec<SearchHit>> {
    let known: HashSet<&str> = known.iter().map(|hit| hit.session.id.as_str()).collect();
    let found = find(conn, asked, filter, known.len() + HITS)?;
    let fresh = found.into_iter().filter(|(row, ..)| !known.contains(row.id.as_str())).take(HITS);
    Ok(fresh.map(|(session, item, at)| SearchHit { session, item, role: "summary".to_owned(), at }).collect())
}

fn find(
    conn: &Connection,
    asked: &Asked<'_>,
    filter: &Filter,
    limit: usize,
) -> rusqlite::Result<Vec<(SessionRow, ItemId, i64)>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let fts: &str;
    let patterns: Vec<String>;
    let mut values: Vec<&dyn ToSql> = vec![&limit];
    let (from, test, order, snippet) = match asked {
        Asked::Words(words) => {
            fts = words;
            values.push(&fts);
            let snippet = "snippet(summary_words, -1, '>>>', '<<<', '…', 40)";
            (
                "summary_words JOIN session_summaries m ON m.session = summary_words.rowid",
                "summary_words MATCH ?2".to_owned(),
                "summary_words.rank",
                snippet,
            )
        }
        Asked::Parts { words, any } => {
            patterns = words.iter().map(|word| format!("%{}%", like_escaped(word))).collect();
            values.extend(patterns.iter().map(|pattern| pattern as &dyn ToSql));
            let tests: Vec<String> = (2..patterns.len() + 2)
                .map(|at| format!("m.summary || ' ' || m.keywords LIKE ?{at} ESCAPE '\\'"))
                .collect();
            let test = format!("({})", tests.join(if *any { " OR " } else { " AND " }));
            ("session_summaries m", test, "s.updated_at DESC", "m.summary")
        }
    };
    let Some(conditions) = filter.of_whole_sessions(values.len() + 1) else { return Ok(Vec::new()) };
    values.extend(conditions.values.iter().map(|value| value as &dyn ToSql));
    let conditions = conditions.sql();
    let sql = format!(
        "SELECT {}, m.upto, m.created_at, {snippet} FROM {from} JOIN sessions s ON s.key = m.session
         WHERE {test} AND {conditions} ORDER BY {order}, s.key DESC LIMIT ?1",
        sessions::COLUMNS
    );
    let read = |row: &rusqlite::Row<'_>| {
        let mut session = sessions::row(row)?;
        session.snippet = Some(row.get(sessions::COLUMN_COUNT + 2)?);
        Ok((session, ItemId(row.get(sessions::COLUMN_COUNT)?), row.get(sessions::COLUMN_COUNT + 1)?))
    };
    conn.prepare_cached(&sql)?.query_map(values.as_slice(), read)?.collect()
}

impl Store {
    /// What a session says in short.
    pub async fn summary(&self, session: &SessionId) -> Result<Option<Summary>, StoreError> {
        let session = session.clone();
        self.ask(move |db| {
            db.read("read the summary", |conn| {
                let sql = "SELECT m.summary, m.keywords, m.by, m.upto FROM session_summaries m
                           JOIN sessions s ON s.key = m.session WHERE s.id = ?1";
                let read = |row: &rusqlite::Row<'_>| {
                    let keywords: String = row.get(1)?;
                    let keywords = keywords.split(", ").filter(|word| !word.is_empty()).map(str::to_owned).collect();
                    Ok(Summary { text: row.get(0)?, keywords, by: row.get(2)?, upto: ItemId(row.get(3)?) })
                };
                conn.prepare_cached(sql)?.query_row([&session.0], read).optional()
            })
        })
        .await
    }

    /// Keeps what a session says in short, with the call that wrote it. One that knows more of the session, or as much and
    /// was written by a model, is not replaced by an extract.
    pub async fn save_summary(
        &self,
        session: &SessionId,
        summary: Summary,
        spent: Option<Spent>,
    ) -> Result<(), StoreError> {
        let session = session.clone();
        self.ask(move |db| {
            sessions::change(db, "save the summary", &session, |tx, key| {
                let now = crate::store::now();
                tx.prepare_cached(
                    "INSERT INTO session_summaries (session, summary, keywords, created_at, by, upto)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                     ON CONFLICT (session) DO UPDATE SET summary = excluded.summary, keywords = excluded.keywords,
                       created_at = excluded.created_at, by = excluded.by, upto = excluded.upto
                     WHERE excluded.upto > upto OR (excluded.upto = upto AND excluded.by <> 'extract')",
                )?
                .execute((
                    key,
                    &summary.text,
                    summary.keywords.join(", "),
                    now,
                    &summary.by,
                    summary.upto.0,
                ))?;
                if let Some(spent) = &spent {
                    spend(tx, key, spent)?;
                    sessions::add_usage(tx, key, &spent.usage)?;
                }
                Ok(())
            })
        })
        .await
    }

    /// Sessions that rest since before `until` and after `from`, in milliseconds since the epoch, and have no summary by a
    /// model: newest first. None is told twice within `again` milliseconds, by any program.
    pub async fn unsummarized(
        &self,
        from: i64,
        until: i64,
        again: i64,
        limit: usize,
    ) -> Result<Vec<SessionId>, StoreError> {
        self.ask(move |db| {
            db.write("look for sessions without a summary", |tx| {
                let now = crate::store::now();
                let sql = "SELECT s.key, s.id FROM sessions s LEFT JOIN session_summaries m ON m.session = s.key
                           WHERE s.item_count > 0 AND s.trashed_at IS NULL AND s.updated_at BETWEEN ?1 AND ?2
                             AND NOT EXISTS (SELECT 1 FROM live l WHERE l.session = s.key)
                             AND (m.session IS NULL OR ((m.by = 'extract' OR EXISTS (
                               SELECT 1 FROM items i WHERE i.session = s.key AND i.id > m.upto AND i.rewound = 0
                                 AND i.role IN ('user', 'assistant'))) AND m.tried_at < ?3))
                           ORDER BY s.updated_at DESC LIMIT ?4";
                let limit = i64::try_from(limit).unwrap_or(i64::MAX);
                let found: Vec<(i64, String)> = tx
                    .prepare_cached(sql)?
                    .query_map((from, until, now - again, limit), |row| Ok((row.get(0)?, row.get(1)?)))?
                    .collect::<rusqlite::Result<_>>()?;
                for (key, _) in &found {
                    tx.execute(
                        "INSERT INTO session_summaries (session, summary, keywords, created_at, by, upto, tried_at)
                         VALUES (?1, '', '', ?2, 'extract', 0, ?2)
                         ON CONFLICT (session) DO UPDATE SET tried_at = excluded.tried_at",
                        (key, now),
                    )?;
                }
                Ok(found.into_iter().map(|(_, id)| SessionId(id)).collect())
            })
        })
        .await
    }
}

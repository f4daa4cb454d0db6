//! How much each command is used: one number a name, in the table of small values.

use super::db::Db;
use super::error::StoreError;

/// Before the name, so that nothing else in the table is meant.
const PREFIX: &str = "used:";
/// Names that are told; there are fewer actions than that.
const MAX_NAMES: i64 = 1000;

/// Keeps the number of a command.
pub(super) fn save(db: &mut Db, name: &str, rank: i64) -> Result<(), StoreError> {
    db.write("save what is used", |tx| {
        tx.prepare_cached("INSERT OR REPLACE INTO state (name, value) VALUES (?1, ?2)")?
            .execute((format!("{PREFIX}{name}"), rank))?;
        Ok(())
    })
}

/// The names and their numbers, the highest first.
pub(super) fn load(db: &Db) -> Result<Vec<(String, i64)>, StoreError> {
    db.read("read what is used", |conn| {
        conn.prepare_cached(
            "SELECT substr(name, length(?1) + 1), value FROM state WHERE substr(name, 1, length(?1)) = ?1
               ORDER BY value DESC LIMIT ?2",
        )?
        .query_map((PREFIX, MAX_NAMES), |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
    })
}

#[cfg(test)]
mod tests {
    use crate::store::{Store, StoreJob, StoreReply};

    #[tokio::test]
    async fn numbers_come_back_highest_first() {
        let home = tempfile::tempdir().expect("a folder");
        let store = Store::spawn(home.path());
        for (name, rank) in [("help", 5), ("quit", 9), ("help", 7)] {
            assert_eq!(store.job(StoreJob::SaveUse { name: name.into(), rank }).await, None);
        }
        let all = store.job(StoreJob::LoadUses).await;
        assert_eq!(all, Some(StoreReply::Uses(vec![("quit".into(), 9), ("help".into(), 7)])));
    }
}

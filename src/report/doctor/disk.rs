//! What the home holds on disk, and what can go.

use super::Row;
use crate::config::{Loaded, Paths};
use crate::pruning::{self, Plan};
use crate::report::disk;
use crate::text::format::bytes;

/// More than this that can go is worth a word.
const SPARE: u64 = 1 << 30;

/// What it holds, and whether much of that can go.
pub(super) fn row(paths: &Paths) -> Row {
    let held = disk::look(paths);
    let parts = held.kinds.iter().map(|kind| format!("{} {}", kind.name, bytes(kind.bytes)));
    let found = format!("{} in all: {}", bytes(held.total()), parts.collect::<Vec<_>>().join(", "));
    match held.spare() {
        spare if spare > SPARE => {
            let remedy = format!("{} can go: `hermes sessions stats` says what and how", bytes(spare));
            Row::warn("disk", found, remedy)
        }
        0 => Row::ok("disk", found),
        spare => Row::ok("disk", format!("{found}; {} can go", bytes(spare))),
    }
}

/// What `hermes sessions prune` frees, and whether sessions take more than they may; nothing is said without a database.
pub(super) fn prune(paths: &Paths, loaded: &Loaded) -> Option<Row> {
    let plan = Plan::beside(paths, &loaded.config, None)?;
    let found =
        format!("sessions take {}; `hermes sessions prune` frees {}", bytes(plan.aged.taken), bytes(plan.bytes()));
    if plan.is_over {
        return Some(Row::warn("budget", found, pruning::words(plan.aged.taken, loaded.config.sessions.budget_bytes)));
    }
    Some(Row::ok("budget", found))
}

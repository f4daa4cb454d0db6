//! `hermes sessions`: list, show, search, export, replay, rename, tag, pin, fork, archive, trash, import, repair, stats.
//!
//! Results go to `out`, everything else to `err`; `--json` prints one value (`docs/CLI.md` has its shape).

mod elsewhere;
mod export;
mod import;
mod keeping;
mod list;
mod prune;
mod stats;

pub(super) use elsewhere::{MigrateArgs, migrate};
pub(super) use import::parse;

use crate::policy::redact::Secrets;
use crate::protocol::{ItemId, SessionId};
use crate::report::sessions::ExportError;
use crate::store::filter::Filter;
use crate::store::{SessionChange, Shelf, Store, StoreError, tags_of};
use clap::{Args, Subcommand};
use serde_json::json;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// `hermes sessions …`; without a subcommand it lists.
#[derive(Args, Clone, Debug)]
pub struct SessionsArgs {
    #[command(subcommand)]
    pub command: Option<SessionsCommand>,
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
    /// Only sessions of this folder
    #[arg(long, global = true)]
    pub here: bool,
}

/// What to do with sessions. ID is an id, its unique start, the six digits at its end, or a title.
#[derive(Subcommand, Clone, Debug)]
pub enum SessionsCommand {
    /// List sessions, newest first
    List {
        /// At most this many (50; with --json all)
        #[arg(short = 'n', long)]
        limit: Option<usize>,
        /// Those that are archived
        #[arg(long)]
        archived: bool,
        /// Only those with this tag
        #[arg(long)]
        tag: Option<String>,
    },
    /// Print a session
    Show { id: String },
    /// Find words in what was said and done, best hit first
    Search {
        #[arg(required = true)]
        query: Vec<String>,
        /// At most this many hits
        #[arg(short = 'n', long, default_value_t = 50)]
        limit: usize,
    },
    /// Write a session to standard output, or all of them to files
    Export(export::ExportArgs),
    /// Show a session on a time line: conversation, terminals, plan, files
    Replay { id: String },
    /// Give a session a title
    Rename {
        id: String,
        #[arg(required = true)]
        title: Vec<String>,
    },
    /// Add tags to a session; without any, print those it has
    Tag {
        id: String,
        tag: Vec<String>,
        /// Take these tags away
        #[arg(long)]
        remove: bool,
    },
    /// Pin sessions to the top of lists
    Pin {
        #[arg(required = true)]
        id: Vec<String>,
        /// Unpin them
        #[arg(long)]
        off: bool,
    },
    /// Take sessions out of the usual lists and searches
    Archive {
        #[arg(required = true)]
        id: Vec<String>,
        /// Bring them back
        #[arg(long)]
        off: bool,
    },
    /// Copy a session, to go on in another direction
    Fork {
        id: String,
        /// Only up to this entry (`item_id` in `show --json`): to the end of its turn, or without it when it is a prompt
        #[arg(long, value_name = "ENTRY")]
        at: Option<i64>,
    },
    /// Print the forks of a session, and what it was forked from
    Tree { id: String },
    /// Move sessions to the trash
    Delete {
        #[arg(required = true)]
        id: Vec<String>,
        /// Delete them for good
        #[arg(long)]
        now: bool,
    },
    /// List the trash
    Trash {
        /// Delete all of it for good
        #[arg(long)]
        empty: bool,
    },
    /// Bring sessions back from the trash
    Restore {
        #[arg(required = true)]
        id: Vec<String>,
    },
    /// List sessions of other agents on this machine, newest first
    Elsewhere {
        /// Words that title, prompt or folder hold; @codex names an agent
        words: Vec<String>,
        /// At most this many
        #[arg(short = 'n', long, default_value_t = 50)]
        limit: usize,
    },
    /// Take sessions in: JSONL files, transcripts of other agents, all of an agent (@codex) or one (@codex:ID)
    Import {
        #[arg(required_unless_present = "all", value_name = "FILE|@AGENT[:ID]")]
        from: Vec<String>,
        /// Sessions of all other agents on this machine
        #[arg(long, conflicts_with = "from")]
        all: bool,
    },
    /// Delete old sessions for good, with all that belongs to them, and what nobody needs any more
    Prune(prune::PruneArgs),
    /// Check the database and save what a damaged one still holds
    Repair,
    /// Sessions, tokens over time, tools, cost, and what the home holds on disk
    Stats(stats::StatsArgs),
}

/// Runs the command and closes the store; `secrets` are masked in what it takes in. Returns the exit code: 0, or 1 when something asked for was not found or done.
pub async fn run(
    args: SessionsArgs,
    store: Store,
    cwd: &Path,
    secrets: &Secrets,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<i32> {
    if let Some(warning) = store.opened().await.warning {
        writeln!(err, "warning: {warning}")?;
    }
    let done = match command(args, &store, cwd, secrets, out, err).await {
        Err(error) => match told(&error) {
            Some(told) => writeln!(err, "hermes: {told}").map(|()| 1).map_err(Into::into),
            // A reader such as `head` that has seen enough is no failure.
            None if broken_pipe(&error) => Ok(0),
            None => Err(error),
        },
        code => code,
    };
    store.close().await;
    done
}

/// What is said of an error that a person can do something about.
fn told(error: &anyhow::Error) -> Option<String> {
    let of_store = error.downcast_ref::<StoreError>().map(ToString::to_string);
    of_store.or_else(|| match error.downcast_ref::<ExportError>()? {
        ExportError::Write(_) => None,
        told => Some(told.to_string()),
    })
}

fn broken_pipe(error: &anyhow::Error) -> bool {
    let written = match error.downcast_ref::<ExportError>() {
        Some(ExportError::Write(error)) => Some(error),
        _ => error.downcast_ref::<std::io::Error>(),
    };
    written.is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

async fn command(
    args: SessionsArgs,
    store: &Store,
    cwd: &Path,
    secrets: &Secrets,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<i32> {
    let json = args.json;
    let folder = cwd.to_string_lossy().into_owned();
    let here = args.here.then_some(folder.as_str());
    let every = SessionsCommand::List { limit: None, archived: false, tag: None };
    match args.command.unwrap_or(every) {
        SessionsCommand::List { limit, archived, tag } => {
            let filter = (archived || tag.is_some()).then(|| Filter {
                tags: tag.iter().flat_map(|tag| tags_of(tag)).collect(),
                shelf: if archived { Shelf::Archived } else { Shelf::Shown },
                ..Filter::here(here)
            });
            list::list(store, here, filter, limit, json, out).await
        }
        SessionsCommand::Search { query, limit } => {
            list::search(store, &query.join(" "), here, limit, json, out, err).await
        }
        SessionsCommand::Show { id } => {
            let session = store.resolve(&id).await?;
            list::show(store, &session, json, out).await
        }
        SessionsCommand::Export(wanted) => export::run(store, &wanted, here, json, out, err).await,
        // Only looks whether it is there; the screen shows it.
        SessionsCommand::Replay { id } => store.resolve(&id).await.map(|_| 0).map_err(Into::into),
        SessionsCommand::Rename { id, title } => {
            let session = store.resolve(&id).await?;
            rename(store, &session, &title.join(" "), json, out).await
        }
        SessionsCommand::Tag { id, tag, remove } => keeping::tag(store, &id, &tag, remove, json, out).await,
        SessionsCommand::Pin { id, off } => {
            let word = if off { "unpinned" } else { "pinned" };
            keeping::change(store, &id, SessionChange::Pinned(!off), word, json, out).await
        }
        SessionsCommand::Archive { id, off } => {
            let word = if off { "back from the archive:" } else { "archived" };
            keeping::change(store, &id, SessionChange::Archived(!off), word, json, out).await
        }
        SessionsCommand::Fork { id, at } => fork(store, &store.resolve(&id).await?, at.map(ItemId), json, out).await,
        SessionsCommand::Tree { id } => keeping::tree(store, &id, json, out).await,
        SessionsCommand::Delete { id, now } => keeping::delete(store, &id, now, json, out).await,
        SessionsCommand::Trash { empty } => keeping::trash(store, empty, json, out).await,
        SessionsCommand::Restore { id } => {
            keeping::change(store, &id, SessionChange::Trashed(false), "restored", json, out).await
        }
        SessionsCommand::Elsewhere { words, limit } => elsewhere::list(&words, here, limit, json, out, err),
        SessionsCommand::Import { from, all } => {
            let from = if all { elsewhere::everyone() } else { from };
            import::import(store, &from, &folder, secrets, json, out, err).await
        }
        SessionsCommand::Repair => repair(store, json, out).await,
        SessionsCommand::Prune(wanted) => prune::run(store, &wanted, cwd, json, out, err).await,
        SessionsCommand::Stats(wanted) => stats::run(store, &wanted, cwd, json, out).await,
    }
}

async fn rename(
    store: &Store,
    session: &SessionId,
    title: &str,
    json: bool,
    out: &mut dyn Write,
) -> anyhow::Result<i32> {
    let title = store.set_title(session, title).await?;
    if json {
        writeln!(out, "{}", json!({"version": 1, "id": session.0, "title": title}))?;
    } else {
        writeln!(out, "{session}: {}", title.as_deref().unwrap_or("no title"))?;
    }
    Ok(0)
}

async fn fork(
    store: &Store,
    session: &SessionId,
    at: Option<ItemId>,
    json: bool,
    out: &mut dyn Write,
) -> anyhow::Result<i32> {
    let new = crate::store::new_session_id();
    let title = store.fork(session, &new, at).await?;
    if json {
        writeln!(out, "{}", json!({"version": 1, "id": new.0, "title": title, "from": session.0}))?;
    } else {
        writeln!(out, "{new}: {}", title.as_deref().unwrap_or("no title"))?;
    }
    Ok(0)
}

async fn repair(store: &Store, json: bool, out: &mut dyn Write) -> anyhow::Result<i32> {
    let report = store.repair().await?;
    if json {
        writeln!(out, "{}", json!({"version": 1, "done": report.done, "kept": report.kept}))?;
        return Ok(0);
    }
    for line in &report.done {
        writeln!(out, "{line}")?;
    }
    for file in &report.kept {
        writeln!(out, "original kept: {file}")?;
    }
    Ok(0)
}

#[cfg(test)]
mod tests;

//! `hermes sessions`: list, show, search, export, rename, fork, delete, import, repair, stats.
//!
//! Results go to `out`, everything else to `err`; `--json` prints one value (`docs/CLI.md` has its shape).

mod elsewhere;
mod import;
mod list;

pub(super) use elsewhere::{MigrateArgs, migrate};
pub(super) use import::parse_session;

use crate::protocol::SessionId;
use crate::report::sessions::{Format, export, text};
use crate::store::{Store, StoreError};
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
    /// Write a session to standard output
    Export {
        id: String,
        #[arg(short, long, value_enum, default_value_t)]
        format: Format,
    },
    /// Give a session a title
    Rename {
        id: String,
        #[arg(required = true)]
        title: Vec<String>,
    },
    /// Copy a session, to go on in another direction
    Fork { id: String },
    /// Delete sessions for good
    Delete {
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
    /// Check the database and save what a damaged one still holds
    Repair,
    /// Count sessions, items, tokens and bytes
    Stats,
}

/// Runs the command and closes the store. Returns the exit code: 0, or 1 when something asked for was not found or done.
pub async fn run(
    args: SessionsArgs,
    store: Store,
    cwd: &Path,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<i32> {
    if let Some(warning) = store.opened().await.warning {
        writeln!(err, "warning: {warning}")?;
    }
    let done = match command(args, &store, cwd, out, err).await {
        Err(error) => match error.downcast_ref::<StoreError>() {
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

fn broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

async fn command(
    args: SessionsArgs,
    store: &Store,
    cwd: &Path,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<i32> {
    let json = args.json;
    let folder = cwd.to_string_lossy().into_owned();
    let here = args.here.then_some(folder.as_str());
    match args.command.unwrap_or(SessionsCommand::List { limit: None }) {
        SessionsCommand::List { limit } => list::list(store, here, limit, json, out).await,
        SessionsCommand::Search { query, limit } => {
            list::search(store, &query.join(" "), here, limit, json, out, err).await
        }
        SessionsCommand::Show { id } => {
            let session = store.resolve(&id).await?;
            list::show(store, &session, json, out).await
        }
        SessionsCommand::Export { id, format } => {
            let session = store.resolve(&id).await?;
            export::export(&export::gather(store, &session).await?, format, out, err)?;
            Ok(0)
        }
        SessionsCommand::Rename { id, title } => {
            let session = store.resolve(&id).await?;
            rename(store, &session, &title.join(" "), json, out).await
        }
        SessionsCommand::Fork { id } => fork(store, &store.resolve(&id).await?, json, out).await,
        SessionsCommand::Delete { id } => delete(store, &id, json, out).await,
        SessionsCommand::Elsewhere { words, limit } => elsewhere::list(&words, here, limit, json, out, err),
        SessionsCommand::Import { from, all } => {
            let from = if all { elsewhere::everyone() } else { from };
            import::import(store, &from, &folder, json, out, err).await
        }
        SessionsCommand::Repair => repair(store, json, out).await,
        SessionsCommand::Stats => stats(store, json, out).await,
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

async fn fork(store: &Store, session: &SessionId, json: bool, out: &mut dyn Write) -> anyhow::Result<i32> {
    let new = crate::store::new_session_id();
    let title = store.fork(session, &new).await?;
    if json {
        writeln!(out, "{}", json!({"version": 1, "id": new.0, "title": title, "from": session.0}))?;
    } else {
        writeln!(out, "{new}: {}", title.as_deref().unwrap_or("no title"))?;
    }
    Ok(0)
}

/// All must be found before the first one goes.
async fn delete(store: &Store, queries: &[String], json: bool, out: &mut dyn Write) -> anyhow::Result<i32> {
    let mut sessions = Vec::new();
    for query in queries {
        let session = store.resolve(query).await?;
        if !sessions.contains(&session) {
            sessions.push(session);
        }
    }
    for session in &sessions {
        let about = store.about(session).await?.row;
        store.delete(session).await?;
        if !json {
            let name = text::one_line(about.title.as_deref().unwrap_or(&about.preview), 60);
            writeln!(out, "deleted {session}: {name} ({} items)", about.items)?;
        }
    }
    if json {
        let ids: Vec<&str> = sessions.iter().map(|session| session.0.as_str()).collect();
        writeln!(out, "{}", json!({"version": 1, "deleted": ids}))?;
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

async fn stats(store: &Store, json: bool, out: &mut dyn Write) -> anyhow::Result<i32> {
    let stats = store.stats().await?;
    let (first, last) = (stats.first_at.map(text::rfc3339), stats.last_at.map(text::rfc3339));
    if json {
        let value = json!({
            "version": 1, "path": stats.path, "bytes": stats.bytes, "sessions": stats.sessions, "items": stats.items,
            "first_at": first, "last_at": last,
            "usage": {"input": stats.input, "cached": stats.cached, "output": stats.output, "cost": stats.cost},
        });
        writeln!(out, "{value}")?;
        return Ok(0);
    }
    let mebibytes = stats.bytes as f64 / f64::from(1 << 20);
    writeln!(out, "file      {} ({mebibytes:.1} MiB)", stats.path)?;
    writeln!(out, "sessions  {}", stats.sessions)?;
    writeln!(out, "items     {}", stats.items)?;
    if let (Some(first), Some(last)) = (stats.first_at, stats.last_at) {
        writeln!(out, "from      {} to {}", text::local(first), text::local(last))?;
    }
    writeln!(out, "tokens    {} in ({} cached), {} out", stats.input, stats.cached, stats.output)?;
    let cost = stats.cost.map_or_else(|| "?".to_owned(), |cost| format!("${cost:.2}"));
    writeln!(out, "cost      {cost}")?;
    Ok(0)
}

#[cfg(test)]
mod tests;

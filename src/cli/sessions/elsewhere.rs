//! Sessions of other agents from the command line: listed, taken over one by one or all, and those of a Python Hermes.

use crate::cli::{ChatArgs, setup};
use crate::elsewhere::{Agent, Found, Migrated, Migration, Progress, Shelf, Taken, Wanted, keep, read, take};
use crate::report::sessions::text::{local, one_line, rfc3339};
use crate::runtime::Elsewhere;
use crate::store::{Imported, Store};
use clap::Args;
use serde_json::{Value, json};
use std::io::{IsTerminal as _, Write};
use std::path::{Path, PathBuf};

/// Sessions of one look that are taken over with `--all`.
const ALL: usize = 100_000;
/// After how many sessions the progress is printed each time.
const TOLD: usize = 200;

/// `hermes migrate-sessions`.
#[derive(Args, Clone, Debug)]
pub struct MigrateArgs {
    /// Home folder of the Python Hermes (this one's)
    #[arg(long, value_name = "DIR")]
    pub from: Option<PathBuf>,
    /// Count, and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Where to look, and what is masked.
fn places() -> anyhow::Result<Elsewhere> {
    Ok(setup::elsewhere(&setup::base(&ChatArgs::default())?))
}

/// All that fits, however long it takes.
fn all(shelf: &Shelf, wanted: &Wanted, err: &mut dyn Write) -> anyhow::Result<Vec<Found>> {
    loop {
        let listed = shelf.list(wanted);
        if !listed.more {
            for problem in &listed.problems {
                writeln!(err, "warning: {problem}")?;
            }
            return Ok(listed.found);
        }
    }
}

/// `hermes sessions elsewhere [WORDS]`.
pub(super) fn list(
    words: &[String],
    here: Option<&str>,
    limit: usize,
    json: bool,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<i32> {
    let wanted = Wanted { words: words.join(" "), here: here.map(str::to_owned), limit };
    let found = all(&places()?.shelf, &wanted, err)?;
    if json {
        let rows: Vec<Value> = found.iter().map(row).collect();
        writeln!(out, "{}", json!({"version": 1, "sessions": rows}))?;
        return Ok(0);
    }
    for one in &found {
        let name = one_line(one.title.as_deref().unwrap_or(&one.prompt), 60);
        writeln!(out, "{}  {}  {}  {name}", one.key(), local(one.updated_at), one_line(&one.cwd, 60))?;
    }
    if found.is_empty() {
        writeln!(err, "no sessions of other agents")?;
    }
    Ok(0)
}

fn row(found: &Found) -> Value {
    json!({
        "key": found.key(), "agent": found.agent.word(), "id": found.id, "title": found.title, "prompt": found.prompt,
        "cwd": found.cwd, "model": found.model, "started_at": rfc3339(found.started_at),
        "updated_at": rfc3339(found.updated_at), "messages": found.messages, "path": found.place.path(),
    })
}

/// Whether this is a wish for sessions of another agent, or a file of one.
pub(super) fn is_of_another(from: &str) -> bool {
    from.starts_with('@') || is_python_home(Path::new(from)) || Shelf::of_path(Path::new(from)).is_some()
}

/// The home of a Python Hermes, or its database.
fn is_python_home(path: &Path) -> bool {
    let database = if path.is_dir() { path.join("state.db") } else { path.to_owned() };
    database.file_name().is_some_and(|name| name == "state.db") && database.is_file()
}

/// Takes in what a word names: `@agent`, `@agent:ID`, a transcript, the home of a Python Hermes. Returns a JSON value for the
/// list of results, and whether it went well.
pub(super) async fn import(
    store: &Store,
    from: &str,
    cwd: &str,
    json: bool,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<(Value, bool)> {
    let of = places()?;
    let told = |id: &str, text: &str, out: &mut dyn Write| -> anyhow::Result<()> {
        if !json {
            writeln!(out, "{id}: {text}")?;
        }
        Ok(())
    };
    if let Some(word) = from.strip_prefix('@') {
        if word.contains(':') {
            return match take(store, &of.shelf, &of.secrets, from, cwd).await {
                Ok(Taken::Session(id, text)) => {
                    told(&id.0, &text, out)?;
                    Ok((json!({"file": from, "session_id": id.0, "result": "taken", "told": text}), true))
                }
                Ok(Taken::Choose(_)) => Ok((json!({"file": from, "result": "failed"}), false)),
                Err(why) => failed(from, &why, err),
            };
        }
        let Some(agent) = Agent::of_word(word) else {
            let known: Vec<String> = Agent::ALL.iter().map(|agent| format!("@{}", agent.word())).collect();
            return failed(from, &format!("no such agent; there are {}", known.join(", ")), err);
        };
        let wanted = Wanted { words: format!("@{}", agent.word()), here: None, limit: ALL };
        let migration = match agent {
            // Its hidden sessions are counted, too.
            Agent::HermesPy => Migration::of_python(setup::paths()?.home),
            _ => Migration::of(all(&of.shelf, &wanted, err)?),
        };
        return bring(store, &of, migration, (from, agent.name(), false, json), out, err).await;
    }
    let path = Path::new(from);
    if is_python_home(path) {
        let home = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
        let migration = Migration::of_python(home.to_owned());
        return bring(store, &of, migration, (from, Agent::HermesPy.name(), false, json), out, err).await;
    }
    let Some(found) = Shelf::of_path(path) else { return failed(from, "not a transcript", err) };
    let conversation = match read(&found, &of.secrets) {
        Ok(conversation) => conversation,
        Err(why) => return failed(from, &why, err),
    };
    match keep(store, &conversation).await {
        Ok((id, outcome)) => {
            let (word, items) = match outcome {
                Imported::New(items) => ("new", items),
                Imported::Extended(items) => ("extended", items),
                Imported::Same => ("same", 0),
                Imported::Differs => ("differs", 0),
            };
            told(&id.0, &format!("{word}, {items} entries of {}", found.agent.name()), out)?;
            let value = json!({"file": from, "session_id": id.0, "result": word, "items": items});
            Ok((value, outcome != Imported::Differs))
        }
        Err(why) => failed(from, &why, err),
    }
}

fn failed(from: &str, why: &str, err: &mut dyn Write) -> anyhow::Result<(Value, bool)> {
    writeln!(err, "{from}: {why}")?;
    Ok((json!({"file": from, "result": "failed", "why": why}), false))
}

/// Brings sessions over and says how it went.
async fn bring(
    store: &Store,
    of: &Elsewhere,
    migration: Migration,
    (from, name, dry, json): (&str, &str, bool, bool),
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> anyhow::Result<(Value, bool)> {
    let shows = std::io::stderr().is_terminal() && !json;
    let mut next = TOLD;
    let progress = |at: Progress| {
        if shows && at.of > TOLD && at.done >= next {
            next = at.done + TOLD;
            // Nobody is left to tell when the terminal is gone.
            let _ = writeln!(err, "{} of {} sessions", at.done, at.of);
        }
    };
    let done = match migration.run(store, &of.secrets, dry, progress).await {
        Ok(done) => done,
        Err(why) => return failed(from, &why, err),
    };
    for why in &done.failed {
        writeln!(err, "{why}")?;
    }
    if !dry {
        store.index().await?;
    }
    if !json {
        writeln!(out, "{}", done.line(name, dry))?;
    }
    Ok((counts(from, &done), done.failed.is_empty()))
}

fn counts(from: &str, done: &Migrated) -> Value {
    json!({
        "from": from, "new": done.new, "extended": done.extended, "same": done.same, "differ": done.differ,
        "items": done.items, "skipped": done.skipped, "failed": done.failed,
    })
}

/// Sessions of all agents.
pub(super) fn everyone() -> Vec<String> {
    Agent::ALL.iter().map(|agent| format!("@{}", agent.word())).collect()
}

/// Runs `hermes migrate-sessions` and returns the exit code.
pub async fn migrate(args: MigrateArgs, store: Store, out: &mut dyn Write, err: &mut dyn Write) -> anyhow::Result<i32> {
    let home = setup::paths()?.home;
    let from = args.from.unwrap_or(home);
    let from = if from.is_file() { from.parent().unwrap_or(&from).to_owned() } else { from };
    let of = places()?;
    let name = from.display().to_string();
    let migration = Migration::of_python(from.clone());
    let done = bring(&store, &of, migration, (&name, Agent::HermesPy.name(), args.dry_run, args.json), out, err).await;
    store.close().await;
    let (value, went_well) = done?;
    if args.json {
        writeln!(out, "{}", json!({"version": 1, "dry_run": args.dry_run, "migrated": value}))?;
    }
    let nothing =
        ["new", "extended", "same", "differ"].iter().all(|key| value[*key] == 0) && value["skipped"] == json!({});
    if went_well && nothing && !args.json {
        writeln!(err, "{name} holds no sessions of a Python Hermes; name its home with --from")?;
    }
    Ok(i32::from(!went_well))
}

//! The models of this computer: list, serve, stop, remove.

use crate::cli::{ChatArgs, setup};
use crate::config::load::Loaded;
use crate::config::paths::Paths;
use crate::engine::Base;
use crate::llm::ModelInfo;
use crate::local::choice::{self, Fit};
use crate::local::idle::{self, Idle};
use crate::local::{Local, served};
use crate::text::format;
use anyhow::Context as _;
use serde_json::json;
use std::io::{self, BufRead as _, IsTerminal as _, Write};

/// The models of a home.
pub(in crate::cli) fn of(loaded: &Loaded, paths: &Paths) -> Local {
    Local::new(&paths.home, &loaded.config.models, loaded.env("PATH").unwrap_or_default())
}

fn open() -> anyhow::Result<Local> {
    let base = setup::base(&ChatArgs::default())?;
    Ok(of(&base.loaded, &base.paths))
}

/// Those that are here, as rows of the list of all models.
pub(in crate::cli) fn kept(base: &Base) -> Vec<ModelInfo> {
    let local = of(&base.loaded, &base.paths);
    let row = |kept: crate::local::shelf::Kept| {
        let info = ModelInfo { id: kept.name.clone(), provider: served::PROVIDER.into(), ..ModelInfo::default() };
        local.known(&kept.name, info)
    };
    local.shelf().list().into_iter().map(row).collect()
}

/// A model that is here or on offer.
struct Row {
    name: String,
    /// `here`, `running`, `partly here`, or how it fits.
    state: String,
    /// Of a download that is not done.
    percent: Option<u64>,
    bytes: u64,
    licence: String,
    speed: Option<f64>,
    note: String,
}

fn rows(local: &Local) -> Vec<Row> {
    let machine = local.machine();
    let (kept, parts, running) = (local.shelf().list(), local.shelf().parts(), local.running());
    let best = local.best().map(|row| row.name.clone());
    let mut rows: Vec<Row> = Vec::new();
    for row in local.table().models() {
        let part = parts.iter().find(|(name, _)| *name == row.name);
        let mut percent = None;
        let state = if running.iter().any(|(name, _)| *name == row.name) {
            "running".to_owned()
        } else if kept.iter().any(|kept| kept.name == row.name) {
            "here".into()
        } else if let Some((_, bytes)) = part {
            percent = Some(bytes * 100 / row.bytes.max(1));
            "partly here".into()
        } else {
            match choice::fit(row, &machine) {
                Fit::Fits if best.as_ref() == Some(&row.name) => "best for this computer".into(),
                Fit::Fits => "fits".into(),
                Fit::Slow => "slow here".into(),
                Fit::Memory(need, _) => format!("needs {} of memory", format::bytes(need)),
                Fit::Disk(need, _) => format!("needs {} on the disk", format::bytes(need)),
            }
        };
        rows.push(Row {
            name: row.name.clone(),
            state,
            percent,
            bytes: row.bytes,
            licence: row.licence.clone(),
            speed: machine.tokens_per_second(row.bytes_per_token()),
            note: row.note.clone(),
        });
    }
    for kept in kept.into_iter().filter(|kept| local.table().find(&kept.name).is_none()) {
        let is_running = running.iter().any(|(name, _)| *name == kept.name);
        rows.push(Row {
            state: if is_running { "running" } else { "here" }.into(),
            percent: None,
            bytes: kept.bytes,
            licence: String::new(),
            speed: machine.tokens_per_second(kept.bytes),
            note: if kept.own { format!("your file {}", kept.file.display()) } else { String::new() },
            name: kept.name,
        });
    }
    rows
}

/// `hermes models list --local`.
pub(in crate::cli) async fn list(as_json: bool, out: &mut dyn Write) -> anyhow::Result<i32> {
    let base = setup::base(&ChatArgs::default())?;
    let local = of(&base.loaded, &base.paths);
    if let Some(problem) = &local.table().problem {
        writeln!(io::stderr(), "hermes: {problem}")?;
    }
    let looked = tokio::task::spawn_blocking(move || (rows(&local), idle::idle(&base.loaded)));
    let (rows, idle) = looked.await?;
    if as_json {
        let row = |row: &Row| {
            json!({
                "name": row.name, "state": row.state, "percent": row.percent, "bytes": row.bytes, "licence": row.licence,
                "tokens_per_second": row.speed.map(|speed| (speed * 10.0).round() / 10.0), "note": row.note,
            })
        };
        let models: Vec<_> = rows.iter().map(row).collect();
        let server = |idle: &Idle| json!({ "provider": idle.provider, "name": idle.title(), "start": idle.line() });
        let idle: Vec<_> = idle.iter().map(server).collect();
        writeln!(out, "{}", json!({ "version": 1, "models": models, "not_running": idle }))?;
        return Ok(0);
    }
    let wide = |of: fn(&Row) -> usize| rows.iter().map(of).max().unwrap_or(0);
    let (names, states) = (wide(|row| row.name.len()), wide(|row| row.state.chars().count()));
    let licences = wide(|row| row.licence.len());
    for row in &rows {
        let speed = row.speed.map_or_else(String::new, speed);
        writeln!(
            out,
            "{:names$}  {:>7}  {:licences$}  {:>9}  {:states$}  {}",
            row.name,
            format::bytes(row.bytes),
            row.licence,
            speed,
            row.state,
            row.note
        )?;
    }
    writeln!(out, "\nspeeds are estimates for this computer; `hermes models get NAME` gets one")?;
    for idle in &idle {
        writeln!(out, "{} is installed and not running: `{}` starts it", idle.title(), idle.line())?;
    }
    Ok(0)
}

/// `~12 tok/s`.
pub(in crate::cli) fn speed(speed: f64) -> String {
    if speed >= 9.5 { format!("~{speed:.0} tok/s") } else { format!("~{speed:.1} tok/s") }
}

/// `hermes models serve`: until Ctrl-C.
pub(super) async fn serve(name: Option<String>, out: &mut dyn Write) -> anyhow::Result<i32> {
    let local = open()?;
    let name = match name {
        Some(name) => name,
        None => {
            let kept = local.shelf().list();
            match kept.as_slice() {
                [one] => one.name.clone(),
                [] => anyhow::bail!("no model is on this computer; run `hermes models get`"),
                more => {
                    let names: Vec<&str> = more.iter().map(|kept| kept.name.as_str()).collect();
                    anyhow::bail!("name one of {}", names.join(", "))
                }
            }
        }
    };
    let started = tokio::select! {
        started = local.serve(&name) => started,
        () = stopped() => {
            local.leave().await;
            return Ok(130);
        }
    };
    let (base, key_file) = match started {
        Ok(started) => started,
        Err(error) => {
            local.leave().await;
            return Err(error.into());
        }
    };
    writeln!(out, "{name} answers at {base}")?;
    writeln!(out, "its key is in {}", key_file.display())?;
    writeln!(out, "Ctrl-C ends it, unless a hermes uses it")?;
    out.flush()?;
    tokio::select! {
        () = stopped() => {}
        () = local.ended(&name) => {
            local.leave().await;
            anyhow::bail!("the server of {name} has ended");
        }
    }
    local.leave().await;
    Ok(0)
}

/// `hermes models stop`.
pub(super) async fn stop(name: Option<String>, out: &mut dyn Write) -> anyhow::Result<i32> {
    let local = open()?;
    let names = match name {
        Some(name) => vec![name],
        None => local.running().into_iter().map(|(name, _)| name).collect(),
    };
    let mut stopped = 0;
    for name in &names {
        if local.stop(name).await? {
            stopped += 1;
            writeln!(out, "stopped {name}")?;
        } else {
            writeln!(out, "{name} is not running")?;
        }
    }
    if names.is_empty() {
        writeln!(out, "no model is running")?;
    }
    Ok(i32::from(stopped == 0 && !names.is_empty()))
}

/// `hermes models remove`.
pub(super) async fn remove(name: &str, yes: bool, out: &mut dyn Write) -> anyhow::Result<i32> {
    let local = open()?;
    if local.running().iter().any(|(running, _)| running == name) {
        anyhow::bail!("{name} is running; run `hermes models stop {name}` first");
    }
    let what = match (local.shelf().find(name), local.shelf().parts().into_iter().find(|(part, _)| part == name)) {
        (Some(kept), _) if kept.own => format!("{name} (your file {} stays)", kept.file.display()),
        (Some(kept), _) => format!("{name} ({})", format::bytes(kept.bytes)),
        (None, Some((_, bytes))) => format!("the part of {name} that was fetched ({})", format::bytes(bytes)),
        (None, None) => anyhow::bail!("{name} is not on this computer"),
    };
    if !yes && !confirmed(&format!("Remove {what}?"))? {
        writeln!(out, "nothing removed")?;
        return Ok(1);
    }
    local.shelf().remove(name)?;
    local.sweep();
    writeln!(out, "removed {name}")?;
    Ok(0)
}

/// Waits until somebody wants this program to end: Ctrl-C, a closed terminal, `kill`.
pub(super) async fn stopped() {
    use tokio::signal::unix::{SignalKind, signal};
    let hears = |kind| async move {
        match signal(kind) {
            Ok(mut signal) => {
                signal.recv().await;
            }
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        () = hears(SignalKind::interrupt()) => {}
        () = hears(SignalKind::terminate()) => {}
        () = hears(SignalKind::hangup()) => {}
    }
}

/// Asks at the terminal; only `y` and `yes` are a yes.
pub(super) fn confirmed(question: &str) -> anyhow::Result<bool> {
    anyhow::ensure!(io::stdin().is_terminal(), "{question} There is no terminal to confirm at: pass --yes");
    write!(io::stderr(), "{question} [y/N] ")?;
    io::stderr().flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).context("standard input")?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

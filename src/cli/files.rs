//! `hermes files`: brings files to the place where commands run, and back.

use super::setup;
use crate::backends::{Backends, Moved, pull, push};
use crate::exec::{Exec, ExecOptions};
use anyhow::Context as _;
use clap::Subcommand;
use std::io::Write;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// Subcommands of `hermes files`.
#[derive(Subcommand, Clone, Debug)]
pub enum Command {
    /// Copy a file or folder to the backend
    Push(Way),
    /// Copy a file or folder from the backend
    Pull(Way),
}

/// What goes where.
#[derive(clap::Args, Clone, Debug)]
pub struct Way {
    /// File or folder
    pub from: PathBuf,
    /// Target name or folder; the working folder by default
    pub to: Option<PathBuf>,
    /// Use this backend instead of the configured one
    #[arg(long, value_name = "NAME")]
    pub backend: Option<String>,
    #[arg(long)]
    pub json: bool,
}

/// Moves it and says where it is. Exits 0; 130 when the user interrupts it.
///
/// # Errors
/// When the place cannot be reached, or something cannot be read or written.
pub async fn run(command: Command, out: &mut dyn Write) -> anyhow::Result<i32> {
    let base = setup::base(&super::ChatArgs::default())?;
    let terminal = &base.loaded.config.terminal;
    let (exec, _events) = Exec::new(ExecOptions {
        env_passthrough: terminal.env_passthrough.clone(),
        secret_names: setup::key_names(&base.loaded.config),
        ..ExecOptions::default()
    });
    let backends = Backends::new(terminal, &exec, &base.paths.home, &base.cwd, setup::service_keys(&base.loaded));
    let (is_push, way) = match command {
        Command::Push(way) => (true, way),
        Command::Pull(way) => (false, way),
    };
    let (json, cwd) = (way.json, base.cwd.clone());
    let (there, stop) = (backends.clone(), CancellationToken::new());
    let stopped = stop.clone();
    let mut work = tokio::task::spawn_blocking(move || transfer(&there, &way, is_push, &cwd, &stopped));
    let moved = tokio::select! {
        moved = &mut work => moved,
        _ = tokio::signal::ctrl_c() => {
            stop.cancel();
            // What still connects is given up by that.
            crate::engine::leave(backends.clone()).await;
            work.await
        }
    };
    crate::engine::leave(backends).await;
    let moved = match moved? {
        Err(error) if stop.is_cancelled() => {
            writeln!(std::io::stderr(), "hermes: {error}").ok();
            return Ok(130);
        }
        moved => moved?,
    };
    if json {
        writeln!(out, "{}", serde_json::json!({"version": 1, "from": moved.from, "to": moved.to}))?
    } else {
        writeln!(out, "{} → {}", moved.from, moved.to)?
    }
    Ok(0)
}

fn transfer(
    backends: &Backends,
    way: &Way,
    is_push: bool,
    cwd: &Path,
    stop: &CancellationToken,
) -> anyhow::Result<Moved> {
    if let Some(kind) = &way.backend {
        backends.choose(kind)?;
    }
    let there = backends
        .current()
        .context("terminal.backend is local: choose a backend with --backend, or set terminal.backend")?;
    let begin = there.begin()?;
    let home = there.home()?;
    let over_there = |path: &Path| match path.strip_prefix("~") {
        Ok(rest) => home.join(rest),
        Err(_) => begin.join(path),
    };
    let to = way.to.clone().unwrap_or_else(|| PathBuf::from("."));
    Ok(if is_push {
        push(&there, &cwd.join(&way.from), &over_there(&to), stop)?
    } else {
        pull(&there, &over_there(&way.from), &cwd.join(&to), stop)?
    })
}

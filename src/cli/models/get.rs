//! `hermes models get`: shows what it takes, asks, fetches.

use super::local::{confirmed, of, speed, stopped};
use crate::accounts::{Accounts, Known};
use crate::cli::{ChatArgs, setup};
use crate::engine::{Base, choose};
use crate::llm::endpoint;
use crate::local::choice::Fit;
use crate::local::fetch::{FetchError, Progress};
use crate::local::get::{Order, Step};
use crate::local::{Local, LocalError, served};
use crate::text::format;
use clap::Args;
use std::io::{self, IsTerminal as _, Write};
use std::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// Flags of `hermes models get`.
#[derive(Debug, Args)]
pub(super) struct GetArgs {
    /// A name of `list --local`, a .gguf file, or REPO:FILE; default: the best for this computer
    name: Option<String>,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

/// Gets a model.
pub(super) async fn run(args: GetArgs, out: &mut dyn Write) -> anyhow::Result<i32> {
    let base = setup::base(&ChatArgs::default())?;
    match obtain(&base, args.name, args.yes, out).await? {
        Some(name) => settle(&base, &name, out).await,
        None => {
            writeln!(out, "nothing fetched")?;
            Ok(1)
        }
    }
}

/// The model of this name, or the best for this computer, is here after it; `None`: the answer was no.
pub(in crate::cli) async fn obtain(
    base: &Base,
    name: Option<String>,
    yes: bool,
    out: &mut dyn Write,
) -> anyhow::Result<Option<String>> {
    let local = of(&base.loaded, &base.paths);
    let name = match name {
        Some(name) => name,
        None => {
            let looks = local.clone();
            let best = tokio::task::spawn_blocking(move || looks.best()).await?;
            let best = best.map(|row| row.name.clone());
            best.ok_or_else(|| anyhow::anyhow!("no model fits this computer; `hermes models list --local` says why"))?
        }
    };
    let file = crate::config::paths::expand_home(&name);
    if name.starts_with(['/', '.', '~']) && !file.is_file() {
        anyhow::bail!("no such file: {}", file.display());
    }
    let name = if name.ends_with(".gguf") && file.is_file() {
        let kept = local.adopt(&file)?;
        writeln!(out, "{} is {}; the file stays where it is", kept.name, file.display())?;
        kept.name
    } else {
        name
    };
    let token = base.loaded.env("HF_TOKEN");
    let order = local.order(&name, token).await?;
    if order.is_here() {
        writeln!(out, "{} is here already", order.title)?;
        return Ok(Some(order.name));
    }
    writeln!(out, "{}", about(&order))?;
    if let Some(Fit::Disk(need, free)) = order.fit {
        anyhow::bail!(
            "not enough disk space in {}: {} needed, {} free; free some, or set models.dir",
            local.shelf().dir().display(),
            format::bytes(need),
            format::bytes(free)
        );
    }
    if !yes && !confirmed("Get it?")? {
        return Ok(None);
    }
    fetch(&local, &order, token, out).await?;
    Ok(Some(order.name))
}

/// What it takes, in one line, and what speaks against it.
fn about(order: &Order) -> String {
    let licence = if order.licence.is_empty() { "licence not stated" } else { &order.licence };
    let size = if order.bytes > 0 { format::bytes(order.bytes) } else { "size not stated".into() };
    let mut line = format!("{} · {size} · {licence} · from {}", order.title, order.hosts());
    if let Some(rate) = order.speed {
        line.push_str(&format!(" · {} here", speed(rate)));
    }
    if !order.checked {
        line.push_str("\n! the host states no hash: what comes can't be checked");
    }
    match order.fit {
        Some(Fit::Memory(need, free)) => line.push_str(&format!(
            "\n! it needs {} of memory and {} are free now",
            format::bytes(need),
            format::bytes(free)
        )),
        Some(Fit::Slow) => line.push_str("\n! answers will be slow on this computer"),
        Some(Fit::Fits | Fit::Disk(..)) | None => {}
    }
    line
}

async fn fetch(local: &Local, order: &Order, token: Option<&str>, out: &mut dyn Write) -> anyhow::Result<()> {
    let pause = CancellationToken::new();
    let shown = Mutex::new(Line::default());
    let tell = |step: Step| crate::lock::lock(&shown).show(&step);
    let got = local.get(order, token, &pause, &tell);
    tokio::pin!(got);
    let done = tokio::select! {
        done = &mut got => done,
        () = stopped() => {
            pause.cancel();
            got.await
        }
    };
    crate::lock::lock(&shown).end();
    match done {
        Ok(_) => writeln!(out, "{} is here", order.title)?,
        Err(LocalError::Fetch(FetchError::Paused)) => anyhow::bail!("paused; run it again to go on from there"),
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

/// It is tested, and becomes the model of new sessions where none is configured.
async fn settle(base: &Base, name: &str, out: &mut dyn Write) -> anyhow::Result<i32> {
    if base.loaded.config.models.self_test {
        writeln!(out, "testing it (models.self_test: false skips this)")?;
        // What is here stays here, whatever the test says.
        if let Err(error) = super::test::test(base, Some(&format!("{}:{name}", served::PROVIDER)), false, out).await {
            writeln!(out, "! {error}")?;
        }
    }
    let accounts = Accounts::new(&base.paths, base.secrets.clone());
    let known = Known { loaded: &base.loaded, accounts: &accounts };
    let is_chosen = !base.loaded.config.model.default.is_empty() || !base.loaded.config.model.provider.is_empty();
    if is_chosen || endpoint::resolve(&base.loaded.config, &known, None).is_ok() {
        writeln!(out, "start it with: hermes -m {}:{name}", served::PROVIDER)?;
    } else {
        choose::save_model(&base.paths, served::PROVIDER, name)?;
        writeln!(out, "it is your default model now; start with: hermes")?;
    }
    Ok(0)
}

/// The line of progress: rewritten at a terminal, else a line now and then.
#[derive(Default)]
struct Line {
    width: usize,
    percent: Option<u64>,
}

impl Line {
    fn show(&mut self, step: &Step) {
        let mut err = io::stderr().lock();
        let text = words(step);
        if err.is_terminal() {
            let blank = self.width.saturating_sub(text.chars().count());
            let _ = write!(err, "\r{text}{:blank$}", "");
            let _ = err.flush();
            self.width = text.chars().count();
            return;
        }
        let percent = match step {
            Step::Model(Progress::Loading { done, of, .. }) | Step::Engine(Progress::Loading { done, of, .. }) => {
                Some(done * 100 / (*of).max(1) / 10)
            }
            Step::Engine(_) | Step::Unpacking | Step::Model(_) => None,
        };
        if percent.is_none() || percent != self.percent {
            self.percent = percent;
            let _ = writeln!(err, "{text}");
        }
    }

    fn end(&mut self) {
        if std::mem::take(&mut self.width) > 0 {
            let _ = writeln!(io::stderr());
        }
    }
}

/// A step in words: `model 41 % of 2.7 GB · 12 MB/s · 2m 10s left`.
pub(super) fn words(step: &Step) -> String {
    match step {
        Step::Engine(progress) => format!("engine {}", progressed(progress)),
        Step::Model(progress) => format!("model {}", progressed(progress)),
        Step::Unpacking => "unpacking the engine".into(),
    }
}

fn progressed(progress: &Progress) -> String {
    match progress {
        Progress::Checking { done, of } => format!("checking what is here, {} %", done * 100 / (*of).max(1)),
        Progress::Loading { done, of, speed } => {
            let percent = done * 100 / (*of).max(1);
            let size = format::bytes(*of);
            if *speed < 1.0 {
                return format!("{percent} % of {size}");
            }
            let left = of.saturating_sub(*done) as f64 / speed;
            let left = format::clock((left * 1000.0) as u64);
            format!("{percent} % of {size} · {}/s · {left} left", format::bytes(*speed as u64))
        }
        Progress::Trying { host, why } => format!("{host}: {why}; trying again"),
    }
}

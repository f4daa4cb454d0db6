//! The screen: draws its first frame before anything else starts.

use super::ChatArgs;
use super::setup::{self, Base, Resumed};
use crate::accounts::{Accounts, Known};
use crate::app::Model;
use crate::app::model::ToolWords;
use crate::app::model::first_run::FirstRun;
use crate::app::model::tab::KeptTab;
use crate::config::keymap::Keymap;
use crate::config::layer::Warning;
use crate::config::skin::Appearance;
use crate::config::theme::Canvas;
use crate::engine::{Engine, EngineOptions, Opens, SessionSpec};
use crate::exec::{RemoteLeftovers, Scratch};
use crate::llm::endpoint;
use crate::llm::scripted;
use crate::protocol::Level;
use crate::runtime::{self, Context, Ended, FirstTabs, Screen, Workers};
use crate::store::Store;
use crate::term::Signals;
use crate::text::visible::visible;
use crate::tools::registry::Registry;
use crate::tools::spec::ToolSpec;
use anyhow::Context as _;
use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;
use std::sync::Arc;

/// Problems that the first screen shows.
const SHOWN: usize = 3;

/// Runs the screen and returns the exit code.
pub fn run(args: ChatArgs) -> anyhow::Result<i32> {
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        anyhow::bail!("the screen needs a terminal; without one, use -p PROMPT");
    }
    let mut args = args;
    loop {
        let ended = once(&args)?;
        if !ended.demo {
            return Ok(ended.code);
        }
        args = ChatArgs { demo: true, ..ChatArgs::default() };
    }
}

fn once(args: &ChatArgs) -> anyhow::Result<Ended> {
    let scratch = args.demo.then(scratch_folder).transpose()?;
    let mut args = args.clone();
    if let Some(folder) = &scratch {
        args.cwd = Some(folder.path().to_path_buf());
    }
    let base = setup::base(&args)?;
    let canvas = Canvas::from_env(|name| std::env::var(name).ok());
    let model = model(&args, &base, canvas)?;
    let runtime = setup::runtime()?;
    // Signals are heard before the terminal is taken: none can leave it in our state.
    let signals = runtime.block_on(async { Signals::new() })?;
    let screen = Screen::open(model).context("could not set up the terminal")?;
    // From here on the person can type; everything else follows.
    let _log = setup::logging(&base);
    let ended = runtime.block_on(live(screen, signals, &args, &base, canvas))?;
    runtime.shutdown_timeout(std::time::Duration::from_millis(200));
    drop(scratch);
    if !ended.demo {
        farewell(&ended, base.paths.profile());
    }
    Ok(ended)
}

fn model(args: &ChatArgs, base: &Base, canvas: Canvas) -> anyhow::Result<Model> {
    let config = &base.loaded.config;
    let skin = args.skin.as_deref().unwrap_or(&config.display.skin);
    let home = crate::environment::user_home().unwrap_or_default();
    let mut problems = problems(&base.loaded.warnings, &home);
    let look = match Appearance::load(skin, &config.display.theme, &base.paths.look_dirs(), canvas) {
        Ok(look) => look,
        Err(error) => {
            problems.push(error.to_string());
            Appearance::fallback(canvas)?
        }
    };
    let keymap = match Keymap::load(&base.paths.keymap()) {
        Ok(keymap) => keymap,
        Err(error) => {
            problems.push(error.to_string());
            Keymap::defaults()?
        }
    };
    let ready = args.demo
        || endpoint::resolve(
            config,
            &Known { loaded: &base.loaded, accounts: &Accounts::new(&base.paths, base.secrets.clone()) },
            setup::model_choice(args).as_deref(),
        )
        .is_ok();
    let now = crate::agent::now();
    let (config, look, keymap) = (Arc::clone(config), Arc::new(look), Arc::new(keymap));
    let mut model = Model::new(config, look, keymap, (0, 0), base.cwd.display().to_string(), now);
    model.demo = args.demo;
    model.home = home.display().to_string();
    model.profile = base.paths.profile().map(str::to_owned);
    model.sign_ins = crate::runtime::accounts::offered(&base.loaded.config);
    model.tool_words = Arc::new(words());
    let broken = base
        .loaded
        .warnings
        .iter()
        .any(|warning| warning.path.as_ref() == Some(&base.paths.config()) && warning.key.is_empty());
    model.first_run = (!ready).then(|| FirstRun { broken, ..FirstRun::default() });
    // The card says it better.
    problems.retain(|problem| !problem.contains("this folder is not trusted"));
    for problem in problems {
        model.notices.add(now, Level::Warning, problem);
    }
    Ok(model)
}

/// Warnings for the first screen, which has room for few: those about what holds the agent back stand last, where they are
/// seen.
fn problems(warnings: &[Warning], home: &Path) -> Vec<String> {
    let weighs = |warning: &&Warning| {
        ["budget.", "approvals.", "sandbox.", "delegation."].iter().any(|room| warning.key.starts_with(room))
    };
    let (weighty, others): (Vec<_>, Vec<_>) = warnings.iter().partition(weighs);
    let mut out: Vec<String> = others.iter().chain(&weighty).map(|warning| short(warning, home)).collect();
    if out.len() > SHOWN {
        let text = format!("{} problems in the settings; `hermes config check` lists them", out.len());
        out.drain(..out.len() + 1 - SHOWN);
        out.insert(0, text);
    }
    out
}

/// A warning in one line: the excerpt of a broken file is for `hermes config check`.
fn short(warning: &Warning, home: &Path) -> String {
    let whole = warning.to_string();
    let line = whole.lines().next().unwrap_or_default();
    match home.to_str().filter(|home| home.len() > 1).and_then(|home| line.strip_prefix(home)) {
        Some(rest) => format!("~{rest}"),
        None => line.to_owned(),
    }
}

async fn live(screen: Screen, signals: Signals, args: &ChatArgs, base: &Base, canvas: Canvas) -> anyhow::Result<Ended> {
    let script = args.demo.then(scripted::demo);
    let (engine, streams) = Engine::start(base.clone(), EngineOptions { script, headless: false });
    let services = engine.services().clone();
    // The demo shows the program as it comes.
    if !args.demo {
        services.start();
    }
    let (spec, tabs) = match first_tabs(args, base, &services.store).await {
        Ok(first) => first,
        Err(error) => {
            drop(screen);
            return Err(error);
        }
    };
    let context = Context {
        spec,
        loaded: Arc::clone(&base.loaded),
        sources: Arc::clone(&base.sources),
        paths: base.paths.clone(),
        cwd: base.cwd.clone(),
        border: base.border(&base.cwd),
        canvas,
        registry: Arc::clone(&services.registry),
        extensions: services.extensions.clone(),
        mcp: services.mcp.clone(),
        backends: services.backends.clone(),
        policy: engine.policy(None),
        elsewhere: setup::elsewhere(base),
        engine: engine.clone(),
    };
    if !args.demo {
        // What an earlier run left behind; the first frame does not wait for it.
        let (exec, backends) = (services.exec.clone(), services.backends.clone());
        tokio::spawn(async move {
            let (here, there) = (exec.clone(), Arc::new(move |left: &RemoteLeftovers| backends.seek(left)));
            if tokio::task::spawn_blocking(move || here.recover()).await.is_ok() {
                exec.seek(there).await;
            }
        });
    }
    let workers = Workers { events: streams.events, processes: streams.processes };
    let ended =
        screen.run(workers, context, tabs, args.prompt.clone(), signals).await.context("the terminal failed")?;
    engine.finish(ended.hung_up.then_some(base.loaded.config.terminal.on_hangup)).await;
    Ok(ended)
}

/// How sessions are opened, and which are at the start.
async fn first_tabs(args: &ChatArgs, base: &Base, store: &Store) -> anyhow::Result<(SessionSpec, FirstTabs)> {
    let mut behind = Vec::new();
    let mut first = None;
    if args.all {
        let paths = base.paths.clone();
        let last = tokio::task::spawn_blocking(move || runtime::last_tabs(&paths)).await.unwrap_or_default();
        behind = last;
        anyhow::ensure!(
            !behind.is_empty(),
            "no tabs were left open; `hermes -c` resumes the last session of this folder"
        );
        // The one in view has a session.
        let at = behind.iter().position(|kept| matches!(kept, KeptTab::Session(_)));
        if let Some(KeptTab::Session(id)) = at.map(|at| behind.remove(at)) {
            first = Some(id);
        }
    }
    let mut choose = None;
    if first.is_none() {
        match setup::resumed(args, store, base).await? {
            Resumed::New => {}
            Resumed::Session(id) => first = Some(id),
            Resumed::Choose(words) => choose = Some(words),
        }
    }
    let opens = first.map_or(Opens::New, Opens::Resume);
    let replay = match &args.replay {
        Some(name) => Some(store.resolve(name).await?),
        None => None,
    };
    Ok((setup::spec(args, base, None)?, FirstTabs { first: opens, behind, choose, replay }))
}

/// How tools are shown, for the calls of resumed sessions.
fn words() -> BTreeMap<String, ToolWords> {
    let word = |spec: &ToolSpec| ToolWords {
        emoji: spec.emoji.to_string(),
        running: spec.verbs.running.to_string(),
        done: spec.verbs.done.to_string(),
        row: spec.row,
    };
    Registry::builtin().snapshot().specs().map(|spec| (spec.name.to_string(), word(spec))).collect()
}

/// A folder for the demo, removed when it ends.
fn scratch_folder() -> anyhow::Result<Scratch> {
    Scratch::new(&std::env::temp_dir(), "demo").context("could not create a scratch folder for the demo; set TMPDIR")
}

/// After the screen is gone: how to come back, and what goes on.
fn farewell(ended: &Ended, profile: Option<&str>) {
    let mut out = io::stdout().lock();
    // Nobody is left to tell when the terminal is gone.
    if let Some(session) = ended.session.as_ref().filter(|_| ended.spoke) {
        let title = session.title.as_deref().unwrap_or("untitled");
        let profile = profile.map(|name| format!("--profile {name} ")).unwrap_or_default();
        let _ = writeln!(out, "{title}\nresume with: hermes {profile}-r {}", session.id);
    }
    for (command, at) in &ended.kept {
        let _ = writeln!(out, "still running: {} ({at})", visible(command).text);
    }
    if !ended.kept.is_empty() {
        let _ = writeln!(out, "the next hermes lists it in the terminal pane, to read or kill");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_the_agent_back_is_seen_among_many_problems() {
        let warning = |key: &str| Warning { path: None, line: None, key: key.into(), text: key.into(), lasting: false };
        let said = |keys: &[&str]| problems(&keys.iter().map(|key| warning(key)).collect::<Vec<_>>(), Path::new("/"));
        assert_eq!(said(&["budget.day.hard_cost", "display.skin"]), ["display.skin", "budget.day.hard_cost"]);
        let many = said(&["budget.day.hard_cost", "a", "b", "approvals.mode", "c"]);
        assert_eq!(many[1..], ["budget.day.hard_cost", "approvals.mode"]);
        assert_eq!(many[0], "5 problems in the settings; `hermes config check` lists them");
    }
}

//! What flags mean to the engine, and the runtime that commands run in.

use super::ChatArgs;
use crate::elsewhere::{Places, Shelf, Taken};
use crate::engine::{Answers, BaseOptions, Engine, EngineOptions, Opens, SessionLimits, SessionSpec, Streams};
pub use crate::engine::{Base, key_names, logging, paths, profiles, service_keys};
use crate::protocol::SessionId;
use crate::store::Store;
use anyhow::Context as _;

/// Paths, working folder and configuration; the flags win over the files.
pub fn base(args: &ChatArgs) -> anyhow::Result<Base> {
    let options = BaseOptions { cwd: args.cwd.clone(), add_dir: args.add_dir.clone(), accept_hooks: args.accept_hooks };
    crate::engine::base(&options)
}

/// An engine where nobody types, for one command.
pub fn headless(base: &Base) -> (Engine, Streams) {
    Engine::start(base.clone(), EngineOptions { headless: true, ..EngineOptions::default() })
}

/// The model that the flags ask for.
pub fn model_choice(args: &ChatArgs) -> Option<String> {
    match (&args.provider, &args.model) {
        (Some(provider), Some(model)) => Some(format!("{provider}:{model}")),
        (Some(provider), None) => Some(format!("{provider}:")),
        (None, model) => model.clone(),
    }
}

/// The approval mode that the flags ask for.
pub fn mode(args: &ChatArgs) -> Option<crate::policy::Mode> {
    args.yolo.then_some(crate::policy::Mode::Yolo)
}

/// The async runtime. Two workers: the machine's cores belong to what the person runs.
pub fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .thread_stack_size(crate::policy::STACK)
        .worker_threads(2)
        .max_blocking_threads(16)
        .enable_all()
        .build()
        .context("could not start the async runtime")
}

/// Runs a command that awaits. What still blocks a thread afterwards (a slow login shell) does not keep the program.
pub fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = runtime()?;
    let done = runtime.block_on(work);
    runtime.shutdown_timeout(std::time::Duration::from_millis(200));
    done
}

/// What `-c` or `-r` comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resumed {
    /// Neither was given.
    New,
    Session(SessionId),
    /// Another agent was named that has no session in this folder: words that list its others.
    Choose(String),
}

impl Resumed {
    /// The session, where nobody can choose one.
    pub fn session(self) -> anyhow::Result<Option<SessionId>> {
        match self {
            Self::New => Ok(None),
            Self::Session(id) => Ok(Some(id)),
            Self::Choose(words) => anyhow::bail!(
                "no session of {words} in this folder; name one: -r {words}:ID (`hermes sessions elsewhere` lists them)"
            ),
        }
    }
}

/// Where sessions of other agents are, and what is masked in them.
pub fn elsewhere(base: &Base) -> crate::runtime::Elsewhere {
    let shelf = Shelf::new(Places::of_environment(&base.paths.home));
    crate::runtime::Elsewhere { shelf, secrets: base.secrets.clone() }
}

/// The session that `-c` or `-r` names.
pub async fn resumed(args: &ChatArgs, store: &Store, base: &Base) -> anyhow::Result<Resumed> {
    if let Some(name) = &args.resume {
        if name.starts_with('@') {
            let (of, here) = (elsewhere(base), base.cwd.display().to_string());
            let taken = crate::elsewhere::take(store, &of.shelf, &of.secrets, name, &here).await;
            return match taken.map_err(anyhow::Error::msg)? {
                Taken::Session(id, _) => Ok(Resumed::Session(id)),
                Taken::Choose(words) => Ok(Resumed::Choose(words)),
            };
        }
        return Ok(Resumed::Session(store.resolve(name).await?));
    }
    if args.continue_ {
        let folder = base.cwd.display().to_string();
        let newest = store.latest(Some(&folder)).await?;
        anyhow::ensure!(
            newest.is_some(),
            "no session in {folder}; start one without -c, or name one with -r (`hermes sessions list`)"
        );
        return Ok(newest.map_or(Resumed::New, Resumed::Session));
    }
    Ok(Resumed::New)
}

/// The session of a person that the flags describe; without them a new one.
pub fn spec(args: &ChatArgs, base: &Base, resume: Option<SessionId>) -> anyhow::Result<SessionSpec> {
    Ok(SessionSpec {
        opens: resume.map_or(Opens::New, Opens::Resume),
        cwd: base.cwd.clone(),
        answers: Answers::Person,
        origin: "tui",
        limits: SessionLimits {
            steps: args.max_turns,
            tokens: args.max_tokens,
            cost: args.max_cost,
            time: args.max_time.map(std::time::Duration::from_secs),
            output: None,
        },
        model: model_choice(args),
        mode: mode(args),
        toolsets: args.toolsets.clone(),
        skills: skill_texts(&args.skills, base)?,
        ..SessionSpec::default()
    })
}

/// The text of skills that `--skills` names.
fn skill_texts(names: &[String], base: &Base) -> anyhow::Result<Vec<String>> {
    if !names.is_empty() {
        crate::context::skills::extract(&base.paths)?;
    }
    let known = crate::context::skills::discover(&base.paths, &base.loaded.config.skills);
    names
        .iter()
        .map(|name| {
            let skill = known.iter().find(|skill| skill.name == *name);
            let skill = skill.with_context(|| {
                let all: Vec<&str> = known.iter().map(|s| s.name.as_str()).collect();
                format!("no skill named {name}; available: {}", all.join(", "))
            })?;
            std::fs::read_to_string(&skill.path).with_context(|| format!("could not read {}", skill.path.display()))
        })
        .collect()
}

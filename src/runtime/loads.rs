//! Work outside the screen: lists, looks, keys, the repository. Each answers with one message.

use super::{Context, elsewhere, local_models, own_server, reports, worktrees};
use crate::accounts::Known;
use crate::app::effect::LoadRequest;
use crate::app::model::first_run::Found;
use crate::app::model::sidebar::{Git, Knowledge};
use crate::app::msg::{LoadReply, ModelChoice};
use crate::app::{Model, Msg};
use crate::config::load;
use crate::config::skin::{self, Appearance, Listed};
use crate::engine::choose;
use crate::llm::ability::Ability;
use crate::llm::{ModelInfo, catalog, endpoint, http, ready};
use crate::protocol::{ItemId, RewindPoint, RewindPreview, UndoPoint, UndoPreview};
use crate::store::{Blobs, Store, StoreError};
use crate::tools::file::restore_target::RestoreTarget;
use crate::tools::offer::listing::{Listing, listing};
use crate::tools::offer::selection::ToolSelection;
use std::path::PathBuf;
use std::sync::Arc;

/// What a load may need to know of the screen.
pub struct Facts {
    pub session: Option<crate::protocol::SessionInfo>,
    pub meter: crate::protocol::Meter,
    pub store: Store,
    pub cwd: PathBuf,
}

impl Facts {
    /// The facts of now.
    pub fn of(model: &Model, store: Store) -> Self {
        let session = model.tab.session.clone();
        let cwd = session.as_ref().map_or_else(|| PathBuf::from("."), |s| PathBuf::from(&s.cwd));
        Self { session, meter: model.tab.meter, store, cwd }
    }
}

/// Does the work; `None` when there is nothing to tell.
pub async fn answer(request: LoadRequest, context: Context, facts: Facts) -> Option<Msg> {
    let reply = match request {
        LoadRequest::Models { refresh } => {
            let (choices, problems) = models(&context, refresh).await;
            LoadReply::Models { choices, problems }
        }
        LoadRequest::StartServer { provider } => LoadReply::ServerStarted(own_server::start(&context, &provider).await),
        LoadRequest::NamedModel { name } => {
            let (choices, problems) = models(&context, true).await;
            LoadReply::NamedModel { name, choices, problems }
        }
        LoadRequest::NamedLocal { name } => {
            LoadReply::NamedLocal { name, offers: local_models::offers(&context).await }
        }
        LoadRequest::ExportOf { session } => {
            LoadReply::Exported(super::export::export_of(&session, "", &context.paths, &facts).await)
        }
        LoadRequest::FirstRun => LoadReply::Found(found(&context).await),
        LoadRequest::LocalModels => LoadReply::LocalModels(local_models::offers(&context).await),
        LoadRequest::Served => LoadReply::Served(local_models::served(&local_models::of(&context))),
        LoadRequest::TryKey { provider, key } => try_key(&context, provider, &key).await,
        LoadRequest::Ability { model } => super::self_test::look_up(&context, model).await?,
        // None: the one before this was dropped for it.
        LoadRequest::SelfTest { model } => super::self_test::run(&context, model?).await?,
        LoadRequest::ReadSession { id } => reports::session(&id, &facts).await,
        LoadRequest::LogOut { provider } => LoadReply::LoggedOut(super::accounts::log_out(&context, provider).await),
        LoadRequest::TryServer { address, key } => own_server::tried(&context, address, key).await,
        LoadRequest::Knowledge => LoadReply::Knowledge(knowledge(context, facts).await),
        LoadRequest::Appearance { skin, theme, save } => look(context, skin, theme, save).await,
        LoadRequest::Git => {
            LoadReply::Git(crate::agent::git(&facts.cwd).await.map(|(branch, dirty)| Git { branch, dirty }))
        }
        LoadRequest::Neighbours { except } => {
            LoadReply::Neighbours(worktrees::neighbours(&context, &facts, except).await)
        }
        LoadRequest::Worktree { checkout, name } => {
            LoadReply::Worktree(worktrees::made(&context, checkout, name).await)
        }
        LoadRequest::TreeChanges { wanted } => {
            LoadReply::TreeChanges { result: worktrees::changes(&context, &facts, wanted.clone()).await, wanted }
        }
        LoadRequest::TreeHunks { folder, base, path, from } => {
            let result = worktrees::hunks(&context, &facts, (folder, base, path.clone(), from)).await;
            LoadReply::TreeHunks { path, result }
        }
        LoadRequest::DropWorktree { folder, mark } => {
            LoadReply::WorktreeDropped { result: worktrees::dropped(&context, folder.clone(), mark).await, folder }
        }
        LoadRequest::OtherWindows => LoadReply::OtherWindows(worktrees::others(&context).await),
        LoadRequest::FocusWindow { session } => LoadReply::WindowFocused(worktrees::focused(&context, session).await),
        LoadRequest::Files => {
            let session = facts.session.as_ref()?.id.clone();
            let blobs = Blobs::new(context.paths.history());
            let ground = RestoreTarget::of(&context.backends);
            let files = crate::agent::rewind::changed(&facts.store, &blobs, &session, (&ground, &facts.cwd)).await;
            match files {
                Ok(files) => LoadReply::Files { session, files },
                Err(error) => {
                    tracing::debug!(%error, "the list of changed files is unchanged");
                    return None;
                }
            }
        }
        LoadRequest::Toolsets => LoadReply::Toolsets(super::toolsets::rows(&tools(&context, &facts).await)),
        LoadRequest::Permissions => super::permissions::list(&context, &facts).await,
        LoadRequest::TryCommand { command } => super::permissions::tried(command, &context, &facts).await,
        LoadRequest::Revoke { row } => super::permissions::revoke(*row, &context, &facts).await,
        LoadRequest::RewindPoints => LoadReply::RewindPoints(rewind_points(&context, &facts).await),
        LoadRequest::RewindPreview { item } => {
            LoadReply::RewindPreview { item, preview: rewind_preview(item, &context, &facts).await.map(Box::new) }
        }
        LoadRequest::UndoPoints => LoadReply::UndoPoints(undo_points(&facts).await),
        LoadRequest::UndoPreview { command } => {
            LoadReply::UndoPreview { command, preview: undo_preview(command, &context, &facts).await.map(Box::new) }
        }
        LoadRequest::Elsewhere { query } => elsewhere::list(&context, query).await?,
        LoadRequest::ElsewherePreview { key } => elsewhere::preview(&context, key).await?,
        LoadRequest::TakeOver { wish, here } => elsewhere::take(&context, &facts, &wish, &here).await,
        LoadRequest::Migrate => elsewhere::migrate(&context, &facts).await?,
        LoadRequest::Stats { days } => LoadReply::Stats { days, figures: reports::figures(days, &facts).await },
        LoadRequest::Tidy => {
            let config = &context.loaded.config;
            let (level, text) = crate::pruning::at_start(&facts.store, &context.paths, config).await?;
            LoadReply::Tidied { level, text }
        }
        LoadRequest::Replay { session, before } => super::replay::page(&context, &facts, session, before).await,
        LoadRequest::ReplayMoment { session, stop, until, terminals } => {
            super::replay::moment(&context, &facts, session, stop, until, terminals).await
        }
        LoadRequest::Report { report, argument } => reports::report(report, &argument, &context, &facts).await,
        LoadRequest::Prompt { server, prompt, args } => {
            let args = args.into_iter().map(|(name, value)| (name, value.into())).collect();
            LoadReply::Prompt(context.mcp.prompt(&server, &prompt, args).await)
        }
        LoadRequest::Image { path } => LoadReply::Image(super::images::image(path, &facts.cwd).await),
        LoadRequest::Looks => {
            let dirs = context.paths.look_dirs();
            let rows = |list: Vec<Listed>| list.into_iter().map(|l| (l.name, l.description)).collect();
            LoadReply::Looks { skins: rows(skin::list_skins(&dirs)), themes: rows(skin::list_themes(&dirs)) }
        }
        LoadRequest::Extensions { seen } => super::extensions::changed(&context, seen).await,
        LoadRequest::Trust { card } => super::extensions::trusted(&context, *card).await,
        LoadRequest::PluginCommand { name, argument } => {
            super::extensions::command(&context, &facts, name, &argument).await
        }
        // Writes go through [`write`], the demo through the loop, paths through their index.
        LoadRequest::SetConfig { .. }
        | LoadRequest::SaveModel { .. }
        | LoadRequest::SaveKey { .. }
        | LoadRequest::UseServer { .. }
        | LoadRequest::Paths { .. }
        | LoadRequest::Demo => return None,
    };
    Some(Msg::Loaded(reply))
}

async fn rewind_points(context: &Context, facts: &Facts) -> Result<Vec<RewindPoint>, String> {
    let Some(session) = &facts.session else { return Ok(Vec::new()) };
    match crate::agent::rewind::points(&facts.store, &context.registry, &session.id).await {
        // A session is stored with its first item.
        Err(StoreError::NotFound { .. }) => Ok(Vec::new()),
        points => points.map_err(|error| error.to_string()),
    }
}

async fn rewind_preview(item: ItemId, context: &Context, facts: &Facts) -> Result<RewindPreview, String> {
    let gone = || "that prompt is no longer in the conversation".to_owned();
    let session = facts.session.as_ref().ok_or_else(gone)?;
    let blobs = Blobs::new(context.paths.history());
    let ground = RestoreTarget::of(&context.backends);
    let ground = (&ground, facts.cwd.as_path());
    let seen = crate::agent::rewind::preview(&facts.store, &blobs, &context.registry, &session.id, item, ground).await;
    seen.map_err(|error| error.to_string())?.ok_or_else(gone)
}

async fn undo_points(facts: &Facts) -> Result<Vec<UndoPoint>, String> {
    let Some(session) = &facts.session else { return Ok(Vec::new()) };
    match crate::agent::undo::points(&facts.store, &session.id).await {
        // A session is stored with its first item.
        Err(StoreError::NotFound { .. }) => Ok(Vec::new()),
        points => points.map_err(|error| error.to_string()),
    }
}

async fn undo_preview(command: i64, context: &Context, facts: &Facts) -> Result<UndoPreview, String> {
    let gone = || "that command is no longer in this session".to_owned();
    let session = facts.session.as_ref().ok_or_else(gone)?;
    let (blobs, ground) = (Blobs::new(context.paths.history()), RestoreTarget::of(&context.backends));
    let ground = (&ground, facts.cwd.as_path());
    let seen = crate::agent::undo::preview(&facts.store, &blobs, &session.id, command, ground).await;
    seen.map_err(|error| error.to_string())?.ok_or_else(gone)
}

/// A change of a file in the home folder, to be made off the async threads.
pub fn write(request: LoadRequest) -> impl FnOnce(&Context) -> Option<Msg> + Send + 'static {
    move |context| match request {
        LoadRequest::SaveKey { provider, key } => {
            let result = choose::save_key(&context.paths, &provider, &key);
            Some(Msg::Loaded(LoadReply::KeySaved { provider, result }))
        }
        LoadRequest::UseServer { server, model } => Some(Msg::Loaded(own_server::save(context, &server, model))),
        LoadRequest::SaveModel { provider, model } => {
            let write = || choose::save_model(&context.paths, &provider, &model);
            let text = context.policy.ours(write).err()?.to_string();
            Some(Msg::Loaded(LoadReply::Report { title: "the model was not saved".into(), text }))
        }
        LoadRequest::SetConfig { key, value } => {
            let write = || crate::config::edit::set(&context.paths.config(), &key, &value);
            let text = context.policy.ours(write).err()?.to_string();
            Some(Msg::Loaded(LoadReply::Report { title: format!("{key} was not saved"), text }))
        }
        _ => None,
    }
}

/// The configuration as it is now; a key may have been pasted since the start.
pub fn fresh(context: &Context) -> load::Loaded {
    load::load(&context.sources)
}

async fn models(context: &Context, refresh: bool) -> (Vec<ModelChoice>, Vec<String>) {
    let loaded = Arc::new(fresh(context));
    let accounts = &context.engine.services().accounts;
    let (cache, http) = (context.paths.cache(), http::client());
    let found = endpoint::available(&loaded.config, &Known { loaded: &loaded, accounts });
    let found = futures::future::join_all(found.into_iter().map(|endpoint| accounts.unlock(&loaded, endpoint))).await;
    let ask = found.iter().map(|endpoint| catalog::list_models(endpoint, &http, &cache, refresh));
    let lists = futures::future::join_all(ask).await;
    let models = context.engine.services().models.reloaded(Arc::clone(&loaded));
    let measured = models.measured();
    let choice = |info: &ModelInfo, tested: Option<&Ability>| ModelChoice {
        provider: info.provider.clone(),
        model: info.id.clone(),
        detail: ready::detail(info, tested),
        ready: true,
    };
    let mut choices: Vec<ModelChoice> = Vec::new();
    let mut problems = Vec::new();
    for (endpoint, list) in found.iter().zip(lists) {
        match list {
            Ok(models) => choices.extend(models.into_iter().map(|mut info| {
                catalog::price_by_config(&loaded.config, &mut info);
                choice(&info, measured.of(endpoint, &info.id))
            })),
            Err(error) => {
                problems.push(error.message);
                // The configured model can be chosen though its provider's list can't be had.
                let info = catalog::model_info(endpoint, &loaded.config, Some(&cache));
                choices.push(choice(&info, measured.of(endpoint, &info.id)));
            }
        }
    }
    let tested = |info: &ModelInfo| models.ability(Some(&format!("{}:{}", info.provider, info.id)));
    choices.extend(here(context).await.iter().map(|info| choice(info, tested(info).as_ref())));
    (choices, problems)
}

/// The models that are on this computer.
async fn here(context: &Context) -> Vec<ModelInfo> {
    let local = local_models::of(context);
    let known = move || -> Vec<ModelInfo> {
        let info = |name: &str| {
            let provider = crate::local::served::PROVIDER.to_owned();
            local.known(name, ModelInfo { id: name.to_owned(), provider, ..ModelInfo::default() })
        };
        local.shelf().list().iter().map(|kept| info(&kept.name)).collect()
    };
    tokio::task::spawn_blocking(known).await.unwrap_or_default()
}

async fn found(context: &Context) -> Found {
    let loaded = fresh(context);
    let keys = choose::keys(&loaded, &context.engine.services().accounts, &context.paths);
    let (servers, offers, idle) =
        tokio::join!(choose::servers(&loaded), local_models::offers(context), own_server::idle(context));
    let servers = servers.into_iter().map(own_server::row).collect();
    let mut sign_ins = super::accounts::offered(&loaded.config);
    sign_ins.retain(|row| row.missing.is_empty() && !keys.iter().any(|(provider, _)| *provider == row.provider));
    let idle = idle.iter().map(own_server::idle_row).collect();
    Found { keys, servers, idle, sign_ins, providers: ready::pasteable(), local: Some(offers) }
}

/// One live call with a pasted key.
async fn try_key(context: &Context, provider: String, key: &str) -> LoadReply {
    let outcome = choose::try_key(&fresh(context), &context.paths, &provider, key).await;
    LoadReply::KeyTried { provider, outcome }
}

async fn knowledge(context: Context, facts: Facts) -> Knowledge {
    let listing = tools(&context, &facts).await;
    let missing = listing.rows.iter().filter(|row| row.enabled);
    let unavailable = missing.filter_map(|row| Some((row.name.clone(), row.reason.clone()?))).collect();
    let (ready, _) = listing.counts();
    let cwd = facts.cwd;
    let summary = tokio::task::spawn_blocking(move || {
        if let Err(error) = crate::context::skills::extract(&context.paths) {
            tracing::warn!("could not install the bundled skills: {error}");
        }
        crate::context::Knowledge::read(&context.paths, &context.loaded.config, &cwd).summary()
    })
    .await
    .unwrap_or_default();
    Knowledge {
        notes: summary.notes,
        profile: summary.profile,
        skills: summary.skills,
        context_files: summary.context_files,
        tools: ready,
        unavailable,
    }
}

/// The tools of the open session. Runs the checks: nothing of it is needed for the first frame.
pub async fn tools(context: &Context, facts: &Facts) -> Listing {
    let registry = context.registry.snapshot();
    let toolsets = facts.session.as_ref().and_then(|session| session.toolsets.as_deref());
    let offer = ToolSelection::of_config(&context.loaded.config, toolsets, std::collections::BTreeMap::new());
    listing(&registry, &offer, &registry.unavailable().await)
}

async fn look(context: Context, skin: Option<String>, theme: Option<String>, save: bool) -> LoadReply {
    let work = move || {
        let loaded = fresh(&context);
        let asked = skin.clone().or_else(|| theme.clone()).unwrap_or_default();
        let skin_name = skin.clone().unwrap_or_else(|| loaded.config.display.skin.clone());
        let theme_name = theme.clone().unwrap_or_else(|| loaded.config.display.theme.clone());
        let mut result = Appearance::load(&skin_name, &theme_name, &context.paths.look_dirs(), context.canvas)
            .map_err(|e| e.to_string());
        if save && result.is_ok() {
            let file = context.paths.config();
            for (key, value) in [("display.skin", skin), ("display.theme", theme)] {
                if let Some(value) = value
                    && let Err(error) = crate::config::edit::set(&file, key, &value)
                {
                    result = Err(error.to_string());
                }
            }
        }
        LoadReply::Appearance { name: asked, result }
    };
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| LoadReply::Appearance { name: String::new(), result: Err(error.to_string()) })
}

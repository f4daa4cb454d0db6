//! Which model answers: the chosen one, then the fallbacks. Connections are made when they are first needed.

use super::budget::held::Held;
use super::budget::purse::Purse;
use crate::accounts::{Accounts, Known};
use crate::config::AuxiliaryModel;
use crate::config::SmallProfile;
use crate::config::load::Loaded;
use crate::config::paths::Paths;
use crate::llm::ability::{Abilities, Ability, Measured};
use crate::llm::catalog::{self, Refreshed};
use crate::llm::endpoint::{self, SetupError};
use crate::llm::guided::Guided;
use crate::llm::http::{self, Http};
use crate::llm::{self, ModelInfo, Provider};
use crate::local::Local;
use std::path::PathBuf;
use std::sync::Arc;

/// How much a session asks of its model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Few tools, short texts, small results, one call at a time.
    pub small: bool,
    /// Calls are held by a grammar.
    pub guided: bool,
    /// Whether its scripts may call tools of servers; `None`: as `code_execution.mcp` says.
    pub code_mode: Option<bool>,
}

/// Makes providers out of the configuration.
#[derive(Clone)]
pub struct Models {
    loaded: Arc<Loaded>,
    accounts: Accounts,
    /// Lists of models are cached here.
    cache: PathBuf,
    http: Http,
    /// Models of this computer.
    local: Local,
    /// Plays instead of every real model.
    script: Option<Arc<dyn Provider>>,
    /// Who pays; `None`: nobody counts.
    purse: Option<Purse>,
}

impl Models {
    /// Over a loaded configuration, the folders of its home and its accounts.
    pub fn new(loaded: Arc<Loaded>, paths: &Paths, accounts: Accounts) -> Self {
        let local = Local::new(&paths.home, &loaded.config.models, loaded.env("PATH").unwrap_or_default());
        Self { loaded, accounts, cache: paths.cache(), http: http::client(), local, script: None, purse: None }
    }

    /// Models of this computer.
    pub fn local(&self) -> &Local {
        &self.local
    }

    /// Lets a script play every model (the demo).
    pub fn scripted(mut self, script: Arc<dyn Provider>) -> Self {
        self.script = Some(script);
        self
    }

    /// The same, with calls that are paid for from this purse.
    pub fn within(&self, purse: Purse) -> Self {
        Self { purse: Some(purse), ..self.clone() }
    }

    /// The model within the budget. `role`: no item tells of its calls.
    fn held(&self, provider: Arc<dyn Provider>, role: Option<&'static str>) -> Arc<dyn Provider> {
        match &self.purse {
            Some(purse) => Arc::new(Held::new(provider, purse.clone(), role)),
            None => provider,
        }
    }

    /// The same over a configuration that was read again.
    pub fn reloaded(&self, loaded: Arc<Loaded>) -> Self {
        if let Some(purse) = &self.purse {
            purse.configure(loaded.config.budget);
        }
        Self { loaded, ..self.clone() }
    }

    /// Models behind the first that may be tried.
    pub fn fallbacks(&self) -> usize {
        if self.script.is_some() { 0 } else { self.endpoints().len() }
    }

    fn endpoints(&self) -> Vec<endpoint::Endpoint> {
        endpoint::fallbacks(&self.loaded.config, &self.known())
    }

    fn known(&self) -> Known<'_> {
        Known { loaded: &self.loaded, accounts: &self.accounts }
    }

    fn resolve(&self, choice: Option<&str>) -> Result<endpoint::Endpoint, SetupError> {
        endpoint::resolve(&self.loaded.config, &self.known(), choice).map_err(|error| match self.accounts.trouble() {
            // A login may be there that nobody can read.
            Some(trouble) => SetupError::Accounts(format!("{error}; and {trouble}")),
            None => error,
        })
    }

    fn connect(&self, endpoint: endpoint::Endpoint, role: Option<&'static str>) -> Arc<dyn Provider> {
        let info = self.info(&endpoint);
        self.connect_as(endpoint, info, role)
    }

    fn connect_as(
        &self,
        endpoint: endpoint::Endpoint,
        info: ModelInfo,
        role: Option<&'static str>,
    ) -> Arc<dyn Provider> {
        let guided = self.profile_of(&endpoint).guided;
        let plain = self.plain(endpoint, info);
        self.held(if guided { Arc::new(Guided::new(plain)) } else { plain }, role)
    }

    /// The model as it is, whatever was measured.
    fn plain(&self, endpoint: endpoint::Endpoint, info: ModelInfo) -> Arc<dyn Provider> {
        if endpoint.is_served() {
            return self.local.provider(endpoint, info);
        }
        self.accounts.connect(&self.loaded, endpoint, self.http.clone(), info)
    }

    /// The chosen model (`None`: the configured one) or the n-th fallback.
    pub fn provider(&self, choice: Option<&str>, fallback: usize) -> Result<Arc<dyn Provider>, SetupError> {
        self.answering(choice, fallback, None)
    }

    /// The chosen model, for a server that asks for an answer: of that no item tells.
    pub fn sampler(&self, choice: Option<&str>) -> Result<Arc<dyn Provider>, SetupError> {
        self.answering(choice, 0, Some("sampling"))
    }

    fn answering(
        &self,
        choice: Option<&str>,
        fallback: usize,
        role: Option<&'static str>,
    ) -> Result<Arc<dyn Provider>, SetupError> {
        if let Some(script) = &self.script {
            return Ok(self.held(Arc::clone(script), role));
        }
        let endpoint = match fallback.checked_sub(1).and_then(|n| self.endpoints().into_iter().nth(n)) {
            Some(endpoint) => endpoint,
            None => self.resolve(choice)?,
        };
        Ok(self.connect(endpoint, role))
    }

    /// The model that passes questions of low risk: `auxiliary.approval`, else the chosen one.
    pub fn auto_approver(&self, choice: Option<&str>) -> Result<Arc<dyn Provider>, SetupError> {
        self.auxiliary("auxiliary.approval", &self.loaded.config.auxiliary.approval, choice, Some("approval"))
    }

    /// The model that writes summaries: `auxiliary.compression`, else the chosen one.
    pub fn summarizer(&self, choice: Option<&str>) -> Result<Arc<dyn Provider>, SetupError> {
        self.auxiliary("auxiliary.compression", &self.loaded.config.auxiliary.compression, choice, None)
    }

    /// The model that says what a session was about: `auxiliary.summary`. `None`: nobody named one, it can't be used, or it
    /// is a small one, which has better things to do.
    pub fn teller(&self, choice: Option<&str>) -> Option<Arc<dyn Provider>> {
        let own = &self.loaded.config.auxiliary.summary;
        if [&own.provider, &own.model, &own.base_url].iter().all(|text| text.trim().is_empty()) {
            return None;
        }
        if let Some(script) = &self.script {
            return Some(self.held(Arc::clone(script), None));
        }
        let endpoint =
            endpoint::auxiliary(&self.loaded.config, &self.known(), ("auxiliary.summary", own), choice).ok()?;
        if self.profile_of(&endpoint).small {
            return None;
        }
        Some(self.connect(endpoint, None))
    }

    fn auxiliary(
        &self,
        place: &str,
        own: &AuxiliaryModel,
        choice: Option<&str>,
        role: Option<&'static str>,
    ) -> Result<Arc<dyn Provider>, SetupError> {
        if let Some(script) = &self.script {
            return Ok(self.held(Arc::clone(script), role));
        }
        let endpoint = endpoint::auxiliary(&self.loaded.config, &self.known(), (place, own), choice)?;
        Ok(self.connect(endpoint, role))
    }

    /// The chosen model with what its server on this machine tells of it: the real window and abilities. `None` when there
    /// is nothing to ask: another kind of server, or the configuration names the window.
    pub async fn asked(&self, choice: Option<&str>) -> Option<Arc<dyn Provider>> {
        let endpoint = self.resolve(choice).ok()?;
        if self.script.is_some() || !endpoint.local || endpoint.is_served() || endpoint.context.is_some() {
            return None;
        }
        let info = self.info(&endpoint);
        let info = llm::local::refine(&self.http, &endpoint, info).await;
        Some(self.connect_as(endpoint, info, None))
    }

    /// The chosen model after its provider's list was refreshed, once a day; `None` when nothing new is known. A provider
    /// that can't be reached is asked again later, for as long as this is waited for.
    pub async fn refreshed(&self, choice: Option<&str>) -> Option<Arc<dyn Provider>> {
        if self.script.is_some() || self.is_offline() {
            return None;
        }
        let endpoint = self.resolve(choice).ok()?;
        if endpoint.is_served() {
            return None;
        }
        let keyed = self.accounts.unlock(&self.loaded, endpoint.clone()).await;
        let mut tries = 0;
        loop {
            match catalog::refresh_daily(&keyed, &self.http, &self.cache).await {
                Refreshed::New => break,
                Refreshed::No => return None,
                Refreshed::Failed => tokio::time::sleep(catalog::again_after(tries)).await,
            }
            tries += 1;
        }
        Some(self.connect(endpoint, None))
    }

    /// Makes the HTTP client of the chosen model, unless it is there: reading the certificates takes milliseconds, so it
    /// is done beside the other work of a starting turn. Blocks; what fails here fails again, and is told, at the call.
    pub fn warm_up(&self, choice: Option<&str>) {
        if self.script.is_some() {
            return;
        }
        if let Ok(endpoint) = self.resolve(choice) {
            let _ = self.http.to(&endpoint.url());
        }
    }

    /// How much the chosen model can be asked: by what was measured, and the configuration. Blocks for a small file.
    pub fn profile(&self, choice: Option<&str>) -> Profile {
        match self.resolve(choice) {
            Ok(endpoint) if self.script.is_none() => self.profile_of(&endpoint),
            _ => Profile::default(),
        }
    }

    fn profile_of(&self, endpoint: &endpoint::Endpoint) -> Profile {
        let known = Abilities::new(&self.cache).of(endpoint);
        let guided = known.as_ref().is_some_and(Ability::is_guided);
        let named = self.loaded.config.providers.get(&endpoint.provider);
        let code_mode = named.and_then(|named| named.models.get(&endpoint.model)).and_then(|model| model.code_mode);
        match self.loaded.config.models.small_profile {
            SmallProfile::Off => Profile { code_mode, ..Profile::default() },
            SmallProfile::On => Profile { small: true, guided, code_mode },
            // One of this computer that nobody tested is more likely small than not.
            SmallProfile::Auto => {
                Profile { small: known.map_or(endpoint.is_served(), |ability| ability.is_small()), guided, code_mode }
            }
        }
    }

    /// Tests the chosen model with two short requests, and keeps what was found: with the id of its provider.
    ///
    /// # Errors
    /// It can't be set up, or does not answer: for the person.
    pub async fn test(&self, choice: Option<&str>) -> Result<(String, Ability), String> {
        let endpoint = self.resolve(choice).map_err(|error| error.to_string())?;
        let mut info = self.info(&endpoint);
        if endpoint.local && !endpoint.is_served() {
            info = llm::local::refine(&self.http, &endpoint, info).await;
        }
        let model = self.held(self.plain(endpoint.clone(), info), Some("test"));
        let mut ability = llm::self_test::run(&*model, super::now()).await.map_err(|error| error.message)?;
        ability.grammar = endpoint.is_served() || endpoint.provider == "llamacpp";
        // Over a network the time to the first piece says little about reading.
        ability.prompt_rate = ability.prompt_rate.filter(|_| endpoint.local);
        if let Err(error) = Abilities::new(&self.cache).keep(&endpoint, ability.clone()) {
            tracing::warn!("{error}");
        }
        Ok((endpoint.provider, ability))
    }

    /// What was measured of the chosen model.
    pub fn ability(&self, choice: Option<&str>) -> Option<Ability> {
        Abilities::new(&self.cache).of(&self.resolve(choice).ok()?)
    }

    /// What was measured of every model. Blocks for a small file.
    pub fn measured(&self) -> Measured {
        Abilities::new(&self.cache).all()
    }

    /// Whether a model that was just chosen is to be tested: `None`: no, it is known, or can't be asked, or must not be
    /// without a person's word; else whether it runs on this machine or network. Blocks for a small file.
    pub fn is_untested(&self, choice: &str) -> Option<bool> {
        let endpoint = self.resolve(Some(choice)).ok().filter(|_| self.script.is_none())?;
        let is_near = endpoint.local || endpoint.is_served();
        let may = is_near || !self.is_offline();
        (may && self.loaded.config.models.self_test && self.ability(Some(choice)).is_none()).then_some(is_near)
    }

    /// `HERMES_OFFLINE` keeps everything that nobody asked for from going out.
    fn is_offline(&self) -> bool {
        self.loaded.env("HERMES_OFFLINE").is_some_and(|value| !matches!(value, "" | "0" | "false"))
    }

    fn info(&self, endpoint: &endpoint::Endpoint) -> ModelInfo {
        let info = catalog::model_info(endpoint, &self.loaded.config, Some(&self.cache));
        if endpoint.is_served() { self.local.known(&endpoint.model, info) } else { info }
    }
}

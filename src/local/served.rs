//! The servers of models of this computer: one is started by the first request, shared by all windows of a home, put to
//! sleep when nobody asks, and ended with its last user.

use super::LocalError;
use super::engine::{self, Engine, Files, Missing, Plan, Users, Wish};
use super::gguf::Header;
use super::machine::Machine;
use super::shelf::{Kept, Shelf, is_name};
use super::table::Table;
use crate::config::ModelsConfig;
use crate::exec::Daemon;
use crate::llm::endpoint::Secret;
use crate::llm::http::{self, Http};
use crate::llm::{ModelInfo, Price};
use crate::lock::lock;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, SystemTime};
use tokio::sync::watch;

/// The id of the provider.
pub const PROVIDER: &str = "local";

/// The models of this computer. Cheap to clone; clones share the servers.
#[derive(Clone)]
pub struct Local(Arc<Inner>);

struct Inner {
    home: PathBuf,
    config: ModelsConfig,
    /// `PATH` of the environment.
    path: String,
    shelf: Shelf,
    /// Read when it is first wanted.
    table: OnceLock<Table>,
    http: Http,
    /// Headers that were read, with the time of the file.
    headers: Mutex<BTreeMap<PathBuf, (SystemTime, Header)>>,
    slots: Mutex<BTreeMap<String, Arc<Slot>>>,
    /// Told when what a server does changes.
    changed: watch::Sender<()>,
}

/// One model: a server at most.
struct Slot {
    files: Files,
    running: tokio::sync::Mutex<Option<Running>>,
    /// What is shown of it, without waiting for whoever starts it.
    shown: Mutex<Shown>,
    changed: watch::Sender<()>,
}

#[derive(Clone, Default)]
struct Shown {
    daemon: Option<Daemon>,
    state: State,
}

/// What a server does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    #[default]
    Off,
    Loading,
    On,
    /// It gave its memory back; the next request wakes it.
    Asleep,
}

/// What the sidebar tells of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    pub name: String,
    pub state: State,
    /// Bytes of memory in use.
    pub memory: Option<u64>,
}

struct Running {
    users: Users,
    daemon: Daemon,
    port: u16,
    key: Secret,
    plan: Plan,
}

/// Where a server answers.
pub(super) struct Address {
    pub base: String,
    pub key: Secret,
    pub daemon: Daemon,
    pub plan: Plan,
    pub files: Files,
}

impl Local {
    /// Over a home; nothing runs yet. `path` is where programs are looked for.
    pub fn new(home: &Path, config: &ModelsConfig, path: &str) -> Self {
        let shelf = Shelf::new(home, &config.dir);
        Self(Arc::new(Inner {
            home: home.to_path_buf(),
            config: config.clone(),
            path: path.to_owned(),
            shelf,
            table: OnceLock::new(),
            http: http::client(),
            headers: Mutex::default(),
            slots: Mutex::default(),
            changed: watch::Sender::default(),
        }))
    }

    /// The models that are offered.
    pub fn table(&self) -> &Table {
        self.0.table.get_or_init(|| Table::of(&self.0.home))
    }

    /// The models that are here.
    pub fn shelf(&self) -> &Shelf {
        &self.0.shelf
    }

    /// Hosts that are asked for models: the mirrors of the configuration first.
    pub fn hosts(&self) -> Vec<String> {
        self.mirrors().iter().chain(&self.table().hosts).cloned().collect()
    }

    /// Hosts of the configuration, which are asked before all others, for the engine as well.
    pub fn mirrors(&self) -> &[String] {
        &self.0.config.mirror
    }

    pub(super) fn home(&self) -> &Path {
        &self.0.home
    }

    /// What serves models here. Blocks.
    ///
    /// # Errors
    /// [`Missing`]: what can be done about it.
    pub fn engine(&self) -> Result<Engine, Missing> {
        engine::find(&self.0.config, &self.0.home, &self.0.path, self.table().engine())
    }

    /// What is known of a model before it runs: its window, and that it costs nothing. Blocks for a look at its file.
    pub fn known(&self, name: &str, mut info: ModelInfo) -> ModelInfo {
        info.price = Some(Price::default());
        if !is_name(name) {
            return info;
        }
        if let Some((record, _)) = self.slot(name).files.read() {
            info.context = Some(record.context);
        } else if let Some(kept) = self.0.shelf.find(name)
            && let Ok(plan) = self.plan(&kept, &Machine::look(self.0.shelf.dir(), None))
        {
            info.context = Some(plan.context);
        }
        info
    }

    fn slot(&self, name: &str) -> Arc<Slot> {
        let mut slots = lock(&self.0.slots);
        let new = || {
            let files = Files::new(&self.0.home, name);
            let changed = self.0.changed.clone();
            Arc::new(Slot { files, running: Default::default(), shown: Mutex::default(), changed })
        };
        Arc::clone(slots.entry(name.to_owned()).or_insert_with(new))
    }

    fn plan(&self, kept: &Kept, machine: &Machine) -> Result<Plan, LocalError> {
        let header = self.header(&kept.file)?;
        let wish = Wish {
            name: &kept.name,
            file: &kept.file,
            bytes: kept.bytes,
            header: &header,
            context: self.0.config.context,
            idle_minutes: self.0.config.idle_minutes,
        };
        Ok(engine::plan(&wish, machine, self.table()))
    }

    fn header(&self, file: &Path) -> Result<Header, LocalError> {
        let failed = |error| LocalError::File(file.to_path_buf(), error);
        let changed =
            std::fs::metadata(file).and_then(|about| about.modified()).map_err(|error| failed(error.into()))?;
        let known = lock(&self.0.headers).get(file).filter(|(at, _)| *at == changed).map(|(_, header)| header.clone());
        if let Some(header) = known {
            return Ok(header);
        }
        let header = Header::of(file).map_err(failed)?;
        lock(&self.0.headers).insert(file.to_path_buf(), (changed, header.clone()));
        Ok(header)
    }

    /// The server of a model, started if need be. `waits` is called when that takes a while.
    pub(super) async fn ready(&self, name: &str, waits: impl Fn(&str)) -> Result<Address, LocalError> {
        if !is_name(name) {
            return Err(LocalError::Unknown(name.to_owned()));
        }
        let slot = self.slot(name);
        let mut running = slot.running.lock().await;
        if running.as_ref().is_none_or(|running| !running.daemon.is_alive()) {
            let asleep = lock(&slot.shown).state == State::Asleep;
            waits(if asleep { "waking the model" } else { "loading model" });
            *running = None;
            let loading = Loading::of(&slot);
            let begun = self.begin(name, &slot).await?;
            drop(loading);
            slot.show(Some(begun.daemon.clone()), State::On);
            self.rest_later(name, &slot);
            *running = Some(begun);
        }
        slot.files.touch();
        running
            .as_ref()
            .map(|running| running.address(slot.files.clone()))
            .ok_or_else(|| LocalError::NotHere(name.to_owned()))
    }

    /// Finds the server that runs already, or starts one.
    async fn begin(&self, name: &str, slot: &Slot) -> Result<Running, LocalError> {
        let (local, files, name) = (self.clone(), slot.files.clone(), name.to_owned());
        let prepared = tokio::task::spawn_blocking(move || {
            let users = files.join()?;
            let right = files.start()?;
            let kept = local.0.shelf.find(&name).ok_or_else(|| match local.table().find(&name) {
                Some(_) => LocalError::NotHere(name.clone()),
                None => LocalError::Unknown(name.clone()),
            })?;
            let machine = Machine::look(local.0.shelf.dir(), None);
            let plan = local.plan(&kept, &machine)?;
            let found = files.read();
            if found.is_none() {
                plan.check(&machine)?;
            }
            Ok((users, right, plan, found))
        });
        let (users, _right, mut plan, found) = flat(prepared.await)?;
        let mut server = None;
        if let Some((record, daemon)) = found {
            plan.context = record.context;
            match engine::settled(&record, &daemon, &plan, &slot.files, &self.0.http).await {
                Ok(()) if engine::knows_key(&record, &slot.files, &self.0.http).await => {
                    server = Some((record, daemon))
                }
                // Whatever has its number by now is not ours, and stays.
                Ok(()) => tracing::info!("what answers on the engine's port does not know its key"),
                // It died or hangs: another one takes its place.
                Err(fault) => {
                    tracing::info!("the engine that was found does not answer: {fault:?}");
                    let ending = daemon.clone();
                    let _ = tokio::task::spawn_blocking(move || ending.end(Duration::from_secs(2))).await;
                }
            }
        }
        let (record, daemon) = match server {
            Some(server) => server,
            None => {
                let local = self.clone();
                let engine = tokio::task::spawn_blocking(move || local.engine()).await;
                let engine = engine.map_err(|error| LocalError::NoEngine(error.to_string()))?;
                let engine = engine.map_err(|missing| LocalError::NoEngine(missing.words()))?;
                engine::start(&engine, &plan, &slot.files, &self.0.home, &self.0.http).await?
            }
        };
        let key = std::fs::read_to_string(slot.files.key()).unwrap_or_default();
        Ok(Running { users, daemon, port: record.port, key: Secret::new(key.trim()), plan })
    }

    /// Ends the server when nobody has used it for a while: its memory is worth more than the seconds of a start.
    fn rest_later(&self, name: &str, slot: &Arc<Slot>) {
        let minutes = self.0.config.idle_minutes;
        if minutes == 0 {
            return;
        }
        let (slot, rest, name) = (Arc::downgrade(slot), Duration::from_secs(minutes * 60), name.to_owned());
        tokio::spawn(async move {
            loop {
                let Some(slot) = slot.upgrade() else { return };
                let rested = slot.files.rested();
                if rested < rest {
                    drop(slot);
                    tokio::time::sleep(rest - rested).await;
                    continue;
                }
                let mut running = slot.running.lock().await;
                if slot.files.rested() < rest {
                    continue;
                }
                if let Some(running) = running.take() {
                    tracing::info!("{name} sleeps");
                    let files = slot.files.clone();
                    let _ = tokio::task::spawn_blocking(move || {
                        drop(running.users);
                        // Another window may have used it meanwhile.
                        files.end_if(|files| files.rested() >= rest)
                    })
                    .await;
                    slot.show(None, State::Asleep);
                }
                return;
            }
        });
    }

    /// Hears when a server is started, ready, put to sleep or ended.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.0.changed.subscribe()
    }

    /// What runs, for the sidebar.
    pub fn view(&self) -> Vec<View> {
        let slots = lock(&self.0.slots);
        let shown = |(name, slot): (&String, &Arc<Slot>)| {
            let Shown { daemon, state } = lock(&slot.shown).clone();
            let memory = daemon.as_ref().and_then(Daemon::memory);
            (state != State::Off).then(|| View { name: name.clone(), state, memory })
        };
        slots.iter().filter_map(shown).collect()
    }

    /// Models that run for any window of this home. Blocks.
    pub fn running(&self) -> Vec<(String, Option<u64>)> {
        let names = self.0.shelf.list().into_iter().map(|kept| kept.name);
        let alive = |name: String| {
            let (_, daemon) = Files::new(&self.0.home, &name).read()?;
            Some((name, daemon.memory()))
        };
        names.filter_map(alive).collect()
    }

    /// Starts the server of a model and says where it answers, and in which file its key is.
    ///
    /// # Errors
    /// It does not come up, and why.
    pub async fn serve(&self, name: &str) -> Result<(String, PathBuf), LocalError> {
        let address = self.ready(name, |_| {}).await?;
        Ok((address.base, self.slot(name).files.key()))
    }

    /// Waits until the server of a model that is served here has ended.
    pub async fn ended(&self, name: &str) {
        let slot = self.slot(name);
        while slot.running.lock().await.as_ref().is_some_and(|running| running.daemon.is_alive()) {
            // Other programs use it, and tell nobody.
            slot.files.touch();
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    /// Ends the server of a model, whoever uses it; `false`: none runs.
    ///
    /// # Errors
    /// The system refuses.
    pub async fn stop(&self, name: &str) -> Result<bool, LocalError> {
        if !is_name(name) {
            return Err(LocalError::Unknown(name.to_owned()));
        }
        let files = Files::new(&self.0.home, name);
        flat(tokio::task::spawn_blocking(move || files.end()).await)
    }

    /// The client of the servers.
    pub(super) fn http(&self) -> &Http {
        &self.0.http
    }

    /// Ends what nobody else uses.
    pub async fn leave(&self) {
        let slots: Vec<Arc<Slot>> = lock(&self.0.slots).values().cloned().collect();
        for slot in slots {
            let users = slot.running.try_lock().ok().and_then(|mut running| running.take()).map(|it| it.users);
            let files = slot.files.clone();
            let left = tokio::task::spawn_blocking(move || {
                // One that was still starting has a user all the same: us.
                if let Some(users) = users.or_else(|| files.read().and_then(|_| files.join().ok())) {
                    files.leave(users);
                }
            });
            let _ = left.await;
        }
        let local = self.clone();
        let _ = tokio::task::spawn_blocking(move || local.sweep()).await;
    }

    /// Removes what is left of servers of models that are gone. Blocks.
    pub fn sweep(&self) {
        // Without its folder, which may be on a disk that is not there now, no model counts as gone.
        if self.0.shelf.dir().is_dir() {
            Files::sweep(&self.0.home, |name| self.0.shelf.find(name).is_some());
        }
    }
}

fn flat<T>(done: Result<Result<T, LocalError>, tokio::task::JoinError>) -> Result<T, LocalError> {
    done.unwrap_or_else(|error| Err(LocalError::Engine(error.to_string())))
}

/// A server is being started. Whoever stops waiting for it takes the word back.
struct Loading<'a>(&'a Slot);

impl<'a> Loading<'a> {
    fn of(slot: &'a Slot) -> Self {
        slot.show(None, State::Loading);
        Self(slot)
    }
}

impl Drop for Loading<'_> {
    fn drop(&mut self) {
        self.0.show(None, State::Off);
    }
}

impl Slot {
    fn show(&self, daemon: Option<Daemon>, state: State) {
        *lock(&self.shown) = Shown { daemon, state };
        self.changed.send_replace(());
    }
}

impl Running {
    fn address(&self, files: Files) -> Address {
        Address {
            base: format!("http://127.0.0.1:{}/v1", self.port),
            key: self.key.clone(),
            daemon: self.daemon.clone(),
            plan: self.plan.clone(),
            files,
        }
    }
}

impl Missing {
    /// What can be done about it.
    pub fn words(&self) -> String {
        match self {
            Self::Fetch(row) => format!(
                "nothing serves models here yet: `hermes models get` fetches llama.cpp's server ({}, {})",
                super::fetch::size(row.bytes),
                row.licence
            ),
            Self::No(why) => why.clone(),
        }
    }
}

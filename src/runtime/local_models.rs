//! Models of this computer for the screen: what there is, the one download at a time, and the servers that run.

use super::Context;
use crate::app::Msg;
use crate::app::model::local::{
    DownloadStep, EngineOffer, GotNot, LocalFact, LocalOrder, Offer, OfferState, Offers, Served, ServedState,
};
use crate::config::load;
use crate::local::choice::{self, Fit};
use crate::local::engine::Missing;
use crate::local::fetch::{FetchError, Progress, host_of};
use crate::local::get::Step;
use crate::local::served::State;
use crate::local::{Local, LocalError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How long the last bytes may take to reach the disk when the program is left.
const LEAVES: Duration = Duration::from_secs(2);

/// The models of this window.
pub fn of(context: &Context) -> Local {
    context.engine.services().models.local().clone()
}

/// What there is and what could be had. Asks nobody outside this computer.
pub async fn offers(context: &Context) -> Offers {
    let local = of(context);
    tokio::task::spawn_blocking(move || looked(&local)).await.unwrap_or_default()
}

fn looked(local: &Local) -> Offers {
    let machine = local.machine();
    let (kept, parts, running) = (local.shelf().list(), local.shelf().parts(), local.running());
    let runs = |name: &str| running.iter().any(|(running, _)| running == name);
    let host = local.hosts().first().map(|host| host_of(host)).unwrap_or_default();
    let here = |name: &str| if runs(name) { OfferState::Running } else { OfferState::Here };
    let state = |row: &crate::local::table::Row| {
        let part = parts.iter().find(|(name, bytes)| *name == row.name && *bytes > 0);
        match (kept.iter().any(|kept| kept.name == row.name), part, choice::fit(row, &machine)) {
            (true, ..) => here(&row.name),
            (false, Some((_, bytes)), _) => OfferState::Part(bytes * 100 / row.bytes.max(1)),
            (false, None, Fit::Fits) => OfferState::Fits,
            (false, None, Fit::Slow) => OfferState::Slow,
            (false, None, Fit::Memory(need, _)) => OfferState::Memory(need),
            (false, None, Fit::Disk(need, _)) => OfferState::Disk(need),
        }
    };
    let offered = local.table().models().map(|row| Offer {
        name: row.name.clone(),
        title: row.title.clone(),
        bytes: row.bytes,
        licence: row.licence.clone(),
        host: host.clone(),
        speed: machine.tokens_per_second(row.bytes_per_token()),
        note: row.note.clone(),
        state: state(row),
    });
    let own = kept.iter().filter(|kept| local.table().find(&kept.name).is_none()).map(|kept| Offer {
        name: kept.name.clone(),
        title: kept.name.clone(),
        bytes: kept.bytes,
        speed: machine.tokens_per_second(kept.bytes),
        note: if kept.own { format!("your file {}", kept.file.display()) } else { String::new() },
        state: here(&kept.name),
        ..Offer::default()
    });
    let (engine, missing) = match local.engine() {
        Ok(_) => (None, None),
        Err(Missing::Fetch(row)) => {
            let host = host_of(local.mirrors().first().unwrap_or(&row.url));
            (Some(EngineOffer { bytes: row.bytes, licence: row.licence.clone(), host }), None)
        }
        Err(Missing::No(why)) => (None, Some(why)),
    };
    let best = choice::best(local.table().models(), &machine).map(|row| row.name.clone());
    Offers { rows: offered.chain(own).collect(), best, engine, missing, problem: local.table().problem.clone() }
}

/// The servers that this window uses.
pub fn served(local: &Local) -> Vec<Served> {
    let row = |view: crate::local::served::View| {
        let state = match view.state {
            State::Off => return None,
            State::Loading => ServedState::Loading,
            State::On => ServedState::On,
            State::Asleep => ServedState::Asleep,
        };
        Some(Served { name: view.name, state, memory: view.memory })
    };
    local.view().into_iter().filter_map(row).collect()
}

/// The download: one at a time. What is under way is stopped before the next one begins.
#[derive(Default)]
pub struct Downloads(Option<(CancellationToken, JoinHandle<()>)>);

impl Downloads {
    /// Carries out an order.
    pub fn order(&mut self, order: LocalOrder, context: &Context, replies: mpsc::Sender<Msg>) {
        let before = self.0.take().map(|(pause, task)| {
            pause.cancel();
            task
        });
        let (local, context, pause) = (of(context), context.clone(), CancellationToken::new());
        let stop = pause.clone();
        let task = tokio::spawn(async move {
            if let Some(before) = before {
                let _ = before.await;
            }
            let fact = match order {
                LocalOrder::Pause => return,
                LocalOrder::Get { run, name } => {
                    let token = load::load(&context.sources).env("HF_TOKEN").map(str::to_owned);
                    let result = get(&local, &name, token.as_deref(), &stop, run, &replies).await;
                    LocalFact::Got { run, result }
                }
                LocalOrder::Drop { name } => {
                    let removed = tokio::task::spawn_blocking(move || local.shelf().remove(&name)).await;
                    let removed = removed.map_err(|error| error.to_string());
                    LocalFact::Dropped(removed.and_then(|it| it.map(drop).map_err(|error| error.to_string())))
                }
            };
            // The screen is gone: nobody waits.
            let _ = replies.send(Msg::Local(fact)).await;
        });
        self.0 = Some((pause, task));
    }

    /// Stops what is under way; what came stays.
    pub async fn leave(&mut self) {
        if let Some((pause, task)) = self.0.take() {
            pause.cancel();
            let _ = tokio::time::timeout(LEAVES, task).await;
        }
    }
}

async fn get(
    local: &Local,
    name: &str,
    token: Option<&str>,
    pause: &CancellationToken,
    run: u32,
    replies: &mpsc::Sender<Msg>,
) -> Result<(), GotNot> {
    let tell = |step: Step| {
        // The next one says more: none of them is waited for.
        let _ = replies.try_send(Msg::Local(LocalFact::Step { run, step: told(step) }));
    };
    let got = match local.order(name, token).await {
        Ok(order) => local.get(&order, token, pause, &tell).await,
        Err(error) => Err(error),
    };
    got.map(drop).map_err(|error| match error {
        LocalError::Fetch(FetchError::Paused) => GotNot::Paused,
        error => GotNot::Failed(error.to_string()),
    })
}

fn told(step: Step) -> DownloadStep {
    let (engine, progress) = match step {
        Step::Unpacking => return DownloadStep::Unpacking,
        Step::Engine(progress) => (true, progress),
        Step::Model(progress) => (false, progress),
    };
    match progress {
        Progress::Checking { done, of } => DownloadStep::Checking(done * 100 / of.max(1)),
        Progress::Loading { done, of, speed } => DownloadStep::Loading { engine, done, of, speed },
        Progress::Trying { host, why } => DownloadStep::Trying { host, why },
    }
}

//! Getting a model: what it would take, and, after a yes, all of it: the engine where there is none, then the weights.

use super::choice::{self, Fit};
use super::engine::{Missing, install};
use super::fetch::{self, Offer, Progress, Wanted};
use super::machine::Machine;
use super::shelf::{Kept, is_name, name_of};
use super::table::{EngineRow, Row};
use super::{Local, LocalError};
use std::path::Path;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The file that keeps how fast memory is read, in the cache of the home.
const SPEED: &str = "memory-speed";

/// What getting a model takes: shown before anything is fetched.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    pub name: String,
    pub title: String,
    /// Empty where the hub says none.
    pub licence: String,
    /// The host that is asked first.
    pub host: String,
    /// Bytes that are to come: engine and weights, less what is here.
    pub bytes: u64,
    /// Whether a hash is known to check it against.
    pub checked: bool,
    /// How it fits this computer; `None`: nothing is known of its size.
    pub fit: Option<Fit>,
    /// Tokens a second that this computer can give at most.
    pub speed: Option<f64>,
    model: Option<Wanted>,
    engine: Option<(Arc<EngineRow>, Wanted)>,
}

/// A step of getting a model.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    Engine(Progress),
    Unpacking,
    Model(Progress),
}

impl Local {
    /// The model for this computer, of those that are offered. Blocks for some 60 ms.
    pub fn best(&self) -> Option<Arc<Row>> {
        choice::best(self.table().models(), &self.machine()).cloned()
    }

    /// What this computer has. Blocks for some 150 ms the first time.
    pub fn machine(&self) -> Machine {
        Machine::look(self.shelf().dir(), Some(&self.home().join("cache").join(SPEED)))
    }

    /// What getting this model takes: a name of the table, or `REPO:FILE`. Asks a hub for the latter.
    ///
    /// # Errors
    /// It is unknown, or the hub does not answer.
    pub async fn order(&self, name: &str, token: Option<&str>) -> Result<Order, LocalError> {
        let local = self.clone();
        let looked = tokio::task::spawn_blocking(move || (local.machine(), local.engine())).await;
        let (machine, engine) = looked.map_err(|error| LocalError::NoEngine(error.to_string()))?;
        let engine = match engine {
            Ok(_) => None,
            Err(Missing::Fetch(row)) => {
                let wanted = install::wanted(&row, self.home(), self.mirrors());
                Some((row, wanted))
            }
            Err(Missing::No(why)) => return Err(LocalError::NoEngine(why)),
        };
        let here = self.shelf().find(name);
        let mut order = match (self.table().find(name), name.rsplit_once(':')) {
            (Some(row), _) => self.of_row(row, machine),
            (None, _) if here.is_some() => Order { title: name.to_owned(), ..self.of_kept(name) },
            (None, Some((repo, file))) if repo.contains('/') => {
                let offer = fetch::ask(&self.hosts(), repo, file, token).await.map_err(LocalError::Hub)?;
                self.of_offer(offer)?
            }
            (None, None) if name.contains('/') => {
                let offer = fetch::ask(&self.hosts(), name, "", token).await.map_err(LocalError::Hub)?;
                self.of_offer(offer)?
            }
            _ => return Err(LocalError::Unknown(name.to_owned())),
        };
        order.bytes += engine.as_ref().map_or(0, |(row, _)| row.bytes);
        order.engine = engine;
        Ok(order)
    }

    fn of_row(&self, row: &Row, mut machine: Machine) -> Order {
        let path = format!("{}/resolve/{}/{}", row.repo, row.revision, row.file);
        let wanted = self.wanted(&row.name, &row.title, &path, Some(row.bytes), Some(row.sha256.clone()));
        let order = self.plain(wanted);
        // What is here already takes no more room.
        machine.disk = machine.disk.map(|disk| disk.saturating_add(row.bytes.saturating_sub(order.bytes)));
        Order {
            name: row.name.clone(),
            title: row.title.clone(),
            licence: row.licence.clone(),
            fit: Some(choice::fit(row, &machine)),
            speed: machine.tokens_per_second(row.bytes_per_token()),
            ..order
        }
    }

    /// One that is here: nothing of it has to come.
    fn of_kept(&self, name: &str) -> Order {
        let wanted = self.wanted(name, name, "", None, None);
        Order { name: name.to_owned(), model: None, bytes: 0, checked: true, ..self.plain(wanted) }
    }

    fn of_offer(&self, offer: Offer) -> Result<Order, LocalError> {
        let name = name_of(&offer.file);
        // Another model of that name would be taken for this one.
        if !is_name(&name) || self.table().find(&name).is_some() || self.shelf().find(&name).is_some() {
            return Err(LocalError::Taken(name));
        }
        let revision = if offer.revision.is_empty() { "main" } else { &offer.revision };
        let path = format!("{}/resolve/{revision}/{}", offer.repo, offer.file);
        let wanted = self.wanted(&name, &offer.file, &path, offer.bytes, offer.sha256);
        let title = format!("{} of {}", offer.file, offer.repo);
        Ok(Order { name, title, licence: offer.licence, ..self.plain(wanted) })
    }

    fn wanted(&self, name: &str, title: &str, path: &str, bytes: Option<u64>, sha256: Option<String>) -> Wanted {
        let from = self.hosts().iter().map(|host| format!("{}/{path}", host.trim_end_matches('/'))).collect();
        Wanted { title: title.to_owned(), from, bytes, sha256, file: self.shelf().place(name) }
    }

    fn plain(&self, wanted: Wanted) -> Order {
        let here = self.shelf().parts().into_iter().find(|(name, _)| self.shelf().place(name) == wanted.file);
        let left = wanted.bytes.unwrap_or(0).saturating_sub(here.map_or(0, |(_, bytes)| bytes));
        let there = wanted.file.exists();
        Order {
            name: String::new(),
            title: String::new(),
            licence: String::new(),
            host: wanted.from.first().map(|address| fetch::host_of(address)).unwrap_or_default(),
            bytes: if there { 0 } else { left },
            checked: wanted.sha256.is_some(),
            fit: None,
            speed: None,
            model: (!there).then_some(wanted),
            engine: None,
        }
    }

    /// Fetches all that an order names. Who calls this has a yes. `pause` stops it; the next call goes on.
    ///
    /// # Errors
    /// What did not come, and why.
    pub async fn get(
        &self,
        order: &Order,
        token: Option<&str>,
        pause: &CancellationToken,
        tell: &(dyn Fn(Step) + Sync),
    ) -> Result<Kept, LocalError> {
        if let Some((row, wanted)) = &order.engine {
            fetch::fetch(wanted, None, pause, &|progress| tell(Step::Engine(progress))).await?;
            tell(Step::Unpacking);
            let (row, home, archive) = (Arc::clone(row), self.home().to_path_buf(), wanted.file.clone());
            let unpacked = tokio::task::spawn_blocking(move || install::unpack(&row, &home, &archive)).await;
            unpacked.unwrap_or_else(|error| Err(LocalError::Engine(error.to_string())))?;
        }
        if let Some(wanted) = &order.model {
            fetch::fetch(wanted, token, pause, &|progress| tell(Step::Model(progress))).await?;
        }
        self.shelf().find(&order.name).ok_or_else(|| LocalError::NotHere(order.name.clone()))
    }

    /// Takes in a file of the person's.
    ///
    /// # Errors
    /// It is no model.
    pub fn adopt(&self, file: &Path) -> Result<Kept, LocalError> {
        self.shelf().adopt(file)
    }
}

impl Order {
    /// The hosts that are asked, one after the other until one gives it.
    pub fn hosts(&self) -> String {
        let from = self.model.iter().flat_map(|wanted| &wanted.from);
        let mut hosts: Vec<String> = from.map(|address| fetch::host_of(address)).collect();
        hosts.dedup();
        if hosts.is_empty() { self.host.clone() } else { hosts.join(", then ") }
    }

    /// Whether everything is here already.
    pub fn is_here(&self) -> bool {
        self.model.is_none() && self.engine.is_none()
    }
}

//! What one session spends, counted at each call. What all sessions of a home spent today stands in the store.

use super::{Budget, Crossing, Need, Spending, Stop};
use crate::config::BudgetConfig;
use crate::llm::ModelInfo;
use crate::lock::lock;
use crate::protocol::{BudgetSign, Raise, SessionId, Usage};
use crate::store::{Spent, Store, StoreError, Tally};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use tokio::sync::watch;

/// Milliseconds since the epoch.
pub type Clock = fn() -> i64;

/// A budget with what was spent of it. Clones are the same purse.
#[derive(Clone)]
pub struct Purse(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub store: Store,
    /// `None`: calls that belong to no session; only the day counts for them.
    session: Option<SessionId>,
    pub clock: Clock,
    /// Hears what was paid by calls that become no item.
    told: Box<dyn Fn(Usage) + Send + Sync>,
    pub books: Mutex<Books>,
    /// That of the session whose child this one is: what is spent here is spent there.
    parent: Option<Purse>,
    pub tree: Arc<Tree>,
}

/// What a session and all its children share.
pub(super) struct Tree {
    /// What a person raised.
    raise: Mutex<Raise>,
    /// One request after another looks for room.
    pub door: tokio::sync::Mutex<()>,
    /// Counts up whenever a limit or what counts for it changes.
    pub changed: watch::Sender<u64>,
}

#[derive(Default)]
pub(super) struct Books {
    budget: Budget,
    pub spent: Tally,
    /// Why it is not known what the session spent before.
    unread: Option<String>,
    /// When the day of these calls began, and what they cost: no day costs less, whatever the store could keep.
    pub today: (i64, Tally),
    kept: Kept,
    /// Not in the store yet: calls whose providers did not say what they used, and what a full disk refused.
    pub unsaved: Vec<Spent>,
    /// Of requests that are under way: what they may cost at most, and what they have cost so far.
    pub held: Tally,
    pub running: Tally,
    /// Why the last request was refused or ended.
    refused: Option<Stop>,
}

/// What is stored with the session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Kept {
    raise: Raise,
    /// Names of crossings that were told.
    told: BTreeSet<String>,
}

/// What changed of a budget since the last look.
#[derive(Debug, Default)]
pub struct News {
    /// Soft limits that were passed.
    pub crossed: Vec<Crossing>,
    /// What is to be stored with the session under [`BUDGET`](super::BUDGET).
    pub kept: Option<serde_json::Value>,
    pub sign: Option<BudgetSign>,
}

/// What a person raised, as it is stored with the session under [`BUDGET`](super::BUDGET).
pub fn raised(kept: Option<&serde_json::Value>) -> Raise {
    let kept = kept.and_then(|kept| serde_json::from_value::<Kept>(kept.clone()).ok());
    kept.unwrap_or_default().raise
}

/// The day's sum can't be read.
pub(super) fn unreadable(error: &StoreError) -> Stop {
    Stop::unknown(format!("today's budget can't be checked, so no model is called: {error}; see `hermes doctor`"))
}

/// Calls that belong to no session have no limits of one.
fn within(config: BudgetConfig, session: Option<&SessionId>) -> BudgetConfig {
    match session {
        Some(_) => config,
        None => BudgetConfig { session: Default::default(), ..config },
    }
}

impl Purse {
    /// The purse of a session, or of calls that belong to none.
    pub fn new(
        store: Store,
        session: Option<SessionId>,
        config: BudgetConfig,
        is_person: bool,
        clock: Clock,
        told: impl Fn(Usage) + Send + Sync + 'static,
    ) -> Self {
        let budget = Budget { config: within(config, session.as_ref()), raise: Raise::default(), is_person };
        let books = Mutex::new(Books { budget, ..Books::default() });
        let (raise, door) = (Mutex::default(), tokio::sync::Mutex::default());
        let tree = Arc::new(Tree { raise, door, changed: watch::channel(0).0 });
        Self(Arc::new(Inner { store, session, clock, told: Box::new(told), books, parent: None, tree }))
    }

    /// The purse of a child, before it is shared.
    pub fn within(self, parent: &Purse) -> Self {
        match Arc::try_unwrap(self.0) {
            Ok(inner) => {
                // Whoever raises the parent's limits raises those of the child.
                lock(&inner.books).budget.is_person = lock(&parent.0.books).budget.is_person;
                let tree = Arc::clone(&parent.0.tree);
                Self(Arc::new(Inner { parent: Some(parent.clone()), tree, ..inner }))
            }
            Err(shared) => Self(shared),
        }
    }

    /// This one, and all that it is a part of.
    pub(super) fn levels(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |purse| purse.0.parent.as_ref())
    }

    /// That of the session without a parent.
    pub(super) fn root(&self) -> &Self {
        self.levels().last().unwrap_or(self)
    }

    /// The limits as they hold now.
    pub(super) fn budget(&self) -> Budget {
        Budget { raise: *lock(&self.0.tree.raise), ..lock(&self.0.books).budget }
    }

    /// Something changed that running requests must look at.
    pub(super) fn stir(&self) {
        self.0.tree.changed.send_modify(|count| *count += 1);
    }

    /// Why it is not known what the session spent.
    pub(super) fn unread(&self) -> Option<Stop> {
        lock(&self.0.books).unread.as_ref().map(|why| {
            Stop::unknown(format!(
                "the session's budget can't be checked, so no model is called: {why}; see `hermes doctor`"
            ))
        })
    }

    /// A request is refused or ended for this.
    pub(super) fn refuse(&self, stop: Stop) -> Stop {
        lock(&self.0.books).refused = Some(stop.clone());
        stop
    }

    /// Why the last request was refused or ended.
    pub fn refused(&self) -> Option<Stop> {
        lock(&self.0.books).refused.take()
    }

    /// The configuration was read again.
    pub fn configure(&self, config: BudgetConfig) {
        lock(&self.0.books).budget.config = within(config, self.0.session.as_ref());
        self.stir();
    }

    /// The session goes on: with what it spent, and what was stored with it.
    pub fn resume(&self, spent: Result<Tally, String>, kept: Option<serde_json::Value>) {
        let mut books = lock(&self.0.books);
        match spent {
            Ok(spent) => books.spent = spent,
            Err(why) => books.unread = Some(why),
        }
        books.kept = kept.and_then(|kept| serde_json::from_value(kept).ok()).unwrap_or_default();
        *lock(&self.0.tree.raise) = books.kept.raise;
    }

    /// A person raises the hard limits; what is to be stored with the session, and the limits that hold now.
    ///
    /// # Errors
    /// There is no limit of that kind.
    pub fn raise(&self, by: Raise) -> Result<(serde_json::Value, String), String> {
        if !self.budget().can_raise(by) {
            let other = if by.tokens > 0 { "tokens" } else { "dollars" };
            return Err(format!("no hard limit in {other} is set; /budget shows what is"));
        }
        let kept = {
            let mut books = lock(&self.0.books);
            books.kept.raise = books.kept.raise.plus(by);
            *lock(&self.0.tree.raise) = books.kept.raise;
            books.stored()
        };
        self.stir();
        Ok((kept, self.budget().limits()))
    }

    /// Whether anything is limited.
    pub fn is_limited(&self) -> bool {
        self.levels().any(|level| !lock(&level.0.books).budget.config.is_empty())
    }

    /// Whether a model may be called now, with a request of so many tokens.
    ///
    /// # Errors
    /// Why not: a hard limit is reached, or can't be told to hold.
    pub async fn may_call(&self, model: &ModelInfo, input: u64) -> Result<(), Stop> {
        if !self.is_limited() {
            return Ok(());
        }
        self.counts(model)?;
        let need = Need::of(model, input, None);
        self.stopped().await.map_or(Ok(()), |stop| Err(self.refuse(stop.of_request(&need))))
    }

    /// Whether limits in money can count this model.
    pub(super) fn counts(&self, model: &ModelInfo) -> Result<(), Stop> {
        let label = format!("{}:{}", model.provider, model.id);
        let stop = self.budget().unpriced(&label).filter(|_| model.price.is_none());
        stop.map_or(Ok(()), |stop| Err(self.refuse(stop)))
    }

    /// Why no model is called any more; `None`: one may be called.
    pub async fn stopped(&self) -> Option<Stop> {
        if !self.is_limited() {
            return None;
        }
        for level in self.levels() {
            let stop = match level.spending().await {
                Ok(spent) => level.budget().stop(&spent),
                Err(stop) => Some(stop),
            };
            if stop.is_some() {
                return stop;
            }
        }
        None
    }

    /// What was spent so far.
    async fn spending(&self) -> Result<Spending, Stop> {
        self.save().await;
        if let Some(stop) = self.unread() {
            return Err(stop);
        }
        let mut spent = Spending { session: lock(&self.0.books).spent, day: Tally::default() };
        if self.budget().has_day() {
            let since = self.today();
            let day = self.0.store.spent_since(since).await.map_err(|error| unreadable(&error))?;
            spent.day = self.known(since, day);
        }
        Ok(spent)
    }

    /// What the day since then spent: as the store has it, and never less than what is known here.
    pub(super) fn known(&self, since: i64, mut day: Tally) -> Tally {
        let books = lock(&self.0.books);
        books.unsaved.iter().filter(|apart| apart.at >= since).for_each(|apart| day.add(&apart.usage));
        if books.today.0 == since {
            day.cost = day.cost.max(books.today.1.cost);
            day.tokens = day.tokens.max(books.today.1.tokens);
        }
        day
    }

    pub(super) fn today(&self) -> i64 {
        super::day_began((self.0.clock)(), &chrono::Local)
    }

    /// What changed since the last look.
    pub async fn news(&self) -> News {
        if !self.is_limited() {
            return News::default();
        }
        // The next call says that it can't be checked.
        let Ok(spent) = self.spending().await else { return News::default() };
        let (budget, day) = (self.budget(), self.today());
        let mut books = lock(&self.0.books);
        let mut crossed = budget.crossed(&spent, day);
        crossed.retain(|crossing| books.kept.told.insert(crossing.name.clone()));
        let kept = (!crossed.is_empty()).then(|| books.stored());
        News { crossed, kept, sign: budget.sign(&spent) }
    }

    /// A call was paid for; `role`: it becomes no item, and is counted in the store from here.
    pub(super) async fn paid(&self, model: &ModelInfo, role: Option<&'static str>, usage: Usage) {
        let day = self.today();
        self.count(&usage, day);
        let Some(role) = role else { return };
        lock(&self.0.books).unsaved.push(self.spent(model, role, usage));
        self.save().await;
        (self.0.told)(usage);
    }

    /// A call may have been paid for, and nobody said how much.
    pub(super) fn unmeasured(&self, model: &ModelInfo, mut usage: Usage) {
        if !self.is_limited() {
            return;
        }
        usage.cost = model.price.map(|price| price.cost(&usage));
        let day = self.today();
        self.count(&usage, day);
        lock(&self.0.books).unsaved.push(self.spent(model, "estimate", usage));
        (self.0.told)(usage);
    }

    /// Here, and in all that this is a part of.
    fn count(&self, usage: &Usage, day: i64) {
        self.levels().for_each(|level| lock(&level.0.books).count(usage, day));
        self.stir();
    }

    fn spent(&self, model: &ModelInfo, role: &'static str, usage: Usage) -> Spent {
        let model = format!("{}:{}", model.provider, model.id);
        Spent { at: (self.0.clock)(), item: None, model, role, usage }
    }

    /// Writes down what is not in the store yet; what can't be written stays.
    pub(super) async fn save(&self) {
        let waiting = std::mem::take(&mut lock(&self.0.books).unsaved);
        for spent in waiting {
            let kept = match &self.0.session {
                Some(session) => self.0.store.spent(session, spent.clone()).await,
                None => self.0.store.spent_apart(spent.clone()).await,
            };
            if let Err(error) = kept {
                tracing::warn!("what a call used was not saved: {error}");
                lock(&self.0.books).unsaved.push(spent);
            }
        }
    }
}

impl Books {
    fn stored(&self) -> serde_json::Value {
        serde_json::to_value(&self.kept).unwrap_or_default()
    }

    fn count(&mut self, usage: &Usage, day: i64) {
        self.spent.add(usage);
        if self.today.0 != day {
            self.today = (day, Tally::default());
        }
        self.today.1.add(usage);
    }
}

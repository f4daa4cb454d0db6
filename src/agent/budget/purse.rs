//! What one session spends, counted at each call. What all sessions of a home spent today stands in the store.

use super::{Budget, Crossing, Spending};
use crate::config::BudgetConfig;
use crate::llm::ModelInfo;
use crate::lock::lock;
use crate::protocol::{BudgetSign, Raise, SessionId, Usage};
use crate::store::{Spent, Store, Tally};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// Milliseconds since the epoch.
pub type Clock = fn() -> i64;

/// A budget with what was spent of it. Clones are the same purse.
#[derive(Clone)]
pub struct Purse(Arc<Inner>);

struct Inner {
    store: Store,
    /// `None`: calls that belong to no session; only the day counts for them.
    session: Option<SessionId>,
    clock: Clock,
    /// Hears what was paid by calls that become no item.
    told: Box<dyn Fn(Usage) + Send + Sync>,
    books: Mutex<Books>,
    /// That of the session whose child this one is: what is spent here is spent there.
    parent: Option<Purse>,
}

#[derive(Default)]
struct Books {
    budget: Budget,
    spent: Tally,
    /// Why it is not known what the session spent before.
    unread: Option<String>,
    /// When the day of these calls began, and what they cost: no day costs less, whatever the store could keep.
    today: (i64, Tally),
    kept: Kept,
    /// Not in the store yet: calls whose providers did not say what they used, and what a full disk refused.
    unsaved: Vec<Spent>,
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
        Self(Arc::new(Inner { store, session, clock, told: Box::new(told), books, parent: None }))
    }

    /// The purse of a child, before it is shared.
    pub fn within(self, parent: &Purse) -> Self {
        match Arc::try_unwrap(self.0) {
            Ok(inner) => Self(Arc::new(Inner { parent: Some(parent.clone()), ..inner })),
            Err(shared) => Self(shared),
        }
    }

    /// The configuration was read again.
    pub fn configure(&self, config: BudgetConfig) {
        lock(&self.0.books).budget.config = within(config, self.0.session.as_ref());
    }

    /// The session goes on: with what it spent, and what was stored with it.
    pub fn resume(&self, spent: Result<Tally, String>, kept: Option<serde_json::Value>) {
        let mut books = lock(&self.0.books);
        match spent {
            Ok(spent) => books.spent = spent,
            Err(why) => books.unread = Some(why),
        }
        books.kept = kept.and_then(|kept| serde_json::from_value(kept).ok()).unwrap_or_default();
        books.budget.raise = books.kept.raise;
    }

    /// A person raises the hard limits; what is to be stored with the session, and the limits that hold now.
    ///
    /// # Errors
    /// There is no limit of that kind.
    pub fn raise(&self, by: Raise) -> Result<(serde_json::Value, String), String> {
        let mut books = lock(&self.0.books);
        if !books.budget.can_raise(by) {
            let other = if by.tokens > 0 { "tokens" } else { "dollars" };
            return Err(format!("no hard limit in {other} is set; /budget shows what is"));
        }
        books.kept.raise = books.kept.raise.plus(by);
        books.budget.raise = books.kept.raise;
        Ok((books.stored(), books.budget.limits()))
    }

    /// Whether anything is limited.
    pub fn is_limited(&self) -> bool {
        !lock(&self.0.books).budget.config.is_empty() || self.0.parent.as_ref().is_some_and(Self::is_limited)
    }

    /// Whether a model may be called now.
    ///
    /// # Errors
    /// Why not, for the person: a hard limit is reached, or can't be told to hold.
    pub async fn may_call(&self, model: &ModelInfo) -> Result<(), String> {
        if !self.is_limited() {
            return Ok(());
        }
        let label = format!("{}:{}", model.provider, model.id);
        let why = lock(&self.0.books).budget.unpriced(&label).filter(|_| model.price.is_none());
        if let Some(why) = why {
            return Err(why);
        }
        self.stopped().await.map_or(Ok(()), Err)
    }

    /// Why no model is called any more; `None`: one may be called.
    pub async fn stopped(&self) -> Option<String> {
        if !self.is_limited() {
            return None;
        }
        let own = match self.spending().await {
            Ok(spent) => lock(&self.0.books).budget.stop(&spent),
            Err(why) => Some(why),
        };
        match (own, &self.0.parent) {
            (None, Some(parent)) => Box::pin(parent.stopped()).await,
            (own, _) => own,
        }
    }

    /// What was spent so far.
    async fn spending(&self) -> Result<Spending, String> {
        self.save().await;
        let (mut spent, has_day) = {
            let books = lock(&self.0.books);
            if let Some(why) = &books.unread {
                return Err(format!(
                    "the session's budget can't be checked, so no model is called: {why}; see `hermes doctor`"
                ));
            }
            (Spending { session: books.spent, day: Tally::default() }, books.budget.has_day())
        };
        if has_day {
            let since = self.today();
            let day = self.0.store.spent_since(since).await;
            spent.day = day.map_err(|error| {
                format!("today's budget can't be checked, so no model is called: {error}; see `hermes doctor`")
            })?;
            let books = lock(&self.0.books);
            books.unsaved.iter().filter(|apart| apart.at >= since).for_each(|apart| spent.day.add(&apart.usage));
            if books.today.0 == since {
                spent.day.cost = spent.day.cost.max(books.today.1.cost);
                spent.day.tokens = spent.day.tokens.max(books.today.1.tokens);
            }
        }
        Ok(spent)
    }

    fn today(&self) -> i64 {
        super::day_began((self.0.clock)(), &chrono::Local)
    }

    /// What changed since the last look.
    pub async fn news(&self) -> News {
        if !self.is_limited() {
            return News::default();
        }
        // The next call says that it can't be checked.
        let Ok(spent) = self.spending().await else { return News::default() };
        let day = self.today();
        let mut books = lock(&self.0.books);
        let mut crossed = books.budget.crossed(&spent, day);
        crossed.retain(|crossing| books.kept.told.insert(crossing.name.clone()));
        let kept = (!crossed.is_empty()).then(|| books.stored());
        News { crossed, kept, sign: books.budget.sign(&spent) }
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
        lock(&self.0.books).count(usage, day);
        if let Some(parent) = &self.0.parent {
            parent.count(usage, day);
        }
    }

    fn spent(&self, model: &ModelInfo, role: &'static str, usage: Usage) -> Spent {
        let model = format!("{}:{}", model.provider, model.id);
        Spent { at: (self.0.clock)(), item: None, model, role, usage }
    }

    /// Writes down what is not in the store yet; what can't be written stays.
    async fn save(&self) {
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

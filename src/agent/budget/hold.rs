//! What a request reserves before it is sent, so that requests at the same time pass no limit together; corrected by what it
//! did cost.

use super::purse::{Purse, unreadable};
use super::{Need, Room, Spending, Stop};
use crate::llm::ModelInfo;
use crate::lock::lock;
use crate::protocol::Usage;
use crate::store::{Claim, DayOf, Tally, Worst};
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// How often what other programs reserve and spend is looked at while a request waits or runs.
const LOOK: Duration = Duration::from_secs(1);
/// Tokens of an answer after which it is looked whether a limit is reached.
const PIECE: u64 = 64;

/// Why a request is not sent.
pub enum Refused {
    Stop(Stop),
    /// It was given up while it waited for room.
    Cancelled,
}

/// A request that is under way.
pub struct Hold {
    purse: Purse,
    need: Need,
    /// Tokens that its answer may have.
    pub output: u64,
    worst: Tally,
    /// The counter that all programs share; `None`: the day is not limited.
    shared: Option<i64>,
    /// Tokens of the answer so far, and those that are counted.
    streamed: (u64, u64),
    used: Tally,
    /// What the day had spent when it was last read.
    day: Tally,
    changes: watch::Receiver<u64>,
}

impl Purse {
    /// Reserves the worst that a request with so many tokens can cost; waits while requests under way hold what it needs.
    pub async fn hold(
        &self,
        model: &ModelInfo,
        input: u64,
        wanted: Option<u32>,
        cancel: &CancellationToken,
    ) -> Result<Hold, Refused> {
        let need = Need::of(model, input, wanted);
        let mut changes = self.0.tree.changed.subscribe();
        loop {
            let found = {
                let _door = self.0.tree.door.lock().await;
                self.try_hold(model, &need).await
            };
            if let Some(hold) = found.map_err(|stop| Refused::Stop(self.refuse(stop)))? {
                return Ok(hold);
            }
            tokio::select! {
                () = cancel.cancelled() => return Err(Refused::Cancelled),
                // The sender is in the purse.
                _ = changes.changed() => {}
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    /// `None`: there is no room before another request ends.
    async fn try_hold(&self, model: &ModelInfo, need: &Need) -> Result<Option<Hold>, Stop> {
        self.counts(model)?;
        self.save().await;
        let mut room = Room::Fits(need.output);
        for level in self.levels() {
            if let Some(stop) = level.unread() {
                return Err(stop);
            }
            let budget = level.budget();
            let books = lock(&level.0.books);
            room = room.and(budget.room_of_session(&books.spent, &books.held, need));
        }
        let output = match room {
            Room::Fits(output) => output,
            Room::Waits => return Ok(None),
            Room::Stops(stop) => return Err(stop),
        };
        let (worst, shared) = match self.reserve_day(model, need, output).await? {
            Ok((key, worst)) => (worst, key),
            Err(Room::Stops(stop)) => return Err(stop),
            Err(Room::Waits | Room::Fits(_)) => return Ok(None),
        };
        Ok(Some(Hold::new(self, need, worst, shared)))
    }

    /// Among all programs of the home.
    async fn reserve_day(
        &self,
        model: &ModelInfo,
        need: &Need,
        output: u64,
    ) -> Result<Result<(Option<i64>, Worst), Room>, Stop> {
        let root = self.root();
        let budget = root.budget();
        if !budget.has_day() {
            return Ok(Ok((None, need.worst(output))));
        }
        let since = root.today();
        let input = Usage { input: need.input, cost: need.cost(0), ..Usage::default() };
        let claim = Claim { at: (root.0.clock)(), model: format!("{}:{}", model.provider, model.id), input };
        let (root_too, need_too) = (root.clone(), need.clone());
        let choose = move |of: DayOf| {
            let spent = root_too.known(since, of.spent);
            match budget.room_of_day(&spent, &of.reserved, &need_too) {
                Room::Fits(most) => Ok(need_too.worst(output.min(most))),
                room => Err(room),
            }
        };
        let reserved = root.0.store.reserve(since, claim, choose).await.map_err(|error| unreadable(&error))?;
        Ok(reserved.map(|(key, worst)| (Some(key), worst)))
    }
}

impl Hold {
    fn new(purse: &Purse, need: &Need, worst: Worst, shared: Option<i64>) -> Self {
        let output = worst.tokens.saturating_sub(need.input);
        let worst = Tally { tokens: worst.tokens, cost: worst.cost, unpriced: 0 };
        let used = Tally { tokens: need.input, cost: need.cost(0).unwrap_or_default(), unpriced: 0 };
        for level in purse.levels() {
            let mut books = lock(&level.0.books);
            books.held.plus(&worst);
            books.running.plus(&used);
        }
        let changes = purse.0.tree.changed.subscribe();
        Self {
            purse: purse.clone(),
            need: need.clone(),
            output,
            worst,
            shared,
            streamed: (0, 0),
            used,
            day: Tally::default(),
            changes,
        }
    }

    /// The answer has so many tokens now. Whether it is to be looked at.
    pub fn streamed(&mut self, tokens: u64) -> bool {
        self.streamed.0 = tokens;
        if tokens < self.streamed.1 + PIECE {
            return false;
        }
        let cost = self.need.cost(tokens).unwrap_or_default();
        let now = Tally { tokens: self.need.input + tokens, cost, unpriced: 0 };
        for level in self.purse.levels() {
            let mut books = lock(&level.0.books);
            books.running.minus(&self.used);
            books.running.plus(&now);
        }
        (self.used, self.streamed.1) = (now, tokens);
        true
    }

    /// The answer that it is sent with is shorter than it might be.
    pub fn bound(&self) -> Option<u32> {
        (self.output < self.need.output).then(|| u32::try_from(self.output).unwrap_or(u32::MAX))
    }

    /// Something changed here that may end it, or (`true`) it is time to look at what other programs spent.
    pub async fn stirred(&mut self) -> bool {
        tokio::select! {
            // The sender is in the purse.
            _ = self.changes.changed() => false,
            () = tokio::time::sleep(LOOK) => true,
        }
    }

    /// Why requests that run end: with what they used so far, a limit is passed. `None`: they go on. Pieces of answers come
    /// often, so the store is read only when it is asked for.
    pub async fn over(&mut self, reads: bool) -> Option<Stop> {
        let root = self.purse.root();
        let since = root.today();
        let mut day = Tally::default();
        if root.budget().has_day() {
            if reads && let Ok(spent) = root.0.store.spent_since(since).await {
                // What can't be read now is said before the next request.
                self.day = spent;
            }
            day = root.known(since, self.day);
            day.plus(&lock(&root.0.books).running);
        }
        let stop = self.purse.levels().find_map(|level| {
            let mut session = {
                let books = lock(&level.0.books);
                let mut session = books.spent;
                session.plus(&books.running);
                session
            };
            let mut day = if std::ptr::eq(level, root) { day } else { Tally::default() };
            // A request that takes just what it was given passes nothing. What has no price was decided before it began.
            for tally in [&mut session, &mut day] {
                *tally = Tally { tokens: tally.tokens.saturating_sub(1), cost: tally.cost * (1.0 - 1e-9), unpriced: 0 };
            }
            level.budget().stop(&Spending { session, day })
        });
        // What had arrived is a part of the request that follows.
        let next = Need { input: self.need.input + self.streamed.0, ..self.need.clone() };
        stop.map(|stop| self.purse.refuse(stop.of_request(&next)))
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        for level in self.purse.levels() {
            let mut books = lock(&level.0.books);
            books.held.minus(&self.worst);
            books.running.minus(&self.used);
        }
        if let Some(key) = self.shared {
            self.purse.0.store.release(key);
        }
        self.purse.stir();
    }
}

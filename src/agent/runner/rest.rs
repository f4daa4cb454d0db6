//! A session that rests or is left says what it was about, so that it is found again. A model writes it where one is named
//! for that and time is left; leaving waits for none.

use super::{Deps, Runner};
use crate::agent::digest::{self, Digest};
use crate::agent::resumed::{self, Left};
use crate::agent::turn::goal::Verdict;
use crate::protocol::{AgentEvent, Body, Item, ItemId, ResumeCard, SessionId, Todo, Usage};
use crate::store::{Opening, Spent, Summary};
use std::time::Duration;
use tokio::time::Instant;

/// Entries that a summary is made from: the newest.
const READ: usize = 200;
/// What leaving waits for the extract.
const LEAVING: Duration = Duration::from_millis(500);
/// Seconds for a model when the configuration does not say.
const PATIENCE: f64 = 60.0;
/// Other sessions that are caught up on in one rest, how old they may be, and when one is tried again.
const OTHERS: usize = 3;
const OLDEST: i64 = 14 * 24 * 3_600_000;
const AGAIN: i64 = 24 * 3_600_000;

/// What work in the background found.
pub(super) enum Aside {
    /// A summary of this session cost that.
    Told(Usage),
    Resumed(Box<ResumeCard>),
    /// Whether the budget has room again.
    Budget(bool),
    /// What a judge of the goal said, and what that cost.
    Judged(Verdict, Vec<Spent>),
    /// What a person said to a child that repeats itself, and what it did.
    Guarded {
        answer: String,
        why: String,
    },
    /// What the model says to a question beside the turn.
    Answered {
        question: String,
        answer: String,
        spent: Option<Spent>,
    },
}

impl Runner {
    /// From now on nothing is done in the session: it says what it was about after a while.
    pub(super) fn rests(&mut self) {
        let minutes = self.deps.loaded.config.sessions.rest_minutes;
        let is_kept = self.spec.answers.is_person() && !self.spec.forgets;
        self.rest_at = (is_kept && minutes > 0.0).then(|| Instant::now() + Duration::from_secs_f64(minutes * 60.0));
    }

    /// It rested: it, and sessions that were left without a summary by a model, say what they were about.
    pub(super) fn rested(&mut self) {
        self.rest_at = None;
        if self.turn.is_running() {
            return;
        }
        let (deps, choice) = (self.deps.clone(), self.session.choice.clone());
        let own = self.session.created.then(|| self.session.id.clone());
        let aside = self.aside.tx.clone();
        let writing = tokio::spawn(async move {
            if let Some(id) = &own
                && let Some(usage) = tell(&deps, id, choice.as_deref()).await
            {
                // The session may be over.
                let _ = aside.send(Aside::Told(usage)).await;
            }
            // Without a model the extracts stay as they are.
            if deps.models.teller(choice.as_deref()).is_none() {
                return;
            }
            let now = crate::agent::now();
            let rested = now - (deps.loaded.config.sessions.rest_minutes * 60_000.0) as i64;
            match deps.store.unsummarized(now - OLDEST, rested, AGAIN, OTHERS).await {
                Ok(others) => {
                    for id in others.into_iter().filter(|id| own.as_ref() != Some(id)) {
                        tell(&deps, &id, choice.as_deref()).await;
                    }
                }
                Err(error) => tracing::debug!("no sessions were summarized: {error}"),
            }
        });
        if let Some(before) = self.telling.replace(writing) {
            before.abort();
        }
    }

    /// The session is left: what it says in short is an extract, until somebody has time.
    pub(super) async fn say_in_short(&mut self) {
        if let Some(writing) = self.telling.take() {
            writing.abort();
        }
        if !self.session.created || self.spec.forgets {
            return;
        }
        let id = self.session.id.clone();
        let leaving = async {
            if let Err(error) = self.deps.store.ended(&id).await {
                tracing::debug!("the end of the session was not saved: {error}");
            }
            if let Some((items, upto)) = news(&self.deps, &id).await {
                save_extract(&self.deps, &id, &items, upto).await;
            }
        };
        if tokio::time::timeout(LEAVING, leaving).await.is_err() {
            tracing::debug!("left before the session said what it was about");
        }
    }

    /// What was found in the background.
    pub(super) async fn aside(&mut self, aside: Aside) {
        match aside {
            Aside::Told(usage) => {
                self.session.pay(usage);
                let meter = self.session.meter();
                self.out.send(AgentEvent::UsageChanged(meter)).await;
                self.show_budget().await;
            }
            Aside::Answered { question, answer, spent } => self.answered_aside(question, answer, spent).await,
            Aside::Guarded { answer, why } => Box::pin(self.guard_answered(answer, why)).await,
            Aside::Judged(verdict, spent) => Box::pin(self.goal_judged(verdict, spent)).await,
            // Whoever has said something already needs no card.
            Aside::Budget(go_on) => self.heard_of_budget(go_on).await,
            Aside::Resumed(_) if self.turn.is_running() => {}
            Aside::Resumed(card) => self.out.send(AgentEvent::Resumed(card)).await,
        }
    }

    /// Looks in the background at what changed around a session since it was left.
    pub(super) fn look_around(&mut self, opening: &Opening) {
        let plan = opening.values.get("plan").cloned();
        let plan: Option<Vec<Todo>> = plan.and_then(|plan| serde_json::from_value(plan).ok());
        let Some(card) = resumed::stopped(&opening.items, &plan.unwrap_or_default()) else { return };
        let left = Left {
            cwd: opening.meta.row.cwd.clone().into(),
            branch: opening.meta.branch.clone(),
            is_here: self.deps.backends.current().is_none() && !opening.values.contains_key(super::place::BACKEND),
            card,
        };
        let (store, id, aside) = (self.deps.store.clone(), self.session.id.clone(), self.aside.tx.clone());
        tokio::spawn(async move {
            let changes = store.changes(&id).await.unwrap_or_default();
            if let Ok(card) = tokio::task::spawn_blocking(move || resumed::look(left, &changes)).await {
                // The session may be over.
                let _ = aside.send(Aside::Resumed(Box::new(card))).await;
            }
        });
    }
}

/// The newest entries of a session and the last of them, when something was said since its summary.
async fn news(deps: &Deps, id: &SessionId) -> Option<(Vec<Item>, ItemId)> {
    let known = deps.store.summary(id).await.ok()?;
    let items = deps.store.older(id, ItemId(i64::MAX), READ).await.ok()?.items;
    let upto = items.last()?.id;
    let is_said = |item: &Item| matches!(item.body, Body::User { .. } | Body::Assistant(_));
    let told = |summary: &Summary| summary.by != Summary::EXTRACT || deps.models.teller(None).is_none();
    let said = items.iter().rev().find(|item| is_said(item))?.id;
    let is_known = known.is_some_and(|summary| summary.upto >= said && told(&summary));
    (!is_known).then_some((items, upto))
}

/// Lets a model write what a session says in short, and keeps it; an extract where none can. What this session used.
async fn tell(deps: &Deps, id: &SessionId, choice: Option<&str>) -> Option<Usage> {
    let (items, upto) = news(deps, id).await?;
    let Some(provider) = deps.models.teller(choice) else {
        save_extract(deps, id, &items, upto).await;
        return None;
    };
    let model = format!("{}:{}", provider.model().provider, provider.model().id);
    let seconds = deps.loaded.config.auxiliary.summary.timeout.unwrap_or(PATIENCE).clamp(0.1, 600.0);
    let (digest, usage) = digest::written(provider, &items, Duration::from_secs_f64(seconds)).await;
    let spent =
        usage.map(|usage| Spent { at: crate::agent::now(), item: None, model: model.clone(), role: "summary", usage });
    match digest {
        Some(digest) => save(deps, id, digest, model, upto, spent).await,
        None => {
            save_extract(deps, id, &items, upto).await;
            if let Some(spent) = spent
                && let Err(error) = deps.store.spent(id, spent).await
            {
                tracing::debug!("what a summary used was not saved: {error}");
            }
        }
    }
    usage
}

async fn save_extract(deps: &Deps, id: &SessionId, items: &[Item], upto: ItemId) {
    let changes = deps.store.changes(id).await.unwrap_or_default();
    let files: Vec<_> = changes.into_iter().map(|change| change.path).collect();
    let cwd = deps.store.about(id).await.map(|about| about.row.cwd).unwrap_or_default();
    if let Some(digest) = digest::extract(items, &files, std::path::Path::new(&cwd)) {
        save(deps, id, digest, Summary::EXTRACT.to_owned(), upto, None).await;
    }
}

async fn save(deps: &Deps, id: &SessionId, digest: Digest, by: String, upto: ItemId, spent: Option<Spent>) {
    let masks = deps.loaded.config.security.redact_secrets;
    let clean = |text: &str| {
        if masks { crate::agent::secrets::masked(text, deps.dispatch.secrets()) } else { text.to_owned() }
    };
    let keywords = digest.keywords.iter().map(|word| clean(word)).collect();
    let summary = Summary { text: clean(&digest.text), keywords, by, upto };
    if let Err(error) = deps.store.save_summary(id, summary, spent).await {
        tracing::debug!("the summary of session {id} was not saved: {error}");
    }
}

//! Compacting the conversation: when it begins, what follows, and what the person changes of it. The entries stay in the
//! store; a summary is one more entry, which says for which others it stands.

use super::Runner;
use crate::agent::compaction::edges::{self, Middle};
use crate::agent::compaction::writer::{self, Order, Unwritten, Written};
use crate::agent::compaction::{self, transcript};
use crate::agent::retry::Failure;
use crate::agent::turn::Input;
use crate::llm::ErrorKind;
use crate::protocol::{AgentEvent, Body, CompactOrder, Item, ItemId, Level, SummaryBody, SummaryBy};
use crate::store::Spent;
use crate::text::format::count;
use crate::tools::builtin::session_search;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Tokens that the window of a model is taken to have when nobody knows.
const ASSUMED_WINDOW: u64 = 64_000;
/// What a person asks for leaves at most this part of the conversation as it is.
const ASKED_TAIL_PART: u64 = 5;
/// Characters of a piece for each token of the writer's window: output has more tokens than its length says.
const CHARS_PER_TOKEN: u64 = 2;
/// Characters that a piece has at least.
const LEAST_PIECE: usize = 2_000;
/// Seconds for a summary when the configuration does not say: a model of this computer reads slowly.
const PATIENCE: f64 = 600.0;
/// Tokens of the words around a piece.
const AROUND: u64 = 1_200;

/// A summary that is being written.
pub(super) struct Compacting {
    /// Dropped with it, whatever ends the session: the writer stops.
    _cancel: DropGuard,
    answer: oneshot::Receiver<Result<Written, Unwritten>>,
    middle: Middle,
    known: String,
    focus: String,
    then: Then,
}

impl Compacting {
    /// Whether a turn waits for it.
    pub(super) fn is_waited_for(&self) -> bool {
        self.then != Then::Rest
    }

    /// A turn waits for it from now on.
    pub(super) fn wait(&mut self, then: Then) {
        self.then = then;
    }
}

/// What waits for a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// Nothing.
    Rest,
    /// The next request of a turn.
    Call { step: u32, fallback: usize },
    /// The answer to a request that was too large.
    Trim,
}

/// The answer of the writer, or never.
pub(super) async fn answer(compacting: &mut Option<Compacting>) -> Result<Written, Unwritten> {
    match compacting {
        Some(compacting) => {
            let gone = || Err(Unwritten::Failed("the writer stopped unexpectedly".into()));
            (&mut compacting.answer).await.unwrap_or_else(|_| gone())
        }
        None => std::future::pending().await,
    }
}

impl Runner {
    /// What the person wants.
    pub(super) async fn compact_order(&mut self, order: CompactOrder) {
        match order {
            CompactOrder::Now(focus) if self.turn.is_running() => {
                self.session.compactions.want(focus);
                self.notice(Level::Info, "compacting after this step").await;
            }
            CompactOrder::Now(focus) => self.compact_at_rest(focus).await,
            CompactOrder::Read { edit } => self.read_summary(edit).await,
            CompactOrder::Edit { of, text } => self.edit_summary(of, text).await,
            CompactOrder::Undo => self.undo_compaction().await,
        }
    }

    /// What was asked for in a turn that had no next step is done after it.
    pub(super) async fn compact_after_turn(&mut self) {
        if let Some(focus) = self.session.compactions.take_wanted() {
            self.compact_at_rest(focus).await;
        }
    }

    async fn compact_at_rest(&mut self, focus: String) {
        self.session.compactions.asked();
        self.compact(focus, Then::Rest, true).await;
    }

    /// Whether a summary may be changed now; says why not.
    async fn may_change(&mut self) -> bool {
        let why = match (self.turn.is_running(), self.compacting.is_some()) {
            (_, true) => "the conversation is being compacted: wait for it, or stop it first",
            (true, false) => "a turn is running: stop it first, or wait for its end",
            (false, false) => return true,
        };
        self.notice(Level::Error, why).await;
        false
    }

    /// Makes the next request of a turn fit. Whether a summary is written first; the request follows it.
    pub(super) async fn make_room(&mut self, then: Then) -> bool {
        if let Some(focus) = self.session.compactions.take_wanted()
            && self.compact(focus, then, true).await
        {
            return true;
        }
        self.bound_context(0).await;
        let is_full = self.limit().is_some_and(|limit| self.session.filling() > limit);
        if self.session.compactions.take_failed() || !is_full {
            return false;
        }
        if let Some(compacting) = &mut self.compacting {
            compacting.wait(then);
            return true;
        }
        if self.session.compactions.may_begin() {
            return self.compact(String::new(), then, false).await;
        }
        if self.session.compactions.says_that_it_rests() {
            let text =
                format!("compaction freed too little and is paused; /compact runs it again. Largest: {}", self.fills());
            self.notice(Level::Warning, text).await;
        }
        false
    }

    /// Tokens of a request from which on the conversation is compacted.
    pub(super) fn limit(&self) -> Option<u64> {
        let config = &self.deps.loaded.config;
        self.session.limit(&config.compression, config.model.max_tokens)
    }

    /// Whether a summary could make room for what does not fit.
    pub(super) fn can_compact(&self) -> bool {
        let Some(limit) = self.limit() else { return false };
        self.session.compactions.may_begin() && self.middle(compaction::tail(limit)).is_some()
    }

    fn middle(&self, tail: u64) -> Option<Middle> {
        let context = &self.session.context;
        edges::middle(context, tail, context.summary().map(|(_, summary)| summary.to))
    }

    /// The largest parts of a request, in words.
    fn fills(&self) -> String {
        let context = &self.session.context;
        let newest = context.items().iter().rev().take(12).map(|item| context.tokens_of(item)).sum::<u64>();
        let summary = context.summary().map_or(0, |(_, summary)| crate::text::tokens::of(summary.text.len()));
        let mut parts = [
            (self.session.fixed(), "the system prompt and the tools"),
            (summary, "the summary"),
            (newest, "the newest entries"),
        ];
        parts.sort_by_key(|(tokens, _)| std::cmp::Reverse(*tokens));
        parts.map(|(tokens, what)| format!("{what} ({} tokens)", count(tokens))).join(", ")
    }

    /// Begins to compact; false when there is nothing to compact, or it is being done, which a person is told.
    pub(super) async fn compact(&mut self, focus: String, then: Then, asked: bool) -> bool {
        if self.compacting.is_some() {
            if asked {
                self.notice(Level::Info, "the conversation is being compacted").await;
            }
            return false;
        }
        let window = self.session.window.unwrap_or(ASSUMED_WINDOW);
        let tail = compaction::tail(self.limit().unwrap_or(window / 2));
        let tail = if asked { tail.min(self.session.context.estimate() / ASKED_TAIL_PART) } else { tail };
        let Some(middle) = self.middle(tail) else {
            if asked {
                let text = "nothing to compact: too little precedes the newest entries";
                self.notice(Level::Info, text).await;
            }
            return false;
        };
        if let Some(why) = self.purse.stopped().await {
            if asked {
                self.notice(Level::Warning, format!("not compacted: {why}")).await;
            }
            return false;
        }
        self.compresses();
        let context = &self.session.context;
        let earlier = context.summary().map(|(_, summary)| summary.clone());
        let fresh = |item: &&Item| !earlier.as_ref().is_some_and(|summary| summary.covers(item.id));
        let items: Vec<Item> = context.items().iter().filter(fresh).cloned().collect();
        let known = earlier.map(|summary| summary.text).unwrap_or_default();
        let covered = context.items().iter().filter(|item| middle.from <= item.id && item.id <= middle.to);
        let stands_for = covered.map(|item| context.tokens_of(item)).sum::<u64>();
        let cancel = CancellationToken::new();
        let (answered, answer) = oneshot::channel();
        let provider = match self.deps.models.summarizer(self.session.choice.as_deref()) {
            _ if !asked && !self.session.compactions.may_ask(crate::agent::now()) => None,
            Ok(provider) => Some(provider),
            Err(_) => None,
        };
        match provider {
            Some(provider) => {
                // Of the session's model a server on this machine may have told more.
                let writers = provider.model().context.or(self.session.window).unwrap_or(ASSUMED_WINDOW);
                let budget = compaction::budget(stands_for, window.min(writers));
                let taken = u64::from(budget) * 2 + AROUND + crate::text::tokens::of(known.len());
                let room = usize::try_from(writers.saturating_sub(taken) * CHARS_PER_TOKEN).unwrap_or(usize::MAX);
                let pieces = transcript::pieces(&items, middle.from, middle.to, room.max(LEAST_PIECE));
                let seconds = self.deps.loaded.config.auxiliary.compression.timeout.unwrap_or(PATIENCE);
                let patience = Duration::from_secs_f64(seconds.clamp(0.1, 86_400.0));
                let order = Order { pieces, known: known.clone(), focus: focus.clone(), budget, patience };
                let stop = cancel.clone();
                tokio::spawn(async move {
                    // The session may be over.
                    let _ = answered.send(writer::write(provider, order, stop).await);
                });
            }
            None => {
                // Heard like the answer of a model.
                let _ = answered.send(Err(Unwritten::NoModel));
            }
        }
        let _cancel = cancel.drop_guard();
        self.compacting = Some(Compacting { _cancel, answer, middle, known, focus, then });
        self.out.send(AgentEvent::Compacting(true)).await;
        true
    }

    /// Gives up the summary that is being written; what waited for it.
    pub(super) async fn stop_compacting(&mut self) -> Option<Then> {
        let compacting = self.compacting.take()?;
        self.out.send(AgentEvent::Compacting(false)).await;
        Some(compacting.then)
    }

    /// The writer is done.
    pub(super) async fn compacted(&mut self, written: Result<Written, Unwritten>) {
        let Some(compacting) = self.compacting.take() else { return };
        self.out.send(AgentEvent::Compacting(false)).await;
        let then = compacting.then;
        let done = self.take_summary(compacting, written).await;
        match then {
            Then::Rest => {}
            Then::Call { step, fallback } => {
                if let Some(input) = self.call_model(step, fallback).await {
                    self.feed(input).await;
                }
            }
            Then::Trim => self.feed(Input::Trimmed(done)).await,
        }
    }

    /// Makes an entry of a summary; false when nothing was left out.
    async fn take_summary(&mut self, compacting: Compacting, written: Result<Written, Unwritten>) -> bool {
        let Compacting { middle, known, focus, .. } = compacting;
        let (text, by, usage) = match written {
            Ok(Written { text, by, usage }) => (text, SummaryBy::Model(by), usage),
            Err(Unwritten::Stopped) => return false,
            Err(Unwritten::Unreachable(why)) => {
                self.session.compactions.failed(crate::agent::now());
                self.session.compactions.gave_up();
                let text = format!("not compacted, nothing was left out: {why}");
                self.notice(Level::Error, text).await;
                return false;
            }
            Err(Unwritten::NoModel) => (String::new(), SummaryBy::Extract, None),
            Err(Unwritten::Failed(why)) => {
                self.session.compactions.failed(crate::agent::now());
                self.notice(Level::Warning, format!("the summary failed, an extract stands in: {why}")).await;
                (String::new(), SummaryBy::Extract, None)
            }
        };
        let items = self.session.context.items();
        let text = match by {
            SummaryBy::Extract => transcript::extract(&self.not_known(), middle.from, middle.to, &known),
            SummaryBy::Model(_) | SummaryBy::Person | SummaryBy::Undo => text,
        };
        let is_covered = |item: &&Item| middle.from <= item.id && item.id <= middle.to;
        let entries = crate::agent::rewind::entries_of(items.iter().filter(is_covered)) as u64;
        let state = self.carried();
        let Middle { from, to, prompt } = middle;
        let summary =
            SummaryBody { text, from, to, prompt, entries, state, by, focus, usage, ..SummaryBody::default() };
        let summary = self.weighed(summary);
        self.session.compactions.ended(summary.before, summary.after);
        if summary.after >= summary.before {
            self.session.compactions.gave_up();
            if let Some(usage) = usage {
                self.session.pay(usage);
                let model = if let SummaryBy::Model(model) = summary.by { model } else { String::new() };
                let spent = Spent { at: crate::agent::now(), item: None, model, role: "compaction", usage };
                if let Err(error) = self.deps.store.spent(&self.session.id, spent).await {
                    tracing::warn!("what a compaction used was not saved: {error}");
                }
            }
            self.notice(Level::Info, "not compacted: a summary would not be shorter than what it stands for").await;
            return false;
        }
        self.put_summary(summary).await;
        true
    }

    /// What a summary carries as it is, and how the model gets back what it stands for.
    fn carried(&self) -> String {
        let plan = crate::tools::spec::AgentPort::plan(&*self.handle);
        let processes = crate::agent::situation::processes(&self.deps.exec.running());
        let searches = self.session.tools.iter().any(|tool| tool.name == session_search::NAME);
        compaction::state(&plan, &processes, searches)
    }

    /// The entries that no summary stands for yet.
    fn not_known(&self) -> Vec<Item> {
        let context = &self.session.context;
        let earlier = context.summary().map(|(_, summary)| summary);
        let is_known = |item: &&Item| !earlier.is_some_and(|summary| summary.covers(item.id));
        context.items().iter().filter(is_known).cloned().collect()
    }

    /// With the tokens of a request before and after: the estimate says what changes, the meter from where.
    fn weighed(&self, summary: SummaryBody) -> SummaryBody {
        let context = &self.session.context;
        let mut then = context.clone();
        then.push(Item { id: ItemId(i64::MAX), at: 0, turn: 0, body: Body::Summary(Box::new(summary.clone())) });
        let before = self.session.filling();
        let (was, is) = (context.estimate(), then.estimate());
        let after = (before + is.saturating_sub(was)).saturating_sub(was.saturating_sub(is));
        SummaryBody { before, after, ..summary }
    }

    async fn put_summary(&mut self, summary: SummaryBody) {
        self.append(Body::Summary(Box::new(summary))).await;
        self.session.prefix.changed("the conversation was compacted");
        self.session.forget_reads();
        self.sync().await;
    }

    /// Shows the summary that counts, with a line for each entry that it stands for.
    async fn read_summary(&mut self, edit: bool) {
        let context = &self.session.context;
        let Some((of, summary)) = context.summary() else {
            let text = match context.shortened() {
                0 => "this conversation was not compacted".to_owned(),
                n => format!(
                    "this conversation was not compacted; {} shortened, /context marks them",
                    crate::text::format::plural(n as u64, "tool result is", "tool results are")
                ),
            };
            return self.notice(Level::Info, text).await;
        };
        let covered = context.items().iter().filter(|item| summary.covers(item.id));
        let left = covered.filter_map(transcript::line).collect();
        let summary = Box::new(summary.clone());
        self.out.send(AgentEvent::SummaryRead { edit, of, summary, left }).await;
    }

    /// The summary that counts reads differently from now on.
    async fn edit_summary(&mut self, of: ItemId, text: String) {
        if !self.may_change().await {
            return;
        }
        let Some((_, active)) = self.session.context.summary().filter(|(id, _)| *id == of) else {
            let text =
                "not edited: the conversation was compacted or rewound since; /compact edit shows the summary of now";
            return self.notice(Level::Error, text).await;
        };
        if text.trim().is_empty() {
            let text = "the summary can't be empty; /compact undo brings the entries back";
            return self.notice(Level::Error, text).await;
        }
        let edited = SummaryBody { text, by: SummaryBy::Person, usage: None, ..active.clone() };
        let edited = self.weighed(edited);
        self.put_summary(edited).await;
    }

    /// As it was before the last compaction, or before it was edited.
    async fn undo_compaction(&mut self) {
        if !self.may_change().await {
            return;
        }
        let mut states: Vec<&SummaryBody> = Vec::new();
        for item in self.session.context.items() {
            match &item.body {
                Body::Summary(summary) if summary.by == SummaryBy::Undo => drop(states.pop()),
                Body::Summary(summary) => states.push(summary),
                Body::User { .. } | Body::Assistant(_) | Body::Tool(_) | Body::Note { .. } => {}
            }
        }
        if states.pop().is_none() {
            return self.notice(Level::Info, "nothing to undo: this conversation was not compacted").await;
        }
        let before = states.pop().cloned().unwrap_or_default();
        let undone = self.weighed(SummaryBody { by: SummaryBy::Undo, usage: None, ..before });
        self.put_summary(undone).await;
    }
}

/// What a turn hears when its request was given up with the summary that it waited for.
pub(super) fn given_up() -> Input {
    Input::CallFailed { failure: Failure::of(ErrorKind::Cancelled), message: String::new(), partial: None }
}

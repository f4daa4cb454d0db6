//! Carries out what the turn machine orders.

use super::compaction::{self, Then};
use super::hooks::{Prompted, with_words};
use super::{ModelCall, Runner, Thinking};
use crate::agent::named_files;
use crate::agent::prefix::{PREFIX_BREAKS, Prefix};
use crate::agent::retry::Failure;
use crate::agent::turn::{Action, Input, Said};
use crate::agent::work::Work;
use crate::llm::{Reply, Request};
use crate::lock::lock;
use crate::protocol::{
    AgentEvent, Body, Item, ItemId, Level, NAMED, NoteKind, Origin, PERSONS, QuestionId, ToolBody, ToolCall, TurnEnd,
    TurnOutcome,
};
use crate::tools::builtin::{read_file, terminal};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

impl Runner {
    /// Starts a turn.
    pub(super) async fn submit(&mut self, mut said: Said) {
        if self.turn.is_running() {
            let why = "a turn is running; the message was not sent".to_owned();
            return self.out.send(AgentEvent::NotTaken(why)).await;
        }
        self.learn_secrets().await;
        if said.origin == Origin::Person && !said.by_agent {
            self.broke.heard();
            self.gate.person_said(&said.text);
        }
        said.text = self.masked(&said.text);
        self.gate.heard_anew();
        self.name_session();
        self.session.turn += 1;
        self.session.compactions.turn_began();
        (self.turn_started, self.waited_before) = (Instant::now(), self.handle.waited());
        let at = crate::agent::now();
        self.out.send(AgentEvent::TurnStarted { turn: self.session.turn, at }).await;
        self.weigh_saving(false).await;
        // What a turn may need is made ready while its prompt is built: the login shell, the HTTP client, the repository's state.
        self.deps.exec.warm_up();
        if self.spec.answers.is_person() {
            self.session.workspace.prepare();
        }
        self.begin_to_hear().await;
        let (models, choice) = (self.deps.models.clone(), self.session.choice.clone());
        tokio::task::spawn_blocking(move || models.warm_up(choice.as_deref()));
        let git = self.repository();
        self.handle.says(&said.text);
        if self.session.title.is_none() && said.origin == Origin::Person {
            self.title_from(&said.text).await;
        }
        self.ready_plugins().await;
        let words = match self.prompted(&said.text, said.origin).await {
            Prompted::Go(words) => words,
            Prompted::Blocked(why) => {
                let text = format!("a hook blocked the prompt: {why}");
                return self.finish(TurnEnd::Error(text), 0).await;
            }
            Prompted::Stopped => return self.finish(TurnEnd::Stopped, 0).await,
        };
        self.prepare_prompt().await;
        self.create_once().await;
        let mut context = with_words(self.situation(git).await, &words);
        for told in std::mem::take(&mut self.ended) {
            context = format!("{context}\n\n{told}").trim_start().to_owned();
            // What goes with a prompt is shown nowhere else.
            let text = format!("the model was notified: {}", told.trim_matches(['[', ']']).replace('\n', " · "));
            self.append(Body::Note { kind: NoteKind::Info, text }).await;
        }
        // A line of the person's own runs, whatever the model could read of it.
        if said.command().filter(|_| self.spec.answers.is_person()).is_none() {
            let more = crate::agent::context::tokens_of_prompt(&said.text, &context, said.images.len());
            self.bound_context(more).await;
            if let Some(why) = self.too_large(more).filter(|_| !self.fits_alone(more)) {
                return self.finish(TurnEnd::Error(why), 0).await;
            }
        }
        let input = match said.command().filter(|_| self.spec.answers.is_person()) {
            Some(line) => {
                let args = serde_json::json!({ "command": line }).to_string();
                let id = format!("{PERSONS}{}", self.session.next_item);
                let call = ToolCall { id, name: terminal::NAME.into(), args, ..ToolCall::default() };
                Input::Ran { said, context, call }
            }
            None => match self.reads_first(&said).await {
                calls if calls.is_empty() => Input::Submitted { said, context },
                calls => Input::Primed { said, context, calls },
            },
        };
        self.feed(input).await;
    }

    /// Files that the person named, to be read for a small model.
    async fn reads_first(&self, said: &Said) -> Vec<ToolCall> {
        if !self.is_small() || said.origin != Origin::Person || self.deps.backends.current().is_some() {
            return Vec::new();
        }
        let (text, cwd) = (said.text.clone(), lock(&self.session.cwd).clone());
        let named = tokio::task::spawn_blocking(move || named_files::named(&text, &cwd)).await.unwrap_or_default();
        let call = |(at, path): (usize, String)| ToolCall {
            id: format!("{NAMED}{}_{at}", self.session.next_item),
            name: read_file::NAME.into(),
            args: serde_json::json!({ "path": path }).to_string(),
            ..ToolCall::default()
        };
        named.into_iter().enumerate().map(call).collect()
    }

    /// Gives a fact to the machine and carries out what it orders, and what follows from that.
    pub(super) async fn feed(&mut self, input: Input) {
        let (opened, before) = self.opened.get_or_insert_with(|| (Instant::now(), *self.session.used()));
        let mut used = self.session.used().since(before);
        if let Some(family) = &self.family {
            family.add_to(&mut used);
        }
        let worked = opened.elapsed().saturating_sub(self.waited());
        self.turn.set_spent(self.spec.limits.reached(&used, worked));
        let mut actions: VecDeque<Action> = self.turn.on(input).into();
        while let Some(action) = actions.pop_front() {
            let follows = self.act(action).await;
            if let Some(input) = follows {
                actions.extend(self.turn.on(input));
            }
        }
    }

    async fn act(&mut self, action: Action) -> Option<Input> {
        match action {
            Action::Append(body) => {
                let is_answer = matches!(body, Body::Assistant(_));
                self.append(body).await;
                if is_answer {
                    self.show_budget().await;
                }
            }
            Action::CallModel { step, fallback } => return self.call_model(step, fallback).await,
            Action::ResetStream => self.out.send(AgentEvent::StreamReset).await,
            Action::RunTools(calls) => {
                self.look_before_calls().await;
                self.calls_ran = true;
                self.git = None;
                self.run_tools(calls);
            }
            Action::Wait { delay, reason, attempt, of } => {
                let millis = i64::try_from(delay.as_millis()).unwrap_or(i64::MAX);
                let until = crate::agent::now().saturating_add(millis);
                self.wait = Some(Instant::now() + delay);
                self.out.send(AgentEvent::Retrying { reason, attempt, of, until }).await;
            }
            Action::Trim => return self.trim().await.map(Input::Trimmed),
            Action::AskGuard(standstill) => return self.ask_guard(standstill).await,
            Action::AskBudget => return self.ask_budget().await,
            Action::AbortCall => {
                if self.wait.take().is_some() {
                    self.out.send(AgentEvent::RetryEnded).await;
                }
                if let Some(call) = &self.call {
                    call.cancel.cancel();
                }
                // One that the person asked for apart from the turn goes on.
                let waits = self.compacting.as_ref().is_some_and(|compacting| compacting.is_waited_for());
                if waits && let Some(Then::Call { .. }) = self.stop_compacting().await {
                    return Some(compaction::given_up());
                }
                self.unask_guard().await;
            }
            Action::AbortTools => self.abort_tools().await,
            Action::Finish(end) => self.finish(end, self.turn.steps()).await,
        }
        None
    }

    /// Makes an item durable, then shows it.
    pub(super) async fn append(&mut self, mut body: Body) {
        if self.deps.loaded.config.security.redact_secrets {
            crate::agent::secrets::mask(&mut body, self.deps.dispatch.secrets());
        }
        if let Body::Assistant(body) = &mut body {
            body.thought_ms = self.thought_ms.take().filter(|_| !body.reasoning.is_empty());
            self.final_answer(body).await;
        }
        let mut item =
            Item { id: ItemId(self.session.next_item), at: crate::agent::now(), turn: self.session.turn, body };
        self.create_once().await;
        // What a full disk refused comes first, so that nothing is missing once there is room again.
        let mut items = self.session.unsaved.clone();
        items.push(item.clone());
        match self.deps.store.append(&self.session.id, items).await {
            Ok(ids) => {
                self.session.unsaved.clear();
                if let Some(id) = ids.last() {
                    item.id = *id;
                }
            }
            Err(error) => {
                self.session.unsaved.push(item.clone());
                self.not_saved(error.to_string()).await;
            }
        }
        self.tell_trouble().await;
        self.session.next_item = item.id.0 + 1;
        if let Body::Assistant(body) = &item.body
            && !body.text.trim().is_empty()
        {
            self.handle.says(&body.text);
        }
        self.session.saw(&item);
        self.children_heard(&item).await;
        self.session.context.push(item.clone());
        self.out.send(AgentEvent::ItemFinished(item)).await;
        let meter = self.session.meter();
        self.out.send(AgentEvent::UsageChanged(meter)).await;
    }

    pub(super) async fn call_model(&mut self, step: u32, fallback: usize) -> Option<Input> {
        self.go_back().await;
        self.tell_outside().await;
        let provider = match self.session.provider(&self.deps.models, fallback) {
            Ok(provider) => provider,
            Err(error) => {
                let failure = Failure::of(crate::llm::ErrorKind::Auth);
                return Some(Input::CallFailed { failure, message: error.to_string(), partial: None });
            }
        };
        // Before a summary, which is a call, too.
        if let Err(why) = self.purse.may_call(provider.model(), self.session.filling()).await {
            return Some(Input::Spent { why: why.text, partial: None });
        }
        if self.make_room(Then::Call { step, fallback }).await {
            return None;
        }
        if let Some(message) = self.too_large(0) {
            let failure = Failure::of(crate::llm::ErrorKind::ContextOverflow);
            return Some(Input::CallFailed { failure, message, partial: None });
        }
        self.out.send(AgentEvent::StepStarted { step }).await;
        let request = Request {
            system: Arc::clone(&self.session.prompt),
            tools: Arc::clone(&self.session.tools),
            messages: self.session.context.messages(),
            effort: self.session.effort,
            max_output: self.most_output(),
            grammar: None,
            cache_key: self.session.id.0.clone(),
        };
        self.session.sends();
        self.session.prefix.sends(Prefix::of(&request, self.session.model_name()));
        self.requested(step);
        let cancel = CancellationToken::new();
        let (sink, deltas) = mpsc::channel(64);
        let (answer, reply) = oneshot::channel();
        let stop = cancel.clone();
        tokio::spawn(async move {
            // The runner dropped the call: nobody wants the reply.
            let _ = answer.send(provider.stream(&request, sink, stop).await);
        });
        self.call = Some(ModelCall {
            cancel,
            deltas,
            reply,
            text: String::new(),
            reasoning: String::new(),
            redactors: Default::default(),
            thinking: Thinking::default(),
            save_at: None,
        });
        None
    }

    /// A reply or a failure of the model.
    pub(super) async fn replied(&mut self, result: Result<Reply, crate::llm::ProviderError>) {
        while let Some(delta) = self.call.as_mut().and_then(|call| call.deltas.try_recv().ok()) {
            match &delta {
                crate::llm::Delta::Waiting(_) => {}
                crate::llm::Delta::Text(_) | crate::llm::Delta::Reasoning(_) => self.delta(delta).await,
                crate::llm::Delta::CallStarted { .. } | crate::llm::Delta::CallProgress { .. } => {
                    if let Some(call) = &mut self.call {
                        call.thinking.saw(&delta);
                    }
                }
            }
        }
        self.show_rest();
        self.thought_ms = self.call.take().and_then(|call| call.thinking.ended());
        self.answered_request(&result);
        let input = match result {
            Ok(mut reply) => {
                if let Some(usage) = reply.usage
                    && self.session.prefix.answered(usage, crate::agent::now())
                    && let Ok(breaks) = serde_json::to_value(&self.session.prefix.breaks)
                {
                    self.keep(PREFIX_BREAKS, breaks).await;
                }
                let known = self.deps.dispatch.registry().snapshot();
                reply.calls.iter_mut().for_each(|call| {
                    // The model reads its call as ours from then on, and learns the name.
                    let alias =
                        crate::tools::input::alias::meant(&call.name, &call.args, |name| known.get(name).is_some());
                    match alias {
                        Some(crate::tools::input::alias::Alias::Call { name, args }) => {
                            (call.name, call.args, call.repaired) = (name.to_owned(), args, true);
                        }
                        Some(crate::tools::input::alias::Alias::Tool { .. }) | None => unwrapped(call),
                    }
                });
                Input::Replied(reply)
            }
            Err(error) if error.kind == crate::llm::ErrorKind::Budget => {
                Input::Spent { why: error.message, partial: error.partial }
            }
            Err(error) => {
                tracing::warn!(kind = ?error.kind, status = ?error.status, "model call failed: {}", error.message);
                let failure = Failure {
                    kind: error.kind,
                    retry_after: error.retry_after,
                    next_key: error.next_key,
                    dice: fastrand::u8(0..100),
                };
                Input::CallFailed { failure, message: error.message, partial: error.partial }
            }
        };
        self.feed(input).await;
    }

    /// Makes an item of the answer that was streaming when the session was left.
    pub(super) async fn keep_stream(&mut self) {
        let Some(call) = self.call.take() else { return };
        call.cancel.cancel();
        self.thought_ms = call.thinking.ended();
        let partial = Reply { text: call.text, reasoning: call.reasoning, ..Reply::default() };
        let cut = Input::CallFailed {
            failure: Failure::of(crate::llm::ErrorKind::Cancelled),
            message: String::new(),
            partial: Some(Box::new(partial)),
        };
        self.feed(cut).await;
    }

    /// Ends the turn after so many steps; none: it never began, and leaves no line.
    async fn finish(&mut self, end: TurnEnd, steps: u32) {
        let stopped = end == TurnEnd::Stopped;
        self.tools = None;
        let waited = self.handle.waited().saturating_sub(self.waited_before);
        let worked = self.turn_started.elapsed().saturating_sub(waited);
        let duration_ms = worked.as_millis().try_into().unwrap_or(u64::MAX);
        let outcome = TurnOutcome { turn: self.session.turn, end: end.clone(), steps, duration_ms };
        if steps > 0 {
            let of_turn = self.session.context.items().iter().rev().take_while(|item| item.turn == outcome.turn);
            let items: Vec<&Item> = of_turn.collect();
            let work = Work::of(items.into_iter().rev()).line();
            let parts = [outcome.line(), work].into_iter().filter(|part| !part.is_empty());
            let text = parts.collect::<Vec<_>>().join(" · ");
            self.append(Body::Note { kind: NoteKind::TurnEnd, text }).await;
        }
        self.keep_folder().await;
        self.sync().await;
        self.weigh_saving(true).await;
        let meter = self.session.meter();
        self.out.send(AgentEvent::UsageChanged(meter)).await;
        self.sweep_history();
        self.rests();
        self.turn_ended(match &end {
            TurnEnd::Completed => "completed",
            TurnEnd::Stopped => "stopped",
            TurnEnd::Limit => "limit",
            TurnEnd::Provider(_) => "provider_error",
            TurnEnd::Error(_) => "error",
        })
        .await;
        let mut late = self.turn.take_steers();
        if let Some(family) = self.family.as_ref().filter(|_| stopped) {
            let owed = late.iter().filter(|said| said.origin == Origin::Program && family.owes_message(&said.text));
            self.ended.extend(owed.map(|said| said.text.clone()));
        }
        // After a stop nothing begins by itself; what the person said goes back to the person.
        if stopped || self.leaving {
            late.retain(|said| said.origin == Origin::Steer);
            let back: Vec<_> = late.drain(..).map(|said| (said.text, said.images)).collect();
            if !back.is_empty() {
                self.out.send(AgentEvent::Undelivered(back)).await;
            }
        }
        self.out.send(AgentEvent::TurnFinished(outcome)).await;
        self.watch_between_turns();
        self.compact_after_turn().await;
        if !late.is_empty() {
            Box::pin(self.submit(together(&late))).await;
        } else if !self.leaving {
            self.judge_goal(&end).await;
        }
    }

    /// Stops the turn; `force` does not wait for the outcomes of calls.
    pub(super) async fn stop(&mut self, force: bool) {
        self.broke.leave();
        self.budget_decided(false).await;
        if !self.turn.is_running() && self.stop_compacting().await.is_some() && !self.leaving {
            self.notice(Level::Info, "compaction stopped: nothing was left out").await;
        }
        if let Some(family) = &self.family {
            family.stop_all();
        }
        if !self.turn.is_running() {
            self.pause_goal("you stopped it; /goal resume goes on").await;
        }
        self.feed(Input::Stopped).await;
        if !force {
            return;
        }
        self.batch += 1;
        for call in self.turn.open_calls() {
            let body = ToolBody {
                call_id: call.id,
                name: call.name,
                content: r#"{"error":"interrupted: the user stopped the turn"}"#.into(),
                outcome: crate::protocol::Outcome::Interrupted,
                ..ToolBody::default()
            };
            self.feed(Input::ToolFinished { body, repeats: false }).await;
        }
    }

    pub(super) async fn abort_tools(&mut self) {
        if let Some(cancel) = &self.tools {
            cancel.cancel();
        }
        self.close_approvals().await;
        // Dropped answers end the waiting tools.
        let asked: Vec<QuestionId> = self.questions.drain().map(|(id, _)| id).collect();
        for id in asked {
            self.out.send(AgentEvent::QuestionClosed(id)).await;
        }
    }

    /// The longest wait for a repository's state before a turn starts.
    pub(super) const GIT_PATIENCE: Duration = Duration::from_millis(60);
}

/// Messages that came too late for their turn, as one that begins the next: the person's if one of them is.
fn together(late: &[Said]) -> Said {
    let joined = |part: fn(&Said) -> &str, between| late.iter().map(part).collect::<Vec<_>>().join(between);
    let text = joined(|said| &said.text, "\n\n");
    if late.iter().all(|said| said.origin == Origin::Program) {
        Said::program(text, joined(|said| &said.gist, " · "))
    } else {
        let by_agent = late.iter().any(|said| said.by_agent);
        Said { by_agent, ..Said::person(text, late.iter().flat_map(|said| said.images.clone()).collect()) }
    }
}

/// A call through `tool_call` becomes the call of the tool that runs; what the model wrote is kept for its next requests.
fn unwrapped(call: &mut ToolCall) {
    if let Some((name, args)) = crate::tools::builtin::tool_call::unwrap(&call.name, &call.args) {
        call.via = std::mem::replace(&mut call.args, args);
        call.name = name;
    }
}

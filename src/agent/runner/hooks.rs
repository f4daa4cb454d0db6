//! The moments of a conversation at which hooks run. Those that may change something are waited for, and Stop ends
//! them; the others only watch.

use super::{Happened, Runner};
use crate::llm::Reply;
use crate::lock::lock;
use crate::plugins::answer::{Answer, Verdict};
use crate::plugins::{Event, HookPayload, PluginNotice};
use crate::policy::{Approval, Decision, Intent, Scope};
use crate::protocol::{AgentCommand, AssistantBody, Body, Level, NoteKind, Origin};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long the first turn of a person waits for plugins that are starting.
const PLUGINS_LIMIT_PERSON: Duration = Duration::from_millis(1500);
/// How long that of a script waits.
const PLUGINS_LIMIT_SCRIPT: Duration = Duration::from_secs(15);
/// How long leaving waits for hooks; the program itself waits three seconds for all.
const LEAVE_LIMIT: Duration = Duration::from_secs(2);

/// What hooks say to a prompt.
pub(super) enum Prompted {
    /// It is sent, with these words after it.
    Go(String),
    Blocked(String),
    Stopped,
}

impl Runner {
    fn moment(&self, event: Event) -> HookPayload {
        let cwd = lock(&self.session.cwd).clone();
        let model = self.session.info().model;
        HookPayload::new(event, self.session.id.0.as_str(), cwd).with("model", model).with("turn_id", self.session.turn)
    }

    /// Waits for work while the person may stop it; `None` when they did. Other orders wait.
    async fn interruptible<T>(&mut self, work: impl Future<Output = T>, cancel: &CancellationToken) -> Option<T> {
        let mut work = std::pin::pin!(work);
        let mut open = true;
        let mut stopped = false;
        loop {
            tokio::select! {
                biased;
                done = &mut work => return (!stopped).then_some(done),
                command = self.commands.recv(), if open => {
                    if matches!(command, None | Some(AgentCommand::Stop { .. } | AgentCommand::Close { .. })) {
                        stopped = true;
                        cancel.cancel();
                    }
                    match command {
                        Some(command) => self.held.push_back(command),
                        None => open = false,
                    }
                }
                Some(notice) = self.plugin_notices.recv() => Box::pin(self.on_plugin_notice(notice)).await,
            }
        }
    }

    /// The hooks of a moment, waited for; `None` when the person stopped them.
    async fn hear(&mut self, moment: HookPayload) -> Option<Answer> {
        let all = self.deps.extensions.clone();
        if !all.wants(moment.event, moment.subject.as_deref()) {
            return Some(Answer::default());
        }
        let cancel = CancellationToken::new();
        let said = self.interruptible(all.fire(moment, &cancel), &cancel).await;
        // Rows of hooks stand before what came of them.
        while let Ok(notice) = self.plugin_notices.try_recv() {
            Box::pin(self.on_plugin_notice(notice)).await;
        }
        let said = said?;
        if !said.message.is_empty() {
            self.notice(Level::Info, said.message.clone()).await;
        }
        Some(said)
    }

    /// A row of a hook, or news of a plugin.
    pub(super) async fn on_plugin_notice(&mut self, notice: PluginNotice) {
        match notice {
            // Nothing is stored before the first prompt.
            PluginNotice::Row(text) if !self.session.created => self.notice(Level::Info, text).await,
            PluginNotice::Row(text) => self.append(Body::Note { kind: NoteKind::Hook, text }).await,
            PluginNotice::Notice { serious, text } => {
                self.notice(if serious { Level::Error } else { Level::Warning }, text).await;
            }
        }
    }

    /// A session is open. What the hooks say goes with its next prompt.
    pub(super) fn greet(&mut self, source: &str) {
        let mut moment = self.moment(Event::SessionStart);
        moment.subject = Some(source.to_owned());
        let all = self.deps.extensions.clone();
        self.greeting = Some(tokio::spawn(async move { all.fire(moment, &CancellationToken::new()).await.context }));
    }

    /// Plugins get a moment to be ready before the tools of a session are written down.
    pub(super) async fn ready_plugins(&mut self) {
        let all = self.deps.extensions.clone();
        let limit = if self.spec.answers.is_person() { PLUGINS_LIMIT_PERSON } else { PLUGINS_LIMIT_SCRIPT };
        self.interruptible(all.settled(limit), &CancellationToken::new()).await;
    }

    /// A prompt is about to begin a turn.
    pub(super) async fn prompted(&mut self, text: &str, origin: Origin) -> Prompted {
        let all = &self.deps.extensions;
        if [Event::PromptSubmitted, Event::PreLlmCall].iter().any(|event| all.wants(*event, None)) {
            // Their rows are items of the session.
            self.create_once().await;
        }
        let mut words = Vec::new();
        if let Some(greeting) = self.greeting.take() {
            let stop = greeting.abort_handle();
            match self.interruptible(greeting, &CancellationToken::new()).await {
                Some(said) => words.push(said.unwrap_or_default()),
                None => {
                    stop.abort();
                    return Prompted::Stopped;
                }
            }
        }
        if origin == Origin::Person {
            let Some(said) = self.hear(self.moment(Event::PromptSubmitted).text(text)).await else {
                return Prompted::Stopped;
            };
            if let Verdict::Block(why) = said.verdict {
                return Prompted::Blocked(why);
            }
            words.push(said.context);
        }
        let moment = self.moment(Event::PreLlmCall).text(text).with("is_first_turn", self.session.turn == 1);
        let Some(said) = self.hear(moment).await else { return Prompted::Stopped };
        words.push(said.context);
        words.retain(|words| !words.trim().is_empty());
        Prompted::Go(words.join("\n\n"))
    }

    /// A request goes out.
    pub(super) fn requested(&self, step: u32) {
        self.deps.extensions.watch(self.moment(Event::PreApiRequest).with("api_call_count", step));
    }

    /// An answer came, or a failure.
    pub(super) fn answered_request(&self, result: &Result<Reply, crate::llm::ProviderError>) {
        let moment = match result {
            Ok(reply) => {
                let usage = reply.usage.and_then(|usage| serde_json::to_value(usage).ok()).unwrap_or_default();
                self.moment(Event::PostApiRequest).with("usage", usage)
            }
            Err(error) => self.moment(Event::ApiRequestError).with("error", error.message.as_str()),
        };
        self.deps.extensions.watch(moment);
    }

    /// The final answer of a turn, as hooks leave it.
    pub(super) async fn final_answer(&mut self, body: &mut AssistantBody) {
        if !body.calls.is_empty() || body.text.trim().is_empty() {
            return;
        }
        let moment = self.moment(Event::TransformLlmOutput).text(body.text.as_str());
        if let Some(text) = self.hear(moment).await.and_then(|said| said.text) {
            body.text = text;
        }
        self.last_answer.clone_from(&body.text);
    }

    /// A turn has ended.
    pub(super) async fn turn_ended(&mut self, end: &str) {
        let answer = std::mem::take(&mut self.last_answer);
        for event in [Event::PostLlmCall, Event::TurnEnd] {
            let moment = self.moment(event).text(answer.as_str()).with("end", end);
            if self.spec.answers.is_person() {
                self.deps.extensions.watch(moment);
            } else {
                // The program ends with its answer: nobody would wait for a hook in the background.
                self.hear(moment).await;
            }
        }
    }

    /// A person is asked.
    pub(super) fn asks(&mut self, approval: &Approval) {
        let command = match &approval.intent {
            Intent::Command { line, .. } => line.clone(),
            _ => String::new(),
        };
        let reasons: Vec<&str> = approval.verdict.reasons().iter().map(|why| why.effect.as_str()).collect();
        let moment = self
            .moment(Event::PreApproval)
            .tool(&approval.tool, serde_json::Value::Null)
            .with("tool_call_id", approval.call_id.as_str())
            .with("command", command)
            .with("description", reasons.join(", "))
            .with("surface", "cli");
        self.asked_tools.insert(approval.id, approval.tool.clone());
        self.deps.extensions.watch(moment);
    }

    /// A person has answered.
    pub(super) fn decided(&mut self, id: crate::policy::ApprovalId, decision: &Decision) {
        let choice = match decision {
            Decision::Once | Decision::Edited(_) => "once",
            Decision::Grant(grant) if grant.scope == Scope::Session => "session",
            Decision::Grant(_) => "always",
            Decision::Deny { .. } => "deny",
            Decision::TimedOut => "timed_out",
            Decision::Interrupted => "interrupted",
            Decision::NoOne => "no_one",
        };
        let tool = self.asked_tools.remove(&id).unwrap_or_default();
        let moment = self.moment(Event::PostApproval).tool(&tool, serde_json::Value::Null).with("choice", choice);
        self.deps.extensions.watch(moment);
    }

    /// Old history is about to be shortened.
    pub(super) fn compresses(&self) {
        self.deps.extensions.watch(self.moment(Event::ContextCompress));
    }

    /// A background process of this session has ended.
    pub(super) fn process_ended(&self, id: &str, text: &str) {
        self.deps.extensions.watch(self.moment(Event::ProcessExit).with("process_id", id).with("description", text));
    }

    /// The session is left; `cleared`: the person begins a new one in its place.
    pub(super) async fn farewell(&mut self, cleared: bool) {
        if let Some(greeting) = self.greeting.take() {
            greeting.abort();
        }
        let last = if cleared { Event::SessionReset } else { Event::SessionFinalize };
        let moments = [self.moment(Event::SessionEnd), self.moment(last)];
        let all = self.deps.extensions.clone();
        let said = async {
            for moment in moments {
                if all.wants(moment.event, None) {
                    all.fire(moment, &CancellationToken::new()).await;
                }
            }
        };
        if tokio::time::timeout(LEAVE_LIMIT, said).await.is_err() {
            tracing::warn!("session end hooks timed out and were killed");
        }
        // A session that never had an item gets none for its hooks.
        while let Ok(notice) = self.plugin_notices.try_recv() {
            if self.session.created {
                self.on_plugin_notice(notice).await;
            }
        }
    }

    /// The next order that waited for a hook.
    pub(super) fn next_held(&mut self) -> Option<Happened> {
        self.held.pop_front().map(|command| Happened::Command(Some(command)))
    }
}

/// The words of hooks behind what changed since the last turn.
pub(super) fn with_words(context: String, words: &str) -> String {
    if words.is_empty() {
        return context;
    }
    let words = format!("From hooks of the user:\n{words}");
    if context.is_empty() { words } else { format!("{context}\n\n{words}") }
}

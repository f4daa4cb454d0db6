//! A model in the program itself: plays a script with real tool calls, for the offline demo and for tests.

pub use super::script::{Script, ScriptError};

use super::script::{Scene, Step};
use super::{Delta, ErrorKind, ModelInfo, NextKey, Price, Provider, ProviderError, Reply, Request};
use crate::llm::message::Message;
use crate::lock::lock;
use crate::protocol::{StopReason, ToolCall, Usage};
use futures::future::BoxFuture;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Characters of a delta when nobody says: about a token.
const CHUNK: usize = 4;

/// Plays a script. One per session.
#[derive(Debug)]
pub struct Scripted {
    script: Script,
    info: ModelInfo,
    state: Mutex<State>,
    keep: bool,
}

#[derive(Debug, Default)]
struct State {
    /// Which of `steps` are used up.
    used: Vec<bool>,
    /// Failures that scenes have played, by the place of their prompt: a retry gets the next step.
    failed: HashMap<usize, usize>,
    requests: Vec<Request>,
    calls: u64,
}

/// The provider of the demo: its script comes with the program.
pub fn demo() -> Arc<dyn Provider> {
    open("demo", ModelInfo { provider: "scripted".into(), ..ModelInfo::default() })
}

/// A provider for a scripted endpoint: `demo`, or the path of a script. One that cannot be read fails on each call.
pub(super) fn open(model: &str, info: ModelInfo) -> Arc<dyn Provider> {
    let script = if model == "demo" { Script::demo() } else { Script::load(Path::new(model)) };
    match script {
        Ok(script) => Arc::new(Scripted::with_info(script, info)),
        Err(error) => Arc::new(Unplayable { error, info }),
    }
}

impl Scripted {
    /// A model that plays this script.
    pub fn new(script: Script) -> Self {
        Self::with_info(script, ModelInfo { provider: "scripted".into(), ..ModelInfo::default() })
    }

    /// The same, and it keeps what it was asked: see [`Scripted::requests`].
    pub fn recording(script: Script) -> Self {
        Self { keep: true, ..Self::new(script) }
    }

    fn with_info(script: Script, mut info: ModelInfo) -> Self {
        if !script.model.is_empty() {
            info.id.clone_from(&script.model);
        } else if info.id.is_empty() {
            info.id = "scripted".into();
        }
        info.context = script.context.or(info.context);
        info.price = match script.price.as_deref() {
            None => info.price.or(Some(Price::default())),
            Some([input, cached, output]) => {
                Some(Price { input: *input, cached: *cached, output: *output, cache_write: None })
            }
            Some(_) => None,
        };
        info.tools = Some(true);
        let state = Mutex::new(State { used: vec![false; script.steps.len()], ..State::default() });
        Self { script, info, state, keep: false }
    }

    /// What it was asked so far, when it records.
    pub fn requests(&self) -> Vec<Request> {
        lock(&self.state).requests.clone()
    }

    /// The step for a request, and the number of the call.
    fn next(&self, request: &Request) -> Result<(Step, u64), ProviderError> {
        let mut state = lock(&self.state);
        state.calls += 1;
        if self.keep {
            state.requests.push(request.clone());
        }
        let number = state.calls;
        let prompt = last_user(&request.messages).map(|(_, text)| text).unwrap_or_default();
        let step = self
            .scene_step(&mut state, request)
            .or_else(|| self.flat_step(&mut state, prompt))
            .or_else(|| self.script.fallback.clone())
            .ok_or_else(|| {
                failure(
                    ErrorKind::BadRequest,
                    format!("the script has no step left for {prompt:?}; add one, or a fallback"),
                )
            })?;
        let step = choose(step, &request.messages);
        if let Some(expected) = step.expect.as_ref().filter(|expected| !expected.matches(prompt)) {
            let message = format!("the script expects a message that matches {:?}, not {prompt:?}", expected.as_str());
            return Err(failure(ErrorKind::BadRequest, message));
        }
        Ok((step, number))
    }

    fn flat_step(&self, state: &mut State, prompt: &str) -> Option<Step> {
        let fits = |(index, step): &(usize, &Step)| {
            !state.used.get(*index).copied().unwrap_or(true)
                && step.when.as_ref().is_none_or(|when| when.matches(prompt))
        };
        let (index, step) = self.script.steps.iter().enumerate().find(fits)?;
        if let Some(used) = state.used.get_mut(index) {
            *used = true;
        }
        Some(step.clone())
    }

    /// The scene is that of the last prompt that has one; the step is counted by the answers since.
    fn scene_step(&self, state: &mut State, request: &Request) -> Option<Step> {
        let (at, scene) = self.scene(&request.messages)?;
        let answers =
            request.messages.get(at..)?.iter().filter(|message| matches!(message, Message::Assistant { .. })).count();
        let failed = state.failed.entry(at).or_default();
        let step = scene.steps.get(answers + *failed)?.clone();
        if step.error.is_some() || step.stall.is_some() || step.cut {
            *failed += 1;
        }
        Some(step)
    }

    fn scene(&self, messages: &[Message]) -> Option<(usize, &Scene)> {
        for (at, message) in messages.iter().enumerate().rev() {
            let Message::User { text, .. } = message else { continue };
            if let Some(scene) = self.script.scenes.iter().find(|scene| scene.when.matches(text)) {
                return Some((at, scene));
            }
            // Something said in the middle of a turn does not end the scene; a new prompt does.
            let steered = at.checked_sub(1).and_then(|before| messages.get(before));
            if !matches!(steered, Some(Message::Tool { .. })) {
                return None;
            }
        }
        None
    }

    async fn play(
        &self,
        step: &Step,
        number: u64,
        sink: &mpsc::Sender<Delta>,
        reply: &mut Reply,
    ) -> Result<(), ProviderError> {
        let delay = Duration::from_millis(step.delay_ms.unwrap_or(self.script.delay_ms));
        let chunk = step.chunk.or(self.script.chunk).unwrap_or(CHUNK).max(1);
        for (text, is_reasoning) in [(&step.reasoning, true), (&step.text, false)] {
            for piece in pieces(text, chunk) {
                if !delay.is_zero() {
                    tokio::time::sleep(delay).await;
                }
                let (grown, delta) = if is_reasoning {
                    (&mut reply.reasoning, Delta::Reasoning(piece.to_owned()))
                } else {
                    (&mut reply.text, Delta::Text(piece.to_owned()))
                };
                grown.push_str(piece);
                // A reader that went away is no reason to lose the reply.
                let _closed = sink.send(delta).await;
            }
        }
        for (index, call) in step.calls.iter().enumerate() {
            let args = call
                .raw
                .clone()
                .unwrap_or_else(|| if call.args.is_null() { "{}".into() } else { call.args.to_string() });
            let bytes = args.len();
            let meant = super::inner::of(&call.name, &args).unwrap_or_else(|| call.name.clone());
            let started = Delta::CallStarted { index, name: meant };
            reply.calls.push(ToolCall {
                id: format!("script_{number}_{index}"),
                name: call.name.clone(),
                args,
                repaired: false,
                via: String::new(),
            });
            for delta in [started, Delta::CallProgress { index, bytes }] {
                let _closed = sink.send(delta).await;
            }
        }
        reply.usage = step.usage.map(|tokens| Usage {
            input: tokens.input,
            cached: tokens.cached,
            output: tokens.output,
            reasoning: tokens.reasoning,
            cache_write: 0,
            cost: None,
        });
        if let Some(millis) = step.stall {
            tokio::time::sleep(Duration::from_millis(millis)).await;
            return Err(failure(ErrorKind::Stalled, "the scripted model sent nothing more; try again".into()));
        }
        if step.cut {
            return Err(failure(ErrorKind::Network, "the scripted model's stream ended before the answer did".into()));
        }
        if let Some(told) = &step.error {
            let kind = told.kind();
            let message = if told.message.is_empty() {
                format!("the scripted model failed: {kind:?}")
            } else {
                told.message.clone()
            };
            let mut error = failure(kind, message);
            error.status = told.status;
            error.retry_after = told.retry_after.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            return Err(error);
        }
        reply.stop = stop(step);
        Ok(())
    }
}

fn stop(step: &Step) -> StopReason {
    match step.stop.as_deref() {
        None if step.calls.is_empty() => StopReason::EndTurn,
        None | Some("tool_calls") => StopReason::ToolCalls,
        Some("end_turn") => StopReason::EndTurn,
        Some("length") => StopReason::Length,
        Some("content_filter") => StopReason::ContentFilter,
        Some(other) => StopReason::Other(other.to_owned()),
    }
}

/// Takes the choice that fits the last tool result.
fn choose(mut step: Step, messages: &[Message]) -> Step {
    let last = messages.iter().rev().find_map(|message| match message {
        Message::Tool { content, failed, .. } => Some((content.as_str(), *failed)),
        Message::User { .. } | Message::Assistant { .. } => None,
    });
    let (content, failed) = last.unwrap_or_default();
    let fits = |choice: &super::script::Choice| {
        choice.failed.is_none_or(|wanted| wanted == failed)
            && choice.seen.as_ref().is_none_or(|seen| seen.matches(content))
    };
    match step.any.iter().position(fits) {
        Some(at) => step.any.swap_remove(at).step,
        None => step,
    }
}

fn last_user(messages: &[Message]) -> Option<(usize, &str)> {
    messages.iter().enumerate().rev().find_map(|(at, message)| match message {
        Message::User { text, .. } => Some((at, text.as_str())),
        Message::Assistant { .. } | Message::Tool { .. } => None,
    })
}

/// Pieces of so many characters.
fn pieces(text: &str, chunk: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.char_indices().nth(chunk).map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at(end);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

fn failure(kind: ErrorKind, message: String) -> ProviderError {
    ProviderError {
        kind,
        status: None,
        message,
        retry_after: None,
        reset_after: None,
        next_key: NextKey::Unchanged,
        partial: None,
    }
}

impl Provider for Scripted {
    fn stream<'a>(
        &'a self,
        request: &'a Request,
        sink: mpsc::Sender<Delta>,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<Reply, ProviderError>> {
        Box::pin(async move {
            let (step, number) = self.next(request)?;
            let mut reply = Reply { model: self.info.id.clone(), ..Reply::default() };
            let outcome = tokio::select! {
                biased;
                () = cancel.cancelled() => Err(failure(ErrorKind::Cancelled, "stopped while the scripted model answered".into())),
                outcome = self.play(&step, number, &sink, &mut reply) => outcome,
            };
            self.info.price(&mut reply.usage);
            match outcome {
                Ok(()) => Ok(reply),
                Err(error) => Err(super::errors::with_partial(error, reply)),
            }
        })
    }

    fn model(&self) -> &ModelInfo {
        &self.info
    }
}

/// A script that cannot be read, with the reason.
struct Unplayable {
    error: ScriptError,
    info: ModelInfo,
}

impl Provider for Unplayable {
    fn stream<'a>(
        &'a self,
        _request: &'a Request,
        _sink: mpsc::Sender<Delta>,
        _cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<Reply, ProviderError>> {
        Box::pin(async move { Err(failure(ErrorKind::BadRequest, self.error.to_string())) })
    }

    fn model(&self) -> &ModelInfo {
        &self.info
    }
}

#[cfg(test)]
mod tests;

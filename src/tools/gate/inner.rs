//! Calls that a running call makes: each passes the gate like a call of the model, and its whole result goes to whoever made
//! it. What became of them is kept with the call around them.

use super::{CallEvent, Gate};
use crate::lock::lock;
use crate::policy::redact::RedactKind;
use crate::protocol::{InnerCall, ToolBody, ToolCall};
use crate::text::readable::readable;
use crate::tools::output::bound::cut;
use crate::tools::output::budget::OutputBudget;
use crate::tools::spec::{InnerRequest, ToolCtx, ToolOutput, Within};
use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use serde_json::Value;
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Characters of a result that are kept for the person and for search: the start, and the end.
const KEPT: (usize, usize) = (32_000, 8_000);
/// The same of a text in its arguments, and of all of them.
const TEXT: (usize, usize) = (1_500, 500);
const ARGS: (usize, usize) = (12_000, 4_000);
/// Entries of a list in its arguments that are kept.
const LIST: usize = 20;
/// Calls that wait to be looked at.
const QUEUE: usize = 16;

/// The calls of one call.
pub(super) struct Inner {
    ctx: ToolCtx,
    within: Arc<str>,
    asked: mpsc::Receiver<InnerRequest>,
    made: usize,
    done: Vec<(usize, InnerCall)>,
    strangers: Arc<Mutex<Vec<String>>>,
    cancel: CancellationToken,
}

/// Those of them that run.
pub(super) type Running<'a> = FuturesUnordered<BoxFuture<'a, Ended>>;

/// One of them that has ended.
pub(super) struct Ended {
    number: usize,
    call: InnerCall,
}

impl Inner {
    /// For the call with this id, and where it makes its calls; one that was made so itself makes none.
    pub(super) fn new(call_id: &str, ctx: &ToolCtx) -> (Self, Option<mpsc::Sender<InnerRequest>>) {
        let (calls, asked) = mpsc::channel(QUEUE);
        let calls = ctx.within.is_none().then_some(calls);
        let (within, cancel): (Arc<str>, _) = (call_id.into(), ctx.cancel.child_token());
        let strangers: Arc<Mutex<Vec<String>>> = Arc::default();
        let mut ctx = ctx.clone();
        let seen = Arc::default();
        ctx.within = Some(Within { call: Arc::clone(&within), strangers: Arc::clone(&strangers), seen });
        ctx.calls = None;
        ctx.cancel = cancel.clone();
        ctx.room = OutputBudget::default();
        (Self { ctx, within, asked, made: 0, done: Vec::new(), strangers, cancel }, calls)
    }

    /// Runs what is asked for; never comes back. What still runs then is for [`Self::end`].
    pub(super) async fn serve<'a, T>(
        &mut self,
        gate: &'a Gate,
        events: &'a mpsc::Sender<CallEvent>,
        running: &mut Running<'a>,
    ) -> T {
        let mut open = true;
        loop {
            tokio::select! {
                request = self.asked.recv(), if open => match request {
                    None => open = false,
                    // Whoever asked has ended before it began.
                    Some(request) if request.reply.is_closed() => {}
                    Some(request) => {
                        self.made += 1;
                        let (within, ctx) = (Arc::clone(&self.within), self.ctx.clone());
                        running.push(Box::pin(one(gate, self.made, within, ctx, request, events)));
                    }
                },
                Some(ended) = running.next(), if !running.is_empty() => {
                    let Ended { number, call } = ended;
                    self.done.push((number, call));
                }
                else => return std::future::pending().await,
            }
        }
    }

    /// The result of the call with what it did.
    pub(super) async fn end(mut self, mut output: ToolOutput, mut running: Running<'_>) -> ToolOutput {
        // A call that nobody waits for any more is stopped, not forgotten: its command ends, and its row says so.
        self.cancel.cancel();
        while let Some(Ended { number, call }) = running.next().await {
            self.done.push((number, call));
        }
        self.done.sort_by_key(|(number, _)| *number);
        // Files that its calls changed were changed by it, and are shown with it.
        output.view.diffs.extend(self.done.iter_mut().flat_map(|(_, call)| std::mem::take(&mut call.view.diffs)));
        output.inner = self.done.into_iter().map(|(_, call)| call).collect();
        output.strangers = std::mem::take(&mut *lock(&self.strangers));
        output
    }
}

/// One call, from its question to its result.
async fn one(
    gate: &Gate,
    number: usize,
    within: Arc<str>,
    mut ctx: ToolCtx,
    request: InnerRequest,
    events: &mpsc::Sender<CallEvent>,
) -> Ended {
    let InnerRequest { name, args, reply, cancel } = request;
    ctx.cancel = ctx.cancel.child_token();
    let stop = ctx.cancel.clone();
    ctx.call_id = InnerCall::id_in(&within, number);
    let call = ToolCall { id: ctx.call_id.clone(), name, args, ..ToolCall::default() };
    let masks = gate.dispatch().masks_for(&ctx);
    let body = {
        let mut running = boxed(gate, &call, ctx, events.clone());
        tokio::select! {
            body = &mut running => body,
            () = cancel.cancelled() => {
                stop.cancel();
                running.await
            }
        }
    };
    let mut view = body.view.clone();
    if view.output.is_empty() {
        view.output = readable(&body.content);
    }
    view.output = cut(&view.output, KEPT.0, KEPT.1, "\n…\n");
    let told = InnerCall {
        id: call.id,
        tool: body.name.clone(),
        args: bounded(&masks.apply(&call.args, RedactKind::Code)),
        outcome: body.outcome,
        duration_ms: body.duration_ms,
        view,
    };
    // Whoever asked may have ended.
    let _ = reply.send(body);
    let event = CallEvent::InnerEnded { within: within.to_string(), call: Box::new(told.clone()) };
    // The receiver is gone only when the session is.
    let _ = events.send(event).await;
    Ended { number, call: told }
}

/// Arguments as they are kept: with each text within the bound of an output.
fn bounded(args: &str) -> String {
    if args.len() <= TEXT.0 {
        return args.to_owned();
    }
    fn cut_all(value: &mut Value) {
        match value {
            Value::String(text) => *text = cut(text, TEXT.0, TEXT.1, "\n…\n"),
            Value::Array(all) => {
                all.truncate(LIST);
                all.iter_mut().for_each(cut_all);
            }
            Value::Object(all) => all.values_mut().for_each(cut_all),
            _ => {}
        }
    }
    let mut value = serde_json::from_str(args).unwrap_or(Value::Null);
    cut_all(&mut value);
    let text = value.to_string();
    cut(&text, ARGS.0, ARGS.1, "…")
}

/// A call within a call: its future has a size only behind a pointer.
fn boxed<'a>(
    gate: &'a Gate,
    call: &'a ToolCall,
    ctx: ToolCtx,
    events: mpsc::Sender<CallEvent>,
) -> BoxFuture<'a, ToolBody> {
    Box::pin(gate.call(call, ctx, events))
}

//! `-p`: one answer without a screen. Never waits for a person; only the answer goes to standard output.

mod children;
mod schema;

use super::setup::{self, Base};
use super::{ChatArgs, Output};
use crate::engine::{Answers, Opens, SessionSpec};
use crate::protocol::{
    AgentCommand, AgentEvent, AssistantBody, Body, Item, Level, NoteKind, Outcome, SessionId, ToolBody, ToolView,
    TurnEnd, TurnOutcome,
};
use anyhow::Context as _;
use children::Offspring;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, Read as _, Write};

/// Exit codes of `docs/CLI.md`.
mod exit {
    pub const COMPLETED: i32 = 0;
    pub const ERROR: i32 = 1;
    pub const DENIED: i32 = 2;
    pub const LIMIT: i32 = 3;
    pub const PROVIDER: i32 = 4;
    pub const STOPPED: i32 = 130;
}

/// Runs `-p` and returns the exit code.
pub fn run(args: ChatArgs) -> anyhow::Result<i32> {
    let prompt = match args.print.as_deref().or(args.prompt.as_deref()) {
        None | Some("-") => read_stdin()?,
        Some(text) => text.to_owned(),
    };
    anyhow::ensure!(!prompt.trim().is_empty(), "the prompt is empty; pass one after -p or on standard input");
    let base = setup::base(&args)?;
    let _log = setup::logging(&base);
    for warning in &base.loaded.warnings {
        writeln!(io::stderr(), "hermes: {warning}").ok();
    }
    setup::block_on(answer(args, base, prompt))
}

fn read_stdin() -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).context("could not read standard input")?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

async fn answer(args: ChatArgs, base: Base, prompt: String) -> anyhow::Result<i32> {
    let wanted = read_schema(&args)?;
    let (engine, mut streams) = setup::headless(&base);
    let services = engine.services().clone();
    if let Some(warning) = services.store.opened().await.warning {
        writeln!(io::stderr(), "hermes: {warning}").ok();
    }
    services.begin().await;
    let resume = setup::resumed(&args, &services.store, &base).await?.session()?;
    let mut spec = SessionSpec {
        answers: Answers::Nobody,
        origin: "print",
        forgets: args.no_save,
        instructions: wanted.as_ref().map(instructions).unwrap_or_default(),
        ..setup::spec(&args, &base, resume)?
    };
    services.settled().await;
    let mut session = engine.open(spec.clone());
    let mut report = Report::new(args.output);
    engine.order(&session, AgentCommand::Submit { text: prompt.clone(), images: Vec::new() });
    let mut signals = crate::term::Signals::new()?;
    let mut stopped = false;
    let mut corrections = 1;
    let end = loop {
        tokio::select! {
            Some(told) = streams.events.recv() => match told.event {
                Some(event) if told.session != session => {
                    let unread = report.child_event(&told.session, event).is_err();
                    unread.then(|| engine.order(&session, AgentCommand::Stop { force: true }));
                }
                // What it was told to go on with can't be had: the answer comes in a new one.
                Some(AgentEvent::NotOpened) => {
                    spec.opens = Opens::New;
                    session = engine.open(spec.clone());
                    engine.order(&session, AgentCommand::Submit { text: prompt.clone(), images: Vec::new() });
                }
                Some(AgentEvent::TurnFinished(outcome)) => {
                    let misfit = wanted.as_ref().filter(|_| outcome.end == TurnEnd::Completed).and_then(|s| report.misfit(s));
                    let Some(misfit) = misfit else { break Some(outcome) };
                    if corrections == 0 {
                        break Some(TurnOutcome { end: TurnEnd::Error(format!("the answer does not match the schema: {misfit}")), ..outcome });
                    }
                    corrections -= 1;
                    report.result.clear();
                    let text = format!("Your answer does not match the schema: {misfit}. Answer again with only the JSON value.");
                    engine.order(&session, AgentCommand::Submit { text, images: Vec::new() });
                }
                // A reader that has seen enough (`| head`) ends the answer, not the cleaning up.
                Some(event) => {
                    let unread = report.event(event).is_err();
                    unread.then(|| engine.order(&session, AgentCommand::Stop { force: true }));
                }
                None if told.session == session => break None,
                None => {}
            },
            Some(_) = streams.processes.recv() => {}
            _ = signals.next() => {
                engine.order(&session, AgentCommand::Stop { force: stopped });
                stopped = true;
            }
        }
    };
    engine.shutdown(&mut streams.events).await;
    // Nobody is there any more to see it settled.
    if let Some(trouble) = services.store.trouble() {
        writeln!(io::stderr(), "hermes: {trouble}").ok();
    }
    report.finish(end)
}

fn read_schema(args: &ChatArgs) -> anyhow::Result<Option<Value>> {
    let Some(file) = &args.json_schema else { return Ok(None) };
    let text = std::fs::read_to_string(file).with_context(|| format!("could not read {}", file.display()))?;
    serde_json::from_str(&text).map(Some).with_context(|| format!("{} is not a JSON Schema", file.display()))
}

fn instructions(schema: &Value) -> String {
    format!(
        "Your final answer must be one JSON value that matches this JSON Schema, without a code fence or other text:\n{schema}"
    )
}

/// Gathers the answer and prints as it goes.
struct Report {
    output: Output,
    session: String,
    /// Text of the answer since the last tool call.
    result: String,
    /// The last words, be they the answer or not.
    words: String,
    calls: Vec<Value>,
    denied: Vec<Value>,
    /// Arguments of calls by id.
    args: BTreeMap<String, Value>,
    usage: Value,
    files: Vec<String>,
    errors: Vec<String>,
    children: Offspring,
    /// Why the last try failed.
    last_retry: String,
}

impl Report {
    fn new(output: Output) -> Self {
        Self {
            output,
            session: String::new(),
            result: String::new(),
            words: String::new(),
            calls: Vec::new(),
            denied: Vec::new(),
            args: BTreeMap::new(),
            usage: json!({ "input": 0, "cached": 0, "output": 0, "cost": null }),
            files: Vec::new(),
            errors: Vec::new(),
            children: Offspring::default(),
            last_retry: String::new(),
        }
    }

    fn event(&mut self, event: AgentEvent) -> anyhow::Result<()> {
        match event {
            AgentEvent::SessionOpened { session, .. } => {
                self.session = session.id.0.clone();
                self.line(json!({ "type": "session", "session_id": session.id.0, "model": session.model, "cwd": session.cwd }))
            }
            AgentEvent::TextDelta(text) => self.line(json!({ "type": "text", "text": text })),
            AgentEvent::ReasoningDelta(text) => self.line(json!({ "type": "reasoning", "text": text })),
            AgentEvent::ToolStarted(start) => {
                let args = self.args.get(&start.call_id).cloned().unwrap_or(Value::Null);
                let mut line = json!({ "type": "tool_started", "id": start.call_id, "name": start.name, "args": args });
                if let Some(within) = start.within {
                    line["within"] = within.into();
                }
                self.line(line)
            }
            AgentEvent::InnerFinished { within, call } => {
                let mut line = json!(*call);
                line["within"] = within.into();
                self.line(line)
            }
            AgentEvent::ItemFinished(item) => self.item(item),
            AgentEvent::UsageChanged(meter) => {
                let t = meter.total;
                if t.input == 0 && t.output == 0 {
                    return Ok(());
                }
                let usage = children::usage(&t);
                // The meter also changes for the window's sake: the same sum twice would be counted twice.
                if usage == self.usage {
                    return Ok(());
                }
                self.usage = usage.clone();
                self.line(json!({ "type": "usage", "usage": usage }))
            }
            AgentEvent::OpenElsewhere { session, pid, .. } => {
                let text = format!("session {session} is open in another hermes (process {pid}); close it there first");
                writeln!(io::stderr(), "hermes: {text}").ok();
                self.errors.push(text);
                Ok(())
            }
            AgentEvent::Retrying { reason, attempt, of, until } => {
                // The same sentence three times says no more than once.
                let why = if self.last_retry == reason { "still failing" } else { reason.as_str() };
                writeln!(io::stderr(), "hermes: {why}; retrying, {attempt} of {of}").ok();
                self.last_retry.clone_from(&reason);
                self.line(json!({ "type": "retry", "reason": reason, "attempt": attempt, "of": of, "until": until }))
            }
            AgentEvent::Children { rows, .. } => {
                self.children.saw(rows).into_iter().try_for_each(|line| self.line(line))
            }
            AgentEvent::NotTaken(why) => {
                writeln!(io::stderr(), "hermes: {why}").ok();
                Ok(())
            }
            AgentEvent::Notice { level, text } => {
                if level != Level::Info {
                    writeln!(io::stderr(), "hermes: {text}").ok();
                }
                Ok(())
            }
            AgentEvent::SessionChanged(_)
            | AgentEvent::NotOpened
            | AgentEvent::TurnStarted { .. }
            | AgentEvent::StepStarted { .. }
            | AgentEvent::CallDelta { .. }
            | AgentEvent::StreamReset
            | AgentEvent::ToolProgress { .. }
            | AgentEvent::ToolProcess { .. }
            | AgentEvent::ApprovalRequested(_)
            | AgentEvent::ApprovalFound { .. }
            | AgentEvent::ApprovalClosed(_)
            | AgentEvent::Previewed { .. }
            | AgentEvent::Asked(_)
            | AgentEvent::QuestionClosed(_)
            | AgentEvent::Resumed(_)
            | AgentEvent::Rewound(_)
            | AgentEvent::RewindAsks { .. }
            | AgentEvent::Taken(_)
            | AgentEvent::PlanChanged(_)
            | AgentEvent::GoalChanged(_)
            | AgentEvent::Answered { .. }
            | AgentEvent::ChangedOutside(_)
            | AgentEvent::PolicyChanged(_)
            | AgentEvent::Waiting { .. }
            | AgentEvent::Compacting(_)
            | AgentEvent::Budget(_)
            | AgentEvent::SummaryRead { .. }
            | AgentEvent::ContextParts(_)
            | AgentEvent::RetryEnded
            | AgentEvent::Undelivered(_)
            | AgentEvent::TurnFinished(_) => Ok(()),
        }
    }

    /// What a child did counts as done here: files that changed, calls that were not let run.
    fn child_event(&mut self, session: &SessionId, event: AgentEvent) -> anyhow::Result<()> {
        let AgentEvent::ItemFinished(Item { body: Body::Tool(body), .. }) = event else { return Ok(()) };
        let Some(name) = self.children.name(session).map(str::to_owned) else { return Ok(()) };
        self.changed(&body);
        if body.outcome.is_blocked() {
            let result = crate::text::readable::readable(&body.content);
            let args = json!({ "target": body.view.target });
            self.blocked(Some(name), &body.name, args, body.outcome, &body.view, &result)?;
        }
        Ok(())
    }

    fn changed(&mut self, body: &ToolBody) {
        for diff in &body.view.diffs {
            if !self.files.contains(&diff.path) {
                self.files.push(diff.path.clone());
            }
        }
    }

    fn item(&mut self, item: Item) -> anyhow::Result<()> {
        match item.body {
            Body::Assistant(body) => self.assistant(body),
            Body::Tool(body) => return self.tool(body),
            Body::Note { kind: NoteKind::Hook, text } => return self.line(json!({ "type": "hook", "text": text })),
            // What ended the turn early.
            Body::Note { kind: NoteKind::Warning, text } => {
                writeln!(io::stderr(), "hermes: {text}").ok();
            }
            Body::Summary(summary) => {
                return self.line(json!({ "type": "compaction", "text": summary.line(), "summary": summary.text }));
            }
            Body::User { .. } | Body::Note { .. } => {}
        }
        Ok(())
    }

    fn assistant(&mut self, body: AssistantBody) {
        self.result.push_str(&body.text);
        if !body.text.trim().is_empty() {
            self.words.clone_from(&body.text);
        }
        for call in body.calls {
            let args = serde_json::from_str(&call.args).unwrap_or(Value::String(call.args));
            self.args.insert(call.id, args);
        }
    }

    fn tool(&mut self, body: ToolBody) -> anyhow::Result<()> {
        // Words before a tool call are not the answer.
        self.result.clear();
        let args = self.args.get(&body.call_id).cloned().unwrap_or(Value::Null);
        let status = body.outcome.word();
        self.changed(&body);
        let call = json!({
            "name": body.name, "args": args, "status": status,
            "exit_code": body.view.exit_code, "duration_ms": body.duration_ms,
        });
        for inner in body.inner.iter().filter(|inner| inner.outcome.is_blocked()) {
            let args = serde_json::from_str(&inner.args).unwrap_or_default();
            self.blocked(None, &inner.tool, args, inner.outcome, &inner.view, &inner.view.output)?;
        }
        if body.outcome.is_blocked() {
            let result = crate::text::readable::readable(&body.content);
            self.blocked(None, &body.name, args, body.outcome, &body.view, &result)?;
        }
        self.line(json!({ "type": "tool_finished", "id": body.call_id, "call": call, "result": body.content }))?;
        self.calls.push(call);
        Ok(())
    }

    /// A call that the gate did not let run, by the model, a script, or a child (`by`).
    fn blocked(
        &mut self,
        by: Option<String>,
        name: &str,
        args: Value,
        outcome: Outcome,
        view: &ToolView,
        result: &str,
    ) -> anyhow::Result<()> {
        // A hook says why in the result.
        let why = if view.approval.is_empty() { result } else { &view.approval };
        if self.output == Output::Text {
            let what = format!("{name} {}", crate::text::visible::visible(&view.target).text);
            let by = by.as_ref().map(|by| format!("{by}: ")).unwrap_or_default();
            writeln!(io::stderr(), "hermes: {by}{} did not run: {why}", what.trim_end()).ok();
        }
        let mut refusal = json!({ "name": name, "args": args, "why": why });
        if let Some(by) = by {
            refusal["by"] = by.into();
        }
        self.line(json!({ "type": "approval", "verdict": outcome.word(), "call": refusal }))?;
        self.denied.push(refusal);
        Ok(())
    }

    /// What of the answer does not fit the schema. An answer that fits is reduced to its JSON.
    fn misfit(&mut self, wanted: &Value) -> Option<String> {
        match schema::value_of(&self.result) {
            Ok(value) => {
                let misfit = schema::misfit(&value, wanted, "");
                if misfit.is_none() {
                    self.result = value.to_string();
                }
                misfit
            }
            Err(why) => Some(why),
        }
    }

    /// One line of `stream-json`.
    fn line(&self, value: Value) -> anyhow::Result<()> {
        if self.output == Output::StreamJson {
            let mut out = io::stdout().lock();
            writeln!(out, "{value}")?;
            out.flush()?;
        }
        Ok(())
    }

    fn finish(mut self, end: Option<TurnOutcome>) -> anyhow::Result<i32> {
        let steps = end.as_ref().map_or(0, |outcome| outcome.steps);
        let end = end.map_or_else(
            || TurnEnd::Error("the agent stopped unexpectedly; see the log".into()),
            |outcome| outcome.end,
        );
        let (reason, code) = match &end {
            TurnEnd::Completed if self.denied.is_empty() => ("completed", exit::COMPLETED),
            TurnEnd::Completed => ("denied", exit::DENIED),
            TurnEnd::Limit => ("limit", exit::LIMIT),
            TurnEnd::Provider(_) => ("provider_error", exit::PROVIDER),
            TurnEnd::Error(_) => ("error", exit::ERROR),
            TurnEnd::Stopped => ("stopped", exit::STOPPED),
        };
        if let TurnEnd::Provider(text) | TurnEnd::Error(text) = &end {
            self.errors.push(text.clone());
        }
        for text in &self.errors {
            writeln!(io::stderr(), "hermes: {text}").ok();
        }
        // Work that a limit cut off has no answer yet: what was said last is better than nothing.
        if self.result.is_empty() && end == TurnEnd::Limit {
            self.result = std::mem::take(&mut self.words);
        }
        // A script that reads only the envelope learns why, too.
        if self.result.is_empty() && self.output != Output::Text {
            self.result = self.errors.join("; ");
        }
        let mut envelope = json!({
            "version": 1,
            "session_id": self.session,
            "result": self.result,
            "termination_reason": reason,
            "steps": steps,
            "tool_calls": self.calls,
            "denied": self.denied,
            "usage": self.usage,
            "files_changed": self.files,
        });
        let children = self.children.report();
        if !children.is_empty() {
            envelope["children"] = children.into();
        }
        let mut out = io::stdout().lock();
        match self.output {
            Output::Text => {
                if !self.result.is_empty() {
                    writeln!(out, "{}", self.result.trim_end())?;
                }
            }
            Output::Json => writeln!(out, "{envelope}")?,
            Output::StreamJson => {
                let mut last = json!({ "type": "result" });
                if let (Some(last), Value::Object(fields)) = (last.as_object_mut(), envelope) {
                    last.extend(fields);
                }
                writeln!(out, "{last}")?;
            }
        }
        out.flush()?;
        Ok(code)
    }
}

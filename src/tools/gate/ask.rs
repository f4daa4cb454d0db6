//! The question of a call: what the rules say, what a person answers, and what the answer means.

use super::guard::Weighed;
use super::{Gate, Ready, STOPPED, folder, look};
use crate::llm::message::{Outcome, ToolCall};
use crate::policy::{Approval, ApprovalId, Decision, Grant, Intent, Scope, Verdict, Why, proposals};
use crate::text::readable::readable;
use crate::tools::spec::{ToolCtx, ToolSpec};
use crate::tools::tool_call;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// What became of the question.
enum Pass {
    /// Run it; how it was approved, in words, when a person was asked.
    Go(String),
    /// Run this line instead.
    Edited(String),
    /// Do not run it.
    No { outcome: Outcome, why: String },
}

/// Time to count what a command would touch before the modal opens.
const TARGET_BUDGET: Duration = Duration::from_millis(200);

impl Gate {
    /// The call that may run, and how it was approved; or the outcome and why not.
    pub(super) async fn passed(
        &self,
        call: &ToolCall,
        spec: &ToolSpec,
        ready: Ready,
        ctx: &ToolCtx,
    ) -> Result<(Ready, String), (Outcome, String)> {
        let intent = ready.run.intent().clone();
        match self.pass(call, spec, intent, ready.ask.as_deref(), ctx, &[]).await {
            Pass::Go(note) => Ok((ready, note)),
            Pass::No { outcome, why } => Err((outcome, why)),
            Pass::Edited(line) => {
                // What a hook asked about was answered by the edit.
                let stopped = || (Outcome::Interrupted, STOPPED.to_owned());
                let world = self.place(ready.run.intent(), ctx).await.ok_or_else(stopped)?;
                let seen = self.judge(ready.run.intent(), &folder(ctx), &world, &ctx.cancel).await;
                let seen = seen.ok_or_else(stopped)?;
                let known: Vec<String> = effects(&seen.verdict);
                // The command stands in the arguments of the tool itself, not in those of a call around it.
                let inner = tool_call::unwrap(&call.name, &call.args).map(|(_, args)| args);
                let args = with_command(inner.as_deref().unwrap_or(&call.args), &line);
                let planned = self.plan(&spec.name, &args, ctx).await.ok_or_else(stopped)?;
                let run = planned.call.map_err(|output| (output.outcome, readable(&output.content)))?;
                let edited = Ready { run, args: planned.args, ask: None, edited: Some(line.clone()) };
                match self.pass(call, spec, edited.run.intent().clone(), None, ctx, &known).await {
                    Pass::Go(_) => Ok((edited, format!("edited by the user before it ran: {line}"))),
                    Pass::No { outcome, why } => Err((outcome, why)),
                    Pass::Edited(_) => Err((Outcome::Denied, "edited twice; ask again with the whole command".into())),
                }
            }
        }
    }

    /// Judges one intent and asks if need be. Effects in `known` were seen by the person already.
    async fn pass(
        &self,
        call: &ToolCall,
        spec: &ToolSpec,
        intent: Intent,
        ask: Option<&str>,
        ctx: &ToolCtx,
        known: &[String],
    ) -> Pass {
        let cwd = folder(ctx);
        let stopped = || Pass::No { outcome: Outcome::Interrupted, why: STOPPED.into() };
        let Some(world) = self.place(&intent, ctx).await else { return stopped() };
        if let Some(why) = self.masked(&intent, ctx) {
            return Pass::No { outcome: Outcome::Failed, why };
        }
        let Some(judged) = self.judge(&intent, &cwd, &world, &ctx.cancel).await else { return stopped() };
        let mut judged = self.leaking(judged, &intent, ctx);
        let verdict = match (judged.verdict.clone(), ask) {
            (Verdict::Allow(_), Some(reason)) => {
                Verdict::AskAlways(vec![Why { effect: "asked by a hook".into(), text: reason.to_owned(), span: 0..0 }])
            }
            (verdict, _) => verdict,
        };
        match &verdict {
            Verdict::Allow(_) => return Pass::Go(String::new()),
            Verdict::Refuse(why) => return Pass::No { outcome: Outcome::Refused, why: refused(why) },
            Verdict::DeniedByRule(why) => {
                return Pass::No {
                    outcome: Outcome::Denied,
                    why: format!(
                        "denied by a rule of the user: {}. Do not try to reach the same in another way",
                        why.text
                    ),
                };
            }
            Verdict::Ask(_) | Verdict::AskAlways(_) => {}
        }
        let classes = effects(&verdict);
        if !known.is_empty() && classes.iter().all(|class| known.contains(class)) {
            return Pass::Go("edited".into());
        }
        let mut shown = verdict.clone();
        match self.weigh(&mut judged, ctx).await {
            Weighed::Pass(note) => return Pass::Go(note),
            Weighed::Ask(None) => {}
            Weighed::Ask(Some(why)) | Weighed::Warned(why) => shown = with_reason(shown, why),
        }
        let targets = look::targets(&intent, &verdict, &cwd, &world, TARGET_BUDGET).await;
        let proposals = if judged.once { Vec::new() } else { proposals::offered(&intent, &verdict) };
        let approval = Approval {
            id: ApprovalId(self.next_approval.fetch_add(1, Ordering::Relaxed)),
            call_id: call.id.clone(),
            tool: spec.name.to_string(),
            intent,
            verdict: shown,
            targets,
            proposals,
            asker: self.asker.asker(),
            asked_at: self.asker.now(),
        };
        let decision = self.asker.ask(approval, ctx.cancel.clone()).await;
        self.settle(decision, &verdict, !judged.once).await
    }

    /// What an answer means.
    async fn settle(&self, decision: Decision, verdict: &Verdict, may_last: bool) -> Pass {
        let denied = |why: String| Pass::No { outcome: Outcome::Denied, why };
        let may_widen = may_last && matches!(verdict, Verdict::Ask(_));
        match decision {
            Decision::Once => Pass::Go("allowed once by the user".into()),
            Decision::Grant(_) if !may_widen => Pass::Go("allowed once by the user".into()),
            Decision::Grant(Grant { scope: Scope::Session, entries, .. }) => {
                self.grant(&entries);
                Pass::Go(format!("allowed for this session by the user: {}", entries.join(", ")))
            }
            Decision::Grant(Grant { entries, .. }) => {
                self.rules.lock().unwrap_or_else(PoisonError::into_inner).allowlist.extend(entries.iter().cloned());
                let (asker, kept) = (Arc::clone(&self.asker), entries.clone());
                let remembered = tokio::task::spawn_blocking(move || asker.remember(&kept)).await;
                match remembered.unwrap_or_else(|error| Err(format!("it was not kept: {error}"))) {
                    Ok(()) => Pass::Go(format!("always allowed by the user: {}", entries.join(", "))),
                    Err(problem) => Pass::Go(format!("allowed for this session by the user ({problem})")),
                }
            }
            Decision::Edited(line) => Pass::Edited(line),
            Decision::Deny { feedback } if feedback.trim().is_empty() => denied(
                "the user denied this call. Do not repeat it, rephrase it or reach the same in another way; ask how to go on".into(),
            ),
            Decision::Deny { feedback } => denied(format!("the user denied this call and says: {feedback}")),
            Decision::TimedOut => denied("not run: nobody answered in time. Go on without it, or say what the user should run".into()),
            Decision::Interrupted => {
                Pass::No { outcome: Outcome::Interrupted, why: "not run: the user stopped the turn before answering".into() }
            }
            Decision::NoOne => denied(format!(
                "not run: it needs the approval of a person ({}) and nobody can be asked here. Go on without it, or say what the user should run",
                effects(verdict).join(", ")
            )),
        }
    }

    fn grant(&self, classes: &[String]) {
        let mut rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        for class in classes {
            if !rules.session.contains(class) {
                rules.session.push(class.clone());
            }
        }
        drop(rules);
        self.asker.granted(classes);
    }
}

/// The question with one more reason.
fn with_reason(verdict: Verdict, reason: Why) -> Verdict {
    match verdict {
        Verdict::Ask(mut why) => {
            why.push(reason);
            Verdict::Ask(why)
        }
        other => other,
    }
}

/// The arguments with another command; anything that is no object becomes one.
pub(super) fn with_command(args: &str, line: &str) -> String {
    let mut fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(args).unwrap_or_default();
    fields.insert("command".into(), serde_json::Value::String(line.to_owned()));
    serde_json::Value::Object(fields).to_string()
}

fn effects(verdict: &Verdict) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for why in verdict.reasons() {
        if !found.contains(&why.effect) {
            found.push(why.effect.clone());
        }
    }
    found
}

pub(super) fn refused(why: &[Why]) -> String {
    let reasons: Vec<&str> = why.iter().map(|w| w.text.as_str()).collect();
    format!(
        "refused in every mode: {}. Tell the user what you wanted to reach; do not try another way",
        reasons.join("; ")
    )
}

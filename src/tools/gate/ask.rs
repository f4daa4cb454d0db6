//! The question of a call: what the rules say, what a person answers, and what the answer means.

use super::guard::{Judged, Weighed};
use super::seen::Seen;
use super::{Gate, Ready, STOPPED, folder, look, question};
use crate::config::InContainers;
use crate::llm::message::{Outcome, ToolCall};
use crate::policy::place::relaxed;
use crate::policy::rule::EXACTLY;
use crate::policy::{
    Approval, ApprovalId, Decision, Grant, Intent, Mode, Proposal, Scope, Verdict, Why, Width, World, proposals,
};
use crate::store::audit::By;
use crate::text::readable::readable;
use crate::tools::spec::{ToolCtx, ToolSpec};
use crate::tools::tool_call;
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// What became of the question.
enum Pass {
    /// Run it; how it was approved, in words, when a person was asked.
    Go { note: String, by: By },
    /// Run this line instead; how it was judged when the person confirmed it.
    Edited { line: String, shown: Option<Seen> },
    /// Do not run it.
    No { outcome: Outcome, why: String, by: By },
}

/// A pass, and the verdict that led to it; `None` when the turn was stopped before there was one.
type Passed = (Pass, Option<Judged>);

/// What became of one look at a call.
enum Round {
    Over(Pass),
    /// The person let it run: what they saw, and what they said. It counts when it is still so.
    Allowed(Seen, Decision),
}

/// What the person has seen of a call before it is judged.
#[derive(Default)]
struct Known {
    /// Effects of the line that another stands in for.
    effects: Vec<String>,
    /// The confirmed line, as it was shown.
    shown: Option<Seen>,
}

/// Commands of the past that an answer is compared with, and the time for it.
const PAST: usize = 500;
const PAST_BUDGET: Duration = Duration::from_millis(20);

impl Gate {
    /// The call that may run, how it was approved, and whether the audit log has it; or the outcome and why not.
    pub(super) async fn passed(
        &self,
        call: &ToolCall,
        spec: &ToolSpec,
        ready: Ready,
        ctx: &ToolCtx,
    ) -> Result<(Ready, String, bool), (Outcome, String)> {
        let intent = ready.run.intent().clone();
        let (pass, seen) = self.pass(call, spec, intent.clone(), ready.ask.as_deref(), ctx, Known::default()).await;
        match pass {
            Pass::Go { note, by } => {
                let logged = self.judged(call, &spec.name, &intent, seen.as_ref(), by, None, ctx);
                Ok((ready, note, logged))
            }
            Pass::No { outcome, why, by } => {
                self.judged(call, &spec.name, &intent, seen.as_ref(), by, Some(outcome), ctx);
                Err((outcome, why))
            }
            Pass::Edited { line, shown } => {
                // What a hook asked about was answered by the edit.
                let effects = seen.map(|seen| effects(&seen.verdict)).unwrap_or_default();
                let known = Known { effects, shown };
                // The command stands in the arguments of the tool itself, not in those of a call around it.
                let inner = tool_call::unwrap(&call.name, &call.args).map(|(_, args)| args);
                let args = with_command(inner.as_deref().unwrap_or(&call.args), &line);
                let stopped = || (Outcome::Interrupted, STOPPED.to_owned());
                let planned = self.plan(&spec.name, &args, ctx).await.ok_or_else(stopped)?;
                let run = planned.call.map_err(|output| (output.outcome, readable(&output.content)))?;
                let edited = Ready { run, args: planned.args, ask: None, edited: Some(line.clone()) };
                let intent = edited.run.intent().clone();
                let (pass, seen) = self.pass(call, spec, intent.clone(), None, ctx, known).await;
                match pass {
                    Pass::Go { .. } => {
                        let by = By::Person("edited before it ran".into());
                        let logged = self.judged(call, &spec.name, &intent, seen.as_ref(), by, None, ctx);
                        Ok((edited, format!("edited by the user before it ran: {line}"), logged))
                    }
                    Pass::No { outcome, why, by } => {
                        self.judged(call, &spec.name, &intent, seen.as_ref(), by, Some(outcome), ctx);
                        Err((outcome, why))
                    }
                    Pass::Edited { .. } => {
                        Err((Outcome::Denied, "edited twice; ask again with the whole command".into()))
                    }
                }
            }
        }
    }

    /// Judges one intent, asks if need be, and looks again after the answer: what has changed meanwhile is asked anew.
    async fn pass(
        &self,
        call: &ToolCall,
        spec: &ToolSpec,
        intent: Intent,
        ask: Option<&str>,
        ctx: &ToolCtx,
        known: Known,
    ) -> Passed {
        let cwd = folder(ctx);
        let stopped = || Pass::No { outcome: Outcome::Interrupted, why: STOPPED.into(), by: By::Nobody };
        // What was shown, and the answer to it.
        let mut allowed = known.shown.map(|shown| (shown, Decision::Once));
        loop {
            let Some(world) = self.place(&intent, ctx).await else { return (stopped(), None) };
            if let Some(why) = self.masked(&intent, ctx) {
                return (Pass::No { outcome: Outcome::Failed, why, by: By::Policy }, None);
            }
            let judged = self.judge(&spec.name, &intent, &cwd, &world, &ctx.cancel).await;
            let Some(judged) = judged else { return (stopped(), None) };
            let mut seen = self.leaking(judged, &intent, ctx);
            if ctx.config.approvals.containers == InContainers::Relax && ctx.places.is_isolated() {
                seen.verdict = relaxed(seen.verdict, &intent);
            }
            if let (Verdict::Allow(_), Some(reason)) = (&seen.verdict, ask) {
                let why = Why { effect: "asked by a hook".into(), text: reason.to_owned(), span: 0..0 };
                seen.verdict = Verdict::AskAlways(vec![why]);
            }
            let mut changed = Vec::new();
            if let Some((shown, decision)) = allowed.take()
                && !matches!(seen.verdict, Verdict::Refuse(_) | Verdict::DeniedByRule(_))
            {
                let mut now = Seen { verdict: seen.verdict.clone(), places: None };
                if shown.places.is_some() {
                    now.places = look::places(&intent, &seen.verdict, &cwd, &world, &ctx.cancel).await;
                }
                if ctx.cancel.is_cancelled() {
                    return (stopped(), Some(seen));
                }
                changed = shown.differences(&now);
                if changed.is_empty() {
                    let pass = self.settle(decision, &shown.verdict, &intent, !seen.once, ctx).await;
                    return (pass, Some(seen));
                }
            }
            match self.round(call, spec, &intent, &mut seen, &known.effects, changed, &cwd, &world, ctx).await {
                Round::Over(pass) => return (pass, Some(seen)),
                Round::Allowed(shown, decision) => allowed = Some((shown, decision)),
            }
        }
    }

    /// What the rules say, or else a person.
    #[expect(clippy::too_many_arguments, reason = "all of one question")]
    async fn round(
        &self,
        call: &ToolCall,
        spec: &ToolSpec,
        intent: &Intent,
        seen: &mut Judged,
        known: &[String],
        changed: Vec<String>,
        cwd: &Path,
        world: &Arc<dyn World>,
        ctx: &ToolCtx,
    ) -> Round {
        let no = |outcome, why, by| Round::Over(Pass::No { outcome, why, by });
        match &seen.verdict {
            Verdict::Allow(_) => {
                let by = match (seen.unasked, seen.rules.is_empty()) {
                    (true, _) => By::Yolo,
                    (false, true) => By::Policy,
                    (false, false) => By::Rule(seen.rules.clone()),
                };
                return Round::Over(Pass::Go { note: String::new(), by });
            }
            Verdict::Refuse(why) => return no(Outcome::Refused, refused(why), By::Policy),
            Verdict::DeniedByRule(why) => {
                let why =
                    format!("denied by a rule of the user: {}. Do not try to reach the same in another way", why.text);
                return no(Outcome::Denied, why, By::Rule(seen.rules.clone()));
            }
            Verdict::Ask(_) | Verdict::AskAlways(_) => {}
        }
        let classes = effects(&seen.verdict);
        if !known.is_empty() && changed.is_empty() && classes.iter().all(|class| known.contains(class)) {
            let by = By::Person("edited before it ran".into());
            return Round::Over(Pass::Go { note: "edited".into(), by });
        }
        if let Some(said) = self.denied(intent) {
            return no(Outcome::Denied, said, By::Person("denied before".into()));
        }
        let mut told = seen.verdict.clone();
        // What a person was asked about once is theirs alone.
        if changed.is_empty() {
            match self.weigh(seen, ctx).await {
                Weighed::Pass(note) => return Round::Over(Pass::Go { note, by: By::Smart }),
                Weighed::Ask(None) => {}
                Weighed::Ask(Some(why)) | Weighed::Warned(why) => told = with_reason(told, why),
            }
        }
        let offers = async {
            match seen.once {
                true => Vec::new(),
                false => self.offers(&spec.name, intent, &seen.verdict, cwd, world).await,
            }
        };
        let (found, proposals) = tokio::join!(look::found(intent, &seen.verdict, cwd, world), offers);
        let shown = Seen { verdict: seen.verdict.clone(), places: found.places };
        let approval = Approval {
            id: ApprovalId(self.asker.number()),
            call_id: call.id.clone(),
            tool: spec.name.to_string(),
            intent: intent.clone(),
            verdict: told,
            targets: found.targets,
            payloads: found.payloads,
            proposals,
            origin: self.asker.origin(),
            changed,
            kept: question::kept(intent, ctx),
            asked_at: self.asker.now(),
        };
        let (decision, preview) = self.put(approval, ctx).await;
        match decision {
            Decision::Once | Decision::Grant(_) => Round::Allowed(shown, decision),
            Decision::Edited(line) => Round::Over(Pass::Edited { line, shown: preview }),
            Decision::Deny { .. } | Decision::TimedOut | Decision::Interrupted | Decision::NoOne => {
                Round::Over(self.settle(decision, &seen.verdict, intent, !seen.once, ctx).await)
            }
        }
    }

    /// The lasting answers on offer, with what they would have answered in the past where that is known in time.
    async fn offers(
        &self,
        tool: &str,
        intent: &Intent,
        verdict: &Verdict,
        cwd: &Path,
        world: &Arc<dyn World>,
    ) -> Vec<Proposal> {
        let past = async {
            let store = self.log.as_ref()?;
            let read = tokio::time::timeout(PAST_BUDGET, store.audit_commands(PAST)).await;
            let rows = read.ok()?.ok()?;
            Some(rows.into_iter().map(|row| proposals::Seen { line: row.line, cwd: row.cwd }).collect::<Vec<_>>())
        };
        let seen = if matches!(verdict, Verdict::Ask(_)) { past.await.unwrap_or_default() } else { Vec::new() };
        let rules = self.rules_for(tool);
        let (intent, verdict) = (intent.clone(), verdict.clone());
        let plain = proposals::offered(&intent, &verdict);
        let (cwd, world) = (cwd.to_owned(), Arc::clone(world));
        let work = move || {
            let mut offered = proposals::offered_in(&intent, &verdict, &cwd, &rules, &*world);
            if let Intent::Command { line, .. } = &intent {
                let deadline = Instant::now() + PAST_BUDGET;
                proposals::tell_past(&mut offered, line, &seen, &*world, || Instant::now() >= deadline);
            }
            offered
        };
        // A disk that hangs leaves what needs no look at it.
        match tokio::time::timeout(look::BUDGET, tokio::task::spawn_blocking(work)).await {
            Ok(Ok(offered)) => offered,
            Ok(Err(_)) | Err(_) => plain,
        }
    }

    /// What an answer means.
    async fn settle(
        &self,
        decision: Decision,
        verdict: &Verdict,
        intent: &Intent,
        may_last: bool,
        ctx: &ToolCtx,
    ) -> Pass {
        if let Decision::Deny { feedback } = &decision {
            self.denials.lock().unwrap_or_else(PoisonError::into_inner).keep(intent, feedback);
        }
        let no = |outcome, why: String, by| Pass::No { outcome, why, by };
        let denied = |why: String, by| no(Outcome::Denied, why, by);
        let go = |note: String| {
            let by = By::Person(note.replace(" by the user", ""));
            Pass::Go { note, by }
        };
        let person = |word: &str| By::Person(word.to_owned());
        let may_widen = may_last && matches!(verdict, Verdict::Ask(_));
        match decision {
            // The answer was to ask no more, and this call is the first of them.
            Decision::Once if may_widen && self.mode() == Mode::Off => go("allowed by the user: yolo".into()),
            Decision::Once => go("allowed once by the user".into()),
            Decision::Grant(_) if !may_widen => go("allowed once by the user".into()),
            Decision::Grant(grant) => go(self.widen(grant, ctx).await),
            Decision::Edited(line) => Pass::Edited { line, shown: None },
            Decision::Deny { feedback } if feedback.trim().is_empty() => denied(
                "the user denied this call. Do not repeat it, rephrase it or reach the same in another way; ask how to go on".into(),
                person("denied"),
            ),
            Decision::Deny { feedback } => {
                denied(format!("the user denied this call and says: {feedback}"), person("denied"))
            }
            Decision::TimedOut => no(
                Outcome::TimedOut,
                "not run: nobody answered in time. Go on without it, or say what the user should run".into(),
                By::Nobody,
            ),
            Decision::Interrupted => {
                let why = "not run: the user stopped the turn before answering".into();
                no(Outcome::Interrupted, why, person("stopped the turn"))
            }
            Decision::NoOne => no(
                Outcome::NoOne,
                format!(
                    "not run: it needs the approval of a person ({}) and nobody can be asked here. Go on without it, or say what the user should run",
                    effects(verdict).join(", ")
                ),
                By::Nobody,
            ),
        }
    }

    /// Makes an answer last; how far it reaches, in words.
    async fn widen(&self, grant: Grant, ctx: &ToolCtx) -> String {
        let said = grant.entries.join(", ");
        if grant.scope == Scope::Session {
            self.grant(&grant.entries);
            self.made(&grant, ctx);
            return format!("allowed for this session by the user: {}", said.trim_start_matches(EXACTLY));
        }
        let (asker, kept) = (Arc::clone(&self.asker), grant.clone());
        let remembered = tokio::task::spawn_blocking(move || asker.remember(&kept)).await;
        match remembered.unwrap_or_else(|error| Err(format!("it was not kept: {error}"))) {
            Ok(()) => {
                proposals::with(&mut self.rules.lock().unwrap_or_else(PoisonError::into_inner), &grant);
                self.made(&grant, ctx);
                let place = if grant.scope == Scope::Project { " in this project" } else { "" };
                format!("always allowed{place} by the user: {said}")
            }
            Err(problem) => {
                let exact = |line: &String| format!("{EXACTLY}{line}");
                let entries = match grant.width {
                    Width::Command => grant.entries.iter().map(exact).collect(),
                    Width::Words | Width::Effects | Width::Server => grant.entries.clone(),
                };
                let grant = Grant { scope: Scope::Session, entries, ..grant };
                self.grant(&grant.entries);
                self.made(&grant, ctx);
                format!("allowed for this session by the user ({problem})")
            }
        }
    }

    fn grant(&self, entries: &[String]) {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner).grant(entries);
        self.asker.granted(entries);
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

//! The question of a call: what the rules say, what a person answers, and what the answer means.

use super::guard::{Judged, Weighed};
use super::place::Site;
use super::question::Put;
use super::seen::Seen;
use super::{Gate, Ready, STOPPED, look, question};
use crate::config::InContainers;
use crate::lock::lock;
use crate::policy::place::relaxed;
use crate::policy::rule::said;
use crate::policy::{Approval, ApprovalId, Decision, Grant, Intent, Mode, Scope, Verdict, Why, proposals};
use crate::protocol::{Outcome, ToolCall};
use crate::store::audit::By;
use crate::text::readable::readable;
use crate::tools::spec::{ToolCtx, ToolSpec};
use crate::tools::tool_call;
use std::sync::Arc;

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
    /// It was let run: what was seen then, and by whose word. That counts when it is still so.
    Allowed(Seen, Consent),
    /// It is not as it was when this was shown, and nobody has answered yet.
    Stale(Seen),
}

/// Whose word lets a call run.
enum Consent {
    Person(Decision),
    /// The auxiliary model's, as a note.
    Smart(String),
}

/// A call that is judged: all that one decision is about.
pub(super) struct Case<'a> {
    pub call: &'a ToolCall,
    pub tool: &'a str,
    pub intent: Intent,
    pub ctx: &'a ToolCtx,
}

/// What the person has seen of a call before it is judged.
#[derive(Default)]
struct Known {
    /// Effects of the line that another stands in for.
    effects: Vec<String>,
    /// The confirmed line, as it was shown.
    shown: Option<Seen>,
}

impl Gate {
    /// The call that may run, how it was approved, and whether the audit log has it; or the outcome and why not.
    pub(super) async fn passed(
        &self,
        call: &ToolCall,
        spec: &ToolSpec,
        ready: Ready,
        ctx: &ToolCtx,
    ) -> Result<(Ready, String, bool), (Outcome, String)> {
        let case = Case { call, tool: &spec.name, intent: ready.run.intent().clone(), ctx };
        let (pass, seen) = self.pass(&case, ready.ask.as_deref(), Known::default()).await;
        match pass {
            Pass::Go { note, by } => {
                let logged = self.judged(&case, seen.as_ref(), by, None);
                Ok((ready, note, logged))
            }
            Pass::No { outcome, why, by } => {
                self.judged(&case, seen.as_ref(), by, Some((outcome, &why)));
                Err((outcome, why))
            }
            Pass::Edited { line, shown } => {
                // What a hook asked about was answered by the edit.
                let effects = seen.map(|seen| effects(&seen.verdict)).unwrap_or_default();
                self.passed_edited(&case, line, Known { effects, shown }).await
            }
        }
    }

    /// As [`Self::passed`], for the line that a person wrote in place of the model's.
    async fn passed_edited(
        &self,
        first: &Case<'_>,
        line: String,
        known: Known,
    ) -> Result<(Ready, String, bool), (Outcome, String)> {
        let Case { call, tool, ctx, .. } = *first;
        // The command stands in the arguments of the tool itself, not in those of a call around it.
        let inner = tool_call::unwrap(&call.name, &call.args).map(|(_, args)| args);
        let args = with_command(inner.as_deref().unwrap_or(&call.args), &line);
        let stopped = || (Outcome::Interrupted, STOPPED.to_owned());
        let planned = self.plan(tool, &args, ctx).await.ok_or_else(stopped)?;
        let run = planned.call.map_err(|output| (output.outcome, readable(&output.content)))?;
        let edited = Ready { run, args: planned.args, ask: None, edited: Some(line.clone()) };
        let case = Case { call, tool, intent: edited.run.intent().clone(), ctx };
        let (pass, seen) = self.pass(&case, None, known).await;
        match pass {
            Pass::Go { .. } => {
                let by = By::Person("edited before it ran".into());
                let logged = self.judged(&case, seen.as_ref(), by, None);
                Ok((edited, format!("edited by the user before it ran: {line}"), logged))
            }
            Pass::No { outcome, why, by } => {
                self.judged(&case, seen.as_ref(), by, Some((outcome, &why)));
                Err((outcome, why))
            }
            Pass::Edited { .. } => Err((Outcome::Denied, "edited twice; ask again with the whole command".into())),
        }
    }

    /// Judges one intent, asks if need be, and looks again after the answer, whoever gave it: what has changed meanwhile is
    /// asked anew.
    async fn pass(&self, case: &Case<'_>, ask: Option<&str>, known: Known) -> Passed {
        let (intent, ctx) = (&case.intent, case.ctx);
        let stopped = || Pass::No { outcome: Outcome::Interrupted, why: STOPPED.into(), by: By::Nobody };
        // What was shown, and the answer to it; without one, where it was taken back unanswered.
        let mut shown = known.shown.map(|shown| (shown, Some(Consent::Person(Decision::Once))));
        loop {
            let (mut seen, site) = match self.look(case, ask).await {
                Some(Ok(looked)) => looked,
                Some(Err(why)) => return (Pass::No { outcome: Outcome::Failed, why, by: By::Policy }, None),
                None => return (stopped(), None),
            };
            let mut changed = Vec::new();
            let again = shown.is_some();
            if let Some((shown, consent)) = shown.take()
                && !is_no(&seen.verdict)
            {
                changed = shown.changed(intent, &seen.verdict, &site, ctx).await;
                if ctx.cancel.is_cancelled() {
                    return (stopped(), Some(seen));
                }
                if let Some(consent) = consent.filter(|_| changed.is_empty()) {
                    let pass = match consent {
                        Consent::Person(decision) => self.settle(case, decision, &shown.verdict, !seen.once).await,
                        Consent::Smart(note) => Pass::Go { note, by: By::Smart },
                    };
                    return (pass, Some(seen));
                }
            }
            match self.round(case, &mut seen, &known.effects, changed, &site, ask).await {
                Round::Over(pass) if again => return (self.now(pass, intent), Some(seen)),
                Round::Over(pass) => return (pass, Some(seen)),
                Round::Allowed(seen, consent) => shown = Some((seen, Some(consent))),
                Round::Stale(seen) => shown = Some((seen, None)),
            }
        }
    }

    /// Judges a call as it is now, where it would run; an error says why it cannot run, `None` that the turn was stopped
    /// first.
    pub(super) async fn look(&self, case: &Case<'_>, ask: Option<&str>) -> Option<Result<(Judged, Site), String>> {
        let (intent, ctx) = (&case.intent, case.ctx);
        let site = self.place(intent, ctx).await?;
        if let Some(why) = self.masked(intent, ctx) {
            return Some(Err(why));
        }
        let judged = self.judge(case.tool, intent, &site, &ctx.cancel).await?;
        let mut seen = self.beyond_sandbox(self.leaking(judged, intent, ctx), intent, ctx);
        if ctx.config.approvals.containers == InContainers::Relax && ctx.backends.is_isolated() {
            seen.verdict = relaxed(seen.verdict, intent);
        }
        if let (Verdict::Allow(_), Some(reason)) = (&seen.verdict, ask) {
            let why = Why { effect: "asked by a hook".into(), text: reason.to_owned(), span: 0..0 };
            seen.verdict = Verdict::AskAlways(vec![why]);
        }
        Some(Ok((seen, site)))
    }

    /// What became of a question by itself, told to the person and to the model.
    fn now(&self, pass: Pass, intent: &Intent) -> Pass {
        let what = match intent {
            Intent::Command { line, .. } => line.split_whitespace().collect::<Vec<_>>().join(" "),
            Intent::Read(_) | Intent::Edit(_) | Intent::Input { .. } | Intent::Remote { .. } | Intent::Talk => {
                "the call that was asked about".to_owned()
            }
        };
        match pass {
            Pass::Go { note, by } if note.is_empty() => {
                let note = format!("now allowed, {}", by.words());
                self.asker.tell(format!("{note}: {what}"));
                Pass::Go { note, by }
            }
            Pass::No { outcome, why, by: by @ (By::Policy | By::Rule(_)) } => {
                let why = format!("now {why}");
                self.asker.tell(format!("{why}: {what}"));
                Pass::No { outcome, why, by }
            }
            other => other,
        }
    }

    /// What the rules say, or else the auxiliary model, or else a person.
    async fn round(
        &self,
        case: &Case<'_>,
        seen: &mut Judged,
        known: &[String],
        changed: Vec<String>,
        site: &Site,
        ask: Option<&str>,
    ) -> Round {
        if let Some(pass) = self.ruled(case, seen, known, &changed) {
            return Round::Over(pass);
        }
        let mut told = seen.verdict.clone();
        // What somebody was asked about once is a person's alone.
        if changed.is_empty() {
            // Where its paths lead before the model hears of it: what it answers holds for these.
            let backends = match seen.is_for_the_model() {
                true => look::backends(&case.intent, &seen.verdict, site, &case.ctx.cancel).await,
                false => None,
            };
            match self.weigh(seen, case.ctx).await {
                Weighed::Pass(note) => {
                    return Round::Allowed(Seen { verdict: seen.verdict.clone(), backends }, Consent::Smart(note));
                }
                Weighed::Ask(None) => {}
                Weighed::Ask(Some(why)) | Weighed::Warned(why) => told = with_reason(told, why),
            }
        }
        let offers = async {
            match seen.once {
                true => Vec::new(),
                false => self.offers(case, &seen.verdict, site).await,
            }
        };
        let ((found, late), proposals) = tokio::join!(look::found(&case.intent, &seen.verdict, site), offers);
        let mut shown = Seen { verdict: seen.verdict.clone(), backends: found.backends };
        let approval = Approval {
            id: ApprovalId(self.asker.number()),
            call_id: case.call.id.clone(),
            tool: case.tool.to_owned(),
            intent: case.intent.clone(),
            verdict: told,
            targets: found.targets,
            payloads: found.payloads,
            proposals,
            origin: self.whose(case.call),
            changed,
            kept: question::kept(&case.intent, case.ctx),
            asked_at: self.asker.now(),
        };
        let (decision, preview) = match self.put(approval, Some((&mut shown, case, ask)), late, case.ctx).await {
            Put::Said(decision, preview) => (decision, preview),
            Put::Stale => return Round::Stale(shown),
        };
        match decision {
            Decision::Once | Decision::Grant(_) => Round::Allowed(shown, Consent::Person(decision)),
            Decision::Edited(line) => Round::Over(Pass::Edited { line, shown: preview }),
            Decision::Deny { .. } | Decision::TimedOut | Decision::Interrupted | Decision::NoOne => {
                Round::Over(self.settle(case, decision, &seen.verdict, !seen.once).await)
            }
        }
    }

    /// What needs no question: what the rules say, and what the person has said already.
    fn ruled(&self, case: &Case<'_>, seen: &Judged, known: &[String], changed: &[String]) -> Option<Pass> {
        let no = |outcome, why, by| Some(Pass::No { outcome, why, by });
        match &seen.verdict {
            Verdict::Allow(_) => {
                let by = match (seen.unasked, seen.rules.is_empty()) {
                    (true, _) => By::Yolo,
                    (false, true) => By::Policy,
                    (false, false) => By::Rule(seen.rules.clone()),
                };
                return Some(Pass::Go { note: String::new(), by });
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
            return Some(Pass::Go { note: "edited".into(), by });
        }
        let said = self.denied(&case.intent)?;
        no(Outcome::Denied, said, By::Person("denied before".into()))
    }

    /// What an answer means.
    async fn settle(&self, case: &Case<'_>, decision: Decision, verdict: &Verdict, may_last: bool) -> Pass {
        if let Decision::Deny { feedback } = &decision {
            lock(&self.denials).keep(&case.intent, feedback);
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
            Decision::Grant(grant) => go(self.widen(grant, case.ctx).await),
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
            Decision::Interrupted if self.asker.is_left() => {
                let why = "not run: the program was left before anybody answered".into();
                no(Outcome::Interrupted, why, By::Nobody)
            }
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
        let entries = grant.entries.iter().map(|entry| said(entry)).collect::<Vec<_>>().join(", ");
        if grant.scope == Scope::Session {
            self.grant(&grant.entries);
            self.made(&grant, ctx);
            return format!("allowed for this session by the user: {entries}");
        }
        let (asker, kept) = (Arc::clone(&self.asker), grant.clone());
        let remembered = tokio::task::spawn_blocking(move || asker.remember(&kept)).await;
        match remembered.unwrap_or_else(|error| Err(format!("it was not kept: {error}"))) {
            Ok(()) => {
                let rules = lock(&self.rules).clone();
                // Away from the lock: it looks where the folder of a command is. What is loaded meanwhile stays.
                let (world, made) = (Arc::clone(&self.world), grant.clone());
                let lines = tokio::task::spawn_blocking(move || proposals::lines(&rules, &made, &*world)).await;
                lock(&self.rules).hold(lines.unwrap_or_default());
                self.stir();
                self.made(&grant, ctx);
                let place = if grant.scope == Scope::Project { " in this project" } else { "" };
                format!("always allowed{place} by the user: {entries}")
            }
            Err(problem) => {
                let grant = Grant { scope: Scope::Session, ..grant };
                self.grant(&grant.entries);
                self.made(&grant, ctx);
                format!("allowed for this session by the user ({problem})")
            }
        }
    }

    fn grant(&self, entries: &[String]) {
        lock(&self.rules).grant(entries);
        self.stir();
        self.asker.granted(entries);
    }
}

/// Whether no answer lets it run.
fn is_no(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Refuse(_) | Verdict::DeniedByRule(_))
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

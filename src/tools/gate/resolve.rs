//! What becomes of a call: what the rules say, what the auxiliary model says, what a person answers, and what the answer
//! means.

use super::assessment::{Assessment, effects};
use super::environment::Environment;
use super::request::{Answer, Request, Resolution};
use super::{Gate, STOPPED, disk};
use crate::lock::lock;
use crate::policy::decide::PLANNING;
use crate::policy::{Approval, Decision, Intent, Mode, Verdict, Why};
use crate::protocol::{Outcome, ToolCall};
use crate::store::audit::AuditBy;
use crate::text::readable::readable;
use crate::tools::builtin::tool_call;
use crate::tools::dispatch::PlannedCall;
use crate::tools::spec::ToolCtx;

/// A call that may run.
pub(super) struct Cleared {
    pub planned: PlannedCall,
    /// How it was approved, in words, when a person was asked.
    pub note: String,
    /// The command as the person wrote it, when it is another than the model's.
    pub edited: Option<String>,
    /// The audit log has it.
    pub is_logged: bool,
}

impl Gate {
    /// The call that may run, or the outcome of one that may not and why.
    pub(super) async fn clear(
        &self,
        call: &ToolCall,
        planned: PlannedCall,
        ctx: &ToolCtx,
    ) -> Result<Cleared, (Outcome, String)> {
        let intent = planned.intent().clone();
        let drops = planned.run.drops();
        let request = Request { call, tool: &planned.spec.name, intent, drops, hook: planned.ask.as_deref(), ctx };
        let (resolution, assessment) = self.resolve(&request, &[], None).await;
        match resolution {
            Resolution::Run { note, by } => {
                let is_logged = self.log_resolved(&request, assessment.as_ref(), by, None);
                Ok(Cleared { planned, note, edited: None, is_logged })
            }
            Resolution::Stop { outcome, why, by } => {
                self.log_resolved(&request, assessment.as_ref(), by, Some((outcome, &why)));
                Err((outcome, why))
            }
            Resolution::Rerun { line, shown } => {
                // What a hook asked about was answered by the edit.
                let known = assessment.map(|assessment| assessment.effects()).unwrap_or_default();
                self.clear_edited(&request, line, &known, shown).await
            }
        }
    }

    /// As [`Self::clear`], for the line that a person wrote in place of the model's. They know the effects of that one, and
    /// confirmed this one as it was shown.
    async fn clear_edited(
        &self,
        first: &Request<'_>,
        line: String,
        known: &[String],
        shown: Option<Assessment>,
    ) -> Result<Cleared, (Outcome, String)> {
        let Request { call, tool, ctx, .. } = *first;
        let args = with_command(call, &line);
        let stopped = || (Outcome::Interrupted, STOPPED.to_owned());
        let planned = self.plan(tool, &args, ctx).await.ok_or_else(stopped)?;
        let planned = planned.call.map_err(|output| (output.outcome, readable(&output.content)))?;
        let drops = planned.run.drops();
        let request = Request { call, tool, intent: planned.intent().clone(), drops, hook: None, ctx };
        let (resolution, assessment) = self.resolve(&request, known, shown).await;
        match resolution {
            Resolution::Run { .. } => {
                let by = AuditBy::Person("edited before it ran".into());
                let is_logged = self.log_resolved(&request, assessment.as_ref(), by, None);
                let note = format!("edited by the user before it ran: {line}");
                Ok(Cleared { planned, note, edited: Some(line), is_logged })
            }
            Resolution::Stop { outcome, why, by } => {
                self.log_resolved(&request, assessment.as_ref(), by, Some((outcome, &why)));
                Err((outcome, why))
            }
            Resolution::Rerun { .. } => Err((Outcome::Denied, "edited twice; call again with the full command".into())),
        }
    }

    /// Judges one call, asks if need be, and looks again after the answer, whoever gave it: what has changed meanwhile is
    /// asked anew. `known` are effects that the person said yes to in another line, `confirmed` is this one as they saw and
    /// confirmed it. With it comes the assessment that led to it; `None` when the turn was stopped before there was one.
    async fn resolve(
        &self,
        request: &Request<'_>,
        known: &[String],
        confirmed: Option<Assessment>,
    ) -> (Resolution, Option<Assessment>) {
        let (intent, ctx) = (&request.intent, request.ctx);
        let stopped = || Resolution::Stop { outcome: Outcome::Interrupted, why: STOPPED.into(), by: AuditBy::Nobody };
        // What was shown, and what came back for it.
        let mut shown = confirmed.map(|confirmed| (confirmed, Answer::Person(Decision::Once, None)));
        loop {
            let (mut assessment, environment) = match self.assess(request).await {
                Some(Ok(assessed)) => assessed,
                Some(Err(why)) => {
                    return (Resolution::Stop { outcome: Outcome::Failed, why, by: AuditBy::Policy }, None);
                }
                None => return (stopped(), None),
            };
            let mut changed = Vec::new();
            let again = shown.is_some();
            if let Some((shown, answer)) = shown.take()
                && !assessment.is_no()
            {
                changed = shown.changed(intent, &assessment.verdict, &environment, ctx).await;
                if ctx.cancel.is_cancelled() {
                    return (stopped(), Some(assessment));
                }
                if changed.is_empty() {
                    match answer {
                        Answer::Person(decision, _) => {
                            let resolution = self.settle(request, decision, &shown.verdict, !assessment.once).await;
                            return (resolution, Some(assessment));
                        }
                        Answer::Model(note) => {
                            return (Resolution::Run { note, by: AuditBy::Smart }, Some(assessment));
                        }
                        Answer::Stale => {}
                    }
                }
            }
            match self.answer(request, &mut assessment, known, changed, &environment).await {
                Ok(answer) => shown = Some((assessment, answer)),
                Err(resolution) if again => return (self.announced(resolution, intent), Some(assessment)),
                Err(resolution) => return (resolution, Some(assessment)),
            }
        }
    }

    /// What became of a question by itself, told to the person and to the model.
    fn announced(&self, resolution: Resolution, intent: &Intent) -> Resolution {
        let what = match intent {
            Intent::Command { line, .. } => line.split_whitespace().collect::<Vec<_>>().join(" "),
            Intent::Code { .. } => "the script that needed approval".to_owned(),
            Intent::Read(_)
            | Intent::Edit(_)
            | Intent::Input { .. }
            | Intent::Remote { .. }
            | Intent::Talk
            | Intent::Handle => "the call that needed approval".to_owned(),
        };
        match resolution {
            Resolution::Run { note, by } if note.is_empty() => {
                let note = format!("now allowed, {}", by.words());
                self.asker.notice(format!("{note}: {what}"));
                Resolution::Run { note, by }
            }
            Resolution::Stop { outcome, why, by: by @ (AuditBy::Policy | AuditBy::Rule(_)) } => {
                let why = format!("now {why}");
                self.asker.notice(format!("{why}: {what}"));
                Resolution::Stop { outcome, why, by }
            }
            other => other,
        }
    }

    /// What the rules say, or else the auxiliary model, or else a person, who is asked about the call as it is assessed. An
    /// answer counts when the call is still like that at a second look; an error needs none.
    async fn answer(
        &self,
        request: &Request<'_>,
        assessment: &mut Assessment,
        known: &[String],
        changed: Vec<String>,
        environment: &Environment,
    ) -> Result<Answer, Resolution> {
        if let Some(resolution) = self.by_rules(request, assessment, known, &changed) {
            return Err(resolution);
        }
        let mut told = assessment.verdict.clone();
        // What somebody was asked about once is a person's alone.
        if changed.is_empty() {
            // Where its paths lead before the model hears of it: what it answers holds for these.
            if assessment.question.is_some() {
                let (intent, verdict) = (&request.intent, &assessment.verdict);
                assessment.paths = disk::resolved_paths(intent, verdict, environment, &request.ctx.cancel).await;
            }
            match self.review(assessment, request.ctx).await {
                Ok(note) => return Ok(Answer::Model(note)),
                Err(Some(why)) => told = with_reason(told, why),
                Err(None) => {}
            }
        }
        let offers = async {
            if assessment.once { Vec::new() } else { self.offers(request, &assessment.verdict, environment).await }
        };
        let ((mut found, late), proposals) =
            tokio::join!(disk::found(&request.intent, &assessment.verdict, environment), offers);
        assessment.paths = found.resolved_paths.take();
        let approval = Approval { proposals, ..self.question(request, told, found, changed) };
        match self.ask(approval, Some((assessment, request)), late, request.ctx).await {
            Answer::Person(Decision::Edited(line), shown) => Err(Resolution::Rerun { line, shown }),
            Answer::Person(
                no @ (Decision::Deny { .. } | Decision::TimedOut | Decision::Interrupted | Decision::NoOne),
                _,
            ) => Err(self.settle(request, no, &assessment.verdict, !assessment.once).await),
            answer @ (Answer::Person(Decision::Once | Decision::Grant(_), _) | Answer::Model(_) | Answer::Stale) => {
                Ok(answer)
            }
        }
    }

    /// What needs no question: what the rules say, and what the person has said already.
    fn by_rules(
        &self,
        request: &Request<'_>,
        assessment: &Assessment,
        known: &[String],
        changed: &[String],
    ) -> Option<Resolution> {
        let no = |outcome, why, by| Some(Resolution::Stop { outcome, why, by });
        match &assessment.verdict {
            Verdict::Allow(_) => {
                let by = match (assessment.unasked, assessment.rules.is_empty()) {
                    (true, _) => AuditBy::Yolo,
                    (false, true) => AuditBy::Policy,
                    (false, false) => AuditBy::Rule(assessment.rules.clone()),
                };
                return Some(Resolution::Run { note: String::new(), by });
            }
            Verdict::Refuse(why) => return no(Outcome::Refused, refused(why), AuditBy::Policy),
            Verdict::DeniedByRule(why) if why.effect == PLANNING => {
                return no(Outcome::Denied, why.text.clone(), AuditBy::Policy);
            }
            Verdict::DeniedByRule(why) => {
                let why = format!("denied by the user's rule: {}. Do not try to do the same another way", why.text);
                return no(Outcome::Denied, why, AuditBy::Rule(assessment.rules.clone()));
            }
            Verdict::Ask(_) | Verdict::AskAlways(_) => {}
        }
        let classes = assessment.effects();
        if !known.is_empty() && changed.is_empty() && classes.iter().all(|class| known.contains(class)) {
            let by = AuditBy::Person("edited before it ran".into());
            return Some(Resolution::Run { note: "edited".into(), by });
        }
        let said = self.denied(&request.intent)?;
        no(Outcome::Denied, said, AuditBy::Person("denied before".into()))
    }

    /// What an answer means.
    async fn settle(&self, request: &Request<'_>, decision: Decision, verdict: &Verdict, may_last: bool) -> Resolution {
        if let Decision::Deny { feedback } = &decision {
            lock(&self.denials).keep(&request.intent, feedback);
        }
        let no = |outcome, why: String, by| Resolution::Stop { outcome, why, by };
        let denied = |why: String, by| no(Outcome::Denied, why, by);
        let go = |note: String| {
            let by = AuditBy::Person(note.replace(" by the user", ""));
            Resolution::Run { note, by }
        };
        let person = |word: &str| AuditBy::Person(word.to_owned());
        let may_widen = may_last && matches!(verdict, Verdict::Ask(_));
        match decision {
            // The answer was to ask no more, and this call is the first of them.
            Decision::Once if may_widen && self.mode() == Mode::Yolo => go("allowed by the user: yolo".into()),
            Decision::Once => go("allowed once by the user".into()),
            Decision::Grant(_) if !may_widen => go("allowed once by the user".into()),
            Decision::Grant(grant) => go(self.widen(grant, request.ctx).await),
            Decision::Edited(line) => Resolution::Rerun { line, shown: None },
            Decision::Deny { feedback } if feedback.trim().is_empty() => denied(
                "the user denied this call. Do not repeat it, rephrase it or do the same another way; ask how to continue".into(),
                person("denied"),
            ),
            Decision::Deny { feedback } => {
                denied(format!("the user denied this call and says: {feedback}"), person("denied"))
            }
            Decision::TimedOut => no(
                Outcome::TimedOut,
                "not run: no one answered in time. Continue without it, or say what the user should run".into(),
                AuditBy::Nobody,
            ),
            Decision::Interrupted if self.asker.is_left() => {
                let why = "not run: the program quit before anyone answered".into();
                no(Outcome::Interrupted, why, AuditBy::Nobody)
            }
            Decision::Interrupted => {
                let why = "not run: the user stopped the turn before answering".into();
                no(Outcome::Interrupted, why, person("stopped the turn"))
            }
            Decision::NoOne => no(
                Outcome::NoOne,
                format!(
                    "not run: it needs approval ({}) and no one can approve here. Continue without it, or say what the user should run",
                    effects(verdict).join(", ")
                ),
                AuditBy::Nobody,
            ),
        }
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

/// The arguments of a call with another command; anything that is no object becomes one. The command stands in the
/// arguments of the tool itself, not in those of a call around it.
pub(super) fn with_command(call: &ToolCall, line: &str) -> String {
    let inner = tool_call::unwrap(&call.name, &call.args).map(|(_, args)| args);
    let args = inner.as_deref().unwrap_or(&call.args);
    let mut fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(args).unwrap_or_default();
    fields.insert("command".into(), serde_json::Value::String(line.to_owned()));
    serde_json::Value::Object(fields).to_string()
}

/// Why a call is refused, for the model.
pub(super) fn refused(why: &[Why]) -> String {
    let reasons: Vec<&str> = why.iter().map(|w| w.text.as_str()).collect();
    format!(
        "refused in every mode: {}. Tell the user what you wanted to do; do not try another way",
        reasons.join("; ")
    )
}

//! A command that its sandbox stopped, once more without: only a person may say so, and only about that very command.

use super::assess::asked_by_hook;
use super::assessment::Assessment;
use super::disk::LateFindings;
use super::request::{Answer, Request};
use super::resolve::{refused, with_command};
use super::{CallEvent, Gate, disk, with_note};
use crate::lock::lock;
use crate::policy::{Approval, Decision, Intent, Verdict, WITHOUT_SANDBOX, Why};
use crate::protocol::Outcome;
use crate::store::audit::AuditBy;
use crate::tools::spec::{ToolCtx, ToolOutput};
use std::path::PathBuf;
use tokio::sync::mpsc;

/// Blocked things that are remembered as left so.
const REMEMBERED: usize = 64;

impl Gate {
    /// Asks whether the call, in whose `first` run the sandbox blocked `what`, may run again in the folder that it ran in.
    /// Gives the result that counts: the second, or the first with what was answered.
    pub(super) async fn again_unsandboxed(
        &self,
        blocked: &Request<'_>,
        cwd: PathBuf,
        what: &str,
        first: ToolOutput,
        events: &mpsc::Sender<CallEvent>,
    ) -> ToolOutput {
        let &Request { call, tool, ref intent, ctx, .. } = blocked;
        let Intent::Command { line, background: false, .. } = intent else { return first };
        let left = |first: ToolOutput, note: &str| ToolOutput { content: with_note(first.content, note), ..first };
        if lock(&self.left_blocked).iter().any(|known| known == what) {
            return left(first, "the user already declined to run this outside the sandbox: do not try again");
        }
        if ctx.cancel.is_cancelled() {
            return first;
        }
        // Where the first run left the task counts when there is no second.
        let moved = std::mem::replace(&mut *lock(&ctx.cwd), cwd);
        let stay = || *lock(&ctx.cwd) = moved.clone();
        let planned = self.plan(tool, &with_command(call, line), ctx).await;
        let Some(planned) = planned.and_then(|planned| planned.call.ok()) else {
            stay();
            return left(first, "it cannot run again");
        };
        let request = Request {
            intent: planned.intent().clone(),
            drops: planned.run.drops(),
            hook: planned.ask.as_deref(),
            ..*blocked
        };
        if let Err(note) = self.without_sandbox(&request, what).await {
            stay();
            return left(first, &note);
        }
        self.log_end(Some(self.end_row(call, tool, ctx)), Outcome::Failed, 0);
        self.log_resolved(&request, None, AuditBy::Person("run again without the sandbox".into()), None);
        self.tell_start(call, &planned.spec, planned.run.target(), ctx, events).await;
        let mut ctx = ctx.clone();
        ctx.unconfined = true;
        let mut second = self.run(planned, ctx, &call.id, events).await;
        second.content = with_note(
            second.content,
            &format!("the sandbox blocked {what}; the user allowed a rerun without it, and this is that run"),
        );
        second.view.approval = "run again without the sandbox by the user".into();
        second
    }

    /// Whether a person lets it run, as it is when they have answered; why not, for the model.
    async fn without_sandbox(&self, request: &Request<'_>, what: &str) -> Result<(), String> {
        let (intent, ctx) = (&request.intent, request.ctx);
        let mut allowed: Option<Assessment> = None;
        loop {
            let environment = self.environment(intent, ctx).await.ok_or(super::STOPPED)?;
            let mut assessment =
                self.judge(request.tool, intent, &environment, &ctx.cancel).await.ok_or(super::STOPPED)?;
            let blocked = format!("the sandbox blocked {what}; anything it did before that remains");
            let mut reasons = vec![Why { effect: WITHOUT_SANDBOX.into(), text: blocked, span: 0..0 }];
            reasons.extend(request.hook.map(asked_by_hook));
            match assessment.verdict {
                Verdict::Allow(_) => {}
                Verdict::Ask(why) | Verdict::AskAlways(why) => reasons.extend(why),
                Verdict::Refuse(why) => return Err(refused(&why)),
                Verdict::DeniedByRule(why) => return Err(format!("denied by the user's rule: {}", why.text)),
            }
            let verdict = Verdict::AskAlways(reasons);
            let mut changed = Vec::new();
            if let Some(shown) = allowed.take() {
                changed = shown.changed(intent, &verdict, &environment, ctx).await;
                if ctx.cancel.is_cancelled() {
                    return Err(super::STOPPED.into());
                }
                if changed.is_empty() {
                    return Ok(());
                }
            }
            let (mut found, late) = disk::found(intent, &verdict, &environment).await;
            (assessment.verdict, assessment.paths) = (verdict.clone(), found.resolved_paths.take());
            // No answer to this lasts.
            let approval = self.question(request, verdict, found, changed);
            self.answered(approval, late, what, ctx).await?;
            allowed = Some(assessment);
        }
    }

    /// A yes, or what the answer means for the model.
    async fn answered(
        &self,
        approval: Approval,
        late: Option<LateFindings>,
        what: &str,
        ctx: &ToolCtx,
    ) -> Result<(), String> {
        // Nothing takes this one back before its answer: it is looked at again then.
        let Answer::Person(decision, _) = self.ask(approval, None, late, ctx).await else {
            return Err(super::STOPPED.into());
        };
        Err(match decision {
            Decision::Once => return Ok(()),
            Decision::NoOne => {
                "it can run without the sandbox only with approval, and no one can approve here".to_owned()
            }
            Decision::Interrupted => "the user stopped the turn".to_owned(),
            Decision::TimedOut => "no one answered in time whether it may run without the sandbox".to_owned(),
            Decision::Deny { feedback } => {
                self.leave_blocked(what);
                if feedback.trim().is_empty() {
                    "the user keeps the sandbox: continue without this, or ask how".to_owned()
                } else {
                    format!("the user keeps the sandbox and says: {feedback}")
                }
            }
            Decision::Grant(_) | Decision::Edited(_) => "it was not allowed to run without the sandbox".to_owned(),
        })
    }

    fn leave_blocked(&self, what: &str) {
        let mut left = lock(&self.left_blocked);
        if left.len() < REMEMBERED {
            left.push(what.to_owned());
        }
    }
}

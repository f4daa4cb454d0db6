//! A command that its sandbox stopped, once more without: only a person may say so, and only about that very command.

use super::assess::asked_by_hook;
use super::assessment::Assessment;
use super::disk::LateFindings;
use super::request::{Answer, Request};
use super::resolve::{refused, with_command};
use super::{CallEvent, Gate, disk, folder, with_note};
use crate::lock::lock;
use crate::policy::{Approval, ApprovalId, Decision, Intent, Verdict, WITHOUT_SANDBOX, Why};
use crate::protocol::{Outcome, ToolCall};
use crate::store::audit::AuditBy;
use crate::tools::dispatch::PlannedCall;
use crate::tools::spec::{ToolCtx, ToolOutput, ToolSpec};
use crate::tools::tool_call;
use std::path::PathBuf;
use tokio::sync::mpsc;

/// Blocked things that are remembered as left so.
const REMEMBERED: usize = 64;

/// What was stopped.
pub(super) struct BlockedRun<'a> {
    pub call: &'a ToolCall,
    pub spec: &'a ToolSpec,
    pub intent: Intent,
    /// The folder that it ran in.
    pub cwd: PathBuf,
    /// What the sandbox blocked, in words.
    pub what: String,
}

impl Gate {
    /// Asks whether it may run again, and gives the result that counts: the second, or the first with what was answered.
    pub(super) async fn again_unsandboxed(
        &self,
        blocked: BlockedRun<'_>,
        first: ToolOutput,
        mut ctx: ToolCtx,
        events: &mpsc::Sender<CallEvent>,
    ) -> ToolOutput {
        let BlockedRun { call, spec, intent, cwd, what } = blocked;
        let Intent::Command { line, background: false, .. } = &intent else { return first };
        let left = |first: ToolOutput, note: &str| ToolOutput { content: with_note(first.content, note), ..first };
        if lock(&self.left_blocked).contains(&what) {
            return left(first, "the user already declined to run this outside the sandbox: do not try again");
        }
        if ctx.cancel.is_cancelled() {
            return first;
        }
        // Where the first run left the task counts when there is no second.
        let moved = folder(&ctx);
        let set = |to: &PathBuf| *lock(&ctx.cwd) = to.clone();
        set(&cwd);
        let inner = tool_call::unwrap(&call.name, &call.args).map(|(_, args)| args);
        let args = with_command(inner.as_deref().unwrap_or(&call.args), line);
        let planned = self.plan(&spec.name, &args, &ctx).await;
        let Some(planned) = planned.and_then(|planned| planned.call.ok()) else {
            set(&moved);
            return left(first, "it cannot run again");
        };
        let PlannedCall { ask: hook, .. } = &planned;
        let intent = planned.intent().clone();
        let request = Request { call, tool: &spec.name, intent, hook: hook.as_deref(), ctx: &ctx };
        let by = AuditBy::Person("run again without the sandbox".into());
        if let Err(note) = self.without_sandbox(&request, &what).await {
            set(&moved);
            return left(first, &note);
        }
        self.log_end(Some(self.end_row(call, &spec.name, &ctx)), Outcome::Failed, 0);
        self.log_resolved(&request, None, by, None);
        ctx.unconfined = true;
        self.tell_start(call, spec, planned.run.target(), events).await;
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
            let (found, late) = disk::found(intent, &verdict, &environment).await;
            (assessment.verdict, assessment.paths) = (verdict.clone(), found.resolved_paths);
            let approval = Approval {
                id: ApprovalId(self.asker.number()),
                call_id: request.call.id.clone(),
                tool: request.tool.to_owned(),
                intent: intent.clone(),
                verdict,
                targets: found.targets,
                payloads: found.payloads,
                // No answer to this lasts.
                proposals: Vec::new(),
                origin: self.whose(request.call),
                changed,
                kept: false,
                asked_at: self.asker.now(),
            };
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

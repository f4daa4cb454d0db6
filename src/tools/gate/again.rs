//! A command that its sandbox stopped, once more without: only a person may say so, and only about that very command.

use super::ask::{Case, refused, with_command};
use super::look::Late;
use super::question::Put;
use super::seen::Seen;
use super::{CallEvent, Gate, Ready, folder, look, with_note};
use crate::lock::lock;
use crate::policy::{Approval, ApprovalId, Decision, Intent, Verdict, WITHOUT_SANDBOX, Why};
use crate::protocol::{Outcome, ToolCall};
use crate::store::audit::By;
use crate::tools::spec::{ToolCtx, ToolOutput, ToolSpec};
use crate::tools::tool_call;
use std::path::PathBuf;
use tokio::sync::mpsc;

/// Blocked things that are remembered as left so.
const REMEMBERED: usize = 64;

/// What was stopped.
pub(super) struct Blocked<'a> {
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
    pub(super) async fn again(
        &self,
        blocked: Blocked<'_>,
        first: ToolOutput,
        mut ctx: ToolCtx,
        events: &mpsc::Sender<CallEvent>,
    ) -> ToolOutput {
        let Blocked { call, spec, intent, cwd, what } = blocked;
        let Intent::Command { line, background: false, .. } = &intent else { return first };
        let left = |first: ToolOutput, note: &str| ToolOutput { content: with_note(first.content, note), ..first };
        if lock(&self.left_blocked).contains(&what) {
            return left(first, "the user was asked about this before and keeps the sandbox: do not try it again");
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
        let Some((run, args, hook)) = planned.and_then(|planned| Some((planned.call.ok()?, planned.args, planned.ask)))
        else {
            set(&moved);
            return left(first, "it cannot be run again");
        };
        let case = Case { call, tool: &spec.name, intent: run.intent().clone(), ctx: &ctx };
        let by = By::Person("run again without the sandbox".into());
        if let Err(note) = self.without_sandbox(&case, &what, hook.as_deref()).await {
            set(&moved);
            return left(first, &note);
        }
        self.ended(Some(self.end_of(call, &spec.name, &ctx)), Outcome::Failed, 0);
        self.judged(&case, None, by, None);
        ctx.unconfined = true;
        self.tell_start(call, spec, run.target(), events).await;
        let ready = Ready { run, args, ask: None, edited: None };
        let mut second = self.run(ready, spec, ctx, &call.id, events).await;
        second.content = with_note(
            second.content,
            &format!("the sandbox blocked {what}; the user let it run again without, and this is that run"),
        );
        second.view.approval = "run again without the sandbox by the user".into();
        second
    }

    /// Whether a person lets it run, as it is when they have answered; why not, for the model.
    async fn without_sandbox(&self, case: &Case<'_>, what: &str, hook: Option<&str>) -> Result<(), String> {
        let (intent, ctx) = (&case.intent, case.ctx);
        let mut allowed: Option<Seen> = None;
        loop {
            let site = self.place(intent, ctx).await.ok_or(super::STOPPED)?;
            let judged = self.judge(case.tool, intent, &site, &ctx.cancel).await.ok_or(super::STOPPED)?;
            let blocked = format!("the sandbox blocked {what}; what it did before that stays done");
            let mut reasons = vec![Why { effect: WITHOUT_SANDBOX.into(), text: blocked, span: 0..0 }];
            reasons.extend(hook.map(|text| Why {
                effect: "asked by a hook".into(),
                text: text.to_owned(),
                span: 0..0,
            }));
            match judged.verdict {
                Verdict::Allow(_) => {}
                Verdict::Ask(why) | Verdict::AskAlways(why) => reasons.extend(why),
                Verdict::Refuse(why) => return Err(refused(&why)),
                Verdict::DeniedByRule(why) => return Err(format!("denied by a rule of the user: {}", why.text)),
            }
            let verdict = Verdict::AskAlways(reasons);
            let mut changed = Vec::new();
            if let Some(shown) = allowed.take() {
                changed = shown.changed(intent, &verdict, &site, ctx).await;
                if ctx.cancel.is_cancelled() {
                    return Err(super::STOPPED.into());
                }
                if changed.is_empty() {
                    return Ok(());
                }
            }
            let (found, late) = look::found(intent, &verdict, &site).await;
            let shown = Seen { verdict: verdict.clone(), backends: found.backends };
            let approval = Approval {
                id: ApprovalId(self.asker.number()),
                call_id: case.call.id.clone(),
                tool: case.tool.to_owned(),
                intent: intent.clone(),
                verdict,
                targets: found.targets,
                payloads: found.payloads,
                // No answer to this lasts.
                proposals: Vec::new(),
                origin: self.whose(case.call),
                changed,
                kept: false,
                asked_at: self.asker.now(),
            };
            self.answered(approval, late, what, ctx).await?;
            allowed = Some(shown);
        }
    }

    /// A yes, or what the answer means for the model.
    async fn answered(&self, approval: Approval, late: Option<Late>, what: &str, ctx: &ToolCtx) -> Result<(), String> {
        // Nothing takes this one back before its answer: it is looked at again then.
        let Put::Said(decision, _) = self.put(approval, None, late, ctx).await else {
            return Err(super::STOPPED.into());
        };
        Err(match decision {
            Decision::Once => return Ok(()),
            Decision::NoOne => {
                "it can only run without the sandbox when a person says so, and nobody can be asked here".to_owned()
            }
            Decision::Interrupted => "the user stopped the turn".to_owned(),
            Decision::TimedOut => "nobody answered in time whether it may run without the sandbox".to_owned(),
            Decision::Deny { feedback } => {
                self.leave_blocked(what);
                match feedback.trim().is_empty() {
                    true => "the user keeps the sandbox: go on without this, or ask how".to_owned(),
                    false => format!("the user keeps the sandbox and says: {feedback}"),
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

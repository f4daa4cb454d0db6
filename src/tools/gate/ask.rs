//! A question on its way to a person and back: how long it waits, what it would be with another line, whether it is still
//! so, what was denied before.

use super::assessment::{Assessment, is_question};
use super::disk::LateFindings;
use super::request::{Answer, Request};
use super::{Gate, disk};
use crate::lock::lock;
use crate::policy::redact::RedactKind;
use crate::policy::{
    Approval, ApprovalId, ApprovalOrigin, Decision, Intent, Payload, Preview, Speaker, Target, Verdict,
};
use crate::protocol::PERSONS;
use crate::store::LARGEST;
use crate::tools::output::bound::Masks;
use crate::tools::spec::ToolCtx;
use crate::tools::targets::Found;
use futures::FutureExt as _;
use futures::future::{BoxFuture, OptionFuture};
use std::borrow::Cow;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// A question that waits for its answer.
pub(super) struct OpenQuestion {
    tool: String,
    intent: Intent,
    ctx: ToolCtx,
    /// Lines that the person may run instead, as they were judged when they were shown.
    previews: Vec<(String, Assessment)>,
    /// The person writes: a reason, another line.
    writing: watch::Sender<bool>,
}

impl Gate {
    /// The question about a call as it was judged: with what it would touch, and what `changed` since it was asked before.
    /// It offers no answer that lasts.
    pub(super) fn question(
        &self,
        request: &Request<'_>,
        verdict: Verdict,
        found: Found,
        changed: Vec<String>,
    ) -> Approval {
        Approval {
            id: ApprovalId(self.asker.number()),
            call_id: request.call.id.clone(),
            tool: request.tool.to_owned(),
            intent: request.intent.clone(),
            verdict,
            targets: found.targets,
            payloads: found.payloads,
            proposals: Vec::new(),
            origin: self.whose(request),
            changed,
            drops: request.drops.clone(),
            kept: kept(&request.intent, request.ctx),
            asked_at: self.asker.now(),
        }
    }

    /// Asks the person, and waits as long as the configuration says, not counting the time in which they write. A question
    /// that was judged as `shown` is taken back when it turns out to be another one now. What it would touch may be known
    /// in full only later.
    pub(super) async fn ask(
        &self,
        approval: Approval,
        mut shown: Option<(&mut Assessment, &Request<'_>)>,
        mut late: Option<LateFindings>,
        ctx: &ToolCtx,
    ) -> Answer {
        let id = approval.id;
        let (tool, intent) = (approval.tool.clone(), approval.intent.clone());
        let (writing, mut written) = watch::channel(false);
        let open = OpenQuestion { tool, intent, ctx: ctx.clone(), previews: Vec::new(), writing };
        let mut stirred = self.stirred.subscribe();
        let mut anew: Option<BoxFuture<'_, bool>> = None;
        lock(&self.open).insert(id, open);
        let approval = masked(approval, &self.dispatch().masks_for(ctx));
        let mut answer = self.asker.ask(approval, ctx.cancel.clone());
        let mut left = match ctx.config.approvals.timeout {
            0 => None,
            seconds => Some(Duration::from_secs(seconds)),
        };
        let decision = loop {
            let writes = *written.borrow_and_update();
            let began = Instant::now();
            let over = async {
                match left.filter(|_| !writes) {
                    Some(left) => tokio::time::sleep(left).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                decision = &mut answer => break Some(decision),
                // Its sender goes with the entry of this very question.
                Ok(()) = written.changed() => {}
                () = over => {
                    self.asker.close(id, Decision::TimedOut);
                    break Some(Decision::TimedOut);
                }
                found = async { OptionFuture::from(late.as_mut()).await }, if late.is_some() => {
                    late = None;
                    if let Some(found) = found {
                        if let Some((assessment, _)) = &mut shown {
                            assessment.paths = assessment.paths.take().or(found.resolved_paths);
                        }
                        self.told_late(id, found.targets, found.payloads, ctx);
                    }
                }
                // The look may take long: what the person says meanwhile counts, and their time goes by.
                Ok(()) = stirred.changed(), if anew.is_none() && !writes => {
                    anew = shown
                        .as_ref()
                        .map(|(assessment, request)| self.is_stale((**assessment).clone(), request).boxed());
                }
                stale = async { OptionFuture::from(anew.as_mut()).await }, if anew.is_some() => {
                    anew = None;
                    match stale {
                        // Who writes is not interrupted; it is looked at again when they are done.
                        Some(true) if writes => stirred.mark_changed(),
                        Some(true) => {
                            self.asker.close(id, Decision::Interrupted);
                            break last_word(&mut answer).await;
                        }
                        Some(false) | None => {}
                    }
                }
            }
            if !writes {
                left = left.map(|left| left.saturating_sub(began.elapsed()));
            }
        };
        let open = lock(&self.open).remove(&id);
        let Some(decision) = decision else { return Answer::Stale };
        let shown = match &decision {
            Decision::Edited(line) => open.and_then(|open| {
                open.previews.into_iter().rev().find(|(shown, _)| shown == line).map(|(_, assessment)| assessment)
            }),
            _ => None,
        };
        Answer::Person(decision, shown)
    }

    /// What was not known yet when the question was put.
    fn told_late(&self, id: ApprovalId, mut targets: Vec<Target>, mut payloads: Vec<Payload>, ctx: &ToolCtx) {
        mask_found(&mut targets, &mut payloads, &self.dispatch().masks_for(ctx));
        self.asker.approval_found(id, targets, payloads);
    }

    /// Whether the question would be another one now, or none.
    async fn is_stale(&self, shown: Assessment, request: &Request<'_>) -> bool {
        let Some(Ok((now, environment))) = self.assess(request).await else { return false };
        let (intent, verdict) = (&request.intent, &now.verdict);
        !is_question(verdict) || !shown.changed(intent, verdict, &environment, request.ctx).await.is_empty()
    }

    /// The rules, the policy or the disk may have changed: questions that wait are judged anew.
    pub fn stir(&self) {
        self.stirred.send_modify(|times| *times += 1);
    }

    /// The person begins to write in a question, or ends.
    pub fn writes(&self, id: ApprovalId, writing: bool) {
        if let Some(open) = lock(&self.open).get(&id) {
            open.writing.send_replace(writing);
        }
    }

    /// Who asks: the person, for a command of their own; a script, for a call that it makes.
    fn whose(&self, request: &Request<'_>) -> ApprovalOrigin {
        let origin = self.asker.origin();
        if request.call.id.starts_with(PERSONS) {
            return ApprovalOrigin { by: Speaker::Person, saying: String::new(), ..origin };
        }
        if request.ctx.within.is_some() && origin.by == Speaker::Main {
            return ApprovalOrigin { by: Speaker::Script, ..origin };
        }
        origin
    }

    /// How a line would be judged in place of the one that is asked about; `None` when that is no longer asked.
    pub async fn preview(&self, id: ApprovalId, line: String) -> Option<Preview> {
        let (tool, intent, ctx) = {
            let open = lock(&self.open);
            let open = open.get(&id)?;
            let Intent::Command { cwd, background, .. } = &open.intent else { return None };
            let intent = Intent::Command { line: line.clone(), cwd: cwd.clone(), background: *background };
            (open.tool.clone(), intent, open.ctx.clone())
        };
        let environment = self.environment(&intent, &ctx).await?;
        let mut assessment = self.judge(&tool, &intent, &environment, &ctx.cancel).await?;
        let found = disk::whole(&intent, &assessment.verdict, &environment).await;
        assessment.paths = found.resolved_paths;
        let verdict = assessment.verdict.clone();
        lock(&self.open).get_mut(&id)?.previews.push((line.clone(), assessment));
        Some(Preview { line, verdict, targets: found.targets, payloads: found.payloads })
    }

    /// The person has said something new: what they denied before may be asked again.
    pub fn heard_anew(&self) {
        lock(&self.denials).forget();
    }

    /// What the person said when they denied the same call since they last spoke, for the model.
    pub(super) fn denied(&self, intent: &Intent) -> Option<String> {
        let denials = lock(&self.denials);
        let said = denials.said(intent)?;
        let said = if said.is_empty() { String::new() } else { format!(" and said: {said}") };
        Some(format!(
            "the user already denied this{said}, so it was not asked again. Do not repeat it; ask how to continue"
        ))
    }
}

/// For an answer that was on its way when the question was taken back.
const LAST_WORD: Duration = Duration::from_secs(1);

/// What the person had said before a question was taken back, if anything.
async fn last_word(answer: &mut BoxFuture<'static, Decision>) -> Option<Decision> {
    let last = tokio::time::timeout(LAST_WORD, answer).await.ok();
    last.filter(|last| !matches!(last, Decision::Interrupted))
}

/// A question as it is shown: without secrets. Where the line itself holds one, its words have other places, and no answer
/// that names it lasts.
fn masked(mut approval: Approval, masks: &Masks) -> Approval {
    let mask = |text: &mut String| {
        if let Cow::Owned(masked) = masks.apply(text, RedactKind::Code) {
            *text = masked;
            return true;
        }
        false
    };
    let moved = match &mut approval.intent {
        Intent::Command { line: text, .. }
        | Intent::Input { text, .. }
        | Intent::Remote { args: text, .. }
        | Intent::Code { code: text, .. } => mask(text),
        Intent::Edit(edits) => {
            for edit in edits {
                mask(&mut edit.diff);
            }
            false
        }
        Intent::Read(_) | Intent::Talk | Intent::Handle => false,
    };
    if let Verdict::Ask(why) | Verdict::AskAlways(why) = &mut approval.verdict {
        for why in why {
            mask(&mut why.text);
            if moved {
                why.span = 0..0;
            }
        }
    }
    mask_found(&mut approval.targets, &mut approval.payloads, masks);
    mask(&mut approval.origin.saying);
    for text in approval.changed.iter_mut().chain(&mut approval.drops) {
        mask(text);
    }
    let plain = |entry: &String| matches!(masks.apply(entry, RedactKind::Code), Cow::Borrowed(_));
    approval.proposals.retain(|one| one.grant.entries.iter().all(plain));
    approval
}

fn mask_found(targets: &mut [Target], payloads: &mut [Payload], masks: &Masks) {
    let texts = targets.iter_mut().flat_map(|target| [&mut target.name, &mut target.note]);
    for text in texts.chain(payloads.iter_mut().flat_map(|payload| [&mut payload.from, &mut payload.text])) {
        if let Cow::Owned(masked) = masks.apply(text, RedactKind::Code) {
            *text = masked;
        }
    }
}

/// Whether the edit history keeps what the files of a call hold.
fn kept(intent: &Intent, ctx: &ToolCtx) -> bool {
    let Intent::Edit(edits) = intent else { return false };
    // What does not exist yet is kept as that.
    let fits = |path: &std::path::Path| path.symlink_metadata().map_or(true, |meta| meta.len() <= LARGEST);
    ctx.history.is_some() && edits.iter().all(|edit| fits(&edit.path))
}

#[cfg(test)]
mod tests;

//! The choices that an approval offers, and the answers that they give.

use super::{closed, mode};
use crate::app::effect::Effect;
use crate::app::model::Model;
use crate::app::model::approvals::EntryId;
use crate::app::model::modal::ApprovalChoice;
use crate::policy::{
    Approval, ApprovalId, Decision, Intent, Mode, Preview, Proposal, Scope, Verdict, WITHOUT_SANDBOX, proposals,
};
use crate::protocol::AgentCommand;

/// Whether no answer lets this line run.
pub fn is_barred(preview: &Preview) -> bool {
    matches!(preview.verdict, Verdict::Refuse(_) | Verdict::DeniedByRule(_))
}

/// Answers with yes, and asks no more in this session.
pub fn decide_yolo(model: &mut Model, out: &mut Vec<Effect>, id: ApprovalId) {
    mode::set(model, out, Mode::Yolo);
    decide(model, out, id, Decision::Once);
}

/// All choices in the order of the grid: the left column, then the right one. Rows of clicks count in it.
pub const GRID: [ApprovalChoice; 5] =
    [ApprovalChoice::Deny, ApprovalChoice::Edit, ApprovalChoice::Once, ApprovalChoice::Session, ApprovalChoice::Always];

/// The choices that an approval offers, in the order of the grid.
pub fn choices(approval: &Approval) -> Vec<ApprovalChoice> {
    let offered = |choice: &ApprovalChoice| match choice {
        ApprovalChoice::Deny | ApprovalChoice::Once => true,
        // What ran in the sandbox runs again as it is, or not.
        ApprovalChoice::Edit => matches!(approval.intent, Intent::Command { .. }) && !leaves_sandbox(approval),
        ApprovalChoice::Session | ApprovalChoice::Always => !offers(approval, *choice).is_empty(),
    };
    GRID.into_iter().filter(offered).collect()
}

/// Whether a yes runs a command again without its sandbox.
pub fn leaves_sandbox(approval: &Approval) -> bool {
    approval.verdict.reasons().iter().any(|why| why.effect == WITHOUT_SANDBOX)
}

/// The classes of effect that were asked about, each once.
pub fn effects(approval: &Approval) -> Vec<String> {
    proposals::effects(&approval.verdict)
}

/// The grants that an answer that lasts can be, narrowest first. None for the others.
pub fn offers(approval: &Approval, choice: ApprovalChoice) -> Vec<&Proposal> {
    let lasts = |scope: Scope| match choice {
        ApprovalChoice::Session => scope == Scope::Session,
        ApprovalChoice::Always => scope > Scope::Session,
        ApprovalChoice::Deny | ApprovalChoice::Edit | ApprovalChoice::Once => false,
    };
    approval.proposals.iter().filter(|proposal| lasts(proposal.grant.scope)).collect()
}

/// Answers and goes on to the next question.
pub fn decide(model: &mut Model, out: &mut Vec<Effect>, id: ApprovalId, decision: Decision) {
    out.push(Effect::Agent(AgentCommand::Decide(id, decision)));
    closed(model, out, EntryId::Approval(id));
}

/// Answers a question of the model.
pub fn answer(model: &mut Model, out: &mut Vec<Effect>, id: crate::protocol::QuestionId, text: String) {
    out.push(Effect::Agent(AgentCommand::Answer(id, text)));
    closed(model, out, EntryId::Question(id));
}

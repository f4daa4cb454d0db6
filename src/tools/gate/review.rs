//! The auxiliary model that may pass what is of low risk.

use super::Gate;
use super::assessment::Assessment;
use crate::policy::Why;
use crate::policy::redact::RedactKind;
use crate::policy::smart::Opinion;
use crate::tools::spec::ToolCtx;

/// What an auxiliary model said to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Review {
    /// `PROVIDER:MODEL`; empty when there is none.
    pub model: String,
    /// Or why there is none, in words that go on after its name.
    pub opinion: Result<Opinion, String>,
}

impl Review {
    /// Nobody could be asked, and why.
    pub fn without_model(why: String) -> Self {
        Self { model: String::new(), opinion: Err(why) }
    }
}

impl Gate {
    /// Asks the auxiliary model, where it has a say. The note when it lets the call run; otherwise a person is asked, and
    /// what it said is for them to read. Where it advises against the call only this once can be allowed.
    pub(super) async fn review(&self, assessment: &mut Assessment, ctx: &ToolCtx) -> Result<String, Option<Why>> {
        let Some(question) = assessment.question.take() else { return Err(None) };
        let question = self.dispatch().masks_for(ctx).apply(&question, RedactKind::Default).into_owned();
        let Review { model, opinion } = self.asker.review(question, ctx.cancel.clone()).await;
        let text = match opinion {
            Ok(Opinion::Approve) => return Ok(format!("approved by {model} (auto mode)")),
            Ok(Opinion::Deny) => {
                assessment.once = true;
                format!("the model {model} advises against it")
            }
            Ok(Opinion::Escalate) => format!("the model {model} defers to you"),
            Err(how) if model.is_empty() => how,
            Err(how) => format!("the model {model} {how}"),
        };
        Err(Some(Why { effect: "auto mode".into(), text, span: 0..0 }))
    }
}

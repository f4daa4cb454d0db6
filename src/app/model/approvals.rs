//! Open questions: approvals and questions of the model. They never expire.

use crate::policy::{Approval, ApprovalId};
use crate::protocol::{Question, QuestionId};

/// Everything that waits for the person, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inbox {
    pub entries: Vec<Entry>,
    /// Put aside with Esc: they no longer open by themselves.
    pub aside: Vec<EntryId>,
    /// When the last one was, in milliseconds since the epoch.
    pub aside_at: Option<i64>,
    /// The one in which the person writes, as the agent knows it.
    pub writing: Option<ApprovalId>,
}

impl Inbox {
    /// An approval that still waits.
    pub fn approval(&self, id: ApprovalId) -> Option<&Approval> {
        self.entries.iter().find_map(|entry| match entry {
            Entry::Approval(approval) => (approval.id == id).then_some(&**approval),
            Entry::Question(_) => None,
        })
    }

    /// A question of the model that still waits.
    pub fn question(&self, id: QuestionId) -> Option<&Question> {
        self.entries.iter().find_map(|entry| match entry {
            Entry::Question(question) => (question.id == id).then_some(question),
            Entry::Approval(_) => None,
        })
    }
}

/// Which question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntryId {
    Approval(ApprovalId),
    Question(QuestionId),
}

/// One open question.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    Approval(Box<Approval>),
    Question(Question),
}

impl Entry {
    /// The call that waits for it.
    pub fn call_id(&self) -> &str {
        match self {
            Entry::Approval(approval) => &approval.call_id,
            Entry::Question(question) => &question.call_id,
        }
    }

    /// Which question it is.
    pub fn id(&self) -> EntryId {
        match self {
            Entry::Approval(approval) => EntryId::Approval(approval.id),
            Entry::Question(question) => EntryId::Question(question.id),
        }
    }
}

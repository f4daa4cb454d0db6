//! Open questions: approvals and questions of the model. They never expire.

use crate::agent::event::Question;
use crate::policy::Approval;

/// Everything that waits for the person, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inbox {
    pub entries: Vec<Entry>,
}

/// One open question.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    Approval(Box<Approval>),
    Question(Question),
}

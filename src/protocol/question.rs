//! What the model asks the user, and its plan.

use serde::{Deserialize, Serialize};

/// A question the model asks the person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    pub id: QuestionId,
    pub call_id: String,
    pub text: String,
    /// At most six.
    pub choices: Vec<String>,
    pub allow_freetext: bool,
    /// What the free answer is called, where it means something of its kind: `Say what to change`. Empty: as usual.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub own_answer: String,
}

/// Counts up within a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct QuestionId(pub u64);

/// One entry of the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Todo {
    pub id: String,
    pub content: String,
    pub status: TodoStatus,
}

/// Where a plan entry is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    #[default]
    Pending,
    InProgress,
    Completed,
    Cancelled,
}

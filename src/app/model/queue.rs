//! Prompts that wait.

use crate::protocol::SessionId;
use crate::store::QueuedPrompt;
use std::sync::Arc;

/// Prompts that wait, oldest first.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    pub prompts: Vec<Arc<QueuedPrompt>>,
    /// So many at the start came back with the session, and wait for a word of the person.
    pub held: usize,
    /// Given to the running turn, which has not heard them yet: the store keeps them until then.
    pub given: Vec<Arc<QueuedPrompt>>,
    /// What the store has, and for which session.
    pub saved: (Option<SessionId>, Vec<Arc<QueuedPrompt>>),
}

impl Queue {
    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.prompts.is_empty()
    }

    /// Prompts that wait.
    pub fn len(&self) -> usize {
        self.prompts.len()
    }

    /// The prompts as text.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.prompts.iter().map(|prompt| prompt.text.as_str())
    }

    /// Takes a prompt out.
    pub fn take(&mut self, at: usize) -> Option<QueuedPrompt> {
        if at >= self.prompts.len() {
            return None;
        }
        self.held -= usize::from(at < self.held);
        Some(Arc::unwrap_or_clone(self.prompts.remove(at)))
    }

    /// What the store should have: all that no turn has heard.
    pub fn unheard(&self) -> impl Iterator<Item = &Arc<QueuedPrompt>> {
        self.given.iter().chain(&self.prompts)
    }

    /// Moves the last one before all that stand from `at` on.
    pub fn last_to(&mut self, at: usize) {
        if let Some(waiting) = self.prompts.get_mut(at..) {
            waiting.rotate_right(usize::from(!waiting.is_empty()));
        }
    }

    /// Whether the store has it.
    pub fn is_saved(&self, prompt: &Arc<QueuedPrompt>) -> bool {
        self.saved.1.iter().any(|saved| Arc::ptr_eq(saved, prompt))
    }
}

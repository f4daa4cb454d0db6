//! What a person types on its way to the disk: drafts, queued prompts and the history are kept without secrets. As long as
//! the program lives it gives back what was typed.

use crate::policy::redact::{RedactKind, Secrets, redact};
use crate::protocol::SessionId;
use crate::store::{QueuedPrompt, StoreJob, StoreReply};
use std::collections::HashMap;
use std::sync::Arc;

/// With masks that name themselves: nothing that is recalled runs with one by accident.
const KIND: RedactKind = RedactKind::FileRead;

/// Whose text it is: of a queue or not, the session, the folder.
type Owner = (bool, Option<SessionId>, String);

/// The masks of one screen.
pub(super) struct Typed {
    /// `None`: `security.redact_secrets` is off.
    secrets: Option<Secrets>,
    /// What is kept masked, and as it was typed; of each owner only what it has now.
    originals: HashMap<Owner, Vec<(String, String)>>,
}

impl Typed {
    pub(super) fn new(secrets: Option<Secrets>) -> Self {
        Self { secrets, originals: HashMap::new() }
    }

    /// The job with its secrets masked.
    pub(super) fn masked(&mut self, job: StoreJob) -> StoreJob {
        let Some(secrets) = self.secrets.clone() else { return job };
        let mask = |text: &str| secrets.mask(&redact(text, KIND), KIND).into_owned();
        match job {
            StoreJob::AddHistory(text) => StoreJob::AddHistory(mask(&text)),
            StoreJob::SaveDraft { session, cwd, text } => {
                let masked = mask(&text);
                self.remember((false, session.clone(), cwd.clone()), vec![(masked.clone(), text)]);
                StoreJob::SaveDraft { session, cwd, text: masked }
            }
            StoreJob::SaveQueue { session, cwd, prompts } => {
                let masked: Vec<String> = prompts.iter().map(|prompt| mask(&prompt.text)).collect();
                let pairs = masked.iter().cloned().zip(prompts.iter().map(|prompt| prompt.text.clone()));
                self.remember((true, session.clone(), cwd.clone()), pairs.collect());
                let put = |(prompt, text): (Arc<QueuedPrompt>, String)| {
                    let is_plain = prompt.text == text;
                    if is_plain { prompt } else { Arc::new(QueuedPrompt { text, images: prompt.images.clone() }) }
                };
                StoreJob::SaveQueue { session, cwd, prompts: prompts.into_iter().zip(masked).map(put).collect() }
            }
            job => job,
        }
    }

    fn remember(&mut self, owner: Owner, mut pairs: Vec<(String, String)>) {
        pairs.retain(|(masked, typed)| masked != typed);
        if pairs.is_empty() { drop(self.originals.remove(&owner)) } else { drop(self.originals.insert(owner, pairs)) }
    }

    /// What was kept, as it was typed where this program typed it.
    pub(super) fn as_typed(&self, mut reply: StoreReply) -> StoreReply {
        let put_back = |text: &mut String| {
            if let Some((_, typed)) = self.originals.values().flatten().find(|(masked, _)| masked == text) {
                text.clone_from(typed);
            }
        };
        match &mut reply {
            StoreReply::Draft { text, .. } => put_back(text),
            StoreReply::Queue { prompts, .. } => prompts.iter_mut().for_each(|prompt| put_back(&mut prompt.text)),
            _ => {}
        }
        reply
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(cwd: &str, text: &str) -> StoreJob {
        StoreJob::SaveDraft { session: None, cwd: cwd.into(), text: text.into() }
    }

    #[test]
    fn what_is_typed_is_kept_without_secrets_and_comes_back_as_typed() {
        let secrets = Secrets::default();
        secrets.learn(["correct-horse-9".to_owned()]);
        let mut typed = Typed::new(Some(secrets.clone()));
        let StoreJob::SaveDraft { text: kept, .. } = typed.masked(draft("/a", "use correct-horse-9")) else {
            panic!("a draft")
        };
        assert!(kept.starts_with("use «redacted:") && !kept.contains("horse"), "{kept}");
        let back = |typed: &Typed, text: &str| typed.as_typed(StoreReply::Draft { session: None, text: text.into() });
        assert_eq!(back(&typed, &kept), StoreReply::Draft { session: None, text: "use correct-horse-9".into() });
        assert_eq!(typed.masked(draft("/a", "plain")), draft("/a", "plain"));
        assert!(typed.originals.is_empty(), "the draft is another one now");
        assert_eq!(back(&typed, &kept), StoreReply::Draft { session: None, text: kept.clone() });

        let prompt = |text: &str| Arc::new(QueuedPrompt { text: text.into(), images: Vec::new() });
        let prompts = vec![prompt("one"), prompt("ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4")];
        let job = typed.masked(StoreJob::SaveQueue { session: None, cwd: "/a".into(), prompts });
        let StoreJob::SaveQueue { prompts, .. } = job else { panic!("a queue") };
        assert!(prompts[0].text == "one" && prompts[1].text.contains("«redacted:"), "{prompts:?}");
        let prompts = prompts.iter().map(|prompt| QueuedPrompt::clone(prompt)).collect();
        let StoreReply::Queue { prompts, .. } = typed.as_typed(StoreReply::Queue { session: None, prompts }) else {
            panic!("a queue")
        };
        assert!(prompts[1].text.starts_with("ghp_"), "{prompts:?}");
        let StoreJob::AddHistory(text) = typed.masked(StoreJob::AddHistory("correct-horse-9".into())) else {
            panic!("history")
        };
        assert!(!text.contains("horse"), "{text}");
        let job = Typed::new(None).masked(draft("/a", "use correct-horse-9"));
        assert_eq!(job, draft("/a", "use correct-horse-9"), "masks are off");
    }
}

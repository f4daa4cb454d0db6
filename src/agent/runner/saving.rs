//! What the session keeps: entries that the disk refused, small facts, the streamed answer; all without known secrets.

use super::Runner;
use crate::agent::stream_redactor::StreamRedactor;
use crate::protocol::{Level, SessionId};

impl Runner {
    /// Tries once more to save what the disk refused; for when the session is left, or read again from the store. Whether
    /// all is saved.
    pub(super) async fn save_rest(&mut self) -> bool {
        if self.session.unsaved.is_empty() {
            return true;
        }
        self.create_once().await;
        let items = self.session.unsaved.clone();
        match self.deps.store.append(&self.session.id, items).await {
            Ok(_) => self.session.unsaved.clear(),
            Err(error) => {
                let count = self.session.unsaved.len();
                tracing::error!("could not save {count} items of session {}: {error}", self.session.id);
            }
        }
        self.session.unsaved.is_empty()
    }

    /// Tells once what keeps the session from being saved.
    pub(super) async fn not_saved(&mut self, why: String) {
        if self.trouble.as_ref() != Some(&why) {
            self.notice(Level::Error, format!("this session is not saved: {why}")).await;
            self.trouble = Some(why);
        }
    }

    /// Tells when the store's state changed: a full disk, or room again.
    pub(super) async fn tell_trouble(&mut self) {
        let now = self.deps.store.trouble();
        match (&self.trouble, &now) {
            (before, Some(text)) if before.as_ref() != Some(text) => self.notice(Level::Error, text.clone()).await,
            (Some(_), None) => self.notice(Level::Info, "saving sessions again").await,
            (_, _) => {}
        }
        self.trouble = now;
    }

    /// Keeps a small fact of the session (plan, grants), without the values that are secrets.
    pub(super) async fn keep(&mut self, key: &str, mut value: serde_json::Value) {
        self.mask_value(&mut value);
        self.create_once().await;
        let id: SessionId = self.session.id.clone();
        if let Err(error) = self.deps.store.set_meta(&id, key, value).await {
            tracing::warn!("could not save session fact {key}: {error}");
        }
    }

    /// Where the shell stands now is where a resumed session goes on.
    pub(super) async fn keep_folder(&mut self) {
        let folder = self.session.info().cwd;
        if self.session.stored_cwd != folder && self.session.created {
            let id = self.session.id.clone();
            // The row is found again in the folder of this machine that it was begun in.
            let kept = match self.deps.backends.current() {
                Some(_) => self.deps.store.set_meta(&id, super::place::FOLDER, folder.clone().into()).await,
                None => self.deps.store.set_cwd(&id, &folder).await,
            };
            match kept {
                Ok(()) => self.session.stored_cwd = folder,
                Err(error) => tracing::warn!("could not save the session's folder: {error}"),
            }
        }
    }

    /// Power may go after a turn; the log says when the disk did not take it.
    pub(super) async fn sync(&self) {
        if let Err(error) = self.deps.store.sync().await {
            tracing::warn!("could not sync the store: {error}");
        }
    }

    /// Saves what was streamed so far.
    pub(super) fn save_stream(&mut self) {
        let Some(call) = &self.call else { return };
        // What is held back may be the beginning of a secret.
        let sure = |text: &str, redactor: &StreamRedactor| text[..text.len() - redactor.held()].to_owned();
        let (text, reasoning) =
            (sure(&call.text, &call.redactors.text), sure(&call.reasoning, &call.redactors.reasoning));
        let (text, reasoning) = (self.masked(&text), self.masked(&reasoning));
        self.deps.store.streamed(&self.session.id, self.session.turn, &text, &reasoning);
        if let Some(call) = &mut self.call {
            call.save_at = None;
        }
    }

    /// Masks known secrets in every text of a value.
    fn mask_value(&self, value: &mut serde_json::Value) {
        match value {
            serde_json::Value::String(text) => *text = self.masked(text),
            serde_json::Value::Array(all) => all.iter_mut().for_each(|value| self.mask_value(value)),
            serde_json::Value::Object(fields) => fields.values_mut().for_each(|value| self.mask_value(value)),
            _ => {}
        }
    }

    /// `text` without the values that are known to be secrets.
    pub(super) fn masked(&self, text: &str) -> String {
        if self.deps.loaded.config.security.redact_secrets {
            crate::agent::secrets::masked(text, self.deps.dispatch.secrets())
        } else {
            text.to_owned()
        }
    }
}

//! What is stored with the open session and told of it: its row, title and model, and the configuration read again.

use super::Runner;
use super::channels::ModelAnswer;
use crate::lock::lock;
use crate::protocol::{AgentEvent, Item, Level, Mode};
use std::path::PathBuf;
use std::sync::Arc;

/// Characters of a title made from the first prompt.
const TITLE: usize = 60;

/// Up to the first sign that ends a sentence: one with a blank behind it, or the last. `a.txt` holds none.
fn first_sentence(line: &str) -> &str {
    let ends = line.match_indices(['.', '?', '!']).map(|(at, _)| at + 1);
    let end = ends.into_iter().find(|at| line[*at..].chars().next().is_none_or(char::is_whitespace));
    end.map_or(line, |end| &line[..end])
}

impl Runner {
    /// Tells the screen that a session is open.
    pub(super) async fn opened(&mut self, items: Vec<Item>) {
        self.ask_window();
        self.name_session();
        let session = self.session.info();
        self.out.send(AgentEvent::SessionOpened { session, items }).await;
        // The screen begins without a plan.
        let plan = crate::tools::spec::AgentPort::plan(&*self.handle);
        if !plan.is_empty() {
            self.out.send(AgentEvent::PlanChanged(plan)).await;
        }
        let meter = self.session.meter();
        self.out.send(AgentEvent::UsageChanged(meter)).await;
    }

    /// Asks for the window and the price of the chosen model, in the background: its server on this machine, or, where a
    /// person sits at the screen, the provider's list once a day.
    pub(super) fn ask_window(&mut self) {
        let refreshes = self.spec.answers.is_person();
        let (models, choice, answers) =
            (self.deps.models.clone(), self.session.choice.clone(), self.answers.tx.clone());
        let asking = tokio::spawn(async move {
            let mut known = models.asked(choice.as_deref()).await;
            if known.is_none() && refreshes {
                known = models.refreshed(choice.as_deref()).await;
            }
            if let Some(provider) = known {
                // The session may be over.
                let _ = answers.send(ModelAnswer { choice, provider }).await;
            }
        });
        // The model before it is no longer of interest.
        if let Some(before) = self.asking.replace(asking) {
            before.abort();
        }
    }

    /// The answer to [`Self::ask_window`].
    pub(super) async fn answered(&mut self, ModelAnswer { choice, provider }: ModelAnswer) {
        self.session.learned(choice, provider);
        self.out.send(AgentEvent::SessionChanged(self.session.info())).await;
        let meter = self.session.meter();
        self.out.send(AgentEvent::UsageChanged(meter)).await;
    }

    /// Writes the session's row before its first item.
    pub(super) async fn create_once(&mut self) {
        if self.session.created {
            return;
        }
        self.session.created = true;
        let new = crate::store::NewSession {
            id: self.session.id.clone(),
            cwd: match self.deps.backends.current() {
                Some(_) => self.spec.cwd.display().to_string(),
                None => self.session.info().cwd,
            },
            model: self.session.model_name(),
            source: self.spec.origin.to_owned(),
            started_at: crate::agent::now(),
        };
        if let Err(error) = self.deps.store.create(new).await {
            // The item that comes next says whether it is saved. Tried again with each: the row knows the folder.
            tracing::warn!("could not begin the session: {error}");
            self.session.created = false;
            return;
        }
        if let Some(parent) = self.spec.parent.as_ref().filter(|_| self.spec.child.is_some())
            && let Err(error) = self.deps.store.adopt(&self.session.id, parent).await
        {
            tracing::warn!("could not note whose child the session is: {error}");
        }
        if let Some(title) = self.session.title.clone() {
            self.set_title(title).await;
        }
        if self.session.mode == Mode::Plan {
            Box::pin(self.keep(super::policy::PLANS, true.into())).await;
        }
        // A fresh session goes on where the one before it worked.
        let kind = self.deps.backends.kind();
        if kind != self.deps.backends.configured() {
            let id = self.session.id.clone();
            if let Err(error) = self.deps.store.set_meta(&id, super::place::BACKEND, kind.into()).await {
                tracing::warn!("could not save the session's backend: {error}");
            }
        }
    }

    /// Chooses the model of the next step.
    pub(super) async fn set_model(&mut self, choice: String) {
        let before = self.session.choice.replace(choice);
        match self.session.provider(&self.deps.models, 0) {
            Ok(_) => {
                self.session.correction.forget();
                self.look_up();
                self.ask_window();
                let (id, model) = (self.session.id.clone(), self.session.model_name());
                if self.session.created
                    && let Err(error) = self.deps.store.set_model(&id, &model).await
                {
                    tracing::warn!("could not save the session's model: {error}");
                }
                self.out.send(AgentEvent::SessionChanged(self.session.info())).await;
                let meter = self.session.meter();
                self.out.send(AgentEvent::UsageChanged(meter)).await;
            }
            Err(error) => {
                self.session.choice = before;
                self.notice(Level::Error, error.to_string()).await;
            }
        }
    }

    /// Names the session.
    pub(super) async fn set_title(&mut self, title: String) {
        self.session.title = Some(title.clone());
        if self.session.created {
            let id = self.session.id.clone();
            match self.deps.store.set_title(&id, &title).await {
                Ok(kept) => self.session.title = kept,
                Err(error) => self.notice(Level::Warning, format!("could not save the title: {error}")).await,
            }
        }
        self.name_session();
        self.out.send(AgentEvent::SessionChanged(self.session.info())).await;
    }

    /// A title from the first prompt, until somebody gives a better one.
    pub(super) async fn title_from(&mut self, prompt: &str) {
        // A key in a prompt is none of a title's business.
        let prompt = crate::policy::redact::redact(prompt, crate::policy::redact::RedactKind::Default);
        let line = prompt.lines().map(str::trim).find(|l| !l.is_empty()).unwrap_or_default();
        let line = first_sentence(line).trim_end_matches(['.', '!']);
        let mut title: String = line.chars().take(TITLE).collect();
        if line.chars().count() > TITLE {
            title.push('…');
        }
        if !title.is_empty() {
            self.session.title = Some(title);
            self.name_session();
            self.out.send(AgentEvent::SessionChanged(self.session.info())).await;
        }
    }

    /// The folder that the session works in now.
    fn folder(&self) -> PathBuf {
        lock(&self.session.cwd).clone()
    }

    /// Learns the secrets of the project again when a file of them changed.
    pub(super) async fn learn_secrets(&mut self) {
        let (cwd, mut project) = (self.folder(), std::mem::take(&mut self.session.project));
        let (loaded, paths) = (Arc::clone(&self.deps.loaded), self.deps.paths.clone());
        let secrets = self.deps.dispatch.secrets().clone();
        let look = move || {
            if let Some(news) = project.news(&cwd) {
                secrets.learn(crate::agent::secrets::values(&loaded, &paths).into_iter().chain(news));
            }
            project
        };
        if let Ok(project) = tokio::task::spawn_blocking(look).await {
            self.session.project = project;
        }
    }

    /// A session that is not kept goes from the store when it is closed. Killed before, it is found like any other.
    pub(super) async fn forget(&mut self) {
        if !self.spec.forgets {
            return;
        }
        // Without a prompt nothing of it was stored.
        if let Err(error) = self.deps.store.delete(&self.session.id).await {
            self.notice(crate::protocol::Level::Warning, format!("this session could not be deleted: {error}")).await;
        }
    }

    /// Reads the configuration again (a key was pasted, a setting changed). Not while somebody else's change of the policy
    /// waits for the person: nothing of it comes along.
    pub(super) async fn reload(&mut self) {
        if !self.read_again(String::new()).await {
            self.show_again("not reloaded: the policy changed on disk").await;
        }
    }

    /// Reads the configuration, when the files of the policy are as they were shown (empty: as the session knows them).
    pub(super) async fn read_again(&mut self, shown: String) -> bool {
        let (sources, policy) = (Arc::clone(&self.deps.sources), Arc::clone(&self.deps.policy));
        let (secrets, paths) = (self.deps.dispatch.secrets().clone(), self.deps.paths.clone());
        let cwd = self.folder();
        let read = move || {
            let loaded = policy.read_as(&shown, || crate::config::load::load(&sources))?;
            let project = crate::agent::secrets::of_project(&cwd);
            secrets.learn(crate::agent::secrets::values(&loaded, &paths).into_iter().chain(project));
            Some(loaded)
        };
        let Ok(Some(loaded)) = tokio::task::spawn_blocking(read).await else { return false };
        let loaded = Arc::new(loaded);
        self.deps.models = self.deps.models.reloaded(Arc::clone(&loaded));
        self.handle.calls_models(&self.deps.models);
        self.gate.set_rules(super::rules(&loaded, self.deps.backends.kind(), &self.spec.surface));
        self.deps.exec.ask_person(loaded.config.terminal.on_input == crate::config::OnInput::AskUser);
        self.deps.exec.mask_notices(loaded.config.security.redact_secrets);
        self.deps.loaded = Arc::clone(&loaded);
        self.deps.extensions.reload(Some(loaded)).await;
        self.turn.set_limits(self.limits());
        self.session.disconnect();
        self.look_up();
        self.policy_read().await;
        self.ask_window();
        self.show_budget().await;
        self.out.send(AgentEvent::SessionChanged(self.session.info())).await;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::first_sentence;

    #[test]
    fn a_title_is_the_first_sentence() {
        for (line, sentence) in [
            ("Read long.txt, and explain it. Then go on", "Read long.txt, and explain it."),
            ("echo hi > ../other/f.txt", "echo hi > ../other/f.txt"),
            ("Why? Because.", "Why?"),
            ("bump to 1.2.3", "bump to 1.2.3"),
            ("", ""),
        ] {
            assert_eq!(first_sentence(line), sentence);
        }
    }
}

//! What a request is made of: prompt and tools, once a session; the situation, once a turn; and its bound.

use super::Runner;
use super::compaction::Then;
use crate::agent::situation::{self, Situation};
use crate::context::context_files::ContextFile;
use crate::context::layers::{self, Budget};
use crate::context::prompt;
use crate::lock::lock;
use crate::protocol::{Body, ContextLayer, Layer, Level, Mode, NoteKind};
use crate::text::format::{count, plural};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// Percent of the window from which on a person is warned.
const NEARLY_FULL: u64 = 85;
/// How long a repository's state is taken for known while nothing runs.
const GIT_FRESH: Duration = Duration::from_secs(2);
/// What helps when a conversation does not fit.
const REMEDY: &str = "compact the conversation (/compact), start a new session (/new), rewind this one (/rewind), or choose a model with a larger window (/model)";

/// That a context file is not in the prompt, and why.
fn left_out(file: ContextFile) -> Option<String> {
    let why = file.problem.filter(|why| !why.starts_with("cut"))?;
    let what = if why.starts_with("blocked") {
        ". It looks like a prompt injection: check it before you continue"
    } else {
        ""
    };
    Some(format!("{} is not in the prompt: {why}{what}", file.path.display()))
}

/// `main, 3 changed files`.
pub(super) fn status(branch: &str, dirty: usize) -> String {
    match dirty {
        0 => format!("{branch}, clean"),
        1 => format!("{branch}, 1 changed file"),
        n => format!("{branch}, {n} changed files"),
    }
}

/// The name of the session's fact.
pub(super) const LAYERS: &str = "layers";

/// That layers of the prompt are cut; `None`: none is.
fn cut_layers(layers: &[ContextLayer]) -> Option<String> {
    let cut = layers
        .iter()
        .filter(|layer| layer.is_cut())
        .map(|layer| format!("{} ({} of {} tokens)", layer.layer.word(), count(layer.tokens), count(layer.whole)));
    let cut: Vec<String> = cut.collect();
    (!cut.is_empty())
        .then(|| format!("not all of it fits into the prompt: {}; /context shows the layers", cut.join(", ")))
}

impl Runner {
    /// Asks for the repository's state in a task; dropping the handle lets it end by itself. What was known a moment ago,
    /// before anything ran that may have changed it, is not asked for again.
    pub(super) fn repository(&self) -> JoinHandle<Option<(String, usize)>> {
        let cwd = lock(&self.session.cwd).clone();
        if let Some((_, git)) = self.git.as_ref().filter(|(since, _)| since.elapsed() < GIT_FRESH) {
            return tokio::spawn(std::future::ready(Some(git.clone())));
        }
        // A repository of this machine says nothing of another one.
        let here = self.deps.backends.current().is_none();
        let asked = async move {
            if !here {
                return None;
            }
            tokio::time::timeout(Self::GIT_PATIENCE, situation::git(&cwd)).await.ok().flatten()
        };
        tokio::spawn(asked)
    }

    /// What changed since the last turn, for the newest message.
    pub(super) async fn situation(&mut self, git: JoinHandle<Option<(String, usize)>>) -> String {
        let cwd = lock(&self.session.cwd).clone();
        // A task that was ended with the runtime knows as little as one that found no repository.
        let git = git.await.ok().flatten();
        if self.git.as_ref().is_none_or(|(since, _)| since.elapsed() >= GIT_FRESH) {
            self.git = git.clone().map(|git| (Instant::now(), git));
        }
        self.keep_branch(git.as_ref().map(|(branch, _)| branch.as_str())).await;
        let processes = self.deps.exec.running();
        let plan = crate::tools::spec::AgentPort::plan(&*self.handle);
        let tools = self.tools_changed();
        let text = situation::describe(&Situation {
            cwd: &cwd.display().to_string(),
            brief: self.is_small(),
            added: self.deps.world.border().iter().skip(1).map(|folder| folder.display().to_string()).collect(),
            git: git.map(|(branch, dirty)| status(&branch, dirty)),
            mode: Some(self.session.mode).filter(|mode| *mode == Mode::Plan),
            place: self.deps.backends.current().map(|there| there.label().to_owned()),
            processes: &processes,
            plan: &plan,
            tools: tools.as_deref(),
        });
        let most = Budget::of(&self.deps.loaded.config.context, self.session.window).most(Layer::Runtime);
        layers::cut(&text, most.unwrap_or(u64::MAX), Layer::Runtime.word(), "")
    }

    /// Searches find the session by the branch that it worked on last.
    pub(super) async fn keep_branch(&mut self, branch: Option<&str>) {
        let Some(branch) = branch.filter(|branch| self.session.branch.as_deref() != Some(branch)) else { return };
        self.session.branch = Some(branch.to_owned());
        self.create_once().await;
        if let Err(error) = self.deps.store.set_branch(&self.session.id, branch).await {
            tracing::warn!("could not save the session's branch: {error}");
        }
    }

    /// Whether the model is asked for little at a time.
    pub(super) fn is_small(&self) -> bool {
        self.session.profile.is_some_and(|profile| profile.small)
    }

    /// Whether scripts of the model may call tools of servers, where that is said of it.
    pub(super) fn code_mode(&self) -> Option<bool> {
        self.session.profile.and_then(|profile| profile.code_mode)
    }

    /// Builds the prompt and the tool list once a session; afterwards their bytes never change.
    pub(super) async fn prepare_prompt(&mut self) {
        let profile = self.deps.models.profile(self.session.choice.as_deref());
        let before = self.session.profile.replace(profile);
        if before.is_some_and(|before| before.small != profile.small) {
            self.session.tools_are_old = true;
            self.session.prompt = "".into();
        }
        self.session.tools_are_old |= before.is_some_and(|before| before.code_mode != profile.code_mode);
        // It was tested since: its connection was made for a model that nobody knew.
        if self.session.is_guided() != profile.guided {
            self.session.disconnect();
            self.ask_window();
        }
        self.turn.set_limits(self.limits());
        if self.session.tools.is_empty() || std::mem::take(&mut self.session.tools_are_old) {
            self.offer_tools().await;
        }
        if self.session.prompt.is_empty() {
            let here = self.deps.backends.current().is_none();
            let cwd = if here { lock(&self.session.cwd).clone() } else { self.spec.cwd.clone() };
            let (loaded, paths) = (Arc::clone(&self.deps.loaded), self.deps.paths.clone());
            let window = self.session.window;
            let plugins = self.deps.extensions.prompt().join("\n\n");
            let extra = [self.spec.skills.join("\n\n"), plugins, self.spec.instructions.clone()];
            let extra = extra.map(|part| part.trim().to_owned()).into_iter().filter(|part| !part.is_empty());
            let extra = extra.collect::<Vec<_>>().join("\n\n");
            let built = tokio::task::spawn_blocking(move || {
                let knowledge = crate::context::Knowledge::read(&paths, &loaded.config, &cwd);
                let today = chrono::Local::now().date_naive();
                let machine = prompt::Environment::of_machine(&cwd, loaded.env("SHELL"), today);
                let prompt = if profile.small {
                    prompt::assemble_small(&knowledge, &machine, &extra)
                } else {
                    prompt::assemble(&knowledge, &machine, &extra, &Budget::of(&loaded.config.context, window))
                };
                let left_out = knowledge.context.files.into_iter().filter_map(left_out).collect::<Vec<_>>();
                (prompt, left_out)
            })
            .await;
            match built {
                Ok((prompt, left_out)) => {
                    self.session.prompt = self.masked(&prompt.text).into();
                    if !profile.small
                        && let Some(text) = cut_layers(&prompt.layers)
                    {
                        self.notice(Level::Warning, text).await;
                    }
                    self.keep(LAYERS, serde_json::json!(prompt.layers)).await;
                    self.session.layers = prompt.layers;
                    for text in left_out {
                        self.notice(Level::Warning, text).await;
                    }
                }
                Err(error) => self.notice(Level::Error, format!("could not build the system prompt: {error}")).await,
            }
            self.create_once().await;
            let (id, prompt) = (self.session.id.clone(), Arc::clone(&self.session.prompt));
            if let Err(error) = self.deps.store.set_prompt(&id, prompt.to_string()).await {
                tracing::warn!("could not save the system prompt: {error}");
            }
        }
    }

    /// Shrinks old results when the next request, with so many tokens more, would not fit; warns when that is not enough.
    pub(super) async fn bound_context(&mut self, more: u64) {
        if let Some(limit) = self.limit()
            && self.session.filling() + more > limit
        {
            self.compresses();
            // Prompt and tools stay as they are: the items have what is left.
            let fixed = self.session.fixed() + more;
            // What runs now needs its newest results: a summary of what came before goes first.
            let last_resort = !self.can_compact();
            self.prune(limit.saturating_sub(fixed).max(limit / 4), last_resort).await;
        }
        let Some(window) = self.session.window else { return };
        let next = self.session.filling() + more;
        let is_full = next > window / 100 * NEARLY_FULL && next <= window && !self.can_compact();
        if is_full && !std::mem::replace(&mut self.session.warned, true) {
            let text = format!(
                "the conversation fills {} % of the model's window ({next} of {window} tokens); once it is full, nothing more is sent: {REMEDY}",
                next * 100 / window.max(1)
            );
            self.notice(Level::Warning, text).await;
        }
        if next <= window / 100 * NEARLY_FULL {
            self.session.warned = false;
        }
    }

    /// Why the next request, with so many tokens more, is not sent: it cannot fit. `None`: it may.
    pub(super) fn too_large(&self, more: u64) -> Option<String> {
        let window = self.session.window?;
        let next = self.session.filling() + more;
        (next > window).then(|| {
            format!(
                "not sent: the request needs about {next} tokens and the model's window holds {window}. Shorten it, or {REMEDY}"
            )
        })
    }

    /// Whether a prompt with so many tokens is sent although all does not fit: a summary makes room for it.
    pub(super) fn fits_alone(&self, more: u64) -> bool {
        let room = self.session.window.unwrap_or(u64::MAX) / 100 * NEARLY_FULL;
        self.session.fixed() + more <= room && self.can_compact()
    }

    /// Shrinks after the provider said that the request was too large: results first, then a summary is written, whose
    /// end is heard later (`None`).
    pub(super) async fn trim(&mut self) -> Option<bool> {
        let most = self.session.context.estimate().saturating_mul(2) / 3;
        self.compresses();
        self.session.counted = None;
        self.session.forget_reads();
        if self.prune(most, false).await {
            return Some(true);
        }
        if let Some(compacting) = &mut self.compacting {
            compacting.wait(Then::Trim);
            return None;
        }
        let may = self.limit().is_some() && self.session.compactions.may_begin();
        if may && self.compact(String::new(), Then::Trim, false).await {
            return None;
        }
        Some(self.prune(most, true).await)
    }

    /// Shortens tool results and says so in the conversation; false when none was.
    async fn prune(&mut self, limit: u64, last_resort: bool) -> bool {
        let shortened = self.session.context.shortened();
        let (done, before, after) = self.session.reshape(|context| context.prune(limit, last_resort));
        if done {
            self.session.prefix.changed("old results were shortened");
            self.session.forget_reads();
            let more = self.session.context.shortened().saturating_sub(shortened);
            let what =
                if more > 0 { plural(more as u64, "tool result", "tool results") } else { "tool results".into() };
            let text = format!("shortened {what} · {} → {} tokens · /context marks them", count(before), count(after));
            self.append(Body::Note { kind: NoteKind::Info, text }).await;
        }
        done
    }
}

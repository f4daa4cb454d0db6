//! Telling the model what others changed: looked for at each step, where the step would otherwise go on from what is old.

use super::Runner;
use super::forgotten::Forgotten;
use crate::agent::children::Relatives;
use crate::agent::outside::{self, Head, News, Said};
use crate::checkpoints::{Bell, Heard, Listener, Strange};
use crate::lock::lock;
use crate::protocol::{AgentEvent, Body, Item, ItemId, Origin, OutsideFile};
use crate::store::Wrote;
use crate::tools::children::Kin as _;
use crate::tools::file::edit;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a look at the stamps of files may take where nothing watches, and how many are looked at.
const STAMPS_TIME: Duration = Duration::from_millis(40);
const STAMPS: usize = 200;
/// What is waited after something happened between turns, at least.
const PAUSE: Duration = Duration::from_millis(700);
/// Files that go to the sidebar.
const ROWS: usize = 20;
/// Milliseconds that the record of another session's change may be older than the last look: it is written first.
const SLACK: i64 = 60_000;

/// What the session knows of the work of others.
#[derive(Default)]
pub(super) struct Outside {
    listener: Option<Arc<Listener>>,
    /// Files as the session's own calls left them, where nothing watches.
    stamps: HashMap<PathBuf, Option<(u128, u64)>>,
    /// Files that the program put back for the person.
    own: HashSet<PathBuf>,
    head: Option<Head>,
    /// Found before the calls of a step, where nothing tells who did what during them.
    held: Vec<Strange>,
    held_git: Option<String>,
    /// What notes told that were rewound, by their entry.
    pub(super) gone: Vec<(ItemId, Said)>,
    /// The conversation was rewound since the last look.
    rewound: bool,
    /// Rings when something happens in the folder, once it is watched.
    bell: Option<Bell>,
    /// What is waited after it rang: a look may take a twentieth of the time.
    pause: Duration,
    /// It rang, and this is when to look.
    look_at: Option<tokio::time::Instant>,
    /// What the window shows of it between turns.
    shown: (Vec<OutsideFile>, bool),
    /// The time of the last look, in milliseconds since the epoch.
    since: i64,
}

/// Waits until something happened in the folder and a moment has passed. Nothing is looked at before.
pub(super) async fn stirred(outside: &mut Outside) {
    if outside.look_at.is_none() {
        match &outside.bell {
            Some(bell) => bell.rings().await,
            None => std::future::pending().await,
        }
        outside.look_at = Some(tokio::time::Instant::now() + outside.pause.max(PAUSE));
    }
    super::until(outside.look_at).await;
    outside.look_at = None;
}

impl Outside {
    /// The session's number among those that listen to its folder.
    pub(super) fn listener(&self) -> Option<u32> {
        self.listener.as_ref().map(|listener| listener.number())
    }

    /// The program changes these for the session.
    pub(super) fn owns(&mut self, paths: &[PathBuf]) {
        self.own.extend(paths.iter().cloned());
    }

    /// The conversation no longer holds these entries; what they and their calls told is told again where it still holds.
    pub(super) fn forgets(&mut self, items: &[Item]) {
        self.rewound = true;
        for item in items {
            if let Body::User { text, origin: Origin::Program, .. } = &item.body {
                let said = Said::read(text);
                if said != Said::default() {
                    self.gone.push((item.id, said));
                }
            }
        }
    }
}

/// What one look found.
struct Look {
    heard: Heard,
    head: Option<Head>,
    stamps: HashMap<PathBuf, Option<(u128, u64)>>,
    known: HashSet<PathBuf>,
}

impl Runner {
    fn hears(&self) -> bool {
        self.deps.loaded.config.checkpoints.tell_changes
    }

    /// Listens from the first turn on.
    pub(super) async fn begin_to_hear(&mut self) {
        if !self.hears() || self.outside.since > 0 {
            return;
        }
        self.outside.since = crate::agent::now();
        let workspace = Arc::clone(&self.session.workspace);
        let begin = move || (Head::of(workspace.root()), Arc::new(workspace.listen()));
        if let Ok((head, listener)) = tokio::task::spawn_blocking(begin).await {
            (self.outside.head, self.outside.listener) = (head, Some(listener));
        }
    }

    /// `None` where there is nothing to look at, or (`unwatched`) where a watch tells who changes what.
    async fn look(&mut self, unwatched: bool) -> Option<Look> {
        let listener = self.outside.listener.clone()?;
        let files = Arc::clone(&self.session.files);
        let (mut stamps, root) = (std::mem::take(&mut self.outside.stamps), self.session.workspace.root().to_owned());
        let there = self.deps.backends.current();
        let look = move || {
            if unwatched && there.is_none() && listener.is_watched() {
                return None;
            }
            let mut heard = if there.is_none() { listener.hear() } else { Heard::default() };
            // Most often nothing happened, and what was read needs no look.
            let is_needed = !heard.whole || !heard.files.is_empty();
            let seen = if is_needed { lock(&files).seen.clone() } else { HashMap::new() };
            if !heard.whole && !seen.is_empty() {
                let (until, mut left) = (Instant::now() + STAMPS_TIME, STAMPS);
                let here: Arc<dyn crate::backends::Files> = Arc::new(crate::tools::file::Disk);
                let disk = there.clone().map_or(here, |there| there);
                let now = |path: &std::path::Path| {
                    left = left.checked_sub(1)?;
                    (Instant::now() < until).then(|| edit::stamp(&*disk, path))
                };
                heard.files = outside::compared(&seen, &mut stamps, now);
            }
            // Paths of the watch have no links in them.
            let known = if heard.files.is_empty() { HashSet::new() } else { seen.into_keys().flat_map(both).collect() };
            let head = if there.is_none() { Head::of(&root) } else { None };
            Some(Look { heard, head, stamps, known })
        };
        tokio::task::spawn_blocking(look).await.ok().flatten()
    }

    /// The calls of a step are about to run. Where nothing tells apart who changes what, what changes from now on until they
    /// have ended is taken for theirs.
    pub(super) async fn look_before_calls(&mut self) {
        if !self.hears() {
            return;
        }
        let Some(look) = self.look(true).await else { return };
        self.outside.stamps = look.stamps;
        self.outside.held.extend(look.heard.files);
        if let (Some(now), Some(before)) = (&look.head, &self.outside.head) {
            self.outside.held_git = now.since(before).or(self.outside.held_git.take());
        }
        self.outside.head = look.head;
    }

    /// A turn has ended: from now on the window shows what others change, when they do.
    pub(super) fn watch_between_turns(&mut self) {
        let outside = &mut self.outside;
        outside.shown = Default::default();
        if outside.bell.is_none() {
            outside.bell = outside.listener.as_ref().and_then(|listener| listener.bell());
        }
    }

    /// Something happened in the folder between two turns: the window shows it, and the model is told with the next prompt.
    pub(super) async fn show_outside(&mut self) {
        let Some(listener) = self.outside.listener.clone().filter(|_| self.hears()) else { return };
        if self.deps.backends.current().is_some() {
            return;
        }
        let files = Arc::clone(&self.session.files);
        let look = move || {
            let began = Instant::now();
            let heard = listener.overhear();
            let seen: Vec<PathBuf> =
                if heard.files.is_empty() { Vec::new() } else { lock(&files).seen.keys().cloned().collect() };
            let known: HashSet<PathBuf> = seen.into_iter().flat_map(both).collect();
            (heard, known, began.elapsed())
        };
        let Ok((heard, known, took)) = tokio::task::spawn_blocking(look).await else { return };
        self.outside.pause = took * 20;
        let Heard { mut files, git, .. } = heard;
        files.retain(|file| !self.outside.own.contains(&file.path));
        let wrote =
            self.deps.store.wrote_lately(&self.session.id, self.outside.since - SLACK).await.unwrap_or_default();
        let told = outside::told(files, self.session.workspace.root(), &known, &self.with_kin(wrote));
        let rows: Vec<OutsideFile> = told.iter().take(ROWS).map(outside::Told::row).collect();
        let now = (rows.clone(), git == Some(true));
        // A look at git's state touches its files, too: what is shown already is not shown again.
        if now != self.outside.shown {
            self.outside.shown = now;
            self.out.send(AgentEvent::ChangedOutside(rows)).await;
        }
    }

    /// A relative is called as its row is, and not by the title of its session.
    fn with_kin(&self, mut wrote: Vec<Wrote>) -> Vec<Wrote> {
        let kin = Relatives::all(self.spec.child.as_ref(), self.family.as_ref());
        for one in &mut wrote {
            one.title = kin.called(&one.session).or(one.title.take());
        }
        wrote
    }

    /// Tells what others changed since the last step, in an entry of its own. `after_calls`: calls of the session ran since.
    pub(super) async fn tell_outside(&mut self) {
        if !self.hears() {
            return;
        }
        let Some(look) = self.look(false).await else { return };
        self.outside.stamps = look.stamps;
        let after_calls = std::mem::take(&mut self.calls_ran);
        let mut files = std::mem::take(&mut self.outside.held);
        if look.heard.whole || !after_calls {
            files.extend(look.heard.files);
        }
        let again = std::mem::take(&mut self.outside.rewound);
        let again = if again { self.forgotten().await } else { Forgotten::default() };
        files = outside::joined(again.files, files);
        let own = std::mem::take(&mut self.outside.own);
        files.retain(|file| !own.contains(&file.path));
        let before = std::mem::replace(&mut self.outside.head, look.head.clone());
        let moved = look.head.zip(before).and_then(|(now, before)| now.since(&before));
        let is_strange = look.heard.git.unwrap_or(!after_calls);
        let mut git = self.outside.held_git.take().or(moved.filter(|_| is_strange)).or(again.git);
        let since = std::mem::replace(&mut self.outside.since, crate::agent::now());
        if files.is_empty() && again.changed.is_empty() && look.heard.more == 0 && git.is_none() {
            return;
        }
        if git.is_some() {
            self.git = None;
        }
        if let Some(words) = &mut git
            && let Ok(Some((branch, dirty))) = self.repository().await
        {
            words.push_str(&format!("; git status: {}", super::request::status(&branch, dirty)));
            self.keep_branch(Some(&branch)).await;
        }
        // A store that does not answer knows no author.
        let wrote = self.deps.store.wrote_lately(&self.session.id, since - SLACK).await.unwrap_or_default();
        let (root, wrote) = (self.session.workspace.root(), self.with_kin(wrote));
        let files = outside::told(files, root, &look.known, &wrote);
        let rewound = outside::told(again.changed, root, &look.known, &[]);
        let rows = files.iter().take(ROWS).map(outside::Told::row).collect();
        let news = News { files, more: look.heard.more, git, rewound };
        let Some(text) = news.text() else { return };
        self.append(Body::User {
            text,
            images: Vec::new(),
            context: String::new(),
            origin: Origin::Program,
            gist: news.gist(),
        })
        .await;
        self.out.send(AgentEvent::ChangedOutside(rows)).await;
    }
}

/// A path, and the same without links.
fn both(path: PathBuf) -> Vec<PathBuf> {
    let whole = path.canonicalize().ok().filter(|whole| *whole != path);
    std::iter::once(path).chain(whole).collect()
}

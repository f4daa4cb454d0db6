//! What lies on this machine: lists of all agents, filtered by words and folder. Files are read at their ends only, as many
//! as fit the time of one look; what was seen is remembered, so the next look goes on where the last one ended.

use super::files::Entry;
use super::{Agent, Found, Places, claude, codex, hermes_py, opencode, opencode_files, pi};
use crate::lock::lock;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

/// How long one look reads files.
const LOOK: Duration = Duration::from_millis(120);
/// The same where a session is looked for by its folder.
const LONG_LOOK: Duration = Duration::from_secs(5);
/// Files of a list, the newest.
const REMEMBERED: usize = 50_000;
/// Characters that are kept of a prompt and of a title, and bytes of a folder and of an id.
const WORDS: usize = 400;
const FOLDER: usize = 4096;
const ID: usize = 512;

/// What is looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Words that title, first prompt, folder, id or the agent's name hold; `@codex` narrows it to an agent.
    pub words: String,
    /// Only sessions of this folder.
    pub here: Option<String>,
    pub limit: usize,
}

/// A list, and whether files were left for the next look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    pub found: Vec<Found>,
    pub more: bool,
    /// What could not be read, a line each.
    pub problems: Vec<String>,
}

/// What was seen of a file: when it was changed, its size, and what it is; `None`: no session.
type Seen = (i64, u64, Option<Found>);

/// When the file of a database and its log were changed, and their sizes.
type Stamps = [Option<(Option<SystemTime>, u64)>; 2];

/// What a database answered, and how it was then.
type Asked = (Stamps, Arc<Rows>);

/// What a database holds: sessions, and whether each is one of a person's; all ids.
#[derive(Debug, Default)]
struct Rows {
    all: Vec<(Found, bool)>,
    ids: HashSet<String>,
}

impl Rows {
    fn shown(&self) -> impl Iterator<Item = &Found> {
        self.all.iter().filter(|(_, shown)| *shown).map(|(found, _)| found)
    }
}

/// All sessions of other agents that this machine has.
#[derive(Clone, Debug)]
pub struct Shelf {
    places: Arc<Places>,
    seen: Arc<Mutex<HashMap<PathBuf, Seen>>>,
    asked: Arc<Mutex<HashMap<PathBuf, Asked>>>,
}

impl Shelf {
    pub fn new(places: Places) -> Self {
        Self { places: Arc::new(places), seen: Arc::default(), asked: Arc::default() }
    }

    /// Sessions that fit, newest first. Blocks for some 0.2 s at most.
    pub fn list(&self, wanted: &Wanted) -> Listed {
        self.look(wanted, LOOK)
    }

    fn look(&self, wanted: &Wanted, time: Duration) -> Listed {
        let mut listed = Listed::default();
        let words: Vec<String> = wanted.words.split_whitespace().map(str::to_lowercase).collect();
        let (marks, words): (Vec<String>, Vec<String>) = words.into_iter().partition(|word| word.starts_with('@'));
        let named = |agent: &Agent| {
            marks.iter().all(|mark| mark.len() == 1 || agent.word().starts_with(&mark[1..]) || mark.contains(':'))
        };
        let here = wanted.here.as_deref().map(|here| here.trim_end_matches('/'));
        let fits = |found: &Found| {
            let of_folder = here.is_none_or(|here| found.cwd.trim_end_matches('/') == here);
            of_folder && words.iter().all(|word| holds(found, word))
        };
        let until = Instant::now() + time;
        let (mut files, mut of_databases): (Vec<(Agent, Entry)>, Vec<Found>) = (Vec::new(), Vec::new());
        for agent in Agent::ALL.into_iter().filter(named) {
            let rows = self.databases(agent).unwrap_or_else(|why| {
                listed.problems.push(why);
                Arc::default()
            });
            files.extend(self.entries(agent, &rows).into_iter().map(|entry| (agent, entry)));
            of_databases.extend(rows.shown().filter(|found| fits(found)).cloned());
        }
        of_databases.sort_by_key(|found| std::cmp::Reverse(found.updated_at));
        // The newest are read first, whichever agent's they are.
        files.sort_by_key(|(_, entry)| std::cmp::Reverse(entry.changed_at));
        files.truncate(REMEMBERED);
        self.forget_others(&files);
        for (agent, entry) in files {
            // What is older than a full page is on another one.
            let newer = of_databases.partition_point(|found| found.updated_at > entry.changed_at);
            if newer + listed.found.len() >= wanted.limit {
                break;
            }
            match self.about(agent, &entry, until) {
                Ok(found) => listed.found.extend(found.filter(fits)),
                Err(()) => listed.more = true,
            }
        }
        listed.found.extend(of_databases);
        listed.found.sort_by(|a, b| b.updated_at.cmp(&a.updated_at).then_with(|| b.id.cmp(&a.id)));
        listed.found.truncate(wanted.limit);
        listed
    }

    /// Files that an agent keeps sessions in, a file each; those that its database knows are left out.
    fn entries(&self, agent: Agent, rows: &Rows) -> Vec<Entry> {
        let places = &self.places;
        match agent {
            Agent::Claude => places.claude.iter().flat_map(|folder| claude::entries(folder)).collect(),
            Agent::Codex => places.codex.iter().flat_map(|folder| codex::entries(folder)).collect(),
            Agent::Pi => places.pi.iter().flat_map(|folder| pi::entries(folder)).collect(),
            // The files of the older version stay when it moved them into the database.
            Agent::OpenCode if rows.all.is_empty() => {
                places.opencode.iter().flat_map(|folder| opencode_files::entries(folder)).collect()
            }
            Agent::OpenCode => Vec::new(),
            Agent::HermesPy => {
                let mut entries: Vec<Entry> =
                    places.hermes_py.iter().flat_map(|home| hermes_py::entries(home)).collect();
                entries.retain(|entry| {
                    let id = entry.path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
                    !rows.ids.contains(id)
                });
                entries
            }
        }
    }

    /// What the database of an agent holds. It is asked again when its file or its log has changed.
    fn databases(&self, agent: Agent) -> Result<Arc<Rows>, String> {
        let path = match (agent, &self.places.opencode, &self.places.hermes_py) {
            (Agent::OpenCode, Some(folder), _) => Some(folder.join(opencode::FILE)).filter(|path| path.is_file()),
            (Agent::HermesPy, _, Some(home)) => hermes_py::database(home),
            _ => None,
        };
        let Some(path) = path else { return Ok(Arc::default()) };
        let stamps = ["", "-wal"].map(|ending| {
            let mut name = path.as_os_str().to_owned();
            name.push(ending);
            std::fs::metadata(name).ok().map(|about| (about.modified().ok(), about.len()))
        });
        if let Some((known, rows)) = lock(&self.asked).get(&path)
            && *known == stamps
        {
            return Ok(Arc::clone(rows));
        }
        let rows: Vec<(Found, bool)> = match agent {
            Agent::OpenCode => opencode::list(&path)?.into_iter().map(|found| (found, true)).collect(),
            _ => hermes_py::of_database(&path)?.into_iter().map(|row| (row.found, row.hidden.is_none())).collect(),
        };
        let ids = rows.iter().map(|(found, _)| found.id.clone()).collect();
        let rows = rows.into_iter().filter_map(|(found, shown)| Some((bounded(found)?, shown)));
        let rows = Arc::new(Rows { all: rows.collect(), ids });
        lock(&self.asked).insert(path, (stamps, Arc::clone(&rows)));
        Ok(rows)
    }

    /// Files that are gone make room for those that are there.
    fn forget_others(&self, files: &[(Agent, Entry)]) {
        let mut seen = lock(&self.seen);
        if seen.len() + files.len() > 2 * REMEMBERED {
            let there: HashSet<&PathBuf> = files.iter().map(|(_, entry)| &entry.path).collect();
            seen.retain(|path, _| there.contains(path));
        }
    }

    /// What a file is; an error: nobody has looked yet, and the time is over.
    fn about(&self, agent: Agent, entry: &Entry, until: Instant) -> Result<Option<Found>, ()> {
        if let Some((changed_at, size, found)) = lock(&self.seen).get(&entry.path)
            && (*changed_at, *size) == (entry.changed_at, entry.size)
        {
            return Ok(found.clone());
        }
        if Instant::now() > until {
            return Err(());
        }
        let found = of_file(agent, entry).ok();
        lock(&self.seen).insert(entry.path.clone(), (entry.changed_at, entry.size, found.clone()));
        Ok(found)
    }

    /// How many files were read.
    #[cfg(test)]
    pub(super) fn remembered(&self) -> usize {
        lock(&self.seen).len()
    }

    /// Which answers of databases are at hand.
    #[cfg(test)]
    pub(super) fn answers(&self) -> Vec<usize> {
        lock(&self.asked).values().map(|(_, rows)| Arc::as_ptr(rows).addr()).collect()
    }

    /// The newest session of an agent in this folder.
    pub fn newest(&self, agent: Agent, here: &str) -> Option<Found> {
        let words = format!("@{}", agent.word());
        self.look(&Wanted { words, here: Some(here.to_owned()), limit: 1 }, LONG_LOOK).found.into_iter().next()
    }

    /// The session of this id, or of this start of an id where only one has it. The error says what there is.
    pub fn by_id(&self, agent: Agent, id: &str) -> Result<Found, String> {
        let id = id.trim();
        let mut near: Vec<Found> = Vec::new();
        let rows = self.databases(agent)?;
        for entry in self.entries(agent, &rows) {
            // Names of files hold the ids: none is read that does not fit.
            let name = entry.path.file_stem().unwrap_or_default().to_string_lossy();
            if name.contains(id)
                && let Ok(found) = of_file(agent, &entry)
                && found.id.starts_with(id)
            {
                near.push(found);
            }
        }
        near.extend(rows.shown().filter(|found| found.id.starts_with(id)).cloned());
        if let Some(exact) = near.iter().position(|found| found.id == id) {
            return Ok(near.swap_remove(exact));
        }
        match (near.len(), near.pop()) {
            (1, Some(found)) => Ok(found),
            (0, _) => Err(format!("no session of {} starts with `{id}`", agent.name())),
            (count, _) => Err(format!("{count} sessions of {} start with `{id}`: type more of the id", agent.name())),
        }
    }

    /// The session that a file or a folder of another agent holds; `None`: the file is of another kind.
    pub fn of_path(path: &Path) -> Option<Found> {
        let about = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
        let changed_at = super::files::changed_at(&about);
        let entry = Entry { path: path.to_owned(), changed_at, size: about.len() };
        let first = super::files::ends(path).ok()?.head.into_iter().next()?;
        let agent = match first["type"].as_str().unwrap_or_default() {
            "session" => Agent::Pi,
            "session_meta" => Agent::Codex,
            _ if first["sessionId"].is_string() || first["leafUuid"].is_string() => Agent::Claude,
            "" if first["instructions"].is_string() || !first["git"].is_null() => Agent::Codex,
            _ => return None,
        };
        of_file(agent, &entry).ok()
    }
}

fn of_file(agent: Agent, entry: &Entry) -> Result<Found, String> {
    let found = match agent {
        Agent::Claude => claude::about(entry),
        Agent::Codex => codex::about(entry),
        Agent::Pi => pi::about(entry),
        Agent::OpenCode => opencode_files::about(entry),
        Agent::HermesPy => hermes_py::about(entry),
    };
    found.and_then(|found| bounded(found).ok_or_else(|| format!("{}: its id is too long", entry.path.display())))
}

/// The same with no more of a stranger's words than a list shows; `None`: nothing could name it.
fn bounded(mut found: Found) -> Option<Found> {
    let cut = |text: &mut String, most: usize| {
        if let Some((at, _)) = text.char_indices().nth(most) {
            *text = text[..at].to_owned();
        }
    };
    cut(&mut found.prompt, WORDS);
    cut(&mut found.model, WORDS);
    found.title.iter_mut().for_each(|title| cut(title, WORDS));
    (found.id.len() <= ID && found.cwd.len() <= FOLDER).then_some(found)
}

fn holds(found: &Found, word: &str) -> bool {
    let texts = [found.title.as_deref().unwrap_or_default(), &found.prompt, &found.cwd, &found.id, found.agent.name()];
    texts.iter().any(|text| text.to_lowercase().contains(word))
}

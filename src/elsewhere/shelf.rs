//! What lies on this machine: lists of all agents, filtered by words and folder. Files are read at their ends only, as many
//! as fit the time of one look; what was seen is remembered, so the next look goes on where the last one ended.

use super::files::Entry;
use super::{Agent, Found, Places, claude, codex, hermes_py, opencode, opencode_files, pi};
use crate::lock::lock;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long one look reads files.
const LOOK: Duration = Duration::from_millis(120);
/// The same where a session is looked for by its folder.
const LONG_LOOK: Duration = Duration::from_secs(5);
/// Files that are remembered.
const REMEMBERED: usize = 100_000;

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

/// All sessions of other agents that this machine has.
#[derive(Clone, Debug)]
pub struct Shelf {
    places: Arc<Places>,
    seen: Arc<Mutex<HashMap<PathBuf, Seen>>>,
}

impl Shelf {
    pub fn new(places: Places) -> Self {
        Self { places: Arc::new(places), seen: Arc::default() }
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
        let until = Instant::now() + time;
        let mut files: Vec<(Agent, Entry)> = Vec::new();
        for agent in Agent::ALL.into_iter().filter(named) {
            files.extend(self.entries(agent).into_iter().map(|entry| (agent, entry)));
            match self.databases(agent) {
                Ok(found) => listed.found.extend(found),
                Err(why) => listed.problems.push(why),
            }
        }
        // The newest are read first, whichever agent's they are.
        files.sort_by_key(|(_, entry)| std::cmp::Reverse(entry.changed_at));
        for (agent, entry) in files {
            match self.about(agent, &entry, until) {
                Ok(found) => listed.found.extend(found),
                Err(()) => listed.more = true,
            }
        }
        let here = wanted.here.as_deref().map(|here| here.trim_end_matches('/'));
        listed.found.retain(|found| {
            let of_folder = here.is_none_or(|here| found.cwd.trim_end_matches('/') == here);
            of_folder && words.iter().all(|word| holds(found, word))
        });
        listed.found.sort_by(|a, b| b.updated_at.cmp(&a.updated_at).then_with(|| b.id.cmp(&a.id)));
        listed.found.truncate(wanted.limit);
        listed
    }

    fn entries(&self, agent: Agent) -> Vec<Entry> {
        let places = &self.places;
        match agent {
            Agent::Claude => places.claude.iter().flat_map(|folder| claude::entries(folder)).collect(),
            Agent::Codex => places.codex.iter().flat_map(|folder| codex::entries(folder)).collect(),
            Agent::Pi => places.pi.iter().flat_map(|folder| pi::entries(folder)).collect(),
            Agent::OpenCode | Agent::HermesPy => Vec::new(),
        }
    }

    fn databases(&self, agent: Agent) -> Result<Vec<Found>, String> {
        match (agent, &self.places.opencode, &self.places.hermes_py) {
            (Agent::OpenCode, Some(folder), _) => {
                let found = opencode::list(folder)?;
                // The files of the older version stay when it moved them into the database.
                Ok(if found.is_empty() { opencode_files::list(folder, 5_000) } else { found })
            }
            (Agent::HermesPy, _, Some(home)) => {
                let rows = hermes_py::list(home)?;
                Ok(rows.into_iter().filter(|row| row.hidden.is_none()).map(|row| row.found).collect())
            }
            _ => Ok(Vec::new()),
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
        let mut seen = lock(&self.seen);
        if seen.len() < REMEMBERED {
            seen.insert(entry.path.clone(), (entry.changed_at, entry.size, found.clone()));
        }
        Ok(found)
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
        for entry in self.entries(agent) {
            // Names of files hold the ids: none is read that does not fit.
            let name = entry.path.file_stem().unwrap_or_default().to_string_lossy();
            if name.contains(id)
                && let Ok(found) = of_file(agent, &entry)
                && found.id.starts_with(id)
            {
                near.push(found);
            }
        }
        near.extend(self.databases(agent)?.into_iter().filter(|found| found.id.starts_with(id)));
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
    match agent {
        Agent::Claude => claude::about(entry),
        Agent::Codex => codex::about(entry),
        Agent::Pi => pi::about(entry),
        Agent::OpenCode | Agent::HermesPy => Err("not a file".to_owned()),
    }
}

fn holds(found: &Found, word: &str) -> bool {
    let texts = [found.title.as_deref().unwrap_or_default(), &found.prompt, &found.cwd, &found.id, found.agent.name()];
    texts.iter().any(|text| text.to_lowercase().contains(word))
}

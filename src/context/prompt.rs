//! The system prompt: assembled once a session, the same bytes for the same parts, so that provider caches hit.

use super::layers::{self, Assembled, Budget, Piece};
use super::{Knowledge, skills};
use crate::protocol::{ContextLayer, Layer};
use crate::text::tokens;
use chrono::NaiveDate;
use std::path::{Path, PathBuf};

/// Where the session runs; what does not change while it lasts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// `Debian GNU/Linux 13 (x86_64)`.
    pub system: String,
    /// `bash`; empty when unknown.
    pub shell: String,
    pub home: Option<PathBuf>,
    pub cwd: PathBuf,
    /// By day, so that the prefix stays cacheable.
    pub date: NaiveDate,
}

impl Environment {
    /// What this machine says, for a working folder and a day. `shell`: the value of `SHELL`.
    pub fn of_machine(cwd: &Path, shell: Option<&str>, date: NaiveDate) -> Self {
        let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
        let pretty = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
        let name = pretty.map_or_else(|| std::env::consts::OS.to_owned(), |name| name.trim_matches('"').to_owned());
        let shell = shell.and_then(|shell| shell.rsplit('/').next()).unwrap_or_default().to_owned();
        let home = crate::environment::user_home();
        Self { system: format!("{name} ({})", std::env::consts::ARCH), shell, home, cwd: cwd.to_path_buf(), date }
    }

    fn text(&self) -> String {
        let mut lines = vec!["# Environment".to_owned(), format!("System: {}", self.system)];
        if !self.shell.is_empty() {
            lines.push(format!("Shell: {}", self.shell));
        }
        if let Some(home) = &self.home {
            lines.push(format!("Home: {}", home.display()));
        }
        lines.push(format!("Working directory: {}", self.cwd.display()));
        lines.push(format!("Conversation started: {}", self.date.format("%A, %B %d, %Y")));
        lines.join("\n")
    }
}

/// The prompt in layers: identity (or `SOUL.md`) with the working rules, context files, skills, profile, notes; last what
/// differs most from session to session, the environment and what else was given (`extra`). Parts with nothing in them leave
/// no trace.
pub fn assemble(knowledge: &Knowledge, environment: &Environment, extra: &str, budget: &Budget) -> Assembled {
    let rules = include_str!("../../assets/prompts/rules.md").trim();
    let place = environment.text();
    let identity = match &knowledge.soul {
        Some(soul) => {
            // Rules and environment are never cut.
            let fixed = tokens::of(rules.len() + place.len() + extra.len());
            let most = budget.most(Layer::Identity).unwrap_or(u64::MAX).saturating_sub(fixed);
            layers::cut(soul, most, "SOUL.md", &knowledge.soul_file.display().to_string())
        }
        None => include_str!("../../assets/prompts/identity.md").trim().to_owned(),
    };
    let left_out = knowledge.soul.as_ref().map_or(0, |soul| tokens::of(soul.len().saturating_sub(identity.len())));
    let context = match knowledge.context.text.trim_end() {
        "" => String::new(),
        text => format!("{}\n\n{text}", include_str!("../../assets/prompts/context.md").trim()),
    };
    let files = knowledge.context.files.iter().map(|file| file.path.display().to_string()).collect::<Vec<_>>();
    let memory = |name: &str| knowledge.memories.join(name).display().to_string();
    let folders = skills::folders(&knowledge.skills).join(", ");
    let piece = |layer, text, rest: String| Piece { layer, what: Layer::word(layer).to_owned(), text, rest };
    let pieces = vec![
        piece(Layer::Identity, format!("{identity}\n\n{rules}"), String::new()),
        piece(Layer::Project, context, files.join(", ")),
        piece(Layer::Skills, skills::index(&knowledge.skills), folders),
        piece(Layer::Profile, knowledge.profile.block(), memory("USER.md")),
        piece(Layer::Memory, knowledge.notes.block(), memory("MEMORY.md")),
        piece(Layer::Identity, place, String::new()),
        piece(Layer::Identity, extra.trim().to_owned(), String::new()),
    ];
    let mut fitted = layers::fit(pieces, budget);
    if let Some(identity) = fitted.layers.iter_mut().find(|layer| layer.layer == Layer::Identity) {
        identity.whole += left_out;
    }
    fitted
}

/// Characters of the project's context files, and of notes and profile each, for a small model.
const SMALL_CONTEXT: usize = 1_600;
const SMALL_NOTES: usize = 600;

/// The prompt for a small model: few rules, what fits of context files, notes and profile, no skills, and no path of the
/// folder: what it sees it writes.
pub fn assemble_small(knowledge: &Knowledge, environment: &Environment, extra: &str) -> Assembled {
    let identity = match &knowledge.soul {
        Some(soul) => head(soul, SMALL_NOTES),
        None => include_str!("../../assets/prompts/small.md").trim().to_owned(),
    };
    let today = environment.date.format("%A, %B %d, %Y");
    let parts = [
        (Layer::Identity, identity, 0),
        (Layer::Project, head(&knowledge.context.text, SMALL_CONTEXT), knowledge.context.text.len()),
        (Layer::Memory, head(&knowledge.notes.block(), SMALL_NOTES), knowledge.notes.block().len()),
        (Layer::Profile, head(&knowledge.profile.block(), SMALL_NOTES), knowledge.profile.block().len()),
        (Layer::Identity, format!("System: {}. Today is {today}.", environment.system), 0),
        (Layer::Identity, extra.trim().to_owned(), 0),
    ];
    let parts: Vec<_> = parts.into_iter().filter(|(_, part, _)| !part.trim().is_empty()).collect();
    let mut layers: Vec<ContextLayer> = Vec::new();
    for (layer, part, whole) in &parts {
        let (tokens, whole) = (tokens::of(part.len()), tokens::of(part.len().max(*whole)));
        match layers.iter_mut().find(|known| known.layer == *layer) {
            Some(known) => (known.tokens, known.whole) = (known.tokens + tokens, known.whole + whole),
            None => layers.push(ContextLayer { layer: *layer, tokens, most: None, whole }),
        }
    }
    Assembled { text: parts.into_iter().map(|(_, part, _)| part).collect::<Vec<_>>().join("\n\n"), layers }
}

/// The beginning of a text, to the end of a line.
fn head(text: &str, most: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => {
            let part = text.get(..end).unwrap_or_default();
            part.rsplit_once('\n').map_or(part, |(whole, _)| whole).to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Paths};

    fn environment() -> Environment {
        Environment {
            system: "Debian GNU/Linux 13 (x86_64)".into(),
            shell: "bash".into(),
            home: Some("/home/alice".into()),
            cwd: "/home/alice/src/app".into(),
            date: NaiveDate::from_ymd_opt(2026, 3, 1).unwrap(),
        }
    }

    fn assembled(knowledge: &Knowledge) -> String {
        assemble(knowledge, &environment(), "", &Budget::of(&Config::default().context, Some(200_000))).text
    }

    /// Four characters a token is a safe overestimate for English prose in o200k.
    fn tokens(text: &str) -> usize {
        text.chars().count().div_ceil(4)
    }

    #[test]
    fn an_empty_project_costs_little() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::at("/home/alice/.hermes");
        let knowledge = Knowledge::read(&paths, &Config::default(), dir.path());
        let prompt = assembled(&knowledge);
        assert!(tokens(&prompt) <= 1100, "{} tokens\n{prompt}", tokens(&prompt));
        let fixed = [include_str!("../../assets/prompts/identity.md"), include_str!("../../assets/prompts/rules.md")];
        assert!(fixed.iter().map(|text| tokens(text)).sum::<usize>() <= 450);
        assert!(prompt.ends_with("Conversation started: Sunday, March 01, 2026"));
        assert!(!prompt.contains("# Project"), "empty parts leave no trace");
    }

    #[test]
    fn the_order_holds_and_the_bytes_are_stable() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::at(dir.path().join("home"));
        std::fs::create_dir_all(paths.memories()).unwrap();
        std::fs::write(paths.soul(), "You are Pallas.").unwrap();
        std::fs::write(paths.memories().join("MEMORY.md"), "note one\n§\nnote two").unwrap();
        std::fs::write(paths.memories().join("USER.md"), "prefers tabs").unwrap();
        std::fs::write(dir.path().join("AGENTS.md"), "run the linter").unwrap();
        let knowledge = Knowledge::read(&paths, &Config::default(), dir.path());
        let prompt = assembled(&knowledge);
        let backends: Vec<usize> =
            ["You are Pallas.", "run the linter", "- code-review:", "prefers tabs", "note one", "# Environment"]
                .iter()
                .map(|part| prompt.find(part).unwrap_or_else(|| panic!("{part}\n{prompt}")))
                .collect();
        assert!(backends.is_sorted(), "{backends:?}");
        assert!(!prompt.contains("You are Hermes"));
        let again = Knowledge::read(&paths, &Config::default(), dir.path());
        assert_eq!(assembled(&again), prompt);

        let summary = knowledge.summary();
        assert_eq!(summary.notes, Some((0, vec!["note two".into(), "note one".into()])));
        assert_eq!(summary.context_files, [("AGENTS.md".to_owned(), None)]);
        assert!(summary.skills.contains(&"write-tests".to_owned()));
    }

    #[test]
    fn switched_off_notes_stay_out() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::at(dir.path());
        std::fs::create_dir_all(paths.memories()).unwrap();
        std::fs::write(paths.memories().join("MEMORY.md"), "secret note").unwrap();
        let mut config = Config::default();
        config.memory.memory_enabled = false;
        let knowledge = Knowledge::read(&paths, &config, dir.path());
        assert!(!assembled(&knowledge).contains("secret note"));
        assert_eq!(knowledge.summary().notes, None);
    }
}

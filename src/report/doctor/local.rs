//! Models of this computer: which are here and what they take on the disk, what serves them, and what is installed for it.

use super::Row;
use crate::config::{Loaded, Paths};
use crate::local::engine::{Engine, Missing};
use crate::local::{Local, idle, served};
use crate::text::format;

const MODELS: &str = "local models";
const ENGINE: &str = "engine";

/// The rows. Blocks for a moment.
pub fn rows(paths: &Paths, loaded: &Loaded) -> Vec<Row> {
    let local = Local::new(&paths.home, &loaded.config.models, loaded.env("PATH").unwrap_or_default());
    let chosen = Some(&loaded.config.model).filter(|model| model.provider == served::PROVIDER);
    let mut rows = vec![models(&local, chosen.map(|model| model.default.as_str())), engine(&local)];
    rows.extend(idle::idle(loaded).into_iter().map(|idle| {
        let what = if idle.provider == "ollama" { "ollama" } else { "lm studio" };
        Row::ok(what, format!("installed, not running; `{}` starts it", idle.line()))
    }));
    rows
}

/// `chosen` is the model of new sessions, where it is one of this computer.
fn models(local: &Local, chosen: Option<&str>) -> Row {
    let (kept, parts, running) = (local.shelf().list(), local.shelf().parts(), local.running());
    let is_running = |name: &str| running.iter().any(|(running, _)| running == name);
    let whole = kept.iter().map(|kept| {
        let runs = if is_running(&kept.name) { ", running" } else { "" };
        format!("{} ({}{runs})", kept.name, format::bytes(kept.bytes))
    });
    let begun = parts.iter().map(|(name, bytes)| format!("{name} (a part: {})", format::bytes(*bytes)));
    let mut named: Vec<String> = whole.chain(begun).collect();
    let ours = kept.iter().filter(|kept| !kept.own).map(|kept| kept.bytes);
    let bytes: u64 = ours.chain(parts.iter().map(|(_, bytes)| *bytes)).sum();
    if bytes > 0 {
        named.push(format!("{} in {}", format::bytes(bytes), local.shelf().dir().display()));
    }
    let found = if named.is_empty() { "none on this computer".to_owned() } else { named.join(", ") };
    let gone = chosen.filter(|name| !name.is_empty() && !kept.iter().any(|kept| kept.name == *name));
    match (gone, parts.first()) {
        (Some(name), _) => Row::warn(
            MODELS,
            format!("{found}; your default model {name} is not here"),
            format!("hermes models get {name}"),
        ),
        (None, Some((name, _))) => {
            let goes_on = format!("hermes models get {name} resumes it, hermes models remove {name} frees the space");
            Row::ok(MODELS, format!("{found}; {goes_on}"))
        }
        (None, None) if kept.is_empty() => Row::ok(
            MODELS,
            format!("{found}; hermes models list --local shows which fit, hermes models get fetches one"),
        ),
        (None, None) => Row::ok(MODELS, found),
    }
}

fn engine(local: &Local) -> Row {
    let state = |place: String| match local.running().len() {
        0 => Row::ok(ENGINE, format!("{place}; not running, the first prompt starts it")),
        _ => Row::ok(ENGINE, format!("{place}; running")),
    };
    match local.engine() {
        Ok(Engine::Server(program)) => state(program.display().to_string()),
        Ok(Engine::Package { folder, .. }) => state(format!("llama.cpp's server in {}", folder.display())),
        Err(Missing::Fetch(row)) => {
            let size = format::bytes(row.bytes);
            Row::ok(
                ENGINE,
                format!("not installed; llama.cpp's server comes with the first model ({size}, {})", row.licence),
            )
        }
        // It is missed only where a model is here.
        Err(Missing::No(why)) if local.shelf().list().is_empty() => Row::ok(ENGINE, format!("none; {why}")),
        Err(Missing::No(why)) => Row::warn(ENGINE, "none", why),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Health;
    use super::*;
    use std::path::Path;

    fn home(dir: &Path) -> (Paths, Loaded) {
        (Paths::at(dir), Loaded::default())
    }

    #[test]
    fn a_home_without_models_says_how_one_comes() {
        let dir = tempfile::tempdir().unwrap();
        let (paths, loaded) = home(dir.path());
        let rows = rows(&paths, &loaded);
        let said = "none on this computer; hermes models list --local shows which fit, hermes models get fetches one";
        assert_eq!((rows[0].health, rows[0].found.as_str()), (Health::Ok, said));
        assert_eq!((rows[1].what, rows[1].health), (ENGINE, Health::Ok), "nobody misses it yet: {:?}", rows[1]);
    }

    #[test]
    fn a_part_is_told_with_its_size_and_a_default_that_is_gone_is_a_fault() {
        let dir = tempfile::tempdir().unwrap();
        let (paths, mut loaded) = home(dir.path());
        std::fs::create_dir_all(dir.path().join("models")).unwrap();
        std::fs::write(dir.path().join("models/tiny.gguf.part"), vec![0; 41_000]).unwrap();
        let row = rows(&paths, &loaded).swap_remove(0);
        assert!(row.found.starts_with("tiny (a part: 41 KB), 41 KB in "), "{}", row.found);
        assert!(row.found.contains("; hermes models get tiny resumes it, "), "{}", row.found);
        let config = std::sync::Arc::make_mut(&mut loaded.config);
        (config.model.provider, config.model.default) = ("local".into(), "gone".into());
        let row = rows(&paths, &loaded).swap_remove(0);
        assert_eq!((row.health, row.remedy.as_str()), (Health::Warn, "hermes models get gone"));
    }
}

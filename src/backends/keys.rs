//! What services know this person by. It goes to the service alone: no client but the service's own sees it, and no place.

use crate::exec::Hidden;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Names of the variables, as the services' own clients read them.
const NAMES: [&str; 6] =
    ["DAYTONA_API_KEY", "DAYTONA_API_URL", "DAYTONA_TARGET", "MODAL_TOKEN_ID", "MODAL_TOKEN_SECRET", "MODAL_PROFILE"];

/// Those that are set. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Keys(Arc<BTreeMap<&'static str, Hidden>>);

impl Keys {
    /// Those that no command gets, here or there, whatever the configuration lets through.
    pub const SECRETS: [&str; 3] = ["DAYTONA_API_KEY", "MODAL_TOKEN_ID", "MODAL_TOKEN_SECRET"];

    /// Looks each up, in the environment and in `.env`.
    pub fn find<'a>(of: impl Fn(&str) -> Option<&'a str>) -> Self {
        let set = |name: &'static str| {
            let value = of(name).map(str::trim).filter(|value| !value.is_empty())?;
            Some((name, Hidden::new(value.to_owned())))
        };
        Self(Arc::new(NAMES.into_iter().filter_map(set).collect()))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(Hidden::reveal)
    }
}

/// What tells the sandboxes of this home from those of all others in an account: made once, and moved with the home.
///
/// # Errors
/// When it can neither be read nor written.
pub(crate) fn mark(home: &Path) -> std::io::Result<String> {
    let path = home.join("sandboxes").join("mark");
    if let Some(known) = read(&path) {
        return Ok(known);
    }
    std::fs::create_dir_all(home.join("sandboxes"))?;
    let made = format!("{:08x}", fastrand::u32(..));
    // Whole or not at all, and the first one counts: another program of ours may start at the same moment.
    let mut file = tempfile::NamedTempFile::new_in(home.join("sandboxes"))?;
    std::io::Write::write_all(&mut file, made.as_bytes())?;
    match file.persist_noclobber(&path) {
        Ok(_) => Ok(made),
        Err(error) => read(&path).ok_or(error.error),
    }
}

/// What the sandbox of a home and a task is called. One that keeps nothing is nobody else's.
///
/// # Errors
/// When the home cannot be read or written.
pub(crate) fn sandbox(home: &Path, task: &str, persistent: bool) -> Result<String, String> {
    let mark = mark(home).map_err(|error| format!("{}: {error}", home.display()))?;
    let name = format!("hermes-{task}-{mark}");
    Ok(if persistent { name } else { format!("{name}-{:08x}", fastrand::u32(..)) })
}

fn read(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let text = text.trim();
    (text.len() == 8 && text.bytes().all(|b| b.is_ascii_hexdigit())).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_names_are_looked_up_and_no_value_is_shown() {
        let keys = Keys::find(|name| match name {
            "DAYTONA_API_KEY" => Some(" dtn_secret "),
            "MODAL_TOKEN_ID" => Some(""),
            "OPENAI_API_KEY" => panic!("not ours to read"),
            _ => None,
        });
        assert_eq!((keys.get("DAYTONA_API_KEY"), keys.get("MODAL_TOKEN_ID")), (Some("dtn_secret"), None));
        assert!(!format!("{keys:?}").contains("dtn_secret"));
    }

    #[test]
    fn a_home_keeps_its_mark() {
        let home = tempfile::tempdir().unwrap();
        let first = mark(home.path()).unwrap();
        assert_eq!(mark(home.path()).unwrap(), first);
        let other = tempfile::tempdir().unwrap();
        assert_ne!(mark(other.path()).unwrap(), first);
    }
}

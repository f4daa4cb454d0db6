//! `/export`: a session as a file. Without a path of the user's it goes to the home folder of this program: a session may
//! hold what does not belong into a repository.

use super::loads::Facts;
use crate::config::Paths;
use crate::protocol::SessionId;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Writes the open session; the argument is a format or a path whose ending names one. Tells where it is.
pub async fn export(argument: &str, paths: &Paths, facts: &Facts) -> String {
    let Some(session) = &facts.session else { return "no session is open".into() };
    export_of(&session.id, argument, paths, facts).await
}

/// The same of any session.
pub async fn export_of(session: &SessionId, argument: &str, paths: &Paths, facts: &Facts) -> String {
    let (format, path) = target(argument, session, &paths.exports(), &facts.cwd);
    let text = match crate::report::sessions::export_text(&facts.store, session, &format).await {
        Ok(text) => text,
        Err(error) => return format!("{error}"),
    };
    let own = path.starts_with(paths.exports());
    let to = path.clone();
    let written = tokio::task::spawn_blocking(move || write(&to, own, &text)).await;
    match written.unwrap_or_else(|error| Err(std::io::Error::other(error))) {
        Ok(()) => format!("written to {}", path.display()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            format!("{} already exists: name another file", path.display())
        }
        Err(error) => format!("could not write {}: {error}", path.display()),
    }
}

/// Format and file of an export.
fn target(argument: &str, session: &SessionId, exports: &Path, cwd: &Path) -> (String, PathBuf) {
    let argument = argument.trim();
    match Path::new(argument).extension().and_then(|ending| ending.to_str()) {
        Some(ending) => (ending.to_owned(), cwd.join(crate::config::paths::expand_home(argument))),
        None if argument.contains('/') => {
            ("md".into(), cwd.join(crate::config::paths::expand_home(&format!("{argument}.md"))))
        }
        None => {
            let format = if argument.is_empty() { "md" } else { argument };
            (format.to_owned(), exports.join(format!("hermes-{}.{format}", session.file_name())))
        }
    }
}

/// A file of our own folder is brought up to date; one that the person named must be new.
fn write(path: &Path, own: bool, text: &str) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).mode(0o600);
    match (own, path.parent()) {
        (true, Some(folder)) => {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            options.create(true).truncate(true);
        }
        _ => {
            options.create_new(true);
        }
    }
    options.open(path)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_takes_a_format_or_a_path() {
        let (exports, cwd) = (Path::new("/home/ada/.hermes/exports"), Path::new("/work"));
        for (argument, format, path) in [
            ("", "md", "/home/ada/.hermes/exports/hermes-s1.md"),
            ("html", "html", "/home/ada/.hermes/exports/hermes-s1.html"),
            ("notes.md", "md", "/work/notes.md"),
            ("out/talk.jsonl", "jsonl", "/work/out/talk.jsonl"),
            ("out/talk", "md", "/work/out/talk.md"),
            ("/data/talk.md", "md", "/data/talk.md"),
        ] {
            let target = target(argument, &"s1".into(), exports, cwd);
            assert_eq!(target, (format.to_owned(), path.into()), "{argument}");
        }
        // Whatever a session is called, its own file stays in our folder.
        let (_, path) = target("", &"/../../../notes".into(), exports, cwd);
        assert_eq!(path, exports.join("hermes-%2f%2e%2e%2f%2e%2e%2f%2e%2e%2fnotes.md"));
    }

    #[test]
    fn only_our_own_file_is_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("exports/a.md");
        write(&own, true, "one, longer").unwrap();
        write(&own, true, "two").unwrap();
        assert_eq!(std::fs::read_to_string(&own).unwrap(), "two");
        let theirs = folder.path().join("README.md");
        std::fs::write(&theirs, "theirs").unwrap();
        assert_eq!(write(&theirs, false, "x").unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read_to_string(&theirs).unwrap(), "theirs");
    }
}

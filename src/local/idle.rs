//! Programs of the person's that serve models and are installed, though nothing answers: which they are, and how each is
//! started. They are not ours: one that was started stays when Hermes ends.

use super::LocalError;
use super::engine::{find, passed};
use crate::config::load::Loaded;
use crate::config::paths::expand_home;
use crate::exec::{Daemon, DaemonEnd};
use crate::fs::{WriteError, ensure_dir};
use crate::llm::http::Http;
use crate::llm::{http, local, ready};
use std::fs::File;
use std::net::{TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Looking whether somebody is there must not be felt.
const LOOK: Duration = Duration::from_millis(200);
/// How long one may take to come up.
const PATIENCE: Duration = Duration::from_secs(30);
/// Between two looks at whether it answers.
const GLANCE: Duration = Duration::from_millis(200);
/// Bytes of its log that are told.
const TOLD: usize = 300;

/// Provider, program, where it lies when it is not in `PATH`, and the words that start it.
const PROGRAMS: [(&str, &str, &str, &[&str]); 2] = [
    ("ollama", "ollama", "/Applications/Ollama.app/Contents/Resources/ollama", &["serve"]),
    ("lmstudio", "lms", "~/.lmstudio/bin/lms", &["server", "start"]),
];

/// A program that is installed and does not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idle {
    /// The provider's id.
    pub provider: &'static str,
    program: PathBuf,
    in_path: bool,
    words: &'static [&'static str],
    base: String,
}

/// Those that are installed and do not answer where they usually do. Blocks for a moment.
pub fn idle(loaded: &Loaded) -> Vec<Idle> {
    let path = loaded.env("PATH").unwrap_or_default();
    let row = |(provider, name, place, words): &(&'static str, &str, &str, &'static [&'static str])| {
        let found = find::in_path(path, &[name]);
        let in_path = found.is_some();
        let program = found.or_else(|| Some(expand_home(place)).filter(|file| find::is_program(file)))?;
        let base = ready::local_base(provider, &|name| loaded.env(name).map(str::to_owned))?;
        let idle = Idle { provider, program, in_path, words, base };
        (http::is_loopback(&idle.base) && !idle.listens()).then_some(idle)
    };
    PROGRAMS.iter().filter_map(row).collect()
}

impl Idle {
    /// What people call it.
    pub fn title(&self) -> &'static str {
        ready::title(self.provider)
    }

    /// What a person types to start it.
    pub fn line(&self) -> String {
        let name = self.program.file_name().unwrap_or_default().to_string_lossy();
        let program = if self.in_path { name.into_owned() } else { self.program.display().to_string() };
        [&[program.as_str()], self.words].concat().join(" ")
    }

    /// Host and port of its address.
    fn place(&self) -> Option<String> {
        let url = url::Url::parse(&self.base).ok()?;
        Some(format!("{}:{}", url.host_str()?, url.port_or_known_default()?))
    }

    fn listens(&self) -> bool {
        let Some(place) = self.place() else { return false };
        let addresses = place.to_socket_addrs().into_iter().flatten();
        addresses.into_iter().any(|address| TcpStream::connect_timeout(&address, LOOK).is_ok())
    }

    /// Starts it and waits until it answers. Who calls this has a yes.
    ///
    /// # Errors
    /// It does not come up: its last words, and the line to type.
    pub async fn start(&self, home: &Path) -> Result<(), LocalError> {
        let log = home.join("logs").join(format!("{}.log", self.provider));
        let opened = ensure_dir(log.parent().unwrap_or(home))
            .and_then(|()| File::create(&log).map_err(|error| WriteError::new(&log, &error)));
        let mut command = Command::new(&self.program);
        command.args(self.words).env_clear().envs(passed(&["OLLAMA_"])).current_dir(home);
        // It must listen where it is looked for.
        if let Some(place) = self.place().filter(|_| self.provider == "ollama") {
            command.env("OLLAMA_HOST", place);
        }
        let opened = opened.map_err(LocalError::Write)?;
        let daemon = Daemon::start(command, opened).map_err(|error| LocalError::Engine(error.to_string()))?;
        self.answers(&daemon, &log, &http::client()).await
    }

    async fn answers(&self, daemon: &Daemon, log: &Path, http: &Http) -> Result<(), LocalError> {
        let begun = Instant::now();
        loop {
            if local::probe(http, &self.base).await.is_some() {
                return Ok(());
            }
            // One that only tells its app to serve ends at once, and well.
            let failed = daemon.ended().is_some_and(|end| end != DaemonEnd::Code(0));
            if failed || begun.elapsed() > PATIENCE {
                let text = std::fs::read_to_string(log).unwrap_or_default();
                let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it does not answer");
                let said: String = last.trim().chars().take(TOLD).collect();
                return Err(LocalError::Engine(format!(
                    "could not start {}: {said}; run `{}` in a terminal to see why",
                    self.title(),
                    self.line()
                )));
            }
            tokio::time::sleep(GLANCE).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    /// What is configured in a home whose `ollama` is this script, and where it should answer.
    fn with(dir: &Path, script: &str, port: u16) -> Loaded {
        let file = dir.join("ollama");
        std::fs::write(&file, script).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut loaded = Loaded::default();
        loaded.env.insert("PATH".into(), dir.display().to_string());
        loaded.env.insert("OLLAMA_BASE_URL".into(), format!("http://127.0.0.1:{port}/v1"));
        loaded
    }

    #[test]
    fn a_program_that_is_installed_and_does_not_answer_is_found_with_its_line() {
        let dir = tempfile::tempdir().unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let loaded = with(dir.path(), "#!/bin/sh\n", port);
        let found = || idle(&loaded).into_iter().find(|idle| idle.provider == "ollama");
        assert_eq!(found(), None, "something answers there");
        drop(listener);
        let idle = found().unwrap();
        assert_eq!((idle.title(), idle.line().as_str()), ("Ollama", "ollama serve"));
        let mut elsewhere = loaded.clone();
        elsewhere.env.insert("OLLAMA_BASE_URL".into(), "http://models.lan:11434/v1".into());
        assert!(super::idle(&elsewhere).iter().all(|idle| idle.provider != "ollama"), "that is another machine's");
    }

    #[tokio::test]
    async fn one_that_ends_at_once_says_why_and_what_to_type() {
        let dir = tempfile::tempdir().unwrap();
        let loaded = with(dir.path(), "#!/bin/sh\necho 'no room for models' >&2\nexit 1\n", 9);
        let idle = idle(&loaded).into_iter().find(|idle| idle.provider == "ollama").unwrap();
        let why = idle.start(dir.path()).await.unwrap_err().to_string();
        let said = "could not start Ollama: no room for models; run `ollama serve` in a terminal to see why";
        assert_eq!(why, said);
    }
}

//! A sandbox of Modal. The service is reached by Modal's own package, which is what it supports: a small program in Python
//! (`modal_client.py`) runs in the interpreter of the user's `modal` and is the client of every command.

use super::backend::{Backend, PlaceError, Programs, Terminal, Traits};
use super::container::{Setting, begin};
use super::job::MARK;
use super::keys::{Keys, sandbox};
use crate::config::TerminalConfig;
use crate::exec::Scratch;
use crate::lock::lock;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

/// The program in Python.
const BRIDGE: &str = include_str!("modal_client.py");
/// The app that holds all sandboxes of ours.
const APP: &str = "hermes-agent";
/// How long a word of the service may take: the package is loaded, and a session opened.
const WORD: Duration = Duration::from_secs(60);
/// How long a sandbox may take to be there: an image is built.
const FETCH: Duration = Duration::from_secs(900);
/// How long it may take to keep what is in one: the service gives itself 55 s.
const KEEP: Duration = Duration::from_secs(75);
/// The longest life that the service gives to a sandbox, in seconds.
const LIFE: u64 = 24 * 3600;
/// The least time without use before a sandbox ends, in seconds.
const LEAST: u64 = 60;
/// The exit code of the client when its sandbox is gone.
const BROKEN: i32 = 255;

/// `modal`.
pub(crate) struct Modal {
    traits: Traits,
    programs: Programs,
    setting: Setting,
    config: TerminalConfig,
    /// Holds the program in Python.
    folder: OnceLock<Scratch>,
    in_use: Mutex<Option<SandboxInUse>>,
}

/// The sandbox in use.
#[derive(Clone)]
struct SandboxInUse {
    id: String,
    name: String,
    bridge: PathBuf,
    python: OsString,
}

impl Modal {
    /// # Errors
    /// When there is no token.
    pub(crate) fn new(
        config: &TerminalConfig,
        setting: Setting,
        keys: &Keys,
        mut traits: Traits,
    ) -> Result<Self, PlaceError> {
        let tokens = ["MODAL_TOKEN_ID", "MODAL_TOKEN_SECRET", "MODAL_PROFILE"]
            .into_iter()
            .filter_map(|name| Some((OsString::from(name), OsString::from(keys.get(name)?))));
        let tokens: Vec<_> = tokens.collect();
        let given = ["MODAL_TOKEN_ID", "MODAL_TOKEN_SECRET"].iter().all(|name| keys.get(name).is_some());
        if !given && !login().is_some_and(|path| path.is_file()) {
            return Err(PlaceError::Config(
                "no Modal token: run `modal setup`, or put MODAL_TOKEN_ID and MODAL_TOKEN_SECRET into .env".into(),
            ));
        }
        let image = config.modal_image.trim();
        traits.label = format!("modal {}", image.rsplit('/').next().unwrap_or_default()).trim_end().to_owned();
        traits.cwd = Some(begin(&config.cwd, "")).filter(|folder| folder.is_absolute());
        traits.isolated = true;
        traits.broken = Some(BROKEN);
        traits.size_over_link = true;
        traits.patience = FETCH;
        let programs = setting.programs.with(tokens);
        Ok(Self {
            traits,
            programs,
            setting,
            config: config.clone(),
            folder: OnceLock::new(),
            in_use: Mutex::default(),
        })
    }

    fn bridge(&self) -> Result<PathBuf, String> {
        if self.folder.get().is_none() {
            let temp = std::env::temp_dir();
            let folder = Scratch::new(&temp, "place").map_err(|error| format!("{}: {error}", temp.display()))?;
            let path = folder.path().join("modal_client.py");
            std::fs::write(&path, BRIDGE).map_err(|error| format!("{}: {error}", path.display()))?;
            // Another thread's is as good.
            let _another = self.folder.set(folder);
        }
        let folder = self.folder.get().ok_or("no folder for its client")?;
        Ok(folder.path().join("modal_client.py"))
    }

    fn name(&self) -> Result<String, String> {
        sandbox(&self.setting.home, &self.setting.task, self.config.container_persistent)
    }

    /// Names the image that keeps what was in the sandbox.
    fn snapshot(&self, name: &str) -> PathBuf {
        self.setting.home.join("sandboxes").join("modal").join(name)
    }

    fn wanted(&self, name: &str) -> Value {
        let config = &self.config;
        let snapshot = std::fs::read_to_string(self.snapshot(name)).ok().map(|id| id.trim().to_owned());
        json!({
            "app": APP,
            "name": name,
            "image": config.modal_image.trim(),
            "snapshot": snapshot.filter(|id| !id.is_empty() && config.container_persistent),
            "cpu": config.container_cpu,
            "memory": config.container_memory,
            "timeout": LIFE,
            "idle": config.lifetime_seconds.clamp(LEAST, LIFE),
        })
    }

    /// One word of the program in Python; what it says.
    fn word(&self, python: &OsString, bridge: &Path, words: &[&str], time: Duration) -> Result<Value, String> {
        let mut all: Vec<OsString> = vec![bridge.into()];
        all.extend(words.iter().map(OsString::from));
        let said = self.programs.run(&python.to_string_lossy(), &all, time).map_err(|why| error_text(&why))?;
        let last = said.lines().next_back().unwrap_or_default();
        serde_json::from_str(last).map_err(|_| format!("unexpected output from its package: {last}"))
    }

    /// Its interpreter, and the program of ours that runs in it.
    fn tools(&self) -> Result<(OsString, PathBuf), String> {
        let python =
            self.programs.find("modal").and_then(|program| interpreter(&program)).ok_or(
                "`modal` is not installed: install the package modal (pipx install modal, uv tool install modal)",
            )?;
        Ok((python, self.bridge()?))
    }

    fn find_or_make(&self, name: &str) -> Result<SandboxInUse, String> {
        let (python, bridge) = self.tools()?;
        let said = self.word(&python, &bridge, &["ready", &self.wanted(name).to_string()], FETCH)?;
        if said["missing"] == true {
            return Err(self.put_aside(name));
        }
        let id = said["id"].as_str().ok_or("the service returned no sandbox")?.to_owned();
        Ok(SandboxInUse { id, name: name.to_owned(), bridge, python })
    }

    /// Puts the name of what was kept beside, because the service does not know it any more; what to tell the person, who
    /// would otherwise not see that files are missing.
    fn put_aside(&self, name: &str) -> String {
        let path = self.snapshot(name);
        let image = std::fs::read_to_string(&path).unwrap_or_default();
        let beside = path.with_file_name(format!("{name}.before"));
        let image = image.trim();
        match std::fs::rename(&path, &beside) {
            Ok(()) => format!(
                "the saved image {image} of sandbox {name} no longer exists (its name is now in {}); the next command starts over from terminal.modal_image",
                beside.display()
            ),
            Err(error) => format!(
                "the saved image {image} of sandbox {name} no longer exists: {}: {error}; move that file away to start over",
                path.display()
            ),
        }
    }

    fn is_running(&self, in_use: &SandboxInUse) -> Result<bool, String> {
        Ok(self.word(&in_use.python, &in_use.bridge, &["state", &in_use.id], WORD)?["running"] == true)
    }

    fn in_use(&self) -> Option<SandboxInUse> {
        lock(&self.in_use).clone()
    }

    /// Keeps what is in the sandbox, for the next one of its name.
    fn keep(&self, in_use: &SandboxInUse) -> Result<(), String> {
        let said = self.word(&in_use.python, &in_use.bridge, &["keep", &in_use.id], KEEP);
        let said = said.map_err(|why| format!("could not save the sandbox: {why}"))?;
        // It has ended already.
        let Some(image) = said["image"].as_str() else { return Ok(()) };
        let path = self.snapshot(&in_use.name);
        store(&path, image).map_err(|error| {
            let (path, name) = (path.display(), &in_use.name);
            format!("sandbox {name} was saved as image {image}, but {path} could not be written: {error}; write {image} into that file")
        })
    }
}

/// Writes a small file, whole or not at all.
fn store(path: &Path, text: &str) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    std::io::Write::write_all(&mut file, text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error).map(drop)
}

/// Where `modal setup` keeps tokens.
fn login() -> Option<PathBuf> {
    let named = std::env::var_os("MODAL_CONFIG_PATH").map(PathBuf::from);
    named.or_else(|| Some(crate::environment::user_home()?.join(".modal.toml")))
}

/// The interpreter that a script of Python names in its first lines: it is the one that has the package. `None` when the
/// script cannot be read.
fn interpreter(script: &Path) -> Option<OsString> {
    let bytes = std::fs::read(script).ok()?;
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(1024)]).into_owned();
    let mut lines = head.lines();
    let first = lines.next()?.strip_prefix("#!").unwrap_or_default().trim().to_owned();
    // A path too long for the system stands in the second line (`'''exec' "/long/python" "$0" "$@"`).
    let second = lines.next().and_then(|line| line.strip_prefix("'''exec' ")).unwrap_or_default();
    let second = second.trim_start_matches('"').split('"').next().unwrap_or_default().split(" $").next();
    let named = [first.as_str(), second.unwrap_or_default()];
    let path = named.into_iter().find(|path| {
        let last = path.rsplit('/').next().unwrap_or_default();
        path.starts_with('/') && last.starts_with("python")
    });
    // `/usr/bin/env python3`, and shims that choose by themselves.
    Some(path.unwrap_or("python3").into())
}

/// What the package's error means, with what to do.
fn error_text(why: &str) -> String {
    let (kind, words) = why.split_once(": ").unwrap_or(("", why));
    match kind {
        "AuthError" => format!("the service rejected the token ({words}): run `modal setup`, or check MODAL_TOKEN_ID"),
        "PermissionDeniedError" => format!("the token or account lacks permission ({words})"),
        "ResourceExhaustedError" => {
            format!("the account's limit is reached ({words}): wait, or stop something at modal.com")
        }
        "ConnectionError" | "TimeoutError" | "ServiceError" => {
            format!("the service is unreachable or failed ({words}): try again later")
        }
        "ImageBuildError" | "RemoteError" => format!("could not build its image ({words}): check terminal.modal_image"),
        "ModuleNotFoundError" => {
            format!("{words}: install the package modal (pipx install modal, uv tool install modal)")
        }
        "VersionError" => format!("the package modal is too old ({words}): pip install --upgrade modal"),
        _ => why.to_owned(),
    }
}

impl Backend for Modal {
    fn traits(&self) -> &Traits {
        &self.traits
    }

    fn start(&self) -> Result<(), PlaceError> {
        let known = self.in_use();
        if known.as_ref().is_some_and(|known| self.is_running(known).is_ok_and(|runs| runs)) {
            return Ok(());
        }
        let name = known.map_or_else(|| self.name(), |known| Ok(known.name));
        let in_use = name.and_then(|name| self.find_or_make(&name));
        *lock(&self.in_use) = Some(in_use.map_err(|why| PlaceError::unreachable(&self.traits.label, why))?);
        Ok(())
    }

    fn identity(&self, _: &str) -> String {
        let in_use = self.in_use();
        let name = in_use.as_ref().map_or("", |in_use| in_use.name.as_str());
        // What one held is in the next one of its name, when it is kept.
        let id = in_use.as_ref().map(|in_use| in_use.id.as_str()).filter(|_| !self.config.container_persistent);
        format!("modal {name} {}", id.unwrap_or_default()).trim_end().to_owned()
    }

    fn client(&self, words: &[&str], terminal: Terminal) -> Command {
        // Without one nothing was started, and nobody asks.
        let Some(in_use) = self.in_use() else { return self.programs.command("false") };
        let mut command = self.programs.command(&in_use.python.to_string_lossy());
        command.arg(&in_use.bridge).arg("enter").arg(&in_use.id).arg(match terminal {
            Terminal::None => "pipes",
            Terminal::Output | Terminal::Full => "terminal",
        });
        command.args(words);
        command
    }

    fn remains(&self) -> Result<bool, PlaceError> {
        if !self.config.container_persistent {
            return Ok(false);
        }
        let look = || {
            let (python, bridge) = self.tools()?;
            self.word(&python, &bridge, &["find", &self.wanted(&self.name()?).to_string()], WORD)
        };
        let said = look().map_err(|why| PlaceError::unreachable(&self.traits.label, why))?;
        Ok(said["found"] == true)
    }

    fn why_gone(&self) -> Option<String> {
        let in_use = self.in_use()?;
        match self.is_running(&in_use) {
            Ok(true) => None,
            Ok(false) => {
                let next = if self.config.container_persistent && self.snapshot(&in_use.name).is_file() {
                    "the next command creates a new one from the last saved image"
                } else {
                    "the next command creates a new one from its image; anything written in it is lost"
                };
                let name = &in_use.name;
                Some(format!("its sandbox {name} has stopped (idle too long, after a day, or outside Hermes); {next}"))
            }
            Err(why) => Some(why),
        }
    }

    fn stop(&self) -> Result<(), String> {
        let Some(in_use) = lock(&self.in_use).take() else { return Ok(()) };
        if self.config.container_persistent
            && let Err(why) = self.keep(&in_use)
        {
            // It goes on until nobody has used it for long enough: the only copy of what is in it, perhaps.
            return Err(format!("{why}; sandbox {} ({}) was left running", in_use.name, in_use.id));
        }
        // Work in the background goes on, and so does the sandbox.
        let busy = format!("grep -ls {MARK}= /proc/[0-9]*/environ 2>/dev/null");
        if let Err(why) = self.word(&in_use.python, &in_use.bridge, &["end", &in_use.id, &busy], WORD) {
            tracing::warn!("sandbox {} was not stopped and ends when idle: {why}", in_use.name);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interpreter_of_the_program_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("modal");
        for (text, want) in [
            ("#!/opt/venv/bin/python3\nimport modal\n", "/opt/venv/bin/python3"),
            ("#!/opt/venv/bin/python3.12\n", "/opt/venv/bin/python3.12"),
            ("#!/bin/sh\n'''exec' \"/very long/bin/python\" \"$0\" \"$@\"\n", "/very long/bin/python"),
            ("#!/bin/sh\n'''exec' /long/bin/python \"$0\" \"$@\"\n", "/long/bin/python"),
            ("#!/usr/bin/env python3\n", "python3"),
            ("#!/usr/bin/env bash\nexec pyenv\n", "python3"),
            ("\u{7f}ELF", "python3"),
        ] {
            std::fs::write(&script, text).unwrap();
            let found = interpreter(&script).unwrap();
            let found = found.to_string_lossy();
            assert_eq!(found.trim(), want, "{text}");
        }
        assert!(interpreter(&folder.path().join("none")).is_none());
    }

    #[test]
    fn errors_of_the_package_say_what_to_do() {
        for (why, word) in [
            ("AuthError: Token missing", "modal setup"),
            ("ResourceExhaustedError: quota", "limit is reached (quota)"),
            ("ConnectionError: no route", "try again later"),
            ("ImageBuildError: no such image", "terminal.modal_image"),
            ("ModuleNotFoundError: No module named 'modal'", "pipx install modal"),
            ("something else", "something else"),
        ] {
            assert!(error_text(why).contains(word), "{}", error_text(why));
        }
    }
}

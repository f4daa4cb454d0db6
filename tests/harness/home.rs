//! A home folder and a project folder that vanish with the test.

use super::{binary, mock::Mock};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The lines of `config.yaml` with which a model that is chosen is sent nothing: tests that count requests want none but
/// their own.
pub const UNTESTED: &str = "models:\n  self_test: false\n";

/// `HOME`, `HERMES_HOME` and a project to work in.
pub struct Home {
    root: tempfile::TempDir,
    more: Vec<(String, String)>,
}

impl Home {
    /// An empty home: no configuration, no key.
    pub fn empty() -> Self {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("home/.hermes")).unwrap();
        std::fs::create_dir_all(root.path().join("project")).unwrap();
        std::fs::create_dir_all(root.path().join("tmp")).unwrap();
        Self { root, more: Vec::new() }
    }

    /// A home whose model is this server.
    pub fn with(mock: &Mock, more: &str) -> Self {
        let home = Self::empty();
        home.model(mock, more);
        home
    }

    /// Writes a `config.yaml` whose model is this server.
    pub fn model(&self, mock: &Mock, more: &str) {
        self.window(mock, 200_000, more);
    }

    /// The same with a window of so many tokens.
    pub fn window(&self, mock: &Mock, tokens: u64, more: &str) {
        self.config(&format!(
            "model:\n  default: mock-model\n  provider: custom\n  base_url: {}/v1\n  api_key: mock\n  context_length: {tokens}\n{more}",
            mock.url()
        ));
    }

    /// Sets one more variable of the program's environment.
    pub fn set(&mut self, name: &str, value: &str) {
        self.more.push((name.to_owned(), value.to_owned()));
    }

    /// Writes `config.yaml` in one step, as editors do: a program that looks meanwhile sees no half of it.
    pub fn config(&self, text: &str) {
        let new = self.hermes().join("config.yaml.new");
        std::fs::write(&new, text).unwrap();
        std::fs::rename(new, self.hermes().join("config.yaml")).unwrap();
    }

    pub fn hermes(&self) -> PathBuf {
        self.root.path().join("home/.hermes")
    }

    pub fn user(&self) -> PathBuf {
        self.root.path().join("home")
    }

    /// The folder for temporary files.
    pub fn tmp(&self) -> PathBuf {
        self.root.path().join("tmp")
    }

    /// Names of what is left in the folder for temporary files.
    pub fn leftovers(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.tmp()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    pub fn project(&self) -> PathBuf {
        self.root.path().join("project")
    }

    /// The environment of the program: nothing of the person who runs the tests.
    pub fn environment(&self) -> Vec<(String, String)> {
        let text = |path: &Path| path.display().to_string();
        let own = vec![
            ("HOME".into(), text(&self.user())),
            ("HERMES_HOME".into(), text(&self.hermes())),
            ("PATH".into(), std::env::var("PATH").unwrap_or_default()),
            ("TERM".into(), "xterm-256color".into()),
            ("COLORTERM".into(), "truecolor".into()),
            ("LANG".into(), "C.UTF-8".into()),
            ("SHELL".into(), "/bin/bash".into()),
            ("TMPDIR".into(), text(&self.tmp())),
            ("NO_PROXY".into(), "127.0.0.1,localhost".into()),
        ];
        own.into_iter().chain(self.more.iter().cloned()).collect()
    }

    /// The program without a terminal, not yet started.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command.args(args).env_clear().envs(self.environment()).current_dir(self.project());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the program without a terminal.
    pub fn run(&self, args: &[&str]) -> Output {
        self.run_with(args, "")
    }

    /// The same with this on standard input.
    pub fn run_with(&self, args: &[&str], input: &str) -> Output {
        use std::io::Write as _;
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }
}

/// Standard output as text.
pub fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Standard error as text.
pub fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

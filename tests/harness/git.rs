//! Repositories that a test works in.

use super::Home;
use std::path::Path;

/// Runs git with nobody's settings; its answer without the line end.
pub fn git(folder: &Path, args: &[&str]) -> String {
    let mut command = std::process::Command::new("git");
    command.arg("-C").arg(folder).args(args);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let done = command.output().unwrap();
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).trim().to_owned()
}

impl Home {
    /// Makes its project a repository whose one commit has these files, with a name for commits in its own settings.
    pub fn commits(&self, files: &[(&str, &str)]) {
        let project = self.project();
        git(&project, &["init", "-q", "-b", "main"]);
        git(&project, &["config", "user.name", "a"]);
        git(&project, &["config", "user.email", "a@b"]);
        for (name, text) in files {
            std::fs::write(project.join(name), text).unwrap();
        }
        git(&project, &["add", "."]);
        git(&project, &["commit", "-qm", "one"]);
    }

    /// The name of a model that plays this script.
    pub fn plays(&self, script: &str) -> String {
        let file = self.hermes().join("script.yaml");
        std::fs::write(&file, script).unwrap();
        format!("scripted:{}", file.display())
    }
}

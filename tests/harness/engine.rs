//! A real container engine: podman with an image made from a Debian root file system, as `tests/run` prepares it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The image.
pub const IMAGE: &str = "hermes-test";

/// The engine's command line, and the mark of this test's containers; they are removed with the value.
pub struct Engine {
    program: PathBuf,
    /// The home whose containers they are.
    home: String,
}

impl Engine {
    /// The engine for containers of this home; the reason when this machine has none.
    pub fn find(home: &Path) -> Result<Self, String> {
        let Some(folder) = std::env::var_os("HERMES_TEST_CONTAINERS") else {
            return Err("HERMES_TEST_CONTAINERS is not set: tests/run prepares an engine".into());
        };
        let engine = Self {
            program: PathBuf::from(folder).join("engine"),
            home: home.canonicalize().unwrap_or(home.to_owned()).display().to_string(),
        };
        match engine.run(&["image", "inspect", IMAGE]) {
            Ok(_) => Ok(engine),
            Err(why) => Err(format!("no container engine works here: {why}")),
        }
    }

    /// The command line.
    pub fn program(&self) -> String {
        self.program.display().to_string()
    }

    /// Runs one word of the engine.
    pub fn run(&self, args: &[&str]) -> Result<String, String> {
        let done =
            Command::new(&self.program).args(args).stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
        if done.status.success() {
            Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned())
        } else {
            Err(String::from_utf8_lossy(&done.stderr).trim().to_owned())
        }
    }

    /// Names of this test's containers.
    pub fn containers(&self) -> Vec<String> {
        let filter = format!("label=hermes-home={}", self.home);
        let all = self.run(&["ps", "-a", "--filter", &filter, "--format", "{{.Names}}"]).unwrap();
        all.lines().map(str::to_owned).collect()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        for name in self.containers() {
            let _ = self.run(&["rm", "-f", "-t", "0", &name]);
        }
    }
}

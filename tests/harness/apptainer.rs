//! A real apptainer with an image made from a Debian root file system, as `tests/run` prepares them.

use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Its folder.
pub struct Apptainer(PathBuf);

impl Apptainer {
    /// The one of this machine, tried once; the reason when there is none.
    pub fn find() -> Result<Self, String> {
        let Some(folder) = std::env::var_os("HERMES_TEST_APPTAINER") else {
            return Err("HERMES_TEST_APPTAINER is not set: tests/run prepares an apptainer".into());
        };
        let found = Self(folder.into());
        let image = found.image();
        let mut probe = Command::new(found.programs().join("apptainer"));
        let probe = probe.args(["--silent", "exec", "--containall", "--no-home", "--pwd", "/", &image, "true"]);
        match probe.stdin(Stdio::null()).output() {
            Ok(done) if done.status.success() => Ok(found),
            Ok(done) => Err(format!("no apptainer works here: {}", String::from_utf8_lossy(&done.stderr).trim())),
            Err(error) => Err(format!("no apptainer works here: {error}")),
        }
    }

    /// The folder of its programs.
    pub fn programs(&self) -> PathBuf {
        self.0.join("root/usr/bin")
    }

    /// An image, a folder.
    pub fn image(&self) -> String {
        self.0.join("image").display().to_string()
    }
}

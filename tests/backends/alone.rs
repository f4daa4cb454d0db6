//! A test in a process of its own: where programs are found is a property of the process.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Where such a process finds its folder.
const FOLDER: &str = "TEST_PROGRAMS";

/// Runs the test of this name again, with programs of a new folder before all others and with these variables. In that
/// process: the folder. In the first: `None`, when the test has passed there.
pub fn again(test: &str, variables: impl FnOnce(&Path) -> Vec<(&'static str, String)>) -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return Some(folder.into());
    }
    let folder = tempfile::tempdir().unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let done = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env("PATH", path)
        .envs(variables(folder.path()))
        .env(FOLDER, folder.path())
        .output()
        .unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success() && said.contains("1 passed"), "{said}");
    None
}

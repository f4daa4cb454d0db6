//! A file system of a test's own: small, or read-only.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Mounted while it lives.
pub struct Disk {
    at: PathBuf,
}

impl Disk {
    /// Mounts a file system of this many megabytes over a folder. `None`, and a word about it, where this user may not.
    pub fn small(test: &str, at: &Path, megabytes: u32) -> Option<Self> {
        let options = format!("size={megabytes}m,mode=755");
        if !ran(Command::new("mount").args(["-t", "tmpfs", "-o", &options, "none"]).arg(at)) {
            super::skipped(test, "this user may not mount a file system");
            return None;
        }
        Some(Self { at: at.to_owned() })
    }

    /// Nothing can be written from now on.
    pub fn read_only(&self) {
        assert!(ran(Command::new("mount").args(["-o", "remount,ro"]).arg(&self.at)), "the remount failed");
    }

    /// Takes all space that is left; the file that holds it. Removing it frees the space.
    pub fn fill(&self) -> PathBuf {
        use std::io::Write as _;
        let path = self.at.join("ballast");
        let mut file = std::fs::File::create(&path).unwrap();
        for size in [1 << 16, 1 << 12, 1] {
            let block = vec![b'x'; size];
            while file.write_all(&block).is_ok() {}
        }
        path
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily: a program that still ends must not keep it.
        ran(Command::new("umount").arg("-l").arg(&self.at));
    }
}

fn ran(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

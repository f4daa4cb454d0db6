//! Tells `src/main.rs` from what it is built: profile, target, and the file in which git notes each commit of this checkout.
//!
//! Only that file's path is given, and only the thin binary reads it: a new commit links the program anew and compiles
//! nothing else. So this script must not watch anything that a commit touches.

use std::env::var;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=assets/dist/build.rs");
    let root = PathBuf::from(var("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(var("OUT_DIR")?);
    println!("cargo::rustc-env=HERMES_REFLOG={}", reflog(&root, &out)?.display());
    println!("cargo::rustc-env=HERMES_TARGET={}", var("TARGET")?);
    println!("cargo::rustc-env=HERMES_BUILD_PROFILE={}", profile(&out).map_or_else(|| var("PROFILE"), Ok)?);
    Ok(())
}

/// What git appends to whenever HEAD moves; an empty file where this is no checkout.
fn reflog(root: &Path, out: &Path) -> std::io::Result<PathBuf> {
    if let Some(git) = git_folder(&root.join(".git")) {
        // Files that are there as long as the repository is: without them this runs again and finds none.
        let lasting = ["commondir", "config"].iter().map(|name| git.join(name)).find(|file| file.exists());
        if let Some(lasting) = lasting {
            println!("cargo::rerun-if-changed={}", lasting.display());
        }
        let log = git.join("logs/HEAD");
        if log.is_file() {
            return Ok(log);
        }
    }
    let none = out.join("no-reflog");
    fs::write(&none, "")?;
    Ok(none)
}

/// `.git` itself, or the folder that it names in a further worktree.
fn git_folder(git: &Path) -> Option<PathBuf> {
    if git.is_dir() {
        return Some(git.to_path_buf());
    }
    let text = fs::read_to_string(git).ok()?;
    let folder = Path::new(text.trim().strip_prefix("gitdir: ")?);
    Some(git.parent()?.join(folder))
}

/// The profile by its own name, which `PROFILE` has only for two of them: `target/<here>/build/hermes-…/out`.
fn profile(out: &Path) -> Option<String> {
    let folder = out.ancestors().find(|path| path.file_name().is_some_and(|name| name == "build"))?;
    Some(folder.parent()?.file_name()?.to_str()?.to_owned())
}

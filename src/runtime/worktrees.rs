//! Several sessions in one checkout: who they are, and a worktree for one of them.

use super::Context;
use super::loads::Facts;
use crate::app::model::tab::Neighbours;
use crate::exec::Repo;
use crate::protocol::{SessionId, WindowSession};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long git may take to write the files of a worktree.
const CHECKOUT: Duration = Duration::from_secs(60);

/// Who else works in the checkout of the session in view, without one that is about to close.
pub async fn neighbours(context: &Context, facts: &Facts, except: Option<SessionId>) -> Option<Neighbours> {
    let session = facts.session.as_ref()?.id.clone();
    // Another machine's folders are not ours to compare.
    if context.backends.current().is_some() {
        return None;
    }
    let (engine, cwd) = (context.engine.clone(), facts.cwd.clone());
    let (checkout, found) = tokio::task::spawn_blocking(move || engine.neighbours(&session, &cwd)).await.ok()??;
    let stays = |other: &WindowSession| Some(&other.session) != except.as_ref();
    let name = |other: WindowSession| other.title.unwrap_or(other.session.0);
    Some(Neighbours { checkout, names: found.into_iter().filter(stays).map(name).collect() })
}

/// A worktree beside a checkout, on a branch of its own from the last commit: folder and branch.
pub async fn made(checkout: String) -> Result<(String, String), String> {
    let stamp = chrono::Local::now().format("%m%d-%H%M%S").to_string();
    let work = move || make(Path::new(&checkout), &stamp);
    tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string())?
}

fn make(checkout: &Path, stamp: &str) -> Result<(String, String), String> {
    let until = Instant::now() + CHECKOUT;
    let name = checkout.file_name().ok_or("this folder has no name")?.to_string_lossy();
    let (branch, folder) = (format!("hermes/{stamp}"), checkout.with_file_name(format!("{name}-{stamp}")));
    let repo = Repo::of(checkout, until).map_err(|error| error.to_string())?;
    if repo.has_filters() {
        let remedy = format!("git worktree add -b {branch} {}", folder.display());
        return Err(format!(
            "this repository uses filters (such as LFS), which Hermes doesn't run; make it yourself: {remedy}"
        ));
    }
    let args = ["worktree", "add", "-b", &branch, "--"].map(PathBuf::from);
    let args = [&args[..], std::slice::from_ref(&folder)].concat();
    repo.ask(&args, until).map_err(|error| error.to_string())?;
    Ok((folder.display().to_string(), branch))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git(folder: &Path, args: &[&str]) {
        let done = std::process::Command::new("git").arg("-C").arg(folder).args(args).output().unwrap();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    #[test]
    fn a_worktree_is_a_folder_beside_the_checkout_on_a_branch_of_its_own() {
        let place = tempfile::tempdir().unwrap();
        let checkout = place.path().join("project");
        std::fs::create_dir(&checkout).unwrap();
        git(&checkout, &["init", "-q"]);
        std::fs::write(checkout.join("a.txt"), "one").unwrap();
        git(&checkout, &["add", "."]);
        git(&checkout, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one"]);
        std::fs::write(checkout.join("a.txt"), "two").unwrap();
        let (folder, branch) = make(&checkout, "2").unwrap();
        assert_eq!(
            (folder.as_str(), branch.as_str()),
            (&*place.path().join("project-2").display().to_string(), "hermes/2")
        );
        // From the last commit: what is not committed stays where it is.
        assert_eq!(std::fs::read_to_string(Path::new(&folder).join("a.txt")).unwrap(), "one");
        assert!(make(&checkout, "2").is_err(), "it is there already");
    }
}

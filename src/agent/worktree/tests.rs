//! With real git: what a worktree is made of, and each reason for which it stays.

mod taking;

use super::*;
use std::process::Command;

/// A repository with one commit, and the worktrees of a home beside it.
struct Ground {
    root: tempfile::TempDir,
    all: Worktrees,
}

fn git(folder: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args([
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "-c",
        "protocol.file.allow=always",
    ]);
    let done = command.args(args).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_EDITOR", "true").output().unwrap();
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).trim().to_owned()
}

impl Ground {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let all = Worktrees { folder: root.path().join("trees") };
        let ground = Self { root, all };
        std::fs::create_dir(ground.project()).unwrap();
        git(&ground.project(), &["init", "-q", "-b", "main"]);
        std::fs::write(ground.project().join("a.txt"), "one\n").unwrap();
        std::fs::write(ground.project().join(".gitignore"), "built\n").unwrap();
        git(&ground.project(), &["add", "."]);
        git(&ground.project(), &["commit", "-qm", "one"]);
        ground
    }

    fn project(&self) -> PathBuf {
        self.root.path().join("project")
    }

    fn tree(&self) -> Worktree {
        self.all.make(&self.project(), "x").unwrap()
    }

    fn branches(&self) -> String {
        git(&self.project(), &["branch", "--format=%(refname:short)"])
    }
}

fn commit(tree: &Worktree, text: &str) {
    std::fs::write(tree.folder.join("a.txt"), text).unwrap();
    git(&tree.folder, &["commit", "-qam", text]);
}

/// It must stay for this, and does; nothing of it is gone.
fn stays(tree: &Worktree, why: &[Reason]) {
    assert_eq!(tree.stays().unwrap(), why);
    let refused = tree.remove().unwrap_err();
    assert!(matches!(&refused, WorktreeError::Stays { why: told, .. } if told == why), "{refused}");
    assert!(tree.folder.join(".git").exists());
}

#[test]
fn it_begins_at_the_last_commit_on_a_branch_of_its_own_and_goes_with_it() {
    let ground = Ground::new();
    std::fs::write(ground.project().join("a.txt"), "not committed").unwrap();
    std::fs::write(ground.project().join("built"), "").unwrap();
    let tree = ground.tree();
    assert_eq!(tree.name(), "project-x");
    assert_eq!(
        (tree.branch.as_deref(), tree.project()),
        (Some("hermes/x"), &*ground.project().canonicalize().unwrap())
    );
    assert_eq!(std::fs::read_to_string(tree.folder.join("a.txt")).unwrap(), "one\n");
    assert!(!tree.folder.join("built").exists());
    assert_eq!(git(&tree.folder, &["config", "--get", "core.bare"]), "false");
    assert_eq!(ground.all.list(), std::slice::from_ref(&tree));
    for name in ["project-x", "hermes/x", "x"] {
        assert_eq!(ground.all.named(name).unwrap(), tree, "{name}");
    }
    // What git ignores is no work.
    std::fs::write(tree.folder.join("built"), "much").unwrap();
    tree.remove().unwrap();
    assert!(!tree.folder.exists());
    assert_eq!((ground.branches().as_str(), ground.all.list()), ("main", vec![]));
    assert_eq!(std::fs::read_to_string(ground.project().join("a.txt")).unwrap(), "not committed");
}

#[test]
fn what_is_not_committed_or_new_keeps_it() {
    let ground = Ground::new();
    let tree = ground.tree();
    std::fs::write(tree.folder.join("a.txt"), "two\n").unwrap();
    stays(&tree, &[Reason::Uncommitted(1)]);
    git(&tree.folder, &["add", "a.txt"]);
    stays(&tree, &[Reason::Uncommitted(1)]);
    std::fs::create_dir(tree.folder.join("new")).unwrap();
    std::fs::write(tree.folder.join("new/b.txt"), "").unwrap();
    std::fs::write(tree.folder.join("new/c.txt"), "").unwrap();
    // Whatever the settings of the repository say.
    git(&ground.project(), &["config", "status.showUntrackedFiles", "no"]);
    stays(&tree, &[Reason::Uncommitted(1), Reason::Untracked(2)]);
    assert!(tree.changes().unwrap().contains("a.txt | 2 +-"), "{}", tree.changes().unwrap());
}

#[test]
fn commits_that_are_nowhere_else_keep_it_until_they_are_merged_or_pushed() {
    let ground = Ground::new();
    let tree = ground.tree();
    commit(&tree, "two");
    commit(&tree, "three");
    // A tag of the same name as a branch makes git's short names ambiguous.
    git(&ground.project(), &["tag", "hermes/x", "main"]);
    stays(&tree, &[Reason::Unmerged(2)]);
    git(&ground.project(), &["tag", "-d", "hermes/x"]);
    git(&ground.project(), &["merge", "-q", "hermes/x"]);
    tree.remove().unwrap();
    assert_eq!(ground.branches(), "main");

    let tree = ground.tree();
    commit(&tree, "four");
    stays(&tree, &[Reason::Unmerged(1)]);
    let remote = ground.root.path().join("remote");
    git(ground.root.path(), &["init", "-q", "--bare", "remote"]);
    git(&ground.project(), &["remote", "add", "origin", &remote.display().to_string()]);
    git(&tree.folder, &["push", "-q", "origin", "hermes/x"]);
    tree.remove().unwrap();
    assert_eq!(git(&remote, &["branch", "--format=%(refname:short)"]), "hermes/x");
}

#[test]
fn detached_work_keeps_it() {
    let ground = Ground::new();
    let tree = ground.tree();
    git(&tree.folder, &["checkout", "-q", "--detach"]);
    commit(&tree, "two");
    stays(&tree, &[Reason::Detached(1)]);
    // Once a branch has it, it is nobody's only copy.
    git(&tree.folder, &["branch", "kept"]);
    tree.remove().unwrap();
    assert_eq!(ground.branches(), "hermes/x\nkept\nmain");
}

#[test]
fn what_has_begun_is_locked_or_holds_submodules_keeps_it() {
    let ground = Ground::new();
    let tree = ground.tree();
    git(&tree.folder, &["worktree", "lock", &tree.folder.display().to_string()]);
    stays(&tree, &[Reason::Locked]);
    git(&tree.folder, &["worktree", "unlock", &tree.folder.display().to_string()]);
    git(&tree.folder, &["bisect", "start"]);
    stays(&tree, &[Reason::Unfinished]);
    git(&tree.folder, &["bisect", "reset"]);
    let inner = ground.root.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    git(&inner, &["init", "-q"]);
    git(&inner, &["commit", "-q", "--allow-empty", "-m", "one"]);
    git(&ground.project(), &["submodule", "add", "-q", &inner.display().to_string(), "sub"]);
    git(&ground.project(), &["commit", "-qm", "sub"]);
    git(&tree.folder, &["merge", "-q", "main"]);
    git(&tree.folder, &["submodule", "update", "-q", "--init"]);
    stays(&tree, &[Reason::Submodules]);
}

#[test]
fn work_that_git_looks_past_keeps_it() {
    // Another worktree in a folder that is ignored.
    let ground = Ground::new();
    let tree = ground.tree();
    git(&tree.folder, &["worktree", "add", "-q", "built/inner", "-b", "inner"]);
    stays(&tree, &[Reason::Nested]);
    git(&tree.folder, &["worktree", "remove", "built/inner"]);
    // A repository of somebody, deep in it.
    std::fs::create_dir_all(tree.folder.join("built/deep")).unwrap();
    git(&tree.folder, &["init", "-q", "built/deep/own"]);
    stays(&tree, &[Reason::Nested]);
    std::fs::remove_dir_all(tree.folder.join("built")).unwrap();
    // Changes of files that git was told to take for unchanged.
    for flag in ["--skip-worktree", "--assume-unchanged"] {
        git(&tree.folder, &["update-index", flag, "a.txt"]);
        std::fs::write(tree.folder.join("a.txt"), "changed\n").unwrap();
        stays(&tree, &[Reason::Hidden(1)]);
        std::fs::write(tree.folder.join("a.txt"), "one\n").unwrap();
        git(&tree.folder, &["update-index", &flag.replace("--", "--no-"), "a.txt"]);
    }
    // Commits on no branch that something else was checked out over; what was amended away is no work.
    git(&tree.folder, &["commit", "-q", "--allow-empty", "-m", "empty"]);
    git(&tree.folder, &["commit", "-q", "--allow-empty", "--amend", "-m", "better"]);
    git(&ground.project(), &["merge", "-q", "hermes/x"]);
    git(&tree.folder, &["checkout", "-q", "--detach"]);
    commit(&tree, "left behind");
    git(&tree.folder, &["checkout", "-q", "hermes/x"]);
    stays(&tree, &[Reason::Detached(1)]);
    let left = git(&tree.folder, &["rev-parse", "HEAD@{1}"]);
    git(&ground.project(), &["branch", "kept", &left]);
    tree.remove().unwrap();
}

#[test]
fn two_with_the_same_commit_do_not_both_go() {
    let ground = Ground::new();
    let one = ground.tree();
    let two = ground.all.make(&ground.project(), "y").unwrap();
    commit(&one, "only here");
    git(&two.folder, &["merge", "-q", "--ff-only", "hermes/x"]);
    let gone = std::thread::scope(|scope| {
        [&one, &two].map(|tree| scope.spawn(|| tree.remove().is_ok())).map(|thread| thread.join().unwrap())
    });
    assert_eq!(gone.iter().filter(|gone| **gone).count(), 1, "{gone:?}");
    assert_eq!(ground.branches().lines().filter(|name| name.starts_with("hermes/")).count(), 1);
}

#[test]
fn a_branch_that_stands_elsewhere_stays() {
    let ground = Ground::new();
    let tree = ground.tree();
    git(&ground.project(), &["checkout", "-q", "--ignore-other-worktrees", "hermes/x"]);
    tree.remove().unwrap();
    assert_eq!(ground.branches(), "hermes/x\nmain");
}

#[test]
fn why_there_is_none_is_named() {
    let ground = Ground::new();
    let (project, root) = (ground.project(), ground.root.path());
    let fails = |at: &Path, name: &str| ground.all.make(at, name).unwrap_err().to_string();
    for name in ["", "-x", ".x", "a b", "a/b", "a..b", "x.lock", "x.", "é"] {
        assert!(fails(&project, name).contains("can't name a worktree"), "{name}");
    }
    assert!(fails(root, "x").contains("is in no git repository"));
    git(root, &["init", "-q", "--bare", "bare"]);
    assert!(fails(&root.join("bare"), "x").contains("bare repository"));
    std::fs::create_dir(root.join("young")).unwrap();
    git(&root.join("young"), &["init", "-q"]);
    assert!(fails(&root.join("young"), "x").contains("no commit yet"));
    let tree = ground.tree();
    assert!(fails(&project, "x").contains("already"));
    assert_eq!(ground.all.make_free(&project, "x").unwrap().branch.as_deref(), Some("hermes/x-2"));
    // From a worktree as well, and of the same repository.
    assert_eq!(ground.all.make(&tree.folder, "y").unwrap().name(), "project-y");
    assert!(matches!(ground.all.named("z"), Err(WorktreeError::Unknown(_))));
    git(&project, &["config", "filter.lfs.clean", "cat"]);
    assert!(fails(&project, "z").contains("git worktree add -b hermes/z"));
    // A folder that is no worktree is none.
    std::fs::create_dir_all(root.join("trees/mine/.git")).unwrap();
    assert_eq!(ground.all.list().len(), 3);
}

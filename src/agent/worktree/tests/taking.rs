//! What a worktree holds, and taking it into the checkout: every kind of file, what stands in the way, and what was shown.

use super::*;
use crate::protocol::{FileKind, Pick, TakeOrder, TreeChanges, TreeFile};
use crate::store::Blobs;
use crate::tools::file::restore::restore_all;
use crate::tools::file::restore_target::RestoreTarget;
use std::os::unix::fs::{PermissionsExt as _, symlink};

fn blobs(ground: &Ground) -> Blobs {
    Blobs::new(ground.root.path().join("history"))
}

fn differs(ground: &Ground, tree: &Worktree) -> TreeChanges {
    tree.differs(&tree.target(&ground.project()).unwrap()).unwrap()
}

/// What the list says of a file.
fn of<'a>(changes: &'a TreeChanges, path: &str) -> &'a TreeFile {
    changes.files.iter().find(|file| file.path == path).unwrap_or_else(|| panic!("{path}: {:?}", changes.files))
}

/// Takes these; what was not taken, and why.
fn take(ground: &Ground, tree: &Worktree, picks: Vec<Pick>) -> Vec<(String, String)> {
    let root = tree.target(&ground.project()).unwrap();
    let base = tree.differs(&root).unwrap().base;
    let order = TakeOrder { folder: tree.folder.display().to_string(), base, picks };
    let plan = tree.plan(&order, &root, &blobs(ground)).unwrap();
    let done = restore_all(&plan.backs, false, &blobs(ground), &RestoreTarget::default());
    assert!(done.failed.is_empty(), "{:?}", done.failed);
    plan.left
}

fn whole(file: &TreeFile) -> Pick {
    Pick { path: file.path.clone(), from: file.from.clone(), part: None }
}

fn write(folder: &Path, path: &str, text: &[u8]) {
    let place = folder.join(path);
    std::fs::create_dir_all(place.parent().unwrap()).unwrap();
    std::fs::write(place, text).unwrap();
}

fn read(ground: &Ground, path: &str) -> String {
    String::from_utf8_lossy(&std::fs::read(ground.project().join(path)).unwrap_or_default()).into_owned()
}

fn numbers(but: &[(usize, &str)]) -> String {
    let line = |n: usize| but.iter().find(|(at, _)| *at == n).map_or(n.to_string(), |(_, text)| (*text).to_owned());
    (1..=40).map(|n| line(n) + "\n").collect()
}

/// A project with a file of each kind, and a worktree that changed each.
fn every_kind() -> (Ground, Worktree) {
    let ground = Ground::new();
    let project = ground.project();
    for (path, text) in [
        ("changed.txt", numbers(&[])),
        ("deleted.txt", "gone\n".into()),
        ("moved.txt", numbers(&[(40, "the end")])),
        ("run.sh", "true\n".into()),
        ("picture", "\0\u{1}".into()),
        ("quiet.txt", "same\n".into()),
    ] {
        write(&project, path, text.as_bytes());
    }
    symlink("a.txt", project.join("link")).unwrap();
    git(&project, &["add", "."]);
    git(&project, &["commit", "-qm", "all"]);
    let tree = ground.tree();
    write(&tree.folder, "changed.txt", numbers(&[(3, "three"), (30, "thirty")]).as_bytes());
    std::fs::remove_file(tree.folder.join("deleted.txt")).unwrap();
    git(&tree.folder, &["mv", "moved.txt", "place.txt"]);
    git(&tree.folder, &["commit", "-qam", "some"]);
    std::fs::set_permissions(tree.folder.join("run.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    write(&tree.folder, "picture", b"\0\x02\x03");
    std::fs::remove_file(tree.folder.join("link")).unwrap();
    symlink("changed.txt", tree.folder.join("link")).unwrap();
    write(&tree.folder, "deep/new.txt", b"one\ntwo\n");
    write(&tree.folder, "built", b"ignored");
    (ground, tree)
}

#[test]
fn every_kind_of_change_is_listed_and_taken() {
    let (ground, tree) = every_kind();
    let changes = differs(&ground, &tree);
    let about: Vec<_> = changes
        .files
        .iter()
        .map(|file| (file.path.as_str(), file.kind, file.added, file.removed, file.loose))
        .collect();
    assert_eq!(
        about,
        [
            ("changed.txt", FileKind::Modified, 2, 2, false),
            ("deep/new.txt", FileKind::Added, 2, 0, true),
            ("deleted.txt", FileKind::Deleted, 0, 1, false),
            ("link", FileKind::Modified, 1, 1, true),
            ("picture", FileKind::Modified, 0, 0, true),
            ("place.txt", FileKind::Moved, 0, 0, false),
            ("run.sh", FileKind::Mode, 0, 0, true),
        ]
    );
    assert!(of(&changes, "picture").binary && of(&changes, "place.txt").from.as_deref() == Some("moved.txt"));
    assert_eq!(changes.branch.as_deref(), Some("hermes/x"));
    assert_eq!(
        changes.stays,
        ["3 files with uncommitted changes", "1 untracked file", "1 commit neither merged nor pushed"]
    );
    // What is not committed in the folder of the session is nobody's to lose.
    write(&ground.project(), "quiet.txt", b"mine\n");
    assert_eq!(take(&ground, &tree, changes.files.iter().map(whole).collect()), []);
    assert_eq!(read(&ground, "changed.txt"), numbers(&[(3, "three"), (30, "thirty")]));
    assert_eq!((read(&ground, "deep/new.txt").as_str(), read(&ground, "quiet.txt").as_str()), ("one\ntwo\n", "mine\n"));
    let gone = |path: &str| ground.project().join(path).symlink_metadata().is_err();
    assert!(gone("deleted.txt") && gone("moved.txt") && gone("built"));
    assert_eq!(read(&ground, "place.txt"), numbers(&[(40, "the end")]));
    assert_eq!(std::fs::read_link(ground.project().join("link")).unwrap(), Path::new("changed.txt"));
    assert_eq!(std::fs::read(ground.project().join("picture")).unwrap(), b"\0\x02\x03");
    let mode = std::fs::metadata(ground.project().join("run.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0o111);
    let after = differs(&ground, &tree);
    assert!(after.files.iter().all(|file| file.here), "{:?}", after.files);
    // Once more changes nothing.
    assert_eq!(take(&ground, &tree, after.files.iter().map(whole).collect()), []);
}

#[test]
fn a_hunk_is_taken_alone_and_known_to_be_here() {
    let (ground, tree) = every_kind();
    let root = tree.target(&ground.project()).unwrap();
    let changes = differs(&ground, &tree);
    let hunks = tree.hunks(&root, &changes.base, "changed.txt", None).unwrap();
    assert_eq!(hunks.hunks.iter().map(|hunk| (hunk.old, hunk.here)).collect::<Vec<_>>(), [(1, false), (27, false)]);
    assert!(hunks.hunks[1].lines.contains(&"-30".to_owned()) && hunks.hunks[1].lines.contains(&"+thirty".to_owned()));
    let pick = |seen: &str| Pick {
        path: "changed.txt".into(),
        from: None,
        part: Some((seen.to_owned(), hunks.hunks[1].swaps.clone())),
    };
    // It goes into a file that was changed elsewhere.
    write(&ground.project(), "changed.txt", numbers(&[(10, "mine")]).as_bytes());
    assert_eq!(take(&ground, &tree, vec![pick(&hunks.seen)]), []);
    assert_eq!(read(&ground, "changed.txt"), numbers(&[(10, "mine"), (30, "thirty")]));
    let hunks = tree.hunks(&root, &changes.base, "changed.txt", None).unwrap();
    assert_eq!(hunks.hunks.iter().map(|hunk| hunk.here).collect::<Vec<_>>(), [false, true]);
    // What was shown is not what is there any more.
    write(&tree.folder, "changed.txt", b"other\n");
    let left = take(&ground, &tree, vec![pick(&hunks.seen)]);
    assert!(left[0].1.contains("changed in the worktree since it was shown"), "{left:?}");
    assert_eq!(read(&ground, "changed.txt"), numbers(&[(10, "mine"), (30, "thirty")]));
}

#[test]
fn what_stands_in_the_way_is_never_lost() {
    let (ground, tree) = every_kind();
    let project = ground.project();
    let changes = differs(&ground, &tree);
    write(&project, "changed.txt", numbers(&[(3, "mine")]).as_bytes());
    write(&project, "deleted.txt", b"worked on\n");
    write(&project, "picture", b"\0mine");
    write(&project, "place.txt", b"mine\n");
    write(&project, "deep", b"a file\n");
    std::fs::remove_file(project.join("link")).unwrap();
    let picks = ["changed.txt", "deleted.txt", "picture", "place.txt", "deep/new.txt", "link", "run.sh"];
    let left = take(&ground, &tree, picks.iter().map(|path| whole(of(&changes, path))).collect());
    let why = |path: &str| left.iter().find(|(left, _)| left == path).map(|(_, why)| why.clone()).unwrap_or_default();
    for (path, word) in [
        ("changed.txt", "it was changed here too, around line 3"),
        ("deleted.txt", "changed here since, and would be deleted"),
        ("picture", "can't be put together"),
        ("place.txt", "there is a file of this name already"),
        ("deep/new.txt", "deep is a file here"),
        ("link", "it was deleted here"),
        ("run.sh", ""),
    ] {
        assert!(why(path).contains(word), "{path}: {}", why(path));
    }
    assert_eq!(left.len(), 6);
    assert_eq!(read(&ground, "changed.txt"), numbers(&[(3, "mine")]));
    assert_eq!((read(&ground, "deleted.txt").as_str(), read(&ground, "picture").as_str()), ("worked on\n", "\0mine"));
    // An order that leads out of the folder is none.
    let out = Pick { path: "../x".into(), from: None, part: None };
    assert!(take(&ground, &tree, vec![out])[0].1.contains("leads out of the folder"));
}

#[test]
fn line_ends_of_a_checkout_are_no_difference() {
    let ground = Ground::new();
    git(&ground.project(), &["config", "core.autocrlf", "true"]);
    write(&ground.project(), "dos.txt", b"1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8\r\n");
    git(&ground.project(), &["add", "."]);
    git(&ground.project(), &["commit", "-qm", "dos"]);
    let tree = ground.tree();
    write(&tree.folder, "dos.txt", b"one\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8\r\n");
    write(&ground.project(), "dos.txt", b"1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\neight\r\n");
    let file = of(&differs(&ground, &tree), "dos.txt").clone();
    assert_eq!((file.added, file.removed), (1, 1));
    assert_eq!(take(&ground, &tree, vec![whole(&file)]), []);
    assert_eq!(read(&ground, "dos.txt"), "one\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\neight\r\n");
}

#[test]
fn a_great_file_is_bounded_and_a_worktree_that_is_gone_says_so() {
    let ground = Ground::new();
    let tree = ground.tree();
    let long: String = (0..30_000).map(|n| format!("{n}\n")).collect();
    write(&tree.folder, "long.txt", long.as_bytes());
    let root = tree.target(&ground.project()).unwrap();
    let base = differs(&ground, &tree).base;
    let hunks = tree.hunks(&root, &base, "long.txt", None).unwrap();
    assert_eq!((hunks.hunks.len(), hunks.hunks[0].lines.len()), (1, 20_000));
    assert!(hunks.note.contains("10,000 more lines are not shown"), "{}", hunks.note);
    for (at, word) in
        [(tree.folder.clone(), "works in project-x itself"), (ground.root.path().into(), "no git repository")]
    {
        let why = tree.target(&at);
        let why = why.map_err(|error| error.to_string());
        assert!(why.as_ref().is_err_and(|why| why.contains(word) || why.contains("not a git repository")), "{why:?}");
    }
    std::fs::remove_dir_all(&tree.folder).unwrap();
    assert!(tree.differs(&root).unwrap_err().to_string().contains("project-x is gone"));
    assert!(ground.all.at(&tree.folder).unwrap_err().to_string().contains("is gone"));
}

#[test]
fn it_goes_with_its_work_only_as_it_was_seen() {
    let (ground, tree) = every_kind();
    let seen = differs(&ground, &tree).mark;
    write(&tree.folder, "later.txt", b"more\n");
    let refused = tree.discard(&seen).unwrap_err().to_string();
    assert!(
        refused.contains("holds more than what was shown now") && refused.contains("2 untracked files"),
        "{refused}"
    );
    let seen = differs(&ground, &tree).mark;
    git(&tree.folder, &["worktree", "lock", &tree.folder.display().to_string()]);
    assert!(tree.discard(&seen).unwrap_err().to_string().contains("it has a lock"));
    git(&tree.folder, &["worktree", "unlock", &tree.folder.display().to_string()]);
    let at = git(&tree.folder, &["rev-parse", "HEAD"]);
    assert_eq!(tree.discard(&seen).unwrap(), at);
    assert!(!tree.folder.exists());
    assert_eq!(ground.branches(), "main");
}

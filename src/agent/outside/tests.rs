//! What is said of changes that others made.

use super::*;
use crate::store::Wrote;

fn file(path: &str, fate: Fate, known: bool) -> Told {
    Told { path: path.into(), fate, by: None, known, unsure: false }
}

fn strange(path: &str, fate: Fate) -> Strange {
    Strange { path: path.into(), fate, hash: Some("h".into()), ignored: false, unsure: false }
}

#[test]
fn known_files_have_a_line_and_the_rest_one() {
    let by = Told { by: Some("fix parser".into()), ..file("b.rs", Fate::Modified, false) };
    let unsure = Told { unsure: true, ..file("c.rs", Fate::Removed, true) };
    for (files, more, git, text, gist) in [
        (vec![], 0, None, None, ""),
        (
            vec![file("src/main.rs", Fate::Modified, true)],
            0,
            None,
            Some(
                "Note: src/main.rs was modified externally\nWhat you have read of a modified file is old: read it again before you rely on it.",
            ),
            "src/main.rs was modified externally; the model was notified",
        ),
        (
            vec![by],
            0,
            None,
            Some(
                "Note: b.rs was modified by another session: “fix parser”\nWhat you have read of a modified file is old: read it again before you rely on it.",
            ),
            "b.rs was modified by another session: “fix parser”; the model was notified",
        ),
        (
            vec![unsure],
            0,
            Some("the branch"),
            Some("Note: c.rs was removed, externally or by a command of yours that still runs\nNote: the branch"),
            "c.rs was removed, externally or by a command of yours that still runs · the branch; the model was notified",
        ),
        (
            vec![file("new", Fate::Renamed("old".into()), true), file("x", Fate::Created, false)],
            3,
            None,
            Some(
                "Note: new was renamed from old externally\nNote: changed externally, not read by you: x (created) and 3 files more",
            ),
            "5 files were changed externally; the model was notified",
        ),
    ] {
        let news = News { files, more, git: git.map(str::to_owned), rewound: Vec::new() };
        assert_eq!(news.text().as_deref(), text);
        if text.is_some() {
            assert_eq!(news.gist(), gist);
        }
    }
}

#[test]
fn a_thousand_files_are_a_few_lines() {
    let all = |known| (0..1000).map(move |n| file(&format!("{}{n}", "d/".repeat(400)), Fate::Modified, known));
    let news = News { files: all(true).chain(all(false)).collect(), more: 7, git: None, rewound: Vec::new() };
    let text = news.text().unwrap();
    assert!(text.lines().count() == LINES + 3, "{text}");
    assert!(text.contains("980 files more that") && text.contains("and 999 files more"), "{text}");
}

#[test]
fn names_are_plain_and_the_author_wrote_the_same_bytes() {
    let known = HashSet::from([PathBuf::from("/w/a")]);
    let heard = vec![strange("/w/a", Fate::Modified), strange("/w/b\n\u{1b}[31m", Fate::Created)];
    let wrote = |after: &str| Wrote {
        path: "/w/a".into(),
        after: Some(after.into()),
        session: "20260101_1".into(),
        title: Some("fix".into()),
    };
    let files = told(heard.clone(), Path::new("/w"), &known, &[wrote("h")]);
    assert_eq!((files[0].path.as_str(), files[0].by.as_deref(), files[0].known), ("a", Some("fix"), true));
    assert_eq!(files[1].path, "b??[31m");
    let files = told(heard, Path::new("/w"), &known, &[wrote("other")]);
    assert_eq!(files[0].by, None, "somebody changed it since");
}

#[test]
fn what_a_command_of_its_own_may_have_done_counts_only_for_known_files() {
    let unsure = |path: &str| Strange { unsure: true, ..strange(path, Fate::Modified) };
    let known = HashSet::from([PathBuf::from("/w/a")]);
    let ignored = Strange { ignored: true, ..strange("/w/c.log", Fate::Modified) };
    let files = told(vec![unsure("/w/a"), unsure("/w/b"), ignored], Path::new("/w"), &known, &[]);
    assert_eq!(files.len(), 1);
}

#[test]
fn stamps_tell_once_what_changed_where_nothing_watches() {
    let seen = HashMap::from([("/a".into(), (1, 1)), ("/b".into(), (1, 1)), ("/c".into(), (0, 0))]);
    let mut known = HashMap::new();
    let now = |path: &Path| Some((path != Path::new("/b")).then_some((2, 1)));
    let found = compared(&seen, &mut known, now);
    assert_eq!(found.iter().map(|file| file.fate.clone()).collect::<Vec<_>>(), [Fate::Modified, Fate::Removed]);
    assert!(compared(&seen, &mut known, now).is_empty(), "once");
    assert!(compared(&seen, &mut HashMap::new(), |_| None).is_empty());
}

#[test]
fn branch_and_commits_are_told_in_words() {
    let head = |branch: Option<&str>, commit: &str| Head { branch: branch.map(str::to_owned), commit: commit.into() };
    for (before, after, told) in [
        (head(Some("main"), "a"), head(Some("main"), "a"), None),
        (
            head(Some("main"), "a"),
            head(Some("x/y"), "a"),
            Some("the git branch was switched externally to x/y (was main)"),
        ),
        (
            head(Some("main"), "0123456789"),
            head(Some("main"), "abcdef0123"),
            Some("git HEAD moved externally on main: abcdef01 (was 01234567)"),
        ),
        (
            head(Some("main"), "a"),
            head(None, "0123456789"),
            Some("the git branch was switched externally to no branch (01234567) (was main)"),
        ),
    ] {
        assert_eq!(after.since(&before).as_deref(), told);
    }
}

#[test]
fn the_head_of_a_repository_and_of_its_worktree_is_read_from_files() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("repo/.git/HEAD", "ref: refs/heads/main\n");
    write("repo/.git/refs/heads/main", "abc\n");
    write("repo/.git/refs/heads/side", "def\n");
    write("repo/.git/worktrees/w/HEAD", "ref: refs/heads/side\n");
    write("repo/.git/worktrees/w/commondir", "../..\n");
    write("repo/src/f", "");
    write("w/.git", "gitdir: ../repo/.git/worktrees/w\n");
    let head = |name: &str| Head::of(&dir.path().join(name)).map(|head| (head.branch, head.commit));
    assert_eq!(head("repo/src"), Some((Some("main".into()), "abc".into())));
    assert_eq!(head("w"), Some((Some("side".into()), "def".into())));
}

#[test]
fn a_note_says_the_same_when_it_is_read_again() {
    let by = Told { by: Some("was it, externally".into()), ..file("b.rs", Fate::Modified, false) };
    let news = News {
        files: vec![
            file("src/main.rs", Fate::Modified, true),
            by,
            file("new", Fate::Renamed("old one".into()), true),
            file("n (2).txt", Fate::Created, false),
            file("gone", Fate::Removed, false),
        ],
        more: 2,
        git: Some("git HEAD moved externally on main; git status: main, clean".into()),
        rewound: vec![file("left", Fate::Modified, true)],
    };
    let said = Said::read(&news.text().unwrap());
    let files: Vec<(&str, Fate)> =
        said.files.iter().map(|(path, fate)| (path.to_str().unwrap(), fate.clone())).collect();
    assert_eq!(
        files,
        [
            ("src/main.rs", Fate::Modified),
            ("b.rs", Fate::Modified),
            ("new", Fate::Renamed("old one".into())),
            ("n (2).txt", Fate::Created),
            ("gone", Fate::Removed),
            ("left", Fate::Modified),
        ]
    );
    assert_eq!(said.git.as_deref(), Some("git HEAD moved externally on main"));
    assert_eq!(Said::read("a process ended: it was good externally"), Said::default());
}

#[test]
fn what_was_heard_twice_is_one_change() {
    let joined = joined(
        vec![strange("/a", Fate::Created), strange("/b", Fate::Removed), strange("/c", Fate::Modified)],
        vec![strange("/a", Fate::Modified), strange("/b", Fate::Created), strange("/d", Fate::Created)],
    );
    let fates: Vec<(&str, Fate)> = joined.iter().map(|one| (one.path.to_str().unwrap(), one.fate.clone())).collect();
    let expected = [("/c", Fate::Modified), ("/a", Fate::Created), ("/b", Fate::Modified), ("/d", Fate::Created)];
    assert_eq!(fates, expected);
}

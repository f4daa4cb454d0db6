//! What is deleted and, above all, what is not.

use super::*;
use std::fs;
use std::os::unix::fs::symlink;

struct Place {
    _dir: tempfile::TempDir,
    home: PathBuf,
    outside: PathBuf,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (home, outside) = (root.join("home"), root.join("outside"));
        fs::create_dir_all(&home).unwrap();
        fs::create_dir_all(outside.join("src")).unwrap();
        fs::write(outside.join("src/main.rs"), "mine").unwrap();
        Self { _dir: dir, home, outside }
    }

    /// A plugin that we installed.
    fn plugin(&self, name: &str) -> PathBuf {
        let path = self.home.join("plugins").join(name);
        fs::create_dir_all(path.join("lib/deep")).unwrap();
        fs::write(path.join("lib/deep/code.py"), "x").unwrap();
        mark(Tree::Plugin, &path).unwrap();
        path
    }

    fn file(&self, name: &str) -> PathBuf {
        let path = self.home.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "x").unwrap();
        path
    }

    fn untouched(&self) -> bool {
        fs::read_to_string(self.outside.join("src/main.rs")).is_ok_and(|text| text == "mine")
    }
}

fn why<T: std::fmt::Debug>(result: Result<T, RemoveError>) -> String {
    match result.unwrap_err() {
        RemoveError::NotOurs { why, .. } => why,
        other => panic!("{other}"),
    }
}

#[test]
fn files_go_only_from_where_we_put_them() {
    let place = Place::new();
    let hash = "0123456789abcdef".repeat(4);
    for (kind, name) in [
        (File::Login, "mcp-tokens/github.json".to_owned()),
        (File::Journal, "journal/a%2f-b.jsonl".to_owned()),
        (File::Journal, "journal/abc.jsonl.4711".to_owned()),
        (File::Journal, "journal/a%2f-b.journal".to_owned()),
        (File::Journal, "journal/open/17.4711.815".to_owned()),
        (File::Backup, "backups/state-schema-4-20260101-120000-abcdef.db".to_owned()),
        (File::Kept, format!("history/{hash}")),
        (File::Kept, "history/.new-x1".to_owned()),
        (File::Checkpoint, "checkpoints/20260101_120000_abcdef/before.json".to_owned()),
        (File::Recording, "recordings/20260101_120000_abcdef/1700000000000-proc_1.00000.rec".to_owned()),
        (File::Asked, "cache/openai.asked".to_owned()),
        (File::Tree, "cache/trees/0123456789abcdef.01234567.run".to_owned()),
        (File::Window, "run/17.tabs".to_owned()),
        (File::Window, "run/17.lock".to_owned()),
        (File::LogIndex, "state.db-shm".to_owned()),
    ] {
        let path = place.file(&name);
        assert!(file(kind, &place.home, &path).unwrap() && !path.exists(), "{name}");
        assert!(!file(kind, &place.home, &path).unwrap(), "{name}");
    }
    for (kind, name) in [
        (File::Login, "mcp-tokens/github.key"),
        (File::Login, "config.yaml"),
        (File::Login, "mcp-tokens/deep/github.json"),
        (File::Journal, "journal/abc.jsonl.bad"),
        (File::Journal, "history/abc.jsonl"),
        (File::Journal, "journal/open/notes"),
        (File::Backup, "backups/mine.db"),
        (File::Backup, "state.db"),
        (File::Kept, "history/notes"),
        (File::Checkpoint, "checkpoints/before.json"),
        (File::Window, "run/tabs.json"),
        (File::Window, "17.tabs"),
        (File::LogIndex, "state.db"),
        (File::ShellState, "state/00c0ffee00c0ffex"),
        (File::ShellState, "00c0ffee00c0ffee"),
        // A name of ours, but its folder is no private folder of a process.
        (File::ShellState, "state/00c0ffee00c0ffee"),
    ] {
        let path = place.file(name);
        why(file(kind, &place.home, &path));
        assert!(path.exists(), "{name}");
    }
}

#[test]
fn paths_that_leave_the_folder_are_not_in_it() {
    let place = Place::new();
    place.file("mcp-tokens/x.json");
    let elsewhere = place.outside.join("mcp-tokens");
    fs::create_dir_all(&elsewhere).unwrap();
    fs::write(elsewhere.join("x.json"), "mine").unwrap();
    for path in [
        elsewhere.join("x.json"),
        place.home.join("../outside/mcp-tokens/x.json"),
        place.home.join("mcp-tokens/../../outside/mcp-tokens/x.json"),
        place.home.join("mcp-tokens/./x.json"),
        place.home.join("mcp-tokens/x.json/"),
        place.home.clone(),
        PathBuf::from("/"),
        PathBuf::from("mcp-tokens/x.json"),
    ] {
        why(file(File::Login, &place.home, &path));
        why(tree(Tree::Plugin, &place.home, &path));
    }
    why(file(File::Login, Path::new(""), Path::new("mcp-tokens/x.json")));
    why(file(File::LogIndex, Path::new("/"), Path::new("/x.db-shm")));
    assert!(elsewhere.join("x.json").exists() && place.home.join("mcp-tokens/x.json").exists());
}

#[test]
fn links_lead_nowhere() {
    let place = Place::new();
    // The folder of logins is a link, the login is a link, the plugin is a link, the folder of plugins is a link.
    fs::write(place.outside.join("x.json"), "mine").unwrap();
    symlink(&place.outside, place.home.join("mcp-tokens")).unwrap();
    why(file(File::Login, &place.home, &place.home.join("mcp-tokens/x.json")));
    fs::create_dir(place.home.join("history")).unwrap();
    let kept = place.home.join("history").join("a".repeat(64));
    symlink(place.outside.join("x.json"), &kept).unwrap();
    why(file(File::Kept, &place.home, &kept));
    let plugin = place.plugin("real");
    let link = place.home.join("plugins/link");
    symlink(&place.outside, &link).unwrap();
    mark(Tree::Plugin, &place.outside).unwrap();
    why(tree(Tree::Plugin, &place.home, &link));
    // A mark that is a link to one.
    let fake = place.home.join("plugins/fake");
    fs::create_dir(&fake).unwrap();
    fs::write(place.outside.join("mark"), words(Tree::Plugin, OsStr::new("fake"))).unwrap();
    symlink(place.outside.join("mark"), fake.join(MARK)).unwrap();
    assert!(why(tree(Tree::Plugin, &place.home, &fake)).contains("not created by Hermes"));
    // Links in what is deleted go themselves, and what they lead to stays.
    symlink(&place.outside, plugin.join("lib/out")).unwrap();
    symlink(place.outside.join("src/main.rs"), plugin.join("main.rs")).unwrap();
    assert!(tree(Tree::Plugin, &place.home, &plugin).unwrap() && !plugin.exists());
    assert!(place.untouched() && place.outside.join("x.json").exists() && link.is_symlink());
    // Our folder itself may be reached by a link: people keep it elsewhere.
    let other = place.plugin("other");
    let by_link = place.outside.join("home");
    symlink(&place.home, &by_link).unwrap();
    assert!(tree(Tree::Plugin, &by_link, &by_link.join("plugins/other")).unwrap() && !other.exists());
}

#[test]
fn without_its_mark_a_folder_stays() {
    let place = Place::new();
    let removed = place.plugin("removed");
    fs::remove_file(removed.join(MARK)).unwrap();
    let renamed = place.home.join("plugins/renamed");
    fs::rename(place.plugin("first"), &renamed).unwrap();
    let changed = place.plugin("changed");
    fs::write(changed.join(MARK), words(Tree::Plugin, OsStr::new("changed")) + "and more").unwrap();
    let folder = place.plugin("folder");
    fs::remove_file(folder.join(MARK)).unwrap();
    fs::create_dir(folder.join(MARK)).unwrap();
    let other_kind = place.plugin("other-kind");
    mark(Tree::Environment, &other_kind).unwrap();
    for path in [&removed, &renamed, &changed, &folder, &other_kind] {
        assert!(why(tree(Tree::Plugin, &place.home, path)).contains("not created by Hermes"), "{}", path.display());
        assert!(path.join("lib/deep/code.py").exists());
    }
    let scratch = place.home.join("hermes-shell-4711-0a1b2c");
    fs::create_dir(&scratch).unwrap();
    why(tree(Tree::Scratch, &place.home, &scratch));
    fs::write(scratch.join(OWNER), "").unwrap();
    assert!(tree(Tree::Scratch, &place.home, &scratch).unwrap() && !scratch.exists());
}

#[test]
fn a_persons_folders_stay_whatever_they_hold() {
    let here = std::env::current_dir().unwrap();
    let at = At { path: &here };
    for near in [Path::new("/"), &here, here.parent().unwrap(), &user_home().unwrap()] {
        assert!(at.is_far_from_a_person(near).is_err(), "{}", near.display());
    }
    assert!(at.is_far_from_a_person(&here.join("target/x")).is_ok());
}

#[test]
fn a_deletion_that_was_cut_off_can_be_completed_and_one_that_may_not_be_begins_nothing() {
    let place = Place::new();
    let plugin = place.plugin("half");
    fs::remove_dir_all(plugin.join("lib")).unwrap();
    assert!(tree(Tree::Plugin, &place.home, &plugin).unwrap());
    let deep = place.plugin("deep");
    let mut inner = deep.join("z");
    for _ in 0..DEEPEST + 2 {
        inner.push("d");
    }
    fs::create_dir_all(&inner).unwrap();
    assert!(why(tree(Tree::Plugin, &place.home, &deep)).contains("too deep"));
    assert!(inner.exists() && deep.join("lib/deep/code.py").exists());
}

/// Needs the right to mount; where it is missing the test says so by its name in the output.
#[cfg(target_os = "linux")]
#[test]
fn another_file_system_stays_and_with_it_all_around() {
    let place = Place::new();
    let plugin = place.plugin("mounted");
    fs::create_dir(plugin.join("data")).unwrap();
    // In a mount namespace of its own, so that nothing stays mounted whatever happens.
    let script = r#"mount --bind "$1" "$2" && exec "$3" --exact --ignored --nocapture fs::remove::tests::in_a_mount"#;
    let ran = std::process::Command::new("unshare")
        .args(["--mount", "--map-root-user", "sh", "-c", script, "sh"])
        .args([place.outside.as_path(), &plugin.join("data"), &std::env::current_exe().unwrap()])
        .env("HERMES_TEST_HOME", &place.home)
        .output();
    match ran {
        Ok(ran) if ran.status.success() => {
            assert!(String::from_utf8_lossy(&ran.stdout).contains("1 passed"), "{ran:?}");
            assert!(place.untouched() && plugin.join("lib/deep/code.py").exists());
        }
        Ok(ran) if String::from_utf8_lossy(&ran.stdout).contains("1 failed") => panic!("{ran:?}"),
        other => {
            let test = "another_file_system_stays_and_with_it_all_around";
            crate::skipped::skipped(test, &format!("nothing can be mounted: {other:?}"));
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "runs inside another test"]
fn in_a_mount() {
    let home = PathBuf::from(std::env::var_os("HERMES_TEST_HOME").unwrap());
    let plugin = home.join("plugins/mounted");
    assert!(plugin.join("data/src/main.rs").exists());
    assert_eq!(why(tree(Tree::Plugin, &home, &plugin)), OTHER);
    assert!(plugin.join("data/src/main.rs").exists() && plugin.join("lib/deep/code.py").exists());
}

#[test]
fn a_profile_goes_with_all_that_is_in_it_and_only_where_profiles_are() {
    let place = Place::new();
    let make = |path: PathBuf, marked: bool| {
        fs::create_dir_all(path.join("plugins/p")).unwrap();
        fs::write(path.join("state.db"), "x").unwrap();
        symlink(&place.outside, path.join("plugins/p/link")).unwrap();
        if marked {
            mark(Tree::Profile, &path).unwrap();
        }
        path
    };
    let (ours, theirs) = (make(place.home.join("profiles/work"), true), make(place.home.join("profiles/other"), false));
    assert!(tree(Tree::Profile, &place.home, &ours).unwrap() && !ours.exists());
    why(tree(Tree::Profile, &place.home, &theirs));
    why(tree(Tree::Profile, &place.home, &place.home));
    why(tree(Tree::Profile, &place.home, &place.home.join("profiles")));
    why(tree(Tree::Profile, &place.home, &make(place.home.join("plugins/work"), true)));
    symlink(&place.outside, place.home.join("profiles/led")).unwrap();
    why(tree(Tree::Profile, &place.home, &place.home.join("profiles/led")));
    assert!(theirs.exists() && place.untouched());
}

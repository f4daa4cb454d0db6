//! What a workspace tells of a change, and what it keeps.

use super::state::Phase;
use super::*;
use crate::store::{Blobs, FOLDER, LINK};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

/// Longer than any small folder takes.
const LONG: Duration = Duration::from_secs(60);

struct Place {
    _dir: tempfile::TempDir,
    root: PathBuf,
    settings: Settings,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("work");
        fs::create_dir(&root).unwrap();
        let home = dir.path().join("home");
        let settings = Settings {
            blobs: Blobs::new(home.join("history")),
            known: home.join("cache/trees/0123456789abcdef"),
            baseline_bytes: 1_000_000_000,
            ours: vec![home],
            user_home: None,
        };
        Self { _dir: dir, root, settings }
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn workspace(&self) -> Arc<Workspace> {
        Checkpoints::default().of(&self.root, self.settings.clone())
    }

    /// With its baseline.
    fn ready(&self) -> Arc<Workspace> {
        let workspace = self.workspace();
        workspace.prepare();
        assert_eq!(workspace.ready(LONG), Ok(true));
        workspace
    }

    fn text(&self, state: &crate::store::FileState) -> String {
        match &state.hash {
            None => "nothing".into(),
            Some(_) if state.kind() == FOLDER => format!("folder {:o}", state.mode.unwrap() & 0o777),
            Some(hash) => {
                let bytes = self.settings.blobs.read(hash).unwrap().expect("kept");
                let arrow = if state.kind() == LINK { "-> " } else { "" };
                format!("{arrow}{} {:o}", String::from_utf8(bytes).unwrap(), state.mode.unwrap() & 0o777)
            }
        }
    }

    fn told(&self, recorded: &Recorded) -> Vec<String> {
        let line = |change: &FoundChange| {
            let path = change.path.strip_prefix(&self.root).unwrap().display();
            format!("{path}: {} => {}", self.text(&change.before), self.text(&change.after))
        };
        recorded.changes.iter().map(line).collect()
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn every_kind_of_change_is_told_with_what_was_there() {
    let place = Place::new();
    for name in ["edited", "gone", "moved", "run.sh", "deep/er/a", "deep/er/b", "same"] {
        place.write(name, name);
    }
    set_mode(&place.root.join("run.sh"), 0o644);
    symlink("edited", place.root.join("link")).unwrap();
    let workspace = place.ready();
    let mark = workspace.begin(None).unwrap();
    place.write("edited", "new text");
    fs::remove_file(place.root.join("gone")).unwrap();
    fs::rename(place.root.join("moved"), place.root.join("away")).unwrap();
    set_mode(&place.root.join("run.sh"), 0o755);
    fs::remove_dir_all(place.root.join("deep")).unwrap();
    place.write("fresh/in/here", "made");
    fs::remove_file(place.root.join("link")).unwrap();
    symlink("run.sh", place.root.join("link")).unwrap();
    // Touched, and as it was.
    place.write("same", "other");
    place.write("same", "same");
    place.write("passing", "x");
    fs::remove_file(place.root.join("passing")).unwrap();
    let recorded = mark.end();
    assert_eq!(
        place.told(&recorded),
        [
            "deep: folder 755 => nothing",
            "deep/er: folder 755 => nothing",
            "deep/er/a: deep/er/a 644 => nothing",
            "deep/er/b: deep/er/b 644 => nothing",
            "edited: edited 644 => new text 644",
            "fresh: nothing => folder 755",
            "fresh/in: nothing => folder 755",
            "fresh/in/here: nothing => made 644",
            "gone: gone 644 => nothing",
            "link: -> edited 777 => -> run.sh 777",
            "moved: moved 644 => nothing",
            "away: nothing => moved 644",
            "run.sh: run.sh 644 => run.sh 755",
        ]
    );
    assert_eq!(recorded.gaps, Vec::<String>::new());
    // The baseline moved on.
    let mark = workspace.begin(None).unwrap();
    place.write("fresh/in/here", "again");
    assert_eq!(place.told(&mark.end()), ["fresh/in/here: made 644 => again 644"]);
}

#[test]
fn what_changes_between_commands_or_by_a_file_tool_is_no_command_s() {
    let place = Place::new();
    place.write("a", "one");
    place.write("b", "one");
    let workspace = place.ready();
    place.write("a", "by hand");
    let mark = workspace.begin(None).unwrap();
    workspace.before();
    place.write("b", "by a tool");
    workspace.ours(&[place.root.join("b")], None);
    place.write("c", "by the command");
    assert_eq!(place.told(&mark.end()), ["c: nothing => by the command 644"]);
    let mark = workspace.begin(None).unwrap();
    place.write("a", "x");
    place.write("b", "y");
    assert_eq!(place.told(&mark.end()), ["a: by hand 644 => x 644", "b: by a tool 644 => y 644"]);
}

#[test]
fn two_commands_at_once_each_know_what_they_found() {
    let place = Place::new();
    place.write("a", "one");
    let workspace = place.ready();
    let long = workspace.begin(None).unwrap();
    place.write("a", "two");
    let short = workspace.begin(None).unwrap();
    place.write("a", "three");
    assert_eq!(place.told(&short.end()), ["a: two 644 => three 644"]);
    assert_eq!(place.told(&long.end()), ["a: one 644 => three 644"]);
}

#[test]
fn a_folder_that_is_moved_or_replaced_stays_watched() {
    let place = Place::new();
    place.write("old/sub/f", "one");
    let workspace = place.ready();
    let mark = workspace.begin(None).unwrap();
    fs::rename(place.root.join("old"), place.root.join("new")).unwrap();
    let recorded = mark.end();
    assert!(place.told(&recorded).contains(&"old/sub/f: one 644 => nothing".to_owned()), "{recorded:?}");
    let mark = workspace.begin(None).unwrap();
    place.write("new/sub/f", "two");
    place.write("new/sub/g", "more");
    assert_eq!(place.told(&mark.end()), ["new/sub/f: one 644 => two 644", "new/sub/g: nothing => more 644"]);
    // A file in place of a folder, and the folder again.
    let mark = workspace.begin(None).unwrap();
    fs::remove_dir_all(place.root.join("new/sub")).unwrap();
    place.write("new/sub", "file");
    let told = place.told(&mark.end());
    assert_eq!(told[0], "new/sub: folder 755 => file 644");
    assert_eq!(told.len(), 3);
}

#[test]
fn a_queue_that_overflowed_and_a_missing_watch_lead_to_a_look_at_everything() {
    let place = Place::new();
    for name in ["a", "gone", "sub/b"] {
        place.write(name, "one");
    }
    let workspace = place.ready();
    lock(&workspace.state).watch = None;
    let mark = workspace.begin(None).unwrap();
    place.write("a", "two");
    place.write("sub/new/c", "three");
    fs::remove_file(place.root.join("gone")).unwrap();
    assert_eq!(
        place.told(&mark.end()),
        [
            "a: one 644 => two 644",
            "gone: one 644 => nothing",
            "sub/new: nothing => folder 755",
            "sub/new/c: nothing => three 644",
        ]
    );
}

#[test]
fn what_is_left_out_too_large_or_git_s_own_is_named() {
    let place = Place::new();
    place.write(".git/HEAD", "ref: refs/heads/main");
    place.write(".gitignore", "*.log\n");
    place.write("large", &"x".repeat(crate::store::LARGEST as usize + 1));
    place.write("small.log", "one");
    let workspace = place.ready();
    let mark = workspace.begin(None).unwrap();
    place.write("large", "small now");
    place.write("small.log", "two");
    place.write("long.log", &"x".repeat(2 * 1024 * 1024));
    place.write("node_modules/x/index.js", "x");
    place.write(".git/HEAD", "ref: refs/heads/other");
    let recorded = mark.end();
    assert_eq!(place.told(&recorded), ["small.log: one 644 => two 644"]);
    assert_eq!(
        recorded.gaps,
        [
            "git's own records (commits, branches): an undo never changes .git",
            "node_modules is left out: what programs make there is not saved",
            "large is too large to be saved",
            "long.log is ignored by git and too large to be saved",
        ]
    );
}

#[test]
fn a_worktree_s_git_file_is_left_alone_and_its_records_are_watched() {
    let place = Place::new();
    let records = place.root.parent().unwrap().join("repository/.git/worktrees/work");
    fs::create_dir_all(records.join("logs")).unwrap();
    fs::write(records.join("HEAD"), "ref: refs/heads/main").unwrap();
    place.write(".git", "gitdir: ../repository/.git/worktrees/work\n");
    place.write("a", "one");
    let workspace = place.ready();
    let named = Named::new("before", None, 0, &workspace);
    let mark = workspace.begin(None).unwrap();
    fs::write(records.join("HEAD"), "ref: refs/heads/other").unwrap();
    fs::write(records.join("index"), "looked at").unwrap();
    place.write("a", "two");
    let recorded = mark.end();
    assert_eq!(place.told(&recorded), ["a: one 644 => two 644"]);
    assert_eq!(recorded.gaps, ["git's own records (commits, branches): an undo never changes .git"]);
    // Nothing of ours writes it.
    fs::remove_file(place.root.join(".git")).unwrap();
    let (changes, unsaved) = named.changes(&workspace);
    assert!(changes.len() == 1 && unsaved == [".git"], "{changes:?} {unsaved:?}");
}

#[test]
fn the_removal_of_what_was_left_out_is_named_and_nothing_of_it_becomes_new() {
    for watched in [true, false] {
        let place = Place::new();
        for name in ["node_modules/x", "deep/target/x", "cache/data", "a"] {
            place.write(name, "one");
        }
        place.write("cache/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55");
        let workspace = place.ready();
        if !watched {
            lock(&workspace.state).watch = None;
        }
        let mark = workspace.begin(None).unwrap();
        place.write("a", "two");
        for name in ["node_modules", "deep"] {
            fs::remove_dir_all(place.root.join(name)).unwrap();
        }
        let recorded = mark.end();
        assert_eq!(place.told(&recorded), ["a: one 644 => two 644", "deep: folder 755 => nothing"]);
        assert_eq!(
            recorded.gaps,
            [
                "deep/target was removed: it is left out, and was not saved",
                "node_modules was removed: it is left out, and was not saved",
            ]
        );
        // Without its mark the folder holds what nobody looked at: an undo of this command must not remove it.
        let mark = workspace.begin(None).unwrap();
        fs::remove_file(place.root.join("cache/CACHEDIR.TAG")).unwrap();
        set_mode(&place.root.join("cache"), 0o700);
        assert_eq!(place.told(&mark.end()), Vec::<String>::new());
    }
}

#[test]
fn before_the_baseline_is_ready_a_command_says_what_is_not_known() {
    let place = Place::new();
    place.write("a", "one");
    place.write("sub/b", "one");
    // As it is while the baseline is taken: the root is known, the folder in it is not.
    let workspace = place.workspace();
    {
        let mut state = lock(&workspace.state);
        state.phase = Phase::Looking(0);
        state.watch = super::watch::Watch::new(&place.root).ok();
        for folder in ["", "sub"] {
            state.watch_folder(Path::new(folder));
        }
        state.listed.insert(PathBuf::new(), 0);
        let a = state.keeper.look(&place.root.join("a"), None, false).unwrap().unwrap();
        let sub = state.keeper.look(&place.root.join("sub"), None, false).unwrap().unwrap();
        state.tree.extend([("a".into(), a), ("sub".into(), sub)]);
    }
    let mark = workspace.begin(None).unwrap();
    place.write("a", "two");
    place.write("new", "made");
    place.write("sub/b", "two");
    place.write("fresh/c", "made");
    let recorded = mark.end();
    assert_eq!(
        place.told(&recorded),
        [
            "a: one 644 => two 644",
            "fresh: nothing => folder 755",
            "fresh/c: nothing => made 644",
            "new: nothing => made 644"
        ]
    );
    assert_eq!(recorded.gaps, ["1 file touched before Hermes had saved the folder as it was"]);
    // Another command knows what the first one left.
    let mark = workspace.begin(None).unwrap();
    place.write("sub/b", "three");
    assert_eq!(place.told(&mark.end()), ["sub/b: two 644 => three 644"]);
}

#[test]
fn the_next_baseline_reads_only_what_was_touched() {
    let place = Place::new();
    place.write("a", "one");
    place.write("b", "one");
    drop(place.ready());
    // A stamp that could not be trusted is not remembered: both files are new.
    let known = super::known::read(&place.settings.known);
    assert!(known.values().all(|entry| !entry.racy));
    // What was remembered and whose bytes are gone is read again.
    fs::remove_dir_all(place.root.parent().unwrap().join("home/history")).unwrap();
    let workspace = place.ready();
    let mark = workspace.begin(None).unwrap();
    place.write("a", "two");
    assert_eq!(place.told(&mark.end()), ["a: one 644 => two 644"]);
}

#[test]
fn a_home_is_no_project_and_a_folder_beyond_its_bound_says_so() {
    let place = Place::new();
    let at = |settings: Settings| Checkpoints::default().of(&place.root, settings);
    let home = at(Settings { user_home: Some(place.root.clone()), ..place.settings.clone() });
    home.prepare();
    assert!(home.begin(None).err().unwrap().contains("is not a project folder"));
    let off = at(Settings { baseline_bytes: 0, ..place.settings.clone() });
    assert!(off.ready(LONG).unwrap_err().contains("baseline_bytes"));
    place.write("a", "one two three");
    let small = at(Settings { baseline_bytes: 3, ..place.settings.clone() });
    small.prepare();
    assert_eq!(small.ready(LONG), Ok(true));
    let mark = small.begin(None).unwrap();
    place.write("a", "x");
    assert_eq!(mark.end().gaps, ["a is beyond `checkpoints.baseline_bytes`"]);
}

#[test]
fn a_named_checkpoint_leads_back_and_is_held_and_forgotten() {
    let place = Place::new();
    place.write("a", "one");
    place.write("gone", "old");
    place.write("large", &"x".repeat(crate::store::LARGEST as usize + 1));
    let workspace = place.ready();
    let shelf = Shelf::new(&place.settings.ours[0]);
    let named = Named::new("before", None, 0, &workspace);
    shelf.add(&named).unwrap();
    assert!(matches!(shelf.add(&named), Err(NamedError::Exists(_))));
    for bad in ["", ".x", "a/b", "ä", &"x".repeat(65)] {
        let other = Named { name: bad.into(), ..named.clone() };
        assert!(matches!(shelf.add(&other), Err(NamedError::Name(_))), "{bad}");
    }
    place.write("a", "two");
    fs::remove_file(place.root.join("gone")).unwrap();
    place.write("new", "x");
    let found = shelf.find("before", workspace.root(), None).unwrap();
    assert_eq!(found, named);
    let (changes, unsaved) = found.changes(&workspace);
    let told: Vec<String> = changes
        .iter()
        .map(|change| {
            let name = change.path.strip_prefix(&place.root).unwrap().display();
            format!("{name}: {} <= {}", place.text(&change.before), place.text(&change.after))
        })
        .collect();
    assert_eq!(told, ["a: one 644 <= two 644", "gone: old 644 <= nothing", "new: nothing <= x 644"]);
    assert_eq!(unsaved, ["large"]);
    shelf.hold(&place.settings.blobs);
    assert!(shelf.find("before", Path::new("/elsewhere"), None).is_err(), "it is of another folder");
    let second = Named { session: "20260101_x".into(), ..named.clone() };
    shelf.add(&second).unwrap();
    let error = shelf.find("before", workspace.root(), None).unwrap_err().to_string();
    assert!(error.contains("--session") && error.contains("20260101_x"), "{error}");
    assert_eq!(shelf.find("before", workspace.root(), Some("2026")).unwrap(), second);
    shelf.remove(&second).unwrap();
    shelf.remove(&found).unwrap();
    assert!(shelf.list().is_empty());
}

#[test]
fn the_way_back_to_a_named_checkpoint_leaves_alone_what_it_never_looked_at() {
    use std::os::unix::ffi::OsStrExt;
    let place = Place::new();
    let odd = |name: &[u8]| place.root.join(std::ffi::OsStr::from_bytes(name));
    place.write("a", "one");
    place.write("kept/a", "one");
    place.write("cache/data", "one");
    place.write("cache/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55");
    fs::write(odd(b"caf\xe9.txt"), "one").unwrap();
    fs::create_dir(odd(b"d\xe9")).unwrap();
    fs::write(odd(b"d\xe9/in"), "one").unwrap();
    let workspace = place.ready();
    let named = Named::new("before", None, 0, &workspace);
    let left_out: Vec<String> = named.left_out.iter().map(|(path, why)| format!("{} {why}", path.display())).collect();
    assert_eq!(
        left_out,
        ["cache is left out", "caf\u{fffd}.txt has a name that is not UTF-8", "d\u{fffd} has a name that is not UTF-8"]
    );
    Shelf::new(&place.settings.ours[0]).add(&named).unwrap();
    drop(workspace);
    // What was left out as a whole is looked at by the next baseline, and the other way round.
    fs::remove_file(place.root.join("cache/CACHEDIR.TAG")).unwrap();
    place.write("kept/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55");
    place.write("kept/a", "two");
    place.write("a", "two");
    let (changes, unsaved) = named.changes(&place.ready());
    let told: Vec<_> = changes.iter().map(|change| change.path.strip_prefix(&place.root).unwrap()).collect();
    assert_eq!(told, [Path::new("a")]);
    assert_eq!(unsaved, ["cache", "caf\u{fffd}.txt", "d\u{fffd}", "kept"]);
}

#[test]
fn what_a_command_changed_is_found_from_what_a_killed_program_left() {
    let place = Place::new();
    for name in ["edited", "gone", "earlier", "same", "folder/a", "folder/b"] {
        place.write(name, name);
    }
    place.write("node_modules/x", "made");
    let workspace = place.ready();
    place.write("earlier", "before the command");
    let began = chrono::Utc::now().timestamp_millis();
    let mark = workspace.begin(None).unwrap();
    let base = mark.base().expect("it stands for the folder");
    place.write("edited", "new text");
    fs::remove_file(place.root.join("gone")).unwrap();
    fs::rename(place.root.join("folder"), place.root.join("moved")).unwrap();
    place.write("node_modules/y", "made");
    place.write("made", "made");
    // As a kill leaves it: what ends with the program stays.
    let trees = place.settings.known.parent().unwrap();
    let (name, _) = base.split_once(' ').unwrap();
    let kept = fs::read(trees.join(name)).unwrap();
    drop((mark, workspace));
    // The thread of the baseline may hold the workspace for a moment longer.
    let stop = std::time::Instant::now() + LONG;
    while trees.join(name).exists() {
        assert!(std::time::Instant::now() < stop, "it goes with the workspace");
        std::thread::yield_now();
    }
    fs::write(trees.join(name), kept).unwrap();

    let workspace = place.workspace();
    assert!(workspace.is_before(&base));
    let found = workspace.owe().changes(&base, began).unwrap();
    assert_eq!(
        place.told(&found),
        [
            "edited: edited 644 => new text 644",
            "folder: folder 755 => nothing",
            "folder/a: folder/a 644 => nothing",
            "moved/a: nothing => folder/a 644",
            "folder/b: folder/b 644 => nothing",
            "moved/b: nothing => folder/b 644",
            "gone: gone 644 => nothing",
            "made: nothing => made 644",
            "moved: nothing => folder 755",
        ]
    );
    // Nothing of it is taken for the work of one that begins later.
    let later = chrono::Utc::now().timestamp_millis() + 60_000;
    let found = workspace.owe().changes(&base, later).unwrap();
    assert!(found.changes.iter().all(|change| change.after.hash.is_none()), "{found:?}");
    assert_eq!(workspace.ready(Duration::ZERO), Ok(true));
    let owed = workspace.owe();
    assert_eq!(workspace.ready(Duration::ZERO), Ok(false), "another command waits");
    drop(owed);
    assert!(workspace.owe().changes("0123456789abcdef.00000000.run 9", began).is_err());
    base::sweep(trees, std::slice::from_ref(&base));
    assert!(trees.join(name).exists(), "a word needs it");
}

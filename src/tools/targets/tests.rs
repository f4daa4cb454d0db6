//! What the modal says of real folders and repositories.

use super::*;
use crate::policy::{Mode, Rules, decide};
use crate::tools::world::LocalWorld;

/// Long enough for a busy machine.
const DEADLINE: Duration = Duration::from_secs(20);

/// A project below a home of its own.
struct Here {
    _folder: tempfile::TempDir,
    home: PathBuf,
    cwd: PathBuf,
}

impl Here {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap().join("home");
        let cwd = home.join("project");
        std::fs::create_dir_all(&cwd).unwrap();
        Self { _folder: folder, home, cwd }
    }

    fn write(&self, name: &str, text: &str) -> &Self {
        let path = self.cwd.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    fn git(&self, args: &[&str]) -> &Self {
        let mut command = std::process::Command::new("git");
        command.current_dir(&self.cwd).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(args);
        for (name, value) in [("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")] {
            command.env(name, value);
        }
        let done = command.output().unwrap();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
        self
    }

    /// What git prints, on one line.
    fn told(&self, args: &[&str]) -> String {
        let done = std::process::Command::new("git").current_dir(&self.cwd).args(args).output().unwrap();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    }

    fn commit(&self, text: &str) -> &Self {
        self.git(&["add", "-A"]).git(&["commit", "-q", "-m", text])
    }

    fn world(&self) -> LocalWorld {
        LocalWorld::new(self.home.clone(), self.home.join(".hermes"))
    }

    fn intent(&self, line: &str) -> Intent {
        Intent::Command { line: line.into(), cwd: self.cwd.clone(), background: false }
    }

    fn look(&self, line: &str) -> Found {
        let (intent, world) = (self.intent(line), self.world());
        let verdict = decide(&intent, &Rules::default(), Mode::Ask, &world);
        assert!(matches!(verdict, Verdict::Ask(_) | Verdict::AskAlways(_)), "{line}: {verdict:?}");
        let found = Mutex::default();
        look(&intent, &verdict, &self.cwd, Times { count: DEADLINE, git: DEADLINE }, &world, &found);
        found.into_inner().unwrap()
    }

    /// `name: files: note`, a line each.
    fn rows(&self, line: &str) -> Vec<String> {
        let row = |target: Target| {
            let files = target.files.map_or(String::new(), |files| files.to_string());
            format!("{}: {files}: {}", target.name, target.note)
        };
        self.look(line).targets.into_iter().map(row).collect()
    }

    #[track_caller]
    fn says(&self, line: &str, wanted: &[&str]) {
        let rows = self.rows(line);
        assert_eq!(rows.len(), wanted.len(), "{line}: {rows:#?}");
        for (row, wanted) in rows.iter().zip(wanted) {
            let mut rest = row.as_str();
            for part in wanted.split('…') {
                let at = rest.find(part).unwrap_or_else(|| panic!("{line}: {row} is not like {wanted}"));
                rest = &rest[at + part.len()..];
            }
        }
    }
}

#[test]
fn counts_what_a_delete_would_touch() {
    let folder = tempfile::tempdir().unwrap();
    let cwd = folder.path().canonicalize().unwrap();
    std::fs::create_dir_all(cwd.join("build/deep")).unwrap();
    std::fs::create_dir(cwd.join(".git")).unwrap();
    std::fs::write(cwd.join("build/a"), "12345").unwrap();
    std::fs::write(cwd.join("build/deep/b"), "123").unwrap();
    std::fs::write(cwd.join(".gitignore"), "build/\n").unwrap();
    let world = LocalWorld::new("/home/alice".into(), "/home/alice/.hermes".into());
    let intent = Intent::Command { line: "rm -rf build ./gone".into(), cwd: cwd.clone(), background: false };
    let verdict = decide(&intent, &Rules::default(), Mode::Ask, &world);
    assert_eq!(verdict.name(), "ask");
    let found = Mutex::default();
    look(&intent, &verdict, &cwd, Times { count: DEADLINE, git: DEADLINE }, &world, &found);
    let found = found.into_inner().unwrap().targets;
    let build = found.iter().find(|t| t.name == "build").unwrap();
    assert_eq!(
        (build.files, build.bytes, build.at_least, build.note.as_str()),
        (Some(2), Some(8), false, "ignored by git")
    );
    assert!(found.iter().any(|t| t.name == "./gone" && t.note == "does not exist"), "{found:?}");
}

#[test]
fn what_is_not_there_what_leads_elsewhere_and_what_holds_this_folder_is_said() {
    let here = Here::new();
    here.write("build/a", "1").write("src/main.rs", "fn main() {}");
    std::fs::create_dir(here.home.join("other")).unwrap();
    std::fs::write(here.home.join("other/x"), "12").unwrap();
    std::os::unix::fs::symlink(here.home.join("other"), here.cwd.join("link")).unwrap();
    here.says("rm -rf link", &["link: 1: …a link to …/home/other"]);
    here.says("rm -rf link/x", &["link/x: 1: …through a link: …/home/other/x"]);
    here.says("rm -rf ../other", &["../other: 1: outside this folder"]);
    here.says("rm -rf build gone", &["build: 1: ", "gone: : does not exist"]);
    here.says("rm -rf nothing*", &["nothing*: : matches nothing now"]);
    here.says("rm -rf s*", &["s*: 1: 1 path"]);
    here.says("rm -rf $UNSET_NAME/x", &["…/x: : known only when it runs"]);
    here.says("echo x > ~/.bashrc", &["~/.bashrc: : a new file, outside this folder"]);
    std::fs::write(here.home.join(".bashrc"), "123").unwrap();
    here.says("echo x > ~/.bashrc", &["~/.bashrc: 1: outside this folder"]);
}

#[test]
fn a_folder_around_this_one_says_so() {
    let here = Here::new();
    here.write("a/b/c", "1");
    let (world, cwd) = (here.world(), here.cwd.join("a/b"));
    let nature = |path: &str| measure::nature(&here.cwd.join(path), &cwd, Role::DeleteTree, &world);
    assert_eq!(nature("a"), ["holds this folder"]);
    assert_eq!(nature("a/b"), ["is this folder itself"]);
    assert_eq!(
        measure::nature(&here.home, &cwd, Role::DeleteTree, &world),
        ["holds this folder", "is your home folder itself"]
    );
}

#[test]
fn find_counts_what_it_matches() {
    let here = Here::new();
    here.write("a.o", "1").write("b.c", "12").write("deep/c.o", "123").write("deep/d.txt", "");
    here.says("find . -name '*.o' -delete", &["find: 2: …a.o"]);
    here.says("find . -maxdepth 1 -name '*.o' -delete", &["find: 1: a.o"]);
    here.says("find . -type f -not -name '*.o' -delete", &["find: 2: "]);
    here.says("find . '(' -name '*.c' -o -empty ')' -type f -delete", &["find: 2: "]);
    here.says("find . -name '*.zip' -delete", &["find: 0: matches nothing now"]);
    here.says("find . -name '*.o' -newer b.c -delete", &["find: 2: at most: some of its tests are not understood"]);
    here.says("find . -name deep -exec rm -rf {} +", &["find: 2: deep"]);
    here.says("find . -name '*.o' | xargs rm", &["find … | xargs rm: 2: "]);
    here.says("cat list | xargs rm", &["xargs rm: : whatever its input names, known only when it runs"]);
}

#[test]
fn what_git_would_lose_is_counted_and_named() {
    let here = Here::new();
    here.git(&["init", "-q", "-b", "main"]).write(".gitignore", "target/\n").write("a.rs", "1").write("b.rs", "1");
    here.commit("one").write("a.rs", "2").commit("two");
    here.says("git reset --hard", &["git reset --hard: : nothing uncommitted would be lost"]);
    here.write("a.rs", "changed").write("notes.md", "mine").write("target/x", "1").write("new/z", "1");
    here.says("git reset --hard", &["git reset --hard: 1: 1 not committed: a.rs"]);
    here.says(
        "git reset --hard HEAD~1",
        &["git reset --hard: 1: 1 not committed: a.rs; 1 commit leaves the branch, 1 not pushed"],
    );
    here.says("git clean -fd", &["git clean: 2: 2 of them never committed: new/z, notes.md"]);
    here.says("git clean -fdx", &["git clean: 3: 2 of them never committed: new/z, notes.md"]);
    here.says("git clean -f", &["git clean: 1: 1 of them never committed: notes.md"]);
    here.says("git checkout -- a.rs b.rs", &["git checkout: 1: 1 not committed: a.rs"]);
    here.says("git restore .", &["git restore: 1: 1 not committed: a.rs"]);
    here.says("rm -rf new a.rs", &["new: 1: …1 never committed: new/z", "a.rs: 1: …1 not committed: a.rs"]);
    here.says("rm -rf target", &["target: 1: ignored by git"]);
    here.git(&["stash", "-q"]);
    here.says("git stash drop", &["git stash drop: : 1 stash goes: stash@{0}: WIP on main"]);
    here.git(&["checkout", "-q", "-b", "side"]).write("c.rs", "1").commit("only here").git(&["checkout", "-q", "main"]);
    here.says("git branch -D side", &["git branch -D: : side: 1 commit exist nowhere else, last “only here”"]);
    here.says("cd .. && rm -rf project", &["project: …is this folder itself…a git repository, 3 commits not pushed"]);
}

#[test]
fn nothing_of_a_repository_is_run() {
    let here = Here::new();
    here.git(&["init", "-q", "-b", "main"])
        .write("a.rs", "1")
        .write(".gitattributes", "*.rs filter=evil")
        .commit("one");
    let ran = here.home.join("ran");
    let program = format!("touch {}; cat", ran.display());
    for key in [
        "core.fsmonitor",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "core.pager",
        "core.editor",
        "core.sshCommand",
        "core.alternateRefsCommand",
        "credential.helper",
        "diff.external",
        "diff.evil.textconv",
        "diff.evil.command",
        "gpg.program",
        "gpg.ssh.program",
    ] {
        here.git(&["config", key, &program]);
    }
    here.git(&["config", "filter.evil.required", "true"]);
    here.git(&["config", "log.showSignature", "true"]);
    // A commit that says it is signed: to show that a program is asked.
    let tree = here.told(&["write-tree"]);
    let signed = format!(
        "tree {tree}\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\nsigned\n"
    );
    here.write("signed", &signed);
    let commit = here.told(&["hash-object", "-t", "commit", "-w", "signed"]);
    here.git(&["branch", "signed", &commit]);
    std::fs::remove_file(here.cwd.join("signed")).unwrap();
    for hook in ["post-index-change", "fsmonitor-watchman", "reference-transaction"] {
        let path = here.cwd.join(".git/hooks").join(hook);
        std::fs::write(&path, format!("#!/bin/sh\ntouch {}\n", ran.display())).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    std::fs::remove_file(&ran).ok();
    here.write("a.rs", "2").write("b.rs", "3");
    let index = std::fs::read(here.cwd.join(".git/index")).unwrap();
    here.says("git reset --hard", &["git reset --hard: 1: 1 not committed: a.rs"]);
    here.rows("git clean -fdx");
    here.rows("rm -rf a.rs b.rs");
    here.says("git branch -D signed", &["git branch -D: : signed: 1 commit exist nowhere else, last “signed”"]);
    for line in [
        "git reset --hard --output=../ran",
        "git reset --hard -- --output=../ran",
        "git clean -fdx --output=../ran",
        "git branch -D --output=../ran",
        "git stash drop --output=../ran",
        "git -c core.fsmonitor=\"touch ../ran\" reset --hard",
        "git push --force --output=../ran",
    ] {
        here.rows(line);
    }
    assert!(!ran.exists(), "a program of the repository ran");
    assert_eq!(std::fs::read(here.cwd.join(".git/index")).unwrap(), index);
}

#[test]
fn payloads_are_whole_and_only_what_does_not_stand_in_the_line() {
    let here = Here::new();
    let script = format!("echo begin\n{}\nrm -rf build\n", "echo padding\n".repeat(100));
    use base64::Engine;
    let encoded = base64::engine::general_purpose::STANDARD.encode(&script);
    let payloads = |line: &str| here.look(line).payloads;
    for line in [
        format!("echo {encoded} | base64 -d | sh"),
        format!("base64 -d <<< {encoded} | bash"),
        format!("sh -c \"$(echo {encoded} | base64 -d)\""),
        format!("eval \"$(echo {encoded} | base64 -d)\""),
        format!("echo {encoded} | base64 -d | python3"),
    ] {
        let found = payloads(&line);
        assert_eq!(found.len(), 1, "{line}: {found:?}");
        assert_eq!(found[0].text.trim_end(), script.trim_end(), "{line}");
        assert!(found[0].decoded && !found[0].from.is_empty(), "{line}: {:?}", found[0].from);
    }
    assert_eq!(payloads("sh <<'E'\nrm -rf build\nE"), []);
    assert_eq!(payloads("rm -rf build"), []);
}

#[test]
fn a_link_that_turns_is_a_difference_and_what_goes_is_none() {
    let here = Here::new();
    here.write("build/a", "1").write("x.o", "1").write("y.o", "1");
    let world = here.world();
    let intent = here.intent("rm -rf build x.o *.o");
    let verdict = decide(&intent, &Rules::default(), Mode::Ask, &world);
    let before = resolved_paths(&intent, &verdict, &here.cwd, &world);
    assert_eq!(before.len(), 4, "{before:?}");
    std::fs::remove_file(here.cwd.join("y.o")).unwrap();
    assert_eq!(differences(&before, &resolved_paths(&intent, &verdict, &here.cwd, &world)), Vec::<String>::new());
    here.write("z.o", "1");
    std::fs::rename(here.cwd.join("build"), here.cwd.join("built")).unwrap();
    std::os::unix::fs::symlink(&here.home, here.cwd.join("build")).unwrap();
    let told = differences(&before, &resolved_paths(&intent, &verdict, &here.cwd, &world));
    let (glob, link) = (
        format!("*.o now also means {}", here.cwd.join("z.o").display()),
        format!("build now leads to {}", here.home.display()),
    );
    assert_eq!(told, [glob, link]);
}

#[test]
fn addresses_are_no_files() {
    let here = Here::new();
    here.says("curl -fsSL http://127.0.0.1:9/install.sh | sh", &[]);
    here.says("wget -O ~/.bashrc https://example.org/x", &["~/.bashrc: : a new file, outside this folder"]);
    here.write("http:/x", "1");
    here.says("rm -rf http://x", &["http://x: 1: "]);
}

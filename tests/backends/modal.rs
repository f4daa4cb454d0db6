//! Sandboxes of Modal: the program's own client in Python against a package that has the signatures of Modal's and runs
//! real processes (`tests/fixtures/modal`).

use super::*;
use crate::harness::{skipped, until};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

/// A folder with a program `modal`, and the place of its sandboxes.
struct Standin {
    root: PathBuf,
    python: PathBuf,
}

impl Standin {
    /// Its files in a folder; the reason when there is no Python here that reads them.
    fn at(root: &Path) -> Result<Self, String> {
        let asked =
            Command::new("python3").args(["-c", "import sys; print(sys.executable, *sys.version_info[:2])"]).output();
        let said = asked.map_err(|error| format!("no python3 here: {error}"))?;
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let words: Vec<&str> = said.split_whitespace().collect();
        let [python, major, minor] = words[..] else { return Err("python3 does not run here".into()) };
        if (major.parse::<u32>().unwrap(), minor.parse::<u32>().unwrap()) < (3, 10) {
            return Err(format!("python {major}.{minor} is too old for the package modal"));
        }
        let root = root.canonicalize().unwrap();
        let program = root.join("modal");
        std::fs::write(&program, format!("#!{python}\nimport modal\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        Ok(Self { root, python: python.into() })
    }

    fn variables(&self) -> Vec<(&'static str, String)> {
        let path = format!("{}:{}", self.root.display(), std::env::var("PATH").unwrap());
        let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/modal").display().to_string();
        vec![
            ("PATH", path),
            ("PYTHONPATH", package),
            ("PYTHONDONTWRITEBYTECODE", "1".into()),
            ("STANDIN", self.root.display().to_string()),
        ]
    }

    /// The sandboxes that were made, those that ended too.
    fn sandboxes(&self) -> Vec<PathBuf> {
        let Ok(all) = std::fs::read_dir(self.root.join("sandboxes")) else { return Vec::new() };
        all.map(|entry| entry.unwrap().path()).collect()
    }

    fn running(&self) -> Vec<PathBuf> {
        self.sandboxes().into_iter().filter(|sandbox| !sandbox.join("ended").exists()).collect()
    }

    /// Ends a sandbox from outside, as the service does it.
    fn end(&self, sandbox: &Path) {
        let id = sandbox.file_name().unwrap().to_str().unwrap();
        let line = format!("import modal; modal.Sandbox.from_id('{id}').terminate()");
        let mut command = Command::new(&self.python);
        command.args(["-c", &line]).envs(self.variables());
        command.env("MODAL_TOKEN_ID", "ak-standin").env("MODAL_TOKEN_SECRET", "as-standin");
        assert!(command.status().unwrap().success());
    }
}

impl Drop for Standin {
    fn drop(&mut self) {
        for sandbox in self.running() {
            self.end(&sandbox);
        }
    }
}

/// A site in a sandbox, in a process of its own.
fn site(test: &str) -> Option<(Standin, Site)> {
    let folder = alone::again(&format!("backends::modal::{test}"), |folder| {
        Standin::at(folder).map(|standin| standin.variables()).unwrap_or_default()
    })?;
    let standin = Standin::at(&folder).map_err(|why| skipped(test, &why)).ok()?;
    let terminal = TerminalConfig { backend: "modal".into(), ..TerminalConfig::default() };
    let keys = Keys::find(|name| match name {
        "MODAL_TOKEN_ID" => Some("ak-standin"),
        "MODAL_TOKEN_SECRET" => Some("as-standin"),
        _ => None,
    });
    Some((standin, Site::reached(Config { terminal, ..Config::default() }, Mode::Yolo, keys)))
}

#[test]
fn commands_and_files_are_in_the_sandbox() {
    let Some((standin, site)) = site("commands_and_files_are_in_the_sandbox") else { return };
    assert_eq!(site.prints("pwd"), standin.root.join("disk").display().to_string());
    works_like_home(&site);
    assert!(site.backends.kind() == "modal" && site.backends.is_isolated());
    assert_eq!(site.prints("env | grep -c MODAL_TOKEN || true"), "0", "the token is nowhere there");
    assert_eq!(standin.running().len(), 1);
    drop(site);
    assert_eq!(standin.running(), Vec::<PathBuf>::new(), "nothing is paid for that nobody uses");
}

#[test]
fn what_is_stopped_ends_in_the_sandbox() {
    let Some((_standin, site)) = site("what_is_stopped_ends_in_the_sandbox") else { return };
    ends_there(&site);
    background_works(&site);
}

#[test]
fn the_gate_looks_into_the_sandbox() {
    let Some((_standin, site)) = site("the_gate_looks_into_the_sandbox") else { return };
    is_judged_there(&site);
}

#[test]
fn a_sandbox_that_ends_is_told_and_made_anew() {
    let Some((standin, site)) = site("a_sandbox_that_ends_is_told_and_made_anew") else { return };
    site.prints("true");
    let sandbox = standin.running().remove(0);
    let said = std::thread::scope(|scope| {
        scope.spawn(|| {
            until("the command runs", || standin.root.join("disk/running").exists());
            standin.end(&sandbox);
        });
        site.run("touch running; sleep 600")
    });
    let why = said["error"].as_str().unwrap_or_else(|| panic!("{said}"));
    assert!(why.contains("has stopped (idle too long, after a day, or outside Hermes)"), "{why}");
    assert_eq!(site.prints("ls"), "image");
    assert_eq!((standin.sandboxes().len(), standin.running().len()), (2, 1));
}

/// A home that works in sandboxes, by the built program.
fn home(standin: &Standin) -> Home {
    let home = sandbox_home("modal", standin.variables());
    std::fs::write(home.hermes().join(".env"), "MODAL_TOKEN_ID=ak-standin\nMODAL_TOKEN_SECRET=as-standin\n").unwrap();
    home
}

#[test]
fn what_a_sandbox_held_is_kept_for_the_next_run() {
    let root = tempfile::tempdir().unwrap();
    let standin = match Standin::at(root.path()) {
        Ok(standin) => standin,
        Err(why) => return skipped("what_a_sandbox_held_is_kept_for_the_next_run", &why),
    };
    let home = home(&standin);
    let said = run(&home, "printf '%s\\n' \"a  'b'\" '$HOME' >made; cat made image; exit 3");
    let image = "nikolaik/python-nodejs:python3.11-nodejs20";
    assert_eq!((&said["exit_code"], &said["output"]), (&json!(3), &json!(format!("a  'b'\n$HOME\n{image}"))), "{said}");
    assert_eq!(standin.running(), Vec::<PathBuf>::new());
    assert_eq!(run(&home, "wc -l <made")["output"], "2", "another sandbox, and what the first one held");
    // What was kept is gone there: that is told, its name is kept, and then it begins anew.
    std::fs::remove_dir_all(standin.root.join("images")).unwrap();
    let kept = |of: &str| {
        let all = std::fs::read_dir(home.hermes().join("sandboxes/modal")).unwrap().map(|entry| entry.unwrap().path());
        let mut these = all.filter(|path| path.extension().is_some_and(|end| end == "before") == (of == "before"));
        these.next().map(|path| std::fs::read_to_string(path).unwrap())
    };
    let image = kept("now").unwrap();
    let lost = run(&home, "ls");
    let why = lost["error"].as_str().unwrap_or_else(|| panic!("{lost}"));
    assert!(why.contains("no longer exists") && why.contains(&image) && why.contains(".before"), "{why}");
    assert_eq!((kept("now"), kept("before").as_deref()), (None, Some(image.as_str())));
    assert_eq!(standin.running(), Vec::<PathBuf>::new(), "nothing was made in its place");
    assert_eq!(run(&home, "ls")["output"], "image");
    assert_eq!(kept("before"), Some(image), "it can still be looked for");
    home.config("terminal:\n  backend: modal\n  container_persistent: false\n");
    assert_eq!(run(&home, "touch x; ls -1")["output"], "image\nx");
    assert_eq!(run(&home, "ls")["output"], "image");
    std::fs::write(home.project().join("one.txt"), "one\n").unwrap();
    home.config("terminal:\n  backend: modal\n");
    assert!(home.run(&["files", "push", "one.txt", "in/two.txt"]).status.success());
    assert!(home.run(&["files", "pull", "in/two.txt", "back.txt"]).status.success());
    assert_eq!(std::fs::read_to_string(home.project().join("back.txt")).unwrap(), "one\n");
    assert!(out(&home.run(&["doctor"])).contains("modal python-nodejs"));
}

#[test]
fn a_sandbox_whose_image_cannot_be_noted_is_not_ended() {
    let root = tempfile::tempdir().unwrap();
    let standin = match Standin::at(root.path()) {
        Ok(standin) => standin,
        Err(why) => return skipped("a_sandbox_whose_image_cannot_be_noted_is_not_ended", &why),
    };
    let home = home(&standin);
    // As a full disk or a home that cannot be written.
    let folder = home.hermes().join("sandboxes/modal");
    std::fs::create_dir_all(folder.parent().unwrap()).unwrap();
    std::fs::write(&folder, "").unwrap();
    let (said, words) = told(&home, "echo work >made; cat made");
    assert_eq!(said["output"], "work", "{said}");
    let images = std::fs::read_dir(standin.root.join("images")).unwrap();
    let image = images.map(|entry| entry.unwrap().file_name().into_string().unwrap()).next().unwrap();
    assert!(words.contains(&image) && words.contains("was left running"), "{words}");
    assert_eq!(standin.running().len(), 1, "it is the only one that has them");
    std::fs::remove_file(&folder).unwrap();
    assert_eq!(run(&home, "cat made")["output"], "work");
    assert_eq!((standin.running().len(), standin.sandboxes().len()), (0, 1), "it was found again, kept and ended");
}

#[test]
fn a_word_that_the_service_does_not_like_is_no_reason_for_another_image() {
    let root = tempfile::tempdir().unwrap();
    let standin = match Standin::at(root.path()) {
        Ok(standin) => standin,
        Err(why) => return skipped("a_word_that_the_service_does_not_like_is_no_reason_for_another_image", &why),
    };
    let home = home(&standin);
    assert_eq!(run(&home, "echo work >made; cat made")["output"], "work");
    std::fs::write(standin.root.join("invalid"), "cpu must be less than 64").unwrap();
    let said = run(&home, "cat made");
    assert!(said["error"].as_str().is_some_and(|why| why.contains("cpu must be less than 64")), "{said}");
    std::fs::remove_file(standin.root.join("invalid")).unwrap();
    assert_eq!(run(&home, "cat made")["output"], "work");
}

#[test]
fn what_the_service_refuses_is_told() {
    let root = tempfile::tempdir().unwrap();
    let standin = match Standin::at(root.path()) {
        Ok(standin) => standin,
        Err(why) => return skipped("what_the_service_refuses_is_told", &why),
    };
    let home = home(&standin);
    let why = |words: &str| {
        let said = run(&home, "touch here");
        let why = said["error"].as_str().unwrap_or_else(|| panic!("{said}"));
        assert!(why.contains(words) && !why.contains("as-standin"), "{why}");
    };
    std::fs::write(standin.root.join("refusal"), "you are out of money").unwrap();
    why("the account's limit is reached (you are out of money)");
    std::fs::remove_file(standin.root.join("refusal")).unwrap();
    std::fs::write(home.hermes().join(".env"), "MODAL_TOKEN_ID=ak-standin\nMODAL_TOKEN_SECRET=other-secret-1\n")
        .unwrap();
    why("the service rejected the token (Token validation failed): run `modal setup`");
    std::fs::remove_file(home.hermes().join(".env")).unwrap();
    why("no Modal token");
    std::fs::write(home.user().join(".modal.toml"), "[default]\n").unwrap();
    why("the service rejected the token (Token missing");
    std::fs::remove_file(standin.root.join("modal")).unwrap();
    let elsewhere = Command::new("sh").args(["-c", "command -v modal"]).output().unwrap();
    if !elsewhere.status.success() {
        why("`modal` is not installed");
    }
    assert!(!home.project().join("here").exists());
}

#[test]
fn a_person_types_into_a_command_in_the_sandbox() {
    let root = tempfile::tempdir().unwrap();
    let standin = match Standin::at(root.path()) {
        Ok(standin) => standin,
        Err(why) => return skipped("a_person_types_into_a_command_in_the_sandbox", &why),
    };
    types_there(home(&standin), "modal");
}

//! Reads a repository by the `git` program, and nothing that the repository names runs: no hook, filter, pager, helper or
//! monitor, and no program of a submodule's settings.

use crate::exec::{Limits, Oneshot, OneshotError, OutputLimit, Remainder};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Bytes of an answer; more are dropped.
const ANSWER: usize = 1024 * 1024;
/// Bytes of what git says of a failure.
const COMPLAINT: usize = 4 * 1024;

/// Settings in place of those of a repository: programs that it may name.
const SETTINGS: [&str; 15] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.quotePath=false",
    "core.pager=cat",
    "core.editor=false",
    "core.askPass=false",
    "core.sshCommand=false",
    "core.alternateRefsCommand=false",
    "credential.helper=",
    "diff.external=",
    // Anything longer is made by a git of its own in the submodule, which obeys that one's settings.
    "diff.submodule=short",
    // A signature is checked by a program.
    "log.showSignature=false",
    "gpg.program=false",
    "gpg.ssh.program=false",
    "gpg.x509.program=false",
];
/// Variables that git keeps: where it is, and whose repositories it may read.
const KEPT: [&str; 4] = ["PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR"];
/// And those that it gets: it takes no locks, asks nobody and reaches no network.
const FIXED: [(&str, &str); 6] = [
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_CONFIG_COUNT", "0"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("LC_ALL", "C"),
];

/// Why git has no answer.
#[derive(Debug, thiserror::Error)]
pub enum RepoError {
    #[error("not a git repository (nor any parent folder)")]
    Nowhere,
    #[error("git timed out")]
    Late,
    #[error("cannot disable a filter in this repository's settings ({0}): rename it so Hermes can run git here")]
    Filter(String),
    #[error("{0}")]
    Failed(String),
    #[error("git {0}")]
    Run(OneshotError),
}

/// A repository whose own programs are switched off.
#[derive(Debug)]
pub struct Repo {
    /// A folder in it.
    folder: PathBuf,
    /// Settings that take its filters away.
    off: Vec<OsString>,
}

impl Repo {
    /// The repository that a folder, or the nearest one above it that is there, is in. Blocks until `until` at most.
    ///
    /// # Errors
    /// There is none, git failed or is late, or it has a filter that cannot be switched off.
    pub fn of(folder: &Path, until: Instant) -> Result<Self, RepoError> {
        let there = folder.ancestors().find(|folder| folder.is_dir()).ok_or(RepoError::Nowhere)?;
        there.ancestors().find(|folder| folder.join(".git").exists()).ok_or(RepoError::Nowhere)?;
        // A filter is a program: one that would clean a file before git compares it must not run.
        let list = ["config", "-z", "--name-only", "--get-regexp", r"^filter\."];
        // Without any, git says so by ending with 1.
        let (_, names) = run(there, &[], OutputLimit::All(ANSWER), &list, until)?;
        let mut off = Vec::new();
        for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
            // What comes after the first equals sign would be the value.
            if name.contains(&b'=') {
                return Err(RepoError::Filter(String::from_utf8_lossy(name).into_owned()));
            }
            let value: &[u8] = if name.ends_with(b".required") { b"=false" } else { b"=" };
            off.push(OsString::from_vec([name, value].concat()));
        }
        Ok(Self { folder: there.to_owned(), off })
    }

    /// Whether its settings name filters, which are switched off here: files that they would make are not as they should be.
    pub fn has_filters(&self) -> bool {
        !self.off.is_empty()
    }

    /// Its top folder, links resolved.
    ///
    /// # Errors
    /// As [`ask`](Self::ask); it may have none.
    pub fn root(&self, until: Instant) -> Result<PathBuf, RepoError> {
        let mut root = self.ask(&["rev-parse", "--show-toplevel"], until)?;
        match root.pop() {
            Some(b'\n') => Ok(PathBuf::from(OsString::from_vec(root))),
            _ => Err(RepoError::Nowhere),
        }
    }

    /// What git answers in the folder, the first MiB of it. Arguments are git's own words; paths come after `--`.
    ///
    /// # Errors
    /// Git failed or is late.
    pub fn ask<S: AsRef<OsStr>>(&self, args: &[S], until: Instant) -> Result<Vec<u8>, RepoError> {
        self.ask_at(&self.folder, args, until)
    }

    /// All of what git answers in the folder.
    ///
    /// # Errors
    /// As [`ask`](Self::ask), or there are more bytes than these.
    pub fn whole<S: AsRef<OsStr>>(&self, args: &[S], most: usize, until: Instant) -> Result<Vec<u8>, RepoError> {
        match run(&self.folder, &self.off, OutputLimit::All(most), args, until)? {
            (true, answer) => Ok(answer),
            (false, _) => Err(RepoError::Failed("git found nothing".into())),
        }
    }

    /// What changed since the last commit, the first MiB of it: a raw entry for each file, fields and entries ended by zeros, a
    /// zero, and the patch. Before the first commit all that was added is new.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub fn diff(&self, until: Instant) -> Result<Vec<u8>, RepoError> {
        let (committed, _) = run(
            &self.folder,
            &self.off,
            OutputLimit::First(ANSWER),
            &["rev-parse", "--verify", "--quiet", "HEAD"],
            until,
        )?;
        let nothing =
            if committed { Vec::new() } else { self.ask(&["hash-object", "-t", "tree", "/dev/null"], until)? };
        let nothing = String::from_utf8_lossy(nothing.trim_ascii()).into_owned();
        let before = if committed { "HEAD" } else { &nothing };
        let plain = ["diff", "--no-ext-diff", "--no-textconv", "--submodule=short", "--ignore-submodules=dirty"];
        self.ask(&[&plain[..], &["--raw", "-z", "--no-abbrev", "--patch", "--find-renames", before]].concat(), until)
    }

    /// Files of the repository with this top folder that git does not know and was not told to ignore, each ended by a zero.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub fn new_files(&self, root: &Path, until: Instant) -> Result<Vec<u8>, RepoError> {
        self.ask_at(root, &["ls-files", "--others", "--exclude-standard", "-z"], until)
    }

    /// What git answers in another folder of it.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub fn ask_at<S: AsRef<OsStr>>(&self, folder: &Path, args: &[S], until: Instant) -> Result<Vec<u8>, RepoError> {
        match run(folder, &self.off, OutputLimit::First(ANSWER), args, until)? {
            (true, answer) => Ok(answer),
            (false, _) => Err(RepoError::Failed("git found nothing".into())),
        }
    }
}

/// Runs git in a folder; `false` where it ended with 1 and without a word.
fn run<S: AsRef<OsStr>>(
    folder: &Path,
    off: &[OsString],
    stdout: OutputLimit,
    args: &[S],
    until: Instant,
) -> Result<(bool, Vec<u8>), RepoError> {
    let time = until.checked_duration_since(Instant::now()).ok_or(RepoError::Late)?;
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(["--no-pager", "--literal-pathspecs"]);
    for setting in SETTINGS.iter().map(OsStr::new).chain(off.iter().map(OsString::as_os_str)) {
        command.arg("-c").arg(setting);
    }
    command.args(args);
    // Nothing of what this program was started with: a folder of its own choice, no programs, no traces in files.
    command.env_clear();
    command.envs(KEPT.iter().filter_map(|name| Some((*name, std::env::var_os(name)?))));
    command.envs(FIXED);
    let bounds = Limits { time, stdout, stderr: OutputLimit::First(COMPLAINT) };
    let done = match (Oneshot { command, input: Vec::new(), bounds, rest: Remainder::Ends }).block(&|| false) {
        Ok(done) => done,
        Err(OneshotError::TimedOut(_)) => return Err(RepoError::Late),
        Err(error) => return Err(RepoError::Run(error)),
    };
    let complaint = done.stderr.trim_ascii();
    match done.status.code() {
        Some(0) => Ok((true, done.stdout)),
        Some(1) if complaint.is_empty() => Ok((false, done.stdout)),
        _ => Err(RepoError::Failed(OsStr::from_bytes(complaint).to_string_lossy().into_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    /// A repository with one commit, and what its settings hold beside: `(section, lines)`.
    fn repository(folder: &Path, attributes: &[u8], settings: &[u8]) {
        let git = |args: &[&str]| {
            let mut git = Command::new("git");
            git.current_dir(folder).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(args);
            let done = git.output().expect("git");
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        };
        git(&["init", "-q", "-b", "main"]);
        std::fs::write(folder.join("a.rs"), "1").expect("a file");
        git(&["add", "."]);
        git(&["commit", "-q", "-m", "one"]);
        std::fs::write(folder.join(".gitattributes"), attributes).expect("attributes");
        std::fs::write(folder.join("a.rs"), "2").expect("a file");
        let config = folder.join(".git/config");
        let mut text = std::fs::read(&config).expect("settings");
        text.extend_from_slice(settings);
        std::fs::write(config, text).expect("settings");
    }

    #[test]
    fn filters_of_any_name_do_not_run() {
        let home = tempfile::tempdir().expect("a folder");
        let ran = home.path().join("ran");
        let program = format!("touch {}; cat", ran.display());
        let section = |name: &[u8]| [b"[filter \"", name, b"\"]\n\tclean = \"", program.as_bytes(), b"\"\n"].concat();
        for (at, name) in [&b"plain"[..], b"\xff\xfe", b"with.point", b"Case", b"two words"].into_iter().enumerate() {
            let folder = home.path().join(at.to_string());
            std::fs::create_dir(&folder).expect("a folder");
            repository(&folder, &[b"*.rs filter=", name, b"\n"].concat(), &section(name));
            let repo = Repo::of(&folder, soon()).expect("a repository");
            let status = repo.ask(&["status", "--porcelain=v1"], soon()).expect("an answer");
            assert!(status.starts_with(b" M a.rs"), "{name:?}: {}", String::from_utf8_lossy(&status));
            repo.diff(soon()).expect("an answer");
        }
        let folder = home.path().join("equals");
        std::fs::create_dir(&folder).expect("a folder");
        repository(&folder, b"*.rs filter=a=b\n", &section(b"a=b"));
        assert!(matches!(Repo::of(&folder, soon()), Err(RepoError::Filter(name)) if name == "filter.a=b.clean"));
        assert!(!ran.exists(), "a filter ran");
    }

    /// Every program that settings of a repository, or of a submodule, name for what is read here.
    #[test]
    fn no_program_that_a_repository_names_runs() {
        let home = tempfile::tempdir().expect("a folder");
        let (top, inner) = (home.path().join("top"), home.path().join("inner"));
        for folder in [&top, &inner] {
            std::fs::create_dir(folder).expect("a folder");
            repository(folder, b"", b"");
        }
        let git = |folder: &Path, args: &[&str]| {
            let mut git = Command::new("git");
            git.current_dir(folder).args(["-c", "user.name=a", "-c", "user.email=a@b"]);
            let done = git.args(["-c", "protocol.file.allow=always"]).args(args).output().expect("git");
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        };
        git(&top, &["submodule", "add", "-q", &inner.to_string_lossy(), "sub"]);
        git(&top, &["add", "."]);
        git(&top, &["commit", "-q", "-m", "two"]);
        // The submodule stands at another commit, and a file of both differs.
        let sub = top.join("sub");
        std::fs::write(sub.join("a.rs"), "3").expect("a file");
        git(&sub, &["commit", "-q", "-a", "-m", "three"]);
        std::fs::write(top.join("a.rs"), "4").expect("a file");
        let ran = home.path().join("ran");
        let program = |name: &str| format!("\"sh -c 'touch {}-{name}; cat /dev/null' x\"", ran.display());
        let settings = format!(
            "[core]\n\tfsmonitor = {}\n\tpager = {}\n[diff]\n\texternal = {}\n\tsubmodule = diff\n\
             [diff \"driver\"]\n\tcommand = {}\n\ttextconv = {}\n",
            program("monitor"),
            program("pager"),
            program("external"),
            program("driver"),
            program("textconv"),
        );
        for (folder, config) in [(&top, ".git/config"), (&sub, "../.git/modules/sub/config")] {
            std::fs::write(folder.join(".gitattributes"), "*.rs diff=driver\n").expect("attributes");
            let config = folder.join(config);
            let text = std::fs::read_to_string(&config).expect("settings");
            std::fs::write(config, text + &settings).expect("settings");
        }
        let repo = Repo::of(&top, soon()).expect("a repository");
        let diff = String::from_utf8(repo.diff(soon()).expect("an answer")).expect("text");
        assert!(diff.contains("+4") && diff.contains("+Subproject commit"), "{diff}");
        let status = ["status", "--porcelain=v1", "--ignore-submodules=dirty"];
        let status = String::from_utf8(repo.ask(&status, soon()).expect("an answer")).expect("text");
        assert!(status.contains(" M a.rs") && status.contains(" M sub"), "{status}");
        let names = std::fs::read_dir(home.path()).expect("the folder").flatten().map(|entry| entry.file_name());
        let ran: Vec<_> = names.filter(|name| name.to_string_lossy().starts_with("ran")).collect();
        assert!(ran.is_empty(), "{ran:?}");
    }

    #[test]
    fn failures_are_told_apart() {
        let home = tempfile::tempdir().expect("a folder");
        assert!(matches!(Repo::of(home.path(), soon()), Err(RepoError::Nowhere)));
        repository(home.path(), b"", b"");
        assert!(matches!(Repo::of(home.path(), Instant::now()), Err(RepoError::Late)));
        let repo = Repo::of(&home.path().join("no/such/folder"), soon()).expect("a repository");
        assert_eq!(repo.root(soon()).expect("a top"), home.path().canonicalize().expect("its path"));
        let failed = repo.ask(&["log", "nothing"], soon()).expect_err("there is no such thing").to_string();
        assert!(failed.contains("ambiguous argument 'nothing'"), "{failed}");
    }
}

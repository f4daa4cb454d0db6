//! A container of `docker` or `podman`: found again by its labels, started when it is stopped, made when it is not there.
//! Only containers with our label are ever touched.

use super::backend::{Backend, PlaceError, Programs, Terminal, Traits};
use super::keys::mark;
use super::reaper;
use crate::config::TerminalConfig;
use crate::lock::lock;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

/// How long a word of the engine may take.
const WORD: Duration = Duration::from_secs(30);
/// How long a start may take: an image is fetched.
const FETCH: Duration = Duration::from_secs(900);
/// Labels: that it is ours, of which work, of which home: its mark, whose and where it is. One engine serves many people,
/// and nearly every home ends in `.hermes`.
pub(crate) const OURS: &str = "hermes-agent=1";
const TASK: &str = "hermes-task-id";
const PROFILE: &str = "hermes-profile";
const USER: &str = "hermes-user";
const HOME: &str = "hermes-home";
/// What its first process is: it waits, and keeps nothing else from being seen as idle.
const SLEEP: [&str; 2] = ["sleep", "infinity"];
/// Capabilities that package managers need inside.
const KEPT: [&str; 3] = ["DAC_OVERRIDE", "CHOWN", "FOWNER"];
const KEPT_AS_ROOT: [&str; 2] = ["SETUID", "SETGID"];

/// `docker` and `podman`.
pub(crate) struct Container {
    traits: Traits,
    engine: Engine,
    config: TerminalConfig,
    /// Where the program was started.
    workspace: PathBuf,
    /// Keeps what a container keeps: `HOME/sandboxes/docker`.
    sandboxes: PathBuf,
    task: String,
    /// Whose containers these are.
    home: PathBuf,
    /// The container that was found or made.
    name: Mutex<Option<String>>,
    notes: Mutex<Vec<String>>,
}

/// Flags of `run` that an engine, a driver or a kernel may refuse: it works without them. And the words by which a refusal
/// is known.
const OPTIONAL: [(&str, &[&str]); 4] = [
    ("--storage-opt", &["storage", "quota", "xfs", "overlay", "driver"]),
    ("--cpus", &["cpu", "cfs", "cgroup"]),
    ("--memory", &["memory", "cgroup"]),
    ("--pids-limit", &["pids", "cgroup"]),
];
/// Failures that leaving out a flag does not change.
const OTHER: [&str; 8] =
    ["pull", "manifest", "no such image", "denied", "cannot connect", "daemon", "is it installed", "no space left"];

/// The optional flags that a refusal is about: those that it names, else those whose words it has. All of them where it
/// names none and says nothing that is known.
fn refused(words: &[String], why: &str) -> Vec<&'static str> {
    let why = why.to_lowercase();
    let there = |flag: &str| words.iter().any(|word| word == flag);
    let all = || OPTIONAL.iter().filter(|(flag, _)| there(flag));
    let named: Vec<_> = all().filter(|(flag, _)| why.contains(flag.trim_start_matches('-'))).collect();
    let hinted: Vec<_> = all().filter(|(_, hints)| hints.iter().any(|hint| why.contains(hint))).collect();
    let chosen = match (named.is_empty(), hinted.is_empty()) {
        (false, _) => named,
        (true, _) if OTHER.iter().any(|other| why.contains(other)) => Vec::new(),
        (true, false) => hinted,
        (true, true) => all().collect(),
    };
    chosen.into_iter().map(|(flag, _)| *flag).collect()
}

/// The words without these flags and their values.
fn without(words: &[String], flags: &[&str]) -> Vec<String> {
    let mut kept = Vec::with_capacity(words.len());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if flags.contains(&word.as_str()) {
            words.next();
        } else {
            kept.push(word.clone());
        }
    }
    kept
}

/// The command line of an engine.
#[derive(Clone, Debug)]
pub(crate) struct Engine {
    pub(crate) program: String,
    pub(crate) programs: Programs,
}

impl Engine {
    /// Runs one word of the engine to its end.
    ///
    /// # Errors
    /// In the engine's own words.
    pub(crate) fn run<I: AsRef<std::ffi::OsStr>>(&self, words: &[I], time: Duration) -> Result<String, String> {
        self.programs.run(&self.program, words, time)
    }
}

/// Where a container's files come from and what tells it from others.
pub(crate) struct Setting {
    pub(crate) workspace: PathBuf,
    pub(crate) home: PathBuf,
    pub(crate) task: String,
    pub(crate) programs: Programs,
}

impl Container {
    pub(crate) fn new(config: &TerminalConfig, setting: &Setting, mut traits: Traits) -> Self {
        let program = match config.docker_program.trim() {
            "" => traits.kind.to_owned(),
            program => crate::config::paths::expand_home(program).display().to_string(),
        };
        let image = config.docker_image.rsplit('/').next().unwrap_or_default();
        traits.label = format!("{} {image}", traits.kind);
        let mounted = config.docker_mount_cwd_to_workspace;
        traits.cwd =
            Some(begin(&config.cwd, if mounted || config.container_persistent { "/workspace" } else { "/root" }));
        traits.isolated = config.docker_volumes.is_empty() && !mounted && config.docker_extra_args.is_empty();
        traits.patience = FETCH;
        Self {
            engine: Engine { program, programs: setting.programs.clone() },
            workspace: setting.workspace.clone(),
            sandboxes: setting.home.join("sandboxes").join("docker"),
            task: setting.task.clone(),
            home: std::fs::canonicalize(&setting.home).unwrap_or_else(|_| setting.home.clone()),
            config: config.clone(),
            traits,
            name: Mutex::default(),
            notes: Mutex::default(),
        }
    }

    /// What tells the containers of this work and home from all others.
    ///
    /// # Errors
    /// When the home cannot be read or written.
    fn labels(&self) -> Result<[String; 4], String> {
        let mark = mark(&self.home).map_err(|error| format!("{}: {error}", self.home.display()))?;
        Ok(self.labels_of(&mark))
    }

    fn labels_of(&self, mark: &str) -> [String; 4] {
        [
            format!("{TASK}={}", self.task),
            format!("{PROFILE}={mark}"),
            format!("{USER}={}", rustix::process::getuid().as_raw()),
            format!("{HOME}={}", self.home.display()),
        ]
    }

    /// Words after `run`: the whole of what a container may and has.
    fn flags(&self, name: &str, labels: &[String]) -> Vec<String> {
        let config = &self.config;
        let mut words: Vec<String> = Vec::new();
        let mut add = |all: &[&str]| words.extend(all.iter().map(|word| (*word).to_owned()));
        add(&["run", "-d", "--init", "--name", name, "--label", OURS]);
        for label in labels {
            add(&["--label", label]);
        }
        if let Some(cwd) = &self.traits.cwd {
            add(&["-w", &cwd.display().to_string()]);
        }
        add(&["--cap-drop", "ALL"]);
        let as_user = config.docker_run_as_host_user;
        for capability in KEPT.iter().chain(KEPT_AS_ROOT.iter().filter(|_| !as_user)) {
            add(&["--cap-add", capability]);
        }
        add(&["--security-opt", "no-new-privileges", "--pids-limit", "256"]);
        add(&["--tmpfs", "/tmp:rw,nosuid,size=512m", "--tmpfs", "/var/tmp:rw,noexec,nosuid,size=256m"]);
        // Images with s6 run their first programs from there.
        let run = if config.docker_image.contains("s6") || config.docker_image.contains("linuxserver") {
            ""
        } else {
            "noexec,"
        };
        add(&["--tmpfs", &format!("/run:rw,{run}nosuid,size=64m")]);
        if config.container_cpu > 0.0 {
            add(&["--cpus", &config.container_cpu.to_string()]);
        }
        if config.container_memory > 0 {
            add(&["--memory", &format!("{}m", config.container_memory)]);
        }
        if !config.docker_network {
            add(&["--network=none"]);
        }
        if as_user {
            let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
            add(&["--user", &format!("{user}:{group}")]);
        }
        let mounted = config.docker_mount_cwd_to_workspace;
        if config.container_persistent {
            let own = self.sandboxes.join(&self.task);
            add(&["-v", &format!("{}:/root", own.join("home").display())]);
            if !mounted {
                add(&["-v", &format!("{}:/workspace", own.join("workspace").display())]);
            }
        } else {
            let workspace = (!mounted).then_some("/workspace:rw,exec,size=10g");
            for folder in workspace.into_iter().chain(["/home:rw,exec,size=1g", "/root:rw,exec,size=1g"]) {
                add(&["--tmpfs", folder]);
            }
        }
        if mounted {
            add(&["-v", &format!("{}:/workspace", self.workspace.display())]);
        }
        for volume in &config.docker_volumes {
            add(&["-v", volume]);
        }
        words.extend(config.docker_extra_args.iter().cloned());
        words
    }

    /// Those of ours for this work, with their states: `NAME STATE`.
    fn known(&self) -> Result<Vec<(String, String)>, String> {
        let mut words = vec!["ps".to_owned(), "-a".to_owned()];
        for label in self.labels()?.iter().map(String::as_str).chain([OURS]) {
            words.extend(["--filter".to_owned(), format!("label={label}")]);
        }
        words.extend(["--format".to_owned(), "{{.Names}} {{.State}}".to_owned()]);
        let all = self.engine.run(&words, WORD)?;
        let pair = |line: &str| line.split_once(' ').map(|(name, state)| (name.to_owned(), state.to_ascii_lowercase()));
        Ok(all.lines().filter_map(pair).collect())
    }

    fn is_running(&self, name: &str) -> bool {
        self.engine.run(&["inspect", "-f", "{{.State.Status}}", name], WORD).is_ok_and(|said| said == "running")
    }

    fn find_or_make(&self) -> Result<String, String> {
        let known = self.known()?;
        if let Some((name, _)) = known.iter().find(|(_, state)| runs(state)) {
            return Ok(name.clone());
        }
        let Some((name, state)) = known.first() else { return self.make() };
        let word = if is_paused(state) { "unpause" } else { "start" };
        // What was installed and written in it is work: only the person may give it up.
        self.engine.run(&[word, name.as_str()], WORD).map(|_| name.clone()).map_err(|why| {
            let program = &self.engine.program;
            format!(
                "could not restart the container {name}: {why}; remove it with `{program} rm {name}` to get a new one"
            )
        })
    }

    /// The image as its engine finds it: podman looks for a short name in no registry unless a person told it to, and ours
    /// is of Docker Hub.
    fn image(&self) -> String {
        let image = &self.config.docker_image;
        let is_ours = *image == TerminalConfig::default().docker_image;
        if is_ours && self.traits.kind == "podman" { format!("docker.io/{image}") } else { image.clone() }
    }

    fn make(&self) -> Result<String, String> {
        if self.config.container_persistent {
            for folder in ["home", "workspace"] {
                let folder = self.sandboxes.join(&self.task).join(folder);
                std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
            }
        }
        let name = format!("hermes-{:08x}", fastrand::u32(..));
        let mut words = self.flags(&name, &self.labels()?);
        // Most drivers cannot bound the disk, and podman's default one never can.
        if self.config.container_disk > 0 && self.traits.kind == "docker" {
            words.extend(["--storage-opt".to_owned(), format!("size={}m", self.config.container_disk)]);
        }
        let rest = [self.image(), SLEEP[0].to_owned(), SLEEP[1].to_owned()];
        let run = |words: &[String]| self.engine.run(&[words, &rest].concat(), FETCH);
        let why = match run(&words) {
            Ok(_) => return Ok(name),
            Err(why) => why,
        };
        let flags = refused(&words, &why);
        if flags.is_empty() {
            return Err(why);
        }
        // Some engines have made it by the time they refuse.
        let _ = self.engine.run(&["rm", "-f", name.as_str()], WORD);
        run(&without(&words, &flags))?;
        tracing::warn!("{} runs without {}: {why}", self.traits.label, flags.join(", "));
        lock(&self.notes).push(format!("{} runs without {}: {why}", self.traits.label, flags.join(", ")));
        Ok(name)
    }

    fn name(&self) -> Option<String> {
        lock(&self.name).clone()
    }
}

/// Whether a container of this state runs, as podman (`up 3 minutes`) and docker (`running`) say it.
fn runs(state: &str) -> bool {
    state == "running" || (state.starts_with("up") && !is_paused(state))
}

fn is_paused(state: &str) -> bool {
    state.contains("paused")
}

/// A folder of the configuration, when it is one of the container and not of this machine.
pub(crate) fn begin(configured: &str, own: &str) -> PathBuf {
    let configured = configured.trim();
    let here = ["/home/", "/Users/", "/root/"].iter().any(|start| configured.starts_with(start));
    if Path::new(configured).is_absolute() && !here { configured.into() } else { own.into() }
}

impl Backend for Container {
    fn traits(&self) -> &Traits {
        &self.traits
    }

    fn start(&self) -> Result<(), PlaceError> {
        if self.name().is_some_and(|name| self.is_running(&name)) {
            return Ok(());
        }
        if self.config.docker_orphan_reaper {
            reaper::stopped(&self.engine, self.config.lifetime_seconds);
        }
        let name = self.find_or_make().map_err(|why| PlaceError::unreachable(&self.traits.label, why))?;
        *lock(&self.name) = Some(name);
        Ok(())
    }

    fn identity(&self, _: &str) -> String {
        // Its image may be called anew while it stays the same.
        format!("{} {}", self.traits.kind, self.name().unwrap_or_default())
    }

    fn client(&self, words: &[&str], terminal: Terminal) -> Command {
        let mut command = self.engine.programs.command(&self.engine.program);
        command.arg("exec").arg(match terminal {
            Terminal::None => "-i",
            Terminal::Output => "-t",
            Terminal::Full => "-it",
        });
        command.arg(self.name().unwrap_or_default()).args(words);
        command
    }

    fn notes(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.notes))
    }

    fn remains(&self) -> Result<bool, PlaceError> {
        let known = self.known().map_err(|why| PlaceError::unreachable(&self.traits.label, why))?;
        // What ran in one that was stopped has ended; what is paused is only held.
        Ok(known.iter().any(|(_, state)| runs(state) || is_paused(state)))
    }

    fn why_gone(&self) -> Option<String> {
        let name = self.name()?;
        match self.engine.run(&["inspect", "-f", "{{.State.Status}} {{.State.OOMKilled}}", &name], WORD) {
            Err(_) => {
                Some(format!("its container {name} was removed outside Hermes; the next command creates a new one"))
            }
            Ok(state) if state.starts_with("running") => None,
            Ok(state) if state.ends_with("true") => Some(format!(
                "its container {name} ran out of memory (terminal.container_memory); the next command restarts it"
            )),
            Ok(_) => Some(format!("its container {name} was stopped outside Hermes; the next command restarts it")),
        }
    }

    fn clear(&self) -> Option<String> {
        let name = self.name()?;
        match self.engine.run(&["kill", &name], WORD) {
            Ok(_) => Some(format!("its container {name} was stopped; the next command restarts it")),
            Err(error) => Some(format!("could not stop its container {name}: {error}")),
        }
    }

    fn stop(&self) -> Result<(), String> {
        let Some(name) = self.name() else { return Ok(()) };
        if self.config.docker_persist_across_processes || !reaper::is_idle(&self.engine, &name) {
            return Ok(());
        }
        if let Err(error) = self.engine.run(&["rm", "-f", &name], WORD) {
            tracing::warn!("container {name} not removed: {error}");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn container(config: TerminalConfig) -> Container {
        let setting = Setting {
            workspace: "/w".into(),
            home: "/h/.hermes".into(),
            task: "default".into(),
            programs: Programs::default(),
        };
        Container::new(&config, &setting, Traits { kind: "docker", ..Traits::default() })
    }

    #[test]
    fn a_container_may_little() {
        let made =
            container(TerminalConfig { container_memory: 100, docker_network: false, ..TerminalConfig::default() });
        let line = made.flags("hermes-1", &made.labels_of("0a1b2c3d")).join(" ");
        let user = format!("--label hermes-user={} ", rustix::process::getuid().as_raw());
        assert_eq!(
            line.replace(&user, ""),
            "run -d --init --name hermes-1 --label hermes-agent=1 --label hermes-task-id=default \
             --label hermes-profile=0a1b2c3d --label hermes-home=/h/.hermes -w /workspace --cap-drop ALL --cap-add DAC_OVERRIDE --cap-add CHOWN \
             --cap-add FOWNER --cap-add SETUID --cap-add SETGID --security-opt no-new-privileges --pids-limit 256 \
             --tmpfs /tmp:rw,nosuid,size=512m --tmpfs /var/tmp:rw,noexec,nosuid,size=256m \
             --tmpfs /run:rw,noexec,nosuid,size=64m --cpus 1 --memory 100m --network=none \
             -v /h/.hermes/sandboxes/docker/default/home:/root -v /h/.hermes/sandboxes/docker/default/workspace:/workspace"
        );
    }

    #[test]
    fn one_that_keeps_nothing_has_its_folders_in_memory() {
        let config =
            TerminalConfig { container_persistent: false, docker_run_as_host_user: true, ..TerminalConfig::default() };
        let made = container(config);
        let line = made.flags("n", &[]).join(" ");
        assert!(
            line.contains("--tmpfs /workspace:rw,exec,size=10g --tmpfs /home:rw,exec,size=1g --tmpfs /root"),
            "{line}"
        );
        assert!(!line.contains("SETUID") && line.contains("--user ") && !line.contains(" -v "), "{line}");
        assert!(made.traits().isolated);
        let mounted = TerminalConfig { docker_mount_cwd_to_workspace: true, ..TerminalConfig::default() };
        let made = container(mounted);
        assert!(made.flags("n", &[]).join(" ").contains("-v /w:/workspace") && !made.traits().isolated);
    }

    #[test]
    fn folders_of_this_machine_are_none_of_the_container() {
        for (configured, want) in [
            ("/home/me/x", "/root"),
            (".", "/root"),
            ("/srv/app", "/srv/app"),
            ("/Users/me", "/root"),
            ("C:\\x", "/root"),
        ] {
            assert_eq!(begin(configured, "/root"), Path::new(want), "{configured}");
        }
    }
    #[test]
    fn a_refusal_is_read_for_the_flags_that_it_is_about() {
        let words = ["run", "--cpus", "1", "--memory", "5m", "--pids-limit", "256", "--storage-opt", "size=1m", "x"];
        let words = words.map(str::to_owned);
        for (why, want) in [
            ("Error: --storage-opt is supported only for overlay over xfs with 'pquota'", &["--storage-opt"][..]),
            ("configure storage: size option only supported for backingFS XFS", &["--storage-opt"]),
            ("unknown flag: --pids-limit", &["--pids-limit"]),
            (
                "OCI runtime error: the requested cgroup controller `cpu` is not available",
                &["--cpus", "--memory", "--pids-limit"],
            ),
            ("Error: invalid argument", &["--storage-opt", "--cpus", "--memory", "--pids-limit"]),
            ("Error response from daemon: pull access denied for x", &[]),
            ("Cannot connect to the Docker daemon", &[]),
        ] {
            assert_eq!(refused(&words, why), want, "{why}");
        }
        assert_eq!(without(&words, &["--memory", "--storage-opt"]), ["run", "--cpus", "1", "--pids-limit", "256", "x"]);
        assert_eq!(refused(&["run".to_owned()], "invalid argument"), [""; 0], "there is nothing to leave out");
    }
}

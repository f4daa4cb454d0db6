//! Commands in real sandboxes. Where the kernel lacks something, the test says so by its name and passes.

mod escapes;

use super::*;
use crate::exec::{Exec, ExecOptions, Launch, Running, Spawn, Waited};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

pub(super) struct Place {
    _dir: tempfile::TempDir,
    pub(super) root: PathBuf,
    pub(super) workspace: PathBuf,
    pub(super) support: Support,
}

impl Place {
    /// Not below a folder for temporary files, which is open.
    pub(super) fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("hermes-test-").tempdir_in("/var/tmp").unwrap();
        let root = dir.path().canonicalize().unwrap();
        let workspace = root.join("work");
        for folder in [
            "work/.git/hooks",
            "work/src",
            "work/.vscode",
            "work/app/.venv",
            "own",
            "scratch/state",
            "scratch/tmp",
            "outside",
        ] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for file in [
            "work/.git/config",
            "work/.git/HEAD",
            "work/.git/hooks/pre-push",
            "work/src/a",
            "work/.envrc",
            "work/app/pyvenv.cfg",
            "own/config.yaml",
            "scratch/state/own",
            "scratch/state/another",
            "outside/a",
        ] {
            fs::write(root.join(file), "before").unwrap();
        }
        Self { _dir: dir, root, workspace, support: probe() }
    }

    pub(super) fn sandbox(&self, mode: SandboxMode) -> Sandbox {
        Sandbox {
            mode,
            network: true,
            workspace: self.workspace.clone(),
            writable: Vec::new(),
            closed: self.root.join("own"),
            home: self.root.join("home"),
        }
    }

    /// `None`: the kernel cannot, and the test is skipped.
    pub(super) fn able(&self, test: &str, wanted: impl Fn(&Support) -> bool) -> bool {
        let can = wanted(&self.support);
        if !can {
            crate::skipped::skipped(test, &format!("the kernel has {:?}", self.support));
        }
        can
    }

    pub(super) fn run_as(&self, sandbox: &Sandbox, support: &Support, line: &str) -> (i32, String) {
        let held = sandbox
            .prepare(support, &self.root.join("scratch"), Some(&self.root.join("scratch/state/own")), &self.workspace)
            .unwrap();
        let mut command = Command::new("bash");
        command.args(["--norc", "-c", line]).current_dir(&self.workspace).env("ROOT", &self.root);
        if let Some(temporary) = held.private_temp {
            command.env("TMPDIR", temporary);
        }
        let reader = held.prepared.enter(&mut command).unwrap();
        let done = command.output();
        drop(command);
        let done = done.unwrap_or_else(|error| panic!("{error}: {:?}", reader.and_then(failed_step)));
        let text = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
        (done.status.code().unwrap_or(-1), text)
    }

    fn run(&self, sandbox: &Sandbox, line: &str) -> (i32, String) {
        self.run_as(sandbox, &self.support, line)
    }

    fn held(&self, sandbox: &Sandbox, support: &Support, lines: &[&str]) {
        for line in lines {
            let (code, text) = self.run_as(sandbox, support, line);
            assert_ne!(code, 0, "not held: {line}: {text}");
        }
    }

    fn free(&self, sandbox: &Sandbox, support: &Support, lines: &[&str]) {
        for line in lines {
            let (code, text) = self.run_as(sandbox, support, line);
            assert_eq!(code, 0, "held: {line}: {text}");
        }
    }

    pub(super) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).unwrap_or_default()
    }
}

#[test]
fn workspace_write_opens_the_workspace_and_nothing_else() {
    let place = Place::new();
    if !place.able("workspace_write_opens_the_workspace_and_nothing_else", |s| s.landlock > 0 && s.mounts.is_ok()) {
        return;
    }
    let sandbox = place.sandbox(SandboxMode::WorkspaceWrite);
    place.free(
        &sandbox,
        &place.support,
        &[
            "echo x > new.txt && cat new.txt",
            "mkdir build && echo x > build/a && mv build/a build/b && rm -r build",
            "echo x > src/a; sed -i s/x/y/ src/a",
            "mv src/a app/a && cp app/a src/a",
            "ln -s src link && mkfifo pipe",
            "f=$(mktemp) && echo x > $f && rm $f",
            "cat <<< text",
            "echo x > /dev/null; echo x > /dev/stderr",
            "cat $ROOT/outside/a",
            "ls / /etc $HOME > /dev/null",
            "touch .git/index.lock && mv .git/index.lock .git/index",
            "cat .git/hooks/pre-push .git/config .envrc",
            "chmod +x src/a",
            "f=/dev/shm/hermes-test-$$; echo x > $f && rm $f",
        ],
    );
    place.held(
        &sandbox,
        &place.support,
        &[
            "echo x > $ROOT/outside/a",
            "echo x > $ROOT/new",
            "mkdir $ROOT/new",
            "rm $ROOT/outside/a",
            "mv src/a $ROOT/outside/b",
            "mv $ROOT/outside/a .",
            "ln $ROOT/outside/a hard",
            "ln -s $ROOT/outside out && echo x > out/a",
            "truncate -s 0 $ROOT/outside/a",
            "echo x > own",
            "echo x > $ROOT/own/config.yaml",
            "echo x > $ROOT/scratch/state/another",
            "echo x > $ROOT/scratch/state/new",
            "ln -sf ../../outside/a $ROOT/scratch/state/own",
            "rm $ROOT/scratch/state/own",
            "echo x > $ROOT/scratch/new",
            "chmod 777 $ROOT/outside/a",
            "touch $ROOT/outside/a",
            "mknod device c 1 3",
            "mount -t tmpfs none src",
            "umount .git/hooks",
            "mount -o remount,rw /",
            "unshare -m true",
            "unshare -Urm umount .git/hooks",
            "echo x > /proc/$PPID/root$ROOT/outside/a",
            "nsenter -t $PPID -m true",
        ]
        .map(|line| if line == "echo x > own" { "echo x > ../own/new" } else { line }),
    );
    assert_eq!(place.text("outside/a"), "before");
    assert_eq!(fs::metadata(place.root.join("outside/a")).unwrap().permissions().mode() & 0o777, 0o644);
}

#[test]
fn what_runs_later_stays_as_it_is() {
    let place = Place::new();
    if !place.able("what_runs_later_stays_as_it_is", |s| s.landlock > 0 && s.mounts.is_ok()) {
        return;
    }
    let sandbox = place.sandbox(SandboxMode::WorkspaceWrite);
    place.held(
        &sandbox,
        &place.support,
        &[
            "echo x > .git/hooks/pre-push",
            "echo x > .git/hooks/pre-commit",
            "mv src/a .git/hooks/pre-commit",
            "rm -r .git/hooks",
            "mv .git/hooks .git/old",
            "mv .git old && mkdir .git",
            "rm -rf .git",
            "echo x >> .git/config",
            "git config core.pager evil",
            "cp src/a .git/config",
            "mv src/a .git/config",
            "chmod +x .git/hooks/pre-push",
            "ln -f src/a .git/hooks/pre-commit",
            "cd .git && echo x > hooks/pre-commit",
            "cd .git/hooks && echo x > pre-commit",
            "echo x > .envrc",
            "rm .envrc",
            "mv .envrc x",
            "echo x > .vscode/tasks.json",
            "mv .vscode old",
            "echo x > app/pyvenv.cfg",
            "mv app old && mkdir app && echo x > app/pyvenv.cfg",
            "ln -s .git/hooks h && echo x > h/pre-commit",
            "echo x > ./src/../.git/hooks/pre-commit",
            "echo x > /proc/self/cwd/.git/hooks/pre-commit",
            "sh -c 'cd .git; sh -c \"echo x > hooks/pre-commit\"'",
        ],
    );
    assert_eq!(place.text("work/.git/hooks/pre-push"), "before");
    assert_eq!((place.text("work/.envrc"), place.text("work/.git/config")), ("before".into(), "before".into()));
    assert_eq!(fs::read_dir(place.workspace.join(".git/hooks")).unwrap().count(), 1);
}

#[test]
fn each_name_of_what_runs_later_is_closed_at_the_top_and_a_folder_below() {
    let place = Place::new();
    let name = "each_name_of_what_runs_later_is_closed_at_the_top_and_a_folder_below";
    if !place.able(name, |s| s.landlock > 0 && s.mounts.is_ok()) {
        return;
    }
    let write = |path: &Path| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "before").unwrap();
    };
    let folders =
        [".idea", ".vscode", ".devcontainer", ".husky", ".claude", ".codex", ".hermes"].map(|f| format!("{f}/a"));
    let files = [".envrc", ".mcp.json", "hermes.yaml", "pyvenv.cfg", "sitecustomize.py"].map(str::to_owned);
    let start_up = [".bashrc", ".profile", ".zshrc", ".vimrc", ".gitconfig"].map(str::to_owned);
    let later: Vec<String> = folders.into_iter().chain(files).collect();
    let below = later.iter().map(|name| format!("app/{name}"));
    let all: Vec<String> = later.iter().cloned().chain(start_up).chain(below).collect();
    all.iter().for_each(|name| write(&place.workspace.join(name)));
    let sandbox = place.sandbox(SandboxMode::WorkspaceWrite);
    for name in &all {
        let top = if name.ends_with("/a") { name.trim_end_matches("/a") } else { name };
        let lines = [format!("echo x > {name}"), format!("rm {name}"), format!("mv {top} away")];
        place.held(&sandbox, &place.support, &lines.each_ref().map(String::as_str));
        assert_eq!(place.text(&format!("work/{name}")), "before");
    }
    // A start-up file counts at the top only.
    write(&place.workspace.join("app/.bashrc"));
    place.free(&sandbox, &place.support, &["echo x > app/.bashrc"]);
}

#[test]
fn what_appears_at_such_a_name_is_put_aside() {
    let place = Place::new();
    if !place.able("what_appears_at_such_a_name_is_put_aside", |s| s.landlock > 0 && s.mounts.is_ok()) {
        return;
    }
    let sandbox = place.sandbox(SandboxMode::WorkspaceWrite);
    let held = sandbox.prepare(&place.support, &place.root.join("scratch"), None, &place.workspace).unwrap();
    fs::write(place.workspace.join(".bashrc.sandboxed"), "older").unwrap();
    place.free(&sandbox, &place.support, &["mkdir .idea && echo x > .idea/a; echo evil > .bashrc; echo x > plain"]);
    let mut aside: Vec<_> = held.guard.close().into_iter().map(|(path, to)| (path, to.unwrap())).collect();
    aside.sort();
    let names =
        |(path, to): &(PathBuf, PathBuf)| [path, to].map(|path| path.file_name().unwrap().to_str().unwrap().to_owned());
    assert_eq!(
        aside.iter().map(names).collect::<Vec<_>>(),
        [[".bashrc", ".bashrc.sandboxed-1"], [".idea", ".idea.sandboxed"]].map(|pair| pair.map(str::to_owned))
    );
    assert_eq!((place.text("work/.bashrc.sandboxed"), place.text("work/plain")), ("older".into(), "x\n".into()));
    // Afterwards the names are free again, and nothing is left to do.
    assert!(held.guard.close().is_empty());
}

#[test]
fn what_the_gate_asks_about_is_closed_at_any_depth() {
    let place = Place::new();
    if !place.able("what_the_gate_asks_about_is_closed_at_any_depth", |s| s.landlock > 0) {
        return;
    }
    let later = [
        ".envrc",
        ".npmrc",
        ".cargo/config.toml",
        ".github/workflows/ci.yml",
        "AGENTS.md",
        "CLAUDE.md",
        ".gitlab-ci.yml",
    ];
    let places = ["", "src/", "src/a/b/c/"];
    let all: Vec<String> = places.iter().flat_map(|at| later.iter().map(move |name| format!("{at}{name}"))).collect();
    fs::remove_file(place.workspace.join("src/a")).unwrap();
    for name in &all {
        fs::create_dir_all(place.workspace.join(name).parent().unwrap()).unwrap();
        fs::write(place.workspace.join(name), "before").unwrap();
    }
    fs::create_dir_all(place.workspace.join("lib/deep")).unwrap();
    let sandbox = place.sandbox(SandboxMode::WorkspaceWrite);
    let alone = Support { mounts: Err("not here".into()), ..place.support.clone() };
    for support in [&place.support, &alone] {
        let lines =
            all.iter().flat_map(|name| [format!("echo x > {name}"), format!("rm {name}"), format!("mv {name} x")]);
        let lines: Vec<String> = lines.collect();
        place.held(&sandbox, support, &lines.iter().map(String::as_str).collect::<Vec<_>>());
        place.free(&sandbox, support, &["echo x > lib/deep/a"]);
    }
    if place.support.mounts.is_err() {
        return;
    }
    // What appears where nothing was is put aside, unless the folder itself is new: a clone stays as it is.
    let held = sandbox.prepare(&place.support, &place.root.join("scratch"), None, &place.workspace).unwrap();
    let made =
        "mkdir lib/deep/.cargo lib/new && echo x | tee lib/deep/.envrc lib/deep/.cargo/config.toml lib/new/AGENTS.md";
    place.free(&sandbox, &place.support, &[made]);
    let mut aside: Vec<_> = held.guard.close().into_iter().map(|(path, _)| path).collect();
    aside.sort();
    assert_eq!(aside, ["lib/deep/.cargo/config.toml", "lib/deep/.envrc"].map(|name| place.workspace.join(name)));
    assert!(place.workspace.join("lib/new/AGENTS.md").exists());
    assert!(held.guard.close().is_empty());
}

#[test]
fn read_only_leaves_nothing_behind() {
    let place = Place::new();
    for mounts in [true, false] {
        let support = Support {
            mounts: if mounts { place.support.mounts.clone() } else { Err("none".into()) },
            ..place.support.clone()
        };
        if !place.able("read_only_leaves_nothing_behind", |s| s.landlock > 0 && (!mounts || s.mounts.is_ok())) {
            continue;
        }
        let sandbox = place.sandbox(SandboxMode::ReadOnly);
        place.free(
            &sandbox,
            &support,
            &[
                "cat src/a > /dev/null",
                "cat <<< text",
                "f=$(mktemp) && echo x > $f && cat $f",
                "ls -la | wc -l",
                "cat .git/config",
                "echo x >| $ROOT/scratch/state/own",
            ],
        );
        place.held(
            &sandbox,
            &support,
            &[
                "echo x > new",
                "echo x > src/a",
                "rm src/a",
                "mkdir d",
                "echo x > /tmp/hermes-sandbox-test",
                "echo x > .git/index.lock",
                "mv src/a src/b",
                "echo x > $ROOT/scratch/state/another",
                "echo x > $ROOT/scratch/state/new",
                "ln -sf ../../outside/a $ROOT/scratch/state/own",
                "rm $ROOT/scratch/state/own",
            ],
        );
        assert_eq!(place.text("work/src/a"), "before");
    }
}

#[test]
fn without_mounts_entries_are_opened_one_by_one() {
    let place = Place::new();
    if !place.able("without_mounts_entries_are_opened_one_by_one", |s| s.landlock > 0) {
        return;
    }
    let support = Support { mounts: Err("not here".into()), ..place.support.clone() };
    let sandbox = place.sandbox(SandboxMode::WorkspaceWrite);
    place.free(
        &sandbox,
        &support,
        &[
            "echo x > src/a",
            "echo x > src/new && mkdir src/d && echo x > src/d/e",
            "f=$(mktemp) && echo x > $f",
            "cat <<< text",
            "cat .git/config",
            "echo x > /dev/null",
        ],
    );
    place.held(
        &sandbox,
        &support,
        &[
            "echo x > .git/hooks/pre-commit",
            "echo x > .git/config",
            "mv .git old",
            "echo x > .envrc",
            "echo x > .bashrc",
            "echo x > .vscode/tasks.json",
            "echo x > $ROOT/outside/a",
            "echo x > app/pyvenv.cfg",
            "echo x > $ROOT/scratch/state/another",
            "echo x > $ROOT/scratch/state/new",
            "ln -sf ../../outside/a $ROOT/scratch/state/own",
            "rm $ROOT/scratch/state/own",
            "mv src/a .git/hooks/pre-commit",
            "ln src/a .git/hooks/pre-commit",
            "mv src .git/hooks/src",
        ],
    );
    assert_eq!(place.text("work/.git/hooks/pre-push"), "before");
}

#[test]
fn a_home_or_the_root_is_no_workspace_as_a_whole() {
    let place = Place::new();
    if !place.able("a_home_or_the_root_is_no_workspace_as_a_whole", |s| s.landlock > 0 && s.mounts.is_ok()) {
        return;
    }
    // The home folder as the workspace: its hidden entries stay.
    let home = Sandbox { home: place.workspace.clone(), ..place.sandbox(SandboxMode::WorkspaceWrite) };
    fs::create_dir_all(place.workspace.join(".config/x")).unwrap();
    place.free(&home, &place.support, &["echo x > notes.txt"]);
    place.held(&home, &place.support, &["echo x > .config/x/a", "echo x > .git/index", "mv .config c"]);
    for wide in [PathBuf::from("/"), place.root.clone()] {
        let wide =
            Sandbox { workspace: wide, home: place.workspace.clone(), ..place.sandbox(SandboxMode::WorkspaceWrite) };
        place.held(&wide, &place.support, &["echo x > src/new", "echo x > $ROOT/outside/a"]);
    }
}

#[test]
fn network_off_refuses_every_socket_but_those_of_this_machine() {
    let place = Place::new();
    if !place.able("network_off_refuses_every_socket_but_those_of_this_machine", |s| s.seccomp) {
        return;
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connect = format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
    let on = place.sandbox(SandboxMode::WorkspaceWrite);
    if place.support.landlock > 0 {
        place.free(&on, &place.support, &[&connect]);
    }
    for mode in [SandboxMode::Off, SandboxMode::WorkspaceWrite, SandboxMode::ReadOnly] {
        if mode != SandboxMode::Off && place.support.landlock == 0 {
            continue;
        }
        let off = Sandbox { network: false, ..place.sandbox(mode) };
        let (code, text) = place.run(&off, &connect);
        assert!(code != 0 && text.contains("not permitted"), "{text}");
        place.held(&off, &place.support, &["exec 3<>/dev/udp/127.0.0.1/9", "exec 3<>/dev/tcp/::1/9"]);
        place.free(&off, &place.support, &["echo a | cat", "true & wait"]);
        if Command::new("python3").arg("-V").output().is_ok_and(|ran| ran.status.success()) {
            place.free(
                &off,
                &place.support,
                &["python3 -c 'import socket; socket.socketpair(); socket.socket(socket.AF_UNIX)'"],
            );
            for family in ["AF_INET", "AF_INET6", "AF_PACKET", "AF_VSOCK"] {
                let line = format!("python3 -c 'import socket; socket.socket(socket.{family}, socket.SOCK_DGRAM)'");
                let (code, text) = place.run(&off, &line);
                assert!(code != 0 && text.contains("PermissionError"), "{family}: {text}");
            }
        }
        // Its children are held as it is, and cannot let go.
        place.held(
            &off,
            &place.support,
            &[&format!("sh -c 'bash -c \"{connect}\"'"), &format!("setsid bash -c '{connect}'")],
        );
    }
    // What only the mode `off` leaves: files stay open.
    let off = Sandbox { network: false, ..place.sandbox(SandboxMode::Off) };
    place.free(&off, &place.support, &["echo x > $ROOT/outside/b"]);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn network_off_leaves_no_call_that_makes_sockets_by_another_way() {
    let place = Place::new();
    let python = || Command::new("python3").arg("-V").output().is_ok_and(|ran| ran.status.success());
    if !place.able("network_off_leaves_no_call_that_makes_sockets_by_another_way", |s| s.seccomp && python()) {
        return;
    }
    let on = place.sandbox(SandboxMode::Off);
    let off = Sandbox { network: false, ..on.clone() };
    let call = |numbers: &str| {
        format!(
            "python3 -c 'import ctypes; c = ctypes.CDLL(None, use_errno=True); c.syscall({numbers}); print(\"errno\", ctypes.get_errno())'"
        )
    };
    // No ring, as on a kernel that has none.
    let (_, text) = place.run(&off, &call("425, 1, None"));
    assert_eq!(text.trim(), format!("errno {}", libc::ENOSYS));
    // `getpid` by the number that a program with addresses of 32 bits uses.
    let other = call("0x40000027");
    assert_eq!(place.run(&on, &other).0, 0);
    let (code, text) = place.run(&off, &format!("{other}; exit $?"));
    assert_eq!(code, 128 + libc::SIGSYS, "{text}");
}

#[test]
fn what_the_kernel_lacks_is_an_error_that_names_it() {
    let place = Place::new();
    let nothing = Support { landlock: 0, mounts: Err("no".into()), seccomp: false };
    let why = |sandbox: &Sandbox| match sandbox.prepare(&nothing, &place.root.join("scratch"), None, &place.workspace) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("it was prepared"),
    };
    let text = why(&place.sandbox(SandboxMode::WorkspaceWrite));
    assert!(
        text.contains("sandbox.mode: workspace-write") && text.contains("Landlock") && text.contains("nothing was run"),
        "{text}"
    );
    let text = why(&Sandbox { network: false, ..place.sandbox(SandboxMode::Off) });
    assert!(text.contains("seccomp") && text.contains("sandbox.network: off"), "{text}");
}

#[tokio::test]
async fn every_kind_of_command_is_held() {
    let place = Place::new();
    if !place.able("every_kind_of_command_is_held", |s| s.landlock > 0 && s.mounts.is_ok()) {
        return;
    }
    let options = ExecOptions { spill: place.root.join("exec"), login_env: false, ..ExecOptions::default() };
    let (exec, _events) = Exec::new(options);
    let spawn = |command: &str, pty: bool, background: bool, headless: bool| Spawn {
        command: command.to_owned(),
        cwd: place.workspace.clone(),
        pty,
        background,
        task: "t".into(),
        size: (80, 24),
        headless,
        sandbox: Some(place.sandbox(SandboxMode::WorkspaceWrite)),
    };
    async fn ended(running: Running) -> (i32, String) {
        loop {
            match tokio::time::timeout(Duration::from_secs(20), running.wait()).await.expect("it takes too long") {
                Waited::Finished(done) => return (done.exit.code, crate::text::clean::clean(&done.output.head)),
                Waited::Moved(_) => tokio::task::yield_now().await,
            }
        }
    }
    let (root, mut count) = (place.root.display(), 0);
    for (pty, background, headless) in [
        (false, false, false),
        (true, false, false),
        (false, false, true),
        (true, true, false),
        (false, true, false),
        (false, true, true),
    ] {
        count += 1;
        let line = format!("echo x > src/{count} && echo x > {root}/outside/a");
        let running = exec.launch(Launch::from(spawn(&line, pty, background, headless))).await.unwrap();
        let (code, text) = ended(running).await;
        assert!(code != 0 && text.contains("outside/a: "), "{text}");
        assert_eq!(
            place.text(&format!("work/src/{count}")),
            "x\n",
            "pty {pty} background {background} headless {headless}"
        );
    }
    assert_eq!(place.text("outside/a"), "before");
    // Folder and variables go on from command to command, and a terminal is one.
    let running = exec
        .launch(Launch::from(spawn("cd src; export LATER=1; test -t 0 && tty > /dev/tty", true, false, false)))
        .await
        .unwrap();
    match running.wait().await {
        Waited::Finished(done) => assert_eq!((done.exit.code, done.cwd_after), (0, Some(place.workspace.join("src")))),
        other => panic!("{other:?}"),
    }
    let running = exec.launch(Launch::from(spawn("test \"$LATER\" = 1", false, false, false))).await.unwrap();
    assert_eq!(ended(running).await.0, 0);
    exec.shutdown(true).await;
}

/// `cargo test --release -- --ignored --nocapture what_a_sandbox_costs`: medians of a `true` through the whole of `exec`.
#[tokio::test]
#[ignore = "a measure, not a test"]
async fn what_a_sandbox_costs() {
    let place = Place::new();
    let options =
        ExecOptions { spill: place.root.join("exec"), login_env: false, headless: true, ..ExecOptions::default() };
    let (exec, _events) = Exec::new(options);
    let none = Sandbox { mode: SandboxMode::Off, ..place.sandbox(SandboxMode::Off) };
    let of = |mode, network| Some(Sandbox { mode, network, ..none.clone() });
    let kinds = [
        ("off", None),
        ("network off", of(SandboxMode::Off, false)),
        ("read-only", of(SandboxMode::ReadOnly, true)),
        ("workspace-write", of(SandboxMode::WorkspaceWrite, true)),
        ("workspace-write, network off", of(SandboxMode::WorkspaceWrite, false)),
    ];
    let mut times = vec![Vec::new(); kinds.len()];
    for round in 0..101 {
        for (at, (_, sandbox)) in kinds.iter().enumerate() {
            let spawn = Spawn {
                command: "true".into(),
                cwd: place.workspace.clone(),
                pty: false,
                background: false,
                task: "t".into(),
                size: (80, 24),
                headless: true,
                sandbox: sandbox.clone(),
            };
            let began = std::time::Instant::now();
            exec.launch(Launch::from(spawn)).await.unwrap().wait().await;
            // The first finds out what the system can.
            if round > 0 {
                times[at].push(began.elapsed());
            }
        }
    }
    for ((name, _), times) in kinds.iter().zip(&mut times) {
        times.sort();
        println!("{name}: median {:?}, fastest {:?}", times[times.len() / 2], times[0]);
    }
    exec.shutdown(true).await;
}

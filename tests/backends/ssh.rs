//! A machine that sshd on loopback is.

use super::*;
use crate::harness::sshd::runs;
use crate::harness::{Sshd, skipped, until};
use hermes::backends::{Job, JobSpec};
use hermes::checkpoints::{Checkpoints, Settings};
use hermes::exec::{ExecError, Launch, Spawn};
use hermes::protocol::{Body, Item, ItemId, Origin, SessionId};
use hermes::store::{Blobs, FileChange, Store};
use hermes::tools::file::history::FileHistory;
use hermes::tools::file::restore::{Back, Verdict, foreign, redoing, restore, undoing};
use hermes::tools::file::restore_target::RestoreTarget;

pub(super) fn terminal(sshd: &Sshd) -> TerminalConfig {
    TerminalConfig {
        backend: "ssh".into(),
        ssh_host: "there".into(),
        ssh_extra_args: vec!["-F".into(), sshd.client_config().display().to_string()],
        ..TerminalConfig::default()
    }
}

/// A site over ssh, or a line that says why not.
fn site(test: &str) -> Option<(Sshd, Site)> {
    match Sshd::start() {
        Ok(sshd) => {
            let site = Site::new(terminal(&sshd));
            Some((sshd, site))
        }
        Err(why) => {
            skipped(test, &why);
            None
        }
    }
}

#[test]
fn commands_and_files_are_there() {
    let Some((sshd, site)) = site("commands_and_files_are_there") else { return };
    assert_eq!(site.prints("pwd; echo $HOME"), format!("{0}\n{0}", sshd.home().display()));
    works_like_home(&site);
    assert!(sshd.home().join("sub/moved.txt").is_file());
    assert!(site.backends.label() == "ssh there" && site.backends.kind() == "ssh");
}

#[test]
fn what_is_stopped_ends_there() {
    let Some((_sshd, site)) = site("what_is_stopped_ends_there") else { return };
    ends_there(&site);
    background_works(&site);
}

#[test]
fn the_gate_looks_at_the_machine_where_a_line_runs() {
    let Some((_sshd, site)) = site("the_gate_looks_at_the_machine_where_a_line_runs") else { return };
    is_judged_there(&site);
}

#[test]
fn a_search_there_answers_as_one_of_this_machine() {
    let Some((sshd, there)) = site("a_search_there_answers_as_one_of_this_machine") else { return };
    let here = Site::new(TerminalConfig::default());
    let root = sshd.home().join(".proj");
    let hidden = [".hidden", "sub/.hidden", ".env", "sub/.env", ".git/.env", ".git/.hidden", ".git/a", "ignored/.env"];
    for name in hidden.into_iter().chain(["b.txt", "a.rs", "sub/c.txt", "sub.txt", "server.pem"]) {
        std::fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
        std::fs::write(root.join(name), "one\n").unwrap();
    }
    std::fs::write(root.join(".gitignore"), ".env\nignored/\n").unwrap();
    let found = |site: &Site, args: Value| {
        let result = site.call("search_files", args.clone());
        // The folder where commands are is another one: names begin elsewhere.
        let name = |file: &Value| file.as_str().unwrap().rsplit_once(".proj/").unwrap().1.to_owned();
        let files = result["files"].as_array().unwrap_or_else(|| panic!("{args}: {result}"));
        (files.iter().map(name).collect::<Vec<_>>(), result["warning"].clone())
    };
    let one = json!("left out: 1 file with secrets");
    for (args, files, warning) in [
        (json!({}), vec!["a.rs", "b.txt", "sub.txt", "sub/c.txt"], &one),
        (json!({"file_glob": ".hid*"}), vec![".hidden", "sub/.hidden"], &Value::Null),
        (json!({"file_glob": ".env"}), vec![".env", "ignored/.env", "sub/.env"], &Value::Null),
        (json!({"file_glob": "*.txt"}), vec!["b.txt", "sub.txt", "sub/c.txt"], &Value::Null),
        (json!({"pattern": "*.txt", "target": "files"}), vec!["b.txt", "sub.txt", "sub/c.txt"], &Value::Null),
        (json!({"pattern": ".hid*", "target": "files"}), vec![], &Value::Null),
        (json!({"path": root.join(".hidden")}), vec![".hidden"], &Value::Null),
    ] {
        let mut whole = json!({"pattern": "one", "path": root, "output_mode": "files_only"});
        whole.as_object_mut().unwrap().extend(args.as_object().unwrap().clone());
        let sorted = |(mut files, warning): (Vec<String>, Value)| {
            // Lists of files are by time.
            files.sort_unstable();
            (files, warning)
        };
        let expected = (files.into_iter().map(str::to_owned).collect::<Vec<_>>(), warning.clone());
        for (site, what) in [(&here, "here"), (&there, "there")] {
            let got = found(site, whole.clone());
            let got = if whole["target"] == "files" { sorted(got) } else { got };
            assert_eq!(got, expected, "{what}: {args}");
        }
    }
}

#[test]
fn keys_stay_here_and_only_named_variables_go() {
    let Ok(sshd) = Sshd::start().map_err(|why| skipped("keys_stay_here_and_only_named_variables_go", &why)) else {
        return;
    };
    // `CARGO_MANIFEST_DIR` is set wherever this runs; a key is not, and would go with `SendEnv *` alone.
    let mut config = terminal(&sshd);
    config.env_passthrough = vec!["CARGO_MANIFEST_DIR".into()];
    let site = Site::new(config);
    assert_eq!(site.prints("echo $CARGO_MANIFEST_DIR"), env!("CARGO_MANIFEST_DIR"));
    assert_eq!(site.prints("env | grep -c '^CARGO_PKG_NAME=' || true"), "0");
}

#[test]
fn a_connection_that_breaks_is_told_and_mended() {
    let Some((sshd, site)) = site("a_connection_that_breaks_is_told_and_mended") else { return };
    let home = sshd.home();
    // In the background first: it must be there afterwards.
    let line = "echo $$ >worker; echo first; until [ -e go ]; do sleep 0.05; done; echo second";
    let started = site.call("terminal", json!({"command": line, "background": true}));
    let id = started["session_id"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned();
    until("the worker runs", || std::fs::read_to_string(home.join("worker")).is_ok_and(|text| text.ends_with('\n')));
    let worker: u32 = std::fs::read_to_string(home.join("worker")).unwrap().trim().parse().unwrap();
    let broken = std::thread::scope(|scope| {
        let cut = scope.spawn(|| {
            until("the command runs", || home.join("running").exists());
            sshd.cut();
        });
        let broken = site.run("touch running; sleep 600");
        cut.join().unwrap();
        broken
    });
    let why = broken["error"].as_str().unwrap_or_else(|| panic!("{broken}"));
    assert!(why.contains("ssh there"), "{why}");
    assert!(runs(worker), "background work outlives the connection");
    let refused = site.run("echo x");
    assert!(refused["error"].as_str().unwrap().contains("ssh there is unavailable"), "{refused}");
    sshd.mend();
    assert_eq!(site.prints("echo back"), "back");
    std::fs::write(home.join("go"), "").unwrap();
    let ended = site.call("process", json!({"action": "wait", "session_id": id, "timeout": 40}));
    assert!(ended.to_string().contains("first") && ended.to_string().contains("second"), "{ended}");
    assert_eq!(ended["exit_code"], 0, "{ended}");
}

#[test]
fn a_connection_that_breaks_for_a_moment_is_told() {
    let Some((sshd, site)) = site("a_connection_that_breaks_for_a_moment_is_told") else { return };
    site.prints("export KEPT=1");
    let running = sshd.home().join("running");
    let broken = std::thread::scope(|scope| {
        let cut = scope.spawn(|| {
            until("the command runs", || running.exists());
            sshd.cut();
            sshd.mend();
        });
        let broken = site.run("touch running; sleep 600");
        cut.join().unwrap();
        broken
    });
    let why = broken["error"].as_str().unwrap_or_else(|| panic!("{broken}"));
    assert!(why.contains("ssh there") && why.contains("connection lost"), "{why}");
    assert_eq!(site.prints("echo back $KEPT"), "back 1");
}

#[test]
fn background_work_is_ended_after_the_connection_broke() {
    let Some((sshd, site)) = site("background_work_is_ended_after_the_connection_broke") else { return };
    let pid = sshd.home().join("worker");
    let line = "echo $$ >worker; exec sleep 600";
    let started = site.call("terminal", json!({"command": line, "background": true}));
    let id = started["session_id"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned();
    until("the worker runs", || std::fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n')));
    let worker: u32 = std::fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
    sshd.cut();
    sshd.mend();
    site.call("process", json!({"action": "kill", "session_id": id}));
    until("the worker is gone", || !runs(worker));
}

#[test]
fn files_with_variables_of_a_command_are_gone_when_it_runs() {
    let Some((_sshd, site)) = site("files_with_variables_of_a_command_are_gone_when_it_runs") else { return };
    assert_eq!(site.prints("cd ~/.state/hermes/*/jobs/* && ls -1"), "keep\npid");
}

#[test]
fn edits_there_are_put_back_there() {
    let Some((sshd, mut site)) = site("edits_there_are_put_back_there") else { return };
    let store = Store::spawn(site.root.path().join("store"));
    let (blobs, session) = (Blobs::new(site.root.path().join("history")), SessionId("one".into()));
    let body = Body::User {
        text: "go".into(),
        images: vec![],
        context: String::new(),
        origin: Origin::Person,
        gist: String::new(),
    };
    site.runtime.block_on(store.append(&session, vec![Item { id: ItemId(1), at: 0, turn: 1, body }])).unwrap();
    let ground = RestoreTarget::of(&site.backends);
    let unrecorded = Settings {
        blobs: blobs.clone(),
        known: site.root.path().join("tree"),
        baseline_bytes: 0,
        ours: Vec::new(),
        user_home: None,
    };
    site.ctx.history = Some(FileHistory {
        store: store.clone(),
        blobs: blobs.clone(),
        session: session.clone(),
        turn: 1,
        ground: ground.clone(),
        workspace: Checkpoints::default().of(site.root.path(), unrecorded),
        listener: None,
        home: site.root.path().to_owned(),
        item: ItemId(1),
        secrets: None,
        unended: Default::default(),
    });
    site.prints("echo one >old; chmod 640 old");
    site.call("patch", json!({"path": "old", "old_string": "one", "new_string": "two"}));
    site.call("write_file", json!({"path": "new", "content": "x"}));
    let changes = site.runtime.block_on(store.changes(&session)).unwrap();
    assert!(changes.len() == 2 && changes.iter().all(|change| change.place.starts_with("ssh there (")), "{changes:?}");
    let lost = |ground: &RestoreTarget, word: &str| {
        let backs = undoing(&changes, &blobs, ground);
        let told = |back: &Back| matches!(&back.verdict, Verdict::Lost(why) if why.contains(word));
        assert!(backs.len() == 2 && backs.iter().all(told), "{backs:?}");
        assert_eq!(restore(&backs, true, &blobs, ground).files, []);
    };
    lost(&RestoreTarget::default(), "switch with /backend first");
    // Another machine may have the same name for people.
    let theirs: Vec<_> =
        changes.iter().map(|change| FileChange { place: "ssh there (another)".into(), ..change.clone() }).collect();
    let backs = undoing(&theirs, &blobs, &ground);
    let away = |back: &Back| matches!(&back.verdict, Verdict::Lost(why) if why.contains("ssh there (another), which is not the current"));
    assert!(backs.len() == 2 && backs.iter().all(away), "{backs:?}");
    sshd.cut();
    lost(&ground, "ssh there");
    sshd.mend();
    let done = restore(&undoing(&changes, &blobs, &ground), false, &blobs, &ground);
    assert_eq!((done.files.len(), done.lost.len(), done.failed.len()), (2, 0, 0), "{done:?}");
    let there = "cat old; stat -c %a old; [ -e new ] || echo gone";
    assert_eq!(site.prints(there), "one\n640\ngone");
    let again = restore(&redoing(&done.files, &blobs, &ground), false, &blobs, &ground);
    assert_eq!((again.files.len(), site.prints("cat old new").as_str()), (2, "two\nx"), "{again:?}");
    site.prints("echo theirs >old");
    let backs = undoing(&changes, &blobs, &ground);
    assert_eq!(foreign(&backs), [PathBuf::from(format!("{}: {}/old", ground.place(), sshd.home().display()))]);
    let done = restore(&backs, false, &blobs, &ground);
    assert_eq!((done.files.len(), done.left.len(), site.prints("cat old").as_str()), (1, 1, "theirs"), "{done:?}");
}

#[test]
fn a_host_that_is_not_known_is_not_trusted() {
    let Some((sshd, site)) = site("a_host_that_is_not_known_is_not_trusted") else { return };
    std::fs::write(sshd.known_hosts(), "").unwrap();
    let refused = site.run("echo x");
    let why = refused["error"].as_str().unwrap();
    assert!(why.contains("Host key verification failed") && why.contains("check its key"), "{why}");
}

#[test]
fn nothing_is_left_behind() {
    let Some((sshd, site)) = site("nothing_is_left_behind") else { return };
    site.prints("echo x");
    drop(site);
    // The server tells nobody when the last word has been carried out.
    let folder = sshd.home().join(".state/hermes");
    let left = || std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
    until("only the mark of the folder is left", || left() == [".w"]);
}

/// `sudo` is tried where the line runs: one that needs no password works, and no password is sent to another machine.
#[test]
fn sudo_is_probed_there_and_no_password_goes_there() {
    use std::os::unix::fs::PermissionsExt;
    let Some((sshd, site)) = site("sudo_is_probed_there_and_no_password_goes_there") else { return };
    let (home, program) = (sshd.home(), sshd.home().join("bin/sudo"));
    std::fs::create_dir(home.join("bin")).unwrap();
    std::fs::write(home.join(".bash_profile"), "PATH=$HOME/bin:$PATH\n").unwrap();
    let put = |script: &str| {
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    put("#!/bin/sh\nprintf '%s\\n' \"$*\" >>\"$HOME/asked\"\n[ \"$1\" = -n ] && exit 1\nexec \"$@\"\n");
    let refused = site.run("touch begun; sudo touch as-root");
    let why = refused["error"].as_str().unwrap_or_else(|| panic!("{refused}"));
    assert!(why.contains("sudo on ssh there asks for a password") && why.contains("NOPASSWD"), "{why}");
    assert!(!home.join("begun").exists() && !home.join("as-root").exists());
    assert_eq!(std::fs::read_to_string(home.join("asked")).unwrap(), "-n true\n");
    // A line that says by itself how the password is got, or that has none, is the line's own business.
    assert_eq!(site.prints("echo sudo; sudo -n true || echo refused"), "sudo\nrefused");
    put("#!/bin/sh\n[ \"$1\" = -n ] && shift\nexec \"$@\"\n");
    assert_eq!(site.prints("sudo echo it-is-in"), "it-is-in");
}

#[test]
fn a_session_keeps_its_backend_and_moves_no_other() {
    use crate::harness::{Home, Mock, Step, Term};
    let Ok(sshd) = Sshd::start().map_err(|why| skipped("a_session_keeps_its_backend_and_moves_no_other", &why)) else {
        return;
    };
    let mock = Mock::start(vec![Step::Text("first-answer".into()), Step::Text("second-answer".into())]);
    let home = Home::empty();
    let config = format!(
        "terminal:\n  ssh_host: there\n  ssh_extra_args: [-F, {}]\napprovals:\n  mode: \"off\"\n",
        sshd.client_config().display()
    );
    home.model(&mock, &config);
    let mut term = Term::sized(&home, &[], (140, 45));
    term.wait("❯");
    term.send("/backend ssh\r").wait("commands now run on: ssh there");
    term.send("one\r").wait("first-answer");
    term.quit();
    // Another session is where the configuration says.
    let mut term = Term::sized(&home, &[], (140, 45));
    term.wait("❯");
    term.send("!echo at-$HOME\r").wait(&format!("at-{}", home.user().display()));
    term.send("two\r").wait("second-answer");
    assert!(!term.text().contains("ssh there"), "{}", term.text());
    term.quit();
    // The first one goes on where it worked.
    let listed = home.run(&["sessions", "list", "--json"]);
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let rows = listed["sessions"].as_array().or(listed.as_array()).unwrap();
    // Their names tell the second of their start, no less.
    let is_first = |row: &&Value| ["title", "preview"].iter().any(|name| row[*name] == "one");
    let first = rows.iter().find(is_first).unwrap_or_else(|| panic!("{rows:?}"))["id"].as_str().unwrap();
    let mut term = Term::sized(&home, &["--resume", first], (140, 45));
    term.wait("first-answer").wait("ssh there");
    term.send("!echo in-$HOME\r").wait(&format!("in-{}", sshd.home().display()));
    // From there to a fresh one in the same place, and back to this machine by hand.
    term.send("/backend local\r").wait("commands now run on: local");
    term.quit();
}

/// Folders of commands that are there.
fn jobs(sshd: &Sshd) -> usize {
    let sessions = std::fs::read_dir(sshd.home().join(".state/hermes")).into_iter().flatten().flatten();
    let jobs = sessions.filter_map(|session| std::fs::read_dir(session.path().join("jobs")).ok());
    jobs.flatten().count()
}

#[test]
fn what_is_given_up_before_it_is_watched_never_runs() {
    let Some((sshd, mut site)) = site("what_is_given_up_before_it_is_watched_never_runs") else { return };
    site.prints("true");
    let there = site.backends.current().unwrap();
    let spec = |detached| JobSpec {
        line: "touch ran".into(),
        cwd: sshd.home(),
        task: "task".into(),
        detached,
        headless: true,
        keep: !detached,
    };
    for detached in [true, false] {
        let job = Job::new(there.clone(), spec(detached)).unwrap();
        assert_eq!(jobs(&sshd), 1);
        drop(job);
        until("nothing of it is there", || jobs(&sshd) == 0);
    }
    // A table that takes no more: nothing is sent, and what was sent already goes.
    let options = ExecOptions {
        spill: site.root.path().join("other"),
        login_env: false,
        headless: true,
        max_processes: 1,
        ..ExecOptions::default()
    };
    let (exec, _events) = Exec::new(options);
    let first = Spawn {
        command: "sleep 600".into(),
        cwd: site.workspace(),
        pty: false,
        background: true,
        task: "task".into(),
        size: (80, 24),
        headless: true,
        sandbox: None,
    };
    site.runtime.block_on(exec.start(first.clone())).unwrap();
    let job = Arc::new(Job::new(there, spec(true)).unwrap());
    let launch = Launch { remote: Some(job), ..first.into() };
    assert!(matches!(site.runtime.block_on(exec.launch(launch)), Err(ExecError::TooMany(1))));
    until("nothing of it is there", || jobs(&sshd) == 0);
    let before = std::mem::replace(&mut site.ctx.exec, exec);
    let refused = site.call("terminal", json!({"command": "touch ran", "background": true}));
    assert!(refused["error"].as_str().is_some_and(|why| why.contains("already running")), "{refused}");
    assert_eq!(jobs(&sshd), 0);
    let full = std::mem::replace(&mut site.ctx.exec, before);
    site.runtime.block_on(full.shutdown(true));
    assert!(!sshd.home().join("ran").exists(), "it never ran");
}

#[test]
fn two_tasks_of_a_session_work_in_two_places_at_once() {
    let Some((sshd, site)) = site("two_tasks_of_a_session_work_in_two_places_at_once") else { return };
    let backends = site.backends.of_child();
    let here = Arc::new(LocalWorld::new(site.root.path().join("user"), Site::home_in(site.root.path())));
    let world = Arc::new(Worlds::new(here, backends.clone()));
    let dispatch = Arc::new(Dispatch::new(Arc::new(Registry::builtin()), redact));
    let asker: Arc<dyn Asker> = Arc::new(AgentHandle::alone());
    let gate = Gate::new(dispatch, Rules::default(), Mode::Yolo, world.clone(), asker);
    let cwd = Arc::new(Mutex::new(site.workspace()));
    let ctx = ToolCtx { backends: backends.clone(), world, cwd, task: "child".into(), ..site.ctx.clone() };
    let child = |line: &str| -> Value {
        let args = json!({ "command": line }).to_string();
        let call = ToolCall { id: "of the child".into(), name: "terminal".into(), args, ..ToolCall::default() };
        let body = site.runtime.block_on(gate.call(&call, ctx.clone(), mpsc::channel(1).0));
        serde_json::from_str(&body.content).unwrap()
    };
    // It works where its parent does, with a folder and variables of its own.
    site.prints("mkdir deep && cd deep && export WHOSE=parent");
    let said = child("echo \"${WHOSE-nobody}\"; pwd; mkdir own && cd own && export WHOSE=child");
    assert_eq!(said["output"], format!("nobody\n{}", sshd.home().display()), "{said}");
    assert_eq!(site.prints("echo $WHOSE; basename $PWD"), "parent\ndeep");
    assert_eq!(child("echo $WHOSE; basename $PWD")["output"], "child\nown");
    // On this machine from now on, and its parent is not moved: each waits for a word of the other.
    backends.choose("local").unwrap();
    *ctx.cwd.lock().unwrap() = site.workspace();
    let (to_child, to_parent) = (site.root.path().join("to-child"), site.root.path().join("to-parent"));
    let meet = |mine: &Path, theirs: &Path| {
        let (mine, theirs) = (mine.display(), theirs.display());
        format!(
            "touch {theirs}; n=0; until [ -e {mine} ] || [ $n -gt 800 ]; do sleep 0.05; n=$((n+1)); done; [ -e {mine} ] && echo met; echo ${{WHOSE-nobody}}"
        )
    };
    let (parents, childs) = std::thread::scope(|scope| {
        let childs = scope.spawn(|| child(&meet(&to_child, &to_parent)));
        let parents = site.run(&meet(&to_parent, &to_child));
        (parents, childs.join().unwrap())
    });
    assert_eq!((&parents["output"], &childs["output"]), (&json!("met\nparent"), &json!("met\nnobody")));
    assert_eq!(child("ls")["output"], "here.txt");
    // And back: what it had there it has again.
    backends.choose("ssh").unwrap();
    assert_eq!(child("basename $PWD; ls -d deep")["exit_code"], 0);
    backends.leave().unwrap();
    assert_eq!(site.prints("echo $WHOSE; basename $PWD"), "parent\ndeep", "its parent still works there");
    assert_eq!((site.backends.kind(), backends.kind()), ("ssh", "ssh"));
}

#[test]
fn a_rewind_at_the_screen_puts_files_back_there_and_a_fork_stays_there() {
    use crate::harness::mock::call;
    use crate::harness::{Home, Mock, Step, Term};
    let test = "a_rewind_at_the_screen_puts_files_back_there_and_a_fork_stays_there";
    let Ok(sshd) = Sshd::start().map_err(|why| skipped(test, &why)) else { return };
    let write = |content: &str| {
        Step::Calls(String::new(), vec![call("write_file", json!({ "path": "notes.txt", "content": content }))])
    };
    let mock = Mock::start(vec![
        write("second"),
        Step::Text("wrote-it-once".into()),
        write("third"),
        Step::Text("wrote-it-twice".into()),
    ]);
    let home = Home::empty();
    let words = sshd.client_config().display().to_string();
    home.model(
        &mock,
        &format!("terminal:\n  ssh_host: there\n  ssh_extra_args: [-F, {words}]\napprovals:\n  mode: \"off\"\n"),
    );
    let (file, here) = (sshd.home().join("notes.txt"), home.project().join("notes.txt"));
    std::fs::write(&file, "first").unwrap();
    std::fs::write(&here, "of this machine").unwrap();
    let has = |text: &str| std::fs::read_to_string(&file).is_ok_and(|now| now == text);
    let mut term = Term::sized(&home, &[], (140, 45));
    term.wait("❯");
    term.send("/backend ssh\r").wait("commands now run on: ssh there");
    term.send("alpha request\r").wait("wrote-it-once");
    term.send("beta request\r").wait("wrote-it-twice");
    term.shows("both turns have ended", |text| text.matches("steps ·").count() == 2);
    assert!(has("third"));
    // A fork works in the same place, and what it puts back it puts back there.
    term.send("/fork\r").wait("(fork)").wait("ssh there");
    term.send("/rewind\r").wait("Go back to a prompt").wait("1 file changed since");
    term.send("\x1b[B").wait("2 prompts, ").wait("ssh there (");
    term.send("\r").wait("nothing has changed yet").wait("Conversation and 1 file").wait("ssh there (");
    assert!(has("third"));
    term.send("\r").wait("rewound").gone("wrote-it-once");
    assert!(has("first"));
    term.send("\x15/redo\r").wait("wrote-it-twice");
    until("the file is as it was before", || has("third"));
    assert_eq!(std::fs::read_to_string(&here).unwrap(), "of this machine");
    term.send("!echo in-$HOME\r").wait(&format!("in-{}", sshd.home().display()));
    term.quit();
    // Resumed by the folder that it was begun in, it goes on there.
    let mut term = Term::sized(&home, &["-c"], (140, 45));
    term.wait("wrote-it-twice").wait("ssh there");
    term.send("!echo again-$PWD\r").wait(&format!("again-{}", sshd.home().display()));
    term.quit();
}

#[test]
fn what_sessions_that_are_gone_left_there_goes_in_time() {
    let Some((sshd, site)) = site("what_sessions_that_are_gone_left_there_goes_in_time") else { return };
    let root = sshd.home().join(".state/hermes");
    // A session that was killed: a command's variables, output that somebody may come back for, and what still runs.
    let put = |name: &str, files: &[&str], days: &str| {
        let folder = root.join("s-gone/jobs").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        files.iter().for_each(|file| std::fs::write(folder.join(file), "999999999\n").unwrap());
        let touched = std::process::Command::new("touch").args(["-d", days]).arg(&folder).status().unwrap();
        assert!(touched.success());
    };
    put("young", &["state", "pid"], "2 hours ago");
    put("old", &["state", "pid"], "3 days ago");
    put("told", &["log", "code"], "3 days ago");
    put("forgotten", &["log", "code"], "40 days ago");
    put("runs", &["state"], "3 days ago");
    let mut running = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    std::fs::write(root.join("s-gone/jobs/runs/pid"), format!("{}\n", running.id())).unwrap();
    std::process::Command::new("touch").args(["-d", "3 days ago"]).arg(root.join("s-gone/jobs/runs")).status().unwrap();
    let modes = site
        .prints("stat -c %a ~/.state/hermes/s-*/jobs/*/keep ~/.state/hermes/s-*/jobs ~/.state/hermes/s-* | sort -u");
    running.kill().unwrap();
    running.wait().unwrap();
    let left = std::fs::read_dir(root.join("s-gone/jobs")).unwrap().map(|entry| entry.unwrap().file_name());
    let mut left: Vec<_> = left.collect();
    left.sort();
    assert_eq!(left, ["runs", "told", "young"]);
    // The folders of this session are nobody else's business; those of the other were made by this test.
    assert!(modes.contains("600") && modes.contains("700") && !modes.contains("644"), "{modes}");
}

#[test]
fn a_disk_that_is_full_there_is_told_and_the_file_stays_as_it_was() {
    let test = "a_disk_that_is_full_there_is_told_and_the_file_stays_as_it_was";
    let Some((sshd, site)) = site(test) else { return };
    let small = sshd.home().join("small");
    std::fs::create_dir(&small).unwrap();
    let Some(disk) = crate::harness::Disk::small(test, &small, 2) else { return };
    let file = small.join("f");
    std::fs::write(&file, "as it was").unwrap();
    disk.fill();
    // Over the link, and over a client of its own.
    for length in [200_000, 2_000_000] {
        let refused = site.call("write_file", json!({"path": "small/f", "content": "x".repeat(length)}));
        let why = refused["error"].as_str().unwrap_or_else(|| panic!("{length}: {refused}"));
        assert!(why.contains("No space left on device"), "{length}: {why}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "as it was");
        assert_eq!(std::fs::read_dir(&small).unwrap().count(), 2, "nothing else is left");
    }
    assert_eq!(site.prints("echo usable"), "usable");
}

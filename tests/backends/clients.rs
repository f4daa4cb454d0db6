//! Clients whose real counterparts cannot run everywhere (a cluster, a queue, user name spaces): stand-ins that answer as
//! their manuals say, through the built program. `real` has those that can.

use super::run;
use crate::harness::home::{err, out};
use crate::harness::{Cluster, Home, Sshd, skipped};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;

/// Enters "there": a folder of its own as home, nothing of the words is touched.
const ENTER: &str = "enter() { HOME=$STANDIN/there; export HOME; cd \"$HOME\" && exec \"$@\"; }\n";

const KUBECTL: &str = r#"
case $1 in --*) echo "$1" >>"$STANDIN/flags"; shift;; esac
case "$1 $2" in
  "get pods") exit 0;;
  "get pod") [ -e "$STANDIN/$3" ] && printf Running || { echo "pods \"$3\" not found" >&2; exit 1; };;
  "run "*) touch "$STANDIN/$2"; echo "pod/$2 created";;
  "wait "*) echo "condition met";;
  "delete pod") rm "$STANDIN/$3"; echo deleted;;
  "exec "*) shift; while [ "$1" != -- ]; do shift; done; shift; enter "$@";;
  *) echo "unknown: $*" >&2; exit 1;;
esac
"#;

const SALLOC: &str = r#"echo "salloc: Pending job allocation 42" >&2; touch "$STANDIN/job"; echo "salloc: Granted job allocation 42" >&2"#;
const SQUEUE: &str = r#"case "$*" in *" -n "*) exit 0;; esac; [ -e "$STANDIN/job" ] && echo RUNNING || { echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1; }"#;
const SCANCEL: &str = r#"[ "$1" = 42 ] && rm "$STANDIN/job""#;
const SRUN: &str = r#"
[ "$1" = --jobid=42 ] && [ -e "$STANDIN/job" ] || { echo "srun: error: no job $1" >&2; exit 1; }
while case $1 in --*) :;; *) false;; esac; do shift; done
enter "$@""#;

const APPTAINER: &str = r#"
[ "$1" != --silent ] || shift
case "$1 $2" in
  "instance start") shift 2; while [ $# -gt 1 ]; do shift; done; touch "$STANDIN/$1";;
  "instance list") [ -e "$STANDIN/$3" ] && echo "$3 1 image";;
  "instance stop") rm "$STANDIN/$3";;
  "exec --cleanenv") [ -e "$STANDIN/${5#instance://}" ] || exit 255; shift 5; enter "$@";;
  *) echo "unknown: $*" >&2; exit 1;;
esac
"#;

const PODMAN: &str = r#"
echo "$*" >>"$STANDIN/words"
case $1 in
  ps) echo "hermes-made $(cat "$STANDIN/state")";;
  inspect) cat "$STANDIN/state";;
  unpause) echo running >"$STANDIN/state";;
  start) echo "Error: the engine is busy" >&2; exit 1;;
  exec) shift; while case $1 in -*) :;; *) false;; esac; do shift; done; shift; enter "$@";;
  *) echo "unknown: $*" >&2; exit 1;;
esac
"#;

/// A home whose programs are these.
fn home(programs: &[(&str, &str)], config: &str) -> Home {
    let mut home = Home::empty();
    let folder = home.user().join("programs");
    std::fs::create_dir_all(folder.join("there")).unwrap();
    for (name, text) in programs {
        let path = folder.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{ENTER}{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    home.set("PATH", &path);
    home.set("STANDIN", &folder.canonicalize().unwrap().display().to_string());
    home.config(config);
    home
}

/// What every client must do: run there, keep words as they are, tell the code, and leave nothing running.
fn works(home: &Home, config: &str) {
    let there = home.user().join("programs/there").canonicalize().unwrap();
    home.config(config);
    let said = run(home, "printf '%s\\n' \"a  'b'\" '$HOME'; cd \"$HOME\" && pwd; exit 3");
    assert_eq!(said["exit_code"], 3, "{said}");
    assert_eq!(said["output"], format!("a  'b'\n$HOME\n{}", there.display()), "{said}");
    let timed = json!({"command": "echo $$ >~/pid; sleep 600", "timeout": 1}).to_string();
    let timed: Value =
        serde_json::from_str(out(&home.run(&["tools", "run", "terminal", &timed, "--yolo"])).trim()).unwrap();
    assert_eq!(timed["exit_code"], 124, "{timed}");
    let pid: u32 = std::fs::read_to_string(there.join("pid")).unwrap().trim().parse().unwrap();
    crate::harness::until("the command is gone", || !crate::harness::sshd::runs(pid));
    // What was made for it goes with the program.
    let left: Vec<_> =
        std::fs::read_dir(home.user().join("programs")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with("hermes-") || name == "job"), "{left:?}");
}

#[test]
fn a_pod_of_our_own_runs_commands_and_goes() {
    let config = "terminal:\n  backend: kubernetes\n  kubernetes_namespace: dev\n  cwd: /tmp\n";
    let home = home(&[("kubectl", KUBECTL)], config);
    works(&home, config);
    let flags = std::fs::read_to_string(home.user().join("programs/flags")).unwrap();
    assert!(flags.lines().all(|flag| flag == "--namespace=dev"), "{flags}");
    home.config("terminal:\n  backend: kubernetes\n  kubernetes_pod: theirs\n");
    let said = run(&home, "true");
    assert!(said["error"].as_str().unwrap().contains("pods \"theirs\" not found"), "{said}");
}

#[test]
fn an_allocation_runs_commands_and_is_given_back() {
    let config = "terminal:\n  backend: slurm\n  slurm_args: [--partition=short]\n";
    let home = home(&[("salloc", SALLOC), ("squeue", SQUEUE), ("scancel", SCANCEL), ("srun", SRUN)], config);
    works(&home, config);
}

#[test]
fn an_instance_runs_commands_and_is_stopped() {
    let config = "terminal:\n  backend: apptainer\n  cwd: /tmp\n";
    works(&home(&[("apptainer", APPTAINER)], config), config);
}

#[test]
fn a_container_that_does_not_start_is_never_deleted() {
    let home =
        home(&[("podman", PODMAN)], "terminal:\n  backend: podman\n  docker_orphan_reaper: false\n  cwd: /tmp\n");
    let folder = home.user().join("programs");
    std::fs::write(folder.join("state"), "exited\n").unwrap();
    let said = run(&home, "true");
    let why = said["error"].as_str().unwrap_or_else(|| panic!("{said}"));
    assert!(why.contains("the engine is busy") && why.contains("podman rm hermes-made"), "{why}");
    std::fs::write(folder.join("state"), "paused\n").unwrap();
    assert_eq!(run(&home, "echo there")["output"], "there");
    let words = std::fs::read_to_string(folder.join("words")).unwrap();
    assert!(words.contains("unpause hermes-made") && !words.lines().any(|line| line.starts_with("rm ")), "{words}");
}

/// `exec` notes who is asked over a link, and fails while the engine is busy.
const BUSY: &str = r#"
echo "$*" >>"$STANDIN/words"
case $1 in
  ps) echo "hermes-made running";;
  inspect) echo running;;
  exec)
    [ ! -e "$STANDIN/busy" ] || { echo "Error: the engine is busy" >&2; exit 125; }
    [ "$2" != -i ] || echo $$ >>"$STANDIN/links"
    shift; while case $1 in -*) :;; *) false;; esac; do shift; done; shift; enter "$@";;
  *) echo "unknown: $*" >&2; exit 1;;
esac
"#;

#[test]
fn an_engine_that_does_not_answer_is_no_reason_to_end_all_that_runs_in_a_container() {
    let home = home(&[("podman", BUSY)], "terminal:\n  backend: podman\n  docker_orphan_reaper: false\n  cwd: /tmp\n");
    let folder = home.user().join("programs").canonicalize().unwrap();
    // From now on nothing is answered, and the link is broken.
    let line = format!("cd {} && echo $$ >pid && touch busy && kill -9 $(cat links); sleep 600", folder.display());
    let args = json!({ "command": line, "timeout": 10 }).to_string();
    let done = home.run(&["tools", "run", "terminal", &args, "--yolo"]);
    let said: Value = serde_json::from_str(out(&done).trim()).unwrap_or_else(|_| panic!("{}", err(&done)));
    let why = said["error"].as_str().unwrap_or_else(|| panic!("{said}"));
    assert!(why.contains("the engine is busy") && why.contains("it may still be running there"), "{why}");
    let words = std::fs::read_to_string(folder.join("words")).unwrap();
    assert!(!words.lines().any(|word| word.starts_with("kill") || word.starts_with("stop")), "{words}");
    let pid = std::fs::read_to_string(folder.join("pid")).unwrap().trim().parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process_group(pid, rustix::process::Signal::KILL).ok();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).ok();
}

#[test]
fn files_go_there_and_come_back() {
    let Ok(sshd) = Sshd::start().map_err(|why| skipped("files_go_there_and_come_back", &why)) else { return };
    let home = Home::empty();
    let words = sshd.client_config().display().to_string();
    home.config(&format!("terminal:\n  backend: ssh\n  ssh_host: there\n  ssh_extra_args: [-F, {words}]\n"));
    std::fs::create_dir_all(home.project().join("tree/sub dir")).unwrap();
    std::fs::write(home.project().join("tree/sub dir/f"), "x").unwrap();
    std::fs::write(home.project().join("one.sh"), "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(home.project().join("one.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let done = home.run(&["files", "push", "tree", "--json"]);
    let said: Value = serde_json::from_str(out(&done).trim()).unwrap_or_else(|_| panic!("{}", err(&done)));
    assert_eq!(said["to"], sshd.home().join("./tree").display().to_string(), "{said}");
    assert_eq!(std::fs::read_to_string(sshd.home().join("tree/sub dir/f")).unwrap(), "x");
    assert!(home.run(&["files", "push", "one.sh", "bin/two.sh"]).status.success());
    let mode = std::fs::metadata(sshd.home().join("bin/two.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    let done = home.run(&["files", "pull", "~/tree/sub dir", "back"]);
    assert!(done.status.success(), "{}", err(&done));
    assert_eq!(std::fs::read_to_string(home.project().join("back/f")).unwrap(), "x");
    let missing = home.run(&["files", "pull", "nothing-there"]);
    assert!(!missing.status.success() && err(&missing).contains("nothing-there: No such file"), "{}", err(&missing));
    home.config("");
    let local = home.run(&["files", "push", "one.sh"]);
    assert!(err(&local).contains("choose a backend with --backend"), "{}", err(&local));
}

#[test]
fn what_is_interrupted_moves_nothing_and_leaves_nothing() {
    let test = "what_is_interrupted_moves_nothing_and_leaves_nothing";
    let Ok(sshd) = Sshd::start().map_err(|why| skipped(test, &why)) else { return };
    let home = Home::empty();
    let words = sshd.client_config().display().to_string();
    home.config(&format!("terminal:\n  backend: ssh\n  ssh_host: there\n  ssh_extra_args: [-F, {words}]\n"));
    // Takes longer than to interrupt it.
    let large = std::fs::File::create(home.project().join("large")).unwrap();
    large.set_len(1 << 32).unwrap();
    let mut child = home.command(&["files", "push", "large"]).spawn().unwrap();
    let begun = || {
        std::fs::read_dir(sshd.home())
            .unwrap()
            .flatten()
            .any(|e| e.file_name().to_string_lossy().starts_with(".hermes-"))
    };
    crate::harness::until("it is on its way", begun);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let done = child.wait().unwrap();
    assert_eq!(done.code(), Some(130));
    crate::harness::until("nothing of it is there", || !begun());
    assert!(!sshd.home().join("large").exists());
    assert_eq!(home.leftovers(), Vec::<String>::new());
}

/// The real client says to a server what was meant: which pods, whose, and what is to run in them.
#[test]
fn kubectl_asks_a_cluster_for_what_was_meant() {
    let test = "kubectl_asks_a_cluster_for_what_was_meant";
    let cluster = match Cluster::start(&["web-0"]) {
        Ok(cluster) => cluster,
        Err(why) => return skipped(test, &why),
    };
    let mut home = Home::empty();
    let config = home.user().join("kubeconfig");
    std::fs::write(&config, cluster.config()).unwrap();
    home.set("KUBECONFIG", &config.display().to_string());
    // A pod of the person is only entered, in the container that was named.
    home.config(
        "terminal:\n  backend: kubernetes\n  kubernetes_pod: web-0\n  kubernetes_container: beside\n  kubernetes_namespace: dev\n",
    );
    let said = run(&home, "true");
    let why = said["error"].as_str().unwrap_or_else(|| panic!("{said}"));
    assert!(
        why.contains("kubernetes web-0 is unavailable") && why.contains("nothing runs in this cluster"),
        "{why} {:?}",
        cluster.log()
    );
    let log = cluster.log();
    let entered = |log: &[String], pod: &str, container: &str| {
        let word = format!("/pods/{pod}/exec?command=sh&");
        let found = log.iter().find(|line| line.contains(&word)).unwrap_or_else(|| panic!("{log:?}"));
        assert!(found.contains("stdin=true") && !found.contains("tty=true") && found.contains(container), "{found}");
    };
    entered(&log, "web-0", "container=beside");
    assert!(log.iter().all(|line| line.contains(" dev/") && !line.starts_with("DELETE")), "{log:?}");
    // One of our own is looked for by its labels, made, waited for and deleted.
    home.config("terminal:\n  backend: kubernetes\n  kubernetes_image: an/image:1\n  kubernetes_context: here\n");
    let said = run(&home, "true");
    assert!(said["error"].as_str().is_some_and(|why| why.contains("nothing runs in this cluster")), "{said}");
    let log = cluster.log().split_off(log.len());
    assert!(
        log[0].starts_with("GET default/pods?")
            && log[0].contains("labelSelector=hermes-agent%3D1%2Chermes-task-id%3Ddefault"),
        "{log:?}"
    );
    assert!(log.iter().any(|line| line.starts_with("POST default/pods?")), "{log:?}");
    assert!(log.iter().any(|line| line.contains("/pods/hermes-") && line.contains("/exec?command=sh&")), "{log:?}");
    let missing = "terminal:\n  backend: kubernetes\n  kubernetes_pod: no-such\n";
    home.config(missing);
    let why = run(&home, "true");
    assert!(why["error"].as_str().is_some_and(|why| why.contains("pods \"no-such\" not found")), "{why}");
    assert_eq!(cluster.pods(), ["web-0"], "theirs is left alone, ours is not");
}

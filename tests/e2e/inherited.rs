//! What children of the program have open: their standard streams and nothing else, through every door by which one starts.

use crate::harness::home::{err, out};
use crate::harness::mock::call;
use crate::harness::{Home, Mock, Sshd, Step, Term, binary, skipped, until};
use serde_json::json;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A plugin in plain sh that only says what it is.
const PLUGIN: &str = r#"while read -r line; do
    id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
    case $line in
    *'"method":"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocol":1,"tools":[]}}\n' "$id" ;;
    *'"method":"shutdown"'*) exit 0 ;;
    esac
done
"#;

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/mcp-server.sh");

/// Starts the program with two descriptors that nobody marked as closed on exec, as a careless parent would.
const CARELESS: &str = "exec 7<>careless 9<careless; exec \"$0\" \"$@\"";

/// A folder where children write what they have open.
struct Looks(PathBuf);

impl Looks {
    fn new(home: &Home) -> Self {
        let folder = home.project().join("looks");
        std::fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    /// The line by which a child of this door lists what it has open. The list is there once it is whole.
    fn line(&self, door: &str) -> String {
        let list = self.0.join(door).display().to_string();
        format!("ls -l /proc/self/fd > {list}.$$.part && mv {list}.$$.part {list}.$$")
    }

    /// What children of this door wrote.
    fn of(&self, door: &str) -> Vec<String> {
        let all = std::fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().path());
        let own = all.filter(|path| path.file_stem().is_some_and(|name| name == door));
        own.map(|path| std::fs::read_to_string(path).unwrap()).collect()
    }

    /// So many of them have looked.
    fn wait(&self, door: &str, least: usize) {
        until(&format!("{least} children of {door} have looked"), || self.of(door).len() >= least);
    }

    /// Each of them had its three streams and nothing else; `ls` itself reads the folder.
    fn are_bare(&self, door: &str, least: usize) {
        self.wait(door, least);
        for list in self.of(door) {
            let open = list.lines().filter_map(|line| line.split_once(" -> "));
            let open = open.filter(|(_, target)| !(target.starts_with("/proc/") && target.ends_with("/fd")));
            let numbers: Vec<&str> = open.filter_map(|(row, _)| row.split(' ').next_back()).collect();
            assert_eq!(numbers, ["0", "1", "2"], "{door}: {list}");
        }
    }
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A home with a hook, a plugin, a server and a login shell that tell what they got.
fn home_with_doors(mock: &Mock, more: &str) -> (Home, Looks) {
    let home = Home::empty();
    let looks = Looks::new(&home);
    let server = format!("{}; exec bash {SERVER} good", looks.line("server"));
    home.model(
        mock,
        &format!(
            "hooks_auto_accept: true\nhooks:\n  pre_tool_call:\n  - command: {}\nplugins:\n  enabled: [quiet]\n\
             mcp_servers:\n  t:\n    command: sh\n    args: [-c, {}]\n{more}",
            json!(looks.line("hook")),
            json!(server)
        ),
    );
    let plugin = home.hermes().join("plugins/quiet");
    write(&plugin.join("plugin.yaml"), "name: quiet\nversion: 1.0.0\ndescription: Quiet\n");
    write(&plugin.join("run.sh"), &format!("{}\n{PLUGIN}", looks.line("plugin")));
    write(&home.user().join(".bash_profile"), &format!("{}\n", looks.line("login")));
    write(&home.project().join("careless"), "");
    (home, looks)
}

fn terminal(looks: &Looks, door: &str, more: serde_json::Value) -> (String, serde_json::Value) {
    let mut words = json!({ "command": looks.line(door) });
    words.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    call("terminal", words)
}

fn careless<'a>(args: &[&'a str]) -> Vec<&'a str> {
    [&["-c", CARELESS, binary()], args].concat()
}

#[test]
#[cfg(target_os = "linux")]
fn children_of_the_screen_get_nothing_but_their_streams() {
    let mock = Mock::start(vec![]);
    let (home, looks) = home_with_doors(&mock, "");
    mock.push(vec![
        Step::Calls(
            String::new(),
            vec![
                terminal(&looks, "foreground", json!({})),
                terminal(&looks, "own-terminal", json!({"pty": true})),
                terminal(&looks, "background", json!({"background": true})),
            ],
        ),
        Step::Text("All are started.".into()),
    ]);
    let mut term = Term::run(&home, "/bin/sh", &careless(&["--yolo"]), (120, 40), &[]);
    term.wait("t: 6 tools");
    for number in [7, 9] {
        let target = std::fs::read_link(format!("/proc/{}/fd/{number}", term.pid())).unwrap();
        assert!(target.ends_with("careless"), "the program itself has it: {}", target.display());
    }
    term.send("look\r").wait("All are started.");
    looks.wait("background", 1);
    term.quit();
    for door in ["foreground", "own-terminal", "background", "hook", "plugin", "server", "login"] {
        looks.are_bare(door, 1);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn children_without_a_screen_get_nothing_but_their_streams() {
    let mock = Mock::start(vec![]);
    let (home, looks) = home_with_doors(&mock, "");
    mock.push(vec![
        Step::Calls(
            String::new(),
            vec![
                terminal(&looks, "pipe", json!({})),
                terminal(&looks, "own-terminal", json!({"pty": true})),
                terminal(&looks, "background", json!({"background": true})),
                // The end of the run ends what is in the background.
                call(
                    "terminal",
                    json!({"command": "until ls looks | grep -q '^background.[0-9]*$'; do sleep 0.02; done"}),
                ),
            ],
        ),
        Step::Text("All are started.".into()),
    ]);
    let done = home.command(&[]);
    let mut command = std::process::Command::new("/bin/sh");
    command.args(careless(&["-p", "look", "--yolo"])).env_clear().current_dir(home.project());
    command.envs(done.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let done = command.stdin(std::process::Stdio::null()).output().unwrap();
    assert!(out(&done).contains("All are started."), "{}{}", out(&done), err(&done));
    looks.wait("background", 1);
    for door in ["pipe", "own-terminal", "background", "hook", "plugin", "server", "login"] {
        looks.are_bare(door, 1);
    }
}

/// The link, the clients of two commands, and `hermes files`, whose `tar` runs here as well.
#[test]
#[cfg(target_os = "linux")]
fn clients_of_other_machines_get_nothing_but_their_streams() {
    let test = "clients_of_other_machines_get_nothing_but_their_streams";
    let Ok(sshd) = Sshd::start().map_err(|why| skipped(test, &why)) else { return };
    let mock = Mock::start(vec![
        Step::Calls(
            String::new(),
            vec![
                call("terminal", json!({"command": "echo there"})),
                call("terminal", json!({"command": "echo behind", "background": true, "notify_on_complete": true})),
            ],
        ),
        Step::Text("All are started.".into()),
    ]);
    let (mut home, looks) = home_with_doors(&mock, "");
    let words = sshd.client_config().display().to_string();
    home.model(&mock, &format!("terminal:\n  backend: ssh\n  ssh_host: there\n  ssh_extra_args: [-F, {words}]\n"));
    let path = std::env::var("PATH").unwrap();
    let programs = home.project().join("programs");
    for (name, door) in [("ssh", "client"), ("tar", "tar")] {
        let real = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file());
        let Some(real) = real else { return skipped(test, &format!("no {name} here")) };
        let script = format!("#!/bin/sh\n{}\nexec {} \"$@\"\n", looks.line(door), real.display());
        write(&programs.join(name), &script);
        std::fs::set_permissions(programs.join(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    home.set("PATH", &format!("{}:{path}", programs.display()));
    let mut term = Term::run(&home, "/bin/sh", &careless(&["--yolo"]), (120, 40), &[]);
    term.wait("Hermes Agent");
    term.send("look\r").wait("All are started.");
    looks.wait("client", 3);
    term.quit();
    looks.are_bare("client", 3);
    let before = looks.of("client").len();
    let envs = home.command(&[]);
    let mut command = std::process::Command::new("/bin/sh");
    command.args(careless(&["files", "push", "careless"])).env_clear().current_dir(home.project());
    command.envs(envs.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let done = command.stdin(std::process::Stdio::null()).output().unwrap();
    assert!(done.status.success(), "{}{}", out(&done), err(&done));
    looks.are_bare("client", before + 2);
    looks.are_bare("tar", 1);
}

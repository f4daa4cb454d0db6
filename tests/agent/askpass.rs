//! Programs that ask for passwords by the helper: real ones, a stand-in for `sudo`, and those that may not ask.

use hermes::exec::{Ask, Exec, ExecOptions, Finished, Hidden, ProcessCommand, ProcessEvent, Running, Spawn, Waited};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use tokio::sync::mpsc;

/// Asks up to three times and takes one password; `-n` fails, as when one is needed.
const SUDO: &str = r#"#!/bin/sh
case "$1" in
  -n) exit 1 ;;
  -A) shift ;;
esac
for try in 1 2 3; do
  answer=$("$SUDO_ASKPASS" "[sudo] password for me:") || exit 1
  if [ "$answer" = "open sesame" ]; then exec "$@"; fi
  echo "Sorry, try again." >&2
done
exit 1
"#;

struct Room {
    exec: Exec,
    events: mpsc::Receiver<ProcessEvent>,
    folder: tempfile::TempDir,
}

fn room(options: ExecOptions) -> Room {
    let folder = tempfile::tempdir().unwrap();
    let bin = folder.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::fs::write(bin.join("sudo"), SUDO).unwrap();
    std::fs::set_permissions(bin.join("sudo"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let (exec, events) = Exec::new(ExecOptions {
        spill: folder.path().join("spill"),
        login_env: false,
        program: Some(PathBuf::from(crate::harness::binary())),
        ..options
    });
    Room { exec, events, folder }
}

async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(Duration::from_secs(40), future).await {
        Ok(value) => value,
        Err(_) => panic!("it takes too long: {what}"),
    }
}

impl Room {
    /// Starts a command that finds the stand-in, for this task.
    async fn start_for(&self, task: &str, command: &str) -> Running {
        let bin = self.folder.path().join("bin");
        let spawn = Spawn {
            command: format!("PATH={}:$PATH; unset GIT_CONFIG_GLOBAL; {command}", bin.display()),
            cwd: self.folder.path().into(),
            pty: false,
            background: false,
            task: task.into(),
            size: (80, 24),
            headless: self.exec.headless(),
            sandbox: None,
        };
        self.exec.start(spawn).await.unwrap()
    }

    async fn start(&self, command: &str) -> Running {
        self.start_for("t", command).await
    }

    async fn asked(&mut self) -> Ask {
        let next = async {
            loop {
                if let ProcessEvent::Asks(ask) = self.events.recv().await.unwrap() {
                    return ask;
                }
            }
        };
        soon("a question", next).await
    }

    fn answer(&self, ask: &Ask, text: &str) {
        self.exec.command(ProcessCommand::Answer(ask.id, Some(Hidden::new(text.into()))));
    }

    async fn end(&self, running: &Running) -> (i32, String) {
        match soon("its end", running.wait()).await {
            Waited::Finished(Finished { exit, output, .. }) => {
                (exit.code, String::from_utf8_lossy(&output.head).into_owned())
            }
            Waited::Moved(_) => panic!("moved"),
        }
    }
}

fn has(test: &str, program: &str) -> bool {
    let found = std::env::split_paths(&std::env::var_os("PATH").unwrap()).any(|dir| dir.join(program).is_file());
    if !found {
        crate::harness::skipped(test, &format!("{program} is not installed"));
    }
    found
}

fn root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|meta| meta.uid() == 0)
}

#[tokio::test(flavor = "multi_thread")]
async fn sudo_asks_again_when_the_password_was_wrong_and_is_remembered() {
    let mut room = room(ExecOptions::default());
    let running = room.start("sudo -A echo in").await;
    let ask = room.asked().await;
    assert_eq!((ask.who.as_str(), ask.prompt.as_str()), ("sudo", "[sudo] password for me:"));
    assert!(ask.masked && !ask.again && !ask.stranger && ask.command.contains("sudo -A echo in"), "{ask:?}");
    room.answer(&ask, "wrong");
    let ask = room.asked().await;
    // Only the true sudo, which runs as the superuser, is remembered.
    assert_eq!(ask.again, root());
    room.answer(&ask, "open sesame");
    let (code, output) = room.end(&running).await;
    assert_eq!((code, output.as_str()), (0, "Sorry, try again.\nin\n"));
    if root() {
        let running = room.start("sudo -A echo again").await;
        assert_eq!(room.end(&running).await, (0, "again\n".into()));
        // Another session is another memory.
        let running = room.start_for("other", "sudo -A echo other").await;
        let ask = room.asked().await;
        room.answer(&ask, "open sesame");
        assert_eq!(room.end(&running).await.0, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_answer_and_an_ended_command_end_the_question() {
    let mut room = room(ExecOptions::default());
    let running = room.start("sudo -A echo in; echo code-$?").await;
    let ask = room.asked().await;
    room.exec.command(ProcessCommand::Answer(ask.id, None));
    let (_, output) = room.end(&running).await;
    assert!(output.contains("the person gave no answer") && output.contains("code-1"), "{output}");
    let running = room.start("sudo -A echo in").await;
    let ask = room.asked().await;
    running.stop(hermes::exec::ExitReason::Stopped);
    let closed =
        async { while room.events.recv().await != Some(ProcessEvent::AskClosed(running.id.clone(), ask.id)) {} };
    soon("it is closed", closed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_a_command_of_ours_started_may_ask() {
    let mut room = room(ExecOptions::default());
    let running = room.start("echo $SUDO_ASKPASS").await;
    let (_, helper) = room.end(&running).await;
    let helper = PathBuf::from(helper.trim());
    let folder = helper.parent().unwrap();
    assert_eq!(folder.metadata().unwrap().mode() & 0o777, 0o700);
    // This process is no command of ours, though it is the same user's.
    let asks =
        |helper: PathBuf| tokio::task::spawn_blocking(move || Command::new(helper).arg("Password:").output().unwrap());
    let refused = soon("it is refused", asks(helper.clone())).await.unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(refused.stdout, b"");
    let words = String::from_utf8(refused.stderr).unwrap();
    assert!(words.contains("only what a running command of Hermes started may ask"), "{words}");
    // What left the command's session and its parents may not ask either; what only left the session may.
    let running = room.start("setsid -w sh -c '\"$SUDO_ASKPASS\" Password:; :'").await;
    let ask = room.asked().await;
    assert!(ask.stranger, "a shell is no program that asks for passwords: {ask:?}");
    room.answer(&ask, "yes");
    assert_eq!(room.end(&running).await, (0, "yes\n".into()));
    let left = "(setsid sh -c 'while [ -d /proc/$0 ]; do sleep 0.05; done; \"$SUDO_ASKPASS\" Password: > left 2>&1; touch over' $$ &) ; :";
    let running = room.start(left).await;
    room.end(&running).await;
    let over = room.folder.path().join("over");
    soon("it tried", async {
        while !over.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await
        }
    })
    .await;
    let words = std::fs::read_to_string(room.folder.path().join("left")).unwrap();
    assert!(words.contains("may ask"), "{words}");
    // The folder goes with the program; a helper that is left says so.
    room.exec.shutdown(true).await;
    assert!(!folder.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn git_and_ssh_ask_for_what_they_need() {
    let mut room = room(ExecOptions::default());
    if has("git_and_ssh_ask_for_what_they_need", "git") {
        let line = "printf 'protocol=https\\nhost=git.example\\n\\n' | git -c credential.helper= credential fill";
        let running = room.start(line).await;
        let ask = room.asked().await;
        assert!(ask.who.starts_with("git") && !ask.masked && ask.prompt.starts_with("Username for"), "{ask:?}");
        room.answer(&ask, "ada");
        let ask = room.asked().await;
        assert!(ask.masked && ask.prompt.starts_with("Password for 'https://ada@git.example'"), "{ask:?}");
        room.answer(&ask, "token");
        let (code, output) = room.end(&running).await;
        assert!(code == 0 && output.contains("username=ada\npassword=token"), "{output}");
    }
    if has("git_and_ssh_ask_for_what_they_need", "ssh-keygen") {
        let running = room.start("ssh-keygen -q -t ed25519 -N 'old words' -C '' -f key && ssh-keygen -y -f key").await;
        let ask = room.asked().await;
        assert!(ask.who == "ssh-keygen" && ask.masked && ask.prompt.contains("passphrase"), "{ask:?}");
        room.answer(&ask, "old words");
        let (code, output) = room.end(&running).await;
        assert!(code == 0 && output.contains("ssh-ed25519 "), "{output}");
        // A change asks for the old one and twice for the new.
        let running = room.start("ssh-keygen -p -f key").await;
        for words in ["old words", "new words", "new words"] {
            let ask = room.asked().await;
            assert!(ask.masked, "{ask:?}");
            room.answer(&ask, words);
        }
        let (code, output) = room.end(&running).await;
        assert_eq!(code, 0, "{output}");
        let running = room.start("ssh-keygen -y -P 'new words' -f key").await;
        assert_eq!(room.end(&running).await.0, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_person_everything_that_asks_fails_at_once() {
    let room = room(ExecOptions { headless: true, ..ExecOptions::default() });
    let running = room.start("sudo -A echo in; echo code-$?").await;
    let (_, output) = room.end(&running).await;
    assert!(output.contains("nobody can answer") && output.contains("code-1"), "{output}");
    if has("without_a_person_everything_that_asks_fails_at_once", "git") {
        let line = "printf 'protocol=https\\nhost=git.example\\n\\n' | git -c credential.helper= credential fill";
        let (code, output) = room.end(&room.start(line).await).await;
        assert!(code != 0 && output.contains("nobody can answer"), "{output}");
    }
    if has("without_a_person_everything_that_asks_fails_at_once", "ssh-keygen") {
        let running = room.start("ssh-keygen -q -t ed25519 -N words -C '' -f key && ssh-keygen -y -f key").await;
        let (code, output) = room.end(&running).await;
        assert!(code != 0 && output.contains("nobody can answer"), "{output}");
    }
    // The password of the environment is an answer.
    let password = Some(Hidden::new("open sesame".into()));
    let room = self::room(ExecOptions { headless: true, sudo_password: password, ..ExecOptions::default() });
    if root() {
        assert_eq!(room.end(&room.start("sudo -A echo in").await).await, (0, "in\n".into()));
    }
    // What is no sudo does not get it.
    let (code, output) = room.end(&room.start("\"$SUDO_ASKPASS\" Password:").await).await;
    assert!(code == 1 && !output.contains("sesame"), "{output}");
}

#[tokio::test(flavor = "multi_thread")]
async fn helpers_of_the_person_stay_and_ours_are_no_change_of_a_command() {
    let room = room(ExecOptions::default());
    let running = room.start("export MINE=1").await;
    match soon("its end", running.wait()).await {
        Waited::Finished(end) => assert_eq!(end.not_kept, ["PATH"]),
        Waited::Moved(_) => panic!("moved"),
    }
    let (_, output) = room.end(&room.start("echo $MINE ${SSH_ASKPASS##*/} $SSH_ASKPASS_REQUIRE").await).await;
    assert!(output.starts_with("1 hermes-askpass "), "{output}");
    let exported = "export GIT_ASKPASS=/bin/true; env | grep -c ASKPASS";
    room.end(&room.start(exported).await).await;
    let (_, output) = room.end(&room.start("echo ${GIT_ASKPASS##*/}").await).await;
    assert_eq!(output, "hermes-askpass\n", "a command does not decide who is asked later");
}

/// In a process namespace of its own the sessions of outer processes are zero; this room's tests must hold there, too.
#[test]
fn a_namespace_of_its_own_changes_nothing() {
    let test = "a_namespace_of_its_own_changes_nothing";
    let unshare = || {
        let mut command = Command::new("unshare");
        command.args(["--pid", "--fork", "--kill-child", "--mount-proc"]);
        command
    };
    if !unshare().arg("true").output().is_ok_and(|done| done.status.success()) {
        return crate::harness::skipped(test, "this user may not make a process namespace");
    }
    for inner in
        ["sudo_asks_again_when_the_password_was_wrong_and_is_remembered", "only_what_a_command_of_ours_started_may_ask"]
    {
        let name = format!("agent::askpass::{inner}");
        let done = unshare().arg(std::env::current_exe().unwrap()).args(["--exact", &name]).output().unwrap();
        let words = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success() && words.contains("1 passed"), "{words}");
    }
}

/// A command that makes a namespace of its own is a command of ours all the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_command_in_a_namespace_may_ask() {
    let mut room = room(ExecOptions::default());
    let running = room.start("unshare --pid --fork --mount-proc true").await;
    if room.end(&running).await.0 != 0 {
        return crate::harness::skipped(
            "a_command_in_a_namespace_may_ask",
            "this user may not make a process namespace",
        );
    }
    let running = room.start("unshare --pid --fork --mount-proc sh -c '\"$SUDO_ASKPASS\" Password:'").await;
    let ask = room.asked().await;
    room.answer(&ask, "yes");
    assert_eq!(room.end(&running).await, (0, "yes\n".into()));
}

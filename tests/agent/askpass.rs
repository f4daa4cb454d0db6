//! Programs that ask for passwords by the helper: real ones, a stand-in for `sudo`, and those that may not ask.

use crate::harness::has;
use hermes::exec::{
    Ask, Exec, ExecOptions, Finished, Hidden, Launch, ProcessCommand, ProcessEvent, Running, Spawn, Waited,
};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use tokio::sync::mpsc;

/// Asks up to three times and takes one password; `-n` fails, as when one is needed. Its first line is added where it is put.
const SUDO: &str = r#"
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
    // What interprets it is a shell in the place of the program: a file named sudo and, for root, one that gives its rights.
    let shell = folder.path().join("sudo");
    std::fs::copy("/bin/sh", &shell).unwrap();
    std::fs::set_permissions(&shell, std::fs::Permissions::from_mode(0o4755)).unwrap();
    std::fs::write(bin.join("sudo"), format!("#!{}{SUDO}", shell.display())).unwrap();
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
    /// Starts a command that finds the stand-in, for this task; so many of its `sudo`s were judged.
    async fn start_for(&self, task: &str, command: &str, sudos: usize) -> Running {
        let bin = self.folder.path().join("bin");
        let line = format!("PATH={}:$PATH; unset GIT_CONFIG_GLOBAL; {command}", bin.display());
        self.start_line(task, line, sudos, false).await
    }

    /// Starts this very line.
    async fn start_line(&self, task: &str, line: String, sudos: usize, background: bool) -> Running {
        let spawn = Spawn {
            command: line,
            cwd: self.folder.path().into(),
            pty: false,
            background,
            task: task.into(),
            size: (80, 24),
            headless: self.exec.headless(),
            sandbox: None,
        };
        self.exec.launch(Launch { sudos, ..Launch::from(spawn) }).await.unwrap()
    }

    /// A line whose one `sudo` was judged.
    async fn start(&self, command: &str) -> Running {
        self.start_for("t", command, 1).await
    }

    /// It asks, and gets this.
    async fn answers(&mut self, command: &str, sudos: usize, answers: &[&str]) -> (i32, String) {
        let running = self.start_for("t", command, sudos).await;
        for answer in answers {
            let ask = self.asked().await;
            self.answer(&ask, answer);
        }
        self.end(&running).await
    }

    /// This very line of the task asks, and gets this.
    async fn line(&mut self, line: &str, sudos: usize, answers: &[&str]) -> (i32, String) {
        let running = self.start_line("t", line.into(), sudos, false).await;
        for answer in answers {
            let ask = self.asked().await;
            self.answer(&ask, answer);
        }
        self.end(&running).await
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

fn root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|meta| meta.uid() == 0)
}

#[tokio::test(flavor = "multi_thread")]
async fn sudo_asks_again_when_the_password_was_wrong() {
    let mut room = room(ExecOptions::default());
    let running = room.start("sudo -A echo in").await;
    let ask = room.asked().await;
    assert_eq!((ask.who.as_str(), ask.prompt.as_str()), ("sudo", "[sudo] password for me:"));
    assert!(ask.masked && !ask.again && ask.command.contains("sudo -A echo in"), "{ask:?}");
    // It has the name, and is none of the system's.
    assert!(ask.stranger && ask.path.as_ref().is_some_and(|path| path.ends_with("/sudo")), "{ask:?}");
    room.answer(&ask, "wrong");
    let ask = room.asked().await;
    room.answer(&ask, "open sesame");
    let (code, output) = room.end(&running).await;
    assert_eq!((code, output.as_str()), (0, "Sorry, try again.\nin\n"));
    // Nothing of a line with more than a `sudo` in it is kept.
    assert_eq!(room.answers("sudo -A echo again", 1, &["open sesame"]).await, (0, "again\n".into()));
    // The helper alone, called by what is no sudo.
    assert_eq!(room.answers("\"$SUDO_ASKPASS\" Password:; :", 1, &["typed"]).await, (0, "typed\n".into()));
}

/// One command cannot keep the program busy with questions.
#[tokio::test(flavor = "multi_thread")]
async fn a_command_has_so_many_questions_at_once_and_no_more() {
    let mut room = room(ExecOptions::default());
    let line = "for n in 1 2 3 4 5 6 7 8 9 10 11 12; do \"$SUDO_ASKPASS\" Password: & done; wait";
    let running = room.start(line).await;
    let mut asks = Vec::new();
    for _ in 0..8 {
        asks.push(room.asked().await);
    }
    let refused = async {
        while room.exec.log(&running.id, None, 100).unwrap().report.output.matches("open questions").count() < 4 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    soon("the others are refused", refused).await;
    for ask in &asks {
        room.answer(ask, "yes");
    }
    let (_, output) = room.end(&running).await;
    assert_eq!((output.matches("yes").count(), output.matches("open questions").count()), (8, 4), "{output}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restarted_sudo_asks_again() {
    let mut room = room(ExecOptions::default());
    let running = room.start_for("other", "sudo -A echo in", 1).await;
    let first = room.asked().await;
    let again = room.exec.restart(&running.id, None).await.unwrap();
    let second = room.asked().await;
    assert_ne!(first.id, second.id);
    room.answer(&second, "open sesame");
    assert_eq!(room.end(&again).await, (0, "in\n".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_answer_and_an_ended_command_end_the_question() {
    let mut room = room(ExecOptions::default());
    let running = room.start("sudo -A echo in; echo code-$?").await;
    let ask = room.asked().await;
    room.exec.command(ProcessCommand::Answer(ask.id, None));
    let (_, output) = room.end(&running).await;
    assert!(output.contains("no answer was given") && output.contains("code-1"), "{output}");
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
    assert!(words.contains("only programs started by a running Hermes command may ask"), "{words}");
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

/// A server that wants a name and a password for the files of a repository.
fn git_server(folder: PathBuf) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            git_answer(stream, &folder);
        }
    });
    port
}

fn git_answer(mut stream: TcpStream, folder: &std::path::Path) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let Some(path) = lines.next().and_then(|line| Some(line.split(' ').nth(1)?.split('?').next()?.to_owned())) else {
        return;
    };
    let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    // `ada:token`
    let may = head
        .iter()
        .any(|line| line.to_lowercase().starts_with("authorization: basic") && line.ends_with(" YWRhOnRva2Vu"));
    let file = std::fs::read(folder.join(path.trim_start_matches('/')));
    let (status, body) = match (may, file) {
        (false, _) => ("401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"code\"", Vec::new()),
        (true, Ok(body)) => ("200 OK\r\nContent-Type: text/plain", body),
        (true, Err(_)) => ("404 Not Found", Vec::new()),
    };
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
}

#[tokio::test(flavor = "multi_thread")]
async fn git_asks_for_what_a_server_wants() {
    if !has("git_asks_for_what_a_server_wants", "git") {
        return;
    }
    let mut room = room(ExecOptions::default());
    let make = "git init -q -b main w && git -C w -c user.name=a -c user.email=a@b commit -q --allow-empty -m first && \
                git clone -q --bare w served.git && git -C served.git update-server-info";
    let (code, output) = room.end(&room.start(make).await).await;
    assert_eq!(code, 0, "{output}");
    let port = git_server(room.folder.path().into());
    let line = format!(
        "no_proxy='*' NO_PROXY='*' git -c credential.helper= clone -q http://127.0.0.1:{port}/served.git got && git -C got log --format=%s"
    );
    let running = room.start(&line).await;
    let ask = room.asked().await;
    assert!(
        ask.who.starts_with("git") && !ask.masked && ask.prompt.starts_with("Username for 'http://127.0.0.1"),
        "{ask:?}"
    );
    room.answer(&ask, "ada");
    let ask = room.asked().await;
    assert!(ask.masked && ask.prompt.starts_with("Password for 'http://ada@127.0.0.1"), "{ask:?}");
    room.answer(&ask, "token");
    assert_eq!(room.end(&running).await, (0, "first\n".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_person_everything_that_asks_fails_at_once() {
    let room = room(ExecOptions { headless: true, ..ExecOptions::default() });
    let running = room.start("sudo -A echo in; echo code-$?").await;
    let (_, output) = room.end(&running).await;
    assert!(output.contains("no one can answer") && output.contains("code-1"), "{output}");
    if has("without_a_person_everything_that_asks_fails_at_once", "git") {
        let line = "printf 'protocol=https\\nhost=git.example\\n\\n' | git -c credential.helper= credential fill";
        let (code, output) = room.end(&room.start(line).await).await;
        assert!(code != 0 && output.contains("no one can answer"), "{output}");
    }
    if has("without_a_person_everything_that_asks_fails_at_once", "ssh-keygen") {
        let running = room.start("ssh-keygen -q -t ed25519 -N words -C '' -f key && ssh-keygen -y -f key").await;
        let (code, output) = room.end(&running).await;
        assert!(code != 0 && output.contains("no one can answer"), "{output}");
    }
    // The password of the environment is for the true `sudo` alone.
    let password = Some(Hidden::new("open sesame".into()));
    let room = self::room(ExecOptions { headless: true, sudo_password: password, ..ExecOptions::default() });
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
    for inner in ["sudo_asks_again_when_the_password_was_wrong", "only_what_a_command_of_ours_started_may_ask"] {
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

/// The hash of `open sesame`.
const HASH: &str =
    "$6$hermestest$7yfP5gO9wPhbf/AF2ONODCMOrxNW8EJWKjsCWbMorT0U3xFa/jbMmB0tDsr.hYkCmUmLp5v9X1v7hZ8q46Ya4/";
/// Says to a test that it runs as the user that [`as_a_user`] makes.
const INNER: &str = "HERMES_TEST_AS_USER";

/// Runs a test of this file once more as a user `ada` with the password `open sesame`, whom only the processes of this test
/// see: the files that name users are replaced in a mount namespace. `root` are lines of shell that root runs there before.
/// The reason when that cannot be had.
fn as_a_user(test: &str, root: &str, value: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let exe = std::env::current_exe().unwrap();
    let script = format!(
        "set -e; T={folder}; mkdir -m 1777 $T/home $T/tmp; chown 61234:61234 $T/home
cp /etc/passwd /etc/shadow $T; echo 'ada:x:61234:61234::'$T'/home:/bin/sh' >>$T/passwd; echo 'ada:{HASH}:19000:0:99999:7:::' >>$T/shadow
mount --bind $T/passwd /etc/passwd; mount --bind $T/shadow /etc/shadow
if ! setpriv --reuid=61234 --regid=61234 --clear-groups test -x {exe} -a -x {hermes}; then echo 'another user cannot reach the program'; exit 77; fi
{root}
cd $T/home; export HOME=$T/home TMPDIR=$T/tmp USER=ada LOGNAME=ada {INNER}={value}; unset SUDO_ASKPASS SSH_ASKPASS GIT_ASKPASS HERMES_TESTS_SKIPPED
exec setpriv --reuid=61234 --regid=61234 --clear-groups {exe} --exact agent::askpass::{test} --nocapture",
        folder = folder.path().display(),
        exe = exe.display(),
        hermes = crate::harness::binary(),
    );
    let done = Command::new("unshare")
        .args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", &script])
        .output()
        .map_err(|error| format!("no unshare: {error}"))?;
    let words = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    if done.status.success() && words.contains("1 passed") {
        return Ok(());
    }
    assert!(!words.contains("panicked"), "{words}");
    Err(format!("no user of its own: {}", words.lines().rfind(|line| !line.is_empty()).unwrap_or_default()))
}

fn is_inner() -> Option<String> {
    std::env::var(INNER).ok()
}

/// A room without the stand-in.
fn plain_room() -> Room {
    plain_room_with(ExecOptions::default())
}

fn plain_room_with(options: ExecOptions) -> Room {
    let room = room(options);
    std::fs::remove_file(room.folder.path().join("bin/sudo")).unwrap();
    room
}

/// Each way by which code that nobody judged can come near to a `sudo` of the line.
async fn kept_goes_to_nothing_else(room: &mut Room) {
    std::fs::write(room.folder.path().join("x"), "sudo -A id -u\n").unwrap();
    std::fs::write(room.folder.path().join("same"), "exec sudo -A id -u\n").unwrap();
    // Takes the words of the shell that started the line.
    let words = "exec -a bash bash -c '. ./x; :'";
    std::fs::write(room.folder.path().join("words"), words).unwrap();
    for (line, background) in [
        ("exec sh ./x", false),
        (". ./x && sudo -A true", false),
        ("source ./x; sudo -A true", false),
        ("eval \"$(cat x)\"", false),
        ("true && sh ./x", true),
        ("bash ./words", true),
        ("sh ./x; :", false),
        // A child of the shell with the very words of the line.
        ("sh ./same; sudo -A id -u", false),
        ("sh ./same && sudo -A id -u", true),
    ] {
        let running = room.start_line("t", line.into(), 1, background).await;
        let ask = room.asked().await;
        assert!(!ask.again, "{line}: {ask:?}");
        running.stop(hermes::exec::ExitReason::Stopped);
        let closed =
            async { while room.events.recv().await != Some(ProcessEvent::AskClosed(running.id.clone(), ask.id)) {} };
        soon("it is closed", closed).await;
    }
    // None of them lost or changed it.
    assert_eq!(room.line("sudo -A id -u", 1, &[]).await, (0, "0\n".into()));
}

/// A password is kept when what it was for ran, whatever `sudo` says in whatever language.
async fn wrong_ones_are_not_kept(room: &mut Room) {
    let right = "open sesame";
    // It runs, though it ends with an error; it is kept as soon as it runs.
    let running = room.start_line("new", "sudo -A sh -c 'echo begun; read x < go; exit 3'".into(), 1, false).await;
    std::process::Command::new("mkfifo").arg(room.folder.path().join("go")).status().unwrap();
    let ask = room.asked().await;
    room.answer(&ask, right);
    let kept = async {
        // Until it is known to be right another one asks, and gets no answer.
        loop {
            let other = room.start_line("new", "sudo -A id -u".into(), 1, false).await;
            let asked = async {
                loop {
                    match room.events.recv().await.unwrap() {
                        ProcessEvent::Asks(ask) => return Some(ask),
                        ProcessEvent::Told(id, _) if id == other.id => return None,
                        _ => {}
                    }
                }
            };
            let asked = asked.await;
            if let Some(ask) = &asked {
                room.exec.command(ProcessCommand::Answer(ask.id, None));
            }
            room.end(&other).await;
            if asked.is_none() {
                return;
            }
        }
    };
    soon("it is kept", kept).await;
    tokio::fs::write(room.folder.path().join("go"), "now\n").await.unwrap();
    assert_eq!(room.end(&running).await.0, 3);
    // What was wrong is asked for anew.
    let running = room.start_line("try", "sudo -A id -u".into(), 1, false).await;
    let ask = room.asked().await;
    room.answer(&ask, "wrong");
    for _ in 0..2 {
        let ask = room.asked().await;
        assert!(ask.again, "{ask:?}");
        room.answer(&ask, "wrong");
    }
    let (code, output) = room.end(&running).await;
    assert!(code != 0 && !output.contains("0\n"), "{output}");
    let running = room.start_line("try", "sudo -A id -u".into(), 1, false).await;
    let ask = room.asked().await;
    assert!(!ask.again, "{ask:?}");
    room.answer(&ask, right);
    assert_eq!(room.end(&running).await, (0, "0\n".into()));
}

async fn without_a_person_the_configured_one_answers() {
    let password = || Some(Hidden::new("open sesame".into()));
    let mut room = plain_room_with(ExecOptions { headless: true, sudo_password: password(), ..ExecOptions::default() });
    for _ in 0..2 {
        assert_eq!(room.line("sudo -A id -u", 1, &[]).await, (0, "0\n".into()));
    }
    let (code, output) = room.line("true; sudo -A id -u", 1, &[]).await;
    assert!(code == 1 && output.contains("no one can answer"), "{output}");
}

/// `sudo` as Debian has it, a user that is no superuser, and a password of that user.
#[tokio::test(flavor = "multi_thread")]
async fn the_true_sudo_asks_and_is_remembered() {
    let test = "the_true_sudo_asks_and_is_remembered";
    if is_inner().is_none() {
        if !root() {
            return crate::harness::skipped(test, "only root can make a user for it");
        }
        if !has(test, "sudo") {
            return;
        }
        let rules = "printf 'Defaults timestamp_timeout=0\nDefaults lecture=never\nada ALL=(ALL) ALL\n' >$T/sudoers; chmod 440 $T/sudoers
mount --bind $T/sudoers /etc/sudoers";
        let done = tokio::task::spawn_blocking(move || as_a_user(test, rules, "1")).await.unwrap();
        return done.unwrap_or_else(|why| crate::harness::skipped(test, &why));
    }
    let mut room = plain_room();
    let cancel = tokio_util::sync::CancellationToken::new();
    assert!(room.exec.sudo_wants_password("t", &cancel).await);
    let running = room.start("sudo -A id -u").await;
    let ask = room.asked().await;
    assert!(ask.who == "sudo" && !ask.stranger && ask.masked && !ask.again && ask.prompt.contains("ada"), "{ask:?}");
    room.answer(&ask, "wrong");
    let ask = room.asked().await;
    assert!(ask.again, "{ask:?}");
    room.answer(&ask, "open sesame");
    let (code, output) = room.end(&running).await;
    assert!(code == 0 && output.ends_with("0\n"), "{output}");
    // What was typed for a line of more than that is not kept.
    let right = "open sesame";
    assert_eq!(room.line("sudo -A id -u", 1, &[right]).await, (0, "0\n".into()));
    // One that is all of its line gets it, each time, and the person hears of it each time.
    for _ in 0..2 {
        let running = room.start_line("t", "sudo -A id -u".into(), 1, false).await;
        let told = async {
            loop {
                match room.events.recv().await.unwrap() {
                    ProcessEvent::Told(id, words) if id == running.id => return words,
                    ProcessEvent::Asks(ask) => panic!("{ask:?}"),
                    _ => {}
                }
            }
        };
        let words = soon("a notice", told).await;
        assert!(words.contains("remembered password for: sudo -A id -u"), "{words}");
        assert_eq!(room.end(&running).await, (0, "0\n".into()));
    }
    // Another session is another memory, and a line that was not judged gets nothing.
    let running = room.start_line("other", "sudo -A id -u".into(), 1, false).await;
    let ask = room.asked().await;
    room.answer(&ask, right);
    assert_eq!(room.end(&running).await.0, 0);
    assert_eq!(room.line("sudo -A id -u", 0, &[right]).await, (0, "0\n".into()));
    assert_eq!(room.line("(sudo -A echo a) | sudo -A cat", 2, &[right, right]).await, (0, "a\n".into()));
    kept_goes_to_nothing_else(&mut room).await;
    wrong_ones_are_not_kept(&mut room).await;
    without_a_person_the_configured_one_answers().await;
    // A copy of it has the name and not the rights.
    let running = room
        .start("cp $(command -v cat) sudo; cp $SUDO_ASKPASS ask; ./sudo /proc/self/comm; \"$SUDO_ASKPASS\" 'for me'")
        .await;
    let ask = room.asked().await;
    assert!(ask.stranger, "{ask:?}");
    room.answer(&ask, "typed");
    assert_eq!(room.end(&running).await, (0, "sudo\ntyped\n".into()));
}

/// `ssh` to a server that takes a password, on loopback.
#[tokio::test(flavor = "multi_thread")]
async fn ssh_asks_for_the_key_of_a_host_and_a_password() {
    let test = "ssh_asks_for_the_key_of_a_host_and_a_password";
    let Some(port) = is_inner() else {
        if !root() {
            return crate::harness::skipped(test, "only root can make a user for it");
        }
        if !std::path::Path::new("/usr/sbin/sshd").is_file() {
            return crate::harness::skipped(test, "no sshd here (Debian openssh-server)");
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let server = format!(
            "mkdir -p /run/sshd; ssh-keygen -q -t ed25519 -N '' -f $T/host
printf 'ListenAddress 127.0.0.1\nPort {port}\nHostKey %s/host\nPidFile none\nUsePAM no\nPasswordAuthentication yes\n\
KbdInteractiveAuthentication no\nPubkeyAuthentication no\nStrictModes no\nPrintMotd no\nPrintLastLog no\n' $T >$T/sshd_config
/usr/sbin/sshd -f $T/sshd_config -E $T/log"
        );
        let done = tokio::task::spawn_blocking(move || as_a_user(test, &server, &port.to_string())).await.unwrap();
        return done.unwrap_or_else(|why| crate::harness::skipped(test, &why));
    };
    let mut room = plain_room();
    let line = format!("ssh -F none -o UserKnownHostsFile=$PWD/known -p {port} ada@127.0.0.1 echo it-is-in");
    let running = room.start(&line).await;
    let ask = room.asked().await;
    assert!(ask.who == "ssh" && !ask.stranger && !ask.masked && ask.prompt.contains("yes/no"), "{ask:?}");
    room.answer(&ask, "yes");
    let ask = room.asked().await;
    assert!(ask.masked && ask.prompt.contains("ada@127.0.0.1's password"), "{ask:?}");
    room.answer(&ask, "open sesame");
    let (code, output) = room.end(&running).await;
    assert!(code == 0 && output.ends_with("it-is-in\n"), "{output}");
}

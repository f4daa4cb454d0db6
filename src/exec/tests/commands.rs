//! Commands in shells: codes, folders, variables, and what they may not do.

use super::*;

#[tokio::test]
async fn output_keeps_its_order_and_codes_are_true() {
    let room = room();
    let end = room.run("echo out; echo err >&2; echo out again; exit 3").await;
    assert_eq!(text(&end), "out\nerr\nout again\n");
    assert_eq!((end.exit.code, end.exit.reason), (3, ExitReason::Exited));
    assert!(!end.survivors);
    let end = room.run("kill -9 $$").await;
    assert_eq!((end.exit.code, end.exit.reason), (137, ExitReason::Signalled));
    let end = room.run("no-such-command-here").await;
    assert_eq!(end.exit.code, 127);
    assert!(text(&end).contains("no-such-command-here: command not found"), "{}", text(&end));
}

#[tokio::test]
async fn syntax_errors_are_the_shells_own() {
    let end = room().run("echo )").await;
    assert_eq!(text(&end), "bash: -c: line 1: syntax error near unexpected token `)'\nbash: -c: line 1: `echo )'\n");
    assert_eq!(end.exit.code, 2);
}

#[tokio::test]
async fn exported_variables_and_the_folder_outlive_a_command() {
    let room = room();
    let end =
        room.run("mkdir -p a/b && cd a/b && export X='it'\"'\"'s \"$HOME\"' Y=$'two\\nlines' && Z=local; exit 3").await;
    assert_eq!(end.exit.code, 3);
    assert_eq!(end.cwd_after, Some(room.folder.path().canonicalize().unwrap().join("a/b")));
    let end = room.run("printf '%s|%s|%s' \"$X\" \"$Y\" \"$Z\"; unset X; export -n Y").await;
    assert_eq!(text(&end), "it's \"$HOME\"|two\nlines|");
    let end = room.run("echo \"${X-unset} ${Y-unset} $SHLVL\"").await;
    let first = text(&end);
    assert!(first.starts_with("unset unset "), "{first}");
    assert_eq!(text(&room.run("echo \"${X-unset} ${Y-unset} $SHLVL\"").await), first);
    // Another task has its own state.
    let mut other = room.spawn("echo \"${Q-unset}\"");
    room.run("export Q=1").await;
    other.task = "other".into();
    assert_eq!(text(&finished(&room.exec.start(other).await.unwrap()).await), "unset\n");
}

#[tokio::test]
async fn state_survives_strict_shells_and_is_not_seen() {
    let room = room();
    let end = room.run("set -euxo pipefail; set -C; export KEPT=1; cd /; false").await;
    assert_eq!(text(&end), "+ set -C\n+ export KEPT=1\n+ KEPT=1\n+ cd /\n+ false\n");
    assert_eq!((end.exit.code, end.cwd_after), (1, Some("/".into())));
    assert_eq!(text(&room.run("echo $KEPT ${BASH_ENV-none}").await), "1 none\n");
    // A command that ends its own shell leaves the state as it was.
    let end = room.run("export KEPT=2; exec echo replaced").await;
    assert_eq!((text(&end).as_str(), end.cwd_after), ("replaced\n", None));
    assert_eq!(text(&room.run("echo $KEPT").await), "1\n");
}

#[tokio::test]
async fn nothing_runs_when_the_folder_is_gone() {
    let room = room();
    let mut spawn = room.spawn("touch ran");
    let root = spawn.cwd.clone();
    spawn.cwd = root.join("gone/deep");
    let Err(error) = room.exec.start(spawn).await.map(|_| ()) else { panic!("it ran") };
    assert!(matches!(&error, ExecError::Folder(folder) if *folder == root.join("gone/deep")), "{error}");
    assert_eq!(std::fs::read_dir(&root).unwrap().count(), 0);
    assert!(room.exec.list().is_empty());
    let shell = room.exec.hub.shell().await.unwrap();
    let states = || std::fs::read_dir(shell.folder().join("state")).unwrap().count();
    assert_eq!(states(), 0, "what its shell would have read is gone");
    room.run("true").await;
    assert_eq!(states(), 0);
}

#[tokio::test]
async fn variables_that_run_programs_do_not_outlive_a_command() {
    let room = room();
    // However they are set.
    for line in [
        "read LD_PRELOAD <<< ./x.so; export LD_PRELOAD KEPT=1",
        "printf -v GIT_SSH_COMMAND ./x; export GIT_SSH_COMMAND KEPT=2",
        ": ${BASH_ENV:=./x} ${PROMPT_COMMAND:=./x}; export BASH_ENV PROMPT_COMMAND KEPT=3",
        "export KEPT=5 PATH=./evil:/tmp:$PATH",
    ] {
        let end = room.run(line).await;
        assert!(!end.not_kept.is_empty(), "{line}");
        let seen = room.run("echo ${LD_PRELOAD-} ${GIT_SSH_COMMAND-} ${BASH_ENV-} ${PROMPT_COMMAND-} ${CDPATH-}; echo $KEPT; case $PATH in *evil*) echo bad;; esac").await;
        let (first, rest) = text(&seen).split_once('\n').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        assert_eq!(first, "", "{line}");
        assert!(!rest.trim().is_empty() && !rest.contains("bad"), "{line}: {rest}");
    }
}

#[tokio::test]
async fn a_command_has_a_terminal_and_one_without_a_person_has_none() {
    let room = room();
    let ask = "[ -t 0 ] && echo in; [ -t 1 ] && echo out; [ -t 2 ] && echo err; exec 3</dev/tty && echo tty; \
               echo $PAGER $TERM $COLORTERM ${COLUMNS-unset}; stty size";
    let said = "in\nout\nerr\ntty\ncat xterm-256color truecolor unset\n";
    assert_eq!(text(&room.run(ask).await), format!("{said}24 1000\n"));
    let mut spawn = room.spawn(ask);
    spawn.pty = true;
    let end = finished(&room.exec.start(spawn).await.unwrap()).await;
    assert_eq!(text(&end), format!("{said}24 80\n"));
    let mut spawn = room.spawn("read x; echo \"got=$x $?\"; [ -t 1 ] && echo out; exec 3</dev/tty || echo none");
    spawn.headless = true;
    let end = finished(&room.exec.start(spawn).await.unwrap()).await;
    assert!(text(&end).starts_with("got= 1\n"), "{}", text(&end));
    assert!(text(&end).ends_with("none\n") && !text(&end).contains("out"), "{}", text(&end));
}

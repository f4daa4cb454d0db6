//! Real shells and terminals: what every promise of this room looks like from outside.

mod life;
mod start;
mod waits;

use super::*;
use crate::text::{Cell, Modes, MouseFormat, MouseReports, Paint, Role};
use std::future::Future;
use tokio::sync::mpsc;

const DEADLINE: Duration = Duration::from_secs(20);

struct Room {
    exec: Exec,
    events: mpsc::Receiver<ProcessEvent>,
    folder: tempfile::TempDir,
}

fn room() -> Room {
    room_with(|_| {})
}

fn room_with(change: impl FnOnce(&mut ExecOptions)) -> Room {
    let folder = tempfile::tempdir().unwrap();
    let mut options = ExecOptions {
        spill: folder.path().join("spill"),
        login_env: false,
        term_grace: Duration::from_millis(300),
        ..ExecOptions::default()
    };
    change(&mut options);
    let (exec, events) = Exec::new(options);
    Room { exec, events, folder }
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, future).await.expect("it takes too long")
}

impl Room {
    fn spawn(&self, command: &str) -> Spawn {
        Spawn {
            sandbox: None,
            command: command.into(),
            cwd: self.folder.path().canonicalize().unwrap(),
            pty: false,
            background: false,
            task: "t".into(),
            size: (80, 24),
            headless: false,
        }
    }

    async fn start(&self, command: &str) -> Running {
        self.exec.start(self.spawn(command)).await.unwrap()
    }

    async fn run(&self, command: &str) -> Finished {
        finished(&self.start(command).await).await
    }

    /// Waits for an event that fits.
    async fn event(&mut self, what: &str, mut fits: impl FnMut(&ProcessEvent) -> bool) -> ProcessEvent {
        let found = async {
            loop {
                let event = self.events.recv().await.expect("events go on");
                if fits(&event) {
                    return event;
                }
            }
        };
        match tokio::time::timeout(DEADLINE, found).await {
            Ok(event) => event,
            Err(_) => panic!("no event: {what}"),
        }
    }

    /// Waits for a screen that holds `text`.
    async fn screen(&mut self, text: &str) -> std::sync::Arc<Snapshot> {
        let event = self
            .event(text, |event| match event {
                ProcessEvent::Screen(_, snapshot) => shown(snapshot).contains(text),
                _ => false,
            })
            .await;
        match event {
            ProcessEvent::Screen(_, snapshot) => snapshot,
            _ => unreachable!(),
        }
    }
}

async fn finished(running: &Running) -> Finished {
    match soon(running.wait()).await {
        Waited::Finished(finished) => finished,
        Waited::Moved(output) => panic!("moved: {output:?}"),
    }
}

fn text(finished: &Finished) -> String {
    String::from_utf8_lossy(&finished.output.head).into_owned()
}

fn text_of(running: &Running) -> String {
    String::from_utf8_lossy(&running.captured().head).into_owned()
}

fn shown(snapshot: &Snapshot) -> String {
    let rows = snapshot.rows.iter().map(|l| l.spans.iter().map(|s| s.text.as_str()).collect::<String>());
    rows.collect::<Vec<_>>().join("\n")
}

fn alive(pid: &str) -> bool {
    // A zombie that nobody waits for is dead as well.
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|s| !s.contains(") Z "))
}

async fn until(what: &str, mut done: impl FnMut() -> bool) {
    let waiting = async {
        while !done() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(DEADLINE, waiting).await.is_ok(), "never: {what}");
}

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

#[tokio::test]
async fn bytes_arrive_as_they_were_written() {
    let room = room();
    let end = room.run("printf 'a\\r\\nb\\n\\tc\\n'; printf 'd\\n' >&2").await;
    assert_eq!(end.output.head, b"a\r\nb\n\tc\nd\n");
    // However wide they are, nothing breaks them; nor does a program that asks for the width cut them.
    let end = room.run("head -c 3000 /dev/zero | tr '\\0' x; echo; stty size").await;
    let lines: Vec<usize> = end.output.head.split(|b| *b == b'\n').map(<[u8]>::len).collect();
    assert_eq!(lines, [3000, 7, 0]);
}

#[tokio::test]
async fn the_echo_of_keys_is_in_the_pane_and_not_in_the_output() {
    let mut room = room();
    let running = room.start("read -p 'Name? ' x; printf 'hello %s\\n' \"$x\"; read y; cat").await;
    room.exec.command(ProcessCommand::Watch(Some(running.id.clone()), (40, 8)));
    room.screen("Name?").await;
    // Key by key, with a slip; then a paste, and the end of input.
    for key in ["W", "o", "x", "\x7f", "rld", "\r"] {
        room.exec.command(ProcessCommand::Write(running.id.clone(), key.into()));
    }
    room.screen("hello World").await;
    room.exec.command(ProcessCommand::Write(running.id.clone(), b"skipped\rone\rtwo\r".to_vec()));
    let shows = room.screen("two\n").await;
    assert!(shown(&shows).starts_with("Name? World\nhello World\nskipped\n"), "{}", shown(&shows));
    until("cat printed both", || text_of(&running).ends_with("two\n")).await;
    room.exec.command(ProcessCommand::Write(running.id.clone(), b"\x04".to_vec()));
    assert_eq!(text(&finished(&running).await), "Name? hello World\none\ntwo\n");
}

#[tokio::test]
async fn every_editing_key_is_echoed_as_it_is_expected() {
    let room = room();
    for keys in [
        "plain words\r",
        "slip\x7f\x7fx\rtwo\r",
        "two words\x17\x17gone\r",
        "all\x15of it\r",
        "a\ttab\x16\x03literal\x7f\r",
        "日本語\x7f\x7fé\x17\r",
        "again\x12more\r",
        "\x7f\x15\x17none\r",
        "bell\x07 escape\x1b[A\x7f\x7f\x7f\r",
    ] {
        let running = room.start("cat >/dev/null; echo end").await;
        room.exec.write(&running.id, format!("{keys}\x04\x04").as_bytes()).unwrap();
        assert_eq!(text(&finished(&running).await), "end\n", "{keys:?}");
    }
}

#[tokio::test]
async fn a_terminal_is_fitted_once_before_the_first_key() {
    let mut room = room();
    let command = "trap 'printf w' WINCH; stty size; echo ready; read x; stty size; read x; stty size; read x; echo";
    let running = room.start(command).await;
    room.exec.command(ProcessCommand::Watch(Some(running.id.clone()), (50, 10)));
    // The shell has its terminal back from `stty`: the signal goes to whoever has it.
    room.screen("ready").await;
    for wanted in 2..=3 {
        room.exec.command(ProcessCommand::Write(running.id.clone(), b"k\r".to_vec()));
        until("it answers", || text_of(&running).matches("10 50").count() == wanted - 1).await;
    }
    room.exec.command(ProcessCommand::Write(running.id.clone(), b"\r".to_vec()));
    let end = finished(&running).await;
    // The shell runs its trap when `read` is done: once, and before what was typed is answered.
    assert_eq!(text(&end).matches('w').count(), 1, "{}", text(&end));
}

#[tokio::test]
async fn what_the_model_types_leaves_the_width_alone() {
    let room = room();
    let mut spawn = room.spawn("read x; stty size");
    spawn.background = true;
    let running = room.exec.start(spawn).await.unwrap();
    room.exec.write(&running.id, b"k\r").unwrap();
    assert_eq!(text(&finished(&running).await), "24 1000\n");
}

#[tokio::test]
async fn a_program_that_takes_the_whole_screen_gets_the_panes_size() {
    let mut room = room();
    let script = "trap 'printf \"\\033[H\\033[J\"; stty size; printf drawn' WINCH\nprintf '\\033[?1049h\\033[Hfirst'\n\
                  until [ -e go ]; do sleep 0.01; done\nprintf '\\033[?1049l'\n";
    std::fs::write(room.folder.path().join("full"), script).unwrap();
    let command = "echo before; bash ./full; echo after";
    let running = room.start(command).await;
    room.exec.command(ProcessCommand::Watch(Some(running.id.clone()), (50, 10)));
    let screen = room.screen("drawn").await;
    assert!(screen.alternate && shown(&screen).starts_with("10 50\ndrawn"), "{}", shown(&screen));
    std::fs::write(room.folder.path().join("go"), "").unwrap();
    let end = finished(&running).await;
    assert_eq!(crate::text::clean::clean(&end.output.head), "before\nafter\n");
    let screen = room.screen("after").await;
    assert!(!screen.alternate && shown(&screen).starts_with("before\nafter"), "{}", shown(&screen));
}

#[tokio::test]
async fn a_program_that_leaves_its_terminal_in_a_strange_mode_ends_clear() {
    let mut room = room();
    let command =
        "echo before; stty raw -echo; printf '\\033[?1049h\\033[?1000h\\033[?1h\\033[?2004h\\033[?25hmenu'; kill -9 $$";
    let running = room.start(command).await;
    let end = finished(&running).await;
    room.exec.command(ProcessCommand::Watch(Some(running.id.clone()), (40, 5)));
    let screen = room.screen("before").await;
    assert!(!screen.alternate && !shown(&screen).contains("menu"), "{}", shown(&screen));
    assert_eq!((screen.modes, screen.cursor.is_some()), (Modes::default(), true));
    assert_eq!(crate::text::clean::clean(&end.output.head), "before\n");
    // The next command has a terminal of its own.
    assert_eq!(text(&room.run("stty -a | grep -c ' -echo '; echo x").await), "0\nx\n");
}

#[tokio::test]
async fn wide_rows_are_folded_and_bars_stay_one_row() {
    let mut room = room();
    let bar = "for n in 200 500 900; do printf '\\r['; printf '%*s' $n '' | tr ' ' '#'; printf '%*s] %d%%' $((980-n)) '' $((n/10)); done; echo";
    let running = room.start(&format!("printf '%0100d\\n' 5; {bar}; echo end")).await;
    room.exec.command(ProcessCommand::Watch(Some(running.id.clone()), (40, 8)));
    let screen = room.screen("end").await;
    let rows: Vec<String> = shown(&screen).lines().map(str::to_owned).collect();
    assert_eq!((rows[2].len(), rows[4].as_str()), (20, "end"), "{rows:?}");
    assert!(rows[3].starts_with("[####") && rows[3].ends_with("] 90%") && rows[3].len() <= 40, "{rows:?}");
    let text = crate::text::clean::clean(&finished(&running).await.output.head);
    assert_eq!(text.lines().count(), 3, "{text}");
}

#[tokio::test]
async fn invalid_utf8_and_nul_arrive_as_they_are() {
    let end = room().run("printf 'a\\377\\000b\\n'").await;
    assert_eq!(end.output.head, b"a\xff\x00b\n");
}

#[tokio::test]
async fn a_flood_is_bounded_and_complete_at_both_ends() {
    let room = room();
    let end = room.run("seq 1 2700000; printf 'the end'").await;
    let captured = &end.output;
    assert_eq!(captured.total, 20_488_896 + 7);
    assert_eq!((captured.head.len(), captured.tail.len()), (log::HEAD, log::TAIL));
    assert!(captured.head.starts_with(b"1\n2\n3\n"));
    assert!(captured.tail.ends_with(b"2700000\nthe end"));
    let spill = captured.spill.clone().unwrap();
    assert_eq!(captured.spilled, captured.total);
    assert_eq!(std::fs::metadata(spill).unwrap().len(), captured.total);
}

#[tokio::test]
async fn one_endless_line_is_no_problem() {
    let end = room().run("head -c 5000000 /dev/zero | tr '\\0' x; echo done").await;
    assert_eq!(end.output.total, 5_000_005);
    assert!(end.output.tail.ends_with(b"xdone\n"));
}

#[tokio::test]
async fn a_flood_through_a_terminal_is_bounded_too() {
    let room = room();
    let mut spawn = room.spawn("seq 1 400000");
    spawn.pty = true;
    let end = finished(&room.exec.start(spawn).await.unwrap()).await;
    assert_eq!(end.output.total, 2_688_895);
    assert!(end.output.tail.ends_with(b"399999\n400000\n"));
}

#[tokio::test]
async fn stop_reaches_the_whole_session() {
    let room = room();
    let running =
        room.start("trap '' INT TERM; (trap '' INT TERM; sleep 600 & echo $! $$ ; wait; sleep 600) ; sleep 600").await;
    let exec = room.exec.clone();
    let mut line = String::new();
    until("its process ids", || {
        line = String::from_utf8_lossy(&running.captured().head).into_owned();
        line.contains('\n')
    })
    .await;
    let pids: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    assert!(pids.iter().all(|pid| alive(pid)), "{pids:?}");
    running.stop(ExitReason::Stopped);
    let end = finished(&running).await;
    assert_eq!((end.exit.code, end.exit.reason), (130, ExitReason::Stopped));
    until("all are dead", || !pids.iter().any(|pid| alive(pid))).await;
    until("nothing runs", || exec.running().is_empty()).await;
}

#[tokio::test]
async fn an_ordinary_command_stops_at_once_with_its_output() {
    let room = room();
    let running = room.start("echo before; sleep 600; echo after").await;
    until("it printed", || running.captured().total > 0).await;
    running.stop(ExitReason::TimedOut);
    let end = finished(&running).await;
    assert_eq!((end.exit.code, end.exit.reason), (124, ExitReason::TimedOut));
    assert_eq!(text(&end), "before\n");
}

#[tokio::test]
async fn a_grandchild_that_holds_the_terminal_does_not_hold_the_call() {
    let mut room = room();
    let running = room.start("(sleep 600 & echo $!); echo done").await;
    let end = finished(&running).await;
    assert!(text(&end).ends_with("done\n"));
    assert!(end.survivors);
    let pid = text(&end).lines().next().unwrap().to_owned();
    assert!(alive(&pid));
    let listed = room.exec.list();
    assert_eq!((listed.len(), listed[0].survivors, &listed[0].info.state), (1, true, &ProcessState::Running));
    room.exec.kill(&running.id).unwrap();
    let id = running.id.clone();
    room.event("it is over", |e| matches!(e, ProcessEvent::Exited(info) if info.id == id)).await;
    until("it is dead", || !alive(&pid)).await;
}

#[tokio::test]
async fn a_person_types_into_a_command() {
    let mut room = room();
    let running = room.start("read -p 'Name? ' x; echo \"hello $x\"").await;
    let id = running.id.clone();
    room.event(
        "it waits for keys",
        |e| matches!(e, ProcessEvent::Changed(info) if info.id == id && info.state == ProcessState::NeedsInput),
    )
    .await;
    room.exec.command(ProcessCommand::Write(running.id.clone(), b"World\r".to_vec()));
    let end = finished(&running).await;
    assert!(text(&end).ends_with("hello World\n"), "{}", text(&end));
}

#[tokio::test]
async fn a_password_is_seen_by_nobody() {
    let mut room = room();
    let command = "stty -echo </dev/tty; printf 'Password: ' >/dev/tty; read -r p </dev/tty; stty echo </dev/tty; \
                   echo \"length ${#p}\"";
    let running = room.start(command).await;
    room.exec.command(ProcessCommand::Watch(Some(running.id.clone()), (40, 5)));
    room.screen("Password:").await;
    room.exec.command(ProcessCommand::Write(running.id.clone(), b"secret\r".to_vec()));
    let end = finished(&running).await;
    assert_eq!(text(&end), "Password: length 6\n");
    let snapshot = room.screen("length 6").await;
    assert!(!shown(&snapshot).contains("secret"), "{}", shown(&snapshot));
}

#[tokio::test]
async fn screens_have_colours_and_follow_sizes() {
    let mut room = room();
    let mut spawn = room.spawn("printf '\\033[31mred\\033[0m\\n'; stty size; read x; stty size; read x");
    spawn.pty = true;
    let running = room.exec.start(spawn).await.unwrap();
    room.exec.command(ProcessCommand::Watch(Some(running.id.clone()), (80, 24)));
    let snapshot = room.screen("24 80").await;
    let red = Role::Screen(Cell { fg: Paint::Index(1), ..Cell::default() });
    assert_eq!((snapshot.rows[0].spans[0].text.as_str(), snapshot.rows[0].spans[0].role), ("red", red));
    room.exec.command(ProcessCommand::Watch(Some(running.id.clone()), (50, 10)));
    room.exec.command(ProcessCommand::Write(running.id.clone(), b"\r".to_vec()));
    let snapshot = room.screen("10 50").await;
    assert_eq!((snapshot.columns, snapshot.rows.len()), (50, 10));
    room.exec.command(ProcessCommand::Kill(running.id.clone()));
    assert_eq!(finished(&running).await.exit.reason, ExitReason::Killed);
}

#[tokio::test]
async fn scrolling_back_reads_memory_and_the_spill_file() {
    let mut room = room();
    let running = room.start("seq 1 500000").await;
    finished(&running).await;
    room.exec.command(ProcessCommand::Watch(Some(running.id.clone()), (20, 5)));
    assert_eq!(shown(&*room.screen("500000").await), "499997\n499998\n499999\n500000\n");
    room.exec.command(ProcessCommand::Scroll(running.id.clone(), Scroll::By(10)));
    assert_eq!(shown(&*room.screen("499990").await), "499987\n499988\n499989\n499990\n499991");
    room.exec.command(ProcessCommand::Scroll(running.id.clone(), Scroll::By(299_990)));
    assert_eq!(shown(&*room.screen("200001").await), "199997\n199998\n199999\n200000\n200001");
    room.exec.command(ProcessCommand::Scroll(running.id.clone(), Scroll::By(10_000_000)));
    assert_eq!(shown(&*room.screen("1\n2\n").await), "1\n2\n3\n4\n5");
    room.exec.command(ProcessCommand::Scroll(running.id.clone(), Scroll::Follow));
    assert_eq!(room.screen("500000").await.below, 0);
}

#[tokio::test]
async fn a_view_that_is_held_stays_with_its_lines_while_more_is_printed() {
    let mut room = room();
    let running = room.start("seq 1 20; read x; seq 21 40; read x").await;
    room.exec.command(ProcessCommand::Watch(Some(running.id.clone()), (20, 5)));
    room.screen("20").await;
    room.exec.command(ProcessCommand::Scroll(running.id.clone(), Scroll::By(8)));
    let before = room.screen("12").await;
    assert_eq!((shown(&before).as_str(), before.below), ("9\n10\n11\n12\n13", 8));
    room.exec.command(ProcessCommand::Write(running.id.clone(), b"\r".to_vec()));
    let after = loop {
        let shown = room.screen("12").await;
        if shown.below != 8 {
            break shown;
        }
    };
    assert_eq!(shown(&after), shown(&before), "the reader was not moved");
    assert_eq!(after.places(), before.places());
    room.exec.command(ProcessCommand::Kill(running.id.clone()));
    finished(&running).await;
}

#[tokio::test]
async fn what_a_program_asks_of_its_terminal_reaches_the_pane() {
    let mut room = room();
    let mut spawn = room.spawn("printf '\\033[?1h\\033[?2004h\\033[?1000h\\033[?1006hasked'; read x");
    spawn.pty = true;
    let running = room.exec.start(spawn).await.unwrap();
    room.exec.command(ProcessCommand::Watch(Some(running.id.clone()), (20, 5)));
    let modes = room.screen("asked").await.modes;
    assert!(modes.application_cursor && modes.bracketed_paste);
    assert_eq!((modes.mouse, modes.mouse_format), (MouseReports::Buttons, MouseFormat::Sgr));
    room.exec.command(ProcessCommand::Kill(running.id.clone()));
    finished(&running).await;
}

#[tokio::test]
async fn questions_to_the_terminal_are_answered() {
    let room = room();
    let ask = "stty raw -echo; printf 'abc\\033[6n'; IFS= read -r -d R -t 10 a; printf '\\033]11;?\\033\\\\'; \
               IFS= read -r -d '\\' -t 10 b; stty sane; printf '%q %q' \"$a\" \"$b\"";
    let mut spawn = room.spawn(ask);
    spawn.pty = true;
    let end = finished(&room.exec.start(spawn).await.unwrap()).await;
    let said = text(&end);
    assert!(said.contains("$'\\E[1;4'"), "{said:?}");
    assert!(said.contains("11\\;rgb:") || said.contains("11;rgb:"), "{said:?}");
}

#[tokio::test]
async fn a_text_full_of_questions_costs_no_more_than_others() {
    let room = room();
    let file = room.folder.path().join("questions");
    std::fs::write(&file, "\x1b[6n".repeat(200_000)).unwrap();
    let running = room.start(&format!("stty raw -echo; cat {0}; cat {0}; stty sane; echo over", file.display())).await;
    // Each question would parse as much output as the screen can come from: hours for all of them.
    let end = finished(&running).await;
    assert!(text(&end).trim_end().ends_with("over"));
}

/// Programs that look for what a terminal can do send all that they ask in one write, and wait for the answer to the last.
#[tokio::test]
async fn the_last_of_many_questions_is_answered() {
    let room = room();
    for times in [30, 200] {
        let questions = r"\033[?2026\$p".repeat(times) + &r"\033]11;?\033\\".repeat(times) + r"\033[c";
        let line = format!(
            "stty raw -echo; printf '{questions}'; until [ \"$c\" = c ]; do read -rN1 c; done; stty sane; echo over"
        );
        let end = finished(&room.start(&line).await).await;
        assert!(text(&end).trim_end().ends_with("over"), "{times}");
    }
}

#[tokio::test]
async fn a_background_process_tells_its_end_once() {
    let room = room();
    let mut notices = room.exec.completions().unwrap();
    assert!(room.exec.completions().is_none());
    let mut spawn = room.spawn("echo working; exit 4");
    spawn.background = true;
    let launch = Launch { notify_on_complete: true, ..Launch::from(spawn) };
    let running = room.exec.launch(launch).await.unwrap();
    let Some(Notice::Completed { id, exit, tail, command, .. }) = soon(notices.recv()).await else { panic!() };
    assert_eq!((id, exit.code, tail.as_str()), (running.id.clone(), 4, "working"));
    assert_eq!(command, "echo working; exit 4");
    assert!(!room.exec.is_consumed(&running.id));
    assert_eq!(room.exec.poll(&running.id).unwrap().output, "working");
    assert!(room.exec.is_consumed(&running.id));
    assert!(notices.try_recv().is_err());
}

#[tokio::test]
async fn watched_patterns_and_ports_are_found() {
    let mut room = room();
    let mut notices = room.exec.completions().unwrap();
    let mut spawn = room.spawn("echo starting; echo 'listening on :5173'; read x; echo 'ERROR: it broke'; read x");
    spawn.background = true;
    let launch = Launch { watch_patterns: vec!["ERROR".into()], ..Launch::from(spawn) };
    let running = room.exec.launch(launch).await.unwrap();
    let id = running.id.clone();
    room.event("the port", |e| matches!(e, ProcessEvent::Changed(info) if info.id == id && info.port == Some(5173)))
        .await;
    room.exec.write(&running.id, b"\r").unwrap();
    let Some(Notice::Matched { pattern, lines, .. }) = soon(notices.recv()).await else { panic!() };
    assert_eq!((pattern.as_str(), lines.as_str()), ("ERROR", "ERROR: it broke"));
    room.exec.kill(&running.id).unwrap();
    soon(room.exec.wait(&running.id)).await.unwrap();
}

#[tokio::test]
async fn a_foreground_command_is_sent_to_the_background() {
    let room = room();
    let mut notices = room.exec.completions().unwrap();
    let running = room.start("echo one; read x; echo two").await;
    until("it printed", || running.captured().total > 0).await;
    room.exec.command(ProcessCommand::Background(running.id.clone()));
    let Waited::Moved(output) = soon(running.wait()).await else { panic!("it should be moved") };
    assert_eq!(output.head, b"one\n");
    assert_eq!(room.exec.list().len(), 1);
    room.exec.write(&running.id, b"\r").unwrap();
    let Some(Notice::Completed { exit, tail, .. }) = soon(notices.recv()).await else { panic!() };
    assert_eq!((exit.code, tail.as_str()), (0, "one\ntwo"));
}

#[tokio::test]
async fn the_table_answers_in_pieces() {
    let room = room();
    let mut spawn = room.spawn("seq 1 300; read x; echo more; cat; echo ended");
    spawn.background = true;
    let running = room.exec.start(spawn).await.unwrap();
    let id = &running.id;
    until("it printed", || running.captured().head.ends_with(b"300\n")).await;
    let poll = room.exec.poll(id).unwrap();
    assert!(poll.output.ends_with("299\n300") && poll.output.len() <= 1000, "{}", poll.output);
    assert_eq!(room.exec.poll(id).unwrap().output, "");
    let page = room.exec.log(id, Some(10), 3).unwrap();
    assert_eq!((page.report.output.as_str(), page.total_lines, page.first_line), ("11\n12\n13", 300, 10));
    let page = room.exec.log(id, None, 2).unwrap();
    assert_eq!(page.report.output, "299\n300");
    room.exec.write(id, b"\r").unwrap();
    until("it read", || running.captured().head.ends_with(b"more\n")).await;
    assert_eq!(room.exec.poll(id).unwrap().output, "more");
    room.exec.close_input(id).unwrap();
    soon(room.exec.wait(id)).await.unwrap();
    assert_eq!(room.exec.last_output(id, 5).unwrap().output, "ended");
    assert!(matches!(room.exec.write(id, b"x"), Err(ExecError::Ended(_) | ExecError::NoTerminal(_))));
    assert!(matches!(room.exec.poll(&ProcessId("proc_x".into())), Err(ExecError::NotFound(_))));
    room.exec.command(ProcessCommand::Forget(id.clone()));
    assert!(room.exec.list().is_empty());
}

#[tokio::test]
async fn more_than_the_table_holds_is_refused_while_all_run() {
    let room = room_with(|options| options.max_processes = 8);
    let mut all = Vec::new();
    for _ in 0..8 {
        let mut spawn = room.spawn("read x");
        spawn.background = true;
        all.push(room.exec.start(spawn).await.unwrap());
    }
    let refused = room.exec.start(room.spawn("true")).await.err().unwrap();
    assert_eq!(refused.to_string(), "8 processes are running already: end one first");
    room.exec.write(&all[0].id, b"\r").unwrap();
    finished(&all[0]).await;
    until("its row is closed", || room.exec.running().len() < 8).await;
    assert_eq!(room.run("true").await.exit.code, 0);
    room.exec.shutdown(true).await;
    assert!(room.exec.running().is_empty());
}

#[tokio::test]
async fn secrets_do_not_reach_children() {
    // The environment of the test itself must not be changed, so the rule is asked through a passthrough of its own.
    let env: Vec<_> = std::env::vars_os().filter(|(name, _)| env::is_secret(name, &[], &[])).collect();
    let end = room().run("export -p").await;
    for (name, _) in env {
        assert!(!text(&end).contains(&format!("declare -x {}=", name.to_string_lossy())), "{name:?}");
    }
}

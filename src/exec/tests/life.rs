//! Processes as objects: keys, screens, signals, ends that count down, new starts, what they use and where their log goes.

use super::*;

fn keys(words: &[&str]) -> Keys {
    let mut keys = Keys::default();
    words.iter().for_each(|word| keys.word(word));
    keys
}

#[tokio::test]
async fn keys_go_in_by_name_and_the_screen_comes_out() {
    let room = room();
    let running = room.background("printf 'ready\\n'; cat -v", true).await;
    until("it is ready", || running.captured().head.starts_with(b"ready")).await;
    room.exec.press(&running.id, &keys(&["hello", "Enter", "Up", "Enter"])).unwrap();
    until("it was typed", || {
        let sight = room.exec.sight(&running.id).unwrap();
        sight.rows.iter().filter(|row| *row == "hello").count() == 2 && sight.rows.iter().any(|row| row == "^[[A")
    })
    .await;
    soon(room.exec.settle(&running.id)).await.unwrap();
    let sight = room.exec.sight(&running.id).unwrap();
    assert_eq!(sight.cursor, Some((0, sight.rows.len() as u16)), "{sight:?}");
    room.exec.resize(&running.id, (40, 5)).unwrap();
    assert_eq!(room.exec.sight(&running.id).unwrap().size, (40, 5));
    room.exec.press(&running.id, &keys(&["C-d"])).unwrap();
    soon(room.exec.wait(&running.id)).await.unwrap();
    assert!(matches!(room.exec.press(&running.id, &keys(&["x"])), Err(ExecError::Ended(_))));
}

#[tokio::test]
async fn signals_have_names() {
    let room = room();
    let running = room.background("trap 'echo got it' USR1; echo ready; while :; do sleep 0.02; done", false).await;
    until("it is ready", || running.captured().head.starts_with(b"ready")).await;
    assert_eq!(room.exec.signal(&running.id, "sigusr1").unwrap(), "USR1");
    // The shell may also tell that the signal ended what it was waiting for.
    until("it got it", || String::from_utf8_lossy(&running.captured().head).contains("got it\n")).await;
    assert!(room.exec.signal(&running.id, "NOPE").unwrap_err().to_string().contains("use INT"));
    room.exec.signal(&running.id, "KILL").unwrap();
    soon(room.exec.wait(&running.id)).await.unwrap();
    until("it is over", || matches!(room.exec.signal(&running.id, "TERM"), Err(ExecError::Ended(_)))).await;
}

#[tokio::test]
async fn what_ignores_signals_is_counted_down_and_killed() {
    let mut room = room();
    let running = room.background("trap '' INT TERM; echo ready; while :; do sleep 0.02; done", true).await;
    until("it is ready", || running.captured().head.starts_with(b"ready")).await;
    room.exec.kill(&running.id).unwrap();
    for signal in ["TERM", "KILL"] {
        room.event(signal, |event| match event {
            ProcessEvent::Changed(info) => info.vitals.ending.is_some_and(|ending| ending.signal == signal),
            _ => false,
        })
        .await;
    }
    let exited = room.event("its end", |event| matches!(event, ProcessEvent::Exited(_))).await;
    let ProcessEvent::Exited(info) = exited else { unreachable!() };
    assert_eq!(info.vitals.ending, None);
    let ProcessState::Exited(exit) = info.state else { panic!("{info:?}") };
    assert_eq!((exit.code, exit.reason), (137, ExitReason::Killed));
}

#[tokio::test]
async fn a_restart_keeps_the_id_and_the_history() {
    let mut room = room();
    let running = room.background("echo run; read x; exit 3", true).await;
    let id = running.id.clone();
    until("it runs", || running.captured().head.starts_with(b"run")).await;
    room.exec.command(ProcessCommand::Watch(Some(id.clone()), (40, 5)));
    room.screen("run").await;
    room.exec.write(&id, b"\r").unwrap();
    soon(room.exec.wait(&id)).await.unwrap();
    let second = room.exec.restart(&id, None).await.unwrap();
    assert_eq!(second.id, id);
    until("it runs again", || second.captured().head.starts_with(b"run")).await;
    // Running as it is: it is ended first.
    let third = room.exec.restart(&id, None).await.unwrap();
    until("it runs a third time", || third.captured().head.starts_with(b"run")).await;
    assert!(!alive(&second.pid.to_string()));
    let report = room.exec.poll(&id).unwrap();
    assert_eq!(
        report.exits.iter().map(|exit| exit.reason).collect::<Vec<_>>(),
        [ExitReason::Exited, ExitReason::Killed]
    );
    assert_eq!((report.exits[0].code, report.info.vitals.restarts, report.output.as_str()), (3, 2, "run"));
    assert_eq!(room.exec.list().len(), 1);
    // The pane shows the new run without being asked again.
    room.exec.write(&id, b"typed").unwrap();
    room.screen("typed").await;
    room.exec.shutdown(true).await;
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn use_is_looked_at_when_asked() {
    let room = room();
    let running = room.background("echo ready; while :; do :; done", false).await;
    until("it works", || running.captured().total > 0).await;
    assert_eq!(room.info(&running).vitals.usage, None, "nobody asked");
    until("it uses the processor", || {
        let usage = room.exec.list()[0].info.vitals.usage.unwrap();
        assert!(usage.memory > 0 && usage.processes > 0);
        usage.processor > 0
    })
    .await;
    // The time of what was printed is noted after it.
    until("it is told how long it is silent", || room.exec.list()[0].silent.is_some()).await;
    room.exec.shutdown(true).await;
}

#[tokio::test]
async fn a_disk_that_takes_no_more_is_said_and_memory_goes_on() {
    let mut room = room();
    std::fs::write(room.folder.path().join("spill"), "a file where the folder should be").unwrap();
    let running = room.background("echo first; read x; echo second", true).await;
    let failed =
        |event: &ProcessEvent| matches!(event, ProcessEvent::Changed(info) if info.vitals.log == LogState::Failed);
    room.event("the disk refused", failed).await;
    room.exec.write(&running.id, b"\r").unwrap();
    soon(room.exec.wait(&running.id)).await.unwrap();
    assert!(room.exec.log(&running.id, None, 10).unwrap().report.output.ends_with("second"));
}

#[tokio::test]
async fn a_log_ends_at_its_bound() {
    let mut room = room_with(|options| options.spill_limit = 1000);
    let running = room.background("seq 1 2000; echo the end", false).await;
    let full = |event: &ProcessEvent| match event {
        ProcessEvent::Changed(info) | ProcessEvent::Exited(info) => info.vitals.log == LogState::Full,
        _ => false,
    };
    room.event("it is full", full).await;
    soon(room.exec.wait(&running.id)).await.unwrap();
    let page = room.exec.log(&running.id, None, 1).unwrap();
    assert_eq!(page.report.output, "the end");
    assert_eq!(std::fs::metadata(page.spill.unwrap()).unwrap().len(), 1000);
}

#[tokio::test]
async fn two_panes_show_two_programs_and_find_their_words() {
    let mut room = room();
    let one = room.background("seq 1 500; read x", true).await;
    let two = room.background("echo another; read x", true).await;
    until("both printed", || String::from_utf8_lossy(&one.captured().head).contains("500") && two.captured().total > 0)
        .await;
    room.exec.command(ProcessCommand::Watch(Some(one.id.clone()), (30, 5)));
    room.exec.command(ProcessCommand::WatchSecond(Some(two.id.clone()), (20, 4)));
    let (mut first, mut second) = (false, false);
    let (a, b) = (one.id.clone(), two.id.clone());
    room.event("both screens", |event| {
        if let ProcessEvent::Screen(id, screen) = event {
            first |= *id == a && shown(screen).contains("500");
            second |= *id == b && shown(screen).contains("another");
        }
        first && second
    })
    .await;
    for (way, words, line) in [(Way::Up, "77", "477"), (Way::Up, "77", "377"), (Way::Down, "77", "477")] {
        room.exec.command(ProcessCommand::Find(one.id.clone(), words.into(), way));
        room.event("it is found", |event| matches!(event, ProcessEvent::Found(_, Some(hit)) if hit.of == 5)).await;
        room.screen(line).await;
    }
    room.exec.command(ProcessCommand::Find(one.id.clone(), "nowhere".into(), Way::Up));
    room.event("it is not found", |event| matches!(event, ProcessEvent::Found(_, None))).await;
    room.exec.shutdown(true).await;
}

#[tokio::test]
async fn what_ignores_every_gentle_signal_and_holds_the_terminal_is_ended() {
    let room = room();
    // The leader is gone at once; what holds its terminal listens to nothing.
    let stubborn = "trap '' INT TERM HUP; echo $BASHPID; while :; do sleep 0.02; done";
    let running = room.background(&format!("({stubborn}) & exit 4"), true).await;
    until("it is up", || running.captured().head.ends_with(b"\n")).await;
    let pid = text_of(&running).trim().to_owned();
    soon(room.exec.wait(&running.id)).await.unwrap();
    assert!(room.exec.poll(&running.id).unwrap().survivors && alive(&pid));
    room.exec.kill(&running.id).unwrap();
    until("it is ended", || !alive(&pid) && room.exec.running().is_empty()).await;
    let report = room.exec.poll(&running.id).unwrap();
    assert_eq!((report.exit.map(|exit| exit.code), report.survivors), (Some(4), false));
}

#[tokio::test]
async fn a_secret_in_a_command_is_not_kept_on_disk() {
    let register = tempfile::tempdir().unwrap();
    let path = register.path().join("processes.json");
    let room = room_with(|options| options.register = Some(path.clone()));
    let known = crate::policy::redact::Secrets::default();
    known.learn(["open-sesame-42".to_owned()]);
    room.exec.masks_in(known);
    let running = room.background("API_TOKEN=hunter2hunter2 sh -c 'echo open-sesame-42; read x'", true).await;
    until("it is noted", || std::fs::read_to_string(&path).is_ok_and(|text| text.contains(&running.id.0))).await;
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("API_TOKEN=") && text.contains("read x"), "{text}");
    assert!(!text.contains("hunter2") && !text.contains("open-sesame") && text.contains("\"masked\": true"), "{text}");
    // Here it is known as it was.
    assert!(room.exec.list()[0].info.command.contains("hunter2hunter2"));
    room.exec.shutdown(true).await;
}

/// Runs `true` as often as this says, once by default: what the test after it counts.
const RUNS: &str = "HERMES_TEST_RUNS";

#[tokio::test]
async fn a_short_command_leaves_nothing_to_read() {
    let room = room();
    let runs = std::env::var(RUNS).ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    for _ in 0..runs {
        let end = room.run("true").await;
        assert_eq!((end.exit.code, text(&end).as_str(), end.output.spill), (0, "", None));
    }
}

/// One process, one thread, and nothing that waits for a disk: the system calls are counted, for time depends on the load.
#[test]
#[cfg(target_os = "linux")]
fn a_short_command_costs_one_process_and_one_thread() {
    const MORE: usize = 10;
    let folder = tempfile::tempdir().unwrap();
    let counted = |runs: usize| {
        let out = folder.path().join(format!("calls-{runs}"));
        let mut traced = std::process::Command::new("strace");
        traced
            .args(["-f", "-qq", "-e", "trace=clone,clone3,fork,vfork,fsync,fdatasync,sync_file_range", "-o"])
            .arg(&out);
        traced
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "exec::tests::life::a_short_command_leaves_nothing_to_read"]);
        traced.env(RUNS, runs.to_string()).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        if !traced.status().is_ok_and(|status| status.success()) {
            return None;
        }
        let calls = std::fs::read_to_string(out).unwrap();
        let count = |fits: &dyn Fn(&str) -> bool| calls.lines().filter(|line| fits(line)).count();
        let starts = |line: &str| ["clone(", "clone3(", "fork("].iter().any(|call| line.contains(call));
        Some((
            count(&|line| starts(line) && !line.contains("CLONE_THREAD")),
            count(&|line| starts(line) && line.contains("CLONE_THREAD")),
            count(&|line| line.contains("sync")),
        ))
    };
    let (Some(few), Some(many)) = (counted(1), counted(1 + MORE)) else {
        eprintln!(
            "a_short_command_costs_one_process_and_one_thread: skipped, strace is not installed or may not trace"
        );
        return;
    };
    let (processes, threads, syncs) = (many.0 - few.0, many.1.saturating_sub(few.1), many.2 - few.2);
    assert_eq!((processes, syncs), (MORE, 0), "{few:?} {many:?}");
    // The runtime starts threads of its own, once.
    assert!(threads <= MORE + 2, "{few:?} {many:?}");
}

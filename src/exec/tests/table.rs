//! How commands end, and what the table tells of them.

use super::*;

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
async fn a_background_process_tells_its_end_once() {
    let room = room();
    let mut notices = room.exec.notices_of("t");
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
    let mut notices = room.exec.notices_of("t");
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
    let mut notices = room.exec.notices_of("t");
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
    assert_eq!(refused.to_string(), "8 processes are already running: kill one first");
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
    let env: Vec<_> = std::env::vars_os().filter(|(name, _)| process::env::is_secret(name, &[], &[])).collect();
    let end = room().run("export -p").await;
    for (name, _) in env {
        assert!(!text(&end).contains(&format!("declare -x {}=", name.to_string_lossy())), "{name:?}");
    }
}

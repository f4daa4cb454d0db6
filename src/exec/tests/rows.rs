//! The rows that a screen makes of events are those of the table, whatever overtakes what.

use super::*;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a screen has that puts each row in the place of the one before.
fn take(rows: &mut HashMap<ProcessId, ProcessInfo>, event: ProcessEvent) {
    match event {
        ProcessEvent::Started(info) | ProcessEvent::Changed(info) | ProcessEvent::Exited(info) => {
            rows.insert(info.id.clone(), info);
        }
        ProcessEvent::Gone(id) => drop(rows.remove(&id)),
        _ => {}
    }
}

/// Starts, stops, kills, moves to the background and ends at every moment, told of by several threads at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_row_that_ended_never_runs_again() {
    let mut room = room();
    let mut random = fastrand::Rng::with_seed(22);
    let mut rows = HashMap::new();
    for round in 0..12 {
        let mut all = Vec::new();
        for _ in 0..10 {
            let command =
                ["sleep 600", "echo x; sleep 600", "sleep 0.0$((RANDOM % 10))", "trap 'exit 3' INT; sleep 600 & wait"];
            all.push(room.start(command[random.usize(..command.len())]).await);
        }
        let over = AtomicBool::new(false);
        let exec = room.exec.clone();
        std::thread::scope(|threads| {
            for seed in 0..2 {
                let (exec, all, over) = (&exec, &all, &over);
                threads.spawn(move || {
                    let mut random = fastrand::Rng::with_seed(seed);
                    while !over.load(Ordering::Relaxed) {
                        let running = &all[random.usize(..all.len())];
                        exec.command(ProcessCommand::Compare(vec![running.id.clone()]));
                    }
                });
            }
            for running in &all {
                if random.bool() {
                    // It may have ended just now.
                    exec.background(&running.id).ok();
                }
                match random.u8(..3) {
                    0 => running.stop(ExitReason::Stopped),
                    1 => exec.kill(&running.id).unwrap(),
                    _ => {
                        running.stop(ExitReason::TimedOut);
                        running.stop(ExitReason::Stopped);
                    }
                }
                if random.bool() {
                    exec.background(&running.id).ok();
                }
            }
            // A screen that is busy meanwhile, and one that is not.
            let deadline = std::time::Instant::now() + DEADLINE;
            while all.iter().any(|running| !running.process.over()) {
                assert!(std::time::Instant::now() < deadline, "it takes too long");
                while let Some(event) = room.events.try_recv().ok().filter(|_| round % 2 == 0) {
                    take(&mut rows, event);
                }
            }
            over.store(true, Ordering::Relaxed);
        });
        // What was posted last comes last.
        let last = room.start("echo the last one; exit 7").await;
        finished(&last).await;
        soon(async {
            loop {
                let event = room.events.recv().await.unwrap();
                let is_last = matches!(&event, ProcessEvent::Exited(info) if info.id == last.id);
                take(&mut rows, event);
                if is_last {
                    break;
                }
            }
        })
        .await;
        for running in &all {
            let row = &rows[&running.id];
            assert!(matches!(row.state, ProcessState::Exited(_)), "round {round}: {row:?}");
        }
    }
}

#[tokio::test]
async fn any_row_can_be_taken_off_the_list() {
    let mut room = room();
    let running = room.start("sleep 600").await;
    let id = running.id.clone();
    // What runs stays, and that is told.
    room.exec.command(ProcessCommand::Forget(id.clone()));
    let told = room.event("it is told", |event| matches!(event, ProcessEvent::Told(..))).await;
    assert!(matches!(&told, ProcessEvent::Told(of, words) if *of == id && words.contains("still running")), "{told:?}");
    running.stop(ExitReason::Stopped);
    finished(&running).await;
    room.exec.command(ProcessCommand::Compare(vec![id.clone()]));
    room.event("it is over", |event| matches!(event, ProcessEvent::Exited(info) if info.id == id)).await;
    room.exec.command(ProcessCommand::Forget(id.clone()));
    room.event("it goes", |event| *event == ProcessEvent::Gone(id.clone())).await;
    // One that the table never had goes as well.
    let phantom = ProcessId("proc_phantom".into());
    for order in [ProcessCommand::Forget(phantom.clone()), ProcessCommand::Compare(vec![phantom.clone()])] {
        room.exec.command(order);
        room.event("it goes", |event| *event == ProcessEvent::Gone(phantom.clone())).await;
    }
}

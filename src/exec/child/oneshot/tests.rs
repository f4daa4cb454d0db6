//! Real children, from their first word to their end.

use super::*;

const LONG: Duration = Duration::from_secs(20);
const BOUNDS: Limits = Limits { time: LONG, stdout: OutputLimit::First(1000), stderr: OutputLimit::Last(100) };

fn sh(line: &str, bounds: Limits) -> Oneshot {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(line).current_dir("/").env_clear().env("PATH", std::env::var("PATH").unwrap());
    Oneshot { command, input: br#"{"a":1}"#.to_vec(), bounds, rest: Remainder::Stays }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn gone(pid: i32) {
    let stop = Instant::now() + LONG;
    // Whoever adopts it takes it off the table; until then it is dead but has its number.
    let is_gone = || match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => stat.contains(") Z"),
        Err(_) => rustix::process::test_kill_process(Pid::from_raw(pid).unwrap()).is_err(),
    };
    while !is_gone() {
        assert!(Instant::now() < stop, "{pid} still runs");
        std::thread::yield_now();
    }
}

#[test]
fn input_output_and_status() {
    for (line, code, out, err) in [
        ("cat; echo oops >&2; exit 3", Some(3), r#"{"a":1}"#, "oops\n"),
        ("printf hello", Some(0), "hello", ""),
        // Its own end counts, not that its output ended before.
        ("exec >&- 2>&-; sleep 0.2; exit 4", Some(4), "", ""),
        ("kill -9 $$", None, "", ""),
        ("printenv HOME", Some(1), "", ""),
    ] {
        let done = sh(line, BOUNDS).block(&|| false).unwrap();
        assert_eq!((done.status.code(), text(&done.stdout), text(&done.stderr)), (code, out, err), "{line}");
    }
}

#[test]
fn more_input_than_a_pipe_holds_meets_a_child_that_reads_late_or_never() {
    let big = vec![b'x'; 3_000_000];
    for (line, out) in [("sleep 0.1; wc -c", "3000000"), ("echo unread", "unread")] {
        let once = Oneshot { input: big.clone(), ..sh(line, BOUNDS) };
        assert_eq!(text(&once.block(&|| false).unwrap().stdout).trim(), out, "{line}");
    }
}

#[test]
fn a_flood_is_cut_at_either_end_or_is_an_error() {
    let flood = "i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done";
    let with = |stdout| sh(flood, Limits { stdout, ..BOUNDS }).block(&|| false);
    assert!(text(&with(OutputLimit::First(100)).unwrap().stdout).starts_with("line 0\nline 1\n"));
    let last = with(OutputLimit::Last(100)).unwrap().stdout;
    assert!(text(&last).ends_with("line 1999\n") && last.len() <= 200);
    assert!(matches!(with(OutputLimit::All(100)), Err(OneshotError::TooMuch)));
    assert!(with(OutputLimit::None).unwrap().stdout.is_empty());
}

#[test]
fn what_does_not_end_is_ended_with_all_it_started() {
    let folder = tempfile::tempdir().unwrap();
    for (name, wish) in [("late", None), ("stop", Some(Attention::Stop)), ("kill", Some(Attention::Kill))] {
        let pid = folder.path().join(name);
        let line = format!("trap '' TERM; sleep 600 & echo $! > {}; wait; sleep 600", pid.display());
        let began = || pid.metadata().is_ok_and(|meta| meta.len() > 0);
        let time = if wish.is_none() { Duration::from_millis(400) } else { LONG };
        let started = Instant::now();
        let error = sh(&line, Limits { time, ..BOUNDS })
            .work(&|| wish.filter(|_| began()).unwrap_or(Attention::GoOn))
            .unwrap_err();
        let words = if wish.is_none() { "timed out after 0.4 s" } else { "stopped" };
        assert_eq!(error.to_string(), words);
        assert!(started.elapsed() < LONG / 2, "{:?}", started.elapsed());
        gone(std::fs::read_to_string(pid).unwrap().trim().parse().unwrap());
    }
}

#[test]
fn something_left_behind_does_not_hold_the_answer_and_ends_where_it_has_to() {
    for rest in [Remainder::Stays, Remainder::Ends] {
        let began = Instant::now();
        let once = Oneshot { rest, ..sh("sleep 600 & echo $!", BOUNDS) };
        let done = once.block(&|| false).unwrap();
        assert!(began.elapsed() < LONG / 2);
        let left: i32 = text(&done.stdout).trim().parse().unwrap();
        let pid = Pid::from_raw(left).unwrap();
        if rest == Remainder::Stays {
            assert!(rustix::process::test_kill_process(pid).is_ok());
            rustix::process::kill_process(pid, Signal::KILL).unwrap();
        }
        gone(left);
    }
}

#[tokio::test]
async fn those_who_wait_can_stop_it_or_walk_away() {
    let cancel = CancellationToken::new();
    cancel.cancel();
    assert!(matches!(sh("sleep 600", BOUNDS).run(&cancel).await, Err(OneshotError::Stopped)));
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let line = format!("trap '' TERM; echo $$ > {}; sleep 600", pid.display());
    let begun = async {
        while !pid.metadata().is_ok_and(|meta| meta.len() > 0) {
            tokio::task::yield_now().await;
        }
    };
    let cancel = CancellationToken::new();
    let work = sh(&line, BOUNDS).run(&cancel);
    tokio::select! {
        done = work => panic!("{done:?}"),
        () = begun => {}
    }
    let pid = std::fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
    tokio::task::spawn_blocking(move || gone(pid)).await.unwrap();
}

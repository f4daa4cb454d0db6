//! Starts that fail and readers that break off: nothing runs unwatched, and nobody waits for what is gone.

use super::*;
use crate::exec::process::procfs;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::process::Command;

/// Set in the process that does the work of a test: limits are a process's own.
const INSIDE: &str = "HERMES_TEST_INSIDE";

/// Runs a test of this file again, alone in a process of its own; `false` in that process.
fn outside(name: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return false;
    }
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", &format!("exec::tests::start::{name}"), "--nocapture"]).env(INSIDE, "1");
    let done = again.output().unwrap();
    let said = [done.stdout, done.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(done.status.success() && said.contains("1 passed"), "{said}");
    true
}

/// Lowers a limit while `work` is done.
async fn limited<T>(resource: Resource, most: u64, work: impl Future<Output = T>) -> T {
    let before = getrlimit(resource);
    setrlimit(resource, Rlimit { current: Some(most), ..before }).unwrap();
    let done = work.await;
    setrlimit(resource, before).unwrap();
    done
}

/// Processes that this one started and has not waited for.
fn children() -> Vec<u32> {
    let own = std::process::id();
    procfs::all().into_iter().filter(|stat| stat.parent == own).map(|stat| stat.pid).collect()
}

#[test]
#[cfg(target_os = "linux")]
fn without_descriptors_a_command_runs_watched_or_not_at_all() {
    if outside("without_descriptors_a_command_runs_watched_or_not_at_all") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let room = room();
        room.run("true").await;
        let open = std::fs::read_dir("/proc/self/fd").unwrap().count() as u64;
        let (mut failed, mut worked) = (0, 0);
        for most in open..open + 40 {
            let started = limited(Resource::Nofile, most, room.exec.start(room.spawn("sleep 600"))).await;
            match started {
                Ok(running) => {
                    worked += 1;
                    running.stop(ExitReason::Stopped);
                    finished(&running).await;
                    soon(running.closed()).await;
                }
                Err(error) => {
                    failed += 1;
                    assert!(matches!(error, ExecError::Spawn { .. }), "{error}");
                    assert!(room.exec.running().is_empty(), "{most}");
                }
            }
            assert_eq!(children(), Vec::<u32>::new(), "with {most} descriptors");
        }
        assert!(failed > 5 && worked > 5, "{failed} {worked}");
    });
}

#[test]
#[cfg(target_os = "linux")]
fn without_a_thread_to_watch_it_a_command_does_not_run() {
    if outside("without_a_thread_to_watch_it_a_command_does_not_run") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let room = room();
        let mut running = vec![room.start("sleep 600").await];
        // The stack of a thread takes more than this; what ended may have left a stack or two.
        let error = loop {
            let pages: u64 =
                std::fs::read_to_string("/proc/self/statm").unwrap().split(' ').next().unwrap().parse().unwrap();
            let most = pages * 4096 + 1024 * 1024;
            match limited(Resource::As, most, room.exec.start(room.spawn("sleep 600"))).await {
                Ok(another) => running.push(another),
                Err(error) => break error,
            }
            assert!(running.len() < 20, "there is always a thread");
        };
        assert!(matches!(error, ExecError::Spawn { .. }), "{error}");
        let mut pids: Vec<u32> = running.iter().map(|one| one.pid).collect();
        pids.sort_unstable();
        let mut known = children();
        known.sort_unstable();
        assert_eq!(known, pids, "what could not be watched runs");
        assert_eq!(room.exec.running().len(), running.len());
        room.exec.shutdown(true).await;
    });
}

#[test]
#[cfg(target_os = "linux")]
fn a_command_that_cannot_be_waited_for_any_more_is_ended_and_told() {
    if outside("a_command_that_cannot_be_waited_for_any_more_is_ended_and_told") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let room = room();
        let running = room.start("echo here; read x; sleep 600").await;
        until("it runs", || text_of(&running).contains("here")).await;
        // More descriptors than a process may have cannot be waited for. A key makes the reader look again.
        let end = limited(Resource::Nofile, 1, async {
            room.exec.write(&running.id, b"\r").unwrap();
            finished(&running).await
        });
        let end = end.await;
        assert_eq!((end.exit.reason, end.survivors), (ExitReason::Unwatched, false));
        until("nothing of it is left", || children().is_empty()).await;
        assert!(room.exec.running().is_empty());
    });
}

/// A place whose connection breaks in a way that nobody foresaw.
struct Broken {
    line: &'static str,
    when_resized: bool,
}

impl RemoteCommand for Broken {
    fn client(&self) -> Command {
        let mut client = Command::new("sh");
        client.args(["-c", self.line]);
        client
    }
    fn signal(&self, _: RemoteSignal) -> bool {
        false
    }
    fn resized(&self, _: (u16, u16)) {
        assert!(!self.when_resized, "broken while it runs");
    }
    fn place(&self) -> Option<RemotePlace> {
        None
    }

    fn launched(&self) {}

    fn since(&self) -> Option<i64> {
        None
    }

    fn finish(&self, _: bool, _: i32) -> RemoteEnd {
        panic!("broken at its end");
    }
}

#[tokio::test]
async fn a_reader_that_panics_ends_its_command_and_tells_so() {
    let room = room();
    for (line, when_resized, code, reason) in [
        ("printf '\\033[?1049h\\033[5;5Hx'; sleep 600", true, 137, ExitReason::Unwatched),
        ("exit 3", false, 3, ExitReason::Unwatched),
    ] {
        let mut launch = Launch::from(room.spawn(line));
        launch.remote = Some(std::sync::Arc::new(Broken { line, when_resized }));
        let running = room.exec.launch(launch).await.unwrap();
        let end = finished(&running).await;
        assert_eq!((end.exit.code, end.exit.reason), (code, reason), "{line}");
        soon(running.closed()).await;
        assert!(room.exec.running().is_empty(), "{line}");
        assert!(!std::path::Path::new(&format!("/proc/{}", running.pid)).exists(), "{line}: a zombie");
    }
}

/// With a hard limit of 1,024 some hundred background processes took all there was, and nothing in the foreground started.
#[test]
#[cfg(target_os = "linux")]
fn background_processes_leave_descriptors_to_the_foreground() {
    if outside("background_processes_leave_descriptors_to_the_foreground") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let room = room();
        room.run("true").await;
        let before = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: Some(256), maximum: before.maximum }).unwrap();
        let mut running = Vec::new();
        let why = loop {
            let spawn = crate::exec::Spawn { background: true, ..room.spawn("sleep 600") };
            match room.exec.start(spawn).await {
                Ok(one) => running.push(one),
                Err(why) => break why,
            }
            assert!(running.len() < 100, "no end");
        };
        assert!(matches!(why, ExecError::Descriptors { most: 256, .. }), "{why}");
        assert!(running.len() >= 5, "{}", running.len());
        for _ in 0..5 {
            room.run("true").await;
        }
        for one in running {
            one.stop(ExitReason::Stopped);
            finished(&one).await;
        }
    });
}

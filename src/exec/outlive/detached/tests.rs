//! What a run that is gone left behind, watched and ended.

use super::super::register;
use super::*;
use crate::exec::outlive::host_id;
use crate::exec::{Exec, ExecError, ExecOptions, ExitReason, ProcessState};
use std::process::Command;

fn entry(id: &str, leader: Identity, log: &Path) -> register::Entry {
    register::Entry {
        id: id.into(),
        task: "t".into(),
        command: "serve".into(),
        masked: false,
        foreground: false,
        hung_up: false,
        cwd: "/".into(),
        pty: false,
        log: log.to_owned(),
        started_at: 1,
        port: None,
        remote: None,
        leader,
        owner: leader,
        whereabouts: host_id::HostId::here(),
    }
}

#[test]
fn one_is_watched_without_a_clock_and_a_failed_wait_is_tried_again() {
    let id = ProcessId("proc_of_an_earlier_run".into());
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    std::fs::write(&log, "so far\n").unwrap();
    // What it started has the mark as well, and outlives it.
    let script = "sleep 600 & echo $!; exec sleep 600";
    let mut leader =
        Command::new("sh").args(["-c", script]).env(MARK, &id.0).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut second = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(leader.stdout.take().unwrap()), &mut second).unwrap();
    // Between two programs a process has no environment to be found by.
    let stop = std::time::Instant::now() + std::time::Duration::from_secs(60);
    for pid in [&leader.id().to_string(), second.trim()] {
        let read = |file: &str| std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        while read("cmdline") != b"sleep\x00600\x00" || !String::from_utf8_lossy(&read("environ")).contains(&id.0) {
            assert!(std::time::Instant::now() < stop, "it is no other program yet");
            std::thread::yield_now();
        }
    }
    let (exec, _events) = Exec::new(ExecOptions { login_env: false, ..ExecOptions::default() });
    let (wake_reader, wake) = std::io::pipe().unwrap();
    let identity = Identity::of(leader.id()).unwrap();
    let process = exec.of_entry(entry(&id.0, identity, &log), wake);
    let mut waits = Vec::new();
    run(&process, wake_reader, &|| {}, &mut |fds, most| {
        waits.push((fds.len(), most.is_some()));
        match waits.len() {
            1 => return Err(rustix::io::Errno::NOMEM),
            // One end at a time, as soon as it is waited for.
            2 => {
                leader.kill().unwrap();
                leader.wait().unwrap();
            }
            _ => rustix::process::kill_process(Pid::from_raw(second.trim().parse().unwrap()).unwrap(), Signal::KILL)
                .unwrap(),
        }
        poll(fds, most)
    });
    // Two of it and the pipe for orders, then one; never until a time.
    assert_eq!(waits, [(3, false), (3, false), (2, false)]);
    let ProcessState::Exited(exit) = process.info().state else { panic!("it is over") };
    assert_eq!(exit.reason, ExitReason::Unseen);
    assert_eq!(process.captured().head, b"so far\n");
}

#[tokio::test]
async fn nothing_reaches_one_of_another_machine_and_a_masked_line_is_not_run() {
    let (exec, _events) = Exec::new(ExecOptions { login_env: false, ..ExecOptions::default() });
    let own = Identity::of(std::process::id()).unwrap();
    let log = Path::new("/nowhere/log");
    let put = |id: &str, change: &dyn Fn(&mut Process)| {
        let (_, wake) = std::io::pipe().unwrap();
        let mut process = exec.of_entry(register::Entry { masked: true, ..entry(id, own, log) }, wake);
        change(&mut process);
        exec.hub.add(Arc::new(process));
        ProcessId(id.into())
    };
    let masked = put("proc_masked", &|_| {});
    assert!(matches!(exec.restart(&masked, None).await, Err(ExecError::Masked(_))));
    // Its number is that of this very process: a signal would end the test.
    let foreign = put("proc_foreign", &|process| {
        process.detached = Some(Detached::elsewhere(&process.id));
    });
    let is_foreign = |result: Result<(), ExecError>| matches!(result, Err(ExecError::Foreign(_)));
    assert!(is_foreign(exec.kill(&foreign)));
    assert!(is_foreign(exec.signal(&foreign, "KILL").map(|_| ())));
    assert!(is_foreign(exec.restart(&foreign, None).await.map(|_| ())));
    assert_eq!(exec.running().iter().map(|info| &info.id).collect::<Vec<_>>(), [&masked]);
    assert_eq!(exec.list().len(), 2);
    exec.command(crate::exec::ProcessCommand::Forget(foreign.clone()));
    assert!(matches!(exec.kill(&foreign), Err(ExecError::NotFound(_))));
}

#[test]
fn what_is_added_to_the_log_of_a_shown_one_wakes() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    std::fs::write(&log, "").unwrap();
    let changes = changes_of(&log).unwrap();
    let none = [];
    let (wake, _writer) = std::io::pipe().unwrap();
    let ready = |most| wait_once(&wake, Some(&changes), &none, Some(most), &mut |fds, most| poll(fds, most));
    assert!(!ready(Duration::ZERO).unwrap().by_log);
    std::fs::write(&log, "more").unwrap();
    assert!(ready(Duration::from_secs(20)).unwrap().by_log);
    forget_changes(&changes);
    assert!(!ready(Duration::ZERO).unwrap().by_log);
}

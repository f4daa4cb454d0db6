//! Many processes at once: what they get of each other, and what stays of them.

use super::*;

/// What this process has open, as `/proc` names it.
#[cfg(target_os = "linux")]
fn open_descriptors(pid: u32) -> Vec<(u32, String)> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    let mut all: Vec<(u32, String)> = entries
        .filter_map(|entry| {
            let target = std::fs::read_link(entry.path()).ok()?;
            Some((entry.file_name().to_str()?.parse().ok()?, target.to_string_lossy().into_owned()))
        })
        .collect();
    all.sort();
    all
}

/// Starts children of every kind at once, while others open files that nobody marks as closed on exec.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[cfg(target_os = "linux")]
async fn children_that_start_at_once_get_nothing_of_each_other() {
    const EACH: usize = 12;
    let room = std::sync::Arc::new(room());
    // Like a terminal in the moment in which it is opened, or a library that never marks what it opens.
    let careless: Vec<_> = (0..8)
        .map(|_| {
            let file = std::fs::File::open("/proc/version").unwrap();
            rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).unwrap();
            file
        })
        .collect();
    let mut starts = tokio::task::JoinSet::new();
    for n in 0..EACH {
        let mine = std::sync::Arc::clone(&room);
        starts.spawn(async move {
            let mut spawn = mine.spawn("echo up; read x");
            (spawn.background, spawn.pty) = (true, n % 2 == 0);
            Some(mine.exec.start(spawn).await.unwrap())
        });
        starts.spawn_blocking(|| {
            let mut command = std::process::Command::new("sh");
            command.args(["-c", "ls /proc/$$/fd; exit 7"]);
            let bounds = Limits { time: DEADLINE, stdout: OutputLimit::All(1 << 20), stderr: OutputLimit::None };
            let once = Oneshot { command, input: Vec::new(), bounds, rest: Remainder::Ends };
            assert_eq!(String::from_utf8(once.block(&|| false).unwrap().stdout).unwrap(), "0\n1\n2\n");
            None
        });
        starts.spawn_blocking(|| {
            let mut link = Link::open(std::process::Command::new("sh"), DEADLINE, &|| false).unwrap();
            let said = link.ask(b"echo $$", DEADLINE, 100).unwrap().text();
            let numbers: Vec<u32> = open_descriptors(said.parse().unwrap()).iter().map(|(number, _)| *number).collect();
            assert!(numbers.iter().all(|number| *number < 3 || *number == 10), "{numbers:?}");
            None
        });
    }
    for running in soon(starts.join_all()).await.into_iter().flatten() {
        until("it is up", || running.captured().total > 0).await;
        let open = open_descriptors(running.pid);
        let terminal = open[0].1.clone();
        // The shell itself keeps the terminal at a high number for its jobs.
        assert!(open.iter().all(|(_, target)| *target == terminal), "{open:?}");
    }
    drop(careless);
    room.exec.shutdown(true).await;
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn more_than_two_hundred_live_at_once_and_nothing_stays() {
    // More than the setting has by default.
    const ALL: usize = 220;
    // What a process may have by default is less than they take.
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    setrlimit(
        Resource::Nofile,
        Rlimit { current: limit.maximum.map_or(Some(1024), |most| Some(most.min(1024))), ..limit },
    )
    .unwrap();
    let mut room = room_with(|options| options.max_processes = ALL);
    // Nobody reads them: who waits to hand them over is a thread as well.
    room.events.close();
    let pid = std::process::id();
    let threads = || {
        let all = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
        let names = all.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
        names.filter(|name| name.starts_with("exec-")).count()
    };
    // What is made once for all is there.
    room.run("true").await;
    until("it is quiet", || threads() == 0).await;
    let before = open_descriptors(pid).len();
    let mut all = Vec::new();
    for n in 0..ALL {
        all.push(room.background(&format!("echo number {n}; read x"), n % 2 == 0).await);
    }
    assert_eq!((room.exec.list().len(), room.exec.running().len()), (ALL, ALL));
    let refused = room.exec.start(room.spawn("true")).await.err().unwrap();
    assert!(matches!(refused, ExecError::TooMany(ALL)), "{refused}");
    for (n, running) in all.iter().enumerate() {
        until("it printed", || running.captured().total > 0).await;
        let report = room.exec.poll(&running.id).unwrap();
        assert_eq!((report.output, report.exit), (format!("number {n}"), None));
    }
    // One that reads and one that writes the log of each, and those of the screens.
    assert!(threads() <= 2 * ALL + 8, "{}", threads());
    assert!(open_descriptors(pid).len() <= before + 7 * ALL, "{}", open_descriptors(pid).len() - before);
    // Half of them end by themselves, half are ended.
    for (n, running) in all.iter().enumerate() {
        if n % 2 == 0 {
            room.exec.write(&running.id, b"\r").unwrap();
        } else {
            room.exec.kill(&running.id).unwrap();
        }
    }
    for running in &all {
        finished(running).await;
    }
    until("none runs", || room.exec.running().is_empty()).await;
    until("threads are gone", || threads() == 0).await;
    assert!(all.iter().all(|running| !std::path::Path::new(&format!("/proc/{}", running.pid)).exists()), "zombies");
    // A log that is open can still be read; none has a terminal, a pipe or a number of a process.
    drop(all);
    room.exec.list().into_iter().for_each(|report| room.exec.command(ProcessCommand::Forget(report.info.id)));
    until("descriptors are closed", || open_descriptors(pid).len() <= before).await;
}

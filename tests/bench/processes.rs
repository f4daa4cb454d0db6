//! What processes cost that only wait: memory of the program, how often it wakes and what it writes while they are silent.

use super::harness::binary;
use super::proc;
use crate::measures::{Row, row};
use hermes::exec::{Exec, ExecOptions, Spawn};
use std::time::{Duration, Instant};

/// Live at the same time.
const LIVE: usize = 50;
/// Until a silent program has been looked at for the last time but for two looks in ten minutes.
const SETTLED: Duration = Duration::from_secs(11);
/// How long they are left alone.
const IDLE: Duration = Duration::from_secs(5);

pub fn processes() -> Vec<Row> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = ExecOptions {
        login_env: false,
        spill: folder.path().join("spill"),
        program: Some(binary().into()),
        register: Some(folder.path().join("processes.json")),
        ..ExecOptions::default()
    };
    let (exec, _events) = Exec::new(options);
    let own = std::process::id();
    let start = |n: usize| Spawn {
        command: format!("echo {n}; read x"),
        cwd: folder.path().to_owned(),
        pty: true,
        background: true,
        task: "bench".into(),
        size: (120, 30),
        headless: false,
        sandbox: None,
    };
    let (more, idle, each) = runtime.block_on(async {
        exec.start(start(0)).await.unwrap();
        let before = proc::rss(own);
        let began = Instant::now();
        for n in 1..=LIVE {
            exec.start(start(n)).await.unwrap();
        }
        let each = began.elapsed() / LIVE as u32;
        while exec.list().iter().any(|report| report.output.is_empty()) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let more = proc::rss(own) - before;
        // Each thread looks a few times at what its program is blocked in, ever less often.
        tokio::time::sleep(SETTLED).await;
        let (used, woken, written) = (proc::cpu(own), proc::wakeups(own), proc::written(own));
        // Not the runtime's clock: rousing the runtime is a write of eight bytes.
        std::thread::sleep(IDLE);
        let idle = (proc::cpu(own) - used, proc::wakeups(own) - woken, proc::written(own) - written);
        exec.shutdown(true).await;
        (more, idle, each)
    });
    vec![
        row("50 live processes, memory", format!("{more:.1} MiB"), "40 MiB", "of the program, without theirs"),
        row("… processor time in 5 s", format!("{:.2} s", idle.0), "0.05 s", "all of them silent"),
        row("… wakeups in 5 s", idle.1.to_string(), "0", "beside the clock of this measure"),
        row("… bytes written in 5 s", idle.2.to_string(), "0", ""),
        row("… start of one", crate::measures::ms(each), "", "until it is in the table"),
    ]
}

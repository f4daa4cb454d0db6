//! What the sandbox adds to a command, from its start to its end.

use crate::inside::ctx;
use crate::measures::{Row, percentile, row};
use hermes::config::{Config, SandboxConfig, SandboxMode};
use hermes::exec::{Exec, ExecOptions, Spawn, Waited};
use hermes::tools::confine;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Commands of each kind.
const RUNS: usize = 200;

/// The same command in a sandbox and without, by turns: what else the machine does meets both.
pub fn sandbox() -> Vec<Row> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = ExecOptions { login_env: false, spill: folder.path().join("spill"), ..ExecOptions::default() };
    let (exec, _events) = Exec::new(options);
    let held = |mode, network| {
        let mut ctx = ctx(folder.path(), exec.clone());
        ctx.config = Arc::new(Config {
            sandbox: SandboxConfig { mode, network, ..SandboxConfig::default() },
            ..Config::default()
        });
        confine::sandbox(&ctx)
    };
    let kinds = [
        ("a command without a sandbox", held(SandboxMode::Off, true)),
        ("… in workspace-write", held(SandboxMode::WorkspaceWrite, true)),
        ("… and without a network", held(SandboxMode::WorkspaceWrite, false)),
    ];
    let mut took: Vec<Vec<Duration>> = kinds.iter().map(|_| Vec::new()).collect();
    runtime.block_on(async {
        for _ in 0..RUNS {
            for ((_, sandbox), took) in kinds.iter().zip(&mut took) {
                let spawn = Spawn {
                    command: "true".into(),
                    cwd: folder.path().to_owned(),
                    pty: false,
                    background: false,
                    task: "bench".into(),
                    size: (120, 30),
                    headless: false,
                    sandbox: sandbox.clone(),
                };
                let began = Instant::now();
                let running = exec.start(spawn).await.unwrap();
                let Waited::Finished(_) = running.wait().await else { panic!("it was moved") };
                took.push(began.elapsed());
            }
        }
        exec.shutdown(true).await;
    });
    let rows = kinds.iter().zip(took).map(|((name, _), took)| {
        let figure = crate::measures::ms(percentile(took.clone(), 50));
        row(name, figure, "", format!("95 %: {}", crate::measures::ms(percentile(took, 95))))
    });
    rows.collect()
}

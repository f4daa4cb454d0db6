//! What a command on another machine costs more than its bare client (`ssh` over the same connection, `podman exec`): the line
//! is handed over, its shell leaves folder and variables, both are fetched.

use super::harness::{Engine, Sshd, engine::IMAGE};
use crate::measures::{Row, median, ms, row};
use hermes::backends::{Backends, Job, JobSpec, Keys, Terminal};
use hermes::config::TerminalConfig;
use hermes::exec::{Exec, ExecOptions, RemoteCommand};
use std::process::Stdio;
use std::time::{Duration, Instant};

const ROUNDS: usize = 30;

pub fn backends() -> Vec<Row> {
    let mut rows = Vec::new();
    match Sshd::start() {
        Ok(sshd) => {
            let config = TerminalConfig {
                backend: "ssh".into(),
                ssh_host: "there".into(),
                ssh_extra_args: vec!["-F".into(), sshd.client_config().display().to_string()],
                ..TerminalConfig::default()
            };
            rows.push(compare("ssh", &config));
        }
        Err(why) => rows.push(row("a command over ssh", "skipped", "15 ms", why)),
    }
    match Engine::find(&home()) {
        Ok(engine) => {
            let config = TerminalConfig {
                backend: "podman".into(),
                docker_image: IMAGE.into(),
                docker_network: false,
                container_memory: 512,
                docker_program: engine.program(),
                ..TerminalConfig::default()
            };
            rows.push(compare("podman", &config));
        }
        Err(why) => rows.push(row("a command in podman", "skipped", "15 ms", why)),
    }
    rows
}

/// The home whose containers these are: removed with the engine.
fn home() -> std::path::PathBuf {
    std::env::temp_dir().join(format!("hermes-bench-{}", std::process::id()))
}

fn compare(kind: &str, config: &TerminalConfig) -> Row {
    let root = tempfile::tempdir().unwrap();
    let (exec, _events) = Exec::new(ExecOptions { login_env: false, ..ExecOptions::default() });
    let backends = Backends::new(config, &exec, &home(), root.path(), Keys::default());
    let there = backends.current().unwrap();
    let cwd = there.begin().unwrap();
    let (mut ours, mut bare): (Vec<Duration>, Vec<Duration>) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS + 3 {
        let began = Instant::now();
        let spec = JobSpec {
            line: "true".into(),
            cwd: cwd.clone(),
            task: "t".into(),
            detached: false,
            headless: true,
            keep: true,
        };
        let job = Job::new(backends.current().unwrap(), spec).unwrap();
        assert!(job.client().stdin(Stdio::null()).output().unwrap().status.success());
        assert!(job.finish(false, 0).cwd.is_some());
        let with = began.elapsed();
        let began = Instant::now();
        let mut client = there.backend().client(&["sh", "-c", "true"], Terminal::Output);
        assert!(client.stdin(Stdio::null()).output().unwrap().status.success());
        if round >= 3 {
            ours.push(with);
            bare.push(began.elapsed());
        }
    }
    backends.leave().unwrap();
    let (ours, bare) = (median(ours), median(bare));
    let note = format!("{} with all of ours, {} bare", ms(ours), ms(bare));
    row(&format!("{kind}: more than its client"), ms(ours.saturating_sub(bare)), "15 ms", note)
}

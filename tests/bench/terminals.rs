//! What the terminal of a command costs: its start, what flows through it, and the screen beside a flood.

use super::harness::mock::{Step, call};
use super::harness::{Home, Mock, Term};
use super::proc;
use crate::measures::{Row, ms, percentile, row, spin, typed};
use hermes::exec::{Exec, ExecOptions, Spawn, WIDE, Waited};
use rustix::termios::{OptionalActions, OutputModes, Winsize, tcgetattr, tcsetattr, tcsetwinsize};
use serde_json::json;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A terminal like those of commands: both ends.
fn terminal() -> (OwnedFd, std::fs::File) {
    let ours = rustix::pty::openpt(rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY).unwrap();
    rustix::pty::grantpt(&ours).unwrap();
    rustix::pty::unlockpt(&ours).unwrap();
    let name = rustix::pty::ptsname(&ours, Vec::new()).unwrap();
    let theirs = std::fs::File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    let mut modes = tcgetattr(&theirs).unwrap();
    modes.output_modes -= OutputModes::ONLCR;
    tcsetattr(&theirs, OptionalActions::Now, &modes).unwrap();
    tcsetwinsize(&theirs, Winsize { ws_row: 30, ws_col: WIDE, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    (ours, theirs)
}

/// The command alone on such a terminal, which `cat` empties when somebody must.
fn bare(command: &str, read: bool) -> Duration {
    let (ours, theirs) = terminal();
    let began = Instant::now();
    let ends = || Stdio::from(theirs.try_clone().unwrap());
    let mut child = Command::new("bash")
        .args(["--norc", "-c", command])
        .stdin(ends())
        .stdout(ends())
        .stderr(ends())
        .spawn()
        .unwrap();
    drop(theirs);
    if read {
        let mut reader = Command::new("cat");
        // It ends with an error, as a terminal does.
        let mut reader = reader.stdin(ours).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        reader.wait().unwrap();
    }
    child.wait().unwrap();
    began.elapsed()
}

fn ours(runtime: &tokio::runtime::Runtime, exec: &Exec, command: &str, folder: &Path) -> Duration {
    let spawn = Spawn {
        command: command.into(),
        cwd: folder.to_owned(),
        pty: false,
        background: false,
        task: "bench".into(),
        size: (120, 30),
        headless: false,
        sandbox: None,
    };
    let began = Instant::now();
    runtime.block_on(async {
        let running = exec.start(spawn).await.unwrap();
        let Waited::Finished(finished) = running.wait().await else { panic!("it was moved") };
        assert_eq!(finished.exit.code, 0);
    });
    began.elapsed()
}

pub fn terminals() -> Vec<Row> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = ExecOptions { login_env: false, spill: folder.path().join("spill"), ..ExecOptions::default() };
    let (exec, _) = Exec::new(options);
    let median = |mut all: Vec<Duration>| {
        all.sort();
        all[all.len() / 2]
    };
    ours(&runtime, &exec, "true", folder.path());
    let pairs: Vec<_> = (0..60).map(|_| (bare("true", false), ours(&runtime, &exec, "true", folder.path()))).collect();
    let (alone, with) = pairs.into_iter().unzip();
    let (alone, with) = (median(alone), median(with));
    let mut rows =
        vec![row("a command's terminal, more", ms(with.saturating_sub(alone)), "3 ms", format!("{} bare", ms(alone)))];
    for (name, command) in [
        ("numbers", "seq 1 3000000"),
        ("lines of 43", "yes 'a line of forty characters, more or less' | head -c 60000000"),
        ("lines of 1,000", "yes $(head -c 999 /dev/zero | tr '\\0' x) | head -c 60000000"),
    ] {
        let best = |run: &dyn Fn() -> Duration| (0..5).map(|_| run()).min().unwrap_or_default();
        let reference = best(&|| bare(command, true));
        let took = best(&|| ours(&runtime, &exec, command, folder.path()));
        let share = 100.0 * reference.as_secs_f64() / took.as_secs_f64();
        let note = format!("{}; into cat through the same terminal {}", ms(took), ms(reference));
        rows.push(row(&format!("throughput, {name}"), format!("{share:.0} %"), "≥ 70 %", note));
    }
    rows.extend(flood());
    rows
}

/// The screen while a command prints as fast as it can, and what its output takes.
fn flood() -> Vec<Row> {
    let mock =
        Mock::start(vec![Step::Calls(String::new(), vec![call("terminal", json!({ "command": "yes flooding" }))])]);
    let home = Home::with(&mock, "approvals:\n  mode: \"off\"\n");
    let mut term = Term::start(&home, &[]);
    term.wait("❯").send("go\r").wait("flooding");
    let before = proc::rss(term.pid());
    let keys = percentile(typed(&mut term, 60), 95);
    spin(Duration::from_secs(1), || true);
    let after = proc::rss(term.pid());
    vec![
        row("key to echo, p95", ms(keys), "12 ms", "while a command prints as fast as it can"),
        row("resident beside the flood", format!("{after:.1} MiB"), "50 MiB", format!("{before:.1} MiB as it began")),
    ]
}

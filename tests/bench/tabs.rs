//! Many sessions in one window: what an idle one costs, and what is felt while several stream.

use crate::harness::{Home, Mock, Step, Term};
use crate::measures::{Row, median, ms, percentile, row, spin, typed};
use crate::proc;
use std::time::{Duration, Instant};

/// Ctrl-X N.
const NEW: &str = "\x18N";
const TABS: usize = 20;
const STREAMING: usize = 5;

fn threads(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, |tasks| tasks.count())
}

/// How often threads of any name went to sleep so far.
fn sleeps(pid: u32) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let of = |text: String| {
        let line = text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?.trim().to_owned();
        line.parse::<u64>().ok()
    };
    tasks.filter_map(|task| of(std::fs::read_to_string(task.path().join("status")).ok()?)).sum()
}

/// A new tab, in view and empty.
fn open(term: &mut Term, said: &str) {
    term.send(NEW);
    spin(Duration::from_secs(10), || !term.text().contains(said));
    std::thread::park_timeout(Duration::from_millis(100));
}

/// A window with this many tabs, all used once.
fn window(term: &mut Term, tabs: usize) {
    for n in 0..tabs {
        if n > 0 {
            open(term, &format!("answer-{:02}", n - 1));
        }
        term.send("hello\r").wait(&format!("answer-{n:02}"));
    }
}

pub fn tabs() -> Vec<Row> {
    let answers = |from: usize, to: usize| (from..to).map(|n| Step::Text(format!("answer-{n:02}"))).collect::<Vec<_>>();
    // 200 tokens a second in each of those that stream.
    let long: String = (1..40_000).map(|n| format!("w{n:06} ")).collect();
    let mut steps = answers(0, TABS);
    steps.extend((0..STREAMING).map(|_| Step::Slow(long.clone(), Duration::from_millis(5))));
    let mock = Mock::start(steps);
    let home = Home::with(&mock, "");
    let mut term = Term::sized(&home, &[], (140, 45));
    term.wait("❯");
    window(&mut term, 1);
    std::thread::park_timeout(Duration::from_secs(3));
    let (memory, count) = (proc::rss(term.pid()), threads(term.pid()));
    for n in 1..TABS {
        open(&mut term, &format!("answer-{:02}", n - 1));
        term.send("hello\r").wait(&format!("answer-{n:02}"));
    }
    std::thread::park_timeout(Duration::from_secs(12));
    let more = (proc::rss(term.pid()) - memory) / (TABS - 1) as f64;
    let new = threads(term.pid()) as i64 - count as i64;
    let (cpu, woke, bytes) = (proc::cpu(term.pid()), sleeps(term.pid()), term.bytes());
    std::thread::park_timeout(Duration::from_secs(10));
    let (cpu, woke, bytes) = (proc::cpu(term.pid()) - cpu, sleeps(term.pid()) - woke, term.bytes() - bytes);

    // From the key to the other tab's text.
    let mut switches = Vec::new();
    for n in 0..40 {
        let (key, want) = if n % 2 == 0 { ("\x1b8", "answer-07") } else { ("\x1b9", "answer-08") };
        let began = Instant::now();
        term.send(key);
        spin(Duration::from_secs(5), || term.text().contains(want));
        switches.push(began.elapsed());
        std::thread::park_timeout(Duration::from_millis(30));
    }

    for n in 1..=STREAMING {
        term.send(&format!("\x1b{n}")).wait(&format!("answer-{:02}", n - 1));
        term.send("go\r").wait("w000010");
    }
    term.send("\x1b9").wait("answer-08");
    std::thread::park_timeout(Duration::from_secs(1));
    let (began, used) = (Instant::now(), proc::cpu(term.pid()));
    let echo = percentile(typed(&mut term, 100), 95);
    let busy = (proc::cpu(term.pid()) - used) / began.elapsed().as_secs_f64() * 100.0;
    vec![
        row("one more session, used", format!("{more:.2} MiB"), "2 MiB", format!("{TABS} tabs; {new} more threads")),
        row(
            "20 idle tabs, CPU in 10 s",
            format!("{cpu:.2} s"),
            "0.05 s",
            format!("threads slept {woke} times, {bytes} bytes written"),
        ),
        row(
            "key to another tab",
            ms(median(switches.clone())),
            "8 ms",
            format!("p95 {}", ms(percentile(switches, 95))),
        ),
        row("key to echo, p95", ms(echo), "8 ms", format!("{TABS} tabs, {STREAMING} stream 200 tokens a second")),
        row("CPU meanwhile", format!("{busy:.0} %"), "25 %", "of one core"),
    ]
}

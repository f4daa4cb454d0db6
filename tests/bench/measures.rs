//! The measures. Each starts its own home, model and program.

use super::harness::mock::{Step, call};
use super::harness::{Home, Mock, Term};
use super::proc;
use serde_json::json;
use std::time::{Duration, Instant};

/// One line of the report.
pub struct Row {
    pub name: String,
    pub figure: String,
    pub limit: &'static str,
    pub note: String,
}

type Measure = fn() -> Vec<Row>;

/// Name and measure, in the order of the report.
pub const ALL: &[(&str, Measure)] = &[
    ("start", start),
    ("idle", idle),
    ("echo", echo),
    ("stream", stream),
    ("loop", tool_loop),
    ("output", output),
    ("resume", resume),
    ("prompt", prompt),
    ("dispatch", crate::inside::dispatch),
    ("judge", crate::judge::judge_lines),
    ("checkpoints", crate::checkpoints::checkpoints),
    ("sessions", crate::sessions::sessions),
    ("search", crate::files::search),
    ("patch", crate::files::patch),
    ("terminals", crate::terminals::terminals),
    ("processes", crate::processes::processes),
    ("backends", crate::backends::backends),
    ("tabs", crate::tabs::tabs),
    ("children", crate::children::children),
    ("sandbox", crate::sandbox::sandbox),
    ("append", crate::store::append),
    ("written", crate::store::written),
];

pub fn row(name: &str, figure: impl Into<String>, limit: &'static str, note: impl Into<String>) -> Row {
    Row { name: name.into(), figure: figure.into(), limit, note: note.into() }
}

pub fn ms(duration: Duration) -> String {
    format!("{:.1} ms", duration.as_secs_f64() * 1000.0)
}

pub fn median(mut all: Vec<Duration>) -> Duration {
    all.sort();
    all[all.len() / 2]
}

pub fn percentile(mut all: Vec<Duration>, p: usize) -> Duration {
    all.sort();
    all[(all.len() * p / 100).min(all.len() - 1)]
}

/// Spins (these are milliseconds that count) until the condition holds.
pub fn spin(limit: Duration, mut condition: impl FnMut() -> bool) -> Duration {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < limit, "nothing within {limit:?}");
        std::thread::park_timeout(Duration::from_micros(100));
    }
    began.elapsed()
}

/// Waits until the program sent nothing for a while: what is measured next starts from rest.
fn quiet(term: &Term, millis: u64) {
    let (mut last, mut since) = (term.bytes(), Instant::now());
    spin(Duration::from_secs(20), || {
        if term.bytes() != last {
            (last, since) = (term.bytes(), Instant::now());
        }
        since.elapsed() >= Duration::from_millis(millis)
    });
}

fn seeded(mock: &Mock, sessions: usize) -> Home {
    let home = Home::with(mock, "approvals:\n  mode: \"off\"\n");
    let folder = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    for n in 0..sessions {
        let file = folder.path().join(format!("past-{n:03}.jsonl"));
        let rows: String = (0..20)
            .map(|i| {
                let role = if i % 2 == 0 { "user" } else { "assistant" };
                let content = format!("past {n} item {i}: {}", "plain words again ".repeat(12));
                format!("{}\n", json!({ "session_id": format!("past-{n:03}"), "role": role, "content": content }))
            })
            .collect();
        std::fs::write(&file, rows).unwrap();
        files.push(file.display().to_string());
    }
    for some in files.chunks(100) {
        let mut args = vec!["sessions", "import"];
        args.extend(some.iter().map(String::as_str));
        let done = home.run(&args);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    home
}

fn start() -> Vec<Row> {
    let mock = Mock::start(vec![]);
    let home = seeded(&mock, 500);
    let mut frames = Vec::new();
    for _ in 0..9 {
        let began = Instant::now();
        let term = Term::start(&home, &[]);
        spin(Duration::from_secs(5), || term.bytes() > 0 && !term.text().trim().is_empty());
        frames.push(began.elapsed());
    }
    let best = frames.iter().min().copied().unwrap_or_default();
    vec![row("exec to first frame", ms(best), "30 ms", format!("best of 9, median {}", ms(median(frames))))]
}

fn idle() -> Vec<Row> {
    let mock = Mock::start(vec![]);
    let home = seeded(&mock, 20);
    let term = Term::start(&home, &[]);
    quiet(term.wait("❯"), 3000);
    let (bytes, cpu, rss) = (term.bytes(), proc::cpu(term.pid()), proc::rss(term.pid()));
    let seconds = 60;
    std::thread::park_timeout(Duration::from_secs(seconds));
    vec![
        row("resident, idle", format!("{rss:.1} MiB"), "30 MiB", ""),
        row("idle, bytes in 60 s", (term.bytes() - bytes).to_string(), "0", ""),
        row("idle, CPU in 60 s", format!("{:.2} s", proc::cpu(term.pid()) - cpu), "0.05 s", ""),
    ]
}

/// Types characters one by one; the time from write to appearance.
pub fn typed(term: &mut Term, count: usize) -> Vec<Duration> {
    let letters = ['§', '¶', 'µ', '±', '¿', 'þ', 'ð', 'ø', 'æ', '¤'];
    let mut times = Vec::new();
    for n in 0..count {
        let letter = letters[n % letters.len()];
        let before = term.text().matches(letter).count();
        let began = Instant::now();
        term.send(&letter.to_string());
        spin(Duration::from_secs(5), || term.text().matches(letter).count() > before);
        times.push(began.elapsed());
        std::thread::park_timeout(Duration::from_millis(30));
    }
    times
}

fn echo() -> Vec<Row> {
    // More than can be sent while the keys are typed.
    let words = "lorem ipsum dolor sit amet plain words again\n\n".repeat(100_000);
    let mock = Mock::start(vec![Step::Paced(words.clone(), 10), Step::Text(words)]);
    let home = Home::with(&mock, "");
    let mut term = Term::start(&home, &[]);
    quiet(term.wait("❯"), 500);
    let calm = percentile(typed(&mut term, 60), 95);
    term.send("\x15go\r").wait("lorem");
    let busy = percentile(typed(&mut term, 60), 95);
    // Something moves as long as the stream runs.
    term.send("\x15");
    quiet(term.send("\x1b").wait("stopped"), 500);
    term.send("\x15go\r").wait("lorem");
    spin(Duration::from_secs(10), || mock.count() == 2);
    std::thread::park_timeout(Duration::from_millis(500));
    let flood = percentile(typed(&mut term, 60), 95);
    vec![
        row("key to echo, p95", ms(calm), "5 ms", "idle"),
        row("key to echo, p95", ms(busy), "12 ms", "while 10,000 tokens a second stream"),
        row("key to echo, p95", ms(flood), "12 ms", "while a stream without any pace fills the cores"),
    ]
}

fn stream() -> Vec<Row> {
    let mut text = String::new();
    let mut n = 0;
    while text.len() < 80_000 {
        n += 1;
        text.push_str(&format!(
            "## Part {n}\n\nSome *words* with `code` and a [link](https://example.com/{n}).\n\n- one\n- two\n\n"
        ));
        text.push_str("```rust\nfn main() {\n    let x = 1; // a comment\n}\n```\n\n");
    }
    text.push_str("the-very-end");
    let mock = Mock::start(vec![Step::Text("all-is-warm".into()), Step::Text(text)]);
    let home = Home::with(&mock, "");
    let mut term = Term::start(&home, &[]);
    term.wait("❯");
    quiet(term.send("warm up\r").wait("all-is-warm"), 500);
    let (bytes, cpu) = (term.bytes(), proc::cpu(term.pid()));
    term.send("go\r");
    spin(Duration::from_secs(5), || mock.count() == 2);
    let wall = spin(Duration::from_secs(30), || term.text().contains("the-very-end"));
    vec![
        row("80 KB streamed, wall", ms(wall), "500 ms", ""),
        row("80 KB streamed, CPU", format!("{:.2} s", proc::cpu(term.pid()) - cpu), "0.4 s", ""),
        row("80 KB streamed, bytes", format!("{} KB", (term.bytes() - bytes) / 1000), "1000 KB", ""),
    ]
}

fn tool_loop() -> Vec<Row> {
    let rounds = 50;
    let steps = (0..rounds)
        .map(|n| Step::Calls(String::new(), vec![call("terminal", json!({ "command": format!("true {n}") }))]));
    let mock = Mock::start(steps.chain([Step::Text("loop-is-done".into())]).collect());
    let home = Home::with(&mock, "");
    let mut term = Term::start(&home, &[]);
    quiet(term.wait("❯"), 500);
    term.send("go\r");
    spin(Duration::from_secs(10), || mock.count() >= 2);
    let began = Instant::now();
    spin(Duration::from_secs(60), || mock.count() > rounds);
    let each = began.elapsed() / (rounds as u32 - 1);
    vec![row("one round of the tool loop", ms(each), "12 ms", format!("mean of {}", rounds - 1))]
}

fn output() -> Vec<Row> {
    let command = "yes 'a line of forty characters, more or less' | head -c 100000000";
    let plain = |_: usize| {
        let began = Instant::now();
        let status = std::process::Command::new("bash").arg("-c").arg(format!("{command} | cat > /dev/null")).status();
        assert!(status.unwrap().success());
        began.elapsed()
    };
    let reference = (0..3).map(plain).min().unwrap();
    let mut best = Duration::MAX;
    for _ in 0..3 {
        // The first command asks the login shell for its environment; the second is measured.
        let calls = ["true", command].map(|command| call("terminal", json!({ "command": command })));
        let mock = Mock::start(calls.map(|call| Step::Calls(String::new(), vec![call])).into());
        let home = Home::with(&mock, "");
        let done = home.run(&["-p", "go", "--yolo", "--output", "json"]);
        let envelope: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
        let took = envelope["tool_calls"][1]["duration_ms"].as_u64().unwrap();
        best = best.min(Duration::from_millis(took));
    }
    let limit = reference.mul_f64(1.2) + Duration::from_millis(10);
    let note = format!("same command into cat: {}; limit {}", ms(reference), ms(limit));
    vec![row("100 MB from a command", ms(best), "1.2 × + 10 ms", note)]
}

fn resume() -> Vec<Row> {
    let mock = Mock::start(vec![]);
    let home = Home::with(&mock, "");
    let rows: String = (0..500)
        .flat_map(|n| {
            [
                json!({ "session_id": "grown", "role": "user", "content": format!("turn {n}") }),
                json!({ "session_id": "grown", "role": "assistant", "content": format!("reply-{n}-ok") }),
            ]
        })
        .map(|row| format!("{row}\n"))
        .collect();
    let file = home.project().join("grown.jsonl");
    std::fs::write(&file, rows).unwrap();
    assert!(home.run(&["sessions", "import", "grown.jsonl"]).status.success());
    let mut times = Vec::new();
    for _ in 0..7 {
        let began = Instant::now();
        let term = Term::start(&home, &["-r", "grown"]);
        spin(Duration::from_secs(5), || term.text().contains("reply-499-ok"));
        times.push(began.elapsed());
    }
    let best = times.iter().min().copied().unwrap_or_default();
    vec![row("resume 500 turns", ms(best), "60 ms", format!("best of 7, median {}", ms(median(times))))]
}

fn prompt() -> Vec<Row> {
    let mock = Mock::start(vec![]);
    let home = Home::with(&mock, "");
    assert!(home.run(&["-p", "hello"]).status.success());
    let body = mock.requests().remove(0);
    let bytes = body["messages"].to_string().len() + body["tools"].to_string().len();
    let tokens = bytes as f64 / 4.3;
    vec![row("first request", format!("{tokens:.0} tokens"), "3500", "bytes / 4.3")]
}

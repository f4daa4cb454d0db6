//! Children of a session: what one costs, how soon it asks its model, and a hundred of them one after another.

use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term};
use crate::measures::{Row, median, ms, percentile, row, spin, typed};
use crate::proc;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const CALLS: usize = 20;
const BATCHES: usize = 5;
const BATCH: usize = 20;

fn of_role(request: &Value, role: &str) -> usize {
    let messages = request["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    messages.iter().filter(|message| message["role"] == role).count()
}

fn is_child(request: &Value) -> bool {
    request["messages"].as_array().is_some_and(|messages| {
        messages.iter().any(|message| message["role"] == "user" && message.to_string().contains("child work"))
    })
}

fn batch(tasks: usize) -> Step {
    let tasks: Vec<Value> = (0..tasks).map(|n| json!({ "goal": format!("child work {n}") })).collect();
    Step::Calls(String::new(), vec![call("delegate_task", json!({ "tasks": tasks }))])
}

fn descriptors(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, |open| open.count())
}

fn window(mock: &Mock, config: &str) -> (Home, Term) {
    let home = Home::with(mock, config);
    std::fs::write(home.project().join("seed.txt"), "a line\n".repeat(100)).unwrap();
    let term = Term::sized(&home, &[], (140, 45));
    term.wait("What shall we work on?");
    (home, term)
}

/// From the call to the child's first request, against a round with a call that does nearly nothing.
fn first_request() -> Row {
    let rounds = 12;
    let mock = Mock::start(vec![]);
    mock.answers(|request| {
        if is_child(request) {
            return Some(Step::Text("Done.".into()));
        }
        let tools = of_role(request, "tool");
        match tools {
            n if n < 12 => {
                let read = call("read_file", json!({ "path": "seed.txt", "offset": n + 1, "limit": 1 }));
                Some(Step::Calls(String::new(), vec![read]))
            }
            n if n < 24 => Some(batch(1)),
            _ => None,
        }
    });
    let (_home, mut term) = window(&mock, "");
    term.send("go\r");
    let mut all = Vec::new();
    // A round of reading is one request, one of delegating two: the child's, and that of its parent.
    for n in 1..=rounds * 3 {
        let began = Instant::now();
        spin(Duration::from_secs(20), || mock.count() > n);
        all.push(began.elapsed());
    }
    let plain = median(all[1..rounds - 1].to_vec());
    let child = median(all[rounds..].iter().step_by(2).copied().collect());
    let note = format!("{} of a round with a child, {} of one with read_file", ms(child), ms(plain));
    row("a child to its first request", ms(child.saturating_sub(plain)), "5 ms", note)
}

/// Twenty that wait for their model.
fn memory() -> Row {
    let mock = Mock::start(vec![]);
    mock.answers(|request| {
        if is_child(request) {
            return Some(Step::Slow("word ".repeat(10_000), Duration::from_secs(1)));
        }
        Some(batch(if of_role(request, "tool") == 0 { 1 } else { BATCH }))
    });
    let (_home, mut term) = window(&mock, "delegation: {max_concurrent_children: 20}\n");
    term.send("go\r");
    spin(Duration::from_secs(20), || mock.count() == 2);
    std::thread::park_timeout(Duration::from_secs(3));
    let before = proc::rss(term.pid());
    term.send("\x1b").wait("stopped");
    term.send("again\r");
    spin(Duration::from_secs(20), || mock.count() == 3 + BATCH);
    std::thread::park_timeout(Duration::from_secs(3));
    let each = (proc::rss(term.pid()) - before) / (BATCH - 1) as f64;
    row("one more child, idle", format!("{each:.2} MiB"), "2 MiB", format!("{BATCH} that wait for their model"))
}

/// A hundred, three at a time, with twenty calls each.
fn hundred() -> Vec<Row> {
    let mock = Mock::start(vec![]);
    mock.answers(|request| {
        let tools = of_role(request, "tool");
        if !is_child(request) {
            // The first one opens what a first turn opens.
            return (tools <= BATCHES).then(|| batch(if tools == 0 { 1 } else { BATCH }));
        }
        let read = call("read_file", json!({ "path": "seed.txt", "offset": tools + 1, "limit": 3 }));
        Some(if tools < CALLS { Step::Calls(String::new(), vec![read]) } else { Step::Text("Done.".into()) })
    });
    let (_home, mut term) = window(&mock, "");
    term.send("go\r");
    let requests = CALLS + 1;
    spin(Duration::from_secs(60), || mock.count() == requests + 2);
    let open = descriptors(term.pid());
    let began = Instant::now();
    let mut sizes = Vec::new();
    let mut echo = Duration::ZERO;
    for children in [10, 30, 60, 100] {
        spin(Duration::from_secs(300), || mock.count() >= (children + 1) * requests);
        sizes.push(proc::rss(term.pid()));
        if children == 30 {
            echo = percentile(typed(&mut term, 60), 95);
        }
    }
    spin(Duration::from_secs(60), || mock.count() > BATCHES * (BATCH * requests + 1) + requests + 1);
    let took = began.elapsed();
    term.wait("done");
    std::thread::park_timeout(Duration::from_secs(2));
    let left = descriptors(term.pid()).saturating_sub(open);
    let grew = sizes[3] - sizes[0];
    let sizes: Vec<String> = sizes.iter().map(|size| format!("{size:.1}")).collect();
    vec![
        row(
            "100 children: memory grew",
            format!("{grew:.1} MiB"),
            "flat",
            format!("after 10, 30, 60, 100: {}", sizes.join(", ")),
        ),
        row("… descriptors left", left.to_string(), "0", String::new()),
        row("… key to echo, p95", ms(echo), "8 ms", format!("{:.0} s for {} calls", took.as_secs_f64(), 100 * CALLS)),
    ]
}

pub fn children() -> Vec<Row> {
    let mut rows = vec![first_request(), memory()];
    rows.extend(hundred());
    rows
}

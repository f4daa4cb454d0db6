//! The file tools on large inputs, inside this process: searches beside `rg`, edits of a 5 MB file.

use crate::inside::ctx;
use crate::measures::{Row, ms, row};
use crate::proc;
use hermes::exec::{Exec, ExecOptions};
use hermes::policy::redact::redact;
use hermes::tools::dispatch::Dispatch;
use hermes::tools::registry::Registry;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const FILES: usize = 100_000;
const ROUNDS: usize = 15;
/// Stands in 50 files of the checkout.
const NEEDLE: &str = "rare_needle_word";
const ENDINGS: [&str; 8] = ["rs", "py", "c", "h", "ts", "go", "md", "json"];

/// A checkout as a person has one: sizes around 3 KB with a long tail, folders in folders, binary files, ignored ones.
fn checkout(root: &Path) {
    let mut dice = fastrand::Rng::with_seed(7);
    let words: Vec<String> =
        (0..8_000).map(|_| (0..dice.usize(2..11)).map(|_| dice.lowercase()).collect::<String>()).collect();
    let line = |dice: &mut fastrand::Rng| {
        let indent = " ".repeat(4 * dice.usize(0..5));
        let words: Vec<&str> = (0..dice.usize(0..11)).map(|_| dice.choice(&words).unwrap().as_str()).collect();
        format!("{indent}{}\n", words.join(" "))
    };
    let lines: Vec<String> = (0..20_000).map(|_| line(&mut dice)).collect();
    let mut folders = vec![root.to_owned()];
    while folders.len() < 4_500 {
        let parent = dice.choice(&folders).unwrap().clone();
        if parent.strip_prefix(root).unwrap().components().count() < 7 {
            folders.push(parent.join(format!("{}{}", dice.choice(&words).unwrap(), folders.len())));
        }
    }
    folders.iter().for_each(|folder| fs::create_dir_all(folder).unwrap());
    fs::create_dir(root.join(".git")).unwrap();
    fs::write(root.join(".gitignore"), "target/\n*.o\n*.log\n/build/\n!keep.log\n").unwrap();
    for n in 0..FILES {
        let folder = dice.choice(&folders).unwrap().clone();
        // The sum of four dice stands for the exponent: a median of 3 KB, a few of 100 KB and more.
        let exponent: f64 = (0..4).map(|_| dice.f64()).sum::<f64>() * 2.6 + 3.0;
        let size = exponent.exp() as usize;
        match n % 40 {
            0 => fs::write(
                folder.join(format!("p{n}.png")),
                [b"\x89PNG\r\n\x1a\n\0".as_slice(), &vec![7; size]].concat(),
            ),
            1 => fs::write(folder.join(format!("o{n}.o")), vec![7; size]),
            _ => {
                let mut text = String::with_capacity(size + 100);
                while text.len() < size {
                    text.push_str(dice.choice(&lines).unwrap());
                }
                if n % 2_000 == 2 {
                    text.push_str(&format!("let {NEEDLE} = {n};\n"));
                }
                fs::write(
                    folder.join(format!("{}_{n}.{}", dice.choice(&words).unwrap(), dice.choice(ENDINGS).unwrap())),
                    text,
                )
            }
        }
        .unwrap();
    }
    for n in 0..60 {
        let folder = dice.choice(&folders).unwrap().join("target");
        fs::create_dir_all(&folder).unwrap();
        (0..50)
            .for_each(|m| fs::write(folder.join(format!("x{n}-{m}.txt")), format!("{NEEDLE}\n").repeat(20)).unwrap());
    }
}

/// Calls of one registry, as the gate would make them.
struct Caller {
    runtime: tokio::runtime::Runtime,
    dispatch: Dispatch,
    folder: PathBuf,
}

impl Caller {
    fn new(folder: &Path) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        Self { runtime, dispatch: Dispatch::new(Arc::new(Registry::builtin()), redact), folder: folder.to_owned() }
    }

    fn call(&self, name: &str, args: &Value) -> Value {
        let output = self.runtime.block_on(async {
            let ctx = ctx(&self.folder, Exec::new(ExecOptions::default()).0);
            let planned = self.dispatch.plan(name, &args.to_string(), &ctx).await;
            self.dispatch.run(planned.call.ok().unwrap(), ctx).await
        });
        serde_json::from_str(&output.content).unwrap()
    }
}

/// The best wall time of some rounds, and the processor seconds of one.
struct Cost {
    best: Duration,
    cpu: f64,
}

impl Cost {
    const NONE: Cost = Cost { best: Duration::MAX, cpu: 0.0 };

    fn round(&mut self, work: impl FnOnce()) {
        let (cpu, began) = (proc::cpu(std::process::id()), Instant::now());
        work();
        self.best = self.best.min(began.elapsed());
        self.cpu += (proc::cpu(std::process::id()) - cpu) / ROUNDS as f64;
    }
}

/// The same search by the tool and by `rg`, in turns. `HERMES_BENCH_TREE` names a checkout, `HERMES_BENCH_RG` the program.
pub fn search() -> Vec<Row> {
    let made = tempfile::tempdir().unwrap();
    let root = match std::env::var_os("HERMES_BENCH_TREE") {
        Some(tree) => PathBuf::from(tree),
        None => {
            checkout(made.path());
            made.path().to_owned()
        }
    };
    let rg = std::env::var("HERMES_BENCH_RG").unwrap_or_else(|_| "rg".into());
    let caller = Caller::new(&root);
    let cases: [(&str, Value, &[&str]); 4] = [
        ("search, a rare word", json!({"pattern": NEEDLE, "limit": 50}), &["-n", NEEDLE]),
        ("search, a regex", json!({"pattern": r"let \w+_word\b", "limit": 50}), &["-n", r"let \w+_word\b"]),
        ("search, count of a word", json!({"pattern": "ab", "output_mode": "count", "limit": 10}), &["-c", "ab"]),
        (
            "search, files by name",
            json!({"pattern": "*_12*.rs", "target": "files", "limit": 1_000}),
            &["--files", "-g", "*_12*.rs"],
        ),
    ];
    let case = |(name, args, theirs): &(&str, Value, &[&str])| {
        let (mut own, mut other) = (Cost::NONE, Cost::NONE);
        let mut found = Value::Null;
        for _ in 0..ROUNDS {
            own.round(|| found = caller.call("search_files", args)["total_count"].take());
            other.round(|| {
                let done = Command::new(&rg).args(*theirs).current_dir(&root).stdout(Stdio::null()).status();
                assert!(done.is_ok(), "no `{rg}` to compare with: name it with HERMES_BENCH_RG");
            });
        }
        let note = format!("{found} found; processor {:.0} ms, rg {:.0} ms", own.cpu * 1e3, other.cpu * 1e3);
        row(name, format!("{} / {}", ms(own.best), ms(other.best)), "1.2 ×", note)
    };
    cases.iter().map(case).collect()
}

/// Edits of a file of 5 MB: plan (with the diff for the screen) and run (with the write).
pub fn patch() -> Vec<Row> {
    let folder = tempfile::tempdir().unwrap();
    let caller = Caller::new(folder.path());
    let path = folder.path().join("large.rs");
    let line = |n: usize| format!("    let value_{n} = compute(value_{}, \"some text\");\n", n / 2);
    let text: String = (0..)
        .map(line)
        .scan(0, |size, line| {
            *size += line.len();
            (*size < 5 << 20).then_some(line)
        })
        .collect();
    let count = text.lines().count();
    let hunk = |at: usize| format!("@@\n {}-{}+    let other_{at} = 0;\n {}", line(at), line(at + 1), line(at + 2));
    let v4a = format!(
        "*** Begin Patch\n*** Update File: large.rs\n{}{}{}*** End Patch\n",
        hunk(100),
        hunk(count / 2),
        hunk(count - 100)
    );
    let old = format!("{}{}", line(count / 2), line(count / 2 + 1));
    let cases = [
        ("patch, replace", json!({"path": "large.rs", "old_string": old, "new_string": "    // gone\n"})),
        (
            "patch, replace, other indentation",
            json!({"path": "large.rs", "old_string": old.replace("    let", "  let"), "new_string": "  // gone\n"}),
        ),
        ("patch, V4A with three hunks", json!({"patch": v4a})),
        ("write_file", json!({"path": "large.rs", "content": text.replace("value_777", "other")})),
    ];
    let mut rows = Vec::new();
    for (name, args) in &cases {
        let tool = if *name == "write_file" { "write_file" } else { "patch" };
        let mut cost = Cost::NONE;
        for _ in 0..ROUNDS {
            fs::write(&path, &text).unwrap();
            cost.round(|| {
                let result = caller.call(tool, args);
                assert!(result.get("error").is_none(), "{result}");
            });
        }
        rows.push(row(name, ms(cost.best), "50 ms", format!("best of {ROUNDS}, processor {:.0} ms", cost.cpu * 1e3)));
    }
    rows
}

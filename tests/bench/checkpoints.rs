//! What a checkpoint around a command costs in a tree of 50,000 files, inside this process.

use crate::measures::{Row, median, ms, row};
use hermes::checkpoints::{Checkpoints, Settings};
use hermes::store::Blobs;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

const FILES: usize = 50_000;
const FOLDERS: usize = 2_500;
const ROUNDS: usize = 50;

fn tree(root: &Path) {
    for folder in 0..FOLDERS {
        fs::create_dir_all(root.join(format!("d{}/e{folder}", folder % 50))).unwrap();
    }
    for n in 0..FILES {
        let folder = n % FOLDERS;
        let text = format!("{n}\n").repeat(200 + n % 400);
        fs::write(root.join(format!("d{}/e{folder}/f{n}.rs", folder % 50)), text).unwrap();
    }
}

/// Baseline, baseline again, and commands that change nothing, one file and a thousand.
pub fn checkpoints() -> Vec<Row> {
    let dir = tempfile::tempdir().unwrap();
    let (root, home) = (dir.path().join("work"), dir.path().join("home"));
    fs::create_dir_all(&root).unwrap();
    tree(&root);
    let settings = Settings {
        blobs: Blobs::new(home.join("history")),
        known: home.join("tree"),
        baseline_bytes: 2_000_000_000,
        ours: vec![home],
        user_home: None,
    };
    let baseline = || {
        let began = Instant::now();
        let workspace = Checkpoints::default().of(&root, settings.clone());
        workspace.prepare();
        assert_eq!(workspace.ready(Duration::from_secs(600)), Ok(true));
        (workspace, began.elapsed())
    };
    let (workspace, first) = baseline();
    let around = |work: &dyn Fn(usize)| {
        let times = (0..ROUNDS).map(|n| {
            let began = Instant::now();
            let mark = workspace.begin(None).unwrap();
            let begun = began.elapsed();
            work(n);
            let ended = Instant::now();
            mark.end();
            begun + ended.elapsed()
        });
        median(times.collect())
    };
    let quiet = around(&|_| {});
    let one = around(&|n| fs::write(root.join("d0/e0/f0.rs"), n.to_string()).unwrap());
    let many = around(&|n| {
        for file in 0..1_000 {
            fs::write(root.join(format!("d1/e1/new{file}")), (n * 1_000 + file).to_string()).unwrap();
        }
    });
    // The list of what was found is written after it is ready.
    let known = settings.known.clone();
    let until = Instant::now() + Duration::from_secs(60);
    while !known.exists() && Instant::now() < until {
        std::thread::yield_now();
    }
    drop(workspace);
    let (_, again) = baseline();
    vec![
        row("baseline, 50,000 files", ms(first), "", "read, hashed and kept for the first time"),
        row("the same again", ms(again), "", "nothing was touched since"),
        row("a quiet command", ms(quiet), "5 ms", "the watch saw nothing"),
        row("a command, 1 file", ms(one), "", ""),
        row("a command, 1,000 files", ms(many), "", ""),
    ]
}

//! What the gate's judgement of a line costs, by shape and length, with the look-ups on this disk.

use crate::measures::{Row, row};
use hermes::policy::{Intent, Mode, Rules, decide};
use hermes::tools::world::LocalWorld;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Lines of about 200 bytes, as agents write them.
const SHORT: &[&str] = &[
    "cd crates/core && cargo test --all-features -- --nocapture 2>&1 | tee /tmp/test.log | grep -E 'FAILED|panicked|error' | head -50; echo \"exit ${PIPESTATUS[0]}\"; git status --short | wc -l; git log -3",
    "for f in $(git diff --name-only HEAD~1 -- '*.rs'); do sed -i 's/old_name/new_name/g' \"$f\" && rustfmt --edition 2024 \"$f\" || echo \"failed: $f\"; done; find . -name '*.orig' -exec rm -f {} +",
    "docker run --rm -v \"$PWD\":/src -w /src -e CI=1 node:22 sh -c 'npm ci --no-audit && npm run build && npm test -- --runInBand' > build.log 2>&1; tail -20 build.log; sudo sh -c 'chown -R 1000 dist'",
    "python3 - <<'EOF'\nimport json, sys\ndata = json.load(open('package.json'))\nprint(data['version'], len(data.get('dependencies', {})))\nEOF\ngrep -rn --include='*.ts' 'TODO' src | cut -d: -f1 | sort | uniq -c",
];

/// Pieces that are repeated up to 64 KB, by name.
const LONG: &[(&str, &str)] = &[
    ("words", "word "),
    ("list", "ls -l; "),
    ("pipes", "cat a | "),
    ("and", "cd a && "),
    ("quotes", "echo 'a b' \"c $x\"; "),
    ("braces", "echo {a,b}{1..3}; "),
    ("substitutions", "echo $(date); "),
    ("nested", "$(echo "),
    ("loop bodies", "for i in a; do echo $i; done; "),
    ("here-documents", "cat <<E\ntext\nE\n"),
    ("assignments", "x=a$x; "),
    ("deletions", "rm -f b; "),
    ("redirections", "echo a > b; "),
    ("values that grow", "export PATH=$PATH:a || "),
    ("scripts", "./gradlew publish & "),
    ("find", "find . -exec rm {} +; "),
    ("read again", "$((1+x=<<E\n"),
    ("operators", "a|"),
    ("base64", "QUJDREVGR0g="),
];

fn judge(line: &str, world: &LocalWorld, cwd: &Path) -> Duration {
    let intent = Intent::Command { line: line.into(), cwd: cwd.to_owned(), background: false };
    let began = Instant::now();
    std::hint::black_box(decide(&intent, &Rules::default(), Mode::Ask, world));
    began.elapsed()
}

/// The median of a short line and of each long shape.
pub fn judge_lines() -> Vec<Row> {
    let folder = tempfile::tempdir().unwrap();
    let cwd: PathBuf = folder.path().join("project");
    std::fs::create_dir_all(cwd.join("src")).unwrap();
    let world = LocalWorld::new(folder.path().into(), folder.path().join(".hermes"));
    let median = |line: &str, times: usize| {
        let mut all: Vec<Duration> = (0..times).map(|_| judge(line, &world, &cwd)).collect();
        all.sort();
        all[times / 2]
    };
    let micros = |time: Duration| format!("{:.0} µs", time.as_secs_f64() * 1e6);
    let mut rows: Vec<Row> = SHORT
        .iter()
        .enumerate()
        .map(|(at, line)| {
            let name = format!("judge, short line {}", at + 1);
            row(&name, micros(median(line, 201)), "300 µs", format!("{} bytes", line.len()))
        })
        .collect();
    rows.extend(LONG.iter().map(|(name, piece)| {
        let line = piece.repeat(64 * 1024 / piece.len());
        row(&format!("judge, {name}"), crate::measures::ms(median(&line, 5)), "50 ms", "64 KB")
    }));
    rows
}

//! Two corpora of generated lines, of one shape: what destroys, opens or hands out something has to be asked about
//! (`destructive`), what a day's work consists of has to pass (`everyday`). A table that grows is measured by both at once:
//! one printed line tells the misses and the false questions.

mod destructive;
mod everyday;

use super::testing::Machine;
use super::{is_simple, single};
use hermes::policy::{Intent, Mode, Rules, Verdict, decide};
use std::collections::BTreeSet;
use std::fmt;

/// Lines of one kind: each form with each combination of what its slots can hold. `{name}` in a form is the slot of that
/// name; other braces stand for themselves.
pub struct Kind {
    pub name: &'static str,
    pub forms: &'static [&'static str],
    pub slots: &'static [(&'static str, &'static [&'static str])],
}

/// A half of the corpus: its lines, and what else they are written in (`@` is the line, `%` the line in single quotes).
pub struct Half {
    pub kinds: &'static [&'static [Kind]],
    pub around: &'static [&'static str],
}

/// The share of lines of each half that may be judged wrongly, in percent.
const MAX_MISSES: f64 = 1.0;
const MAX_FALSE: f64 = 1.0;
/// The fewest lines that each half is worth something with.
const FEWEST_DESTRUCTIVE: usize = 849;
const FEWEST_EVERYDAY: usize = 537;

/// The machine that the lines are about: a project with some work in it.
const MACHINE: Machine = Machine {
    files: &[
        "/home/alice/project/Makefile",
        "/home/alice/project/app.db",
        "/home/alice/project/notes.txt",
        "/home/alice/project/package.json",
        "/home/alice/project/src",
        "/home/alice/project/src/main.py",
    ],
    links: &[],
    texts: &[
        ("/home/alice/project/drop.sql", "begin;\ndrop table users;\ncommit;\n"),
        ("/home/alice/project/report.sql", "select name, count(*) from users group by name;\n"),
        ("/home/alice/project/schema.sql", "create table if not exists users (id int primary key, name text);\n"),
    ],
    ..super::testing::ALICE
};

impl Kind {
    fn lines(&self) -> Vec<String> {
        let mut all: Vec<String> = self.forms.iter().map(|form| (*form).to_owned()).collect();
        for (name, values) in self.slots {
            let mark = format!("{{{name}}}");
            all = all
                .into_iter()
                .flat_map(|line| {
                    if line.contains(&mark) {
                        values.iter().map(|value| line.replace(&mark, value)).collect()
                    } else {
                        vec![line]
                    }
                })
                .collect();
        }
        all
    }
}

impl Half {
    /// Every line once plainly and, where it is one simple command, once in other surroundings; with the name of its kind.
    fn lines(&self) -> Vec<(&'static str, String)> {
        let (mut all, mut known) = (Vec::new(), BTreeSet::new());
        for kind in self.kinds.iter().copied().flatten() {
            for line in kind.lines() {
                let around = self.around[known.len() % self.around.len()];
                if !known.insert(line.clone()) {
                    continue;
                }
                let dressed = is_simple(&line).then(|| around.replace('%', &single(&line)).replacen('@', &line, 1));
                all.push((kind.name, line));
                all.extend(dressed.map(|line| (kind.name, line)));
            }
        }
        all
    }

    /// How many lines there are, and those that are judged otherwise than this half wants.
    fn wrong(&self, passes: bool) -> (usize, Vec<String>) {
        let all = self.lines();
        let count = all.len();
        let judged = all.into_iter().map(|(kind, line)| (judge(&line), kind, line));
        let wrong = judged.filter(|(verdict, ..)| matches!(verdict, Verdict::Allow(_)) != passes);
        let tell = |(verdict, kind, line): (Verdict, &str, String)| {
            let why = verdict.reasons().first().map(|why| format!(" ({})", why.effect)).unwrap_or_default();
            format!("{} {kind}: {line}{why}", verdict.name())
        };
        (count, wrong.map(tell).collect())
    }
}

/// What the gate says of a line of alice's project.
pub fn judge(line: &str) -> Verdict {
    let intent = Intent::Command { line: line.into(), cwd: "/home/alice/project".into(), background: false };
    decide(&intent, &Rules::default(), Mode::Ask, &MACHINE)
}

/// Both halves judged: lines, and those that are judged wrongly.
struct Measured {
    destructive: usize,
    misses: Vec<String>,
    everyday: usize,
    asked: Vec<String>,
}

impl Measured {
    fn new() -> Self {
        let (destructive, misses) = destructive::HALF.wrong(false);
        let (everyday, asked) = everyday::HALF.wrong(true);
        Self { destructive, misses, everyday, asked }
    }

    #[expect(clippy::cast_precision_loss, reason = "some thousand lines")]
    fn percent(wrong: &[String], all: usize) -> f64 {
        100.0 * wrong.len() as f64 / all.max(1) as f64
    }

    fn missed(&self) -> f64 {
        Self::percent(&self.misses, self.destructive)
    }

    fn wrongly(&self) -> f64 {
        Self::percent(&self.asked, self.everyday)
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (misses, asked) = (self.misses.len(), self.asked.len());
        write!(f, "judge: {misses} of {} destructive lines pass unasked ({:.1} %), ", self.destructive, self.missed())?;
        write!(f, "{asked} of {} everyday lines ask ({:.1} %)", self.everyday, self.wrongly())
    }
}

#[test]
fn misses_and_false_questions() {
    let measured = Measured::new();
    eprintln!("{measured}");
    let wrong = || measured.misses.iter().chain(&measured.asked).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(measured.missed() <= MAX_MISSES && measured.wrongly() <= MAX_FALSE, "{measured}\n{}", wrong());
    let enough = measured.destructive >= FEWEST_DESTRUCTIVE && measured.everyday >= FEWEST_EVERYDAY;
    assert!(enough, "too few lines: {measured}");
}

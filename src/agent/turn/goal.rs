//! A goal: what it is made of, what a judge says, and what follows. Pure.

use crate::protocol::{Goal, GoalState};
use std::hash::{Hash as _, Hasher as _};

/// Where it is stored with the session.
pub const GOAL: &str = "goal";
/// Turns after which a person is asked, whatever the judge says.
const ROUNDS: u32 = 50;
/// Judgements in a row that see no way on.
const STUCK: u32 = 2;
/// Characters of a goal, of a check, and of what is missing.
const TEXT: usize = 8_000;
const MISSING: usize = 600;
/// What a line of a check begins with.
const CHECK: &str = "check:";

/// What a judge says after a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Met(String),
    NotYet(String),
    Stuck(String),
    /// A check failed: which, and the end of its output.
    Failed {
        why: String,
        output: String,
    },
    /// Nobody could judge: why.
    None(String),
}

/// What follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// A turn with these words to the model.
    GoOn(String),
    /// The session waits for a person.
    Wait,
}

/// A goal from what a person wrote.
///
/// # Errors
/// There is nothing in it, or too much.
pub fn read(text: &str) -> Result<Goal, String> {
    if text.chars().count() > TEXT {
        return Err(format!("a goal has at most {TEXT} characters: put the rest into a file and name it"));
    }
    let (mut words, mut checks) = (Vec::new(), Vec::new());
    for line in text.lines() {
        match line.trim().strip_prefix(CHECK).map(str::trim) {
            Some("") => return Err("`check:` needs a command behind it".into()),
            Some(command) => checks.push(command.to_owned()),
            None => words.push(line),
        }
    }
    let words = words.join("\n").trim().to_owned();
    if words.is_empty() {
        return Err("say what the goal is: /goal TEXT, with lines `check: COMMAND` if commands decide".into());
    }
    Ok(Goal { text: words, checks, ..Goal::default() })
}

/// The first words of the session towards it.
pub fn begin(goal: &Goal) -> String {
    let checks: Vec<String> = goal.checks.iter().map(|check| format!("\n- `{check}` exits with 0")).collect();
    let checks = if checks.is_empty() { String::new() } else { format!("\nIt is met when:{}", checks.concat()) };
    format!("{}{checks}", goal.text)
}

/// What a model answered: its first line says `MET`, `NOT YET` or `STUCK`, the rest why.
pub fn verdict(answer: &str) -> Verdict {
    let answer = answer.trim();
    let plain = answer.trim_start_matches(['*', '#', ' ']);
    let says = |word: &str| {
        let begins = plain.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word));
        begins && !plain[word.len()..].starts_with(char::is_alphanumeric)
    };
    let rest = |word: &str| {
        let text = plain.get(word.len()..).unwrap_or_default().trim_start_matches(['*', ':', '.', '-', '—', ' ', '\n']);
        cut(text)
    };
    if says("NOT YET") {
        Verdict::NotYet(rest("NOT YET"))
    } else if says("STUCK") {
        Verdict::Stuck(rest("STUCK"))
    } else if says("MET") {
        Verdict::Met(rest("MET"))
    } else {
        let said = if answer.is_empty() { String::new() } else { format!(": {}", cut(answer)) };
        Verdict::None(format!("the judge gave no verdict{said}"))
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MISSING) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Counts a judgement and says what follows.
pub fn judged(goal: &mut Goal, verdict: Verdict) -> Next {
    goal.rounds += 1;
    let mut shown = String::new();
    let (state, why) = match verdict {
        Verdict::Met(why) => (GoalState::Met, why),
        // A check that fails alike turn after turn is no way on, either.
        Verdict::Failed { why, output } => {
            let like = mark(&output);
            goal.stuck = if like == goal.like { goal.stuck + 1 } else { 0 };
            (goal.like, shown) = (like, output);
            (if goal.stuck >= STUCK { GoalState::Stuck } else { GoalState::Working }, why)
        }
        Verdict::NotYet(missing) => {
            goal.stuck = 0;
            (GoalState::Working, missing)
        }
        Verdict::Stuck(why) => {
            goal.stuck += 1;
            (if goal.stuck >= STUCK { GoalState::Stuck } else { GoalState::Working }, why)
        }
        Verdict::None(why) => (GoalState::Paused, why),
    };
    (goal.state, goal.why) = (state, why);
    if state != GoalState::Working {
        return Next::Wait;
    }
    if goal.rounds >= ROUNDS {
        goal.state = GoalState::Paused;
        goal.why = format!("{ROUNDS} turns were taken; missing: {}", goal.why);
        return Next::Wait;
    }
    let how = if goal.stuck > 0 { "Try another way" } else { "Go on" };
    let shown = if shown.is_empty() { shown } else { format!("\nIts output ends with:\n{shown}") };
    Next::GoOn(format!("[The goal is not met yet. Goal: {}\nMissing: {}{shown}\n{how}.]", goal.text, goal.why))
}

/// A number for an output, the same where only figures differ: times, counts, addresses.
fn mark(output: &str) -> u64 {
    let mut hash = std::hash::DefaultHasher::new();
    output.chars().filter(|c| c.is_alphabetic()).for_each(|c| c.hash(&mut hash));
    // Zero is none.
    hash.finish().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_stand_in_lines_of_their_own() {
        let goal = read("make it green\ncheck: cargo test\n  check: cargo fmt --check\nand fast").unwrap();
        assert_eq!(goal.text, "make it green\nand fast");
        assert_eq!(goal.checks, ["cargo test", "cargo fmt --check"]);
        assert!(
            begin(&goal).ends_with("It is met when:\n- `cargo test` exits with 0\n- `cargo fmt --check` exits with 0")
        );
        assert!(read(" \n ").unwrap_err().contains("/goal TEXT"));
        assert!(read("x\ncheck:").unwrap_err().contains("needs a command"));
        assert!(read(&"x".repeat(TEXT + 1)).is_err());
    }

    #[test]
    fn the_first_words_are_the_verdict() {
        for (answer, expected) in [
            ("MET: all tests pass", Verdict::Met("all tests pass".into())),
            ("**NOT YET** — two tests fail", Verdict::NotYet("two tests fail".into())),
            ("stuck\nno network", Verdict::Stuck("no network".into())),
        ] {
            assert_eq!(verdict(answer), expected, "{answer}");
        }
        for other in ["Metrics are still missing", "Method unclear", "stuckness", "NOT YETI"] {
            assert!(matches!(verdict(other), Verdict::None(_)), "{other}");
        }
        assert_eq!(verdict("I think so"), Verdict::None("the judge gave no verdict: I think so".into()));
        assert_eq!(verdict(" "), Verdict::None("the judge gave no verdict".into()));
    }

    #[test]
    fn a_check_that_fails_alike_is_no_way_on() {
        let failed = |output: &str| Verdict::Failed { why: "`t` exited with 1".into(), output: output.into() };
        let mut goal = Goal { text: "g".into(), checks: vec!["t".into()], ..Goal::default() };
        let next = judged(&mut goal, failed("2 failed in 1.5 s"));
        assert!(matches!(next, Next::GoOn(text) if text.contains("ends with:\n2 failed in 1.5 s\nGo on")));
        judged(&mut goal, failed("1 failed in 2 s: a"));
        let next = judged(&mut goal, failed("1 failed in 3 s: a"));
        assert!(matches!(next, Next::GoOn(text) if text.contains("Try another way")));
        assert_eq!((judged(&mut goal, failed("1 failed in 4 s: a")), goal.state), (Next::Wait, GoalState::Stuck));
    }

    #[test]
    fn it_goes_on_until_it_is_met_or_stuck_twice() {
        let goal = || Goal { text: "g".into(), ..Goal::default() };
        let mut one = goal();
        assert!(
            matches!(judged(&mut one, Verdict::NotYet("a".into())), Next::GoOn(text) if text.contains("Missing: a\nGo on."))
        );
        assert_eq!((judged(&mut one, Verdict::Met("b".into())), one.state), (Next::Wait, GoalState::Met));
        let mut one = goal();
        assert!(
            matches!(judged(&mut one, Verdict::Stuck("a".into())), Next::GoOn(text) if text.contains("Try another way"))
        );
        assert_eq!((judged(&mut one, Verdict::Stuck("a".into())), one.state), (Next::Wait, GoalState::Stuck));
        let mut one = Goal { stuck: 1, ..goal() };
        judged(&mut one, Verdict::NotYet(String::new()));
        assert_eq!(one.stuck, 0, "two in a row");
        let mut one = Goal { rounds: ROUNDS - 1, ..goal() };
        assert_eq!((judged(&mut one, Verdict::NotYet("a".into())), one.state), (Next::Wait, GoalState::Paused));
        let mut one = goal();
        assert_eq!((judged(&mut one, Verdict::None("x".into())), one.state), (Next::Wait, GoalState::Paused));
    }
}

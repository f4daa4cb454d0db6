//! The judge under random input: it never panics, never takes long, and nothing that is put around a refused command
//! makes it milder. `HERMES_FUZZ_SECONDS` says how long (a few seconds unless set), `HERMES_FUZZ_SEED` with which numbers.

mod corpus;
mod pieces;
#[path = "../src/policy/testing.rs"]
mod testing;

use base64::Engine;
use hermes::policy::{About, Intent, Matches, Mode, Rules, Verdict, World, decide, files, glob};
use pieces::{AROUND, ASKED, BEFORE, CODE, HARMLESS, NEUTRAL, PIECES, READERS, REFUSED};
use std::time::{Duration, Instant};

fn judge(line: &str, mode: Mode) -> Verdict {
    let intent = Intent::Command { line: line.into(), cwd: "/home/alice/project".into(), background: false };
    decide(&intent, &Rules::default(), mode, &testing::ALICE)
}

/// How long to go on, and the numbers to go by.
fn setting() -> (Duration, fastrand::Rng) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let seed = number("HERMES_FUZZ_SEED").unwrap_or(20_260);
    (Duration::from_secs(number("HERMES_FUZZ_SECONDS").unwrap_or(4)), fastrand::Rng::with_seed(seed))
}

fn single(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn double(text: &str) -> String {
    let escaped: String =
        text.chars().flat_map(|c| (r#"\"$`"#.contains(c)).then_some('\\').into_iter().chain([c])).collect();
    format!("\"{escaped}\"")
}

fn coded(text: &str) -> String {
    base64::engine::general_purpose::STANDARD.encode(text)
}

/// A command that can stand behind a wrapper as words.
fn is_simple(text: &str) -> bool {
    let of_shell = ["! ", "A=1 ", "time ", "trap ", "eval ", "x=", "exec ", "command "];
    !text.contains(['|', '&', ';', '(', ')', '<', '>', '\n', '`'])
        && !of_shell.iter().any(|word| text.trim_start().starts_with(word))
}

/// One more thing around a command. `None`: it does not fit this one.
fn wrapped(text: &str, numbers: &mut fastrand::Rng) -> Option<String> {
    if numbers.bool() {
        let before = numbers.choice(BEFORE)?;
        return is_simple(text).then(|| format!("{before} {text}"));
    }
    let around = *numbers.choice(AROUND)?;
    // A comment or a job at the end would take in what comes after it.
    // What a part of a pipe defines is gone after it.
    let defines =
        ["x=", "f()", "function ", ":()", "set -- ", "read ", "a=(", "alias "].iter().any(|word| text.contains(word));
    if defines && (around.starts_with("ls |") || around.ends_with("| cat")) {
        return None;
    }
    // So is what `exec` opens in a part of a pipe.
    if text.contains("exec") && around.starts_with("ls |") {
        return None;
    }
    // Programs that read lines: the next one is another command of theirs.
    let lines = ["dc ", "ed ", "vim ", "gdb ", "just ", "read ", "IFS= read ", "psql ", "sqlite3 ", "printf %s % | x"]
        .iter()
        .any(|name| around.starts_with(name))
        || around.contains("xargs -d");
    if lines && text.contains('\n') {
        return None;
    }
    // A file that runs itself is followed to a bound, where it is always asked about.
    let runs = |file: &str| around.contains(file) && text.contains(file);
    if ["> s", "> p", "tee p"].iter().any(|file| runs(file)) || around.contains(" p ") && text.contains(" p ") {
        return None;
    }
    let ends = text.ends_with('&') || text.contains(" # ") || text.contains("<<");
    if ends && around.contains('@') && !around.ends_with("@") {
        return None;
    }
    let (word, filled) = [("%s %", format!("%s {}", single(text))), ("&&&", double(text)), ("##", coded(text))]
        .into_iter()
        .find(|(mark, _)| around.contains(mark))
        .unwrap_or_else(|| if around.contains('@') { ("@", text.to_owned()) } else { ("%", single(text)) });
    Some(around.replacen(word, &filled, 1))
}

/// One word of a simple command in another spelling.
fn respelled(text: &str, numbers: &mut fastrand::Rng) -> String {
    if !is_simple(text) || text.contains(['{', '$', '~', '\'', '"']) {
        return text.to_owned();
    }
    let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    let at = numbers.usize(..words.len());
    let word = words[at].clone();
    let each = |form: fn(u8) -> String| word.bytes().map(form).collect::<String>();
    words[at] = match numbers.u8(..8) {
        0 => single(&word),
        1 => double(&word),
        2 => word.chars().map(|c| format!("\\{c}")).collect(),
        3 => format!("$'{}'", each(|byte| format!("\\x{byte:02x}"))),
        4 => format!("$'{}'", each(|byte| format!("\\{byte:03o}"))),
        5 => format!("$(echo {})", single(&word)),
        6 if word.len() > 1 => {
            let cut = numbers.usize(1..word.len());
            let inside = numbers.choice(["''", "\"\"", "\\\n", "$(:)"]).unwrap_or("");
            format!("{}{inside}{}", &word[..cut], &word[cut..])
        }
        _ => word,
    };
    words.join(&" ".repeat(numbers.usize(1..4)))
}

/// A line with things around it.
fn dressed(inner: &str, numbers: &mut fastrand::Rng) -> String {
    let mut line = respelled(inner, numbers);
    for _ in 0..numbers.usize(1..4) {
        line = wrapped(&line, numbers).unwrap_or(line);
    }
    line
}

/// Random lines until the time is over; those that do not hold, the shortest first.
fn lines_that_fail(make: impl Fn(&mut fastrand::Rng) -> (String, Mode), holds: impl Fn(&Verdict) -> bool) {
    let (time, mut numbers) = setting();
    let until = Instant::now() + time;
    let (mut tried, mut wrong) = (0_u64, Vec::new());
    while Instant::now() < until {
        let (line, mode) = make(&mut numbers);
        tried += 1;
        let verdict = judge(&line, mode);
        if !holds(&verdict) && wrong.len() < 40 {
            wrong.push(format!("{}: {line:?}", verdict.name()));
        }
    }
    wrong.sort_by_key(String::len);
    assert!(wrong.is_empty(), "{} of {tried}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn nothing_around_a_refused_command_makes_it_milder() {
    let make = |numbers: &mut fastrand::Rng| {
        let mode = if numbers.bool() { Mode::Ask } else { Mode::Yolo };
        let inner = *numbers.choice(REFUSED).unwrap();
        (dressed(inner, numbers), mode)
    };
    lines_that_fail(make, |verdict| matches!(verdict, Verdict::Refuse(_)));
}

#[test]
fn what_is_asked_is_asked_whatever_is_around_it() {
    let make = |numbers: &mut fastrand::Rng| {
        let inner = *numbers.choice(ASKED).unwrap();
        (dressed(inner, numbers), Mode::Ask)
    };
    lines_that_fail(make, |verdict| !matches!(verdict, Verdict::Allow(_)));
}

#[test]
fn what_passes_does_so_in_everyday_surroundings() {
    let make = |numbers: &mut fastrand::Rng| {
        let inner = *numbers.choice(HARMLESS).unwrap();
        let around = *numbers.choice(NEUTRAL).unwrap();
        (around.replacen('%', &single(inner), 1).replacen('@', inner, 1), Mode::Ask)
    };
    lines_that_fail(make, |verdict| matches!(verdict, Verdict::Allow(_)));
}

#[test]
fn any_code_is_read_without_a_panic() {
    let (time, mut numbers) = setting();
    let until = Instant::now() + time;
    let mut slowest = (Duration::ZERO, String::new());
    while Instant::now() < until {
        let code: String = (0..numbers.usize(1..16)).map(|_| *numbers.choice(CODE).unwrap()).collect();
        let line = numbers.choice(READERS).unwrap().replacen('%', &single(&code), 1);
        let began = Instant::now();
        let verdict = judge(&line, Mode::Ask);
        if began.elapsed() > slowest.0 {
            slowest = (began.elapsed(), line.clone());
        }
        for why in verdict.reasons() {
            assert!(line.get(why.span.clone()).is_some(), "{:?} is no part of {line:?}", why.span);
        }
    }
    // Unoptimised code on a busy machine.
    assert!(slowest.0 < Duration::from_secs(5), "{:?}: {:?}", slowest.0, slowest.1);
}

#[test]
fn any_text_is_judged_soon_and_without_a_panic() {
    let (time, mut numbers) = setting();
    let until = Instant::now() + time;
    let cases: Vec<String> = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/approval.jsonl"))
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["command"].as_str().unwrap().to_owned())
        .collect();
    let mut slowest = (Duration::ZERO, String::new());
    while Instant::now() < until {
        let mut line = String::new();
        match numbers.u8(..4) {
            // anything
            0 => line.extend((0..numbers.usize(..200)).map(|_| numbers.char('\0'..'\u{3000}'))),
            // pieces of shell
            1 | 2 => line.extend((0..numbers.usize(..60)).map(|_| *numbers.choice(PIECES).unwrap())),
            // parts of real commands
            _ => {
                for _ in 0..numbers.usize(1..6) {
                    let case: Vec<char> = numbers.choice(&cases).unwrap().chars().collect();
                    let from = numbers.usize(..case.len());
                    line.extend(&case[from..(from + numbers.usize(..40)).min(case.len())]);
                    line.push_str(numbers.choice(PIECES).unwrap());
                }
            }
        }
        let began = Instant::now();
        let manual = judge(&line, Mode::Ask);
        let took = began.elapsed();
        if took > slowest.0 {
            slowest = (took, line.clone());
        }
        // What is refused is refused in every mode, and what is always asked is asked.
        let off = judge(&line, Mode::Yolo);
        let holds = match &manual {
            Verdict::Refuse(_) => matches!(off, Verdict::Refuse(_)),
            Verdict::AskAlways(_) => matches!(off, Verdict::AskAlways(_)),
            Verdict::Allow(_) | Verdict::Ask(_) | Verdict::DeniedByRule(_) => true,
        };
        assert!(holds, "{} became {}: {line:?}", manual.name(), off.name());
        for why in manual.reasons() {
            assert!(line.get(why.span.clone()).is_some(), "{:?} is no part of {line:?}", why.span);
        }
    }
    // Unoptimised code on a busy machine.
    assert!(slowest.0 < Duration::from_secs(5), "{:?}: {:?}", slowest.0, slowest.1);
}

//! Lines that look like an error or a warning, found in a flood without reading it word by word.

use aho_corasick::AhoCorasick;
use std::sync::LazyLock;

/// How bad a line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alarm {
    Error,
    Warning,
}

/// What an alarm begins or ends with, as programs write it. The last ones are warnings.
const WORDS: [&str; 22] = [
    "error",
    "Error",
    "ERR",
    "panic",
    "PANIC",
    "Panic",
    "FAIL",
    "failed",
    "failure",
    "Failed",
    "Failure",
    "fatal",
    "Fatal",
    "FATAL",
    "xception",
    "Traceback",
    "Segmentation fault",
    "undefined reference",
    "not ok",
    "warning",
    "Warning",
    "WARN",
];
const WARNINGS: usize = 19;

static FINDER: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| AhoCorasick::new(WORDS).ok());

/// What the line looks like: an error wins over a warning.
pub fn of(line: &str) -> Option<Alarm> {
    let mut found = None;
    for hit in FINDER.as_ref()?.find_iter(line) {
        if !is_word(line.as_bytes(), hit.start(), hit.end()) || is_none(line, hit.start(), hit.end()) {
            continue;
        }
        if hit.pattern().as_usize() < WARNINGS {
            return Some(Alarm::Error);
        }
        found = Some(Alarm::Warning);
    }
    found
}

/// The lines of `bytes` that may be alarms, as ranges without their line feeds, with the line feeds before each.
pub fn candidates(bytes: &[u8]) -> impl Iterator<Item = (std::ops::Range<usize>, u64)> {
    let (mut at, mut lines) = (0, 0);
    std::iter::from_fn(move || {
        let hit = FINDER.as_ref()?.find(bytes.get(at..)?)?;
        let begin = memchr::memrchr(b'\n', &bytes[..at + hit.start()]).map_or(0, |before| before + 1);
        let end = memchr::memchr(b'\n', &bytes[at + hit.end()..]).map_or(bytes.len(), |after| at + hit.end() + after);
        lines += count(&bytes[at.min(begin)..begin]);
        let found = (begin..end, lines);
        // The search goes on at the next line.
        lines += 1;
        at = end + 1;
        Some(found)
    })
}

/// Line feeds in `bytes`.
pub fn count(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// Not a piece of a longer name: `thiserror`, `on_error`, `src/error.rs` say nothing. `TypeError` does.
fn is_word(line: &[u8], begin: usize, end: usize) -> bool {
    let before = begin.checked_sub(1).map(|at| line[at]);
    let joined = match before {
        Some(b'_' | b'/' | b'\\') => true,
        Some(before) => {
            let camel = line[begin].is_ascii_uppercase() && before.is_ascii_lowercase();
            let inside = line[begin..].starts_with(b"xception");
            before.is_ascii_alphabetic() && !camel && !inside
        }
        None => false,
    };
    let after = line.get(end..).unwrap_or_default();
    let goes_on = match after {
        [b'_', ..] => true,
        [b'.' | b'-', next, ..] => next.is_ascii_alphanumeric(),
        _ => false,
    };
    !joined && !goes_on
}

/// The line says that there is none: `0 errors`, `no failures`, `failed: 0`.
fn is_none(line: &str, begin: usize, end: usize) -> bool {
    let before = line[..begin].split_ascii_whitespace().next_back().unwrap_or_default();
    let before = before.trim_start_matches(['(', '[', ',']);
    let after = line[end..].trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let value = after.trim_start_matches([':', '=', ' ']);
    // `warning: 0 errors` counts something else.
    let zero = value
        .strip_prefix('0')
        .is_some_and(|rest| rest.trim_start().is_empty() || rest.starts_with([',', ';', ')', ']']));
    matches!(before, "0" | "no" | "No" | "without") || (zero && after.starts_with([':', '=']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_apart() {
        for (line, want) in [
            ("error: expected `;`", Some(Alarm::Error)),
            ("error[E0308]: mismatched types", Some(Alarm::Error)),
            ("src/a.c:3:1: error: unknown type name", Some(Alarm::Error)),
            ("2026-01-01 ERROR disk is full", Some(Alarm::Error)),
            ("npm ERR! code ELIFECYCLE", Some(Alarm::Error)),
            ("TypeError: x is not a function", Some(Alarm::Error)),
            ("java.lang.NullPointerException: null", Some(Alarm::Error)),
            ("thread 'main' panicked at src/main.rs:1:2:", Some(Alarm::Error)),
            ("FAILED tests/test_a.py::test_b - assert 1 == 2", Some(Alarm::Error)),
            ("--- FAIL: TestX (0.00s)", Some(Alarm::Error)),
            ("make: *** [Makefile:2: all] Error 2", Some(Alarm::Error)),
            ("fatal: not a git repository", Some(Alarm::Error)),
            ("Traceback (most recent call last):", Some(Alarm::Error)),
            ("test result: FAILED. 1 passed; 1 failed", Some(Alarm::Error)),
            ("not ok 3 - parses", Some(Alarm::Error)),
            ("warning: unused variable", Some(Alarm::Warning)),
            ("[WARN] deprecated", Some(Alarm::Warning)),
            ("warning: 0 errors", Some(Alarm::Warning)),
            ("   Compiling thiserror v2.0.1", None),
            ("adding src/error.rs", None),
            ("running on_error_handler", None),
            ("test result: ok. 7 passed; 0 failed; 0 ignored", None),
            ("no errors, no warnings", None),
            ("errors: 0", None),
            ("gcc -Werror -c a.c", None),
            ("available ports", None),
            ("", None),
        ] {
            assert_eq!(of(line), want, "{line}");
        }
    }

    proptest::proptest! {
        /// Every line that is an alarm is among the candidates, with its own number.
        #[test]
        fn candidates_are_whole_lines(lines in proptest::collection::vec("(error: é|ok|warning x|error error|)", 0..12)) {
            let text = lines.join("\n");
            let found: Vec<(u64, String)> = candidates(text.as_bytes())
                .map(|(range, before)| (before, text[range].to_owned()))
                .collect();
            let want: Vec<(u64, String)> = (0u64..)
                .zip(&lines)
                .filter(|(_, line)| of(line).is_some())
                .map(|(number, line)| (number, line.clone()))
                .collect();
            proptest::prop_assert_eq!(found, want);
        }
    }
}

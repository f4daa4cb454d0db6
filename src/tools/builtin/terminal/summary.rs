//! The few words of a shell line that say what it does.

use super::scan::{Segment, mask, segments, words};

/// A short form of a command for one line: without the preparation (`cd`, `export`), redirections and pipes into
/// `head` and the like; further commands are counted.
pub fn shell_summary(line: &str) -> String {
    let line = line.trim();
    let masked = mask(line);
    let parts: Vec<_> = segments(line, &masked, false).into_iter().filter(|s| !is_preparation(s)).collect();
    let Some((first, others)) = parts.split_first() else { return one_line(line) };
    // The head of a loop says nothing without what it does: its own words are the shortest true ones.
    if !others.is_empty() && is_compound(first) {
        return one_line(line);
    }
    let text = one_line(&without_plumbing(first));
    match others.len() {
        0 => text,
        1 => format!("{text} + 1 command"),
        n => format!("{text} + {n} commands"),
    }
}

/// Whether a command goes on in the next segments: a loop, a condition, a function.
fn is_compound(segment: &Segment<'_>) -> bool {
    let first = words(segment).first().copied().unwrap_or_default();
    matches!(first, "for" | "while" | "until" | "if" | "case" | "select" | "function") || first.ends_with("()")
}

/// A whole command on one line: a person checks by it what ran, so nothing of it is left out.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_preparation(segment: &Segment<'_>) -> bool {
    // What runs or writes something is no mere preparation.
    if segment.text.contains("$(") || segment.text.contains('`') || segment.masked.split_whitespace().any(writes) {
        return false;
    }
    match words(segment).as_slice() {
        [] => true,
        ["cd" | "pushd" | "popd" | "export" | "set" | "unset" | "source" | "." | "true" | "false" | ":", ..] => true,
        ["do" | "then" | "else" | "done" | "fi" | "esac"] => true,
        // A line drawn between two outputs.
        ["echo", rest @ ..] => rest.iter().all(|w| w.chars().all(|c| "-=*#_~+'\"".contains(c))),
        _ => false,
    }
}

/// Whether a word sends output to a file, as far as it alone tells: not to nothing, not to another stream.
fn writes(word: &str) -> bool {
    let target = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '&');
    target.starts_with('>') && !target.starts_with(">&") && !target.contains("/dev/null")
}

/// The pipeline without `| head` and the like at its end, and without what only leads streams elsewhere. A file that is
/// written to stays.
fn without_plumbing(segment: &Segment<'_>) -> String {
    let mut pipes = segments(segment.text, segment.masked, true);
    while pipes.len() > 1
        && pipes.last().is_some_and(|p| {
            matches!(words(p).first(), Some(&("head" | "tail" | "wc" | "sort" | "uniq")))
                && !p.masked.split_whitespace().any(writes)
        })
    {
        pipes.pop();
    }
    let end = pipes
        .last()
        .map_or(segment.text.len(), |p| p.text.as_ptr() as usize - segment.text.as_ptr() as usize + p.text.len());
    let (text, masked) = (&segment.text[..end], &segment.masked[..end]);
    let mut kept = Vec::new();
    let mut at = 0;
    let mut skip_target = false;
    let mut opened: Option<&str> = None;
    for word in masked.split([' ', '\t', '\n']) {
        let shown = &text[at..at + word.len()];
        at += word.len() + 1;
        if word.is_empty() {
            continue;
        }
        let redirects = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '&');
        if let Some(arrow) = opened.take() {
            // The file stands apart from its arrow.
            if !shown.contains("/dev/null") {
                kept.extend([arrow, shown]);
            }
        } else if writes(word) && redirects.chars().all(|c| matches!(c, '>' | '|')) {
            opened = Some(shown);
        } else if writes(word) {
            kept.push(shown);
        } else if skip_target {
            skip_target = false;
        } else if redirects.starts_with('>') || redirects.starts_with('<') && !redirects.starts_with("<<") {
            skip_target = redirects.chars().all(|c| matches!(c, '>' | '<' | '|' | '&'));
        } else {
            kept.push(shown);
        }
    }
    // A group that was split has its closing bracket in another segment.
    let opens = |word: &&&str| matches!(**word, "{" | "(");
    let brackets = kept.iter().take_while(opens).count();
    if brackets < kept.len() && !masked.contains(['}', ')']) {
        kept.drain(..brackets);
    }
    if kept.is_empty() { text.trim().to_owned() } else { kept.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_command_is_one_line() {
        assert_eq!(
            one_line("cd x &&  cargo build 2>&1 | tail -5\nrm -rf build"),
            "cd x && cargo build 2>&1 | tail -5 rm -rf build"
        );
    }

    #[test]
    fn cases() {
        let cases = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/shell-summary.jsonl"));
        for line in cases.lines() {
            let case: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(shell_summary(case["command"].as_str().unwrap()), case["summary"], "{case}");
        }
    }

    #[test]
    fn many_commands_and_redirections() {
        assert_eq!(shell_summary("make > /tmp/x 2>&1; ls &>f; pwd"), "make > /tmp/x + 2 commands");
        assert_eq!(shell_summary("make 2>/dev/null >> log > /dev/null"), "make >> log");
        assert_eq!(shell_summary("KEY=x ./run <in 2>&1"), "KEY=x ./run");
        assert_eq!(shell_summary("cd a && export X=$(./run) && make"), "export X=$(./run) + 1 command");
        assert_eq!(shell_summary("cd `./where`; make"), "cd `./where` + 1 command");
        assert_eq!(shell_summary("make | tail > kept.txt"), "make | tail > kept.txt");
        assert_eq!(shell_summary(": > kept.txt; make"), ": > kept.txt + 1 command");
        assert_eq!(shell_summary("for f in *; do\n  cat $f\ndone"), "for f in *; do cat $f done");
        assert_eq!(shell_summary(""), "");
        assert_eq!(shell_summary("grep 'a | head' x | sort | uniq -c"), "grep 'a | head' x");
    }
}

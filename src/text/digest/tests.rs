//! What is shown of long texts.

use super::*;

const MOST: Most = Most { tokens: 4_000, chars: 50_000, line: 2_000 };

fn whole(text: &str) -> Digest {
    Digest::of(Source { head: text, tail: None }, &MOST)
}

fn shown(text: &str) -> String {
    whole(text).text("all of it: here")
}

fn numbers(upto: usize) -> String {
    (1..=upto).map(|n| format!("{n}\n")).collect()
}

#[test]
fn what_fits_is_shown_as_it_is() {
    for text in ["", "a\n\n\n\nb", &numbers(500), &"é".repeat(1_900)] {
        assert!(whole(text).is_whole());
        assert_eq!(shown(text), text);
    }
}

#[test]
fn numbers_keep_their_ends_within_the_bound() {
    let text = shown(&numbers(100_000));
    assert!(tokens::weigh(&text) <= 4_000, "{}", tokens::weigh(&text));
    assert!(text.len() < 12_000, "{}", text.len());
    assert!(text.starts_with("1\n2\n3\n") && text.ends_with("\n99999\n100000\n"), "{text}");
    let (head, rest) = text.split_once(CUT).unwrap();
    let tail = rest.split_once("] ...\n").unwrap().1;
    let share = tokens::weigh(head) * 100 / (tokens::weigh(head) + tokens::weigh(tail));
    assert!((38..=42).contains(&share), "{share}");
    // The words name the lines that are not there.
    let last: u64 = head.trim().lines().last().unwrap().parse().unwrap();
    let first: u64 = tail.trim().lines().next().unwrap().parse().unwrap();
    let missing = first - last - 1;
    let words = format!("{missing} of 100000 lines left out ({}-{}); all of it: here]", last + 1, first - 1);
    assert!(rest.starts_with(&words), "{words} {rest:.200}");
}

/// One alarm in a log, wherever it stands, is in the result, with its own number when it is not part of the ends.
#[test]
fn an_error_anywhere_is_seen() {
    for at in [1, 2, 17, 300, 1_200, 2_500, 3_900, 4_600, 4_999, 5_000] {
        let line = |n: usize| {
            if n == at {
                format!("ERROR: the disk went away at step {n}\n")
            } else {
                format!("[{n:05}] module {} built in {} ms without a word\n", n * 7 % 613, n % 97)
            }
        };
        let log: String = (1..=5_000).map(line).collect();
        let text = shown(&log);
        let error = format!("ERROR: the disk went away at step {at}");
        assert_eq!(text.matches(&error).count(), 1, "{at}");
        let (head, rest) = text.split_once(CUT).unwrap();
        if text.contains("that look like errors") {
            assert!(rest.contains(&format!("\n{at}: {error}\n")), "{at}: {rest:.400}");
            assert!(!head.contains(&error));
        }
        assert!(tokens::weigh(&text) <= 4_000, "{at}");
    }
}

#[test]
fn errors_come_before_warnings_and_their_room_is_bounded() {
    let line = |n: usize| match n {
        n if n % 10 == 0 => format!("warning: {n} is odd {}\n", "w ".repeat(200)),
        4_001 | 4_003 => format!("test t{n} ... FAILED\n"),
        n => format!("line {n} of the log says nothing\n"),
    };
    let log: String = (1..=8_000).map(line).collect();
    let text = shown(&log);
    assert!(text.contains("\n4001: test t4001 ... FAILED\n4003: test t4003 ... FAILED\n"), "{text}");
    let listed = text.lines().filter(|line| line.contains(": warning: ")).count();
    assert!(listed > 2 && listed <= 18, "{listed}");
    assert!(tokens::weigh(&text) <= 4_000);
    let all_bad: String = (0..9_000).map(|n| format!("error: number {n}\n")).collect();
    let text = shown(&all_bad);
    assert!(text.lines().filter(|line| line.contains(": error: ")).count() == ALARMS, "{text}");
}

#[test]
fn progress_is_folded() {
    let crates: String = (0..700).map(|n| format!("   Compiling crate-{n} v0.{n}.0\n")).collect();
    let text = shown(&format!("begin\n{crates}    Finished `dev` profile in 3 s\n"));
    assert_eq!(
        text,
        "begin\n   Compiling crate-0 v0.0.0\n[698 more lines like these]\n   Compiling crate-699 v0.699.0\n    \
         Finished `dev` profile in 3 s\n\n\n[some lines are folded or shortened; all of it: here]"
    );
    let text = shown(&"again and again\n".repeat(100_000));
    assert!(text.starts_with("again and again\n[the same line 99999 more times]\n"), "{text}");
    // An error among the progress is not folded with it.
    let text = shown(&format!("{crates}error: could not compile `crate-700`\n{crates}"));
    assert!(text.contains("\nerror: could not compile `crate-700`\n"), "{text}");
}

#[test]
fn a_line_has_a_bound() {
    let text = shown(&format!("a\n{}\nz", "x".repeat(1_000_000)));
    assert!(text.contains("xxx [… 998060 characters …] xxx") && text.len() < 2_300, "{text}");
    assert!(text.starts_with("a\nxxx") && text.contains("xxx\nz\n\n["), "{text}");
    assert!(shown(&"y".repeat(1_000_000)).len() < 2_300);
    // Lines are numbered as the file has them, where a long one is broken.
    let log = format!("{}\n{}error: here\n{}", "x".repeat(5_000), numbers(3_000), numbers(3_000));
    assert!(shown(&log).contains("\n3004: error: here\n"));
}

#[test]
fn both_ends_of_what_is_not_at_hand() {
    let found = [Found { line: Some(50_000), text: "FAILED: x".into(), alarm: Alarm::Error }];
    let (head, end) = (numbers(9_000), numbers(9_000));
    let source = |first| Source { head: &head, tail: Some(Tail { text: &end, first, found: &found }) };
    let text = Digest::of(source(Some(91_001)), &MOST).text("w");
    assert!(text.contains(" of 100000 lines left out ("), "{text:.9000}");
    assert!(text.contains("\n50000: FAILED: x\n") && text.ends_with("9000\n"));
    assert!(Digest::of(source(None), &MOST).text("w").contains("TRUNCATED - the middle; w]"));
}

#[test]
fn characters_are_a_bound_of_their_own() {
    let most = Most { chars: 1_000, ..MOST };
    let text = Digest::of(Source { head: &numbers(9_000), tail: None }, &most).text("w");
    assert!(text.chars().count() <= 1_000, "{}", text.chars().count());
}

proptest::proptest! {
    /// Whatever the text: no panic, within the bound, and head and tail are parts of it.
    #[test]
    fn any_text(lines in proptest::collection::vec("(é{0,40}|error: [a-z ]{0,30}|[ -~]{0,90}|%|12%|)", 0..200), tokens in 150usize..900) {
        let text = lines.join("\n");
        let most = Most { tokens, chars: 100_000, line: 50 };
        let digest = Digest::of(Source { head: &text, tail: None }, &most);
        let shown = digest.text("w");
        proptest::prop_assert!(tokens::weigh(&shown) <= tokens + 20, "{} > {}", tokens::weigh(&shown), tokens);
        if digest.is_whole() {
            proptest::prop_assert_eq!(shown, text);
        }
    }
}

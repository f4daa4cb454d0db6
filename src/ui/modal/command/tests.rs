//! Reasons under their words.

use super::*;

fn why(effect: &str, text: &str, span: Range<usize>) -> Why {
    Why { effect: effect.into(), text: text.into(), span }
}

fn shown(line: &str, reasons: &[Why], room: usize) -> Vec<String> {
    rows(line, reasons, room).iter().map(|row| row.line.text()).collect()
}

#[test]
fn reasons_hang_under_their_words() {
    let line = "rm -rf build/ && git clean -fdx";
    let reasons = [why("recursive delete", "", 0..13), why("clean", "deletes untracked files", 17..31)];
    assert_eq!(
        shown(line, &reasons, 80),
        [
            "rm -rf build/ && git clean -fdx",
            "─────────────    ──────────────",
            "│                └─ clean: deletes untracked files",
            "└─ recursive delete",
        ]
    );
}

#[test]
fn a_class_is_named_once_with_all_its_words_underlined() {
    let line = "rm -rf a; rm -rf b; git push -f";
    let reasons = [
        why("recursive delete", "deletes folders", 0..8),
        why("recursive delete", "deletes folders", 10..18),
        why("force push", "", 20..31),
    ];
    assert_eq!(
        shown(line, &reasons, 60),
        [
            "rm -rf a; rm -rf b; git push -f",
            "1───────  1───────  2──────────",
            "1 recursive delete: deletes folders",
            "2 force push",
        ]
    );
    // One class alone needs no number; two sentences about it stand together.
    let reasons = [why("recursive delete", "deletes a", 0..8), why("recursive delete", "deletes b", 10..18)];
    assert_eq!(
        shown("rm -rf a; rm -rf b", &reasons, 60),
        ["rm -rf a; rm -rf b", "────────  ────────", "└─ recursive delete: deletes a; deletes b"]
    );
}

#[test]
fn where_there_is_no_room_to_hang_numbers_tell_the_words() {
    let line = "rm -rf build/ ~/.cache/app && git clean -fdx";
    let reasons = [
        why("recursive delete", "deletes folders and all in them", 0..26),
        why("git clean", "deletes untracked and ignored files", 30..44),
    ];
    assert_eq!(
        shown(line, &reasons, 50),
        [
            "rm -rf build/ ~/.cache/app && git clean -fdx",
            "1─────────────────────────    2─────────────",
            "1 recursive delete: deletes folders and all in",
            "  them",
            "2 git clean: deletes untracked and ignored files",
        ]
    );
}

#[test]
fn words_that_go_on_in_the_next_row_are_underlined_there_too() {
    let line = "rm -rf aaaa bbbb cccc";
    assert_eq!(
        shown(line, &[why("recursive delete", "", 0..21)], 12),
        ["rm -rf aaaa", "───────────", "└─ recursive", "   delete", "bbbb cccc", "─────────"]
    );
}

#[test]
fn nothing_hides_and_nothing_is_cut() {
    let line = format!("echo {}\u{1b}[8m; rm -rf x\u{202e}", "x".repeat(200));
    let reasons = [why("recursive delete", "", line.find("rm").unwrap_or(0)..line.len())];
    let all = shown(&line, &reasons, 40).join("");
    assert!(all.contains("␛[8m") && all.contains("⟨U+202E⟩") && all.contains("rm -rf x"), "{all}");
    assert!(all.contains("recursive delete"));
}

#[test]
fn reasons_without_words_stand_below() {
    assert_eq!(shown("ls", &[why("unknown", "", 0..0)], 20), ["ls", "· unknown"]);
}

#[test]
fn rows_fit_any_room() {
    let line = "find . -name '*.日本語' -delete; curl x | sh\nrm -rf a";
    let reasons = [why("delete", "many files", 24..31), why("pipe to shell", "runs it", 33..44), why("rm", "", 45..53)];
    for room in 8..60 {
        for row in rows(line, &reasons, room) {
            assert!(row.line.width() <= room, "{room}: {:?}", row.line.text());
        }
    }
}

#[test]
fn a_very_long_one_keeps_its_head_its_tail_and_every_reason() {
    let line = (1..=60).map(|at| format!("echo {at}")).collect::<Vec<_>>().join("\n");
    let start = line.find("echo 30").unwrap();
    let reasons = [why("delete", "goes", start..start + 7), why("about nothing", "", 0..0)];
    let mut all = explained(&line, &reasons, 40);
    assert_eq!((all.rows.len(), all.named.len()), (63, 3));
    assert!(all.fold(9, "m: show them"));
    let rows: Vec<String> = all.rows.iter().map(|row| row.line.text()).collect();
    assert_eq!(
        rows,
        [
            "echo 1",
            "echo 2",
            "echo 3",
            "echo 4",
            "echo 5",
            "echo 6",
            "⋯ 23 more rows: m: show them",
            "echo 30",
            "───────",
            "└─ delete: goes",
            "⋯ 27 more rows: m: show them",
            "echo 58",
            "echo 59",
            "echo 60",
            "· about nothing",
        ]
    );
    assert_eq!(all.named, [8, 9, 14]);
    let mut short = explained("ls", &[], 40);
    assert!(!short.fold(9, "m"));
}

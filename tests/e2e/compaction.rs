//! A long conversation on the screen: compacted by a person, read, undone; what fills its window, changed.

use crate::harness::{Home, Mock, Term};

#[test]
fn a_person_compacts_reads_undoes_and_sees_what_fills_the_window() {
    let mock = Mock::start(vec![]);
    let home = Home::with(&mock, "");
    let mut term = Term::sized(&home, &[], (120, 40));
    term.wait("❯");
    for n in 0..8 {
        let before = mock.count();
        term.paste(&format!("prompt {n} {}", "many words of it ".repeat(60))).send("\r");
        term.shows("answered", |text| mock.count() > before && !text.contains("to stop"));
    }
    term.send("/compact the lexer\r").wait("compacted");
    let asked = mock.requests().last().unwrap()["messages"].to_string();
    assert!(asked.contains("<entries>") && asked.contains("the lexer"), "{asked}");
    term.send("/compact show\r").wait("What the summary stands for");
    term.send("\x1b").gone("What the summary stands for");
    let before = mock.count();
    term.send("and now?\r").shows("answered", |text| mock.count() > before && !text.contains("to stop"));
    let sent = mock.requests().last().unwrap()["messages"].to_string();
    assert!(sent.contains("CONTEXT COMPACTION") && !sent.contains("prompt 3 many"), "{sent}");
    term.send("/compact undo\r").wait("undid the compaction");
    term.send("/context\r").wait("Next request:").wait("session · ≈");
    term.send("\x1b").gone("Next request:");
    let before = mock.count();
    term.send("once more\r").shows("answered", |text| mock.count() > before && !text.contains("to stop"));
    let sent = mock.requests().last().unwrap()["messages"].to_string();
    assert!(sent.contains("prompt 3 many") && !sent.contains("CONTEXT COMPACTION"), "{sent}");
}

//! Markdown as rows of text.

use super::*;

fn shown(source: &str, width: usize) -> String {
    let rows = render(source, width, &mut Highlighter::default());
    rows.iter().map(|row| row.line.text().trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

#[test]
fn blocks() {
    let table: &[(&str, &str)] = &[
        ("", ""),
        ("# One\n\ntext", "One\n\ntext"),
        ("a\nb", "a b"),
        ("a  \nb", "a\nb"),
        ("- a\n- b\n  - c\n    1. d\n- e", "• a\n• b\n  ◦ c\n    1. d\n• e"),
        ("3. a\n4. b", "3. a\n4. b"),
        ("- a\n\n- b", "• a\n\n• b"),
        ("- [x] done\n- [ ] open", "✓ done\n○ open"),
        ("> quoted\n> more\n\nafter", "│ quoted more\n\nafter"),
        ("> a\n>\n> b", "│ a\n│\n│ b"),
        ("text\n```rust\nlet x;\n```\nafter", "text\n\n  rust\n  let x;\n\nafter"),
        ("```\na\n\n  b\n```", "  a\n\n    b"),
        ("a\n\n---\n\nb", "a\n\n────────────────────\n\nb"),
        ("![a cat](x.png)", "[image: a cat]"),
        ("[text](http://x.y)", "text (http://x.y)"),
        ("<http://x.y>", "http://x.y"),
        ("<div>\nhi\n</div>\n\nx", "<div>\nhi\n</div>\n\nx"),
        ("- a\n  ```\n  x\n  ```\n- b", "• a\n    x\n\n• b"),
        ("a `b` **c** *d* ~~e~~", "a b c d e"),
        ("-\n- b", "•\n• b"),
    ];
    for (source, expected) in table {
        assert_eq!(&shown(source, 20), expected, "{source:?}");
    }
}

#[test]
fn tables_have_no_boxes() {
    let source = "| file | n |\n|---|--:|\n| a.rs | 10 |\n| b | 2 |";
    assert_eq!(shown(source, 40), "file   n\n────────\na.rs  10\nb      2");
}

#[test]
fn prose_is_narrower_than_code() {
    let source = format!("{}\n\n```\n{}\n```", "word ".repeat(60), "x".repeat(140));
    let rows = render(&source, 160, &mut Highlighter::default());
    assert!(rows.iter().take(3).all(|row| row.line.width() <= READING_WIDTH));
    assert_eq!(rows.last().map(|row| row.line.width()), Some(142));
}

#[test]
fn rows_never_pass_the_width() {
    let source =
        "# H\n\n- a long item with 日本語 words\n  > quote\n\n| a | b |\n|-|-|\n| x y z | 1 |\n\n```rs\nfn f() {}\n```";
    for width in 1..60 {
        for row in render(source, width, &mut Highlighter::default()) {
            // Prefixes alone may pass a width that has no room for them.
            assert!(row.line.width() <= width.max(8), "{width}: {:?}", row.line.text());
        }
    }
}

#[test]
fn links_lead_somewhere() {
    let rows = render("see [docs](https://x.y/z)", 80, &mut Highlighter::default());
    let link = rows[0].line.spans.iter().find(|span| span.text == "docs").and_then(|span| span.link.clone());
    assert_eq!(link.as_deref(), Some("https://x.y/z"));
}

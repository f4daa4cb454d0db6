//! Reads of files made for them.

use super::*;
use crate::protocol::Outcome;
use crate::tools::testing::Bench;

async fn read(bench: &Bench, args: Value) -> Value {
    serde_json::from_str(&bench.call("read_file", args).await.content).unwrap()
}

#[tokio::test]
async fn pages_with_a_gutter() {
    let bench = Bench::new();
    bench.write("f", "\u{feff}one\r\ntwo\nthree");
    let all = read(&bench, json!({"path": "f"})).await;
    assert_eq!(all["content"], "1|one\n2|two\n3|three");
    assert_eq!((&all["total_lines"], &all["truncated"]), (&json!(3), &json!(false)));
    let part = read(&bench, json!({"path": "f", "offset": 2, "limit": 1})).await;
    assert_eq!((&part["content"], &part["next_offset"]), (&json!("2|two"), &json!(3)));
    assert!(part["hint"].as_str().unwrap().contains("offset=3"));
    let past = read(&bench, json!({"path": "f", "offset": 9})).await;
    assert!(past["hint"].as_str().unwrap().contains("past the end"));
    bench.write("empty", "");
    assert_eq!(read(&bench, json!({"path": "empty"})).await["total_lines"], 0);
}

#[tokio::test]
async fn documents_are_read_as_text() {
    let bench = Bench::new();
    bench.write("n.ipynb", r#"{"cells": [{"cell_type": "code", "source": "x = 1\ny = 2"}]}"#);
    let page = read(&bench, json!({"path": "n.ipynb", "offset": 2, "limit": 1})).await;
    assert_eq!((&page["content"], &page["extracted_document"]), (&json!("2|x = 1"), &json!(true)));
    bench.write("plain.ipynb", "no notebook\n");
    let page = read(&bench, json!({"path": "plain.ipynb"})).await;
    assert_eq!((&page["content"], &page["extracted_document"]), (&json!("1|no notebook"), &Value::Null));
}

#[tokio::test]
async fn large_pages_are_cut_at_a_line() {
    let bench = Bench::new();
    bench.write("f", &format!("{}\n", "x".repeat(1_000)).repeat(300));
    let page = read(&bench, json!({"path": "f"})).await;
    assert_eq!((&page["truncated_by"], &page["total_lines"]), (&json!("bytes"), &json!(300)));
    let next = page["next_offset"].as_u64().unwrap();
    let more = read(&bench, json!({"path": "f", "offset": next})).await;
    assert!(more["content"].as_str().unwrap().starts_with(&format!("{next}|")));
}

#[tokio::test]
async fn the_configuration_bounds_lines() {
    let mut bench = Bench::new();
    let mut config = crate::config::Config::default();
    config.tool_output.max_lines = 2;
    config.tool_output.max_line_length = 80;
    bench.config = std::sync::Arc::new(config);
    bench.write("f", &format!("{}\n{}\nthree\n", "x".repeat(80), "y".repeat(81)));
    let page = read(&bench, json!({"path": "f", "limit": 100})).await;
    let lines: Vec<&str> = page["content"].as_str().unwrap().lines().collect();
    assert_eq!(lines, [format!("1|{}", "x".repeat(80)), format!("2|{}... [truncated]", "y".repeat(80))]);
    assert_eq!(page["next_offset"], 3);
}

#[tokio::test]
async fn the_same_part_is_not_read_twice() {
    let bench = Bench::new();
    bench.write("f", "a\n");
    read(&bench, json!({"path": "f"})).await;
    assert_eq!(read(&bench, json!({"path": "f"})).await["status"], "unchanged");
    assert!(read(&bench, json!({"path": "f"})).await["error"].as_str().unwrap().contains("blocked"));
    bench.call("todo", json!({})).await;
    assert_eq!(read(&bench, json!({"path": "f"})).await["status"], "unchanged");
    bench.write("f", "changed\n");
    assert_eq!(read(&bench, json!({"path": "f"})).await["content"], "1|changed");
    bench.call("patch", json!({"path": "f", "old_string": "changed", "new_string": "again"})).await;
    assert_eq!(read(&bench, json!({"path": "f"})).await["content"], "1|again");
}

#[tokio::test]
async fn other_encodings_are_read_and_named() {
    let bench = Bench::new();
    let text = "eins für die Größe\nzwei für die Tür\n";
    let (latin, _, _) = encoding_rs::WINDOWS_1252.encode(text);
    let wide: Vec<u8> = [0xFEFF].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let mut broken = text.as_bytes().to_vec();
    broken.push(0xE9);
    for (name, bytes, encoding) in [
        ("latin.txt", latin.as_ref(), json!("windows-1252")),
        ("wide.txt", &wide, json!("UTF-16LE")),
        ("utf8.txt", text.as_bytes(), Value::Null),
        ("broken.txt", &broken, json!("UTF-8, except for bytes shown as �")),
    ] {
        std::fs::write(bench.path(name), bytes).unwrap();
        let page = read(&bench, json!({"path": name, "offset": 1, "limit": 2})).await;
        let last = if name == "broken.txt" { read(&bench, json!({"path": name})).await } else { page.clone() };
        assert!(page["content"].as_str().unwrap().starts_with("1|eins für die Größe\n2|zwei für die Tür"), "{page}");
        assert_eq!(last["encoding"], encoding, "{last}");
    }
    // And edited without another byte being touched.
    let edit = json!({"path": "wide.txt", "old_string": "zwei", "new_string": "drei"});
    let output = bench.call("patch", edit).await;
    assert!(output.view.diffs[0].unified.contains("+drei für die Tür"), "{:?}", output.view.diffs);
    let now = std::fs::read(bench.path("wide.txt")).unwrap();
    let differs = wide.iter().zip(&now).filter(|(old, new)| old != new).count();
    assert_eq!((now.len(), differs), (wide.len(), 2), "`zw` became `dr`");
    let refused = json!({"path": "latin.txt", "old_string": "zwei", "new_string": "→"});
    let output = bench.call("patch", refused).await;
    assert!(output.content.contains("cannot encode `→`"), "{}", output.content);
    assert_eq!(std::fs::read(bench.path("latin.txt")).unwrap(), latin.as_ref());
}

#[tokio::test]
async fn a_picture_is_shown_to_the_model() {
    let bench = Bench::new();
    std::fs::write(bench.path("p.png"), b"\x89PNG\r\n\x1a\n\0rest").unwrap();
    std::fs::write(bench.path("lies.txt"), b"\xff\xd8\xff\xe0rest").unwrap();
    for (path, kind) in [("p.png", "image/png"), ("lies.txt", "image/jpeg")] {
        let output = bench.call("read_file", json!({"path": path})).await;
        assert_eq!(output.images.iter().map(|image| image.media_type.as_str()).collect::<Vec<_>>(), [kind]);
        assert!(output.content.contains(kind), "{}", output.content);
    }
    assert_eq!(read(&bench, json!({"path": "p.png"})).await["status"], "unchanged");
    bench.write("words", "GIF8 is how it begins\n");
    assert_eq!(read(&bench, json!({"path": "words"})).await["content"], "1|GIF8 is how it begins");
}

#[tokio::test]
async fn a_read_past_the_end_says_so_each_time() {
    let bench = Bench::new();
    bench.write("f", "a\nb\n");
    bench.write("empty", "");
    for _ in 0..4 {
        let past = read(&bench, json!({"path": "f", "offset": 500})).await;
        let hint = past["hint"].as_str().unwrap();
        assert!(hint.contains("the file has 2 lines") && past["error"].is_null(), "{past}");
        assert_eq!(read(&bench, json!({"path": "empty"})).await["total_lines"], 0);
    }
    assert_eq!(read(&bench, json!({"path": "f"})).await["content"], "1|a\n2|b");
}

/// Whatever the window, a page ends at a line and says how to go on; nothing is cut out of it.
#[tokio::test]
async fn a_page_never_loses_its_middle() {
    let mut bench = Bench::new();
    bench.room = crate::tools::output::budget::OutputBudget::of_step(Some(8_000), 1);
    let text: String = (1..=5_000).map(|n| format!("line {n} has some words\n")).collect();
    bench.write("f", &text);
    let (mut next, mut seen) = (1, String::new());
    while next <= 5_000 {
        let page = read(&bench, json!({"path": "f", "offset": next, "limit": 2_000})).await;
        for line in page["content"].as_str().unwrap().lines() {
            seen.push_str(&format!("{}\n", line.split_once('|').unwrap().1));
        }
        next = page["next_offset"].as_u64().unwrap_or(5_001);
    }
    assert_eq!(seen, text);
}

#[tokio::test]
async fn what_cannot_be_read_says_why() {
    let bench = Bench::new();
    bench.write("main.rs", "x");
    bench.write("b.bin", "a\0b");
    std::fs::write(bench.path("p.heic"), b"\0\0\0\x18ftypheic").unwrap();
    std::fs::write(bench.path("w"), b"\xFF\xFEa\0\0\0").unwrap();
    for (path, word) in [
        ("Main.rs", "similar_files"),
        ("b.bin", "is_binary"),
        ("p.heic", "is_image"),
        ("w", "is_binary"),
        (".", "folder"),
        ("/dev/zero", "never ends"),
        ("/dev/stdin", "never ends"),
        ("", "path is empty"),
    ] {
        let output = bench.call("read_file", json!({"path": path})).await;
        assert_eq!(output.outcome, Outcome::Failed, "{path}");
        assert!(output.content.contains(word), "{path}: {}", output.content);
    }
    // a document that is none
    std::fs::write(bench.path("d.docx"), b"PK\0\0").unwrap();
    let output = bench.call("read_file", json!({"path": "d.docx"})).await;
    assert!(output.content.contains("d.docx: is not a readable document"), "{}", output.content);
    // text by the name of a binary is text
    bench.write("notes.dat", "plain\n");
    assert_eq!(read(&bench, json!({"path": "notes.dat"})).await["content"], "1|plain");
}

#[tokio::test]
async fn what_a_script_reads_the_model_has_not_seen() {
    let bench = Bench::new();
    bench.write("f", "v1");
    read(&bench, json!({"path": "f"})).await;
    bench.write("f", "version 2");
    let of_script = bench.of_script();
    let page = bench.call_in("read_file", json!({"path": "f"}), of_script.clone()).await;
    assert!(page.content.contains("version 2"), "{}", page.content);
    let path = bench.path("f");
    let (own, within) = (bench.ctx(), of_script);
    let stale = |ctx| crate::tools::file::edit::stale(ctx, &path, "f").unwrap();
    assert!(stale(&own).is_some(), "the model read another file");
    assert!(stale(&within).is_none(), "the script read this one");
    // Lines and pages are whole for it.
    bench.write("long", &format!("{}\n", "x".repeat(9_000)).repeat(30));
    let page = bench.call_in("read_file", json!({"path": "long"}), within).await;
    assert!(!page.content.contains("[truncated]") && page.content.len() > 270_000, "{}", page.content.len());
}

//! Searches in folders made for them.

use super::*;
use crate::protocol::Outcome;
use crate::tools::testing::Bench;

async fn search(bench: &Bench, args: Value) -> Value {
    serde_json::from_str(&bench.call("search_files", args).await.content).unwrap()
}

fn bench() -> Bench {
    let bench = Bench::new();
    std::fs::create_dir(bench.path(".git")).unwrap();
    for (name, text) in [
        ("a.rs", "fn one() {}\nfn two() {}\n"),
        ("sub/b.rs", "// fn one\nlet x = 1;\nfn three() {}\n"),
        ("sub/c.txt", "one\r\ntwo\r\n"),
        (".gitignore", "ignored/\n"),
        ("ignored/d.rs", "fn one() {}\n"),
        (".hidden", "one\n"),
        ("bin", "one\0two"),
    ] {
        bench.write(name, text);
    }
    bench
}

#[tokio::test]
async fn few_matches_are_listed_one_by_one() {
    let result = search(&bench(), json!({"pattern": "fn one"})).await;
    assert_eq!(
        result["matches"],
        json!([{"path": "a.rs", "line": 1, "content": "fn one() {}"}, {"path": "sub/b.rs", "line": 1, "content": "// fn one"}])
    );
    assert_eq!((&result["total_count"], result.get("truncated")), (&json!(2), None));
}

#[tokio::test]
async fn many_matches_are_grouped_and_paged() {
    let bench = bench();
    let all = search(&bench, json!({"pattern": "one|two|three"})).await;
    let text = all["matches_text"].as_str().unwrap();
    assert_eq!(
        text,
        "a.rs\n  1: fn one() {}\n  2: fn two() {}\nsub/b.rs\n  1: // fn one\n  3: fn three() {}\nsub/c.txt\n  1: one\n  2: two\n"
    );
    let page = search(&bench, json!({"pattern": "one|two|three", "limit": 2, "offset": 1})).await;
    assert_eq!(page["matches"][0]["line"], 2);
    assert_eq!(page["matches"][1]["path"], "sub/b.rs");
    assert!(page["truncated"] == json!(true) && page["hint"].as_str().unwrap().contains("offset=3"), "{page}");
    let last = search(&bench, json!({"pattern": "one|two|three", "limit": 2, "offset": 4})).await;
    assert_eq!(last.get("truncated"), None, "{last}");
}

#[tokio::test]
async fn context_stays_with_its_match() {
    let bench = Bench::new();
    bench.write("f", "1\nhit\n3\n4\n5\n6\nhit\n8\n");
    let result = search(&bench, json!({"pattern": "hit", "context": 1})).await;
    assert_eq!(result["matches_text"], "f\n  1- 1\n  2: hit\n  3- 3\n  --\n  6- 6\n  7: hit\n  8- 8\n");
    let second = search(&bench, json!({"pattern": "hit", "context": 1, "offset": 1})).await;
    assert_eq!(second["matches_text"], "f\n  6- 6\n  7: hit\n  8- 8\n");
}

#[tokio::test]
async fn other_modes() {
    let bench = bench();
    let files = search(&bench, json!({"pattern": "one", "output_mode": "files_only"})).await;
    assert_eq!(files["files"], json!(["a.rs", "sub/b.rs", "sub/c.txt"]));
    let counts = search(&bench, json!({"pattern": "fn", "output_mode": "count"})).await;
    assert_eq!(counts["counts"], json!({"a.rs": 2, "sub/b.rs": 2}));
    let shown = bench.call("search_files", json!({"pattern": "fn", "output_mode": "count"})).await.view.output;
    assert_eq!(shown, "a.rs: 2\nsub/b.rs: 2", "the person sees them too");
    let globbed = search(&bench, json!({"pattern": "one", "file_glob": "*.txt"})).await;
    assert_eq!(globbed["matches"][0]["path"], "sub/c.txt");
    let below = search(&bench, json!({"pattern": "one", "path": "sub", "file_glob": "*.{rs,py}"})).await;
    assert_eq!(below["matches"][0]["path"], "sub/b.rs");
    let single = search(&bench, json!({"pattern": "two", "path": "a.rs"})).await;
    assert_eq!(single["matches"][0]["path"], "a.rs");
    let across = search(&bench, json!({"pattern": "one\\(\\) \\{\\}\\nfn two"})).await;
    assert_eq!(across["total_count"], 2, "{across}");
}

#[tokio::test]
async fn no_total_is_made_up() {
    let bench = Bench::new();
    for n in 0..300 {
        bench.write(&format!("f{n:03}"), "hit\nhit\n");
    }
    let all = search(&bench, json!({"pattern": "hit", "output_mode": "count", "limit": 3})).await;
    assert_eq!((&all["total_count"], &all["total_files"]), (&json!(600), &json!(300)), "{all}");
    assert_eq!((all["counts"].as_object().unwrap().len(), all.get("at_least")), (3, None), "{all}");
    for (mode, total) in [("content", 600), ("files_only", 300)] {
        let page = search(&bench, json!({"pattern": "hit", "output_mode": mode, "limit": 3})).await;
        assert_eq!((&page["total_count"], &page["truncated"]), (&json!(total), &json!(true)), "{page}");
        let end = search(&bench, json!({"pattern": "hit", "output_mode": mode, "limit": 1000})).await;
        assert_eq!((&end["total_count"], end.get("truncated")), (&json!(total), None), "{end}");
    }
    // What could not be searched to its end says so.
    let part = Reply { all: 600, more: true, partial: true, ..Reply::default() }.output(0).content;
    assert!(part.contains(r#""at_least":600"#) && part.contains("at least 600, not all"), "{part}");
    assert!(!part.contains("total_count"), "{part}");
    // names are all known
    let names = search(&bench, json!({"pattern": "f*", "target": "files", "limit": 3})).await;
    assert_eq!((&names["total_count"], &names["truncated"]), (&json!(300), &json!(true)), "{names}");
}

/// More matches than are kept at once, of which the first are wanted, in whatever order the files are found.
#[tokio::test]
async fn the_first_of_many_matches_are_shown() {
    let bench = Bench::new();
    for n in 0..400 {
        bench.write(&format!("d{}/f{n:03}", n % 7), &"hit\n".repeat(10));
    }
    for (offset, first) in [(0, "d0/f000"), (15, "d0/f007"), (3_995, "d6/f398")] {
        let page = search(&bench, json!({"pattern": "hit", "limit": 3, "offset": offset})).await;
        assert_eq!((&page["matches"][0]["path"], &page["total_count"]), (&json!(first), &json!(4_000)), "{page}");
    }
}

/// Lines around matches are more rows, but no fewer matches.
#[tokio::test]
async fn context_costs_no_match() {
    let bench = Bench::new();
    let far = format!("hit\n{}", "x\n".repeat(50));
    bench.write("a.log", &far.repeat(30));
    for n in 0..20 {
        bench.write(&format!("b{n:02}"), "hit\n");
    }
    let output = bench.call("search_files", json!({"pattern": "hit", "context": 20})).await;
    assert!(output.content.contains(r#""total_count":50"#) && !output.content.contains("\"truncated\""));
    // The text is bounded by others; what was found for it is counted.
    assert_eq!(output.view.summary, "50 matches");
}

#[tokio::test]
async fn words_are_found_in_other_encodings() {
    let bench = Bench::new();
    let text = "eins Äpfel für alle\nzwei Größe der Tür\n";
    let (latin, _, _) = encoding_rs::WINDOWS_1252.encode(text);
    let wide: Vec<u8> = [0xFEFF].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    for (name, bytes) in [("latin", latin.as_ref()), ("utf8", text.as_bytes()), ("wide", &wide)] {
        std::fs::write(bench.path(name), bytes).unwrap();
    }
    for (pattern, line) in
        [("Äpfel", "eins Äpfel für alle"), ("T.r$", "zwei Größe der Tür"), ("zwei", "zwei Größe der Tür")]
    {
        let found = search(&bench, json!({"pattern": pattern})).await;
        let lines: Vec<_> = found["matches"].as_array().unwrap().iter().map(|hit| &hit["content"]).collect();
        assert_eq!(lines, [line, line, line], "{pattern}: {found}");
    }
    let counts = search(&bench, json!({"pattern": "Größe", "output_mode": "count"})).await;
    assert_eq!(counts["total_count"], 3, "{counts}");
}

#[tokio::test]
async fn files_by_name_newest_first() {
    let bench = bench();
    let old = std::time::SystemTime::now() - Duration::from_secs(3_600);
    std::fs::File::options().write(true).open(bench.path("a.rs")).unwrap().set_modified(old).unwrap();
    let result = search(&bench, json!({"pattern": "*.rs", "target": "files"})).await;
    assert_eq!(result["files"], json!(["sub/b.rs", "a.rs"]));
    for (pattern, want) in [("b.r", json!(["sub/b.rs"])), ("sub/*.txt", json!(["sub/c.txt"])), ("nothing", json!([]))] {
        assert_eq!(search(&bench, json!({"pattern": pattern, "target": "files"})).await["files"], want, "{pattern}");
    }
    let first = bench.call("search_files", json!({"pattern": "*", "target": "files", "limit": 1})).await;
    assert_eq!(first.view.summary, "1+ file");
}

#[tokio::test]
async fn faults_name_the_argument() {
    let bench = bench();
    for (args, word) in [
        (json!({"pattern": "(", }), "regular expression"),
        (json!({"pattern": ""}), "empty"),
        (json!({"pattern": "x", "path": "su"}), "sub"),
        (json!({"pattern": "x", "target": "y"}), "content, files"),
        (json!({"pattern": "x", "output_mode": "y"}), "files_only"),
        (json!({"pattern": "[", "target": "files"}), "glob"),
    ] {
        let output = bench.call("search_files", args.clone()).await;
        assert_eq!(output.outcome, Outcome::Failed, "{args}");
        assert!(output.content.contains(word), "{args}: {}", output.content);
    }
}

#[tokio::test]
async fn long_lines_are_cut() {
    let bench = Bench::new();
    bench.write("f", &format!("hit{}\n", "x".repeat(5_000)));
    let result = search(&bench, json!({"pattern": "hit"})).await;
    assert_eq!(result["matches"][0]["content"].as_str().unwrap().chars().count(), 501);
}

#[tokio::test]
async fn files_with_secrets_are_left_out_unless_they_are_named() {
    let bench = Bench::new();
    // The home of the bench is the folder above.
    let home = bench.ctx().world.home().canonicalize().unwrap();
    let write = |name: &str| {
        std::fs::create_dir_all(home.join(name).parent().unwrap()).unwrap();
        std::fs::write(home.join(name), "one\n").unwrap();
    };
    ["auth.json", "notes", "auth/a/token.json"].iter().for_each(|name| write(&format!(".hermes/{name}")));
    let result = search(&bench, json!({"pattern": "one", "path": "~/.hermes"})).await;
    assert_eq!((&result["total_count"], &result["warning"]), (&json!(1), &json!("left out: 2 files with secrets")));
    let names = search(&bench, json!({"pattern": "auth", "target": "files", "path": "~/.hermes"})).await;
    assert_eq!(names["total_count"], 1, "{names}");
    // By way of a link, and a folder that is secret only under the name of a link.
    std::os::unix::fs::symlink(home.join(".hermes"), bench.path("link")).unwrap();
    assert_eq!(search(&bench, json!({"pattern": "one", "path": "link"})).await["total_count"], 1);
    std::fs::rename(home.join(".hermes"), home.join("kept")).unwrap();
    std::os::unix::fs::symlink(home.join("kept"), home.join(".hermes")).unwrap();
    assert_eq!(search(&bench, json!({"pattern": "one", "path": "~/.hermes"})).await["total_count"], 1);
    // Named itself it is a question for the gate, under its own name; a yes is a yes.
    let planned = bench.plan("search_files", json!({"pattern": "one", "path": "~/.hermes/auth.json"})).await;
    assert_eq!(planned.call.ok().unwrap().intent(), &Intent::Read(bench.ctx().world.home().join(".hermes/auth.json")));
    assert_eq!(search(&bench, json!({"pattern": "one", "path": "~/.hermes/auth"})).await["total_count"], 1);
}

#[tokio::test]
async fn a_hidden_file_that_the_filter_names_is_searched() {
    let bench = bench();
    for (name, text) in
        [(".env", "KEY=one\n"), ("sub/.env", "one\n"), (".git/.env", "one\n"), ("ignored/.env", "one\n")]
    {
        bench.write(name, text);
    }
    bench.write(".gitignore", ".env\nignored/\n");
    let named = search(&bench, json!({"pattern": "one", "file_glob": ".env", "output_mode": "files_only"})).await;
    assert_eq!(named["files"], json!([".env", "ignored/.env", "sub/.env"]), "hidden and ignored, but a yes is a yes");
    assert_eq!(named.get("warning"), None, "{named}");
    // Hidden and no secret: no question, and ignore rules hold.
    let hidden = search(&bench, json!({"pattern": "one", "file_glob": ".hid*", "output_mode": "files_only"})).await;
    assert_eq!(hidden["files"], json!([".hidden"]));
    let usual = search(&bench, json!({"pattern": "one", "output_mode": "files_only"})).await;
    assert_eq!(usual["files"], json!(["a.rs", "sub/b.rs", "sub/c.txt"]));
}

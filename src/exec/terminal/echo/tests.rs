//! What line disciplines show of keys, as tables.

use super::*;

fn discipline(modes: LocalModes) -> Discipline {
    Discipline {
        modes,
        returns: true,
        onlcr: false,
        interrupt: 3,
        quit: 0x1c,
        suspend: 0x1a,
        erase: 0x7f,
        kill: 0x15,
        word: 0x17,
        literal: 0x16,
        reprint: 0x12,
        end: 4,
        stop: 0x13,
        go: 0x11,
    }
}

fn cooked() -> Discipline {
    discipline(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG | LocalModes::IEXTEN)
}

/// Keys of the person on a terminal that showed this.
fn typed<'a>(keys: &'a [u8], shown: &'a [u8]) -> Typed<'a> {
    Typed { keys, person: true, shown, all: true }
}

#[test]
fn of_what_the_agent_typed_only_the_plain_echo_goes() {
    let now = Instant::now();
    let mut echo = Echo::default();
    echo.typed(&Typed { person: false, ..typed(b"ada\x1b[A\r", b"") }, &discipline(LocalModes::empty()), now);
    assert_eq!(&*echo.left(b"ada\x1b[K\r\nhello-ada\r\n$ ada", true, now), b"\x1b[K\r\nhello-ada\r\n$ ada");
}

/// What is left of `output`, read in pieces of every size.
fn left(keys: &[&[u8]], discipline: &Discipline, output: &[u8]) -> String {
    let all: Vec<String> = (1..=output.len())
        .map(|size| {
            let now = Instant::now();
            let mut echo = Echo::default();
            keys.iter().for_each(|keys| echo.typed(&typed(keys, b""), discipline, now));
            let mut left = Vec::new();
            output
                .chunks(size)
                .for_each(|piece| left.extend_from_slice(&echo.left(piece, discipline.modes.is_empty(), now)));
            left.extend(echo.give_up(false, true));
            String::from_utf8(left).unwrap()
        })
        .collect();
    assert!(all.iter().all(|one| *one == all[0]), "{all:?}");
    all[0].clone()
}

/// Keys as they are written, the output after them, what is left of it.
type Case<'a> = (&'a [&'a [u8]], &'a [u8], &'a str);

#[test]
fn echo_goes_and_output_stays() {
    let cases: &[Case] = &[
        (&[b"World\r"], b"Name? World\nhello World\n", "Name? hello World\n"),
        (&[b"W", b"o", b"\r"], b"Wo\nWo\n", "Wo\n"),
        (&[b"ab\x7fc\r"], b"ab\x08 \x08c\nac\n", "ac\n"),
        (&["日\x7f\r".as_bytes()], "日\x08 \x08\nend\n".as_bytes(), "end\n"),
        (&[b"ab cd\x17x\r"], b"ab cd\x08 \x08\x08 \x08x\nab x\n", "ab x\n"),
        (&[b"abc\x15\r"], b"abc\x08 \x08\x08 \x08\x08 \x08\n\n", "\n"),
        (&[b"\x03"], b"^C\ninterrupted\n", "\ninterrupted\n"),
        (&[b"\x16\x1b\r"], b"^\x08^[\nx", "x"),
        (&[b"\x04\x04"], b"end", "end"),
        (&[b"one\rtwo\r"], b"one\nout\ntwo\n", "out\n"),
        (&[b"never"], b"nothing of it, nev", "nothing of it, nev"),
    ];
    for (keys, output, expected) in cases {
        assert_eq!(left(keys, &cooked(), output), *expected, "{output:?}");
    }
}

#[test]
fn a_password_shows_nothing_and_takes_nothing() {
    let silent = discipline(LocalModes::ICANON | LocalModes::ISIG);
    assert_eq!(left(&[b"secret\r"], &silent, b"\nsecret is no word of yours\n"), "\nsecret is no word of yours\n");
    let end = discipline(LocalModes::ICANON | LocalModes::ECHONL);
    assert_eq!(left(&[b"secret\r"], &end, b"\nok\n"), "ok\n");
}

/// What stands for what was left out.
fn out() -> &'static str {
    std::str::from_utf8(editing::LEFT_OUT).unwrap()
}

#[test]
fn of_programs_that_show_keys_by_themselves_the_row_of_the_keys_goes() {
    let raw = discipline(LocalModes::empty());
    assert_eq!(left(&[b"ls\r"], &raw, b"ls\r\nfile\r\n"), "\r\nfile\r\n");
    assert_eq!(left(&[b"l", b"s"], &raw, b"ls\r\nls"), "\r\nls");
    assert_eq!(left(&[b"\r", b"\x04"], &raw, b"\r\nbye"), "\r\nbye", "nothing was typed");
    let note = out();
    for (keys, output, expected) in [
        // What stands in the row of the keys may be anything.
        (&[&b"ada"[..]][..], "hello-ada\n", format!("{note}\n")),
        (&[b"\x1b[A"], "old line", note.to_owned()),
        (&[b"\x1b[A\r"], "old line\r\nits answer\r\n", format!("{note}\r\nits answer\r\n")),
        // Searched for, completed with a list, and rubbed out.
        (&[b"\x12old", b"\r"], "(search)`old': old line\r\nout\r\n", format!("{note}\r\nout\r\n")),
        (&[b"ol\t\td\r"], "ol\r\nold older\r\n$ old\r\nout\r\n", format!("{note}\r\nout\r\n")),
        (&[b"old\x7f\x7fk\r"], "old\x08\x1b[K\x08\x1b[Kk\r\nout\r\n", format!("{note}\r\nout\r\n")),
        // Typed ahead: the second echo stands behind a prompt that comes later.
        (&[b"first\rsecond\r"], "first\r\nout\r\n$ second\r\nmore\r\n", format!("\r\nout\r\n{note}\nmore\r\n")),
        // As it is set, a terminal is set.
        (&[b"\x1b[A\r"], "x\x1b[?2004l\r\nout", "\x1b[?2004l".to_owned() + note + "\r\nout"),
        // A program with the whole screen leaves nothing of it.
        (
            &[b"\x1b:wq\r"],
            "\x1b[?1049hwords\nwords\x1b[?1049lleft\n",
            "\x1b[?1049hwords\nwords\x1b[?1049lleft\n".to_owned(),
        ),
    ] {
        let got = left(keys, &raw, output.as_bytes());
        if keys[0] == b"ol\t\td\r" {
            // How much of a list is left depends on when Enter was pressed, never whether the line shows.
            assert!(!got.contains("$ old") && got.ends_with("out\r\n"), "{got:?}");
            continue;
        }
        assert_eq!(got, expected, "{output:?}");
    }
}

#[test]
fn a_key_alone_costs_one_row_and_what_follows_is_output() {
    let raw = discipline(LocalModes::empty());
    let now = Instant::now();
    let mut echo = Echo::default();
    echo.typed(&typed(b"y", b"go on? "), &raw, now);
    // The program took it and left the terminal as it was: all that it prints is its own.
    assert_eq!(&*echo.left(b"building", false, now), b"building");
    assert_eq!(&*echo.left(b" it\n", false, now), b" it\n");
    echo.give_up(false, false);
    assert!(echo.idle());
    // One that goes on reading keys: a server with keys of its own.
    echo.typed(&typed(b"h", b""), &raw, now);
    assert_eq!(&*echo.left(b"help:\nkeys\n", true, now), format!("{}\nkeys\n", out()).as_bytes());
    // Keys that are no line never swallow more than a list of completions.
    echo.typed(&typed(b"\x1b[B", b""), &raw, now);
    let flood = "row\n".repeat(500);
    let kept = echo.left(flood.as_bytes(), true, now).into_owned();
    assert!(String::from_utf8(kept).unwrap().ends_with(&"row\n".repeat(300)));
}

#[test]
fn an_echo_that_does_not_come_is_not_waited_for() {
    let (mut echo, now) = (Echo::default(), Instant::now());
    echo.typed(&typed(b"x\r", b""), &cooked(), now);
    assert_eq!(&*echo.left(b"later: x\n", false, now + ECHO_WAIT), b"later: x\n");
    assert!(echo.idle());
    echo.typed(&typed(b"x\r", b""), &cooked(), now);
    let flood = vec![b'y'; REACH + 1];
    assert_eq!(echo.left(&flood, false, now).len(), flood.len());
    assert!(echo.idle());
}

/// What is left of the output of a program that shows keys by itself, read in pieces of every size; `shown` came before
/// the keys.
fn left_of_editor(shown: &[u8], keys: &[u8], output: &[u8]) -> String {
    let all: Vec<String> = (1..=output.len())
        .map(|size| {
            let now = Instant::now();
            let mut echo = Echo::default();
            echo.typed(&typed(keys, shown), &discipline(LocalModes::empty()), now);
            let mut left = Vec::new();
            output.chunks(size).for_each(|piece| left.extend_from_slice(&echo.left(piece, true, now)));
            left.extend(echo.give_up(false, true));
            String::from_utf8(left).unwrap()
        })
        .collect();
    assert!(all.iter().all(|one| *one == all[0]), "{all:?}");
    all[0].clone()
}

#[test]
fn a_row_that_an_editor_draws_again_shows_no_key_to_the_model() {
    for shown in [&b"out\nname? "[..], b"name? "] {
        editor_shows_no_key(shown);
    }
}

fn editor_shows_no_key(shown: &[u8]) {
    for (output, expected) in [
        ("ada\r\nhello\r\n", "\r\nhello\r\n".to_owned()),
        // Before the echo, after it, and in its middle.
        ("\r\x1b[Kname? ada\r\nhello\r\n", "\r\nhello\r\n".to_owned()),
        ("ada\r\x1b[K\x1b[?2004hname? ada\r\nhello\r\n", "\x1b[?2004h\r\nhello\r\n".to_owned()),
        ("\r\x1b[Kname? ada\r\x1b[Kname? ada\r\nhello", "\r\nhello".to_owned()),
        // Anything else in that row is doubtful.
        ("\r\x1b[Kother? x\r\n", format!("{}\r\n", out())),
        ("hello\r\x1b[Kname? x", out().to_owned()),
    ] {
        assert_eq!(left_of_editor(shown, b"ada", output.as_bytes()), expected, "{output:?}");
    }
}

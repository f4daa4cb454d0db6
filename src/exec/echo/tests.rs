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

/// What is left of `output`, read in pieces of every size.
fn left(keys: &[&[u8]], discipline: &Discipline, output: &[u8]) -> String {
    let all: Vec<String> = (1..=output.len())
        .map(|size| {
            let now = Instant::now();
            let mut echo = Echo::default();
            keys.iter().for_each(|keys| echo.typed(keys, discipline, now));
            let mut left = Vec::new();
            output.chunks(size).for_each(|piece| left.extend_from_slice(&echo.left(piece, now)));
            left.extend(echo.give_up());
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

#[test]
fn programs_that_echo_themselves_show_what_is_printable() {
    let raw = discipline(LocalModes::empty());
    assert_eq!(left(&[b"ls\r"], &raw, b"ls\r\nfile\r\n"), "\r\nfile\r\n");
    assert_eq!(left(&[b"\x1b[A"], &raw, b"[A stays"), "[A stays");
    assert_eq!(left(&[b"l", b"s"], &raw, b"ls\r\nls"), "\r\nls");
    // What it says of them is its own.
    assert_eq!(left(&[b"ada"], &raw, b"hello-ada\n"), "hello-ada\n");
}

#[test]
fn an_echo_that_does_not_come_is_not_waited_for() {
    let (mut echo, now) = (Echo::default(), Instant::now());
    echo.typed(b"x\r", &cooked(), now);
    assert_eq!(&*echo.left(b"later: x\n", now + PATIENCE), b"later: x\n");
    assert!(echo.idle());
    echo.typed(b"x\r", &cooked(), now);
    let flood = vec![b'y'; REACH + 1];
    assert_eq!(echo.left(&flood, now).len(), flood.len());
    assert!(echo.idle());
}

/// What is left of the output of a program that shows keys by itself, read in pieces of every size; `shown` came before
/// the keys.
fn left_of_editor(shown: &[u8], keys: &[u8], output: &[u8]) -> String {
    let all: Vec<String> = (1..=output.len())
        .map(|size| {
            let now = Instant::now();
            let mut echo = Echo::default();
            echo.begins_at(shown, true);
            echo.typed(keys, &discipline(LocalModes::empty()), now);
            let mut left = Vec::new();
            output.chunks(size).for_each(|piece| left.extend_from_slice(&echo.left(piece, now)));
            left.extend(echo.give_up());
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
    let mut echo = Echo::default();
    echo.begins_at(b"no line has begun here", false);
    assert!(echo.idle());
}

fn editor_shows_no_key(shown: &[u8]) {
    for (output, expected) in [
        ("ada\r\nhello\r\n", "\r\nhello\r\n"),
        // Before the echo, after it, and in its middle.
        ("\r\x1b[Kname? ada\r\nhello\r\n", "\r\nhello\r\n"),
        ("ada\r\x1b[K\x1b[?2004hname? ada\r\nhello\r\n", "\r\nhello\r\n"),
        ("\r\x1b[Kname? ada\r\x1b[Kname? ada\r\nhello", "\r\nhello"),
        // No row that is known: it is output.
        ("\r\x1b[Kother? x\r\n", "\r\x1b[Kother? x\r\n"),
        ("hello\r\x1b[Kname? x", "hello\r\x1b[Kname? x"),
    ] {
        assert_eq!(left_of_editor(shown, b"ada", output.as_bytes()), expected, "{output:?}");
    }
}

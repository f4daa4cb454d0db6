//! What commands print, on terminals of every width and in floods.

use super::*;
use crate::text::Modes;

#[tokio::test]
async fn bytes_arrive_as_they_were_written() {
    let room = room();
    let end = room.run("printf 'a\\r\\nb\\n\\tc\\n'; printf 'd\\n' >&2").await;
    assert_eq!(end.output.head, b"a\r\nb\n\tc\nd\n");
    // However wide they are, nothing breaks them; nor does a program that asks for the width cut them.
    let end = room.run("head -c 3000 /dev/zero | tr '\\0' x; echo; stty size").await;
    let lines: Vec<usize> = end.output.head.split(|b| *b == b'\n').map(<[u8]>::len).collect();
    assert_eq!(lines, [3000, 7, 0]);
}

#[tokio::test]
async fn the_echo_of_keys_is_in_the_pane_and_not_in_the_output() {
    let mut room = room();
    let running = room.start("read -p 'Name? ' x; printf 'hello %s\\n' \"$x\"; read y; cat").await;
    room.exec.command(ProcessCommand::Watch(Some(running.id.clone()), (40, 8)));
    room.screen("Name?").await;
    // Key by key, with a slip; then a paste, and the end of input.
    for key in ["W", "o", "x", "\x7f", "rld", "\r"] {
        room.exec.command(ProcessCommand::Write(running.id.clone(), key.into()));
    }
    room.screen("hello World").await;
    room.exec.command(ProcessCommand::Write(running.id.clone(), b"skipped\rone\rtwo\r".to_vec()));
    let shows = room.screen("two\n").await;
    assert!(shown(&shows).starts_with("Name? World\nhello World\nskipped\n"), "{}", shown(&shows));
    until("cat printed both", || text_of(&running).ends_with("two\n")).await;
    room.exec.command(ProcessCommand::Write(running.id.clone(), b"\x04".to_vec()));
    assert_eq!(text(&finished(&running).await), "Name? hello World\none\ntwo\n");
}

#[tokio::test]
async fn every_editing_key_is_echoed_as_it_is_expected() {
    let room = room();
    for keys in [
        "plain words\r",
        "slip\x7f\x7fx\rtwo\r",
        "two words\x17\x17gone\r",
        "all\x15of it\r",
        "a\ttab\x16\x03literal\x7f\r",
        "日本語\x7f\x7fé\x17\r",
        "again\x12more\r",
        "\x7f\x15\x17none\r",
        "bell\x07 escape\x1b[A\x7f\x7f\x7f\r",
    ] {
        let running = room.start("cat >/dev/null; echo end").await;
        room.exec.write(&running.id, format!("{keys}\x04\x04").as_bytes()).unwrap();
        assert_eq!(text(&finished(&running).await), "end\n", "{keys:?}");
    }
}

#[tokio::test]
async fn a_terminal_is_fitted_once_before_the_first_key() {
    let mut room = room();
    let command = "trap 'printf w' WINCH; stty size; echo ready; read x; stty size; read x; stty size; read x; echo";
    let running = room.start(command).await;
    room.exec.command(ProcessCommand::Watch(Some(running.id.clone()), (50, 10)));
    // The shell has its terminal back from `stty`: the signal goes to whoever has it.
    room.screen("ready").await;
    for wanted in 2..=3 {
        room.exec.command(ProcessCommand::Write(running.id.clone(), b"k\r".to_vec()));
        until("it answers", || text_of(&running).matches("10 50").count() == wanted - 1).await;
    }
    room.exec.command(ProcessCommand::Write(running.id.clone(), b"\r".to_vec()));
    let end = finished(&running).await;
    // The shell runs its trap when `read` is done: once, and before what was typed is answered.
    assert_eq!(text(&end).matches('w').count(), 1, "{}", text(&end));
}

#[tokio::test]
async fn what_the_model_types_leaves_the_width_alone() {
    let room = room();
    let mut spawn = room.spawn("read x; stty size");
    spawn.background = true;
    let running = room.exec.start(spawn).await.unwrap();
    room.exec.write(&running.id, b"k\r").unwrap();
    assert_eq!(text(&finished(&running).await), "24 1000\n");
}

#[tokio::test]
async fn a_program_that_takes_the_whole_screen_gets_the_panes_size() {
    let mut room = room();
    let script = "trap 'printf \"\\033[H\\033[J\"; stty size; printf drawn' WINCH\nprintf '\\033[?1049h\\033[Hfirst'\n\
                  until [ -e go ]; do sleep 0.01; done\nprintf '\\033[?1049l'\n";
    std::fs::write(room.folder.path().join("full"), script).unwrap();
    let command = "echo before; bash ./full; echo after";
    let running = room.start(command).await;
    room.exec.command(ProcessCommand::Watch(Some(running.id.clone()), (50, 10)));
    let screen = room.screen("drawn").await;
    assert!(screen.alternate && shown(&screen).starts_with("10 50\ndrawn"), "{}", shown(&screen));
    std::fs::write(room.folder.path().join("go"), "").unwrap();
    let end = finished(&running).await;
    assert_eq!(crate::text::clean::clean(&end.output.head), "before\nafter\n");
    let screen = room.screen("after").await;
    assert!(!screen.alternate && shown(&screen).starts_with("before\nafter"), "{}", shown(&screen));
}

#[tokio::test]
async fn a_program_that_leaves_its_terminal_in_a_strange_mode_ends_clear() {
    let mut room = room();
    let command =
        "echo before; stty raw -echo; printf '\\033[?1049h\\033[?1000h\\033[?1h\\033[?2004h\\033[?25hmenu'; kill -9 $$";
    let running = room.start(command).await;
    let end = finished(&running).await;
    room.exec.command(ProcessCommand::Watch(Some(running.id.clone()), (40, 5)));
    let screen = room.screen("before").await;
    assert!(!screen.alternate && !shown(&screen).contains("menu"), "{}", shown(&screen));
    assert_eq!((screen.modes, screen.cursor.is_some()), (Modes::default(), true));
    assert_eq!(crate::text::clean::clean(&end.output.head), "before\n");
    // The next command has a terminal of its own.
    assert_eq!(text(&room.run("stty -a | grep -c ' -echo '; echo x").await), "0\nx\n");
}

#[tokio::test]
async fn wide_rows_are_folded_and_bars_stay_one_row() {
    let mut room = room();
    let bar = "for n in 200 500 900; do printf '\\r['; printf '%*s' $n '' | tr ' ' '#'; printf '%*s] %d%%' $((980-n)) '' $((n/10)); done; echo";
    let running = room.start(&format!("printf '%0100d\\n' 5; {bar}; echo end")).await;
    room.exec.command(ProcessCommand::Watch(Some(running.id.clone()), (40, 8)));
    let screen = room.screen("end").await;
    let rows: Vec<String> = shown(&screen).lines().map(str::to_owned).collect();
    assert_eq!((rows[2].len(), rows[4].as_str()), (20, "end"), "{rows:?}");
    assert!(rows[3].starts_with("[####") && rows[3].ends_with("] 90%") && rows[3].len() <= 40, "{rows:?}");
    let text = crate::text::clean::clean(&finished(&running).await.output.head);
    assert_eq!(text.lines().count(), 3, "{text}");
}

#[tokio::test]
async fn invalid_utf8_and_nul_arrive_as_they_are() {
    let end = room().run("printf 'a\\377\\000b\\n'").await;
    assert_eq!(end.output.head, b"a\xff\x00b\n");
}

#[tokio::test]
async fn a_flood_is_bounded_and_complete_at_both_ends() {
    let room = room();
    let end = room.run("seq 1 2700000; printf 'the end'").await;
    let captured = &end.output;
    assert_eq!(captured.total, 20_488_896 + 7);
    assert_eq!((captured.head.len(), captured.tail.len()), (terminal::log::HEAD, terminal::log::TAIL));
    assert!(captured.head.starts_with(b"1\n2\n3\n"));
    assert!(captured.tail.ends_with(b"2700000\nthe end"));
    let spill = captured.spill.clone().unwrap();
    assert_eq!(captured.spilled, captured.total);
    assert_eq!(std::fs::metadata(spill).unwrap().len(), captured.total);
}

#[tokio::test]
async fn one_endless_line_is_no_problem() {
    let end = room().run("head -c 5000000 /dev/zero | tr '\\0' x; echo done").await;
    assert_eq!(end.output.total, 5_000_005);
    assert!(end.output.tail.ends_with(b"xdone\n"));
}

#[tokio::test]
async fn a_flood_through_a_terminal_is_bounded_too() {
    let room = room();
    let mut spawn = room.spawn("seq 1 400000");
    spawn.pty = true;
    let end = finished(&room.exec.start(spawn).await.unwrap()).await;
    assert_eq!(end.output.total, 2_688_895);
    assert!(end.output.tail.ends_with(b"399999\n400000\n"));
}

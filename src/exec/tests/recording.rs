//! What is recorded of real terminals: their screens, never what is typed where it is not shown, and no trouble for them
//! where nothing can be written.

use super::*;
use crate::exec::terminal::input::Kind;
use crate::recordings::{Limits, Terminal, terminals};
use std::path::Path;

fn recorded(change: impl FnOnce(&mut ExecOptions)) -> Room {
    room_with(|options| {
        let home = options.spill.parent().unwrap().join("home");
        std::fs::create_dir_all(&home).unwrap();
        options.recordings = Some(Limits { home, terminal: 1 << 20, all: 1 << 24 });
        change(options);
    })
}

fn all(home: &Path) -> Vec<Terminal> {
    terminals(home, "t").unwrap()
}

fn text(terminal: &Terminal) -> Vec<String> {
    let mut screens = Vec::new();
    let row = |line: &crate::text::Line| line.text();
    terminal
        .each(|frame| {
            screens.push(frame.lines().iter().map(row).collect::<Vec<_>>().join("\n").trim_end().to_owned());
            Ok(())
        })
        .unwrap();
    screens
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let waits = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    assert!(tokio::time::timeout(DEADLINE, waits).await.is_ok(), "never: {what}");
}

#[tokio::test]
async fn screens_are_kept_as_they_change_and_the_last_one_of_a_short_command() {
    let room = recorded(|_| {});
    let home = room.folder.path().join("home");
    let _heard = room.exec.notices_of("t");
    let running =
        room.background("printf 'first screen'; read x; printf '\\033[2J\\033[Hsecond screen'; read x", true).await;
    until("the first screen", || all(&home).first().is_some_and(|it| text(it).concat().contains("first screen"))).await;
    running.process.type_in(b"\r", Kind::Other).unwrap();
    until("the second screen", || text(&all(&home)[0]).last().is_some_and(|it| it.contains("second screen"))).await;
    assert!(!text(&all(&home)[0]).last().unwrap().contains("first screen"));
    running.process.type_in(b"\r", Kind::Other).unwrap();
    until("its end", || all(&home)[0].ended.is_some()).await;
    // Short, and with a secret in what it prints and in its line.
    let done = room.run("echo short sk-ant-REDACTED; exit 3").await;
    assert_eq!(done.exit.code, 3);
    until("the end of the short one", || all(&home).len() == 2 && all(&home)[1].ended.is_some()).await;
    let short = &all(&home)[1];
    assert_eq!((short.ended.unwrap().1, text(short).len()), (3, 1));
    assert!(text(short)[0].starts_with("short") && !text(short)[0].contains("ijklmnop"), "{:?}", text(short));
    assert!(!short.head.command.contains("ijklmnop"), "{}", short.head.command);
    // Nothing to be seen.
    room.run("true").await;
    room.exec.shutdown(true).await;
    assert_eq!(all(&home).len(), 2);
}

#[tokio::test]
async fn what_is_typed_where_it_is_not_shown_is_in_no_recording() {
    let room = recorded(|_| {});
    let home = room.folder.path().join("home");
    let _heard = room.exec.notices_of("t");
    let running = room.background("printf 'Password: '; read -s x; sleep 0.7; echo; echo thanks; read y", true).await;
    let hides = || lock_modes(&running);
    until("the echo is off", || hides() == Some(false)).await;
    // What is on the screen by then may be recorded once it has gone on, and nothing meanwhile.
    let before = all(&home).iter().map(|it| it.changes.len()).sum::<usize>();
    running.process.type_in(b"open sesame 77\r", Kind::Person).unwrap();
    until("it went on", || all(&home).first().is_some_and(|it| text(it).concat().contains("thanks"))).await;
    let screens = text(&all(&home)[0]);
    assert!(before <= 1, "{screens:?}");
    assert!(!screens.concat().contains("sesame"), "{screens:?}");
    for entry in std::fs::read_dir(home.join("recordings/t")).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(!bytes.windows(6).any(|it| it == b"sesame"));
    }
    room.exec.shutdown(true).await;
}

/// Whether its terminal shows what is typed.
fn lock_modes(running: &Running) -> Option<bool> {
    crate::lock::lock(&running.process.tty).as_ref().map(|tty| tty.key_modes().echo)
}

#[tokio::test]
async fn where_nothing_can_be_written_the_terminal_goes_on_and_it_is_told_once() {
    let mut room = recorded(|options| {
        // A file is in the way of the folder.
        let home = &options.recordings.as_ref().unwrap().home;
        std::fs::write(home.join("recordings"), "").unwrap();
    });
    let _heard = room.exec.notices_of("t");
    for _ in 0..2 {
        assert_eq!(room.run("echo all is well").await.exit.code, 0);
    }
    let told = room.event("it is told", |event| matches!(event, ProcessEvent::Told(..))).await;
    assert!(matches!(&told, ProcessEvent::Told(_, words) if words.contains("not recorded")), "{told:?}");
    room.exec.shutdown(true).await;
    let mut rest = Vec::new();
    while let Ok(event) = room.events.try_recv() {
        rest.push(event);
    }
    assert!(!rest.iter().any(|event| matches!(event, ProcessEvent::Told(..))), "{rest:?}");
}

#[tokio::test]
async fn nothing_is_recorded_of_what_no_session_listens_to_or_where_it_is_off() {
    let room = recorded(|_| {});
    room.run("echo unheard").await;
    room.exec.shutdown(true).await;
    assert!(!room.folder.path().join("home/recordings").exists());
}

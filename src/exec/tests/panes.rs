//! What a person types and sees, and what programs ask of their terminal.

use super::*;
use crate::text::{Cell, MouseFormat, MouseReports, Paint, Role};

#[tokio::test]
async fn a_person_types_into_a_command() {
    let mut room = room();
    let running = room.start("read -p 'Name? ' x; echo \"hello $x\"").await;
    let id = running.id.clone();
    room.event(
        "it waits for keys",
        |e| matches!(e, ProcessEvent::Changed(info) if info.id == id && info.state == ProcessState::NeedsInput),
    )
    .await;
    room.exec.command(ProcessCommand::Write(running.id.clone(), b"World\r".to_vec()));
    let end = finished(&running).await;
    assert!(text(&end).ends_with("hello World\n"), "{}", text(&end));
}

#[tokio::test]
async fn a_password_is_seen_by_nobody() {
    let mut room = room();
    let command = "stty -echo </dev/tty; printf 'Password: ' >/dev/tty; read -r p </dev/tty; stty echo </dev/tty; \
                   echo \"length ${#p}\"";
    let running = room.start(command).await;
    room.exec.command(ProcessCommand::Watch(Some(running.id.clone()), (40, 5)));
    room.screen("Password:").await;
    room.exec.command(ProcessCommand::Write(running.id.clone(), b"secret\r".to_vec()));
    let end = finished(&running).await;
    assert_eq!(text(&end), "Password: length 6\n");
    let snapshot = room.screen("length 6").await;
    assert!(!shown(&snapshot).contains("secret"), "{}", shown(&snapshot));
}

#[tokio::test]
async fn screens_have_colours_and_follow_sizes() {
    let mut room = room();
    let mut spawn = room.spawn("printf '\\033[31mred\\033[0m\\n'; stty size; read x; stty size; read x");
    spawn.pty = true;
    let running = room.exec.start(spawn).await.unwrap();
    room.exec.command(ProcessCommand::Watch(Some(running.id.clone()), (80, 24)));
    let snapshot = room.screen("24 80").await;
    let red = Role::Screen(Cell { fg: Paint::Index(1), ..Cell::default() });
    assert_eq!((snapshot.rows[0].spans[0].text.as_str(), snapshot.rows[0].spans[0].role), ("red", red));
    room.exec.command(ProcessCommand::Watch(Some(running.id.clone()), (50, 10)));
    room.exec.command(ProcessCommand::Write(running.id.clone(), b"\r".to_vec()));
    let snapshot = room.screen("10 50").await;
    assert_eq!((snapshot.columns, snapshot.rows.len()), (50, 10));
    room.exec.command(ProcessCommand::Kill(running.id.clone()));
    assert_eq!(finished(&running).await.exit.reason, ExitReason::Killed);
}

#[tokio::test]
async fn scrolling_back_reads_memory_and_the_spill_file() {
    let mut room = room();
    let running = room.start("seq 1 500000").await;
    finished(&running).await;
    room.exec.command(ProcessCommand::Watch(Some(running.id.clone()), (20, 5)));
    assert_eq!(shown(&*room.screen("500000").await), "499997\n499998\n499999\n500000\n");
    room.exec.command(ProcessCommand::Scroll(running.id.clone(), Scroll::AuditBy(10)));
    assert_eq!(shown(&*room.screen("499990").await), "499987\n499988\n499989\n499990\n499991");
    room.exec.command(ProcessCommand::Scroll(running.id.clone(), Scroll::AuditBy(299_990)));
    assert_eq!(shown(&*room.screen("200001").await), "199997\n199998\n199999\n200000\n200001");
    room.exec.command(ProcessCommand::Scroll(running.id.clone(), Scroll::AuditBy(10_000_000)));
    assert_eq!(shown(&*room.screen("1\n2\n").await), "1\n2\n3\n4\n5");
    room.exec.command(ProcessCommand::Scroll(running.id.clone(), Scroll::Follow));
    assert_eq!(room.screen("500000").await.below, 0);
}

#[tokio::test]
async fn a_view_that_is_held_stays_with_its_lines_while_more_is_printed() {
    let mut room = room();
    let running = room.start("seq 1 20; read x; seq 21 40; read x").await;
    room.exec.command(ProcessCommand::Watch(Some(running.id.clone()), (20, 5)));
    room.screen("20").await;
    room.exec.command(ProcessCommand::Scroll(running.id.clone(), Scroll::AuditBy(8)));
    let before = room.screen("12").await;
    assert_eq!((shown(&before).as_str(), before.below), ("9\n10\n11\n12\n13", 8));
    room.exec.command(ProcessCommand::Write(running.id.clone(), b"\r".to_vec()));
    let after = loop {
        let shown = room.screen("12").await;
        if shown.below != 8 {
            break shown;
        }
    };
    assert_eq!(shown(&after), shown(&before), "the reader was not moved");
    assert_eq!(after.places(), before.places());
    room.exec.command(ProcessCommand::Kill(running.id.clone()));
    finished(&running).await;
}

#[tokio::test]
async fn what_a_program_asks_of_its_terminal_reaches_the_pane() {
    let mut room = room();
    let mut spawn = room.spawn("printf '\\033[?1h\\033[?2004h\\033[?1000h\\033[?1006hasked'; read x");
    spawn.pty = true;
    let running = room.exec.start(spawn).await.unwrap();
    room.exec.command(ProcessCommand::Watch(Some(running.id.clone()), (20, 5)));
    let modes = room.screen("asked").await.modes;
    assert!(modes.application_cursor && modes.bracketed_paste);
    assert_eq!((modes.mouse, modes.mouse_format), (MouseReports::Buttons, MouseFormat::Sgr));
    room.exec.command(ProcessCommand::Kill(running.id.clone()));
    finished(&running).await;
}

#[tokio::test]
async fn questions_to_the_terminal_are_answered() {
    let room = room();
    let ask = "stty raw -echo; printf 'abc\\033[6n'; IFS= read -r -d R -t 10 a; printf '\\033]11;?\\033\\\\'; \
               IFS= read -r -d '\\' -t 10 b; stty sane; printf '%q %q' \"$a\" \"$b\"";
    let mut spawn = room.spawn(ask);
    spawn.pty = true;
    let end = finished(&room.exec.start(spawn).await.unwrap()).await;
    let said = text(&end);
    assert!(said.contains("$'\\E[1;4'"), "{said:?}");
    assert!(said.contains("11\\;rgb:") || said.contains("11;rgb:"), "{said:?}");
}

#[tokio::test]
async fn a_text_full_of_questions_costs_no_more_than_others() {
    let room = room();
    let file = room.folder.path().join("questions");
    std::fs::write(&file, "\x1b[6n".repeat(200_000)).unwrap();
    let running = room.start(&format!("stty raw -echo; cat {0}; cat {0}; stty sane; echo over", file.display())).await;
    // Each question would parse as much output as the screen can come from: hours for all of them.
    let end = finished(&running).await;
    assert!(text(&end).trim_end().ends_with("over"));
}

/// Programs that look for what a terminal can do send all that they ask in one write, and wait for the answer to the last.
#[tokio::test]
async fn the_last_of_many_questions_is_answered() {
    let room = room();
    for times in [30, 200] {
        let questions = r"\033[?2026\$p".repeat(times) + &r"\033]11;?\033\\".repeat(times) + r"\033[c";
        let line = format!(
            "stty raw -echo; printf '{questions}'; until [ \"$c\" = c ]; do read -rN1 c; done; stty sane; echo over"
        );
        let end = finished(&room.start(&line).await).await;
        assert!(text(&end).trim_end().ends_with("over"), "{times}");
    }
}

//! Programs that wait for input, the user who types into them, and passwords.

use super::*;
use crate::lock::lock;

impl Room {
    async fn asked(&mut self) -> Ask {
        match self.event("a question", |event| matches!(event, ProcessEvent::Asks(_))).await {
            ProcessEvent::Asks(ask) => ask,
            _ => unreachable!(),
        }
    }

    async fn needs_input(&mut self, id: &ProcessId) {
        let id = id.clone();
        let fits = move |event: &ProcessEvent| matches!(event, ProcessEvent::Changed(info) if info.id == id && info.state == ProcessState::NeedsInput);
        self.event("it needs input", fits).await;
    }

    fn types(&self, id: &ProcessId, text: &str) {
        self.exec.command(ProcessCommand::Write(id.clone(), text.into()));
    }
}

fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

#[tokio::test]
async fn a_prompt_waits_for_input_and_goes_on() {
    let mut room = room();
    for command in ["read -p 'name? ' x; echo hello-$x", "cat | { read -r x; echo hello-$x; }"] {
        let running = room.start(command).await;
        room.needs_input(&running.id).await;
        soon(running.wants_input()).await;
        assert!(!running.was_typed_into());
        room.types(&running.id, "ada\r\x04");
        let end = finished(&running).await;
        assert!(text(&end).contains("hello-ada"), "{command}: {}", text(&end));
        assert!(running.was_typed_into());
    }
}

#[tokio::test]
async fn a_silent_program_does_not_wait_for_input() {
    let mut room = room();
    // A prompt alone says nothing: it works.
    let running = room.start("printf 'building '; sleep 1.2; echo done").await;
    let id = running.id.clone();
    let wrong =
        |event: &ProcessEvent| matches!(event, ProcessEvent::Changed(info) if info.state == ProcessState::NeedsInput);
    let event = room.event("its end", |event| wrong(event) || matches!(event, ProcessEvent::Exited(_))).await;
    assert!(matches!(&event, ProcessEvent::Exited(info) if info.id == id), "{event:?}");
}

#[tokio::test]
async fn programs_that_wait_for_events_are_seen() {
    if !has("python3") {
        return;
    }
    let mut room = room();
    // Lines by a read, lines by a poll, keys by a select.
    for command in [
        "python3 -c 'print(\"hello-\" + input(\"name? \"))'",
        "python3 -c 'import select,sys; print(\"name? \", end=\"\", flush=True); p = select.poll(); p.register(0, 1); p.poll(); print(\"hello-\" + sys.stdin.readline())'",
        "python3 -c 'import select,sys,tty,os; tty.setcbreak(0); print(\"name? \", end=\"\", flush=True); select.select([0],[],[]); print(\"hello-\" + os.read(0, 3).decode())'",
        "python3 -c 'import select,sys; print(\"name? \", end=\"\", flush=True); e = select.epoll(); e.register(0, 1); e.poll(); print(\"hello-\" + sys.stdin.readline())'",
    ] {
        let mut spawn = room.spawn(command);
        spawn.pty = true;
        let running = room.exec.start(spawn).await.unwrap();
        room.needs_input(&running.id).await;
        room.types(&running.id, "ada\r");
        let end = finished(&running).await;
        // One that still reads keys by itself may only show them: nothing says that it prints them as its own.
        let expected = if command.contains("setcbreak") { "[left out: " } else { "hello-ada" };
        assert!(text(&end).contains(expected), "{command}: {}", text(&end));
    }
}

#[tokio::test]
async fn a_password_goes_to_its_program_and_nowhere_else() {
    let secrets = crate::policy::redact::Secrets::default();
    let mut room = room();
    room.exec.masks_in(secrets.clone());
    let running = room
        .start("read -r -s -p 'secret? ' x; echo; echo \"len ${#x}\"; until [ -e over ]; do sleep 0.05; done")
        .await;
    room.exec.command(ProcessCommand::Watch(Some(running.id.clone()), (60, 10)));
    let ask = room.asked().await;
    assert_eq!((ask.who.as_str(), ask.prompt.as_str(), ask.masked), ("bash", "secret?", true));
    assert_eq!((&ask.process, ask.again, ask.stranger), (&running.id, false, false));
    // The agent is not asked for it.
    assert!(futures::poll!(std::pin::pin!(running.wants_input())).is_pending());
    room.exec.answer(ask.id, Some(Hidden::new("open-sesame-1".into())));
    let screen = room.screen("len 13").await;
    std::fs::write(room.folder.path().join("over"), "").unwrap();
    let end = finished(&running).await;
    for place in [text(&end), shown(&screen), room.exec.last_screen(&running.id).unwrap()] {
        assert!(place.contains("len 13") && !place.contains("sesame"), "{place}");
    }
    assert!(!secrets.mask("it was open-sesame-1", crate::policy::redact::RedactKind::Default).contains("sesame"));
    secrets.learn([]);
    assert!(!secrets.mask("it was open-sesame-1", crate::policy::redact::RedactKind::Default).contains("sesame"));
    assert!(running.was_typed_into());
}

#[tokio::test]
async fn no_answer_interrupts_and_an_end_closes_the_question() {
    let mut room = room();
    let running = room.start("trap 'echo stopped; exit 7' INT; read -s -p 'secret? ' x; sleep 60").await;
    let ask = room.asked().await;
    room.exec.answer(ask.id, None);
    let end = finished(&running).await;
    assert_eq!(end.exit.code, 7, "{}", text(&end));
    let running = room.start("read -s -p 'secret? ' x").await;
    let ask = room.asked().await;
    running.stop(ExitReason::Stopped);
    room.event("it is closed", |event| *event == ProcessEvent::AskClosed(running.id.clone(), ask.id)).await;
    // Too late: it goes nowhere.
    room.exec.answer(ask.id, Some(Hidden::new("late".into())));
}

#[tokio::test]
async fn a_password_is_not_typed_where_it_would_be_seen() {
    let mut room = room();
    let running = room
        .start("stty -echo; printf 'secret? '; read -r x; stty echo; printf 'name? '; read -r y; echo \"[$x][$y]\"")
        .await;
    let ask = room.asked().await;
    assert!(ask.masked);
    // It shows keys again before the answer comes.
    room.types(&running.id, "typed\r");
    room.event("it is closed", |event| *event == ProcessEvent::AskClosed(running.id.clone(), ask.id)).await;
    room.needs_input(&running.id).await;
    crate::exec::terminal::waiting::typed(&room.exec.hub, &running.process, Some(&Hidden::new("sesame".into())), true);
    room.types(&running.id, "ada\r");
    let end = finished(&running).await;
    assert!(text(&end).contains("[typed][ada]"), "{}", text(&end));
}

/// The echo comes back between the answer and the typing: what waits in the queue is given up, and the person is told.
#[tokio::test]
async fn a_queued_password_is_held_back_when_the_echo_is_on_again() {
    let mut room = room();
    let line = "stty -echo; printf 'secret? '; until [ -e on ]; do sleep 0.05; done; stty echo; touch shows; \
                until [ -e read ]; do sleep 0.05; done; read -r x; echo \"[$x]\"";
    let running = room.start(line).await;
    let modes = || lock(&running.process.tty).as_ref().map(|tty| tty.key_modes().echo);
    until("the echo is off", || modes() == Some(false)).await;
    // It is on again before the reader gets to it.
    std::fs::write(room.folder.path().join("on"), "").unwrap();
    until("the echo is on", || room.folder.path().join("shows").exists() && modes() == Some(true)).await;
    running.process.type_secret(b"sesame\r".to_vec()).unwrap();
    let event = room.event("it is told", |event| matches!(event, ProcessEvent::Told(..))).await;
    assert!(
        matches!(&event, ProcessEvent::Told(id, words) if *id == running.id && words.contains("not sent")),
        "{event:?}"
    );
    // What is no secret goes on as it was typed.
    room.types(&running.id, "ada\r");
    std::fs::write(room.folder.path().join("read"), "").unwrap();
    let end = finished(&running).await;
    assert!(text(&end).contains("[ada]") && !text(&end).contains("sesame"), "{}", text(&end));
    assert!(lock(&running.process.input).is_empty());
}

/// A program has the name of one that is trusted, and is another one.
#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_program_under_a_borrowed_name_is_shown_by_its_path() {
    let mut room = room();
    let folder = room.folder.path().canonicalize().unwrap();
    std::fs::copy("/bin/bash", folder.join("sudo")).unwrap();
    let running = room.start("./sudo -c 'read -r -s -p \"[sudo] password for ada: \" x; exit 3'").await;
    let ask = room.asked().await;
    assert!(ask.stranger && ask.masked && ask.who == "sudo", "{ask:?}");
    assert_eq!(ask.path, Some(folder.join("sudo").display().to_string()));
    room.exec.answer(ask.id, None);
    finished(&running).await;
}

/// A command that asked for a password and is started again asks again.
#[tokio::test]
async fn a_restarted_command_asks_again() {
    let mut room = room();
    let mut spawn = room.spawn("read -r -s -p 'secret? ' x; echo; echo \"len ${#x}\"");
    spawn.background = true;
    let running = room.exec.start(spawn).await.unwrap();
    let ask = room.asked().await;
    room.exec.answer(ask.id, Some(Hidden::new("one".into())));
    assert!(text(&finished(&running).await).contains("len 3"));
    let running = room.exec.restart(&running.id, None).await.unwrap();
    let again = room.asked().await;
    assert!(again.masked && again.id != ask.id && again.process == running.id, "{again:?}");
    room.exec.answer(again.id, Some(Hidden::new("three".into())));
    assert!(text(&finished(&running).await).contains("len 5"));
}

#[tokio::test]
async fn the_person_can_be_asked_for_any_input() {
    let mut room = room();
    room.exec.ask_person(true);
    let running = room.start("read -p 'go on? ' x; echo got-$x").await;
    let ask = room.asked().await;
    assert_eq!((ask.prompt.as_str(), ask.masked), ("go on?", false));
    room.exec.answer(ask.id, Some(Hidden::new("yes".into())));
    assert!(text(&finished(&running).await).contains("got-yes"));
}

#[tokio::test]
async fn whoever_has_the_keys_is_waited_for() {
    let mut room = room();
    let running = room.start("read x; echo $x").await;
    room.needs_input(&running.id).await;
    let id = running.id.clone();
    soon(room.exec.handed_back(&id)).await.unwrap();
    room.exec.command(ProcessCommand::TakeOver(Some(id.clone())));
    let mut back = std::pin::pin!(room.exec.handed_back(&id));
    let mut time = std::pin::pin!(running.time(Duration::ZERO));
    assert!(futures::poll!(&mut back).is_pending() && futures::poll!(&mut time).is_pending());
    assert!(futures::poll!(std::pin::pin!(running.wants_input())).is_pending());
    room.exec.command(ProcessCommand::TakeOver(None));
    soon(back).await.unwrap();
    soon(time).await;
    // The end of a command that somebody has in hand is an end all the same.
    room.exec.command(ProcessCommand::TakeOver(Some(id.clone())));
    room.types(&id, "ada\r");
    finished(&running).await;
    soon(room.exec.handed_back(&id)).await.unwrap();
}

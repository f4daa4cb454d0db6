//! Sandboxes of Daytona: the service on loopback as its description has it, its gateway a real sshd.

use super::*;
use crate::harness::{Daytona, skipped, until};

/// A site in a sandbox.
fn site(test: &str, change: impl FnOnce(&mut TerminalConfig)) -> Option<(Daytona, Site)> {
    let folder = alone::again(&format!("backends::daytona::{test}"), |_| Vec::new())?;
    let service = Daytona::start(&folder).map_err(|why| skipped(test, &why)).ok()?;
    let mut terminal = TerminalConfig { backend: "daytona".into(), ..TerminalConfig::default() };
    change(&mut terminal);
    let variables = service.variables();
    let keys = Keys::find(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str()));
    Some((service, Site::reached(Config { terminal, ..Config::default() }, Mode::Yolo, keys)))
}

#[test]
fn commands_and_files_are_in_the_sandbox() {
    let Some((service, site)) = site("commands_and_files_are_in_the_sandbox", |_| ()) else { return };
    assert_eq!(site.prints("pwd; echo $HOME"), format!("{0}\n{0}", service.disk().display()));
    works_like_home(&site);
    assert!(service.disk().join("sub/moved.txt").is_file());
    assert!(site.backends.kind() == "daytona" && site.backends.is_isolated());
    assert_eq!((service.made(), service.strange()), (1, Vec::new()));
    assert!(service.wanted()["name"].as_str().unwrap().starts_with("hermes-default-"), "{}", service.wanted());
    // The key is nowhere there.
    assert_eq!(site.prints("env | grep -c DAYTONA || true"), "0");
    drop(site);
    assert_eq!((service.tokens(), service.state()), (0, Some("started")), "the token is given back, the sandbox stays");
}

#[test]
fn what_is_stopped_ends_in_the_sandbox() {
    let Some((_service, site)) = site("what_is_stopped_ends_in_the_sandbox", |_| ()) else { return };
    ends_there(&site);
    background_works(&site);
}

#[test]
fn the_gate_looks_into_the_sandbox() {
    let Some((_service, site)) = site("the_gate_looks_into_the_sandbox", |_| ()) else { return };
    is_judged_there(&site);
}

#[test]
fn a_sandbox_that_stops_or_goes_is_told_and_comes_back() {
    let Some((service, site)) = site("a_sandbox_that_stops_or_goes_is_told_and_comes_back", |_| ()) else { return };
    site.prints("echo kept >kept");
    let broken = |line: &str, end: &(dyn Fn() + Sync)| {
        let running = service.disk().join("running");
        std::fs::remove_file(&running).ok();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                until("the command runs", || running.exists());
                end();
            });
            let said = site.run(line);
            said["error"].as_str().unwrap_or_else(|| panic!("{said}")).to_owned()
        })
    };
    let why = broken("touch running; sleep 600", &|| service.stop());
    assert!(why.contains("is stopped (idle too long, or outside Hermes); the next command restarts it"), "{why}");
    assert_eq!((site.prints("cat kept"), service.made()), ("kept".into(), 1));
    let why = broken("touch running; sleep 600", &|| service.delete());
    assert!(why.contains("was deleted outside Hermes; the next command creates a new one"), "{why}");
    assert_eq!((site.run("cat kept")["exit_code"].clone(), service.made()), (json!(1), 2));
}

#[test]
fn one_that_keeps_nothing_is_deleted_at_the_end() {
    let Some((service, site)) =
        site("one_that_keeps_nothing_is_deleted_at_the_end", |config| config.container_persistent = false)
    else {
        return;
    };
    assert_eq!(site.prints("echo x"), "x");
    assert_eq!(service.wanted()["autoDeleteInterval"], 0, "it goes by itself when this program is killed");
    drop(site);
    assert_eq!((service.state(), service.strange()), (None, Vec::new()));
}

#[test]
fn a_sandbox_that_never_gets_ready_is_given_up_when_it_is_left() {
    let test = "a_sandbox_that_never_gets_ready_is_given_up_when_it_is_left";
    let Some((service, site)) = site(test, |config| config.container_persistent = false) else { return };
    service.stall();
    let given_up = |how: &(dyn Fn() + Sync)| {
        let before = service.looks();
        let said = std::thread::scope(|scope| {
            scope.spawn(|| {
                until("it is waited for", || service.looks() > before + 2);
                how();
            });
            site.run("echo x")
        });
        assert!(said["error"].as_str().is_some_and(|why| why.contains("the backend is being left")), "{said}");
    };
    given_up(&|| site.backends.leave().unwrap());
    assert_eq!((service.state(), service.strange()), (None, Vec::new()), "it would be nobody's");
    given_up(&|| site.backends.give_up());
    site.backends.leave().unwrap();
    assert_eq!((service.state(), service.made()), (None, 2));
}

#[test]
fn quitting_does_not_wait_for_a_sandbox_that_never_gets_ready() {
    use crate::harness::mock::call;
    use crate::harness::{Mock, Step, Term};
    let folder = tempfile::tempdir().unwrap();
    let service = match Daytona::start(folder.path()) {
        Ok(service) => service,
        Err(why) => return skipped("quitting_does_not_wait_for_a_sandbox_that_never_gets_ready", &why),
    };
    service.stall();
    let home = home(&service);
    let mock = Mock::start(vec![Step::Calls(String::new(), vec![call("terminal", json!({ "command": "echo x" }))])]);
    home.model(&mock, "terminal:\n  backend: daytona\napprovals:\n  mode: \"off\"\n");
    let mut term = Term::sized(&home, &[], (120, 40));
    term.wait("❯").wait("daytona");
    term.send("run it\r");
    until("it is waited for", || service.looks() > 2);
    term.send("\x03").wait("stopped");
    term.send("\x04");
    assert_eq!(term.ended(), 0);
    assert_eq!((service.state(), service.made()), (Some("pulling_snapshot"), 1), "one that keeps its files stays");
}

/// A home that works in the service, by the built program.
fn home(service: &Daytona) -> Home {
    sandbox_home("daytona", service.variables())
}

#[test]
fn the_program_finds_its_sandbox_again_and_brings_files_there() {
    let folder = tempfile::tempdir().unwrap();
    let service = match Daytona::start(folder.path()) {
        Ok(service) => service,
        Err(why) => return skipped("the_program_finds_its_sandbox_again_and_brings_files_there", &why),
    };
    let home = home(&service);
    let said = run(&home, "printf '%s\\n' \"a  'b'\" '$HOME' >made; cat made; exit 3");
    assert_eq!((&said["exit_code"], &said["output"]), (&json!(3), &json!("a  'b'\n$HOME")), "{said}");
    service.stop();
    assert_eq!(run(&home, "wc -l <made")["output"], "2");
    assert_eq!((service.made(), service.tokens()), (1, 0));
    assert!(home.hermes().join("sandboxes/daytona/known_hosts").is_file(), "the gateway is known from now on");
    std::fs::write(home.project().join("one.txt"), "one\n").unwrap();
    let sent = home.run(&["files", "push", "one.txt", "in/two.txt"]);
    assert!(sent.status.success(), "{}", err(&sent));
    assert_eq!(std::fs::read_to_string(service.disk().join("in/two.txt")).unwrap(), "one\n");
    let back = home.run(&["files", "pull", "in", "back"]);
    assert!(back.status.success(), "{}", err(&back));
    assert_eq!(std::fs::read_to_string(home.project().join("back/two.txt")).unwrap(), "one\n");
    let doctor = home.run(&["doctor"]);
    assert!(out(&doctor).contains("daytona python-nodejs"), "{}", out(&doctor));
    assert_eq!(service.strange(), Vec::<String>::new());
}

#[test]
fn what_the_service_refuses_is_told_and_nothing_runs_here() {
    let folder = tempfile::tempdir().unwrap();
    let service = match Daytona::start(folder.path()) {
        Ok(service) => service,
        Err(why) => return skipped("what_the_service_refuses_is_told_and_nothing_runs_here", &why),
    };
    let mut home = home(&service);
    for (status, words) in [(401, "check DAYTONA_API_KEY"), (402, "payment required"), (429, "too many requests")] {
        service.refuse(Some((status, "the reason")));
        let said = run(&home, "touch here");
        let why = said["error"].as_str().unwrap_or_else(|| panic!("{said}"));
        assert!(why.contains(words) && why.contains(&format!("{status}: the reason")), "{why}");
        assert!(why.contains("daytona python-nodejs"), "{why}");
    }
    service.refuse(None);
    // One that says when to come back is asked once more.
    service.busy();
    assert_eq!(run(&home, "echo after-all")["output"], "after-all");
    assert_eq!(service.made(), 1);
    home.set("DAYTONA_API_URL", &service.url().replace("http://127.0.0.1", "http://0.0.0.0"));
    assert!(run(&home, "touch here")["error"].as_str().unwrap().contains("use https"));
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    home.set("DAYTONA_API_URL", &format!("http://127.0.0.1:{nobody}"));
    assert!(run(&home, "touch here")["error"].as_str().unwrap().contains("cannot reach"));
    home.set("DAYTONA_API_KEY", "");
    assert!(run(&home, "touch here")["error"].as_str().unwrap().contains("DAYTONA_API_KEY is not set"));
    assert!(!home.project().join("here").exists() && service.made() == 1);
}

#[test]
fn a_person_types_into_a_command_in_the_sandbox() {
    let folder = tempfile::tempdir().unwrap();
    let service = match Daytona::start(folder.path()) {
        Ok(service) => service,
        Err(why) => return skipped("a_person_types_into_a_command_in_the_sandbox", &why),
    };
    types_there(home(&service), "daytona");
}

//! Logging in to an MCP server: on the screen, with a browser here or elsewhere, and from another run of the program.

use crate::harness::home::err;
use crate::harness::mock::call;
use crate::harness::{Home, Mock, Step, Term, Wiki, until};
use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;

/// A home whose server wants a login, and whose browser writes down the address that it is sent to.
fn home(mock: &Mock, wiki: &Wiki) -> Home {
    let more = format!("mcp_discovery_timeout: 30\nmcp_servers:\n  wiki:\n    url: {}\n", wiki.url());
    let mut home = Home::with(mock, &more);
    let bin = home.user().join("bin");
    std::fs::create_dir(&bin).unwrap();
    for opener in ["xdg-open", "open"] {
        let file = bin.join(opener);
        let text = "#!/bin/sh\nprintf '%s' \"$1\" > \"$HOME/visit.new\" && mv \"$HOME/visit.new\" \"$HOME/visit\"\n";
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    home.set("PATH", &path);
    home
}

/// Where the browser was sent, once it was.
fn visited(home: &Home) -> String {
    let file = home.user().join("visit");
    until("the browser is opened", || file.exists());
    let address = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    address
}

fn mode(path: &std::path::Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_person_logs_in_on_the_screen_and_again_when_the_login_is_over() {
    let wiki = Wiki::start();
    let find = || Step::Calls(String::new(), vec![call("mcp__wiki__find", json!({ "page": "whales" }))]);
    let mock = Mock::start(vec![find(), Step::Text("It was found.".into()), find(), Step::Text("It was not.".into())]);
    let home = home(&mock, &wiki);
    let mut term = Term::start(&home, &[]);
    term.wait("wiki needs a login");
    term.send("/mcp\r").wait("⌨ wiki").wait("Enter logs in");
    term.send("\r").wait("Log in to wiki").wait("/authorize?");
    wiki.browse(&visited(&home));
    term.wait("logged in to wiki").wait("● wiki").wait("1 tool");
    let tokens = home.hermes().join("mcp-tokens");
    assert_eq!((mode(&tokens), mode(&tokens.join("wiki.json"))), (0o700, 0o600));
    term.send("\x1b").gone("● wiki");
    term.send("look it up\r").wait("Approve an external tool").wait("\"whales\"");
    term.shows("the question takes keys", |text| !text.contains("keys are ignored for a moment"));
    term.send("s").wait("Allow for the rest of this session");
    term.send("\r").wait("It was found.");
    assert_eq!(wiki.calls(), [json!({ "page": "whales" })]);
    assert!(mock.requests()[1]["messages"].to_string().contains("the page about whales"));
    wiki.forget();
    term.send("once more\r").wait("It was not.");
    term.send("/mcp\r").wait("⌨ wiki");
    term.send("\r");
    wiki.browse(&visited(&home));
    term.wait("● wiki");
}

#[test]
fn a_browser_of_another_machine_and_a_login_that_is_left() {
    let (wiki, mock) = (Wiki::start(), Mock::start(vec![]));
    let home = home(&mock, &wiki);
    let mut term = Term::start(&home, &[]);
    term.wait("wiki needs a login");
    term.send("/mcp login wiki\r").wait("/authorize?");
    let left = visited(&home);
    term.send("\x1b").gone("Log in to wiki");
    term.send("/mcp login wiki\r").wait("/authorize?");
    let address = visited(&home);
    assert_ne!(address, left);
    let end = wiki.browse_elsewhere(&address);
    term.send("nonsense\r").wait("including http");
    term.send(&format!("\x15{end}\r")).wait("wiki: 1 tool").gone("Log in to wiki");
}

#[test]
fn a_login_from_a_shell_reaches_the_program_that_runs() {
    let (wiki, mock) = (Wiki::start(), Mock::start(vec![]));
    let home = home(&mock, &wiki);
    let mut term = Term::start(&home, &[]);
    term.wait("wiki needs a login");
    let login = home.command(&["mcp", "login", "wiki"]).spawn().unwrap();
    wiki.browse(&visited(&home));
    let done = login.wait_with_output().unwrap();
    assert!(done.status.success(), "{}", err(&done));
    // The person comes back to this window.
    let stop = std::time::Instant::now() + crate::harness::PATIENCE;
    while !term.text().contains("wiki: 1 tool") {
        assert!(std::time::Instant::now() < stop, "{}", term.text());
        let frames = term.frames();
        term.send("\x1b[I\x1b[200~.\x1b[201~").drawn_after(frames);
    }
}

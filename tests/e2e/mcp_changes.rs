//! Servers of a configuration that changes while the program runs.

use crate::harness::home::err;
use crate::harness::{Home, Mock, Term, until};

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/mcp-server.sh");

/// A person comes back to the window, until the screen says it. They write nothing: the card waits while somebody does.
fn come_back(term: &mut Term, text: &str) {
    let mut looks = 0;
    until(text, || {
        if looks % 40 == 0 {
            term.send("\x1b[O\x1b[I");
        }
        looks += 1;
        term.text().contains(text)
    });
}

/// The person comes back, sees what changed and takes it.
fn take(term: &mut Term, text: &str) {
    // What was said of an earlier change is no answer to this one.
    term.gone(text);
    come_back(term, "The policy changed on disk");
    term.wait("o or t, then Enter");
    term.send("t\r").wait(text);
}

#[test]
fn a_server_that_is_added_in_another_terminal_comes_and_goes() {
    let mock = Mock::start(vec![]);
    let home = Home::with(&mock, "");
    let mut term = Term::start(&home, &[]);
    term.wait("❯");
    // What was there at the start has been looked at.
    term.send("/mcp\r").wait("none configured");
    term.send("\x1b").gone("none configured");
    let added = home.run(&["mcp", "add", "t", "--", "bash", SERVER, "good"]);
    assert!(added.status.success(), "{}", err(&added));
    // The list says what waits, and leads there.
    come_back(&mut term, "The policy changed on disk");
    term.wait("Esc later");
    term.send("\x1b").gone("The policy changed on disk");
    term.send("/mcp\r").wait("config.yaml changed").wait("Enter shows the change");
    term.send("\r").wait("The policy changed on disk").wait("Esc later");
    // Nothing of it runs before it was seen.
    term.send("t\r").wait("MCP servers: t new");
    term.wait("t: 6 tools");
    // A file that is half written ends nothing.
    let text = std::fs::read_to_string(home.hermes().join("config.yaml")).unwrap();
    home.config(&format!("{text}\n  nonsense: [\n"));
    take(&mut term, "MCP servers unchanged");
    home.config(&text);
    take(&mut term, "using the new policy");
    term.send("\x15/mcp reload\r").wait("MCP servers: nothing changed");
    term.send("/mcp\r").wait("● t");
    term.send("\x1b").gone("● t");
    assert!(home.run(&["mcp", "remove", "t"]).status.success());
    take(&mut term, "MCP servers: t gone");
}

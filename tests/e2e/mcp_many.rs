//! A session with twenty configured servers, three of them dead, and three hundred tools: what starts when, and what the
//! first request weighs.

use crate::harness::{Home, Mock, Step, Term, until};
use serde_json::Value;

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/mcp-server.sh");
/// What ends a frame.
const END: &[u8] = b"\x1b[?2026l";
const SERVERS: usize = 20;
/// The ones that never come to work, and how.
const DEAD: [(usize, &str); 3] = [(3, "dead"), (9, "hang"), (15, "no program")];
/// Bytes of the first request that are less than 6,000 tokens (o200k): it has 4.1 bytes a token, and this holds from 3.4 on.
const MOST: usize = 20_000;

/// Bytes that the program had written when it started this server; `None` when it did not.
fn written(home: &Home, number: usize) -> Option<usize> {
    let text = std::fs::read_to_string(home.user().join(format!("server{number}"))).ok()?;
    text.lines().next()?.rsplit(' ').next()?.parse().ok()
}

#[test]
fn twenty_servers_start_behind_the_first_frame_and_weigh_little() {
    let mock = Mock::start(vec![Step::Text("Hello to you.".into())]);
    let home = Home::empty();
    let mut config = String::from("mcp_servers:\n");
    for number in 0..SERVERS {
        let mode = DEAD.iter().find(|(dead, _)| *dead == number).map_or("many", |(_, mode)| mode);
        let command = if mode == "no program" { "no-such-program" } else { "bash" };
        let log = home.user().join(format!("server{number}"));
        config.push_str(&format!("  s{number}:\n    command: {command}\n    args: [{SERVER}, {mode}]\n"));
        config.push_str(&format!("    env: {{MCP_LOG: {}}}\n", log.display()));
    }
    home.model(&mock, &config);
    let mut term = Term::sized(&home, &[], (140, 60));
    let running = SERVERS - DEAD.len();
    let starts = || (0..SERVERS).filter_map(|number| written(&home, number)).collect::<Vec<usize>>();
    // All but the one without a program.
    until("the servers start", || starts().len() == SERVERS - 1);
    // Nothing is written before the first frame but that frame: a log, a database and all else come later.
    let frame = term.raw().windows(END.len()).position(|bytes| bytes == END).unwrap() + END.len();
    assert!(frame > 1_000, "no frame, {frame} bytes");
    assert!(starts().iter().all(|bytes| *bytes >= frame), "a server started before {frame} bytes: {:?}", starts());
    term.send("/mcp\r");
    term.shows("17 servers with 15 tools each", |text| text.matches("15 tools").count() == running);
    term.send("\x1b").gone("15 tools");
    term.send("hello\r").wait("Hello to you.");
    let mut request = mock.requests().remove(0);
    for key in ["model", "stream", "stream_options"] {
        request.as_object_mut().unwrap().remove(key);
    }
    let bytes = request.to_string().len();
    assert!(bytes <= MOST, "the first request has {bytes} bytes");
    // The tools are there all the same, one line each server at most.
    let names: Vec<&str> = request["tools"].as_array().unwrap().iter().filter_map(name).collect();
    assert!(names.contains(&"tool_search") && names.iter().all(|name| !name.starts_with("mcp__")), "{names:?}");
    term.send("/tools\r").wait("mcp-s0");
}

fn name(tool: &Value) -> Option<&str> {
    tool["function"]["name"].as_str()
}

//! Recordings as asciicast, version 2: a line of JSON that says the size, then a line for each change.
//!
//! Format: <https://docs.asciinema.org/manual/asciicast/v2/>.

use super::delta::Frame;
use super::read::Terminal;
use serde_json::json;
use std::io::{self, Write};

/// Seconds between two terminals that follow each other in a file.
const BETWEEN: f64 = 1.0;

/// Writes terminals one after the other; each begins with a marker that says its command. `title` names the session.
///
/// # Errors
/// A recording can't be read, or the writer fails.
pub fn write(terminals: &[&Terminal], title: &str, out: &mut dyn Write) -> io::Result<()> {
    let Some(first) = terminals.first() else { return Ok(()) };
    let mut largest = (1, 1);
    for terminal in terminals {
        terminal.each(|frame| {
            largest = (largest.0.max(frame.size.0), largest.1.max(frame.size.1));
            Ok(())
        })?;
    }
    let header = json!({
        "version": 2, "width": largest.0, "height": largest.1, "timestamp": first.head.started_at / 1000,
        "title": title, "env": {"TERM": "xterm-256color"},
    });
    writeln!(out, "{header}")?;
    let mut offset = 0.0;
    for terminal in terminals {
        let mut before = Frame::default();
        let mut begun = None;
        let mut last = offset;
        terminal.each(|frame| {
            let begin = *begun.get_or_insert(frame.at);
            let at = offset + (frame.at - begin) as f64 / 1000.0;
            if begin == frame.at && before == Frame::default() {
                event(out, at, "m", &terminal.head.command)?;
            }
            if before.size != frame.size {
                event(out, at, "r", &format!("{}x{}", frame.size.0, frame.size.1))?;
            }
            event(out, at, "o", &painted(&before, frame))?;
            last = at;
            before = frame.clone();
            Ok(())
        })?;
        offset = last + BETWEEN;
    }
    out.flush()
}

/// One line; the time has milliseconds.
fn event(out: &mut dyn Write, at: f64, kind: &str, data: &str) -> io::Result<()> {
    writeln!(out, "[{at:.3}, {}, {}]", json!(kind), json!(data))
}

/// What makes one screen of the one before on a terminal.
fn painted(before: &Frame, after: &Frame) -> String {
    let fresh = before.size != after.size;
    let mut text = String::from(if fresh { "\x1b[0m\x1b[2J" } else { "" });
    for (at, row) in after.rows.iter().enumerate() {
        let was = before.rows.get(at).filter(|_| !fresh).map_or("", String::as_str);
        if was != row {
            text.push_str(&format!("\x1b[{};1H\x1b[0m\x1b[2K{row}\x1b[0m", at + 1));
        }
    }
    match after.cursor {
        Some((column, row)) => text.push_str(&format!("\x1b[{};{}H\x1b[?25h", row + 1, column + 1)),
        None => text.push_str("\x1b[?25l"),
    }
    text
}

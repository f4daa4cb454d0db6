//! A secret from standard input: typed without an echo, or piped.

use anyhow::{Context as _, ensure};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io::{self, BufRead as _, IsTerminal as _, Read as _, Write as _};

/// Bytes of a secret.
const LONGEST: u64 = 64 * 1024;

/// The terminal as it was, put back on drop.
struct Quiet(Termios);

impl Quiet {
    fn begin() -> Option<Self> {
        let before = tcgetattr(io::stdin()).ok()?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        quiet.local_modes.insert(LocalModes::ECHONL);
        tcsetattr(io::stdin(), OptionalActions::Flush, &quiet).ok()?;
        Some(Self(before))
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // The terminal is gone, or it is as it was.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}

/// One secret; a person at a terminal is asked for it.
pub fn read(question: &str) -> anyhow::Result<String> {
    let mut text = String::new();
    if io::stdin().is_terminal() {
        let _ = write!(io::stderr(), "{question}: ");
        let _quiet = Quiet::begin().context("the terminal can't hide what is typed; pipe the key instead")?;
        io::stdin().lock().read_line(&mut text)?;
    } else {
        io::stdin().lock().take(LONGEST).read_to_string(&mut text)?;
    }
    let text = text.trim().to_owned();
    ensure!(!text.is_empty(), "no key on standard input");
    ensure!(!text.contains(char::is_whitespace), "a key has no blanks in it; give one key at a time");
    Ok(text)
}

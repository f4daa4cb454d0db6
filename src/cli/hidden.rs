//! A secret from standard input: typed behind dots, or piped.

use anyhow::{Context as _, bail, ensure};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io::{self, IsTerminal as _, Read as _, Write as _};

/// Bytes of a secret.
const LONGEST: u64 = 64 * 1024;

/// What a typed byte does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Typed {
    Adds,
    Deletes,
    DeletesAll,
    Ends,
    Cancels,
    Nothing,
}

fn typed(byte: u8) -> Typed {
    match byte {
        b'\r' | b'\n' => Typed::Ends,
        // Ctrl-C and Ctrl-D
        3 | 4 => Typed::Cancels,
        8 | 127 => Typed::Deletes,
        // Ctrl-U
        21 => Typed::DeletesAll,
        byte if byte < b' ' => Typed::Nothing,
        _ => Typed::Adds,
    }
}

/// The terminal as it was, put back on drop.
struct Quiet(Termios);

impl Quiet {
    /// Keys come one by one and show nothing. Ctrl-C is a key, too: a program that it ended would leave the terminal so.
    fn begin() -> Option<Self> {
        let before = tcgetattr(io::stdin()).ok()?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
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

/// One secret; at a terminal a question asks for it.
pub fn read(question: &str) -> anyhow::Result<String> {
    let text = if io::stdin().is_terminal() {
        ask(question)?
    } else {
        let mut text = String::new();
        io::stdin().lock().take(LONGEST).read_to_string(&mut text)?;
        text
    };
    let text = text.trim().to_owned();
    ensure!(!text.is_empty(), "no key on standard input");
    ensure!(!text.contains(char::is_whitespace), "a key has no blanks in it; give one key at a time");
    Ok(text)
}

fn ask(question: &str) -> anyhow::Result<String> {
    let mut err = io::stderr();
    let _quiet = Quiet::begin().context("the terminal can't hide what is typed; pipe the key instead")?;
    write!(err, "{question}: ")?;
    let mut bytes = Vec::new();
    let mut one = [0];
    let mut keys = io::stdin().lock();
    while bytes.len() < LONGEST as usize && keys.read(&mut one)? == 1 {
        match typed(one[0]) {
            Typed::Adds => {
                bytes.push(one[0]);
                write!(err, "•")?;
            }
            Typed::Deletes if bytes.pop().is_some() => write!(err, "\x08 \x08")?,
            Typed::DeletesAll => {
                write!(err, "{}", "\x08 \x08".repeat(bytes.len()))?;
                bytes.clear();
            }
            Typed::Ends => break,
            Typed::Cancels => {
                writeln!(err)?;
                bail!("cancelled; nothing was stored");
            }
            Typed::Deletes | Typed::Nothing => {}
        }
    }
    writeln!(err)?;
    String::from_utf8(bytes).context("a key is plain text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_edit_end_and_cancel() {
        for (byte, expected) in [
            (b'k', Typed::Adds),
            (b'\r', Typed::Ends),
            (b'\n', Typed::Ends),
            (127, Typed::Deletes),
            (21, Typed::DeletesAll),
            (3, Typed::Cancels),
            (4, Typed::Cancels),
            (27, Typed::Nothing),
        ] {
            assert_eq!(typed(byte), expected, "{byte}");
        }
    }
}

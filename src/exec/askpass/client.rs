//! The helper that `sudo`, `ssh` and `git` run: hands the question to the program that started the command and prints its
//! answer.

use super::{Hint, MAX_QUESTION_BYTES, SOCKET};
use crate::exec::terminal::input::wipe;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// The name of the link by which this program is the helper.
pub const HELPER: &str = "hermes-askpass";

/// Asks and prints the answer with a line feed; returns the exit code. `link` is the path by which it was called: the socket
/// lies beside it. Errors go to `err`.
pub fn ask(link: &Path, prompt: &str, out: &mut dyn Write, err: &mut dyn Write) -> i32 {
    let hint = Hint::of(std::env::var("SSH_ASKPASS_PROMPT").ok().as_deref());
    let mut answer = talk(link, prompt, hint).unwrap_or_else(|error| {
        Err(format!("the program that started this command does not respond ({error}): cannot ask"))
    });
    // The asking program sees the exit code when nobody reads this.
    match &mut answer {
        Ok(text) => {
            let code = i32::from(line(out, text).is_err());
            wipe(text);
            code
        }
        Err(text) => {
            line(err, text.as_bytes()).ok();
            1
        }
    }
}

fn line(stream: &mut dyn Write, text: &[u8]) -> io::Result<()> {
    stream.write_all(text)?;
    stream.write_all(b"\n")?;
    stream.flush()
}

type Said = Result<Vec<u8>, String>;

fn talk(link: &Path, prompt: &str, hint: Hint) -> io::Result<Said> {
    let folder = link.parent().filter(|folder| folder.is_absolute());
    let folder = folder.ok_or_else(|| io::Error::other("it was not called by its full path"))?;
    let mut stream = UnixStream::connect(folder.join(SOCKET))?;
    let end = prompt.floor_char_boundary(MAX_QUESTION_BYTES - 2);
    stream.write_all(&[hint as u8])?;
    stream.write_all(prompt[..end].replace('\0', " ").as_bytes())?;
    // Not the end of the stream: that would say that nobody waits any more.
    stream.write_all(&[0])?;
    // Room for any password: the bytes are not copied while they come.
    let (mut kind, mut answer) = ([0], Vec::with_capacity(MAX_QUESTION_BYTES));
    stream.read_exact(&mut kind)?;
    stream.read_to_end(&mut answer)?;
    match kind {
        [b'y'] => Ok(Ok(answer)),
        [b'n'] => Ok(Err(String::from_utf8_lossy(&answer).into_owned())),
        _ => Err(io::Error::other("it exited")),
    }
}

//! Copying: the desktop's program where there is one, the buffer of tmux, and the terminal's own channel (OSC 52).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// OSC 52 is cut off by terminals beyond about this many bytes.
const OSC52_LIMIT: usize = 74_000;
/// How long a program may take to accept a text.
const PROGRAM_LIMIT: Duration = Duration::from_secs(3);

/// The sequence that offers a text to the terminal; `None`: it is too long for that. Terminals do not answer it.
pub fn offer(text: &str) -> Option<String> {
    let encoded = STANDARD.encode(text);
    if encoded.len() > OSC52_LIMIT {
        return None;
    }
    let plain = format!("\x1b]52;c;{encoded}\x07");
    // For the terminal around tmux, where it lets this through; tmux itself is told by its own program.
    Some(if is_in_tmux() { format!("\x1bPtmux;{}\x1b\\", plain.replace('\x1b', "\x1b\x1b")) } else { plain })
}

/// Gives a text to the programs that keep one for pasting, and says what is known of it then. `offered`: the terminal got
/// the sequence of [`offer`]. Blocks, for some seconds at most.
///
/// # Errors
/// Nothing has it; the words name the remedy.
pub fn copy(text: &str, offered: bool) -> Result<String, String> {
    let desktop = [
        ("wl-copy", &[][..], "WAYLAND_DISPLAY"),
        ("xclip", &["-selection", "clipboard"][..], "DISPLAY"),
        ("pbcopy", &[][..], "__CF_USER_TEXT_ENCODING"),
    ];
    let mut here = desktop.into_iter().filter(|(.., variable)| std::env::var_os(variable).is_some());
    let program = here.find(|(program, args, _)| pipe(program, args, text)).map(|(program, ..)| program);
    // Before tmux 3.2 there is no `-w`, which hands the text on to the terminal around.
    let tmux =
        is_in_tmux() && (pipe("tmux", &["load-buffer", "-w", "-"], text) || pipe("tmux", &["load-buffer", "-"], text));
    known(program, tmux, offered)
}

/// What can be said of a copy.
fn known(program: Option<&str>, tmux: bool, offered: bool) -> Result<String, String> {
    match (program, tmux, offered) {
        (Some(program), true, _) => Ok(format!("copied with {program} and to the tmux buffer")),
        (Some(program), false, _) => Ok(format!("copied with {program}")),
        (None, true, _) => Ok("copied to the tmux buffer: paste with prefix ]".into()),
        (None, false, true) => {
            Ok("sent to the terminal (OSC 52), which may not support it; /export writes a file".into())
        }
        (None, false, false) => {
            Err("not copied: the text is too long for the terminal's clipboard; install wl-copy or xclip".into())
        }
    }
}

fn is_in_tmux() -> bool {
    std::env::var_os("TMUX").is_some_and(|socket| !socket.is_empty())
}

/// Whether the program took the text.
fn pipe(program: &str, args: &[&str], text: &str) -> bool {
    let child =
        Command::new(program).args(args).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let Ok(mut child) = child else { return false };
    let Some(mut stdin) = child.stdin.take() else { return false };
    let text = text.to_owned();
    // A program that reads nothing holds up the thread that writes, until it is ended below.
    let writer =
        std::thread::Builder::new().name("copy".into()).spawn(move || stdin.write_all(text.as_bytes()).is_ok());
    // These programs go on in the background by themselves; the one we started ends at once.
    let ended = has_succeeded(&mut child);
    if ended.is_none() {
        let _ = child.kill();
        let _ = child.wait();
    }
    ended == Some(true) && writer.is_ok_and(|writer| writer.join().unwrap_or(false))
}

/// How a program ended; `None`: it has not.
fn has_succeeded(child: &mut Child) -> Option<bool> {
    let end = Instant::now() + PROGRAM_LIMIT;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status.success()),
            Ok(None) if Instant::now() < end => std::thread::sleep(Duration::from_millis(5)),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_told_as_far_as_it_is_known() {
        for (program, tmux, offered, want) in [
            (Some("wl-copy"), false, true, Ok("copied with wl-copy")),
            (Some("xclip"), true, true, Ok("copied with xclip and to the tmux buffer")),
            (None, true, true, Ok("copied to the tmux buffer: paste with prefix ]")),
            (None, true, false, Ok("copied to the tmux buffer: paste with prefix ]")),
            (None, false, true, Ok("sent to the terminal (OSC 52), which may not")),
            (None, false, false, Err("not copied: the text is too long")),
        ] {
            let told = known(program, tmux, offered);
            let begins = match (&told, want) {
                (Ok(told), Ok(want)) | (Err(told), Err(want)) => told.starts_with(want),
                _ => false,
            };
            assert!(begins, "{program:?} {tmux} {offered}: {told:?}");
        }
    }

    #[test]
    fn a_program_takes_the_text_or_does_not() {
        assert!(pipe("sh", &["-c", "[ \"$(cat)\" = words ]"], "words"));
        assert!(!pipe("sh", &["-c", "cat >/dev/null; exit 1"], "words"));
        assert!(!pipe("no-such-program-4711", &[], "words"));
        // It ends without having read all of a long text.
        assert!(!pipe("sh", &["-c", "exit 0"], &"x".repeat(1 << 20)));
    }

    #[test]
    fn what_is_too_long_is_not_offered() {
        assert!(offer("x").is_some());
        assert_eq!(offer(&"x".repeat(OSC52_LIMIT)), None);
    }
}

//! Copying: the terminal's own channel (OSC 52), and the desktop's program where there is one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// OSC 52 is cut off by terminals beyond about this many bytes.
const OSC52_LIMIT: usize = 74_000;

/// Puts text on the clipboard. `send` writes to the terminal. Tells the channels used, or why none was.
pub fn copy(text: &str, mut send: impl FnMut(&str) -> std::io::Result<()>) -> Result<String, String> {
    let mut used = Vec::new();
    for (program, args, variable) in [
        ("wl-copy", &[][..], "WAYLAND_DISPLAY"),
        ("xclip", &["-selection", "clipboard"][..], "DISPLAY"),
        ("pbcopy", &[][..], "__CF_USER_TEXT_ENCODING"),
    ] {
        if std::env::var_os(variable).is_some() && pipe(program, args, text) {
            used.push(program);
            break;
        }
    }
    let encoded = STANDARD.encode(text);
    if encoded.len() <= OSC52_LIMIT {
        let plain = format!("\x1b]52;c;{encoded}\x07");
        let sequence = if std::env::var_os("TMUX").is_some() {
            format!("\x1bPtmux;{}\x1b\\", plain.replace('\x1b', "\x1b\x1b"))
        } else {
            plain
        };
        if send(&sequence).is_ok() {
            used.push("the terminal (OSC 52)");
        }
    }
    match used.is_empty() {
        false => Ok(used.join(" and ")),
        true => Err("the text is too long for the terminal's clipboard; install wl-copy or xclip".into()),
    }
}

fn pipe(program: &str, args: &[&str], text: &str) -> bool {
    let child =
        Command::new(program).args(args).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let Ok(mut child) = child else { return false };
    let written = child.stdin.take().is_some_and(|mut stdin| stdin.write_all(text.as_bytes()).is_ok());
    // These programs go on in the background by themselves; the one we started ends at once.
    written && child.wait().is_ok_and(|status| status.success())
}

//! One way in and one way out. [`restore`] undoes everything; drop, panic and signals all call it.

use crossterm::terminal;
use std::io::{self, Write};

/// Alternate screen, bracketed paste, focus reports, kitty keys (ignored where unknown).
const ENTER: &str = "\x1b[?1049h\x1b[?2004h\x1b[?1004h\x1b[>1u";
/// Buttons, drags, SGR coordinates.
const MOUSE_ON: &str = "\x1b[?1000h\x1b[?1002h\x1b[?1006h";
const MOUSE_OFF: &str = "\x1b[?1006l\x1b[?1002l\x1b[?1000l";
/// Everything above undone, in reverse; cursor shown, its shape and the colours reset, synchronized output ended.
const LEAVE: &str =
    "\x1b[?2026l\x1b[?1006l\x1b[?1002l\x1b[?1000l\x1b[<1u\x1b[?1004l\x1b[?2004l\x1b[0m\x1b[?25h\x1b[0 q\x1b[?1049l";

/// The shape of the cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// As the person set it up.
    Usual,
    Block,
    Bar,
}

/// The sequence that gives the cursor a shape that does not blink; [`restore`] takes it back.
pub fn shape(shape: Shape) -> &'static str {
    match shape {
        Shape::Usual => "\x1b[0 q",
        Shape::Block => "\x1b[2 q",
        Shape::Bar => "\x1b[6 q",
    }
}

/// The terminal is ours while this lives.
pub struct Guard {
    _private: (),
}

impl Guard {
    /// Takes the terminal: raw keys and our own screen. The sequences are returned for the first frame's write, so that
    /// nothing flickers in between.
    pub fn enter(mouse: bool) -> io::Result<(Self, String)> {
        terminal::enable_raw_mode()?;
        let mut first = String::from(ENTER);
        if mouse {
            first.push_str(MOUSE_ON);
        }
        Ok((Self { _private: () }, first))
    }

    /// The sequence that turns mouse reports on or off.
    pub fn mouse(on: bool) -> &'static str {
        if on { MOUSE_ON } else { MOUSE_OFF }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back as it was. May be called more than once and from a panic.
pub fn restore() {
    // The terminal may be gone (SIGHUP); there is nobody to tell.
    let mut out = io::stdout().lock();
    let _ = out.write_all(LEAVE.as_bytes());
    let _ = out.flush();
    let _ = terminal::disable_raw_mode();
}

/// Restores the terminal before a panic of the screen is printed. A panic on a worker (a tool) is caught there and
/// becomes a failed result: it goes to the log and the screen stays.
pub fn install_panic_hook() {
    let before = std::panic::take_hook();
    let screen = std::thread::current().id();
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().id() == screen {
            restore();
            before(info);
        } else {
            tracing::error!("a worker panicked: {info}");
        }
    }));
}

/// Stops this process as Ctrl-Z does; returns when it is continued.
#[cfg(unix)]
pub fn suspend() -> io::Result<()> {
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TSTP)?;
    Ok(())
}

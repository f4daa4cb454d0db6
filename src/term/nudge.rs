//! A nudge for input that the terminal library overlooked.

use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

/// A key and a resize that come in the same moment are one wake-up for crossterm: it takes in one of them and waits for
/// news of the other (its epoll is edge-triggered), so that the key would show only with the next one. Setting the
/// terminal's modes to what they are makes the kernel report input that waits. Must not run while the terminal is given
/// back: it would set the modes of a moment ago.
pub fn nudge() {
    let terminal = rustix::stdio::stdin();
    // No terminal, or one that is gone: no input waits.
    if let Ok(modes) = tcgetattr(terminal) {
        let _ = tcsetattr(terminal, OptionalActions::Now, &modes);
    }
}

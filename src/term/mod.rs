//! The real terminal: taking it over, restoring it, and one write per frame.
//!
//! Uses crossterm and none of our other rooms.

mod clipboard;
mod frame;
mod guard;
mod keys;
mod reader;
mod signals;
mod split;

pub use clipboard::{copy, offer};
pub use frame::Frames;
pub use guard::{Guard, Shape, install_panic_hook, restore, shape, suspend};
pub use keys::{RawKey, RawMouse, RawMouseKind, raw_key, raw_mouse};
pub use reader::Reader;
pub use signals::Signals;

//! Text of a server: bounded, without anything that hides or moves the cursor, and looked through for orders.

use crate::context::threats::{self, Scope};

pub use crate::context::untrusted::wrapped;
pub use crate::text::foreign::{line, text};

/// What the text tries to make the model do; empty when it seems to be what it says.
pub fn orders(text: &str) -> Vec<String> {
    threats::scan(text, Scope::All)
}

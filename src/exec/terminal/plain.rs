//! Output as text for who reads all of it: clean, without what is no text, and without what programs drew only because their terminal is so wide.

use crate::exec::WIDE;
use crate::text::fold::compact;
use crate::text::{binary, clean};
use std::borrow::Cow;

/// The text of output.
pub fn plain(bytes: &[u8]) -> String {
    short(clean::clean(&binary::noted(bytes)))
}

/// The same of output whose beginning is missing.
pub fn plain_rest(bytes: &[u8]) -> String {
    short(clean::clean_rest(&binary::noted(bytes)))
}

fn short(text: String) -> String {
    match compact(&text, usize::from(WIDE)) {
        Cow::Borrowed(_) => text,
        Cow::Owned(short) => short,
    }
}

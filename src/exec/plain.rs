//! Output as text for who reads all of it: clean, and without what programs drew only because their terminal is so wide.

use super::WIDE;
use crate::text::clean;
use crate::text::fold::compact;
use std::borrow::Cow;

/// The text of output.
pub fn plain(bytes: &[u8]) -> String {
    short(clean::clean(bytes))
}

/// The same of output whose beginning is missing.
pub fn plain_rest(bytes: &[u8]) -> String {
    short(clean::clean_rest(bytes))
}

fn short(text: String) -> String {
    match compact(&text, usize::from(WIDE)) {
        Cow::Borrowed(_) => text,
        Cow::Owned(short) => short,
    }
}

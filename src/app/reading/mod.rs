//! Reading what is on the screen: scrolling, finding, selecting and copying.

pub(super) mod copy_words;
pub mod find;
pub mod footer;
pub mod marking;
pub mod scroll;
pub mod seek;
pub mod select;

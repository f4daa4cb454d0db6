//! From the text of a line to its shape: readings of it, words, the grammar, and a second reader that checks ours.

pub(super) mod ast;
mod compound;
pub(super) mod crosscheck;
mod dollar;
mod lex;
mod lookalike;
pub(super) mod normal;
pub(super) mod parse;
mod reader;
mod redirect;
pub(super) mod source;

//! What a model gets back: bounded, masked, and within the room that the step has.

pub(super) mod binary;
pub mod bound;
pub mod budget;

//! What a session is offered: bundles of tools, those that stand in a request, those it searches for, and their words.

pub mod catalog;
pub mod listing;
pub mod selection;
pub mod small;
pub mod toolset;
pub mod wording;

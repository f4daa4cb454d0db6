//! Screens drawn to a buffer: what they show at each size, that no size breaks them, and how little is laid out again.

mod approvals;
mod cards;
mod fixture;
mod keeping;
mod lists;
mod modals;
mod panes;
mod rebinding;
mod screens;
mod turn_end;
mod work;
mod worktree;

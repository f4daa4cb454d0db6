//! One conversation: the pure turn machine, the runner that drives it, and what goes into a request.

pub mod event;

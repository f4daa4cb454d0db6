//! The state of the screen and the only code that changes it: `update(&mut Model, now, Msg) -> Vec<Effect>`.
//!
//! Pure: no I/O, clock, tokio, terminal or SQL. Messages are facts, effects are orders; the runtime carries them out.

pub mod effect;
pub mod model;
pub mod msg;

pub use effect::Effect;
pub use model::Model;
pub use msg::Msg;

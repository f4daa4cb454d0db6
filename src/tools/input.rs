//! What a model wrote, made into a call of ours: the name it meant, arguments in their types, and paths.

pub mod alias;
pub mod coerce;
pub mod paths;
pub mod repair;

//! Keys and facts to effects.

//! How keys, the mouse and text come in: who gets a key, what it means, and the fields that take text.

pub mod completion;
pub mod composer;
pub mod drafts;
pub mod edit;
pub mod encode;
pub mod focus;
pub mod hint;
pub mod history;
pub mod keys;
pub mod mouse;
pub mod paste;
pub mod reference;
pub mod slash;
pub mod suggestions;
pub mod vi;

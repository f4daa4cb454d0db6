//! What belongs to the window and to no session: modals, notices, the sidebar, sizes, looks, and leaving.

pub mod appearance;
pub mod borders;
pub mod modals;
pub mod notices;
pub mod quitting;
pub mod settings;
pub mod sidebar;
pub mod talk;
pub mod wake;

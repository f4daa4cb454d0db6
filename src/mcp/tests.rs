//! Whole servers.

//! The two terminal tools on real processes.

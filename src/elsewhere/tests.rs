//! Readers against sessions that the agents made, and against files that are not what they seem.

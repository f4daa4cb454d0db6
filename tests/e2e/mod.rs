//! The built program from outside: a person at a terminal, a script at a pipe, and bad days.

mod bad_days;
mod coming_back;
mod commands;
mod disks;
mod editing;
mod extensions;
mod first_run;
mod floods;
mod hangup;
mod lists;
mod mcp;
mod mcp_changes;
mod mcp_login;
mod mcp_many;
mod mcp_official;
mod panes;
mod print;
mod rewind;
mod sessions;
mod signals;
mod story;
mod suspend;
mod terminal;
mod windows;

//! The built program from outside: a person at a terminal, a script at a pipe, and bad days.

mod bad_days;
mod commands;
mod extensions;
mod print;
mod rewind;
mod story;
mod terminal;

//! The built program from outside: a person at a terminal, a script at a pipe, and bad days.

mod bad_days;
mod coming_back;
mod commands;
mod lists;
mod print;
mod story;
mod terminal;

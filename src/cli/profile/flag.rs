//! `--profile NAME`: known before anything else is, since the home decides what is read first.

use crate::cli;
use clap::{Arg, Command};
use std::ffi::OsString;

const FLAG: &str = "--profile";

/// The command line with the flag on every command.
pub(in crate::cli) fn with_flag(command: Command) -> Command {
    let flag = Arg::new("profile").long("profile").value_name("NAME").global(true);
    command.arg(flag.help("Use this profile, with separate settings, keys and sessions"))
}

/// The words without a flag at their head: there it may stand before a subcommand, and before one of a plugin.
pub(in crate::cli) fn headless(mut words: Vec<OsString>) -> Vec<OsString> {
    while let Some((_, length)) = head(&words) {
        words.drain(1..=length);
    }
    words
}

/// The profile that the command line names. One at its head wins: what stands later may belong to others.
pub(in crate::cli) fn asked(words: Vec<OsString>) -> Option<String> {
    if let Some((name, _)) = head(&words) {
        return Some(name);
    }
    // Most have no flag: then nothing is read twice. Neither is what a plugin reads.
    let has_flag = words.iter().any(|word| word.to_str().is_some_and(|word| word.starts_with(FLAG)));
    if !has_flag || cli::of_plugin(&words).is_some() {
        return None;
    }
    // A line that can't be read is told of where it is read in earnest.
    let matches = cli::commands().try_get_matches_from(words).ok()?;
    let mut at = &matches;
    while let Some((_, inner)) = at.subcommand().filter(|(_, inner)| inner.try_contains_id("profile").is_ok()) {
        at = inner;
    }
    at.get_one::<String>("profile").cloned()
}

/// The name in a flag right behind the program's own name, and how many words it takes.
fn head(words: &[OsString]) -> Option<(String, usize)> {
    let word = words.get(1)?.to_str()?;
    match word.strip_prefix(FLAG)? {
        "" => Some((words.get(2)?.to_str()?.to_owned(), 2)),
        value => Some((value.strip_prefix('=')?.to_owned(), 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn the_flag_may_stand_anywhere_but_in_what_belongs_to_others() {
        for (line, name) in [
            ("hermes", None),
            ("hermes hello", None),
            ("hermes --profile work", Some("work")),
            ("hermes --profile=work sessions list", Some("work")),
            ("hermes --profile work sessions list", Some("work")),
            ("hermes --profile work of-a-plugin --profile dev", Some("work")),
            ("hermes hello --profile work", Some("work")),
            ("hermes sessions list --profile work", Some("work")),
            ("hermes sessions --profile work list", Some("work")),
            ("hermes -c --profile=work", Some("work")),
            ("hermes -p hello --profile work", Some("work")),
            ("hermes chat -q hello --profile work", Some("work")),
            ("hermes --profile one sessions --profile two list", Some("one")),
            ("hermes approvals test cargo build --profile dist", None),
            ("hermes plugins run name word x --profile dev", None),
            ("hermes plugins run name word -- --profile dev", None),
            ("hermes -- --profile", None),
            ("hermes --profile", None),
        ] {
            assert_eq!(asked(words(line)).as_deref(), name, "{line}");
        }
    }

    #[test]
    fn only_the_head_is_taken_off() {
        for (line, rest) in [
            ("hermes --profile a sessions list", "hermes sessions list"),
            ("hermes --profile=a --profile b x", "hermes x"),
            ("hermes sessions --profile a", "hermes sessions --profile a"),
            ("hermes --profile", "hermes --profile"),
            ("hermes --profiles a", "hermes --profiles a"),
        ] {
            assert_eq!(headless(words(line)), words(rest), "{line}");
        }
    }
}

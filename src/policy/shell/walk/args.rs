//! Options and operands of an argument list.

use super::resolve::{Field, UNKNOWN};
use crate::policy::glob;

/// The words after a command name, sorted out.
#[derive(Debug, Default)]
pub struct Args {
    pub flags: Vec<Flag>,
    /// Places of operands in the argument list.
    pub operands: Vec<usize>,
}

/// One option.
#[derive(Debug)]
pub struct Flag {
    /// `-r`, `--recursive`, or all of `-delete`.
    pub name: String,
    /// The place of its word, and its value with the place where the value is.
    pub at: usize,
    pub value: Option<(String, usize)>,
}

/// Words that look like several options and are one.
const WHOLE: &[&str] = &["-es", "-Es"];

/// Sorts the words from `from` on. `takes` are options with a value; with `posix` options end at the first operand.
pub fn parse(argv: &[Field], from: usize, takes: &[String], posix: bool) -> Args {
    let mut args = Args::default();
    let takes_value = |name: &str| takes.iter().any(|t| t == name);
    let mut i = from;
    while i < argv.len() {
        let word = argv[i].text.as_str();
        let next = argv.get(i + 1).map(|f| (f.text.clone(), i + 1));
        if word == "--" {
            args.operands.extend(i + 1..argv.len());
            break;
        } else if word.len() < 2 || !word.starts_with(['-', '+']) || (word.starts_with('+') && !takes_value(word)) {
            args.operands.push(i);
            if posix {
                args.operands.extend(i + 1..argv.len());
                break;
            }
        } else if word.starts_with("--") {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name, Some((value.to_owned(), i))),
                None => (word, None),
            };
            let value = match value {
                None if takes_value(name) => {
                    i += 1;
                    next
                }
                value => value,
            };
            args.flags.push(Flag {
                name: name.into(),
                at: if value.is_some() { i.min(argv.len() - 1) } else { i },
                value,
            });
        } else if WHOLE.contains(&word) {
            args.flags.push(Flag { name: word.into(), at: i, value: None });
        } else if takes_value(word) {
            args.flags.push(Flag { name: word.into(), at: i, value: next });
            i += 1;
        } else {
            let mut whole_value = None;
            for (at, letter) in word.char_indices().skip(1) {
                let name = format!("-{letter}");
                let rest = &word[at + letter.len_utf8()..];
                if takes_value(&name) {
                    let value =
                        if rest.is_empty() { next.clone() } else { Some((rest.trim_start_matches('=').to_owned(), i)) };
                    whole_value = rest.is_empty().then_some(());
                    args.flags.push(Flag { name, at: i, value });
                    break;
                }
                args.flags.push(Flag { name, at: i, value: None });
            }
            if word.chars().count() > 2 {
                args.flags.push(Flag { name: word.into(), at: i, value: None });
            }
            if whole_value.is_some() {
                i += 1;
            }
        }
        i += 1;
    }
    args
}

impl Args {
    /// The options that one of the wanted names means; long ones may be shortened, as getopt allows.
    pub fn matching<'a>(&'a self, wanted: &'a [String]) -> impl Iterator<Item = &'a Flag> {
        self.flags.iter().filter(move |flag| wanted.iter().any(|w| means(&flag.name, w)))
    }

    /// Whether any of these names is given in full, and not turned off: `--dry-run=none`.
    pub fn has_exactly(&self, names: &[String]) -> bool {
        let is_off = |flag: &Flag| {
            let value = flag.value.as_ref().filter(|(_, at)| *at == flag.at).map(|(value, _)| value.to_lowercase());
            value.is_some_and(|value| {
                matches!(value.as_str(), "none" | "false" | "no" | "off" | "0") || value.contains(UNKNOWN)
            })
        };
        self.flags.iter().any(|flag| names.contains(&flag.name) && !is_off(flag))
    }
}

fn means(given: &str, wanted: &str) -> bool {
    given == wanted
        || (given.len() > 2 && given.starts_with("--") && wanted.starts_with(given))
        || (wanted.contains('*') && glob::matches(wanted, given))
}

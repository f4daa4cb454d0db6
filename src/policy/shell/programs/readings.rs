//! Options of wrappers of which it is not certain whether they take a value: a wrong guess would swallow the command.

use super::decode::Stream;
use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::args;
use crate::policy::shell::walk::args::Args;
use crate::policy::shell::walk::invoke::{Known, program};
use crate::policy::shell::walk::resolve::Field;
use crate::policy::table::Level;

/// Readings of the options of one wrapper beside the one that the table gives.
const MAX_READINGS: usize = 3;

impl Walker<'_> {
    /// Runs what the words say, and what they say if options take or take no value otherwise than the table thinks; the
    /// stricter counts.
    pub(super) fn either_reading(&mut self, known: &Known<'_>, input: Option<Stream>, me: usize) -> Option<Stream> {
        let plain = known.spec.wrap.as_ref().filter(|wrap| !wrap.any && !wrap.texts && !wrap.dashes);
        let starts =
            plain.map(|wrap| self.other_starts(known.argv, &known.args, &wrap.plain, &wrap.text)).unwrap_or_default();
        let before = self.findings.len();
        let out = self.wrapped_here(known, input.clone(), me);
        for from in starts {
            let args = args::parse(known.argv, from, &known.spec.takes, true);
            let (argv, name, fed) = (known.argv, known.name.clone(), known.fed);
            let other = Known { spec: known.spec, args, argv, name, from, fed };
            let told = self.findings.get(before..).unwrap_or_default().iter().map(|f| f.level).max();
            let level = self.try_out(|w| {
                w.wrapped_here(&other, input.clone(), me);
            });
            // A word that is an argument of a program that everybody downloads is no program that nobody knows.
            let least = if plain.is_some_and(|wrap| wrap.registry.is_empty()) { Level::Allow } else { Level::Ask };
            if level > told.unwrap_or(least).max(least) {
                self.subshell(|w| w.wrapped_here(&other, input.clone(), me));
                self.current = Some(me);
            }
        }
        out
    }

    /// Where the words of the command may start beside where the table says: at the value of an option, and behind the word
    /// that follows an option of which it is not certain that it has none. `text`: options whose value is a line of shell.
    pub(super) fn other_starts(&self, argv: &[Field], args: &Args, plain: &[String], text: &[String]) -> Vec<usize> {
        let values = args.flags.iter().filter(|flag| !text.contains(&flag.name)).filter_map(|flag| flag.value.as_ref());
        let program_at = |at: usize| self.table.command(&program(&argv[at].text)).is_some();
        let mut starts: Vec<usize> = values
            .filter(|(text, at)| argv[*at].text == *text && program_at(*at))
            .map(|(_, at)| *at)
            .take(MAX_READINGS)
            .collect();
        let first = args.operands.first().copied().filter(|at| *at > 1 && *at + 1 < argv.len());
        if let Some(first) = first {
            let option = argv[first - 1].text.as_str();
            let is_value = args.flags.iter().any(|f| f.value.as_ref().is_some_and(|value| value.1 == first - 1));
            let letters = option.strip_prefix('-').filter(|rest| !rest.starts_with('-')).unwrap_or("");
            let is_plain = plain.iter().any(|known| known == option)
                || !letters.is_empty()
                    && letters
                        .chars()
                        .all(|c| plain.iter().any(|p| p.strip_prefix('-') == Some(c.encode_utf8(&mut [0; 4]))));
            let is_option = option.len() > 1 && option.starts_with('-') && option != "--" && !option.contains('=');
            if is_option && !is_value && !is_plain {
                starts.push(first + 1);
            }
        }
        starts
    }
}

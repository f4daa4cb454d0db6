//! Paths among words of which no table says what they are to their program: one that matters is a question, since it may be
//! written.

use crate::policy::glob;
use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::args::Flag;
use crate::policy::shell::walk::invoke::Known;
use crate::policy::shell::walk::resolve::Field;
use crate::policy::table::{Kind, Role};

/// Words of one command that are looked at.
const MAX_WORDS: usize = 256;

impl Walker<'_> {
    /// Options whose value no table explains: `--output FILE` is written whatever the program is.
    pub(super) fn named_values(&mut self, known: &Known<'_>) {
        let kind = self.table.command(&known.name).map_or(Kind::Plain, |spec| spec.kind);
        if matches!(kind, Kind::Git | Kind::Find | Kind::Echo | Kind::Printf | Kind::Sql) {
            return;
        }
        let unsaid = |flag: &&Flag| !known.spec.values.contains_key(&flag.name);
        for flag in known.args.flags.iter().filter(unsaid).take(MAX_WORDS) {
            let Some((text, at)) = &flag.value else { continue };
            let field = Field { text: text.clone(), ..known.argv[*at].clone() };
            if !self.is_read(&flag.name) {
                self.value_of_option(&flag.name, &field);
            }
        }
        // The value of an option that the table lacks looks like an operand.
        let short = known.spec.paths.is_empty();
        for at in known.args.operands.iter().filter(|at| **at > known.from && known.spec.wrap.is_none()).take(MAX_WORDS)
        {
            let option = known.argv[at - 1].text.as_str();
            if self.is_written(option) && (short || option.starts_with("--")) && known.argv[*at].text.contains('/') {
                self.touch(Role::Write, &known.argv[*at].clone());
            }
        }
    }

    /// Words of a program that the table does not know, or of whose operands it says nothing.
    pub(in crate::policy::shell) fn named_words(&mut self, words: &[Field]) {
        let mut option = "";
        for field in words.iter().take(MAX_WORDS) {
            let word = field.text.as_str();
            let value = word.split_once('=').filter(|(name, _)| !name.is_empty() && !name.contains('/'));
            match (word.starts_with('-'), value) {
                (_, Some((name, value))) => {
                    let value = Field { text: value.to_owned(), ..field.clone() };
                    self.value_of_option(name, &value);
                    option = "";
                }
                // `-o/path`
                (true, None) => match word.find('/').filter(|at| *at == 2 && !word.starts_with("--")) {
                    Some(at) => {
                        let value = Field { text: word[at..].to_owned(), ..field.clone() };
                        self.value_of_option(&word[..at], &value);
                    }
                    None => option = word,
                },
                (false, None) => self.value_of_option(std::mem::take(&mut option), field),
            }
        }
    }

    /// One word, behind an option or behind none.
    fn value_of_option(&mut self, name: &str, field: &Field) {
        let path = field.text.contains('/');
        if path && self.is_written(name) {
            self.touch(Role::Write, field);
        } else if path || field.glob || field.text.contains('.') || self.in_named_folder() {
            self.touch(if self.is_read(name) { Role::Read } else { Role::Unsaid }, field);
        }
    }

    fn is_read(&self, option: &str) -> bool {
        self.table.paths.reads.iter().any(|known| glob::matches(known, option))
    }

    fn is_written(&self, option: &str) -> bool {
        self.table.paths.writes.iter().any(|known| glob::matches(known, option))
    }

    /// Whether the line may be in a folder where plain names matter.
    fn in_named_folder(&self) -> bool {
        self.state.cwds.iter().any(|cwd| {
            *cwd != self.start
                && self
                    .class(&format!("{cwd}/x"))
                    .is_some_and(|class| !class.named.is_empty() || !class.read.is_empty())
        })
    }
}

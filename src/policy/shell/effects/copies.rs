//! Programs under another name: a copy of `rm` is `rm`, and a copy of this program is this program.

use crate::policy::glob;
use crate::policy::shell::programs::decode::Stream;
use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::invoke::program;
use crate::policy::shell::walk::resolve::Field;
use std::path::Path;

/// Programs that one pattern may mean.
const MAX_PROGRAMS: usize = 8;

impl Walker<'_> {
    /// What a file is that a command copies: what the line wrote into it, or a program that the table knows.
    pub(in crate::policy::shell) fn copied(&mut self, source: &Field) -> Option<Stream> {
        let known = self.file(source);
        if known.as_ref().is_some_and(|stream| stream.text.is_some() || !stream.programs.is_empty()) {
            return known;
        }
        let name = program(&source.text);
        let mut programs: Vec<String> = Vec::new();
        if source.glob && glob::is_pattern(&name) {
            if !self.spend(16, &source.span) {
                return known;
            }
            programs.extend(self.table.names_like(&name).take(MAX_PROGRAMS + 1).map(str::to_owned));
            for path in self.absolute(&source.text) {
                let found = self.world.glob(&path, Path::new("/"), MAX_PROGRAMS).names;
                programs.extend(found.iter().map(|path| program(&path.to_string_lossy())));
            }
        } else if self.table.command(&name).is_some() {
            programs.push(name);
        }
        if programs.is_empty() {
            known
        } else {
            Some(Stream { programs, ..known.unwrap_or_else(|| Stream::unknown(source.span.clone())) })
        }
    }

    /// Runs what a word stands for that the line copied a program to; each that it may be.
    pub(in crate::policy::shell) fn as_copied(&mut self, argv: &[Field], input: Option<&Stream>, me: usize) {
        let first = &argv[0];
        let name = program(&first.text);
        let programs = self.file(first).map(|stream| stream.programs).unwrap_or_default();
        if programs.len() > MAX_PROGRAMS {
            self.find("unresolved command", first.span.clone());
        }
        for other in programs.into_iter().filter(|other| *other != name).take(MAX_PROGRAMS) {
            let mut words = argv.to_vec();
            words[0] = Field::known(other, first.span.clone());
            self.deeper(&first.span, |w| w.subshell(|w| w.invoke(words, input.cloned(), Some((me, 0)))));
            self.current = Some(me);
        }
    }
}

//! The subcommand that words choose, and what the table says of it.

use super::Walker;
use super::args;
use super::invoke::Known;
use crate::policy::shell::programs::decode::Stream;
use crate::policy::table::{Kind, Spec};

/// Operands among which a subcommand is looked for.
const MAX_WORDS: usize = 40;

impl Known<'_> {
    /// The operands of which one is the first: what follows an option that the table does not know may be its value.
    pub(super) fn first_operands(&self) -> &[usize] {
        let all = &self.args.operands;
        let unsure = all.iter().take(MAX_WORDS).take_while(|at| self.may_be_value(**at)).count();
        &all[..(unsure + 1).min(all.len())]
    }

    fn may_be_value(&self, at: usize) -> bool {
        let before = if at > 1 { self.argv[at - 1].text.as_str() } else { "" };
        before.len() > 1 && before.starts_with('-') && before != "--" && !before.contains('=')
    }
}

/// A subcommand of the table in the words of a command.
struct Hit<'t> {
    spec: &'t Spec,
    /// The place behind its last word.
    from: usize,
    name: String,
}

impl<'w> Walker<'w> {
    /// Judges the subcommand, if the table knows it; gives what it writes.
    pub(in crate::policy::shell) fn subcommand(
        &mut self,
        known: &Known<'_>,
        me: usize,
        input: Option<Stream>,
    ) -> Option<Option<Stream>> {
        // `cargo +nightly publish`
        let chosen = |at: &&usize| known.name == "cargo" && known.argv[**at].text.starts_with('+');
        let operands: Vec<usize> = known.args.operands.iter().skip_while(chosen).take(MAX_WORDS).copied().collect();
        let sure: Vec<usize> = operands.iter().filter(|at| !known.may_be_value(**at)).copied().collect();
        if let Some(first) = operands.first() {
            // `git -C dir push` is `git push`.
            let mut plain = vec![known.name.clone()];
            plain.extend(known.argv[*first..].iter().map(|f| f.text.clone()));
            self.invocations[me].plain = plain;
            self.brought.truncate(me);
        }
        if known.spec.sub.is_empty() {
            return None;
        }
        let mut hits: Vec<Hit<'_>> = Vec::new();
        for words in [&operands, &sure] {
            if let Some(hit) = find(known, words)
                && !hits.iter().any(|h| std::ptr::eq(h.spec, hit.spec))
            {
                hits.push(hit);
            }
        }
        if hits.is_empty() {
            let spec = known.spec.sub.get("*")?;
            let from = operands.first()? + 1;
            hits.push(Hit { spec, from, name: String::new() });
        }
        let mut out = None;
        for hit in hits {
            let args = args::parse(known.argv, hit.from, &hit.spec.takes, hit.spec.posix);
            let inner = Known {
                spec: hit.spec,
                args,
                argv: known.argv,
                name: known.name.clone(),
                from: hit.from,
                fed: known.fed,
            };
            self.unresolved_level(&inner);
            let here = self.state.cwds.clone();
            self.feeds(&inner, input.as_ref());
            self.rules(&inner, &hit.spec.rules, hit.from);
            if known.spec.kind == Kind::Git {
                // Paths are below the folder of `-C`.
                self.state.cwds = self.folders_of(known);
                self.git(known, &inner, hit.name.split(' ').next().unwrap_or(""), hit.from);
            }
            self.operands(&inner, input.as_ref());
            self.state.cwds = here;
            if hit.spec.wrap.is_some() {
                return Some(self.contained(&inner, hit.from, input, me));
            }
            out = out.or(Some(()));
        }
        let span = known.span();
        out.map(|()| Some(input.map_or_else(|| Stream::unknown(span.clone()), |s| s.changed(&span))))
    }
}

/// The subcommand with the most words that these operands begin with.
fn find<'t>(known: &Known<'t>, words: &[usize]) -> Option<Hit<'t>> {
    let texts: Vec<&str> = words.iter().map(|at| known.argv[*at].text.as_str()).collect();
    let (name, spec) = known.spec.subcommand(&texts)?;
    let words = &words[..name.split(' ').count()];
    Some(Hit { spec, from: words.last()? + 1, name: name.to_owned() })
}

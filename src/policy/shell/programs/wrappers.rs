//! Commands that run other commands.

use super::decode::Stream;
use crate::policy::shell::read::ast::Span;
use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::invoke::Known;
use crate::policy::shell::walk::resolve::{Field, UNKNOWN};
use crate::policy::table::Level;

/// What a bare `env` does; a filter behind it that keeps it on the screen takes the question away.
pub(in crate::policy::shell) const ENVIRONMENT: &str = "prints the environment";

/// Words behind a text that are followed.
const MAX_FURTHER: usize = 64;

impl<'w> Walker<'w> {
    /// Runs what the table says that the command runs.
    pub(in crate::policy::shell) fn wrapped(
        &mut self,
        known: &Known<'_>,
        input: Option<Stream>,
        me: usize,
    ) -> Option<Stream> {
        let Some(wrap) = &known.spec.wrap else { return None };
        self.invocations[me].quiet = wrap.quiet;
        let folder = known.args.flags.iter().find(|f| wrap.folder.contains(&f.name)).and_then(|f| f.value.clone());
        let Some((folder, at)) = folder else { return self.either_reading(known, input, me) };
        let field = Field { text: folder, ..known.argv[at].clone() };
        self.subshell(|w| {
            w.state.cwds = w.absolute(&field.text);
            w.either_reading(known, input, me)
        })
    }

    pub(super) fn wrapped_here(&mut self, known: &Known<'_>, input: Option<Stream>, me: usize) -> Option<Stream> {
        let Some(wrap) = &known.spec.wrap else { return None };
        let span = known.span();
        let mut out = None;
        let mut texts = 0;
        for flag in &known.args.flags {
            if let (true, Some((text, at))) = (wrap.text.contains(&flag.name), &flag.value) {
                let inner = known.argv[*at].span.clone();
                // `env -S 'rm -rf' x`: further words are words of the same command.
                let further = known.argv[at + 1..].iter().filter(|_| wrap.assigns).take(MAX_FURTHER);
                let further: Vec<String> = further.map(|field| quoted(&field.text)).collect();
                let text = [std::slice::from_ref(text), &further].concat().join(" ");
                out = self.subshell(|w| w.text(&text, &inner, input.clone()));
                self.current = Some(me);
                texts += 1;
            }
        }
        if texts > 0 {
            self.runs_downloaded(known, wrap, None);
        }
        if wrap.texts {
            for field in known.operands().cloned().collect::<Vec<_>>() {
                self.subshell(|w| w.text(&field.text, &field.span, None));
                self.current = Some(me);
            }
            // Keys are typed one after the other.
            let typed: String =
                known.operands().map(|f| if f.text == "Space" { " " } else { f.text.as_str() }).collect();
            if known.args.operands.len() > 1 {
                let typed = typed.trim_end_matches("Enter").trim_end_matches("C-m").to_owned();
                self.subshell(|w| w.text(&typed, &span, None));
                self.current = Some(me);
            }
            return Some(Stream::unknown(span));
        }
        if wrap.dashes {
            let at = known.argv.iter().position(|f| f.text == "--").map(|i| i + 1);
            return match at {
                Some(at) if at < known.argv.len() => {
                    self.deeper(&span, |w| w.subshell(|w| w.invoke(known.argv[at..].to_vec(), input, Some((me, at)))))
                }
                _ => out,
            };
        }
        if wrap.any {
            return match self.runs_any(known, input.clone(), me) {
                Some(inner) => Some(inner),
                None if texts == 0 && wrap.shell => self.fed_shell(input, known, me),
                None => out,
            };
        }
        let mut rest: &[usize] = known.args.operands.get(wrap.skip..).unwrap_or_default();
        // `ssh host -- command`, `env - command`
        while rest.first().is_some_and(|at| matches!(known.argv[*at].text.as_str(), "--" | "-")) {
            rest = &rest[1..];
        }
        if wrap.joined {
            return if !rest.is_empty() {
                self.joined_words(known, rest, input, me)
            } else if wrap.shell && texts == 0 {
                self.fed_shell(input, known, me)
            } else {
                out
            };
        }
        let mut assigned = Vec::new();
        if wrap.assigns {
            while let Some(at) = rest.first() {
                let field = &known.argv[*at];
                let Some((name, value)) = field.text.split_once('=') else { break };
                if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                    break;
                }
                self.check_variable(name, value, &field.span);
                assigned.push((name.to_owned(), value.to_owned()));
                rest = &rest[1..];
            }
            if rest.is_empty() && known.name == "env" && out.is_none() {
                self.find(ENVIRONMENT, known.argv[0].span.clone());
                return Some(Stream::unknown(span));
            }
        }
        let Some(at) = rest.first().copied() else {
            return if wrap.shell && texts == 0 { self.fed_shell(input, known, me) } else { out };
        };
        self.runs_downloaded(known, wrap, Some(at));
        let run = |w: &mut Self| w.deeper(&span, |w| w.invoke(known.argv[at..].to_vec(), input, Some((me, at))));
        if assigned.is_empty() {
            return run(self);
        }
        // The variables are there for the command, and its words were made before.
        self.subshell(|w| {
            for (name, value) in assigned {
                w.state.set(&name, vec![value]);
            }
            run(w)
        })
    }

    /// Words that become one line of shell, or are handed on as they are.
    fn joined_words(&mut self, known: &Known<'_>, rest: &[usize], input: Option<Stream>, me: usize) -> Option<Stream> {
        let (first, last) = rest.first().zip(rest.last())?;
        let span = known.argv[*first].span.start..known.argv[*last].span.end;
        // Git hands several words on as they are: `bisect run sh -c 'LINE'`. With others it depends; both readings count.
        let several = rest.len() > 1 && rest.iter().any(|at| known.argv[*at].text.contains(' '));
        let words: Vec<Field> = rest.iter().filter(|_| several).map(|at| known.argv[*at].clone()).collect();
        let exactly = matches!(known.name.as_str(), "ssh" | "autossh");
        let mut out = None;
        if !(several && known.name == "git") {
            let text = rest.iter().map(|at| known.argv[*at].text.as_str()).collect::<Vec<_>>().join(" ");
            out = self.subshell(|w| w.text(&text, &span, input));
            self.current = Some(me);
        }
        if several && exactly {
            self.refused_words(words, &span, (me, *first));
        } else if several {
            let given = self.deeper(&span, |w| w.subshell(|w| w.invoke(words, None, Some((me, *first)))));
            self.current = Some(me);
            out = out.or(given);
        }
        out
    }

    /// Refuses words that no mode would run; what they are otherwise does not count.
    fn refused_words(&mut self, words: Vec<Field>, span: &Span, within: (usize, usize)) {
        let run = |w: &mut Self, words| {
            w.deeper(span, |w| w.subshell(|w| w.invoke(words, None, Some(within))));
        };
        let copy = words.clone();
        if self.spend(4, span) && self.try_out(|w| run(w, copy)) == Level::Refuse {
            run(self, words);
        }
        self.current = Some(within.0);
    }

    /// A command that starts a shell when it is given no command: `sudo -s`, `ssh host`, `su`.
    fn fed_shell(&mut self, input: Option<Stream>, known: &Known<'_>, me: usize) -> Option<Stream> {
        let out = self.shell_input(input, known.argv[0].span.clone());
        self.current = Some(me);
        out
    }
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The start of a text for a sentence, on one line.
pub(super) fn shorten(text: &str) -> String {
    let line = text.trim().replace(UNKNOWN, "…").replace('\n', " ⏎ ");
    match line.char_indices().nth(200) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

//! Commands that the table does not know: they may run their last words, or a text among them, as a command.

use super::decode::Stream;
use crate::policy::shell::effects::findings::Invocation;
use crate::policy::shell::read::ast::Span;
use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::invoke::{Known, program};
use crate::policy::shell::walk::resolve::{Field, UNKNOWN};
use crate::policy::table::Level;

/// Words that build compound commands.
const RESERVED: &[&str] = &["while", "until", "if", "for", "case", "select", "do", "then", "!", "{"];
/// Words in which the start of a command is looked for.
const MAX_STARTS: usize = 12;
/// Texts inside of one that are looked at, and lines of it.
const MAX_INNER: usize = 16;
const MAX_LINES: usize = 64;
/// Options whose value is text for people.
const PROSE: &[&str] = &[
    "-m",
    "--message",
    "--msg",
    "--title",
    "--body",
    "--description",
    "--desc",
    "--comment",
    "--notes",
    "--subject",
    "--text",
    "--prompt",
];

impl Walker<'_> {
    /// A command that the table does not know: its paths may be secrets, and it may run its arguments.
    pub(in crate::policy::shell) fn unknown_command(&mut self, argv: &[Field], input: Option<&Stream>, me: usize) {
        // Behind `sudo` or `env` a word of the shell's own is the name of a program: the line means something else than it does.
        if let Some(first) = argv.first().filter(|f| RESERVED.contains(&f.text.as_str())) {
            let say = format!("`{}` is not a command here; it may do something other than it seems", first.text);
            self.find_as("malformed shell", say, first.span.clone());
        }
        self.says_it(argv);
        self.named_words(argv.get(1..).unwrap_or_default());
        self.may_run(argv, false, me);
        self.may_hold(argv, input);
    }

    /// A program that is known to run another one: what starts at the first word that names a program runs.
    pub(super) fn runs_any(&mut self, known: &Known<'_>, input: Option<Stream>, me: usize) -> Option<Stream> {
        let argv = known.argv;
        let dashes = argv.iter().position(|f| f.text == "--").map(|i| i + 1);
        let names = |text: &str| {
            let first = text.split_whitespace().next().unwrap_or("");
            !text.starts_with('-') && self.table.command(&program(first)).is_some()
        };
        // Behind the subcommand, where there is one.
        let args = known.args.operands.first().into_iter().chain(known.args.flags.iter().map(|f| &f.at));
        let from = args.min().copied()?;
        let at = dashes.filter(|at| *at < argv.len()).or_else(|| (from..argv.len()).find(|i| names(&argv[*i].text)))?;
        let span = argv[at].span.clone();
        let out = if at + 1 == argv.len() && argv[at].text.contains(' ') {
            let text = argv[at].text.clone();
            self.deeper(&span, |w| w.subshell(|w| w.text(&text, &span, input)))
        } else {
            self.deeper(&span, |w| w.subshell(|w| w.invoke(argv[at..].to_vec(), input, Some((me, at)))))
        };
        self.current = Some(me);
        // There may be several texts, and words before the command that are programs too.
        self.named_words(&argv[1..at]);
        self.may_run(argv, true, me);
        out
    }

    /// A text that an option, a variable or a setting hands to a shell: what no mode runs is refused here too.
    pub(in crate::policy::shell) fn runs_text(&mut self, text: &str, span: &Span) {
        let tail = |mark: char| text.split_once(mark).map_or("", |(_, rest)| rest);
        let mut tried: Vec<&str> = Vec::new();
        let transport = text.split_once("::").map_or("", |(_, rest)| rest);
        let inner = inner_texts(text);
        let plain = [text, tail('='), tail('!'), tail('|'), tail(' '), tail('e'), transport];
        for line in plain.into_iter().chain(inner.iter().map(String::as_str)) {
            let line = line
                .trim_start_matches(['!', ':', '+', '@', ' '])
                .trim_start_matches("exec=")
                .trim_matches(['\'', '"']);
            if line.len() < 4 || line.len() > 4096 || tried.contains(&line) || !self.spend(4, span) {
                continue;
            }
            tried.push(line);
            let level = self.try_out(|w| {
                w.text(line, span, None);
            });
            if level == Level::Refuse {
                let current = self.current;
                self.subshell(|w| w.text(line, span, None));
                self.current = current;
                return;
            }
        }
    }

    /// Texts that a program which no table knows is given: code, or lines on its standard input, may hand a part of them to a
    /// shell.
    pub(in crate::policy::shell) fn may_hold(&mut self, argv: &[Field], input: Option<&Stream>) {
        let words = argv.iter().enumerate().skip(1).take(64).filter(|(i, field)| {
            let prose = PROSE.contains(&argv[i - 1].text.as_str())
                || field.text.split_once('=').is_some_and(|(name, _)| PROSE.contains(&name));
            !prose && field.text.contains([' ', '\n'])
        });
        let mut texts: Vec<(String, Span)> = words.map(|(_, f)| (f.text.clone(), f.span.clone())).collect();
        let streams = argv.iter().skip(1).filter(|field| field.process).filter_map(|field| field.stream.as_ref());
        for stream in streams.chain(input) {
            let text = stream.text.as_ref().or(stream.some.as_ref());
            texts.extend(text.map(|text| (text.clone(), stream.span.clone())));
        }
        for (text, span) in texts {
            let lines = text.lines().take(MAX_LINES).filter(|_| text.contains('\n')).map(str::to_owned);
            let value = text.split_once('=').filter(|_| text.starts_with('-')).map(|(_, value)| value.to_owned());
            let whole = [text.clone()].into_iter().chain(value);
            let all: Vec<String> = whole.chain(inner_texts(&text)).chain(lines).collect();
            for inner in all {
                let inner = inner.trim().trim_start_matches(['!', ':', '@', '\\']).trim_start();
                let tail = inner.split_once(char::is_whitespace).map_or("", |(_, tail)| tail.trim());
                for line in [inner, tail] {
                    if line.len() < 4 || line.len() > 4096 || !self.spend(4, &span) {
                        continue;
                    }
                    let level = self.try_out(|w| {
                        w.text(line, &span, None);
                    });
                    if level == Level::Refuse {
                        return self.find("may run a refused command", span);
                    }
                }
            }
        }
    }

    /// Notes a command that an unknown program may run: rules that deny it ask.
    fn perhaps(&mut self, line: &str, spaced: bool, tail: &[Field], span: &Span, within: (usize, usize)) {
        let words: Vec<String> = if spaced {
            line.split_whitespace().map(str::to_owned).collect()
        } else {
            tail.iter().map(|f| f.text.clone()).collect()
        };
        let cwd = self.state.cwds.first().cloned().unwrap_or_default();
        let plain = words.clone();
        let within = Some(within);
        self.invocations.push(Invocation { words, plain, span: span.clone(), cwd, within, quiet: true, perhaps: true });
    }

    /// Judges what a program with these words may run: each tail that starts with a known program, each text that does. What an
    /// `executor` would run so is refused where the command itself is.
    fn may_run(&mut self, argv: &[Field], executor: bool, me: usize) {
        let mut worst = (Level::Allow, None);
        for i in 1..argv.len().min(1 + MAX_STARTS) {
            let text = argv[i].text.as_str();
            if PROSE.contains(&argv[i - 1].text.as_str()) {
                continue;
            }
            // `--exec='rm -rf x'`
            let text = match text.split_once('=') {
                Some((name, value)) if name.starts_with("--") && !PROSE.contains(&name) => value,
                _ => text,
            };
            let spaced = text.trim().contains([' ', '\t', '\n']);
            let first = text.split_whitespace().next().unwrap_or("").trim_start_matches(['!', ':', '@']);
            let name = program(first);
            if text.starts_with('-') || text.contains(UNKNOWN) && !spaced || self.table.command(&name).is_none() {
                continue;
            }
            // The same word again starts nothing else.
            if !spaced && i > 1 && argv[i - 1].text == argv[i].text {
                continue;
            }
            if !self.spend(4 + (argv.len() - i) / 16, &argv[i].span) {
                return;
            }
            let last = argv.len() - 1;
            let span = if spaced {
                argv[i].span.clone()
            } else {
                argv[i].span.start..argv[last].span.end.max(argv[i].span.end)
            };
            let (line, tail) = (text.trim_start_matches(['!', ':', '@']).to_owned(), argv[i..].to_vec());
            let single = !spaced && tail.len() == 1;
            let run = |w: &mut Self| {
                if spaced {
                    w.text(&line, &span, None);
                } else {
                    w.deeper(&span, |w| w.invoke(tail.clone(), None, Some((me, i))));
                }
            };
            let level = self.try_out(run);
            if executor && level == Level::Refuse {
                self.subshell(|w| {
                    run(w);
                    None
                });
                self.current = Some(me);
                return;
            }
            self.current = Some(me);
            if !single {
                self.perhaps(&line, spaced, &argv[i..], &span, (me, i));
            }
            // One word alone is more often the name of something than a command.
            if level > worst.0 && !(single && level < Level::Refuse) {
                worst = (level, Some(span));
            }
        }
        let Some(span) = worst.1 else { return };
        match worst.0 {
            Level::Allow => {}
            Level::Ask | Level::AskAlways => self.find("may run a dangerous command", span),
            Level::Refuse => self.find("may run a refused command", span),
        }
    }
}

/// What stands in quotes or brackets in a text of some language, and what all its strings are together.
fn inner_texts(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for quote in ['"', '\'', '`'] {
        let strings: Vec<&str> = text.split(quote).skip(1).step_by(2).take(MAX_INNER).collect();
        if strings.len() > 1 {
            all.push(strings.join(" "));
        }
        all.extend(strings.into_iter().map(str::to_owned));
    }
    for (open, close) in [('(', ')'), ('{', '}')] {
        let parts = text.split(open).skip(1).filter_map(|part| part.split(close).next());
        all.extend(parts.take(MAX_INNER).map(str::to_owned));
    }
    all.extend(text.split_once('!').map(|(_, rest)| rest.to_owned()));
    all.extend(text.split_once(':').map(|(_, rest)| rest.to_owned()));
    all.retain(|inner| inner.trim().len() > 3);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_inside_of_texts() {
        for (text, want) in [
            ("Sys.command \"ls -l\"", vec!["ls -l"]),
            ("(sh \"ls\" \"-la\")", vec!["ls -la", "sh \"ls\" \"-la\""]),
            ("start:execute(ls -l)", vec!["ls -l", "execute(ls -l)"]),
            ("!ls -l", vec!["ls -l"]),
            ("plain", vec![]),
            ("\"", vec![]),
        ] {
            assert_eq!(inner_texts(text), want, "{text}");
        }
    }
}

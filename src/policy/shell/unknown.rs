//! Commands that the table does not know: they may run their last words, or a text among them, as a command.

use super::ast::Span;
use super::decode::Stream;
use super::findings::Invocation;
use super::invoke::{Known, program};
use super::resolve::{Field, UNKNOWN};
use super::walk::Walker;
use crate::policy::table::Level;

/// Words that build compound commands.
const RESERVED: &[&str] = &["while", "until", "if", "for", "case", "select", "do", "then", "!", "{"];
/// Words in which the start of a command is looked for.
const MAX_STARTS: usize = 12;
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
    pub(super) fn unknown_command(&mut self, argv: &[Field], me: usize) {
        // Behind `sudo` or `env` a word of the shell's own is the name of a program: the line means something else than it does.
        if let Some(first) = argv.first().filter(|f| RESERVED.contains(&f.text.as_str())) {
            let say = format!("`{}` is no command here; it may run otherwise than it looks", first.text);
            self.find_as("malformed shell", say, first.span.clone());
        }
        self.named_words(argv.get(1..).unwrap_or_default());
        self.may_run(argv, false, me);
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
    pub(super) fn runs_text(&mut self, text: &str, span: &Span) {
        let tail = |mark: char| text.split_once(mark).map_or("", |(_, rest)| rest);
        let mut tried: Vec<&str> = Vec::new();
        let transport = text.split_once("::").map_or("", |(_, rest)| rest);
        for line in [text, tail('='), tail('!'), tail('|'), tail(' '), tail('e'), transport] {
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

    /// Notes a command that an unknown program may run: rules that deny it ask.
    fn perhaps(&mut self, line: &str, spaced: bool, tail: &[Field], span: &Span, within: (usize, usize)) {
        let words: Vec<String> = match spaced {
            true => line.split_whitespace().map(str::to_owned).collect(),
            false => tail.iter().map(|f| f.text.clone()).collect(),
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

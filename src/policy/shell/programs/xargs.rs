//! `xargs` and `parallel`: words of a pipe, a file or the command line become arguments, or commands.

use super::decode::Stream;
use crate::policy::shell::read::ast::Span;
use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::args;
use crate::policy::shell::walk::args::Args;
use crate::policy::shell::walk::invoke::{Known, program};
use crate::policy::shell::walk::resolve::{Field, UNKNOWN};
use crate::policy::table::{Kind, Level};

/// Commands that lose or change what their last words name.
const REMOVES: &[&str] = &["rm", "unlink", "shred", "rmdir", "srm"];
/// Commands that run, write or end what their words name: which, is only known when the line runs.
const DECIDED: &[&str] = &["tee", "kill", "dd", "eval", "source", "sudo", "git push"];

/// Options of `xargs` that take no value.
const PLAIN: &[&str] = &[
    "-0",
    "-r",
    "-t",
    "-p",
    "-x",
    "-o",
    "--null",
    "--no-run-if-empty",
    "--verbose",
    "--interactive",
    "--exit",
    "--open-tty",
];

impl Walker<'_> {
    /// `xargs COMMAND`: the pipe becomes arguments.
    pub(super) fn xargs(&mut self, known: &Known<'_>, input: Option<Stream>, me: usize) -> Option<Stream> {
        let args = args::parse(known.argv, 1, &known.spec.takes, true);
        let Some(at) = args.operands.first().copied() else {
            let words = input.as_ref().and_then(|s| s.text.as_deref()).filter(|text| text.len() < 4096);
            let text = words.map(|text| split(text, None).join(" ") + "\n");
            return input.map(|s| Stream { partial: true, text, ..s.changed(&known.span()) });
        };
        let plain: Vec<String> = PLAIN.iter().map(|name| (*name).to_owned()).collect();
        let starts = self.other_starts(known.argv, &args, &plain, &[]);
        let out = self.xargs_from(known, &args, at, input.clone(), me);
        for at in starts
            .into_iter()
            .filter_map(|from| args::parse(known.argv, from, &known.spec.takes, true).operands.first().copied())
        {
            let level = self.try_out(|w| {
                w.xargs_from(known, &args, at, input.clone(), me);
            });
            if level == Level::Refuse {
                self.xargs_from(known, &args, at, input.clone(), me);
            }
        }
        out
    }

    /// The command starts at this word.
    fn xargs_from(
        &mut self,
        known: &Known<'_>,
        args: &Args,
        at: usize,
        input: Option<Stream>,
        me: usize,
    ) -> Option<Stream> {
        let span = known.span();
        let mut inner: Vec<Field> = known.argv[at..].to_vec();
        let value = |names: &[&str]| {
            let flag = args.flags.iter().find(|f| names.contains(&f.name.as_str()))?;
            Some(flag.value.as_ref().map(|(text, at)| Field { text: text.clone(), ..known.argv[*at].clone() }))
        };
        let input = match value(&["-a", "--arg-file"]).flatten() {
            Some(file) => self.file(&file).or(Some(Stream::unknown(file.span))),
            None => input,
        };
        let text = input.as_ref().and_then(|s| s.text.as_deref()).filter(|t| t.len() < 4096);
        let delimiter = match value(&["-d", "--delimiter"]).flatten() {
            Some(field) => super::decode::unescape(&field.text).chars().next(),
            None if args.flags.iter().any(|f| matches!(f.name.as_str(), "-0" | "--null")) => Some('\0'),
            None => None,
        };
        let given: Vec<String> = match text {
            // What searches print has names that are not known in it, and no NUL.
            Some(text) if delimiter == Some('\0') && text.contains(&format!("{UNKNOWN}x")) => split(text, None),
            // A NUL may also stand for what is not known.
            Some(text) if delimiter == Some('\0') => {
                split(text, delimiter).into_iter().chain([UNKNOWN.to_string()]).collect()
            }
            Some(text) => split(text, delimiter),
            None => vec![UNKNOWN.to_string()],
        };
        let replaced = args.flags.iter().find(|f| matches!(f.name.as_str(), "-I" | "-i" | "--replace" | "-J"));
        match replaced {
            Some(flag) => {
                let mark = flag.value.as_ref().map_or("{}", |v| v.0.as_str()).to_owned();
                // A decoded or computed value in a command position is not worth guessing.
                let decoded = input.as_ref().is_some_and(|s| s.decoded);
                let whole = text.map(str::trim).filter(|t| !t.is_empty() && !t.contains('\n') && !decoded);
                let value = whole.map_or(UNKNOWN.to_string(), str::to_owned);
                let matched = input.as_ref().is_some_and(|s| s.matched);
                for field in inner.iter_mut().filter(|field| field.text.contains(&mark)) {
                    field.text = field.text.replace(&mark, &value);
                    field.glob |= matched;
                }
            }
            None => {
                let at = inner[0].span.clone();
                let matched = input.as_ref().is_some_and(|s| s.matched);
                inner.extend(given.into_iter().take(64).map(|text| Field {
                    unset: true,
                    glob: matched,
                    ..Field::known(text, at.clone())
                }));
            }
        }
        let name = program(&inner[0].text);
        if REMOVES.contains(&name.as_str()) {
            self.find("xargs with rm", span.clone());
        }
        let two = format!("{name} {}", inner.get(1).map_or("", |f| f.text.as_str()));
        // A script by a name that is not known is any script.
        let kind = self.table.command(&name).map(|spec| spec.kind);
        if matches!(kind, Some(Kind::Shell | Kind::Interpreter))
            && let Some(field) = inner.get(1).filter(|f| !f.is_known() && !f.text.starts_with('-')).cloned()
        {
            self.find("unresolved words", field.span);
        }
        let decided = DECIDED.contains(&name.as_str()) || DECIDED.contains(&two.as_str());
        if let Some(field) = inner.iter().skip(1).find(|f| decided && f.text == UNKNOWN.to_string()).cloned() {
            self.find("unresolved words", field.span);
        }
        let out = self.deeper(&span, |w| w.subshell(|w| w.invoke(inner, None, Some((me, at)))));
        self.current = Some(me);
        out
    }

    /// `parallel COMMAND ::: VALUES`.
    pub(super) fn parallel(&mut self, known: &Known<'_>, input: Option<Stream>, me: usize) -> Option<Stream> {
        let args = args::parse(known.argv, 1, &known.spec.takes, true);
        let span = known.span();
        let split = known.argv.iter().position(|f| f.text.starts_with(":::")).unwrap_or(known.argv.len());
        let values: Vec<Field> = known
            .argv
            .get(split + 1..)
            .unwrap_or_default()
            .iter()
            .filter(|f| !f.text.starts_with(":::"))
            .cloned()
            .collect();
        let at = args.operands.first().copied().filter(|at| *at < split);
        let Some(at) = at else {
            if split < known.argv.len() {
                // Each value is a line; together they read like the line that was meant.
                let whole = values.iter().map(|f| f.text.as_str()).collect::<Vec<_>>().join(" ");
                let all = values.iter().map(|f| f.text.clone()).chain(std::iter::once(whole));
                for line in all.take(64) {
                    self.subshell(|w| w.text(&line, &span, None));
                    self.current = Some(me);
                }
                return None;
            }
            // `parallel < list`: every line of the input is run.
            let file = args.flags.iter().find(|f| matches!(f.name.as_str(), "-a" | "--arg-file"));
            let file = file
                .and_then(|f| f.value.as_ref())
                .map(|(text, at)| Field { text: text.clone(), ..known.argv[*at].clone() });
            let input = match file {
                Some(file) => self.file(&file).or(Some(Stream::unknown(file.span))),
                None => input,
            };
            let input = input.map(|stream| Stream { file: false, ..stream });
            let out = self.shell_input(input, known.argv[0].span.clone());
            self.current = Some(me);
            return out;
        };
        let others = self.other_starts(&known.argv[..split], &args, &[], &[]);
        let mut text = known.argv[at..split].iter().map(|f| f.text.as_str()).collect::<Vec<_>>().join(" ");
        // Without values on the command line each line of the input is one.
        let lines = input.as_ref().and_then(|s| s.text.as_deref()).filter(|t| t.len() < 4096).unwrap_or("");
        let mut given = values;
        if split == known.argv.len() {
            given.extend(lines.lines().take(16).map(|line| Field::known(line, span.clone())));
        }
        if given.is_empty() {
            given.push(Field::known(UNKNOWN.to_string(), span.clone()));
        }
        if REMOVES.contains(&program(&known.argv[at].text).as_str()) {
            self.find("xargs with rm", span.clone());
        }
        if !text.contains("{}") {
            text.push_str(" {}");
        }
        for value in given.iter().take(16) {
            let line = text.replace("{}", &value.text);
            self.run_line(&line, &span, me);
            for from in &others {
                let rest = known.argv[*from..split].iter().map(|f| f.text.as_str()).collect::<Vec<_>>().join(" ");
                self.refused_text(&format!("{rest} {}", value.text), &span);
                self.current = Some(me);
            }
        }
        // The values of several groups are given together.
        if known.argv[split..].iter().filter(|f| f.text.starts_with(":::")).count() > 1 {
            let all = given.iter().map(|f| f.text.as_str()).collect::<Vec<_>>().join(" ");
            self.run_line(&text.replace("{}", &all), &span, me);
        }
        None
    }

    fn run_line(&mut self, line: &str, span: &Span, me: usize) {
        self.subshell(|w| w.text(line, span, None));
        self.current = Some(me);
    }
}

/// The words of a text as `xargs` reads them: quotes hold words together.
fn split(text: &str, delimiter: Option<char>) -> Vec<String> {
    if let Some(delimiter) = delimiter {
        return text
            .trim_end_matches(['\n', delimiter])
            .split(delimiter)
            .filter(|t| !t.is_empty())
            .map(str::to_owned)
            .collect();
    }
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            (c, Some(q)) if c == q => quote = None,
            ('"' | '\'', None) => quote = Some(c),
            ('\\', None) => word.extend(chars.next()),
            (c, None) if c.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            (c, _) => word.push(c),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

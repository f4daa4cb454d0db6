//! One command with its words known: what the table says of it, and what it runs.

use super::Walker;
use super::args::{self, Args};
use super::resolve::Field;
use crate::policy::shell::effects::findings::Invocation;
use crate::policy::shell::programs::decode::Stream;
use crate::policy::shell::programs::wrappers::ENVIRONMENT;
use crate::policy::shell::read::ast::Span;
use crate::policy::table::{Kind, Spec};

/// Commands that print variables, and those that only choose, order or show lines.
const PRINTERS: &[&str] = &["env", "printenv", "set", "export", "declare", "typeset"];
const FILTERS: &[&str] = &[
    "sort", "grep", "egrep", "fgrep", "rg", "head", "tail", "wc", "less", "more", "cat", "cut", "uniq", "column",
    "sed", "awk", "tr", "nl", "fmt", "fold",
];

/// Distributions that bring the client of their cluster as a subcommand.
const CLUSTERS: &[&str] = &["k3s", "k0s", "rke2", "microk8s", "minikube", "kind", "k3d"];

/// Matches of a pattern in the place of a command that are looked at.
const MAX_MATCHES: usize = 16;

/// Whether the shell looks for files by this word; `[` alone is a command.
pub(in crate::policy::shell) fn may_expand(text: &str) -> bool {
    text.contains(['*', '?']) || text.find('[').is_some_and(|open| text[open..].contains(']'))
}

/// The name that the table knows a program by.
pub(in crate::policy::shell) fn program(word: &str) -> String {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word).to_lowercase();
    name.strip_suffix(".exe").map(str::to_owned).unwrap_or(name)
}

/// A command as the table sees it.
pub(in crate::policy::shell) struct Known<'a> {
    pub spec: &'a Spec,
    /// Options and operands of all words.
    pub args: Args,
    pub argv: &'a [Field],
    pub name: String,
    /// Something is piped into it.
    pub fed: bool,
    /// The place of the first word behind the command, or behind its subcommand.
    pub from: usize,
}

impl Known<'_> {
    pub fn operand(&self, i: usize) -> Option<&Field> {
        self.args.operands.get(i).map(|at| &self.argv[*at])
    }

    pub fn operands(&self) -> impl Iterator<Item = &Field> {
        self.args.operands.iter().map(|at| &self.argv[*at])
    }

    pub fn has(&self, flags: &[&str]) -> bool {
        self.args.flags.iter().any(|f| flags.contains(&f.name.as_str()))
    }

    pub fn value(&self, flags: &[&str]) -> Option<Field> {
        let (text, at) = self.args.flags.iter().find(|f| flags.contains(&f.name.as_str()))?.value.clone()?;
        let mut field = self.argv[at].clone();
        field.text = text;
        Some(field)
    }

    pub fn span(&self) -> Span {
        let first = self.argv[0].span.clone();
        first.start..self.argv.last().map_or(first.end, |f| f.span.end.max(first.end))
    }
}

impl<'w> Walker<'w> {
    /// Judges a command; gives what it writes. `within`: the command whose last words this one is.
    pub(in crate::policy::shell) fn invoke(
        &mut self,
        argv: Vec<Field>,
        input: Option<Stream>,
        within: Option<(usize, usize)>,
    ) -> Option<Stream> {
        let first = argv.first()?;
        let span = first.span.clone();
        if !self.spend(1 + argv.len() / 4, &span) {
            return None;
        }
        let words: Vec<String> = argv.iter().map(|f| f.text.clone()).collect();
        let all = span.start..argv.last().map_or(span.end, |f| f.span.end.max(span.end));
        self.invocations.push(Invocation {
            plain: words.clone(),
            words,
            span: all.clone(),
            within,
            quiet: false,
            perhaps: false,
            cwd: self.state.cwds.first().cloned().unwrap_or_default(),
        });
        let me = self.invocations.len() - 1;
        self.current = Some(me);
        if !first.is_known() || first.text.is_empty() {
            if first.stream.as_ref().is_some_and(|s| s.remote) {
                self.find("execute remote content via command substitution", span.clone());
            }
            self.refused_some(first.stream.as_ref().and_then(|s| s.some.as_deref()), &span);
            if !first.text.is_empty() || argv.len() > 1 {
                self.find("unresolved command", span);
            }
            return Some(Stream::unknown(all));
        }
        self.look_alike(first);
        if first.glob && may_expand(&first.text) {
            return self.pattern(&argv, input, me);
        }
        if self.state.aliases.contains(&first.text) {
            self.find("alias", span.clone());
        }
        // A wrapper runs the program: functions are for the plain word alone.
        if within.is_none()
            && let Some(function) = self.state.functions.get(&first.text)
        {
            let certain = function.certain && !first.text.contains('/');
            let before = (!certain).then(|| self.state.clone());
            let out = self.call(&first.text, &argv, input.clone());
            self.current = Some(me);
            let Some(before) = before else { return out };
            // The program runs where the function is not defined.
            let after = std::mem::replace(&mut self.state, before);
            self.program(&argv, input, me);
            self.settle(Some(after));
            return Some(Stream::unknown(all));
        }
        self.program(&argv, input, me)
    }

    /// Judges a command whose word names a program.
    fn program(&mut self, argv: &[Field], input: Option<Stream>, me: usize) -> Option<Stream> {
        if self.prints_setup(argv, me) {
            return Some(Stream { setup: true, span: argv[0].span.clone(), ..Stream::default() });
        }
        let first = argv.first()?;
        let all = first.span.start..argv.last().map_or(first.span.end, |f| f.span.end.max(first.span.end));
        self.run_file(first);
        if !self.state.files.is_empty() {
            self.as_copied(argv, input.as_ref(), me);
        }
        let name = program(&first.text);
        let table = self.table;
        // `git-push` is `git push`.
        if let Some(sub) = name.strip_prefix("git-").filter(|_| table.command(&name).is_none()) {
            let words = ["git", sub].map(|word| Field::known(word, first.span.clone()));
            let words = words.into_iter().chain(argv[1..].iter().cloned()).collect();
            let out = self.deeper(&all, |w| w.invoke(words, input, Some((me, 0))));
            self.current = Some(me);
            return out;
        }
        if name == "tmux" && argv.iter().any(|field| field.text == ";") {
            return self.several(argv, &all, me);
        }
        self.installs_as_root(argv, me);
        // `k3s kubectl …`, `minikube kubectl -- …`
        if CLUSTERS.contains(&name.as_str())
            && argv.get(1).is_some_and(|f| matches!(f.text.as_str(), "kubectl" | "crictl" | "ctr"))
        {
            let words =
                argv[1..].iter().filter(|f| f.text != "--" || f.span != argv.get(2).map_or(0..0, |f| f.span.clone()));
            let words: Vec<Field> = words.cloned().collect();
            let out = self.deeper(&all, |w| w.invoke(words, input, Some((me, 1))));
            self.current = Some(me);
            return out;
        }
        let Some(spec) = table.command(&name) else {
            self.unknown_command(argv, input.as_ref(), me);
            return Some(input.map_or_else(|| Stream::unknown(all.clone()), |s| s.changed(&all)));
        };
        let args = args::parse(argv, 1, &spec.takes, spec.posix);
        let known = Known {
            spec,
            args,
            argv,
            name,
            from: 1,
            fed: input.as_ref().is_some_and(|s| s.text.as_deref() != Some("")),
        };
        if input.as_ref().is_some_and(|s| s.environment) {
            self.environment(&known);
        }
        if self.only_fresh(&known) {
            return None;
        }
        self.unresolved_words(&known);
        // What is certain to run comes before what may: work is bounded.
        if spec.kind == Kind::Git {
            self.git_alias(&known, me);
            self.repository_programs(&known);
        }
        self.feeds(&known, input.as_ref());
        self.rules(&known, &spec.rules, 1);
        self.run_options(&known);
        let out = match self.subcommand(&known, me, input.clone()) {
            Some(out) => out,
            None => {
                self.operands(&known, input.as_ref());
                self.special(&known, input, me)
            }
        };
        self.current = Some(me);
        let prints = |f: &crate::policy::shell::effects::findings::Finding| f.by == Some(me) && f.effect == ENVIRONMENT;
        if PRINTERS.contains(&known.name.as_str()) && self.findings.iter().any(prints) {
            return out.map(|stream| Stream { environment: true, ..stream });
        }
        out
    }

    /// Commands of a program between semicolons that it reads itself: `tmux new \; set …`.
    fn several(&mut self, argv: &[Field], span: &Span, me: usize) -> Option<Stream> {
        let (first, rest) = argv.split_first()?;
        for part in rest.split(|field| field.text == ";").filter(|part| !part.is_empty()) {
            let words = std::iter::once(first).chain(part).cloned().collect();
            self.deeper(span, |w| w.invoke(words, None, Some((me, 0))));
            self.current = Some(me);
        }
        Some(Stream::unknown(span.clone()))
    }

    /// Variables of the environment reach a command: a filter that leaves them on the screen takes the question away, unless it
    /// looks for keys; anything else asks.
    fn environment(&mut self, known: &Known<'_>) {
        let keys = |f: &Field| {
            let text = f.text.to_lowercase();
            ["key", "token", "secret", "pass", "cred", "auth"].iter().any(|word| text.contains(word))
        };
        if FILTERS.contains(&known.name.as_str()) && !known.argv[1..].iter().any(keys) {
            self.findings.retain(|f| f.effect != ENVIRONMENT);
        } else {
            self.find(ENVIRONMENT, known.argv[0].span.clone());
        }
    }

    /// A pattern in the place of a command: what it matches runs, with the further matches as arguments.
    fn pattern(&mut self, argv: &[Field], input: Option<Stream>, me: usize) -> Option<Stream> {
        let first = argv.first()?;
        let span = first.span.clone();
        let (mut matches, mut complete) = (Vec::new(), true);
        for path in self.absolute(&first.text) {
            if self.spend(16, &span) {
                let found = self.world.glob(&path, std::path::Path::new("/"), MAX_MATCHES);
                complete &= found.complete;
                matches.extend(found.names);
            }
        }
        matches.sort();
        // What the line itself makes is not there yet.
        if matches.is_empty() || !complete || !self.state.files.is_empty() {
            self.find("unresolved command", span.clone());
        }
        let folder = first.text.contains('/');
        let mut words: Vec<Field> = matches
            .iter()
            .filter_map(|path| if folder { path.to_str() } else { path.file_name()?.to_str() })
            .map(|text| Field::known(text, span.clone()))
            .collect();
        words.extend(argv[1..].iter().cloned());
        let out = if matches.is_empty() {
            // Where it matches after all, the last part of the name is likely what it says: `/???/rm`.
            self.program(argv, input, me)
        } else {
            self.deeper(&span, |w| w.invoke(words, input, Some((me, 0))))
        };
        self.current = Some(me);
        out
    }

    /// A file that this line downloaded, wrote or made executable runs as a command.
    fn run_file(&mut self, field: &Field) {
        if !field.text.contains('/') {
            return;
        }
        if self.file(field).is_none() {
            self.fetched_file(field);
        }
        for path in self.absolute(&field.text) {
            self.late.seek(&path);
            if self.state.executable.contains(&path) {
                self.find("chmod +x followed by immediate execution", field.span.clone());
            }
            if let Some(stream) = self.state.files.get(&path).cloned() {
                if stream.remote {
                    self.find("runs a downloaded file", field.span.clone());
                }
                if let Some(text) = stream.text {
                    self.subshell(|w| w.text(&text, &field.span, None));
                }
            }
        }
    }
}

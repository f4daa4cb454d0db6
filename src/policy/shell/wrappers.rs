//! Commands that run other commands: wrappers and `find`.

use super::decode::Stream;
use super::invoke::{Known, may_expand, program};
use super::outputs::named_by;
use super::resolve::{Field, UNKNOWN};
use super::walk::Walker;
use crate::policy::files::is_protected;
use crate::policy::table::Role;

/// What a bare `env` does; a filter behind it that keeps it on the screen takes the question away.
pub(super) const ENVIRONMENT: &str = "prints the environment";

/// Words behind a text that are followed.
const MAX_FURTHER: usize = 64;

impl<'w> Walker<'w> {
    /// Runs what the table says that the command runs.
    pub(super) fn wrapped(&mut self, known: &Known<'_>, input: Option<Stream>, me: usize) -> Option<Stream> {
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
            let Some((first, last)) = rest.first().zip(rest.last()) else {
                return if wrap.shell && texts == 0 { self.fed_shell(input, known, me) } else { out };
            };
            let text = rest.iter().map(|at| known.argv[*at].text.as_str()).collect::<Vec<_>>().join(" ");
            let span = known.argv[*first].span.start..known.argv[*last].span.end;
            return self.subshell(|w| w.text(&text, &span, input));
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

    /// A command that starts a shell when it is given no command: `sudo -s`, `ssh host`, `su`.
    fn fed_shell(&mut self, input: Option<Stream>, known: &Known<'_>, me: usize) -> Option<Stream> {
        let out = self.shell_input(input, known.argv[0].span.clone());
        self.current = Some(me);
        out
    }

    /// `find PATHS TESTS -delete -exec …`, and `fd -x`.
    pub(super) fn find_command(&mut self, known: &Known<'_>, me: usize) {
        const FILTERS: &[&str] = &[
            "-name",
            "-iname",
            "-path",
            "-ipath",
            "-wholename",
            "-regex",
            "-iregex",
            "-mtime",
            "-mmin",
            "-ctime",
            "-cmin",
            "-atime",
            "-amin",
            "-newer",
            "-size",
            "-empty",
            "-inum",
            "-lname",
        ];
        let argv = known.argv;
        let paths: Vec<Field> = argv[1..]
            .iter()
            .skip_while(|f| matches!(f.text.as_str(), "-H" | "-L" | "-P"))
            .take_while(|f| !f.text.starts_with('-') && !matches!(f.text.as_str(), "(" | "!" | ")" | ","))
            .cloned()
            .collect();
        // `fd PATTERN PATHS`
        let fd = known.name.starts_with("fd");
        let everything = !fd || paths.first().is_none_or(|f| matches!(f.text.as_str(), "." | "" | ".*"));
        let paths: Vec<Field> = if fd { paths.into_iter().skip(1).collect() } else { paths };
        let paths = if paths.is_empty() { vec![Field::known(".", argv[0].span.clone())] } else { paths };
        let filters = |f: &Field| FILTERS.iter().any(|x| f.text == *x || (*x == "-newer" && f.text.starts_with(x)));
        // A pattern that everything matches, or whatever is not one name, leaves nearly all.
        let all = |i: usize| {
            let value = argv.get(i + 1).map_or("", |f| f.text.as_str());
            value.bytes().all(|b| matches!(b, b'*' | b'.' | b'?' | b'/')) && argv[i].text != "-empty"
                || argv[i - 1].text == "!"
                || argv[i - 1].text == "-not"
        };
        // What stands before the action, back to an `-o` outside of parentheses, holds for it.
        let narrowed = |action: usize| {
            let mut depth = 0;
            (1..action)
                .rev()
                .take(512)
                .take_while(|i| {
                    match argv[*i].text.as_str() {
                        ")" => depth += 1,
                        "(" => depth -= 1,
                        "-o" | "-or" | "," => return depth != 0,
                        _ => {}
                    }
                    true
                })
                .any(|i| filters(&argv[i]) && !all(i))
        };
        let words: Vec<&str> = argv.iter().map(|field| field.text.as_str()).collect();
        let named = named_by(&words);
        let telling = self.telling(named.clone());
        let exact = named.as_deref().filter(|name| !may_expand(name));
        let narrow = |path: &Field, action: usize| {
            let mut field = path.clone();
            if !everything || narrowed(action) {
                let name = telling.as_ref().map_or_else(|| "x".to_owned(), |name| format!("/{name}"));
                field.text = format!("{}/{UNKNOWN}{name}", path.text.trim_end_matches('/'));
            }
            field
        };
        let (mut i, mut deletes) = (1, 0);
        while i < argv.len() {
            let word = argv[i].text.as_str();
            match word {
                // Again it finds nothing that is left.
                "-delete" if deletes < 8 => {
                    deletes += 1;
                    self.find("find -delete", argv[i].span.clone());
                    for path in &paths {
                        self.delete(&narrow(path, i), true);
                    }
                }
                "-fprint" | "-fprint0" | "-fprintf" | "-fls" => {
                    if let Some(file) = argv.get(i + 1) {
                        self.touch(Role::Write, &file.clone());
                    }
                }
                "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec" | "--exec-batch" => {
                    let end = (i + 1..argv.len())
                        .find(|j| argv[*j].text == ";" || (argv[*j].text == "+" && argv[*j - 1].text == "{}"))
                        .unwrap_or(argv.len());
                    let span = argv[i].span.start..argv[end.min(argv.len() - 1)].span.end;
                    let deletes = argv
                        .get(i + 1)
                        .map(|f| program(&f.text))
                        .is_some_and(|n| matches!(n.as_str(), "rm" | "unlink" | "shred" | "srm"));
                    // Inside of a longer word the folder itself may mean something else than what lies below it.
                    let inside = argv[(i + 1).min(end)..end].iter().any(|f| f.text.contains("{}") && f.text != "{}");
                    let below = |path: &Field| Field { text: format!("{}/{UNKNOWN}x", path.text), ..path.clone() };
                    let targets = paths.iter().map(|path| narrow(path, i));
                    let mut more: Vec<Field> = paths.iter().filter(|_| inside).map(below).collect();
                    // The one that lies right below the folder is known.
                    let joined = paths.iter().filter(|_| deletes).flat_map(|path| {
                        exact.map(|name| Field {
                            text: format!("{}/{name}", path.text.trim_end_matches('/')),
                            ..path.clone()
                        })
                    });
                    let dear = |field: &Field| self.absolute(&field.text).iter().any(|p| is_protected(p, self.world));
                    more.extend(joined.filter(dear).collect::<Vec<_>>());
                    for target in targets.chain(more) {
                        if !self.spend(4, &span) {
                            return;
                        }
                        let mut inner: Vec<Field> = argv[(i + 1).min(end)..end].to_vec();
                        if word.starts_with("-x") || word.starts_with("-X") || word.starts_with("--") {
                            inner.push(Field::known(target.text.clone(), span.clone()));
                        }
                        for field in &mut inner {
                            if field.text.contains("{}") {
                                field.text = field.text.replace("{}", &target.text);
                            }
                        }
                        self.deeper(&span, |w| w.subshell(|w| w.invoke(inner, None, Some((me, i + 1)))));
                        self.current = Some(me);
                    }
                    if deletes {
                        self.find("find -exec/-execdir rm", span);
                    }
                    i = end;
                }
                _ => {}
            }
            i += 1;
        }
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

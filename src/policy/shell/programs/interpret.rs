//! Shells and interpreters: text that they get by an option, a file or their standard input.

use super::code::Lang;
use super::decode::Stream;
use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::invoke::Known;
use crate::policy::shell::walk::resolve::{Field, UNKNOWN};
/// The effect of code on the command line; where the code is read it may turn out to be harmless.
pub(in crate::policy::shell) const CODE_TEXT: &str = "script execution via -e/-c flag";
/// Options of interpreters whose value is code.
const CODE: &[&str] = &[
    "-c",
    "-e",
    "--eval",
    "-eval",
    "-p",
    "-pe",
    "-r",
    "-E",
    "-R",
    "-B",
    "--print",
    "--run",
    "--process-code",
    "--expr",
    "-x",
    "-g",
];

/// Options of R that only leave something out.
const INERT_OPTIONS: &[&str] = &[
    "--vanilla",
    "--slave",
    "--no-echo",
    "--no-save",
    "--no-restore",
    "--no-init-file",
    "--no-environ",
    "--no-site-file",
    "--quiet",
    "--silent",
];

/// Names of standard input.
pub(super) fn is_stdin(name: &str) -> bool {
    matches!(name, "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")
}

impl<'w> Walker<'w> {
    /// `python`, `node` and the like.
    pub(in crate::policy::shell) fn interpreter(
        &mut self,
        known: &Known<'_>,
        input: Option<Stream>,
        me: usize,
    ) -> Option<Stream> {
        let span = known.span();
        let lang = Lang::of(&known.name);
        let mut codes: Vec<Field> = Vec::new();
        // `-r` names a library but in PHP.
        let is_code = |name: &str| CODE.contains(&name) && (name != "-r" || lang == Lang::Php);
        for flag in known.args.flags.iter().filter(|f| is_code(&f.name)) {
            if let Some((text, at)) = &flag.value {
                codes.push(Field { text: text.clone(), ..known.argv[*at].clone() });
            }
        }
        // `deno eval CODE`
        let sub = known.operand(0).is_some_and(|f| f.text == "eval" && known.name == "deno");
        codes.extend(known.operand(1).filter(|_| sub).cloned());
        let piped = input.is_some()
            && lang != Lang::Js
            && known.args.flags.iter().any(|f| f.name == "-n" || f.name == "-p" || f.name == "-R");
        // Those have ways out of their own (`Bun.$`, `Deno.serve`) that the table of Node does not know.
        let read = !matches!(known.name.as_str(), "bun" | "deno");
        // An interpreter takes modules from where it stands: outside the workspace they are whoever's.
        let at_home = self.state.cwds.iter().all(|cwd| self.border.has(cwd));
        let plain = read && at_home && self.plain_options(known, lang) && !(piped && known.operand(0).is_some());
        let mut harmless = plain && !codes.is_empty();
        for code in &codes {
            if code.stream.as_ref().is_some_and(|s| s.decoded) {
                self.reaches(&code.text, &code.span, true);
            }
            if code.stream.as_ref().is_some_and(|s| s.remote) {
                self.find("execute remote content via command substitution", code.span.clone());
            }
            harmless &= code.is_known();
            harmless &= self.code(lang, &code.text, &code.span);
            self.scan_code(&code.text, &code.span);
        }
        if !harmless && self.gives_code(known) {
            self.find(CODE_TEXT, span.clone());
        }
        let module = known.has(&["-m"]) && known.value(&["-m"]).is_some();
        if codes.is_empty() {
            self.named_script(known, me);
        }
        // `deno run FILE`
        let run = matches!(known.name.as_str(), "deno" | "bun") && known.operand(0).is_some_and(|f| f.text == "run");
        let mut named = known.operands().skip(usize::from(run));
        let file = named.find(|f| !run || !f.text.starts_with('-') || is_stdin(&f.text));
        let file = file.filter(|f| !is_stdin(&f.text)).cloned();
        if codes.is_empty() && !module {
            match (file, input) {
                (Some(file), _) => self.code_file(&file, lang),
                (None, Some(stream)) if !stream.file => {
                    let at = stream.span.start.min(span.start)..span.end.max(stream.span.end);
                    let effect = if stream.remote {
                        "pipe remote content to shell"
                    } else if stream.decoded {
                        "pipe decoded content to shell (possible command obfuscation)"
                    } else if stream.here {
                        "script execution via heredoc"
                    } else {
                        "pipe content to shell"
                    };
                    let mut harmless = false;
                    if let Some(text) = &stream.text {
                        self.reaches(text, &at, stream.decoded);
                        harmless = self.code(lang, text, &at) && plain && !text.contains(UNKNOWN);
                        self.scan_code(text, &at);
                    }
                    if !harmless || stream.remote || stream.decoded {
                        self.find(effect, at);
                    }
                }
                _ => {}
            }
        }
        self.current = Some(me);
        Some(Stream::unknown(span))
    }

    /// A file of code that the line wrote or downloaded, or whose name is only known when it runs.
    fn code_file(&mut self, file: &Field, lang: Lang) {
        let stream = if file.process { file.stream.clone() } else { self.file(file) };
        if stream.as_ref().is_some_and(|s| s.remote) {
            let effect =
                if file.process { "execute remote script via process substitution" } else { "runs a downloaded file" };
            self.find(effect, file.span.clone());
        } else if stream.is_none() {
            self.fetched_file(file);
        }
        if let Some(text) = stream.and_then(|s| s.text) {
            self.code(lang, &text, &file.span);
            self.scan_code(&text, &file.span);
        }
    }

    /// Whether code stands on the command line, as the table tells by its options.
    fn gives_code(&self, known: &Known<'_>) -> bool {
        known.spec.rules.iter().any(|rule| {
            rule.effect == CODE_TEXT
                && (!rule.flags.is_empty() && known.args.matching(&rule.flags).next().is_some()
                    || known.operand(0).is_some_and(|f| rule.first.contains(&f.text)))
        })
    }

    /// Whether no option loads other code, writes files or changes what the code means.
    fn plain_options(&self, known: &Known<'_>, lang: Lang) -> bool {
        let allowed = match lang {
            Lang::Python => "cuBISEsqObvW",
            Lang::Js => "ep",
            Lang::Perl => "npleEaF0w",
            Lang::Ruby => "npleaFwr",
            Lang::Php => "rnR",
            Lang::Lua => "ev",
            Lang::R => "eqs",
            Lang::Other => return false,
        };
        known.args.flags.iter().all(|flag| {
            let name = flag.name.trim_start_matches('-');
            let library = flag.name == "-r" && lang == Lang::Ruby;
            match flag.value.as_ref().filter(|_| library) {
                Some((value, _)) => matches!(value.as_str(), "json" | "yaml" | "time" | "date" | "set" | "csv"),
                None => {
                    // The letters of several in one word are told one by one.
                    flag.name.len() > 2 && !flag.name.starts_with("--")
                        || matches!(flag.name.as_str(), "--eval" | "--print")
                        || lang == Lang::R && INERT_OPTIONS.contains(&flag.name.as_str())
                        || !flag.name.starts_with("--")
                            && name.chars().all(|c| allowed.contains(c) || c.is_ascii_digit())
                }
            }
        })
    }
}

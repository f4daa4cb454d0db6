//! Commands that run other commands: wrappers, shells, `find`, `xargs`, `parallel`, `eval`.

use super::args;
use super::decode::Stream;
use super::invoke::{Known, program};
use super::resolve::{Field, UNKNOWN};
use super::state::Function;
use super::walk::Walker;
use crate::policy::table::Role;
use std::rc::Rc;

impl<'w> Walker<'w> {
    /// Runs what the table says that the command runs.
    pub(super) fn wrapped(&mut self, known: &Known<'_>, input: Option<Stream>, me: usize) -> Option<Stream> {
        let Some(wrap) = &known.spec.wrap else { return None };
        self.invocations[me].quiet = wrap.quiet;
        let span = known.span();
        let mut out = None;
        for flag in &known.args.flags {
            if let (true, Some((text, at))) = (wrap.text.contains(&flag.name), &flag.value) {
                let inner = known.argv[*at].span.clone();
                out = self.subshell(|w| w.text(text, &inner, input.clone()));
                self.current = Some(me);
            }
        }
        if wrap.texts {
            for field in known.operands().cloned().collect::<Vec<_>>() {
                self.subshell(|w| w.text(&field.text, &field.span, None));
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
            return self.runs_any(known, input, me).or(out);
        }
        let mut rest: &[usize] = known.args.operands.get(wrap.skip..).unwrap_or_default();
        // `ssh host -- command`, `env - command`
        while rest.first().is_some_and(|at| matches!(known.argv[*at].text.as_str(), "--" | "-")) {
            rest = &rest[1..];
        }
        if wrap.joined {
            let Some((first, last)) = rest.first().zip(rest.last()) else { return out };
            let text = rest.iter().map(|at| known.argv[*at].text.as_str()).collect::<Vec<_>>().join(" ");
            let span = known.argv[*first].span.start..known.argv[*last].span.end;
            return self.subshell(|w| w.text(&text, &span, input));
        }
        if wrap.assigns {
            while let Some(at) = rest.first() {
                let field = &known.argv[*at];
                let Some((name, value)) = field.text.split_once('=') else { break };
                if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                    break;
                }
                self.check_variable(name, value, &field.span);
                rest = &rest[1..];
            }
            if rest.is_empty() && known.name == "env" && out.is_none() {
                self.find("prints the environment", known.argv[0].span.clone());
            }
        }
        let Some(at) = rest.first().copied() else { return out };
        self.deeper(&span, |w| w.invoke(known.argv[at..].to_vec(), input, Some((me, at))))
    }

    /// `sh`, `bash` and the like.
    pub(super) fn shell(&mut self, known: &Known<'_>, input: Option<Stream>, me: usize) -> Option<Stream> {
        let span = known.span();
        if known.has(&["--rcfile", "--init-file"]) {
            self.find("arbitrary program execution via a flag", span.clone());
        }
        if known.has(&["-c", "--command", "--commands"]) {
            self.find("shell command via -c/-lc flag", span.clone());
            let text = known.operand(0).cloned()?;
            if text.stream.as_ref().is_some_and(|s| s.remote) {
                self.find("execute remote content via command substitution", text.span.clone());
            }
            if text.stream.as_ref().is_some_and(|s| s.decoded) {
                self.find("pipe decoded content to shell (possible command obfuscation)", text.span.clone());
            }
            let zero = known.operand(1).map(|f| f.text.clone());
            let positional = known.operands().skip(2).map(|f| f.text.clone()).collect();
            return self.subshell(|w| {
                w.state.positional = Some(positional);
                w.state.set("0", vec![zero.unwrap_or_else(|| UNKNOWN.to_string())]);
                // Another shell knows the functions that were exported; `sudo` and the like take them away, so not for certain.
                let exported = w.state.functions.iter().filter(|(_, f)| f.exported);
                let exported = exported.map(|(name, f)| (name.clone(), Function { certain: false, ..f.clone() }));
                w.state.functions = Rc::new(exported.collect());
                w.text(&text.text, &text.span, input)
            });
        }
        match known.operand(0).cloned() {
            Some(file) if !known.has(&["-s"]) && file.text != "-" && file.text != "/dev/stdin" => {
                self.script_file(&file, me);
                self.named_script(known, me);
                Some(Stream::unknown(span))
            }
            _ => self.shell_input(input, known.argv[0].span.clone()),
        }
    }

    /// A script given by name.
    pub(super) fn script_file(&mut self, file: &Field, me: usize) {
        let stream = if file.process { file.stream.clone() } else { self.file(file) };
        let Some(stream) = stream else {
            if file.process {
                self.find("pipe content to shell", file.span.clone());
            } else if !file.is_known() && !file.text.contains('/') {
                self.find("unresolved command", file.span.clone());
            }
            return;
        };
        if stream.remote {
            let effect =
                if file.process { "execute remote script via process substitution" } else { "runs a downloaded file" };
            self.find(effect, file.span.clone());
        }
        match stream.text {
            Some(text) => {
                self.subshell(|w| w.text(&text, &file.span, None));
                self.current = Some(me);
            }
            None if file.process && !stream.remote => self.find("pipe content to shell", file.span.clone()),
            None => {}
        }
    }

    /// A shell that reads its commands from a pipe, a here-document or a file.
    fn shell_input(&mut self, input: Option<Stream>, span: super::ast::Span) -> Option<Stream> {
        let stream = input?;
        if stream.file && !stream.remote {
            return None;
        }
        let at = stream.span.start.min(span.start)..span.end.max(stream.span.end);
        if stream.here {
            self.find("shell execution via heredoc", at.clone());
        }
        if stream.remote {
            self.find("pipe remote content to shell", at.clone());
        }
        if stream.decoded {
            let text = match &stream.text {
                Some(text) => format!("runs decoded text: {}", shorten(text)),
                None => self.table.effect("pipe decoded content to shell (possible command obfuscation)").say,
            };
            self.find_as("pipe decoded content to shell (possible command obfuscation)", text, at.clone());
        }
        match stream.text {
            Some(text) => self.subshell(|w| w.text(&text, &stream.span, None)),
            None => {
                if !stream.remote && !stream.decoded {
                    self.find("pipe content to shell", at);
                }
                None
            }
        }
    }

    /// `python`, `node` and the like.
    pub(super) fn interpreter(&mut self, known: &Known<'_>, input: Option<Stream>, me: usize) -> Option<Stream> {
        let span = known.span();
        let code = known.value(&["-c", "-e", "--eval", "-p", "-r", "-E", "--print", "--run"]);
        if let Some(code) = &code {
            if code.stream.as_ref().is_some_and(|s| s.remote) {
                self.find("execute remote content via command substitution", code.span.clone());
            }
            self.scan_code(&code.text.clone(), &code.span.clone());
        }
        let module = known.has(&["-m"]) && known.value(&["-m"]).is_some();
        if code.is_none() {
            self.named_script(known, me);
        }
        let file = known.operand(0).filter(|f| f.text != "-" && f.text != "/dev/stdin").cloned();
        if code.is_none() && !module {
            match (file, input) {
                (Some(file), _) => {
                    let stream = if file.process { file.stream.clone() } else { self.file(&file) };
                    if stream.as_ref().is_some_and(|s| s.remote) {
                        let effect = if file.process {
                            "execute remote script via process substitution"
                        } else {
                            "runs a downloaded file"
                        };
                        self.find(effect, file.span.clone());
                    }
                    if let Some(text) = stream.and_then(|s| s.text) {
                        self.scan_code(&text, &file.span);
                    }
                }
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
                    self.find(effect, at.clone());
                    if let Some(text) = stream.text {
                        self.scan_code(&text, &at);
                    }
                }
                _ => {}
            }
        }
        self.current = Some(me);
        Some(Stream::unknown(span))
    }

    /// `eval` and shell text in variables.
    pub(super) fn eval(&mut self, known: &Known<'_>, input: Option<Stream>) -> Option<Stream> {
        let fields = &known.argv[1..];
        let (first, last) = fields.first().zip(fields.last())?;
        let span = first.span.start..last.span.end.max(first.span.end);
        let text = fields.iter().map(|f| f.text.as_str()).collect::<Vec<_>>().join(" ");
        for field in fields {
            if let Some(stream) = &field.stream {
                if stream.remote {
                    self.find("execute remote content via command substitution", span.clone());
                }
                if stream.decoded {
                    let shown = format!("runs decoded text: {}", shorten(&text));
                    self.find_as("pipe decoded content to shell (possible command obfuscation)", shown, span.clone());
                }
            }
        }
        if text.contains(UNKNOWN) {
            self.find("unresolved command", span.clone());
        }
        self.text(&text, &span, input)
    }

    /// `source FILE`.
    pub(super) fn source(&mut self, known: &Known<'_>) {
        let Some(file) = known.argv.get(1).cloned() else { return };
        if let Some(stream) = file.stream.as_ref().filter(|_| !file.process) {
            let effect =
                if stream.remote { "execute remote content via command substitution" } else { "unresolved command" };
            self.find(effect, file.span.clone());
            return;
        }
        let stream = if file.process { file.stream.clone() } else { self.file(&file) };
        match stream {
            Some(stream) if stream.remote => {
                let effect = if file.process {
                    "execute remote script via process substitution"
                } else {
                    "runs a downloaded file"
                };
                self.find(effect, file.span.clone());
            }
            Some(Stream { text: Some(text), .. }) => {
                self.text(&text, &file.span, None);
            }
            Some(_) if file.process => self.find("pipe content to shell", file.span.clone()),
            _ if file.text.starts_with(UNKNOWN) && !file.text.contains('/') => {
                self.find("unresolved command", file.span.clone())
            }
            _ => {}
        }
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
        let paths = if paths.is_empty() || known.name.starts_with("fd") {
            vec![Field::known(".", argv[0].span.clone())]
        } else {
            paths
        };
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
        let narrow = |path: &Field, action: usize| {
            let mut field = path.clone();
            if narrowed(action) {
                field.text = format!("{}/{UNKNOWN}", path.text.trim_end_matches('/'));
                field.text.push('x');
            }
            field
        };
        let mut i = 1;
        while i < argv.len() {
            let word = argv[i].text.as_str();
            match word {
                "-delete" => {
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
                    for path in &paths {
                        let mut inner: Vec<Field> = argv[(i + 1).min(end)..end].to_vec();
                        let target = narrow(path, i);
                        if word.starts_with("-x") || word.starts_with("-X") || word.starts_with("--") {
                            inner.push(Field::known(UNKNOWN.to_string(), span.clone()));
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

    /// `xargs COMMAND`: the pipe becomes arguments.
    pub(super) fn xargs(&mut self, known: &Known<'_>, input: Option<Stream>, me: usize) -> Option<Stream> {
        let args = args::parse(known.argv, 1, &known.spec.takes, true);
        let span = known.span();
        let at = *args.operands.first()?;
        let mut inner: Vec<Field> = known.argv[at..].to_vec();
        let replaced = args.flags.iter().find(|f| matches!(f.name.as_str(), "-I" | "-i" | "--replace" | "-J"));
        let given: Vec<String> = match input.as_ref().and_then(|s| s.text.as_deref()).filter(|t| t.len() < 4096) {
            Some(text) => {
                text.split(|c: char| c.is_whitespace()).filter(|t| !t.is_empty()).map(str::to_owned).collect()
            }
            None => vec![UNKNOWN.to_string()],
        };
        let matched = input.as_ref().is_some_and(|s| s.matched);
        match replaced {
            Some(flag) => {
                let mark = flag.value.as_ref().map_or("{}", |v| v.0.as_str()).to_owned();
                // A decoded or computed value in a command position is not worth guessing.
                let value = match given.as_slice() {
                    [one] if !input.as_ref().is_some_and(|s| s.decoded) => one.clone(),
                    _ => UNKNOWN.to_string(),
                };
                for field in &mut inner {
                    field.text = field.text.replace(&mark, &value);
                }
            }
            None => {
                let span = inner_span(&known.argv[at..]);
                inner.extend(given.into_iter().take(64).map(|text| Field {
                    open: text.starts_with(UNKNOWN),
                    unset: true,
                    glob: matched,
                    ..Field::known(text, span.clone())
                }));
            }
        }
        if matches!(program(&inner[0].text).as_str(), "rm" | "unlink" | "shred" | "rmdir" | "srm") {
            self.find("xargs with rm", span.clone());
        }
        let out = self.deeper(&span, |w| w.subshell(|w| w.invoke(inner, None, Some((me, at)))));
        self.current = Some(me);
        out
    }

    /// `parallel COMMAND ::: VALUES`.
    pub(super) fn parallel(&mut self, known: &Known<'_>, input: Option<Stream>, me: usize) -> Option<Stream> {
        let args = args::parse(known.argv, 1, &known.spec.takes, true);
        let span = known.span();
        let at = *args.operands.first()?;
        let split = known.argv.iter().position(|f| f.text.starts_with(":::")).unwrap_or(known.argv.len());
        let values = known.argv.get(split + 1..).unwrap_or_default().to_vec();
        if at >= split {
            for value in values {
                self.subshell(|w| w.text(&value.text, &value.span, None));
                self.current = Some(me);
            }
            return None;
        }
        let mut text = known.argv[at..split].iter().map(|f| f.text.as_str()).collect::<Vec<_>>().join(" ");
        let given = if values.is_empty() { vec![Field::known(UNKNOWN.to_string(), span.clone())] } else { values };
        if matches!(program(&known.argv[at].text).as_str(), "rm" | "unlink" | "shred") {
            self.find("xargs with rm", span.clone());
        }
        if !text.contains("{}") {
            text.push_str(" {}");
        }
        let _ = input;
        for value in given.iter().take(16) {
            let line = text.replace("{}", &value.text);
            self.subshell(|w| w.text(&line, &span, None));
            self.current = Some(me);
        }
        None
    }
}

fn inner_span(argv: &[Field]) -> super::ast::Span {
    argv.first().map_or(0..0, |f| f.span.clone())
}

/// The start of a text for a sentence, on one line.
pub(super) fn shorten(text: &str) -> String {
    let line = text.trim().replace(UNKNOWN, "…").replace('\n', " ⏎ ");
    match line.char_indices().nth(200) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

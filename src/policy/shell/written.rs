//! Files that a line makes out of what is known of their content, and what runs them later in it.

use super::ast::Span;
use super::decode::Stream;
use super::interpret::is_stdin;
use super::invoke::Known;
use super::resolve::Field;
use super::streams::MAX_TEXT;
use super::walk::Walker;
use crate::policy::files::normal;
use crate::policy::table::Kind;
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

/// Sources of one copy, and files of one script, that are followed.
const MAX_COPIES: usize = 16;
/// Shell lines of one file of recipes.
const MAX_RECIPES: usize = 256;

impl Walker<'_> {
    /// Files and links that a command makes out of what is known: copies, links, what tools write that get their text.
    pub(super) fn kept(&mut self, known: &Known<'_>, input: &Option<Stream>) {
        match known.name.as_str() {
            "cp" | "gcp" | "mv" | "gmv" | "install" | "ginstall" | "ln" | "link" | "rsync" => self.copies(known),
            "mount" if known.has(&["--bind", "-B", "--rbind", "-o"]) => {
                if let (Some(from), Some(to)) = (known.operand(0), known.operand(1)) {
                    self.links_to(&to.clone(), &from.clone(), true);
                }
            }
            "dd" => {
                let value = |name: &str| {
                    let field = known.argv[1..].iter().rev().find(|f| f.text.starts_with(name))?;
                    Some(Field { text: field.text[name.len()..].to_owned(), ..field.clone() })
                };
                let source = match value("if=") {
                    Some(file) => self.copied(&file),
                    None => input.clone(),
                };
                if let (Some(stream), Some(to)) = (source, value("of=")) {
                    self.keep_at(&to, &stream);
                }
            }
            "sponge" => {
                if let (Some(stream), Some(to)) = (input.clone(), known.operand(0)) {
                    self.keep_at(&to.clone(), &stream);
                }
            }
            _ => match known.spec.kind {
                Kind::Awk | Kind::Sed => self.scripted(known, input),
                Kind::Make => self.make_files(known, input),
                Kind::Plain if matches!(known.name.as_str(), "npm" | "pnpm" | "yarn" | "bun") => {
                    self.make_files(known, input)
                }
                _ => {}
            },
        }
    }

    fn keep_at(&mut self, to: &Field, stream: &Stream) {
        for path in self.absolute(&to.text) {
            self.keep(path, stream.clone(), false);
        }
    }

    /// `cp`, `mv`, `install`, `ln`: what the source holds is what the target holds.
    fn copies(&mut self, known: &Known<'_>) {
        let mut fields: Vec<Field> = known.operands().cloned().collect();
        let into = known.value(&["-t", "--target-directory"]);
        let link =
            matches!(known.name.as_str(), "ln" | "cp" | "gcp") && known.has(&["-s", "--symbolic", "--symbolic-link"]);
        let to = match into {
            Some(folder) => folder,
            None if fields.len() > 1 => match fields.pop() {
                Some(last) => last,
                None => return,
            },
            // `ln -s TARGET` makes a link of that name here.
            None if link => Field::known(".", known.span()),
            None => return,
        };
        for source in fields.iter().take(MAX_COPIES) {
            let name = source.text.trim_end_matches('/').rsplit('/').next().unwrap_or("").to_owned();
            let inside = Field { text: format!("{}/{name}", to.text.trim_end_matches('/')), ..to.clone() };
            if link {
                for at in [&to, &inside] {
                    self.links_to(at, source, false);
                }
            }
            if let Some(stream) = self.copied(source) {
                self.keep_at(&to, &stream);
                self.keep_at(&inside, &stream);
            }
            // What was made executable stays so.
            let runs = self.absolute(&source.text).iter().any(|p| self.state.executable.contains(p));
            if runs {
                let paths = [self.absolute(&to.text), self.absolute(&inside.text)].concat();
                Rc::make_mut(&mut self.state.executable).extend(paths);
            }
        }
    }

    fn links_to(&mut self, at: &Field, target: &Field, mount: bool) {
        if !at.is_known() || !target.is_known() || self.state.mounts.len() > 64 {
            return;
        }
        for path in self.absolute(&at.text) {
            let folder = path.rsplit_once('/').map_or("/", |(f, _)| if f.is_empty() { "/" } else { f }).to_owned();
            let to = normal(Path::new(&folder), &target.text);
            // A folder that is there is no link afterwards.
            if path != to && path.len() > 1 && !self.state.cwds.contains(&path) {
                if mount {
                    Rc::make_mut(&mut self.state.mounts).insert(path.clone(), to.clone());
                }
                self.memo.link(path, to);
            }
        }
    }

    /// Awk and sed programs that write files: `print > "x"`, `w x`. What they write is out of what they read and say.
    fn scripted(&mut self, known: &Known<'_>, input: &Option<Stream>) {
        let Some(code) = known.value(&["-e", "--expression", "--source"]).or_else(|| known.operand(0).cloned()) else {
            return;
        };
        let mut text = input.as_ref().and_then(|s| s.text.clone()).unwrap_or_default();
        for file in known.operands().skip(1).take(4) {
            text.push_str(&self.file(file).and_then(|s| s.text).unwrap_or_default());
        }
        let mut targets: Vec<String> = Vec::new();
        if known.spec.kind == Kind::Awk {
            let strings: Vec<&str> = code.text.split('"').skip(1).step_by(2).take(32).collect();
            for string in &strings {
                text.push('\n');
                text.push_str(string);
            }
            targets.extend(
                code.text
                    .split('>')
                    .skip(1)
                    .filter_map(|t| t.trim_start_matches(['>', ' ']).strip_prefix('"')?.split('"').next())
                    .map(str::to_owned),
            );
        } else {
            for line in code.text.split(['\n', ';', '}']) {
                let line = line.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ',' | '$' | ' ' | '{'));
                if let Some(file) = line.strip_prefix(['w', 'W']).or_else(|| line.split_once("/w ").map(|(_, f)| f)) {
                    targets.push(file.trim().to_owned());
                }
            }
        }
        if text.is_empty() || text.len() > MAX_TEXT {
            return;
        }
        for target in targets.into_iter().take(MAX_COPIES) {
            let stream = Stream { partial: true, ..Stream::text(text.clone(), code.span.clone()) };
            self.keep_at(&Field::known(target, code.span.clone()), &stream);
        }
    }

    /// `make` and the like, where the line wrote their file: its recipes are judged.
    fn make_files(&mut self, known: &Known<'_>, input: &Option<Stream>) {
        const NAMES: &[&str] = &[
            "Makefile",
            "makefile",
            "GNUmakefile",
            "justfile",
            "Justfile",
            "Taskfile.yml",
            "package.json",
            "build.ninja",
        ];
        let given = known.value(&["-f", "--file", "--makefile"]);
        let folder = known.value(&["-C", "--directory", "--prefix"]).map_or_else(|| ".".to_owned(), |f| f.text);
        let mut texts: Vec<Stream> = Vec::new();
        match given {
            Some(file) if is_stdin(&file.text) => texts.extend(input.clone()),
            Some(file) => texts.extend(self.file(&file)),
            None => {
                for name in NAMES {
                    texts.extend(self.file(&Field::known(format!("{folder}/{name}"), known.span())));
                }
            }
        }
        for stream in texts {
            if let Some(text) = stream.text {
                self.recipes(&text, &stream.span);
            }
        }
        // `make 'X=$(shell …)'`
        for field in known.operands().filter(|f| f.text.contains("(shell") || f.text.contains("{shell")).take(16) {
            self.recipes(&field.text, &field.span);
        }
    }

    /// The shell lines of a file of recipes.
    pub(super) fn recipes(&mut self, text: &str, span: &Span) {
        let all = if text.len() < MAX_TEXT { recipes(text) } else { Vec::new() };
        if text.len() >= MAX_TEXT || all.len() > MAX_RECIPES {
            self.limit(span);
        }
        for recipe in all.into_iter().take(MAX_RECIPES) {
            self.subshell(|w| w.text(&recipe, span, None));
        }
    }
}

/// The shell lines of a file of recipes: indented lines, what follows a target in its line, and the values of a list of scripts.
fn recipes(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    if text.trim_start().starts_with('{') {
        all.extend(text.split('"').skip(1).step_by(2).filter(|s| s.contains(' ')).map(str::to_owned));
        return all;
    }
    let mut values: HashMap<String, String> = [("CC", "cc"), ("CXX", "c++"), ("MAKE", "make"), ("RM", "rm -f")]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let mut defines = false;
    for line in text.replace("\\\n", " ").lines() {
        // Lines of a name that recipes are made of.
        defines = !line.starts_with("endef") && (defines || line.starts_with("define "));
        if defines && !line.starts_with("define ") {
            all.push(expanded(line.trim_start_matches(['\t', '@', '-', '+', ' ']), &values));
            continue;
        }
        let recipe = match line.strip_prefix(['\t', ' ']) {
            Some(recipe) => recipe.trim_start(),
            None => {
                if let Some((name, value)) = line.split_once('=') {
                    // `X != COMMAND`
                    if name.ends_with('!') {
                        all.push(expanded(value.trim(), &values));
                    }
                    // just: ``x := `COMMAND` ``
                    let quoted = value.trim().strip_prefix('`').and_then(|text| text.strip_suffix('`'));
                    all.extend(quoted.map(|command| expanded(command, &values)));
                    let name = name.trim().trim_end_matches([':', '?', '+', ' ']);
                    values.insert(name.to_owned(), expanded(value.trim(), &values));
                }
                // `$(shell …)` runs while the file is read.
                for (mark, close) in [("$(shell ", ')'), ("${shell ", '}')] {
                    for (at, _) in line.match_indices(mark).take(MAX_COPIES) {
                        all.push(expanded(balanced(&line[at + mark.len()..], close), &values));
                    }
                }
                line.split_once(';').map_or("", |(_, recipe)| recipe)
            }
        };
        let recipe = recipe.trim_start_matches(['@', '-', '+', ' ']);
        // The line of a rule of ninja.
        let recipe = recipe.strip_prefix("command = ").unwrap_or(recipe);
        if !recipe.is_empty() {
            all.push(expanded(recipe, &values));
        }
    }
    all
}

/// The text up to the bracket that closes one before it.
fn balanced(text: &str, close: char) -> &str {
    let open = if close == ')' { '(' } else { '{' };
    let mut depth = 0;
    let end = text.find(|c| {
        depth += i32::from(c == open) - i32::from(c == close);
        depth < 0
    });
    &text[..end.unwrap_or(text.len())]
}

/// Variables of make replaced; one that is not known is a plain word. `$$` is the dollar sign of the shell.
fn expanded(text: &str, values: &HashMap<String, String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let close = match rest.chars().next() {
            Some('(') => ')',
            Some('{') => '}',
            Some('$') => {
                out.push('$');
                rest = &rest[1..];
                continue;
            }
            Some(c) => {
                out.push('x');
                rest = &rest[c.len_utf8()..];
                continue;
            }
            None => break,
        };
        let end = rest.find(close);
        let inner = &rest[1..end.unwrap_or(rest.len())];
        match inner.strip_prefix("shell ") {
            Some(line) => out.push_str(&format!("$({line})")),
            None => out.push_str(values.get(inner).map_or("x", String::as_str)),
        }
        rest = end.map_or("", |end| &rest[end + 1..]);
        if out.len() > MAX_TEXT {
            break;
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_lines_of_recipes() {
        for (text, want) in [
            ("a: b\n\t@cc $< -o $@\n", vec!["cc x -o x"]),
            ("X = 1\na: ; echo $(X)", vec!["echo 1"]),
            ("X := $(shell ls)", vec!["ls"]),
            ("X != ls", vec!["ls"]),
            ("$(info ${shell ls $(A)})", vec!["ls x"]),
            ("define R\n\tls\nendef\na:\n\tpwd", vec!["ls", "pwd"]),
            ("rule x\n  command = ls", vec!["ls"]),
            ("x := `ls`", vec!["ls"]),
            ("\techo $(shell é", vec!["echo $(é)"]),
            ("\techo $(", vec!["echo x"]),
        ] {
            assert_eq!(recipes(text), want, "{text}");
        }
    }
}

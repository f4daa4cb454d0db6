//! Whether code only computes and prints: every name in it is one of a list, or is its own.

use super::lex::Token;
use super::value::close_of;
use super::{Harmless, Lang, Shapes};
use crate::policy::glob;
use std::collections::{HashMap, HashSet};

/// Members that lead from a value to the machine.
const HIDDEN: &[&str] =
    &["constructor", "prototype", "mainModule", "environ", "env", "binding", "modules", "require", "process"];
/// Modules that others hold under their own names: `random._os`, `platform.subprocess`.
const MODULES: &[&str] = &[
    "os",
    "sys",
    "subprocess",
    "builtins",
    "importlib",
    "shutil",
    "socket",
    "types",
    "ctypes",
    "posix",
    "runpy",
    "code",
    "pty",
    "io",
    "inspect",
    "enum",
    "bltns",
    "child_process",
    "vm",
    "module",
];

/// Functions of Python that need no import. A variable of the same name may not be bound when it is used.
const BUILT_IN: &[&str] = &[
    "eval",
    "exec",
    "compile",
    "open",
    "input",
    "getattr",
    "setattr",
    "delattr",
    "globals",
    "locals",
    "vars",
    "breakpoint",
    "memoryview",
];

/// Arguments of R by which a function that prints writes to a file or a program.
const WRITES_TO: &[&str] = &["file", "con", "append", "pager", "cmd", "command", "open"];

/// What the names of a text are.
#[derive(Default)]
pub(super) struct Names {
    /// Variables of its own.
    own: HashSet<String>,
    /// Functions of its own.
    functions: HashSet<String>,
    /// What imported names stand for: `load` → `json.load`.
    imported: HashMap<String, String>,
}

/// Whether code, all of which was read, does nothing but compute and print what it looks at.
pub(super) fn is_harmless(shapes: &Shapes, lang: Lang, tokens: &[Token]) -> bool {
    let Some(known) = shapes.harmless.get(lang.name()) else { return false };
    let Some(names) = Names::read(lang, tokens) else { return false };
    // A bare value neither looks at anything nor says anything: what it is there for is not seen.
    if tokens.iter().all(|token| matches!(token, Token::Number(_) | Token::Text(_) | Token::Sign(_) | Token::Break)) {
        return false;
    }
    only_calls_names(lang, tokens) && (0..tokens.len()).all(|i| names.allows(known, lang, tokens, i))
}

/// The same of a script, for which a bare value is as good as any.
pub(super) fn only_knows(known: &Harmless, lang: Lang, tokens: &[Token]) -> bool {
    let Some(names) = Names::read(lang, tokens) else { return false };
    only_calls_names(lang, tokens) && (0..tokens.len()).all(|i| names.allows(known, lang, tokens, i))
}

/// Whether nothing computed is called, and no text names a way out.
fn only_calls_names(lang: Lang, tokens: &[Token]) -> bool {
    // What a call or an index gives is not called: nobody can say what it is.
    let computed = |pair: &[Token]| match pair {
        [Token::Sign(')' | ']'), Token::Sign('(')] => true,
        // `"system"("ls")` of R, `x[1]"ls"` and `f()"ls"` of Lua.
        [Token::Text(_), Token::Sign('(')] => lang == Lang::R,
        [Token::Sign(')' | ']'), Token::Text(_) | Token::Sign('{')] => lang == Lang::Lua,
        _ => false,
    };
    let hidden = |text: &Token| match text {
        Token::Text(text) => HIDDEN.contains(&text.as_str()) || text.starts_with("__") && text != "__main__",
        _ => false,
    };
    !tokens.windows(2).any(computed) && !tokens.iter().any(hidden)
}

/// Whether a module, or something of it, is in the list.
pub(super) fn has_module(known: &Harmless, module: &str) -> bool {
    let inside = |path: &String| path.strip_prefix(module).is_some_and(|rest| rest.starts_with('.'));
    listed(known, module) || known.paths.iter().any(inside)
}

/// Whether a dotted path is in the list, and does not pass through another module.
fn listed(known: &Harmless, path: &str) -> bool {
    let through = |part: &str| {
        MODULES.contains(&part) || (part.starts_with('_') && !matches!(part, "__version__" | "__file__" | "__name__"))
    };
    !path.split('.').skip(1).any(through) && known.paths.iter().any(|p| glob::matches(p, path))
}

fn name(token: Option<&Token>) -> Option<&str> {
    match token {
        Some(Token::Name { text, .. }) => Some(text),
        _ => None,
    }
}

impl Names {
    /// Collects definitions and imports; `None` for an import that takes everything.
    pub(super) fn read(lang: Lang, tokens: &[Token]) -> Option<Names> {
        let mut names = Names::default();
        let sign = |at: usize, c: char| tokens.get(at) == Some(&Token::Sign(c));
        let add_all = |names: &mut Names, from: usize, to: usize| {
            for token in tokens.get(from..to).unwrap_or_default() {
                if let Token::Name { text, member: false } = token {
                    names.own.insert(text.clone());
                }
            }
        };
        let until = |from: usize, end: &dyn Fn(&Token) -> bool| {
            (from..tokens.len()).find(|i| end(&tokens[*i])).unwrap_or(tokens.len())
        };
        let mut i = 0;
        while i < tokens.len() {
            let Token::Name { text, member: false } = &tokens[i] else {
                // `|a, b|`
                if lang == Lang::Ruby && sign(i, '|') && matches!(tokens.get(i.wrapping_sub(1)), Some(Token::Sign('{')))
                {
                    let end = until(i + 1, &|t| *t == Token::Sign('|'));
                    add_all(&mut names, i + 1, end);
                }
                // `(a, b) =>`
                if lang == Lang::Js
                    && sign(i, '(')
                    && let Some(end) = close_of(tokens, i).filter(|end| sign(end + 1, '=') && sign(end + 2, '>'))
                {
                    add_all(&mut names, i + 1, end);
                }
                i += 1;
                continue;
            };
            match (lang, text.as_str()) {
                (Lang::Python, "import") => {
                    let end = until(i + 1, &|t| matches!(t, Token::Break | Token::Sign(';')));
                    names.imports(&tokens[i + 1..end], "")?;
                    i = end;
                    continue;
                }
                (Lang::Python, "from") if name(tokens.get(i + 1)).is_some() => {
                    let middle = until(i + 1, &|t| name(Some(t)) == Some("import"));
                    let module: Vec<&str> = tokens[i + 1..middle].iter().filter_map(|t| name(Some(t))).collect();
                    // Parentheses may hold several lines of names.
                    let several = close_of(tokens, middle + 1).filter(|_| sign(middle + 1, '('));
                    let (from, end) = match several {
                        Some(close) => (middle + 2, close),
                        None => (middle + 1, until(middle, &|t| matches!(t, Token::Break | Token::Sign(';')))),
                    };
                    names.imports(tokens.get(from..end)?, &format!("{}.", module.join(".")))?;
                    i = end;
                    continue;
                }
                (Lang::Python | Lang::Lua | Lang::R, "for") => {
                    let end = until(i + 1, &|t| name(Some(t)) == Some("in"));
                    add_all(&mut names, i + 1, end);
                }
                (Lang::Python, "lambda") => {
                    let end = until(i + 1, &|t| *t == Token::Sign(':'));
                    add_all(&mut names, i + 1, end);
                }
                (Lang::Python, "as") => add_all(&mut names, i + 1, i + 2),
                (Lang::Python, "def") | (Lang::Js, "function") => {
                    if let Some(own) = name(tokens.get(i + 1)) {
                        names.functions.insert(own.to_owned());
                    }
                    let open = until(i + 1, &|t| *t == Token::Sign('('));
                    add_all(&mut names, open + 1, close_of(tokens, open).unwrap_or(open));
                }
                // `fs = require("fs")`
                (Lang::Js, _) if sign(i + 1, '=') && name(tokens.get(i + 2)) == Some("require") => {
                    match tokens.get(i + 4) {
                        Some(Token::Text(module))
                            if !module.ends_with(".json") && sign(i + 5, ')') && !sign(i + 6, '(') =>
                        {
                            let member = matches!(tokens.get(i + 6), Some(Token::Name { member: true, .. }));
                            if !member {
                                let module = module.trim_start_matches("node:").to_owned();
                                names.imported.insert(text.clone(), module);
                            }
                        }
                        _ => add_all(&mut names, i, i + 1),
                    }
                }
                (Lang::Js, "const" | "let" | "var") if !sign(i + 2, '=') => {
                    let end = until(i + 1, &|t| {
                        *t == Token::Sign('=') || matches!(t, Token::Name { text, .. } if text == "of")
                    });
                    add_all(&mut names, i + 1, end);
                }
                (Lang::Js, _) if sign(i + 1, '=') && sign(i + 2, '>') => add_all(&mut names, i, i + 1),
                // `x <- …`, and `x = …` where no argument can be.
                (Lang::R, _) => {
                    let first = i.checked_sub(1).is_none_or(|at| matches!(tokens[at], Token::Break | Token::Sign(';')));
                    let equals = first && sign(i + 1, '=') && !sign(i + 2, '=');
                    if sign(i + 1, '<') && sign(i + 2, '-') || equals {
                        add_all(&mut names, i, i + 1);
                    }
                }
                // `a, b, c = …`
                (Lang::Python, _)
                    if sign(i + 1, ',')
                        && i.checked_sub(1)
                            .is_none_or(|at| matches!(tokens[at], Token::Break | Token::Sign(';' | ':'))) =>
                {
                    let among = |t: &Token| matches!(t, Token::Name { member: false, .. } | Token::Sign(',' | '*'));
                    let end = until(i + 1, &|t| !among(t));
                    if sign(end, '=') && !sign(end + 1, '=') {
                        add_all(&mut names, i, end);
                    }
                }
                // `a = …`, `a, b = …`, `a += …`
                (Lang::Python | Lang::Ruby | Lang::Lua | Lang::Js, _) => {
                    let plain = sign(i + 1, '=') && !sign(i + 2, '=') && !sign(i + 2, '>') && !sign(i + 2, '~');
                    let added = sign(i + 2, '=') && ['+', '-', '*', '|'].iter().any(|c| sign(i + 1, *c));
                    let walrus = sign(i + 1, ':') && sign(i + 2, '=');
                    let several = sign(i + 1, ',')
                        && name(tokens.get(i + 2)).is_some()
                        && matches!(lang, Lang::Python | Lang::Lua)
                        && sign(i + 3, '=');
                    if plain || added || walrus || several {
                        add_all(&mut names, i, i + 1);
                    }
                }
                _ => {}
            }
            i += 1;
        }
        Some(names)
    }

    /// `a.b as c, d`, after `import` or `from x import`.
    fn imports(&mut self, tokens: &[Token], from: &str) -> Option<()> {
        for part in super::value::split(tokens, &[',']) {
            if part.contains(&Token::Sign('*')) {
                return None;
            }
            let words: Vec<&str> = part.iter().filter_map(|t| name(Some(t))).collect();
            if words.is_empty() {
                continue;
            }
            let (path, alias) = match words.iter().position(|w| *w == "as") {
                Some(at) => (words[..at].join("."), words.get(at + 1).copied()),
                None => (words.join("."), None),
            };
            let own = match alias {
                Some(alias) => alias.to_owned(),
                // `import os.path` names `os`.
                None if from.is_empty() => words.first()?.to_string(),
                None => path.clone(),
            };
            let stands = if alias.is_none() && from.is_empty() { own.clone() } else { format!("{from}{path}") };
            self.imported.insert(own, stands);
        }
        Some(())
    }

    /// What was imported, under its whole name.
    pub(super) fn modules(&self) -> impl Iterator<Item = &str> {
        self.imported.values().map(String::as_str)
    }

    /// Whether this token may stand in harmless code.
    pub(super) fn allows(&self, known: &Harmless, lang: Lang, tokens: &[Token], i: usize) -> bool {
        match &tokens[i] {
            Token::Shell(_) => false,
            Token::Regex { evaluates } => !evaluates,
            Token::Sign('`') => false,
            // `$x->()` calls what the variable holds.
            Token::Variable(variable) => {
                let calls =
                    matches!(tokens.get(i + 1..i + 4), Some([Token::Sign('-'), Token::Sign('>'), Token::Sign('(')]));
                !calls && !matches!(variable.as_str(), "$ENV" | "%ENV" | "$^X")
            }
            Token::Name { text, member: true } => self.member(known, lang, tokens, i, text),
            Token::Name { text, member: false } => self.word(known, lang, tokens, i, text),
            _ => true,
        }
    }

    fn word(&self, known: &Harmless, lang: Lang, tokens: &[Token], i: usize, text: &str) -> bool {
        let called = tokens.get(i + 1) == Some(&Token::Sign('('));
        // A key of an object or an argument by name.
        let key = matches!(tokens.get(i + 1), Some(Token::Sign(':'))) && lang == Lang::Js;
        let argument = tokens.get(i + 1) == Some(&Token::Sign('='))
            && (lang == Lang::Python || lang == Lang::R && !WRITES_TO.contains(&text));
        if lang == Lang::Python && (BUILT_IN.contains(&text) || text.starts_with("__")) {
            return known.words.iter().any(|w| w == text);
        }
        if self.functions.contains(text) || (!called && (self.own.contains(text) || key || argument)) {
            return !text.starts_with("__");
        }
        if lang == Lang::Python && self.in_import(tokens, i) {
            return true;
        }
        // `:name` is a name and nothing else; `&:name` calls it.
        if lang == Lang::Ruby && i > 0 && tokens[i - 1] == Token::Sign(':') {
            return i < 2 || tokens[i - 2] != Token::Sign('&') || known.methods.iter().any(|m| m == text);
        }
        if lang == Lang::Js && self.imported.contains_key(text) && tokens.get(i + 1) == Some(&Token::Sign('=')) {
            return true;
        }
        let path = self.path(tokens, i);
        if self.imported.contains_key(text) {
            return self.module(known, &path);
        }
        if matches!(text, "require" | "import") && lang == Lang::Js {
            return self.required(known, tokens, i);
        }
        known.words.iter().any(|w| w == text) || listed(known, &path)
    }

    /// The whole dotted path that starts at a name.
    pub(super) fn path(&self, tokens: &[Token], i: usize) -> String {
        let mut path = name(tokens.get(i)).unwrap_or("").to_owned();
        if let Some(stands) = self.imported.get(&path) {
            path.clone_from(stands);
        }
        let mut at = i + 1;
        while let Some(Token::Name { text, member: true }) = tokens.get(at) {
            path.push('.');
            path.push_str(text);
            at += 1;
        }
        path
    }

    /// Something of an imported module; the module itself could be handed on.
    fn module(&self, known: &Harmless, path: &str) -> bool {
        let last = path.rsplit('.').next().unwrap_or("");
        let version = matches!(last, "__version__" | "__file__" | "version" | "VERSION" | "__name__" | "version_info");
        path.contains('.') && (version && path.matches('.').count() == 1 || listed(known, path))
    }

    /// A member that follows a name was judged with it; one that follows a value is a method or a field.
    fn member(&self, known: &Harmless, lang: Lang, tokens: &[Token], i: usize, text: &str) -> bool {
        // `from concurrent.futures import …`
        if lang == Lang::Python && self.in_import(tokens, i) {
            return true;
        }
        let mut root = i;
        while root > 0
            && matches!(tokens[root], Token::Name { member: true, .. })
            && matches!(tokens[root - 1], Token::Name { .. })
        {
            root -= 1;
        }
        // Ruby and Perl call without parentheses too.
        let called = matches!(lang, Lang::Ruby | Lang::Perl) || matches!(tokens.get(i + 1), Some(Token::Sign('(')));
        // A template after a name is a call of it.
        let tagged = matches!(tokens.get(i + 1), Some(Token::Text(_) | Token::Sign('`')));
        if tagged || (text.starts_with("__") && text != "__version__" && text != "__file__" && text != "__name__") {
            return false;
        }
        // `require("fs").readFileSync`: judged at `require`.
        let required = root > 3
            && tokens[root - 1] == Token::Sign(')')
            && matches!(tokens[root - 2], Token::Text(_))
            && name(tokens.get(root - 4)) == Some("require");
        if required {
            return true;
        }
        if let Token::Name { text: base, member: false } = &tokens[root] {
            let own = self.own.contains(base.as_str());
            if !own && root != i {
                // `json.load`: judged at `json`; `print.x` is not.
                return self.imported.contains_key(base.as_str()) || listed(known, &self.path(tokens, root));
            }
        }
        if called {
            // `Path("a").replace("b")` moves a file, `"a".replace("b", "c")` does not.
            let paths =
                || tokens.iter().any(|t| matches!(t, Token::Name { text, .. } if text == "Path" || text == "pathlib"));
            // `upcase!` changes what it is called on, and nothing else.
            let plain = if lang == Lang::Ruby { text.trim_end_matches('!') } else { text };
            known.methods.iter().any(|m| m == plain) && !(text == "replace" && lang == Lang::Python && paths())
        } else {
            !HIDDEN.contains(&text) && (known.fields.is_empty() || known.fields.iter().any(|field| field == text))
        }
    }

    /// `import a, b` and `from a import b`.
    fn in_import(&self, tokens: &[Token], i: usize) -> bool {
        let start =
            (0..i).rev().find(|at| matches!(tokens[*at], Token::Break | Token::Sign(';' | ':'))).map_or(0, |at| at + 1);
        matches!(name(tokens.get(start)), Some("import" | "from"))
    }

    /// `require("./x.json")`, `require("fs").readFileSync`.
    fn required(&self, known: &Harmless, tokens: &[Token], i: usize) -> bool {
        let (Some(Token::Sign('(')), Some(Token::Text(module)), Some(Token::Sign(')'))) =
            (tokens.get(i + 1), tokens.get(i + 2), tokens.get(i + 3))
        else {
            return false;
        };
        let module = module.trim_start_matches("node:");
        if module.ends_with(".json") {
            return true;
        }
        // Its name stands for it: what is used of it is judged there.
        let named = i > 0 && tokens[i - 1] == Token::Sign('=');
        if named && !matches!(tokens.get(i + 4), Some(Token::Name { member: true, .. } | Token::Sign('(' | '['))) {
            return true;
        }
        let mut path = module.to_owned();
        let mut at = i + 4;
        while let Some(Token::Name { text, member: true }) = tokens.get(at) {
            path.push('.');
            path.push_str(text);
            at += 1;
        }
        path.ends_with(".version") || listed(known, &path)
    }
}

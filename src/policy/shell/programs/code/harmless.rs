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

/// Arguments of R by which a function that prints writes to a file or a program.
const WRITES_TO: &[&str] = &["file", "con", "append", "pager", "cmd", "command", "open"];

/// What the names of a text are.
#[derive(Default)]
struct Names {
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
    let names = Names::read(lang, tokens);
    if is_bare(tokens) {
        return false;
    }
    only_calls_names(lang, tokens) && (0..tokens.len()).all(|i| names.allows(known, lang, tokens, i))
}

/// A bare value neither looks at anything nor says anything: what it is there for is not seen.
pub(super) fn is_bare(tokens: &[Token]) -> bool {
    let plain = |token: &Token| matches!(token, Token::Number(_) | Token::Text(_) | Token::Sign(_) | Token::Break);
    tokens.iter().all(plain)
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
pub(super) fn listed(known: &Harmless, path: &str) -> bool {
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
    /// Collects definitions and imports.
    fn read(lang: Lang, tokens: &[Token]) -> Names {
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
                (Lang::Lua | Lang::R, "for") => {
                    let end = until(i + 1, &|t| name(Some(t)) == Some("in"));
                    add_all(&mut names, i + 1, end);
                }
                (Lang::Js, "function") => {
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
                // `a = …`, `a, b = …`, `a += …`
                (Lang::Ruby | Lang::Lua | Lang::Js, _) => {
                    let plain = sign(i + 1, '=') && !sign(i + 2, '=') && !sign(i + 2, '>') && !sign(i + 2, '~');
                    let added = sign(i + 2, '=') && ['+', '-', '*', '|'].iter().any(|c| sign(i + 1, *c));
                    let several =
                        sign(i + 1, ',') && name(tokens.get(i + 2)).is_some() && lang == Lang::Lua && sign(i + 3, '=');
                    if plain || added || several {
                        add_all(&mut names, i, i + 1);
                    }
                }
                _ => {}
            }
            i += 1;
        }
        names
    }

    /// Whether this token may stand in harmless code.
    fn allows(&self, known: &Harmless, lang: Lang, tokens: &[Token], i: usize) -> bool {
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
        let argument = tokens.get(i + 1) == Some(&Token::Sign('=')) && lang == Lang::R && !WRITES_TO.contains(&text);
        if self.functions.contains(text) || (!called && (self.own.contains(text) || key || argument)) {
            return !text.starts_with("__");
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
    fn path(&self, tokens: &[Token], i: usize) -> String {
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
            // `upcase!` changes what it is called on, and nothing else.
            let plain = if lang == Lang::Ruby { text.trim_end_matches('!') } else { text };
            known.methods.iter().any(|m| m == plain)
        } else {
            !HIDDEN.contains(&text) && (known.fields.is_empty() || known.fields.iter().any(|field| field == text))
        }
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

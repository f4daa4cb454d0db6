//! Code given to an interpreter: what it runs, deletes, writes and reads is judged like a command; code that is read completely
//! and does none of it passes.

mod calls;
mod effects;
mod harmless;
mod lex;
mod python;
mod script;
mod strings;
mod value;

pub use script::{JAVASCRIPT, asks_each_time, script};

use crate::policy::shell::read::ast::Span;
use crate::policy::shell::walk::Walker;
use crate::policy::table;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Bytes of code that are read.
const MAX_CODE: usize = 64 * 1024;

/// The languages whose code is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::policy::shell) enum Lang {
    Python,
    Js,
    Perl,
    Ruby,
    Php,
    Lua,
    R,
    /// Calls are seen, and nothing passes.
    Other,
}

impl Lang {
    /// The language of an interpreter, by its name without path.
    pub(in crate::policy::shell) fn of(program: &str) -> Lang {
        let base = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        match base {
            "python" | "py" | "pypy" | "ipython" | "jython" | "micropython" => Lang::Python,
            "node" | "nodejs" | "iojs" | "tsx" | "ts-node" | "bun" | "deno" | "qjs" | "gjs" => Lang::Js,
            "perl" => Lang::Perl,
            "ruby" | "jruby" | "irb" => Lang::Ruby,
            "php" => Lang::Php,
            "lua" | "luajit" => Lang::Lua,
            "r" | "rscript" => Lang::R,
            _ => Lang::Other,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Lang::Python => "python",
            Lang::Js => "js",
            Lang::Perl => "perl",
            Lang::Ruby => "ruby",
            Lang::Php => "php",
            Lang::Lua => "lua",
            Lang::R => "r",
            Lang::Other => "",
        }
    }
}

/// `assets/policy/code.yaml`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Shapes {
    /// Functions that get a shell line, or a program with its words.
    runs: Vec<String>,
    /// Functions that get code of the same language.
    evaluates: Vec<String>,
    deletes: Vec<String>,
    deletes_tree: Vec<String>,
    writes: Vec<String>,
    reads: Vec<String>,
    moves: Vec<String>,
    copies: Vec<String>,
    permissions: Vec<String>,
    opens: Vec<String>,
    sql: Vec<String>,
    harmless: BTreeMap<String, Harmless>,
    /// The same of a script that calls tools.
    script: Harmless,
    /// What else a script does, by names.
    direct: Vec<Direct>,
}

/// A class of what a script does by itself.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Direct {
    /// As it is granted: `code that runs programs`.
    effect: String,
    /// What its code does is made when it runs: no answer to it lasts.
    once: bool,
    /// Modules, functions and members.
    names: Vec<String>,
    /// Members of the values that these give: once the class is named, they say nothing more.
    members: Vec<String>,
}

/// What code of a language may hold and still only compute and print.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Harmless {
    /// Keywords, and functions without an object.
    words: Vec<String>,
    /// Names of modules and objects, with what of them is harmless; `*` allowed.
    paths: Vec<String>,
    /// Methods of a value.
    methods: Vec<String>,
    /// Fields of a value; none named: all but those that lead to the machine.
    fields: Vec<String>,
}

static SHAPES: LazyLock<Result<Shapes, String>> =
    LazyLock::new(|| table::read("code.yaml", include_str!("../../../../../assets/policy/code.yaml")));

impl Walker<'_> {
    /// Judges code. `true`: it was read completely, and only computes and prints what it looks at.
    pub(in crate::policy::shell) fn code(&mut self, lang: Lang, text: &str, span: &Span) -> bool {
        let Ok(shapes) = SHAPES.as_ref() else { return false };
        if text.len() > MAX_CODE || !self.spend(1 + text.len() / 256, span) {
            return false;
        }
        let (tokens, whole) = lex::tokens(text, lang);
        let clear = self.deeper(span, |w| calls::judge(w, shapes, lang, &tokens, span));
        whole && clear && is_harmless(shapes, lang, text, &tokens)
    }
}

/// Whether code, all of which was read, does nothing but compute and print what it looks at.
fn is_harmless(shapes: &Shapes, lang: Lang, text: &str, tokens: &[lex::Token]) -> bool {
    if lang != Lang::Python {
        return harmless::is_harmless(shapes, lang, tokens);
    }
    let Some(known) = shapes.harmless.get(lang.name()).filter(|_| !harmless::is_bare(tokens)) else { return false };
    python::read(text, known, python::Reading::Command).is_some_and(|found| found.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_parse() {
        let shapes = SHAPES.as_ref().unwrap();
        assert!(shapes.runs.iter().any(|n| n == "system"));
        for lang in [Lang::Python, Lang::Js, Lang::Perl, Lang::Ruby, Lang::Lua, Lang::R] {
            assert!(shapes.harmless.contains_key(lang.name()), "{lang:?}");
        }
    }

    #[test]
    fn only_code_that_is_read_completely_is_harmless() {
        let shapes = SHAPES.as_ref().unwrap();
        let harmless = |lang, text: &str| {
            let (tokens, whole) = lex::tokens(text, lang);
            whole && is_harmless(shapes, lang, text, &tokens)
        };
        for text in [
            "print(2**64)",
            "import json,sys; print(json.load(sys.stdin)['version'])",
            "import json,sys; d=json.load(sys.stdin); print('\\n'.join(x['name'] for x in d['items']))",
            "import sys\nfor line in sys.stdin:\n    print(line.strip().split(',')[0])",
            "import numpy; print(numpy.__version__)",
            "import sys; print(sys.version)",
            "import os; print(os.getcwd())",
            "import re,sys; print(re.findall(r'a+', sys.stdin.read()))",
            "import sys; print(f'{sys.argv[1]:>10}')",
            "import ast,sys; ast.parse(open('x.py').read())",
        ] {
            assert!(harmless(Lang::Python, text), "{text}");
        }
        for text in [
            "import os; print(os.environ)",
            "import os; os.system('ls')",
            "import sys; getattr(sys, 'x')()",
            "import json as os; x = eval; x('1')",
            "from os import system; system('x')",
            "import sys; print(f'{open(\"/x\",\"w\").write(\"a\")}', __import__('os'))",
            "import sys; sys.stdin.x.run()",
            "import foo; foo.main()",
            "from foo import *; print(1)",
        ] {
            assert!(!harmless(Lang::Python, text), "{text}");
        }
        for (lang, text, want) in [
            (Lang::Js, "console.log(require('./package.json').version)", true),
            (Lang::Js, "process.version", true),
            (Lang::Js, "console.log(1)", true),
            (Lang::Js, "console.log(process.env.KEY)", false),
            (Lang::Js, "JSON.parse(require('fs').readFileSync(0,'utf8')).items.map(x => x.name).join('\\n')", true),
            (Lang::Js, "require('fs').writeFileSync('x','y')", false),
            (Lang::Js, "require('child_process').execSync('ls')", false),
            (Lang::Js, "process.mainModule.require('x')", false),
            (Lang::Js, "[].constructor.constructor('return process')()", false),
            (Lang::Perl, "print if /x/", true),
            (Lang::Perl, "s/a/b/; print", true),
            (Lang::Perl, "s/a/system(q{x})/e; print", false),
            (Lang::Perl, "print `ls`", false),
            (Lang::Perl, "print \"@{[ system('x') ]}\"", false),
            (Lang::Perl, "unlink $_", false),
            (Lang::Perl, "print $F[1] if $F[0] =~ /x/", true),
            (Lang::Perl, "/(?{system 'x'})/", false),
            (Lang::Ruby, "puts $_.upcase", true),
            (Lang::Ruby, "puts \"#{`ls`}\"", false),
            (Lang::Php, "echo phpversion();", false),
            (Lang::Php, "echo 1;", false),
            (Lang::Lua, "print(2^10)", true),
            (Lang::Lua, "for i = 1, 3 do print(i, string.rep('x', i)) end", true),
            (Lang::Lua, "local t = {1, 2}; for k, v in pairs(t) do io.write(k, v) end", true),
            (Lang::Lua, "print(('x'):rep(3))", true),
            (Lang::Lua, "print(_VERSION)", true),
            (Lang::Lua, "os.execute('ls')", false),
            (Lang::Lua, "--[[ x ]] os.execute('ls')", false),
            (Lang::Lua, "io.open('x', 'w')", false),
            (Lang::Lua, "require 'x'", false),
            (Lang::Lua, "load('x')()", false),
            (Lang::Lua, "local f = print; f(1)", false),
            (Lang::Lua, "_G['os']['execute']('ls')", false),
            (Lang::Lua, "print(os.getenv('KEY'))", false),
            (Lang::R, "cat(1 + 1)", true),
            (Lang::R, "x <- c(1, 2, 3); print(mean(x))", true),
            (Lang::R, "sessionInfo()", true),
            (Lang::R, "print(R.version.string)", true),
            (Lang::R, "d <- data.frame(a = 1:3); print(d$a)", true),
            (Lang::R, "system('ls')", false),
            (Lang::R, "do.call('system', list('ls'))", false),
            (Lang::R, "sapply('ls', 'system')", false),
            (Lang::R, "x <- base::system; x('ls')", false),
            (Lang::R, "unlink('x')", false),
            (Lang::R, "write.csv(x, 'a')", false),
            (Lang::R, "readLines(pipe('ls'))", false),
            (Lang::R, "Sys.getenv('KEY')", false),
            (Lang::R, "get('system')('ls')", false),
            (Lang::R, "`system`('ls')", false),
            (Lang::R, "cat('x', file = 'a')", false),
        ] {
            assert_eq!(harmless(lang, text), want, "{text}");
        }
    }
}

//! Commands of Python that pass and that do not, and texts that could be read in two ways.

use super::*;
use crate::policy::shell::programs::code::SHAPES;

#[test]
fn a_command_of_python_passes_only_if_all_of_it_is_in_the_list() {
    let shapes = SHAPES.as_ref().unwrap();
    let passes = |text: &str| read(text, &shapes.harmless["python"], Reading::Command) == Some(Vec::new());
    for text in [
        "print(1_000)",
        "import json, sys; print(json.dumps(json.load(sys.stdin), indent=2))",
        "import sys; print(sys.path)",
        "import sys\nfor p in sys.path: print(p)",
        "import sys; print(sys.argv[1:], '\\n'.join(sys.path), f'{sys.version_info.major}.{sys.version_info.minor}')",
        "import numpy; print(numpy.__version__, numpy.__file__)",
        "import os, os.path; print(os.path.exists('a'), os.listdir('.'))",
        "from pathlib import Path; print(Path('a').read_text(encoding='utf-8'), [p.name for p in Path('.').glob('*')])",
        "from datetime import datetime as d; print(d.now().strftime('%Y'), d.fromtimestamp(0))",
        "import hashlib; print(hashlib.sha256(open('a', mode='rb').read()).hexdigest())",
        "import importlib.metadata as m; print(m.version('x'))",
        "import platform; print(platform.platform(), platform.uname().machine)",
    ] {
        assert!(passes(text), "{text}: {:?}", read(text, &shapes.harmless["python"], Reading::Command));
    }
    for text in [
        // Code inside of texts, wherever a brace stands.
        "print(f\"{1:{__import__('os').system('id')}}\")",
        "print(f\"{'a'!=__import__('os').system('id')}\")",
        // What adds to where modules come from.
        "import sys; sys.path.insert(0, '.')",
        "import sys; p = sys.path; p.append('.')",
        "import sys; sys.path[0] = '.'",
        "import sys; sys.path[0], x = '.', 1",
        "import sys\ndef len(p): p.append('.')\nlen(sys.path)",
        "import site; site.addsitedir('/tmp/x')",
        "from importlib.metadata import import_module; import_module('x')",
        // What handed on would write, or make a class.
        "list(map(open, ['x'], ['w']))",
        "open(*['x', 'w'])",
        "open('x', **{'mode': 'w'})",
        "open('x', opener=print)",
        "m = 'w'; open('x', m)",
        "g = (x for x in []); list(map(g.gi_frame.f_builtins['exec'], ['1']))",
        "import functools; functools.wraps(print, updated=('__globals__',))",
        "import uuid; uuid.uuid1()",
        "from pathlib import Path; Path('a').replace('b')",
        "from pathlib import Path; Path('a').write_text('b')",
        "import os; os = os; os.remove('a')",
        "import foo.bar",
        "class A: pass",
        "import os; os.environ",
    ] {
        assert!(!passes(text), "{text}");
    }
}

#[test]
fn what_could_be_read_in_two_ways_has_no_tree() {
    for text in [
        "print(1)\n",
        "x = 'a' \"b\" '''c\n' d''' r'\\'' b'\\\\'\n",
        "f(1, # one\n  2)\n\n# ä\n",
        "if x:\n\tpass\nelif \\\n y: pass\nelse: pass",
        "f'{x!r:>{w}} {{}} {x:%Y-%m} {x=}'",
        "f'''{x}\n'''",
        "x = 1 # coding: utf-7 comes too late here",
    ] {
        assert!(source::tree(&format!("pass\npass\n{text}")).is_some(), "{text}");
    }
    for text in [
        "x = (",
        "x\r",
        "x\x0c",
        "x\x0b",
        "x\0",
        "\u{feff}x",
        "é = 1",
        "x\u{a0}= 1",
        "t'{x}'",
        "ub'x'",
        "1if x else y",
        "0xfor x",
        "f'\\{x}'",
        "rf'\\{x}'",
        "f'\\N{BULLET}'",
        "f'{x:{{y}}}'",
        "f'{x # }\n}'",
        "f'__import__'",
        "f'eval(x)'",
        "f'{x\n}'",
        "# coding: latin-1\nx",
        "x\n# vim: set fileencoding=utf-7 :",
        "print 1",
    ] {
        let tree = source::tree(text);
        let statement = |tree: &tree_sitter::Tree| {
            tree.root_node().named_child(0).is_some_and(|one| one.kind() == "print_statement")
        };
        assert!(tree.as_ref().is_none_or(statement), "{text}");
    }
    let deep = format!("x = {}1{}", "(".repeat(300), ")".repeat(300));
    assert!(source::tree(&deep).is_none());
    let far_too_deep = "(".repeat(60_000);
    assert!(source::tree(&far_too_deep).is_none());
}

#[test]
fn the_list_has_no_module_of_its_own_right() {
    let shapes = SHAPES.as_ref().unwrap();
    // Modules of C hold no others.
    let of_c = [
        "math.*",
        "cmath.*",
        "itertools.*",
        "unicodedata.*",
        "binascii.*",
        "hermes_tools.browser_*",
        "hermes_tools.mcp__*",
        "hermes_tools.plugin__*",
    ];
    for list in [&shapes.script, &shapes.harmless["python"]] {
        for path in &list.paths {
            assert!(path.contains('.'), "{path}");
            assert!(!path.contains('*') || of_c.contains(&path.as_str()), "{path}");
        }
        for name in list.words.iter().chain(&list.methods).chain(&list.fields) {
            assert!(!name.starts_with('_') || name == "__name__", "{name}");
            assert!(!DANGEROUS.contains(&name.as_str()) || name == "open", "{name}");
        }
    }
}

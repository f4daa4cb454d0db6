//! What the names of a text stand for: variables and functions of its own, and what it imports. One namespace for all of it:
//! a name that means two things anywhere has no meaning.

use super::{Found, Kind, children, is_field, of, source};
use std::collections::{HashMap, HashSet};
use tree_sitter::Node;

/// What gives a function, so that a variable that holds it may be called.
const GIVES_A_FUNCTION: &[&str] = &["namedtuple", "partial", "itemgetter", "cmp_to_key"];

#[derive(Default)]
pub(super) struct Names {
    own: HashSet<String>,
    /// Those of its own that are functions, and parameters: what is passed is harmless, or was found where it stands.
    callable: HashSet<String>,
    /// What imported names stand for: `load` → `json.load`.
    imported: HashMap<String, String>,
    confused: HashSet<String>,
    /// Members that are set or deleted.
    pub set: Vec<Found>,
}

/// What a name stands for.
pub(super) enum Meaning<'n> {
    /// Two things.
    Confused,
    Imported(&'n str),
    Own {
        callable: bool,
    },
    /// Nothing that the text says.
    Given,
}

impl Names {
    /// Those of a whole text; `None` when it goes too deep.
    pub fn of(root: Node<'_>, text: &str) -> Option<Self> {
        let mut names = Self::default();
        source::walk(root, &mut |node, _| {
            names.look(node, text);
            true
        })?;
        names.confused.extend(names.imported.keys().filter(|name| names.own.contains(*name)).cloned());
        Some(names)
    }

    pub fn meaning(&self, name: &str) -> Meaning<'_> {
        match self.imported.get(name) {
            _ if self.confused.contains(name) => Meaning::Confused,
            Some(path) => Meaning::Imported(path),
            None if self.own.contains(name) => Meaning::Own { callable: self.callable.contains(name) },
            None => Meaning::Given,
        }
    }

    /// Whether something of this module is imported.
    pub fn imports(&self, module: &str) -> bool {
        self.imported
            .values()
            .any(|path| path == module || path.starts_with(module) && path[module.len()..].starts_with('.'))
    }

    fn look(&mut self, node: Node<'_>, text: &str) {
        let field = |name: &str| node.child_by_field_name(name);
        match node.kind() {
            "function_definition" => {
                if let Some(name) = field("name") {
                    self.bind(name, true, text);
                }
            }
            "parameters" | "lambda_parameters" => children(node).for_each(|one| self.bind(one, true, text)),
            "assignment" => {
                let gives = field("right").is_some_and(|right| gives_a_function(right, text));
                if let Some(left) = field("left") {
                    self.bind(left, gives, text);
                }
            }
            "augmented_assignment" | "for_statement" | "for_in_clause" => {
                if let Some(left) = field("left") {
                    self.bind(left, false, text);
                }
            }
            "named_expression" => {
                if let Some(name) = field("name") {
                    self.bind(name, false, text);
                }
            }
            "as_pattern" => {
                if let Some(alias) = field("alias") {
                    self.bind(alias, false, text);
                }
            }
            "global_statement" | "nonlocal_statement" => children(node).for_each(|one| self.bind(one, false, text)),
            // Deleting a variable leaves what else the name may mean.
            "delete_statement" => children(node).for_each(|one| self.bind(one, false, text)),
            "import_statement" | "import_from_statement" => self.import(node, text),
            _ => {}
        }
    }

    /// Binds what a target names.
    fn bind(&mut self, target: Node<'_>, callable: bool, text: &str) {
        match target.kind() {
            "identifier" => {
                let name = of(text, target);
                self.own.insert(name.to_owned());
                if callable {
                    self.callable.insert(name.to_owned());
                }
            }
            "default_parameter" | "typed_default_parameter" => {
                if let Some(name) = target.child_by_field_name("name") {
                    self.bind(name, callable, text);
                }
            }
            "typed_parameter" => {
                let name = children(target).find(|one| !is_field(target, "type", *one));
                if let Some(name) = name {
                    self.bind(name, callable, text);
                }
            }
            // Depth is bounded by that of the walk, which comes here again.
            "tuple_pattern"
            | "list_pattern"
            | "pattern_list"
            | "expression_list"
            | "tuple"
            | "list"
            | "parenthesized_expression"
            | "list_splat_pattern"
            | "dictionary_splat_pattern"
            | "list_splat"
            | "as_pattern_target" => children(target).for_each(|one| self.bind(one, callable, text)),
            "attribute" => {
                let what = format!("setting {}", of(text, target));
                self.set.push(Found { what, span: target.byte_range(), kind: Kind::Form });
            }
            _ => {}
        }
    }

    fn import(&mut self, node: Node<'_>, text: &str) {
        for (name, path) in imports(node, text) {
            if self.imported.get(&name).is_some_and(|other| *other != path) {
                self.confused.insert(name.clone());
            }
            self.imported.insert(name, path);
        }
    }
}

/// What an import names, with what it stands for: `import os.path` names `os`.
fn imports(node: Node<'_>, text: &str) -> Vec<(String, String)> {
    let module = node.child_by_field_name("module_name");
    let base = module.map(|module| format!("{}.", dotted(module, text))).unwrap_or_default();
    let each = |one: Node<'_>| {
        if Some(one) == module {
            return None;
        }
        match one.kind() {
            "dotted_name" => {
                let path = dotted(one, text);
                let name = path.split('.').next().unwrap_or_default().to_owned();
                // The module that is named stands for itself; what it was asked for is told by `paths`.
                Some(if base.is_empty() { (name.clone(), name) } else { (path.clone(), format!("{base}{path}")) })
            }
            "aliased_import" => {
                let path = dotted(one.child_by_field_name("name")?, text);
                Some((of(text, one.child_by_field_name("alias")?).to_owned(), format!("{base}{path}")))
            }
            _ => None,
        }
    };
    children(node).filter_map(each).collect()
}

/// The whole paths that an import loads, with their places.
pub(super) fn paths<'t>(node: Node<'t>, text: &str) -> Vec<(String, Node<'t>)> {
    let module = node.child_by_field_name("module_name");
    let base = module.map(|module| format!("{}.", dotted(module, text))).unwrap_or_default();
    let each = |one: Node<'t>| {
        let name = match one.kind() {
            "aliased_import" => one.child_by_field_name("name")?,
            "dotted_name" if Some(one) != module => one,
            _ => return None,
        };
        Some((format!("{base}{}", dotted(name, text)), name))
    };
    children(node).filter_map(each).collect()
}

/// A dotted name without what may stand between its parts.
fn dotted(node: Node<'_>, text: &str) -> String {
    if node.kind() == "dotted_name" {
        return children(node).map(|part| of(text, part)).collect::<Vec<_>>().join(".");
    }
    of(text, node).to_owned()
}

fn gives_a_function(node: Node<'_>, text: &str) -> bool {
    match node.kind() {
        "lambda" => true,
        "call" => node.child_by_field_name("function").is_some_and(|function| {
            let name = match function.kind() {
                "attribute" => function.child_by_field_name("attribute"),
                _ => Some(function),
            };
            name.is_some_and(|name| GIVES_A_FUNCTION.contains(&of(text, name)))
        }),
        _ => false,
    }
}

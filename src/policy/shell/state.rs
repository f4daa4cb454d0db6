//! What earlier steps of a line changed: variables, functions, the working folder, files that it wrote.

use super::ast::Node;
use super::decode::Stream;
use super::resolve::UNKNOWN;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Values that a variable is followed with.
const MAX_VALUES: usize = 8;

/// What earlier steps of the line changed.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub vars: Rc<HashMap<String, Vec<String>>>,
    pub arrays: Rc<HashMap<String, Vec<String>>>,
    pub functions: Rc<HashMap<String, Rc<Node>>>,
    pub aliases: Rc<HashSet<String>>,
    /// Where the line may be by now.
    pub cwds: Vec<String>,
    pub positional: Option<Vec<String>>,
    /// Files that this line wrote, by absolute path.
    pub files: Rc<HashMap<String, Stream>>,
    /// Files that it made executable.
    pub executable: Rc<HashSet<String>>,
}

impl State {
    pub fn set(&mut self, name: &str, mut values: Vec<String>) {
        values.dedup();
        if values.len() > MAX_VALUES {
            values = vec![UNKNOWN.to_string()];
        }
        Rc::make_mut(&mut self.vars).insert(name.to_owned(), values);
    }

    /// The state after one of several ways.
    pub fn merge(&mut self, other: State) {
        for (name, values) in other.vars.iter() {
            match self.vars.get(name) {
                Some(mine) if mine == values => {}
                mine => {
                    let mut all = mine.cloned().unwrap_or_default();
                    all.extend(values.iter().filter(|v| !all.contains(v)).cloned().collect::<Vec<_>>());
                    self.set(name, all);
                }
            }
        }
        for cwd in other.cwds {
            if !self.cwds.contains(&cwd) && self.cwds.len() < MAX_VALUES {
                self.cwds.push(cwd);
            }
        }
        for (path, stream) in other.files.iter() {
            if !self.files.contains_key(path) {
                Rc::make_mut(&mut self.files).insert(path.clone(), stream.clone());
            }
        }
        for (name, body) in other.functions.iter() {
            if !self.functions.contains_key(name) {
                Rc::make_mut(&mut self.functions).insert(name.clone(), body.clone());
            }
        }
        if !other.aliases.is_subset(&self.aliases) {
            Rc::make_mut(&mut self.aliases).extend(other.aliases.iter().cloned());
        }
    }
}

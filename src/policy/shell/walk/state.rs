//! What earlier steps of a line changed: variables, functions, the working folder, files that it wrote.

use super::resolve::UNKNOWN;
use crate::policy::shell::programs::decode::Stream;
use crate::policy::shell::read::ast::{Node, Script};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Values that a variable is followed with.
const MAX_VALUES: usize = 8;

/// A function of the line: all bodies that it may have.
#[derive(Clone, Debug)]
pub(in crate::policy::shell) struct Function {
    pub bodies: Vec<Rc<Node>>,
    /// Certainly defined: the program of that name is then not what runs.
    pub certain: bool,
    /// Shells that the line starts know it too.
    pub exported: bool,
}

/// What earlier steps of the line changed.
#[derive(Clone, Debug, Default)]
pub(in crate::policy::shell) struct State {
    pub vars: Rc<HashMap<String, Vec<String>>>,
    pub arrays: Rc<HashMap<String, Vec<String>>>,
    pub functions: Rc<HashMap<String, Function>>,
    pub aliases: Rc<HashSet<String>>,
    /// Where the line may be by now.
    pub cwds: Vec<String>,
    pub positional: Option<Vec<String>>,
    /// Files that this line wrote, by absolute path.
    pub files: Rc<HashMap<String, Stream>>,
    /// Files that it made executable.
    pub executable: Rc<HashSet<String>>,
    /// Folders that it mounted elsewhere, by where they are now.
    pub mounts: Rc<HashMap<String, String>>,
    /// New paths that it made in the temporary folder.
    pub fresh: Rc<HashSet<String>>,
    /// Variables that hold what a pattern matches, told by the pattern.
    pub patterns: Rc<HashSet<String>>,
    /// Names for other variables: `declare -n`.
    pub refs: Rc<HashMap<String, String>>,
    /// What descriptors give, and the files that others write.
    pub inputs: Rc<HashMap<String, Stream>>,
    pub outputs: Rc<HashMap<String, Vec<String>>>,
    /// Scripts that read what goes into a descriptor: `exec > >(…)`.
    pub sinks: Rc<HashMap<String, Vec<Rc<Script>>>>,
    /// The folders of `pushd`, and the one before the last `cd`.
    pub folders: Rc<Vec<Vec<String>>>,
    pub old: Option<Vec<String>>,
    /// A step that fails ends the line: `set -e`.
    pub errexit: bool,
    /// Nothing after this runs: `exit` or `return` was reached.
    pub ended: bool,
}

impl State {
    pub fn set(&mut self, name: &str, mut values: Vec<String>) {
        values.dedup();
        if values.len() > MAX_VALUES {
            values = vec![UNKNOWN.to_string()];
        }
        if self.patterns.contains(name) {
            Rc::make_mut(&mut self.patterns).remove(name);
        }
        Rc::make_mut(&mut self.vars).insert(name.to_owned(), values);
    }

    /// What a command writes goes into a pipe or a value, and nowhere that `exec` had led it.
    pub fn unplug(&mut self) {
        if self.outputs.contains_key("1") {
            Rc::make_mut(&mut self.outputs).remove("1");
        }
        if self.sinks.contains_key("1") {
            Rc::make_mut(&mut self.sinks).remove("1");
        }
    }

    /// A copy that gets what is on the disk from another one later: that is not copied.
    pub fn without_files(&self) -> State {
        let empty = State::default();
        State {
            files: empty.files,
            executable: empty.executable,
            mounts: empty.mounts,
            fresh: empty.fresh,
            ..self.clone()
        }
    }

    /// What is on the disk now: it stays when a shell of its own ends.
    pub fn keep_files(&mut self, after: State) {
        self.files = after.files;
        self.executable = after.executable;
        self.mounts = after.mounts;
        self.fresh = after.fresh;
    }

    /// How much of two states is not shared: what merging them looks at and may copy.
    pub fn differences(&self, other: &State) -> usize {
        fn apart<T>(mine: &Rc<T>, theirs: &Rc<T>, len: fn(&T) -> usize) -> usize {
            if Rc::ptr_eq(mine, theirs) { 0 } else { len(mine).max(len(theirs)) }
        }
        apart(&self.vars, &other.vars, HashMap::len)
            + apart(&self.functions, &other.functions, HashMap::len)
            + apart(&self.files, &other.files, HashMap::len)
            + apart(&self.executable, &other.executable, HashSet::len)
            + apart(&self.fresh, &other.fresh, HashSet::len)
            + apart(&self.aliases, &other.aliases, HashSet::len)
    }

    /// The state after one of several ways: whatever either of them left is possible.
    pub fn merge(&mut self, other: State) {
        if other.ended {
            return;
        }
        if self.ended {
            *self = other;
            return;
        }
        self.errexit &= other.errexit;
        if !Rc::ptr_eq(&self.vars, &other.vars) {
            let names: Vec<String> = self.vars.keys().filter(|name| !other.vars.contains_key(*name)).cloned().collect();
            // Not set on the other way: then it is whatever the environment says.
            for name in names {
                let mut all = self.vars.get(&name).cloned().unwrap_or_default();
                if !all.iter().any(|v| v.contains(UNKNOWN)) {
                    all.push(UNKNOWN.to_string());
                    self.set(&name, all);
                }
            }
            for (name, values) in other.vars.iter() {
                match self.vars.get(name) {
                    Some(mine) if mine == values => {}
                    mine => {
                        let mut all = mine.cloned().unwrap_or_else(|| vec![UNKNOWN.to_string()]);
                        all.extend(values.iter().filter(|v| !all.contains(v)).cloned().collect::<Vec<_>>());
                        self.set(name, all);
                    }
                }
            }
        }
        for cwd in other.cwds {
            if !self.cwds.contains(&cwd) && self.cwds.len() < MAX_VALUES {
                self.cwds.push(cwd);
            }
        }
        if !Rc::ptr_eq(&self.files, &other.files) {
            for (path, stream) in other.files.iter() {
                match self.files.get(path) {
                    None => {
                        Rc::make_mut(&mut self.files).insert(path.clone(), stream.clone());
                    }
                    Some(mine) if mine.text != stream.text || mine.remote != stream.remote => {
                        let both = mine.either(stream);
                        Rc::make_mut(&mut self.files).insert(path.clone(), both);
                    }
                    Some(_) => {}
                }
            }
        }
        self.merge_functions(&other.functions);
        union(&mut self.mounts, &other.mounts);
        union(&mut self.refs, &other.refs);
        union(&mut self.inputs, &other.inputs);
        union(&mut self.outputs, &other.outputs);
        for (mine, theirs) in [(&mut self.fresh, &other.fresh), (&mut self.patterns, &other.patterns)] {
            if !Rc::ptr_eq(mine, theirs) && !theirs.is_subset(mine) {
                Rc::make_mut(mine).extend(theirs.iter().cloned());
            }
        }
        if self.old != other.old {
            self.old = None;
        }
        // The way back may lead to either.
        if self.folders != other.folders {
            let (mut all, less) = if self.folders.len() >= other.folders.len() {
                (self.folders.to_vec(), other.folders.last())
            } else {
                (other.folders.to_vec(), self.folders.last())
            };
            if let (Some(last), Some(less)) = (all.last_mut(), less) {
                last.extend(less.iter().filter(|f| !last.contains(f)).cloned().collect::<Vec<_>>());
                last.truncate(MAX_VALUES);
            }
            self.folders = Rc::new(all);
        }
        if !other.aliases.is_subset(&self.aliases) {
            Rc::make_mut(&mut self.aliases).extend(other.aliases.iter().cloned());
        }
        if !other.executable.is_subset(&self.executable) {
            Rc::make_mut(&mut self.executable).extend(other.executable.iter().cloned());
        }
    }

    fn merge_functions(&mut self, other: &Rc<HashMap<String, Function>>) {
        if Rc::ptr_eq(&self.functions, other) {
            return;
        }
        let mine = Rc::make_mut(&mut self.functions);
        for (name, function) in mine.iter_mut() {
            function.certain &= other.get(name).is_some_and(|f| f.certain);
        }
        for (name, theirs) in other.iter() {
            let Some(function) = mine.get_mut(name) else {
                mine.insert(name.clone(), Function { certain: false, ..theirs.clone() });
                continue;
            };
            function.exported |= theirs.exported;
            for body in &theirs.bodies {
                let known = function.bodies.iter().any(|b| Rc::ptr_eq(b, body));
                if !known && function.bodies.len() < MAX_VALUES {
                    function.bodies.push(body.clone());
                }
            }
        }
    }
}

fn union<T: Clone>(mine: &mut Rc<HashMap<String, T>>, theirs: &Rc<HashMap<String, T>>) {
    if Rc::ptr_eq(mine, theirs) || theirs.is_empty() {
        return;
    }
    for (name, value) in theirs.iter() {
        if !mine.contains_key(name) {
            Rc::make_mut(mine).insert(name.clone(), value.clone());
        }
    }
}

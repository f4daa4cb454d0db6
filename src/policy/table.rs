//! The data that judgement rests on, read once: `assets/policy/{effects,variables,paths}.yaml` and `commands/*.yaml`.

mod pattern;
mod spec;

pub(super) use pattern::{Classes, Pattern};
pub use spec::*;

use pattern::Names;
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

/// How serious a finding is; ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    Allow,
    #[default]
    Ask,
    AskAlways,
    Refuse,
}

/// A class of effect.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Effect {
    pub level: Level,
    /// A sentence without a full stop.
    pub say: String,
    /// No rule for the command covers it.
    pub fixed: bool,
    /// Only a rule that names an option covers it.
    pub flagged: bool,
    /// Other names under which an allowlist may hold it.
    pub aka: Vec<String>,
}

/// What is known of commands, effects and variables.
#[derive(Debug, Default)]
pub struct Commands {
    pub effects: BTreeMap<String, Effect>,
    pub variables: BTreeMap<String, VariableSpec>,
    /// Several names with commas, globs allowed.
    pub commands: BTreeMap<String, Spec>,
}

/// `paths.yaml`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PathTable {
    /// Below these, upper and lower case are the same; where the home folder is below one, everywhere.
    pub ignore_case: Vec<String>,
    /// Options, of whatever program, whose value is a path that is read, or one that is written.
    pub reads: Vec<String>,
    pub writes: Vec<String>,
    /// In order; the first class with a matching pattern counts. `~`: home, `@`: our own home, `**/`: at any depth.
    pub classes: Vec<PathClass>,
}

/// A class of paths and what touching one of them is.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PathClass {
    pub name: String,
    pub paths: Vec<String>,
    pub except: Vec<String>,
    /// Effect of a write by a command. An empty name: none.
    pub write: String,
    pub edit: String,
    pub read: String,
    pub copy: String,
    pub delete: String,
    pub permissions: String,
    /// Effect of its name among the words of a program of which no table says what it does with it.
    pub named: String,
    /// A read by a file tool is blocked.
    pub read_blocked: bool,
    /// A write by a file tool is denied: `refuse`, `ask-always` or `ask`.
    pub file_write: Option<Level>,
    /// A read by a file tool asks.
    pub file_read: Option<Level>,
    /// Whoever works elsewhere may write here as well.
    pub free: bool,
    /// What lies there already may be another's.
    pub shared: bool,
    /// Programs run or obey it without being told to: closed in the sandbox, at any depth of a workspace.
    pub later: bool,
    /// Means nothing for what is inside the working folder, unless that is the home folder.
    pub elsewhere: bool,
}

/// Both tables, with a look-up by name.
#[derive(Debug, Default)]
pub struct Table {
    pub commands: Commands,
    pub paths: PathTable,
    exact: HashMap<String, String>,
    /// Names with patterns, and the keys that they belong to.
    globs: Names,
    by_glob: BTreeMap<String, String>,
    /// Rules beside those of the files by subject, by the name of the command.
    more: BTreeMap<String, Vec<RuleSpec>>,
    /// Variables with patterns, the most exact one first, after those that take names out.
    variables: Names,
    /// The patterns of each class, ready to match.
    pub(super) patterns: Classes,
    /// The same in small letters, and the beginnings of paths that they are for.
    pub(super) folded: Classes,
    ignore_case: Vec<Pattern>,
}

/// The files of commands, by what they are about.
const COMMANDS: &[(&str, &str)] = &[
    ("commands/build.yaml", include_str!("../../assets/policy/commands/build.yaml")),
    ("commands/cloud.yaml", include_str!("../../assets/policy/commands/cloud.yaml")),
    ("commands/code.yaml", include_str!("../../assets/policy/commands/code.yaml")),
    ("commands/delete.yaml", include_str!("../../assets/policy/commands/delete.yaml")),
    ("commands/files.yaml", include_str!("../../assets/policy/commands/files.yaml")),
    ("commands/git.yaml", include_str!("../../assets/policy/commands/git.yaml")),
    ("commands/hermes.yaml", include_str!("../../assets/policy/commands/hermes.yaml")),
    ("commands/lost.yaml", include_str!("../../assets/policy/commands/lost.yaml")),
    ("commands/machine.yaml", include_str!("../../assets/policy/commands/machine.yaml")),
    ("commands/net.yaml", include_str!("../../assets/policy/commands/net.yaml")),
    ("commands/sql.yaml", include_str!("../../assets/policy/commands/sql.yaml")),
    ("commands/wrappers.yaml", include_str!("../../assets/policy/commands/wrappers.yaml")),
];

/// More rules for commands of those.
const MORE: &[(&str, &str)] = &[
    ("commands/more.yaml", include_str!("../../assets/policy/commands/more.yaml")),
    ("commands/more_lost.yaml", include_str!("../../assets/policy/commands/more_lost.yaml")),
];

/// Reads one of the tables. By way of a plain value: a reader of YAML for each type would be a tenth of the program.
pub(super) fn read<T: serde::de::DeserializeOwned>(name: &str, text: &str) -> Result<T, String> {
    let file = format!("assets/policy/{name}");
    let value = crate::yaml::parse(text, &file).map_err(|error| error.to_string())?.to_json();
    serde_json::from_value(value).map_err(|error| format!("{file}: {error}"))
}

static TABLE: LazyLock<Result<Table, String>> = LazyLock::new(|| {
    let mut commands = Commands {
        effects: read("effects.yaml", include_str!("../../assets/policy/effects.yaml"))?,
        variables: read("variables.yaml", include_str!("../../assets/policy/variables.yaml"))?,
        ..Commands::default()
    };
    for (name, text) in COMMANDS {
        for (key, mut spec) in read::<BTreeMap<String, Spec>>(name, text)? {
            spec.index();
            if commands.commands.insert(key.clone(), spec).is_some() {
                return Err(format!("assets/policy/{name}: {key} is in another file too"));
            }
        }
    }
    let paths: PathTable = read("paths.yaml", include_str!("../../assets/policy/paths.yaml"))?;
    let ignore_case = paths.ignore_case.iter().flat_map(|text| Pattern::read(&text.to_lowercase())).collect();
    let patterns = Classes::of(&paths.classes, str::to_owned)?;
    let folded = Classes::of(&paths.classes, str::to_lowercase)?;
    let variables = variable_patterns(&commands.variables)?;
    let mut table = Table { commands, paths, patterns, folded, ignore_case, variables, ..Table::default() };
    for (name, text) in MORE {
        for (key, rules) in read::<BTreeMap<String, Vec<RuleSpec>>>(name, text)? {
            for name in key.split(',') {
                table.more.entry(name.trim().to_owned()).or_default().extend(rules.iter().cloned());
            }
        }
    }
    let mut globs = Vec::new();
    for key in table.commands.commands.keys() {
        // `'['` and `':'` are quoted for YAML inside a list of names.
        for name in key.split(',').map(|name| name.trim().trim_matches('\'')) {
            if super::glob::is_pattern(name) && name.len() > 1 {
                globs.push(name.to_owned());
                table.by_glob.insert(name.into(), key.clone());
            } else {
                if let Some(other) = table.exact.insert(name.into(), key.clone()) {
                    return Err(format!("assets/policy/commands: {name} is in `{other}` and in `{key}`"));
                }
            }
        }
    }
    table.globs = Names::of(globs)?;
    Ok(table)
});

/// The names of variables with a `*`, those that count before others first: what takes names out, then the most exact.
fn variable_patterns(all: &BTreeMap<String, VariableSpec>) -> Result<Names, String> {
    let exactness = |glob: &str| glob.bytes().filter(|b| *b != b'*').count();
    let harmless = |spec: &VariableSpec| spec.safe.iter().any(|safe| safe == "*");
    let mut globs: Vec<_> = all.iter().filter(|(glob, _)| super::glob::is_pattern(glob)).rev().collect();
    globs.sort_by_key(|(glob, spec)| std::cmp::Reverse((harmless(spec), exactness(glob))));
    Names::of(globs.into_iter().map(|(glob, _)| glob.clone()).collect())
}

/// The tables; an error names the file that does not parse.
pub fn table() -> Result<&'static Table, &'static str> {
    TABLE.as_ref().map_err(String::as_str)
}

impl Table {
    /// What is known of a program, by its lower-case base name.
    pub fn command(&self, name: &str) -> Option<&Spec> {
        let key = self.exact.get(name).or_else(|| self.by_glob.get(self.globs.first(name)?));
        match key {
            Some(key) => self.commands.commands.get(key),
            // `npx rimraf@5`, `uvx twine==6`
            None => {
                let end = name.find(['@', '=']).filter(|at| *at > 0)?;
                self.commands.commands.get(self.exact.get(&name[..end])?)
            }
        }
    }

    /// Names of programs that a pattern matches.
    pub fn names_like<'t>(&'t self, pattern: &'t str) -> impl Iterator<Item = &'t str> {
        self.exact.keys().map(String::as_str).filter(move |name| super::glob::matches(pattern, name))
    }

    /// Rules for a program beside those of its [`Spec`], by its lower-case base name.
    pub fn more_rules(&self, name: &str) -> &[RuleSpec] {
        self.more.get(name).map_or(&[], Vec::as_slice)
    }

    /// Whether upper and lower case are the same for this absolute path.
    pub(super) fn ignores_case(&self, path: &str) -> bool {
        // Without a capital letter both ways to compare are the same.
        path.bytes().any(|b| b.is_ascii_uppercase())
            && self.ignore_case.iter().any(|pattern| {
                let start = path.get(..pattern.prefix);
                start.is_some_and(|start| start.eq_ignore_ascii_case(pattern.start()))
                    && super::glob::matches(&pattern.glob, &path.to_lowercase())
            })
    }

    /// What a variable does to programs that see it. Patterns are for names that nothing else is said of: the most exact one.
    pub fn variable(&self, name: &str) -> Option<(&VariableSpec, bool)> {
        let all = &self.commands.variables;
        if let Some(spec) = all.get(name) {
            return Some((spec, true));
        }
        Some((all.get(self.variables.first(name)?)?, false))
    }

    /// The level, sentence and coverage of an effect. One that the table lacks asks.
    pub fn effect(&self, name: &str) -> Effect {
        self.commands.effects.get(name).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::spec::MAX_WORDS;
    use super::*;

    #[test]
    fn tables_parse_and_name_known_effects() {
        let table = table().unwrap();
        fn walk(table: &Table, name: &str, spec: &Spec) {
            for rule in &spec.rules {
                let effect = table.commands.effects.get(&rule.effect);
                assert!(effect.is_some_and(|e| !e.say.is_empty()), "{name}: effect {:?}", rule.effect);
            }
            for (sub, spec) in &spec.sub {
                walk(table, &format!("{name} {sub}"), spec);
            }
        }
        for (name, spec) in &table.commands.commands {
            walk(table, name, spec);
            let longest =
                spec.sub.keys().flat_map(|key| key.split(',')).map(|name| name.trim().split(' ').count()).max();
            assert!(longest.is_none_or(|words| words <= MAX_WORDS), "{name}: a subcommand of {longest:?} words");
        }
        for rule in table.more.values().flatten() {
            assert!(table.commands.effects.contains_key(&rule.effect), "{}", rule.effect);
        }
        for class in &table.paths.classes {
            for effect in
                [&class.write, &class.edit, &class.read, &class.copy, &class.delete, &class.permissions, &class.named]
            {
                assert!(effect.is_empty() || table.commands.effects.contains_key(effect), "{}: {effect}", class.name);
            }
        }
    }
}

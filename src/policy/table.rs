//! The data that judgement rests on, read once: `assets/policy/{effects,variables,paths}.yaml` and `commands/*.yaml`.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
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

/// What is known of a command or subcommand.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    pub kind: Kind,
    /// Options that take a value.
    pub takes: Vec<String>,
    /// Options end at the first operand.
    pub posix: bool,
    pub wrap: Option<Wrap>,
    pub feeds: Option<Feeds>,
    /// What operands are; the last entry whose flags are present counts.
    pub paths: Vec<Paths>,
    /// Options whose value is a path.
    pub values: BTreeMap<String, Role>,
    pub fills: Option<Fills>,
    /// It looks for files by patterns in its words itself, quoted or not.
    pub globs: bool,
    /// Options whose value is the folder that operands are below.
    pub folder: Vec<String>,
    pub rules: Vec<RuleSpec>,
    /// Subcommands, several with commas, of one or more words. `*`: any that is not named.
    pub sub: BTreeMap<String, Spec>,
}

/// Commands that need code of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    #[default]
    Plain,
    Shell,
    Interpreter,
    Eval,
    Source,
    Cd,
    Declare,
    Alias,
    Read,
    Set,
    Unset,
    Trap,
    Find,
    Xargs,
    Parallel,
    Echo,
    Printf,
    Pass,
    Fetch,
    Base64,
    Base32,
    Xxd,
    Tr,
    Rev,
    Decode,
    Tee,
    Kill,
    Git,
    Sql,
    Awk,
    Sed,
    Make,
    Dd,
}

/// A command that runs another.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Wrap {
    /// Operands of its own before the command.
    pub skip: usize,
    /// `NAME=value` may come before the command.
    pub assigns: bool,
    /// Options whose value is shell text.
    pub text: Vec<String>,
    /// The rest is joined into one shell text.
    pub joined: bool,
    /// Every operand is a shell text.
    pub texts: bool,
    /// The command follows `--`.
    pub dashes: bool,
    /// The command starts at the first word that names a known program, or is a text that starts with one.
    pub any: bool,
    /// Adds nothing to what the inner command does.
    pub quiet: bool,
    /// Options whose value is the folder that the command runs in.
    pub folder: Vec<String>,
    /// Without a command it starts a shell, which reads standard input.
    pub shell: bool,
    /// Options of which it is certain that they take no value.
    pub plain: Vec<String>,
    /// A program that is not there is downloaded and run: where from.
    pub registry: String,
}

/// Commands in a language of its own that a program is given.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Feeds {
    pub lang: Language,
    /// Options whose value is such a text, and those whose value is a file of it.
    pub text: Vec<String>,
    pub file: Vec<String>,
    /// Operands from this one on are texts.
    pub operands: Option<usize>,
    /// `+text`
    pub plus: bool,
    /// The first operand is a file of them.
    pub script: bool,
    /// Standard input is one when nothing else gives a text.
    pub stdin: bool,
    /// Standard input is one when there is no operand.
    pub bare: bool,
    /// Files of the folder that it reads by itself.
    pub reads: Vec<String>,
    /// Options whose value and all words behind it are one command.
    pub rest: Vec<String>,
    /// Lines of standard input are further words of the command, or one word behind these.
    pub again: Option<Vec<String>>,
}

/// A language in which some lines go to a shell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Language {
    /// Nothing in it reaches a shell; what was downloaded counts.
    #[default]
    Data,
    Shell,
    Cron,
    Editor,
    Debugger,
    /// Commands of a terminal multiplexer.
    Terminal,
    /// Macros of m4.
    Macro,
    /// Lines of dc.
    Calculator,
    /// Settings that may name commands.
    Settings,
    /// A file of recipes.
    Recipes,
    Python,
    Ruby,
    Lua,
    /// Code of a language that is only looked through.
    Code,
    Cmake,
    /// A letter: `~!COMMAND`.
    Mail,
}

/// A folder in which a command makes files whose names its words do not tell.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Fills {
    /// Options that name the folder; without one of them it is where the command runs.
    pub folder: Vec<String>,
    /// Only with one of these options, and with none of those.
    pub flags: Vec<String>,
    pub not: Vec<String>,
    /// Only when the first operand is one of these.
    pub first: Vec<String>,
}

/// What operands are.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Paths {
    pub role: Role,
    pub flags: Vec<String>,
    /// Leading operands that are no paths.
    pub skip: usize,
    /// Only with at least so many operands.
    pub min: usize,
}

/// What a command does to a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    #[default]
    None,
    Read,
    /// No table says what the program does with it.
    Unsaid,
    /// Makes what is empty: matters where nobody but the program makes files.
    Create,
    /// Makes a new working folder of that name, which may be beside this one.
    Make,
    Write,
    Edit,
    /// Removes files.
    Delete,
    /// Removes trees.
    DeleteTree,
    /// Reads folders with everything in them.
    ReadTree,
    /// Shows and may change, as an editor does.
    Open,
    /// Loses the content of files.
    Wipe,
    /// Like copy, and removes from the last what the others do not have.
    Mirror,
    /// All but the last are read, the last is written.
    Copy,
    /// The same with everything in them.
    CopyTree,
    /// All but the last are moved away, the last is written.
    Move,
    Link,
    /// Changes owner or mode.
    Permissions,
    PermissionsTree,
    /// Data of the device is lost.
    Device,
}

/// One way in which a command has an effect. All given conditions hold.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RuleSpec {
    pub effect: String,
    /// Any of these options.
    pub flags: Vec<String>,
    /// And any of these.
    pub also: Vec<String>,
    /// And none of these.
    pub not: Vec<String>,
    /// The value of the matched option.
    pub value: Vec<String>,
    /// Any operand.
    pub operand: Vec<String>,
    pub first: Vec<String>,
    pub second: Vec<String>,
    pub last: Vec<String>,
    /// The first operand is none of these.
    pub but: Vec<String>,
    /// Any word after the name, in lower case.
    pub arg: Vec<String>,
    pub arg2: Vec<String>,
    /// At least so many operands.
    pub min: usize,
    /// At most so many, when not 0.
    pub max: usize,
    /// No words at all.
    pub bare: bool,
    /// Standard input is a pipe, a file or a text.
    pub fed: bool,
    /// In place of the level of the effect.
    pub level: Option<Level>,
}

/// Variables that make other programs run something.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VariableSpec {
    /// Values that do not; `$` stands for what is not known, `~` for the home folder.
    pub safe: Vec<String>,
    /// Only these do.
    pub only: Vec<String>,
    /// What each of is looked at.
    pub each: Each,
    /// Neither do paths inside the working folder.
    pub inside: bool,
    /// The value is a line of shell: one that is judged harmless is.
    pub line: bool,
}

/// What a value is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Each {
    #[default]
    Whole,
    /// Words between blanks.
    Word,
    /// Paths between colons.
    Path,
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
    /// Means nothing for what is inside the working folder, unless that is the home folder.
    pub elsewhere: bool,
}

/// Both tables, with a look-up by name.
#[derive(Debug, Default)]
pub struct Table {
    pub commands: Commands,
    pub paths: PathTable,
    exact: BTreeMap<String, String>,
    globs: Vec<(String, String)>,
    /// Rules beside those of the files by subject, by the name of the command.
    more: BTreeMap<String, Vec<RuleSpec>>,
    /// The patterns of each class, ready to match.
    pub(super) patterns: Vec<ClassPatterns>,
    /// The same in lower case, and the beginnings of paths that they are for.
    pub(super) folded: Vec<ClassPatterns>,
    ignore_case: Vec<Pattern>,
}

/// The patterns of a class of paths.
#[derive(Debug, Default)]
pub(super) struct ClassPatterns {
    pub paths: Vec<Pattern>,
    pub except: Vec<Pattern>,
}

/// Where a pattern begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    Root,
    Home,
    Own,
}

/// One path pattern.
#[derive(Debug)]
pub(super) struct Pattern {
    pub base: Base,
    pub glob: String,
    /// What the rest of a path begins with, ends with and holds, as far as that is known: cheap to reject.
    pub prefix: usize,
    pub suffix: usize,
    pub piece: Range<usize>,
    /// `*` crosses folders.
    pub deep: bool,
}

impl Pattern {
    /// The patterns that one line of the file stands for.
    fn read(text: &str) -> Vec<Pattern> {
        let (base, rest) = match text.as_bytes().first() {
            Some(b'~') => (Base::Home, &text[1..]),
            Some(b'@') => (Base::Own, &text[1..]),
            _ => (Base::Root, text),
        };
        let (globs, deep) = match (rest.strip_prefix("**/"), rest.strip_suffix("/**")) {
            (Some(anywhere), _) => match anywhere.strip_suffix("/**") {
                Some(folder) => (vec![format!("*/{folder}"), format!("*/{folder}/*")], true),
                None => (vec![format!("*/{anywhere}")], true),
            },
            (None, Some(folder)) => (vec![folder.to_owned(), format!("{folder}/*")], true),
            (None, None) => (vec![rest.to_owned()], false),
        };
        globs
            .into_iter()
            .map(|glob| {
                let special = ['*', '?', '[', ']'];
                let prefix = glob.find(special).unwrap_or(glob.len());
                let suffix = glob.len() - glob.rfind(special).map_or(0, |at| at + 1);
                let (mut piece, mut from) = (0..0, 0);
                for part in glob.split(special) {
                    if part.len() > piece.len() && glob.as_bytes().get(from + part.len()) != Some(&b']') {
                        piece = from..from + part.len();
                    }
                    from += part.len() + 1;
                }
                Pattern { base, prefix, suffix, piece, glob, deep }
            })
            .collect()
    }
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
    ("commands/machine.yaml", include_str!("../../assets/policy/commands/machine.yaml")),
    ("commands/net.yaml", include_str!("../../assets/policy/commands/net.yaml")),
    ("commands/sql.yaml", include_str!("../../assets/policy/commands/sql.yaml")),
    ("commands/wrappers.yaml", include_str!("../../assets/policy/commands/wrappers.yaml")),
];

fn read<T: serde::de::DeserializeOwned>(name: &str, text: &str) -> Result<T, String> {
    serde_saphyr::from_str(text).map_err(|error| format!("assets/policy/{name}: {error}"))
}

static TABLE: LazyLock<Result<Table, String>> = LazyLock::new(|| {
    let mut commands = Commands {
        effects: read("effects.yaml", include_str!("../../assets/policy/effects.yaml"))?,
        variables: read("variables.yaml", include_str!("../../assets/policy/variables.yaml"))?,
        ..Commands::default()
    };
    for (name, text) in COMMANDS {
        for (key, spec) in read::<BTreeMap<String, Spec>>(name, text)? {
            if commands.commands.insert(key.clone(), spec).is_some() {
                return Err(format!("assets/policy/{name}: {key} is in another file too"));
            }
        }
    }
    let paths: PathTable = read("paths.yaml", include_str!("../../assets/policy/paths.yaml"))?;
    let patterns_of = |all: &[String]| -> Vec<Pattern> { all.iter().flat_map(|text| Pattern::read(text)).collect() };
    let lower = |all: &[String]| -> Vec<String> { all.iter().map(|text| text.to_lowercase()).collect() };
    let classes = paths.classes.iter();
    let patterns =
        classes.clone().map(|c| ClassPatterns { paths: patterns_of(&c.paths), except: patterns_of(&c.except) });
    let folded =
        classes.map(|c| ClassPatterns { paths: patterns_of(&lower(&c.paths)), except: patterns_of(&lower(&c.except)) });
    let (patterns, folded) = (patterns.collect(), folded.collect());
    let ignore_case = patterns_of(&lower(&paths.ignore_case));
    let mut table = Table { commands, paths, patterns, folded, ignore_case, ..Table::default() };
    let more = include_str!("../../assets/policy/commands/more.yaml");
    for (key, rules) in read::<BTreeMap<String, Vec<RuleSpec>>>("commands/more.yaml", more)? {
        table.more.extend(key.split(',').map(|name| (name.trim().to_owned(), rules.clone())));
    }
    for key in table.commands.commands.keys() {
        // `'['` and `':'` are quoted for YAML inside a list of names.
        for name in key.split(',').map(|name| name.trim().trim_matches('\'')) {
            if super::glob::is_pattern(name) && name.len() > 1 {
                table.globs.push((name.into(), key.clone()));
            } else {
                if let Some(other) = table.exact.insert(name.into(), key.clone()) {
                    return Err(format!("assets/policy/commands: {name} is in `{other}` and in `{key}`"));
                }
            }
        }
    }
    Ok(table)
});

/// The tables; an error names the file that does not parse.
pub fn table() -> Result<&'static Table, &'static str> {
    TABLE.as_ref().map_err(String::as_str)
}

impl Table {
    /// What is known of a program, by its lower-case base name.
    pub fn command(&self, name: &str) -> Option<&Spec> {
        let key = self
            .exact
            .get(name)
            .or_else(|| self.globs.iter().find(|(glob, _)| super::glob::matches(glob, name)).map(|(_, key)| key));
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
        path.bytes().any(|b| b.is_ascii_uppercase()) && {
            let path = path.to_lowercase();
            self.ignore_case
                .iter()
                .any(|p| path.starts_with(&p.glob[..p.prefix]) && super::glob::matches(&p.glob, &path))
        }
    }

    /// What a variable does to programs that see it. Patterns are for names that nothing else is said of: the most exact one.
    pub fn variable(&self, name: &str) -> Option<(&VariableSpec, bool)> {
        let all = &self.commands.variables;
        if let Some(spec) = all.get(name) {
            return Some((spec, true));
        }
        let exactness = |glob: &str| glob.bytes().filter(|b| *b != b'*').count();
        let fits = all.iter().filter(|(glob, _)| super::glob::is_pattern(glob) && super::glob::matches(glob, name));
        let harmless = |spec: &VariableSpec| spec.safe.iter().any(|safe| safe == "*");
        fits.max_by_key(|(glob, spec)| (harmless(spec), exactness(glob))).map(|(_, spec)| (spec, false))
    }

    /// The level, sentence and coverage of an effect. One that the table lacks asks.
    pub fn effect(&self, name: &str) -> Effect {
        self.commands.effects.get(name).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
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

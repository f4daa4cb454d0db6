//! What `assets/policy/commands/*.yaml` and `variables.yaml` say of commands and variables.

use super::Level;
use serde::Deserialize;
use std::collections::BTreeMap;

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
    pub joins: Option<Joins>,
    /// It looks for files by patterns in its words itself, quoted or not.
    pub globs: bool,
    /// Options whose value is the folder that operands are below.
    pub folder: Vec<String>,
    pub rules: Vec<RuleSpec>,
    /// Subcommands, several with commas, of one or more words. `*`: any that is not named.
    pub sub: BTreeMap<String, Spec>,
    /// The names of those, and the keys that they are part of.
    #[serde(skip)]
    names: BTreeMap<String, String>,
}

/// Words of the longest subcommand.
pub(super) const MAX_WORDS: usize = 4;

impl Spec {
    /// Makes subcommands ready to be looked up.
    pub(super) fn index(&mut self) {
        for (key, spec) in &mut self.sub {
            for name in key.split(',').map(str::trim).filter(|name| *name != "*") {
                self.names.entry(name.to_owned()).or_insert_with(|| key.clone());
            }
            spec.index();
        }
    }

    /// The subcommand with the most words that these begin with, and what is known of it.
    pub fn subcommand(&self, words: &[&str]) -> Option<(&str, &Spec)> {
        // A word with a blank in it is not two words.
        let words = words.split(|word| word.contains(' ')).next().unwrap_or_default();
        (1..=words.len().min(MAX_WORDS)).rev().find_map(|len| {
            let (name, key) = self.names.get_key_value(&words[..len].join(" "))?;
            Some((name.as_str(), self.sub.get(key)?))
        })
    }
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
    /// Names of settings (`-Dname=value`) that are a program to run, and its words.
    pub program: Vec<String>,
    pub words: Vec<String>,
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
    /// A file of recipes with variables of its own.
    Recipes,
    /// One whose dollar signs are the shell's.
    Tasks,
    Python,
    Ruby,
    Lua,
    /// Code of a language that is only looked through.
    Code,
    Cmake,
    /// A build file: elements of XML that name a program, or code that is looked through.
    Build,
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
    /// The folder is the last operand, where that is none of another machine.
    pub last: bool,
}

/// Options of which one names a folder and another the file that is written there.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Joins {
    pub folder: Vec<String>,
    pub name: Vec<String>,
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

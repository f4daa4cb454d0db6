//! The shape of a shell line, as small as judging needs: commands in every position, words in parts.

use std::cell::OnceCell;
use std::ops::Range;
use std::rc::Rc;

/// Bytes of the command as the model wrote it.
pub type Span = Range<usize>;

/// Steps in order.
pub type Script = Vec<Step>;

/// One step of a list.
#[derive(Clone, Debug)]
pub struct Step {
    pub node: Node,
    /// Started with `&`.
    pub background: bool,
    /// When it runs, by how the step before it ended.
    pub after: After,
}

/// Whether a step runs, by how the step before it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum After {
    /// It always does: the first one, or one after `;`, `&` or a line break.
    #[default]
    Any,
    /// `&&`
    Success,
    /// `||`
    Failure,
}

/// One thing that a shell does.
#[derive(Clone, Debug)]
pub enum Node {
    Command(Box<Command>),
    /// Stages of a pipeline.
    Pipe(Vec<Node>),
    Subshell(Script),
    Group(Script),
    /// `if`, `case`: what always runs, then alternatives.
    Branch {
        always: Script,
        arms: Vec<Script>,
    },
    /// `for`, `while`, `until`, `select`. `values: None` with a name: the variable can be anything.
    Loop {
        name: Option<String>,
        values: Option<Vec<Word>>,
        body: Script,
    },
    Function {
        name: String,
        body: Rc<Node>,
        span: Span,
    },
    /// `[[ … ]]`, `case` subjects, arithmetic: words that are looked at and never run.
    Words(Vec<Word>),
    Redirected(Box<Node>, Vec<Redirect>),
}

/// A simple command.
#[derive(Clone, Debug, Default)]
pub struct Command {
    pub assigns: Vec<Assign>,
    pub words: Vec<Word>,
    pub redirects: Vec<Redirect>,
    pub span: Span,
}

/// `name=value`, `name[index]=value`, `name=(values)`.
#[derive(Clone, Debug)]
pub struct Assign {
    pub name: String,
    pub index: Option<Word>,
    pub values: Vec<Word>,
    pub append: bool,
    pub array: bool,
    pub span: Span,
}

/// A redirection.
#[derive(Clone, Debug)]
pub struct Redirect {
    /// The number before it, `{name` for one that the shell chooses, or nothing.
    pub fd: String,
    pub op: String,
    pub target: Word,
    /// Of a here-document; set when the lines after the command were read.
    pub body: Option<Rc<OnceCell<Word>>>,
    pub span: Span,
}

/// A word before expansion.
#[derive(Clone, Debug, Default)]
pub struct Word {
    pub parts: Vec<Part>,
    pub span: Span,
}

/// A part of a word.
#[derive(Clone, Debug)]
pub enum Part {
    /// Unquoted: braces, globs and `~` mean something.
    Plain(String),
    Quoted(String),
    Variable {
        name: String,
        operation: Operation,
        quoted: bool,
    },
    /// `$(…)` or backticks.
    Output {
        script: Rc<Script>,
        quoted: bool,
    },
    /// `<(…)`, or `>(…)`, which `writes` into the script.
    Process {
        script: Rc<Script>,
        writes: bool,
    },
    /// `$((…))`: a number, and commands inside that run.
    Number(Vec<Word>),
}

/// What `${name…}` does with its value.
#[derive(Clone, Debug)]
pub enum Operation {
    Plain,
    /// `:-`, `-`, `:=`, `=`; `true` for those that assign.
    Default(Word, bool),
    /// `:+`, `+`.
    Alternative(Word),
    /// `:?`, `?`: the word is only looked at when there is no value.
    Error(Word),
    /// The text after the name, for those that compute: `#pre`, `%suf`, `/a/b`, `:1:2`, `^^`, `,,`.
    Compute(Word),
    /// `${!name}`.
    Indirect,
    /// Something that we do not compute.
    Other,
}

impl Word {
    /// The text when it is one literal, whether quoted or not.
    pub fn literal(&self) -> Option<String> {
        let mut all = String::new();
        for part in &self.parts {
            match part {
                Part::Plain(text) | Part::Quoted(text) => all.push_str(text),
                _ => return None,
            }
        }
        Some(all)
    }

    /// The text when no part of it is quoted, as keywords and assignment names must be.
    pub fn bare(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Plain(text)] => Some(text),
            _ => None,
        }
    }
}

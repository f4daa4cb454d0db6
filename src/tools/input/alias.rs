//! Names of other agents' tools: models were trained with them and write them. Where it is certain what was meant, the call
//! becomes one of ours and goes through the same gate; otherwise the error says which tool of ours does it, and how.

mod map;

use crate::tools::builtin::{patch, read_file, search_files, terminal, todo, tool_call, write_file};
use map::{Fields, Mapped};
use serde_json::{Value, json};

/// What became of a foreign name.
#[derive(Clone, Debug, PartialEq)]
pub enum Alias {
    /// The call that was meant.
    Call { name: &'static str, args: String },
    /// The tool of ours that does such things; what was written does not say enough.
    Tool { name: &'static str, why: String },
}

/// Our tools that foreign names stand for.
#[derive(Clone, Copy)]
enum Ours {
    Shell,
    Python,
    Read,
    Write,
    Edit,
    Patch,
    Editor,
    Grep,
    Glob,
    List,
    Todo,
    Search,
}

/// Foreign names in lower case without `_`, `-` and blanks.
const NAMES: [(&str, Ours); 84] = [
    ("bash", Ours::Shell),
    ("shell", Ours::Shell),
    ("sh", Ours::Shell),
    ("zsh", Ours::Shell),
    ("cmd", Ours::Shell),
    ("powershell", Ours::Shell),
    ("localshell", Ours::Shell),
    ("shellcommand", Ours::Shell),
    ("shellexec", Ours::Shell),
    ("exec", Ours::Shell),
    ("execcommand", Ours::Shell),
    ("execute", Ours::Shell),
    ("executebash", Ours::Shell),
    ("executecommand", Ours::Shell),
    ("executeshellcommand", Ours::Shell),
    ("runcommand", Ours::Shell),
    ("runcommands", Ours::Shell),
    ("runbash", Ours::Shell),
    ("runshell", Ours::Shell),
    ("runshellcommand", Ours::Shell),
    ("runterminalcmd", Ours::Shell),
    ("runterminalcommand", Ours::Shell),
    ("runinterminal", Ours::Shell),
    ("containerexec", Ours::Shell),
    ("developershell", Ours::Shell),
    ("python", Ours::Python),
    ("python3", Ours::Python),
    ("ipython", Ours::Python),
    ("executecode", Ours::Python),
    ("executepython", Ours::Python),
    ("runpython", Ours::Python),
    ("runcode", Ours::Python),
    ("codeinterpreter", Ours::Python),
    ("pythoninterpreter", Ours::Python),
    ("read", Ours::Read),
    ("cat", Ours::Read),
    ("view", Ours::Read),
    ("viewfile", Ours::Read),
    ("openfile", Ours::Read),
    ("fileread", Ours::Read),
    ("getfile", Ours::Read),
    ("getfilecontents", Ours::Read),
    ("readfile", Ours::Read),
    ("readmanyfiles", Ours::Read),
    ("readfiles", Ours::Read),
    ("readmultiplefiles", Ours::Read),
    ("write", Ours::Write),
    ("writetofile", Ours::Write),
    ("createfile", Ours::Write),
    ("createnewfile", Ours::Write),
    ("newfile", Ours::Write),
    ("savefile", Ours::Write),
    ("filewrite", Ours::Write),
    ("writefile", Ours::Write),
    ("edit", Ours::Edit),
    ("editfile", Ours::Edit),
    ("fileedit", Ours::Edit),
    ("replace", Ours::Edit),
    ("strreplace", Ours::Edit),
    ("searchreplace", Ours::Edit),
    ("replaceinfile", Ours::Edit),
    ("replacestringinfile", Ours::Edit),
    ("multiedit", Ours::Edit),
    ("applypatch", Ours::Patch),
    ("applydiff", Ours::Patch),
    ("strreplaceeditor", Ours::Editor),
    ("strreplacebasededittool", Ours::Editor),
    ("texteditor", Ours::Editor),
    ("grep", Ours::Grep),
    ("grepsearch", Ours::Grep),
    ("ripgrep", Ours::Grep),
    ("rg", Ours::Grep),
    ("searchfilecontent", Ours::Grep),
    ("glob", Ours::Glob),
    ("globsearch", Ours::Glob),
    ("filesearch", Ours::Glob),
    ("findfiles", Ours::Glob),
    ("ls", Ours::List),
    ("listdir", Ours::List),
    ("listdirectory", Ours::List),
    ("listfiles", Ours::List),
    ("todowrite", Ours::Todo),
    ("todoread", Ours::Todo),
    ("search", Ours::Search),
];

/// More names of the plan.
const PLANS: [&str; 3] = ["updateplan", "todolist", "updatetodos"];

/// What the name stands for; `None`: for nothing that is known.
pub fn of(name: &str, args: &str) -> Option<Alias> {
    let bare = name.trim().rsplit(['.', ':', '/']).next().unwrap_or_default();
    let key = |text: &str| -> String {
        text.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
    };
    let (whole, bare) = (key(&name.trim().replace(['.', ':', '/'], "")), key(bare));
    let known = |word: &str| NAMES.iter().find(|(known, _)| *known == word).map(|(_, ours)| *ours);
    let ours =
        known(&whole).or_else(|| known(&bare)).or_else(|| PLANS.contains(&bare.as_str()).then_some(Ours::Todo))?;
    let (tool, mapped) = map(ours, args);
    Some(match mapped {
        Mapped::Sure(args) => Alias::Call { name: args.0, args: args.1.to_string() },
        Mapped::Unsure(why) => Alias::Tool { name: tool, why },
    })
}

/// The call that was meant, of a name that nothing here has. What is inside a `tool_call` is looked at.
pub fn meant(name: &str, args: &str, is_ours: impl Fn(&str) -> bool) -> Option<Alias> {
    let inner = tool_call::unwrap(name, args);
    let (name, args) = inner.as_ref().map_or((name, args), |(name, args)| (name.as_str(), args.as_str()));
    if is_ours(name) { own(name, args) } else { of(name, args).filter(|alias| is_ours(alias.tool())) }
}

impl Alias {
    /// The tool of ours.
    pub fn tool(&self) -> &'static str {
        match self {
            Self::Call { name, .. } | Self::Tool { name, .. } => name,
        }
    }
}

/// Calls of our own file tools with the path under another agent's name.
fn own(name: &str, args: &str) -> Option<Alias> {
    let name = [read_file::NAME, write_file::NAME, patch::NAME].into_iter().find(|own| *own == name)?;
    let Ok(Value::Object(mut fields)) = serde_json::from_str(args) else { return None };
    if fields.contains_key("path") || fields.contains_key("patch") {
        return None;
    }
    let path = map::PATH.iter().find_map(|key| fields.remove(*key))?;
    fields.insert("path".into(), path);
    Some(Alias::Call { name, args: Value::Object(fields).to_string() })
}

fn map(ours: Ours, args: &str) -> (&'static str, Mapped) {
    let tool = match ours {
        Ours::Shell | Ours::Python => terminal::NAME,
        Ours::Read => read_file::NAME,
        Ours::Write => write_file::NAME,
        Ours::Edit | Ours::Patch | Ours::Editor => patch::NAME,
        Ours::Grep | Ours::Glob | Ours::List | Ours::Search => search_files::NAME,
        Ours::Todo => todo::NAME,
    };
    let given = match serde_json::from_str(args) {
        Ok(Value::Object(fields)) => Fields::new(fields),
        Err(_) if args.trim().is_empty() => Fields::default(),
        // Freeform tools get their text alone.
        Ok(Value::String(text)) if matches!(ours, Ours::Patch) => return (tool, map::patch_text(text)),
        Err(_) if matches!(ours, Ours::Patch) && args.contains("*** Begin Patch") => {
            return (tool, map::patch_text(args.to_owned()));
        }
        _ => return (tool, Mapped::Unsure("its arguments are not an object".into())),
    };
    let mapped = match ours {
        Ours::Shell => map::shell(given),
        Ours::Python => map::python(given),
        Ours::Read => map::read(given),
        Ours::Write => map::write(given),
        Ours::Edit => map::edit(given),
        Ours::Patch => map::patch(given),
        Ours::Editor => map::editor(given),
        Ours::Grep => map::grep(given),
        Ours::Glob => map::glob(given),
        Ours::List => map::list(given),
        Ours::Search => map::search(given),
        Ours::Todo => map::todo(given),
    };
    (tool, mapped)
}

/// Words for a foreign call that could not be mapped: the tool of ours and what it takes.
pub fn words(written: &str, tool: &str, why: &str, schema: &Value) -> String {
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let fields = schema.get("properties").and_then(Value::as_object);
    let fields: Vec<String> = fields
        .into_iter()
        .flatten()
        .map(|(name, about)| {
            let kind = about.get("type").and_then(Value::as_str).unwrap_or("any");
            let needed = if required.contains(&json!(name)) { ", required" } else { "" };
            format!("{name} ({kind}{needed})")
        })
        .collect();
    format!("there is no tool `{written}`: use `{tool}` ({why}). Its parameters: {}", fields.join(", "))
}

#[cfg(test)]
mod tests;

//! Arguments of foreign tools as those of ours. A field that is not known makes the call uncertain: nothing is dropped that
//! might have mattered.

use crate::tools::builtin;
use serde_json::{Map, Value, json};

/// How other agents name a path.
pub(super) const PATH: [&str; 9] =
    ["path", "file_path", "filePath", "filepath", "absolute_path", "target_file", "file", "filename", "file_name"];
/// Fields that only explain a call.
const TALK: [&str; 9] = [
    "description",
    "explanation",
    "justification",
    "instruction",
    "instructions",
    "reason",
    "title",
    "requires_approval",
    "is_safe",
];

/// What was meant.
pub(super) enum Mapped {
    /// Our tool and its arguments.
    Sure((&'static str, Value)),
    /// Why it is not certain.
    Unsure(String),
}

use Mapped::Sure;

fn unsure(why: impl Into<String>) -> Mapped {
    Mapped::Unsure(why.into())
}

/// Arguments that are taken one after another.
#[derive(Default)]
pub(super) struct Fields(Map<String, Value>);

impl Fields {
    pub fn new(mut fields: Map<String, Value>) -> Self {
        fields.retain(|name, value| !TALK.contains(&name.as_str()) && !value.is_null());
        Self(fields)
    }

    fn any(&mut self, names: &[&str]) -> Option<Value> {
        names.iter().find_map(|name| self.0.remove(*name))
    }

    fn text(&mut self, names: &[&str]) -> Option<String> {
        match self.any(names)? {
            Value::String(text) => Some(text),
            other => {
                // Of the wrong type: it is left over, and the call is uncertain.
                self.0.insert(names[0].to_owned(), other);
                None
            }
        }
    }

    /// The call, when every field was understood.
    fn call(self, tool: &'static str, args: Value) -> Mapped {
        match self.0.keys().next() {
            None => {
                let mut args = args;
                if let Some(fields) = args.as_object_mut() {
                    fields.retain(|_, value| !value.is_null());
                }
                Sure((tool, args))
            }
            Some(name) => unsure(format!("it has no argument `{name}`")),
        }
    }
}

/// A word as the shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

pub(super) fn shell(mut given: Fields) -> Mapped {
    let command = match given.any(&["command", "cmd", "commandLine", "command_line", "script", "code", "input"]) {
        Some(Value::String(line)) => line,
        Some(Value::Array(words)) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            match words.as_deref() {
                Some(["apply_patch", text]) => return patch_text((*text).to_owned()),
                Some([shell, "-c" | "-lc" | "-ic", line]) if is_shell(shell) => (*line).to_owned(),
                Some(words @ [_, ..]) => words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
                Some([]) | None => return unsure("`command` is not a command line"),
            }
        }
        _ => return unsure("`command` is required"),
    };
    let folder = given.text(&["workdir", "cwd", "working_directory", "dir_path", "directory"]);
    let background = given.any(&["background", "run_in_background", "is_background", "isBackground"]);
    let milliseconds = given.any(&["timeout_ms", "timeoutMs"]);
    let timeout = match (milliseconds, given.any(&["timeout", "timeout_seconds"])) {
        (Some(value), _) => value.as_u64().map(|ms| ms.div_ceil(1000).max(1)),
        // Some count seconds, some milliseconds: no one waits a thousand seconds.
        (None, Some(value)) => value.as_u64().map(|n| if n >= 1000 { n.div_ceil(1000) } else { n.max(1) }),
        (None, None) => None,
    };
    given.any(&["restart", "with_escalated_permissions", "sandbox_permissions", "login", "shell"]);
    given.call(
        builtin::terminal::NAME,
        json!({"command": command, "workdir": folder, "background": background, "timeout": timeout}),
    )
}

fn is_shell(word: &str) -> bool {
    matches!(word.rsplit('/').next(), Some("bash" | "sh" | "zsh"))
}

pub(super) fn python(mut given: Fields) -> Mapped {
    let Some(code) = given.text(&["code", "source", "script", "input", "command"]) else {
        return unsure("`command` is required: python3 with the code in a here-document");
    };
    if let Some(language) = given.text(&["language", "lang"])
        && !matches!(language.as_str(), "python" | "python3" | "py")
    {
        return unsure(format!("run {language} with its interpreter"));
    }
    if code.lines().any(|line| line == "HERMES_EOF") {
        return unsure("write the code to a file and run that");
    }
    let command = format!("python3 - <<'HERMES_EOF'\n{}\nHERMES_EOF", code.trim_end_matches('\n'));
    given.call(builtin::terminal::NAME, json!({"command": command}))
}

pub(super) fn read(mut given: Fields) -> Mapped {
    if given.0.contains_key("command") {
        return shell(given);
    }
    let many = given.any(&["paths", "files", "file_paths"]);
    let path = match many {
        Some(Value::Array(paths)) => match paths.as_slice() {
            [Value::String(one)] => Some(one.clone()),
            _ => return unsure("one call per file; several fit in one step"),
        },
        Some(_) => return unsure("`path` is required"),
        None => given.text(&PATH),
    };
    let Some(path) = path else { return unsure("`path` is required") };
    let (mut offset, mut limit) = (given.any(&["offset", "start_line"]), given.any(&["limit"]));
    if let Some(end) = given.any(&["end_line"]).and_then(|end| end.as_u64()) {
        let start = offset.as_ref().and_then(Value::as_u64).unwrap_or(1).max(1);
        limit = Some(json!((end + 1).saturating_sub(start).max(1)));
    }
    if let Some(range) = given.any(&["view_range"]) {
        let line = |at: usize| range.get(at).and_then(Value::as_i64);
        match (line(0), line(1)) {
            (Some(start), Some(end)) if start >= 1 => {
                offset = Some(json!(start));
                limit = (end >= start).then(|| json!(end + 1 - start));
            }
            _ => return unsure("use `offset` and `limit`"),
        }
    }
    given.call(builtin::read_file::NAME, json!({"path": path, "offset": offset, "limit": limit}))
}

pub(super) fn write(mut given: Fields) -> Mapped {
    let content = given.text(&["content", "contents", "file_text", "text", "code_content", "data"]);
    match (given.text(&PATH), content) {
        (Some(path), Some(content)) => given.call(builtin::write_file::NAME, json!({"path": path, "content": content})),
        _ => unsure("`path` and `content` are required"),
    }
}

const OLD: [&str; 6] = ["old_string", "old_str", "oldString", "oldText", "old_text", "search"];
const NEW: [&str; 6] = ["new_string", "new_str", "newString", "newText", "new_text", "replace"];

pub(super) fn edit(mut given: Fields) -> Mapped {
    let Some(path) = given.text(&PATH) else { return unsure("`path`, `old_string` and `new_string` are required") };
    if let Some(edits) = given.any(&["edits"]) {
        return match edits.as_array().map(Vec::as_slice) {
            Some([Value::Object(one)]) => {
                let mut one = Fields::new(one.clone());
                one.0.insert("path".into(), json!(path));
                edit(one)
            }
            _ => unsure("one call per edit, or mode=patch with all edits in one patch"),
        };
    }
    let (old, new) = (given.text(&OLD), given.text(&NEW));
    let all = given.any(&["replace_all", "replaceAll", "allow_multiple"]);
    if given.0.get("expected_replacements").and_then(Value::as_u64) == Some(1) {
        given.any(&["expected_replacements"]);
    }
    match (old, new) {
        (Some(old), Some(new)) if old.is_empty() => {
            given.call(builtin::write_file::NAME, json!({"path": path, "content": new})).only_new()
        }
        (Some(old), Some(new)) => given.call(
            builtin::patch::NAME,
            json!({"mode": "replace", "path": path, "old_string": old, "new_string": new, "replace_all": all}),
        ),
        _ => unsure("`path`, `old_string` and `new_string` are required"),
    }
}

impl Mapped {
    /// An edit of nothing means a new file with some agents, and an error with others.
    fn only_new(self) -> Self {
        match self {
            Sure(_) => unsure("an empty `old_string` matches nothing: create new files with write_file"),
            other => other,
        }
    }
}

pub(super) fn patch_text(text: String) -> Mapped {
    if text.contains("*** Begin Patch") {
        Sure((builtin::patch::NAME, json!({"mode": builtin::patch::NAME, "patch": text})))
    } else {
        unsure("mode=patch takes a V4A patch, from *** Begin Patch to *** End Patch")
    }
}

pub(super) fn patch(mut given: Fields) -> Mapped {
    if let Some(Value::Array(words)) = given.0.get("command")
        && let [Value::String(_), Value::String(text)] = words.as_slice()
    {
        return patch_text(text.clone());
    }
    let Some(text) = given.text(&["input", "patch", "patchText", "patch_text", "diff", "content"]) else {
        return unsure("mode=patch needs `patch`");
    };
    given.any(&PATH);
    match given.call(builtin::patch::NAME, Value::Null) {
        Sure(_) => patch_text(text),
        other => other,
    }
}

pub(super) fn editor(mut given: Fields) -> Mapped {
    match given.text(&["command"]).as_deref() {
        Some("view") => read(given),
        Some("create") => write(given),
        Some("str_replace") => edit(given),
        Some("insert") => unsure(
            "mode=replace: use the line before the place as `old_string`, and that line plus the new lines as `new_string`",
        ),
        Some("undo_edit") => unsure("mode=replace: put the earlier text back"),
        _ => unsure("mode=replace or mode=patch; read_file shows a file and write_file creates one"),
    }
}

pub(super) fn grep(mut given: Fields) -> Mapped {
    let Some(pattern) = given.text(&["pattern", "query", "regex", "search_pattern"]) else {
        return unsure("`pattern` is required");
    };
    let pattern = match given.any(&["-i", "ignore_case", "case_insensitive"]) {
        Some(Value::Bool(true)) => format!("(?i){pattern}"),
        _ => pattern,
    };
    if given.any(&["case_sensitive"]) == Some(Value::Bool(false)) {
        return unsure("write (?i) before the pattern");
    }
    let path = given.text(&["path", "directory", "dir_path", "folder"]);
    let glob = given.text(&["file_glob", "glob", "include", "include_pattern", "includePattern", "file_pattern"]);
    let mode = match given.text(&["output_mode"]).as_deref() {
        // Without a mode Claude's lists files, and the lines say more.
        None | Some("content") => None,
        Some("files_with_matches" | "files_only") => Some("files_only"),
        Some("count") => Some("count"),
        Some(_) => return unsure("output_mode must be content, files_only or count"),
    };
    let around = given.any(&["context", "-C"]).or_else(|| {
        let (after, before) = (given.any(&["-A"]), given.any(&["-B"]));
        after.as_ref().and_then(Value::as_u64).max(before.as_ref().and_then(Value::as_u64)).map(|n| json!(n))
    });
    let limit = given.any(&["limit", "head_limit", "max_results"]);
    // Lines are numbered anyway.
    given.any(&["-n", "line_numbers"]);
    given.call(
        builtin::search_files::NAME,
        json!({"pattern": pattern, "path": path, "file_glob": glob, "output_mode": mode, "context": around, "limit": limit}),
    )
}

pub(super) fn glob(mut given: Fields) -> Mapped {
    let Some(pattern) = given.text(&["pattern", "glob", "glob_pattern", "query"]) else {
        return unsure("target=files needs `pattern`, a glob");
    };
    let path = given.text(&["path", "directory", "dir_path", "folder", "target_directory"]);
    let limit = given.any(&["limit", "max_results"]);
    given
        .call(builtin::search_files::NAME, json!({"target": "files", "pattern": pattern, "path": path, "limit": limit}))
}

pub(super) fn list(mut given: Fields) -> Mapped {
    if given.0.contains_key("command") {
        return shell(given);
    }
    let path = given.text(&["path", "dir_path", "directory", "relative_workspace_path", "target_directory", "folder"]);
    given.any(&["recursive", "depth", "respect_git_ignore"]);
    given.call(builtin::search_files::NAME, json!({"target": "files", "pattern": "*", "path": path}))
}

/// The specification's name of `search_files`; its arguments are the same.
pub(super) fn search(given: Fields) -> Mapped {
    if given.0.contains_key("pattern") && given.0.keys().all(|name| SEARCHED.contains(&name.as_str())) {
        Sure((builtin::search_files::NAME, Value::Object(given.0)))
    } else {
        grep(given)
    }
}

const SEARCHED: [&str; 8] = ["pattern", "target", "path", "file_glob", "limit", "offset", "output_mode", "context"];

pub(super) fn todo(mut given: Fields) -> Mapped {
    let merge = given.any(&["merge"]);
    let Some(list) = given.any(&["todos", "plan", "items", "tasks"]) else {
        return given.call(builtin::todo::NAME, json!({}));
    };
    let Value::Array(list) = list else { return unsure("`todos` must be a list") };
    let mut todos = Vec::with_capacity(list.len());
    for (at, entry) in list.into_iter().enumerate() {
        let Value::Object(mut entry) = entry else { return unsure("each of `todos` needs id, content and status") };
        let Some(content) = entry.remove("content").or_else(|| entry.remove("step")).or_else(|| entry.remove("text"))
        else {
            return unsure("each of `todos` needs id, content and status");
        };
        let id = entry.remove("id").unwrap_or_else(|| json!((at + 1).to_string()));
        let status = entry.remove("status").unwrap_or_else(|| json!("pending"));
        todos.push(json!({"id": id, "content": content, "status": status}));
    }
    given.call(builtin::todo::NAME, json!({"todos": todos, "merge": merge}))
}

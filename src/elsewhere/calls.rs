//! Calls of other agents that are calls of ours under another name. What does not map for certain is no match.

use serde_json::{Map, Value, json};

/// A call of ours.
pub(super) struct Match {
    pub name: &'static str,
    pub args: Value,
    /// For the line: a command, a path, a pattern.
    pub target: String,
}

/// The call of ours that says the same.
pub(super) fn ours(name: &str, args: &Value) -> Option<Match> {
    let given = args.as_object();
    let text = |keys: &[&str]| keys.iter().find_map(|key| given?.get(*key)?.as_str()).map(str::to_owned);
    let value = |keys: &[&str]| keys.iter().find_map(|key| given?.get(*key)).filter(|value| !value.is_null()).cloned();
    let made = |name: &'static str, target: &str, fields: Vec<(&str, Option<Value>)>| {
        let args: Map<String, Value> =
            fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();
        Some(Match { name, args: Value::Object(args), target: target.to_owned() })
    };
    let path = || text(&["path", "file_path", "filePath"]);
    match name {
        "terminal" | "Bash" | "bash" | "exec_command" | "shell" | "shell_command" | "local_shell" => {
            let command = text(&["command", "cmd"]).or_else(|| line(args))?;
            let background = value(&["run_in_background", "background"]).filter(|on| on == &Value::Bool(true));
            let workdir = value(&["workdir"]).filter(Value::is_string);
            let fields = vec![("command", Some(json!(command))), ("workdir", workdir), ("background", background)];
            made("terminal", &command, fields)
        }
        "read_file" | "Read" | "read" => {
            let path = path()?;
            let fields = vec![
                ("path", Some(json!(path))),
                ("offset", value(&["offset"]).filter(Value::is_u64)),
                ("limit", value(&["limit"]).filter(Value::is_u64)),
            ];
            made("read_file", &path, fields)
        }
        "write_file" | "Write" | "write" => {
            let (path, content) = (path()?, text(&["content"])?);
            made("write_file", &path, vec![("path", Some(json!(path))), ("content", Some(json!(content)))])
        }
        "patch" if text(&["patch"]).is_some() || path().is_none() => {
            let patch = text(&["patch"])?;
            let target = target_of(&patch);
            made("patch", &target, vec![("mode", Some(json!("patch"))), ("patch", Some(json!(patch)))])
        }
        "apply_patch" => {
            let patch = args.as_str().map(str::to_owned).or_else(|| text(&["input", "patch"]))?;
            let target = target_of(&patch);
            made("patch", &target, vec![("mode", Some(json!("patch"))), ("patch", Some(json!(patch)))])
        }
        "patch" | "Edit" | "edit" => {
            let path = path()?;
            let edits = value(&["edits"]).and_then(|edits| edits.as_array().cloned()).unwrap_or_default();
            let (old, new) = match edits.as_slice() {
                [] => (text(&["old_string", "oldString", "oldText"])?, text(&["new_string", "newString", "newText"])?),
                // Several at once have no one call of ours.
                [one] => (one["oldText"].as_str()?.to_owned(), one["newText"].as_str()?.to_owned()),
                _ => return None,
            };
            let all = value(&["replace_all", "replaceAll"]).filter(|all| all == &Value::Bool(true));
            let fields = vec![
                ("mode", Some(json!("replace"))),
                ("path", Some(json!(path))),
                ("old_string", Some(json!(old))),
                ("new_string", Some(json!(new))),
                ("replace_all", all),
            ];
            made("patch", &path, fields)
        }
        "search_files" => {
            let pattern = text(&["pattern"])?;
            Some(Match { name: "search_files", args: args.clone(), target: pattern })
        }
        "Grep" | "grep" => {
            let pattern = text(&["pattern"])?;
            let fields = vec![
                ("pattern", Some(json!(pattern))),
                ("path", value(&["path"]).filter(Value::is_string)),
                ("file_glob", value(&["glob", "include"]).filter(Value::is_string)),
            ];
            made("search_files", &pattern, fields)
        }
        "Glob" | "glob" | "find" => {
            let pattern = text(&["pattern"])?;
            let fields = vec![
                ("pattern", Some(json!(pattern))),
                ("target", Some(json!("files"))),
                ("path", value(&["path"]).filter(Value::is_string)),
            ];
            made("search_files", &pattern, fields)
        }
        // Python Hermes: the same tools.
        "process" => {
            let (action, of) = (text(&["action"])?, text(&["session_id"]).unwrap_or_default());
            Some(Match { name: "process", args: args.clone(), target: format!("{action} {of}").trim().to_owned() })
        }
        _ => None,
    }
}

/// A command given as words: what the shell is told, else the words.
fn line(args: &Value) -> Option<String> {
    let words = ["command", "cmd"].iter().find_map(|key| args[*key].as_array())?;
    let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
    match words.as_slice() {
        [] => None,
        [shell, "-c" | "-lc", line] if shell.ends_with("sh") => Some((*line).to_owned()),
        words => Some(words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")),
    }
}

fn quoted(word: &str) -> String {
    let plain = !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c));
    if plain { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// The first file that a patch names.
fn target_of(patch: &str) -> String {
    let file = patch.lines().find_map(|line| {
        ["*** Update File: ", "*** Add File: ", "*** Delete File: "].iter().find_map(|head| line.strip_prefix(head))
    });
    file.unwrap_or_default().trim().to_owned()
}

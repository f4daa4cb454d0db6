//! The module that a script imports: a function for each tool that it may call and the session has.

use super::language::Language;
use crate::tools::offer::selection::VisibleTools;
use crate::tools::spec::ToolSpec;
use std::fmt::Write as _;

/// The name of the module.
pub const MODULE: &str = "hermes_tools";
/// Calls a tool by its name, where a script may call others than those of the list.
pub const ANY: &str = "call_tool";

const PYTHON: &str = include_str!("../../../assets/code/hermes_tools.py");
const JAVASCRIPT: &str = include_str!("../../../assets/code/hermes_tools.js");

/// A function of the module.
#[derive(Clone, Copy, Debug)]
struct Function {
    name: &'static str,
    /// The tool that it calls.
    tool: &'static str,
    /// Parameters with their defaults, as Python writes them; empty: it must be given. `None` is not sent.
    parameters: &'static [(&'static str, &'static str)],
}

const SEARCH: &[(&str, &str)] = &[
    ("pattern", ""),
    ("target", "'content'"),
    ("path", "'.'"),
    ("file_glob", "None"),
    ("limit", "50"),
    ("offset", "0"),
    ("output_mode", "'content'"),
    ("context", "0"),
];

/// Every tool that a script may call, if the session has it: reading, filtering and changing across many calls. What needs
/// a person, the model's eyes, or an end of its own is none of them.
const FUNCTIONS: &[Function] = &[
    function("web_search", &[("query", ""), ("limit", "5")]),
    function("web_extract", &[("urls", "")]),
    function("read_file", &[("path", ""), ("offset", "1"), ("limit", "500")]),
    function("write_file", &[("path", ""), ("content", "")]),
    Function { name: "search", tool: "search_files", parameters: SEARCH },
    function(
        "patch",
        &[
            ("path", "None"),
            ("old_string", "None"),
            ("new_string", "None"),
            ("replace_all", "False"),
            ("mode", "'replace'"),
            ("patch", "None"),
        ],
    ),
    function("terminal", &[("command", ""), ("timeout", "None"), ("workdir", "None")]),
    function("browser_navigate", &[("url", "")]),
    function("browser_snapshot", &[("full", "False")]),
    function("browser_click", &[("ref", "")]),
    function("browser_type", &[("ref", ""), ("text", "")]),
    function("browser_scroll", &[("direction", "")]),
    function("browser_back", &[]),
    function("browser_press", &[("key", "")]),
];

const fn function(name: &'static str, parameters: &'static [(&'static str, &'static str)]) -> Function {
    Function { name, tool: name, parameters }
}

/// The tool that a function of this name calls, and the arguments that it passes on.
pub fn tool_of(name: &str) -> Option<(&'static str, impl Fn(&str) -> bool)> {
    let function = FUNCTIONS.iter().find(|function| function.name == name)?;
    Some((function.tool, |argument: &str| function.parameters.iter().any(|(known, _)| *known == argument)))
}

/// Names of the functions for the tools that are there, in the order of the list.
pub fn names(there: impl Fn(&str) -> bool) -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().filter(move |function| there(function.tool)).map(|function| function.name)
}

/// Tools that no script may call, whoever offers one of this name: they need a person or the model's eyes, cost a request of
/// a model, act on other people, or outlive the script.
const NEVER: &[&str] = &[
    "browser_close",
    "browser_get_images",
    "browser_vision",
    "vision_analyze",
    "video_analyze",
    "mixture_of_agents",
    "image_generate",
    "video_generate",
    "text_to_speech",
    "process",
    "skills_list",
    "skill_view",
    "skill_manage",
    "cronjob",
    "schedule_cronjob",
    "list_cronjobs",
    "remove_cronjob",
    "send_message",
    "todo",
    "todo_write",
    "todo_read",
    "memory",
    "clarify",
    "execute_code",
    "delegate_task",
    "agents",
    "plan_mode",
    "checkpoint",
    "restore",
];

/// Whether scripts may call this tool in code mode: one of a server or a plugin, or one that a model has to search for.
pub fn is_other(spec: &ToolSpec) -> bool {
    // `plugin__name__tool`: what the tool itself is called.
    let own =
        spec.name.strip_prefix("plugin__").and_then(|rest| rest.split_once("__")).map_or(&*spec.name, |(_, own)| own);
    !spec.pinned && !NEVER.contains(&own) && !own.starts_with("rl_")
}

/// The tools that scripts of this session may call besides those of the list.
pub fn others(among: &VisibleTools) -> impl Iterator<Item = &ToolSpec> {
    among.specs().filter(|spec| among.code_mode && is_other(spec))
}

/// The module for a script: what the session has of the list and, in code mode, every tool of servers and plugins.
pub fn module(language: Language, among: &VisibleTools) -> String {
    let any = among.code_mode;
    let there = |tool: &str| among.get(tool).is_some();
    let known = FUNCTIONS.iter().filter(|function| there(function.tool));
    let others = || others(among).filter(|spec| is_name(&spec.name));
    let mut text = match language {
        Language::Python => PYTHON.to_owned(),
        Language::JavaScript => JAVASCRIPT.to_owned(),
    };
    // Writing to a string cannot fail.
    match language {
        Language::Python => {
            for Function { name, parameters, .. } in known {
                let given = |(name, default): &(&str, &str)| match *default {
                    "" => (*name).to_owned(),
                    default => format!("{name}={default}"),
                };
                let given: Vec<String> = parameters.iter().map(given).collect();
                let passed: Vec<String> = parameters.iter().map(|(name, _)| format!("{name:?}: {name}")).collect();
                let (given, passed) = (given.join(", "), passed.join(", "));
                let _ = write!(text, "\n\ndef {name}({given}):\n    return _call({name:?}, {{{passed}}})\n");
            }
            if any {
                let _ = write!(text, "\n\ndef {ANY}(name, args=None):\n    return _call(name, args or {{}})\n");
            }
            for spec in others() {
                let _ = write!(text, "\n\ndef {0}(**args):\n    return _call({0:?}, args)\n", spec.name);
            }
        }
        Language::JavaScript => {
            for Function { name, parameters, .. } in known {
                let names: Vec<&str> = parameters.iter().map(|(name, _)| *name).collect();
                let _ = writeln!(text, "exports.{name} = stub({name:?}, {names:?});");
            }
            if any {
                let _ = writeln!(text, "exports.{ANY} = (name, args) => call(name, args ?? {{}});");
            }
            for spec in others() {
                let _ = writeln!(text, "exports.{0} = stub({0:?}, []);", spec.name);
            }
        }
    }
    text
}

/// Whether a tool's name can be that of a function.
fn is_name(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::registry::Registry;

    #[test]
    fn only_tools_that_are_there_have_functions_and_take_what_the_tools_take() {
        let among = VisibleTools::all(Registry::builtin().snapshot());
        let there: Vec<&str> = names(|tool| among.get(tool).is_some()).collect();
        assert_eq!(there, ["read_file", "write_file", "search", "patch", "terminal"]);
        assert_eq!(FUNCTIONS.len(), 14);
        for function in FUNCTIONS {
            let Some(tool) = among.get(function.tool) else { continue };
            let properties = tool.spec().schema["properties"].as_object().unwrap();
            for (name, default) in function.parameters {
                assert!(properties.contains_key(*name), "{}: {name}", function.name);
                let required =
                    tool.spec().schema["required"].as_array().is_some_and(|all| all.contains(&(*name).into()));
                assert_eq!(default.is_empty(), required, "{}: {name}", function.name);
            }
        }
        let module = module(Language::Python, &among);
        assert!(
            module
                .contains("def read_file(path, offset=1, limit=500):\n    return _call(\"read_file\", {\"path\": path")
        );
        assert!(module.contains("return _call(\"search\", {\"pattern\": pattern"));
        assert!(module.contains("def search(pattern, target='content'") && !module.contains("def web_search"));
        assert!(!module.contains("def clarify") && !module.contains("def call_tool"), "{module}");
        let mut others = among.clone();
        others.code_mode = true;
        let script = super::module(Language::JavaScript, &others);
        assert!(script.contains("exports.terminal = stub(\"terminal\", [\"command\", \"timeout\", \"workdir\"]);"));
        assert!(script.contains("exports.call_tool = "));
    }

    #[test]
    fn a_function_passes_on_its_own_arguments_alone() {
        let (tool, takes) = tool_of("terminal").unwrap();
        assert_eq!(tool, "terminal");
        let given = ["command", "timeout", "workdir", "background", "pty", "notify_on_complete"];
        assert_eq!(given.map(takes), [true, true, true, false, false, false]);
        assert_eq!(tool_of("search").unwrap().0, "search_files");
        assert!(tool_of("clarify").is_none() && tool_of("execute_code").is_none());
    }
}

//! `execute_code`: a script that calls tools, whose results it filters before any of them costs the model a token.

use crate::config::CodeExecutionConfig;
use crate::policy::{Intent, shell};
use crate::tools::code::language::Language;
use crate::tools::code::run::{self, Script};
use crate::tools::code::stubs;
use crate::tools::offer::selection::VisibleTools;
use crate::tools::spec::{
    Access, Call, CheckId, Content, Parallel, Tool, ToolCtx, ToolError, ToolOutput, ToolSpec, Verbs,
};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// The tool's name.
pub const NAME: &str = "execute_code";

/// The tool.
pub struct ExecuteCode {
    spec: ToolSpec,
}

/// Whether something is there that runs a script.
///
/// # Errors
/// Nothing is, in words.
pub fn check() -> Result<(), String> {
    if languages().next().is_some() { Ok(()) } else { Err("neither python3 nor node is installed".into()) }
}

/// The languages that something is there for.
fn languages() -> impl Iterator<Item = Language> {
    let path = crate::environment::get("PATH").unwrap_or_default();
    Language::ALL.into_iter().filter(move |language| language.program(&path.to_string_lossy(), None).is_some())
}

/// The tool, for the registry. JavaScript is named where there is something to run it.
pub fn execute_code() -> Arc<dyn Tool> {
    let words: Vec<&str> = languages().map(Language::word).collect();
    let language = json!({"type": "string", "description": words.join(" or "), "default": Language::default().word()});
    let spec = super::built_in(
        NAME,
        "code_execution",
        "🐍",
        include_str!("../../../assets/tools/execute_code.md"),
        json!({"type": "object", "properties": {"code": {"type": "string"}, "language": language}, "required": ["code"]}),
        Access::Execute,
        Verbs::new("running a script", "ran a script"),
        Parallel::Never,
    );
    Arc::new(ExecuteCode {
        spec: ToolSpec { content: Content::Script, output_cap: usize::MAX, check: Some(CheckId(NAME.into())), ..spec },
    })
}

#[derive(Deserialize)]
struct Args {
    #[serde(default)]
    code: String,
    language: Option<String>,
}

impl Tool for ExecuteCode {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn target(&self, args: &Value) -> String {
        gist(super::text(args, "code"))
    }

    fn plan_among<'a>(
        &'a self,
        args: Value,
        among: &'a VisibleTools,
        ctx: &'a ToolCtx,
    ) -> BoxFuture<'a, Result<Box<dyn Call>, ToolError>> {
        Box::pin(async move {
            let Args { code, language } = super::parse(NAME, args)?;
            if code.trim().is_empty() {
                return Err(ToolError::Args("No code provided.".into()));
            }
            let word = language.as_deref().unwrap_or(Language::default().word());
            let language = Language::of(word)
                .ok_or_else(|| ToolError::Args(format!("`language` must be python or javascript, not {word}")))?;
            let cwd = run::folder(ctx);
            let plain = shell::script(word, &code).is_empty();
            let intent = Intent::Code { language: word.to_owned(), code: code.clone(), cwd: cwd.clone() };
            let script = Script { language, line: gist(&code), code, cwd, plain, among: among.clone() };
            Ok(Box::new(ScriptCall { intent, script }) as Box<dyn Call>)
        })
    }
}

/// The description as it holds in a session: with the bounds of its configuration, and what else its scripts may call.
pub fn described(text: &str, settings: &CodeExecutionConfig, among: &VisibleTools) -> String {
    let bounds = |calls: usize, seconds: u64| format!("{calls} calls and {seconds} seconds");
    let usual = CodeExecutionConfig::default();
    let (usual, own) = (bounds(usual.max_tool_calls, usual.timeout), bounds(settings.max_tool_calls, settings.timeout));
    let mut text = text.replace(&usual, &own);
    if !languages().any(|language| language == Language::JavaScript) {
        let other = |line: &&str| !line.starts_with("- JavaScript:");
        text = text.lines().filter(other).collect::<Vec<_>>().join("\n");
    }
    let others: Vec<&str> = stubs::others(among).map(|spec| &*spec.name).collect();
    if among.code_mode {
        let named = match &others[..] {
            [] => "none yet".to_owned(),
            some if some.len() <= NAMED => some.join(", "),
            some => format!("{} and {} more", some[..NAMED].join(", "), some.len() - NAMED),
        };
        text.push_str(&format!(
            "\n- Tools of servers and plugins: call_tool(name, args), or import them by name, with keyword arguments: {named}."
        ));
    }
    text
}

/// Tools of servers and plugins that the description names.
const NAMED: usize = 60;

struct ScriptCall {
    intent: Intent,
    script: Script,
}

impl Call for ScriptCall {
    fn intent(&self) -> &Intent {
        &self.intent
    }

    fn target(&self) -> String {
        self.script.line.clone()
    }

    fn run(self: Box<Self>, ctx: ToolCtx) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(run::run(self.script, ctx))
    }
}

/// A script in a line: the first that says what it does.
fn gist(code: &str) -> String {
    let lines = || code.lines().map(str::trim).filter(|line| !line.is_empty());
    let says = |line: &&str| {
        !["import ", "from ", "const ", "\"\"\"", "'use", "\"use"].iter().any(|start| line.starts_with(start))
    };
    let first = lines().find(says).or_else(|| lines().next()).unwrap_or_default();
    first.trim_start_matches(['#', '/']).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_told_by_its_first_line_that_says_something() {
        for (code, want) in [
            ("import json\nfrom hermes_tools import read_file\n\nfor n in range(3):\n    pass", "for n in range(3):"),
            ("# Count the TODOs\nprint(1)", "Count the TODOs"),
            ("import json", "import json"),
            ("", ""),
        ] {
            assert_eq!(gist(code), want);
        }
    }
}

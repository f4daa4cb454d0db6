//! A plugin's tool among the others: planned without side effects, asked about by the gate, run by the plugin.

use super::peer::AskError;
use super::plugin::Plugin;
use super::registered::ToolDef;
use crate::lock::lock;
use crate::policy::Intent;
use crate::protocol::Outcome;
use crate::text::foreign;
use crate::tools::spec::{Call, Parallel, Tool, ToolCtx, ToolError, ToolOutput, ToolSpec, Verbs};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::sync::Arc;

/// Characters of a result.
const TEXT: usize = 2_000_000;
/// Cells of the short target on the tool line.
const TARGET: usize = 80;

/// One tool of one plugin.
pub struct PluginTool {
    spec: ToolSpec,
    plugin: Arc<Plugin>,
    timeout: std::time::Duration,
}

/// The toolset of a plugin's tools.
pub fn toolset(plugin: &str) -> String {
    format!("plugin-{plugin}")
}

/// The name that rules, grants and the allowlist know a tool by.
pub fn rule_name(plugin: &str, tool: &str) -> String {
    format!("plugin__{plugin}__{tool}")
}

impl PluginTool {
    /// The tool of a definition.
    pub fn new(plugin: Arc<Plugin>, def: &ToolDef) -> Self {
        let toolset = if def.toolset.is_empty() { toolset(&plugin.found.name) } else { def.toolset.clone() };
        let mut spec = ToolSpec::dynamic(def.name.clone(), toolset, def.description.clone(), def.parameters.clone());
        if crate::text::width::width(&def.emoji) == 2 {
            spec.emoji = def.emoji.clone().into();
        }
        spec.verbs = Verbs::new("running", "ran");
        spec.requires_env = def.requires_env.iter().cloned().map(Into::into).collect();
        // What it says of itself changes when it runs, never whether.
        spec.parallel = if def.parallel { Parallel::Always } else { Parallel::Never };
        Self { spec, plugin, timeout: def.timeout }
    }
}

impl Tool for PluginTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn plan<'a>(&'a self, args: Value, _: &'a ToolCtx) -> BoxFuture<'a, Result<Box<dyn Call>, ToolError>> {
        let name = self.spec.name.to_string();
        let intent = Intent::Remote {
            server: format!("plugin {}", self.plugin.found.name),
            tool: rule_name(&self.plugin.found.name, &name),
            args: serde_json::to_string_pretty(&args).unwrap_or_default(),
            claims: Vec::new(),
        };
        let call = Planned { plugin: Arc::clone(&self.plugin), name, args, intent, timeout: self.timeout };
        Box::pin(async move { Ok(Box::new(call) as Box<dyn Call>) })
    }
}

struct Planned {
    plugin: Arc<Plugin>,
    name: String,
    args: Value,
    intent: Intent,
    timeout: std::time::Duration,
}

impl Call for Planned {
    fn intent(&self) -> &Intent {
        &self.intent
    }

    fn target(&self) -> String {
        let words = match &self.args {
            Value::Object(fields) => {
                let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                fields.values().map(word).collect::<Vec<_>>().join(" ")
            }
            other => other.to_string(),
        };
        crate::text::width::truncate_end(&words.split_whitespace().collect::<Vec<_>>().join(" "), TARGET)
    }

    fn run(self: Box<Self>, ctx: ToolCtx) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let cwd = lock(&ctx.cwd).clone();
            let params = json!({
                "name": self.name,
                "arguments": self.args,
                "context": {"session_id": &*ctx.task, "call_id": ctx.call_id, "cwd": cwd},
            });
            match self.plugin.ask("tool.call", &params, self.timeout, &ctx.cancel).await {
                Ok(result) => Ok(output(&result)),
                Err(AskError::Cancelled) => Err(ToolError::Interrupted),
                Err(error) => Err(ToolError::Failed(format!("plugin {}: {error}", self.plugin.found.name))),
            }
        })
    }
}

/// The result of `tool.call`: `{content, is_error?, summary?}`, or a plain text.
fn output(result: &Value) -> ToolOutput {
    let content = match result {
        Value::Object(fields) => fields.get("content").unwrap_or(&Value::Null),
        other => other,
    };
    let content = content.as_str().map_or_else(|| content.to_string(), |text| foreign::text(text, TEXT));
    let failed = result.get("is_error") == Some(&Value::Bool(true));
    let mut output = ToolOutput { content, ..ToolOutput::default() };
    if failed {
        output.outcome = Outcome::Failed;
    }
    let summary = result.get("summary").and_then(Value::as_str).unwrap_or_default();
    output.view.summary = match (summary, failed) {
        ("", true) => "failed".into(),
        ("", false) => String::new(),
        (summary, _) => foreign::line(summary.lines().next().unwrap_or_default(), 40),
    };
    output.view.output = output.content.clone();
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_every_shape() {
        for (result, content, outcome) in [
            (json!({"content": "sunny"}), "sunny", Outcome::Ok),
            (json!("sunny"), "sunny", Outcome::Ok),
            (json!({"content": {"a": 1}}), r#"{"a":1}"#, Outcome::Ok),
            (json!({"content": "no", "is_error": true}), "no", Outcome::Failed),
            (json!(null), "null", Outcome::Ok),
            (json!({"content": "a\u{1b}[2Jb\u{202e}c"}), "abc", Outcome::Ok),
        ] {
            let output = output(&result);
            assert_eq!((output.content.as_str(), output.outcome), (content, outcome), "{result}");
        }
        assert_eq!(output(&json!({"content": "", "summary": "3 days\nmore"})).view.summary, "3 days");
    }
}

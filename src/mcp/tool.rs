//! A server's tools, resources and prompts as tools of ours: planned, judged and run as every other.

use super::catalog::Catalog;
use super::content::{self, Answer};
use super::link::{Ask, LinkError, Step};
use super::server::Server;
use super::{messages, names};
use crate::policy::Intent;
use crate::protocol::Outcome;
use crate::text::format;
use crate::tools::spec::{
    Access, Call, Data, Parallel, Progress, Tool, ToolCtx, ToolError, ToolOutput, ToolSpec, Verbs,
};
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Characters of a target on the tool line.
const TARGET: usize = 120;

/// What a tool of ours asks its server for.
#[derive(Clone, Debug, PartialEq)]
enum What {
    /// Its name on the server, and what the server says of it.
    Tool {
        name: String,
        claims: Vec<String>,
    },
    ListResources,
    ReadResource,
    ListPrompts,
    GetPrompt,
}

struct McpTool {
    spec: ToolSpec,
    what: What,
    server: Arc<Server>,
}

/// The tools that a server's lists make, those that the configuration wants.
pub(super) fn tools(server: &Arc<Server>, catalog: &Catalog, problems: &mut Vec<String>) -> Vec<Arc<dyn Tool>> {
    let settings = &server.settings;
    let mut found: Vec<(String, ToolSpec, What)> = Vec::new();
    let toolset = names::toolset(&settings.name);
    for tool in catalog.tools.iter().filter(|tool| settings.wants(&tool.name)) {
        let spec = ToolSpec::dynamic("", toolset.clone(), tool.description.clone(), tool.schema.clone());
        found.push((tool.name.clone(), spec, What::Tool { name: tool.name.clone(), claims: tool.claims.clone() }));
    }
    let text = |about: &str| json!({"type": "string", "description": about});
    let object = |properties: Value, required: &[&str]| json!({"type": "object", "properties": properties, "required": required});
    let name = &settings.name;
    let mut utilities = Vec::new();
    if catalog.has_resources && settings.config.tools.resources {
        let cursor = object(json!({"cursor": text("from the page before")}), &[]);
        utilities.push((
            "list_resources",
            format!("Lists the resources of the MCP server {name}: address, name, kind."),
            cursor,
            What::ListResources,
        ));
        let uri = object(json!({"uri": text("as list_resources shows it")}), &["uri"]);
        utilities.push((
            "read_resource",
            format!("Reads a resource of the MCP server {name}."),
            uri,
            What::ReadResource,
        ));
    }
    if catalog.has_prompts && settings.config.tools.prompts {
        let cursor = object(json!({"cursor": text("from the page before")}), &[]);
        utilities.push((
            "list_prompts",
            format!("Lists the prompts of the MCP server {name}."),
            cursor,
            What::ListPrompts,
        ));
        let args = json!({"name": text("as list_prompts shows it"), "arguments": {"type": "object", "description": "by name"}});
        utilities.push((
            "get_prompt",
            format!("Gets a prompt of the MCP server {name} with its arguments filled in."),
            object(args, &["name"]),
            What::GetPrompt,
        ));
    }
    for (name, about, schema, what) in utilities {
        // The server's own tool of that name is the one it means.
        if !found.iter().any(|(taken, _, _)| taken == name) {
            found.push((name.to_owned(), ToolSpec::dynamic("", toolset.clone(), about, schema), what));
        }
    }
    let real: Vec<&str> = found.iter().map(|(name, _, _)| name.as_str()).collect();
    let shown = names::names(&settings.name, &real);
    let mut tools: Vec<Arc<dyn Tool>> = Vec::with_capacity(found.len());
    for ((real, mut spec, what), shown) in found.into_iter().zip(shown) {
        let Some(shown) = shown else {
            problems.push(format!("skipped a second tool named {}", messages::line(&real, 80)));
            continue;
        };
        spec.name = shown.into();
        match what {
            What::Tool { .. } => {}
            What::ListResources | What::ListPrompts => {
                (spec.access, spec.verbs) = (Access::Read, Verbs::new("listing", "listed"));
            }
            What::ReadResource | What::GetPrompt => {
                (spec.access, spec.verbs) = (Access::Read, Verbs::new("reading", "read"));
            }
        }
        if settings.config.supports_parallel_tool_calls {
            spec.parallel = Parallel::Always;
        }
        tools.push(Arc::new(McpTool { spec, what, server: Arc::clone(server) }));
    }
    tools
}

impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn plan<'a>(&'a self, args: Value, _: &'a ToolCtx) -> BoxFuture<'a, Result<Box<dyn Call>, ToolError>> {
        Box::pin(async move {
            let Value::Object(args) = args else {
                return Err(ToolError::Args(format!("the arguments of {} must be an object", self.spec.name)));
            };
            let text = |key: &str| args.get(key).and_then(Value::as_str).map(str::to_owned);
            let needed = |key: &str| {
                text(key).ok_or_else(|| ToolError::Args(format!("{} requires `{key}` as text", self.spec.name)))
            };
            let (ask, claims) = match &self.what {
                What::Tool { name, claims } => (Ask::Call { tool: name.clone(), args: args.clone() }, claims.clone()),
                What::ListResources => (Ask::Resources { cursor: text("cursor") }, Vec::new()),
                What::ListPrompts => (Ask::Prompts { cursor: text("cursor") }, Vec::new()),
                What::ReadResource => (Ask::Read { uri: needed("uri")? }, Vec::new()),
                What::GetPrompt => {
                    let given = args.get("arguments").and_then(Value::as_object).cloned().unwrap_or_default();
                    (Ask::Prompt { name: needed("name")?, args: given }, Vec::new())
                }
            };
            // The lists were read by the program itself already; everything else reaches into the server.
            let intent = match self.what {
                What::ListResources | What::ListPrompts => Intent::Talk,
                _ => Intent::Remote {
                    server: self.server.settings.name.clone(),
                    tool: self.spec.name.to_string(),
                    args: serde_json::to_string_pretty(&args).unwrap_or_default(),
                    claims,
                },
            };
            let call = McpCall {
                target: target(&args),
                intent,
                ask,
                tool: self.spec.name.to_string(),
                server: Arc::clone(&self.server),
            };
            Ok(Box::new(call) as Box<dyn Call>)
        })
    }
}

/// The arguments in few words: the only text, or all of them.
fn target(args: &Map<String, Value>) -> String {
    let texts: Vec<&str> = args.values().filter_map(Value::as_str).collect();
    match (args.len(), texts.as_slice()) {
        (0, _) => String::new(),
        (_, [one]) => messages::line(one, TARGET),
        _ => {
            let shown = args.iter().map(|(key, value)| match value {
                Value::String(text) => format!("{key}={text}"),
                value => format!("{key}={value}"),
            });
            messages::line(&shown.collect::<Vec<_>>().join(" "), TARGET)
        }
    }
}

struct McpCall {
    server: Arc<Server>,
    /// As the model calls it.
    tool: String,
    intent: Intent,
    target: String,
    ask: Ask,
}

impl Call for McpCall {
    fn intent(&self) -> &Intent {
        &self.intent
    }

    fn target(&self) -> String {
        self.target.clone()
    }

    fn run(self: Box<Self>, ctx: ToolCtx) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let Self { server, tool, ask, .. } = *self;
            let _calling = server.host.calling(Arc::clone(&ctx.agent), ctx.call_id.clone(), ctx.cancel.clone());
            let (steps, heard) = mpsc::channel(16);
            let telling = tokio::spawn(tell(heard, ctx.progress.clone()));
            let mut answer = server.ask(ask.clone(), &ctx.cancel, Some(steps)).await;
            if let (Ask::Resources { cursor: None }, Ok(Value::Object(page))) = (&ask, &mut answer) {
                // A server without templates answers with an error.
                let more = server.ask(Ask::Templates { cursor: None }, &ctx.cancel, None).await;
                if let Some(Value::Array(templates)) =
                    more.ok().and_then(|mut more| more.get_mut("resourceTemplates").map(Value::take))
                {
                    page.insert("resourceTemplates".into(), Value::Array(templates));
                }
            }
            telling.abort();
            match answer {
                // A script works on the text; what it prints of it is fenced.
                Ok(result) => Ok(output(&tool, &ask, &result, ctx.within.is_none())),
                Err(LinkError::Interrupted) => Err(ToolError::Interrupted),
                Err(error) => Err(ToolError::Failed(format!("{}: {error}", server.settings.name))),
            }
        })
    }
}

/// Progress of a call, as lines of its tool line.
async fn tell(mut steps: mpsc::Receiver<Step>, line: mpsc::Sender<Progress>) {
    while let Some(step) = steps.recv().await {
        let done = match step.of {
            Some(of) if of > 0.0 => format!("{:.0} %", (step.done / of * 100.0).clamp(0.0, 100.0)),
            _ => format!("{}", step.done),
        };
        let text = messages::line(&format!("{done} {}", step.message), TARGET);
        // A full line shows the next step.
        let _ = line.try_send(Progress::Line(text));
    }
}

/// What an empty answer is told as: our words, not the server's.
const NOTHING: &str = "(the tool returned no content)";

fn output(tool: &str, ask: &Ask, result: &Value, fences: bool) -> ToolOutput {
    let answer = match ask {
        Ask::Call { .. } => content::call(result),
        Ask::Read { .. } => content::resource(result),
        Ask::Prompt { .. } => content::prompt(result),
        _ => content::call(&json!({"structuredContent": result, "content": []})),
    };
    let Answer { mut text, images, files, failed } = answer;
    let data: Vec<Data> = files.into_iter().map(|(media_type, bytes)| Data { media_type, bytes }).collect();
    let fenced = if text.is_empty() || !fences { text.clone() } else { messages::wrapped(tool, &text) };
    let content = if text.is_empty() && data.is_empty() { NOTHING.to_owned() } else { fenced };
    if text.is_empty() && data.is_empty() {
        text = NOTHING.into();
    }
    let count = text.lines().count() as u64;
    let mut output = ToolOutput { content, images, data, ..ToolOutput::default() };
    output.view.summary = if failed {
        messages::line(&text, TARGET)
    } else if count > 1 {
        format::plural(count, "line", "lines")
    } else {
        messages::line(&text, 60)
    };
    if failed {
        output.outcome = Outcome::Failed;
    }
    output.view.output = text;
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_short() {
        let of = |value: Value| target(value.as_object().unwrap());
        assert_eq!(of(json!({})), "");
        assert_eq!(of(json!({"query": "rust\nasync", "limit": 3})), "rust async");
        assert_eq!(of(json!({"a": "x", "b": "y", "n": 1})), "a=x b=y n=1");
    }
}

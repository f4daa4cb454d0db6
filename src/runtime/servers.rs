//! MCP servers for the screen: rows of the list, and all about one.

use super::Context;
use crate::app::model::servers::{ServerRow, ServerState};
use crate::mcp::{State, Status};

/// Servers as the screen shows them.
pub fn rows(mcp: &crate::mcp::Mcp) -> Vec<ServerRow> {
    let row = |status: Status| ServerRow {
        state: match status.state {
            State::Off => ServerState::Off,
            State::Connecting => ServerState::Connecting,
            State::Ready => ServerState::Ready,
            State::Waiting => ServerState::Waiting,
            State::Asleep => ServerState::Asleep,
            State::NeedsLogin => ServerState::NeedsLogin,
            State::Failed => ServerState::Failed,
        },
        why: status.why,
        tools: status.tools.len(),
        tokens: status.tokens,
        resources: status.resources,
        prompts: status
            .prompts
            .into_iter()
            .map(|prompt| (prompt.name, prompt.description, prompt.args.into_iter().map(|(name, _)| name).collect()))
            .collect(),
        last_words: status.stderr.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().to_owned(),
        problems: status.problems.len(),
        name: status.name,
    };
    mcp.status().into_iter().map(row).collect()
}

/// Reads the configuration anew: what it names now runs, what is gone ends.
pub async fn reload(context: &Context) {
    let sources = context.sources.clone();
    let read = move || crate::config::load::load(&sources).config.mcp_servers;
    if let Ok(servers) = tokio::task::spawn_blocking(read).await {
        context.mcp.apply(&servers);
    }
}

/// All about one server, as text.
pub fn report(name: &str, context: &Context) -> String {
    let Some(status) = context.mcp.status().into_iter().find(|status| status.name == name) else {
        return format!("no MCP server is named {name}");
    };
    let mut out = format!("{}\n", status.place);
    match (status.why.as_str(), status.took_ms) {
        ("", Some(took)) => {
            out.push_str(&format!("{}, protocol {}, connected in {took} ms\n", status.about, status.protocol))
        }
        (why, _) => out.push_str(&format!("{why}\n")),
    }
    out.push_str(&format!("\n{} tools, about {} tokens\n", status.tools.len(), status.tokens));
    for tool in &status.tools {
        out.push_str(&format!("  {tool}\n"));
    }
    for prompt in &status.prompts {
        out.push_str(&format!("  /{name}:{}  {}\n", prompt.name, prompt.description));
    }
    for problem in &status.problems {
        out.push_str(&format!("warning: {problem}\n"));
    }
    if !status.stderr.trim().is_empty() {
        out.push_str("\nits standard error ends with\n");
        let lines: Vec<&str> = status.stderr.lines().collect();
        for line in lines.iter().skip(lines.len().saturating_sub(20)) {
            out.push_str(&format!("  {line}\n"));
        }
    }
    out
}

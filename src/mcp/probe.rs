//! One look at a server: connect, log in where it wants that, list, call every tool once. For `hermes debug mcp-conformance`,
//! which the protocol's own suite drives, so that what is tested is the code that runs.

use super::host::Hosted;
use super::link::{Ask, Host, Link, LinkError, Stderr};
use super::oauth::{self, Visit};
use super::server;
use super::settings::Settings;
use super::supervisor::{Needs, Supervisor};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Logins until a server that is never content is left.
const LOGINS: usize = 3;
const PROBE_LIMIT: Duration = Duration::from_secs(20);

/// Looks at a server and tells each step.
///
/// # Errors
/// What failed.
pub async fn probe(
    settings: &Settings,
    needs: Needs,
    visit: &Visit,
    tell: &mut dyn FnMut(String),
) -> Result<(), String> {
    let house = Arc::new(Supervisor::new(needs));
    let host: Arc<dyn Host> = Arc::new(Hosted::new(settings, Arc::clone(&house)));
    let mut logins = 0;
    loop {
        let wanted = match look(settings, &house, &host, tell).await {
            Ok(()) => return Ok(()),
            Err(LinkError::NeedsLogin { challenge, .. }) if logins < LOGINS => challenge,
            Err(error) => return Err(error.to_string()),
        };
        logins += 1;
        tell(format!("login {logins}"));
        if let Some(challenge) = &wanted {
            oauth::wants_more(&house.tokens, &settings.name, challenge);
        }
        oauth::login(settings, &house.tokens, visit).await?;
    }
}

async fn look(
    settings: &Settings,
    house: &Supervisor,
    host: &Arc<dyn Host>,
    tell: &mut dyn FnMut(String),
) -> Result<(), LinkError> {
    let link = Link::open(settings, &house.tokens, Arc::clone(host), &Stderr::default()).await?;
    tell(format!("connected: {} ({})", link.about.name, link.about.protocol));
    // One that tells no capabilities may have tools all the same.
    let listed = link.ask(Ask::Tools { cursor: None }, PROBE_LIMIT, &CancellationToken::new(), None).await?;
    let catalog = server::lists(&link).await?;
    tell(format!("tools: {}", catalog.tools.len().max(listed["tools"].as_array().map_or(0, Vec::len))));
    for tool in &catalog.tools {
        let ask = Ask::Call { tool: tool.name.clone(), args: example(&tool.schema) };
        let answer = link.ask(ask, PROBE_LIMIT, &CancellationToken::new(), None).await?;
        tell(format!("{}: {}", tool.name, super::content::call(&answer).text));
    }
    link.close().await;
    Ok(())
}

/// Arguments that fit a plain schema.
fn example(schema: &Value) -> Map<String, Value> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let value = |(at, (name, schema)): (usize, (&String, &Value))| {
        let value = match schema.get("type").and_then(Value::as_str) {
            Some("number" | "integer") => json!(at + 2),
            Some("boolean") => json!(true),
            Some("array") => json!([]),
            Some("object") => json!({}),
            _ => json!("example"),
        };
        (name.clone(), value)
    };
    properties.into_iter().flatten().enumerate().map(value).collect()
}

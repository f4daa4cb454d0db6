//! `hermes mcp`: servers of the Model Context Protocol in the configuration: list, test, add, remove, log in.

use super::setup;
use crate::config::{McpServerConfig, edit};
use crate::mcp::{self, Launch, Mcp, Needs, Settings, State, Status};
use crate::tools::spec::{Publish, Tool};
use anyhow::{Context as _, Result, anyhow, bail, ensure};
use clap::Subcommand;
use serde_json::{Value, json};
use std::io::{IsTerminal as _, Write};
use std::sync::Arc;
use std::time::Duration;

/// Version of the JSON shapes.
const VERSION: u32 = 1;

/// Subcommands of `hermes mcp`.
#[derive(Subcommand, Clone, Debug)]
pub enum Command {
    /// List configured servers, without starting them
    List {
        #[arg(long)]
        json: bool,
    },
    /// Connect to a server; list its tools, with timings
    Test {
        name: String,
        #[arg(long)]
        json: bool,
    },
    /// Add a server: a program and arguments after `--`, or --url
    Add {
        name: String,
        /// Address of an HTTP server
        #[arg(long)]
        url: Option<String>,
        /// NAME=VALUE in the program's environment; use `NAME=${NAME}` for keys
        #[arg(long, value_name = "NAME=VALUE")]
        env: Vec<String>,
        /// NAME=VALUE sent with each request
        #[arg(long, value_name = "NAME=VALUE")]
        header: Vec<String>,
        /// The server uses OAuth: log in with `hermes mcp login NAME`
        #[arg(long)]
        oauth: bool,
        /// Program and arguments
        #[arg(last = true, value_name = "COMMAND")]
        command: Vec<String>,
    },
    /// Remove a server and its login
    #[command(alias = "rm")]
    Remove { name: String },
    /// Log in to a server in your browser
    Login { name: String },
    /// Delete a login
    Logout { name: String },
}

/// Runs the command: 0 done, 1 failed.
pub async fn run(command: Command, out: &mut dyn Write) -> Result<i32> {
    let base = setup::base(&super::ChatArgs::default())?;
    let (tokens, file) = (base.paths.mcp_tokens(), base.paths.config());
    let servers = &base.loaded.config.mcp_servers;
    let settings = |name: &str| -> Result<Settings> {
        let config = servers.get(name).ok_or_else(|| unknown(name, servers.keys()))?;
        Settings::read(name, config, &base.loaded.env, &base.cwd).map_err(|why| anyhow!(why))
    };
    match command {
        Command::List { json } => {
            let rows: Vec<Value> =
                servers.iter().map(|(name, config)| row(name, config, &settings(name), &tokens)).collect();
            if json {
                writeln!(out, "{}", json!({"version": VERSION, "servers": rows}))?;
            } else if rows.is_empty() {
                writeln!(out, "no MCP servers; add one: hermes mcp add NAME -- COMMAND ARGS, or --url ADDRESS")?;
            } else {
                let width = servers.keys().map(|name| name.chars().count()).max().unwrap_or(0);
                for row in &rows {
                    let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
                    let note = match (&row["problem"], row["login"].as_str()) {
                        (Value::String(problem), _) => format!("  {problem}"),
                        (_, Some("needed")) => "  needs a login".to_owned(),
                        _ => String::new(),
                    };
                    let on = if row["enabled"] == json!(true) { "on " } else { "off" };
                    writeln!(out, "{on} {:width$}  {}{note}", text("name"), text("place"))?;
                }
            }
            Ok(0)
        }
        Command::Test { name, json } => test(&settings(&name)?, tokens, &base, json, out).await,
        Command::Add { name, url, env, header, oauth, command } => {
            ensure!(
                !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')),
                "a name consists of letters, digits, - and _"
            );
            ensure!(!servers.contains_key(&name), "{name} already exists; remove it first");
            let mut entries: Vec<(String, Value)> = Vec::new();
            let key = |part: &str| format!("mcp_servers.{name}.{part}");
            match (url, command.split_first()) {
                (Some(url), None) => {
                    entries.push((key("url"), url.into()));
                    if oauth {
                        entries.push((key("auth"), "oauth".into()));
                    }
                }
                (None, Some((program, args))) => {
                    entries.push((key("command"), program.as_str().into()));
                    if !args.is_empty() {
                        entries.push((key("args"), args.into()));
                    }
                }
                (Some(_), Some(_)) => bail!("a server is a program or an address, not both"),
                (None, None) => bail!("give a command after --, or an address with --url"),
            }
            for (part, pairs) in [("env", env), ("headers", header)] {
                for pair in pairs {
                    let (left, right) = pair.split_once('=').with_context(|| format!("{pair:?} is not NAME=VALUE"))?;
                    ensure!(!left.contains('.'), "{left:?} contains a dot; add it to {} by hand", file.display());
                    entries.push((key(&format!("{part}.{left}")), right.into()));
                }
            }
            edit::put(&file, &entries)?;
            writeln!(out, "added {name} to {}; test it: hermes mcp test {name}", file.display())?;
            Ok(0)
        }
        Command::Remove { name } => {
            ensure!(servers.contains_key(&name), unknown(&name, servers.keys()));
            edit::remove(&file, &format!("mcp_servers.{name}"))?;
            let login = mcp::forget(&tokens, &name).map_err(|why| anyhow!(why))?;
            writeln!(out, "removed {name}{}", if login { ", with its login" } else { "" })?;
            Ok(0)
        }
        Command::Login { name } => {
            let settings = settings(&name)?;
            mcp::login(&settings, &tokens.into(), &|address| Box::pin(to_browser(address)))
                .await
                .map_err(|why| anyhow!(why))?;
            writeln!(out, "logged in to {name}")?;
            if !servers.get(&name).is_some_and(|server| server.auth.starts_with("oauth")) {
                edit::put(&file, &[(format!("mcp_servers.{name}.auth"), "oauth".into())])?;
            }
            Ok(0)
        }
        Command::Logout { name } => {
            let was = mcp::forget(&tokens, &name).map_err(|why| anyhow!(why))?;
            writeln!(out, "{}", if was { "logged out" } else { "no login found" })?;
            Ok(0)
        }
    }
}

fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a String>) -> anyhow::Error {
    let known: Vec<&str> = known.map(String::as_str).collect();
    let list =
        if known.is_empty() { "none are configured".to_owned() } else { format!("configured: {}", known.join(", ")) };
    anyhow!("no MCP server named {name}; {list}")
}

fn row(name: &str, config: &McpServerConfig, settings: &Result<Settings>, tokens: &std::path::Path) -> Value {
    let login = match settings.as_ref().map(|settings| &settings.launch) {
        Ok(Launch::Http { oauth: true, .. }) if mcp::is_logged_in(tokens, name) => Some("kept"),
        Ok(Launch::Http { oauth: true, .. }) => Some("needed"),
        _ => None,
    };
    json!({
        "name": name,
        "enabled": config.enabled,
        "transport": match settings.as_ref().map(|settings| &settings.launch) {
            Ok(Launch::Stdio { .. }) => Some("stdio"),
            Ok(Launch::Http { .. }) => Some("http"),
            Err(_) => None,
        },
        "place": settings.as_ref().map(Settings::place).unwrap_or_default(),
        "login": login,
        "problem": settings.as_ref().err().map(ToString::to_string),
    })
}

/// Nobody calls the tools of a test.
struct Nowhere;

impl Publish for Nowhere {
    fn expect(&self, _: &str) {}
    fn publish(&self, _: &str, _: Vec<Arc<dyn Tool>>) {}
    fn report(&self, _: &str, _: Vec<String>) {}
    fn withdraw(&self, _: &str) {}
}

/// What servers need of a command without a screen.
pub(super) fn needs(base: &setup::Base, tokens: std::path::PathBuf) -> Needs {
    Needs { publish: Arc::new(Nowhere), tokens: tokens.into(), env: base.loaded.env.clone(), root: base.cwd.clone() }
}

async fn test(
    settings: &Settings,
    tokens: std::path::PathBuf,
    base: &setup::Base,
    json: bool,
    out: &mut dyn Write,
) -> Result<i32> {
    let mcp = Mcp::new(needs(base, tokens));
    let config = McpServerConfig { enabled: true, ..settings.config.clone() };
    mcp.apply(&[(settings.name.clone(), config)].into());
    mcp.settled(settings.connect_timeout * 2 + Duration::from_secs(1)).await;
    let status = mcp.status().into_iter().next().context("the server exited")?;
    mcp.shutdown().await;
    let ready = status.state == State::Ready;
    if json {
        writeln!(out, "{}", report(&status))?;
    } else {
        show(&status, out)?;
    }
    Ok(i32::from(!ready))
}

fn report(status: &Status) -> Value {
    json!({
        "version": VERSION,
        "name": status.name,
        "ok": status.state == State::Ready,
        "error": (status.state != State::Ready).then_some(&status.why),
        "server": status.about,
        "protocol": status.protocol,
        "connect_ms": status.took_ms,
        "tools": status.tools,
        "tokens": status.tokens,
        "resources": status.resources,
        "prompts": status.prompts.iter().map(|prompt| &prompt.name).collect::<Vec<_>>(),
        "problems": status.problems,
        "stderr": status.stderr,
    })
}

fn show(status: &Status, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "{}  {}", status.name, status.place)?;
    if status.state == State::Ready {
        let took = status.took_ms.unwrap_or_default();
        writeln!(out, "connected in {took} ms: {}, protocol {}", status.about, status.protocol)?;
        let prompts = status.prompts.len();
        writeln!(
            out,
            "{} tools (about {} tokens), {} resources, {prompts} prompts",
            status.tools.len(),
            status.tokens,
            status.resources
        )?;
        for tool in &status.tools {
            writeln!(out, "  {tool}")?;
        }
    } else {
        writeln!(out, "not connected: {}", status.why)?;
    }
    for problem in &status.problems {
        writeln!(out, "warning: {problem}")?;
    }
    if !status.stderr.trim().is_empty() {
        writeln!(out, "end of its standard error:")?;
        let lines: Vec<&str> = status.stderr.lines().collect();
        for line in lines.iter().skip(lines.len().saturating_sub(12)) {
            writeln!(out, "  {line}")?;
        }
    }
    Ok(())
}

/// Shows the address, opens the browser where there is one, and reads a pasted answer where there is a person.
async fn to_browser(address: String) -> Option<String> {
    let asked = std::io::stdin().is_terminal();
    let mut err = std::io::stderr();
    let paste =
        if asked { "\nIf your browser is on another machine, paste the address it ends at here.\n" } else { "\n" };
    // Standard error is gone only when the terminal is.
    let _ = writeln!(err, "Log in here:\n\n  {address}\n{paste}");
    // Without a browser the person follows the address by hand.
    let _ = crate::exec::browse(&address);
    if !asked {
        return None;
    }
    let mut lines = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(tokio::io::stdin()));
    while let Ok(Some(line)) = lines.next_line().await {
        if line.trim().starts_with("http") {
            return Some(line.trim().to_owned());
        }
    }
    None
}

/// `hermes debug mcp-conformance`: the client of the protocol's own test suite. The suite names the scenario and what it
/// needs in the environment, and acts as the browser: every login is a plain visit.
pub async fn conformance(url: String, out: &mut dyn Write) -> Result<i32> {
    let base = setup::base(&super::ChatArgs::default())?;
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let context: Value =
        serde_json::from_str(&std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default()).unwrap_or_default();
    let word = |key: &str| context[key].as_str().unwrap_or_default().to_owned();
    let mut config = McpServerConfig { url, elicitation: "accept-defaults".into(), ..McpServerConfig::default() };
    if scenario.starts_with("auth/") {
        config.auth = "oauth".into();
        (config.oauth.client_id, config.oauth.client_secret) = (word("client_id"), word("client_secret"));
        config.oauth.client_metadata_url = "https://conformance-test.local/client-metadata.json".into();
    }
    let scratch = tempfile::tempdir()?;
    let settings = Settings::read("conformance", &config, &base.loaded.env, &base.cwd).map_err(|why| anyhow!(why))?;
    let visit = |address: String| -> futures::future::BoxFuture<'static, Option<String>> {
        Box::pin(async move {
            if let Ok(client) = reqwest::Client::builder().no_proxy().build() {
                // Where it ends is our own door.
                let _ = client.get(address).send().await;
            }
            None
        })
    };
    let mut told = Vec::new();
    let done =
        mcp::probe(&settings, needs(&base, scratch.path().to_owned()), &visit, &mut |line| told.push(line)).await;
    for line in told {
        writeln!(out, "{line}")?;
    }
    match done {
        Ok(()) => Ok(0),
        Err(why) => {
            writeln!(out, "failed: {why}")?;
            Ok(1)
        }
    }
}

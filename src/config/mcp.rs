//! `mcp_servers.<name>`: servers of the Model Context Protocol, by the keys of Python Hermes.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Values of `mcp_servers.*.transport`; empty: by `command` or `url`.
pub const TRANSPORTS: &[&str] = &["", "stdio", "http", "streamable_http", "streamable-http", "sse"];
/// Values of `mcp_servers.*.elicitation`.
pub const ELICITATIONS: &[&str] = &["ask", "decline", "accept-defaults"];

/// One server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct McpServerConfig {
    pub enabled: bool,
    /// A program that speaks MCP over stdio.
    pub command: String,
    pub args: Vec<String>,
    /// All that the program sees besides a few harmless variables.
    pub env: BTreeMap<String, String>,
    /// Empty: the folder that the session works in.
    pub cwd: String,
    /// Or a server that is reached over HTTP.
    pub url: String,
    pub headers: BTreeMap<String, String>,
    /// One of [`TRANSPORTS`].
    pub transport: String,
    /// Seconds of a call without a sign of life.
    pub timeout: f64,
    /// Seconds from the start to the end of the handshake.
    pub connect_timeout: f64,
    /// Seconds between two pings; at least 5.
    pub keepalive_interval: f64,
    /// Seconds without a call until it is put to sleep; 0: never. The next call wakes it.
    pub idle_timeout_seconds: f64,
    /// Seconds until it is started anew; 0: never.
    pub max_lifetime_seconds: f64,
    /// `oauth`, or empty.
    pub auth: String,
    pub oauth: McpOauthConfig,
    /// A PEM file with a certificate, and maybe its key.
    pub client_cert: String,
    /// A PEM file with the key of `client_cert`.
    pub client_key: String,
    /// `true`, `false`, or a PEM file with certificates to trust.
    pub ssl_verify: String,
    pub tools: McpToolsConfig,
    /// Its calls may overlap.
    pub supports_parallel_tool_calls: bool,
    /// It may ask for the folder that the session works in; a server of files takes it in place of its own.
    pub roots: bool,
    /// One of [`ELICITATIONS`].
    pub elicitation: String,
    pub sampling: McpSamplingConfig,
}

impl Default for McpServerConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            command: String::new(),
            args: Vec::new(),
            env: BTreeMap::new(),
            cwd: String::new(),
            url: String::new(),
            headers: BTreeMap::new(),
            transport: String::new(),
            timeout: 300.0,
            connect_timeout: 60.0,
            keepalive_interval: 180.0,
            idle_timeout_seconds: 0.0,
            max_lifetime_seconds: 0.0,
            auth: String::new(),
            oauth: McpOauthConfig::default(),
            client_cert: String::new(),
            client_key: String::new(),
            ssl_verify: "true".into(),
            tools: McpToolsConfig::default(),
            supports_parallel_tool_calls: false,
            roots: true,
            elicitation: "ask".into(),
            sampling: McpSamplingConfig::default(),
        }
    }
}

/// Which tools of a server the model gets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct McpToolsConfig {
    /// Names with `*`; empty: all.
    pub include: Vec<String>,
    /// Names with `*`; counts when `include` is empty.
    pub exclude: Vec<String>,
    /// `list_resources` and `read_resource`, where the server has resources.
    pub resources: bool,
    /// `list_prompts` and `get_prompt`, where the server has prompts.
    pub prompts: bool,
}

impl Default for McpToolsConfig {
    fn default() -> Self {
        Self { include: Vec::new(), exclude: Vec::new(), resources: true, prompts: true }
    }
}

/// How to log in; all optional.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct McpOauthConfig {
    /// Registered by hand; empty: registered by the program.
    pub client_id: String,
    pub client_secret: String,
    /// An address that describes this client, for servers that take that instead of a registration.
    pub client_metadata_url: String,
    /// Scopes by blanks; empty: what the server asks for.
    pub scope: String,
    /// Port of the address on this machine that the browser comes back to; 0: any.
    pub redirect_port: u16,
    /// Shown by the server when it asks the person.
    pub client_name: String,
}

/// Model calls that a server asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct McpSamplingConfig {
    pub enabled: bool,
    /// Empty: the session's.
    pub model: String,
    pub max_tokens_cap: u32,
    /// Seconds of one call.
    pub timeout: f64,
    /// Calls a minute.
    pub max_rpm: u32,
    /// Models that a server may ask for by name; empty: none, the model above is taken.
    pub allowed_models: Vec<String>,
}

impl Default for McpSamplingConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            model: String::new(),
            max_tokens_cap: 4096,
            timeout: 30.0,
            max_rpm: 10,
            allowed_models: Vec::new(),
        }
    }
}

/// `mcp_discovery_timeout`: seconds that a first turn waits for servers that are connecting.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DiscoveryTimeout(pub f64);

impl Default for DiscoveryTimeout {
    fn default() -> Self {
        Self(1.5)
    }
}

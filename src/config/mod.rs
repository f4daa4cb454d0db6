//! Configuration: layers of YAML merged into one typed value; paths, keys, themes and skins.
//!
//! Unknown keys cause a warning and are kept. A project folder can never loosen approvals.

pub mod budget;
pub mod checkpoints;
pub mod context;
pub mod delegation;
pub mod dotenv;
pub mod edit;
pub mod elsewhere;
pub mod embedded;
pub mod error;
pub mod keymap;
pub mod layer;
pub mod load;
pub mod mcp;
pub mod models;
pub mod paths;
pub mod permissions;
pub mod policy_files;
pub mod profiles;
pub mod project;
pub mod recordings;
pub mod said;
pub mod schema;
pub mod sessions;
pub mod skin;
pub mod suggest;
pub mod terminal;
pub mod theme;
pub mod trust;

pub use budget::{BudgetConfig, BudgetLimits, PriceConfig, PricesConfig};
pub use checkpoints::CheckpointsConfig;
pub use context::ContextConfig;
pub use delegation::{DelegationConfig, Isolation};
pub use elsewhere::ElsewhereConfig;
pub use error::ConfigError;
pub use layer::Warning;
pub use load::{Loaded, Place, Sources, load};
pub use mcp::McpServerConfig;
pub use models::{ModelsConfig, SmallProfile};
pub use paths::Paths;
pub use recordings::RecordingsConfig;
pub use sessions::SessionsConfig;
pub use terminal::TerminalConfig;

use crate::policy::Mode;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The whole configuration with defaults filled in. Field names are the keys of `config.yaml`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Config {
    pub model: ModelConfig,
    pub providers: BTreeMap<String, ProviderConfig>,
    pub fallback_providers: Vec<FallbackConfig>,
    pub models: ModelsConfig,
    pub budget: BudgetConfig,
    pub prices: PricesConfig,
    pub delegation: DelegationConfig,
    /// Providers to how one of their keys is chosen.
    pub credential_pool_strategies: BTreeMap<String, String>,
    pub accounts: AccountsConfig,
    pub toolsets: Option<Vec<String>>,
    /// Names to the tools and toolsets that they hold.
    pub custom_toolsets: BTreeMap<String, Vec<String>>,
    pub tools: ToolsConfig,
    pub agent: AgentConfig,
    pub terminal: TerminalConfig,
    pub approvals: ApprovalsConfig,
    pub sandbox: SandboxConfig,
    pub auxiliary: AuxiliaryConfig,
    pub command_allowlist: Vec<String>,
    pub memory: MemoryConfig,
    pub compression: CompressionConfig,
    pub composer: ComposerConfig,
    pub display: DisplayConfig,
    pub tool_output: ToolOutputConfig,
    pub checks: ChecksConfig,
    pub checkpoints: CheckpointsConfig,
    pub code_execution: CodeExecutionConfig,
    pub elsewhere: ElsewhereConfig,
    pub sessions: SessionsConfig,
    /// What the layers of a request may take.
    pub context: ContextConfig,
    pub recordings: RecordingsConfig,
    pub skills: SkillsConfig,
    pub security: SecurityConfig,
    /// Events to lists of commands; `plugins::hook::read` knows their shapes.
    pub hooks: serde_json::Value,
    /// Run hooks of this file without asking for each first.
    pub hooks_auto_accept: bool,
    pub plugins: PluginsConfig,
    pub mcp_servers: BTreeMap<String, McpServerConfig>,
    pub mcp_discovery_timeout: mcp::DiscoveryTimeout,
    /// Characters of a context file; `None`: by the model's window.
    pub context_file_max_chars: Option<usize>,
    pub paste_collapse_threshold: PasteLines,
    pub paste_collapse_char_threshold: PasteChars,
}

/// Lines from which a paste folds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PasteLines(pub usize);
impl Default for PasteLines {
    fn default() -> Self {
        Self(5)
    }
}

/// Characters from which a paste folds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PasteChars(pub usize);
impl Default for PasteChars {
    fn default() -> Self {
        Self(2000)
    }
}

/// `model:`; a plain string means `default`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelConfig {
    pub default: String,
    /// Provider id, `custom`, or `auto` (empty means `auto`).
    pub provider: String,
    pub base_url: String,
    pub api_key: String,
    /// `chat_completions`, `codex_responses` or `anthropic_messages`; empty: by provider.
    pub api_mode: String,
    pub context_length: Option<u64>,
    pub max_tokens: Option<u32>,
    pub default_headers: BTreeMap<String, String>,
}

/// `providers.<name>`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProviderConfig {
    pub base_url: String,
    pub api_key: String,
    /// Name of an environment variable.
    pub key_env: String,
    pub api_mode: String,
    pub default_model: String,
    pub models: BTreeMap<String, ProviderModelConfig>,
    pub extra_headers: BTreeMap<String, String>,
    pub stale_timeout_seconds: Option<u64>,
}

/// `providers.<name>.models.<id>`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProviderModelConfig {
    pub context_length: Option<u64>,
    pub price: PriceConfig,
    /// Scripts of this model may call tools of servers; unset: as `code_execution.mcp`.
    pub code_mode: Option<bool>,
}

/// One entry of `fallback_providers`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FallbackConfig {
    pub provider: String,
    pub model: String,
    pub base_url: String,
    pub api_key: String,
    pub key_env: String,
    pub api_mode: String,
}

/// `accounts:`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AccountsConfig {
    /// `auto`, `file` or `keyring`.
    pub keyring: String,
    #[serde(flatten)]
    pub providers: BTreeMap<String, AccountConfig>,
}

impl Default for AccountsConfig {
    fn default() -> Self {
        Self { keyring: "auto".into(), providers: BTreeMap::new() }
    }
}

/// `accounts.<provider>`: what a person knows better than the table of sign-ins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AccountConfig {
    /// `device`, `loopback_pkce` or `openrouter_pkce`; empty: the provider's own.
    pub flow: String,
    pub client_id: String,
    pub client_secret: String,
    pub device_url: String,
    pub authorize_url: String,
    pub token_url: String,
    pub scope: String,
    pub redirect_port: u16,
}

/// `agent:`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentConfig {
    /// Steps of a turn.
    pub max_turns: u32,
    pub api_max_retries: u32,
    /// `none` to `xhigh`.
    pub reasoning_effort: String,
    pub disabled_toolsets: Vec<String>,
    /// Seconds without a byte of the stream before it is given up and tried again.
    pub stream_stale_timeout: u64,
    pub local_stream_stale_timeout: u64,
}

impl Default for AgentConfig {
    fn default() -> Self {
        Self {
            max_turns: 90,
            api_max_retries: 3,
            reasoning_effort: "medium".into(),
            disabled_toolsets: Vec::new(),
            stream_stale_timeout: 180,
            local_stream_stale_timeout: 900,
        }
    }
}

/// `approvals:`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ApprovalsConfig {
    pub mode: Mode,
    /// Rules in words with `*`.
    pub deny: Vec<String>,
    /// Seconds that a question waits for its answer before the call is not run; 0: for ever.
    pub timeout: u64,
    pub containers: InContainers,
}

/// `approvals.containers`: questions about commands that run in a container of ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InContainers {
    /// As on this machine.
    #[default]
    Ask,
    /// Not asked where nothing of this machine is mounted; what is refused stays refused.
    Relax,
}

/// `sandbox:`; a plain word means `mode`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SandboxConfig {
    pub mode: SandboxMode,
    /// Whether local commands reach the network, this machine included.
    pub network: bool,
    /// Folders beside the workspace that commands may write, `~` understood.
    pub writable: Vec<String>,
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self { mode: SandboxMode::Off, network: true, writable: Vec::new() }
    }
}

/// What becomes of commands in the background when the window is closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnHangup {
    /// They go on, and the next start finds them.
    #[default]
    Keep,
    /// They end, and the next start tells of it.
    End,
}

/// Who is asked when a command waits for input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnInput {
    /// The person is told, and types into it when they like.
    #[default]
    Notify,
    /// The call returns with what is on the screen, the command goes on in the background.
    AskAgent,
    /// The person is asked by a question; the answer is typed.
    AskUser,
}

/// What local commands may write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxMode {
    /// All that the person may.
    #[default]
    Off,
    /// The workspace and folders for temporary files.
    WorkspaceWrite,
    /// Nothing that stays.
    ReadOnly,
}

impl SandboxMode {
    /// As it stands in `config.yaml`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::WorkspaceWrite => "workspace-write",
            Self::ReadOnly => "read-only",
        }
    }
}

/// `auxiliary:`, models for work beside the conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AuxiliaryConfig {
    pub approval: AuxiliaryModel,
    pub compression: AuxiliaryModel,
    pub summary: AuxiliaryModel,
}

/// `auxiliary.approval`, the model of auto mode; `auxiliary.compression`, the one that writes summaries of a conversation
/// for itself; `auxiliary.summary`, the one that says what a session was about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AuxiliaryModel {
    /// Provider id, or empty, `auto` or `main`: the session's.
    pub provider: String,
    pub model: String,
    pub base_url: String,
    pub api_key: String,
    /// Seconds; `None`: 8 for an approval, 600 for a compaction, 60 for what a session was about.
    pub timeout: Option<f64>,
}

/// `memory:`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryConfig {
    pub memory_enabled: bool,
    pub user_profile_enabled: bool,
    pub memory_char_limit: usize,
    pub user_char_limit: usize,
}

impl Default for MemoryConfig {
    fn default() -> Self {
        Self { memory_enabled: true, user_profile_enabled: true, memory_char_limit: 2200, user_char_limit: 1375 }
    }
}

/// `compression:`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CompressionConfig {
    pub enabled: bool,
    pub threshold: f64,
}

impl Default for CompressionConfig {
    fn default() -> Self {
        Self { enabled: true, threshold: 0.5 }
    }
}

/// `composer:`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ComposerConfig {
    /// `emacs` or `vi`, for every text field.
    pub mode: String,
}

impl Default for ComposerConfig {
    fn default() -> Self {
        Self { mode: "emacs".into() }
    }
}

/// `display:`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DisplayConfig {
    pub skin: String,
    /// Empty: the skin's, by background.
    pub theme: String,
    pub show_reasoning: bool,
    /// Lines of a change that stand open below its call; 0: none.
    pub diff_rows: usize,
    pub bell_on_complete: bool,
    pub mouse: bool,
    /// What Enter does while a turn runs: `queue`, `steer` or `interrupt`.
    pub busy_input_mode: String,
    /// What moves while the model works: `kaomoji` (the skin's faces), `emoji`, `unicode` or `ascii`.
    pub tui_status_indicator: String,
    pub status_bar: bool,
}

impl Default for DisplayConfig {
    fn default() -> Self {
        Self {
            skin: "default".into(),
            theme: String::new(),
            show_reasoning: true,
            diff_rows: 20,
            bell_on_complete: false,
            mouse: true,
            busy_input_mode: "queue".into(),
            tui_status_indicator: "kaomoji".into(),
            status_bar: true,
        }
    }
}

/// `tool_output:`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolOutputConfig {
    /// Tokens of one result for the model.
    pub max_tokens: usize,
    /// The same for tools by name or toolset, in place of `max_tokens`.
    pub tools: BTreeMap<String, usize>,
    /// The same for models by window: from so many tokens on, in place of `max_tokens`.
    pub windows: BTreeMap<String, usize>,
    /// Characters of one result for the model, whatever its tokens.
    pub max_bytes: usize,
    pub max_lines: usize,
    pub max_line_length: usize,
}

impl Default for ToolOutputConfig {
    fn default() -> Self {
        Self {
            max_tokens: 4000,
            tools: BTreeMap::new(),
            windows: BTreeMap::new(),
            max_bytes: 50_000,
            max_lines: 2000,
            max_line_length: 2000,
        }
    }
}

impl ToolOutputConfig {
    /// Percent of the window that one result may take unless it is said by name.
    const WINDOW_PERCENT: u64 = 15;
    /// Never less than this.
    const LEAST_TOKENS: usize = 500;

    /// Tokens of one result of this tool, for a model with this window.
    pub fn tokens(&self, tool: &str, toolset: &str, window: Option<u64>) -> usize {
        if let Some(tokens) = self.tools.get(tool).or_else(|| self.tools.get(toolset)) {
            return *tokens;
        }
        let fits = |(least, tokens): (&String, &usize)| Some((least.trim().parse().ok()?, *tokens));
        let by_window = self.windows.iter().filter_map(fits).filter(|(least, _): &(u64, usize)| Some(*least) <= window);
        if let Some((_, tokens)) = by_window.max() {
            return tokens;
        }
        let share = window.map_or(usize::MAX, |window| {
            usize::try_from(window / 100 * Self::WINDOW_PERCENT).unwrap_or(usize::MAX).max(Self::LEAST_TOKENS)
        });
        self.max_tokens.min(share)
    }
}

/// `code_execution:`: scripts that call tools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CodeExecutionConfig {
    pub mode: CodeMode,
    /// Seconds that a script may take, not counting the time in which a person is asked.
    pub timeout: u64,
    /// Calls that one script may make.
    pub max_tool_calls: usize,
    /// Tools of MCP servers and those behind tool search can be called from scripts.
    pub mcp: bool,
}

/// Where a script runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CodeMode {
    /// In the folder of the session, with the Python of its environment.
    #[default]
    Project,
    /// In a folder of its own, with the Python of the system.
    Strict,
}

impl Default for CodeExecutionConfig {
    fn default() -> Self {
        Self { mode: CodeMode::Project, timeout: 120, max_tool_calls: 50, mcp: false }
    }
}

/// `tools:`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolsConfig {
    /// Tools and toolsets whose schemas stand in every request, though they could be searched for.
    pub pinned: Vec<String>,
    pub tool_search: ToolSearchConfig,
}

/// `tools.tool_search:`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolSearchConfig {
    /// `auto`, `on` or `off`.
    pub enabled: String,
    pub search_default_limit: usize,
    pub max_search_limit: usize,
}

impl Default for ToolSearchConfig {
    fn default() -> Self {
        Self { enabled: "auto".into(), search_default_limit: 5, max_search_limit: 20 }
    }
}

/// `checks:`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChecksConfig {
    /// File extension to the command that runs after such a file was edited; `{file}` is its path.
    pub commands: BTreeMap<String, String>,
    /// Seconds.
    pub timeout: u64,
}

impl Default for ChecksConfig {
    fn default() -> Self {
        Self { commands: BTreeMap::new(), timeout: 20 }
    }
}

/// `skills:`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SkillsConfig {
    pub external_dirs: Vec<String>,
    pub disabled: Vec<String>,
}

/// `plugins:`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PluginsConfig {
    /// Names of enabled plugins of the home folder.
    pub enabled: Vec<String>,
    /// Names that never run, whatever else enables them.
    pub disabled: Vec<String>,
    /// What a plugin is told at its start, by name.
    pub config: BTreeMap<String, serde_json::Value>,
}

/// `security:`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SecurityConfig {
    pub redact_secrets: bool,
}

impl Default for SecurityConfig {
    fn default() -> Self {
        Self { redact_secrets: true }
    }
}

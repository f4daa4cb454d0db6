//! The table of keys, grouped as in [`Config`](super::Config), and the words that some of them may have.

use super::super::mcp::{ELICITATIONS, TRANSPORTS};
use super::KeySpec;
use super::Kind::{self, Bool, Choice, Integer, Number, Secret, SecretMap, Text, TextList, TextMap, Tree};
use super::Project::{self, May, Never, Tighten, Trusted};

/// Values of `*.api_mode`.
pub const API_MODES: &[&str] = &["", "chat_completions", "codex_responses", "anthropic_messages"];
/// Values of `agent.reasoning_effort`.
pub const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh"];

/// Values of `mcp_servers.*.auth`.
const AUTHS: &[&str] = &["", "none", "oauth", "oauth2"];
/// Values of `credential_pool_strategies.*`.
pub const STRATEGIES: &[&str] = &["fill_first", "round_robin", "random", "least_used"];
/// Values of `accounts.keyring`.
const KEYRINGS: &[&str] = &["auto", "file", "keyring"];
/// Values of `accounts.*.flow`.
const FLOWS: &[&str] = &["", "device", "loopback_pkce", "openrouter_pkce"];
/// Values of `tools.tool_search.enabled`.
pub const SEARCH: &[&str] = &["auto", "on", "off"];
/// Values of `terminal.on_input`.
const ON_INPUT: &[&str] = &["notify", "ask-agent", "ask-user"];
/// Values of `terminal.on_hangup`.
const ON_HANGUP: &[&str] = &["keep", "end"];
/// Values of `approvals.containers`.
pub const CONTAINERS: &[&str] = &["ask", "relax"];
/// Values of `terminal.backend`.
pub const BACKENDS: &[&str] =
    &["local", "ssh", "docker", "podman", "singularity", "apptainer", "kubernetes", "slurm", "modal", "daytona"];
/// Values of `terminal.modal_mode`.
const MODAL_MODES: &[&str] = &["auto", "direct"];
/// Values of `sandbox.mode`, the loosest first.
pub const SANDBOX: &[&str] = &["off", "workspace-write", "read-only"];
/// Values of `models.small_profile`.
const SMALL_PROFILES: &[&str] = &["auto", "on", "off"];
/// Values of `composer.mode`.
pub const EDITING: &[&str] = &["emacs", "vi"];
/// Values of `display.busy_input_mode`.
pub const BUSY: &[&str] = &["queue", "steer", "interrupt"];
/// Values of `display.tui_status_indicator`.
pub const INDICATORS: &[&str] = &["kaomoji", "emoji", "unicode", "ascii"];

const fn key(path: &'static str, kind: Kind, project: Project, doc: &'static str) -> KeySpec {
    KeySpec { path, kind, project, doc }
}

/// Every key, grouped as in [`Config`](super::Config).
pub const KEYS: &[KeySpec] = &[
    key("model.default", Text, May, "model of a new session; `model: NAME` is the short form"),
    key("model.provider", Text, Never, "provider id, `custom`, or `auto`: the first one with a key"),
    key("model.base_url", Text, Never, "address of a custom server, with or without `/v1`"),
    key("model.api_key", Secret, Never, "API key; prefer `.env` or `${NAME}`"),
    key("model.api_mode", Choice(API_MODES), Never, "wire API; empty: by provider"),
    key(
        "model.context_length",
        Integer(1024, 100_000_000),
        May,
        "context window in tokens, if the server does not report it",
    ),
    key("model.max_tokens", Integer(1, 10_000_000), May, "maximum tokens per reply"),
    key("model.default_headers", TextMap, Never, "extra headers for each request"),
    key("providers.*.base_url", Text, Never, "address of this provider"),
    key("providers.*.api_key", Secret, Never, "API key; prefer `key_env`"),
    key("providers.*.key_env", Text, Never, "environment variable that holds the key"),
    key("providers.*.api_mode", Choice(API_MODES), Never, "wire API of this provider"),
    key("providers.*.default_model", Text, Never, "default model"),
    key(
        "providers.*.models.*.context_length",
        Integer(1024, 100_000_000),
        Never,
        "context window of one model in tokens",
    ),
    key("providers.*.extra_headers", TextMap, Never, "extra headers for each request to this provider"),
    key(
        "providers.*.stale_timeout_seconds",
        Integer(1, 86_400),
        Never,
        "seconds of silence on a stream before a retry",
    ),
    key("fallback_providers.*.provider", Text, Never, "provider to try when the first one fails"),
    key("fallback_providers.*.model", Text, Never, "its model"),
    key("fallback_providers.*.base_url", Text, Never, "its address, for a custom server"),
    key("fallback_providers.*.api_key", Secret, Never, "its API key; prefer `key_env`"),
    key("fallback_providers.*.key_env", Text, Never, "environment variable that holds its key"),
    key("fallback_providers.*.api_mode", Choice(API_MODES), Never, "its wire API"),
    key("models.mirror", TextList, Never, "hosts to fetch local models from first, laid out as a hub"),
    key("models.dir", Text, Never, "folder of local models; empty: `models` in the home folder"),
    key("models.engine", Text, Never, "path of a llama-server; empty: the installed one, else the fetched one"),
    key("models.context", Integer(0, 10_000_000), Never, "context window of local models in tokens; 0: what fits"),
    key("models.idle_minutes", Integer(0, 10_080), Never, "minutes until an unused model frees its memory; 0: never"),
    key("models.small_profile", Choice(SMALL_PROFILES), Never, "fewer tools and shorter texts for small models"),
    key("models.self_test", Bool, Never, "test a newly chosen model with two short requests"),
    key(
        "credential_pool_strategies.*",
        Choice(STRATEGIES),
        Never,
        "which of several keys of a provider is used; `hermes auth list` shows them",
    ),
    key("accounts.keyring", Choice(KEYRINGS), Never, "where tokens are kept: `docs/MODELS.md`"),
    key("accounts.*.flow", Choice(FLOWS), Never, "how you sign in to your own server"),
    key("accounts.*.client_id", Text, Never, "OAuth client that you registered with this provider"),
    key("accounts.*.client_secret", Secret, Never, "its secret, if the provider gave one; prefer `${NAME}`"),
    key("accounts.*.device_url", Text, Never, "address that gives device codes"),
    key("accounts.*.authorize_url", Text, Never, "address that the browser is sent to"),
    key("accounts.*.token_url", Text, Never, "address that gives tokens"),
    key("accounts.*.scope", Text, Never, "scopes to ask for, apart by blanks"),
    key("accounts.*.redirect_port", Integer(0, 65_535), Never, "port that the browser comes back to; 0: any free one"),
    key("toolsets", TextList, Never, "toolsets available to the model; unset: all"),
    key("custom_toolsets.*", TextList, Never, "custom toolset: tools and toolsets"),
    key("tools.pinned", TextList, Never, "tools and toolsets always included in full, without tool search"),
    key(
        "tools.tool_search.enabled",
        Choice(SEARCH),
        Never,
        "`auto`: the model searches for server and plugin tools; `off`: every request includes them all",
    ),
    key("tools.tool_search.search_default_limit", Integer(1, 100), Never, "default number of search results"),
    key("tools.tool_search.max_search_limit", Integer(1, 100), Never, "maximum number of search results"),
    key("agent.max_turns", Integer(1, 100_000), May, "steps per turn before it pauses"),
    key("agent.api_max_retries", Integer(0, 100), May, "retries of a failed model call"),
    key("agent.reasoning_effort", Choice(EFFORTS), May, "reasoning effort"),
    key("agent.disabled_toolsets", TextList, Tighten, "toolsets the model never sees"),
    key("agent.stream_stale_timeout", Integer(1, 86_400), May, "seconds of silence on a stream before a retry"),
    key("agent.local_stream_stale_timeout", Integer(1, 86_400), May, "the same for servers on this machine"),
    key("terminal.backend", Text, Never, "where commands run: `docs/BACKENDS.md`"),
    key("terminal.cwd", Text, May, "working folder; `.` is where the program was started"),
    key("terminal.timeout", Integer(1, 86_400), May, "timeout of a foreground command in seconds"),
    key(
        "terminal.max_foreground_timeout",
        Integer(1, 86_400),
        May,
        "longest timeout the model may request, in seconds",
    ),
    key("terminal.env_passthrough", TextList, Never, "variables passed to commands even if they look like secrets"),
    key("terminal.daemon_term_grace_seconds", Number(0.0, 600.0), May, "seconds between INT, TERM and KILL"),
    key("terminal.max_processes", Integer(1, 10_000), May, "maximum number of tracked processes, exited ones included"),
    key(
        "terminal.on_input",
        Choice(ON_INPUT),
        Never,
        "when a command waits for input: `notify` you, `ask-agent` to answer, or `ask-user`",
    ),
    key("terminal.on_hangup", Choice(ON_HANGUP), Never, "when the window closes: `keep` or `end` background commands"),
    key("terminal.shell_init_files", TextList, Never, "files to source before commands, instead of the default ones"),
    key(
        "terminal.lifetime_seconds",
        Integer(10, 604_800),
        Never,
        "idle seconds before a container, sandbox or job ends",
    ),
    key("terminal.ssh_host", Text, Never, "host for `ssh`, or an alias from your ssh config"),
    key("terminal.ssh_user", Text, Never, "user; empty: from your ssh config"),
    key("terminal.ssh_port", Integer(0, 65_535), Never, "port; 0: from your ssh config"),
    key("terminal.ssh_key", Text, Never, "key file; empty: from your ssh config"),
    key("terminal.ssh_extra_args", TextList, Never, "extra arguments for `ssh`, before the host"),
    key("terminal.docker_image", Text, Never, "image for `docker` and `podman`"),
    key("terminal.docker_forward_env", TextList, Never, "local variables passed to commands in it"),
    key("terminal.docker_env", SecretMap, Never, "variables set for commands in it"),
    key("terminal.docker_volumes", TextList, Never, "local folders to mount: `/here:/there[:ro]`"),
    key("terminal.docker_extra_args", TextList, Never, "extra arguments for `docker run`"),
    key("terminal.docker_mount_cwd_to_workspace", Bool, Never, "mount the working folder at `/workspace`"),
    key("terminal.docker_run_as_host_user", Bool, Never, "run commands with your user and group id"),
    key("terminal.docker_network", Bool, Never, "allow network access"),
    key("terminal.docker_persist_across_processes", Bool, Never, "reuse the container in the next run"),
    key("terminal.docker_orphan_reaper", Bool, Never, "remove our stopped containers after twice their lifetime"),
    key("terminal.docker_program", Text, Never, "program to use instead of `docker` or `podman`"),
    key("terminal.container_cpu", Number(0.0, 4096.0), Never, "CPUs of a container; 0: unlimited"),
    key("terminal.container_memory", Integer(0, 100_000_000), Never, "memory in MB; 0: unlimited"),
    key("terminal.container_disk", Integer(0, 1_000_000_000), Never, "disk in MB, where supported; 0: unlimited"),
    key(
        "terminal.container_persistent",
        Bool,
        Never,
        "keep `/root` and `/workspace`, or a sandbox's disk, for the next run",
    ),
    key("terminal.singularity_image", Text, Never, "image for `singularity` and `apptainer`"),
    key("terminal.kubernetes_pod", Text, Never, "existing pod; empty: create one"),
    key("terminal.kubernetes_container", Text, Never, "container in the pod; empty: the first"),
    key("terminal.kubernetes_namespace", Text, Never, "namespace; empty: from the context"),
    key("terminal.kubernetes_context", Text, Never, "`kubectl` context; empty: the current one"),
    key("terminal.kubernetes_image", Text, Never, "image for a created pod"),
    key("terminal.slurm_args", TextList, Never, "extra arguments for `salloc`: `--partition=short`"),
    key(
        "terminal.slurm_minutes",
        Integer(0, 525_600),
        Never,
        "time limit of an allocation in minutes; 0: the partition's",
    ),
    key("terminal.modal_image", Text, Never, "image for a Modal sandbox"),
    key("terminal.modal_mode", Choice(MODAL_MODES), Never, "ignored: both use your own token"),
    key("terminal.daytona_image", Text, Never, "image for a Daytona sandbox; empty: the service's default"),
    key(
        "approvals.mode",
        Kind::Mode,
        Tighten,
        "`plan` is read-only, `review` asks about each edit, `ask` about risks, `auto` lets a model approve low risks, `yolo` hardly asks; `manual`, `smart`, `off` are older words for the last three",
    ),
    key("approvals.deny", TextList, Tighten, "commands that never run; `*` matches anything"),
    key(
        "approvals.timeout",
        Integer(0, 604_800),
        Never,
        "seconds before an unanswered approval counts as no; 0: never",
    ),
    key(
        "approvals.containers",
        Choice(CONTAINERS),
        Never,
        "`relax`: do not ask in containers without local mounts; refusals stay",
    ),
    key(
        "sandbox.mode",
        Choice(SANDBOX),
        Tighten,
        "sandbox for local commands: `off`, `workspace-write` or `read-only`; Linux only; short form: `sandbox: WORD`",
    ),
    key("sandbox.network", Bool, Tighten, "`off`: no network for local commands, localhost included; Linux only"),
    key("sandbox.writable", TextList, Never, "extra folders writable with `workspace-write`"),
    key("auxiliary.approval.provider", Text, Never, "provider for auto mode; empty: the session's model"),
    key("auxiliary.approval.model", Text, Never, "its model"),
    key("auxiliary.approval.base_url", Text, Never, "its address, for a custom server"),
    key("auxiliary.approval.api_key", Secret, Never, "its API key; prefer `.env`"),
    key("auxiliary.approval.timeout", Number(0.1, 120.0), Never, "seconds before asking you instead; 8 if unset"),
    key("auxiliary.compression.provider", Text, Never, "provider for summaries; empty: the session's model"),
    key("auxiliary.compression.model", Text, Never, "its model"),
    key("auxiliary.compression.base_url", Text, Never, "its address, for a custom server"),
    key("auxiliary.compression.api_key", Secret, Never, "its API key; prefer `.env`"),
    key("auxiliary.compression.timeout", Number(0.1, 86_400.0), Never, "seconds for one summary; 600 if unset"),
    key(
        "auxiliary.summary.provider",
        Text,
        Never,
        "provider for what sessions were about; `main`: the session's model; empty: an extract, without a model",
    ),
    key("auxiliary.summary.model", Text, Never, "its model"),
    key("auxiliary.summary.base_url", Text, Never, "its address, for a custom server"),
    key("auxiliary.summary.api_key", Secret, Never, "its API key; prefer `.env`"),
    key("auxiliary.summary.timeout", Number(0.1, 600.0), Never, "seconds before an extract stands in; 60 if unset"),
    key("command_allowlist", TextList, Never, "classes of commands that run without asking"),
    key("memory.memory_enabled", Bool, May, "include the agent's notes in the prompt"),
    key("memory.user_profile_enabled", Bool, May, "include your profile in the prompt"),
    key("memory.memory_char_limit", Integer(0, 1_000_000), May, "maximum size of the notes in characters"),
    key("memory.user_char_limit", Integer(0, 1_000_000), May, "maximum size of the profile in characters"),
    key("compression.enabled", Bool, May, "compact old history as the window fills"),
    key(
        "compression.threshold",
        Number(0.05, 1.0),
        May,
        "window usage at which to compact; windows below 512K: at least 0.75",
    ),
    key("composer.mode", Choice(EDITING), May, "editing keys of every text field: `emacs` or `vi`"),
    key("display.skin", Text, May, "skin; `hermes skins` lists them"),
    key("display.theme", Text, May, "theme; empty: the skin's, by background"),
    key("display.show_reasoning", Bool, May, "show reasoning, folded"),
    key("display.diff_rows", Integer(0, 1_000), May, "diff lines shown expanded; 0: none"),
    key("display.bell_on_complete", Bool, May, "ring the bell when a turn ends and the window is unfocused"),
    key("display.mouse", Bool, May, "capture the mouse; hold Shift for the terminal's selection"),
    key("display.busy_input_mode", Choice(BUSY), May, "what Enter does while a turn runs"),
    key("display.tui_status_indicator", Choice(INDICATORS), May, "activity indicator; `kaomoji`: faces"),
    key("display.status_bar", Bool, May, "show the status bar"),
    key("tool_output.max_tokens", Integer(200, 1_000_000), May, "maximum tokens of one tool result"),
    key("tool_output.tools.*", Integer(200, 1_000_000), May, "the same, per tool or toolset"),
    key(
        "tool_output.windows.*",
        Integer(200, 1_000_000),
        May,
        "the same, for models with at least this window in tokens",
    ),
    key("tool_output.max_bytes", Integer(1000, 10_000_000), May, "maximum characters of one tool result"),
    key(
        "checks.commands",
        TextMap,
        Never,
        "linter or formatter to run after an edit, per file extension; `{file}` is the file",
    ),
    key("checks.timeout", Integer(1, 600), May, "timeout of such a command in seconds"),
    key(
        "elsewhere.import_python",
        Bool,
        Never,
        "at the first start, bring over the sessions of a Python Hermes in the same home",
    ),
    key(
        "context.total_tokens",
        Integer(1, 10_000_000),
        May,
        "tokens that the layers of the prompt may take together; unset: a quarter of the window",
    ),
    key(
        "context.identity_tokens",
        Integer(1, 10_000_000),
        May,
        "tokens of `SOUL.md` and the working rules; unset: by the window, as the layers below",
    ),
    key("context.project_tokens", Integer(1, 10_000_000), May, "tokens of context files (`AGENTS.md` and its kin)"),
    key("context.skills_tokens", Integer(1, 10_000_000), May, "tokens of the list of skills"),
    key("context.profile_tokens", Integer(1, 10_000_000), May, "tokens of `USER.md`"),
    key("context.learnings_tokens", Integer(1, 10_000_000), May, "tokens of learnings"),
    key("context.memory_tokens", Integer(1, 10_000_000), May, "tokens of `MEMORY.md`"),
    key(
        "context.runtime_tokens",
        Integer(1, 10_000_000),
        May,
        "tokens of the folder, git status, processes and plan that go with a prompt",
    ),
    key(
        "checkpoints.baseline_bytes",
        Integer(0, 1_000_000_000_000),
        Never,
        "bytes of the working folder that are saved, so that what commands change can be undone; 0: none",
    ),
    key(
        "checkpoints.budget_bytes",
        Integer(10_000_000, 10_000_000_000_000),
        Never,
        "bytes that saved files may take together; the oldest are deleted first",
    ),
    key(
        "checkpoints.tell_changes",
        Bool,
        May,
        "tell the model which files, branches and commits changed outside its session",
    ),
    key(
        "sessions.rest_minutes",
        Number(0.0, 1_440.0),
        Never,
        "minutes after the last turn until a session is summarized; 0: only when it is left",
    ),
    key("sessions.trash_days", Integer(0, 3_650), Never, "days until a session in the trash is deleted; 0: never"),
    key(
        "sessions.prune_after_days",
        Integer(0, 36_500),
        Never,
        "days after its last use when a session is deleted, at a start of the screen: never a pinned or an open one, or one with text that was not sent; 0: never",
    ),
    key(
        "sessions.budget_bytes",
        Integer(0, 100_000_000_000_000),
        Never,
        "bytes of the database and the journals above which Hermes warns and deletes old journals, backups and spilled output, never a conversation; 0: no limit",
    ),
    key("recordings.enabled", Bool, Never, "record what terminals show, for `/replay`"),
    key(
        "recordings.terminal_bytes",
        Integer(65_536, 1_000_000_000),
        Never,
        "bytes of one recorded terminal; the oldest screens are deleted first",
    ),
    key(
        "recordings.budget_bytes",
        Integer(1_048_576, 1_000_000_000_000),
        Never,
        "bytes that all recordings may take together; the oldest are deleted first",
    ),
    key("tool_output.max_lines", Integer(10, 1_000_000), May, "maximum lines of a file per read"),
    key("tool_output.max_line_length", Integer(80, 1_000_000), May, "maximum characters per line"),
    key("skills.external_dirs", TextList, Never, "extra skill folders"),
    key("skills.disabled", TextList, Tighten, "skills to hide"),
    key("security.redact_secrets", Bool, Never, "mask secrets before the model and the log see them"),
    key("hooks", Tree, Trusted, "commands that run at events: `docs/PLUGINS.md`"),
    key("hooks_auto_accept", Bool, Never, "run the hooks in this file without approval"),
    key("plugins.enabled", TextList, Never, "enabled plugins of the home folder"),
    key("plugins.disabled", TextList, Tighten, "plugins that never run"),
    key("plugins.config.*", Tree, Never, "settings passed to a plugin at startup"),
    key("mcp_servers.*.enabled", Bool, Never, "start this MCP server"),
    key("mcp_servers.*.command", Text, Never, "program that speaks MCP over stdio"),
    key("mcp_servers.*.args", TextList, Never, "its arguments"),
    key("mcp_servers.*.env", SecretMap, Never, "environment variables, in addition to PATH, HOME and the like"),
    key("mcp_servers.*.cwd", Text, Never, "working folder; empty: the session's"),
    key("mcp_servers.*.url", Text, Never, "address of an HTTP server"),
    key("mcp_servers.*.headers", SecretMap, Never, "extra headers for each request"),
    key("mcp_servers.*.transport", Choice(TRANSPORTS), Never, "`stdio` or `http`; empty: by `command` or `url`"),
    key("mcp_servers.*.timeout", Number(0.1, 86_400.0), Never, "call timeout in seconds, reset by progress"),
    key("mcp_servers.*.connect_timeout", Number(0.1, 3_600.0), Never, "connection timeout in seconds"),
    key("mcp_servers.*.keepalive_interval", Number(0.0, 86_400.0), Never, "seconds between pings, at least 5"),
    key("mcp_servers.*.idle_timeout_seconds", Number(0.0, 1e7), Never, "idle seconds before it is stopped; 0: never"),
    key("mcp_servers.*.max_lifetime_seconds", Number(0.0, 1e7), Never, "seconds before it is restarted; 0: never"),
    key("mcp_servers.*.auth", Choice(AUTHS), Never, "`oauth`: log in with `hermes mcp login NAME`"),
    key("mcp_servers.*.oauth.client_id", Text, Never, "client registered by hand; empty: registered automatically"),
    key("mcp_servers.*.oauth.client_secret", Secret, Never, "its secret"),
    key("mcp_servers.*.oauth.client_metadata_url", Text, Never, "URL of the client metadata document"),
    key("mcp_servers.*.oauth.scope", Text, Never, "scopes to request; empty: the server's"),
    key("mcp_servers.*.oauth.redirect_port", Integer(0, 65_535), Never, "callback port; 0: any"),
    key("mcp_servers.*.oauth.client_name", Text, Never, "client name shown by the server"),
    key("mcp_servers.*.client_cert", Text, Never, "PEM file with a client certificate"),
    key("mcp_servers.*.client_key", Text, Never, "PEM file with its key"),
    key("mcp_servers.*.ssl_verify", Text, Never, "`false` skips verification; a PEM file is the trusted CA"),
    key("mcp_servers.*.tools.include", TextList, Never, "tools to include, with `*`; empty: all"),
    key("mcp_servers.*.tools.exclude", TextList, Never, "tools to exclude, with `*`"),
    key("mcp_servers.*.tools.resources", Bool, Never, "add tools to list and read its resources"),
    key("mcp_servers.*.tools.prompts", Bool, Never, "add tools to list and get its prompts"),
    key("mcp_servers.*.supports_parallel_tool_calls", Bool, Never, "allow parallel calls"),
    key(
        "mcp_servers.*.roots",
        Bool,
        Never,
        "share the session's folder as a root; `false` keeps a file server to its own",
    ),
    key("mcp_servers.*.elicitation", Choice(ELICITATIONS), Never, "what to do when it asks for input"),
    key("mcp_servers.*.sampling.enabled", Bool, Never, "allow sampling requests; each one asks you"),
    key("mcp_servers.*.sampling.model", Text, Never, "model to use; empty: the session's"),
    key("mcp_servers.*.sampling.max_tokens_cap", Integer(1, 1_000_000), Never, "maximum tokens per answer"),
    key("mcp_servers.*.sampling.timeout", Number(0.1, 3_600.0), Never, "timeout of one answer in seconds"),
    key("mcp_servers.*.sampling.max_rpm", Integer(0, 10_000), Never, "maximum answers per minute"),
    key("mcp_servers.*.sampling.allowed_models", TextList, Never, "models it may request by name"),
    key("mcp_discovery_timeout", Number(0.0, 120.0), May, "seconds the first turn waits for connecting servers"),
    key(
        "context_file_max_chars",
        Integer(100, 10_000_000),
        May,
        "maximum size of a context file; unset: by the model's window",
    ),
    key("paste_collapse_threshold", Integer(0, 1_000_000), May, "fold pastes from this many lines"),
    key("paste_collapse_char_threshold", Integer(0, 100_000_000), May, "fold pastes from this many characters"),
];

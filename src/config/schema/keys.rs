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
    key("model.api_key", Secret, Never, "a key; better put it into `.env`, or write `${NAME}`"),
    key("model.api_mode", Choice(API_MODES), Never, "wire dialect; empty: by provider"),
    key("model.context_length", Integer(1024, 100_000_000), May, "window in tokens, when the server does not say"),
    key("model.max_tokens", Integer(1, 10_000_000), May, "longest reply in tokens"),
    key("model.default_headers", TextMap, Never, "headers added to each request"),
    key("providers.*.base_url", Text, Never, "address of this provider"),
    key("providers.*.api_key", Secret, Never, "a key; better `key_env`"),
    key("providers.*.key_env", Text, Never, "environment variable that holds the key"),
    key("providers.*.api_mode", Choice(API_MODES), Never, "wire dialect of this provider"),
    key("providers.*.default_model", Text, Never, "model to take when none is named"),
    key("providers.*.models.*.context_length", Integer(1024, 100_000_000), Never, "window of one model in tokens"),
    key("providers.*.extra_headers", TextMap, Never, "headers added to each request of this provider"),
    key("providers.*.stale_timeout_seconds", Integer(1, 86_400), Never, "silence on a stream before it is tried again"),
    key("fallback_providers.*.provider", Text, Never, "provider to try when the first one fails"),
    key("fallback_providers.*.model", Text, Never, "its model"),
    key("fallback_providers.*.base_url", Text, Never, "its address, for a custom server"),
    key("fallback_providers.*.api_key", Secret, Never, "its key; better `key_env`"),
    key("fallback_providers.*.key_env", Text, Never, "environment variable that holds its key"),
    key("fallback_providers.*.api_mode", Choice(API_MODES), Never, "its wire dialect"),
    key("toolsets", TextList, Never, "toolsets the model gets; unset: all"),
    key("custom_toolsets.*", TextList, Never, "a toolset of your own: tools and toolsets"),
    key(
        "tools.pinned",
        TextList,
        Never,
        "tools and toolsets that the model sees in full, though it could search for them",
    ),
    key(
        "tools.tool_search.enabled",
        Choice(SEARCH),
        Never,
        "`auto`: tools of servers and plugins are searched for; `off`: all stand in every request",
    ),
    key("tools.tool_search.search_default_limit", Integer(1, 100), Never, "tools that a search finds"),
    key("tools.tool_search.max_search_limit", Integer(1, 100), Never, "most tools that a search may find"),
    key("agent.max_turns", Integer(1, 100_000), May, "steps of a turn before it pauses"),
    key("agent.api_max_retries", Integer(0, 100), May, "tries after a failed model call"),
    key("agent.reasoning_effort", Choice(EFFORTS), May, "how hard reasoning models think"),
    key("agent.disabled_toolsets", TextList, Tighten, "toolsets the model never gets"),
    key("agent.stream_stale_timeout", Integer(1, 86_400), May, "seconds of silence before a stream is tried again"),
    key("agent.local_stream_stale_timeout", Integer(1, 86_400), May, "the same for servers on this machine"),
    key("terminal.backend", Text, Never, "where commands and files are: `docs/BACKENDS.md`"),
    key("terminal.cwd", Text, May, "working folder; `.` is where the program was started"),
    key("terminal.timeout", Integer(1, 86_400), May, "seconds before a foreground command is ended"),
    key("terminal.max_foreground_timeout", Integer(1, 86_400), May, "most seconds the model may ask for"),
    key("terminal.env_passthrough", TextList, Never, "variables that commands see though they look like secrets"),
    key("terminal.daemon_term_grace_seconds", Number(0.0, 600.0), May, "seconds between INT, TERM and KILL"),
    key("terminal.max_processes", Integer(1, 10_000), May, "processes that are tracked at most, ended ones included"),
    key(
        "terminal.on_input",
        Choice(ON_INPUT),
        Never,
        "a command waits for input: `notify` tells you, `ask-agent` hands it to the model, `ask-user` asks you",
    ),
    key(
        "terminal.on_hangup",
        Choice(ON_HANGUP),
        Never,
        "the window is closed: `keep` lets commands in the background go on, `end` ends them",
    ),
    key("terminal.shell_init_files", TextList, Never, "files sourced before commands, instead of the usual ones"),
    key(
        "terminal.lifetime_seconds",
        Integer(10, 604_800),
        Never,
        "seconds that a container, sandbox or job may be idle",
    ),
    key("terminal.ssh_host", Text, Never, "host of `ssh`, also a name of your ssh configuration"),
    key("terminal.ssh_user", Text, Never, "user there; empty: as your ssh configuration has it"),
    key("terminal.ssh_port", Integer(0, 65_535), Never, "port there; 0: as your ssh configuration has it"),
    key("terminal.ssh_key", Text, Never, "file with a key; empty: those of your ssh configuration"),
    key("terminal.ssh_extra_args", TextList, Never, "more words for `ssh`, before the host"),
    key("terminal.docker_image", Text, Never, "image of `docker` and `podman`"),
    key("terminal.docker_forward_env", TextList, Never, "variables of this machine that commands in it see"),
    key("terminal.docker_env", SecretMap, Never, "variables that commands in it see"),
    key("terminal.docker_volumes", TextList, Never, "folders of this machine in it: `/here:/there[:ro]`"),
    key("terminal.docker_extra_args", TextList, Never, "more words for `docker run`"),
    key("terminal.docker_mount_cwd_to_workspace", Bool, Never, "the working folder is `/workspace` in it"),
    key("terminal.docker_run_as_host_user", Bool, Never, "commands in it have your numbers of user and group"),
    key("terminal.docker_network", Bool, Never, "commands in it reach the network"),
    key("terminal.docker_persist_across_processes", Bool, Never, "the container is found again by the next run"),
    key(
        "terminal.docker_orphan_reaper",
        Bool,
        Never,
        "stopped containers of ours are removed after twice their lifetime",
    ),
    key("terminal.docker_program", Text, Never, "program instead of `docker` or `podman`"),
    key("terminal.container_cpu", Number(0.0, 4096.0), Never, "processors of a container; 0: no bound"),
    key("terminal.container_memory", Integer(0, 100_000_000), Never, "its memory in MB; 0: no bound"),
    key(
        "terminal.container_disk",
        Integer(0, 1_000_000_000),
        Never,
        "its disk in MB, where that can be bound; 0: no bound",
    ),
    key(
        "terminal.container_persistent",
        Bool,
        Never,
        "what is in `/root` and `/workspace`, or on the disk of a sandbox, stays for the next run",
    ),
    key("terminal.singularity_image", Text, Never, "image of `singularity` and `apptainer`"),
    key("terminal.kubernetes_pod", Text, Never, "an existing pod; empty: one of our own"),
    key("terminal.kubernetes_container", Text, Never, "container of that pod; empty: the first"),
    key("terminal.kubernetes_namespace", Text, Never, "namespace; empty: that of the context"),
    key("terminal.kubernetes_context", Text, Never, "context of `kubectl`; empty: the current one"),
    key("terminal.kubernetes_image", Text, Never, "image of a pod of our own"),
    key("terminal.slurm_args", TextList, Never, "more words for `salloc`: `--partition=short`"),
    key(
        "terminal.slurm_minutes",
        Integer(0, 525_600),
        Never,
        "minutes that an allocation lasts at most; 0: as its partition says",
    ),
    key("terminal.modal_image", Text, Never, "image of a sandbox of `modal`"),
    key("terminal.modal_mode", Choice(MODAL_MODES), Never, "both use your own token; the service decides nothing else"),
    key("terminal.daytona_image", Text, Never, "image of a sandbox of `daytona`; empty: what the service gives"),
    key("approvals.mode", Kind::Mode, Tighten, "`manual` asks, `smart` lets low risks pass, `off` never asks"),
    key("approvals.deny", TextList, Tighten, "commands that never run, in words with `*`"),
    key(
        "approvals.timeout",
        Integer(0, 604_800),
        Never,
        "seconds a question waits before it counts as no; 0: for ever",
    ),
    key(
        "approvals.containers",
        Choice(CONTAINERS),
        Never,
        "`relax`: no questions about commands in a container without folders of this machine; refusals stay",
    ),
    key(
        "sandbox.mode",
        Choice(SANDBOX),
        Tighten,
        "what local commands may write: all (`off`), `workspace-write`, or nothing that stays (`read-only`); Linux; `sandbox: WORD` is the short form",
    ),
    key("sandbox.network", Bool, Tighten, "`off`: local commands reach no network, this machine included; Linux"),
    key("sandbox.writable", TextList, Never, "folders beside the workspace that `workspace-write` leaves open"),
    key("auxiliary.approval.provider", Text, Never, "provider of the model of smart mode; empty: the session's model"),
    key("auxiliary.approval.model", Text, Never, "its model"),
    key("auxiliary.approval.base_url", Text, Never, "its address, for a custom server"),
    key("auxiliary.approval.api_key", Secret, Never, "its key; better in `.env`"),
    key("auxiliary.approval.timeout", Number(0.1, 120.0), Never, "seconds until you are asked instead"),
    key("command_allowlist", TextList, Never, "classes of commands that run without a question"),
    key("memory.memory_enabled", Bool, May, "put the agent's notes into the prompt"),
    key("memory.user_profile_enabled", Bool, May, "put what is known about you into the prompt"),
    key("memory.memory_char_limit", Integer(0, 1_000_000), May, "size of the notes in characters"),
    key("memory.user_char_limit", Integer(0, 1_000_000), May, "size of the profile in characters"),
    key("compression.enabled", Bool, May, "shorten old history when the window fills"),
    key("compression.threshold", Number(0.05, 1.0), May, "share of the window at which that happens"),
    key("composer.mode", Choice(EDITING), May, "editing keys of every text field: `emacs` or `vi`"),
    key("display.skin", Text, May, "character and accents; `hermes skins` lists them"),
    key("display.theme", Text, May, "palette; empty: the skin's, by background"),
    key("display.show_reasoning", Bool, May, "show what the model thinks, folded"),
    key("display.diff_rows", Integer(0, 1_000), May, "lines of a change that are shown open; 0: none"),
    key("display.bell_on_complete", Bool, May, "ring when a turn ends and the window is not focused"),
    key("display.mouse", Bool, May, "use the mouse; Shift selects with the terminal's own"),
    key("display.busy_input_mode", Choice(BUSY), May, "what Enter does while a turn runs"),
    key("display.tui_status_indicator", Choice(INDICATORS), May, "what moves while the model works; `kaomoji`: faces"),
    key("display.status_bar", Bool, May, "show the row with the state and the keys"),
    key("tool_output.max_tokens", Integer(200, 1_000_000), May, "tokens of one result that the model gets"),
    key("tool_output.tools.*", Integer(200, 1_000_000), May, "the same for a tool or toolset by name"),
    key(
        "tool_output.windows.*",
        Integer(200, 1_000_000),
        May,
        "the same for models with a window of at least that name's tokens",
    ),
    key("tool_output.max_bytes", Integer(1000, 10_000_000), May, "characters of one result that the model gets"),
    key("checks.commands", TextMap, Never, "file extension to a linter or formatter that runs after an edit; `{file}`"),
    key("checks.timeout", Integer(1, 600), May, "seconds before such a command is stopped"),
    key("tool_output.max_lines", Integer(10, 1_000_000), May, "lines of a file the model gets at once"),
    key("tool_output.max_line_length", Integer(80, 1_000_000), May, "characters of one line the model gets"),
    key("skills.external_dirs", TextList, Never, "more folders with skills"),
    key("skills.disabled", TextList, Tighten, "skills that are not offered"),
    key("security.redact_secrets", Bool, Never, "hide what looks like a key from the model and the log"),
    key("hooks", Tree, Trusted, "commands that run at events: `docs/PLUGINS.md`"),
    key("hooks_auto_accept", Bool, Never, "run the hooks of this file without asking for each first"),
    key("plugins.enabled", TextList, Never, "plugins of the home folder that run"),
    key("plugins.disabled", TextList, Tighten, "plugins that never run"),
    key("plugins.config.*", Tree, Never, "what a plugin is told at its start"),
    key("mcp_servers.*.enabled", Bool, Never, "start this MCP server"),
    key("mcp_servers.*.command", Text, Never, "program that speaks over its standard input and output"),
    key("mcp_servers.*.args", TextList, Never, "its arguments"),
    key("mcp_servers.*.env", SecretMap, Never, "variables that it sees beside PATH, HOME and the like"),
    key("mcp_servers.*.cwd", Text, Never, "folder that it starts in; empty: that of the session"),
    key("mcp_servers.*.url", Text, Never, "address of a server that is reached over HTTP"),
    key("mcp_servers.*.headers", SecretMap, Never, "headers added to each request"),
    key("mcp_servers.*.transport", Choice(TRANSPORTS), Never, "`stdio` or `http`; empty: by `command` or `url`"),
    key("mcp_servers.*.timeout", Number(0.1, 86_400.0), Never, "seconds of a call without a sign of life"),
    key("mcp_servers.*.connect_timeout", Number(0.1, 3_600.0), Never, "seconds until it must have answered first"),
    key("mcp_servers.*.keepalive_interval", Number(0.0, 86_400.0), Never, "seconds between two pings, at least 5"),
    key(
        "mcp_servers.*.idle_timeout_seconds",
        Number(0.0, 1e7),
        Never,
        "seconds without a call until it sleeps; 0: never",
    ),
    key("mcp_servers.*.max_lifetime_seconds", Number(0.0, 1e7), Never, "seconds until it is started anew; 0: never"),
    key("mcp_servers.*.auth", Choice(AUTHS), Never, "`oauth`: log in with `hermes mcp login NAME`"),
    key("mcp_servers.*.oauth.client_id", Text, Never, "client that was registered by hand; empty: by the program"),
    key("mcp_servers.*.oauth.client_secret", Secret, Never, "its secret"),
    key("mcp_servers.*.oauth.client_metadata_url", Text, Never, "address that describes this client to the server"),
    key("mcp_servers.*.oauth.scope", Text, Never, "scopes to ask for; empty: what the server wants"),
    key("mcp_servers.*.oauth.redirect_port", Integer(0, 65_535), Never, "port that the browser comes back to; 0: any"),
    key("mcp_servers.*.oauth.client_name", Text, Never, "name that the server shows"),
    key("mcp_servers.*.client_cert", Text, Never, "PEM file with a client certificate"),
    key("mcp_servers.*.client_key", Text, Never, "PEM file with its key"),
    key("mcp_servers.*.ssl_verify", Text, Never, "`false` trusts anyone; a PEM file names whom to trust"),
    key("mcp_servers.*.tools.include", TextList, Never, "tools the model gets, with `*`; empty: all"),
    key("mcp_servers.*.tools.exclude", TextList, Never, "tools it does not get, with `*`"),
    key("mcp_servers.*.tools.resources", Bool, Never, "tools that list and read its resources"),
    key("mcp_servers.*.tools.prompts", Bool, Never, "tools that list and get its prompts"),
    key("mcp_servers.*.supports_parallel_tool_calls", Bool, Never, "its calls may overlap"),
    key(
        "mcp_servers.*.roots",
        Bool,
        Never,
        "it may ask for the folder of the session; `false` keeps a file server to its own",
    ),
    key("mcp_servers.*.elicitation", Choice(ELICITATIONS), Never, "what happens when it asks for input"),
    key("mcp_servers.*.sampling.enabled", Bool, Never, "it may ask for a model's answer; you are asked each time"),
    key("mcp_servers.*.sampling.model", Text, Never, "model that answers; empty: the session's"),
    key("mcp_servers.*.sampling.max_tokens_cap", Integer(1, 1_000_000), Never, "longest answer in tokens"),
    key("mcp_servers.*.sampling.timeout", Number(0.1, 3_600.0), Never, "seconds of one answer"),
    key("mcp_servers.*.sampling.max_rpm", Integer(0, 10_000), Never, "answers a minute"),
    key("mcp_servers.*.sampling.allowed_models", TextList, Never, "models that it may ask for by name"),
    key("mcp_discovery_timeout", Number(0.0, 120.0), May, "seconds a first turn waits for servers that are connecting"),
    key(
        "context_file_max_chars",
        Integer(100, 10_000_000),
        May,
        "size of a context file; unset: by the model's window",
    ),
    key("paste_collapse_threshold", Integer(0, 1_000_000), May, "lines from which a paste folds"),
    key("paste_collapse_char_threshold", Integer(0, 100_000_000), May, "characters from which a paste folds"),
];

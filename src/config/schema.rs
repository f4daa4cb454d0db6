//! The one table of configuration keys: what may stand where, who may set it, and what it is for.
//!
//! Reading, checking, `config set`, the JSON Schema and `docs/CONFIG.md` all come from it. Defaults are not repeated here:
//! they are [`Config::default`].

use super::mcp::{ELICITATIONS, TRANSPORTS};
use super::{Config, suggest};
use serde_json::{Map, Value, json};

/// A key that a file may set.
#[derive(Clone, Copy, Debug)]
pub struct KeySpec {
    /// Dotted; a segment `*` stands for any name, or for an entry of a list.
    pub path: &'static str,
    pub kind: Kind,
    pub project: Project,
    /// One line for people.
    pub doc: &'static str,
}

/// What a value may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Text,
    /// A key or token: never printed.
    Secret,
    Bool,
    /// Whole numbers, bounds included.
    Integer(i64, i64),
    Number(f64, f64),
    Choice(&'static [&'static str]),
    /// The approval mode: words, or YAML's truth values.
    Mode,
    TextList,
    /// Names to text.
    TextMap,
    /// A part of the file that its reader checks.
    Tree,
    /// Names to text that may be keys or tokens: never printed.
    SecretMap,
}

/// What the `hermes.yaml` of a trusted project may do with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Project {
    /// Set it.
    May,
    /// Entries of its own, each of which a person has looked at (`config::trust`); they do not mix with the person's.
    Trusted,
    /// Only make it stricter, or add to it where adding is stricter.
    Tighten,
    /// Nothing: endpoints, keys, programs that run, what is hidden.
    Never,
}

use Kind::{Bool, Choice, Integer, Number, Secret, SecretMap, Text, TextList, TextMap, Tree};
use Project::{May, Never, Tighten, Trusted};

/// Values of `*.api_mode`.
pub const API_MODES: &[&str] = &["", "chat_completions", "codex_responses", "anthropic_messages"];
/// Values of `agent.reasoning_effort`.
pub const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh"];

/// Values of `mcp_servers.*.auth`.
const AUTHS: &[&str] = &["", "none", "oauth", "oauth2"];
/// Values of `tools.tool_search.enabled`.
pub const SEARCH: &[&str] = &["auto", "on", "off"];
/// Values of `composer.mode`.
pub const EDITING: &[&str] = &["emacs", "vi"];
/// Values of `display.busy_input_mode`.
pub const BUSY: &[&str] = &["queue", "steer", "interrupt"];
/// Values of `display.tui_status_indicator`.
pub const INDICATORS: &[&str] = &["kaomoji", "emoji", "unicode", "ascii"];

const fn key(path: &'static str, kind: Kind, project: Project, doc: &'static str) -> KeySpec {
    KeySpec { path, kind, project, doc }
}

/// Every key, grouped as in [`Config`].
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
    key("terminal.backend", Text, Never, "where commands run"),
    key("terminal.cwd", Text, May, "working folder; `.` is where the program was started"),
    key("terminal.timeout", Integer(1, 86_400), May, "seconds before a foreground command is ended"),
    key("terminal.max_foreground_timeout", Integer(1, 86_400), May, "most seconds the model may ask for"),
    key("terminal.env_passthrough", TextList, Never, "variables that commands see though they look like secrets"),
    key("terminal.daemon_term_grace_seconds", Number(0.0, 600.0), May, "seconds between TERM and KILL"),
    key("terminal.shell_init_files", TextList, Never, "files sourced before commands, instead of the usual ones"),
    key("approvals.mode", Kind::Mode, Tighten, "`manual` asks, `smart` lets low risks pass, `off` never asks"),
    key("approvals.deny", TextList, Tighten, "commands that never run, in words with `*`"),
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
    key("display.bell_on_complete", Bool, May, "ring when a turn ends and the window is not focused"),
    key("display.mouse", Bool, May, "use the mouse; Shift selects with the terminal's own"),
    key("display.busy_input_mode", Choice(BUSY), May, "what Enter does while a turn runs"),
    key("display.tui_status_indicator", Choice(INDICATORS), May, "what moves while the model works; `kaomoji`: faces"),
    key("display.status_bar", Bool, May, "show the row with the state and the keys"),
    key("tool_output.max_bytes", Integer(1000, 10_000_000), May, "characters of command output the model gets"),
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

/// What the table says about a path.
#[derive(Clone, Copy, Debug)]
pub enum Found {
    /// A key with a value.
    Leaf(&'static KeySpec),
    /// Keys stand under it.
    Section,
    /// A key of Python Hermes that has no meaning here.
    Foreign,
    Unknown,
}

/// Looks a dotted path up.
pub fn find(path: &str) -> Found {
    if let Some(spec) = KEYS.iter().find(|spec| matches(spec.path, path, false)) {
        return Found::Leaf(spec);
    }
    if KEYS.iter().any(|spec| matches(spec.path, path, true)) {
        return Found::Section;
    }
    if foreign_keys().any(|foreign| matches(path, foreign, false) || under(path, foreign)) {
        return Found::Foreign;
    }
    Found::Unknown
}

/// `pattern` (with `*`) equals `path`, or, with `prefix`, goes on below it.
fn matches(pattern: &str, path: &str, prefix: bool) -> bool {
    let mut pattern = pattern.split('.');
    for segment in path.split('.') {
        match pattern.next() {
            Some("*") => {}
            Some(expected) if expected == segment => {}
            _ => return false,
        }
    }
    prefix == pattern.next().is_some()
}

fn under(path: &str, foreign: &str) -> bool {
    let mut path = path.split('.');
    foreign.split('.').all(|expected| path.next().is_some_and(|segment| expected == "*" || expected == segment))
}

fn foreign_keys() -> impl Iterator<Item = &'static str> {
    include_str!("../../assets/foreign-keys.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// The known path nearest to an unknown one: each segment is repaired in turn.
pub fn nearest(path: &str) -> Option<String> {
    let mut fixed: Vec<String> = Vec::new();
    let segments: Vec<&str> = path.split('.').collect();
    for (depth, segment) in segments.iter().enumerate() {
        let here = |spec: &KeySpec| -> Option<&'static str> {
            let mut parts = spec.path.split('.');
            let above = fixed.iter().all(|known| parts.next().is_some_and(|part| part == "*" || part == known));
            above.then(|| parts.next()).flatten()
        };
        let choices: Vec<&'static str> = KEYS.iter().filter_map(here).collect();
        if choices.contains(segment) || choices.contains(&"*") {
            fixed.push((*segment).to_owned());
        } else if let Some(near) = suggest::nearest(segment, choices.iter().copied()) {
            fixed.push(near.to_owned());
        } else if depth == 0 || depth + 1 == segments.len() {
            // A right name in the wrong section: `skin` for `display.skin`.
            let last = segments.last()?;
            return KEYS
                .iter()
                .map(|spec| spec.path)
                .find(|known| known.rsplit('.').next() == Some(last))
                .map(Into::into);
        } else {
            return None;
        }
    }
    let fixed = fixed.join(".");
    (fixed != path).then_some(fixed)
}

/// What a value of this kind is, for messages: `a whole number from 1 to 100`.
pub fn expectation(kind: Kind) -> String {
    match kind {
        Text | Secret => "text is expected".into(),
        Bool => "true or false is expected".into(),
        Integer(low, high) => format!("a whole number from {low} to {high} is expected"),
        Number(low, high) => format!("a number from {low} to {high} is expected"),
        Choice(words) => {
            let words: Vec<&str> = words.iter().copied().filter(|word| !word.is_empty()).collect();
            format!("one of {} is expected", words.join(", "))
        }
        Kind::Mode => "manual, smart or off is expected".into(),
        TextList => "a list of texts is expected".into(),
        TextMap | SecretMap => "names with texts are expected".into(),
        Tree => "a mapping is expected".into(),
    }
}

/// The default of a key as JSON; `None` where there is none (unset, or a key of named entries).
pub fn default_of(path: &str) -> Option<Value> {
    let mut value = &serde_json::to_value(Config::default()).ok()?;
    for segment in path.split('.') {
        value = value.get(segment)?;
    }
    (!value.is_null()).then(|| value.clone())
}

/// The JSON Schema of `config.yaml`.
pub fn json_schema() -> Value {
    let mut root = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Hermes configuration",
        "type": "object",
        "properties": {},
    });
    for spec in KEYS {
        let segments: Vec<&str> = spec.path.split('.').collect();
        insert(&mut root, &segments, leaf_schema(spec));
    }
    if let Some(model) = root.pointer_mut("/properties/model") {
        let object = model.take();
        *model = json!({"anyOf": [{"type": "string", "description": "the default model"}, object]});
    }
    root
}

fn insert(at: &mut Value, segments: &[&str], leaf: Value) {
    let Some((first, rest)) = segments.split_first() else { return };
    let Value::Object(object) = at else { return };
    // Lists of entries are the only sections whose default is a list.
    let slot = match *first {
        "*" if object.get("type") == Some(&json!("array")) => object.entry("items").or_insert_with(section),
        "*" => object.entry("additionalProperties").or_insert_with(section),
        name => {
            let properties = object.entry("properties").or_insert_with(|| Value::Object(Map::new()));
            let Value::Object(properties) = properties else { return };
            let is_list = name == "fallback_providers";
            properties.entry(name).or_insert_with(|| if is_list { json!({"type": "array"}) } else { section() })
        }
    };
    if rest.is_empty() {
        *slot = leaf;
    } else {
        insert(slot, rest, leaf);
    }
}

fn section() -> Value {
    json!({"type": "object"})
}

fn leaf_schema(spec: &KeySpec) -> Value {
    let mut schema = match spec.kind {
        Text | Secret => json!({"type": "string"}),
        Bool => json!({"type": "boolean"}),
        Integer(low, high) => json!({"type": "integer", "minimum": low, "maximum": high}),
        Number(low, high) => json!({"type": "number", "minimum": low, "maximum": high}),
        Choice(words) => json!({"enum": words}),
        Kind::Mode => json!({"enum": ["manual", "smart", "off", true, false]}),
        TextList => json!({"type": "array", "items": {"type": "string"}}),
        TextMap | SecretMap => json!({"type": "object", "additionalProperties": {"type": "string"}}),
        Tree => json!({"type": "object"}),
    };
    schema["description"] = json!(spec.doc);
    if let Some(default) = default_of(spec.path) {
        schema["default"] = default;
    }
    schema
}

/// The table of `docs/CONFIG.md`.
pub fn markdown() -> String {
    let mut out = String::from("| key | default | in a project | what it does |\n| --- | --- | --- | --- |\n");
    for spec in KEYS {
        let default = match default_of(spec.path) {
            Some(Value::String(text)) if text.is_empty() => "empty".to_owned(),
            Some(Value::String(text)) => format!("`{text}`"),
            Some(value) => format!("`{value}`"),
            None => "unset".to_owned(),
        };
        let project = match spec.project {
            May => "yes",
            Tighten => "stricter only",
            Trusted => "after a look",
            Never => "no",
        };
        let path = spec.path.replace('*', "NAME");
        out.push_str(&format!("| `{path}` | {default} | {project} | {} |\n", spec.doc.replace('|', "\\|")));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every field of the configuration is in the table: paths of the default's leaves, and of one full entry of each map.
    #[test]
    fn the_table_covers_every_field() {
        let mut config = Config::default();
        let mut provider = super::super::ProviderConfig::default();
        provider.models.insert("m".into(), Default::default());
        config.providers.insert("p".into(), provider);
        config.fallback_providers.push(Default::default());
        config.mcp_servers.insert("m".into(), Default::default());
        fn walk(value: &Value, path: &str, out: &mut Vec<String>) {
            let inner: Vec<(String, &Value)> = match (find(path), value) {
                (Found::Leaf(_), _) => Vec::new(),
                (_, Value::Object(map)) => map.iter().map(|(name, value)| (name.clone(), value)).collect(),
                (_, Value::Array(items)) => items.iter().map(|value| ("0".to_owned(), value)).collect(),
                _ => {
                    out.push(path.to_owned());
                    Vec::new()
                }
            };
            for (name, value) in inner {
                walk(value, &if path.is_empty() { name } else { format!("{path}.{name}") }, out);
            }
        }
        let mut missing = Vec::new();
        walk(&serde_json::to_value(&config).unwrap(), "", &mut missing);
        assert_eq!(missing, Vec::<String>::new());
    }

    #[test]
    fn paths_are_found() {
        assert!(matches!(find("agent.max_turns"), Found::Leaf(spec) if spec.path == "agent.max_turns"));
        assert!(matches!(find("providers.my-host.base_url"), Found::Leaf(_)));
        assert!(matches!(find("providers"), Found::Section));
        assert!(matches!(find("providers.x"), Found::Section));
        assert!(matches!(find("kanban.failure_limit"), Found::Foreign));
        assert!(matches!(find("display.compact"), Found::Foreign));
        assert!(matches!(find("providers.x.name"), Found::Foreign));
        assert!(matches!(find("display.skni"), Found::Unknown));
        assert!(matches!(find("nonsense"), Found::Unknown));
    }

    #[test]
    fn near_misses_are_named() {
        for (typed, meant) in [
            ("aproval.mode", Some("approvals.mode")),
            ("approval.mode", Some("approvals.mode")),
            ("display.skni", Some("display.skin")),
            ("skin", Some("display.skin")),
            ("terminal.timout", Some("terminal.timeout")),
            ("providers.x.base_ur", Some("providers.x.base_url")),
            ("zzz", None),
        ] {
            assert_eq!(nearest(typed).as_deref(), meant, "{typed}");
        }
    }

    #[test]
    fn schema_has_defaults_and_bounds() {
        let schema = json_schema();
        assert_eq!(schema.pointer("/properties/agent/properties/max_turns/default"), Some(&json!(90)));
        assert_eq!(schema.pointer("/properties/agent/properties/max_turns/minimum"), Some(&json!(1)));
        let base = "/properties/providers/additionalProperties/properties/base_url/type";
        assert_eq!(schema.pointer(base), Some(&json!("string")));
        assert_eq!(
            schema.pointer("/properties/fallback_providers/items/properties/model/type"),
            Some(&json!("string"))
        );
        assert!(schema.pointer("/properties/model/anyOf/1/properties/default").is_some());
        assert!(markdown().contains("| `agent.max_turns` | `90` | yes |"));
    }

    #[test]
    fn a_project_can_reach_no_endpoint_no_key_and_no_rule_that_allows() {
        for spec in KEYS {
            let risky =
                ["base_url", "api_key", "key_env", "headers", "allowlist", "passthrough", "init_files", "provider"];
            if risky.iter().any(|word| spec.path.contains(word)) {
                assert_eq!(spec.project, Never, "{}", spec.path);
            }
        }
    }
}

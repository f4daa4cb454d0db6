//! Layers, warnings and refusals.

use super::*;
use crate::policy::Mode;

struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    fn new(config: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("home")).unwrap();
        std::fs::write(dir.path().join("home/config.yaml"), config).unwrap();
        Self { dir }
    }

    fn sources(&self) -> Sources {
        let paths = Paths::at(self.dir.path().join("home"));
        Sources { paths, cwd: None, env: BTreeMap::new(), overrides: Vec::new() }
    }

    fn dotenv(&self, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        let path = self.dir.path().join("home/.env");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }

    fn project(&self, text: &str) -> PathBuf {
        let dir = self.dir.path().join("project");
        std::fs::create_dir_all(dir.join(".git")).unwrap();
        std::fs::create_dir_all(dir.join("sub")).unwrap();
        std::fs::write(dir.join("hermes.yaml"), text).unwrap();
        dir
    }

    fn load(&self) -> Loaded {
        load(&self.sources())
    }
}

fn texts(loaded: &Loaded) -> String {
    loaded.warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn nothing_there_means_defaults_and_no_word() {
    let dir = tempfile::tempdir().unwrap();
    let paths = Paths::at(dir.path().join("none"));
    let loaded = load(&Sources { paths, cwd: None, env: BTreeMap::new(), overrides: Vec::new() });
    assert_eq!(*loaded.config, Config::default());
    assert_eq!(loaded.warnings, []);
}

#[test]
fn values_arrive() {
    let loaded = Home::new(
        "model:\n  default: anthropic/claude\n  context_length: 200_000\nagent: {max_turns: 7, reasoning_effort: High}\n\
         approvals: {mode: smart, deny: ['rm *', 7]}\nproviders:\n  lab:\n    base_url: http://l\n    models: {m: {context_length: 8192}}\n\
         fallback_providers:\n  - {provider: openai, model: gpt}\ncompression: {threshold: 1}\n",
    )
    .load();
    assert_eq!(texts(&loaded), "");
    let config = &loaded.config;
    assert_eq!((config.model.default.as_str(), config.model.context_length), ("anthropic/claude", Some(200_000)));
    assert_eq!((config.agent.max_turns, config.agent.reasoning_effort.as_str()), (7, "high"));
    assert_eq!((config.approvals.mode, config.approvals.deny.len()), (Mode::Auto, 2));
    assert_eq!(config.providers["lab"].models["m"].context_length, Some(8192));
    assert_eq!(config.fallback_providers[0].model, "gpt");
    assert_eq!(config.compression.threshold, 1.0);
}

#[test]
fn approval_modes() {
    for (written, mode, warns) in [
        ("manual", Mode::Ask, false),
        ("smart", Mode::Auto, false),
        ("off", Mode::Yolo, false),
        ("'off'", Mode::Yolo, false),
        ("false", Mode::Yolo, false),
        ("no", Mode::Yolo, false),
        ("true", Mode::Ask, false),
        ("on", Mode::Ask, false),
        ("yolo", Mode::Yolo, false),
        ("auto", Mode::Auto, false),
        ("Review", Mode::Review, false),
        ("plan", Mode::Plan, false),
        ("fast", Mode::Ask, true),
        ("[off]", Mode::Ask, true),
        ("", Mode::Ask, false),
        ("0", Mode::Ask, true),
    ] {
        let loaded = Home::new(&format!("approvals:\n  mode: {written}\n")).load();
        assert_eq!(loaded.config.approvals.mode, mode, "{written}");
        assert_eq!(!loaded.warnings.is_empty(), warns, "{written}: {}", texts(&loaded));
    }
}

#[test]
fn the_sandbox_in_both_forms_and_never_looser_than_written() {
    use crate::config::SandboxMode::{Off, ReadOnly, WorkspaceWrite};
    for (written, mode, network, warns) in [
        ("sandbox: off", Off, true, false),
        ("sandbox: false", Off, true, false),
        ("sandbox: workspace-write", WorkspaceWrite, true, false),
        ("sandbox: Read-Only", ReadOnly, true, false),
        ("sandbox:\n  mode: workspace-write\n  network: off", WorkspaceWrite, false, false),
        ("sandbox:\n  network: no", Off, false, false),
        ("sandbox:\n  mode: off\n  network: on", Off, true, false),
        ("sandbox: workspace", ReadOnly, true, true),
        ("sandbox: true", ReadOnly, true, true),
        ("sandbox:\n  network: perhaps", Off, false, true),
    ] {
        let loaded = Home::new(&format!("{written}\n")).load();
        let got = &loaded.config.sandbox;
        assert_eq!((got.mode, got.network), (mode, network), "{written}");
        assert_eq!(!loaded.warnings.is_empty(), warns, "{written}: {}", texts(&loaded));
    }
    for (own, project, mode, network) in [
        ("sandbox: workspace-write", "sandbox: read-only", ReadOnly, true),
        ("sandbox: read-only", "sandbox: workspace-write", ReadOnly, true),
        ("sandbox: read-only", "sandbox: off", ReadOnly, true),
        ("model: a", "sandbox:\n  mode: workspace-write\n  network: off\n  writable: [/]", WorkspaceWrite, false),
        ("sandbox:\n  network: off", "sandbox:\n  network: on", Off, false),
    ] {
        let home = Home::new(&format!("{own}\n"));
        let dir = home.project(&format!("{project}\n"));
        let mut sources = home.sources();
        sources.cwd = Some(dir.clone());
        project::trust(&sources.paths, &dir).unwrap();
        let config = load(&sources).config;
        let got = &config.sandbox;
        assert_eq!((got.mode, got.network, got.writable.len()), (mode, network, 0), "{own} and {project}");
    }
}

#[test]
fn the_short_model_form() {
    assert_eq!(Home::new("model: gpt-5\n").load().config.model.default, "gpt-5");
    assert_eq!(texts(&Home::new("model: ''\n").load()), "");
}

#[test]
fn unknown_keys_warn_with_line_and_neighbour() {
    let loaded = Home::new("display:\n  skni: ares\nkanban: {x: 1}\n").load();
    assert_eq!(loaded.warnings.len(), 1);
    let warning = &loaded.warnings[0];
    assert_eq!((warning.line, warning.key.as_str()), (Some(2), "display.skni"));
    assert!(warning.text.contains("did you mean display.skin"), "{warning}");
    assert_eq!(loaded.foreign, [("kanban".to_owned(), 3)]);
}

#[test]
fn one_wrong_value_costs_only_itself() {
    let loaded =
        Home::new("agent:\n  max_turns: lots\n  api_max_retries: 5\ndisplay: 7\nmodel: {api_key: [1]}\n").load();
    assert_eq!((loaded.config.agent.max_turns, loaded.config.agent.api_max_retries), (90, 5));
    assert_eq!(loaded.config.display, super::super::DisplayConfig::default());
    let texts = texts(&loaded);
    assert!(
        texts.contains(":2: agent.max_turns cannot be \"lots\": expected a whole number from 1 to 100000"),
        "{texts}"
    );
    assert!(texts.contains("display cannot be a whole number"), "{texts}");
    assert_eq!(loaded.warnings.len(), 3);
}

#[test]
fn broken_yaml_names_the_place_and_starts_with_defaults() {
    let loaded = Home::new("model:\n  default: x\n provider: y\n").load();
    assert_eq!(*loaded.config, Config::default());
    let texts = texts(&loaded);
    assert!(texts.contains("config.yaml:3:") && texts.contains("3 |  provider: y"), "{texts}");
    let loaded = Home::new("- a\n- b\n").load();
    assert!(loaded.warnings[0].text.contains("ignoring the file"));
}

#[test]
fn invalid_utf8_is_a_warning() {
    let home = Home::new("");
    std::fs::write(home.dir.path().join("home/config.yaml"), b"a: \xff\n").unwrap();
    assert!(texts(&home.load()).contains("not UTF-8 at byte 3"));
}

#[test]
fn variables_fill_values_and_missing_ones_warn() {
    let home = Home::new("model:\n  api_key: ${LAB_KEY}\n  base_url: http://${HOST}/v1\n");
    home.dotenv("LAB_KEY=sk-1\n");
    let loaded = home.load();
    assert_eq!(loaded.config.model.api_key, "sk-1");
    assert_eq!(loaded.config.model.base_url, "http://${HOST}/v1");
    assert!(texts(&loaded).contains("config.yaml:3: model.base_url uses ${HOST}, which is not set"));
}

#[test]
fn the_environment_wins_over_dotenv_and_file() {
    let home = Home::new("agent: {max_turns: 7}\nmodel: a\n");
    home.dotenv("HERMES_MAX_ITERATIONS=8\nHERMES_YOLO_MODE=1\nKEY=low\n");
    assert_eq!(home.load().config.agent.max_turns, 8);
    assert_eq!(home.load().config.approvals.mode, Mode::Ask, "a file can't turn questions off this way");
    let mut sources = home.sources();
    for (name, value) in [("HERMES_MAX_ITERATIONS", "9"), ("KEY", "high"), ("HERMES_YOLO_MODE", "true"), ("EMPTY", "")]
    {
        sources.env.insert(name.into(), value.into());
    }
    let loaded = load(&sources);
    let approvals = loaded.config.approvals.mode;
    assert_eq!((loaded.config.agent.max_turns, approvals), (9, Mode::Ask), "no environment loosens approvals");
    assert_eq!(loaded.locate("KEY"), Some(("high", Place::Environment)));
    assert_eq!(loaded.env("EMPTY"), None);
    sources.overrides = vec![("agent.max_turns".into(), "11".into()), ("model.default".into(), "1.10".into())];
    let loaded = load(&sources);
    assert_eq!((loaded.config.agent.max_turns, loaded.config.model.default.as_str()), (11, "1.1"));
    sources.env.insert("HERMES_MAX_ITERATIONS".into(), "x".into());
    assert!(texts(&load(&sources)).contains("HERMES_MAX_ITERATIONS in the environment: agent.max_turns cannot be"));
}

#[test]
fn an_open_dotenv_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new("");
    home.dotenv("A=1\nwhat\n");
    let path = home.dir.path().join("home/.env");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let texts = texts(&home.load());
    assert!(texts.contains("chmod 600") && texts.contains(".env:2:"), "{texts}");
}

#[test]
fn a_project_counts_only_when_trusted_and_never_loosens() {
    let home = Home::new("approvals: {mode: smart, deny: ['sudo *']}\nmodel: {default: a, base_url: 'http://mine'}\n");
    let dir = home.project(
        "approvals: {mode: off, deny: ['git push *']}\nmodel: {default: b, base_url: 'http://evil', api_key: k}\n\
         command_allowlist: [all]\nproviders: {x: {base_url: 'http://evil'}}\nagent: {max_turns: 3}\nsecurity: {redact_secrets: false}\n\
         display: {skin: '${SECRET}'}\n",
    );
    let mut sources = home.sources();
    sources.cwd = Some(dir.join("sub"));
    sources.env.insert("SECRET".into(), "s3cret".into());
    let loaded = load(&sources);
    assert_eq!((loaded.config.agent.max_turns, loaded.project.as_deref()), (90, None));
    assert!(texts(&loaded).contains("hermes config trust"), "{}", texts(&loaded));

    project::trust(&sources.paths, &dir).unwrap();
    assert_eq!(project::trust(&sources.paths, &dir).unwrap(), std::fs::canonicalize(&dir).unwrap());
    let loaded = load(&sources);
    let config = &loaded.config;
    assert_eq!((config.agent.max_turns, config.model.default.as_str()), (3, "b"));
    assert_eq!((config.approvals.mode, config.model.base_url.as_str()), (Mode::Auto, "http://mine"));
    assert_eq!(config.approvals.deny, ["sudo *", "git push *"]);
    assert!(config.command_allowlist.is_empty() && config.providers.is_empty_or_harmless());
    assert!(config.security.redact_secrets && config.model.api_key.is_empty());
    assert_eq!(config.display.skin, "${SECRET}");
    let texts = texts(&loaded);
    for key in ["approvals.mode", "model.base_url", "model.api_key", "command_allowlist", "security.redact_secrets"] {
        assert!(texts.contains(&format!("{key} cannot be")), "{key}\n{texts}");
    }
}

trait Harmless {
    fn is_empty_or_harmless(&self) -> bool;
}

impl Harmless for BTreeMap<String, super::super::ProviderConfig> {
    fn is_empty_or_harmless(&self) -> bool {
        self.values().all(|provider| *provider == super::super::ProviderConfig::default())
    }
}

#[test]
fn a_project_can_be_stricter() {
    let home = Home::new("approvals: {mode: off}\nmodel: a\n");
    let dir = home.project("approvals: {mode: manual}\nmodel: openai:gpt\nagent: {disabled_toolsets: [web]}\n");
    let mut sources = home.sources();
    sources.cwd = Some(dir.clone());
    project::trust(&sources.paths, &dir).unwrap();
    let loaded = load(&sources);
    assert_eq!(loaded.config.approvals.mode, Mode::Ask);
    assert_eq!(loaded.config.agent.disabled_toolsets, ["web"]);
    assert_eq!(loaded.config.model.default, "a");
    assert!(texts(&loaded).contains("cannot choose another provider"));
}

#[test]
fn a_file_of_python_hermes_works_as_it_is() {
    let loaded = Home::new(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/python-config.yaml"))).load();
    assert_eq!(texts(&loaded), "");
    let config = &loaded.config;
    assert_eq!(config.model.default, "anthropic/claude-opus-4.8");
    assert_eq!((config.approvals.mode, config.toolsets.as_deref()), (Mode::Auto, Some(&["hermes-cli".to_owned()][..])));
    assert_eq!(config.providers["my-lab"].default_model, "qwen3");
    assert_eq!(config.providers["my-lab"].base_url, "http://127.0.0.1:8000/v1");
    assert_eq!(config.fallback_providers[0].provider, "openrouter");
    assert_eq!((config.memory.memory_char_limit, config.tool_output.max_bytes), (2200, 50_000));
    assert!(loaded.foreign.len() > 40, "{}", loaded.foreign.len());
}

#[test]
fn secrets_are_masked_when_shown() {
    let loaded =
        Home::new("model: {default: m, api_key: sk-secret}\nproviders: {p: {api_key: sk-2, key_env: NAME}}\n").load();
    let shown = value_of(&loaded.config, "").unwrap().to_string();
    assert!(!shown.contains("sk-"), "{shown}");
    assert!(shown.contains("NAME"));
    assert_eq!(value_of(&loaded.config, "agent.max_turns"), Some(Json::from(90)));
    assert_eq!(value_of(&loaded.config, "agent.nope"), None);
}

/// The annotated file of all defaults says what the defaults are, and leaves no key out.
#[test]
fn the_annotated_defaults_are_the_defaults() {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/config.yaml"));
    let loaded = Home::new(text).load();
    assert_eq!(texts(&loaded), "");
    assert_eq!(*loaded.config, Config::default());
    for spec in schema::KEYS {
        let last = spec.path.rsplit('.').next().unwrap();
        let entry = spec.path.contains('*') || spec.path == "toolsets";
        assert!(entry || text.contains(&format!("{last}:")), "{}", spec.path);
    }
}

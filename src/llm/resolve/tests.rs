//! Tables for endpoint resolution.

use super::*;
use crate::config::ProviderModelConfig;

fn env<'a>(pairs: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
    move |name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
}

fn config(provider: &str, model: &str, base_url: &str) -> Config {
    let mut config = Config::default();
    config.model.provider = provider.into();
    config.model.default = model.into();
    config.model.base_url = base_url.into();
    config
}

#[test]
fn the_first_key_in_table_order_decides_and_the_maker_comes_first() {
    type Row = (&'static [(&'static str, &'static str)], &'static str, &'static str, &'static str);
    let table: &[Row] = &[
        (&[("OPENAI_API_KEY", "k"), ("OPENROUTER_API_KEY", "k")], "", "openrouter", "anthropic/claude-sonnet-5"),
        (&[("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k")], "", "anthropic", "claude-sonnet-5"),
        (&[("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k")], "gpt-5.4", "openai", "gpt-5.4"),
        (&[("GEMINI_API_KEY", "k"), ("OPENAI_API_KEY", " ")], "", "gemini", "gemini-3.1-pro-preview"),
    ];
    for (vars, model, provider, expected) in table {
        let endpoint = resolve(&config("auto", model, ""), &env(vars), None).unwrap();
        assert_eq!((endpoint.provider.as_str(), endpoint.model.as_str()), (*provider, *expected));
    }
    assert_eq!(
        resolve(&Config::default(), &env(&[]), None),
        Err(SetupError::NoProvider { env_file: "~/.hermes/.env".into() })
    );
}

#[test]
fn addresses_are_completed_and_never_doubled() {
    let table = [
        ("http://127.0.0.1:9", "", "http://127.0.0.1:9/v1/chat/completions"),
        ("http://127.0.0.1:9/", "", "http://127.0.0.1:9/v1/chat/completions"),
        ("http://127.0.0.1:9/v1", "", "http://127.0.0.1:9/v1/chat/completions"),
        ("http://127.0.0.1:9/v1/", "codex_responses", "http://127.0.0.1:9/v1/responses"),
        ("http://127.0.0.1:9", "codex_responses", "http://127.0.0.1:9/v1/responses"),
        ("http://127.0.0.1:9/v1", "anthropic_messages", "http://127.0.0.1:9/v1/messages"),
        ("http://127.0.0.1:9", "anthropic_messages", "http://127.0.0.1:9/v1/messages"),
        ("http://127.0.0.1:9/anthropic", "", "http://127.0.0.1:9/anthropic/v1/messages"),
        ("http://127.0.0.1:9/v1/chat/completions", "", "http://127.0.0.1:9/v1/chat/completions"),
        ("https://api.z.ai/api/paas/v4", "", "https://api.z.ai/api/paas/v4/chat/completions"),
    ];
    for (base, mode, url) in table {
        let mut config = config("", "m", base);
        config.model.api_mode = mode.into();
        config.model.api_key = "k".into();
        assert_eq!(resolve(&config, &env(&[]), None).unwrap().url(), url, "{base} {mode}");
    }
    let openai = resolve(&config("openai", "", ""), &env(&[("OPENAI_API_KEY", "k")]), None).unwrap();
    assert_eq!(openai.url(), "https://api.openai.com/v1/responses");
    let anthropic = resolve(&config("anthropic", "", ""), &env(&[("ANTHROPIC_API_KEY", "k")]), None).unwrap();
    assert_eq!(anthropic.url(), "https://api.anthropic.com/v1/messages");
    assert_eq!(anthropic.models_url(), "https://api.anthropic.com/v1/models?limit=1000");
}

#[test]
fn choices_name_a_provider_or_only_a_model() {
    let mut config = config("ollama", "qwen3:8b", "");
    config.providers.insert(
        "lab".into(),
        ProviderConfig {
            base_url: "http://10.0.0.2:8000/v1".into(),
            default_model: "big".into(),
            models: [("big".to_owned(), ProviderModelConfig { context_length: Some(9000), ..Default::default() })]
                .into(),
            ..ProviderConfig::default()
        },
    );
    let vars = [("OPENAI_API_KEY", "k")];
    let table = [
        (None, "ollama", "qwen3:8b"),
        (Some("llama3:70b"), "ollama", "llama3:70b"),
        (Some("openai:gpt-5.4"), "openai", "gpt-5.4"),
        (Some("lab:small:1b"), "lab", "small:1b"),
        (Some("custom:lab"), "lab", "big"),
        (Some("custom:lab:x"), "lab", "x"),
        (Some("lab"), "lab", "big"),
        (Some("openai:"), "openai", "gpt-5.5"),
    ];
    for (choice, provider, model) in table {
        let endpoint = resolve(&config, &env(&vars), choice).unwrap();
        assert_eq!((endpoint.provider.as_str(), endpoint.model.as_str()), (provider, model), "{choice:?}");
    }
    let lab = resolve(&config, &env(&vars), Some("lab")).unwrap();
    assert_eq!((lab.context, lab.local, lab.stall), (Some(9000), true, Duration::from_secs(900)));
}

#[test]
fn keys_come_from_the_config_a_reference_or_the_environment() {
    let mut config = config("openrouter", "m", "");
    config.model.api_key = "literal".into();
    assert_eq!(resolve(&config, &env(&[]), None).unwrap().key.expose(), "literal");
    config.model.api_key = "${MY_KEY}".into();
    assert_eq!(resolve(&config, &env(&[("MY_KEY", "v")]), None).unwrap().key.expose(), "v");
    let missing = resolve(&config, &env(&[]), None).unwrap_err();
    assert!(missing.to_string().contains("${MY_KEY}"), "{missing}");
    config.model.api_key.clear();
    let missing = resolve(&config, &env(&[]), None).unwrap_err();
    assert!(missing.to_string().contains("OPENROUTER_API_KEY"), "{missing}");
    let found = resolve(&config, &env(&[("OPENROUTER_API_KEY", "sk-or-1")]), None).unwrap();
    assert_eq!(found.key_source, "OPENROUTER_API_KEY");
    assert!(!format!("{found:?}").contains("sk-or-1"));
}

#[test]
fn a_key_never_goes_to_a_stranger() {
    let vars = [("OPENAI_API_KEY", "secret")];
    let stranger = resolve(&config("openai", "m", "https://elsewhere.example/v1"), &env(&vars), None).unwrap();
    assert!(stranger.key.is_empty());
    assert_eq!(stranger.dialect, Dialect::ChatCompletions);
    let home = resolve(&config("custom", "m", "https://api.openai.com/v1"), &env(&vars), None).unwrap();
    assert_eq!(home.key.expose(), "secret");
    let by_address = resolve(&config("", "m", "https://api.openai.com/v1"), &env(&vars), None).unwrap();
    assert_eq!((by_address.key.expose(), by_address.provider.as_str()), ("secret", "openai"));
    // A chosen provider takes nothing from the configured one.
    let mut own = config("custom", "m", "https://elsewhere.example/v1");
    own.model.api_key = "own".into();
    let chosen = resolve(&own, &env(&vars), Some("openai:gpt-5.5")).unwrap();
    assert_eq!((chosen.base_url.as_str(), chosen.key.expose()), ("https://api.openai.com/v1", "secret"));
}

#[test]
fn what_is_missing_is_named() {
    let table = [
        (config("nobody", "m", ""), "unknown provider \"nobody\""),
        (config("custom", "m", ""), "model.base_url"),
        (config("azure", "m", ""), "model.base_url"),
        (config("", "m", "localhost:8080"), "is not an address"),
        (config("", "", "http://localhost:8080"), "no model selected"),
        (config("ollama", "", ""), "hermes config set model.default"),
    ];
    for (config, part) in table {
        let error = resolve(&config, &env(&[]), None).unwrap_err().to_string();
        assert!(error.contains(part), "{error} should contain {part}");
    }
    let mut bad_mode = config("", "m", "http://localhost:1");
    bad_mode.model.api_mode = "grpc".into();
    assert!(matches!(resolve(&bad_mode, &env(&[]), None), Err(SetupError::BadApiMode { .. })));
}

#[test]
fn fallbacks_keep_their_order_and_skip_what_cannot_work() {
    let mut config = config("openrouter", "m", "");
    let entry = |provider: &str, model: &str, base: &str| FallbackConfig {
        provider: provider.into(),
        model: model.into(),
        base_url: base.into(),
        ..FallbackConfig::default()
    };
    config.fallback_providers =
        vec![entry("groq", "a", ""), entry("openai", "gpt-5.4", ""), entry("custom", "b", "http://127.0.0.1:1")];
    let found = fallbacks(&config, &env(&[("OPENAI_API_KEY", "k")]));
    let labels: Vec<String> = found.iter().map(Endpoint::label).collect();
    assert_eq!(labels, ["openai:gpt-5.4", "custom:b"]);
}

#[test]
fn local_addresses_are_known() {
    for base in [
        "http://localhost:1",
        "http://127.0.0.1",
        "http://192.168.1.4:1234/v1",
        "http://box.local",
        "http://[::1]:8080",
        "http://100.70.1.1",
        "http://gpu:8000",
    ] {
        assert!(is_local(base), "{base}");
    }
    for base in ["https://api.openai.com/v1", "http://8.8.8.8", "http://100.128.0.1", "nonsense"] {
        assert!(!is_local(base), "{base}");
    }
}

#[test]
fn the_label_of_an_endpoint_chooses_it_again() {
    let vars = [("OPENAI_API_KEY", "k"), ("GROQ_API_KEY", "k")];
    let mut table = vec![
        config("", "a/b:free", "http://127.0.0.1:1/v1"),
        config("", "gpt-5.5", "https://api.openai.com/v1"),
        config("custom", "m", "http://10.0.0.1"),
        config("ollama", "qwen3:8b", "http://gpu:11434"),
        config("", "", ""),
    ];
    for config in &mut table {
        config.model.api_key = if config.model.base_url.is_empty() { String::new() } else { "own".into() };
        let first = resolve(config, &env(&vars), None).unwrap();
        assert_eq!(resolve(config, &env(&vars), Some(&first.label())), Ok(first.clone()));
        let other = resolve(config, &env(&vars), Some(&format!("{}:other", first.provider))).unwrap();
        assert_eq!((&other.base_url, &other.key), (&first.base_url, &first.key));
        assert!(available(config, &env(&vars)).iter().any(|found| found.base_url == first.base_url));
    }
    let mut lab = config("", "", "");
    lab.providers.insert("lab".into(), ProviderConfig { base_url: "http://lab".into(), ..ProviderConfig::default() });
    let found: Vec<(String, String)> =
        available(&lab, &env(&vars)).into_iter().map(|found| (found.provider, found.model)).collect();
    let expected = [("openai", "gpt-5.5"), ("lab", ""), ("groq", "openai/gpt-oss-120b")];
    assert_eq!(found, expected.map(|(provider, model)| (provider.to_owned(), model.to_owned())));
}

#[test]
fn the_scripted_model_needs_nothing() {
    let demo = resolve(&config("scripted", "", ""), &env(&[]), None).unwrap();
    assert_eq!((demo.model.as_str(), demo.dialect), ("demo", Dialect::Scripted));
    let file = resolve(&Config::default(), &env(&[]), Some("scripted:scripts/a.yaml")).unwrap();
    assert_eq!((file.model.as_str(), file.dialect), ("scripts/a.yaml", Dialect::Scripted));
}

#[test]
fn a_provider_moved_by_its_own_variable_keeps_its_key_and_its_models() {
    let vars = [("OPENROUTER_API_KEY", "k"), ("OPENROUTER_BASE_URL", "https://proxy.example/v1")];
    let moved = resolve(&config("openrouter", "", ""), &env(&vars), None).unwrap();
    assert_eq!(moved.url(), "https://proxy.example/v1/chat/completions");
    assert_eq!((moved.key.expose(), moved.model.as_str()), ("k", "anthropic/claude-sonnet-5"));
    // An address in the config may be anybody's: the key stays here.
    let other = resolve(&config("openrouter", "m", "https://other.example/v1"), &env(&vars), None).unwrap();
    assert_eq!(other.key.expose(), "");
}

/// Signed in to one provider, and no variable is set.
struct SignedIn(&'static str);

impl Keys for SignedIn {
    fn variable(&self, _: &str) -> Option<String> {
        None
    }

    fn account(&self, pool: &str) -> bool {
        pool == self.0
    }
}

#[test]
fn a_login_is_as_good_as_a_key_and_goes_to_its_provider_only() {
    let nous = SignedIn("nous");
    let found = resolve(&config("", "", ""), &nous, None).unwrap();
    assert_eq!((found.provider.as_str(), found.pool.as_deref(), found.key.is_empty()), ("nous", Some("nous"), true));
    assert_eq!(available(&config("", "", ""), &nous).len(), 1);
    assert!(matches!(resolve(&config("openrouter", "m", ""), &nous, None), Err(SetupError::MissingKey { .. })));
    // Another server that only takes its place gets no key of it, and a key of the configuration is used alone.
    let moved = resolve(&config("nous", "m", "https://elsewhere.example/v1"), &nous, None).unwrap();
    assert_eq!(moved.pool, None);
    let mut with_key = config("nous", "m", "");
    with_key.model.api_key = "k".into();
    assert_eq!(resolve(&with_key, &nous, None).unwrap().pool, None);
    let mut lab = config("lab", "m", "");
    let entry = ProviderConfig { base_url: "https://lab.example/v1".into(), ..ProviderConfig::default() };
    lab.providers.insert("lab".into(), entry);
    assert_eq!(resolve(&lab, &SignedIn("custom:lab"), None).unwrap().pool.as_deref(), Some("custom:lab"));
}

#[test]
fn a_model_of_this_computer_has_no_address_unless_one_is_given() {
    let here = resolve(&config("local", "m", ""), &env(&[]), None).unwrap();
    assert!(here.is_served() && here.local, "{here:?}");
    assert_eq!((here.provider.as_str(), here.model.as_str(), here.key.is_empty()), ("local", "m", true));
    let own = resolve(&config("local", "m", "http://127.0.0.1:9/v1"), &env(&[]), None).unwrap();
    assert_eq!((own.provider.as_str(), own.base_url.as_str()), ("custom", "http://127.0.0.1:9/v1"));
    assert!(!own.is_served());
    assert!(matches!(resolve(&config("local", "", ""), &env(&[]), None), Err(SetupError::NoModel { .. })));
}

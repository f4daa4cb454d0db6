//! The embedded table, provider lists, and what wins.

use super::*;
use crate::llm::endpoint::Secret;
use crate::llm::http;
use crate::llm::tests::{Answer, Server, endpoint};
use crate::protocol::Usage;

#[test]
fn the_embedded_table_is_sound() {
    let catalog: Catalog = serde_json::from_str(include_str!("../../../assets/models.json")).unwrap();
    assert!(!catalog.source.is_empty() && catalog.date.len() == 10);
    assert!(catalog.models.len() >= 60);
    for (index, fact) in catalog.models.iter().enumerate() {
        assert_eq!(plain(&fact.id), fact.id, "ids are written plainly");
        assert!(!catalog.models[..index].iter().any(|other| other.id == fact.id), "{} twice", fact.id);
        if let Some(price) = &fact.price {
            assert!(matches!(price.len(), 3 | 4) && price[1] <= price[0], "{}", fact.id);
        }
    }
    assert_eq!(embedded().date, catalog.date);
}

#[test]
fn ids_are_found_exactly_then_by_tail_then_by_beginning() {
    let table = [
        ("gpt-5.5", Some("gpt-5.5")),
        ("openai/gpt-5.5", Some("gpt-5.5")),
        ("gpt-5.5-2026-04-23", Some("gpt-5.5")),
        ("gpt-5.5-pro-2026-04-23", Some("gpt-5.5-pro")),
        ("anthropic/claude-opus-4.6:beta", Some("claude-opus-4-6")),
        ("claude-opus-4-5-20251101", Some("claude-opus-4-5")),
        ("claude-opus-4-20250514", Some("claude-opus-4")),
        ("MiniMaxAI/MiniMax-M2.5", Some("minimax-m2.5")),
        ("models/gemini-2.5-flash-preview", Some("gemini-2.5-flash")),
        ("gpt-5.55", None),
        ("mystery", None),
    ];
    for (id, expected) in table {
        assert_eq!(embedded().find(id).map(|fact| fact.id.as_str()), expected, "{id}");
    }
}

#[test]
fn entries_of_every_provider_are_read() {
    let list = r#"{"data": [
        {"id": "b/y", "context_length": 1000, "pricing": {"prompt": "0.000003", "completion": "0.000015", "input_cache_read": "0.0000003"},
         "architecture": {"input_modalities": ["text", "image"]}, "supported_parameters": ["tools", "reasoning"], "top_provider": {"max_completion_tokens": 64}},
        {"id": "a", "max_model_len": 2000},
        {"id": "c", "context_window": 0, "pricing": {"prompt": "-1", "completion": "-1"}}]}"#;
    let facts = parse_list(list).unwrap();
    assert_eq!(facts.iter().map(|fact| fact.id.as_str()).collect::<Vec<_>>(), ["a", "b/y", "c"]);
    assert_eq!((facts[0].context, facts[2].context), (Some(2000), None));
    assert_eq!(facts[1].price, Some(vec![3.0, 0.3, 15.0]));
    assert_eq!(
        (facts[1].max_output, facts[1].vision, facts[1].reasoning, facts[1].tools),
        (Some(64), Some(true), Some(true), Some(true))
    );
    assert_eq!(facts[2].price, None);
    assert_eq!(parse_list(r#"[{"id": "t"}]"#).unwrap().len(), 1);
    assert_eq!(parse_list(r#"{"models": [{"name": "models/gemini-9"}]}"#).unwrap()[0].id, "gemini-9");
    assert_eq!(parse_list("{}"), None);
}

#[test]
fn cost_counts_each_kind_of_token_once() {
    let price = Price { input: 4.0, cached: 1.0, output: 10.0, cache_write: Some(5.0) };
    let usage = Usage { input: 1_000_000, cached: 500_000, cache_write: 250_000, output: 100_000, ..Usage::default() };
    assert_eq!(price.cost(&usage), 1.0 + 0.5 + 1.25 + 1.0);
    assert_eq!(Price { cache_write: None, ..price }.cost(&usage), 1.0 + 0.5 + 1.0 + 1.0);
}

#[tokio::test]
async fn a_list_is_cached_and_informs() {
    let folder = tempfile::tempdir().unwrap();
    let server =
        Server::start(Answer::json(200, r#"{"data": [{"id": "m", "context_length": 777}, {"id": "gpt-5.5"}]}"#)).await;
    let mut endpoint = endpoint("custom", "m", &server.url, "");
    endpoint.local = false;
    let http = http::client();
    let first = list_models(&endpoint, &http, folder.path(), false).await.unwrap();
    assert_eq!((first[1].id.as_str(), first[1].context), ("m", Some(777)));
    // What the provider does not tell comes from the table, but not the maker's price.
    assert_eq!((first[0].context, first[0].price), (Some(1_050_000), None));
    assert_eq!(list_models(&endpoint, &http, folder.path(), false).await.unwrap(), first);
    server.seen();
    let mut config = Config::default();
    assert_eq!(model_info(&endpoint, &config, Some(folder.path())).context, Some(777));
    assert_eq!(model_info(&endpoint, &config, None).context, None);
    // The config wins.
    endpoint.context = Some(55);
    config.model.context_length = Some(1);
    assert_eq!(model_info(&endpoint, &config, Some(folder.path())).context, Some(55));
    // A list of another address is not this one's.
    endpoint.context = None;
    endpoint.base_url = "http://127.0.0.1:9/v1".into();
    assert_eq!(model_info(&endpoint, &config, Some(folder.path())).context, None);
}

#[tokio::test]
async fn an_old_list_is_better_than_none_unless_a_fresh_one_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(Answer::json(503, "{}")).await;
    let endpoint = endpoint("custom", "m", &server.url, "");
    let old = Cached {
        at: 1,
        base_url: endpoint.base_url.clone(),
        models: vec![Fact { id: "old".into(), ..Fact::default() }],
    };
    write_cache(&cache_file(folder.path(), &endpoint), &old).unwrap();
    let http = http::client();
    assert_eq!(list_models(&endpoint, &http, folder.path(), false).await.unwrap()[0].id, "old");
    let error = list_models(&endpoint, &http, folder.path(), true).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Overloaded);
}

#[test]
fn prices_of_the_maker_hold_at_the_maker() {
    let config = Config::default();
    let at = |provider: &str, model: &str| {
        model_info(&endpoint(provider, model, "", ""), &config, None).price.map(|price| price.input)
    };
    assert_eq!(at("openai", "gpt-5.5"), Some(5.0));
    assert_eq!(at("openrouter", "openai/gpt-5.5"), Some(5.0));
    assert_eq!(at("together", "openai/gpt-oss-120b"), None);
    assert_eq!(at("ollama", "gpt-oss-20b"), Some(0.0));
    assert_eq!(model_info(&endpoint("ollama", "gpt-oss-20b", "", ""), &config, None).context, None);
}

#[tokio::test]
async fn a_provider_is_asked_once_a_day_and_never_without_a_key() {
    for (status, body, refreshed) in
        [(200, r#"{"data": [{"id": "m", "context_length": 777}]}"#, Refreshed::New), (404, "{}", Refreshed::No)]
    {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start(Answer::json(status, body)).await;
        let http = http::client();
        let mut endpoint = endpoint("custom", "m", &server.url, "");
        endpoint.auth = Auth::Bearer;
        endpoint.local = false;
        endpoint.key = Secret::default();
        assert_eq!(refresh_daily(&endpoint, &http, folder.path()).await, Refreshed::No);
        endpoint.key = Secret::new("k");
        endpoint.local = true;
        assert_eq!(refresh_daily(&endpoint, &http, folder.path()).await, Refreshed::No);
        assert_eq!(server.count(), 0, "no key, or on this machine");
        endpoint.local = false;
        assert_eq!(refresh_daily(&endpoint, &http, folder.path()).await, refreshed);
        assert_eq!(refresh_daily(&endpoint, &http, folder.path()).await, Refreshed::No);
        assert_eq!(server.count(), 1, "not twice a day, whatever came back");
        let known = model_info(&endpoint, &Config::default(), Some(folder.path())).context;
        assert_eq!(known, (refreshed == Refreshed::New).then_some(777));
        // a day later
        for file in ["custom.json", "custom.asked"] {
            let path = folder.path().join(file);
            if let Some(cached) = read_cache(&path) {
                write_cache(&path, &Cached { at: cached.at - LIST_TTL.as_secs(), ..cached }).unwrap();
            }
        }
        assert_eq!(refresh_daily(&endpoint, &http, folder.path()).await, refreshed);
        assert_eq!(server.count(), 2);
    }
}

#[tokio::test]
async fn a_list_that_nobody_answered_for_is_asked_for_again() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("cache");
    let http = http::client();
    let server = Server::start(Answer::json(503, "{}")).await;
    let mut endpoint = endpoint("custom", "m", &server.url, "");
    endpoint.auth = Auth::Bearer;
    endpoint.local = false;
    endpoint.key = Secret::new("k");
    for asked in 1..=2 {
        assert_eq!(refresh_daily(&endpoint, &http, &folder).await, Refreshed::Failed);
        assert_eq!(server.count(), asked, "the next start asks again");
    }
}

#[test]
fn waits_double_up_to_two_hours() {
    let minutes: Vec<u64> = (0..7).map(|tries| again_after(tries).as_secs() / 60).collect();
    assert_eq!(minutes, [5, 10, 20, 40, 80, 120, 120]);
    assert_eq!(again_after(u32::MAX).as_secs() / 60, 120);
}

#[test]
fn the_person_wins_over_every_list_and_a_fetched_list_over_the_embedded_table() {
    let home = tempfile::tempdir().unwrap();
    let cache = home.path().join("cache");
    let price = |provider: &str, model: &str, config: &Config| {
        let endpoint = endpoint(provider, model, "", "");
        model_info(&endpoint, config, Some(&cache)).price.map(|price| (price.input, price.output))
    };
    let mut config = Config::default();
    assert_eq!(price("openai", "gpt-5.5", &config), Some((5.0, 30.0)));
    assert_eq!(price("groq", "gpt-5.5", &config), None, "a reseller's price is its own");
    std::fs::create_dir_all(cache.join("prices")).unwrap();
    let list = r#"{"source": "x", "date": "2026-01-02", "models": [
        {"id": "openai:gpt-5.5", "price": [4, 0.4, 20]}, {"id": "groq:gpt-5.5", "price": [1, 1, 2]}]}"#;
    std::fs::write(prices::fetched_file(home.path()), list).unwrap();
    assert_eq!(price("openai", "gpt-5.5", &config), Some((4.0, 20.0)));
    assert_eq!(price("groq", "gpt-5.5", &config), Some((1.0, 2.0)));
    let own = r#"{"models": [{"id": "gpt-5.5", "price": [3, 0.3, 15]}]}"#;
    std::fs::write(prices::own_file(home.path()), own).unwrap();
    assert_eq!(price("openai", "gpt-5.5-2026-04-23", &config), Some((3.0, 15.0)));
    assert_eq!(price("groq", "gpt-5.5", &config), Some((3.0, 15.0)));
    let model = crate::config::ProviderModelConfig {
        price: crate::config::PriceConfig { input: Some(2.0), output: Some(9.0), ..Default::default() },
        ..Default::default()
    };
    let named = crate::config::ProviderConfig { models: [("gpt-5.5".into(), model)].into(), ..Default::default() };
    config.providers.insert("openai".into(), named);
    assert_eq!(price("openai", "gpt-5.5", &config), Some((2.0, 9.0)));
    let read = Prices::read(home.path());
    let sources = read.sources(home.path());
    assert!(read.problems.is_empty() && sources[0].contains("prices.json (1 model)"), "{sources:?}");
    assert_eq!(sources[1], "x, fetched 2026-01-02 (2 models)");
    assert!(sources[2].starts_with("the built-in table of 20"), "{sources:?}");
}

#[test]
fn a_server_on_this_machine_is_free_unless_the_person_says_its_price() {
    let home = tempfile::tempdir().unwrap();
    let cache = home.path().join("cache");
    let near = endpoint("custom", "big", "http://127.0.0.1:9/v1", "");
    let price = || model_info(&near, &Config::default(), Some(&cache)).price.map(|price| price.output);
    assert_eq!(price(), Some(0.0));
    std::fs::write(prices::own_file(home.path()), r#"{"models": [{"id": "big", "price": [1, 1, 7]}]}"#).unwrap();
    assert_eq!(price(), Some(7.0));
}

#[test]
fn a_file_of_prices_that_cannot_be_used_is_named_and_the_rest_goes_on() {
    for (bad, says) in [
        ("{", "EOF"),
        (r#"{"models": [{"id": "gpt-5.5", "price": [3]}]}"#, r#"the price of "gpt-5.5" must be 3 or 4 numbers"#),
        (r#"{"models": [{"id": "gpt-5.5", "price": [3, -1, 2]}]}"#, "must be 3 or 4 numbers"),
        (r#"{"models": [{"id": "gpt-5.5", "cost": 3}]}"#, "unknown field"),
    ] {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(prices::own_file(home.path()), bad).unwrap();
        let read = Prices::read(home.path());
        let [problem] = read.problems.as_slice() else { panic!("{bad}: {:?}", read.problems) };
        assert!(problem.contains("prices.json") && problem.contains(says), "{problem}");
        assert!(problem.ends_with("correct the file or delete it"), "{problem}");
        let info =
            model_info(&endpoint("openai", "gpt-5.5", "", ""), &Config::default(), Some(&home.path().join("cache")));
        assert_eq!(info.price.map(|price| price.input), Some(5.0));
    }
}

#[test]
fn price_lists_are_read_in_each_form() {
    let ours = r#"{"source": "s", "date": "d", "models": [{"id": "a", "price": [1, 0.1, 2, 1.5]}, {"id": "b", "context": 9}]}"#;
    let resold =
        r#"{"data": [{"id": "m/a", "pricing": {"prompt": "0.000001", "completion": "0.000002"}}, {"id": "m/b"}]}"#;
    let by_provider = r#"{
        "google": {"id": "google", "models": {"g": {"cost": {"input": 2, "output": 12, "cache_read": 0.2, "context_over_200k": {"input": 4}}}}},
        "moonshotai": {"models": {"k": {"cost": {"input": 0.6, "output": 2.5, "cache_read": 0.15}, "limit": {"context": 262144, "output": 1000},
            "modalities": {"input": ["text", "image"]}, "reasoning": true, "tool_call": true}}},
        "anthropic": {"models": {"c": {"cost": {"input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75}}}},
        "nobody-knows": {"models": {"x": {"cost": {"input": 1, "output": 1}}}}}"#;
    let read = |text: &str| {
        let facts = prices::parse(text)?;
        Some(facts.into_iter().map(|fact| (fact.id, fact.price.unwrap_or_default())).collect::<Vec<_>>())
    };
    assert_eq!(read(ours), Some(vec![("a".into(), vec![1.0, 0.1, 2.0, 1.5])]));
    assert_eq!(read(resold), Some(vec![("m/a".into(), vec![1.0, 1.0, 2.0])]));
    let expected =
        vec![("anthropic:c".into(), vec![3.0, 0.3, 15.0, 3.75]), ("moonshot:k".into(), vec![0.6, 0.15, 2.5])];
    assert_eq!(read(by_provider), Some(expected.clone()), "a price that depends on the size of a request is none");
    assert_eq!(read(&format!(r#"{{"providers": {by_provider}}}"#)), Some(expected));
    for nothing in ["", "[]", "{}", r#"{"models": []}"#, r#"{"data": [{"id": "x"}]}"#, r#"{"a": 1}"#, "<html>"] {
        assert_eq!(read(nothing), None, "{nothing}");
    }
}

#[tokio::test]
async fn a_list_is_fetched_kept_with_its_date_and_a_bad_one_changes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let body = r#"{"openai": {"models": {"gpt-5.5": {"cost": {"input": 4, "output": 20}}}}}"#;
    let server = Server::start(Answer::json(200, body)).await;
    let updated = prices::update(&http::client(), &server.url, home.path(), "2026-11-26").await.unwrap();
    assert_eq!(
        (updated.models, updated.date.as_str(), updated.source.as_str()),
        (1, "2026-11-26", server.url.as_str())
    );
    let kept = std::fs::read_to_string(&updated.file).unwrap();
    assert!(kept.contains("2026-11-26") && kept.contains(&server.url), "{kept}");
    for (answer, says) in [(Answer::json(200, "<html>"), "no prices in a known form"), (Answer::json(503, "no"), "503")]
    {
        let server = Server::start(answer).await;
        let why = prices::update(&http::client(), &server.url, home.path(), "2026-11-27").await.unwrap_err();
        assert!(why.contains(&server.url) && why.contains(says) && why.contains("prices.url"), "{why}");
    }
    assert_eq!(std::fs::read_to_string(&updated.file).unwrap(), kept);
}

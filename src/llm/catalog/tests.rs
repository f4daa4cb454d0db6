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

//! Local servers, played on loopback: told apart by what they answer, asked for the real window.

use super::*;
use crate::llm::http;
use crate::llm::tests::endpoint;
use axum::Json;
use axum::routing::{get, post};

async fn serve(app: axum::Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    url
}

fn answers(paths: &[(&'static str, Value)]) -> axum::Router {
    let app = axum::Router::new();
    paths.iter().fold(app, |app, (path, value)| {
        let value = value.clone();
        app.route(path, get(move || async move { Json(value) }))
    })
}

fn ollama() -> axum::Router {
    let show = json!({"capabilities": ["completion", "tools"], "parameters": "stop  \"x\"\nnum_ctx                        8192", "model_info": {"qwen.context_length": 131_072}});
    answers(&[
        ("/api/tags", json!({"models": [{"name": "a:1b"}, {"name": "b:latest"}]})),
        ("/api/ps", json!({"models": [{"name": "b:latest", "context_length": 4096}]})),
        ("/v1/models", json!({"data": [{"id": "a:1b"}]})),
    ])
    .route("/api/show", post(move || async move { Json(show) }))
}

fn studio() -> axum::Router {
    answers(&[
        (
            "/api/v0/models",
            json!({"data": [{"id": "idle", "state": "not-loaded", "max_context_length": 9}, {"id": "hot", "state": "loaded", "loaded_context_length": 5000}, {"id": "e", "type": "embeddings", "state": "loaded"}]}),
        ),
        ("/v1/models", json!({"data": [{"id": "hot"}]})),
    ])
}

fn llama() -> axum::Router {
    answers(&[
        ("/props", json!({"default_generation_settings": {"n_ctx": 16_384}})),
        ("/v1/models", json!({"data": [{"id": "q.gguf"}]})),
    ])
}

fn vllm() -> axum::Router {
    answers(&[("/v1/models", json!({"data": [{"id": "org/m", "owned_by": "vllm", "max_model_len": 40_000}]}))])
}

#[tokio::test]
async fn each_kind_is_known_by_its_answers() {
    let table = [
        (ollama(), LocalKind::Ollama, vec!["b:latest", "a:1b"], Some(4096)),
        (studio(), LocalKind::LmStudio, vec!["hot", "idle"], Some(5000)),
        (llama(), LocalKind::LlamaCpp, vec!["q.gguf"], Some(16_384)),
        (vllm(), LocalKind::Vllm, vec!["org/m"], Some(40_000)),
        (answers(&[("/v1/models", json!({"data": [{"id": "x"}]}))]), LocalKind::Other, vec!["x"], None),
    ];
    let http = http::client();
    for (app, kind, models, window) in table {
        let url = serve(app).await;
        for base in [url.clone(), format!("{url}/v1")] {
            let found = probe(&http, &base).await.unwrap();
            assert_eq!((found.kind, found.window, &found.base_url), (kind, window, &base));
            assert_eq!(found.models, models);
        }
    }
    let web = serve(axum::Router::new().fallback(get(|| async { "welcome" }))).await;
    assert_eq!(probe(&http, &web).await, None);
    assert_eq!(probe(&http, "http://127.0.0.1:1").await, None);
}

#[tokio::test]
async fn the_real_window_replaces_the_hoped_for_one() {
    let http = http::client();
    let table = [
        (ollama(), "b", Some(4096), Some(true)),
        (ollama(), "a:1b", Some(8192), Some(true)),
        (studio(), "hot", Some(5000), None),
        (llama(), "q.gguf", Some(16_384), None),
        (vllm(), "org/m", Some(40_000), None),
    ];
    for (app, model, window, tools) in table {
        let url = serve(app).await;
        let hoped = ModelInfo { context: Some(131_072), ..ModelInfo::default() };
        let mut endpoint = endpoint("custom", model, &url, "");
        let info = refine(&http, &endpoint, hoped.clone()).await;
        assert_eq!((info.context, info.tools), (window, tools), "{model}");
        endpoint.context = Some(99);
        assert_eq!(refine(&http, &endpoint, hoped).await.context, Some(99));
    }
}

#[test]
fn an_address_is_read_as_people_write_it() {
    let table = [
        ("8081", "http://127.0.0.1:8081/v1"),
        ("localhost:1234", "http://localhost:1234/v1"),
        (" http://127.0.0.1:8080/ ", "http://127.0.0.1:8080/v1"),
        ("http://box.lan:8000/v1/", "http://box.lan:8000/v1"),
        ("models.example.com", "https://models.example.com/v1"),
        ("https://example.com/api/openai", "https://example.com/api/openai"),
        ("[::1]:9", "http://[::1]:9/v1"),
    ];
    for (text, base) in table {
        assert_eq!(address(text).as_deref(), Ok(base), "{text}");
    }
    for text in ["", "ftp://x", "http://", "two words", "http://:80", "::"] {
        assert!(address(text).is_err(), "{text:?}: {:?}", address(text));
    }
}

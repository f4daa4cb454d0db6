//! Tables for error classes, waits and messages.

use super::*;
use crate::llm::endpoint::Secret;
use chrono::DateTime;
use serde::Deserialize;

fn endpoint() -> Endpoint {
    let mut config = crate::config::Config::default();
    config.model.default = "some-model".into();
    config.model.base_url = "https://llm.example/v1".into();
    let mut endpoint = crate::llm::endpoint::resolve(&config, &|_: &str| None, None).unwrap();
    endpoint.key = Secret::new("topsecretkey1");
    endpoint.key_source = "MY_KEY".into();
    endpoint
}

#[derive(Deserialize)]
struct Case {
    message: String,
    status: Option<u16>,
    reason: String,
}

#[test]
fn the_cases_fall_into_our_kinds() {
    for line in include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/error-classify.jsonl")).lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let expected = match (case.reason.as_str(), case.message.as_str()) {
            ("billing", _) => ErrorKind::Quota,
            ("model_not_found", _) => ErrorKind::ModelNotFound,
            ("payload_too_large" | "context_overflow", _) => ErrorKind::ContextOverflow,
            ("overloaded", _) => ErrorKind::Overloaded,
            ("rate_limit", _) => ErrorKind::RateLimit,
            ("timeout" | "ssl_cert_verification", _) => ErrorKind::Network,
            // A refusal of content has a kind of its own here.
            ("format_error", message) if message.contains("flagged") => ErrorKind::ContentFilter,
            ("format_error" | "image_too_large" | "multimodal_tool_content_unsupported", _) => ErrorKind::BadRequest,
            // Retryable, as there.
            ("unknown", _) => ErrorKind::Overloaded,
            other => panic!("no kind for {other:?}"),
        };
        assert_eq!(classify(case.status, &case.message), expected, "{} {:?}", case.message, case.status);
    }
}

#[test]
fn real_bodies_are_classified() {
    let table = [
        (401, r#"{"error":{"message":"Incorrect API key provided"}}"#, ErrorKind::Auth),
        (
            400,
            r#"[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]"#,
            ErrorKind::Auth,
        ),
        (403, r#"{"error":{"message":"Key limit exceeded, add more credits"}}"#, ErrorKind::Quota),
        (
            429,
            r#"{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}"#,
            ErrorKind::Quota,
        ),
        (
            429,
            r#"{"error":{"message":"Rate limit reached for gpt-5 on tokens per min. Please try again in 1.2s."}}"#,
            ErrorKind::RateLimit,
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
            ErrorKind::ContextOverflow,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}}"#,
            ErrorKind::ContextOverflow,
        ),
        (400, r#"{"error":{"code":"context_length_exceeded"}}"#, ErrorKind::ContextOverflow),
        (400, r#"{"error":{"message":"Your credit balance is too low to access the API"}}"#, ErrorKind::Quota),
        (404, r#"{"error":{"message":"model \"x\" not found, try pulling it first"}}"#, ErrorKind::ModelNotFound),
        (400, r#"{"error":{"message":"foo/bar is not a valid model ID"}}"#, ErrorKind::ModelNotFound),
        (400, r#"{"error":{"code":"content_filter","message":"The response was filtered"}}"#, ErrorKind::ContentFilter),
        (503, r#"{"error":{"message":"Loading model"}}"#, ErrorKind::Overloaded),
        (529, r#"{"type":"error","error":{"type":"overloaded_error"}}"#, ErrorKind::Overloaded),
        (502, "<html>bad gateway</html>", ErrorKind::Overloaded),
        (422, r#"{"detail":[{"msg":"field required"}]}"#, ErrorKind::BadRequest),
    ];
    for (status, body, kind) in table {
        assert_eq!(classify(Some(status), body), kind, "{status} {body}");
    }
}

#[test]
fn waits_are_read_from_headers_and_words_and_bounded() {
    let now = DateTime::parse_from_rfc3339("2026-11-21T10:00:00Z").unwrap().with_timezone(&Utc);
    type Row = (&'static [(&'static str, &'static str)], &'static str, Option<f64>);
    let table: &[Row] = &[
        (&[("retry-after", "7")], "", Some(7.0)),
        (&[("retry-after", "1.5")], "", Some(1.5)),
        (&[("retry-after-ms", "250"), ("retry-after", "9")], "", Some(0.25)),
        (&[("retry-after", "Sat, 21 Nov 2026 10:00:30 GMT")], "", Some(30.0)),
        (&[("retry-after", "Sat, 21 Nov 2026 09:00:00 GMT")], "", Some(0.0)),
        (&[("retry-after", "86400")], "", Some(600.0)),
        (&[("retry-after", "soon")], "", None),
        (&[], "quota exceeded, try again in 5s", Some(5.0)),
        (&[], "Please try again in 1.2s.", Some(1.2)),
        (&[], "try again in 350ms", Some(0.35)),
        (&[], "Please try again in 6m30s", Some(390.0)),
        (&[], "please retry after 20 seconds", Some(20.0)),
        (&[], r#"{"retryDelay": "32s"}"#, Some(32.0)),
        (&[], "try again in a while", None),
    ];
    for (pairs, body, expected) in table {
        let mut headers = HeaderMap::new();
        for (name, value) in *pairs {
            headers.insert(reqwest::header::HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
        }
        let found = retry_after(&headers, body, now).map(|wait| wait.as_secs_f64());
        assert_eq!(found, *expected, "{pairs:?} {body}");
    }
}

#[test]
fn messages_name_provider_model_and_remedy_and_no_key() {
    let body =
        r#"{"error":{"message":"Incorrect API key provided: topsecretkey1 (sk-proj-abcdefgh12345).\nSee docs."}}"#;
    let error = refused(&endpoint(), 401, &HeaderMap::new(), body);
    assert_eq!(error.kind, ErrorKind::Auth);
    for part in ["custom endpoint", "some-model", "MY_KEY", "(401)", "Incorrect API key provided: ***"] {
        assert!(error.message.contains(part), "{} lacks {part}", error.message);
    }
    for part in ["topsecret", "sk-proj", "\n"] {
        assert!(!error.message.contains(part), "{} has {part}", error.message);
    }
    let long = broke_off(&endpoint(), "server_error", &"x".repeat(5000));
    assert!(long.message.len() < 600 && long.kind == ErrorKind::Overloaded);
    let wrapped = r#"{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"{\"error\":{\"message\":\"slow down\"}}"}}}"#;
    assert!(
        refused(&endpoint(), 429, &HeaderMap::new(), wrapped).message.contains("Provider returned error: slow down")
    );
}

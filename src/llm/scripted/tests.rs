//! Scripts: order, choice, failure, and the demo from end to end.

use super::*;
use crate::llm::tests::{request, text_of, user};

fn scripted(yaml: &str) -> Scripted {
    Scripted::recording(Script::parse("test", yaml).unwrap())
}

async fn ask(provider: &dyn Provider, messages: Vec<Message>) -> (Result<Reply, ProviderError>, Vec<Delta>) {
    let (tx, mut rx) = mpsc::channel(4096);
    let outcome = provider.stream(&request(messages), tx, CancellationToken::new()).await;
    let mut deltas = Vec::new();
    while let Some(delta) = rx.recv().await {
        deltas.push(delta);
    }
    (outcome, deltas)
}

#[tokio::test]
async fn steps_are_used_up_in_order() {
    let yaml = "
steps:
  - { reasoning: hmm, text: one two, chunk: 3, calls: [{ name: todo, args: { n: 1 } }], usage: { input: 5, output: 2 } }
  - { when: special, text: for special }
  - { error: { status: 429, message: slow down, retry_after: 2 } }
  - { text: half, cut: true }
  - { text: long, stop: length }
";
    let provider = scripted(yaml);
    let (reply, deltas) = ask(&provider, vec![user("go")]).await;
    let reply = reply.unwrap();
    assert_eq!(
        (reply.text.as_str(), reply.reasoning.as_str(), &reply.stop),
        ("one two", "hmm", &StopReason::ToolCalls)
    );
    assert_eq!((reply.calls[0].args.as_str(), reply.usage.unwrap().input), ("{\"n\":1}", 5));
    assert_eq!(text_of(&deltas), "one two");
    assert_eq!(deltas.len(), 1 + 3 + 2);
    let error = ask(&provider, vec![user("go")]).await.0.unwrap_err();
    assert_eq!(
        (error.kind, error.status, error.retry_after),
        (ErrorKind::RateLimit, Some(429), Some(Duration::from_secs(2)))
    );
    assert_eq!(ask(&provider, vec![user("special")]).await.0.unwrap().text, "for special");
    let cut = ask(&provider, vec![user("go")]).await.0.unwrap_err();
    assert_eq!((cut.kind, cut.partial.unwrap().text), (ErrorKind::Network, "half".to_owned()));
    assert_eq!(ask(&provider, vec![user("go")]).await.0.unwrap().stop, StopReason::Length);
    let none = ask(&provider, vec![user("go")]).await.0.unwrap_err();
    assert!(none.message.contains("no step left"), "{none}");
    assert_eq!(provider.requests().len(), 6);
}

#[tokio::test]
async fn an_unexpected_message_is_said() {
    let error = ask(&scripted("steps: [{ expect: '^hello$', text: x }]"), vec![user("bye")]).await.0.unwrap_err();
    assert!(error.message.contains("\"^hello$\"") && error.message.contains("bye"), "{error}");
    assert!(Script::parse("t", "steps: [{ tetx: x }]").is_err());
    assert!(Script::parse("t", "steps: [{ when: '(' }]").is_err());
}

#[tokio::test]
async fn a_stall_ends_in_an_error_or_when_stopped() {
    let error = ask(&scripted("steps: [{ text: a, stall: 1 }]"), vec![user("x")]).await.0.unwrap_err();
    assert_eq!((error.kind, error.partial.unwrap().text), (ErrorKind::Stalled, "a".to_owned()));
    let provider = scripted("steps: [{ text: a, stall: 60000 }]");
    let (tx, mut rx) = mpsc::channel(4);
    let cancel = CancellationToken::new();
    let request = request(vec![user("x")]);
    let stop = async {
        rx.recv().await;
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(provider.stream(&request, tx, cancel.clone()), stop);
    assert_eq!(outcome.unwrap_err().kind, ErrorKind::Cancelled);
}

/// Plays a scene to its end; every call fails if `failing` names it.
async fn play(prompt: &str, failing: &str) -> (Vec<(String, serde_json::Value)>, String) {
    let provider = Scripted::new(Script { delay_ms: 0, ..Script::demo().unwrap() });
    let mut messages = vec![user("nothing that it knows"), user(prompt)];
    let (mut calls, mut text) = (Vec::new(), String::new());
    loop {
        let reply = ask(&provider, messages.clone()).await.0.unwrap();
        text = text + "\n" + &reply.text;
        if reply.calls.is_empty() {
            return (calls, text);
        }
        messages.push(Message::Assistant {
            text: reply.text,
            reasoning: reply.reasoning,
            calls: reply.calls.clone(),
            opaque: Vec::new(),
        });
        for call in reply.calls {
            let failed = !failing.is_empty() && call.args.contains(failing);
            messages.push(Message::Tool { call_id: call.id, name: call.name.clone(), content: "Ahoy!".into(), failed });
            calls.push((call.name, serde_json::from_str(&call.args).unwrap()));
        }
    }
}

#[tokio::test]
async fn the_demo_plays_through_and_knows_a_no() {
    let (calls, text) = play("give me the TOUR, please", "").await;
    let names: Vec<&str> = calls.iter().map(|(name, _)| name.as_str()).collect();
    let expected =
        ["todo", "write_file", "write_file", "terminal", "read_file", "patch", "terminal", "todo", "terminal", "todo"];
    assert_eq!(names, expected);
    assert_eq!(calls[8].1["command"], "rm -rf build");
    assert!(text.contains("| step | tool | result |") && text.contains("Gone, because you allowed it"));
    let (_, refused) = play("tour", "rm -rf").await;
    assert!(refused.contains("You said no") && !refused.contains("Gone, because"));
    for (prompt, tool) in [("edit", "patch"), ("danger", "terminal"), ("process", "process"), ("ask", "clarify")] {
        let (calls, text) = play(prompt, "").await;
        assert!(calls.iter().any(|(name, _)| name == tool), "{prompt}");
        assert!(!text.contains("I am only a script"), "{prompt}");
    }
    assert!(play("what is the meaning of life", "").await.1.contains("I am only a script"));
}

#[tokio::test]
async fn the_demos_patches_fit_its_files() {
    for prompt in ["tour", "edit"] {
        let (calls, _) = play(prompt, "").await;
        for (_, patch) in calls.iter().filter(|(name, _)| name == "patch") {
            let (path, old) = (patch["path"].as_str().unwrap(), patch["old_string"].as_str().unwrap());
            let (_, file) = calls.iter().find(|(name, args)| name == "write_file" && args["path"] == path).unwrap();
            assert_eq!(file["content"].as_str().unwrap().matches(old).count(), 1, "{path}: {old}");
        }
    }
}

#[tokio::test]
async fn a_scene_survives_what_is_said_in_between() {
    let yaml = "
scenes: [{ when: '^go', steps: [{ text: a, calls: [{ name: todo }] }, { error: { kind: overloaded } }, { text: b }] }]
fallback: { text: lost }";
    let provider = scripted(yaml);
    let tool = || Message::Tool { call_id: "1".into(), name: "todo".into(), content: String::new(), failed: false };
    let assistant =
        || Message::Assistant { text: "a".into(), reasoning: String::new(), calls: Vec::new(), opaque: Vec::new() };
    let steered = vec![user("go"), assistant(), tool(), user("and faster")];
    assert_eq!(ask(&provider, steered.clone()).await.0.unwrap_err().kind, ErrorKind::Overloaded);
    assert_eq!(ask(&provider, steered).await.0.unwrap().text, "b");
    assert_eq!(ask(&provider, vec![user("go"), assistant(), user("other")]).await.0.unwrap().text, "lost");
}

#[tokio::test]
async fn a_script_that_cannot_be_read_says_so() {
    let provider = open("/nowhere/script.yaml", ModelInfo::default());
    let error = ask(&*provider, vec![user("x")]).await.0.unwrap_err();
    assert!(error.message.contains("/nowhere/script.yaml"), "{error}");
}

//! Tools of a conversation: those that come late, other toolsets, identical calls.

use super::*;
use hermes::policy::Intent;
use hermes::tools::spec::{Call, Tool, ToolCtx, ToolError, ToolOutput, ToolSpec};

/// A tool of another program that says its arguments back.
struct Echo(ToolSpec);

impl Echo {
    fn tool(name: &str, toolset: &str) -> Arc<dyn Tool> {
        let schema = serde_json::json!({"type": "object", "properties": {"text": {"type": "string"}}});
        Arc::new(Self(ToolSpec::dynamic(name, toolset, "Says a text back, far away.", schema)))
    }
}

impl Tool for Echo {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn plan<'a>(
        &'a self,
        args: serde_json::Value,
        _: &'a ToolCtx,
    ) -> futures::future::BoxFuture<'a, Result<Box<dyn Call>, ToolError>> {
        Box::pin(async move { Ok(Box::new(EchoCall(args)) as Box<dyn Call>) })
    }
}

struct EchoCall(serde_json::Value);

impl Call for EchoCall {
    fn intent(&self) -> &Intent {
        &Intent::Talk
    }

    fn target(&self) -> String {
        "far away".into()
    }

    fn run(self: Box<Self>, _: ToolCtx) -> futures::future::BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move { Ok(ToolOutput::json(&serde_json::json!({"echo": self.0}))) })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_came_late_is_found_and_runs_as_itself() {
    let world = World::new(
        r#"
steps:
  - text: hello
  - calls: [{ name: tool_search, args: { query: say text back } }]
  - calls: [{ name: tool_call, args: { name: mcp__far__echo, arguments: { text: hi } } }]
  - text: done
  - text: bye
"#,
    );
    world.registry.expect("mcp-far");
    let mut talk = world.start(None);
    talk.say("hello").await;
    talk.finished().await;
    world.registry.publish("mcp-far", vec![Echo::tool("mcp__far__echo", "mcp-far")]);
    talk.say("echo something").await;
    let (end, seen) = talk.finished().await;
    assert_eq!(end, TurnEnd::Completed);
    // What is stored and shown is the tool that ran.
    let bodies: Vec<_> = items(&seen).into_iter().map(|item| item.body.clone()).collect();
    let ran = bodies.iter().any(
        |body| matches!(body, Body::Tool(tool) if tool.name == "mcp__far__echo" && tool.view.target == "far away"),
    );
    let asked = bodies.iter().any(|body| {
        matches!(body, Body::Assistant(said) if said.calls.iter().any(|c| c.name == "mcp__far__echo" && c.args == r#"{"text":"hi"}"#))
    });
    let started = seen.iter().any(|e| matches!(e, AgentEvent::ToolStarted(start) if start.name == "mcp__far__echo"));
    assert!(ran && asked && started, "{bodies:?}");
    world.registry.withdraw("mcp-far");
    talk.say("bye").await;
    talk.finished().await;
    // What the model reads only grows, and holds the calls as it wrote them.
    let requests = world.model.requests();
    assert_eq!(requests.len(), 5);
    for pair in requests.windows(2) {
        assert_eq!(pair[0].messages[..], pair[1].messages[..pair[0].messages.len()]);
        assert_eq!((&pair[0].system, &pair[0].tools), (&pair[1].system, &pair[1].tools));
    }
    let said = |text: &str| {
        requests[4].messages.iter().any(|m| matches!(m, Message::User { text: said, .. } if said.contains(text)))
    };
    assert!(said("tools: mcp-far added (1)") && said("tools: mcp-far removed"));
    let wrapped =
        |m: &Message| matches!(m, Message::Assistant { calls, .. } if calls.iter().any(|c| c.name == "tool_call"));
    assert!(requests[4].messages.iter().any(wrapped));
    assert!(
        requests[4]
            .messages
            .iter()
            .any(|m| matches!(m, Message::Tool { content, .. } if content == r#"{"echo":{"text":"hi"}}"#))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn other_toolsets_hold_from_the_next_turn() {
    let world = World::new("steps: [{ text: one }, { text: two }, { text: three }]");
    let mut talk = world.start(None);
    talk.say("one").await;
    talk.finished().await;
    talk.order(AgentCommand::SetToolsets(vec!["file".into(), "teminal".into()])).await;
    let is_told =
        |event: &AgentEvent| matches!(event, AgentEvent::Notice { text, .. } if text.contains("prompt cache"));
    let told = talk.until(is_told).await;
    let warned = |event: &AgentEvent| matches!(event, AgentEvent::Notice { text, .. } if text.contains("`terminal`"));
    assert!(told.iter().any(warned), "{told:?}");
    talk.say("two").await;
    talk.finished().await;
    talk.order(AgentCommand::SetToolsets(Vec::new())).await;
    talk.say("three").await;
    talk.finished().await;
    let requests = world.model.requests();
    let names = |at: usize| requests[at].tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(1), ["patch", "read_file", "search_files", "write_file"]);
    assert_eq!(names(0), names(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resumed_session_has_the_tools_that_it_had() {
    let world = World::new("steps: [{ text: one }, { text: two }, { text: three }, { text: four }]");
    let mut talk = world.start(None);
    let seen = talk.until(|e| matches!(e, AgentEvent::SessionOpened { .. })).await;
    let Some(AgentEvent::SessionOpened { session, .. }) = seen.last() else { unreachable!() };
    let id = session.id.clone();
    talk.order(AgentCommand::SetToolsets(vec!["file".into(), "todo".into(), "late".into()])).await;
    for (toolset, text) in [(None, "one"), (Some("late"), "two"), (None, "three")] {
        if let Some(toolset) = toolset {
            let mut spec = ToolSpec::dynamic("late", toolset, "Came later.", serde_json::json!({"type": "object"}));
            spec.pinned = true;
            world.registry.register(Arc::new(Echo(spec)));
        }
        talk.say(text).await;
        talk.finished().await;
        talk.order(AgentCommand::Close { cleared: false }).await;
        talk.agent.task.await.unwrap();
        talk = world.start(Some(id.clone()));
    }
    // A tool that it had is gone: it gets what there is, and the person is told.
    world.registry.register(Arc::new(Echo(ToolSpec::dynamic("todo", "todo", "Other.", serde_json::json!({})))));
    talk.say("four").await;
    let (_, seen) = talk.finished().await;
    let told = |e: &AgentEvent| matches!(e, AgentEvent::Notice { text, .. } if text.contains("tools changed"));
    assert!(seen.iter().any(told), "{seen:?}");
    let requests = world.model.requests();
    let names = |at: usize| requests[at].tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(0), ["patch", "read_file", "search_files", "todo", "write_file"]);
    assert_eq!((&requests[0].tools, &requests[0].system), (&requests[1].tools, &requests[1].system));
    assert_eq!(requests[1].tools, requests[2].tools);
    assert!(names(3).contains(&"late".to_owned()), "{:?}", names(3));
}

#[tokio::test(flavor = "multi_thread")]
async fn identical_calls_of_a_step_run_once() {
    let world = World::new(
        r#"
steps:
  - calls:
      - { name: terminal, args: { command: echo x >> log } }
      - { name: terminal, args: { command: echo x >> log } }
  - text: done
"#,
    );
    let mut talk = world.start(None);
    talk.say("go").await;
    let (_, seen) = talk.finished().await;
    assert_eq!(std::fs::read_to_string(world.work().join("log")).unwrap(), "x\n");
    let results = results(&seen);
    assert_eq!(results.len(), 2);
    assert!(results[1].2.contains("ran once"), "{results:?}");
}

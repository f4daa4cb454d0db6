//! Tools that come and go, replace each other, cannot be built or used; and checks.

use super::*;
use crate::tools::spec::ToolSpec;
use crate::tools::testing::{Fake, Step};
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn builtin_tools_are_sorted_and_described() {
    let registry = Registry::builtin().snapshot();
    assert!(registry.warnings().is_empty());
    assert!(registry.names().is_sorted());
    for spec in registry.specs() {
        let words = spec.description.split_whitespace().count();
        assert!(spec.description.len() > 20 && words <= 180, "{}", spec.name);
        assert_eq!(spec.schema["type"], "object", "{}", spec.name);
        assert!(spec.pinned, "{}", spec.name);
    }
}

/// The model reads all of it with every request. About 4.3 bytes make a token.
#[test]
fn the_file_tools_are_light() {
    let registry = Registry::builtin().snapshot();
    let ours = ["clarify", "patch", "read_file", "search_files", "todo", "write_file"];
    let weight = |spec: &ToolSpec| spec.name.len() + spec.description.len() + spec.schema.to_string().len();
    let bytes: usize = registry.specs().filter(|spec| ours.contains(&&*spec.name)).map(weight).sum();
    assert!(bytes < 4_700, "{bytes} bytes");
}

#[test]
fn the_later_of_two_wins_with_a_warning() {
    let registry = Registry::builtin();
    registry.register(Arc::new(Fake::new("patch", "mine", Step::Ok)));
    let registry = registry.snapshot();
    assert_eq!(registry.get("patch").unwrap().spec().toolset, "mine");
    assert!(registry.warnings()[0].contains("patch"), "{:?}", registry.warnings());
}

#[tokio::test]
async fn checks_run_once_and_faults_mean_unavailable() {
    let registry = Registry::default();
    for (name, check) in [("a", "ok"), ("b", "ok"), ("c", "panics"), ("d", "errs"), ("e", "missing"), ("f", "hangs")] {
        registry.register(Arc::new(Fake::new(name, "t", Step::Ok).checked(check)));
    }
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    registry.add_check(
        CheckId("ok".into()),
        Arc::new(move || {
            counted.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }),
    );
    registry.add_check(CheckId("panics".into()), Arc::new(|| panic!("boom")));
    registry.add_check(CheckId("errs".into()), Arc::new(|| Err("no key".into())));
    let (hold, held) = std::sync::mpsc::channel::<()>();
    let held = std::sync::Mutex::new(held);
    registry
        .add_check(CheckId("hangs".into()), Arc::new(move || held.lock().unwrap().recv().map_err(|e| e.to_string())));
    let unavailable = registry.snapshot().unavailable().await;
    drop(hold);
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    assert_eq!(unavailable.keys().collect::<Vec<_>>(), ["c", "d", "e", "f"]);
    assert_eq!(unavailable["d"], "no key");
    assert!(unavailable["f"].contains("2 s"));
}

fn fake(name: &'static str, toolset: &'static str) -> Arc<dyn Tool> {
    Arc::new(Fake::new(name, toolset, Step::Ok))
}

#[test]
fn a_tool_that_cannot_be_built_is_left_out() {
    let registry = Registry::of(vec![
        ("fine", || Ok(fake("fine", "t"))),
        ("needy", || Err("no library".into())),
        ("broken", || panic!("boom")),
    ]);
    let now = registry.snapshot();
    assert_eq!(now.names().collect::<Vec<_>>(), ["fine"]);
    assert_eq!(now.warnings().len(), 2, "{:?}", now.warnings());
    assert!(now.warnings()[0].contains("needy skipped: no library"));
}

#[test]
fn sources_come_and_go() {
    let registry = Registry::builtin();
    let before = registry.snapshot();
    let mut told = registry.subscribe();
    registry.publish("mcp-gh", vec![fake("mcp__gh__find", "mcp-gh"), fake("todo", "mcp-gh"), fake("a b", "mcp-gh")]);
    registry.publish("shout", vec![fake("shout", "shout")]);
    registry.report("shout", vec!["tool whisper has no schema".into()]);
    let now = registry.snapshot();
    assert!(told.has_changed().unwrap() && told.borrow_and_update().generation() == now.generation());
    assert_eq!((now.get("todo").unwrap().spec().toolset.as_ref(), now.sources().len()), ("mcp-gh", 2));
    assert_eq!(now.origin("shout").map(|name| &**name), Some("shout"));
    assert!(now.origin("patch").is_none());
    let warnings = now.warnings().join("\n");
    for words in ["tool todo of toolset mcp-gh replaces", "its name `a b`", "shout: tool whisper has no schema"] {
        assert!(warnings.contains(words), "{warnings}");
    }
    // A list that changed keeps its place among the sources.
    registry.publish("mcp-gh", vec![fake("shout", "mcp-gh")]);
    assert_eq!(registry.snapshot().get("shout").unwrap().spec().toolset, "shout");
    for source in ["shout", "mcp-gh", "nobody"] {
        registry.withdraw(source);
    }
    let after = registry.snapshot();
    assert!(after.names().eq(before.names()) && after.warnings().is_empty() && after.sources().is_empty());
    assert!(before.get("mcp__gh__find").is_none(), "a snapshot never changes");
}

/// 300 tools of 20 sources, three of them dead: nothing is checked until somebody asks for a listing.
#[tokio::test]
async fn nothing_is_checked_before_it_is_asked_for() {
    let registry = Registry::builtin();
    let runs = Arc::new(AtomicUsize::new(0));
    for server in 0..20 {
        let (source, id) = (format!("mcp-s{server}"), CheckId(format!("server {server}").into()));
        registry.expect(&source);
        let counted = Arc::clone(&runs);
        registry.add_check(
            id.clone(),
            Arc::new(move || {
                counted.fetch_add(1, Ordering::SeqCst);
                if server < 3 { Err("dead".into()) } else { Ok(()) }
            }),
        );
        let tool = |n| {
            let tool = Fake::remote(&format!("mcp__s{server}__t{n}"), &source).checked(format!("server {server}"));
            Arc::new(tool) as Arc<dyn Tool>
        };
        registry.publish(&source, (0..15).map(tool).collect());
    }
    let offer = crate::tools::offer::selection::ToolSelection::default();
    let now = registry.snapshot();
    assert!(offer.offered(&now).searched.values().sum::<usize>() == 300 && now.warnings().is_empty());
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    assert_eq!(now.unavailable().await.len(), 45);
    assert_eq!(runs.load(Ordering::SeqCst), 20, "once for all tools that share it");
}

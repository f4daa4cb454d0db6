//! What a call costs before and after its tool's own work, measured inside this process.

use crate::measures::{Row, row};
use futures::future::BoxFuture;
use hermes::agent::AgentHandle;
use hermes::config::Config;
use hermes::exec::{Exec, ExecOptions};
use hermes::policy::Intent;
use hermes::policy::redact::redact;
use hermes::tools::dispatch::Dispatch;
use hermes::tools::offer::selection::ToolSelection;
use hermes::tools::registry::Registry;
use hermes::tools::spec::{Call, Tool, ToolCtx, ToolError, ToolOutput, ToolSpec};
use hermes::tools::world::LocalWorld;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

const CALLS: u32 = 20_000;

/// A tool without work of its own.
struct Nothing(ToolSpec);

impl Tool for Nothing {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn plan<'a>(&'a self, _: Value, _: &'a ToolCtx) -> BoxFuture<'a, Result<Box<dyn Call>, ToolError>> {
        Box::pin(async { Ok(Box::new(Done) as Box<dyn Call>) })
    }
}

struct Done;

impl Call for Done {
    fn intent(&self) -> &Intent {
        &Intent::Talk
    }

    fn target(&self) -> String {
        String::new()
    }

    fn run(self: Box<Self>, _: ToolCtx) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async { Ok(ToolOutput::json(&json!({"ok": true, "text": "a few words"}))) })
    }
}

/// What a call may use in this folder.
pub fn ctx(folder: &Path, exec: Exec) -> ToolCtx {
    ToolCtx {
        config: Arc::new(Config::default()),
        call_id: "call".into(),
        task: "bench".into(),
        cwd: Arc::new(Mutex::new(folder.to_owned())),
        workspace: folder.to_owned(),
        unconfined: false,
        read_only: false,
        closed: Default::default(),
        exec,
        backends: Default::default(),
        world: Arc::new(LocalWorld::new("/home/bench".into(), "/home/bench/.hermes".into())),
        files: Arc::default(),
        kin: None,
        agent: Arc::new(AgentHandle::alone()),
        progress: mpsc::channel(1).0,
        cancel: CancellationToken::new(),
        spill: folder.join("spill"),
        calls: None,
        within: None,
        room: Default::default(),
        history: None,
        sessions: None,
    }
}

/// Dispatch alone, in a registry of 300 tools of 20 servers: repair, coercion, plan, run, masks and bounds.
pub fn dispatch() -> Vec<Row> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let registry = Arc::new(Registry::builtin());
    let began = Instant::now();
    for server in 0..20 {
        let source = format!("mcp-s{server}");
        let schema =
            json!({"type": "object", "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}}});
        let tool = |n| {
            let spec = ToolSpec::dynamic(format!("mcp__s{server}__t{n}"), &source, "Does nothing.", schema.clone());
            Arc::new(Nothing(spec)) as Arc<dyn Tool>
        };
        registry.publish(&source, (0..15).map(tool).collect());
    }
    let published = began.elapsed();
    let offer = Arc::new(ToolSelection::default());
    let began = Instant::now();
    let offered = offer.offered(&registry.snapshot());
    let offering = began.elapsed();
    let bytes: usize =
        offered.schemas.iter().map(|s| s.name.len() + s.description.len() + s.parameters.to_string().len()).sum();
    let dispatch = Dispatch::new(Arc::clone(&registry), redact).offering(offer);
    let each = runtime.block_on(async {
        let (exec, _) = Exec::new(ExecOptions::default());
        let ctx = ctx(folder.path(), exec);
        let began = Instant::now();
        for _ in 0..CALLS {
            let planned = dispatch.plan("mcp__s7__t3", r#"{"path":"a","limit":"5"}"#, &ctx).await;
            std::hint::black_box(dispatch.run(planned.call.ok().unwrap(), ctx.clone()).await);
        }
        began.elapsed() / CALLS
    });
    let micros = |time: std::time::Duration| format!("{:.1} µs", time.as_secs_f64() * 1e6);
    vec![
        row("dispatch, a call", micros(each), "50 µs", "without hooks, among 300 tools"),
        row("300 tools published", micros(published), "", "20 servers"),
        row("tools of a session chosen", micros(offering), "", format!("{} bytes in its requests", bytes)),
    ]
}

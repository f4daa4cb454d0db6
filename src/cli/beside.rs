//! What runs beside the program: hooks, plugins and MCP servers, started, waited for and ended in one place.

use crate::backends::Backends;
use crate::config::{Loaded, OnHangup};
use crate::exec::Exec;
use crate::mcp::{self, Mcp};
use crate::plugins::Extensions;
use crate::plugins::consent::Standing;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

/// How long a command waits for plugins that are starting.
const PLUGINS: Duration = Duration::from_secs(15);
/// How long leaving another machine may take before a line says what is waited for, and how long it may take at all: a
/// service keeps what is in its sandbox.
const SOON: Duration = Duration::from_secs(1);
const AT_MOST: Duration = Duration::from_secs(120);

/// The handles. Cheap to clone.
#[derive(Clone)]
pub struct Beside {
    pub extensions: Extensions,
    pub mcp: Mcp,
    pub exec: Exec,
    pub backends: Backends,
    pub loaded: Arc<Loaded>,
}

impl Beside {
    /// Starts all that the configuration names, behind the first frame. Returns at once.
    pub fn start(&self) {
        self.mcp.apply(&self.loaded.config.mcp_servers);
        self.extensions.start();
    }

    /// Starts all of it where nobody can be asked, and says on standard error what does not run and why.
    pub async fn begin(&self) {
        self.mcp.apply(&self.loaded.config.mcp_servers);
        self.begin_extensions().await;
    }

    /// As [`begin`](Self::begin), with no server but the one that a tool of this name would come from; waits for it.
    pub async fn begin_for(&self, tool: &str) {
        let mut servers = self.loaded.config.mcp_servers.clone();
        servers.retain(|name, _| tool.starts_with(&mcp::prefix(name)));
        let patience = servers.values().map(|server| server.connect_timeout).fold(0.0, f64::max);
        self.mcp.apply(&servers);
        self.begin_extensions().await;
        self.mcp.settled(Duration::from_secs_f64(patience.clamp(0.0, 3600.0))).await;
        self.extensions.settled(PLUGINS).await;
    }

    /// Waits for plugins that are starting, and for servers that are connecting as long as the configuration says.
    pub async fn settled(&self) {
        let seconds = self.loaded.config.mcp_discovery_timeout.0;
        let servers = self.mcp.settled(Duration::from_secs_f64(seconds.clamp(0.0, 120.0)));
        tokio::join!(servers, self.extensions.settled(PLUGINS));
    }

    /// Starts hooks and plugins without servers, where nobody can be asked; says what does not run and why.
    async fn begin_extensions(&self) {
        self.extensions.reload(None).await;
        for text in self.refused().into_iter().chain(self.extensions.view().problems) {
            writeln!(std::io::stderr(), "hermes: {text}").ok();
        }
    }

    /// What of hooks and plugins does not run and why, a line each; known once they have been looked at.
    fn refused(&self) -> Vec<String> {
        let view = self.extensions.view();
        let mut said = view.project.iter().flat_map(|project| project.refusals()).collect::<Vec<_>>();
        for (hook, standing) in &view.hooks {
            if *standing == Standing::Unasked {
                let remedy = "run `hermes hooks accept` once, or give --accept-hooks";
                said.push(format!(
                    "the hook {}: {} does not run: nobody has said yes to it; {remedy}",
                    hook.written,
                    hook.label()
                ));
            }
        }
        said
    }

    /// The same in one line, for a conversation that has no card to show; `None` when everything runs. Waits until it is
    /// known.
    pub async fn refused_line(&self) -> Option<String> {
        self.extensions.looked().await;
        let said = self.refused();
        let (first, rest) = said.split_first()?;
        let more = match rest.len() {
            0 => String::new(),
            count => format!(" ({count} more like this: hermes doctor)"),
        };
        Some(format!("{first}{more}"))
    }

    /// Hooks and plugins alone, ready to be used.
    pub async fn extensions_only(&self) {
        self.begin_extensions().await;
        self.extensions.settled(PLUGINS).await;
    }

    /// Ends all of it, and with it every process.
    pub async fn shutdown(&self) {
        self.end(true).await;
    }

    /// The same when the window was closed: nobody could be asked, so commands in the background do as the settings say, and
    /// the next start tells of those that were ended.
    pub async fn hung_up(&self, on_hangup: OnHangup) {
        self.end(on_hangup == OnHangup::End).await;
    }

    async fn end(&self, kill: bool) {
        tokio::join!(self.extensions.shutdown(), self.mcp.shutdown());
        self.exec.shutdown(kill).await;
        leave(self.backends.clone()).await;
    }
}

/// Leaves where commands ran, within bounds; says on standard error what that waits for and what could not be kept.
pub async fn leave(backends: Backends) {
    let label = backends.label();
    let say = |text: &str| {
        writeln!(std::io::stderr(), "hermes: {text}").ok();
    };
    let mut left = tokio::task::spawn_blocking(move || backends.leave());
    let mut done = tokio::time::timeout(SOON, &mut left).await;
    if done.is_err() {
        say(&format!("leaving {label}: it has not answered yet (at most {} s)", AT_MOST.as_secs()));
        done = tokio::time::timeout(AT_MOST, &mut left).await;
    }
    match done {
        Ok(Ok(Ok(()))) => {}
        Ok(Ok(Err(error))) => say(&error.to_string()),
        Ok(Err(error)) => tracing::error!("leaving where commands ran: {error}"),
        Err(_) => say(&format!("{label} did not answer: what was made for this program there may still be there")),
    }
}

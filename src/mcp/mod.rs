//! MCP servers: started after the first frame, kept alive; their tools are published and checked like any other. What a
//! server says is data: limited in size, cleaned, scanned, never trusted.

mod catalog;
mod content;
mod elicit;
mod host;
mod link;
mod messages;
mod names;
mod oauth;
mod probe;
mod sample;
mod server;
mod settings;
mod state;
mod status;
mod supervisor;
#[cfg(test)]
mod tests;
mod tool;

pub use catalog::RemotePrompt;
pub use names::prefix;
pub use oauth::{Logins, Visit, forget, is_logged_in, login};
pub use probe::probe;
pub use settings::{Launch, Settings};
pub use state::State;
pub use status::Status;
pub use supervisor::Needs;

use crate::config::McpServerConfig;
use crate::lock::lock;
use crate::tools::spec::ToolSpec;
use link::Ask;
use serde_json::{Map, Value};
use server::Server;
use state::Fact;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use supervisor::Supervisor;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// All servers of this program. Cheap to clone.
#[derive(Clone)]
pub struct Mcp {
    house: Arc<Supervisor>,
    servers: Arc<Mutex<BTreeMap<String, Entry>>>,
}

/// A configured server: running, or why it cannot be.
enum Entry {
    Server { server: Arc<Server>, config: McpServerConfig },
    Broken { why: String, config: McpServerConfig },
}

/// Names of servers that another configuration makes new, changed or gone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub new: Vec<String>,
    pub changed: Vec<String>,
    pub gone: Vec<String>,
}

/// Tokens that a tool's schema takes in a request, estimated.
pub fn tokens(spec: &ToolSpec) -> u64 {
    crate::text::tokens::of_tool(&spec.name, &spec.description, &spec.schema.to_string())
}

impl Mcp {
    /// No server yet; nothing is started.
    pub fn new(needs: Needs) -> Self {
        Self { house: Arc::new(Supervisor::new(needs)), servers: Arc::default() }
    }

    fn servers(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Entry>> {
        lock(&self.servers)
    }

    /// Makes these the servers: starts new and changed ones, ends those that are gone, leaves the others alone. Returns at
    /// once. Must be called inside the runtime.
    pub fn apply(&self, wanted: &BTreeMap<String, McpServerConfig>) -> Changes {
        let (mut ended, mut changes) = (Vec::new(), Changes::default());
        {
            let mut servers = self.servers();
            changes.new = wanted.keys().filter(|name| !servers.contains_key(*name)).cloned().collect();
            for (name, entry) in &*servers {
                match wanted.get(name) {
                    None => changes.gone.push(name.clone()),
                    Some(config) if config != entry.config() => changes.changed.push(name.clone()),
                    Some(_) => {}
                }
            }
            for name in changes.gone.iter().chain(&changes.changed) {
                if let Some(Entry::Server { server, .. }) = servers.remove(name) {
                    ended.push(server);
                }
            }
        }
        let (mcp, wanted) = (self.clone(), wanted.clone());
        let begin = move || {
            for (name, config) in wanted {
                mcp.begin(name, config);
            }
            mcp.house.tell();
        };
        if ended.is_empty() {
            begin();
        } else {
            tokio::spawn(async move {
                // A changed server may need what the old one holds (a port, a lock).
                futures::future::join_all(ended.iter().map(|server| server.stop())).await;
                begin();
            });
        }
        changes
    }

    fn begin(&self, name: String, config: McpServerConfig) {
        let mut servers = self.servers();
        if servers.contains_key(&name) {
            return;
        }
        let entry = match Settings::read(&name, &config, &self.house.env, &self.house.root) {
            Ok(settings) => {
                let server = Server::new(settings, Arc::clone(&self.house));
                if config.enabled {
                    self.house.publish.expect(&server.source());
                    server.tell(Fact::Wanted);
                }
                Entry::Server { server, config }
            }
            Err(why) => Entry::Broken { why, config },
        };
        servers.insert(name, entry);
    }

    fn running(&self) -> Vec<Arc<Server>> {
        let servers = self.servers();
        let server = |entry: &Entry| match entry {
            Entry::Server { server, .. } => Some(Arc::clone(server)),
            Entry::Broken { .. } => None,
        };
        servers.values().filter_map(server).collect()
    }

    fn find(&self, name: &str) -> Option<Arc<Server>> {
        self.running().into_iter().find(|server| server.settings.name == name)
    }

    /// Waits until no server is on its way any more, at most `patience`.
    pub async fn settled(&self, patience: Duration) {
        let mut changes = self.changes();
        let settled = async {
            loop {
                changes.borrow_and_update();
                let waiting = |server: &Arc<Server>| {
                    let state = server.state();
                    state == State::Connecting
                        || (state == State::Off && server.settings.config.enabled && !server.was_switched_off())
                };
                if !self.running().iter().any(waiting) || changes.changed().await.is_err() {
                    break;
                }
            }
        };
        // What is not there by then comes later.
        let _ = tokio::time::timeout(patience, settled).await;
    }

    /// What people see, by name.
    pub fn status(&self) -> Vec<Status> {
        let servers = self.servers();
        servers
            .iter()
            .map(|(name, entry)| match entry {
                Entry::Server { server, .. } => server.status(),
                Entry::Broken { why, .. } => Status::broken(name, why),
            })
            .collect()
    }

    /// Counts changes of what people see.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.house.changes()
    }

    /// Connections begun so far.
    pub fn starts(&self) -> usize {
        self.house.starts()
    }

    /// Switches a server on or off for this run of the program; on again also tries a failed one anew. `false`: there is
    /// none of that name.
    pub fn switch(&self, name: &str, on: bool) -> bool {
        let Some(server) = self.find(name) else { return false };
        server.switch(on);
        true
    }

    /// Logs in to a server, as [`login`] does, and connects it anew.
    ///
    /// # Errors
    /// What failed and what to do.
    pub async fn login(&self, name: &str, visit: &Visit) -> Result<(), String> {
        let server =
            self.find(name).ok_or_else(|| format!("no MCP server named {name}, or its settings are invalid"))?;
        login(&server.settings, &self.house.tokens, visit).await?;
        server.switch(true);
        Ok(())
    }

    /// Tries servers anew that wait for a login and have one now, kept by another run of the program.
    pub fn look_for_logins(&self) {
        for server in self.running() {
            if server.state() == State::NeedsLogin && is_logged_in(&self.house.tokens, &server.settings.name) {
                server.switch(true);
            }
        }
    }

    /// Gets a prompt of a server, filled in, as text.
    ///
    /// # Errors
    /// Why there is none, in words for a person.
    pub async fn prompt(&self, server: &str, name: &str, args: Map<String, Value>) -> Result<String, String> {
        let server = self.find(server).ok_or_else(|| format!("no MCP server named {server}"))?;
        let ask = Ask::Prompt { name: name.to_owned(), args };
        let result = server.ask(ask, &CancellationToken::new(), None).await.map_err(|error| error.to_string())?;
        Ok(content::prompt(&result).text)
    }

    /// Ends all servers and what they started.
    pub async fn shutdown(&self) {
        let servers = self.running();
        futures::future::join_all(servers.iter().map(|server| server.stop())).await;
    }
}

impl Entry {
    fn config(&self) -> &McpServerConfig {
        match self {
            Self::Server { config, .. } | Self::Broken { config, .. } => config,
        }
    }
}

//! A server of models by its address: what it offers, and its lines in the config.

use super::Context;
use crate::app::model::first_run::{IdleServer, OwnServer, Server};
use crate::app::msg::LoadReply;
use crate::config::load;
use crate::engine::choose;
use crate::llm::local::LocalServer;
use crate::local::idle::{self, Idle};

/// A row of the first-run card.
pub fn row(found: LocalServer) -> Server {
    Server { name: found.kind.title().to_owned(), base_url: found.base_url, models: found.models }
}

/// Asks the server at an address what it offers.
pub async fn tried(context: &Context, address: String, key: String) -> LoadReply {
    let outcome = choose::ask_server(&context.paths, &address, &key).await.map(row);
    LoadReply::ServerTried { address, key, outcome }
}

/// Writes the address and the model into the config, and the key into `.env`.
pub fn save(context: &Context, server: &OwnServer, model: String) -> LoadReply {
    let write = || {
        let before = load::load(&context.sources).config;
        choose::save_server(&context.paths, &before, &server.base_url, &server.key, &model)
    };
    let result = context.policy.ours(write).map_err(|error| error.to_string());
    LoadReply::ServerUsed { model, result }
}

/// Servers that are installed and do not answer.
pub async fn idle(context: &Context) -> Vec<Idle> {
    let loaded = load::load(&context.sources);
    tokio::task::spawn_blocking(move || idle::idle(&loaded)).await.unwrap_or_default()
}

/// One of them, as a row of the first-run card.
pub fn idle_row(idle: &Idle) -> IdleServer {
    IdleServer { provider: idle.provider.into(), name: idle.title().into(), line: idle.line() }
}

/// Starts one of them and waits until it answers; one that answers by now is left as it is.
pub async fn start(context: &Context, provider: &str) -> Result<(), String> {
    match idle(context).await.into_iter().find(|idle| idle.provider == provider) {
        Some(idle) => idle.start(&context.paths.home).await.map_err(|error| error.to_string()),
        None => Ok(()),
    }
}

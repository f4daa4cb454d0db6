//! A server of models by its address: what it offers, and its lines in the config.

use super::Context;
use crate::app::model::first_run::{OwnServer, Server};
use crate::app::msg::LoadReply;
use crate::config::load;
use crate::engine::choose;
use crate::llm::local::LocalServer;

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

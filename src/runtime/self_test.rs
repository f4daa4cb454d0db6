//! The self-test of a model that was chosen, behind the screen.

use super::{Context, loads};
use crate::agent::Models;
use crate::app::msg::LoadReply;
use crate::llm::self_test;
use std::sync::Arc;

/// The models as the configuration is now: a key or a server may just have been written into it.
async fn models(context: &Context) -> Option<Models> {
    let context = context.clone();
    let read = move || context.engine.services().models.reloaded(Arc::new(loads::fresh(&context)));
    tokio::task::spawn_blocking(read).await.ok()
}

/// Whether a model is to be tested; `None`: it is not.
pub async fn look_up(context: &Context, model: String) -> Option<LoadReply> {
    let models = models(context).await?;
    let looks = move || {
        let is_near = models.is_untested(&model)?;
        Some(LoadReply::Untested { model, is_near })
    };
    tokio::task::spawn_blocking(looks).await.ok().flatten()
}

/// Tests it.
pub async fn run(context: &Context, model: String) -> Option<LoadReply> {
    let models = models(context).await?;
    let result = models.test(Some(&model)).await.map(|(provider, ability)| self_test::words(&ability, &provider));
    Some(LoadReply::SelfTested { model, result })
}

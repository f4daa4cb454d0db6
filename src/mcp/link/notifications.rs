//! What a server may ask or tell on its own: forms, model calls, roots, changed lists, progress.
#![expect(deprecated, reason = "roots and sampling leave the protocol in 2026; servers of today use them")]

use super::{Changed, Elicited, Host, Steps};
use crate::lock::lock;
use crate::mcp::settings::{Elicitation, Settings};
use rmcp::ClientHandler;
use rmcp::model::*;
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::Value;
use std::sync::Arc;

/// Characters of a message that goes with progress.
const MESSAGE: usize = 200;

/// Hears a server.
pub(super) struct Ears {
    host: Arc<dyn Host>,
    steps: Arc<Steps>,
    info: ClientConfig,
}

impl Ears {
    pub(super) fn new(host: Arc<dyn Host>, steps: Arc<Steps>, settings: &Settings) -> Self {
        let mut can = ClientCapabilities::default();
        if settings.config.roots {
            can.roots = Some(RootsCapabilities::default());
        }
        if settings.config.sampling.enabled {
            can.sampling = Some(SamplingCapability::default());
        }
        if settings.elicitation != Elicitation::Decline {
            let form = FormElicitationCapability::new().with_schema_validation(true);
            can.elicitation =
                Some(ElicitationCapability::new().with_form(form).with_url(UrlElicitationCapability::new()));
        }
        let us = Implementation::new("hermes", env!("CARGO_PKG_VERSION"));
        let info = ClientConfig::new(can, us).with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE);
        Self { host, steps, info }
    }
}

type Context = RequestContext<RoleClient>;
type Heard = NotificationContext<RoleClient>;

impl ClientHandler for Ears {
    fn get_info(&self) -> ClientConfig {
        self.info.clone()
    }

    async fn list_roots(&self, _: Context) -> Result<ListRootsResult, ErrorData> {
        if self.info.capabilities.roots.is_none() {
            return Err(ErrorData::method_not_found::<ListRootsRequestMethod>());
        }
        let folder = self.host.root();
        let Ok(uri) = url::Url::from_directory_path(&folder) else { return Ok(ListRootsResult::default()) };
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(ListRootsResult::new(vec![Root::new(uri.as_str().trim_end_matches('/')).with_name(name)]))
    }

    async fn create_elicitation(&self, request: ElicitRequestParams, ctx: Context) -> Result<ElicitResult, ErrorData> {
        let request = serde_json::to_value(request).map_err(|e| ErrorData::invalid_params(e.to_string(), None))?;
        let answer = tokio::select! {
            biased;
            () = ctx.ct.cancelled() => Elicited::Cancelled,
            answer = self.host.elicit(request) => answer,
        };
        Ok(match answer {
            Elicited::Accepted(Value::Null) => ElicitResult::new(ElicitationAction::Accept),
            Elicited::Accepted(content) => ElicitResult::new(ElicitationAction::Accept).with_content(content),
            Elicited::Declined => ElicitResult::new(ElicitationAction::Decline),
            Elicited::Cancelled => ElicitResult::new(ElicitationAction::Cancel),
        })
    }

    async fn create_message(
        &self,
        request: CreateMessageRequestParams,
        ctx: Context,
    ) -> Result<CreateMessageResult, ErrorData> {
        let request = serde_json::to_value(request).map_err(|e| ErrorData::invalid_params(e.to_string(), None))?;
        let sampled = tokio::select! {
            biased;
            () = ctx.ct.cancelled() => Err("the request was cancelled".to_owned()),
            sampled = self.host.sample(request) => sampled,
        };
        let sampled = sampled.map_err(|why| ErrorData::new(ErrorCode(-1), why, None))?;
        let reason = if sampled.cut {
            CreateMessageResult::STOP_REASON_END_MAX_TOKEN
        } else {
            CreateMessageResult::STOP_REASON_END_TURN
        };
        let message = SamplingMessage::new(Role::Assistant, SamplingMessageContentBlock::text(sampled.text));
        Ok(CreateMessageResult::new(message, sampled.model).with_stop_reason(reason))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: Heard) {
        let token = serde_json::to_value(&params.progress_token).unwrap_or_default();
        let steps = lock(&self.steps);
        if let Some((_, sink)) = steps.iter().find(|(known, _)| *known == token) {
            let message = params.message.unwrap_or_default().chars().take(MESSAGE).collect();
            // A full queue loses a step; the next one says more.
            let _ = sink.try_send(super::Step { done: params.progress, of: params.total, message });
        }
    }

    async fn on_tool_list_changed(&self, _: Heard) {
        self.host.changed(Changed::Tools);
    }

    async fn on_resource_list_changed(&self, _: Heard) {
        self.host.changed(Changed::Resources);
    }

    async fn on_prompt_list_changed(&self, _: Heard) {
        self.host.changed(Changed::Prompts);
    }

    async fn on_logging_message(&self, params: LoggingMessageNotificationParam, _: Heard) {
        let text: String = params.data.to_string().chars().take(super::WORDS).collect();
        tracing::debug!("mcp log: {text}");
    }
}

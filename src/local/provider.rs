//! A model of this computer as a provider: its first request starts the server.

use super::Local;
use super::engine::fault;
use super::served::Address;
use crate::llm::endpoint::Endpoint;
use crate::llm::{self, Delta, ErrorKind, ModelInfo, Provider, ProviderError, Reply, Request};
use futures::future::BoxFuture;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// How often a server that answers is said to be in use.
const TOUCH: Duration = Duration::from_secs(20);

/// A model of this computer that can be asked.
struct Served {
    local: Local,
    endpoint: Endpoint,
    info: ModelInfo,
}

impl Local {
    /// A model of this computer, as one that can be asked. Costs nothing until the first request.
    pub fn provider(&self, endpoint: Endpoint, info: ModelInfo) -> Arc<dyn Provider> {
        Arc::new(Served { local: self.clone(), endpoint, info })
    }
}

impl Provider for Served {
    fn stream<'a>(
        &'a self,
        request: &'a Request,
        sink: mpsc::Sender<Delta>,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<Reply, ProviderError>> {
        Box::pin(async move {
            let waits = |what: &str| {
                let _ = sink.try_send(Delta::Waiting(what.to_owned()));
            };
            let ready = tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(failed(ErrorKind::Cancelled, String::new())),
                ready = self.local.ready(&self.endpoint.model, waits) => ready,
            };
            let address = ready.map_err(|error| failed(ErrorKind::BadRequest, error.to_string()))?;
            waits("reading the prompt");
            let mut endpoint = self.endpoint.clone();
            (endpoint.base_url, endpoint.key) = (address.base.clone(), address.key.clone());
            let inner = llm::connect(endpoint, self.local.http().clone(), self.info.clone());
            let answer = inner.stream(request, sink, cancel.clone());
            tokio::pin!(answer);
            // A long answer must not look like rest.
            let reply = loop {
                tokio::select! {
                    reply = &mut answer => break reply,
                    () = tokio::time::sleep(TOUCH) => address.files.touch(),
                }
            };
            address.files.touch();
            match reply {
                Err(error) if !cancel.is_cancelled() && !address.daemon.is_alive() => Err(died(address, error).await),
                reply => reply,
            }
        })
    }

    fn model(&self) -> &ModelInfo {
        &self.info
    }
}

/// The server ended in the middle of an answer: why, and whether another try may do.
async fn died(address: Address, error: ProviderError) -> ProviderError {
    let looked = tokio::task::spawn_blocking(move || {
        let log = address.files.log();
        let fault = fault::of_log(&log, address.daemon.ended());
        let kind = if fault.is_passing() { ErrorKind::Network } else { ErrorKind::BadRequest };
        (kind, fault.words(&address.plan, &log))
    });
    match looked.await {
        Ok((kind, message)) => ProviderError { kind, message, ..error },
        Err(_) => error,
    }
}

fn failed(kind: ErrorKind, message: String) -> ProviderError {
    ProviderError {
        kind,
        status: None,
        message,
        retry_after: None,
        reset_after: None,
        next_key: Default::default(),
        partial: None,
    }
}

//! One model call over HTTP, whatever the dialect: send, read, merge, notice stalls, cuts and the user's stop.

use super::endpoint::Endpoint;
use super::errors;
use super::gather::{End, Finishing, Gather};
use super::http::Http;
use super::providers::{Auth, Dialect};
use super::sse::{Decoder, Event, TooLarge};
use super::{Delta, ErrorKind, ModelInfo, Provider, ProviderError, Reply, Request};
use super::{anthropic, openai_chat, openai_responses, scripted};
use futures::FutureExt;
use futures::future::BoxFuture;
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// Bytes that are read before the sink hears of them, when they are there already.
const BATCH: usize = 64 << 10;

/// Pause after a full batch: a flood leaves the processor to the screen for a moment. 80 KB in pieces of four characters are
/// some 4 MB on the wire, 64 batches, and take a tenth of a second more.
const BREATH: Duration = Duration::from_millis(1);

/// An answer that is not a stream may be this large.
const MAX_WHOLE: usize = 64 << 20;

/// How long usage may lag behind the end of an answer.
const AFTER_STOP: Duration = Duration::from_secs(5);

/// What a parser cannot go on with.
#[derive(Debug)]
pub(super) enum Fault {
    TooLarge,
    /// Not JSON, or not of this dialect.
    Form(String),
    /// The provider reports an error inside the stream.
    Provider {
        code: String,
        message: String,
    },
}

impl From<TooLarge> for Fault {
    fn from(TooLarge: TooLarge) -> Self {
        Self::TooLarge
    }
}

/// Reads one reply of one dialect.
pub(super) trait Parser: Send {
    /// Takes one event of a stream.
    fn event(&mut self, event: Event<'_>, into: &mut Gather) -> Result<(), Fault>;

    /// Takes a whole answer, from servers that do not stream.
    fn whole(&mut self, body: &str, into: &mut Gather) -> Result<(), Fault>;
}

/// A provider for this endpoint. Costs nothing until the first call.
pub fn connect(endpoint: Endpoint, http: Http, info: ModelInfo) -> Arc<dyn Provider> {
    match endpoint.dialect {
        Dialect::Scripted => scripted::open(&endpoint.model, info),
        _ => Arc::new(Wire { endpoint, http, info }),
    }
}

struct Wire {
    endpoint: Endpoint,
    http: Http,
    info: ModelInfo,
}

impl Provider for Wire {
    fn stream<'a>(
        &'a self,
        request: &'a Request,
        sink: mpsc::Sender<Delta>,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<Reply, ProviderError>> {
        Box::pin(async move {
            let mut gather = Gather::new(self.endpoint.dialect == Dialect::ChatCompletions);
            let outcome = tokio::select! {
                biased;
                () = cancel.cancelled() => Err(self.error(ErrorKind::Cancelled, "")),
                outcome = self.exchange(request, &sink, &mut gather) => outcome,
            };
            self.info.price(&mut gather.usage);
            match outcome {
                Ok(()) => Ok(gather.finish(&Finishing {
                    tools: &request.tools,
                    messages: request.messages.len(),
                    text_calls: self.endpoint.quirks.text_calls,
                    short_ids: self.endpoint.quirks.short_ids,
                })),
                Err(error) => Err(errors::with_partial(error, gather.partial())),
            }
        })
    }

    fn model(&self) -> &ModelInfo {
        &self.info
    }
}

impl Wire {
    fn error(&self, kind: ErrorKind, detail: &str) -> ProviderError {
        errors::provider_error(&self.endpoint, kind, None, detail)
    }

    fn fault(&self, fault: Fault) -> ProviderError {
        match fault {
            Fault::TooLarge => self.error(ErrorKind::Malformed, "an event is larger than 8 MiB"),
            Fault::Form(detail) => self.error(ErrorKind::Malformed, &detail),
            Fault::Provider { code, message } => errors::broke_off(&self.endpoint, &code, &message),
        }
    }

    fn body(&self, request: &Request) -> Result<Vec<u8>, ProviderError> {
        let body = match self.endpoint.dialect {
            Dialect::AnthropicMessages => anthropic::body(&self.endpoint, &self.info, request),
            Dialect::CodexResponses => openai_responses::body(&self.endpoint, &self.info, request),
            Dialect::ChatCompletions | Dialect::Scripted => openai_chat::body(&self.endpoint, &self.info, request),
        };
        body.map_err(|detail| self.error(ErrorKind::BadRequest, &detail))
    }

    fn parser(&self) -> Box<dyn Parser> {
        match self.endpoint.dialect {
            Dialect::AnthropicMessages => Box::new(anthropic::Reader::new(&self.endpoint)),
            Dialect::CodexResponses => Box::new(openai_responses::Reader::new(&self.endpoint)),
            Dialect::ChatCompletions | Dialect::Scripted => Box::new(openai_chat::Reader::new(&self.endpoint)),
        }
    }

    async fn exchange(
        &self,
        request: &Request,
        sink: &mpsc::Sender<Delta>,
        gather: &mut Gather,
    ) -> Result<(), ProviderError> {
        let stall = self.endpoint.stall;
        let stalled = |_| self.error(ErrorKind::Stalled, "");
        let headers = headers(&self.endpoint).map_err(|detail| self.error(ErrorKind::BadRequest, &detail))?;
        let url = self.endpoint.url();
        let sending = self.http.to(&url)?.post(&url).headers(headers).body(self.body(request)?).send();
        let sent = timeout(stall, sending).await.map_err(stalled)?;
        let mut response = sent.map_err(|error| errors::network(&self.endpoint, &error))?;
        let status = response.status().as_u16();
        if !response.status().is_success() {
            let head = response.headers().clone();
            // What can be read of a refusal is enough, even if the connection then breaks.
            let body = timeout(stall, read_whole(&mut response, 1 << 20)).await.map_err(stalled)?;
            let body = body.unwrap_or_else(|(body, _)| body);
            return Err(errors::refused(&self.endpoint, status, &head, &String::from_utf8_lossy(&body)));
        }
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if kind.contains("json") || kind.contains("html") {
            let page = kind.contains("html");
            let body = timeout(stall, read_whole(&mut response, MAX_WHOLE)).await.map_err(stalled)?;
            let body = body.map_err(|(_, error)| match error {
                Some(error) => errors::network(&self.endpoint, &error),
                None => self.error(ErrorKind::Malformed, "the answer is larger than 64 MiB"),
            })?;
            if page {
                return Err(self.error(ErrorKind::Malformed, "a web page instead of an API response"));
            }
            self.parser().whole(&String::from_utf8_lossy(&body), gather).map_err(|fault| self.fault(fault))?;
            deliver(gather, sink).await;
            return Ok(());
        }
        self.read_stream(&mut response, sink, gather).await
    }

    async fn read_stream(
        &self,
        response: &mut reqwest::Response,
        sink: &mpsc::Sender<Delta>,
        gather: &mut Gather,
    ) -> Result<(), ProviderError> {
        let mut parser = self.parser();
        let mut decoder = Decoder::default();
        let mut broken = None;
        while gather.end < End::Closed {
            let wait = if gather.end == End::Stopped { AFTER_STOP } else { self.endpoint.stall };
            let Ok(first) = timeout(wait, response.chunk()).await else {
                if gather.end == End::Stopped {
                    break;
                }
                return Err(self.error(ErrorKind::Stalled, ""));
            };
            let mut next = Some(first);
            let mut taken = 0;
            let mut ended = false;
            let mut fed = Ok(());
            // Everything that is there already makes one delta a kind: a flood costs the reader little.
            while let Some(chunk) = next.take() {
                match chunk {
                    Ok(Some(bytes)) => {
                        taken += bytes.len();
                        fed = decoder.feed(&bytes, |event| parser.event(event, gather));
                    }
                    Ok(None) => ended = true,
                    Err(error) => broken = Some(error),
                }
                if ended || broken.is_some() || fed.is_err() || taken >= BATCH || gather.end == End::Closed {
                    break;
                }
                next = response.chunk().now_or_never();
                if next.is_none() {
                    // The task that reads the socket gets one chance to bring more.
                    tokio::task::yield_now().await;
                    next = response.chunk().now_or_never();
                }
            }
            deliver(gather, sink).await;
            fed.map_err(|fault| self.fault(fault))?;
            if ended || broken.is_some() {
                break;
            }
            if taken >= BATCH {
                tokio::time::sleep(BREATH).await;
            }
        }
        if gather.end == End::Open {
            // An event that the end cut in two does not parse; then the cut is the news.
            let last: Result<(), Fault> = decoder.finish(|event| parser.event(event, gather));
            if let Err(fault @ Fault::Provider { .. }) = last {
                return Err(self.fault(fault));
            }
            deliver(gather, sink).await;
        }
        let half_call = gather.stop.is_none() && (0..gather.call_count()).any(|at| !gather.args_complete(at));
        if gather.end > End::Open && !half_call {
            return Ok(());
        }
        Err(match broken {
            Some(error) if error.is_timeout() => self.error(ErrorKind::Stalled, ""),
            Some(error) => errors::network(&self.endpoint, &error),
            None => self.error(ErrorKind::Network, "the stream ended before the answer did"),
        })
    }
}

/// Tells the sink what is new. A reader that went away is no reason to lose the reply.
async fn deliver(gather: &mut Gather, sink: &mpsc::Sender<Delta>) {
    let mut deltas = Vec::new();
    gather.drain(&mut deltas);
    for delta in deltas {
        if sink.send(delta).await.is_err() {
            return;
        }
    }
}

/// The whole body, or what there was of it and why it ended (`None`: too large).
async fn read_whole(
    response: &mut reqwest::Response,
    limit: usize,
) -> Result<Vec<u8>, (Vec<u8>, Option<reqwest::Error>)> {
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(bytes)) if body.len() + bytes.len() <= limit => body.extend_from_slice(&bytes),
            Ok(Some(_)) => return Err((body, None)),
            Ok(None) => return Ok(body),
            Err(error) => return Err((body, Some(error))),
        }
    }
}

/// Headers of every request to this endpoint.
pub(super) fn headers(endpoint: &Endpoint) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
    // Compressed streams are often held back until a block is full.
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    if endpoint.dialect == Dialect::AnthropicMessages {
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
    }
    let key = endpoint.key.expose();
    if !key.is_empty() {
        let source = &endpoint.key_source;
        let secret = |text: &str| {
            let mut value = HeaderValue::from_str(text).map_err(|_| {
                format!("the key from {source} contains characters that a header cannot carry; paste it again")
            })?;
            value.set_sensitive(true);
            Ok::<_, String>(value)
        };
        match endpoint.auth {
            // Tokens of a subscription are bearer tokens.
            Auth::XApiKey if key.starts_with("sk-ant-oat") => {
                headers.insert("authorization", secret(&format!("Bearer {key}"))?);
                headers.insert("anthropic-beta", HeaderValue::from_static("oauth-2025-04-20"));
            }
            Auth::XApiKey => {
                headers.insert("x-api-key", secret(key)?);
            }
            Auth::ApiKey => {
                headers.insert("api-key", secret(key)?);
            }
            Auth::Bearer => {
                headers.insert("authorization", secret(&format!("Bearer {key}"))?);
            }
            Auth::None => {}
        }
    }
    for (name, value) in &endpoint.headers {
        let parsed = HeaderName::from_bytes(name.as_bytes()).ok().zip(HeaderValue::from_str(value).ok());
        let (name, value) = parsed.ok_or_else(|| format!("header {name:?} from config.yaml is not valid"))?;
        headers.insert(name, value);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests;

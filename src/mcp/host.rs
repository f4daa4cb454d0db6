//! What servers may ask of this program while they work: forms go to the user behind the call, model calls behind a
//! question to that person, lists that changed are read again.

use super::elicit::{self, Field, Request};
use super::link::{Changed, Elicited, Host, Sampled};
use super::sample::{self, Budget, Wanted};
use super::settings::{Elicitation, Settings};
use super::supervisor::Supervisor;
use crate::llm::Effort;
use crate::lock::lock;
use crate::protocol::{QuestionId, StopReason};
use crate::tools::spec::{AgentPort, Question};
use futures::future::BoxFuture;
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Wrong answers to one question until it is left.
const TRIES: usize = 3;

/// The program as one server sees it.
pub(super) struct Hosted {
    settings: Settings,
    house: Arc<Supervisor>,
    /// A list changed.
    pub(super) changed: Notify,
    callers: Mutex<Vec<Caller>>,
    next: AtomicU64,
    budget: Mutex<Budget>,
    /// The person said yes for the rest of the session.
    sampling_granted: Arc<AtomicBool>,
}

/// Who called, and can be asked.
#[derive(Clone)]
struct Caller {
    number: u64,
    agent: Arc<dyn AgentPort>,
    call_id: String,
    cancel: CancellationToken,
}

/// A call that is under way; questions of the server go to the newest one.
pub(super) struct Calling<'a>(&'a Hosted, u64);

impl Drop for Calling<'_> {
    fn drop(&mut self) {
        lock(&self.0.callers).retain(|caller| caller.number != self.1);
    }
}

impl Hosted {
    pub(super) fn new(settings: &Settings, house: Arc<Supervisor>) -> Self {
        Self {
            settings: settings.clone(),
            house,
            changed: Notify::new(),
            callers: Mutex::default(),
            next: AtomicU64::new(1),
            budget: Mutex::default(),
            sampling_granted: Arc::default(),
        }
    }

    /// Notes who is behind a call, for as long as the guard lives.
    pub(super) fn calling(&self, agent: Arc<dyn AgentPort>, call_id: String, cancel: CancellationToken) -> Calling<'_> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let caller = Caller { number, agent, call_id, cancel };
        lock(&self.callers).push(caller);
        Calling(self, number)
    }

    fn caller(&self) -> Option<Caller> {
        lock(&self.callers).last().cloned()
    }
}

impl Caller {
    async fn ask(&self, text: String, choices: Vec<String>, allow_freetext: bool) -> Result<String, String> {
        let question = Question {
            id: QuestionId::default(),
            call_id: self.call_id.clone(),
            text,
            choices,
            allow_freetext,
            own_answer: String::new(),
        };
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err("the call was stopped".into()),
            answer = self.agent.ask(question) => answer,
        }
    }
}

impl Host for Hosted {
    fn root(&self) -> PathBuf {
        self.house.root.clone()
    }

    fn changed(&self, _: Changed) {
        self.changed.notify_one();
    }

    fn elicit(&self, request: Value) -> BoxFuture<'static, Elicited> {
        let (server, how, caller) = (self.settings.name.clone(), self.settings.elicitation, self.caller());
        Box::pin(async move {
            let request = match Request::read(&request) {
                Ok(request) => request,
                Err(why) => {
                    tracing::warn!("mcp {server}: declined its question: {why}");
                    return Elicited::Declined;
                }
            };
            match (how, caller) {
                (Elicitation::AcceptDefaults, _) => request.defaults().map_or(Elicited::Declined, Elicited::Accepted),
                (Elicitation::Ask, Some(caller)) => put(&server, request, &caller).await,
                (Elicitation::Decline, _) | (Elicitation::Ask, None) => Elicited::Declined,
            }
        })
    }

    fn sample(&self, request: Value) -> BoxFuture<'static, Result<Sampled, String>> {
        let config = self.settings.config.sampling.clone();
        let server = self.settings.name.clone();
        let (caller, granted) = (self.caller(), Arc::clone(&self.sampling_granted));
        let wanted = Wanted::read(&request, &config).and_then(|wanted| {
            lock(&self.budget).take(Instant::now(), config.max_rpm)?;
            Ok(wanted)
        });
        Box::pin(async move {
            let wanted = wanted?;
            let caller = caller.ok_or("no call to this server is running, so it cannot ask")?;
            if !granted.load(Ordering::Relaxed) {
                let choices = [sample::DENY, sample::ONCE, sample::SESSION].map(str::to_owned).to_vec();
                let answer = caller.ask(wanted.question(&server), choices, false).await;
                match answer.as_deref() {
                    Ok(sample::ONCE) => {}
                    Ok(sample::SESSION) => granted.store(true, Ordering::Relaxed),
                    Ok(_) => return Err("the user denied it".into()),
                    Err(_) => return Err("no one allowed it".into()),
                }
            }
            let provider = caller.agent.model(wanted.model.as_deref())?;
            answer(wanted, &*provider, Duration::from_secs_f64(config.timeout), &caller.cancel).await
        })
    }
}

/// Puts a request to the person, field by field.
async fn put(server: &str, request: Request, caller: &Caller) -> Elicited {
    let closed = |caller: &Caller| if caller.cancel.is_cancelled() { Elicited::Cancelled } else { Elicited::Declined };
    let (message, fields) = match request {
        Request::Visit { message, url } => {
            let text = format!("The server {server} asks you to visit {url}\n\n{message}");
            let choices = vec![elicit::DECLINE.to_owned(), elicit::VISITED.to_owned()];
            return match caller.ask(text, choices, false).await {
                Ok(answer) if answer == elicit::VISITED => Elicited::Accepted(Value::Null),
                Ok(_) => Elicited::Declined,
                Err(_) => closed(caller),
            };
        }
        Request::Form { message, fields } => (message, fields),
    };
    if fields.is_empty() {
        let choices = vec![elicit::DECLINE.to_owned(), elicit::ACCEPT.to_owned()];
        return match caller.ask(format!("The server {server} asks: {message}"), choices, false).await {
            Ok(answer) if answer == elicit::ACCEPT => Elicited::Accepted(Value::Object(Map::new())),
            Ok(_) => Elicited::Declined,
            Err(_) => closed(caller),
        };
    }
    let mut content = Map::new();
    for (at, field) in fields.iter().enumerate() {
        let rest = Field::rest(&fields[at..]);
        let mut problem = None;
        let mut found = None;
        for _ in 0..TRIES {
            let asked = field.question(server, &message, (at + 1, fields.len()), problem.as_deref());
            let more = rest.is_some().then(|| elicit::REST.to_owned());
            let choices = asked.choices.into_iter().chain(more).collect();
            let answer = match caller.ask(asked.text, choices, asked.freely).await {
                Ok(answer) if answer == elicit::DECLINE => return Elicited::Declined,
                Ok(answer) if answer == elicit::REST && rest.is_some() => {
                    content.extend(rest.unwrap_or_default());
                    return Elicited::Accepted(Value::Object(content));
                }
                Ok(answer) => answer,
                Err(_) => return closed(caller),
            };
            match field.value(&answer) {
                Ok(value) => {
                    found = Some(value);
                    break;
                }
                Err(why) => problem = Some(why),
            }
        }
        let Some(value) = found else { return Elicited::Declined };
        if let Some(value) = value {
            content.insert(field.key.clone(), value);
        }
    }
    Elicited::Accepted(Value::Object(content))
}

async fn answer(
    wanted: Wanted,
    provider: &dyn crate::llm::Provider,
    patience: Duration,
    cancel: &CancellationToken,
) -> Result<Sampled, String> {
    let request = crate::llm::Request {
        system: wanted.system.into(),
        tools: Vec::new().into(),
        messages: wanted.messages,
        effort: Effort::None,
        max_output: Some(wanted.max_tokens),
        grammar: None,
        cache_key: String::new(),
    };
    // Nobody reads along.
    let (sink, _) = tokio::sync::mpsc::channel(1);
    let asked = provider.stream(&request, sink, cancel.child_token());
    match tokio::time::timeout(patience, asked).await {
        Ok(Ok(reply)) => Ok(Sampled {
            model: if reply.model.is_empty() { provider.model().id.clone() } else { reply.model },
            cut: reply.stop == StopReason::Length,
            text: reply.text,
        }),
        // The provider's words are for the person, who sees them in the log.
        Ok(Err(error)) => {
            tracing::warn!("sampling failed: {}", error.message);
            Err("the model could not answer".into())
        }
        Err(_) => Err(format!("the model did not answer within {} s", patience.as_secs())),
    }
}

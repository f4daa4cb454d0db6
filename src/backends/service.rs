//! A service that keeps sandboxes, asked over HTTPS from threads that may wait.

use super::backend::Leaving;
use crate::exec::Hidden;
use reqwest::Method;
use reqwest::header::RETRY_AFTER;
use serde_json::Value;
use std::error::Error as _;
use std::sync::OnceLock;
use std::time::Duration;

/// From the first packet to a connection.
const CONNECT: Duration = Duration::from_secs(15);
/// How long an answer may take: some services make the sandbox before they answer.
const ANSWER: Duration = Duration::from_secs(90);
/// Bytes of an answer.
const MAX_ANSWER_BYTES: usize = 4 * 1024 * 1024;
/// Pauses before a question that changes nothing is asked again.
const RETRY_PAUSES: [Duration; 2] = [Duration::from_millis(300), Duration::from_millis(1200)];

/// How long a service may have us wait that has too much to do.
const BUSY: Duration = Duration::from_secs(30);

/// Where it is and what knows this person there.
pub(crate) struct Service {
    base: String,
    key: Hidden,
    leaving: Leaving,
    client: OnceLock<reqwest::Client>,
}

/// What it said.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Null when it is no JSON.
    pub(crate) body: Value,
    /// When it has too much to do: after what time it wants to be asked again.
    pub(crate) again: Option<Duration>,
}

impl Answer {
    pub(crate) fn is_good(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The service's own words.
    pub(crate) fn words(&self) -> String {
        match &self.body["message"] {
            Value::String(text) => text.clone(),
            Value::Array(all) => all.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("; "),
            _ => self.body["error"].as_str().unwrap_or("no reason given").to_owned(),
        }
    }
}

impl Service {
    /// # Errors
    /// When the address would carry the key over an open line.
    pub(crate) fn new(base: &str, key: &str, leaving: &Leaving) -> Result<Self, String> {
        let parsed = url::Url::parse(base).map_err(|error| format!("`{base}` is not an address: {error}"))?;
        if parsed.scheme() != "https" && !is_here(&parsed) {
            return Err(format!("`{base}` would send the key unencrypted: use https"));
        }
        let base = base.trim_end_matches('/').to_owned();
        Ok(Self { base, key: Hidden::new(key.to_owned()), leaving: leaving.clone(), client: OnceLock::new() })
    }

    /// Asks without changing anything: a second time when the line or the service fails.
    ///
    /// # Errors
    /// When there is no answer.
    pub(crate) fn get(&self, path: &str) -> Result<Answer, String> {
        for pause in RETRY_PAUSES {
            match self.ask(Method::GET, path, None) {
                Ok(answer) if answer.status < 500 && (answer.status != 429 || answer.again.is_some()) => {
                    return Ok(answer);
                }
                _ => self.leaving.pause(pause)?,
            }
        }
        self.ask(Method::GET, path, None)
    }

    /// Asks once; a second time, when the service says that it has too much to do, after the time that it names.
    ///
    /// # Errors
    /// When there is no answer.
    pub(crate) fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Answer, String> {
        let first = self.once(method.clone(), path, body)?;
        match first.again {
            Some(pause) if pause <= BUSY => {
                self.leaving.pause(pause)?;
                self.once(method, path, body)
            }
            _ => Ok(first),
        }
    }

    fn once(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Answer, String> {
        // A thread of its own: the one that asks may belong to a runtime already.
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.map_err(|error| error.to_string())?.block_on(async {
                    tokio::select! {
                        said = self.send(method, path, body) => said,
                        () = self.left() => Err(Leaving::GIVEN_UP.to_owned()),
                    }
                })
            });
            asked.join().unwrap_or_else(|_| Err("the request was cut off".to_owned()))
        })
    }

    /// Comes back when its place is being left.
    async fn left(&self) {
        while !self.leaving.is_set() {
            tokio::time::sleep(Leaving::LOOK).await;
        }
    }

    async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Answer, String> {
        let url = format!("{}{path}", self.base);
        let mut request = self.client()?.request(method, &url).bearer_auth(self.key.reveal());
        if let Some(body) = body {
            request = request.json(body);
        }
        let mut reply = request.send().await.map_err(|error| self.error_text(&error))?;
        let status = reply.status().as_u16();
        let after = reply.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let again = after.filter(|_| status == 429).map(Duration::from_secs);
        let mut bytes = Vec::new();
        while let Some(chunk) = reply.chunk().await.map_err(|error| self.error_text(&error))? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > MAX_ANSWER_BYTES {
                return Err(format!("{} answered with more than {MAX_ANSWER_BYTES} bytes", self.base));
            }
        }
        Ok(Answer { status, body: serde_json::from_slice(&bytes).unwrap_or(Value::Null), again })
    }

    /// Why there was no answer. The address stands in it once, without what follows the path.
    fn error_text(&self, error: &reqwest::Error) -> String {
        if error.is_timeout() {
            return format!("{} timed out", self.base);
        }
        let mut cause = error.source();
        while let Some(deeper) = cause.and_then(std::error::Error::source) {
            cause = Some(deeper);
        }
        let why = cause.map_or_else(|| "the request failed".to_owned(), ToString::to_string);
        format!("cannot reach {}: {why}", self.base)
    }

    fn client(&self) -> Result<&reqwest::Client, String> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        // A second installation answers with an error that means: already there.
        let _already_there = rustls::crypto::ring::default_provider().install_default();
        let builder = reqwest::Client::builder()
            .user_agent(concat!("hermes/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT)
            .timeout(ANSWER)
            // Each question has a runtime of its own, and a connection cannot outlive that.
            .pool_max_idle_per_host(0)
            // A key goes to the address that was set up and nowhere else.
            .redirect(reqwest::redirect::Policy::none());
        let is_local = url::Url::parse(&self.base).is_ok_and(|base| is_here(&base));
        let builder = if is_local { builder.no_proxy() } else { builder };
        let built = builder.build().map_err(|error| format!("cannot set up https: {error}"))?;
        Ok(self.client.get_or_init(|| built))
    }
}

/// Whether an address is on this machine.
fn is_here(address: &url::Url) -> bool {
    match address.host() {
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_key_does_not_go_over_an_open_line() {
        assert!(Service::new("https://api.example/x/", "k", &Leaving::default()).is_ok());
        assert!(
            Service::new("http://127.0.0.1:1", "k", &Leaving::default()).is_ok()
                && Service::new("http://[::1]:1", "k", &Leaving::default()).is_ok()
        );
        for (base, word) in [("http://api.example", "unencrypted"), ("nothing", "not an address")] {
            assert!(Service::new(base, "k", &Leaving::default()).err().unwrap().contains(word), "{base}");
        }
    }

    #[test]
    fn the_words_of_a_service_are_found() {
        let said = |body: Value| Answer { status: 400, body, again: None }.words();
        assert_eq!(said(json!({"message": "too large"})), "too large");
        assert_eq!(said(json!({"message": ["a", "b"]})), "a; b");
        assert_eq!(said(json!({"error": "Forbidden"})), "Forbidden");
        assert_eq!(said(Value::Null), "no reason given");
    }

    #[test]
    fn nobody_there_is_told_without_the_question() {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let service = Service::new(&format!("http://127.0.0.1:{port}"), "key-1", &Leaving::default()).unwrap();
        let why = service.ask(Method::GET, "/sandbox/x?token=secret", None).unwrap_err();
        assert!(why.contains(&format!("cannot reach http://127.0.0.1:{port}")), "{why}");
        assert!(!why.contains("secret") && !why.contains("key-1"), "{why}");
    }
}

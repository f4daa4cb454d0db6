//! The card of a start without a model.

use super::local::Offers;
use super::sign_in::SignInRow;

/// What can be set up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FirstRun {
    pub found: Option<Found>,
    /// Row of the card that Enter takes.
    pub selected: usize,
    /// All providers are listed, not only the first ones.
    pub all: bool,
    /// Rows of the screen; 0 while they are not known.
    pub room: u16,
    /// No model is fetched before this time (milliseconds since the epoch): the card has just filled.
    pub inert_until: i64,
    /// There is a config, and it could not be read: this is no first day.
    pub broken: bool,
}

/// A server of models that answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Server {
    /// What people call it: `Ollama`; empty where it only speaks the dialect.
    pub name: String,
    /// With `http://` and `/v1`, as the configuration takes it.
    pub base_url: String,
    /// Ids, loaded ones first.
    pub models: Vec<String>,
}

impl Server {
    /// Host and port.
    pub fn address(&self) -> &str {
        let rest = self.base_url.split_once("://").map_or(self.base_url.as_str(), |(_, rest)| rest);
        rest.split('/').next().unwrap_or(rest)
    }

    /// What the card calls it: two servers of one kind differ at least in their ports.
    pub fn label(&self) -> String {
        let name = if self.name.is_empty() { "server" } else { &self.name };
        match self.address().rsplit_once(':') {
            Some((_, port)) => format!("{name} on port {port}"),
            None => format!("{name} at {}", self.address()),
        }
    }
}

/// A server that is being set up by its address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnServer {
    pub base_url: String,
    /// Key that it accepted; empty where it wants none.
    pub key: String,
}

/// A program that serves models, is installed and does not run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdleServer {
    /// The provider's id.
    pub provider: String,
    /// What people call it.
    pub name: String,
    /// What starts it: `ollama serve`.
    pub line: String,
}

/// Keys and servers that are there already.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// Provider and where its key comes from: `OPENAI_API_KEY in the environment`.
    pub keys: Vec<(String, String)>,
    /// Local servers that answered.
    pub servers: Vec<Server>,
    /// Those that would answer if they were started.
    pub idle: Vec<IdleServer>,
    /// Sign-ins that can be begun, of providers without a key.
    pub sign_ins: Vec<SignInRow>,
    /// Names of providers that take a pasted key.
    pub providers: Vec<String>,
    /// Models of this computer; `None`: nobody looked.
    pub local: Option<Offers>,
}

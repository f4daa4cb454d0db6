//! The card of a start without a model.

use std::collections::BTreeMap;

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
}

/// Keys and servers that are there already.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Provider and where its key comes from: `OPENAI_API_KEY in the environment`.
    pub keys: Vec<(String, String)>,
    /// Provider, address and number of models of local servers that answered.
    pub servers: Vec<(String, String, usize)>,
    /// Names of providers that take a pasted key.
    pub providers: Vec<String>,
    /// What people call a provider, by its id.
    pub names: BTreeMap<String, String>,
}

impl FirstRun {
    /// What people call a provider; its id where it has no other name.
    pub fn name<'a>(&'a self, provider: &'a str) -> &'a str {
        self.found.as_ref().and_then(|found| found.names.get(provider)).map_or(provider, String::as_str)
    }
}

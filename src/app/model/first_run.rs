//! The card of a start without a model.

/// What can be set up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FirstRun {
    pub found: Option<Found>,
    /// Row of the card that Enter takes.
    pub selected: usize,
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
}

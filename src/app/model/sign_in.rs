//! Signing in to a provider without a key: who offers it, and the modal while it goes on.

/// A provider that offers it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SignInRow {
    /// As `/login` takes it.
    pub provider: String,
    /// For people.
    pub title: String,
    /// What is missing before it can be used; empty: nothing.
    pub missing: String,
    /// The browser comes back by itself; else there is a code to type.
    pub by_browser: bool,
}

/// What the person has to do.
#[derive(Clone, Debug, PartialEq)]
pub enum SignInStage {
    /// The provider is being asked.
    Asking,
    /// A code to type at an address.
    Code(Visit),
    /// An address that the browser comes back from.
    Browser(Visit),
    /// It came to nothing: why.
    Failed(String),
}

/// Where to go.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Visit {
    /// Empty: there is nothing to type.
    pub code: String,
    /// As it is read.
    pub address: String,
    /// As it is opened, with the code in it where the provider has that.
    pub opens: String,
    /// The same for a telephone, in rows of half blocks; empty: it is too long.
    pub qr: Vec<String>,
    /// Milliseconds since the epoch.
    pub ends: i64,
}

/// The modal of a sign-in.
#[derive(Clone, Debug, PartialEq)]
pub struct SignInModal {
    pub provider: String,
    pub title: String,
    pub stage: SignInStage,
}

/// A fact of the accounts.
#[derive(Clone, Debug, PartialEq)]
pub enum AccountFact {
    Step {
        provider: String,
        stage: SignInStage,
    },
    /// It is stored, and in words where; or why not.
    SignedIn {
        provider: String,
        result: Result<String, String>,
    },
}

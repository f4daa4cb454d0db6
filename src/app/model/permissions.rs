//! Rules as the screen shows them.

/// One rule that holds here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleRow {
    /// Its number in the list that it came with.
    pub number: usize,
    /// `allow`, `ask`, `deny`.
    pub action: String,
    pub rule: String,
    /// Where it stands: `this session`, or a file and its line.
    pub place: String,
    /// The name of that: `permissions.yaml`, `this session`.
    pub file: String,
    /// `everywhere`, `in /srv/app`, `telegram group`.
    pub scope: String,
    /// `until 2026-12-01`; empty when it has no end.
    pub end: String,
    /// Who made it and when; empty when that is not known.
    pub who: String,
    /// It was granted for this session and ends with it.
    pub of_session: bool,
}

/// Rules, how questions are treated, and what is odd.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    pub rows: Vec<RuleRow>,
    /// What is wrong in the files, in words with their places.
    pub problems: Vec<String>,
    /// The command that was tried last, and its verdict in words.
    pub tried: Option<(String, String)>,
}

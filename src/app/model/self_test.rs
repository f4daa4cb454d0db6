//! The self-test of a model that was chosen, as the screen knows it.

/// A model that is to be tested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelfTest {
    /// `MODEL` or `PROVIDER:MODEL`, as it was chosen.
    pub model: String,
    pub stage: TestStage,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestStage {
    /// It is being looked up whether anything is known of it.
    Asked,
    /// Nothing is known. `is_near`: on this machine or network, where a turn has it for itself.
    Waits { is_near: bool },
    /// The requests are under way.
    Runs { is_near: bool },
}

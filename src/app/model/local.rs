//! Models that run on this computer, as the screen knows them.

/// All of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Local {
    /// What there is and what could be had; `None` before anybody asked.
    pub offers: Option<Offers>,
    /// The download that was begun and has not ended.
    pub download: Option<Download>,
    /// Downloads begun so far: facts of an earlier one come too late.
    pub runs: u32,
    /// The servers that this window uses.
    pub served: Vec<Served>,
}

impl Local {
    /// The model of this name, where it is here or on offer.
    pub fn find(&self, name: &str) -> Option<&Offer> {
        self.offers.as_ref()?.rows.iter().find(|row| row.name == name)
    }
}

/// What there is and what could be had.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Offers {
    /// Offered ones, smallest first, then files of the person's own.
    pub rows: Vec<Offer>,
    /// The name of the one to offer first.
    pub best: Option<String>,
    /// The engine that comes with the first model; `None`: one is here.
    pub engine: Option<EngineOffer>,
    /// Why nothing serves models here, and what to do.
    pub missing: Option<String>,
    /// What is wrong with the table of the home.
    pub problem: Option<String>,
}

/// The program that serves models.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineOffer {
    pub bytes: u64,
    pub licence: String,
    pub host: String,
}

/// A model that is here or can be had.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Offer {
    pub name: String,
    /// For people.
    pub title: String,
    pub bytes: u64,
    /// Empty where none is known.
    pub licence: String,
    /// The host that is asked first.
    pub host: String,
    /// Tokens a second that this computer can give at most.
    pub speed: Option<f64>,
    pub note: String,
    pub state: OfferState,
}

/// Whether it is here, or how it fits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OfferState {
    Here,
    /// It is loaded, for this window or another one.
    Running,
    /// Percent that came before.
    Part(u64),
    #[default]
    Fits,
    /// It runs, and an answer takes long.
    Slow,
    /// Bytes of memory that it needs and that are not free.
    Memory(u64),
    /// Bytes on the disk that it needs and that are not free.
    Disk(u64),
}

impl OfferState {
    /// Whether it can be asked.
    pub fn is_here(self) -> bool {
        matches!(self, Self::Here | Self::Running)
    }
}

/// A model on its way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Download {
    pub run: u32,
    pub name: String,
    /// For people.
    pub title: String,
    pub state: DownloadState,
    pub step: DownloadStep,
    /// Percent of the model that are here.
    pub percent: u64,
}

/// Whether it goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DownloadState {
    #[default]
    Running,
    Paused,
    /// What failed and what to do.
    Failed(String),
}

/// What it does.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum DownloadStep {
    #[default]
    Starting,
    /// What is here already is read; percent.
    Checking(u64),
    Loading {
        /// Of the program that serves models, not of the model.
        engine: bool,
        done: u64,
        of: u64,
        /// Bytes a second.
        speed: f64,
    },
    Unpacking,
    /// A host does not answer: it is asked again, or the next one is.
    Trying {
        host: String,
        why: String,
    },
}

/// The server of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    pub name: String,
    pub state: ServedState,
    /// Bytes of memory in use.
    pub memory: Option<u64>,
}

/// What it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServedState {
    Loading,
    On,
    /// It gave its memory back; the next prompt wakes it.
    Asleep,
}

/// Orders of the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocalOrder {
    /// Gets a model; the person said yes.
    Get { run: u32, name: String },
    /// Stops what is under way; what came stays.
    Pause,
    /// Stops it and removes what came.
    Drop { name: String },
}

/// Facts that reach the screen.
#[derive(Clone, Debug, PartialEq)]
pub enum LocalFact {
    Step {
        run: u32,
        step: DownloadStep,
    },
    /// It is here, or why not.
    Got {
        run: u32,
        result: Result<(), GotNot>,
    },
    /// What came was removed, or why not.
    Dropped(Result<(), String>),
    /// The servers that this window uses.
    Served(Vec<Served>),
}

/// Why a model is not here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GotNot {
    Paused,
    /// What failed and what to do.
    Failed(String),
}

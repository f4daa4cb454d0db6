//! Fetching a large file: from the first host that gives it, on from where it stopped, checked against its hash.
//!
//! Nothing is fetched that a person did not say yes to: whoever calls this has asked.

mod client;
mod hub;
mod part;
#[cfg(test)]
mod tests;

pub use hub::{Offer, ask};

use super::machine::room;
use crate::fs::{WriteError, ensure_dir};
use client::Client;
use futures::StreamExt;
use part::Part;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Room that is left free on the disk.
const MARGIN: u64 = 256 << 20;
/// How often a host that breaks off is asked again while more keeps coming.
const TRIES: u32 = 5;
/// Between two reports.
const REPORT: Duration = Duration::from_millis(150);
/// The time over which speed is told.
const SPAN: Duration = Duration::from_secs(4);

/// A file to fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// For people.
    pub title: String,
    /// Addresses, best first.
    pub from: Vec<String>,
    /// `None`: the host says it.
    pub bytes: Option<u64>,
    /// Lower-case hexadecimal; `None`: nobody states one.
    pub sha256: Option<String>,
    /// Where it goes. Beside it, until it is whole, is its part.
    pub file: PathBuf,
}

/// How far it is.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// Bytes of the part that was here already are read again.
    Checking { done: u64, of: u64 },
    /// Bytes so far, in all, and a second.
    Loading { done: u64, of: u64, speed: f64 },
    /// A host does not answer: it is asked again, or the next one is.
    Trying { host: String, why: String },
}

/// Why it did not come.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error("{title}: not enough disk space in {}: {} needed, {} free; free some, or set models.dir", .dir.display(), size(*.need), size(*.free))]
    Disk { title: String, dir: PathBuf, need: u64, free: u64 },
    #[error("another hermes is downloading {title}")]
    Busy { title: String },
    #[error(
        "{title}: {host} gave another file: its SHA-256 is {found}, not {wanted}; it was removed. Try again, or set models.mirror to another host"
    )]
    Hash { title: String, host: String, wanted: String, found: String },
    #[error(
        "could not get {title}: {why}. Check the network, HTTPS_PROXY and models.mirror; a download resumes where it stopped"
    )]
    Unreachable { title: String, why: String },
    #[error("could not get {title}: {why}")]
    Refused { title: String, why: String },
    #[error("{0}")]
    Write(#[from] WriteError),
    #[error("paused; it can be resumed")]
    Paused,
}

/// Bytes for people.
pub(super) fn size(bytes: u64) -> String {
    crate::text::format::bytes(bytes)
}

/// Fetches it. `pause` stops it, and the next call goes on from there; `tell` hears how far it is.
///
/// # Errors
/// Why it did not come; what came stays unless it is wrong.
pub async fn fetch(
    wanted: &Wanted,
    token: Option<&str>,
    pause: &CancellationToken,
    tell: &(dyn Fn(Progress) + Sync),
) -> Result<(), FetchError> {
    if wanted.file.exists() {
        return Ok(());
    }
    let dir = wanted.file.parent().unwrap_or(Path::new("."));
    ensure_dir(dir)?;
    let mut part = Part::open(wanted)?;
    if let Some(bytes) = wanted.bytes {
        enough(wanted, bytes.saturating_sub(part.done))?;
    }
    part.read_again(wanted, pause, tell).await?;
    let client = Client::new(token).map_err(|why| FetchError::Refused { title: wanted.title.clone(), why })?;
    let mut said: Vec<String> = Vec::new();
    let resumed = part.done > 0;
    // A host that gives another file is not the last word.
    let mut wrong = None;
    for address in &wanted.from {
        match from_host(&client, address, wanted, &mut part, pause, tell).await {
            Ok(()) => match part.settle(wanted, &host_of(address)).await {
                // What was here before may have been the wrong part.
                Err(FetchError::Hash { .. }) if resumed && wrong.is_none() => {
                    match from_host(&client, address, wanted, &mut part, pause, tell).await {
                        Ok(()) => match part.settle(wanted, &host_of(address)).await {
                            Err(error @ FetchError::Hash { .. }) => wrong = Some(error),
                            settled => return settled,
                        },
                        Err(Broken::Final(error)) => return Err(error),
                        Err(Broken::Host(why)) => said.push(why),
                    }
                }
                Err(error @ FetchError::Hash { .. }) => wrong = Some(error),
                settled => return settled,
            },
            Err(Broken::Final(error)) => return Err(error),
            Err(Broken::Host(why)) => {
                tell(Progress::Trying { host: host_of(address), why: why.clone() });
                // Some reasons name the host already.
                let host = host_of(address);
                said.push(if why.starts_with(&host) { why } else { format!("{host}: {why}") });
            }
        }
    }
    let why = if said.is_empty() { "no host is known for it".to_owned() } else { said.join("; ") };
    Err(wrong.unwrap_or(FetchError::Unreachable { title: wanted.title.clone(), why }))
}

/// What ends the try of one host.
enum Broken {
    /// The next host may do better.
    Host(String),
    /// None will.
    Final(FetchError),
}

impl<E: Into<FetchError>> From<E> for Broken {
    fn from(error: E) -> Self {
        Self::Final(error.into())
    }
}

/// All of it from one host, with new tries as long as each brings something.
async fn from_host(
    client: &Client,
    address: &str,
    wanted: &Wanted,
    part: &mut Part,
    pause: &CancellationToken,
    tell: &(dyn Fn(Progress) + Sync),
) -> Result<(), Broken> {
    let host = host_of(address);
    let (mut tries, mut waits, had) = (0, Duration::from_millis(500), part.done);
    loop {
        let before = part.done;
        let why = match stream(client, address, wanted, part, pause, tell).await {
            Ok(()) => return Ok(()),
            Err(Broken::Host(why)) => why,
            Err(error) => return Err(error),
        };
        tries = if part.done > before { 1 } else { tries + 1 };
        // A host that never answered is left at once for the next one.
        if tries >= TRIES || part.done == had && wanted.from.len() > 1 {
            return Err(Broken::Host(why));
        }
        tell(Progress::Trying { host: host.clone(), why });
        tokio::select! {
            () = tokio::time::sleep(waits) => waits = (waits * 2).min(Duration::from_secs(15)),
            () = pause.cancelled() => return Err(FetchError::Paused.into()),
        }
    }
}

/// One answer of a host, to its end.
async fn stream(
    client: &Client,
    address: &str,
    wanted: &Wanted,
    part: &mut Part,
    pause: &CancellationToken,
    tell: &(dyn Fn(Progress) + Sync),
) -> Result<(), Broken> {
    if wanted.bytes.is_some_and(|bytes| part.done == bytes) {
        return Ok(());
    }
    let asked = client.get(address, part.done);
    let answer = tokio::select! {
        answer = asked => answer.map_err(Broken::Host)?,
        () = pause.cancelled() => return Err(FetchError::Paused.into()),
    };
    let of = answer.total.or(wanted.bytes);
    if let (Some(says), Some(bytes)) = (answer.total, wanted.bytes)
        && says != bytes
    {
        return Err(Broken::Host(format!("{} has {says} bytes of it, not {bytes}", host_of(address))));
    }
    // Without a hash only the host's word tells that it is still the same file.
    if part.done > 0 && wanted.sha256.is_none() && !part.is_version(address, &answer.etag, of) {
        part.restart()?;
        if answer.goes_on {
            return Err(Broken::Host(format!("{} has another version of it now", host_of(address))));
        }
    }
    if part.done == 0 {
        part.begins(wanted, address, &answer.etag, of)?;
    }
    enough(wanted, of.unwrap_or(0).saturating_sub(part.done))?;
    let mut meter = Meter::new(part.done);
    tell(Progress::Loading { done: part.done, of: of.unwrap_or(0), speed: 0.0 });
    let mut body = answer.body;
    // A host without ranges begins at the start: what is here already is passed over, and never thrown away for a page that
    // only looks like an answer.
    let mut passed = if answer.goes_on { part.done } else { 0 };
    loop {
        let next = tokio::time::timeout(client::STALL, body.next());
        let piece = tokio::select! {
            piece = next => piece.map_err(|_| Broken::Host(format!("{} sends nothing", host_of(address))))?,
            () = pause.cancelled() => {
                part.flush().await?;
                return Err(FetchError::Paused.into());
            }
        };
        let Some(piece) = piece else { break };
        let mut piece = piece.map_err(|why| Broken::Host(format!("{}: {why}", host_of(address))))?;
        if passed < part.done {
            let known = usize::try_from(part.done - passed).unwrap_or(usize::MAX).min(piece.len());
            passed += known as u64;
            piece.drain(..known);
            if piece.is_empty() {
                continue;
            }
        }
        passed += piece.len() as u64;
        if of.is_some_and(|of| part.done + piece.len() as u64 > of) {
            part.restart()?;
            return Err(Broken::Host(format!("{} sends more than it said", host_of(address))));
        }
        part.write(&piece)?;
        if let Some(speed) = meter.pass(part.done) {
            tell(Progress::Loading { done: part.done, of: of.unwrap_or(0), speed });
        }
    }
    part.flush().await?;
    match of {
        Some(of) if part.done < of => Err(Broken::Host(format!("{} broke off", host_of(address)))),
        _ => Ok(()),
    }
}

fn enough(wanted: &Wanted, bytes: u64) -> Result<(), FetchError> {
    let dir = wanted.file.parent().unwrap_or(Path::new(".")).to_path_buf();
    match room(&dir) {
        Some(free) if free < bytes.saturating_add(MARGIN) => {
            Err(FetchError::Disk { title: wanted.title.clone(), dir, need: bytes + MARGIN, free })
        }
        _ => Ok(()),
    }
}

/// The host in an address, for people.
pub fn host_of(address: &str) -> String {
    let parsed = url::Url::parse(address).ok();
    let host = parsed.as_ref().and_then(|url| {
        let host = url.host_str()?;
        Some(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
    });
    host.unwrap_or_else(|| address.to_owned())
}

/// Speed over the last seconds, told every now and then.
struct Meter {
    marks: std::collections::VecDeque<(Instant, u64)>,
    told: Instant,
}

impl Meter {
    fn new(done: u64) -> Self {
        let now = Instant::now();
        Self { marks: [(now, done)].into(), told: now }
    }

    fn pass(&mut self, done: u64) -> Option<f64> {
        let now = Instant::now();
        if now < self.told + REPORT {
            return None;
        }
        self.told = now;
        self.marks.push_back((now, done));
        while self.marks.len() > 2 && self.marks.front().is_some_and(|(at, _)| now.duration_since(*at) > SPAN) {
            self.marks.pop_front();
        }
        let (since, from) = self.marks.front()?;
        let seconds = now.duration_since(*since).as_secs_f64().max(0.001);
        Some((done.saturating_sub(*from)) as f64 / seconds)
    }
}

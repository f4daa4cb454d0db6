//! `auth.json`: read whole, written whole, by one program at a time. A file that can't be read is never written over.

use super::entry::Entry;
use super::error::AccountError;
use crate::fs;
use crate::llm::endpoint::pool_of;
use crate::lock::lock;
use rustix::fs::{FlockOperation, flock};
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long another program may hold the file (as Python Hermes has it).
const PATIENCE: Duration = Duration::from_secs(15);
/// Between two tries.
const GLANCE: Duration = Duration::from_millis(20);
/// Bytes that such a file may have.
const LARGEST: u64 = 4 << 20;
const VERSION: u64 = 1;

/// When the file was written, its size and its number.
type Stamp = (i64, i64, u64, u64);

/// The file and what was read of it last.
pub struct AuthFile {
    path: PathBuf,
    read: Mutex<Option<(Stamp, Arc<Pools>)>>,
}

/// Its content.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pools {
    /// All of it; the pools are kept apart.
    whole: Map<String, Value>,
    pools: Vec<(String, Vec<Entry>)>,
}

/// One program at a time; ends when it is dropped.
pub struct Held(#[allow(dead_code, reason = "the lock lives as long as the file is open")] File);

impl AuthFile {
    pub fn new(path: PathBuf) -> Self {
        Self { path, read: Mutex::default() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it says now; nothing where there is no file. Reads it again when it is another one.
    pub fn read(&self) -> Result<Arc<Pools>, AccountError> {
        let about = match std::fs::metadata(&self.path) {
            Ok(about) => about,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Arc::default()),
            Err(error) => return Err(AccountError::Read { path: self.path.clone(), why: error.to_string() }),
        };
        let stamp = (about.mtime(), about.mtime_nsec(), about.len(), about.ino());
        if let Some((_, known)) = lock(&self.read).as_ref().filter(|(seen, _)| *seen == stamp) {
            return Ok(Arc::clone(known));
        }
        let damaged = |why: String| AccountError::Damaged { path: self.path.clone(), why };
        if about.len() > LARGEST {
            return Err(damaged("it is larger than 4 MiB".into()));
        }
        let text = std::fs::read_to_string(&self.path)
            .map_err(|error| AccountError::Read { path: self.path.clone(), why: error.to_string() })?;
        let content = Arc::new(Pools::parse(&text).map_err(damaged)?);
        *lock(&self.read) = Some((stamp, Arc::clone(&content)));
        Ok(content)
    }

    /// Waits for other programs and keeps them out. Blocks.
    pub fn hold(&self) -> Result<Held, AccountError> {
        let path = self.path.with_extension("lock");
        let dir = self.path.parent().unwrap_or(Path::new("."));
        fs::ensure_dir(dir)?;
        let failed = |error: std::io::Error| AccountError::Write(fs::WriteError::new(&path, &error));
        let file = File::options().create(true).append(true).mode(0o600).open(&path).map_err(failed)?;
        let stop = Instant::now() + PATIENCE;
        while flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            if Instant::now() >= stop {
                return Err(AccountError::Busy { path: self.path.clone(), seconds: PATIENCE.as_secs() });
            }
            std::thread::sleep(GLANCE);
        }
        Ok(Held(file))
    }

    /// Writes what was changed, for its owner only. `_held`: nobody else writes meanwhile.
    pub fn write(&self, _held: &Held, content: &Pools) -> Result<(), AccountError> {
        use std::os::unix::fs::PermissionsExt as _;
        // A file that was there before keeps its mode otherwise.
        if let Err(error) = std::fs::set_permissions(&self.path, std::fs::Permissions::from_mode(0o600))
            && error.kind() != ErrorKind::NotFound
        {
            return Err(fs::WriteError::new(&self.path, &error).into());
        }
        fs::write_atomic(&self.path, &content.text())?;
        *lock(&self.read) = None;
        Ok(())
    }

    /// Reads, changes and writes it while nobody else does. Blocks.
    pub fn change<T>(&self, work: impl FnOnce(&mut Pools) -> Result<T, AccountError>) -> Result<T, AccountError> {
        let held = self.hold()?;
        let before = self.read()?;
        let mut content = (*before).clone();
        let done = work(&mut content)?;
        if content != *before {
            self.write(&held, &content)?;
        }
        Ok(done)
    }
}

impl Pools {
    fn parse(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let Value::Object(mut whole) = value else { return Err("it is no JSON object".into()) };
        let pools = match whole.get_mut("credential_pool").map(Value::take) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Object(pools)) => pools
                .into_iter()
                .map(|(name, entries)| match serde_json::from_value(entries) {
                    Ok(entries) => Ok((name, entries)),
                    Err(error) => Err(format!("credential_pool.{name}: {error}")),
                })
                .collect::<Result<_, _>>()?,
            Some(_) => return Err("credential_pool is no JSON object".into()),
        };
        Ok(Self { whole, pools })
    }

    fn text(&self) -> String {
        let mut whole = self.whole.clone();
        whole.entry("version").or_insert(json!(VERSION));
        let pools = self.pools.iter().filter(|(_, entries)| !entries.is_empty());
        let pools: Map<String, Value> = pools.map(|(name, entries)| (name.clone(), json!(entries))).collect();
        whole.insert("credential_pool".into(), pools.into());
        // The layout has no values that JSON can't hold.
        serde_json::to_string_pretty(&whole).unwrap_or_default() + "\n"
    }

    /// The names of the pools that hold something.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.pools.iter().filter(|(_, entries)| !entries.is_empty()).map(|(name, _)| name.as_str())
    }

    /// Every entry of every pool.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.pools.iter().flat_map(|(_, entries)| entries)
    }

    /// The entries of a pool, whatever name another program gave the provider.
    pub fn pool(&self, pool: &str) -> &[Entry] {
        self.pools.iter().find(|(name, _)| same(name, pool)).map_or(&[], |(_, entries)| entries)
    }

    /// The same, to be changed; an empty pool is left out when it is written.
    pub fn pool_mut(&mut self, pool: &str) -> &mut Vec<Entry> {
        let at = self.pools.iter().position(|(name, _)| same(name, pool)).unwrap_or_else(|| {
            self.pools.push((pool.to_owned(), Vec::new()));
            self.pools.len() - 1
        });
        &mut self.pools[at].1
    }
}

fn same(name: &str, pool: &str) -> bool {
    name == pool || pool_of(name) == pool
}

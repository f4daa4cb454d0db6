//! Paths in records: as text where they are text, else as bytes.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Text(String),
    Bytes(Vec<u8>),
}

pub(in crate::store) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    match path.to_str() {
        Some(text) => text.serialize(to),
        None => path.as_os_str().as_bytes().serialize(to),
    }
}

pub(in crate::store) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
    Ok(match Written::deserialize(from)? {
        Written::Text(text) => text.into(),
        Written::Bytes(bytes) => OsString::from_vec(bytes).into(),
    })
}

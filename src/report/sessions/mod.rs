//! Stored sessions as text: files to keep, to read, to import again and to train with.

pub mod export;
mod html;
mod jsonl;
mod markdown;
mod redacted;
mod rendered;
pub mod text;

use crate::protocol::SessionId;
use crate::store::{Store, StoreError};
use clap::ValueEnum;
use std::io;

/// What an export looks like.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Markdown to read
    #[default]
    Md,
    /// One item a line, to be imported again as it was
    Jsonl,
    /// One self-contained page
    Html,
    /// Training data: one line of conversations
    Sharegpt,
    /// The recorded terminals, for asciinema and its players
    Asciicast,
}

/// Why a session is not exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error("formats are md, jsonl, html, sharegpt, asciicast")]
    Format,
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Nothing was recorded, or it was dropped.
    #[error(
        "[no recording] of session {0}: recordings.enabled turns recording on, and the oldest beyond recordings.budget_bytes are deleted"
    )]
    NoRecording(SessionId),
    #[error("session {session} has {count} recorded terminals: name one from 1 to {count}")]
    NoTerminal { session: SessionId, count: usize },
    #[error("the export was not written: {0}")]
    Write(#[from] io::Error),
}

/// A session as text, with secrets masked; `format` as on the command line.
///
/// # Errors
/// The format is none, or the session can't be read.
pub async fn export_text(store: &Store, session: &SessionId, format: &str) -> Result<String, ExportError> {
    let format = Format::from_str(format, true).map_err(|_| ExportError::Format)?;
    let mut out = Vec::new();
    export::export(&export::gather(store, session, format, None, true).await?, format, &mut out, &mut io::sink())?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

//! Text out of files that people read and programs don't: notebooks, PDF, office documents.
//!
//! Such files come from anywhere: what is read, what it may unfold to and how long it may take are bounded, and a reader
//! that breaks is an error of this one file.

mod notebook;
mod office;
mod sheet;

use std::fs::File;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Bytes of a document; larger ones are for a program in the terminal.
const MAX_FILE: u64 = 64 * 1024 * 1024;
/// Bytes of its text.
const MAX_TEXT: usize = 16 * 1024 * 1024;
/// Bytes that the parts of a packed document may unfold to.
const MAX_UNPACKED: u64 = if cfg!(test) { 4 } else { 256 } * 1024 * 1024;
/// Time for one document.
const PATIENCE: Duration = Duration::from_secs(30);
/// Between two looks at whether the turn was stopped.
const GLANCE: Duration = Duration::from_millis(50);

/// A kind of document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Notebook,
    Pdf,
    Word,
    Slides,
    /// Text and presentations of OpenDocument.
    OpenDocument,
    Sheet,
}

impl Kind {
    /// By the name of the file.
    pub fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match extension.as_str() {
            "ipynb" => Self::Notebook,
            "pdf" => Self::Pdf,
            "docx" | "docm" => Self::Word,
            "pptx" | "pptm" => Self::Slides,
            "odt" | "odp" => Self::OpenDocument,
            "xlsx" | "xlsm" | "xlsb" | "xls" | "ods" => Self::Sheet,
            _ => return None,
        })
    }
}

/// Why there is no text.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum Unreadable {
    #[error("{0}")]
    Broken(String),
    #[error("interrupted")]
    Cancelled,
}

/// The text of a document. Blocks.
pub fn text(kind: Kind, path: &Path, cancel: &CancellationToken) -> Result<String, Unreadable> {
    let broken = |why: String| Err(Unreadable::Broken(why));
    match std::fs::metadata(path) {
        Ok(meta) if meta.len() > MAX_FILE => {
            return broken(format!("has {} bytes, more than is read of a document; use a program", meta.len()));
        }
        Ok(_) => {}
        Err(error) => return broken(format!("could not be read: {error}")),
    }
    // The readers know nothing of stopping: one that takes too long is left behind with its thread.
    let (tell, told) = channel();
    let owned = path.to_owned();
    let read = move || {
        let text = catch_unwind(AssertUnwindSafe(|| extract(kind, &owned)));
        // The receiver may have given up.
        let _ = tell.send(text.unwrap_or_else(|_| Err("its reader broke on it".to_owned())));
    };
    if let Err(error) = std::thread::Builder::new().name("document".into()).spawn(read) {
        return broken(format!("could not be read: {error}"));
    }
    let begun = Instant::now();
    loop {
        match told.recv_timeout(GLANCE) {
            Ok(Ok(text)) => return Ok(bounded(text)),
            Ok(Err(why)) => return broken(why),
            Err(RecvTimeoutError::Disconnected) => return broken("its reader broke on it".into()),
            Err(RecvTimeoutError::Timeout) if cancel.is_cancelled() => return Err(Unreadable::Cancelled),
            Err(RecvTimeoutError::Timeout) if begun.elapsed() > PATIENCE => {
                return broken(format!("could not be read within {} s; use a program", PATIENCE.as_secs()));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

fn extract(kind: Kind, path: &Path) -> Result<String, String> {
    match kind {
        Kind::Notebook => notebook::text(&whole(path)?),
        Kind::Pdf => pdf(path),
        Kind::Word => office::word(path),
        Kind::Slides => office::slides(path),
        Kind::OpenDocument => office::open_document(path),
        Kind::Sheet => sheet::text(path),
    }
}

fn whole(path: &Path) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| format!("could not be opened: {error}"))?;
    file.take(MAX_FILE).read_to_end(&mut bytes).map_err(|error| format!("could not be read: {error}"))?;
    Ok(bytes)
}

fn pdf(path: &Path) -> Result<String, String> {
    let pages = pdf_extract::extract_text_from_mem_by_pages(&whole(path)?)
        .map_err(|error| format!("is not a PDF that can be read: {error}"))?;
    if pages.iter().all(|page| page.trim().is_empty()) {
        return Err("has no text in it: its pages are pictures".into());
    }
    let mut text = String::new();
    for (index, page) in pages.iter().enumerate() {
        text.push_str(&format!("## Page {}\n", index + 1));
        // Layout comes as blank lines: one is enough.
        let mut blank = true;
        for line in page.lines().map(str::trim_end) {
            if !line.is_empty() || !blank {
                text.push_str(line);
                text.push('\n');
            }
            blank = line.is_empty();
        }
        if !blank {
            text.push('\n');
        }
    }
    Ok(text)
}

fn bounded(mut text: String) -> String {
    if text.len() > MAX_TEXT {
        text.truncate(text.floor_char_boundary(MAX_TEXT));
        text.push_str("\n[the rest of the document is left out]\n");
    }
    text
}

#[cfg(test)]
mod tests;

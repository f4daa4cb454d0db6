//! Text out of files that people read and programs don't: notebooks, PDF, office documents.
//!
//! Such files come from anywhere, and their readers may recurse, unfold or spin without end on what was made to hurt. So a
//! document is read by a process of its own (`hermes debug extract`) with bounds of memory and time, which dies alone: a
//! reader that breaks is an error of this one file. Only where there is no such program (tests) it is read in place.

mod notebook;
mod office;
mod sheet;

use crate::exec::{Exec, Limits, OneshotError, OutputLimit, confine};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Bytes of a document; larger ones are for a program in the terminal.
const MAX_FILE: u64 = 64 * 1024 * 1024;
/// Bytes of its text, the note of what is left out aside.
const MAX_TEXT: usize = 16 * 1024 * 1024;
/// Ends a text that is longer.
const LEFT_OUT: &str = "\n[the rest of the document is left out]\n";
/// Bytes that the parts of a packed document may unfold to.
const MAX_UNPACKED: u64 = if cfg!(test) { 4 } else { 256 } * 1024 * 1024;
/// Time for one document.
const READER_LIMIT: Duration = Duration::from_secs(30);
/// Bytes of memory for the process that reads it, its program included.
const MEMORY: u64 = 1024 * 1024 * 1024;
/// Exit code of that process when the document cannot be read and standard output says why (`sysexits`: data error).
const NO_TEXT: i32 = 65;

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
pub fn text(path: &Path, exec: &Exec, cancel: &CancellationToken) -> Result<String, Unreadable> {
    let broken = |why: String| Err(Unreadable::Broken(why));
    match std::fs::metadata(path) {
        Ok(meta) if meta.len() > MAX_FILE => {
            return broken(format!("has {} bytes, above the limit for documents; use a program", meta.len()));
        }
        Ok(_) => {}
        Err(error) => return broken(format!("could not be read: {error}")),
    }
    let arguments = ["debug", "extract", "--"].map(OsStr::new);
    let bounds =
        Limits { time: READER_LIMIT, stdout: OutputLimit::All(MAX_TEXT + LEFT_OUT.len()), stderr: OutputLimit::None };
    let Some(done) = exec.this_program(&[&arguments[..], &[path.as_os_str()]].concat(), bounds, cancel) else {
        return extract(path).map_err(Unreadable::Broken);
    };
    let done = match done {
        Ok(done) => done,
        Err(OneshotError::Stopped) => return Err(Unreadable::Cancelled),
        Err(OneshotError::TimedOut(_)) => {
            return broken(format!("could not be read within {} s: inspect it with a program", READER_LIMIT.as_secs()));
        }
        Err(error @ (OneshotError::TooMuch | OneshotError::Io(_))) => return broken(format!("its reader {error}")),
    };
    match (done.status.code(), String::from_utf8(done.stdout)) {
        (Some(0), Ok(text)) => Ok(text),
        (Some(NO_TEXT), Ok(why)) => broken(why),
        (code, _) => {
            tracing::info!("the reader of {} crashed: {code:?}", path.display());
            broken("its reader crashed: inspect it with a program".into())
        }
    }
}

/// The work of the process that reads one document: bounds itself, writes the text or why there is none, and gives its
/// exit code.
pub fn serve(path: &Path, out: &mut dyn Write) -> io::Result<i32> {
    // A parent that was killed cannot end it any more: its own time ends too.
    confine(MEMORY, READER_LIMIT)?;
    let (text, code) = match extract(path) {
        Ok(text) => (text, 0),
        Err(why) => (why, NO_TEXT),
    };
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(code)
}

fn extract(path: &Path) -> Result<String, String> {
    let text = match Kind::of(path).ok_or("is not a document")? {
        Kind::Notebook => notebook::text(&whole(path)?),
        Kind::Pdf => pdf(path),
        Kind::Word => office::word(path),
        Kind::Slides => office::slides(path),
        Kind::OpenDocument => office::open_document(path),
        Kind::Sheet => sheet::text(path),
    };
    text.map(bounded)
}

fn whole(path: &Path) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| format!("could not be opened: {error}"))?;
    file.take(MAX_FILE).read_to_end(&mut bytes).map_err(|error| format!("could not be read: {error}"))?;
    Ok(bytes)
}

fn pdf(path: &Path) -> Result<String, String> {
    let pages = pdf_extract::extract_text_from_mem_by_pages(&whole(path)?)
        .map_err(|error| format!("is not a readable PDF: {error}"))?;
    if pages.iter().all(|page| page.trim().is_empty()) {
        return Err("contains no text: its pages are images".into());
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
        text.push_str(LEFT_OUT);
    }
    text
}

#[cfg(test)]
mod tests;

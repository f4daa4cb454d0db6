//! `hermes debug`: for bug reports and checks.

use crate::text::screen::Screen;
use crate::tools::file::document;
use anyhow::Context as _;
use clap::Subcommand;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Subcommands of `hermes debug`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// The client side of the MCP conformance suite
    #[command(hide = true)]
    McpConformance { url: String },
    /// Feed recorded bytes to the terminal emulator and print its screen
    Screen {
        file: PathBuf,
        /// COLSxROWS
        size: String,
        /// Feed this many bytes at a time
        #[arg(long, default_value_t = 65_536)]
        chunk: usize,
    },
    /// Print the text of a document; `read_file` runs this to isolate crashes
    #[command(hide = true)]
    Extract { file: PathBuf },
    /// Hold the terminals of background commands after the program exits
    #[command(hide = true)]
    Keep,
}

/// Runs the command.
pub fn run(command: Command, out: &mut dyn Write) -> anyhow::Result<i32> {
    match command {
        Command::McpConformance { url } => super::setup::block_on(super::mcp::conformance(url, out)),
        Command::Screen { file, size, chunk } => screen(&file, &size, chunk, out),
        Command::Extract { file } => Ok(document::serve(&file, out)?),
        Command::Keep => {
            crate::exec::keep()?;
            Ok(0)
        }
    }
}

fn screen(file: &Path, size: &str, chunk: usize, out: &mut dyn Write) -> anyhow::Result<i32> {
    let bytes = std::fs::read(file).with_context(|| format!("could not read {}", file.display()))?;
    let numbers = size.split_once('x').and_then(|(c, r)| Some((c.parse::<u16>().ok()?, r.parse::<u16>().ok()?)));
    let (columns, rows) = numbers.with_context(|| format!("{size:?} is not a size; write it like 80x24"))?;
    let mut screen = Screen::new(columns, rows);
    for piece in bytes.chunks(chunk.max(1)) {
        screen.feed(piece);
    }
    for row in screen.snapshot().rows {
        let text: String = row.spans.iter().map(|span| span.text.as_str()).collect();
        writeln!(out, "{}", text.trim_end())?;
    }
    Ok(0)
}

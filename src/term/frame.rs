//! Frames: ratatui's cell difference, written in one piece inside a synchronized update.

use crate::lock::lock;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Size;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

/// Begin and end of a synchronized update; terminals that do not know them ignore them.
const SYNC: (&[u8], &[u8]) = (b"\x1b[?2026h", b"\x1b[?2026l");

/// Collects bytes until the frame is complete.
#[derive(Clone, Default)]
struct Pending(Arc<Mutex<Vec<u8>>>);

impl Write for Pending {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        lock(&self.0).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    /// Backends flush several times a frame; the frame is written once, by [`Frames::draw`].
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Draws on the real terminal.
pub struct Frames {
    terminal: Terminal<CrosstermBackend<Pending>>,
    pending: Pending,
}

impl Frames {
    /// Over standard output. `first` goes out with the first frame.
    pub fn new(first: &str) -> io::Result<Self> {
        let mut pending = Pending::default();
        pending.write_all(first.as_bytes())?;
        let terminal = Terminal::new(CrosstermBackend::new(pending.clone()))?;
        Ok(Self { terminal, pending })
    }

    /// Columns and rows.
    pub fn size(&self) -> io::Result<(u16, u16)> {
        let Size { width, height } = self.terminal.size()?;
        Ok((width, height))
    }

    /// Draws one frame; returns the bytes written.
    pub fn draw(&mut self, render: impl FnOnce(&mut ratatui::Frame)) -> io::Result<usize> {
        self.terminal.draw(render)?;
        self.write_out()
    }

    /// Other sequences (title, bell, clipboard), outside a frame.
    pub fn send(&mut self, sequence: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(sequence.as_bytes())?;
        out.flush()
    }

    /// The next frame repaints everything. The terminal is not asked anything: ratatui's own `clear` waits for the cursor's
    /// position, and fails where the answer is slow.
    pub fn clear(&mut self) -> io::Result<()> {
        let area = ratatui::layout::Rect::from((ratatui::layout::Position::ORIGIN, self.terminal.size()?));
        self.terminal.resize(area)
    }

    fn write_out(&mut self) -> io::Result<usize> {
        let mut bytes = lock(&self.pending.0);
        if bytes.is_empty() {
            return Ok(0);
        }
        let mut out = io::stdout().lock();
        bytes.splice(0..0, SYNC.0.iter().copied());
        bytes.extend_from_slice(SYNC.1);
        out.write_all(&bytes)?;
        out.flush()?;
        let written = bytes.len();
        bytes.clear();
        // A full repaint of a huge terminal should not keep its memory.
        bytes.shrink_to(64 * 1024);
        Ok(written)
    }
}

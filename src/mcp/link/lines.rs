//! The output of a server's program, with a bound on its lines. The protocol crate drops a line that is too long without a
//! word, and the call that it answers would wait until its time is up: here the call gets an error in its place.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};

/// Bytes at both ends of a line in which its number is looked for.
const ENDS: usize = 256;
/// Bytes of lines that are no message, one after another, after which a program is not listened to any more.
const NOISE: usize = 1024 * 1024;

/// Reads lines of at most `most` bytes.
pub(super) struct Lines<R> {
    inner: R,
    most: usize,
    /// Bytes of the line so far, and the first and, once it is cut, the last of them.
    line: usize,
    head: Vec<u8>,
    tail: Vec<u8>,
    /// What is to be given in place of what came.
    owed: Vec<u8>,
    /// Bytes of lines that began with no bracket since the last that did, and whether the line so far is one.
    noise: usize,
    is_noise: Option<bool>,
    garbled: Arc<AtomicBool>,
}

impl<R> Lines<R> {
    pub(super) fn new(inner: R, most: usize) -> Self {
        Self {
            inner,
            most,
            line: 0,
            head: Vec::new(),
            tail: Vec::new(),
            owed: Vec::new(),
            noise: 0,
            is_noise: None,
            garbled: Arc::default(),
        }
    }

    /// Becomes true when the program was given up: it writes something else than messages.
    pub(super) fn garbled(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.garbled)
    }

    /// Counts what is no message; whether there was too much of it.
    fn is_garbled(&mut self, bytes: &[u8]) -> bool {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.is_noise.is_none()
                && let Some(first) = part.iter().find(|byte| !byte.is_ascii_whitespace())
            {
                self.is_noise = Some(!matches!(first, b'{' | b'['));
            }
            match self.is_noise {
                Some(false) => self.noise = 0,
                Some(true) | None => self.noise += part.len(),
            }
            if part.ends_with(b"\n") {
                self.is_noise = None;
            }
        }
        self.noise > NOISE
    }

    /// Takes what came. `None`: it is fit to be given as it is.
    fn take(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        if self.line + bytes.len() <= self.most {
            let last = match bytes.iter().rposition(|byte| *byte == b'\n') {
                Some(at) => {
                    self.begin();
                    &bytes[at + 1..]
                }
                None => bytes,
            };
            self.add(last);
            return None;
        }
        let mut out = Vec::with_capacity(bytes.len());
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let text = part.strip_suffix(b"\n").unwrap_or(part);
            let (before, whole) = (self.line, text.len() == part.len());
            self.add(text);
            match (before > self.most, self.line > self.most) {
                (false, false) => out.extend_from_slice(part),
                // The part that was given ends here; it is no message.
                (false, true) => out.push(b'\n'),
                (true, _) => {}
            }
            if !whole {
                if self.line > self.most {
                    out.extend(self.answer());
                }
                self.begin();
            }
        }
        Some(out)
    }

    fn begin(&mut self) {
        self.line = 0;
        self.head.clear();
        self.tail.clear();
    }

    fn add(&mut self, text: &[u8]) {
        self.line += text.len();
        let room = ENDS.saturating_sub(self.head.len());
        self.head.extend_from_slice(&text[..text.len().min(room)]);
        if self.line > self.most {
            self.tail.extend_from_slice(&text[text.len().saturating_sub(ENDS)..]);
            self.tail.drain(..self.tail.len().saturating_sub(ENDS));
        }
    }

    /// An error for the call that the line answered, where its number can be read.
    fn answer(&self) -> Vec<u8> {
        let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&self.tail));
        // In front of all that the answer says, or behind it.
        let front = head.split("\"result\"").next().filter(|front| front.len() < head.len());
        let id = front.and_then(|front| number(front.split("\"id\":").nth(1)?));
        let Some(id) = id.or_else(|| number(tail.rsplit_once("\"id\":")?.1)) else { return Vec::new() };
        let most = self.most / (1024 * 1024);
        let message = format!("its answer is larger than {most} MiB; ask for less of it");
        let error = serde_json::json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": message}});
        format!("{error}\n").into_bytes()
    }
}

/// The number at the start of a text.
fn number(text: &str) -> Option<u64> {
    let text = text.trim_start();
    text[..text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len())].parse().ok()
}

impl<R: AsyncRead + Unpin> AsyncRead for Lines<R> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            if !this.owed.is_empty() {
                let some = this.owed.len().min(out.remaining());
                out.put_slice(&this.owed[..some]);
                this.owed.drain(..some);
                return Poll::Ready(Ok(()));
            }
            let before = out.filled().len();
            ready!(Pin::new(&mut this.inner).poll_read(cx, out))?;
            if out.filled().len() == before {
                return Poll::Ready(Ok(()));
            }
            if this.is_garbled(&out.filled()[before..]) {
                // The end of the output for whoever reads it: nothing more is read, and the program stops at a full pipe.
                this.garbled.store(true, Ordering::Release);
                out.set_filled(before);
                return Poll::Ready(Ok(()));
            }
            match this.take(&out.filled()[before..]) {
                None => return Poll::Ready(Ok(())),
                Some(owed) => {
                    out.set_filled(before);
                    this.owed = owed;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt as _;

    /// What comes out of a text that comes in pieces of this size, with lines of at most 1,000 bytes.
    async fn read(text: &str, size: usize) -> Vec<String> {
        let (mut sink, source) = tokio::io::duplex(64);
        let bytes = text.as_bytes().to_vec();
        let written = async move {
            for piece in bytes.chunks(size) {
                tokio::io::AsyncWriteExt::write_all(&mut sink, piece).await.unwrap();
            }
        };
        let mut found = String::new();
        let mut lines = Lines::new(source, 1_000);
        let ((), _) = tokio::join!(written, async { lines.read_to_string(&mut found).await.unwrap() });
        found.lines().map(str::to_owned).collect()
    }

    #[tokio::test]
    async fn a_program_that_writes_no_messages_is_given_up() {
        let message = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        let noise = "listening on port 1234, all is well\n".repeat(20_000);
        // Some noise is passed on, also more than the bound when messages come between.
        let some = format!("{noise}{message}\n{noise}{message}\n");
        let mut lines = Lines::new(some.as_bytes(), 1_000);
        let (mut found, garbled) = (String::new(), lines.garbled());
        lines.read_to_string(&mut found).await.unwrap();
        assert_eq!((found.len(), garbled.load(Ordering::Acquire)), (some.len(), false));
        // Too much of it ends it, also without any line feed.
        for flood in [noise.repeat(9), "y\n".repeat(4_000_000), "x".repeat(4_000_000), "\n".repeat(4_000_000)] {
            let mut lines = Lines::new(flood.as_bytes(), 1_000);
            let (mut found, garbled) = (String::new(), lines.garbled());
            lines.read_to_string(&mut found).await.unwrap();
            assert!(found.len() <= NOISE && garbled.load(Ordering::Acquire), "{}", found.len());
        }
    }

    #[tokio::test]
    async fn the_call_behind_a_line_that_is_too_long_gets_an_error() {
        let long = "x".repeat(5_000);
        let short = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        for (line, id) in [
            (format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"text":"{long}"}}}}"#), Some(7)),
            (format!(r#"{{"result":{{"text":"{long}","id":3}},"jsonrpc":"2.0","id":8}}"#), Some(8)),
            (format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":"{long}"}}"#), None),
            (long.clone(), None),
        ] {
            for size in [1, 7, 64, 10_000] {
                let found = read(&format!("{short}\n{line}\n{short}\n"), size).await;
                assert_eq!(
                    (found.first().map(String::as_str), found.last().map(String::as_str)),
                    (Some(short), Some(short))
                );
                assert!(found.iter().all(|line| line.len() <= 1_000));
                let errors: Vec<serde_json::Value> =
                    found.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
                let ids: Vec<u64> = errors
                    .iter()
                    .filter(|line| line.get("error").is_some())
                    .filter_map(|line| line["id"].as_u64())
                    .collect();
                assert_eq!(ids, id.into_iter().collect::<Vec<u64>>(), "{size}");
            }
        }
        // Many lines that fit, together longer than one may be, come as they are.
        let many = format!("{short}\n").repeat(200);
        for size in [3, 10_000] {
            assert_eq!(read(&many, size).await.len(), 200);
        }
    }
}

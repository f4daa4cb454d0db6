//! Server-sent events, decoded from byte chunks as they come: any line end, any split, bounded.

use std::borrow::Cow;

/// Bytes that one event may hold. A larger one is not a model's answer.
pub const MAX_EVENT: usize = 8 << 20;

/// One event. `name` is empty when the server names none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    pub name: &'a str,
    pub data: &'a str,
}

/// An event grew over [`MAX_EVENT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

/// Keeps what an unfinished line or event has so far. Lines that lie whole in one chunk are not copied first.
#[derive(Debug, Default)]
pub struct Decoder {
    line: Vec<u8>,
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    after_cr: bool,
    started: bool,
}

impl Decoder {
    /// Takes the next bytes and calls `on` for each event that they complete.
    pub fn feed<E: From<TooLarge>>(
        &mut self,
        chunk: &[u8],
        mut on: impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rest = chunk;
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (head, tail) = rest.split_at(end);
            let is_cr = tail.first() == Some(&b'\r');
            rest = tail.get(1..).unwrap_or_default();
            if is_cr {
                self.after_cr = rest.is_empty();
                rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            }
            if self.line.is_empty() {
                self.take_line(head, &mut on)?;
            } else {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(head);
                let taken = self.take_line(&line, &mut on);
                line.clear();
                self.line = line;
                taken?;
            }
        }
        if self.line.len() + rest.len() > MAX_EVENT {
            return Err(TooLarge.into());
        }
        self.line.extend_from_slice(rest);
        Ok(())
    }

    /// The stream has ended: what is left counts as an event, since some servers omit the last empty line.
    pub fn finish<E: From<TooLarge>>(&mut self, mut on: impl FnMut(Event<'_>) -> Result<(), E>) -> Result<(), E> {
        if !self.line.is_empty() {
            let line = std::mem::take(&mut self.line);
            self.take_line(&line, &mut on)?;
        }
        self.dispatch(&mut on)
    }

    fn take_line<E: From<TooLarge>>(
        &mut self,
        line: &[u8],
        on: &mut impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let line = if self.started { line } else { line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line) };
        self.started = true;
        if line.is_empty() {
            return self.dispatch(on);
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(0) => return Ok(()),
            Some(colon) => {
                let value = line.get(colon + 1..).unwrap_or_default();
                (line.get(..colon).unwrap_or_default(), value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &b""[..]),
        };
        match field {
            b"data" => {
                if self.data.len() + value.len() >= MAX_EVENT {
                    return Err(TooLarge.into());
                }
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
                self.has_data = true;
            }
            b"event" => {
                self.name.clear();
                self.name.extend_from_slice(value);
            }
            _ => {}
        }
        Ok(())
    }

    fn dispatch<E>(&mut self, on: &mut impl FnMut(Event<'_>) -> Result<(), E>) -> Result<(), E> {
        let result = if self.has_data {
            let name: Cow<'_, str> = String::from_utf8_lossy(&self.name);
            let data: Cow<'_, str> = String::from_utf8_lossy(&self.data);
            on(Event { name: &name, data: &data })
        } else {
            Ok(())
        };
        self.name.clear();
        self.data.clear();
        self.has_data = false;
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(chunks: &[&[u8]]) -> Vec<(String, String)> {
        let mut events = Vec::new();
        let mut decoder = Decoder::default();
        let mut on = |event: Event<'_>| -> Result<(), TooLarge> {
            events.push((event.name.to_owned(), event.data.to_owned()));
            Ok(())
        };
        for chunk in chunks {
            decoder.feed(chunk, &mut on).unwrap();
        }
        decoder.finish(&mut on).unwrap();
        events
    }

    fn event(name: &str, data: &str) -> (String, String) {
        (name.to_owned(), data.to_owned())
    }

    #[test]
    fn reads_every_line_end_comment_and_field() {
        let table: &[(&str, Vec<(String, String)>)] = &[
            ("data: a\n\ndata: b\n\n", vec![event("", "a"), event("", "b")]),
            ("data: a\r\n\r\ndata: b\r\n\r\n", vec![event("", "a"), event("", "b")]),
            ("data: a\r\rdata: b\r\r", vec![event("", "a"), event("", "b")]),
            ("data: a\ndata: b\n\n", vec![event("", "a\nb")]),
            ("data\ndata\n\n", vec![event("", "\n")]),
            (": ping\n\n: more\ndata:x\n\n", vec![event("", "x")]),
            ("event: e\nid: 7\nretry: 9\ndata:  two\n\n", vec![event("e", " two")]),
            ("event: lost\n\ndata: x\n\n", vec![event("", "x")]),
            ("\u{feff}data: bom\n\n", vec![event("", "bom")]),
            ("data: no end", vec![event("", "no end")]),
        ];
        for (input, expected) in table {
            assert_eq!(&decode(&[input.as_bytes()]), expected, "{input:?}");
        }
    }

    #[test]
    fn any_split_gives_the_same_events() {
        let input = "event: süß\r\ndata: {\"t\":\"añ🦀\"}\r\ndata: 2\r\n\r\n: c\r\rdata: z\n\n".as_bytes();
        let whole = decode(&[input]);
        assert_eq!(whole, vec![event("süß", "{\"t\":\"añ🦀\"}\n2"), event("", "z")]);
        for first in 0..input.len() {
            for second in first..input.len() {
                let parts = [&input[..first], &input[first..second], &input[second..]];
                assert_eq!(decode(&parts), whole, "split at {first} and {second}");
            }
        }
    }

    proptest::proptest! {
        /// Whatever bytes come, in whatever pieces: the same events.
        #[test]
        fn any_bytes_in_any_pieces(
            lines in proptest::collection::vec("(data|event|id|:)?:? ?[a-z\u{fc}\u{1f980}:]{0,6}(\r|\n|\r\n){0,3}", 0..12),
            noise in proptest::collection::vec(proptest::num::u8::ANY, 0..24),
            at in 0usize..200,
            mut cuts in proptest::collection::vec(0usize..200, 0..8),
        ) {
            let mut input = lines.concat().into_bytes();
            let at = at.min(input.len());
            input.splice(at..at, noise);
            cuts.sort_unstable();
            let mut parts = Vec::new();
            let mut from = 0;
            for cut in cuts {
                let cut = cut.clamp(from, input.len());
                parts.push(&input[from..cut]);
                from = cut;
            }
            parts.push(&input[from..]);
            proptest::prop_assert_eq!(decode(&parts), decode(&[&input]));
        }
    }

    #[test]
    fn an_endless_event_is_refused() {
        let mut decoder = Decoder::default();
        let block = vec![b'x'; 1 << 20];
        let mut fed = 0;
        let refused = loop {
            match decoder.feed(&block, |_| Ok::<(), TooLarge>(())) {
                Ok(()) => fed += block.len(),
                Err(TooLarge) => break fed,
            }
        };
        assert_eq!(refused, MAX_EVENT);
    }
}

//! Output that is no text: a program, a picture, compressed data. In its place stands how much of it there was.

use super::format;
use std::borrow::Cow;
use std::ops::Range;

/// Bytes that no text has, in a run that is left out, at least: a stray one is dropped by whoever cleans the text.
const LEAST: usize = 16;
/// Text after such a run that is its own when another one follows, like the strings of a program: so many bytes, or an
/// eighth of the run.
const BETWEEN: usize = 64;

/// The same bytes, with a line like `[binary output, 3.0 KB]` in the place of each run of lines that is no text. Names that
/// are set apart by NUL stay, and so does text in any encoding.
pub fn noted(bytes: &[u8]) -> Cow<'_, [u8]> {
    if !bytes.iter().any(|byte| is_odd(*byte)) {
        return Cow::Borrowed(bytes);
    }
    let runs = runs(bytes);
    if runs.is_empty() {
        return Cow::Borrowed(bytes);
    }
    let (mut out, mut from) = (Vec::new(), 0);
    for run in runs {
        out.extend_from_slice(&bytes[from..run.start]);
        out.extend(format!("[binary output, {}]\n", format::bytes(run.len() as u64)).into_bytes());
        from = run.end;
    }
    out.extend_from_slice(&bytes[from..]);
    Cow::Owned(out)
}

/// A control character that neither text (with separators of fields) nor the control of a terminal has.
fn is_odd(byte: u8) -> bool {
    matches!(byte, 0..=6 | 0x10..=0x1a | 0x7f)
}

/// Whole lines that are no text, those close to each other as one.
fn runs(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut runs: Vec<(Range<usize>, usize)> = Vec::new();
    let mut at = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let place = at..at + line.len();
        at = place.end;
        let odd = odd(line);
        if odd == 0 {
            continue;
        }
        match runs.last_mut() {
            Some((run, sum)) if place.start - run.end <= BETWEEN.max(run.len() / 8) => {
                run.end = place.end;
                *sum += odd;
            }
            _ => runs.push((place, odd)),
        }
    }
    runs.into_iter().filter(|(_, sum)| *sum >= LEAST).map(|(run, _)| run).collect()
}

/// The bytes of a line that no text has; none where there are so few that it is text all the same.
fn odd(line: &[u8]) -> usize {
    let controls = line.iter().filter(|byte| is_odd(**byte)).count();
    if controls * 32 <= line.len() {
        return 0;
    }
    let nuls = line.iter().filter(|byte| **byte == 0).count();
    // Each second byte of UTF-16 is one.
    let at = |parity: usize| line.iter().skip(parity).step_by(2).filter(|byte| **byte == 0).count();
    if controls == nuls && nuls * 5 >= line.len() * 2 && (at(0) == 0 || at(1) == 0) {
        return 0;
    }
    let invalid: usize = line.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
    // Letters of another encoding are invalid, too, but come without control characters.
    let sum = controls - nuls + invalid;
    if sum * 10 > line.len() || nuls * 3 > line.len() { sum + nuls } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(bytes: &[u8]) -> String {
        String::from_utf8_lossy(&noted(bytes)).into_owned()
    }

    #[test]
    fn data_is_named_and_text_stays() {
        let mut dice = fastrand::Rng::with_seed(1);
        let data: Vec<u8> = std::iter::repeat_with(|| dice.u8(..)).take(3_000).collect();
        let mixed = [b"begin\n".as_slice(), &data, b"\nend\n"].concat();
        let text = shown(&mixed);
        assert!(text.starts_with("begin\n[binary output, ") && text.ends_with("end\n"), "{text}");
        assert!(text.lines().count() <= 4, "{text}");
        assert_eq!(shown(&[0; 2048]), "[binary output, 2 KB]\n");
    }

    #[test]
    fn what_only_looks_odd_stays() {
        let names: Vec<u8> = (0..200).flat_map(|n| format!("./src/file-{n}.rs\0").into_bytes()).collect();
        let (cyrillic, _, _) = encoding_rs::WINDOWS_1251.encode("Съешь ещё этих мягких французских булок\n");
        let wide: Vec<u8> = "one line\nand another\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let fields = b"1\x1f2\x1f3\n".repeat(20);
        let bar = b" 10 %\r 50 %\x1b[K\r100 %\x07\n".repeat(20);
        for bytes in
            [names.as_slice(), &cyrillic.repeat(20), &bar, &wide, &fields, b"a\x01b\n", "plain ü\n".as_bytes(), b""]
        {
            assert_eq!(noted(bytes), Cow::Borrowed(bytes));
        }
    }
}

//! Letters that look like others: a fold of compatibility characters, so that a scan sees plain words.
//!
//! The part of NFKC that disguises Latin text: full-width forms, mathematical alphabets, circled and superscript letters,
//! ligatures and odd spaces.

/// Start, end and plain start of runs that follow the alphabet.
const RUNS: &[(u32, u32, u32)] = &[
    (0xFF01, 0xFF5E, 0x21),
    (0x249C, 0x24B5, 'a' as u32),
    (0x24B6, 0x24CF, 'A' as u32),
    (0x24D0, 0x24E9, 'a' as u32),
    (0x1F110, 0x1F129, 'A' as u32),
    (0x1F130, 0x1F149, 'A' as u32),
    (0x1F150, 0x1F169, 'A' as u32),
];
/// Mathematical alphabets: capitals and small letters in turn, 26 each.
const MATH: (u32, u32) = (0x1D400, 0x1D6A3);
/// Mathematical digits: ten each.
const MATH_DIGITS: (u32, u32) = (0x1D7CE, 0x1D7FF);

/// Characters and what they stand for.
const SINGLE: &[(&str, &str)] = &[
    ("ﬀ", "ff"),
    ("ﬁ", "fi"),
    ("ﬂ", "fl"),
    ("ﬃ", "ffi"),
    ("ﬄ", "ffl"),
    ("ﬅ", "st"),
    ("ﬆ", "st"),
    ("ſ", "s"),
    ("ℎ", "h"),
    ("ℓ", "l"),
    ("ℯ", "e"),
    ("ℊ", "g"),
    ("ℴ", "o"),
    ("ℐ", "I"),
    ("ℑ", "I"),
    ("ℛ", "R"),
    ("ℜ", "R"),
    ("ℝ", "R"),
    ("ℕ", "N"),
    ("ℙ", "P"),
    ("ℤ", "Z"),
    ("ℂ", "C"),
    ("ℬ", "B"),
    ("ℰ", "E"),
    ("ℱ", "F"),
    ("ℋ", "H"),
    ("ℌ", "H"),
    ("ℒ", "L"),
    ("ℳ", "M"),
    ("ⁱ", "i"),
    ("ⁿ", "n"),
    ("ª", "a"),
    ("º", "o"),
];

/// The text with look-alikes replaced by plain letters; borrowed when there are none.
pub fn fold(text: &str) -> std::borrow::Cow<'_, str> {
    if text.is_ascii() {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_ascii() => out.push(c),
            '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => out.push(' '),
            c => match plain(c) {
                Some(letter) => out.push(letter),
                None => match SINGLE.iter().find(|(from, _)| from.starts_with(c)) {
                    Some((_, to)) => out.push_str(to),
                    None => out.push(c),
                },
            },
        }
    }
    out.into()
}

fn plain(c: char) -> Option<char> {
    let code = c as u32;
    if (MATH.0..=MATH.1).contains(&code) {
        let place = (code - MATH.0) % 52;
        return char::from_u32(if place < 26 { 'A' as u32 + place } else { 'a' as u32 + place - 26 });
    }
    if (MATH_DIGITS.0..=MATH_DIGITS.1).contains(&code) {
        return char::from_u32('0' as u32 + (code - MATH_DIGITS.0) % 10);
    }
    let run = RUNS.iter().find(|(start, end, _)| (*start..=*end).contains(&code))?;
    char::from_u32(code - run.0 + run.2)
}

#[cfg(test)]
mod tests {
    use super::fold;

    #[test]
    fn look_alikes_become_letters() {
        for (disguised, plain) in [
            ("ｉｇｎｏｒｅ", "ignore"),
            ("𝐢𝐠𝐧𝐨𝐫𝐞 𝒂𝓁𝔩", "ignore all"),
            ("ⓘⓖⓝⓞⓡⓔ", "ignore"),
            ("ﬁle", "file"),
            ("a\u{3000}b\u{a0}c", "a b c"),
            ("plain", "plain"),
            ("naïve 日本", "naïve 日本"),
            ("𝟏𝟐", "12"),
        ] {
            assert_eq!(fold(disguised), plain, "{disguised}");
        }
    }
}

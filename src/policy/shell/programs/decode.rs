//! What flows through a pipe, and the decoders whose result can be told from literal input.

use crate::policy::shell::read::ast::Span;
use base64::Engine;

/// Bytes of a decoded payload that are judged and shown.
const MAX_PAYLOAD: usize = 64 * 1024;

/// What a command writes to its standard output.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    /// All of it, when it can be told.
    pub text: Option<String>,
    /// What is known of it, where that is not all.
    pub some: Option<String>,
    /// Comes from the network.
    pub remote: bool,
    /// Went through a decoder.
    pub decoded: bool,
    /// A here-document or here-string.
    pub here: bool,
    /// The content of a file of the disk, and of which where nothing else is known of it.
    pub file: bool,
    pub path: Option<String>,
    /// It is one of these programs, by the names that the table knows them by.
    pub programs: Vec<String>,
    /// Variables of the environment are in it.
    pub environment: bool,
    /// The text is not all of it.
    pub partial: bool,
    /// It is what a pattern for files matches, told by the pattern.
    pub matched: bool,
    /// A well-known program prints it as set-up for a shell.
    pub setup: bool,
    pub span: Span,
}

impl Stream {
    /// A known text.
    pub fn text(text: impl Into<String>, span: Span) -> Self {
        Self { text: Some(text.into()), span, ..Self::default() }
    }

    /// Something.
    pub fn unknown(span: Span) -> Self {
        Self { span, ..Self::default() }
    }

    /// The same origin, after a command that changes the text in a way that is not computed.
    pub fn changed(&self, span: &Span) -> Self {
        let Self { remote, decoded, environment, .. } = *self;
        let some = self.text.clone().or_else(|| self.some.clone());
        Self { some, remote, decoded, environment, span: span.clone(), ..Self::default() }
    }

    /// One of two: what either holds counts.
    pub fn either(&self, other: &Stream) -> Self {
        let text = match (&self.text, &other.text) {
            (Some(a), Some(b)) => Some(format!("{a}\n{b}")),
            (a, b) => a.clone().or_else(|| b.clone()),
        };
        let partial = self.partial || other.partial || self.text.is_some() != other.text.is_some();
        Self {
            text,
            partial,
            remote: self.remote || other.remote,
            decoded: self.decoded || other.decoded,
            setup: self.setup && other.setup,
            ..self.clone()
        }
    }

    /// This and then the other: what is known of both.
    pub fn then(&self, other: &Stream) -> Self {
        let text = match (&self.text, &other.text) {
            (Some(a), Some(b)) if a.len() + b.len() <= MAX_PAYLOAD => Some(format!("{a}{b}")),
            (a, b) => a.clone().or_else(|| b.clone()),
        };
        let whole = text.as_ref().map(String::len)
            == self.text.as_ref().zip(other.text.as_ref()).map(|(a, b)| a.len() + b.len());
        let either = self.either(other);
        Self { text, partial: either.partial || !whole, matched: self.matched || other.matched, ..either }
    }

    /// The result of a decoder.
    pub fn through(&self, text: Option<String>, span: &Span) -> Self {
        let text = text.filter(|t| t.len() <= MAX_PAYLOAD);
        // What was packed before comes out as it was.
        let before = || self.text.clone().or_else(|| self.some.clone());
        let some = if text.is_none() { before() } else { None };
        Self {
            text,
            some,
            remote: self.remote,
            decoded: true,
            partial: self.partial,
            environment: self.environment,
            span: self.span.start.min(span.start)..self.span.end.max(span.end),
            ..Self::default()
        }
    }
}

/// Text of Base64, with or without padding and line breaks; URL-safe letters too.
pub fn base64(text: &str) -> Option<String> {
    let compact: String = text
        .chars()
        .filter(|c| !c.is_whitespace() && *c != '=')
        .map(|c| match c {
            '-' => '+',
            '_' => '/',
            c => c,
        })
        .collect();
    let bytes = base64::engine::general_purpose::STANDARD_NO_PAD.decode(compact).ok()?;
    String::from_utf8(bytes).ok()
}

/// Text of Base32.
pub fn base32(text: &str) -> Option<String> {
    let (mut bits, mut count, mut bytes) = (0u32, 0, Vec::new());
    for c in text.chars().filter(|c| !c.is_whitespace() && *c != '=') {
        let value = match c.to_ascii_uppercase() {
            c @ 'A'..='Z' => c as u32 - 'A' as u32,
            c @ '2'..='7' => c as u32 - '2' as u32 + 26,
            _ => return None,
        };
        bits = (bits << 5 | value) & 0xfff;
        count += 5;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    String::from_utf8(bytes).ok()
}

/// Text of hexadecimal digits; other characters are skipped, as `xxd -r -p` does.
pub fn hex(text: &str) -> Option<String> {
    let digits: Vec<u8> = text.chars().filter_map(|c| c.to_digit(16)).map(|d| d as u8).collect();
    let bytes = digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    String::from_utf8(bytes).ok()
}

/// What `tr` does with the characters of its first set, or with `others` with all but those.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tr {
    pub deletes: bool,
    pub squeezes: bool,
    pub others: bool,
}

/// `tr FROM TO`.
pub fn tr(text: &str, from: &str, to: Option<&str>, how: Tr) -> Option<String> {
    let from = set(from)?;
    let to = to.map_or(Some(Vec::new()), set)?;
    let chosen = |c: char| from.contains(&c) != how.others;
    let other = |c: char| {
        let at = if how.others { usize::MAX } else { from.iter().rposition(|f| *f == c).unwrap_or(usize::MAX) };
        to.get(at).or(to.last()).copied().unwrap_or(c)
    };
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if how.deletes && chosen(c) {
            continue;
        }
        let next = if chosen(c) && !how.deletes { other(c) } else { c };
        // With both sets it is the second whose characters follow each other only once.
        let repeats = if to.is_empty() { chosen(c) } else { to.contains(&next) };
        if !(how.squeezes && repeats && out.ends_with(next)) {
            out.push(next);
        }
    }
    Some(out)
}

fn set(text: &str) -> Option<Vec<char>> {
    let text = text
        .replace("[:upper:]", "A-Z")
        .replace("[:lower:]", "a-z")
        .replace("[:digit:]", "0-9")
        .replace("[:space:]", " \\t\\n");
    if text.contains("[:") {
        return None;
    }
    let mut plain = Vec::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        plain.push(match c {
            '\\' => match chars.next()? {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                other => other,
            },
            c => c,
        });
    }
    let mut all = Vec::new();
    let mut i = 0;
    while i < plain.len() {
        if i + 2 < plain.len() && plain[i + 1] == '-' && plain[i] <= plain[i + 2] {
            if plain[i + 2] as u32 - plain[i] as u32 > 0x400 {
                return None;
            }
            all.extend(plain[i]..=plain[i + 2]);
            i += 3;
        } else {
            all.push(plain[i]);
            i += 1;
        }
    }
    Some(all)
}

/// The escapes of `echo -e`, `printf` and `$'…'`.
pub fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('a' | 'b' | 'f' | 'v' | 'e') => {}
            Some('x') => out.extend(take_number(&mut chars, 16, 2, None)),
            Some('u') => out.extend(take_number(&mut chars, 16, 4, None)),
            Some(d @ '0'..='7') => out.extend(take_number(&mut chars, 8, 4, Some(d))),
            Some('\\') => out.push('\\'),
            Some(other) => {
                out.push('\\');
                out.push(other);
            }
            None => out.push('\\'),
        }
    }
    out
}

fn take_number(
    chars: &mut std::iter::Peekable<std::str::Chars<'_>>,
    radix: u32,
    max: usize,
    first: Option<char>,
) -> Option<char> {
    let mut digits: String = first.into_iter().collect();
    while digits.len() < max && chars.peek().is_some_and(|c| c.is_digit(radix)) {
        digits.extend(chars.next());
    }
    u32::from_str_radix(&digits, radix).ok().and_then(char::from_u32)
}

/// What `printf FORMAT VALUES…` prints, for `%s %b %c %d %x %%`.
pub fn printf(format: &str, values: &[&str]) -> Option<String> {
    let format = unescape(format);
    let mut out = String::new();
    let mut values = values.iter();
    loop {
        let before = values.len();
        let mut chars = format.chars();
        while let Some(c) = chars.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            let mut kind = chars.next()?;
            while kind.is_ascii_digit() || matches!(kind, '-' | '+' | '.' | '#' | ' ') {
                kind = chars.next()?;
            }
            match kind {
                '%' => out.push('%'),
                's' | 'd' | 'i' | 'u' => out.push_str(values.next().unwrap_or(&"")),
                'b' => out.push_str(&unescape(values.next().unwrap_or(&""))),
                'c' => out.extend(values.next().and_then(|v| v.chars().next())),
                _ => return None,
            }
            if out.len() > MAX_PAYLOAD {
                return None;
            }
        }
        if values.len() == 0 || values.len() == before {
            return Some(out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoders() {
        assert_eq!(base64("cm0gLXJmIC8=").as_deref(), Some("rm -rf /"));
        assert_eq!(base64("cm0gLXJmIC8").as_deref(), Some("rm -rf /"));
        assert_eq!(base32("OJWSALLSMYQC6===").as_deref(), Some("rm -rf /"));
        assert_eq!(hex("726d202d7266202f").as_deref(), Some("rm -rf /"));
        let plain = |text, from, to| tr(text, from, Some(to), Tr::default());
        assert_eq!(plain("eq -ev /", "eqv", "rmf").as_deref(), Some("rm -rf /"));
        assert_eq!(plain("ez -es /", "a-z", "n-za-m").as_deref(), Some("rm -rf /"));
        assert_eq!(plain("RM", "[:upper:]", "[:lower:]").as_deref(), Some("rm"));
        assert_eq!(tr("axbx", "x", None, Tr { deletes: true, ..Tr::default() }).as_deref(), Some("ab"));
        assert_eq!(tr("a  b  c", " ", None, Tr { squeezes: true, ..Tr::default() }).as_deref(), Some("a b c"));
        assert_eq!(tr("a%%b", "a-z", Some(" "), Tr { others: true, ..Tr::default() }).as_deref(), Some("a  b"));
        assert_eq!(unescape(r"\x72\155 \n\q"), "rm \n\\q");
        assert_eq!(printf(r"%s\n", &["a", "b"]).as_deref(), Some("a\nb\n"));
        assert_eq!(printf("rm", &[]).as_deref(), Some("rm"));
        assert_eq!(printf("100%", &[]), None);
    }
}

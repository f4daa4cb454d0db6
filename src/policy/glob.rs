//! Matching words and paths against small patterns: `*`, `?`, `[a-z]`, `[!a]`.

/// Whether `pattern` matches all of `text`. `*` crosses every character, slashes too. At most the product of the lengths.
pub fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(&b'*') {
            retry = Some((p + 1, t));
            p += 1;
            continue;
        }
        if let Some((next, len)) = one(pattern, p, &text[t..]) {
            p = next;
            t += len;
            continue;
        }
        match retry {
            Some((after, from)) => {
                retry = Some((after, from + 1));
                p = after;
                t = from + 1;
            }
            None => return false,
        }
    }
    pattern[p..].iter().all(|c| *c == b'*')
}

/// Whether the text has a character that a pattern gives a meaning to.
pub fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// The folder above the first name of a path that has a pattern in it.
pub fn fixed(path: &str) -> &str {
    let end = path.find(['*', '?', '[']).unwrap_or(path.len());
    path[..end].rfind('/').map_or("", |at| &path[..at.max(1)])
}

/// The position after one pattern item and the bytes of text that it takes.
fn one(pattern: &[u8], at: usize, text: &[u8]) -> Option<(usize, usize)> {
    let c = text[0];
    let width = || text.iter().skip(1).take_while(|b| **b & 0xc0 == 0x80).count() + 1;
    match *pattern.get(at)? {
        b'?' => Some((at + 1, width())),
        b'[' => {
            let Some(end) = (at + 2..pattern.len()).find(|i| pattern[*i] == b']') else {
                return (c == b'[').then_some((at + 1, 1));
            };
            let inner = &pattern[at + 1..end];
            let (not, inner) = match inner.first() {
                Some(b'!' | b'^') if inner.len() > 1 => (true, &inner[1..]),
                _ => (false, inner),
            };
            let mut hit = false;
            let mut i = 0;
            while i < inner.len() {
                if i + 2 < inner.len() && inner[i + 1] == b'-' {
                    hit |= inner[i] <= c && c <= inner[i + 2];
                    i += 3;
                } else {
                    hit |= inner[i] == c;
                    i += 1;
                }
            }
            (hit != not).then_some((end + 1, width()))
        }
        literal => (literal == c).then_some((at + 1, 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, text, want) in [
            ("git *", "git log", true),
            ("git *", "git", false),
            ("*a*b*", "xxaxxbxx", true),
            ("[0-7]*[2367]", "0777", true),
            ("[0-7]*[2367]", "755", false),
            ("[!a]?", "bc", true),
            ("[", "[", true),
            ("", "", true),
            ("?", "", false),
        ] {
            assert_eq!(matches(pattern, text), want, "{pattern} {text}");
        }
    }
}

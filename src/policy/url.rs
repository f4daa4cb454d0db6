//! Which addresses of the web may be fetched without asking: no private network, no secrets of the machine, no tricks in writing.
//!
//! The shell's judgement asks when a command reads from an address that answers with the credentials of the machine. Tools that
//! fetch pages themselves have to pass every address through [`check`], also where a redirect leads, and every address that
//! its name resolves to through [`reach`]: a name that was public when it was looked at may be another when it is used.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Bytes of an address that is looked at; a longer one is not safe.
const MAX_URL: usize = 8 * 1024;

/// How far away an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// Anyone on the internet reaches it.
    Public,
    /// This machine, its network, or an address that is given to nobody.
    Private,
    /// Answers with the credentials of the machine; no setting opens it.
    Metadata,
}

/// What is known of an address before it is fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    pub reach: Reach,
    /// Why it is not safe, a sentence without a full stop; `None`: safe as far as the text tells.
    pub unsafe_because: Option<&'static str>,
    /// The first parameter whose name says that its value is a secret, as written.
    pub sensitive_param: Option<String>,
    /// Lower case, without brackets, port and final dot; an IP address in its usual spelling.
    pub host: String,
}

impl Checked {
    /// Whether it may be fetched without asking.
    pub fn is_safe(&self) -> bool {
        self.unsafe_because.is_none()
    }
}

/// Names that lead to [`Reach::Metadata`].
const METADATA_NAMES: &[&str] = &[
    "metadata",
    "metadata.google.internal",
    "metadata.goog",
    "metadata.internal",
    "instance-data",
    "instance-data.ec2.internal",
];
/// Endings of names that only a private network knows.
const PRIVATE_ENDINGS: &[&str] =
    &["localhost", "local", "internal", "intranet", "lan", "home", "corp", "private", "localdomain", "home.arpa"];
/// Names of parameters that hold secrets, in lower case and without `-` and `_`.
const SENSITIVE: &[&str] = &[
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "token",
    "accesstoken",
    "refreshtoken",
    "idtoken",
    "authtoken",
    "bearertoken",
    "sessiontoken",
    "secret",
    "clientsecret",
    "password",
    "passwd",
    "pwd",
    "auth",
    "authorization",
    "credential",
    "credentials",
    "signature",
    "sig",
    "xamzsignature",
    "xamzsecuritytoken",
    "xamzcredential",
    "xgoogsignature",
    "jwt",
    "sessionid",
    "key",
];

/// The parts of an address, read as browsers read it.
struct Parts<'a> {
    host: String,
    rest: &'a str,
}

fn parts(url: &str) -> Result<Parts<'_>, &'static str> {
    if url.len() > MAX_URL {
        return Err("is too long for a URL");
    }
    if url.is_empty() || url.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err("is not a web address");
    }
    let (scheme, rest) = url.split_once(':').ok_or("is not a web address")?;
    let scheme = scheme.to_ascii_lowercase();
    if !matches!(scheme.as_str(), "http" | "https") {
        return Err("is neither http nor https");
    }
    // Any number of slashes, in either direction, comes before the host.
    let rest = rest.trim_start_matches(['/', '\\']);
    let end = rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = match host.strip_prefix('[').and_then(|host| host.split_once(']')) {
        Some((inner, _)) => format!("[{inner}]"),
        None => host.split(':').next().unwrap_or("").to_owned(),
    };
    let host = plain_host(&host).ok_or("has an unreadable host")?;
    if host.is_empty() {
        return Err("names no host");
    }
    Ok(Parts { host, rest })
}

/// A host without percent signs, wide letters, final dots and capital letters.
fn plain_host(host: &str) -> Option<String> {
    let bytes = decoded(host)?;
    let text = String::from_utf8(bytes).ok()?;
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\u{3002}' | '\u{ff0e}' | '\u{ff61}' => plain.push('.'),
            // Full-width signs and letters, and digits in circles, are read as the plain ones.
            '\u{ff01}'..='\u{ff5e}' => plain.extend(char::from_u32(c as u32 - 0xfee0)),
            '\u{2460}'..='\u{2468}' => plain.extend(char::from_u32(c as u32 - 0x2460 + u32::from(b'1'))),
            '\u{24ea}' => plain.push('0'),
            '\u{24d0}'..='\u{24e9}' => plain.extend(char::from_u32(c as u32 - 0x24d0 + u32::from(b'a'))),
            '\u{1d7ce}'..='\u{1d7ff}' => plain.extend(char::from_u32((c as u32 - 0x1d7ce) % 10 + u32::from(b'0'))),
            // Left out by browsers.
            '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' => {}
            c => plain.extend(c.to_lowercase()),
        }
    }
    if plain.chars().any(|c| c.is_control() || c.is_whitespace() || matches!(c, '%' | '<' | '>' | '\\' | '^' | '|')) {
        return None;
    }
    let inner = plain.strip_prefix('[').and_then(|p| p.strip_suffix(']'));
    let plain = inner.map_or(plain.as_str(), |inner| inner.split("%25").next().unwrap_or(inner));
    Some(plain.trim_end_matches('.').to_owned())
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digit = |b: Option<u8>| (b? as char).to_digit(16);
        out.push(u8::try_from(digit(bytes.next())? * 16 + digit(bytes.next())?).ok()?);
    }
    Some(out)
}

/// The address that a host is, in any spelling that the system's resolver takes: `127.1`, `0x7f000001`, `017700000001`, `::1`.
pub fn ip(host: &str) -> Option<IpAddr> {
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    if host.contains(':') {
        return host.split('%').next()?.parse::<Ipv6Addr>().ok().map(IpAddr::V6);
    }
    let numbers: Option<Vec<u64>> = host.split('.').map(number).collect();
    let numbers = numbers.filter(|n| (1..=4).contains(&n.len()))?;
    let (last, first) = numbers.split_last()?;
    let room = 32 - 8 * u32::try_from(first.len()).ok()?;
    if first.iter().any(|n| *n > 255) || *last >= 1_u64 << room {
        return None;
    }
    let high = first.iter().fold(0_u64, |all, n| all << 8 | n);
    u32::try_from(high << room | last).ok().map(|bits| IpAddr::V4(Ipv4Addr::from(bits)))
}

fn number(text: &str) -> Option<u64> {
    if text.is_empty() || text.len() > 16 {
        return None;
    }
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some("") => Some(0),
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None if text.len() > 1 && text.starts_with('0') => u64::from_str_radix(text, 8).ok(),
        None => text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten(),
    }
}

/// How far away an address is. Addresses inside others (mapped, NAT64, 6to4, Teredo) count as what they lead to.
pub fn reach(ip: IpAddr) -> Reach {
    match ip {
        IpAddr::V4(ip) => reach_v4(ip),
        IpAddr::V6(ip) => reach_v6(ip),
    }
}

fn reach_v4(ip: Ipv4Addr) -> Reach {
    let [a, b, c, d] = ip.octets();
    match (a, b, c, d) {
        // Link-local: the metadata services of most clouds; then Alibaba's, Azure's and Oracle's.
        (169, 254, ..) | (100, 100, 100, 200) | (168, 63, 129, 16) | (192, 0, 0, 192) => Reach::Metadata,
        (0 | 10 | 127 | 224..=255, ..)
        | (100, 64..=127, ..)
        | (172, 16..=31, ..)
        | (192, 168, ..)
        | (192, 0, 0 | 2, _)
        | (192, 88, 99, _)
        | (198, 18 | 19, ..)
        | (198, 51, 100, _)
        | (203, 0, 113, _) => Reach::Private,
        _ => Reach::Public,
    }
}

fn reach_v6(ip: Ipv6Addr) -> Reach {
    let segments = ip.segments();
    let embedded = |high: u16, low: u16| {
        let [[a, b], [c, d]] = [high.to_be_bytes(), low.to_be_bytes()];
        Ipv4Addr::new(a, b, c, d)
    };
    match segments {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => Reach::Private,
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => reach_v4(embedded(high, low)),
        [0x2002, high, low, ..] => reach_v4(embedded(high, low)).max(Reach::Public),
        [0x2001, 0, .., high, low] => reach_v4(embedded(!high, !low)).max(Reach::Private),
        // The metadata services of Amazon and Google.
        [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254] | [0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254] => Reach::Metadata,
        // Only global unicast is given to anyone, and a part of that is for documentation.
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Reach::Private,
        [0x2000..=0x3fff, ..] => Reach::Public,
        _ => Reach::Private,
    }
}

fn reach_of_name(host: &str) -> Reach {
    if METADATA_NAMES.contains(&host) {
        return Reach::Metadata;
    }
    let ends = |ending: &&str| host.strip_suffix(*ending).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    // A name without a dot is looked for in the own network first.
    if !host.contains('.') || PRIVATE_ENDINGS.iter().any(ends) { Reach::Private } else { Reach::Public }
}

/// Looks at an address before it is fetched. A name still has to be resolved, and every answer put to [`reach`].
pub fn check(url: &str) -> Checked {
    let read = match parts(url) {
        Ok(read) => read,
        Err(why) => {
            return Checked {
                reach: Reach::Private,
                unsafe_because: Some(why),
                sensitive_param: None,
                host: String::new(),
            };
        }
    };
    let address = ip(&read.host);
    let reach = address.map_or_else(|| reach_of_name(&read.host), reach);
    let unsafe_because = match reach {
        Reach::Public => None,
        Reach::Private => Some("points to a private network"),
        Reach::Metadata => Some("serves this machine's credentials"),
    };
    // A host made of numbers that is no address is written to be misread.
    let odd = address.is_none()
        && read.host.rsplit('.').next().is_some_and(|last| last.starts_with(|c: char| c.is_ascii_digit()));
    Checked {
        reach,
        unsafe_because: unsafe_because.or(odd.then_some("has an invalid host")),
        sensitive_param: sensitive_param(read.rest),
        host: address.map_or(read.host, |address| address.to_string()),
    }
}

fn sensitive_param(rest: &str) -> Option<String> {
    let (_, query) = rest.split_once(['?', '#'])?;
    let named = |name: &str| {
        let plain = String::from_utf8(decoded(name)?).ok()?.to_ascii_lowercase().replace(['-', '_', '.'], "");
        SENSITIVE.contains(&plain.as_str()).then(|| name.to_owned())
    };
    let mut params = query.split(['&', ';', '#', '?']).filter_map(|param| param.split_once('='));
    params.find_map(|(name, value)| named(name).filter(|_| !value.is_empty()))
}

/// Whether a word of a command names an address, with or without a scheme, that answers with the credentials of the machine.
pub fn names_metadata(word: &str) -> bool {
    // Few words hold a number or one of the names.
    if word.len() < 7 || word.len() > MAX_URL || !word.contains(['.', ':', '0', 'm', 'M', 'i', 'I']) {
        return false;
    }
    let is_there = |host: &str| {
        plain_host(host).is_some_and(|host| {
            let named = METADATA_NAMES.contains(&host.as_str()) && host.contains(['.', '-']);
            named || ip(&host).is_some_and(|ip| reach(ip) == Reach::Metadata)
        })
    };
    // As in code: `get("http://169.254.169.254/x")`.
    word.split(['"', '\'', ' ', '(', ')', ',', '=', '`', '<', '>', ';']).take(256).any(|piece| {
        let piece = piece.split_once("://").map_or(piece, |(_, rest)| rest);
        let authority = piece.split(['/', '\\', '?', '#']).next().unwrap_or("");
        let host = authority.rsplit('@').next().unwrap_or("");
        let bracketed = host.strip_prefix('[').and_then(|host| host.split(']').next());
        let plain = bracketed.unwrap_or_else(|| host.split(':').next().unwrap_or(""));
        // A number alone is an address only where a scheme says so.
        let number = !plain.contains(['.', ':', '-']) && !word.contains("://");
        !number && is_there(plain)
    })
}

#[cfg(test)]
mod tests;

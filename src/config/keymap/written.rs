//! Keys in words: `ctrl-x`, `alt-,`, `f9`, `shift-tab`, `pgup`.

use super::{Code, Key};

/// Names of keys: as written (first is the usual one), as shown.
const NAMED: &[(&[&str], Code, &str)] = &[
    (&["enter", "return"], Code::Enter, "Enter"),
    (&["esc", "escape"], Code::Esc, "Esc"),
    (&["tab"], Code::Tab, "Tab"),
    (&["backtab"], Code::BackTab, "Shift-Tab"),
    (&["backspace"], Code::Backspace, "Backspace"),
    (&["del", "delete"], Code::Delete, "Del"),
    (&["ins", "insert"], Code::Insert, "Ins"),
    (&["up"], Code::Up, "↑"),
    (&["down"], Code::Down, "↓"),
    (&["left"], Code::Left, "←"),
    (&["right"], Code::Right, "→"),
    (&["home"], Code::Home, "Home"),
    (&["end"], Code::End, "End"),
    (&["pgup", "pageup"], Code::PageUp, "PgUp"),
    (&["pgdn", "pgdown", "pagedown"], Code::PageDown, "PgDn"),
    (&["space"], Code::Char(' '), "Space"),
];

/// Keys with spaces between them.
pub fn parse(text: &str) -> Result<Vec<Key>, String> {
    let keys = text.split_whitespace().map(parse_one).collect::<Result<Vec<_>, _>>()?;
    if keys.is_empty() { Err("empty key".into()) } else { Ok(keys) }
}

fn parse_one(text: &str) -> Result<Key, String> {
    let mut key = Key { code: Code::Esc, ctrl: false, alt: false, shift: false };
    let mut rest = text;
    loop {
        let lower = rest.to_ascii_lowercase();
        let modifier = [("ctrl-", 0), ("c-", 0), ("alt-", 1), ("a-", 1), ("m-", 1), ("shift-", 2), ("s-", 2)];
        let Some((prefix, which)) =
            modifier.iter().find(|(prefix, _)| lower.starts_with(prefix) && lower.len() > prefix.len())
        else {
            break;
        };
        match which {
            0 => key.ctrl = true,
            1 => key.alt = true,
            _ => key.shift = true,
        }
        rest = &rest[prefix.len()..];
    }
    key.code = code(rest).ok_or_else(|| format!("{text:?} is not a key"))?;
    if key.shift {
        // Shift is part of what is typed.
        match key.code {
            Code::Char(c) if c.is_ascii_alphabetic() => {
                key.code = Code::Char(c.to_ascii_uppercase());
                key.shift = false;
            }
            Code::Char(c) => return Err(format!("{text:?} is not a key: write the character Shift and {c} produce")),
            Code::Tab => {
                key.code = Code::BackTab;
                key.shift = false;
            }
            _ => {}
        }
    }
    Ok(key)
}

fn code(text: &str) -> Option<Code> {
    let mut chars = text.chars();
    if let (Some(c), None) = (chars.next(), chars.next()) {
        return (!c.is_control()).then_some(Code::Char(c));
    }
    let lower = text.to_ascii_lowercase();
    if let Some(number) = lower.strip_prefix('f').and_then(|number| number.parse::<u8>().ok()) {
        return (1..=24).contains(&number).then_some(Code::F(number));
    }
    NAMED.iter().find(|(names, ..)| names.contains(&lower.as_str())).map(|(_, code, _)| *code)
}

/// One key as shown.
pub fn display(key: Key) -> String {
    let mut out = String::new();
    for (on, text) in [(key.ctrl, "Ctrl-"), (key.alt, "Alt-"), (key.shift, "Shift-")] {
        if on {
            out.push_str(text);
        }
    }
    match key.code {
        Code::Char(c) if key.ctrl && c.is_ascii_uppercase() => {
            out.push_str("Shift-");
            out.push(c);
        }
        Code::Char(c) if key.ctrl || key.alt => out.extend(c.to_uppercase()),
        Code::F(number) => out.push_str(&format!("F{number}")),
        code => match (NAMED.iter().find(|(_, known, _)| *known == code), code) {
            (Some((_, _, shown)), _) => out.push_str(shown),
            (None, Code::Char(c)) => out.push(c),
            (None, _) => {}
        },
    }
    out
}

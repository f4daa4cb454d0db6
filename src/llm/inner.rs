//! Which tool a wrapped call is meant for, read from arguments that are still arriving.

/// The tool whose calls hold calls of others, as `{"name": …, "arguments": {…}}`.
pub const WRAPPER: &str = "tool_call";

/// Bytes of arguments that are looked at: the name stands at their beginning.
const LOOKED_AT: usize = 2_048;

/// The name inside a call of the wrapper, as soon as it is known.
pub(super) fn of(call: &str, args: &str) -> Option<String> {
    let wraps = call.trim().rsplit(['.', ':', '/']).next() == Some(WRAPPER);
    wraps.then(|| name(args)).flatten()
}

/// The text of the field `name` of an object that may not be whole yet; `None` until it is.
fn name(args: &str) -> Option<String> {
    let bytes = args.as_bytes().get(..args.len().min(LOOKED_AT))?;
    let (mut depth, mut at) = (0usize, 0);
    let mut key: Option<&[u8]> = None;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let text = string(bytes, at)?;
                at += text.len();
                let follows = bytes.get(at..)?.iter().find(|byte| !byte.is_ascii_whitespace());
                match (depth, key, follows) {
                    (1, None, Some(b':')) => key = Some(text),
                    (1, Some(br#""name""#), _) => {
                        return serde_json::from_slice(text).ok().filter(|name: &String| !name.is_empty());
                    }
                    (1, _, None) => return None,
                    _ => {}
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' if depth == 1 => key = None,
            _ => {}
        }
        at += 1;
    }
    None
}

/// The string that begins at `at`, with its quotes.
fn string(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let mut end = at + 1;
    loop {
        match bytes.get(end)? {
            b'"' => return bytes.get(at..=end),
            b'\\' => end += 2,
            _ => end += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_known_as_soon_as_it_is_whole() {
        for (args, want) in [
            (r#"{"name":"a","arguments":{"#, Some("a")),
            (r#"{ "name" : "mcp__gh__find" "#, Some("mcp__gh__find")),
            (r#"{"name":"a\u0062""#, Some("ab")),
            (r#"{"arguments":{"name":"inner","x":["name"]},"name":"outer"}"#, Some("outer")),
            (r#"{"arguments":"{\"name\":\"x\"}","name":"outer"}"#, Some("outer")),
            (r#"{"other":"name","name":"n"}"#, Some("n")),
            (r#"{"name":"unfini"#, None),
            (r#"{"name""#, None),
            (r#"{"name":"#, None),
            (r#"{"name":""}"#, None),
            (r#"{"name":7,"x":"y"}"#, None),
            (r#""name":"a""#, None),
            ("", None),
        ] {
            assert_eq!(name(args).as_deref(), want, "{args}");
        }
    }

    proptest::proptest! {
        /// What a beginning says, the whole says too; nothing breaks it.
        #[test]
        fn any_beginning_is_answered(args in "(\\{|\\}|\\[|\"|\\\\|:|,|name|é| |a){0,16}", cut in 0usize..40) {
            let cut = args.floor_char_boundary(cut);
            if let Some(early) = name(&args[..cut]) {
                proptest::prop_assert_eq!(Some(early), name(&args));
            }
        }
    }
}

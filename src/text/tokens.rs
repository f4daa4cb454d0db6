//! Tokens as they are estimated wherever no provider has counted them: one measure for every figure on the screen.

/// Bytes of text that stand for a token when nothing better is known (as Python Hermes has it).
pub const BYTES: usize = 4;
/// Tokens that an image is counted as (as Python Hermes has it).
pub const IMAGE: usize = 1600;

/// Tokens of so many bytes of text, rounded up.
pub fn of(bytes: usize) -> u64 {
    bytes.div_ceil(BYTES) as u64
}

/// Tokens of a text by what it is made of: numbers, signs and scripts cost more than [`BYTES`] says, and output is full of
/// them. It is meant to be no less than what a tokenizer counts, in one pass and without a table.
pub fn weigh(text: &str) -> usize {
    let (bytes, mut at, mut quarters) = (text.as_bytes(), 0, 0);
    while at < bytes.len() {
        // As it stands in JSON.
        if bytes[at] == b'\\' && bytes.get(at + 1).is_some_and(|next| matches!(next, b'n' | b't' | b'r' | b'"' | b'\\'))
        {
            (at, quarters) = (at + 2, quarters + 4);
            continue;
        }
        let class = class(bytes[at]);
        let begin = at;
        while at < bytes.len() && self::class(bytes[at]) == class && (class != Class::Sign || bytes[at] == bytes[begin])
        {
            at += 1;
        }
        let run = at - begin;
        quarters += match class {
            // One blank belongs to the word behind it.
            Class::Blank if run == 1 && bytes[begin] == b' ' => 0,
            Class::Blank => 4,
            Class::Letter => 4 * run.div_ceil(6),
            Class::Digit => 4 * run.div_ceil(3),
            Class::Sign => 3 + run.div_ceil(2),
            Class::Other => 2 * run,
        };
    }
    usize::div_ceil(quarters, 4)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Blank,
    Letter,
    Digit,
    Sign,
    /// A byte of what is not ASCII.
    Other,
}

fn class(byte: u8) -> Class {
    match byte {
        b' ' | b'\t' | b'\n' | b'\r' => Class::Blank,
        b'a'..=b'z' | b'A'..=b'Z' => Class::Letter,
        b'0'..=b'9' => Class::Digit,
        0..=127 => Class::Sign,
        _ => Class::Other,
    }
}

/// Tokens of a tool as it stands in a request: its name, its description, its schema written as JSON.
pub fn of_tool(name: &str, description: &str, schema: &str) -> u64 {
    of(name.len() + description.len() + schema.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counted with o200k_base: the weight is no less, and not twice as much.
    #[test]
    fn a_text_weighs_no_less_than_it_has_tokens() {
        for (text, tokens) in [
            ("", 0),
            ("12345\n12346\n12347\n", 9),
            ("error: could not compile `hermes` (lib) due to 2 previous errors\n", 16),
            ("   Compiling serde_json v1.0.140\n", 12),
            ("==========================================\n", 2),
            ("The quick brown fox jumps over the lazy dog.", 10),
            ("12345\\n12346\\n12347\\n", 9),
            ("{\"name\":\"value\",\"list\":[1,2,3]}", 15),
        ] {
            let weight = weigh(text);
            assert!(weight >= tokens && weight <= tokens * 2 + 12, "{text:?}: {weight}, {tokens}");
        }
    }

    #[test]
    fn a_part_of_a_token_is_one() {
        for (bytes, tokens) in [(0, 0), (1, 1), (4, 1), (5, 2), (4000, 1000)] {
            assert_eq!(of(bytes), tokens, "{bytes}");
        }
        assert_eq!(of_tool("ls", "lists", "{}"), of(9));
    }
}

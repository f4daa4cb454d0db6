//! Tokens as they are estimated wherever no provider has counted them: one measure for every figure on the screen.

/// Bytes of text that stand for a token when nothing better is known (as Python Hermes has it).
pub const BYTES: usize = 4;
/// Tokens that an image is counted as (as Python Hermes has it).
pub const IMAGE: usize = 1600;

/// Tokens of so many bytes of text, rounded up.
pub fn of(bytes: usize) -> u64 {
    bytes.div_ceil(BYTES) as u64
}

/// Tokens of a tool as it stands in a request: its name, its description, its schema written as JSON.
pub fn of_tool(name: &str, description: &str, schema: &str) -> u64 {
    of(name.len() + description.len() + schema.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_token_is_one() {
        for (bytes, tokens) in [(0, 0), (1, 1), (4, 1), (5, 2), (4000, 1000)] {
            assert_eq!(of(bytes), tokens, "{bytes}");
        }
        assert_eq!(of_tool("ls", "lists", "{}"), of(9));
    }
}

//! From how many tokens on a conversation is compacted.

/// A smaller window is used up to this share before it is compacted (as Python Hermes has it).
const FILL: f64 = 0.75;
/// Tokens of a window from which on the configured share counts as it is.
const LARGE: u64 = 512_000;
/// A conversation of fewer tokens is not compacted where the window holds it.
const FLOOR: u64 = 64_000;
/// The share of a window that is no larger than the floor.
const SMALL_FILL: f64 = 0.85;
/// Tokens kept free for the answer, and no more than this part of the window.
const ANSWER: u64 = 8_000;
const ANSWER_PART: u64 = 4;

/// The share that counts, and the tokens, of a window with so many tokens for the answer.
fn threshold(window: u64, share: f64, answer: u64) -> (f64, u64) {
    let share = if window < LARGE { share.max(FILL) } else { share };
    // An answer that is said to take the whole window says nothing.
    let usable = if answer >= window { window } else { window - answer };
    let tokens = ((usable as f64 * share) as u64).max(FLOOR);
    (share, if FLOOR >= usable { (usable as f64 * SMALL_FILL) as u64 } else { tokens })
}

/// Tokens of a request from which on the conversation is compacted: the threshold, with room for an answer.
pub fn limit(window: u64, share: f64, answer: Option<u32>) -> u64 {
    let (_, tokens) = threshold(window, share, answer.map_or(0, u64::from).min(window / 2));
    tokens.min(window - ANSWER.min(window / ANSWER_PART)).max(window / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_is_that_of_the_cases() {
        for line in include_str!("../../../tests/cases/compress-threshold.jsonl").lines() {
            let case: serde_json::Value = serde_json::from_str(line).unwrap();
            let found = threshold(
                case["context_length"].as_u64().unwrap(),
                case["threshold"].as_f64().unwrap(),
                case["max_tokens"].as_u64().unwrap_or_default(),
            );
            let expected = (case["effective_percent"].as_f64().unwrap(), case["threshold_tokens"].as_u64().unwrap());
            assert_eq!(found, expected, "{line}");
        }
    }

    #[test]
    fn an_answer_has_room_in_every_window() {
        for (window, tokens) in
            [(4_096, 3_072), (32_768, 24_768), (65_536, 57_536), (200_000, 150_000), (1_000_000, 500_000)]
        {
            assert_eq!(limit(window, 0.5, None), tokens, "{window}");
        }
    }
}

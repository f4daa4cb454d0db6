//! How old something must be, as a person writes it.

use std::time::Duration;

/// An age: `90d`, `12w`, `36h`, `1y`; a number alone counts days.
///
/// # Errors
/// The text is none, in words for the person.
pub fn age(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let hours = match unit.trim() {
        "h" => 1,
        "" | "d" => 24,
        "w" => 7 * 24,
        "y" => 365 * 24,
        _ => 0,
    };
    let seconds = number.parse::<u64>().ok().filter(|_| hours > 0).and_then(|number| number.checked_mul(hours * 3600));
    match seconds.filter(|seconds| *seconds > 0 && *seconds < 1_000 * 365 * 24 * 3600) {
        Some(seconds) => Ok(Duration::from_secs(seconds)),
        None => Err(format!("`{text}` is no age: write 90d, 12w or 36h")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_read_as_people_write_them() {
        let hours = |text| age(text).map(|age| age.as_secs() / 3600);
        for (text, expected) in [("90d", 2160), ("12w", 2016), ("36h", 36), ("90", 2160), (" 1y ", 8760)] {
            assert_eq!(hours(text), Ok(expected), "{text}");
        }
        for text in ["", "d", "0d", "-3d", "3m", "3 months", "99999999999999999999d", "9999999y"] {
            assert!(age(text).unwrap_err().contains("90d, 12w or 36h"), "{text}");
        }
    }
}

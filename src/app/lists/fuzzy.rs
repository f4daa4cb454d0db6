//! Fuzzy matching of what a person types against names and descriptions: one matcher for lists and completions.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

/// A query, ready to be matched many times. Lower case finds both cases; words match in any order.
pub struct Fuzzy {
    pattern: Pattern,
    matcher: Matcher,
    buffer: Vec<char>,
}

impl Fuzzy {
    /// A query as typed.
    pub fn new(query: &str) -> Self {
        let pattern = Pattern::parse(query, CaseMatching::Smart, Normalization::Smart);
        Self { pattern, matcher: Matcher::new(Config::DEFAULT), buffer: Vec::new() }
    }

    /// How well a text fits; `None`: not at all.
    pub fn score(&mut self, text: &str) -> Option<u32> {
        self.pattern.score(Utf32Str::new(text, &mut self.buffer), &mut self.matcher)
    }

    /// The characters that match, in order.
    pub fn marks(&mut self, text: &str) -> Vec<u32> {
        let mut marks = Vec::new();
        self.pattern.indices(Utf32Str::new(text, &mut self.buffer), &mut self.matcher, &mut marks);
        marks.sort_unstable();
        marks.dedup();
        marks
    }
}

//! The estimate of a request, corrected by what the provider counted: tokenizers differ, and no table knows them all.

/// What a count may be of an estimate to be believed: a server that left something out, or counts only what it had not
/// cached, says less; a scripted one says anything.
const BELIEVED: std::ops::RangeInclusive<f64> = 0.5..=2.0;
/// The weight of the newest count.
const NEWEST: f64 = 0.4;

/// What an estimate is multiplied with.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Correction {
    factor: Option<f64>,
    /// The estimate of the request that is on its way.
    sent: Option<u64>,
}

impl Correction {
    /// A request goes out, estimated to have so many tokens.
    pub fn sends(&mut self, estimate: u64) {
        self.sent = Some(estimate);
    }

    /// The provider counted its tokens. A count of no request of this run teaches nothing.
    pub fn counted(&mut self, tokens: u64) {
        let Some(estimate) = self.sent.take().filter(|estimate| *estimate > 0) else { return };
        let ratio = tokens as f64 / estimate as f64;
        if BELIEVED.contains(&ratio) {
            self.factor = Some(self.factor.map_or(ratio, |known| known + NEWEST * (ratio - known)));
        }
    }

    /// Another model counts in another way.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// An estimate as the provider would count it.
    pub fn of(&self, estimate: u64) -> u64 {
        self.factor.map_or(estimate, |factor| (estimate as f64 * factor).round() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factor_follows_what_was_counted_and_believes_no_nonsense() {
        let mut correction = Correction::default();
        let mut seen = Vec::new();
        for (estimate, counted) in [(1_000, 1_500), (1_000, 1_000), (1_000, 10), (1_000, 9_000), (0, 5)] {
            correction.sends(estimate);
            correction.counted(counted);
            seen.push(correction.of(1_000));
        }
        assert_eq!(seen, [1_500, 1_300, 1_300, 1_300, 1_300]);
        correction.counted(500);
        assert_eq!(correction.of(1_000), 1_300, "a count of no request");
        correction.forget();
        assert_eq!(correction.of(1_000), 1_000);
    }
}

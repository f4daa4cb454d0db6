//! Budgets as a person sees and raises them.

use serde::{Deserialize, Serialize};

/// By how much a person raised the hard limits of one session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Raise {
    /// US dollars.
    pub cost: f64,
    pub tokens: u64,
    /// Calls pass whose price is not known: a limit in dollars does not count them.
    pub uncounted: bool,
}

impl Raise {
    /// The most at once, in dollars and in tokens: a slip of the finger is no blank cheque.
    const MOST: (f64, f64) = (1_000_000.0, 1e12);

    /// `+5`, `+$2.50`: dollars. `+200k`, `+1.5M`, `+3000 tokens`: tokens.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().strip_prefix('+')?.trim().to_ascii_lowercase();
        let (amount, in_tokens) = match text.strip_suffix("tokens").or_else(|| text.strip_suffix("token")) {
            Some(amount) => (amount.trim(), true),
            None => (text.as_str(), false),
        };
        let (amount, unit) = match amount.as_bytes().last()? {
            b'k' => (&amount[..amount.len() - 1], 1e3),
            b'm' => (&amount[..amount.len() - 1], 1e6),
            _ => (amount, 1.0),
        };
        let is_dollars = !in_tokens && unit == 1.0;
        let amount = amount.trim().strip_prefix('$').filter(|_| is_dollars).unwrap_or(amount.trim());
        let is_number = amount.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let amount: f64 = amount.parse().ok().filter(|_| is_number)?;
        if is_dollars {
            return (amount > 0.0 && amount <= Self::MOST.0).then_some(Self { cost: amount, ..Self::default() });
        }
        let tokens = (amount * unit).round();
        (1.0..=Self::MOST.1).contains(&tokens).then_some(Self { tokens: tokens as u64, ..Self::default() })
    }

    /// The fifth part, not less than a cent or a thousand tokens.
    #[must_use]
    pub fn fifth(self) -> Self {
        let cents = (self.cost * 20.0).ceil() / 100.0;
        Self { cost: cents.min(self.cost), tokens: (self.tokens / 5).max(1_000).min(self.tokens), ..self }
    }

    /// Not less than another, which is rounded up to whole cents or thousands of tokens.
    #[must_use]
    pub fn at_least(self, other: Self) -> Self {
        let cost = (other.cost * 100.0).ceil() / 100.0;
        Self { cost: self.cost.max(cost), tokens: self.tokens.max(other.tokens.next_multiple_of(1_000)), ..self }
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        Self {
            cost: self.cost + more.cost,
            tokens: self.tokens.saturating_add(more.tokens),
            uncounted: self.uncounted || more.uncounted,
        }
    }
}

/// What the status line says of a budget that is passed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetSign {
    /// `budget $4.10 of $5.00`.
    pub text: String,
    /// No model is called any more.
    pub hard: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_and_tokens_are_told_apart() {
        let dollars = |cost| Some(Raise { cost, ..Raise::default() });
        let tokens = |tokens| Some(Raise { tokens, ..Raise::default() });
        for (text, raise) in [
            ("+5", dollars(5.0)),
            (" + 5 ", dollars(5.0)),
            ("+$2.50", dollars(2.5)),
            ("+.5", dollars(0.5)),
            ("+200k", tokens(200_000)),
            ("+1.5M", tokens(1_500_000)),
            ("+3000 tokens", tokens(3_000)),
            ("+200k tokens", tokens(200_000)),
            ("5", None),
            ("-5", None),
            ("+-5", None),
            ("+", None),
            ("+0", None),
            ("+$", None),
            ("+$5k", None),
            ("+1e9", None),
            ("+inf", None),
            ("+nan", None),
            ("+2000000", None),
            ("+five", None),
            ("+0.4 tokens", None),
        ] {
            assert_eq!(Raise::parse(text), raise, "{text}");
        }
    }
}

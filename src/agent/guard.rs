//! The guard against loops: the same call with the same result, again and again.

use sha2::{Digest, Sha256};

/// Remembers the last call and how often it came in a row.
#[derive(Clone, Debug, Default)]
pub struct LoopGuard {
    last: Option<[u8; 32]>,
    name: String,
    times: u32,
}

/// Calls that are repeated by design: watching a process.
const MAY_REPEAT: &[&str] = &["process", "clarify"];

impl LoopGuard {
    /// Counts a finished call.
    pub fn saw(&mut self, name: &str, args: &str, result: &str) {
        if MAY_REPEAT.contains(&name) {
            self.reset();
            return;
        }
        let mut hash = Sha256::new();
        for part in [name, args, result] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        let now: [u8; 32] = hash.finalize().into();
        if self.last == Some(now) {
            self.times += 1;
        } else {
            self.last = Some(now);
            self.name = name.to_owned();
            self.times = 1;
        }
    }

    /// The call and how often it came in a row, once that reaches `limit`.
    pub fn repeated(&self, limit: u32) -> Option<(String, u32)> {
        (self.times >= limit).then(|| (self.name.clone(), self.times))
    }

    /// Starts to count anew.
    pub fn reset(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_identical_calls_with_identical_results_count() {
        let mut guard = LoopGuard::default();
        for _ in 0..3 {
            guard.saw("read_file", "{\"path\":\"a\"}", "x");
        }
        assert_eq!(guard.repeated(4), None);
        assert_eq!(guard.repeated(3), Some(("read_file".into(), 3)));
        guard.saw("read_file", "{\"path\":\"a\"}", "y");
        assert_eq!(guard.repeated(2), None);
        for _ in 0..9 {
            guard.saw("process", "{\"action\":\"poll\"}", "same");
        }
        assert_eq!(guard.repeated(1), None);
    }
}

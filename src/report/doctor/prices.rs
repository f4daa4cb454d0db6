//! Whether the files of prices can be used.

use super::Row;
use crate::config::Paths;
use crate::llm::catalog::prices::Prices;

/// A row for each file that can't be.
pub(super) fn rows(paths: &Paths) -> Vec<Row> {
    let problems = Prices::read(&paths.home).problems;
    problems.into_iter().map(|problem| Row::warn("prices", problem, "other prices go on: docs/MODELS.md")).collect()
}

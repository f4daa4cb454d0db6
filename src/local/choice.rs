//! Which model fits a computer. Pure.

use super::machine::Machine;
use super::table::Row;
use std::sync::Arc;

/// Memory that the engine needs beside weights and window.
pub(super) const ENGINE: u64 = 350 << 20;
/// Memory of a token in the window where the model's file is not there to tell: that of the larger ones.
pub(super) const TOKEN: u64 = 160 * 1024;
/// Tokens of a window; fewer are of no use.
pub(super) const LEAST: u64 = 8_192;
/// Room on the disk that is left free beside the file.
const MARGIN: u64 = 1 << 30;
/// Bytes of a model that is offered first.
const FIRST: u64 = 3_000_000_000;
/// Tokens a second below which nobody waits for an answer.
const SLOW: f64 = 6.0;

/// Memory that is taken to be free where the system does not tell.
pub(super) const UNKNOWN: u64 = 6 << 30;

/// How a model fits.
#[derive(Clone, Debug, PartialEq)]
pub enum Fit {
    Fits,
    /// It runs, and an answer takes long.
    Slow,
    /// Bytes that it needs, bytes that there are.
    Memory(u64, u64),
    Disk(u64, u64),
}

/// Bytes that a model needs while it works.
pub fn memory(row: &Row) -> u64 {
    // The window of a small model costs less, in proportion.
    let window = TOKEN.min(row.bytes / 32_768).max(12 * 1024) * LEAST;
    row.bytes + window + ENGINE
}

/// How a model fits this computer.
pub fn fit(row: &Row, machine: &Machine) -> Fit {
    if let Some(disk) = machine.disk.filter(|disk| *disk < row.bytes + MARGIN) {
        return Fit::Disk(row.bytes + MARGIN, disk);
    }
    let need = memory(row);
    let on_card = machine.video.is_some_and(|video| video >= need);
    match machine.free.unwrap_or(UNKNOWN) {
        _ if on_card => Fit::Fits,
        free if free < need => Fit::Memory(need, free),
        _ => match machine.tokens_per_second(row.bytes_per_token()) {
            Some(speed) if speed < SLOW => Fit::Slow,
            _ => Fit::Fits,
        },
    }
}

/// The model to offer first: the largest that fits, is not slow and comes in a minute or two on most lines; with a graphics
/// card, the largest that fits it. Else the smallest that fits at all. What is free at the moment does not count: it would
/// offer another one each time.
pub fn best<'a>(
    rows: impl DoubleEndedIterator<Item = &'a Arc<Row>> + Clone,
    machine: &Machine,
) -> Option<&'a Arc<Row>> {
    let machine = &Machine { free: machine.memory.map(|memory| memory / 4 * 3).or(machine.free), ..*machine };
    let is_quick = |row: &Arc<Row>| row.bytes <= FIRST || machine.video.is_some_and(|video| video >= memory(row));
    let fits = rows.clone().rev().find(|row| is_quick(row) && fit(row, machine) == Fit::Fits);
    fits.or_else(|| rows.clone().find(|row| fit(row, machine) == Fit::Slow))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GB: u64 = 1_000_000_000;

    fn row(name: &str, bytes: u64, active: Option<f64>) -> Arc<Row> {
        Arc::new(Row { name: name.into(), bytes, params: bytes as f64 / 0.6e9, active, ..Row::default() })
    }

    fn rows() -> Vec<Arc<Row>> {
        vec![
            row("tiny", GB / 2, None),
            row("small", 5 * GB / 2, None),
            row("middle", 6 * GB, None),
            row("experts", 18 * GB, Some(3.0)),
        ]
    }

    #[test]
    fn the_largest_that_is_quick_enough_is_offered() {
        let rows = rows();
        let table = [
            // free memory, speed of memory, video memory, disk
            (8 * GB, 30e9, 0, 100 * GB, Some("small")),
            (64 * GB, 30e9, 0, 100 * GB, Some("small")),
            (16 * GB, 80e9, 0, 100 * GB, Some("small")),
            (16 * GB, 80e9, 24 * GB, 100 * GB, Some("experts")),
            (16 * GB, 10e9, 0, 100 * GB, Some("tiny")),
            (2 * GB, 30e9, 0, 100 * GB, Some("tiny")),
            (GB / 2, 30e9, 0, 100 * GB, None),
            (64 * GB, 30e9, 0, 5 * GB, Some("small")),
            (64 * GB, 30e9, 0, GB, None),
            (4 * GB, 5e9, 12 * GB, 100 * GB, Some("middle")),
            // everything is slow here: the smallest
            (64 * GB, 1e9, 0, 100 * GB, Some("tiny")),
        ];
        for (free, bandwidth, video, disk, expected) in table {
            let machine = Machine {
                free: Some(free),
                video: Some(video),
                disk: Some(disk),
                bandwidth: Some(bandwidth),
                ..Machine::default()
            };
            let found = best(rows.iter(), &machine).map(|row| row.name.as_str());
            assert_eq!(found, expected, "{free} {bandwidth} {video} {disk}");
        }
    }

    #[test]
    fn nothing_large_is_offered_to_a_computer_that_tells_nothing() {
        assert_eq!(best(rows().iter(), &Machine::default()).map(|row| row.name.as_str()), Some("small"));
    }
}

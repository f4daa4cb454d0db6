//! What this computer has for a model: memory, video memory, room on the disk, processors, and how fast memory is read.

use crate::fs::{ensure_dir, write_atomic};
use std::path::Path;
use std::time::{Duration, Instant};

/// What there is. Bytes; `None` is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Machine {
    pub memory: Option<u64>,
    /// Memory that a new program can have without anything being swapped out.
    pub free: Option<u64>,
    /// Free memory of the largest graphics card.
    pub video: Option<u64>,
    /// Room on the disk of the models.
    pub disk: Option<u64>,
    pub cores: usize,
    /// Bytes a second that all processors together read from memory, measured.
    pub bandwidth: Option<f64>,
}

/// Bytes that the measure reads: more than caches hold.
const BLOCK: usize = 64 << 20;
/// Times that it is measured.
const TRIES: usize = 3;
/// How long it reads.
const LOOK: Duration = Duration::from_millis(40);

impl Machine {
    /// Looks. `speed` is the file that keeps how fast memory is read: measured once, in some 150 ms, so that no advice
    /// changes from look to look. `None`: it is not wanted.
    pub fn look(models: &Path, speed: Option<&Path>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let (memory, free) = memory();
        Self {
            memory,
            free,
            video: video(Path::new("/sys/class/drm")),
            disk: room(models),
            cores,
            bandwidth: speed.map(|kept| remembered(kept, || bandwidth(cores))),
        }
    }

    /// Tokens a second that a model of which so many bytes are read for each can give at most.
    pub fn tokens_per_second(&self, bytes: u64) -> Option<f64> {
        // The sums take their time too: measured with llama.cpp on two processors.
        const SHARE: f64 = 0.75;
        let bandwidth = self.bandwidth.filter(|_| bytes > 0)?;
        Some(bandwidth * SHARE / bytes as f64)
    }
}

/// Memory in all, and what a new program can have of it.
#[cfg(not(target_os = "macos"))]
fn memory() -> (Option<u64>, Option<u64>) {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let all = kilobytes(&text, "MemTotal:").map(|memory| limited(memory, "memory.max"));
    let free = kilobytes(&text, "MemAvailable:").map(|free| group_free().map_or(free, |most| free.min(most)));
    (all, free)
}

/// Memory in all. What is free of it is not asked: the system compresses and gives back what others don't use.
#[cfg(target_os = "macos")]
fn memory() -> (Option<u64>, Option<u64>) {
    use crate::exec::{Limits, Oneshot, OutputLimit, Remainder};
    let mut command = std::process::Command::new("/usr/sbin/sysctl");
    command.args(["-n", "hw.memsize"]);
    let bounds = Limits { time: Duration::from_secs(2), stdout: OutputLimit::First(64), stderr: OutputLimit::None };
    let asked = Oneshot { command, input: Vec::new(), bounds, rest: Remainder::Ends }.block(&|| false);
    (asked.ok().and_then(|said| memsize(&String::from_utf8_lossy(&said.stdout))), None)
}

/// What `sysctl hw.memsize` says, with its name before the number or without.
#[cfg(any(target_os = "macos", test))]
fn memsize(text: &str) -> Option<u64> {
    text.trim().rsplit([':', ' ']).next()?.parse().ok()
}

#[cfg(any(not(target_os = "macos"), test))]
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|kb| kb * 1024)
}

/// What the control group of a container allows, where that is less.
#[cfg(not(target_os = "macos"))]
fn limited(memory: u64, file: &str) -> u64 {
    group(file).map_or(memory, |most| memory.min(most))
}

#[cfg(not(target_os = "macos"))]
fn group(file: &str) -> Option<u64> {
    std::fs::read_to_string(Path::new("/sys/fs/cgroup").join(file)).ok()?.trim().parse().ok()
}

#[cfg(not(target_os = "macos"))]
fn group_free() -> Option<u64> {
    Some(group("memory.max")?.saturating_sub(group("memory.current")?))
}

/// Free memory of the largest graphics card, where its driver tells in files.
fn video(cards: &Path) -> Option<u64> {
    let number = |path: std::path::PathBuf| std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let free = |card: std::fs::DirEntry| {
        let device = card.path().join("device");
        let total = number(device.join("mem_info_vram_total"))?;
        Some(total.saturating_sub(number(device.join("mem_info_vram_used")).unwrap_or(0)))
    };
    std::fs::read_dir(cards).ok()?.flatten().filter_map(free).max()
}

/// Room on the disk of a folder, or of the nearest one above it that is there.
pub fn room(folder: &Path) -> Option<u64> {
    let there = folder.ancestors().find(|folder| folder.exists())?;
    let about = rustix::fs::statvfs(there).ok()?;
    Some(about.f_bavail.saturating_mul(about.f_frsize))
}

/// The speed that was measured before; else it is measured, and kept where that is possible.
fn remembered(kept: &Path, measure: impl Fn() -> f64) -> f64 {
    let known = std::fs::read_to_string(kept).ok().and_then(|text| text.trim().parse::<f64>().ok());
    if let Some(speed) = known.filter(|speed| speed.is_finite() && *speed > 0.0) {
        return speed;
    }
    // Other programs take their share for a while: the best of a few tries is what there is.
    let speed = (0..TRIES).map(|_| measure()).fold(0.0, f64::max);
    let parent = kept.parent().unwrap_or(kept);
    if let Err(error) = ensure_dir(parent).and_then(|()| write_atomic(kept, &format!("{speed:.0}\n"))) {
        tracing::debug!(%error, "the speed of memory is measured again next time");
    }
    speed
}

/// Bytes a second that these many threads read together.
fn bandwidth(threads: usize) -> f64 {
    let block = vec![1u8; BLOCK];
    let read: u64 = std::thread::scope(|scope| {
        let each = (block.len() / threads.max(1)).max(2);
        let parts = block.chunks(each).map(|part| scope.spawn(move || read_for(part, LOOK)));
        let parts: Vec<_> = parts.collect();
        parts.into_iter().filter_map(|part| part.join().ok()).sum()
    });
    read as f64 / LOOK.as_secs_f64()
}

/// Reads a part again and again for this long; bytes. The comparison is the system's own, as fast as memory allows.
fn read_for(part: &[u8], time: Duration) -> u64 {
    let (begun, mut bytes) = (Instant::now(), 0);
    let (one, other) = part.split_at(part.len() / 2);
    while begun.elapsed() < time {
        for (one, other) in one.chunks(1 << 17).zip(other.chunks(1 << 17)) {
            std::hint::black_box(one == other);
            bytes += (one.len() + other.len()) as u64;
            if begun.elapsed() >= time {
                break;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_as_the_system_writes_it() {
        let text = "MemTotal:       24684104 kB\nMemFree:         1000 kB\nMemAvailable:   22703616 kB\n";
        assert_eq!(kilobytes(text, "MemTotal:"), Some(24_684_104 * 1024));
        assert_eq!(kilobytes(text, "MemAvailable:"), Some(22_703_616 * 1024));
        assert_eq!(kilobytes("", "MemTotal:"), None);
    }

    #[test]
    fn memory_is_read_as_sysctl_tells_it() {
        for (text, bytes) in [
            ("17179869184\n", Some(17_179_869_184)),
            ("hw.memsize: 8589934592\n", Some(8_589_934_592)),
            ("", None),
            ("sysctl: unknown oid 'hw.memsize'\n", None),
        ] {
            assert_eq!(memsize(text), bytes, "{text:?}");
        }
    }

    #[test]
    fn the_largest_card_counts_with_what_is_free_of_it() {
        let dir = tempfile::tempdir().unwrap();
        for (card, total, used) in [("card0", "1000", "900"), ("card1", "800", "100"), ("card2", "x", "1")] {
            let device = dir.path().join(card).join("device");
            std::fs::create_dir_all(&device).unwrap();
            std::fs::write(device.join("mem_info_vram_total"), total).unwrap();
            std::fs::write(device.join("mem_info_vram_used"), used).unwrap();
        }
        assert_eq!(video(dir.path()), Some(700));
        assert_eq!(video(&dir.path().join("none")), None);
    }

    #[test]
    fn the_room_of_a_folder_that_is_to_be_made_is_that_above_it() {
        let dir = tempfile::tempdir().unwrap();
        assert!(room(&dir.path().join("not/yet")).is_some_and(|bytes| bytes > 0));
    }

    #[test]
    fn speed_follows_from_what_is_read_for_a_token() {
        let machine = Machine { bandwidth: Some(20e9), ..Machine::default() };
        assert_eq!(machine.tokens_per_second(1_500_000_000), Some(10.0));
        assert_eq!(machine.tokens_per_second(0), None);
        let dir = tempfile::tempdir().unwrap();
        let kept = dir.path().join("cache/memory-speed");
        let look = || Machine::look(Path::new("/"), Some(&kept)).bandwidth;
        let first = look().unwrap();
        assert!(first > 1e6);
        assert!((look().unwrap() - first).abs() <= 1.0, "measured once");
        std::fs::write(&kept, "fast\n").unwrap();
        assert!(look().is_some_and(|speed| speed > 1e6), "a damaged file is replaced");
    }
}

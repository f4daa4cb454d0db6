//! What processes use: processor and memory, looked at only while someone looks.

use super::procfs::{self, Stat};
use super::record::Process;
use crate::lock::lock;
use std::sync::Arc;
use std::time::Instant;

/// What a process and all of its session use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Percent of one processor since the look before; since its start the first time.
    pub processor: u32,
    /// Bytes in memory.
    pub memory: u64,
    /// Processes of it that run.
    pub processes: u32,
}

/// A look.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sample {
    pub(crate) usage: Usage,
    ticks: u64,
    at: Instant,
}

/// Looks at these processes; the system's table is read once for all.
pub(crate) fn look(processes: &[Arc<Process>]) {
    let running: Vec<&Arc<Process>> =
        processes.iter().filter(|process| !process.over() && !process.is_elsewhere()).collect();
    if running.is_empty() {
        return;
    }
    let all = procfs::all();
    for process in running {
        look_at(process, &all);
    }
}

fn look_at(process: &Process, all: &[Stat]) {
    let sessions = process.detached.as_ref().map_or_else(|| vec![process.pid], |detached| detached.sessions(all));
    let own = |stat: &&Stat| sessions.contains(&stat.session);
    let (mut ticks, mut pages, mut count) = (0, 0, 0);
    for stat in all.iter().filter(own).filter(|stat| !stat.zombie) {
        ticks += stat.ticks;
        pages += stat.pages;
        count += 1;
    }
    let now = Instant::now();
    let mut life = lock(&process.life);
    let (before, since) = life.sample.as_ref().map_or((0, process.started), |sample| (sample.ticks, sample.at));
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    // What ended meanwhile takes its ticks along.
    let milliseconds = ticks.saturating_sub(before) * 1000 / per_second;
    let passed = u64::try_from(now.duration_since(since).as_millis()).unwrap_or(u64::MAX).max(1);
    let usage = Usage {
        processor: u32::try_from(milliseconds * 100 / passed).unwrap_or(u32::MAX),
        memory: pages * rustix::param::page_size() as u64,
        processes: count,
    };
    life.sample = Some(Sample { usage, ticks, at: now });
}

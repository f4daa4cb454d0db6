//! Bounds that this process sets itself, for work that may not end by itself.

use rustix::process::{Resource, Rlimit, setrlimit};
use std::io;
use std::time::Duration;

/// Bounds this process: bytes of its address space, time on a processor, and no image of its memory when it breaks.
/// Systems other than Linux may not know a bound of the address space.
pub fn confine(memory: u64, processor: Duration) -> io::Result<()> {
    let limit = |resource, most| setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) });
    limit(Resource::Core, 0)?;
    limit(Resource::Cpu, processor.as_secs())?;
    match limit(Resource::As, memory) {
        Err(_) if cfg!(not(target_os = "linux")) => Ok(()),
        done => Ok(done?),
    }
}

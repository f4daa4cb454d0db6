//! What the kernel knows of a process: memory and processor time.

/// CPU seconds used so far, its finished children included.
pub fn cpu(pid: u32) -> f64 {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return 0.0 };
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: u64 = fields[11..15].iter().filter_map(|f| f.parse::<u64>().ok()).sum();
    // USER_HZ is 100 on every Linux that matters.
    ticks as f64 / 100.0
}

/// Resident memory in MiB.
pub fn rss(pid: u32) -> f64 {
    let Ok(status) = std::fs::read_to_string(format!("/proc/{pid}/status")) else { return 0.0 };
    let line = status.lines().find(|l| l.starts_with("VmRSS:")).unwrap_or("VmRSS: 0 kB");
    line.split_whitespace().nth(1).and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}

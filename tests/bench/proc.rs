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

/// How often threads of it went to sleep so far: each wakeup ends in one. Ended threads are not counted.
pub fn wakeups(pid: u32) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let of = |status: String| {
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?.trim().to_owned();
        line.parse::<u64>().ok()
    };
    // The threads of the runtime keep the clock of the measure itself.
    let ours = tasks
        .filter(|task| std::fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.starts_with("exec-")));
    ours.filter_map(|task| of(std::fs::read_to_string(task.path().join("status")).ok()?)).sum()
}

/// Bytes that it wrote so far.
pub fn written(pid: u32) -> u64 {
    let io = std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    io.lines().find_map(|line| line.strip_prefix("wchar:")?.trim().parse().ok()).unwrap_or_default()
}

//! How much memory this process may use.

/// Bytes that may be used: the smaller of what the system has free and the limit of the control group; 4 GiB if unknown.
pub fn available() -> u64 {
    let system = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find(|l| l.starts_with("MemAvailable:"))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
    });
    let group = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|t| t.trim().parse::<u64>().ok());
    system.unwrap_or(4 << 30).min(group.unwrap_or(u64::MAX))
}

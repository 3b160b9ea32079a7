//! How much memory this process may use: what the system has free, and every limit that is set on
//! the process.
//!
//! Own code: the crate `sysinfo` (0.40) walks up the groups as well, but counts the page cache as
//! used, so that a table just read would take its own size from what is free. It knows neither
//! `memory.high` nor `ulimit` nor Slurm.

use std::path::{Path, PathBuf};

/// Bytes assumed where the system says nothing.
const UNKNOWN: u64 = 4 << 30;

/// Bytes that may still be used: the least of what the system has free, what control groups of
/// either version leave (ours and those above it), what `ulimit -v` and `ulimit -d` leave, and what
/// Slurm gave the job.
pub fn available() -> u64 {
    FactPlace {
        root: PathBuf::from("/"),
        env: &|name| std::env::var(name).ok(),
    }
    .available()
}

/// Bytes that a run holds when nobody says otherwise: 80 % of [`available`].
pub fn usual() -> u64 {
    available() / 10 * 8
}

/// [`usual`] as it was when this was first asked: finding it out takes longer than a small call.
pub fn at_first() -> u64 {
    static FIRST: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    *FIRST.get_or_init(usual)
}

/// Where the facts are looked up: the system, or a folder that looks like it.
struct FactPlace<'a> {
    root: PathBuf,
    env: &'a dyn Fn(&str) -> Option<String>,
}

/// A hierarchy of control groups that limits memory.
struct Hierarchy {
    /// Where it is mounted.
    mount: PathBuf,
    /// Our group, below the mount.
    group: PathBuf,
    /// Whether it is of version 2.
    unified: bool,
}

impl FactPlace<'_> {
    fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        let path = path.as_ref();
        std::fs::read_to_string(self.root.join(path.strip_prefix("/").unwrap_or(path))).ok()
    }
    /// The number in a file; none for `max`.
    fn number(&self, path: impl AsRef<Path>) -> Option<u64> {
        self.text(path)?.trim().parse().ok()
    }
    fn available(&self) -> u64 {
        let free = self
            .text("/proc/meminfo")
            .and_then(|t| kib(&t, "MemAvailable:"))
            .unwrap_or(UNKNOWN);
        let groups = self
            .hierarchies()
            .into_iter()
            .flat_map(|h| self.left_in(&h));
        groups
            .chain(self.limits())
            .chain(self.slurm())
            .fold(free, u64::min)
    }
    /// The hierarchies that hold this process, as `/proc/self/cgroup` and the table of mounts name
    /// them.
    fn hierarchies(&self) -> Vec<Hierarchy> {
        let own = self.text("/proc/self/cgroup").unwrap_or_default();
        let mounts = self.text("/proc/self/mountinfo").unwrap_or_default();
        let of = |line: &str| {
            let mut fields = line.splitn(3, ':').skip(1);
            let (controllers, path) = (fields.next()?, fields.next()?);
            let unified = controllers.is_empty();
            if !unified && !controllers.split(',').any(|c| c == "memory") {
                return None;
            }
            let (mount, top) = mounts.lines().find_map(|line| mount_of(line, unified))?;
            // A group beyond what is mounted (another name space) is seen from the mount's own
            // folder.
            let group = Path::new(path)
                .strip_prefix(&top)
                .or_else(|_| Path::new(path).strip_prefix("/"));
            let group = group.unwrap_or(Path::new("")).to_path_buf();
            let climbs = group.components().any(|c| c.as_os_str() == "..");
            Some(Hierarchy {
                mount,
                group: if climbs { PathBuf::new() } else { group },
                unified,
            })
        };
        own.lines().filter_map(of).collect()
    }
    /// What each group from ours up to the mount still gives.
    fn left_in(&self, h: &Hierarchy) -> Vec<u64> {
        let (limits, used, kept): (&[&str], _, _) = match h.unified {
            true => (
                &["memory.max", "memory.high"],
                "memory.current",
                "inactive_file ",
            ),
            false => (
                &["memory.limit_in_bytes"],
                "memory.usage_in_bytes",
                "total_inactive_file ",
            ),
        };
        let left = |group: &Path| {
            let at = h.mount.join(group);
            let limit = limits
                .iter()
                .filter_map(|name| self.number(at.join(name)))
                .min()?;
            // Pages of files that nobody has touched lately go when memory is short.
            let stat = self.text(at.join("memory.stat")).unwrap_or_default();
            let cache = stat
                .lines()
                .find_map(|l| l.strip_prefix(kept)?.trim().parse::<u64>().ok())
                .unwrap_or(0);
            let used = self
                .number(at.join(used))
                .unwrap_or(0)
                .saturating_sub(cache);
            Some(limit.saturating_sub(used))
        };
        h.group.ancestors().filter_map(left).collect()
    }
    /// What the limits of this process leave.
    fn limits(&self) -> Vec<u64> {
        let limits = self.text("/proc/self/limits").unwrap_or_default();
        let status = self.text("/proc/self/status").unwrap_or_default();
        let left = |name: &str, used: &str| {
            let line = limits.lines().find_map(|l| l.strip_prefix(name))?;
            let limit: u64 = line.split_whitespace().next()?.parse().ok()?;
            Some(limit.saturating_sub(kib(&status, used).unwrap_or(0)))
        };
        [
            left("Max address space", "VmSize:"),
            left("Max data size", "VmData:"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
    /// What Slurm gave the job on this node, in MiB.
    fn slurm(&self) -> Option<u64> {
        let number = |name: &str| {
            (self.env)(name)?
                .trim()
                .parse::<u64>()
                .ok()
                .filter(|n| *n > 0)
        };
        let node = number("SLURM_MEM_PER_NODE");
        let cpus = || {
            Some(
                number("SLURM_MEM_PER_CPU")?
                    .saturating_mul(number("SLURM_CPUS_ON_NODE").unwrap_or(1)),
            )
        };
        node.or_else(cpus).map(|mib| mib.saturating_mul(1 << 20))
    }
}

/// The KiB that a line of `/proc` gives, as bytes.
fn kib(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|l| l.strip_prefix(name))?;
    line.split_whitespace()
        .next()?
        .parse::<u64>()
        .ok()
        .map(|kib| kib.saturating_mul(1024))
}

/// Where a line of the table of mounts mounts groups of the wanted kind, and which group that
/// folder is.
fn mount_of(line: &str, unified: bool) -> Option<(PathBuf, PathBuf)> {
    let (before, after) = line.split_once(" - ")?;
    let mut after = after.split(' ');
    let (kind, options) = (after.next()?, after.nth(1).unwrap_or_default());
    let right = if unified {
        kind == "cgroup2"
    } else {
        kind == "cgroup" && options.split(',').any(|o| o == "memory")
    };
    let mut before = before.split(' ').skip(3);
    let (top, mount) = (before.next()?, before.next()?);
    right.then(|| (plain(mount), plain(top)))
}

/// A path of the table of mounts, in which blanks are written as `\040`.
fn plain(path: &str) -> PathBuf {
    path.replace("\\040", " ")
        .replace("\\011", "\t")
        .replace("\\134", "\\")
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// A folder that looks like a system with 8 GiB free.
    fn system(name: &str, files: &[(&str, &str)]) -> PathBuf {
        let root =
            std::env::temp_dir().join(format!("zipfold-groups-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&root);
        let meminfo = (
            "proc/meminfo",
            "MemTotal: 9999999 kB\nMemAvailable:    8388608 kB\n",
        );
        for (path, text) in files.iter().chain([&meminfo]) {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        root
    }

    fn found(name: &str, files: &[(&str, &str)], env: &[(&str, &str)]) -> u64 {
        let root = system(name, files);
        let env = |wanted: &str| {
            env.iter()
                .find(|(n, _)| *n == wanted)
                .map(|(_, v)| (*v).to_string())
        };
        let bytes = FactPlace {
            root: root.clone(),
            env: &env,
        }
        .available();
        std::fs::remove_dir_all(root).unwrap();
        bytes / MIB
    }

    const V2: (&str, &str) = (
        "proc/self/mountinfo",
        "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n",
    );

    #[test]
    fn without_limits_it_is_what_the_system_has_free() {
        assert_eq!(found("none", &[], &[]), 8192);
        let open = [
            V2,
            ("proc/self/cgroup", "0::/a\n"),
            ("sys/fs/cgroup/a/memory.max", "max\n"),
        ];
        assert_eq!(found("open", &open, &[]), 8192);
    }

    #[test]
    fn groups_of_version_2_are_known_at_every_level() {
        let own = ("proc/self/cgroup", "0::/user.slice/x.scope\n");
        let leaf = ("sys/fs/cgroup/user.slice/x.scope/memory.max", "536870912\n");
        let used = (
            "sys/fs/cgroup/user.slice/x.scope/memory.current",
            "209715200\n",
        );
        let cache = (
            "sys/fs/cgroup/user.slice/x.scope/memory.stat",
            "anon 1\ninactive_file 104857600\n",
        );
        assert_eq!(found("leaf", &[V2, own, leaf], &[]), 512);
        assert_eq!(found("used", &[V2, own, leaf, used], &[]), 312);
        assert_eq!(found("cache", &[V2, own, leaf, used, cache], &[]), 412);
        let above = ("sys/fs/cgroup/user.slice/memory.max", "268435456\n");
        assert_eq!(found("above", &[V2, own, leaf, above], &[]), 256);
        let root = ("sys/fs/cgroup/memory.high", "134217728\n");
        assert_eq!(found("root", &[V2, own, leaf, above, root], &[]), 128);
    }

    #[test]
    fn groups_of_version_1_and_mounts_of_a_part_are_known() {
        let own = (
            "proc/self/cgroup",
            "5:cpu,cpuacct:/c\n4:memory:/docker/abc/job\n0::/\n",
        );
        let whole = "31 23 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
        let limit = (
            "sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes",
            "536870912\n",
        );
        assert_eq!(
            found("v1", &[("proc/self/mountinfo", whole), own, limit], &[]),
            512
        );
        // A container sees its own group where the whole hierarchy would be mounted.
        let part = "31 23 0:27 /docker/abc /sys/fs/cgroup/memory\\040x rw master:1 - cgroup cgroup rw,memory\n";
        let limit = (
            "sys/fs/cgroup/memory x/job/memory.limit_in_bytes",
            "268435456\n",
        );
        assert_eq!(
            found("part", &[("proc/self/mountinfo", part), own, limit], &[]),
            256
        );
        let outside = ("proc/self/cgroup", "4:memory:/../../other\n");
        let limit = (
            "sys/fs/cgroup/memory x/memory.limit_in_bytes",
            "134217728\n",
        );
        assert_eq!(
            found(
                "outside",
                &[("proc/self/mountinfo", part), outside, limit],
                &[]
            ),
            128
        );
    }

    #[test]
    fn limits_of_the_process_and_of_slurm_are_known() {
        let limits = "Limit Soft Limit Hard Limit Units\nMax data size             unlimited unlimited bytes\n\
            Max address space         1073741824           unlimited            bytes\n";
        let limits = ("proc/self/limits", limits);
        let status = (
            "proc/self/status",
            "VmSize:\t  262144 kB\nVmData:\t 1024 kB\n",
        );
        assert_eq!(found("as", &[limits, status], &[]), 768);
        let data = (
            "proc/self/limits",
            "Max data size             536870912 unlimited bytes\n",
        );
        assert_eq!(found("data", &[data, status], &[]), 511);
        assert_eq!(found("node", &[], &[("SLURM_MEM_PER_NODE", "2000")]), 2000);
        assert_eq!(
            found(
                "cpu",
                &[],
                &[("SLURM_MEM_PER_CPU", "1000"), ("SLURM_CPUS_ON_NODE", "4")]
            ),
            4000
        );
        assert_eq!(found("zero", &[], &[("SLURM_MEM_PER_NODE", "0")]), 8192);
    }

    #[test]
    fn the_real_system_has_some() {
        assert!(available() > 0);
    }
}

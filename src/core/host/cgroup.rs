//! The control groups of this process (Linux): what they, and all groups above them, leave it of memory and processor time.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

/// Where the groups of a process are listed, and what a process that cannot read it is taken to be in: what it sees as the root.
const GROUPS: &str = "proc/self/cgroup";
const ROOT_GROUPS: &str = "0::/\n1:memory:/\n2:cpu:/\n";

/// The tightest limits of all groups; the largest numbers where nothing is limited.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Limits {
    /// Bytes that the programs of the group may have in all.
    pub memory: u64,
    /// Bytes that they can still get. Page cache is among them, because the kernel gives it back when programs ask for memory.
    pub free_memory: u64,
    /// Cores' worth of processor time: 1.5 for a quota of 150 ms in each 100 ms.
    pub cores: f64,
}

/// A devices pane asks twice a second: folders are looked for once, for a process hardly ever changes its groups.
pub(super) fn limits() -> Limits {
    static FOLDERS: OnceLock<BTreeSet<PathBuf>> = OnceLock::new();
    limits_of(FOLDERS.get_or_init(|| folders(Path::new("/"))))
}

fn limits_of(groups: &BTreeSet<PathBuf>) -> Limits {
    let mut limits = Limits { memory: u64::MAX, free_memory: u64::MAX, cores: f64::INFINITY };
    groups.iter().for_each(|group| limits.narrow(group));
    limits
}

/// The folders of all these groups, of both versions: a hierarchy of version 2 may stand beside some of version 1.
fn folders(root: &Path) -> BTreeSet<PathBuf> {
    let groups = fs::read_to_string(root.join(GROUPS)).ok().filter(|text| !text.trim().is_empty());
    let mounts = fs::read_to_string(root.join("proc/self/mountinfo")).unwrap_or_default();
    let mut folders = BTreeSet::new();
    for line in groups.as_deref().unwrap_or(ROOT_GROUPS).lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else { continue };
        let usual = ["", "unified", controllers].into_iter().chain(controllers.split(','));
        let usual = usual.map(|name| (PathBuf::from("/"), Path::new("/sys/fs/cgroup").join(name)));
        for (top, mount) in mounts.lines().filter_map(|line| mounted(line, controllers)).chain(usual) {
            // A group outside of what is mounted here cannot be seen. Its part that is here, or the top of it, still counts.
            let within = Path::new(group).strip_prefix(&top).unwrap_or(Path::new(group));
            let within: PathBuf = within.components().filter(|part| matches!(part, Component::Normal(_))).collect();
            let mount = root.join(mount.strip_prefix("/").unwrap_or(&mount));
            folders.extend(within.ancestors().map(|group| mount.join(group)).filter(|folder| is_group(folder)));
        }
    }
    folders
}

/// Whether it has anything to say of memory or processor time.
fn is_group(folder: &Path) -> bool {
    ["memory.max", "memory.high", "memory.stat", "memory.limit_in_bytes", "cpu.max", "cpu.cfs_quota_us"]
        .iter()
        .any(|file| folder.join(file).exists())
}

/// The group that a mount of this hierarchy shows at its top, and where it is mounted, from a line of mountinfo (proc(5)).
fn mounted(line: &str, controllers: &str) -> Option<(PathBuf, PathBuf)> {
    let (mount, source) = line.split_once(" - ")?;
    let [kind, .., options] = source.split_whitespace().collect::<Vec<_>>()[..] else { return None };
    let is_it = match kind {
        "cgroup2" => controllers.is_empty(),
        "cgroup" => options.split(',').any(|option| controllers.split(',').any(|name| name == option)),
        _ => false,
    };
    let mut fields = mount.split(' ').skip(3).map(|path| PathBuf::from(path.replace("\\040", " ").replace("\\134", "\\")));
    Some((fields.next()?, fields.next()?)).filter(|_| is_it)
}

impl Limits {
    /// With the limits of one group, of either version.
    fn narrow(&mut self, group: &Path) {
        let text = |file: &str| fs::read_to_string(group.join(file)).unwrap_or_default();
        // `max`, -1 and an empty file are no limit.
        let number = |file: &str| text(file).trim().parse::<u64>().ok();
        let stat = text("memory.stat");
        let stat = |name: &str| stat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
        let limits = [number("memory.max"), number("memory.high"), number("memory.limit_in_bytes")];
        let limits = limits.into_iter().chain([stat("hierarchical_memory_limit ")]);
        if let Some(limit) = limits.flatten().min() {
            // In version 1 the plain names leave out the groups below.
            let cache = |name: &str| stat(&format!("total_{name} ")).or_else(|| stat(&format!("{name} "))).unwrap_or(0);
            let cache = cache("inactive_file").saturating_add(cache("active_file"));
            let used = number("memory.current").or_else(|| number("memory.usage_in_bytes")).unwrap_or(0);
            self.memory = self.memory.min(limit);
            self.free_memory = self.free_memory.min(limit.saturating_sub(used.saturating_sub(cache)));
        }
        let of_both = text("cpu.max");
        let of_both =
            of_both.trim().split_once(' ').and_then(|(quota, period)| Some((quota.parse().ok()?, period.parse().ok()?)));
        let quota: Option<(u64, u64)> = of_both.or_else(|| Some((number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?)));
        if let Some((quota, period)) = quota.filter(|(quota, period)| *quota > 0 && *period > 0) {
            self.cores = self.cores.min(quota as f64 / period as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;
    const FREE: Limits = Limits { memory: u64::MAX, free_memory: u64::MAX, cores: f64::INFINITY };

    /// The limits where these files are all that there is.
    fn limits_in(files: &[(&str, &str)]) -> Limits {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        limits_of(&folders(root.path()))
    }

    #[test]
    fn page_cache_counts_as_free_in_both_versions() {
        let expected = Limits { memory: 1000 * MIB, free_memory: 800 * MIB, ..FREE };
        let (limit, used) = ((1000 * MIB).to_string(), (900 * MIB).to_string());
        let cache = format!("anon 5\nfile 9\ninactive_file {}\nactive_file {}\nshmem 7\n", 600 * MIB, 100 * MIB);
        let v2 = [
            (GROUPS, "0::/job\n"),
            ("sys/fs/cgroup/job/memory.max", limit.as_str()),
            ("sys/fs/cgroup/job/memory.current", used.as_str()),
            ("sys/fs/cgroup/job/memory.stat", cache.as_str()),
        ];
        assert_eq!(limits_in(&v2), expected);
        let cache = format!("inactive_file 1\ntotal_inactive_file {}\ntotal_active_file {}\n", 600 * MIB, 100 * MIB);
        let v1 = [
            (GROUPS, "9:memory:/job\n1:name=systemd:/job\n"),
            ("sys/fs/cgroup/memory/job/memory.limit_in_bytes", limit.as_str()),
            ("sys/fs/cgroup/memory/job/memory.usage_in_bytes", used.as_str()),
            ("sys/fs/cgroup/memory/job/memory.stat", cache.as_str()),
        ];
        assert_eq!(limits_in(&v1), expected);
    }

    /// Each file is a limit of 7 or, where it does not apply, of 5.
    #[test]
    fn limits_of_the_own_group_and_of_those_above_are_found_wherever_they_are_mounted() {
        let elsewhere = "30 20 0:26 /docker/ab /mnt/my\\040groups rw - cgroup2 cgroup2 rw\n";
        let v1_memory = "31 20 0:27 /docker/ab /mnt/memory rw - cgroup cgroup rw,memory\n";
        let v1_cpu = "31 20 0:27 /docker/ab /mnt/cpu rw - cgroup cgroup rw,cpu,cpuacct\n";
        let outside = "30 20 0:26 /../.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        let cases = [
            ("0::/a/b\n", "", "sys/fs/cgroup/a/b/memory.max", "sys/fs/cgroup/a/c/memory.max"),
            ("0::/a/b\n", "", "sys/fs/cgroup/a/memory.high", "sys/fs/cgroup/b/memory.max"),
            ("0::/a/b (deleted)\n", "", "sys/fs/cgroup/memory.max", "sys/fs/cgroup/b/memory.max"),
            // A container whose path is the one on the host, and which mounts only its own groups.
            ("0::/docker/ab\n", "", "sys/fs/cgroup/memory.max", "sys/fs/cgroup/docker/x/memory.max"),
            ("0::/docker/ab/c\n", elsewhere, "mnt/my groups/c/memory.max", "mnt/my groups/docker/memory.max"),
            ("0::/../../x\n", "", "sys/fs/cgroup/memory.max", "memory.max"),
            ("0::/../../x\n", outside, "sys/fs/cgroup/x/memory.max", "sys/fs/x/memory.max"),
            ("", "", "sys/fs/cgroup/memory/memory.limit_in_bytes", "sys/fs/cgroup/x/memory.max"),
            ("no list of groups\n4:memory:/a\n0::/b\n", "", "sys/fs/cgroup/memory/a/memory.limit_in_bytes", "x/memory.max"),
            ("4:memory:/a\n0::/b\n", "", "sys/fs/cgroup/unified/b/memory.max", "sys/fs/cgroup/memory/b/memory.limit_in_bytes"),
            ("7:memory:/docker/ab/c\n", v1_memory, "mnt/memory/c/memory.limit_in_bytes", "mnt/memory/x/memory.limit_in_bytes"),
            ("7:memory:/docker/ab\n", v1_cpu, "sys/fs/cgroup/memory/memory.limit_in_bytes", "mnt/cpu/memory.limit_in_bytes"),
        ];
        for (groups, mounts, applies, does_not) in cases {
            let found = limits_in(&[(GROUPS, groups), ("proc/self/mountinfo", mounts), (applies, "7\n"), (does_not, "5\n")]);
            assert_eq!(found, Limits { memory: 7, free_memory: 7, ..FREE }, "{groups:?}, {applies}");
        }
    }

    #[test]
    fn what_is_no_limit_limits_nothing() {
        for text in ["max\n", "-1\n", "", "\u{feff}5", "99999999999999999999999\n"] {
            let file = ["memory.max", "memory.high", "cpu.max", "memory.limit_in_bytes", "cpu.cfs_quota_us"];
            let paths = file.map(|file| format!("sys/fs/cgroup/{file}"));
            let files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), text)).collect();
            assert_eq!(limits_in(&files), FREE, "{text:?}");
        }
        assert_eq!(limits_in(&[]), FREE);
    }

    #[test]
    fn the_tightest_quota_of_processor_time_counts() {
        let cores = |files: &[(&str, &str)]| limits_in(files).cores;
        let job = (GROUPS, "0::/a/job\n");
        let of_job = ("sys/fs/cgroup/a/job/cpu.max", "max 100000\n");
        assert_eq!(cores(&[job, of_job, ("sys/fs/cgroup/a/cpu.max", "150000 100000\n")]), 1.5);
        assert_eq!(cores(&[job, of_job, ("sys/fs/cgroup/a/cpu.max", "0 0\n")]), f64::INFINITY);
        let v1 = (GROUPS, "3:cpu,cpuacct:/job\n");
        let period = ("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "50000\n");
        assert_eq!(cores(&[v1, period, ("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "100000\n")]), 2.0);
        assert_eq!(cores(&[v1, period, ("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n")]), f64::INFINITY);
    }
}

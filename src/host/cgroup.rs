//! How much memory the kernel leaves to this process: the limits of its control group and of all above it, of both versions.
//!
//! The page cache is not counted as used: it goes when programs ask for memory.

use std::fs;
use std::path::{Path, PathBuf};

/// Bytes that programs can still get, and all there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    pub free: u64,
    pub total: u64,
}

/// A version's files: limit and use, and the lines of memory.stat that are page cache.
struct Version {
    limit: &'static str,
    used: &'static str,
    cache: [&'static str; 2],
}

const V2: Version = Version { limit: "memory.max", used: "memory.current", cache: ["inactive_file", "active_file"] };
const V1: Version = Version {
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    cache: ["total_inactive_file", "total_active_file"],
};

/// Of this process; `None` where nothing limits it.
pub fn memory() -> Option<Room> {
    of(Path::new("/sys/fs/cgroup"), &fs::read_to_string("/proc/self/cgroup").ok()?)
}

/// `groups` is what /proc/self/cgroup says. A group that is not to be seen here, as in a container, is passed over: the root is the
/// container's own then.
fn of(root: &Path, groups: &str) -> Option<Room> {
    let mut rooms = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else { continue };
        let is_memory = controllers.split(',').any(|name| name == "memory");
        let (version, mounts): (_, &[&str]) = match controllers {
            "" => (V2, &["", "unified"]),
            _ if is_memory => (V1, &["memory", ""]),
            _ => continue,
        };
        for mount in mounts.iter().map(|mount| root.join(mount)) {
            // `/../x` is a group beside the root of what is seen.
            let own: PathBuf = mount.join(group.trim_start_matches('/'));
            let above = own.ancestors().take_while(|folder| folder.starts_with(&mount));
            rooms.extend(above.filter_map(|folder| room(folder, &version)));
        }
    }
    let free = rooms.iter().map(|room| room.free).min()?;
    Some(Room { free, total: rooms.iter().map(|room| room.total).min()? })
}

/// `None` where it has no limit.
fn room(folder: &Path, version: &Version) -> Option<Room> {
    let number = |name: &str| fs::read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
    let total = number(version.limit)?;
    let used = number(version.used).unwrap_or(0);
    let stat = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
    let of_stat = |line: &str| {
        let (name, bytes) = line.split_once(' ')?;
        bytes.trim().parse::<u64>().ok().filter(|_| version.cache.contains(&name))
    };
    let cache: u64 = stat.lines().filter_map(of_stat).fold(0, u64::saturating_add);
    Some(Room { free: total.saturating_sub(used.saturating_sub(cache)), total })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(folder: &Path, version: &Version, [limit, used, cache]: [&str; 3]) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join(version.limit), format!("{limit}\n")).unwrap();
        fs::write(folder.join(version.used), format!("{used}\n")).unwrap();
        fs::write(folder.join("memory.stat"), format!("anon 7\n{} {cache}\n{} 1\nshmem 0\n", version.cache[0], version.cache[1]))
            .unwrap();
    }

    #[test]
    fn the_narrowest_limit_from_the_own_group_to_the_root_counts_and_the_page_cache_is_free() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        group(&root.join("user.slice/job.scope"), &V2, ["max", "900", "0"]);
        group(&root.join("user.slice"), &V2, ["1000", "900", "599"]);
        assert_eq!(of(root, "0::/user.slice/job.scope\n"), Some(Room { free: 700, total: 1000 }));
        // A container sees its own group as the root, whatever it is called outside.
        group(root, &V2, ["500", "100", "0"]);
        assert_eq!(of(root, "0::/docker/4711\n"), Some(Room { free: 401, total: 500 }));
        assert_eq!(of(root, "0::/../../elsewhere"), Some(Room { free: 401, total: 500 }));
        assert_eq!(of(root, "no group\n12:cpu,cpuacct:/x"), None);
    }

    #[test]
    fn the_first_version_is_read_too_and_no_limit_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let groups = "5:cpu:/a/b\n4:memory:/a/b\n0::/\n";
        assert_eq!(of(root, groups), None);
        group(&root.join("memory/a/b"), &V1, ["9223372036854771712", "5", "0"]);
        group(&root.join("memory/a"), &V1, ["2000", "1500", "1000"]);
        assert_eq!(of(root, groups), Some(Room { free: 1501, total: 2000 }));
    }
}

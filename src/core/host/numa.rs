//! Where this process runs: its cores, the NUMA nodes that have them, and where its memory comes from.

use std::path::Path;

use super::{cores, files};

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub use linux::{memory, prefer, running_on, set_time_slice};

/// Where Linux lists the NUMA nodes.
const NODES: &str = "/sys/devices/system/node";

/// The NUMA nodes of this host, in their order; empty where the system does not say.
pub fn nodes() -> Vec<usize> {
    nodes_in(Path::new(NODES))
}

fn nodes_in(folder: &Path) -> Vec<usize> {
    let mut nodes: Vec<usize> = files::names_in(folder).filter_map(|name| name.strip_prefix("node")?.parse().ok()).collect();
    nodes.sort_unstable();
    nodes
}

/// The nodes that have some of these cores.
pub fn nodes_of(cores: &[usize]) -> Vec<usize> {
    nodes_of_in(Path::new(NODES), cores)
}

fn nodes_of_in(folder: &Path, cores: &[usize]) -> Vec<usize> {
    let has_some = |node: &usize| {
        let list = std::fs::read_to_string(folder.join(format!("node{node}/cpulist"))).unwrap_or_default();
        cores::listed(&list).is_some_and(|of_node| of_node.iter().any(|core| cores.contains(core)))
    };
    nodes_in(folder).into_iter().filter(has_some).collect()
}

/// No system call says it here.
#[cfg(not(target_os = "linux"))]
pub fn running_on() -> Option<usize> {
    None
}

/// # Errors
/// Always: this system has no such thing.
#[cfg(not(target_os = "linux"))]
pub fn prefer(_node: usize) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// # Errors
/// Always: this system has no such thing.
#[cfg(not(target_os = "linux"))]
pub fn set_time_slice(_slice: std::time::Duration) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// No system call says it here.
#[cfg(not(target_os = "linux"))]
pub fn memory() -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_found_by_their_cores() {
        let folder = tempfile::tempdir().unwrap();
        for (node, list) in [(0, "0-1,4\n"), (1, "2-3,5\n"), (10, "\n")] {
            let node = folder.path().join(format!("node{node}"));
            std::fs::create_dir(&node).unwrap();
            std::fs::write(node.join("cpulist"), list).unwrap();
        }
        std::fs::create_dir(folder.path().join("power")).unwrap();
        assert_eq!(nodes_in(folder.path()), [0, 1, 10]);
        assert_eq!((nodes_of_in(folder.path(), &[1]), nodes_of_in(folder.path(), &[0, 5])), (vec![0], vec![0, 1]));
        assert_eq!(nodes_of_in(folder.path(), &[9]), [0; 0]);
        assert_eq!(nodes_of_in(Path::new("/proc/none"), &[0]), [0; 0]);
    }
}

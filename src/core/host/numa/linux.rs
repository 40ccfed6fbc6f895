//! Linux's calls about memory and cores.

use std::io;
use std::time::Duration;

use nix::libc;

/// Nodes in a set: more than any kernel is built for.
const MAX_NODES: usize = 1024;
const WORD: usize = libc::c_ulong::BITS as usize;

/// The core that this thread is on just now.
pub fn running_on() -> Option<usize> {
    // SAFETY: takes nothing and only returns a number.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// From now on this thread, and those that it starts, run for so long (at most 0.1 s) before another takes its turn on the core, unless
/// they wait. Kernels before 6.12 take no notice.
///
/// # Errors
/// Why the system does not do it.
pub fn set_time_slice(slice: Duration) -> io::Result<()> {
    let size = size_of::<libc::sched_attr>() as u32;
    // SAFETY: an attribute is a row of integers.
    let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes at most `size` bytes to the first, which has as many.
    let found = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &mut attributes, size, 0) };
    attributes.sched_runtime = slice.as_nanos() as u64;
    // SAFETY: the kernel only reads the attributes, which say how long they are.
    let done = if found == 0 { unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &attributes, 0) } } else { found };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Take memory from this node as long as it has some, as `numactl -p` does: of this thread and of those that it starts.
///
/// # Errors
/// Why the system does not do it.
pub fn prefer(node: usize) -> io::Result<()> {
    let mut mask = [0 as libc::c_ulong; MAX_NODES / WORD];
    // The kernel does not look at the last bit.
    let word = mask.get_mut(node / WORD).filter(|_| node + 1 < MAX_NODES);
    let Some(word) = word else { return Err(io::ErrorKind::InvalidInput.into()) };
    *word = 1 << (node % WORD);
    // SAFETY: the mask has as many bits as its length says, and the kernel only reads it.
    let done = unsafe { libc::syscall(libc::SYS_set_mempolicy, libc::MPOL_PREFERRED, mask.as_ptr(), MAX_NODES) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Where memory comes from, in words; `None` where the system does not say.
pub fn memory() -> Option<String> {
    let (mut mode, mut mask) = (0, [0 as libc::c_ulong; MAX_NODES / WORD]);
    let nothing = std::ptr::null::<libc::c_void>();
    // SAFETY: mode and mask are writable, and the mask has as many bits as its length says.
    let done = unsafe { libc::syscall(libc::SYS_get_mempolicy, &mut mode as *mut i32, mask.as_mut_ptr(), MAX_NODES, nothing, 0) };
    let is_set = |node: &usize| mask[node / WORD] >> (node % WORD) & 1 == 1;
    (done == 0).then(|| in_words(mode, &(0..MAX_NODES).filter(is_set).collect::<Vec<_>>()))
}

fn in_words(mode: i32, nodes: &[usize]) -> String {
    let noun = if nodes.len() == 1 { "node" } else { "nodes" };
    let nodes = nodes.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    // The upper bits are flags.
    match mode & 0xff {
        libc::MPOL_DEFAULT | libc::MPOL_LOCAL => "local".into(),
        libc::MPOL_PREFERRED => format!("preferred on {noun} {nodes}"),
        libc::MPOL_BIND => format!("bound to {noun} {nodes}"),
        libc::MPOL_INTERLEAVE => format!("interleaved over {noun} {nodes}"),
        other => format!("by policy {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_said_in_words() {
        for (mode, nodes, words) in [
            (libc::MPOL_DEFAULT, vec![], "local"),
            (libc::MPOL_PREFERRED, vec![1], "preferred on node 1"),
            (libc::MPOL_BIND | 1 << 15, vec![0, 1], "bound to nodes 0,1"),
            (libc::MPOL_INTERLEAVE, vec![0, 1], "interleaved over nodes 0,1"),
            (77, vec![], "by policy 77"),
        ] {
            assert_eq!(in_words(mode, &nodes), words);
        }
    }

    /// On a thread of its own, whose policy goes with it.
    #[test]
    fn a_node_that_is_there_is_preferred_and_another_is_refused() {
        let said = std::thread::spawn(|| (prefer(0), memory(), prefer(500), prefer(MAX_NODES))).join().unwrap();
        if let (Ok(()), Some(memory), far, beyond) = said {
            assert_eq!(memory, "preferred on node 0");
            assert!(far.is_err() && beyond.is_err());
        }
    }

    #[test]
    fn a_thread_is_given_the_time_slice_that_it_asks_for() {
        let slice = std::thread::spawn(|| {
            set_time_slice(Duration::from_millis(70)).unwrap();
            std::fs::read_to_string("/proc/thread-self/sched").unwrap_or_default()
        });
        let slice = slice.join().unwrap();
        // Kernels that do not know of it have no such line.
        if let Some(line) = slice.lines().find(|line| line.starts_with("se.slice")) {
            assert!(line.ends_with(" 70000000"), "{line}");
        }
    }
}

//! What this host knows of a process by its id.
//!
//! Never signals a process.

/// Name of the program, or why it cannot be told: a GPU's processes may belong to another container.
pub(super) fn command(pid: u32) -> String {
    match std::fs::read_to_string(format!("/proc/{pid}/comm")) {
        Ok(name) => name.trim_end().to_owned(),
        Err(_) => "(not visible here)".into(),
    }
}

/// The rank whose process id this is.
pub(super) fn rank_of(pid: u32, ranks: &[(usize, u32)]) -> Option<usize> {
    ranks.iter().find(|(_, of_rank)| *of_rank == pid).map(|(rank, _)| *rank)
}

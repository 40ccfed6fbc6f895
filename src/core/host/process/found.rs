//! What the system says about a process.

/// A process as the system described it when it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    pub parent: u32,
    pub session: u32,
    /// When it began, to tell it from a later one with the same number: on Linux clock ticks since boot, elsewhere Unix time in
    /// seconds.
    pub start_ticks: u64,
    /// Ended, but its parent has not asked for its exit code yet.
    pub zombie: bool,
    /// Suspended by a signal, as Ctrl-Z does: it gets no other one until it is woken.
    pub suspended: bool,
    /// Processor time of itself and, on Linux, of the children that it has waited for, in ticks of 10 ms.
    pub cpu_ticks: u64,
    /// Bytes of it that are in memory.
    pub resident: u64,
}

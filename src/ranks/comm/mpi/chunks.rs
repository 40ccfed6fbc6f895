//! How long the pieces are that long buffers are sent in.

/// Elements in one MPI call, which counts in i32. Long enough that the cost of a call is nothing beside its transfer.
pub(super) const MESSAGE: usize = 4 << 20;

/// Elements summed in one go. Short enough that the sum is still in the core's cache when it is copied back, which makes
/// long sums twice as fast as chunks of 16 MiB. Long enough that a message's latency is little beside it.
pub(super) const CACHED: usize = 128 << 10;

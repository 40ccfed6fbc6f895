//! Hosts that are simulated: what a program does on several of them, tried out on one machine.

use std::num::NonZeroUsize;
use std::sync::OnceLock;

static RANKS_PER_HOST: OnceLock<NonZeroUsize> = OnceLock::new();

/// From now on ranks act as if each host had so many of them: local ranks begin again from 0 on each.
pub fn simulate_hosts(ranks: NonZeroUsize) {
    // The first answer stands, as it does for the number of ranks.
    let _ = RANKS_PER_HOST.set(ranks);
}

/// Ranks on each simulated host, where hosts are simulated.
pub fn simulated_hosts() -> Option<NonZeroUsize> {
    RANKS_PER_HOST.get().copied()
}

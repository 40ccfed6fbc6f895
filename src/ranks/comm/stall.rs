//! How long a rank waits for the others, and what it says when one does not come.

use std::fmt;
use std::time::Duration;

use crate::domain::topology::Rank;

/// How long a rank waits for others in a collective. Zero means: no limit.
///
/// # Horovod
/// `HOROVOD_STALL_CHECK_TIME_SECONDS` and `HOROVOD_STALL_SHUTDOWN_TIME_SECONDS`.
///
/// On a machine that other programs keep busy a rank may be late because it gets no core: that time does not count.
#[derive(Clone, Copy, Debug)]
pub struct StallLimits {
    /// Wait before the first warning about the missing ranks. It is repeated after twice the time, and so on.
    pub warning: Duration,
    /// Wait before the collective fails with [`CommError::Stalled`](super::CommError::Stalled).
    pub shutdown: Duration,
    /// Asks for how long processes of this host, which one may be waiting for, wanted a core and got none. It only grows.
    pub starved: fn() -> Duration,
}

impl Default for StallLimits {
    /// A warning after 10 s, and no shutdown. Every wait counts whole.
    fn default() -> StallLimits {
        StallLimits { warning: Duration::from_secs(10), shutdown: Duration::ZERO, starved: || Duration::ZERO }
    }
}

/// A rank that waits, and the ranks it waits for.
#[derive(Clone, Debug, PartialEq)]
pub struct Stall {
    pub rank: Rank,
    pub seconds: f64,
    /// The call of its program that it waits in, or else the collective, such as `allreduce Average of 77000 f32`.
    pub call: String,
    /// How many collectives all ranks have made so far, including this one.
    pub number: u64,
    /// Ranks that have sent no message since. Empty if the network is at fault.
    pub missing: Vec<Rank>,
    /// All ranks have made the call, and their data does not arrive.
    pub everyone_came: bool,
}

/// A message names at most this many ranks one by one.
const MAX_NAMED: usize = 8;

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stall { rank, seconds, call, number, missing, everyone_came } = self;
        let decimals = usize::from(*seconds < 10.0);
        write!(f, "rank {rank} has waited {seconds:.decimals$} s in {call} (collective {number}); ")?;
        let fault = if *everyone_came { "been heard of since all came" } else { "arrived" };
        match missing.as_slice() {
            [] => f.write_str("all ranks are there, and their messages do not arrive"),
            [one] => write!(f, "rank {one} has not {fault}"),
            [many @ .., last] => {
                let named = &many[..many.len().min(MAX_NAMED)];
                let names: Vec<String> = named.iter().map(Rank::to_string).collect();
                match many.len() - named.len() {
                    0 => write!(f, "ranks {} and {last} have not {fault}", names.join(", ")),
                    more => write!(f, "ranks {} and {} others have not {fault}", names.join(", "), more + 1),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_is_told_in_one_line() {
        let mut stall = Stall {
            rank: Rank(0),
            seconds: 10.02,
            call: "allreduce Average of 77000 f32".into(),
            number: 57,
            missing: vec![Rank(1)],
            everyone_came: false,
        };
        let said = "rank 0 has waited 10 s in allreduce Average of 77000 f32 (collective 57); rank 1 has not arrived";
        assert_eq!(stall.to_string(), said);
        stall.missing = [1, 3, 4].map(Rank).to_vec();
        assert!(stall.to_string().ends_with("; ranks 1, 3 and 4 have not arrived"), "{stall}");
        stall.missing = (1..64).map(Rank).collect();
        assert!(stall.to_string().ends_with("; ranks 1, 2, 3, 4, 5, 6, 7, 8 and 55 others have not arrived"), "{stall}");
    }
}

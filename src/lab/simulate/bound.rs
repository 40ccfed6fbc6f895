//! What keeps many GPUs from being as fast as one.

use serde::Serialize;

/// What keeps a step from being as short as on one GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    Bandwidth,
    Latency,
    Stragglers,
    /// The library's own time: cycles, negotiation, copies.
    Overhead,
}

impl Bound {
    pub(super) const ALL: [Bound; 4] = [Bound::Bandwidth, Bound::Latency, Bound::Stragglers, Bound::Overhead];

    pub fn name(self) -> &'static str {
        match self {
            Bound::Bandwidth => "bandwidth",
            Bound::Latency => "latency",
            Bound::Stragglers => "stragglers",
            Bound::Overhead => "overhead",
        }
    }
}

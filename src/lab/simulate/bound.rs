//! What keeps many GPUs from being as fast as one.

use serde::Serialize;

hvd_lab_core::named! {
    /// What keeps a step from being as short as on one GPU.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "lowercase")]
    Bound {
        Bandwidth = "bandwidth",
        Latency = "latency",
        Stragglers = "stragglers",
        /// The library's own time: cycles, negotiation, copies.
        Overhead = "overhead",
    }
}

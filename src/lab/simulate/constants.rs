//! The numbers that all simulations share.

use serde::{Deserialize, Serialize};

/// A number, and where it is from.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Sourced {
    pub value: f64,
    pub source: String,
}

/// What all simulations share. Units stand at the end of the names; the others are parts of 1, and factors.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Constants {
    /// Backward's part of a step, 0 to 1.
    pub backward_share: Sourced,
    pub ring_base_us: Sourced,
    pub ring_plateau: Sourced,
    /// Standard deviation of a rank's compute time, as a part of it.
    pub jitter: Sourced,
    pub framework: Sourced,
    pub negotiation_us: Sourced,
    pub tree_negotiation_us: Sourced,
    pub copy_gb_per_s: Sourced,
    pub cycle_ms: Sourced,
    pub fusion_mib: Sourced,
    pub old_cycle_ms: Sourced,
    pub old_fusion_mib: Sourced,
    pub ddp_first_mib: Sourced,
    pub ddp_bucket_mib: Sourced,
}

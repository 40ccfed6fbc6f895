//! What a probe is, whatever it asks.
//!
//! Never opens a device.

use crate::domain::device::{RankPlace, TelemetrySample};

/// Measures all devices of this host. `ranks` are this host's ranks with their process ids, as their topology events
/// report them; processes on a device are matched to them.
pub trait DeviceProbe: Send {
    fn sample(&mut self, ranks: &[RankPlace]) -> TelemetrySample;
}

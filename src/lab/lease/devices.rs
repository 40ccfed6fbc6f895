//! What a shared machine shares: GPUs, or cores if it has none.

use std::fmt;

use serde::Deserialize;

use crate::domain::units;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Devices {
    Gpus,
    Cores,
}

impl Devices {
    /// `1 GPU`, `4 cores`.
    pub fn counted(self, count: usize) -> String {
        units::counted(count, if self == Devices::Gpus { "GPU" } else { "core" })
    }

    /// The name of a core among the devices; GPUs have their UUID.
    pub fn core(number: usize) -> String {
        format!("core-{number}")
    }

    /// The number of a core, from its name among the devices.
    pub fn number_of_core(name: &str) -> Option<usize> {
        name.strip_prefix("core-")?.parse().ok()
    }
}

impl fmt::Display for Devices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Devices::Gpus { "GPUs" } else { "cores" })
    }
}

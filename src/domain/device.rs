//! Devices as the screen shows them: GPUs from NVML, or CPU cores where there is no GPU.
//!
//! Never reads a device: `telemetry` does. A figure that a device does not give is `Reading::Missing` with its reason.

use serde::{Deserialize, Serialize};

/// A measured figure, or why there is none. Shown as the figure or `N/A`, never as 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Reading<T> {
    Value(T),
    Missing { missing: String },
}

impl<T> Reading<T> {
    pub fn missing(reason: impl Into<String>) -> Reading<T> {
        Reading::Missing { missing: reason.into() }
    }

    pub fn value(&self) -> Option<&T> {
        match self {
            Reading::Value(value) => Some(value),
            Reading::Missing { .. } => None,
        }
    }

    pub fn reason(&self) -> Option<&str> {
        match self {
            Reading::Value(_) => None,
            Reading::Missing { missing } => Some(missing),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    Gpu,
    Cpu,
}

/// One device at one moment. Utilisation in percent of the device, 0 to 100.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceSample {
    pub kind: DeviceKind,
    /// NVML index of a GPU; 0 for the CPU.
    pub index: usize,
    pub name: String,
    /// `GPU-...` of NVML, which ranks report too; empty for the CPU.
    pub uuid: String,
    pub bus_id: Reading<String>,
    pub utilization_percent: Reading<f64>,
    /// Per core, for the CPU; empty for a GPU.
    pub core_percent: Vec<f64>,
    pub memory_used_bytes: Reading<u64>,
    pub memory_total_bytes: Reading<u64>,
    pub temperature_celsius: Reading<f64>,
    pub power_watts: Reading<f64>,
    pub power_limit_watts: Reading<f64>,
    pub fan_percent: Reading<f64>,
    pub sm_clock_mhz: Reading<u64>,
    pub memory_clock_mhz: Reading<u64>,
    pub performance_state: Reading<String>,
    pub ecc_errors: Reading<u64>,
    pub pcie_tx_bytes_per_sec: Reading<u64>,
    pub pcie_rx_bytes_per_sec: Reading<u64>,
    /// Sum over the active links, both directions.
    pub nvlink_bytes_per_sec: Reading<u64>,
    pub processes: Vec<DeviceProcess>,
}

/// A process on a device. For the CPU: a rank of the run, with its share of one core in percent (may exceed 100).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceProcess {
    pub pid: u32,
    /// The rank whose pid this is, if it belongs to the run.
    pub rank: Option<usize>,
    pub command: String,
    pub memory_bytes: Reading<u64>,
    pub utilization_percent: Reading<f64>,
}

/// All devices of a host at one moment. `time_s` is Unix time in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TelemetrySample {
    pub time_s: f64,
    pub host: String,
    pub devices: Vec<DeviceSample>,
    /// Why there are no GPUs among the devices, if there are none.
    pub gpu_missing: Option<String>,
}

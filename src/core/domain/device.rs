//! Devices as the screen shows them: GPUs from NVML, or CPU cores where there is no GPU.
//!
//! Never reads a device: `telemetry` does. A figure that a device does not give is `Reading::Missing` with its reason.

mod visible;

use serde::{Deserialize, Serialize};

use super::bounds::{Bounded, MAX_CORES, MAX_COUNT, count, first, moment, number, process};
use super::units;
pub use visible::{GpuId, visible};

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
        if let Reading::Value(value) = self { Some(value) } else { None }
    }

    pub fn reason(&self) -> Option<&str> {
        if let Reading::Missing { missing } = self { Some(missing) } else { None }
    }

    /// The figure as something else; a reason stays.
    pub fn map<U>(&self, show: impl FnOnce(&T) -> U) -> Reading<U> {
        match self {
            Reading::Value(value) => Reading::Value(show(value)),
            Reading::Missing { missing } => Reading::missing(missing.clone()),
        }
    }
}

/// NVML's words for a GPU that no longer answers. Only a reading that is missing for one of these makes a device a lost one.
pub const FALLEN: &str = "the GPU has fallen off the bus";
pub const NEEDS_RESET: &str = "the GPU needs a reset";

/// For fields that samples of older versions do not have.
fn not_recorded<T>() -> Reading<T> {
    Reading::missing("not recorded at the time")
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
    /// What keeps its clocks down, such as `power limit`; `no` where nothing does.
    #[serde(default = "not_recorded")]
    pub throttled: Reading<String>,
    /// For what part of the time its memory was read or written.
    #[serde(default = "not_recorded")]
    pub memory_bandwidth_percent: Reading<f64>,
    /// Which processes may compute on it: `default`, `exclusive` or `prohibited`.
    #[serde(default = "not_recorded")]
    pub compute_mode: Reading<String>,
    /// Whether it can be cut into MIG devices.
    #[serde(default = "not_recorded")]
    pub mig_enabled: Reading<bool>,
    #[serde(default = "not_recorded")]
    pub ecc_enabled: Reading<bool>,
    /// Errors since the driver was loaded that ECC could not correct.
    pub ecc_errors: Reading<u64>,
    pub pcie_tx_bytes_per_sec: Reading<u64>,
    pub pcie_rx_bytes_per_sec: Reading<u64>,
    /// Generation and lanes of its link, as `gen 5 x16`.
    #[serde(default = "not_recorded")]
    pub pcie_link: Reading<String>,
    /// What lies between it and each other GPU of the host.
    #[serde(default = "not_recorded")]
    pub ways_to_gpus: Reading<String>,
    /// Sum over the active links, both directions.
    pub nvlink_bytes_per_sec: Reading<u64>,
    pub processes: Vec<DeviceProcess>,
    /// CUDA_VISIBLE_DEVICES keeps programs that are started here from using it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
}

impl DeviceSample {
    /// A listed device without any reading, all missing for the same reason.
    pub fn silent(kind: DeviceKind, index: usize, name: impl Into<String>, why: &str) -> DeviceSample {
        DeviceSample {
            kind,
            index,
            name: name.into(),
            uuid: String::new(),
            bus_id: Reading::missing(why),
            utilization_percent: Reading::missing(why),
            core_percent: Vec::new(),
            memory_used_bytes: Reading::missing(why),
            memory_total_bytes: Reading::missing(why),
            temperature_celsius: Reading::missing(why),
            power_watts: Reading::missing(why),
            power_limit_watts: Reading::missing(why),
            fan_percent: Reading::missing(why),
            sm_clock_mhz: Reading::missing(why),
            memory_clock_mhz: Reading::missing(why),
            performance_state: Reading::missing(why),
            throttled: Reading::missing(why),
            memory_bandwidth_percent: Reading::missing(why),
            compute_mode: Reading::missing(why),
            mig_enabled: Reading::missing(why),
            ecc_enabled: Reading::missing(why),
            ecc_errors: Reading::missing(why),
            pcie_tx_bytes_per_sec: Reading::missing(why),
            pcie_rx_bytes_per_sec: Reading::missing(why),
            pcie_link: Reading::missing(why),
            ways_to_gpus: Reading::missing(why),
            nvlink_bytes_per_sec: Reading::missing(why),
            processes: Vec::new(),
            hidden: false,
        }
    }

    /// Why a GPU no longer answers, if NVML says so: it has fallen off the bus, or needs a reset.
    pub fn lost(&self) -> Option<&str> {
        let reasons = [self.temperature_celsius.reason(), self.memory_used_bytes.reason(), self.power_watts.reason()];
        reasons.into_iter().flatten().find(|why| [FALLEN, NEEDS_RESET].contains(why))
    }

    /// A part of a GPU: a MIG device.
    pub fn is_slice(&self) -> bool {
        self.uuid.starts_with("MIG-")
    }

    /// As people know it from nvidia-smi, and alike of a processor.
    pub fn load_name(&self) -> &'static str {
        match self.kind {
            DeviceKind::Gpu => "GPU-Util",
            DeviceKind::Cpu => "CPU-Util",
        }
    }

    /// Used memory in percent of all.
    pub fn memory_percent(&self) -> Reading<f64> {
        match (&self.memory_used_bytes, &self.memory_total_bytes) {
            (Reading::Value(used), Reading::Value(total)) if *total > 0 => Reading::Value(*used as f64 / *total as f64 * 100.0),
            (Reading::Value(_), total) => total.map(|_| 0.0),
            (used, _) => used.map(|_| 0.0),
        }
    }

    /// All that is known of the device, as text by name; the reason where something is not.
    pub fn facts(&self) -> Vec<(&'static str, Reading<String>)> {
        let percent = |reading: &Reading<f64>| reading.map(|value| format!("{value:.0} %"));
        let clock = |reading: &Reading<u64>| reading.map(|mhz| format!("{mhz} MHz"));
        let traffic = |reading: &Reading<u64>| reading.map(|rate| format!("{}/s", units::bytes(*rate)));
        // One unit, so that both directions can be compared at a glance.
        let pcie = |reading: &Reading<u64>| reading.map(|rate| format!("{:.1} MiB/s", *rate as f64 / f64::from(1 << 20)));
        let switch = |reading: &Reading<bool>| reading.map(|on| if *on { "on" } else { "off" }.to_owned());
        let memory = match (&self.memory_used_bytes, &self.memory_total_bytes) {
            (Reading::Value(used), Reading::Value(total)) => {
                Reading::Value(format!("{} of {}", units::bytes(*used), units::bytes(*total)))
            }
            (used, _) => used.map(|bytes| units::bytes(*bytes)),
        };
        let power = match (&self.power_watts, &self.power_limit_watts) {
            (Reading::Value(used), Reading::Value(limit)) => Reading::Value(format!("{used:.0} of {limit:.0} W")),
            (used, _) => used.map(|watts| format!("{watts:.0} W")),
        };
        let hidden = self.hidden.then(|| ("visible", Reading::Value("no: hidden by CUDA_VISIBLE_DEVICES".to_owned())));
        let facts = vec![
            (self.load_name(), percent(&self.utilization_percent)),
            ("memory", memory),
            ("mem bandwidth", percent(&self.memory_bandwidth_percent)),
            ("temperature", self.temperature_celsius.map(|value| format!("{value:.0} C"))),
            ("power", power),
            ("fan", percent(&self.fan_percent)),
            ("SM clock", clock(&self.sm_clock_mhz)),
            ("memory clock", clock(&self.memory_clock_mhz)),
            ("state", self.performance_state.clone()),
            ("throttled", self.throttled.clone()),
            ("compute mode", self.compute_mode.clone()),
            ("MIG", switch(&self.mig_enabled)),
            ("ECC", switch(&self.ecc_enabled)),
            ("ECC errors", self.ecc_errors.map(u64::to_string)),
            ("PCIe out", pcie(&self.pcie_tx_bytes_per_sec)),
            ("PCIe in", pcie(&self.pcie_rx_bytes_per_sec)),
            ("PCIe link", self.pcie_link.clone()),
            ("NVLink", traffic(&self.nvlink_bytes_per_sec)),
            ("to other GPUs", self.ways_to_gpus.clone()),
            ("bus", self.bus_id.clone()),
        ];
        facts.into_iter().chain(hidden).collect()
    }
}

/// Devices and processes of the largest host.
const MAX_DEVICES: usize = 4_096;
const MAX_PROCESSES: usize = 1 << 20;
/// No sensor shows more, in any unit.
const MAX_FIGURE: f64 = 1e9;

impl TelemetrySample {
    /// `None` for a line that is not a sample, or that no device can have produced.
    pub fn parse_line(line: &str) -> Option<TelemetrySample> {
        serde_json::from_str(line.trim_end()).ok().filter(|sample: &TelemetrySample| sample.out_of_bounds().is_none())
    }
}

impl Bounded for TelemetrySample {
    fn out_of_bounds(&self) -> Option<String> {
        first([moment("time", self.time_s), count("number of devices", self.devices.len(), MAX_DEVICES)])
            .or_else(|| self.devices.iter().find_map(DeviceSample::out_of_bounds))
            .or_else(|| self.machine.as_ref()?.out_of_bounds())
    }
}

fn shown(what: &str, reading: &Reading<f64>) -> Option<String> {
    number(what, *reading.value()?, MAX_FIGURE)
}

fn counted(what: &str, reading: &Reading<u64>) -> Option<String> {
    count(what, usize::try_from(*reading.value()?).unwrap_or(usize::MAX), MAX_COUNT)
}

impl Bounded for Machine {
    fn out_of_bounds(&self) -> Option<String> {
        let (used, total) = (&self.memory_used_bytes, &self.memory_total_bytes);
        first([shown("CPU", &self.cpu_percent), counted("memory used", used), counted("memory", total)])
    }
}

impl Bounded for DeviceSample {
    fn out_of_bounds(&self) -> Option<String> {
        first([
            count("device", self.index, MAX_DEVICES),
            count("number of cores", self.core_percent.len(), MAX_CORES),
            count("number of processes", self.processes.len(), MAX_PROCESSES),
            self.core_percent.iter().find_map(|percent| number("core", *percent, MAX_FIGURE)),
            shown("utilization", &self.utilization_percent),
            shown("memory bandwidth", &self.memory_bandwidth_percent),
            counted("memory used", &self.memory_used_bytes),
            counted("memory", &self.memory_total_bytes),
            shown("temperature", &self.temperature_celsius),
            shown("power", &self.power_watts),
            shown("power limit", &self.power_limit_watts),
            shown("fan", &self.fan_percent),
            counted("SM clock", &self.sm_clock_mhz),
            counted("memory clock", &self.memory_clock_mhz),
            counted("PCIe out", &self.pcie_tx_bytes_per_sec),
            counted("PCIe in", &self.pcie_rx_bytes_per_sec),
            counted("NVLink", &self.nvlink_bytes_per_sec),
            self.processes.iter().find_map(|of| {
                first([
                    of.rank.and_then(|rank| process("rank", rank)),
                    counted("memory of a process", &of.memory_bytes),
                    shown("utilization of a process", &of.utilization_percent),
                ])
            }),
        ])
    }
}

/// A rank of a run as it reports itself: processes on a device are matched to it.
#[derive(Clone, Debug, PartialEq)]
pub struct RankPlace {
    pub rank: usize,
    pub pid: u32,
    /// Of the GPU that it computes on.
    pub device_uuid: Option<String>,
}

impl RankPlace {
    /// CUDA gives the same digits as NVML, whatever CUDA_VISIBLE_DEVICES makes of the order; for a MIG device with another
    /// prefix.
    pub fn is_on(&self, device_uuid: &str) -> bool {
        fn digits(uuid: &str) -> &str {
            uuid.trim_start_matches("GPU-").trim_start_matches("MIG-")
        }
        self.device_uuid.as_deref().is_some_and(|uuid| !uuid.is_empty() && digits(uuid).eq_ignore_ascii_case(digits(device_uuid)))
    }
}

/// A process on a device. For the CPU: a rank of the run, with its share of one core in percent (may exceed 100).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceProcess {
    pub pid: u32,
    /// The rank whose pid this is, if it belongs to the run.
    pub rank: Option<usize>,
    pub command: String,
    /// The user that it runs as.
    #[serde(default = "not_recorded")]
    pub owner: Reading<String>,
    pub memory_bytes: Reading<u64>,
    pub utilization_percent: Reading<f64>,
}

/// What the GPUs of a host have around them. A host without GPUs has its CPU as a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    pub cpu_percent: Reading<f64>,
    pub memory_used_bytes: Reading<u64>,
    pub memory_total_bytes: Reading<u64>,
    pub driver: Reading<String>,
    /// Newest CUDA version that the driver runs, as `13.0`.
    pub cuda: Reading<String>,
}

/// All devices of a host at one moment. `time_s` is Unix time in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TelemetrySample {
    pub time_s: f64,
    pub host: String,
    pub devices: Vec<DeviceSample>,
    /// Why there are no GPUs among the devices, if there are none.
    pub gpu_missing: Option<String>,
    /// Older samples have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_gpu_that_nvml_calls_lost_is_lost() {
        for (why, lost) in
            [("not supported by this device", false), ("unknown error", false), (FALLEN, true), (NEEDS_RESET, true)]
        {
            let mut gpu = DeviceSample::silent(DeviceKind::Gpu, 0, "GPU", why);
            assert_eq!(gpu.lost(), Some(why).filter(|_| lost));
            gpu.temperature_celsius = Reading::Value(40.0);
            assert_eq!(gpu.lost().is_some(), lost, "{why}: one figure of a while ago does not bring it back");
        }
    }

    #[test]
    fn a_recording_of_before_opens_and_says_what_it_does_not_have() {
        let mut gpu = DeviceSample::silent(DeviceKind::Gpu, 0, "GPU", "not asked");
        gpu.memory_bandwidth_percent = Reading::Value(20.0);
        let now = TelemetrySample { time_s: 1.0, host: "node".into(), devices: vec![gpu], gpu_missing: None, machine: None };
        let mut older = serde_json::to_value(&now).unwrap();
        for field in ["throttled", "memory_bandwidth_percent", "pcie_link", "ways_to_gpus"] {
            assert!(older["devices"][0].as_object_mut().unwrap().remove(field).is_some(), "{field}");
        }
        let older = TelemetrySample::parse_line(&older.to_string()).unwrap();
        for (name, fact) in older.devices[0].facts() {
            let is_new = ["throttled", "mem bandwidth", "PCIe link", "to other GPUs"].contains(&name);
            assert_eq!(fact.reason() == Some("not recorded at the time"), is_new, "{name}");
        }
        assert!(older.machine.is_none());
    }

    #[test]
    fn both_directions_of_pcie_have_one_unit() {
        let mut gpu = DeviceSample::silent(DeviceKind::Gpu, 0, "GPU", "not asked");
        (gpu.pcie_tx_bytes_per_sec, gpu.pcie_rx_bytes_per_sec) = (Reading::Value(1000 << 10), Reading::Value(24 << 30));
        let facts = gpu.facts();
        let fact = |name: &str| facts.iter().find(|(known, _)| *known == name).and_then(|(_, fact)| fact.value().cloned());
        assert_eq!([fact("PCIe out"), fact("PCIe in")], [Some("1.0 MiB/s".into()), Some("24576.0 MiB/s".into())]);
    }
}

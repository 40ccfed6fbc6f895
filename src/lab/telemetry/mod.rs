//! Device telemetry: GPUs by NVML, CPU cores where there is no GPU, sampled off the screen's thread.
//!
//! A device, field or library that does not answer becomes a reading with its reason, not an error.

use crate::domain::device::{RankPlace, TelemetrySample};
use crate::host::cpu::CpuProbe;

mod history;
mod nvml;
mod sampler;

pub use history::{History, Point};
pub use nvml::{GpuSystem, NvmlProbe};
pub use sampler::{SAMPLE_PERIOD, Sampler};

/// Measures all devices of this host with each call: GPUs by NVML, or the CPU with the reason why there is no GPU.
///
/// It takes the ranks of this host, with the process ids that they reported, and matches the processes on a device to them. NVML is
/// opened by the first call, on the thread that makes it: loading a driver takes its time.
pub fn probe() -> impl FnMut(&[RankPlace]) -> TelemetrySample + Send + 'static {
    enum Probe {
        Nvml(NvmlProbe),
        Cpu(CpuProbe),
    }
    let open = || NvmlProbe::open().map_or_else(|reason| Probe::Cpu(CpuProbe::new(reason)), Probe::Nvml);
    let mut opened = None;
    move |ranks| match opened.get_or_insert_with(open) {
        Probe::Nvml(probe) => probe.sample(ranks),
        Probe::Cpu(probe) => probe.sample(ranks),
    }
}

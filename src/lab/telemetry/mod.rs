//! Device telemetry: GPUs by NVML, CPU cores where there is no GPU, sampled off the screen's thread.
//!
//! Never draws, and never fails: a device, field or library that does not answer is a reading with its reason.

use crate::domain::device::{RankPlace, TelemetrySample};
use crate::host::cpu::CpuProbe;

mod history;
mod nvml;
mod probe;
mod sampler;
mod scripted;

pub use history::{DeviceHistory, History, Point};
pub use nvml::{GpuSystem, NvmlProbe};
pub use probe::DeviceProbe;
pub use sampler::{SAMPLE_PERIOD, Sampler};
pub use scripted::ScriptedProbe;

/// The probe for this machine: NVML where it finds a GPU, else the CPU with the reason why there is none. It is opened
/// at its first sample, on the thread that takes it: loading a driver takes its time.
pub fn probe() -> Box<dyn DeviceProbe> {
    Box::new(LateProbe(None))
}

impl DeviceProbe for CpuProbe {
    fn sample(&mut self, ranks: &[RankPlace]) -> TelemetrySample {
        CpuProbe::sample(self, ranks)
    }
}

struct LateProbe(Option<Box<dyn DeviceProbe>>);

impl DeviceProbe for LateProbe {
    fn sample(&mut self, ranks: &[RankPlace]) -> TelemetrySample {
        let open = || -> Box<dyn DeviceProbe> {
            match NvmlProbe::open() {
                Ok(probe) => Box::new(probe),
                Err(reason) => Box::new(CpuProbe::new(reason)),
            }
        };
        self.0.get_or_insert_with(open).sample(ranks)
    }
}

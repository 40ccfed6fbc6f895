//! The CPU as a device: use of each core and of each rank's process, where there is no GPU to watch.
//!
//! Such a sample has the kind `Cpu`, and says why there is no GPU.

use std::collections::HashMap;
use std::time::Instant;

use sysinfo::{MINIMUM_CPU_UPDATE_INTERVAL, Pid, ProcessRefreshKind, ProcessesToUpdate, System};

use super::{cgroup, process};
use crate::domain::device::{DeviceKind, DeviceProcess, DeviceSample, RankPlace, Reading, TelemetrySample};

/// Memory that programs can still get, and all there is, in bytes: this host's, or less where a container is limited.
/// Both are 0 if the host does not report them.
pub fn host_memory() -> (u64, u64) {
    let mut system = System::new();
    system.refresh_memory();
    let limits = cgroup::limits();
    (system.available_memory().min(limits.free_memory), system.total_memory().min(limits.memory))
}

/// Use is a difference of two readings.
const FIRST: &str = "known from the second sample on";
const NO_SENSOR: &str = "not measured for a CPU";

/// CPU time that a process had used at a moment, and its use up to then in percent of one core.
#[derive(Clone, Copy)]
struct CpuTime {
    at: Instant,
    used_ms: u64,
    percent: Option<f64>,
}

pub struct CpuProbe {
    system: System,
    host: String,
    gpu_missing: String,
    refreshed: Instant,
    /// Core use of the last refresh; empty until there are two readings.
    core_percent: Vec<f64>,
    /// CPU time of the ranks' processes at the samples before, by process id.
    used: HashMap<u32, CpuTime>,
}

impl CpuProbe {
    /// `gpu_missing` is the reason why the CPU is shown rather than a GPU.
    pub fn new(gpu_missing: impl Into<String>) -> CpuProbe {
        let mut system = System::new();
        system.refresh_cpu_usage();
        CpuProbe {
            system,
            host: super::name(),
            gpu_missing: gpu_missing.into(),
            refreshed: Instant::now(),
            core_percent: Vec::new(),
            used: HashMap::new(),
        }
    }

    /// Shorter intervals than the kernel's own accounting give nonsense: then the figures before stay.
    fn refresh(&mut self) {
        if self.refreshed.elapsed() < MINIMUM_CPU_UPDATE_INTERVAL {
            return;
        }
        self.refreshed = Instant::now();
        self.system.refresh_cpu_usage();
        self.core_percent = self.system.cpus().iter().map(|core| tenths(f64::from(core.cpu_usage()).clamp(0.0, 100.0))).collect();
    }

    fn processes(&mut self, ranks: &[RankPlace]) -> Vec<DeviceProcess> {
        let pids: Vec<Pid> = ranks.iter().map(|place| Pid::from_u32(place.pid)).collect();
        let what = ProcessRefreshKind::nothing().with_cpu().with_memory().without_tasks();
        self.system.refresh_processes_specifics(ProcessesToUpdate::Some(&pids), true, what);
        let mut used = HashMap::new();
        let mut processes = Vec::new();
        for &RankPlace { rank, pid, .. } in ranks {
            // A rank that has ended is no process any more: it is left out rather than shown idle.
            let Some(found) = self.system.process(Pid::from_u32(pid)) else { continue };
            let now = CpuTime::since(self.used.get(&pid), found.accumulated_cpu_time());
            used.insert(pid, now);
            processes.push(DeviceProcess {
                pid,
                rank: Some(rank),
                command: process::command(pid),
                owner: process::owner(pid),
                memory_bytes: Reading::Value(found.memory()),
                utilization_percent: now.percent.map_or_else(|| Reading::missing(FIRST), Reading::Value),
            });
        }
        self.used = used;
        processes
    }

    /// `ranks` are this host's ranks; those that have ended are left out.
    pub fn sample(&mut self, ranks: &[RankPlace]) -> TelemetrySample {
        self.refresh();
        let processes = self.processes(ranks);
        let cores = self.core_percent.len();
        let utilization_percent = match cores {
            0 => Reading::missing(FIRST),
            _ => Reading::Value(tenths(self.core_percent.iter().sum::<f64>() / cores as f64)),
        };
        let (available, total) = host_memory();
        let memory = |bytes: u64| if total > 0 { Reading::Value(bytes) } else { Reading::missing("this system does not tell") };
        let name = self.system.cpus().first().map(|core| core.brand().trim().to_owned()).filter(|name| !name.is_empty());
        let device = DeviceSample {
            bus_id: Reading::missing("a CPU has none"),
            utilization_percent,
            core_percent: self.core_percent.clone(),
            memory_used_bytes: memory(total.saturating_sub(available)),
            memory_total_bytes: memory(total),
            nvlink_bytes_per_sec: Reading::missing("a CPU has none"),
            processes,
            ..DeviceSample::silent(DeviceKind::Cpu, 0, name.unwrap_or_else(|| "CPU".into()), NO_SENSOR)
        };
        let gpu_missing = Some(self.gpu_missing.clone());
        TelemetrySample { time_s: super::now_s(), host: self.host.clone(), devices: vec![device], gpu_missing, machine: None }
    }
}

impl CpuTime {
    /// The kernel counts in ticks of 10 ms: over short intervals the figure before stays.
    fn since(before: Option<&CpuTime>, used_ms: u64) -> CpuTime {
        let at = Instant::now();
        let Some(before) = before else { return CpuTime { at, used_ms, percent: None } };
        let elapsed = at - before.at;
        if elapsed < MINIMUM_CPU_UPDATE_INTERVAL {
            return *before;
        }
        let percent = used_ms.saturating_sub(before.used_ms) as f64 / elapsed.as_secs_f64() / 10.0;
        CpuTime { at, used_ms, percent: Some(tenths(percent)) }
    }
}

/// Further digits would only make recordings longer.
fn tenths(percent: f64) -> f64 {
    (percent * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sample_claims_no_use_and_the_second_does() {
        let mut probe = CpuProbe::new("no driver");
        let place = |rank, pid| RankPlace { rank, pid, device_uuid: None };
        let ranks = [place(3, std::process::id()), place(4, u32::MAX - 1)];
        let first = probe.sample(&ranks);
        assert_eq!(first.gpu_missing.as_deref(), Some("no driver"));
        assert_eq!(first.devices[0].kind, DeviceKind::Cpu);
        assert_eq!(first.devices[0].utilization_percent.reason(), Some(FIRST));
        assert!(first.devices[0].memory_total_bytes.value().is_some_and(|&bytes| bytes > 1 << 20));

        // Keeps one core busy, so that this process must show up.
        let start = Instant::now();
        let mut sum = 0_u64;
        while start.elapsed() < MINIMUM_CPU_UPDATE_INTERVAL + MINIMUM_CPU_UPDATE_INTERVAL / 2 {
            sum = std::hint::black_box(sum.wrapping_mul(31) + 1);
        }
        let second = probe.sample(&ranks);
        let device = &second.devices[0];
        assert!(device.utilization_percent.value().is_some_and(|&percent| percent > 0.0 && percent <= 100.0));
        assert!(!device.core_percent.is_empty());
        assert_eq!(device.processes.len(), 1, "a pid that is gone is left out");
        assert_eq!(device.processes[0].rank, Some(3));
        assert!(device.processes[0].utilization_percent.value().is_some_and(|&percent| percent > 5.0), "{device:?}");
        assert!(device.processes[0].memory_bytes.value().is_some_and(|&bytes| bytes > 100_000));
    }
}

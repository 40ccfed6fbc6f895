//! GPUs by NVML: nothing outside of this file and its folder names it.
//!
//! A field that a device does not give is missing, with NVML's reason in plain words.

mod links;
mod reasons;

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::sync::OnceLock;

use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{
    Clock, ComputeMode, EccCounter, MemoryError, PcieUtilCounter, PerformanceState, TemperatureSensor,
};
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::enums::gpm::GpmMetricId;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::gpm::{GpmSample, gpm_metrics_get};
use nvml_wrapper::struct_wrappers::device::{MemoryInfo, Utilization};
use nvml_wrapper::{Device, Nvml};

use reasons::{connect_reason, read, read_or, reason};

use crate::domain::device::{self, DeviceKind, DeviceProcess, DeviceSample, GpuId, Machine, RankPlace, Reading, TelemetrySample};
use crate::host::{self, cpu::CpuProbe, driver, process};

/// Names of the library, tried in turn: drivers install the first, the second comes with their development files.
const LIBRARIES: [&str; 2] = ["libnvidia-ml.so.1", "libnvidia-ml.so"];

/// NVML keeps samples of the processes that used the GPU: the newest of this many seconds counts.
const PROCESS_WINDOW_S: f64 = 1.5;
const IDLE: &str = "no activity in the last second";
/// Of a rank that says it is on a GPU, while NVML lists no process of its id there.
const UNSEEN: &str = "NVML lists no process of this id: a container may number its processes differently";

/// The driver and its GPUs, for `doctor`.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuSystem {
    pub driver: Reading<String>,
    /// Newest CUDA version that the driver runs, as `13.0`.
    pub cuda: Reading<String>,
    pub gpus: Vec<String>,
    /// Those of them that CUDA_VISIBLE_DEVICES leaves, or of which it leaves a MIG device.
    pub visible: Vec<usize>,
}

pub struct NvmlProbe {
    nvml: &'static Nvml,
    host: String,
    /// The sample before of each GPU's traffic counters, by UUID.
    traffic: HashMap<String, GpmSample<'static>>,
    /// What lies between a GPU and the others, by UUID: asked for once, for it does not change.
    ways: HashMap<String, Reading<String>>,
    /// Of the driver, and of the newest CUDA that it runs: neither changes under a program that has opened the library.
    versions: [Reading<String>; 2],
    cpu: CpuProbe,
}

impl NvmlProbe {
    /// Opens the library named by HVD_LAB_NVML, else the driver's own; once for the whole process.
    ///
    /// # Errors
    /// Why there is no GPU to watch, in one sentence.
    pub fn open() -> Result<NvmlProbe, String> {
        static NVML: OnceLock<Result<Nvml, String>> = OnceLock::new();
        let named = || std::env::var_os("HVD_LAB_NVML").filter(|path| !path.is_empty());
        NvmlProbe::watch(NVML.get_or_init(|| connect(named())).as_ref().map_err(Clone::clone)?)
    }

    /// Opens this very library. It stays loaded: meant for tests with a stand-in.
    ///
    /// # Errors
    /// As [`NvmlProbe::open`].
    pub fn open_library(path: &OsStr) -> Result<NvmlProbe, String> {
        NvmlProbe::watch(Box::leak(Box::new(connect(Some(path.to_owned()))?)))
    }

    fn watch(nvml: &'static Nvml) -> Result<NvmlProbe, String> {
        match nvml.device_count() {
            Ok(0) => Err("NVML sees no GPU: in a container, start it with GPU access".into()),
            Ok(_) => {
                let (traffic, ways) = (HashMap::new(), HashMap::new());
                Ok(NvmlProbe { nvml, host: host::name(), traffic, ways, versions: versions(nvml), cpu: CpuProbe::new("") })
            }
            Err(error) => Err(format!("NVML does not list the GPUs: {}", reason(&error))),
        }
    }

    pub fn system(&self) -> GpuSystem {
        let [driver, cuda] = self.versions.clone();
        let gpus = self.devices().map(|(_, device)| match device.and_then(|device| device.name()) {
            Ok(name) => name,
            Err(error) => format!("not accessible: {}", reason(&error)),
        });
        let gpus = gpus.collect();
        GpuSystem { driver, cuda, gpus, visible: self.visible() }
    }

    fn visible(&self) -> Vec<usize> {
        let uuid = |device: &Device| device.uuid().unwrap_or_default();
        let ids = |(index, device): (u32, Result<Device<'static>, NvmlError>)| -> Vec<GpuId> {
            let Ok(device) = device else { return vec![(index as usize, String::new())] };
            [uuid(&device)].into_iter().chain(slices_of(&device).iter().map(uuid)).map(|uuid| (index as usize, uuid)).collect()
        };
        let ids: Vec<GpuId> = self.devices().flat_map(ids).collect();
        let mut visible: Vec<usize> =
            device::visible(driver::visible_devices().as_deref(), &ids).into_iter().map(|place| ids[place].0).collect();
        visible.dedup();
        visible
    }

    fn devices(&self) -> impl Iterator<Item = (u32, Result<Device<'static>, NvmlError>)> + use<> {
        let nvml = self.nvml;
        (0..nvml.device_count().unwrap_or(0)).map(move |index| (index, nvml.device_by_index(index)))
    }

    /// `ranks` are this host's ranks.
    pub fn sample(&mut self, ranks: &[RankPlace]) -> TelemetrySample {
        let mut devices = Vec::new();
        for (index, device) in self.devices() {
            match device {
                // A GPU that NVML counts but does not open.
                Err(error) => {
                    let (index, why) = (index as usize, reason(&error));
                    devices.push(DeviceSample::silent(DeviceKind::Gpu, index, format!("GPU {index}: {why}"), &why));
                }
                Ok(device) => {
                    let slices = slices_of(&device);
                    let mut whole = self.sample_device(index as usize, &device, ranks);
                    if !slices.is_empty() {
                        // Processes are listed once, on the slice that they run on.
                        whole.processes.clear();
                    }
                    devices.push(whole);
                    for slice in &slices {
                        devices.push(self.sample_device(index as usize, slice, ranks));
                    }
                }
            }
        }
        driver::visible_devices().iter().for_each(|choice| hide(&mut devices, choice));
        // Ranks that train on the CPU beside idle GPUs, or whose ids NVML reports in another container's numbers.
        let is_placed =
            |place: &RankPlace| devices.iter().flat_map(|device| &device.processes).any(|found| found.rank == Some(place.rank));
        let elsewhere: Vec<RankPlace> = ranks.iter().filter(|place| !is_placed(place)).cloned().collect();
        let cpu = self.cpu.sample(&elsewhere).devices;
        let [driver, cuda] = self.versions.clone();
        let machine = cpu.first().map(|cpu| Machine {
            cpu_percent: cpu.utilization_percent.clone(),
            memory_used_bytes: cpu.memory_used_bytes.clone(),
            memory_total_bytes: cpu.memory_total_bytes.clone(),
            driver,
            cuda,
        });
        devices.extend(cpu.into_iter().filter(|_| !elsewhere.is_empty()));
        let gpu_missing = devices.is_empty().then(|| "NVML lists no GPU any more".to_owned());
        TelemetrySample { time_s: host::now_s(), host: self.host.clone(), devices, gpu_missing, machine }
    }

    fn sample_device(&mut self, index: usize, device: &Device<'static>, ranks: &[RankPlace]) -> DeviceSample {
        let uuid = device.uuid().unwrap_or_default();
        let nvlink_bytes_per_sec = self.nvlink(device, &uuid);
        let is_slice = device.mig_is_mig_device_handle().unwrap_or(false);
        let ways_to_gpus = self.ways_to_gpus(index, device, &uuid);
        let rates = |pick: fn(&Utilization) -> u32| {
            let why = || (is_slice || is_cut(device)).then(|| "NVML gives no utilisation in MIG mode".into());
            read_or(device.utilization_rates().map(|rates| f64::from(pick(&rates))), why)
        };
        let memory_info = device.memory_info();
        let bytes = |pick: fn(&MemoryInfo) -> u64| match &memory_info {
            Ok(info) => Reading::Value(pick(info)),
            Err(error) => Reading::missing(reason(error)),
        };
        let fans = device.num_fans().and_then(|count| match count {
            0 => Err(NvmlError::NotSupported),
            _ => device.fan_speed(0),
        });
        // Kibibytes over the last 20 ms, as NVML measures.
        let pcie = |counter| read(device.pcie_throughput(counter).map(|kib_per_sec| u64::from(kib_per_sec) * 1024));
        DeviceSample {
            kind: DeviceKind::Gpu,
            index,
            name: device.name().unwrap_or_else(|error| format!("GPU ({})", reason(&error))),
            bus_id: read(device.pci_info().map(|info| info.bus_id)),
            utilization_percent: rates(|rates| rates.gpu),
            core_percent: Vec::new(),
            memory_used_bytes: bytes(|info| info.used),
            memory_total_bytes: bytes(|info| info.total),
            temperature_celsius: read(device.temperature(TemperatureSensor::Gpu).map(f64::from)),
            power_watts: read(device.power_usage().map(watts)),
            power_limit_watts: read(device.enforced_power_limit().map(watts)),
            fan_percent: read_or(fans.map(f64::from), || Some("no fan of its own".into())),
            sm_clock_mhz: read(device.clock_info(Clock::SM).map(u64::from)),
            memory_clock_mhz: read(device.clock_info(Clock::Memory).map(u64::from)),
            performance_state: match device.performance_state() {
                Ok(PerformanceState::Unknown) => Reading::missing("NVML does not know it"),
                other => read(other.map(|state| format!("P{}", state.as_c()))),
            },
            throttled: read(device.current_throttle_reasons().map(throttled)),
            memory_bandwidth_percent: rates(|rates| rates.memory),
            compute_mode: read(device.compute_mode().map(|mode| compute_mode_name(mode).to_owned())),
            mig_enabled: if is_slice {
                Reading::missing("it is a MIG device itself")
            } else {
                read_or(device.mig_mode().map(|mode| mode.current == 1), || Some("this GPU cannot be cut".into()))
            },
            ecc_enabled: read_or(device.is_ecc_enabled().map(|mode| mode.currently_enabled), || Some("no ECC built in".into())),
            ecc_errors: read_or(device.total_ecc_errors(MemoryError::Uncorrected, EccCounter::Volatile), || {
                Some("ECC is off or not built in".into())
            }),
            pcie_tx_bytes_per_sec: pcie(PcieUtilCounter::Send),
            pcie_rx_bytes_per_sec: pcie(PcieUtilCounter::Receive),
            pcie_link: read(links::pcie(device)),
            ways_to_gpus,
            nvlink_bytes_per_sec,
            processes: processes(device, &uuid, ranks),
            uuid,
            hidden: false,
        }
    }

    fn ways_to_gpus(&mut self, index: usize, device: &Device<'static>, uuid: &str) -> Reading<String> {
        if let Some(known) = self.ways.get(uuid) {
            return known.clone();
        }
        let others = self.devices().filter(|(other, _)| *other as usize != index);
        let others: Vec<(usize, Device)> = others.filter_map(|(other, device)| Some((other as usize, device.ok()?))).collect();
        let is_alone = others.is_empty();
        let ways = match links::ways(device, others) {
            _ if is_alone => Reading::missing("it is the only GPU here"),
            ways if ways.is_empty() => Reading::missing(reason(&NvmlError::NotSupported)),
            ways => Reading::Value(ways),
        };
        self.ways.insert(uuid.to_owned(), ways.clone());
        ways
    }

    /// Traffic over all links since the last sample, both directions: the difference of two GPM samples (Hopper and newer).
    fn nvlink(&mut self, device: &Device<'static>, uuid: &str) -> Reading<u64> {
        if !links::is_linked(device) {
            return Reading::missing("no active NVLink");
        }
        if !device.gpm_support().unwrap_or(false) {
            return Reading::missing("NVML measures it on Hopper and newer GPUs only");
        }
        let now = match device.gpm_sample() {
            Ok(sample) => sample,
            Err(error) => return Reading::missing(reason(&error)),
        };
        let before = self.traffic.remove(uuid);
        let now = self.traffic.entry(uuid.to_owned()).or_insert(now);
        let Some(before) = before else {
            return Reading::missing("known from the second sample on");
        };
        let ids = [GpmMetricId::NvlinkTotalRxPerSec, GpmMetricId::NvlinkTotalTxPerSec];
        let sum = gpm_metrics_get(self.nvml, &before, now, &ids)
            .and_then(|metrics| metrics.into_iter().map(|metric| metric.map(|metric| metric.value)).sum::<Result<f64, _>>());
        // NVML gives mebibytes per second.
        read(sum.map(|mib_per_sec| (mib_per_sec.max(0.0) * 1024.0 * 1024.0) as u64))
    }
}

fn connect(named: Option<OsString>) -> Result<Nvml, String> {
    let names = named.map_or(LIBRARIES.map(OsString::from).to_vec(), |path| vec![path]);
    let mut first_failure = None;
    for name in &names {
        match Nvml::builder().lib_path(name).init() {
            Ok(nvml) => return Ok(nvml),
            Err(error) => first_failure = first_failure.or(Some(connect_reason(name, &error))),
        }
    }
    Err(first_failure.unwrap_or_default())
}

fn watts(milliwatts: u32) -> f64 {
    f64::from(milliwatts) / 1000.0
}

fn versions(nvml: &Nvml) -> [Reading<String>; 2] {
    let cuda = nvml.sys_cuda_driver_version().map(|version| {
        format!("{}.{}", nvml_wrapper::cuda_driver_version_major(version), nvml_wrapper::cuda_driver_version_minor(version))
    });
    [read(nvml.sys_driver_version()), read(cuda)]
}

/// What keeps the clocks down. An idle GPU, and clocks that somebody set, are no slowdown.
fn throttled(reasons: ThrottleReasons) -> String {
    const WORDS: [(ThrottleReasons, &str); 5] = [
        (ThrottleReasons::SW_POWER_CAP, "power limit"),
        (ThrottleReasons::SW_THERMAL_SLOWDOWN.union(ThrottleReasons::HW_THERMAL_SLOWDOWN), "too hot"),
        (ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN, "power brake"),
        (ThrottleReasons::HW_SLOWDOWN, "hardware slowdown"),
        (ThrottleReasons::SYNC_BOOST, "another GPU of its group"),
    ];
    let words: Vec<&str> = WORDS.iter().filter(|(flag, _)| reasons.intersects(*flag)).map(|(_, words)| *words).collect();
    if words.is_empty() { "no".into() } else { words.join(", ") }
}

fn compute_mode_name(mode: ComputeMode) -> &'static str {
    match mode {
        ComputeMode::Default => "default",
        ComputeMode::ExclusiveThread | ComputeMode::ExclusiveProcess => "exclusive",
        ComputeMode::Prohibited => "prohibited",
    }
}

/// Whether MIG is on.
fn is_cut(device: &Device) -> bool {
    device.mig_mode().is_ok_and(|mode| mode.current == 1)
}

/// The MIG devices of a GPU; none where MIG is off.
fn slices_of(device: &Device<'static>) -> Vec<Device<'static>> {
    let count = if is_cut(device) { device.mig_device_count().unwrap_or(0) } else { 0 };
    (0..count).filter_map(|index| device.mig_device_by_index(index).ok()).collect()
}

fn processes(device: &Device, uuid: &str, ranks: &[RankPlace]) -> Vec<DeviceProcess> {
    // Without permission or support there is nothing to list; the pane shows the device alone.
    let mut running = device.running_compute_processes().unwrap_or_default();
    running.extend(device.running_graphics_processes().unwrap_or_default());
    running.sort_by_key(|found| found.pid);
    running.dedup_by_key(|found| found.pid);
    let entry = |pid, rank, memory_bytes, utilization_percent| {
        let (command, owner) = (process::command(pid), process::owner(pid));
        DeviceProcess { pid, rank, command, owner, memory_bytes, utilization_percent }
    };
    // In a container NVML may report other process ids than the ranks have: then the GPU that a rank named decides.
    let unseen = ranks.iter().filter(|place| place.is_on(uuid) && !running.iter().any(|found| found.pid == place.pid));
    let unseen = unseen.map(|place| entry(place.pid, Some(place.rank), Reading::missing(UNSEEN), Reading::missing(UNSEEN)));
    let unseen: Vec<DeviceProcess> = unseen.collect();
    if running.is_empty() {
        return unseen;
    }
    let since_us = ((host::now_s() - PROCESS_WINDOW_S) * 1e6) as u64;
    let samples = device.process_utilization_stats(since_us);
    let utilization = |pid: u32| match &samples {
        Ok(samples) => match samples.iter().filter(|sample| sample.pid == pid).max_by_key(|sample| sample.timestamp) {
            Some(sample) => Reading::Value(f64::from(sample.sm_util)),
            None => Reading::missing(IDLE),
        },
        Err(NvmlError::NotFound) => Reading::missing(IDLE),
        Err(error) => Reading::missing(reason(error)),
    };
    let listed = running.into_iter().map(|found| {
        let rank = ranks.iter().find(|place| place.pid == found.pid).map(|place| place.rank);
        let memory = match found.used_gpu_memory {
            UsedGpuMemory::Used(bytes) => Reading::Value(bytes),
            UsedGpuMemory::Unavailable => Reading::missing("the driver does not say"),
        };
        entry(found.pid, rank, memory, utilization(found.pid))
    });
    listed.chain(unseen).collect()
}

/// Marks what programs do not see. A GPU is seen with any of its MIG devices, and those of a GPU that is seen as a whole with it.
fn hide(devices: &mut [DeviceSample], choice: &str) {
    let ids: Vec<GpuId> = devices.iter().map(|device| (device.index, device.uuid.clone())).collect();
    let visible = device::visible(Some(choice), &ids);
    for device in devices {
        let is_part = |place: &usize| ids[*place].0 == device.index && !(device.is_slice() && ids[*place].1.starts_with("MIG-"));
        device.hidden =
            !visible.iter().any(|place| ids[*place].1 == device.uuid && ids[*place].0 == device.index || is_part(place));
    }
}

//! One line a host: all of its GPUs together.
//!
//! A MIG device is not added to the GPU that it is a part of.

use super::parts::is_gpu;
use ratatui::text::{Line, Span};

use crate::columns::{self, cut};
use crate::domain::device::{DeviceSample, Reading, TelemetrySample};
use crate::domain::units;
use crate::tui::devices::draw::cells::gib;
use crate::tui::widgets::Theme;

/// One host by its name, several by their number. `cells` says what the cells below it are, which have no head of their own.
pub fn line(theme: Theme, samples: &[&TelemetrySample], cells: Option<String>, width: usize) -> Line<'static> {
    let hosts = match samples {
        // A long name leaves the figures their room.
        [sample] => cut(&sample.host, width / 3),
        several => units::counted(several.len(), "host"),
    };
    named(theme, &hosts, parts(samples, cells), width)
}

/// One host with what its ranks have around them: CPU, memory, driver, and GPU processes that are no ranks.
pub fn host(theme: Theme, sample: &TelemetrySample, width: usize) -> Line<'static> {
    let gpus: Vec<&DeviceSample> = sample.devices.iter().filter(|device| is_gpu(device) && !device.is_slice()).collect();
    let several = if gpus.len() > 1 { vec![units::counted(gpus.len(), "GPU"), mean_of(&gpus)] } else { Vec::new() };
    let others = sample.devices.iter().filter(|device| is_gpu(device)).flat_map(|device| &device.processes);
    let others = match others.filter(|process| process.rank.is_none()).count() {
        0 => Vec::new(),
        1 => vec!["1 process is no rank".to_owned()],
        others => vec![format!("{others} processes are no ranks")],
    };
    let all = [several, around(sample), others, whole_figures(&gpus)].concat();
    named(theme, &cut(&sample.host, width / 3), all, width)
}

/// A name, and behind it as many figures as fit: half a figure would be wrong.
fn named(theme: Theme, name: &str, figures: Vec<String>, width: usize) -> Line<'static> {
    let name = cut(&format!(" {name} "), width);
    let left = width.saturating_sub(columns::width(&name));
    let mut text = String::new();
    for figure in figures {
        if !text.is_empty() && columns::width(&text) + 3 + columns::width(&figure) > left {
            break;
        }
        text = if text.is_empty() { figure } else { format!("{text} · {figure}") };
    }
    Line::from(vec![Span::styled(name, theme.strong()), Span::styled(cut(&text, left), theme.dim())])
}

/// `CPU 98 %`, `mem 1.0/24G`, `driver 580`, `CUDA 13.0`, as far as they are known.
fn around(sample: &TelemetrySample) -> Vec<String> {
    let of_memory = |used: &Reading<u64>, total: &Reading<u64>| match (used, total) {
        (Reading::Value(used), Reading::Value(total)) => Some(format!("mem {}/{}G", gib(*used), gib(*total))),
        _ => None,
    };
    if let Some(machine) = &sample.machine {
        let cpu = machine.cpu_percent.value().map(|percent| format!("CPU {percent:.0} %"));
        let named = |name: &str, version: &Reading<String>| version.value().map(|version| format!("{name} {version}"));
        let memory = of_memory(&machine.memory_used_bytes, &machine.memory_total_bytes);
        return [cpu, memory, named("driver", &machine.driver), named("CUDA", &machine.cuda)].into_iter().flatten().collect();
    }
    let Some(cpu) = sample.devices.iter().find(|device| !is_gpu(device)) else { return Vec::new() };
    let of = units::counted(cpu.core_percent.len(), "core");
    let load = cpu.utilization_percent.value().map(|percent| format!("CPU {percent:.0} % of {of}"));
    let memory = of_memory(&cpu.memory_used_bytes, &cpu.memory_total_bytes);
    [load, memory, Some(cpu.name.trim().to_owned())].into_iter().flatten().collect()
}

/// `mean 61 %`, and of how many where not all tell.
fn mean_of(devices: &[&DeviceSample]) -> String {
    let told = devices.iter().filter(|device| device.utilization_percent.value().is_some()).count();
    match told {
        0 => "GPU-Util N/A".to_owned(),
        told if told < devices.len() => format!("mean of {} {}", units::counted(told, "GPU"), mean(devices)),
        _ => format!("mean {}", mean(devices)),
    }
}

pub fn mean(devices: &[&DeviceSample]) -> String {
    let busy: Vec<f64> = devices.iter().filter_map(|device| device.utilization_percent.value().copied()).collect();
    if busy.is_empty() { "N/A".to_owned() } else { format!("{:.0} %", busy.iter().sum::<f64>() / busy.len() as f64) }
}

/// The figures of all devices together, the most important first.
fn parts(samples: &[&TelemetrySample], cells: Option<String>) -> Vec<String> {
    let all: Vec<&DeviceSample> = samples.iter().flat_map(|sample| &sample.devices).collect();
    let whole: Vec<&DeviceSample> = all.iter().copied().filter(|device| is_gpu(device) && !device.is_slice()).collect();
    let ranks = all.iter().flat_map(|device| &device.processes).filter(|process| process.rank.is_some()).count();
    if !whole.is_empty() {
        let gpus = cells.unwrap_or_else(|| units::counted(whole.len(), "GPU"));
        return [vec![gpus, mean_of(&whole)], whole_figures(&whole), vec![units::counted(ranks, "rank")]].concat();
    }
    if let [sample] = samples {
        let first = cells.or((ranks > 0).then(|| units::counted(ranks, "rank")));
        return first.into_iter().chain(around(sample)).collect();
    }
    let cores = all.iter().map(|device| device.core_percent.len()).sum();
    cells.into_iter().chain(["no GPU".to_owned(), units::counted(cores, "core")]).collect()
}

/// Memory and power of all.
fn whole_figures(whole: &[&DeviceSample]) -> Vec<String> {
    if whole.is_empty() {
        return Vec::new();
    }
    let memory = |gpu: &DeviceSample| Some((*gpu.memory_used_bytes.value()? as f64, *gpu.memory_total_bytes.value()? as f64));
    let memory = used_of_all(whole, memory, |sum| gib(sum as u64));
    let power = |gpu: &DeviceSample| Some((*gpu.power_watts.value()?, *gpu.power_limit_watts.value()?));
    let power = used_of_all(whole, power, |sum| format!("{sum:.0}"));
    vec![format!("{memory} GiB"), format!("{power} W")]
}

/// Used of all, over the devices that tell both.
fn used_of_all(devices: &[&DeviceSample], figures: fn(&DeviceSample) -> Option<(f64, f64)>, show: fn(f64) -> String) -> String {
    let (used, all): (Vec<f64>, Vec<f64>) = devices.iter().filter_map(|device| figures(device)).unzip();
    if all.is_empty() { "N/A".to_owned() } else { format!("{}/{}", show(used.iter().sum()), show(all.iter().sum())) }
}

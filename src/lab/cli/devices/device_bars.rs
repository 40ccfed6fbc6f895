//! The devices of a host in as many lines as a terminal has: a line each, bars for load and memory, then who runs on them.

use crate::columns;
use crate::domain::device::{DeviceKind, DeviceProcess, DeviceSample, FALLEN, Reading, TelemetrySample};
use crate::domain::{printable, units};

/// Wider bars tell no more, shorter ones nothing.
const BAR: std::ops::RangeInclusive<usize> = 4..=20;

/// At most `rows` lines, each at most `width` columns wide.
pub fn lines(sample: &TelemetrySample, width: usize, rows: usize) -> Vec<String> {
    let ranks = processes(sample).filter(|(_, process)| process.rank.is_some()).count();
    let mut lines = vec![format!("host {}  {}, {}", sample.host, counted(sample), units::counted(ranks, "rank"))];
    lines.extend(sample.gpu_missing.iter().map(|reason| format!("no GPU: {reason}")));
    for device in &sample.devices {
        lines.push(match device.kind {
            DeviceKind::Gpu => gpu(device, width),
            DeviceKind::Cpu => cpu(device, width),
        });
        if !device.core_percent.is_empty() {
            let cores: Vec<String> = device.core_percent.iter().map(|percent| format!("{percent:.0}")).collect();
            lines.push(format!("  cores in %: {}", cores.join(" ")));
        }
    }
    let mut found: Vec<(&DeviceSample, &DeviceProcess)> = processes(sample).collect();
    found.sort_by_key(|(device, process)| (process.rank.is_none(), process.rank, device.index, process.pid));
    lines.extend(found.into_iter().map(|(device, process)| describe(device, process)));
    let hidden = (lines.len() + 1).saturating_sub(rows);
    if lines.len() > rows {
        lines.truncate(rows.saturating_sub(1));
        lines.push(format!("... {}", units::counted(hidden, "more line")));
    }
    lines.truncate(rows);
    lines.iter().map(|line| columns::cut(&printable::line(line), width)).collect()
}

fn processes(sample: &TelemetrySample) -> impl Iterator<Item = (&DeviceSample, &DeviceProcess)> {
    sample.devices.iter().flat_map(|device| device.processes.iter().map(move |process| (device, process)))
}

fn counted(sample: &TelemetrySample) -> String {
    let gpus = sample.devices.iter().filter(|device| device.kind == DeviceKind::Gpu && !device.is_slice()).count();
    let cores = sample.devices.iter().map(|device| device.core_percent.len()).sum();
    let hidden = sample.devices.iter().filter(|device| device.hidden && !device.is_slice()).count();
    let hidden = if hidden > 0 { format!(" ({hidden} hidden by CUDA_VISIBLE_DEVICES)") } else { String::new() };
    if gpus > 0 { units::counted(gpus, "GPU") + &hidden } else { units::counted(cores, "core") }
}

fn gpu(device: &DeviceSample, width: usize) -> String {
    let index = format!("{:>3}", device.index);
    if let Some(why) = device.lost() {
        let lost = if why == FALLEN { "lost: " } else { "" };
        return format!("{index}  {lost}{why}");
    }
    let name: String = device.name.trim().trim_start_matches("NVIDIA ").chars().take(14).collect();
    let limit = device.power_limit_watts.value().map_or(String::new(), |watts| format!("/{watts:.0}"));
    let facts = [
        format!("  {name:<14}"),
        format!("  {:>5}", shown(device.temperature_celsius.map(|celsius| format!("{celsius:.0} C")))),
        format!("  {:>10}", shown(device.power_watts.map(|watts| format!("{watts:.0}{limit} W")))),
        format!("  {:>3}", shown(device.performance_state.clone())),
    ];
    // What it computes for comes first; the name, which all of them share, goes first.
    let ranks: Vec<String> = device.processes.iter().filter_map(|process| process.rank).map(|rank| rank.to_string()).collect();
    let hidden = if device.hidden { "  hidden" } else { "" };
    let ranks = if ranks.is_empty() { hidden.to_owned() } else { format!("  rank {}", ranks.join(",")) };
    let least = index.len() + of_bars(device, *BAR.start()).len() + ranks.len();
    let mut left = width.saturating_sub(least);
    let mut kept = [false; 4];
    for place in [1, 2, 3, 0] {
        if let Some(rest) = left.checked_sub(facts[place].len()) {
            (left, kept[place]) = (rest, true);
        }
    }
    let facts: String = facts.iter().zip(kept).filter(|(_, kept)| *kept).map(|(fact, _)| fact.as_str()).collect();
    format!("{index}{facts}{}{ranks}", of_bars(device, (*BAR.start() + left / 2).min(*BAR.end())))
}

fn cpu(device: &DeviceSample, width: usize) -> String {
    let name = format!("CPU{}", of_bars(device, if width < 70 { 6 } else { 16 }));
    format!("{name}  {}", device.name.trim())
}

/// `  GPU-Util [####----]  50 %  mem [##------]  41/139 GiB`
fn of_bars(device: &DeviceSample, width: usize) -> String {
    let gib = |bytes: &u64| format!("{:.0}", *bytes as f64 / f64::from(1 << 30));
    let load = device.utilization_percent.value().map_or("  N/A".into(), |percent| format!("{percent:>3.0} %"));
    let memory = match (&device.memory_used_bytes, &device.memory_total_bytes) {
        (Reading::Value(used), Reading::Value(total)) => format!("{}/{} GiB", gib(used), gib(total)),
        (Reading::Value(used), _) => format!("{} GiB", gib(used)),
        _ => "N/A".into(),
    };
    let (load_bar, memory_bar) = (bar(&device.utilization_percent, width), bar(&device.memory_percent(), width));
    format!("  {} [{load_bar}] {load}  mem [{memory_bar}] {memory:>11}", device.load_name())
}

fn shown(reading: Reading<String>) -> String {
    reading.value().cloned().unwrap_or_else(|| "N/A".into())
}

fn bar(percent: &Reading<f64>, width: usize) -> String {
    let part = percent.value().map_or(0.0, |percent| (percent / 100.0).clamp(0.0, 1.0));
    let full = (part * width as f64).round() as usize;
    format!("{}{}", "#".repeat(full), "-".repeat(width - full))
}

fn describe(device: &DeviceSample, process: &DeviceProcess) -> String {
    let who = process.rank.map_or("other".to_owned(), |rank| format!("rank {rank}"));
    let place = if device.kind == DeviceKind::Gpu { format!("  GPU {:<3}", device.index) } else { String::new() };
    let memory = shown(process.memory_bytes.map(|bytes| units::bytes(*bytes)));
    let load = shown(process.utilization_percent.map(|percent| format!("{percent:.0} %")));
    let owner = shown(process.owner.clone());
    format!("  {who:<8}{place}  {load:>5}  {memory:>8}  pid {:<7}  {owner}  {}", process.pid, process.command)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(kind: DeviceKind, index: usize) -> DeviceSample {
        let process = DeviceProcess {
            pid: 412 + index as u32,
            rank: Some(index),
            command: "hvd-train".into(),
            owner: Reading::Value("learner".into()),
            memory_bytes: Reading::Value(812 << 20),
            utilization_percent: Reading::Value(98.0),
        };
        DeviceSample {
            utilization_percent: Reading::Value(61.0),
            temperature_celsius: Reading::Value(37.0),
            power_watts: Reading::Value(120.0),
            power_limit_watts: Reading::Value(700.0),
            memory_used_bytes: Reading::Value(41 << 30),
            memory_total_bytes: Reading::Value(139 << 30),
            core_percent: if kind == DeviceKind::Cpu { vec![97.0, 85.0] } else { Vec::new() },
            processes: vec![process],
            ..DeviceSample::silent(kind, index, "NVIDIA H200", "not supported")
        }
    }

    fn sample(kind: DeviceKind, count: usize) -> TelemetrySample {
        let devices = (0..count).map(|index| device(kind, index)).collect();
        TelemetrySample { time_s: 0.0, host: "node".into(), devices, gpu_missing: None, machine: None }
    }

    #[test]
    fn a_line_a_device_and_never_more_than_the_terminal_holds() {
        let (sixteen, cpu) = (sample(DeviceKind::Gpu, 16), sample(DeviceKind::Cpu, 1));
        for sample in [&sixteen, &cpu] {
            for (width, rows) in [(20, 1), (40, 3), (60, 15), (80, 23), (120, 39), (200, 59)] {
                let lines = lines(sample, width, rows);
                assert!(lines.len() <= rows, "{width}x{rows}: {lines:#?}");
                assert!(lines.iter().all(|line| columns::width(line) <= width), "{width}x{rows}: {lines:#?}");
            }
        }
        let all = lines(&sixteen, 120, 39);
        assert!(all[0].starts_with("host node  16 GPUs, 16 ranks"), "{all:#?}");
        assert!(all[3].starts_with("  2  H200             37 C   120/700 W  N/A  GPU-Util [####"), "{all:#?}");
        assert!(all[3].contains("  61 %  mem [##") && all[3].ends_with("41/139 GiB  rank 2"), "{all:#?}");
        let narrow = lines(&sixteen, 80, 23);
        assert!(narrow[3].contains("37 C") && narrow[3].contains("GPU-Util [") && narrow[3].contains("rank 2"), "{narrow:#?}");
        assert!(narrow[22].starts_with("... ") && narrow[22].ends_with("more lines"), "{narrow:#?}");
        let few = lines(&cpu, 80, 23);
        assert!(few[1].starts_with("CPU  CPU-Util [") && few[2].contains("97 85") && few[3].contains("rank 0"), "{few:#?}");
    }
}

//! One line a host: all of its GPUs together.
//!
//! A MIG device is not added to the GPU that it is a part of.

use super::parts::is_gpu;
use ratatui::text::{Line, Span};

use crate::columns::{self, cut};
use crate::domain::device::{DeviceSample, TelemetrySample};
use crate::domain::units;
use crate::tui::devices::draw::cells::gib;
use crate::tui::widgets::Theme;

/// One host by its name, several by their number.
pub fn line(theme: Theme, samples: &[&TelemetrySample], width: usize) -> Line<'static> {
    let hosts = match samples {
        // A long name leaves the figures their room.
        [sample] => cut(&format!(" {} ", cut(&sample.host, width / 3)), width),
        several => format!(" {} ", units::counted(several.len(), "host")),
    };
    let left = width.saturating_sub(columns::width(&hosts));
    Line::from(vec![Span::styled(hosts, theme.strong()), Span::styled(text(samples, left), theme.dim())])
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

/// As many figures as fit: half a figure would be wrong.
fn text(samples: &[&TelemetrySample], width: usize) -> String {
    let all: Vec<&DeviceSample> = samples.iter().flat_map(|sample| &sample.devices).collect();
    let whole: Vec<&DeviceSample> = all.iter().copied().filter(|device| is_gpu(device) && !device.is_slice()).collect();
    if whole.is_empty() {
        let cores: usize = all.iter().map(|device| device.core_percent.len()).sum();
        return cut(&format!("no GPU · {cores} cores"), width);
    }
    let ranks = all.iter().flat_map(|device| &device.processes).filter(|process| process.rank.is_some()).count();
    let memory = |gpu: &DeviceSample| Some((*gpu.memory_used_bytes.value()? as f64, *gpu.memory_total_bytes.value()? as f64));
    let memory = used_of_all(&whole, memory, |sum| gib(sum as u64));
    let power = |gpu: &DeviceSample| Some((*gpu.power_watts.value()?, *gpu.power_limit_watts.value()?));
    let power = used_of_all(&whole, power, |sum| format!("{sum:.0}"));
    let rest = [mean_of(&whole), format!("{memory} GiB"), format!("{power} W"), units::counted(ranks, "rank")];
    let mut text = units::counted(whole.len(), "GPU");
    for part in rest {
        if columns::width(&text) + 3 + columns::width(&part) > width {
            break;
        }
        text = format!("{text} · {part}");
    }
    cut(&text, width)
}

/// Used of all, over the devices that tell both.
fn used_of_all(
    devices: &[&DeviceSample],
    figures: impl Fn(&DeviceSample) -> Option<(f64, f64)>,
    show: impl Fn(f64) -> String,
) -> String {
    let (used, all): (Vec<f64>, Vec<f64>) = devices.iter().filter_map(|device| figures(device)).unzip();
    if all.is_empty() { "N/A".to_owned() } else { format!("{}/{}", show(used.iter().sum()), show(all.iter().sum())) }
}

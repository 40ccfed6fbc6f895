//! One line a host: all of its GPUs together.
//!
//! Never adds a MIG device to the GPU that it is a part of.

use super::parts::is_gpu;
use ratatui::text::{Line, Span};

use crate::columns;
use crate::columns::cut;
use crate::domain::device::{DeviceSample, Reading, TelemetrySample};
use crate::domain::units;
use crate::tui::devices::draw::cells::gib;
use crate::tui::widgets::theme::Theme;

pub fn line(theme: Theme, sample: &TelemetrySample, width: usize) -> Line<'static> {
    // A long name leaves the figures their room.
    let host = cut(&format!(" {} ", cut(&sample.host, width / 3)), width);
    let left = width.saturating_sub(columns::width(&host));
    Line::from(vec![Span::styled(host, theme.strong()), Span::styled(text([sample], left), theme.dim())])
}

/// Several hosts as one.
pub fn all<'a>(theme: Theme, samples: impl Iterator<Item = &'a TelemetrySample>, width: usize) -> Line<'static> {
    let samples: Vec<&TelemetrySample> = samples.collect();
    if let [] | [_] = samples[..] {
        return samples.first().map_or_else(Line::default, |sample| line(theme, sample, width));
    }
    let hosts = format!(" {} ", units::counted(samples.len(), "host"));
    let left = width.saturating_sub(hosts.len());
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

/// As much of it as fits: half a figure would be a wrong one.
fn text<'a>(samples: impl IntoIterator<Item = &'a TelemetrySample>, width: usize) -> String {
    let all: Vec<&DeviceSample> = samples.into_iter().flat_map(|sample| &sample.devices).collect();
    let whole: Vec<&DeviceSample> = all.iter().copied().filter(|device| is_gpu(device) && !device.is_slice()).collect();
    if whole.is_empty() {
        let cores: usize = all.iter().map(|device| device.core_percent.len()).sum();
        return cut(&format!("no GPU · {cores} cores"), width);
    }
    let ranks = all.iter().flat_map(|device| &device.processes).filter(|process| process.rank.is_some()).count();
    let memory = pair(&whole, |gpu| &gpu.memory_used_bytes, |gpu| &gpu.memory_total_bytes, |sum| gib(sum as u64));
    let power = pair(&whole, |gpu| &gpu.power_watts, |gpu| &gpu.power_limit_watts, |sum| format!("{sum:.0}"));
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
fn pair<T: Copy + Into<Figure>>(
    devices: &[&DeviceSample],
    used: impl Fn(&DeviceSample) -> &Reading<T>,
    all: impl Fn(&DeviceSample) -> &Reading<T>,
    show: impl Fn(f64) -> String,
) -> String {
    let told = devices.iter().filter_map(|device| Some((*used(device).value()?, *all(device).value()?)));
    let told: Vec<(f64, f64)> = told.map(|(used, all)| (used.into().0, all.into().0)).collect();
    match told.is_empty() {
        true => "N/A".to_owned(),
        false => {
            format!("{}/{}", show(told.iter().map(|(used, _)| used).sum()), show(told.iter().map(|(_, all)| all).sum()))
        }
    }
}

/// Bytes and watts alike.
struct Figure(f64);

impl From<u64> for Figure {
    fn from(value: u64) -> Figure {
        Figure(value as f64)
    }
}

impl From<f64> for Figure {
    fn from(value: f64) -> Figure {
        Figure(value)
    }
}

//! What the devices are doing: one line a GPU, or cores and ranks where there is no GPU.
//!
//! Never shows 0 for what a device does not tell: `N/A`.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::super::state::{Pane, State};
use super::super::theme::{Theme, bar};
use super::{cut, frame_of};
use crate::domain::device::{DeviceKind, DeviceSample, Reading};
use crate::domain::units;

pub fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let theme = state.theme;
    let has_gpu = state.devices.as_ref().is_some_and(|sample| sample.devices.iter().any(is_gpu));
    let kind = match &state.devices {
        None => String::new(),
        Some(sample) if has_gpu => format!("GPU · {} ", sample.host),
        Some(sample) => format!("CPU · {} ", sample.host),
    };
    let mut block = frame_of(state, Pane::Devices, vec![Span::styled(kind, theme.dim())]);
    let inner = block.inner(area);
    let width = inner.width as usize;
    let Some(sample) = &state.devices else {
        frame.render_widget(block, area);
        frame.render_widget(Paragraph::new(Line::styled(" looking for devices …", theme.dim())), inner);
        return;
    };
    let mut lines = Vec::new();
    if has_gpu {
        let gpus: Vec<&DeviceSample> = sample.devices.iter().filter(|device| is_gpu(device)).collect();
        lines.extend(gpu_table(theme, &gpus, width));
    } else {
        for device in &sample.devices {
            lines.extend(cpu(theme, device, sample.gpu_missing.as_deref(), width));
        }
    }
    let hidden = lines.len().saturating_sub(inner.height as usize);
    let first = state.devices_scroll.min(hidden);
    if hidden > first {
        let more = format!(" {} more, ↓ ", hidden - first);
        block = block.title_bottom(Line::styled(more, theme.dim()).right_aligned());
    }
    frame.render_widget(block, area);
    let shown = lines.into_iter().skip(first).collect::<Vec<_>>();
    frame.render_widget(Paragraph::new(shown), inner);
}

/// Rows that the devices would like to have.
pub fn rows(state: &State) -> u16 {
    let gpus = state.devices.iter().flat_map(|sample| &sample.devices).filter(|device| is_gpu(device)).count();
    // Without a GPU: the machine, its cores, two ranks and why there is no GPU.
    if gpus == 0 { 5 } else { u16::try_from(gpus + 1).unwrap_or(u16::MAX / 2) }
}

fn is_gpu(device: &DeviceSample) -> bool {
    device.kind == DeviceKind::Gpu
}

/// Index, name, temperature, power, memory, busy, ranks; a narrow pane gives up name and power.
fn gpu_table(theme: Theme, gpus: &[&DeviceSample], width: usize) -> Vec<Line<'static>> {
    let wide = width >= 62;
    let name_width = if width >= 100 { 24 } else { 12 };
    let bar_width = if width >= 76 { 14 } else { 6 };
    let columns = |index: String, name: &str, temperature: &str, power: &str, memory: &str| match wide {
        true => format!(" {index:>2} {:<name_width$} {temperature:>5} {power:>10} {memory:>13}  ", cut(name, name_width)),
        false => format!(" {index:>2} {temperature:>5} {memory:>11}  "),
    };
    let busy = format!("{:<rest$} ranks", "busy", rest = bar_width + 6);
    let header = columns(String::new(), "GPU", "temp", "power", if wide { "memory" } else { "GiB" }) + &busy;
    let mut lines = vec![Line::styled(cut(&header, width), theme.dim())];
    for gpu in gpus {
        let limit = reading(&gpu.power_limit_watts, |value| format!("{value:.0}"));
        let total = reading(&gpu.memory_total_bytes, |value| gib(*value));
        let unit = if wide { " GiB" } else { "" };
        let text = columns(
            gpu.index.to_string(),
            short_name(&gpu.name),
            &reading(&gpu.temperature_celsius, |value| format!("{value:.0}°C")),
            &reading(&gpu.power_watts, |value| format!("{value:.0}/{limit} W")),
            &reading(&gpu.memory_used_bytes, |value| format!("{}/{total}{unit}", gib(*value))),
        );
        let mut spans = vec![Span::raw(text)];
        spans.extend(percent_bar(theme, &gpu.utilization_percent, bar_width));
        let ranks: Vec<String> = gpu.processes.iter().filter_map(|process| process.rank).map(|rank| rank.to_string()).collect();
        let others = gpu.processes.iter().filter(|process| process.rank.is_none()).count();
        let mut who = ranks.join(",");
        if others > 0 {
            let and = if who.is_empty() { "" } else { " + " };
            who.push_str(&format!("{and}{others} other"));
        }
        spans.push(Span::styled(who, theme.accent()));
        lines.push(Line::from(spans));
    }
    lines
}

fn cpu(theme: Theme, device: &DeviceSample, gpu_missing: Option<&str>, width: usize) -> Vec<Line<'static>> {
    let cores = device.core_percent.len();
    let memory = match (device.memory_used_bytes.value(), device.memory_total_bytes.value()) {
        (Some(used), Some(total)) => format!("{} of {} GiB", gib(*used), gib(*total)),
        _ => "memory N/A".to_owned(),
    };
    let facts = format!(" {cores} cores · {memory} · {}", device.name.trim());
    let mut lines = vec![Line::raw(cut(&facts, width))];
    lines.extend(core_rows(theme, &device.core_percent, width));
    for process in device.processes.iter().filter(|process| process.rank.is_some()) {
        let rank = process.rank.unwrap_or_default();
        let mut spans = vec![Span::styled(format!(" rank {rank:<3}"), theme.accent())];
        spans.extend(percent_bar(theme, &process.utilization_percent, 10));
        let memory = reading(&process.memory_bytes, |value| units::bytes(*value));
        spans.push(Span::raw(cut(&format!("  {memory:>8}  pid {}", process.pid), width.saturating_sub(27))));
        lines.push(Line::from(spans));
    }
    if let Some(reason) = gpu_missing {
        lines.push(Line::styled(cut(&format!(" no GPU: {reason}"), width), theme.dim()));
    }
    lines
}

/// Cores side by side, as many as fit; many cores become one sign each.
fn core_rows(theme: Theme, cores: &[f64], width: usize) -> Vec<Line<'static>> {
    const CELL: usize = 23;
    if cores.len() > 16 {
        const LEVELS: [&str; 9] = ["·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
        let signs: Vec<&str> =
            cores.iter().map(|percent| LEVELS[(percent / 100.0 * 8.0).round().clamp(0.0, 8.0) as usize]).collect();
        let per_row = width.saturating_sub(2).max(1);
        return signs.chunks(per_row).map(|row| Line::styled(format!(" {}", row.concat()), theme.accent())).collect();
    }
    let per_row = (width.saturating_sub(1) / CELL).max(1);
    let cell = |(index, percent): (usize, &f64)| {
        let mut spans = vec![Span::styled(format!(" core {index:<2}"), theme.dim())];
        spans.extend(percent_bar(theme, &Reading::Value(*percent), 8));
        spans.push(Span::raw(" "));
        spans
    };
    let cells: Vec<Vec<Span>> = cores.iter().enumerate().map(cell).collect();
    cells.chunks(per_row).map(|row| Line::from(row.concat())).collect()
}

/// A bar and the number behind it, `width + 7` columns.
fn percent_bar(theme: Theme, percent: &Reading<f64>, width: usize) -> Vec<Span<'static>> {
    match percent {
        Reading::Value(percent) => {
            let (full, rest) = bar(percent / 100.0, width);
            vec![Span::styled(full, theme.accent()), Span::styled(rest, theme.dim()), Span::raw(format!(" {percent:>3.0} % "))]
        }
        Reading::Missing { .. } => vec![Span::styled(format!("{:<rest$}", "N/A", rest = width + 7), theme.dim())],
    }
}

fn reading<T>(reading: &Reading<T>, show: impl Fn(&T) -> String) -> String {
    reading.value().map_or_else(|| "N/A".to_owned(), show)
}

fn gib(bytes: u64) -> String {
    let gib = bytes as f64 / (1u64 << 30) as f64;
    if gib < 10.0 { format!("{gib:.1}") } else { format!("{gib:.0}") }
}

fn short_name(name: &str) -> &str {
    name.trim().trim_start_matches("NVIDIA ")
}

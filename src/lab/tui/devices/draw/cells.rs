//! One figure of a device as a cell of a table: as wide as its column, N/A where there is none.

use ratatui::style::{Modifier, Style};
use ratatui::text::Span;

use crate::columns;
use crate::domain::device::{DeviceProcess, DeviceSample, Reading};
use crate::domain::units;
use crate::tui::widgets::Theme;

/// At this temperature GPUs begin to slow down.
const HOT_CELSIUS: f64 = 85.0;
/// With less left than this, the next batch may not fit.
const FULL_PERCENT: f64 = 97.0;

pub type Cell = fn(Theme, &DeviceSample, usize) -> Vec<Span<'static>>;

pub fn left(text: &str, width: usize, style: Style) -> Span<'static> {
    Span::styled(columns::left(text, width), style)
}

pub fn right(text: &str, width: usize, style: Style) -> Span<'static> {
    Span::styled(columns::right(text, width), style)
}

fn figure<T>(theme: Theme, reading: &Reading<T>, width: usize, style: Style, show: impl Fn(&T) -> String) -> Vec<Span<'static>> {
    vec![match reading {
        Reading::Value(value) => right(&show(value), width, style),
        Reading::Missing { .. } => right("N/A", width, theme.dim()),
    }]
}

/// As it stands in [`DeviceSample::facts`].
pub fn fact(theme: Theme, facts: &[(&str, Reading<String>)], name: &str, width: usize) -> Vec<Span<'static>> {
    let fact = facts.iter().find(|(fact, _)| *fact == name);
    fact.map_or(Vec::new(), |(_, fact)| figure(theme, fact, width, theme.text(), String::clone))
}

pub fn name(theme: Theme, device: &DeviceSample, width: usize) -> Vec<Span<'static>> {
    let mark = if device.is_slice() { "└ " } else { "" };
    vec![left(&format!("{mark}{}", device.name.trim().trim_start_matches("NVIDIA ")), width, theme.text())]
}

pub fn temperature(theme: Theme, device: &DeviceSample, width: usize) -> Vec<Span<'static>> {
    let hot = device.temperature_celsius.value().is_some_and(|&celsius| celsius >= HOT_CELSIUS);
    let style = if hot { theme.warn() } else { theme.text() };
    figure(theme, &device.temperature_celsius, width, style, |celsius| format!("{celsius:.0} C"))
}

pub fn power(theme: Theme, device: &DeviceSample, width: usize) -> Vec<Span<'static>> {
    let limit = device.power_limit_watts.value().map_or(String::new(), |watts| format!("/{watts:.0}"));
    figure(theme, &device.power_watts, width, theme.text(), |watts| {
        let text = format!("{watts:.0}{limit}W");
        if text.len() > width { format!("{watts:.0}W") } else { text }
    })
}

/// A bar, and what is used of all behind it: `███····  61/141G`.
pub fn memory(theme: Theme, device: &DeviceSample, width: usize) -> Vec<Span<'static>> {
    let Reading::Value(used) = &device.memory_used_bytes else { return vec![right("N/A", width, theme.dim())] };
    let total = device.memory_total_bytes.value().map_or(String::new(), |bytes| format!("/{}", gib(*bytes)));
    let text = right(&format!("{}{total}G", gib(*used)), MEMORY.min(width), memory_style(theme, device, theme.text()));
    let mut spans =
        bar_of(theme, &device.memory_percent(), width.saturating_sub(MEMORY), memory_style(theme, device, theme.accent()));
    spans.push(text);
    spans
}

/// ` 141/141G`
pub const MEMORY: usize = 9;

fn memory_style(theme: Theme, device: &DeviceSample, usual: Style) -> Style {
    let full = device.memory_percent().value().is_some_and(|&percent| percent >= FULL_PERCENT);
    if full { theme.warn() } else { usual }
}

/// What it computes: a bar coloured by load, and the number.
pub fn utilisation(theme: Theme, device: &DeviceSample, width: usize) -> Vec<Span<'static>> {
    percent_bar(theme, &device.utilization_percent, width)
}

/// The more it has to do, the stronger: idle devices step back.
pub fn load(theme: Theme, percent: f64) -> Style {
    match percent {
        ..5.0 => theme.dim(),
        ..50.0 => theme.accent().add_modifier(theme.dim().add_modifier),
        ..90.0 => theme.accent(),
        _ => theme.accent().add_modifier(Modifier::BOLD),
    }
}

/// How high a sign stands for a load: nothing to do is a dot.
pub fn sign(percent: f64) -> &'static str {
    const LEVELS: [&str; 9] = ["·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
    LEVELS[(percent / 100.0 * 8.0).round().clamp(0.0, 8.0) as usize]
}

pub fn compute(theme: Theme, device: &DeviceSample, width: usize) -> Vec<Span<'static>> {
    let style = if device.compute_mode.value().is_some_and(|mode| mode == "prohibited") { theme.warn() } else { theme.text() };
    figure(theme, &device.compute_mode, width, style, String::clone)
}

/// What slows it down stands out.
pub fn throttled(theme: Theme, device: &DeviceSample, width: usize) -> Vec<Span<'static>> {
    let Reading::Value(why) = &device.throttled else { return vec![left("N/A", width, theme.dim())] };
    vec![left(&columns::cut(why, width), width, if why == "no" { theme.text() } else { theme.warn() })]
}

/// Errors where ECC counts them, as nvidia-smi does.
pub fn ecc(theme: Theme, device: &DeviceSample, width: usize) -> Vec<Span<'static>> {
    if device.ecc_enabled == Reading::Value(false) {
        return vec![right("off", width, theme.text())];
    }
    let style = if device.ecc_errors.value().is_some_and(|&errors| errors > 0) { theme.warn() } else { theme.text() };
    figure(theme, &device.ecc_errors, width, style, u64::to_string)
}

/// Ranks by number, and how many processes are not ranks.
pub fn ranks(theme: Theme, device: &DeviceSample, width: usize) -> Vec<Span<'static>> {
    let long = match who(&device.processes) {
        nobody if nobody.is_empty() && device.hidden => "hidden".into(),
        somebody => somebody,
    };
    // `r0,1` where there is no room for the word.
    let short = || long.replace("ranks ", "r").replace("rank ", "r").replace(" + ", "+").replace(" other", "");
    let who = if columns::width(&long) > width && long.starts_with("rank") { short() } else { long.clone() };
    vec![left(&who, width, if who.starts_with('r') { theme.accent().add_modifier(Modifier::BOLD) } else { theme.dim() })]
}

pub fn who(processes: &[DeviceProcess]) -> String {
    let ranks: Vec<usize> = processes.iter().filter_map(|process| process.rank).collect();
    let others = processes.iter().filter(|process| process.rank.is_none()).count();
    let numbers = match ranks.len() {
        ..4 => ranks.iter().map(usize::to_string).collect::<Vec<_>>().join(","),
        _ => units::ranges(&ranks),
    };
    let badge = format!("rank{} {numbers}", if ranks.len() > 1 { "s" } else { "" });
    match (ranks.is_empty(), others) {
        (true, 0) => String::new(),
        (true, others) => format!("{others} other"),
        (false, 0) => badge,
        (false, others) => format!("{badge} + {others} other"),
    }
}

/// ` 100 %`
pub const NUMBER: usize = 6;

/// A bar coloured by load with its number behind it, or N/A where the bar would be.
pub fn percent_bar(theme: Theme, percent: &Reading<f64>, width: usize) -> Vec<Span<'static>> {
    let Reading::Value(value) = percent else { return vec![right("N/A", width, theme.dim())] };
    let mut spans = bar_of(theme, percent, width.saturating_sub(NUMBER), load(theme, *value));
    spans.push(right(&format!("{value:.0} %"), NUMBER.min(width), theme.text()));
    spans
}

/// A bar alone; empty where there is no figure.
pub fn bar_of(theme: Theme, percent: &Reading<f64>, width: usize, style: Style) -> Vec<Span<'static>> {
    theme.gauge(percent.value().map_or(0.0, |percent| percent / 100.0), width, style).into()
}

pub fn gib(bytes: u64) -> String {
    let gib = bytes as f64 / (1u64 << 30) as f64;
    if gib < 10.0 { format!("{gib:.1}") } else { format!("{gib:.0}") }
}

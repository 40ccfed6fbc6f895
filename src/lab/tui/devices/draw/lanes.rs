//! A line for each rank: what it does now, and where a step's time goes; below them the devices without a rank, and the cores of
//! a host without a GPU.
//!
//! ```text
//! node 2 GPUs · mean 67 % · CPU 98 % · mem 12/24G · driver 580.99 · CUDA 13.0
//! rank dev   use       memory  a step, mean of epoch 2: 70 ms    waits
//!    0 GPU0  ███▋ 91 % 41/80G  ███████████████░░░░░            16 ms
//!    1 GPU1  █▋·· 43 % 41/80G  ████████████████████ slowest     0 ms
//! ```

use ratatui::text::{Line, Span};

use super::parts::{Segment, View, is_gpu, marked};
use super::{cells, totals};
use crate::columns::{self, cut};
use crate::domain::device::{DeviceSample, Reading, TelemetrySample};
use crate::tui::devices::lane::DeviceRow;
use crate::tui::widgets::Theme;

/// The widths of the columns; a space stands behind each.
struct Widths {
    rank: usize,
    seat: usize,
    load: usize,
    memory: usize,
    temperature: usize,
    step: usize,
}

/// With less room a lane gives no temperature.
const TEMPERATURE_FROM: usize = 60;
/// With more room the memory has a bar too.
const MEMORY_BAR_FROM: usize = 75;

impl Widths {
    fn new(rows: &[DeviceRow], width: usize) -> Widths {
        let widest = |text: fn(&DeviceRow) -> String| rows.iter().map(|row| columns::width(&text(row))).max().unwrap_or(0);
        let rank = widest(|row| row.rank.map_or_else(String::new, |rank| rank.to_string())).max(3) + 1;
        let seat = widest(|row| row.seat()).max(3);
        let room = width.saturating_sub(rank + seat + 2);
        let load = cells::NUMBER + (room / 10).clamp(3, 14);
        let memory = cells::MEMORY + if room >= MEMORY_BAR_FROM { (room / 12).min(10) + 1 } else { 0 };
        let has_temperature = room >= TEMPERATURE_FROM && rows.iter().any(|row| is_gpu(&row.device));
        let temperature = if has_temperature { 6 } else { 0 };
        let step = room.saturating_sub(load + memory + temperature + 1 + usize::from(has_temperature));
        Widths { rank, seat, load, memory, temperature, step }
    }
}

/// All lanes, and whether the legend of their bars is among them; `None` where not all have room.
pub fn lines(view: View, rows: &[DeviceRow], width: usize, height: usize) -> Option<(Vec<Vec<Segment>>, bool)> {
    let hosts: Vec<&[DeviceRow]> = rows.chunk_by(|a, b| a.sample.host == b.sample.host).collect();
    let several = hosts.len() > 1;
    // Of one host its own line goes before the head does.
    let host_lines = if several || height >= rows.len() + 2 { hosts.len() } else { 0 };
    let spare = height.checked_sub(rows.len() + host_lines)?;
    // In little room the border has it.
    let has_legend = spare > 3 && !view.steps.is_empty();
    let widths = Widths::new(rows, width);
    let mut lines = Vec::new();
    let mut place = 0;
    for (turn, host) in hosts.iter().enumerate() {
        if host_lines > 0 {
            lines.push(Segment::line(None, totals::host(view.theme, host[0].sample, width)));
        }
        if turn == 0 && spare > 0 {
            let has_ranks = rows.iter().any(|row| row.rank.is_some());
            lines.push(Segment::line(None, head(view, &widths, has_ranks)));
        }
        for row in *host {
            lines.push(Segment::line(Some(place), lane(view, row, place, &widths, width)));
            place += 1;
        }
    }
    if has_legend {
        lines.push(Segment::line(None, view.steps.legend(view.theme)));
    }
    Some((lines, has_legend))
}

fn head(view: View, widths: &Widths, has_ranks: bool) -> Line<'static> {
    let dim = view.theme.dim();
    let mut titles = vec![
        cells::left("rank", widths.rank + 1, dim),
        cells::left("dev", widths.seat + 1, dim),
        cells::left("use", widths.load, dim),
        cells::right("memory", widths.memory, dim),
        Span::raw(" "),
    ];
    if widths.temperature > 0 {
        titles.extend([cells::right("temp", widths.temperature, dim), Span::raw(" ")]);
    }
    titles.extend(has_ranks.then(|| cells::left(&view.steps.title(widths.step), widths.step, dim)));
    Line::from(titles)
}

fn lane(view: View, row: &DeviceRow, place: usize, widths: &Widths, width: usize) -> Line<'static> {
    let (theme, device) = (view.theme, &*row.device);
    let number = row.rank.map_or("–".to_owned(), |rank| rank.to_string());
    let has_failed = row.rank.is_some_and(|rank| view.failed.contains(&rank));
    let rank = match has_failed {
        true => cells::right(&format!("✗{number}"), widths.rank, theme.warn()),
        false => marked(view, place, &number, widths.rank),
    };
    let mut spans = vec![rank, Span::raw(" "), cells::left(&row.seat(), widths.seat + 1, theme.text())];
    if let Some(why) = device.lost() {
        let left = width.saturating_sub(widths.rank + widths.seat + 2);
        spans.push(Span::styled(cut(&format!("✗ {why}"), left), theme.warn()));
        return Line::from(spans);
    }
    let is_running = is_gpu(device) || row.rank.is_none() || !device.processes.is_empty();
    match is_running {
        true => {
            spans.extend(cells::utilisation(theme, device, widths.load));
            let gap = usize::from(widths.memory > cells::MEMORY);
            spans.push(Span::raw(" ".repeat(gap)));
            spans.extend(cells::memory(theme, device, widths.memory - gap));
        }
        false => spans.push(cells::left("not running", widths.load + widths.memory, theme.dim())),
    }
    spans.push(Span::raw(" "));
    if widths.temperature > 0 {
        spans.extend(cells::temperature(theme, device, widths.temperature));
        spans.push(Span::raw(" "));
    }
    spans.extend(match row.rank {
        Some(rank) => view.steps.bar(theme, rank, widths.step),
        None => alone(view, device, widths.step),
    });
    Line::from(spans)
}

/// What there is to say of a device without a rank: the processes on it, or the load of each core.
fn alone(view: View, device: &DeviceSample, width: usize) -> Vec<Span<'static>> {
    let theme = view.theme;
    if !is_gpu(device) && device.processes.is_empty() {
        let signs = device.core_percent.iter().map(|percent| Span::styled(cells::sign(*percent), cells::load(theme, *percent)));
        let label = "cores ";
        return [Span::styled(label, theme.dim())].into_iter().chain(signs.take(width.saturating_sub(label.len()))).collect();
    }
    let ranks = cells::ranks(theme, device, width);
    let is_blank = ranks.iter().all(|span| span.content.trim().is_empty());
    if is_blank { vec![cells::left("no rank", width, theme.dim())] } else { ranks }
}

/// What a host without a GPU has below its lanes, as far as that has room: why there is no GPU, and each core.
pub fn below(theme: Theme, sample: &TelemetrySample, width: usize, height: usize) -> Vec<Line<'static>> {
    let reason = sample.gpu_missing.iter().filter(|reason| !reason.is_empty());
    let mut lines: Vec<Line> =
        reason.map(|reason| Line::styled(cut(&format!(" no GPU: {reason}"), width), theme.dim())).take(height).collect();
    let cores: Vec<Line> = sample.devices.iter().flat_map(|device| cores(theme, &device.core_percent, width)).collect();
    // Half of the cores would look like all of them.
    lines.extend(Some(cores).filter(|cores| lines.len() + cores.len() <= height).into_iter().flatten());
    lines
}

/// Cores side by side, as many as fit; many cores become one sign each.
fn cores(theme: Theme, cores: &[f64], width: usize) -> Vec<Line<'static>> {
    const CELL: usize = 22;
    if cores.len() > 16 {
        let sign = |percent: &f64| Span::styled(cells::sign(*percent), cells::load(theme, *percent));
        let per_row = width.saturating_sub(2).max(1);
        return cores
            .chunks(per_row)
            .map(|row| Line::from_iter([Span::raw(" ")].into_iter().chain(row.iter().map(sign))))
            .collect();
    }
    let per_row = (width / CELL).clamp(1, 8);
    // What is left over makes the bars longer.
    let cell_width = (width / per_row).min(40);
    let cell = |(index, percent): (usize, &f64)| {
        let mut spans = vec![Span::styled(format!(" core {index:<2} "), theme.dim())];
        spans.extend(cells::percent_bar(theme, &Reading::Value(*percent), cell_width.saturating_sub(9)));
        spans
    };
    let cells: Vec<Vec<Span>> = cores.iter().enumerate().map(cell).collect();
    cells.chunks(per_row).map(|row| Line::from(row.concat())).collect()
}

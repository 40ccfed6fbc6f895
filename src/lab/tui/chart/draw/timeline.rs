//! Where the time of a mean step goes on each process: stacked bars, and the process that the others wait for.
//!
//! An epoch appears once its processes have reported it.

use crate::tui::chart::state::Chart;
use crate::tui::shared::{Shared, Watched};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use crate::domain::phase::Phase;
use crate::domain::units;
use crate::tui::shared::phases::{MeanStep, Straggler, cells, straggler};
use crate::tui::widgets::{Theme, flow, indented};

/// Room for a table of milliseconds below the bars.
const TABLE_WIDTH: u16 = 64;

pub fn draw(frame: &mut Frame, area: Rect, chart: &Chart, shared: &Shared, watched: &Watched) {
    let theme = shared.theme;
    let epoch = chart.epoch.or(watched.phases().newest());
    let steps = epoch.map(|epoch| (epoch, watched.phases().mean_steps(epoch))).filter(|(_, steps)| !steps.is_empty());
    let Some((epoch, steps)) = steps else {
        let when = if watched.is_going() { "It comes at the end of the first epoch." } else { "This run finished no epoch." };
        let lines = vec![heading(theme, String::new()), Line::styled(format!(" {when}"), theme.dim())];
        frame.render_widget(Paragraph::new(lines), area);
        return;
    };
    let mean: Vec<MeanStep> = steps.iter().map(|(step, _)| *step).collect();
    let number = steps.iter().map(|(_, number)| *number).max().unwrap_or(0);
    let of = watched.config().map_or(epoch, |config| config.epochs);
    let found = straggler(&mean);
    let mut lines = vec![heading(theme, format!("epoch {epoch}/{of}, mean of {number} steps"))];
    let (text, style) = verdict(theme, &mean, &found);
    lines.extend(indented(&text, usize::from(area.width).saturating_sub(2), style));
    // The bars come before their legend, and both before what can be seen in them.
    let (legend, height) = (legend(theme, area.width), usize::from(area.height));
    let bars_height = mean.len().min(LEAST_BARS).min(height.saturating_sub(2));
    let most = height.saturating_sub(bars_height).max(2);
    if lines.len() > most {
        lines.truncate(most);
        lines[most - 1].push_span("…");
    }
    if lines.len() + legend.len() + bars_height <= height {
        lines.extend(legend);
    }
    let [head, rest] = Layout::vertical([Constraint::Length(lines.len() as u16), Constraint::Fill(1)]).areas(area);
    frame.render_widget(Paragraph::new(lines), head);
    bars(frame, rest, chart, shared, &mean, found.ok().map(|found| found.process));
}

/// Lines of a bar.
const THICKEST: usize = 5;
/// So many bars come before their legend.
const LEAST_BARS: usize = 3;
/// Columns before a bar.
const NAME: u16 = 9;

fn heading(theme: Theme, what: String) -> Line<'static> {
    Line::from(vec![Span::styled(" step timeline ", theme.strong()), Span::styled(what, theme.dim())])
}

/// One sentence: which rank is slow, in what and by how much, or that the ranks are balanced.
fn verdict(theme: Theme, steps: &[MeanStep], found: &Result<Straggler, f64>) -> (String, Style) {
    match found {
        _ if steps.len() == 1 => ("one rank: it does not wait for others".into(), theme.dim()),
        Err(spread) => (format!("ranks are balanced ({} apart)", units::percent(*spread)), theme.accent()),
        Ok(found) => {
            let phase = found.phase.name();
            let more = match found.more {
                // From twice as much on a factor reads better.
                Some(more) if more < 1.0 => format!("{} more in {phase}", units::percent(more)),
                Some(more) => format!("{:.1} times as much in {phase}", more + 1.0),
                None => format!("{:.1} ms more in {phase}", found.more_ms),
            };
            let mut text = format!("rank {} is the slowest: {more}", found.process);
            if found.waited_ms >= 0.1 {
                text.push_str(&format!("; the others wait {:.1} ms a step longer", found.waited_ms));
            }
            (text, theme.warn())
        }
    }
}

fn legend(theme: Theme, width: u16) -> Vec<Line<'static>> {
    let entry = |phase: Phase| {
        let (sign, style) = look(theme, phase);
        [Span::styled(format!(" {sign}"), style), Span::styled(format!(" {}", phase.name()), theme.dim())]
    };
    flow(Line::default(), Phase::OF_STEP.map(entry), width.into())
}

/// Told apart by shade and letter; what computes has a colour as well.
fn look(theme: Theme, phase: Phase) -> (char, Style) {
    let (shade, letter, style) = match phase {
        Phase::Data => ('▒', 'd', theme.text()),
        Phase::Forward => ('█', 'f', theme.accent()),
        Phase::Backward => ('▓', 'b', theme.accent()),
        Phase::AllreduceExposed => ('░', 'a', theme.text()),
        Phase::Optimizer => ('▚', 'o', theme.accent()),
        // Not a part of a step, so not in a bar.
        Phase::StartUp | Phase::Training | Phase::Validation | Phase::Checkpoint => (' ', ' ', theme.text()),
    };
    (if theme.ascii { letter } else { shade }, style)
}

fn bars(frame: &mut Frame, area: Rect, chart: &Chart, shared: &Shared, steps: &[MeanStep], slowest: Option<usize>) {
    let theme = shared.theme;
    let longest = steps.iter().map(MeanStep::total_ms).fold(0.0, f64::max);
    let height = usize::from(area.height);
    // The table below them needs a line a rank and its head.
    let below = if area.width >= TABLE_WIDTH { steps.len() + 1 } else { 0 };
    // Thicker with an empty line between them, thin with one, or thin without, by the room there is.
    let (thick, gap) = match height / steps.len().max(1) {
        0 | 1 => (1, 0),
        2 => (1, 1),
        3 => (2, 1),
        _ => ((height.saturating_sub(below) / steps.len().max(1)).saturating_sub(1).clamp(2, THICKEST), 1),
    };
    let fits = steps.len() * (thick + gap) <= height;
    let visible = if fits { steps.len() } else { height.saturating_sub(1).min(steps.len()) };
    let first = chart.scroll.min(steps.len() - visible);
    let mut lines = Vec::new();
    for step in steps.iter().skip(first).take(visible) {
        let is_slowest = slowest == Some(step.process);
        let style = if is_slowest { theme.warn() } else { theme.text() };
        let bar = bar(theme, step, longest, area.width.saturating_sub(NAME + 11));
        let mut spans = vec![Span::styled(format!(" {}rank {:<2}", if is_slowest { "▸" } else { " " }, step.process), style)];
        spans.extend(bar.clone());
        spans.push(Span::styled(format!("{:>7.1} ms ", step.total_ms()), theme.strong()));
        lines.push(Line::from(spans));
        for _ in 1..thick {
            lines.push(Line::from_iter([Span::raw(" ".repeat(NAME.into()))].into_iter().chain(bar.clone())));
        }
        lines.extend((0..gap).map(|_| Line::default()));
    }
    if visible < steps.len() {
        let text = format!(" {} to {} of {} ranks, ↑↓", first + 1, first + visible, steps.len());
        lines.push(Line::styled(text, theme.dim()));
    } else if height > lines.len() + steps.len() && area.width >= TABLE_WIDTH {
        lines.extend(table(theme, steps));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

/// The milliseconds of every part.
fn table(theme: Theme, steps: &[MeanStep]) -> Vec<Line<'static>> {
    let name = |phase: Phase| if phase == Phase::AllreduceExposed { "allreduce" } else { phase.name() };
    let titles: String = Phase::OF_STEP.iter().map(|phase| format!("{:>10}", name(*phase))).collect();
    let mut lines = vec![Line::styled(format!("  ms a step {titles}"), theme.dim())];
    lines.extend(steps.iter().map(|step| {
        let values: String = Phase::OF_STEP.iter().map(|phase| format!("{:>10.2}", step.ms(*phase))).collect();
        Line::raw(format!("  rank {:<2}   {values}", step.process))
    }));
    lines
}

fn bar(theme: Theme, step: &MeanStep, longest: f64, width: u16) -> Vec<Span<'static>> {
    let width = usize::from(width);
    let parts = cells(&Phase::OF_STEP.map(|phase| step.ms(phase)), longest, width);
    let rest = width - parts.iter().sum::<usize>();
    let part = |(phase, cells): (Phase, usize)| {
        let (sign, style) = look(theme, phase);
        Span::styled(sign.to_string().repeat(cells), style)
    };
    let drawn = Phase::OF_STEP.into_iter().zip(parts).map(part);
    drawn.chain([Span::raw(" ".repeat(rest))]).collect()
}

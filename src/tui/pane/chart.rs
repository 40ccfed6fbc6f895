//! Training loss and validation accuracy of the shown run over its epochs, with the baseline run behind it.
//!
//! Never joins the curves of two runs, and never draws a figure that is no number.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Axis, Chart, Dataset, GraphType, Paragraph};

use super::super::state::{ChartTab, Pane, State};
use super::super::watched::Curves;
use super::frame_of;

pub fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let theme = state.theme;
    let id = state.watched.as_ref().map(|watched| watched.id);
    let baseline = state.baseline_curves.as_ref().filter(|(run, curves)| Some(*run) != id && *curves != Curves::default());
    let mut legend = Vec::new();
    if let Some(id) = id {
        legend.extend([Span::styled("━ ", theme.accent()), Span::raw(format!("run {id} "))]);
    }
    if let Some((run, _)) = baseline {
        legend.extend([Span::styled("╌ ", theme.warn()), Span::raw(format!("run {run} (baseline) "))]);
    }
    let block = frame_of(state, Pane::Chart, legend);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let Some(watched) = &state.watched else {
        frame.render_widget(
            Paragraph::new(Line::styled(" Loss and accuracy appear here while a run trains.", theme.dim())),
            inner,
        );
        return;
    };
    let empty = Curves::default();
    let behind = baseline.map_or(&empty, |(_, curves)| curves);
    let epochs = watched.config.as_ref().map_or(1, |config| config.epochs) as f64;
    let x_end = watched.curves.end().max(behind.end()).max(epochs).max(1.0);
    let loss = |frame: &mut Frame, area| graph(frame, area, state, &LOSS, x_end, &watched.curves.loss, &behind.loss);
    let accuracy =
        |frame: &mut Frame, area| graph(frame, area, state, &ACCURACY, x_end, &watched.curves.accuracy, &behind.accuracy);
    // Both where there is room, one above the other or side by side, whichever is less narrow; else the chosen one.
    if inner.height >= 18 && inner.width < inner.height * 4 {
        let [upper, lower] = Layout::vertical([Constraint::Fill(1); 2]).areas(inner);
        loss(frame, upper);
        accuracy(frame, lower);
    } else if inner.width >= 66 {
        let [left, right] = Layout::horizontal([Constraint::Fill(1); 2]).areas(inner);
        loss(frame, left);
        accuracy(frame, right);
    } else {
        match state.chart {
            ChartTab::Loss => loss(frame, inner),
            ChartTab::Accuracy => accuracy(frame, inner),
        }
    }
}

/// Epoch and value.
type Points<'a> = &'a [(f64, f64)];

struct Kind {
    title: &'static str,
    top: fn(&[Points]) -> f64,
    label: fn(f64) -> String,
    /// Curves of few points get marks that can be seen alone.
    scatter: bool,
}

static LOSS: Kind = Kind { title: "training loss", top: |curves| top(curves, 0.4), label: |y| format!("{y:.1}"), scatter: false };
static ACCURACY: Kind =
    Kind { title: "validation accuracy", top: |_| 1.0, label: |y| format!("{:.0} %", y * 100.0), scatter: true };

/// A round number above the points, but for the few steep ones at the start, which would press all others flat.
fn top(curves: &[Points], least: f64) -> f64 {
    let mut values: Vec<f64> = curves.iter().flat_map(|curve| curve.iter()).map(|point| point.1).collect();
    values.sort_by(f64::total_cmp);
    let high = values.get(values.len() * 97 / 100).copied().unwrap_or(least).max(least);
    if high > 1.0 { high.ceil() } else { (high * 5.0).ceil() / 5.0 }
}

fn graph(frame: &mut Frame, area: Rect, state: &State, kind: &Kind, x_end: f64, run: Points, baseline: Points) {
    let theme = state.theme;
    let y_end = (kind.top)(&[run, baseline]);
    let graph_type = |points: Points| if kind.scatter && points.len() < 2 { GraphType::Scatter } else { GraphType::Line };
    let set =
        |points, style: Style| Dataset::default().data(points).marker(theme.marker()).graph_type(graph_type(points)).style(style);
    // Later sets are drawn over earlier ones.
    let sets = vec![set(baseline, theme.warn()), set(run, theme.accent())];
    let x_labels = [0.0, x_end / 2.0, x_end].map(|x| Span::styled(format!("{}", (x * 10.0).round() / 10.0), theme.dim()));
    let y_labels = [0.0, y_end / 2.0, y_end].map(|y| Span::styled((kind.label)(y), theme.dim()));
    let last = run.last().map_or(String::new(), |point| format!(" {}", precise(kind, point.1)));
    let [title, body] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
    let line = Line::from(vec![Span::styled(format!(" {}", kind.title), theme.dim()), Span::styled(last, theme.strong())]);
    frame.render_widget(Paragraph::new(line), title);
    let chart = Chart::new(sets)
        .x_axis(Axis::default().bounds([0.0, x_end]).labels(x_labels).style(theme.dim()))
        .y_axis(Axis::default().bounds([0.0, y_end]).labels(y_labels).style(theme.dim()))
        .legend_position(None);
    frame.render_widget(chart, body);
}

fn precise(kind: &Kind, value: f64) -> String {
    if kind.scatter { format!("{:.1} %", value * 100.0) } else { format!("{value:.3}") }
}

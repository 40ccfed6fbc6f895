//! Training loss and validation accuracy of the run on the screen over its epochs, with baseline and pinned runs behind it.
//!
//! Never joins the curves of two runs, and never draws a figure that is no number.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Axis, Chart, Dataset, GraphType, Paragraph};

use super::super::chart_view;
use super::super::state::{ChartTab, Pane, State};
use super::super::watched::Curves;
use super::frame_of;
use crate::runs::RunId;

pub fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let theme = state.theme;
    let drawn: Vec<Drawn> = chart_view::shown(state).into_iter().filter_map(|run| Drawn::of(state, run)).collect();
    let baseline = state.baseline().map(|run| run.id);
    let legend = drawn.iter().flat_map(|drawn| {
        let name = if Some(drawn.run) == baseline { format!("run {} ◆ ", drawn.run) } else { format!("run {} ", drawn.run) };
        let style = if state.chart_view.is_pinned(drawn.run) { theme.strong() } else { theme.text() };
        [Span::styled(format!("{} ", drawn.letter), drawn.style), Span::styled(name, style)]
    });
    let block = frame_of(state, Pane::Chart, legend.collect());
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let Some(watched) = &state.watched else {
        frame.render_widget(
            Paragraph::new(Line::styled(" Loss and accuracy appear here while a run trains.", theme.dim())),
            inner,
        );
        return;
    };
    let epochs = watched.config.as_ref().map_or(1, |config| config.epochs) as f64;
    let x_end = drawn.iter().map(|drawn| drawn.curves.end()).fold(epochs.max(1.0), f64::max);
    let loss: Vec<Curve> = drawn.iter().map(|drawn| (&drawn.curves.loss[..], drawn.style)).collect();
    let accuracy: Vec<Curve> = drawn.iter().map(|drawn| (&drawn.curves.accuracy[..], drawn.style)).collect();
    let loss = |frame: &mut Frame, area| graph(frame, area, state, &LOSS, x_end, &loss);
    let accuracy = |frame: &mut Frame, area| graph(frame, area, state, &ACCURACY, x_end, &accuracy);
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
        match state.chart_view.tab {
            ChartTab::Loss => loss(frame, inner),
            ChartTab::Accuracy => accuracy(frame, inner),
        }
    }
}

struct Drawn<'a> {
    run: RunId,
    letter: char,
    style: Style,
    curves: &'a Curves,
}

impl<'a> Drawn<'a> {
    fn of(state: &'a State, run: RunId) -> Option<Drawn<'a>> {
        let view = &state.chart_view;
        let (slot, letter) = (view.slot(run)?, view.letter(run)?);
        Some(Drawn { run, letter, style: state.theme.run(slot), curves: chart_view::curves(state, run)? })
    }
}

/// Epoch and value.
type Points<'a> = &'a [(f64, f64)];

type Curve<'a> = (Points<'a>, Style);

struct Kind {
    title: &'static str,
    top: fn(&[Curve]) -> f64,
    label: fn(f64) -> String,
    /// Curves of few points get marks that can be seen alone.
    scatter: bool,
}

static LOSS: Kind = Kind { title: "training loss", top: |curves| top(curves, 0.4), label: |y| format!("{y:.1}"), scatter: false };
static ACCURACY: Kind =
    Kind { title: "validation accuracy", top: |_| 1.0, label: |y| format!("{:.0} %", y * 100.0), scatter: true };

/// A round number above the points, but for the few steep ones at the start, which would press all others flat.
fn top(curves: &[Curve], least: f64) -> f64 {
    let mut values: Vec<f64> = curves.iter().flat_map(|curve| curve.0).map(|point| point.1).collect();
    values.sort_by(f64::total_cmp);
    let high = values.get(values.len() * 97 / 100).copied().unwrap_or(least).max(least);
    if high > 1.0 { high.ceil() } else { (high * 5.0).ceil() / 5.0 }
}

fn graph(frame: &mut Frame, area: Rect, state: &State, kind: &Kind, x_end: f64, curves: &[Curve]) {
    let theme = state.theme;
    let y_end = (kind.top)(curves);
    let graph_type = |points: Points| if kind.scatter && points.len() < 2 { GraphType::Scatter } else { GraphType::Line };
    let set =
        |points, style: Style| Dataset::default().data(points).marker(theme.marker()).graph_type(graph_type(points)).style(style);
    // Later sets are drawn over earlier ones.
    let sets = curves.iter().rev().map(|(points, style)| set(points, *style)).collect();
    let x_labels = [0.0, x_end / 2.0, x_end].map(|x| Span::styled(format!("{}", (x * 10.0).round() / 10.0), theme.dim()));
    let y_labels = [0.0, y_end / 2.0, y_end].map(|y| Span::styled((kind.label)(y), theme.dim()));
    let last = curves
        .first()
        .and_then(|(points, _)| points.last())
        .map_or(String::new(), |point| format!(" {}", precise(kind, point.1)));
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

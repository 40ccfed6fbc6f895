//! One run against the baseline: what it gained, what was asked for differently, and how the runs scale.
//!
//! Never compares what cannot be compared: the reason stands there instead.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::super::state::State;
use super::{cut, scaling, wrap};
use crate::columns;
use crate::domain::device::DeviceKind;
use crate::domain::units;
use crate::runs::scaling::Scaling;
use crate::runs::{Report, Row, RunId, RunSummary, Source, references};

/// Columns of a fact's name, and of each of the two values.
const NAME: usize = 16;
const VALUE: usize = 13;
/// Rows of the drawing.
const DRAWING: usize = 12;

pub fn lines(state: &State, id: RunId, width: usize) -> Vec<Line<'static>> {
    let (Some(run), Some(baseline)) = (state.summary(id), state.baseline()) else {
        return vec![Line::styled("nothing to compare with yet", state.theme.dim())];
    };
    let mut page = Page { lines: Vec::new(), state, width };
    let row = Row::new(run, baseline);
    if row.is_baseline {
        page.text("This is the baseline: choose another run, or make another one the baseline with b.", Style::new());
    } else {
        figures(&mut page, &row, run, baseline);
        differences(&mut page, &row, baseline);
    }
    let published = if state.runs_view.published { references() } else { &[] };
    let shown = state.runs_view.shown(&state.runs);
    let report = Report::new(shown, baseline, published);
    drawing(&mut page, &Scaling::new(&report));
    match published {
        [] => page.text("o shows what others published.", state.theme.dim()),
        sources => sources.iter().for_each(|source| publication(&mut page, source)),
    }
    page.lines
}

fn figures(page: &mut Page, row: &Row, run: &RunSummary, baseline: &RunSummary) {
    page.title("What it gained");
    let heading = [format!("run {}", baseline.id), format!("run {}", run.id)];
    page.figure("", heading, "");
    let pair = |value: &dyn Fn(&RunSummary) -> Option<String>| [baseline, run].map(|run| value(run).unwrap_or("–".into()));
    let times = |ratio: f64| format!("{ratio:.2}×");
    let gained = &row.comparison;
    let speedup = gained.speedup.map(|ratio| format!("{} speed-up", times(ratio))).unwrap_or_default();
    page.figure("images/s", pair(&|run| run.figures.images_per_sec.map(units::rate)), &speedup);
    let efficiency = gained.scaling_efficiency.map(|part| format!("{} scaling efficiency", units::percent(part)));
    let ranks = pair(&|run| run.record.as_ref().map(|record| record.spec.np.to_string()));
    page.figure("ranks", ranks, &efficiency.unwrap_or_default());
    let sooner = gained.speedup_to_target.map(|ratio| format!("{} to the target accuracy", times(ratio)));
    page.figure("to target", pair(&|run| run.figures.seconds_to_target.map(units::seconds)), &sooner.unwrap_or_default());
    page.figure("training", pair(&|run| run.training_seconds.map(units::seconds)), "");
    page.figure(cost_name(run), pair(&|run| run.device_seconds().map(units::rate)), "devices times seconds");
    let accuracy = |run: &RunSummary| run.test.map(|test| format!("{:.2} %", test.accuracy * 100.0));
    page.figure("test accuracy", pair(&accuracy), "");
    if let Some(reason) = row.not_comparable {
        page.text(&format!("! No speed-up and no efficiency: {reason}."), page.state.theme.warn());
    }
}

/// GPUs and cores are not the same money.
pub fn cost_name(run: &RunSummary) -> &'static str {
    match run.devices.map(|devices| devices.kind) {
        Some(DeviceKind::Gpu) => "GPU-seconds",
        _ => "device-seconds",
    }
}

fn differences(page: &mut Page, row: &Row, baseline: &RunSummary) {
    page.title(&format!("What differs from run {}", baseline.id));
    if row.differences.is_empty() {
        page.text("Nothing that was asked for: the same steps, settings, images and versions.", Style::new());
    }
    for one in &row.differences {
        page.fact(&one.label(), &format!("{}, not {}", one.run, one.baseline));
        one.steps().iter().for_each(|step| page.fact("", step));
    }
}

fn drawing(page: &mut Page, drawn: &Scaling) {
    let theme = page.state.theme;
    page.title(&format!("Speed-up over run {} by ranks", drawn.baseline));
    page.lines.extend(scaling::lines(drawn, theme, page.width.min(76), DRAWING));
    let mut legend = vec![
        Span::styled("· ", theme.dim()),
        Span::raw("ideal   "),
        Span::styled("■ ", theme.accent()),
        Span::raw("run, measured"),
    ];
    if !drawn.published.is_empty() {
        legend.extend([Span::styled("   ○ ", theme.warn()), Span::raw("published elsewhere")]);
    }
    page.lines.push(Line::from(legend));
    if drawn.left_out > 0 {
        let runs = units::counted(drawn.left_out, "run");
        page.text(&format!("{runs} not drawn: other model or data, or no throughput."), theme.dim());
    }
}

fn publication(page: &mut Page, source: &Source) {
    let theme = page.state.theme;
    page.title(&format!("published: {}", source.name));
    page.text(&format!("{}. {}.", source.title, source.setting), theme.dim());
    let cell = |text: Option<String>, width: usize| format!("{:>width$} ", text.unwrap_or_else(|| "–".into()));
    page.lines.push(Line::styled(
        format!("{:<24} {:>5} {:>14} {:>7} {:>6} {:>11} {:>11}", "", "np", "images/s", "speed", "eff.", "total", "accuracy"),
        theme.dim(),
    ));
    for row in &source.rows {
        let figures = [
            cell(Some(row.np.to_string()), 5),
            cell(row.rate(), 14),
            cell(row.speedup.map(|ratio| format!("{ratio:.2}×")), 7),
            cell(row.scaling_efficiency().map(units::percent), 6),
            cell(row.duration(), 11),
            cell(row.test_accuracy(), 11),
        ];
        page.lines.push(Line::from(format!("{} {}", columns::left(&row.label, 24), figures.concat()).trim_end().to_owned()));
    }
}

struct Page<'a> {
    lines: Vec<Line<'static>>,
    state: &'a State,
    width: usize,
}

impl Page<'_> {
    fn title(&mut self, text: &str) {
        if !self.lines.is_empty() {
            self.lines.push(Line::raw(""));
        }
        self.lines.push(Line::styled(text.to_owned(), self.state.theme.key()));
    }

    fn text(&mut self, text: &str, style: Style) {
        self.lines.extend(wrap(text, self.width).into_iter().map(|line| Line::styled(line, style)));
    }

    fn fact(&mut self, name: &str, value: &str) {
        for (index, line) in wrap(value, self.width.saturating_sub(NAME)).into_iter().enumerate() {
            let name = if index == 0 { name } else { "" };
            self.lines.push(Line::from(vec![Span::styled(format!("{name:<NAME$}"), self.state.theme.dim()), Span::raw(line)]));
        }
    }

    /// A figure of the baseline and of the run, and what that means.
    fn figure(&mut self, name: &str, [baseline, run]: [String; 2], meaning: &str) {
        let room = self.width.saturating_sub(NAME + 2 * VALUE + 2);
        self.lines.push(Line::from(vec![
            Span::styled(format!("{name:<NAME$}"), self.state.theme.dim()),
            Span::raw(format!("{baseline:>VALUE$}{run:>VALUE$}  ")),
            Span::styled(cut(meaning, room), self.state.theme.accent()),
        ]));
    }
}

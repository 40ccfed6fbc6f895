//! Two lines on top: what the next run would be, and how the shown run is going.
//!
//! Never hides that images are generated.

use super::features::State;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use crate::columns;
use crate::columns::cut;
use crate::dataset::LABEL_GENERATED;
use crate::domain::run::{RunState, RunStatus};
use crate::domain::{safe, units};
use crate::tui::shared::watched::Watched;
use crate::tui::widgets::theme::{bar, sign};

pub fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let [first, second] = Layout::vertical([Constraint::Length(1); 2]).areas(area);
    let theme = state.shared.theme;
    let step = match &state.shared.replay {
        Some(playing) => crate::tui::replay::draw::bar(playing, theme),
        None => Line::from(vec![
            Span::styled(" hvd-lab ", theme.key()),
            Span::styled("│ ", theme.dim()),
            Span::styled(state.shared.step.to_string(), theme.strong()),
        ]),
    };
    let next = next_run(state, (first.width as usize).saturating_sub(step.width() + 2));
    let [left, right] = Layout::horizontal([Constraint::Fill(1), Constraint::Length(next.width() as u16)]).areas(first);
    frame.render_widget(Paragraph::new(step), left);
    frame.render_widget(Paragraph::new(next), right);
    frame.render_widget(Paragraph::new(run_line(state, second.width as usize)), second);
}

/// For the terminal's title: what the shown run does.
pub fn title(state: &State) -> String {
    let run = state.shared.watched.as_ref().and_then(|watched| Some((watched, state.shared.watched_state(watched.id)?)));
    match run {
        None => "hvd-lab".into(),
        Some((watched, RunState::Running)) => match watched.config() {
            Some(config) => format!("hvd-lab: run {} epoch {}/{}", watched.id, watched.epoch().max(1), config.epochs),
            None => format!("hvd-lab: run {} running", watched.id),
        },
        Some((watched, state)) => format!("hvd-lab: run {} {}", watched.id, state.name()),
    }
}

/// `np 2 · wrn-10-1 · Fashion-MNIST`; the model goes first where there is no room.
fn next_run(state: &State, width: usize) -> Line<'static> {
    let theme = state.shared.theme;
    let np = Span::raw(format!("np {}", state.shared.spec.resources.np));
    let model = Span::raw(state.shared.spec.workload.model.to_string());
    let label = state.shared.data.as_ref().map_or_else(|| state.shared.spec.workload.data.to_string(), |data| data.label.clone());
    // It may be a path, which leaves the model its room.
    let room = width.saturating_sub(np.width() + model.width() + 7).max(13);
    let data = match label == LABEL_GENERATED {
        true => Span::styled(label, theme.warn()),
        false => Span::raw(cut(&label, room)),
    };
    let candidates = [vec![np.clone(), model, data.clone()], vec![np.clone(), data], vec![np]];
    let lines = candidates.into_iter().map(|facts| {
        let mut line = Line::default();
        for (index, fact) in facts.into_iter().enumerate() {
            if index > 0 {
                line.push_span(Span::styled(" · ", theme.dim()));
            }
            line.push_span(fact);
        }
        line.push_span(Span::raw(" "));
        line
    });
    lines.into_iter().find(|line| line.width() <= width).unwrap_or_default()
}

fn run_line(state: &State, width: usize) -> Line<'static> {
    let theme = state.shared.theme;
    if state.shared.is_starting() {
        return Line::from(vec![Span::styled(" a run is starting …", theme.accent())]);
    }
    let Some(watched) = &state.shared.watched else {
        let text = if state.shared.listed { " no run yet: press " } else { " reading the runs … press " };
        return Line::from(vec![
            Span::styled(text, theme.dim()),
            Span::styled("r", theme.key()),
            Span::styled(" to run, ", theme.dim()),
            Span::styled("?", theme.key()),
            Span::styled(" for help", theme.dim()),
        ]);
    };
    let summary = state.shared.summary(watched.id);
    let Some(status) = state.shared.status(watched.id) else {
        return Line::styled(format!(" run {}: reading …", watched.id), theme.dim());
    };
    let mut spans = vec![
        Span::styled(format!(" run {} ", watched.id), theme.strong()),
        Span::styled(format!("{} {}", sign(status.state), status.state.name()), theme.state(status.state)),
    ];
    if summary.and_then(|summary| summary.record.as_ref()).is_some_and(|record| record.data_label == LABEL_GENERATED) {
        spans.push(Span::styled(format!("  on {LABEL_GENERATED}"), theme.warn()));
    }
    let mut facts = match status.state {
        RunState::Running | RunState::Preparing | RunState::Stopping => going(state, watched, status, width),
        RunState::Failed => failed(status),
        RunState::Finished | RunState::Stopped => {
            // Half a figure would be a wrong one.
            let mut left = width.saturating_sub(spans.iter().map(Span::width).sum());
            let facts = over(state, watched, status).into_iter().map(Span::raw);
            facts.take_while(|fact| left.checked_sub(fact.width()).map(|rest| left = rest).is_some()).collect()
        }
    };
    if let Some(other) = state.shared.going().filter(|other| *other != watched.id) {
        facts.push(Span::styled(format!("  (run {other} is going)"), theme.warn()));
    }
    spans.extend(facts);
    fit(spans, width)
}

fn going(state: &State, watched: &Watched, status: &RunStatus, width: usize) -> Vec<Span<'static>> {
    let theme = state.shared.theme;
    let elapsed = units::clock(state.shared.now_s.max(status.started_s) - status.started_s);
    let Some(config) = watched.config() else {
        return vec![Span::raw(format!("  {elapsed}  ")), Span::styled(status.message.clone(), theme.dim())];
    };
    let (full, rest) = bar(
        watched.progress(),
        match width {
            0..110 => 8,
            110..150 => 20,
            _ => 30,
        },
    );
    let mut spans = vec![
        Span::raw(format!("  epoch {}/{} ", watched.epoch().max(1), config.epochs)),
        Span::styled(full, theme.accent()),
        Span::styled(rest, theme.dim()),
        Span::raw(format!(" {:>3.0} %  {elapsed}", watched.progress() * 100.0)),
    ];
    if let Some(step) = watched.step() {
        spans.push(Span::raw(format!("  loss {:.3}", step.loss)));
    }
    if let Some(report) = watched.last_epoch() {
        spans.push(Span::raw(format!("  accuracy {:.1} %", report.judged().accuracy * 100.0)));
    }
    spans
}

/// What there is to say of it, the most telling first.
fn over(state: &State, watched: &Watched, status: &RunStatus) -> Vec<String> {
    let Some(summary) = state.shared.summary(watched.id) else { return Vec::new() };
    let epochs = summary.last_epoch;
    let early = watched.early_stop().map_or(String::new(), |epoch| format!(" (stopped early after {epoch})"));
    let mut facts = vec![format!("  {}{early}", units::counted(epochs, "epoch"))];
    let accuracy = watched.test().map(|test| test.accuracy).or(summary.test.map(|test| test.accuracy));
    facts.extend(accuracy.map(|accuracy| format!("  test accuracy {:.1} %", accuracy * 100.0)));
    facts.extend(status.ended_s.map(|ended| format!("  {} in all", units::seconds(ended - status.started_s))));
    facts.extend(summary.figures.images_per_sec.map(|rate| format!("  {} images/s", units::rate(rate))));
    facts
}

/// Which rank, and why, in the words of the launcher.
fn failed(status: &RunStatus) -> Vec<Span<'static>> {
    let cause = match (status.failed_process, status.message.strip_prefix("process ")) {
        (Some(_), Some(rest)) => format!("rank {rest}"),
        (Some(process), None) => format!("rank {process}: {}", status.message),
        (None, _) => status.message.clone(),
    };
    vec![Span::raw(format!("  {cause}"))]
}

/// Cuts the line where the screen ends, with a sign.
fn fit(spans: Vec<Span<'static>>, width: usize) -> Line<'static> {
    let mut left = width;
    let mut fitted = Vec::with_capacity(spans.len());
    for span in spans {
        let span = Span::styled(safe::line(&span.content).into_owned(), span.style);
        let columns = columns::width(&span.content);
        if columns > left {
            fitted.push(Span::styled(cut(&span.content, left), span.style));
            break;
        }
        left -= columns;
        fitted.push(span);
    }
    Line::from(fitted)
}

//! Two lines on top: the step and how the shown run is going; what that run gained, and what the next one would be.
//!
//! Generated images are always named as such.

use super::gain::{self, Wording};
use crate::tui::replay;
use crate::tui::state::State;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use crate::columns::{self, cut};
use crate::dataset::is_generated;
use crate::domain::run::{RunState, RunStatus};
use crate::domain::{printable, units};
use crate::tui::shared::{Watched, has_steps};
use crate::tui::widgets::sign;

/// Facts of a run that the title of the step makes room for.
const FIRST_FACTS: usize = 2;

/// Columns between what was gained and what the next run would be.
const APART: usize = 3;

pub fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let [first, second] = Layout::vertical([Constraint::Length(1); 2]).areas(area);
    let (left, right) = first_line(state, first.width as usize);
    both_ends(frame, first, left, right);
    let (left, right) = second_line(state, second.width as usize);
    both_ends(frame, second, left, right);
}

fn both_ends(frame: &mut Frame, area: Rect, left: Line, right: Line) {
    let [from, to] = Layout::horizontal([Constraint::Fill(1), Constraint::Length(right.width() as u16)]).areas(area);
    frame.render_widget(Paragraph::new(left), from);
    frame.render_widget(Paragraph::new(right), to);
}

/// For the terminal's title: what the shown run does.
pub fn title(state: &State) -> String {
    let run = state.shared.watched.as_ref().and_then(|watched| Some((watched, state.shared.watched_state(watched.id)?)));
    match run {
        None => "hvd-lab".into(),
        Some((watched, RunState::Running)) => match watched.config() {
            Some(_) if watched.is_testing() => format!("hvd-lab: run {} testing", watched.id),
            Some(config) => format!("hvd-lab: run {} epoch {}/{}", watched.id, watched.epoch().max(1), config.epochs),
            None => format!("hvd-lab: run {} running", watched.id),
        },
        Some((watched, state)) => format!("hvd-lab: run {} {}", watched.id, state.name()),
    }
}

/// The step under the cursor, or the recording; and how the shown run is going.
fn first_line(state: &State, width: usize) -> (Line<'static>, Line<'static>) {
    let theme = state.shared.theme;
    let lab = || [Span::styled(" hvd-lab ", theme.key()), Span::styled("│ ", theme.dim())];
    let (step, number) = (state.shared.step, format!("Step {}/10", state.shared.step.number()));
    let lefts = match &state.shared.replay {
        Some(playing) => [true, false].map(|whole| replay::bar(playing, theme, whole)).into(),
        None => vec![
            Line::from_iter(lab().into_iter().chain([Span::styled(step.to_string(), theme.strong())])),
            Line::from_iter(lab().into_iter().chain([Span::styled(number.clone(), theme.strong())])),
            Line::styled(format!(" {number}"), theme.strong()),
        ],
    };
    let (run, facts) = run_facts(state, width).unwrap_or_default();
    let wide = |spans: &[Span]| spans.iter().map(Span::width).sum::<usize>();
    // A space stays free at the right end. The title of the step makes room for the first facts, because its pane shows it too.
    // In a replay the recording's hardware makes room for the state of the run only.
    let first = if state.shared.replay.is_some() { 0 } else { FIRST_FACTS };
    let least = wide(&run) + facts.iter().take(first).map(|fact| wide(fact)).sum::<usize>() + 1;
    let fitting = lefts.iter().find(|left| left.width() + least <= width);
    let Some(left) = fitting.or(lefts.last()).cloned() else { return Default::default() };
    let mut room = width.saturating_sub(left.width() + 1);
    let mut spans = run;
    room = room.saturating_sub(wide(&spans));
    for fact in facts {
        // Half a figure would be wrong.
        let Some(rest) = room.checked_sub(wide(&fact)) else { break };
        room = rest;
        spans.extend(fact);
    }
    let mut right = fit(spans, width.saturating_sub(left.width() + 1));
    right.push_span(Span::raw(" "));
    (left, right)
}

/// The speed-up of the shown run, and the settings of the next one.
fn second_line(state: &State, width: usize) -> (Line<'static>, Line<'static>) {
    let Wording { texts, reason } = gain::wording(state);
    let nexts = next_run(state);
    for text in &texts {
        if let Some(next) = nexts(width.saturating_sub(text.width() + APART)) {
            return (text.clone(), next);
        }
        // A reason goes last.
        if reason && text.width() <= width {
            return (text.clone(), Line::default());
        }
    }
    let least = texts.into_iter().next_back().unwrap_or_default();
    (fit(least.spans, width), Line::default())
}

/// `next run: np 2 · wrn-10-1 · Fashion-MNIST`, down to `next: np 2`; the model goes first where there is no room. `None` where there is room for
/// nothing.
fn next_run(state: &State) -> impl Fn(usize) -> Option<Line<'static>> {
    let theme = state.shared.theme;
    let np = format!("np {}", state.shared.spec.resources.np);
    let model = state.shared.spec.workload.model.to_string();
    let label = state.shared.data.as_ref().map_or_else(|| state.shared.spec.workload.data.to_string(), |data| data.label.clone());
    let style = if is_generated(&label) { theme.warn() } else { theme.text() };
    move |width: usize| {
        let label_and = |facts: &[String], data: Option<usize>| {
            let mut line = Line::from(Span::styled("next run: ", theme.dim()));
            line.push_span(Span::raw(facts.join(" · ")));
            if let Some(room) = data {
                line.extend([Span::styled(" · ", theme.dim()), Span::styled(cut(&label, room), style)]);
            }
            line.push_span(Span::raw(" "));
            line
        };
        let both = [np.clone(), model.clone()];
        // The images may be in a folder with a long path, which leaves the others their room.
        let room = |facts: &[String]| width.saturating_sub(label_and(facts, None).width() + 3).max(13);
        let (all, few, whole) = (&both[..], &both[..1], Some(usize::MAX));
        let candidates = [(all, whole), (few, whole), (all, Some(room(all))), (few, Some(room(few))), (few, None)];
        let short = Line::from(vec![Span::styled("next: ", theme.dim()), Span::raw(format!("{np} "))]);
        let mut candidates = candidates.into_iter().map(|(facts, data)| label_and(facts, data)).chain([short]);
        candidates.find(|line| line.width() <= width)
    }
}

/// The shown run: what it is and how it stands, and facts about it, the most telling first, each with what parts it from the
/// last one.
fn run_facts(state: &State, width: usize) -> Option<(Vec<Span<'static>>, Vec<Vec<Span<'static>>>)> {
    let theme = state.shared.theme;
    let watched = state.shared.watched.as_ref().filter(|_| !state.shared.is_starting())?;
    let summary = state.shared.summary(watched.id);
    let Some(status) = state.shared.status(watched.id) else {
        return Some((vec![Span::styled(format!(" run {}: reading …", watched.id), theme.dim())], Vec::new()));
    };
    let mut run = vec![
        Span::styled(format!(" run {} ", watched.id), theme.strong()),
        Span::styled(format!("{} {}", sign(status.state), status.state.name()), theme.state(status.state)),
    ];
    let images = summary.and_then(|summary| summary.record.as_ref()).map(|record| &record.data_label);
    if let Some(images) = images.filter(|images| is_generated(images)) {
        run.push(Span::styled(format!("  on {images}"), theme.warn()));
    }
    let mut facts = match status.state {
        RunState::Running | RunState::Preparing | RunState::Stopping => going(state, watched, status, width),
        // The line below says why.
        RunState::Failed => Vec::new(),
        RunState::Finished | RunState::Stopped => {
            over(state, watched, status).into_iter().map(|fact| vec![Span::raw(fact)]).collect()
        }
    };
    if let Some(other) = state.shared.going().filter(|other| *other != watched.id) {
        facts.insert(0, vec![Span::styled(format!("  (run {other} is running)"), theme.warn())]);
    }
    Some((run, facts))
}

fn going(state: &State, watched: &Watched, status: &RunStatus, width: usize) -> Vec<Vec<Span<'static>>> {
    let theme = state.shared.theme;
    let elapsed = units::clock(state.shared.now_s.max(status.started_s) - status.started_s);
    let elapsed = vec![Span::raw(format!("  {elapsed}"))];
    if let Some(logged) = watched.logged() {
        return vec![elapsed, vec![Span::raw(format!("  {}", logged.in_short()))]];
    }
    let Some(config) = watched.config() else {
        // The line below says what it prepares.
        if status.state == RunState::Preparing {
            return vec![elapsed];
        }
        return vec![elapsed, vec![Span::styled(format!("  {}", status.message), theme.dim())]];
    };
    let cells = match width {
        0..110 => 8,
        110..150 => 10,
        _ => 30,
    };
    let what = match watched.is_testing() {
        true => "  testing".to_owned(),
        false => format!("  epoch {}/{}", watched.epoch().max(1), config.epochs),
    };
    let epoch = vec![Span::raw(what)];
    let [full, rest] = theme.gauge(watched.progress(), cells, theme.accent());
    let progress = vec![Span::raw(" "), full, rest, Span::raw(format!(" {:>3.0} %", watched.progress() * 100.0))];
    let loss = watched.step().map(|step| format!("  loss {:.3}", step.loss));
    let accuracy = watched
        .last_epoch()
        .map(|report| format!("  accuracy {:.1} %", report.validated().unwrap_or(report.train).accuracy * 100.0));
    let figures = loss.into_iter().chain(accuracy).map(|figure| vec![Span::raw(figure)]);
    [epoch, progress, elapsed].into_iter().chain(figures).collect()
}

/// Facts about a run that is over, the most important first.
fn over(state: &State, watched: &Watched, status: &RunStatus) -> Vec<String> {
    let Some(summary) = state.shared.summary(watched.id) else { return Vec::new() };
    let epochs = summary.last_epoch;
    let early = watched.early_stop().map_or(String::new(), |epoch| format!(" (stopped early after {epoch})"));
    let accuracy = watched.test().map(|test| test.accuracy).or(summary.test.map(|test| test.accuracy));
    let accuracy = accuracy.map(|accuracy| format!("  test accuracy {:.1} %", accuracy * 100.0));
    let mut facts: Vec<String> = accuracy.into_iter().collect();
    facts.push(match has_steps(summary) {
        false => format!("  {}", status.message),
        true => format!("  {}{early}", units::counted(epochs, "epoch")),
    });
    facts.extend(status.ended_s.map(|ended| format!("  {} in all", units::seconds(ended - status.started_s))));
    facts.extend(summary.figures.images_per_sec.map(|rate| format!("  {} images/s", units::rate(rate))));
    facts
}

/// Cuts the line where the screen ends, with a sign.
fn fit(spans: Vec<Span<'static>>, width: usize) -> Line<'static> {
    let mut left = width;
    let mut fitted = Vec::with_capacity(spans.len());
    for span in spans {
        let span = Span::styled(printable::line(&span.content).into_owned(), span.style);
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

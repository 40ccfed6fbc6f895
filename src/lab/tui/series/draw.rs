//! Runs that take turns: which is going, and what they have shown so far.
//!
//! Never draws a table of its own: the course writes it, as for a terminal.

use super::state::SeriesView;
use crate::tui::shared::Shared;
use ratatui::text::{Line, Span};

use crate::course::{Next, Results, Series, lay_out};
use crate::domain::run::RunState;
use crate::tui::widgets::markdown::styled;
use crate::tui::widgets::{sign, wrapped};

pub fn lines(own: &SeriesView, shared: &Shared, width: usize) -> Vec<Line<'static>> {
    let theme = shared.theme;
    let Some(series) = &own.series else { return vec![Line::styled("no runs yet", theme.dim())] };
    let mut lines = progress(own, shared, series, width);
    if let Some(results) = &own.results {
        // A table of runs says itself which of them wait.
        if matches!(results, Results::Guided(_)) {
            lines.clear();
        } else {
            lines.truncate(1);
        }
        lines.extend(lay_out(&results.to_markdown(), width).into_iter().map(|row| styled(theme, &row)));
    }
    lines
}

/// A line on how far it is, then one for each run.
fn progress(own: &SeriesView, shared: &Shared, series: &Series, width: usize) -> Vec<Line<'static>> {
    let theme = shared.theme;
    let all = series.turns.len();
    let (text, style) = match own.next(shared) {
        Next::Wait(run) => {
            let place = series.turns.iter().position(|turn| turn.run == Some(run)).unwrap_or(0);
            (format!("run {} of {all} is running: {}", place + 1, series.turns[place].name), theme.accent())
        }
        Next::Start(index) => match shared.going() {
            Some(run) => (format!("run {} of {all} waits for run {run} to end", index + 1), theme.text()),
            None => (format!("run {} of {all} is about to start", index + 1), theme.text()),
        },
        Next::Over if series.begun() < all => (format!("ended after {} of {all} runs", series.begun()), theme.warn()),
        Next::Over => (format!("all {all} runs are over"), theme.accent()),
    };
    let mut lines = wrapped(&text, width, style);
    for turn in &series.turns {
        let (mark, word) = match turn.run.map(|run| (run, shared.turn_state(run))) {
            None if series.is_cancelled => (" ", "cancelled".to_owned()),
            None => ("·", "waits".to_owned()),
            Some((run, now)) => {
                let now = now.unwrap_or(RunState::Stopped);
                (sign(now), format!("run {run} {}", now.name()))
            }
        };
        let steps = turn.spec.workload.steps.in_words();
        lines.push(Line::from(vec![
            Span::styled(format!("  {mark} "), theme.accent()),
            Span::raw(format!("{:<11} {steps:<14} ", turn.name)),
            Span::styled(word, theme.dim()),
        ]));
    }
    lines
}

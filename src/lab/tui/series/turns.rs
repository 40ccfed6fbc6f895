//! Runs that take turns: which is going, how the others stand, and what they have shown so far.
//!
//! Never draws a table of its own: the course writes it, as for a terminal.

use ratatui::text::{Line, Span};

use super::state::SeriesView;
use super::update::cancel;
use crate::columns::capital;
use crate::course::{Next, Results, Series, lay_out};
use crate::domain::run::RunState;
use crate::tui::actions::{Action, Binding, Char, Code, Command, Ctrl, K, row};
use crate::tui::shared::Shared;
use crate::tui::state::{About, Outcome, Page, State, View, Window};
use crate::tui::widgets::markdown::styled;
use crate::tui::widgets::{sign, wrapped};

#[derive(Clone, Debug)]
pub struct Turns;

/// The last series there was, or how the one that is going stands.
pub fn show(state: &mut State) -> Vec<Action> {
    match state.series.series {
        Some(_) => state.windows.show(Turns),
        None => {
            let text = "nothing to show yet: in the pane Steps, g runs without and with the chosen step, and A leaves out each step in turn";
            state.shared.inform(text);
        }
    }
    Vec::new()
}

pub static KEYS: &[Binding] = &[
    row(&[Char('x')], Command::Stop, "x", "cancel the waiting runs, stop the current one", "").ranked(0),
    row(&[Code(K::Esc), Char('G'), Char('q'), Code(K::Enter), Ctrl('c')], Command::Back, "Esc", "close", "").ranked(0),
];

impl Window for Turns {
    fn about(&self, _: &State) -> About {
        About { keys: KEYS, scrolls: true, ..About::default() }
    }

    fn view(&self, state: &State, columns: u16) -> Option<View> {
        let (series, shared) = (&state.series, &state.shared);
        let title = series.series.as_ref().map_or(String::new(), |series| capital(&series.name()));
        Some(Page::view(title, columns, 110, |width| lines(series, shared, width)))
    }

    fn press(&mut self, state: &mut State, command: Command) -> Outcome {
        match command {
            Command::Stop => Outcome::Stay(cancel(&state.series, &state.shared)),
            _ => Outcome::CLOSE,
        }
    }

    fn is_idle(&self, state: &State, command: Command) -> Option<bool> {
        (command == Command::Stop).then(|| state.series.next(&state.shared) == Next::Over)
    }
}

fn lines(own: &SeriesView, shared: &Shared, width: usize) -> Vec<Line<'static>> {
    let theme = shared.theme;
    let Some(series) = &own.series else { return vec![Line::styled("no runs yet", theme.dim())] };
    let mut lines = progress(own, shared, series, width);
    if let Some(results) = &own.results {
        // A table of runs says itself which of them wait.
        lines.truncate(if matches!(results, Results::Guided(_)) { 0 } else { 1 });
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

//! One line on what to do next, from what has been done: in a border, where it costs no row.
//!
//! Keys stand between backticks. It says one thing at a time, and nothing while a run is going.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::course::Series;
use crate::domain::run::RunState;
use crate::runs::RunSummary;
use crate::tui::actions::{Command, Pane};
use crate::tui::preferences::Tried;
use crate::tui::shared::{Shared, is_of_collectives};
use crate::tui::state::State;

/// A key was followed.
pub fn note(tried: &mut Tried, command: Command) {
    match command {
        Command::Compare => tried.compared = true,
        Command::ToggleStep(_) | Command::Switch | Command::AllSteps => tried.switched = true,
        Command::Lesson => tried.read = true,
        _ => {}
    }
}

/// What to do next. `None` while there is something to watch, and when the learner has seen everything.
pub fn hint(state: &State) -> Option<String> {
    let shared = &state.shared;
    let is_busy = shared.replay.is_some() || shared.is_starting() || shared.going().is_some() || !shared.listed;
    if is_busy || state.help.tour.is_some() {
        return None;
    }
    let np = shared.spec.resources.np;
    let Some(last) = shared.runs.last() else {
        return Some(match np {
            1 => "`r` trains on one rank".to_owned(),
            _ => format!("`r` trains on {np} ranks with these steps"),
        });
    };
    let measured =
        || shared.runs.iter().filter(|run| run.figures.images_per_sec.is_some() && run.status.state == RunState::Finished);
    let with = |of: fn(usize) -> bool| measured().any(|run| of(run.figures.np));
    Some(match () {
        () if shared.run_state(last) == RunState::Failed => format!("run {} failed: `i` shows why", last.id),
        () if measured().next().is_none() && is_of_collectives(last) => "`C`: what the ranks sent; `r` trains".to_owned(),
        () if measured().next().is_none() => format!("`c` lets run {} go on, `r` starts another", last.id),
        () if !with(|np| np > 1) && np == 1 => "`+` and `r`: how much faster on 2 ranks?".to_owned(),
        () if !with(|np| np > 1) => format!("`r`: how much faster on {np} ranks?"),
        () if !with(|np| np == 1) && np > 1 => "`-` until np is 1, then `r`: the speed-up".to_owned(),
        () if !with(|np| np == 1) => "`r` on one rank: then you see the speed-up".to_owned(),
        () if !state.hints.compared => compare(shared)?,
        () if !state.hints.read => format!("`w`: why step {} is needed", shared.step.number()),
        () if same_steps(measured()) && !state.hints.switched => "`4` then `r`: what is the broadcast for?".to_owned(),
        () if same_steps(measured()) => "`r`: what changes with these steps?".to_owned(),
        () if !shared.runs.iter().any(is_before_and_after) => {
            format!("`g` in Steps: without and with step {}", shared.step.number())
        }
        () if !shared.runs.iter().any(is_of_collectives) => "`C`: how does an allreduce work?".to_owned(),
        () => return None,
    })
}

/// `None` where no run can be compared with the baseline.
fn compare(shared: &Shared) -> Option<String> {
    let baseline = shared.baseline()?.id;
    let other = shared.runs.iter().rev().find(|run| run.id != baseline && shared.comparison(run).is_ok())?;
    Some(format!("`v` compares run {} with run {baseline}", other.id))
}

fn same_steps<'a>(runs: impl Iterator<Item = &'a RunSummary>) -> bool {
    let mut steps = runs.filter_map(|run| Some(run.record.as_ref()?.training()?.steps));
    steps.next().is_none_or(|first| steps.all(|other| other == first))
}

fn is_before_and_after(run: &RunSummary) -> bool {
    run.record.as_ref().and_then(|record| record.name.as_deref()).is_some_and(Series::is_of_a_pair)
}

/// Draws the hint in the lower border of the table of runs.
pub fn draw(frame: &mut Frame, panes: &[(Pane, Rect)], state: &State) {
    let theme = state.shared.theme;
    // The table of runs ends at the bottom of every screen.
    let place = panes.iter().find(|(pane, _)| *pane == Pane::Runs).map(|(_, rect)| *rect);
    let Some((area, text)) = place.zip(hint(state)) else { return };
    let mut spans = vec![Span::styled(" Next: ", theme.dim())];
    spans.extend(text.split('`').enumerate().map(|(place, part)| {
        let style = if place % 2 == 1 { theme.key() } else { theme.text() };
        Span::styled(part.to_owned(), style)
    }));
    spans.push(Span::raw(" "));
    let line = Line::from(spans);
    let (width, y) = (line.width() as u16, area.bottom().saturating_sub(1));
    // The table says in its border why runs cannot be compared.
    let border = frame.buffer_mut()[(area.right().saturating_sub(2), y)].symbol().to_owned();
    let is_free = |x: &u16| (*x..*x + width).all(|x| frame.buffer_mut()[(x, y)].symbol() == border);
    let Some(x) = (area.x + 1..(area.right().saturating_sub(width))).find(is_free) else { return };
    frame.render_widget(&line, Rect { x, y, width, height: 1 });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::step::{Step, StepSet};
    use crate::tui::testing::samples;
    use crate::tui::tests::{press, text, type_text};
    use crossterm::event::KeyCode;

    fn next(state: &State) -> String {
        hint(state).unwrap_or_default()
    }

    #[test]
    fn it_follows_the_learner_from_the_first_run_to_before_and_after() {
        let mut state = samples::never_used();
        assert_eq!(next(&state), "`r` trains on 2 ranks with these steps");
        state.shared.runs.push(samples::finished(1, 2, 900.0));
        assert_eq!(next(&state), "`-` until np is 1, then `r`: the speed-up");
        type_text(&mut state, "-");
        assert_eq!(next(&state), "`r` on one rank: then you see the speed-up");
        state.shared.runs.push(samples::finished(2, 1, 500.0));
        assert_eq!(next(&state), "`v` compares run 1 with run 2");
        assert!(text(&state, 80, 24).contains(" Next: v compares run 1 with run 2 "), "{}", text(&state, 80, 24));
        type_text(&mut state, "v");
        press(&mut state, KeyCode::Esc);
        assert_eq!(next(&state), "`w`: why step 1 is needed");
        type_text(&mut state, "w");
        press(&mut state, KeyCode::Esc);
        assert_eq!(next(&state), "`4` then `r`: what is the broadcast for?");
        type_text(&mut state, "4");
        assert_eq!(next(&state), "`r`: what changes with these steps?");
        let mut other = samples::finished(3, 2, 900.0);
        other.record.as_mut().unwrap().spec.workload.training_mut().unwrap().steps = StepSet::ALL.without(Step::Broadcast);
        state.shared.runs.push(other);
        assert_eq!(next(&state), "`g` in Steps: without and with step 4");
        state.shared.runs.last_mut().unwrap().record.as_mut().unwrap().name = Some("step 4 after".into());
        assert_eq!(next(&state), "`C`: how does an allreduce work?");
        state.shared.runs.insert(0, crate::tui::collectives::tests::samples::summary(9, 2));
        assert_eq!(hint(&state), None, "all was seen");
        state.shared.runs.last_mut().unwrap().status.state = RunState::Failed;
        assert_eq!(next(&state), "run 3 failed: `i` shows why");
    }

    #[test]
    fn only_runs_with_one_rank_ask_for_more() {
        let mut state = samples::never_used();
        state.shared.runs.push(samples::finished(1, 1, 500.0));
        assert_eq!(next(&state), "`r`: how much faster on 2 ranks?");
        type_text(&mut state, "-");
        assert_eq!(next(&state), "`+` and `r`: how much faster on 2 ranks?");
    }

    #[test]
    fn nothing_is_said_while_a_run_is_going_or_a_window_is_open() {
        assert_eq!(hint(&samples::running()), None);
        let mut state = samples::never_used();
        assert!(text(&state, 80, 24).contains(" Next: r trains on 2 ranks with these steps "));
        type_text(&mut state, "?");
        assert!(!text(&state, 80, 24).contains("Next: "));
    }
}

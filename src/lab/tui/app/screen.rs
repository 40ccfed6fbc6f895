//! What the keys of the application do to the screen: the focus, the lecture view, the mouse, the theme.

use super::{layout, lecture};
use crate::runs::{Filter, RunId};
use crate::tui::actions::{Action, Effect, Pane, TerminalOrder, cycle};
use crate::tui::log;
use crate::tui::next_run::edit::Edit;
use crate::tui::state::State;
use crate::tui::widgets::Look;

/// Shows the lecture view or the panes.
pub fn toggle_projector(state: &mut State) -> Vec<Action> {
    let shows = !state.projector;
    project(state, shows);
    run_to_project(state).map(Action::Watch).into_iter().collect()
}

/// The run that goes on while another one is on the screen of the lecture view.
pub fn run_to_project(state: &State) -> Option<RunId> {
    let watched = state.shared.watched.as_ref().map(|watched| watched.id);
    state.shared.going().filter(|going| state.projector && Some(*going) != watched)
}

/// Whether the terminal is too small for the lab. A size that is not known yet counts as large enough.
pub fn is_too_small(state: &State) -> bool {
    state.shared.size.0 > 0 && layout::body(state.shared.screen()).is_none()
}

/// Shows the pane alone, or all of them.
pub fn toggle_zoom(state: &mut State) -> Vec<Action> {
    state.zoom = !state.zoom;
    Vec::new()
}

pub fn reset_borders(state: &mut State) -> Vec<Action> {
    state.preferences.shares.clear();
    state.shared.inform("the pane sizes are reset");
    Vec::new()
}

fn project(state: &mut State, shows: bool) {
    state.projector = shows;
    match shows {
        // The only one of the panes whose cursor shows there: on the step that the view speaks of.
        true => {
            state.focus = Pane::Steps;
            state.shared.step = lecture::step_of_the_view(&state.shared);
        }
        // A small screen has another one in front.
        false => keep_focus_on_the_screen(state),
    }
}

/// Takes away what is in front: the lecture view, what the log marks or searches, the filter of the runs, the zoom.
pub fn back(state: &mut State) -> Vec<Action> {
    if state.projector {
        project(state, false);
        return Vec::new();
    }
    if state.focus == Pane::Log
        && let Some(actions) = log::read::back(&mut state.log, &state.shared)
    {
        return actions;
    }
    match state.focus == Pane::Runs && !state.runs.filter.is_empty() {
        true => state.runs.filter = Filter::default(),
        false => state.zoom = false,
    }
    Vec::new()
}

/// Gives the keyboard to the pane `by` places further in their order.
pub fn turn_focus(state: &mut State, by: usize) -> Vec<Action> {
    focus(state, cycle(&Pane::ALL, state.focus, by));
    Vec::new()
}

/// Gives a pane the keyboard, and the place that it shares with others.
pub fn focus(state: &mut State, pane: Pane) {
    state.focus = pane;
    if pane.shares_slot() || layout::turns(state.shared.screen()).contains(&pane) {
        state.slot = pane;
    }
}

/// After the terminal got another size: the pane that has the keyboard is on the screen.
pub fn keep_focus_on_the_screen(state: &mut State) {
    // The lecture view has no other pane.
    if state.projector {
        return;
    }
    let area = state.shared.screen();
    match (state.focus, layout::in_turn(area, state.slot)) {
        // A value that is half typed.
        (Pane::Settings, Some(_)) if state.windows.get::<Edit>().is_some() => focus(state, state.focus),
        // The results stay in view; a small screen is not for settings.
        (Pane::Chart | Pane::Log | Pane::Runs, Some(_)) => focus(state, state.focus),
        (focus, Some(shown)) if layout::turns(area).contains(&focus) => state.focus = shown,
        _ => {}
    }
}

/// Gives the mouse back to the terminal, or takes it again.
pub fn toggle_mouse(state: &mut State) -> Vec<Action> {
    state.preferences.mouse = !state.preferences.mouse;
    state.shared.inform(if state.preferences.mouse {
        "the lab uses the mouse again: click, wheel, drag borders"
    } else {
        "the terminal uses the mouse, so you can select text; press m to give it back"
    });
    vec![Effect::Terminal(TerminalOrder::CaptureMouse(state.preferences.mouse)).into()]
}

/// Takes the next theme that looks different on this background.
pub fn next_theme(state: &mut State) -> Vec<Action> {
    let shared = &mut state.shared;
    let now = shared.theme.look;
    let colours = |look: Look| look.colours(shared.theme.background);
    let following = std::iter::successors(Some(cycle(&Look::ALL, now, 1)), |look| Some(cycle(&Look::ALL, *look, 1)));
    shared.theme.look = following.take(Look::ALL.len()).find(|look| colours(*look) != colours(now)).unwrap_or(now);
    let name = shared.theme.look.name();
    let more = if shared.theme.colour { "; T takes the next one" } else { ", without colours: NO_COLOR is set" };
    shared.inform(format!("theme {name}{more}"));
    Vec::new()
}

pub fn start_tour(state: &mut State) -> Vec<Action> {
    state.help.start_tour();
    Vec::new()
}

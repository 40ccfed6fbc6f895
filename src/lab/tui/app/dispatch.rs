//! Commands go to the window in front, else to the application or to the pane with the focus. What they ask for is done here.
//!
//! A command that cannot be followed says why.

use super::screen::focus;
use super::{features, hint, places, windows};
use crate::domain::units;
use crate::runs::RunId;
use crate::tui::actions::{Action, Command, Effect, Pane, TerminalOrder};
use crate::tui::log::state::LogTab;
use crate::tui::shared::Watched;
use crate::tui::state::State;
use crate::tui::{collectives, exercise, forms, help, lesson, log, next_run, runs, series};

/// Follows a command, from a key, a click or the palette.
pub fn perform(state: &mut State, command: Command) -> Vec<Effect> {
    if command == Command::Suspend {
        return vec![Effect::Terminal(TerminalOrder::Suspend)];
    }
    if state.shared.replay.is_some() && command.starts_or_stops() {
        let is_own = matches!(command, Command::Edit | Command::Mine | Command::Reset | Command::App("exercise"));
        let what = if is_own { "your own trainer is not part of it" } else { "nothing starts or stops here" };
        return state.shared.refuse(format!("this is a recording: {what}. q leaves it, and `hvd-lab` opens your own lab"));
    }
    lay_out_log(state);
    if !state.windows.is_empty() {
        let actions = windows::press(state, command);
        return act(state, actions);
    }
    hint::note(&mut state.hints, command);
    // The lecture view shows neither the settings nor all steps.
    let unseen = state.projector.then(|| state.shared.spec.clone());
    let actions = match command {
        // Found in the palette: no window is there to be scrolled, but a pane.
        Command::Scroll(by) => return perform(state, Command::Move(by)),
        Command::Player(order) => return vec![Effect::Player(order)],
        Command::ToggleStep(step) => {
            next_run::update::toggle(&mut state.shared, step);
            Vec::new()
        }
        command => match features::find(command) {
            Some(key) => (key.act)(state),
            None => features::update(state, command),
        },
    };
    let next = &state.shared.spec;
    if unseen.is_some_and(|before| before != *next) && state.shared.notice.is_none() {
        let (np, steps) = (units::counted(next.resources.np, "rank"), next.workload.steps);
        state.shared.inform(format!("the next run: {np}, steps {steps}"));
    }
    act(state, actions)
}

/// Does what features ask for, in their order.
pub fn act(state: &mut State, actions: Vec<Action>) -> Vec<Effect> {
    actions.into_iter().flat_map(|action| act_on(state, action)).collect()
}

fn act_on(state: &mut State, action: Action) -> Vec<Effect> {
    let actions = match action {
        Action::Effect(effect) => return vec![effect],
        Action::Watch(run) => return watch(state, run),
        Action::RefreshChart => return state.chart.refresh(&mut state.shared),
        Action::Press(pane, command) => {
            if let Some(pane) = pane {
                focus(state, pane);
            }
            return perform(state, command);
        }
        Action::Keys(title) => help::windows::show_keys_of(state, title),
        Action::Stop => runs::confirm::stop(state),
        Action::AskAnyway(why, start) => next_run::confirm_start::ask_anyway(state, why, start),
        Action::ShowRank(rank) => {
            state.devices.choose_rank(rank);
            if state.focus != Pane::Devices {
                focus(state, Pane::Log);
            }
            Vec::new()
        }
        Action::Leave => {
            state.done = true;
            Vec::new()
        }
        Action::Lesson => lesson::reading::open(state),
        Action::LessonOf(number) => lesson::reading::open_number(state, number),
        Action::Diff(step) => exercise::windows::show_diff_of(state, step),
        Action::Guided => series::confirm::guided(state),
        Action::Ablation => series::confirm::ablation(state),
        Action::Collectives => collectives::stage::open(state),
        Action::SetUp(spec) => forms::form::open(state, *spec),
        Action::AdvanceSeries => series::update::advance(&state.series, &mut state.shared),
        Action::ShowSeries => series::turns::show(state),
    };
    act(state, actions)
}

/// Puts a run on the screen.
pub fn watch(state: &mut State, run: RunId) -> Vec<Effect> {
    state.shared.watched = Some(Watched::new(run));
    state.devices.forget_others();
    state.log = state.log.of_another_run(LogTab::opening(&state.shared));
    [vec![Effect::WatchRanks(Vec::new()), Effect::Watch(run)], read_log(state), state.chart.refresh(&mut state.shared)].concat()
}

/// Tells the log where its pane is, which says what of it is in sight.
pub fn lay_out_log(state: &mut State) {
    state.log.area = places::place_of(state, Pane::Log);
}

pub fn read_log(state: &mut State) -> Vec<Effect> {
    lay_out_log(state);
    let actions = log::read::read(&mut state.log, &state.shared, None);
    act(state, actions)
}

pub fn show_log_tab(state: &mut State, tab: LogTab) -> Vec<Effect> {
    lay_out_log(state);
    let actions = log::read::turn_to(&mut state.log, &state.shared, tab);
    act(state, actions)
}

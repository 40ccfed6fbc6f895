//! Who does what: commands go to the application or to a feature, and what a feature asks for goes to whom it concerns.
//!
//! Never does nothing: a command that cannot be followed says why.

use ratatui::layout::Rect;

use super::command::AppCommand;
use super::features::Command;
use super::features::State;
use super::{features, hint, keymap, layout, places, windows};
use crate::domain::settings::Key;
use crate::runs::{Filter, RunId};
use crate::tui::actions::action::Action;
use crate::tui::actions::effect::Effect;
use crate::tui::actions::pane::Pane;
use crate::tui::log::state::LogTab;
use crate::tui::next_run::fields::{Direction, Field};
use crate::tui::shared::watched::Watched;
use crate::tui::{collectives, exercise, faults, forms, lesson, log, next_run, queue, runs, series, simulate};

/// Follows a command, from a key, a click or the palette.
pub fn perform(state: &mut State, command: Command) -> Vec<Effect> {
    if command == Command::App(AppCommand::Suspend) {
        return vec![Effect::Suspend];
    }
    lay_out_log(state);
    hint::note(&mut state.hints, command);
    if windows::is_open(state) {
        let actions = windows::press(state, command);
        return act(state, actions);
    }
    if state.shared.replay.is_some() && command.starts_or_stops() {
        let is_own = matches!(command, Command::App(AppCommand::Edit | AppCommand::Exercise));
        let what = if is_own { "your own trainer is not part of it" } else { "nothing starts or stops here" };
        state.shared.inform(format!("this is a recording: {what}. q leaves it, and `hvd-lab` opens your own lab"));
        return Vec::new();
    }
    let actions = match command {
        Command::App(command) => application(state, command),
        // Found in the palette: no window is there to be scrolled, but a pane.
        Command::Scroll(by) => return perform(state, features::movement(state.focus, by)),
        command => features::update(state, command),
    };
    act(state, actions)
}

fn application(state: &mut State, command: AppCommand) -> Vec<Action> {
    let shared = &mut state.shared;
    match command {
        AppCommand::ToggleStep(step) => next_run::update::toggle(shared, step),
        AppCommand::Run => return next_run::update::run(&mut state.next_run, shared),
        AppCommand::Stop => runs::update::stop(&mut state.runs, shared),
        AppCommand::Continue => runs::update::continue_run(&mut state.runs, shared),
        AppCommand::Baseline => return runs::update::baseline(shared),
        AppCommand::Compare => runs::update::compare(&mut state.runs, shared),
        AppCommand::Details => runs::update::details(&mut state.runs, shared),
        AppCommand::Lesson => return lesson::update::open(&mut state.lesson, shared),
        AppCommand::Diff => {
            let step = shared.step;
            exercise::update::show_diff(&mut state.exercise, shared, step);
        }
        AppCommand::Edit => return exercise::update::edit(&mut state.exercise),
        AppCommand::Exercise => return exercise::update::show(&mut state.exercise),
        AppCommand::MoreRanks => next_run::update::change(shared, Field::Of(Key::Np), Direction::Up),
        AppCommand::FewerRanks => next_run::update::change(shared, Field::Of(Key::Np), Direction::Down),
        AppCommand::NextPane => turn(state, 1),
        AppCommand::PreviousPane => turn(state, Pane::ALL.len() - 1),
        AppCommand::Zoom => state.zoom = !state.zoom,
        AppCommand::Help => state.help.show_keys(),
        AppCommand::Palette => state.help.show_palette(),
        AppCommand::Collectives => return collectives::update::open(&mut state.collectives, shared),
        AppCommand::Benchmark => forms::update::benchmark(&mut state.forms, shared),
        AppCommand::Photos => forms::update::photos(&mut state.forms, shared),
        AppCommand::Simulate => simulate::update::open(&mut state.simulate, shared),
        AppCommand::Faults => faults::update::open(&mut state.faults, shared),
        AppCommand::Queue => return queue::update::open(&mut state.queue),
        AppCommand::Rank => log::find::open(&mut state.log, shared),
        AppCommand::Projector => {
            let shows = !state.projector;
            project(state, shows);
        }
        AppCommand::Tour => state.help.start_tour(),
        AppCommand::ResetBorders => {
            state.preferences.shares.clear();
            shared.inform("the pane sizes are reset");
        }
        AppCommand::Mouse => return switch_mouse(state),
        AppCommand::Theme => {
            shared.theme.look = shared.theme.look.next();
            let name = shared.theme.look.name();
            shared.inform(match shared.theme.colour {
                true => format!("theme {name}; T takes the next one"),
                false => format!("theme {name}, without colours: NO_COLOR is set"),
            });
        }
        AppCommand::Quit if shared.replay.is_some() => state.done = true,
        AppCommand::Quit => match shared.going() {
            Some(going) => runs::update::ask_to_quit(&mut state.runs, going),
            None => state.done = true,
        },
        AppCommand::Back => return back(state),
        // Before anything else.
        AppCommand::Suspend => {}
    }
    Vec::new()
}

fn project(state: &mut State, shows: bool) {
    state.projector = shows;
    match shows {
        // The only one of the panes whose cursor shows there.
        true => state.focus = Pane::Steps,
        // A small screen has another one in front.
        false => keep_focus_on_the_screen(state),
    }
}

/// Takes away what is in front: the projector, what the log marks or searches, the filter of the runs, the zoom.
fn back(state: &mut State) -> Vec<Action> {
    if state.projector {
        project(state, false);
        return Vec::new();
    }
    if state.focus == Pane::Log
        && let Some(actions) = log::update::back(&mut state.log, &state.shared)
    {
        return actions;
    }
    match state.focus == Pane::Runs && !state.runs.filter.is_empty() {
        true => state.runs.filter = Filter::default(),
        false => state.zoom = false,
    }
    Vec::new()
}

fn turn(state: &mut State, by: usize) {
    let place = Pane::ALL.iter().position(|pane| *pane == state.focus).unwrap_or(0);
    focus(state, Pane::ALL[(place + by) % Pane::ALL.len()]);
}

/// Gives a pane the keyboard, and the place that it shares with others.
pub fn focus(state: &mut State, pane: Pane) {
    state.focus = pane;
    let (columns, rows) = state.shared.size;
    if pane.shares_slot() || layout::turns(Rect::new(0, 0, columns, rows)).contains(&pane) {
        state.slot = pane;
    }
}

/// After the terminal got another size: the pane that has the keyboard is on the screen.
pub fn keep_focus_on_the_screen(state: &mut State) {
    let (columns, rows) = state.shared.size;
    let area = Rect::new(0, 0, columns, rows);
    match (state.focus, layout::in_turn(area, state.slot)) {
        // A value that is half typed.
        (Pane::Settings, Some(_)) if state.next_run.window.is_some() => focus(state, state.focus),
        // What was gained; settings are not what a small screen is for.
        (Pane::Chart | Pane::Log | Pane::Runs, Some(_)) => focus(state, state.focus),
        (focus, Some(shown)) if layout::turns(area).contains(&focus) => state.focus = shown,
        _ => {}
    }
}

/// Gives the mouse back to the terminal, or takes it again.
fn switch_mouse(state: &mut State) -> Vec<Action> {
    state.preferences.mouse = !state.preferences.mouse;
    state.shared.inform(if state.preferences.mouse {
        "the lab uses the mouse again: click, wheel, drag borders"
    } else {
        "the terminal uses the mouse, so you can select text; press m to give it back"
    });
    vec![Effect::CaptureMouse(state.preferences.mouse).into()]
}

/// Does what features ask for, in their order.
pub fn act(state: &mut State, actions: Vec<Action>) -> Vec<Effect> {
    let mut effects = Vec::new();
    for action in actions {
        match action {
            Action::Effect(effect) => effects.push(effect),
            action => effects.extend(one(state, action)),
        }
    }
    effects
}

fn one(state: &mut State, action: Action) -> Vec<Effect> {
    let actions = match action {
        Action::Effect(effect) => return vec![effect],
        Action::Watch(run) => return watch(state, run),
        Action::RefreshChart => return refresh_chart(state),
        Action::Run => return perform(state, AppCommand::Run.into()),
        Action::Press(number) => return press_entry(state, number),
        Action::Keys(title) => windows::replace(state, |state| {
            state.help.show_keys_of(title);
            Vec::new()
        }),
        Action::Stop if state.shared.replay.is_some() => {
            state.shared.inform("this is a recording: nothing stops here. q leaves it, and `hvd-lab` opens your own lab");
            return Vec::new();
        }
        Action::Stop => windows::replace(state, |state| {
            runs::update::stop(&mut state.runs, &mut state.shared);
            Vec::new()
        }),
        Action::ShowRank(rank) => {
            state.devices.choose_rank(rank);
            if state.focus != Pane::Devices {
                focus(state, Pane::Log);
            }
            return Vec::new();
        }
        Action::Leave => {
            state.done = true;
            return Vec::new();
        }
        Action::Lesson => windows::replace(state, |state| lesson::update::open(&mut state.lesson, &mut state.shared)),
        Action::LessonOf(number) => {
            windows::replace(state, |state| lesson::update::open_number(&mut state.lesson, &mut state.shared, number))
        }
        Action::Diff(step) => windows::replace(state, |state| {
            exercise::update::show_diff(&mut state.exercise, &mut state.shared, step);
            Vec::new()
        }),
        Action::Guided => windows::replace(state, |state| {
            series::update::guided(&mut state.series, &mut state.shared);
            Vec::new()
        }),
        Action::Ablation => windows::replace(state, |state| {
            series::update::ablation(&mut state.series, &mut state.shared);
            Vec::new()
        }),
        Action::Collectives => windows::replace(state, |state| collectives::update::open(&mut state.collectives, &state.shared)),
        Action::SetUp(spec) => windows::replace(state, |state| {
            forms::update::again(&mut state.forms, *spec);
            Vec::new()
        }),
        Action::AdvanceSeries => series::update::advance(&state.series, &mut state.shared),
        Action::ShowSeries => windows::replace(state, |state| {
            series::update::show(&mut state.series, &mut state.shared);
            Vec::new()
        }),
    };
    act(state, actions)
}

/// An entry of the palette works as its key would, in its pane.
fn press_entry(state: &mut State, number: usize) -> Vec<Effect> {
    let Some((command, pane)) = keymap::of_entry(number) else { return Vec::new() };
    if let Some(pane) = pane {
        focus(state, pane);
    }
    perform(state, command)
}

/// Puts a run on the screen.
pub fn watch(state: &mut State, run: RunId) -> Vec<Effect> {
    state.shared.watched = Some(Watched::new(run));
    state.devices.forget_others();
    state.log = state.log.of_another_run();
    let mut effects = vec![Effect::WatchRanks(Vec::new()), Effect::Watch(run)];
    effects.extend(read_log(state));
    effects.extend(refresh_chart(state));
    effects
}

fn refresh_chart(state: &mut State) -> Vec<Effect> {
    state.chart.refresh(&mut state.shared)
}

/// Tells the log where its pane is, which says what of it is in sight.
pub fn lay_out_log(state: &mut State) {
    state.log.area = places::place_of(state, Pane::Log);
}

pub fn read_log(state: &mut State) -> Vec<Effect> {
    lay_out_log(state);
    let actions = log::update::read(&mut state.log, &state.shared, None);
    act(state, actions)
}

pub fn turn_log(state: &mut State, tab: LogTab) -> Vec<Effect> {
    lay_out_log(state);
    let actions = log::update::turn_to(&mut state.log, &state.shared, tab);
    act(state, actions)
}

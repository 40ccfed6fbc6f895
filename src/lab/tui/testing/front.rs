//! The window in front as one type, for tests to ask for it and to open it.

use crate::tui::app::features::State;
use crate::tui::app::windows;
use crate::tui::{collectives, devices, exercise, help, lesson, log, next_run, runs, series};

#[derive(Clone, Debug, PartialEq)]
pub enum Front {
    None,
    Edit(next_run::windows::Edit),
    ConfirmStart(next_run::windows::ConfirmStart),
    AskLog(log::windows::Ask),
    FindRank(log::windows::Find),
    AskDevices(devices::windows::Ask),
    Device(devices::windows::Details),
    Details(runs::windows::Details),
    Compare(runs::windows::Compare),
    Continue(runs::windows::Continue),
    ConfirmStop(runs::windows::ConfirmStop),
    ConfirmDelete(runs::windows::ConfirmDelete),
    Quit(runs::windows::Quit),
    AskRuns(runs::windows::Ask),
    Lesson(lesson::windows::Reading),
    Series(series::windows::Turns),
    ConfirmSeries(series::windows::ConfirmSeries),
    Exercise(exercise::windows::Own),
    Tracks(exercise::windows::Tracks),
    Diff(exercise::windows::Diff),
    ConfirmReset(exercise::windows::ConfirmReset),
    Stage(collectives::windows::Stage),
    MeasureCollectives(collectives::windows::Form),
    Help(help::windows::Keys),
    Palette(help::windows::Palette),
}

pub fn front(state: &State) -> Front {
    if let Some(window) = &state.next_run.window {
        return match window.clone() {
            next_run::windows::Window::Edit(window) => Front::Edit(window),
            next_run::windows::Window::ConfirmStart(window) => Front::ConfirmStart(window),
        };
    }
    if let Some(window) = &state.log.window {
        return match window.clone() {
            log::windows::Window::Ask(window) => Front::AskLog(window),
            log::windows::Window::Find(window) => Front::FindRank(window),
        };
    }
    if let Some(window) = &state.devices.window {
        return match window.clone() {
            devices::windows::Window::Ask(window) => Front::AskDevices(window),
            devices::windows::Window::Details(window) => Front::Device(window),
        };
    }
    if let Some(window) = &state.runs.window {
        return match window.clone() {
            runs::windows::Window::Details(window) => Front::Details(window),
            runs::windows::Window::Compare(window) => Front::Compare(window),
            runs::windows::Window::Continue(window) => Front::Continue(window),
            runs::windows::Window::ConfirmStop(window) => Front::ConfirmStop(window),
            runs::windows::Window::ConfirmDelete(window) => Front::ConfirmDelete(window),
            runs::windows::Window::Quit(window) => Front::Quit(window),
            runs::windows::Window::Ask(window) => Front::AskRuns(window),
        };
    }
    if let Some(window) = &state.lesson.window {
        return match window.clone() {
            lesson::windows::Window::Reading(window) => Front::Lesson(window),
        };
    }
    if let Some(window) = &state.series.window {
        return match window.clone() {
            series::windows::Window::Turns(window) => Front::Series(window),
            series::windows::Window::ConfirmSeries(window) => Front::ConfirmSeries(window),
        };
    }
    if let Some(window) = &state.exercise.window {
        return match window.clone() {
            exercise::windows::Window::Own(window) => Front::Exercise(window),
            exercise::windows::Window::Tracks(window) => Front::Tracks(window),
            exercise::windows::Window::Diff(window) => Front::Diff(window),
            exercise::windows::Window::ConfirmReset(window) => Front::ConfirmReset(window),
        };
    }
    if let Some(window) = &state.collectives.window {
        return match window.clone() {
            collectives::windows::Window::Stage(window) => Front::Stage(window),
            collectives::windows::Window::Form(window) => Front::MeasureCollectives(window),
        };
    }
    if let Some(window) = &state.help.window {
        return match window.clone() {
            help::windows::Window::Keys(window) => Front::Help(window),
            help::windows::Window::Palette(window) => Front::Palette(window),
        };
    }
    Front::None
}

/// Opens it in the place of any other.
pub fn open(state: &mut State, front: Front) {
    windows::close(state);
    match front {
        Front::None => {}
        Front::Edit(window) => state.next_run.window = Some(window.into()),
        Front::ConfirmStart(window) => state.next_run.window = Some(window.into()),
        Front::AskLog(window) => state.log.window = Some(window.into()),
        Front::FindRank(window) => state.log.window = Some(window.into()),
        Front::AskDevices(window) => state.devices.window = Some(window.into()),
        Front::Device(window) => state.devices.window = Some(window.into()),
        Front::Details(window) => state.runs.window = Some(window.into()),
        Front::Compare(window) => state.runs.window = Some(window.into()),
        Front::Continue(window) => state.runs.window = Some(window.into()),
        Front::ConfirmStop(window) => state.runs.window = Some(window.into()),
        Front::ConfirmDelete(window) => state.runs.window = Some(window.into()),
        Front::Quit(window) => state.runs.window = Some(window.into()),
        Front::AskRuns(window) => state.runs.window = Some(window.into()),
        Front::Lesson(window) => state.lesson.window = Some(window.into()),
        Front::Series(window) => state.series.window = Some(window.into()),
        Front::ConfirmSeries(window) => state.series.window = Some(window.into()),
        Front::Exercise(window) => state.exercise.window = Some(window.into()),
        Front::Tracks(window) => state.exercise.window = Some(window.into()),
        Front::Diff(window) => state.exercise.window = Some(window.into()),
        Front::ConfirmReset(window) => state.exercise.window = Some(window.into()),
        Front::Stage(window) => state.collectives.window = Some(window.into()),
        Front::MeasureCollectives(window) => state.collectives.window = Some(window.into()),
        Front::Help(window) => state.help.window = Some(window.into()),
        Front::Palette(window) => state.help.window = Some(window.into()),
    }
}

//! The one list of what works whichever pane has the focus: a row is a key with its words, and what it does or opens.
//!
//! A feature with a window registers here by its opening key, and needs nothing else: footer, help and palette read the same
//! row. A pane is registered below, has its name in `actions::pane` and its place in `layout`.

use crossterm::event::KeyCode as K;
use ratatui::Frame;
use ratatui::layout::Rect;

use super::screen;
use crate::domain::settings::Key;
use crate::tui::actions::action::Action;
use crate::tui::actions::command::Command as C;
use crate::tui::actions::command::{Command, Direction};
use crate::tui::actions::keys::On::{Char, Code, Ctrl};
use crate::tui::actions::keys::{Binding, ESCAPE, row as key};
use crate::tui::actions::pane::Pane;
use crate::tui::next_run::fields::Field;
use crate::tui::state::State;
use crate::tui::widgets::frame::Focus;
use crate::tui::widgets::slot;
use crate::tui::{chart, collectives, devices, exercise, faults, forms, help, lesson, log, next_run, queue, runs, simulate};

/// A key of the application, and what it does.
pub struct Row {
    pub binding: Binding,
    pub act: fn(&mut State) -> Vec<Action>,
}

const fn row(binding: Binding, act: fn(&mut State) -> Vec<Action>) -> Row {
    Row { binding, act }
}

/// In the order of the help.
pub static PANES: &[Row] = &[
    row(
        key(&[Char('r')], C::Run, "r", "run", "start a run with these steps and settings").ranked(0),
        next_run::confirm_start::run,
    ),
    row(key(&[Char('x')], C::Stop, "x", "stop", "stop the run (asks first)").ranked(0), runs::confirm::stop),
    row(
        key(&[Char('c')], C::Continue, "c", "continue", "train the chosen run for more epochs").ranked(5),
        runs::confirm::continue_run,
    ),
    row(key(&[Char('b')], C::Baseline, "b", "baseline", "compare all runs with the chosen one").ranked(5), |state| {
        runs::chosen::baseline(&mut state.shared)
    }),
    row(
        key(&[Char('v')], C::Compare, "v", "", "compare the chosen run with the baseline: speed-up, accuracy, what differs"),
        runs::compare::open,
    ),
    row(key(&[Char('i')], C::Details, "i", "details", "details of the chosen run, with its mpirun line"), runs::details::open),
    row(key(&[Char('w')], C::Lesson, "w", "lesson", "the lesson of the chosen step: why you need it"), lesson::reading::open),
    row(key(&[Char('e')], C::Edit, "e", "", "your own trainer: edit it; saving builds and runs it"), exercise::windows::edit),
    row(key(&[Char('E')], C::Open("exercise"), "E", "", "your own trainer: result of your last build"), exercise::windows::show),
    row(key(&[Char('d')], C::Diff, "d", "", "what the chosen step changes in the program"), exercise::windows::show_diff),
    row(key(&[Char('+'), Char('=')], C::MoreRanks, "+ -", "np", "more or fewer ranks").ranked(5), |state| {
        ranks(state, Direction::Up)
    }),
    row(key(&[Char('-'), Char('_')], C::FewerRanks, "", "", ""), |state| ranks(state, Direction::Down)),
    row(key(&[Code(K::Tab)], C::NextPane, "Tab", "pane", "next pane; Shift-Tab the one before").ranked(1), |state| {
        screen::turn(state, 1)
    }),
    row(key(&[Code(K::BackTab)], C::PreviousPane, "", "", ""), |state| screen::turn(state, Pane::ALL.len() - 1)),
    row(key(&[Char('z')], C::Zoom, "z", "zoom", "zoom the pane, or show all"), screen::turn_zoom),
    row(key(&[Char('m')], C::Mouse, "m", "", "release the mouse to select text, or take it again"), screen::switch_mouse),
    row(
        key(&[Char('T')], C::Theme, "T", "", "the next theme: dark, light, high contrast, colour-blind, mono"),
        screen::turn_theme,
    ),
    row(
        key(&[Char(':'), Ctrl('p')], C::Open("palette"), ":", "", "all commands, found by their words"),
        help::windows::show_palette,
    ),
    row(
        key(
            &[Char('C')],
            C::Open("collectives"),
            "C",
            "",
            "collectives: play an allreduce message by message; time and bandwidth by size",
        ),
        collectives::update::open,
    ),
    row(
        key(&[Char('B')], C::Open("benchmark"), "B", "", "benchmark: set up how fast a model is trained (`hvd-lab bench`)"),
        forms::form::benchmark,
    ),
    row(
        key(&[Char('I')], C::Open("photos"), "I", "", "images: set up a training on photos (`hvd-lab nvcnn`)"),
        forms::form::photos,
    ),
    row(
        key(
            &[Char('U')],
            C::Open("simulate"),
            "U",
            "",
            "up to how many GPUs? simulate what more of them would give (`hvd-lab simulate`)",
        ),
        simulate::open,
    ),
    row(
        key(&[Char('F')], C::Open("faults"), "F", "", "faults: freeze, slow or end a rank on purpose, and see how it is found"),
        faults::open,
    ),
    row(
        key(
            &[Char('Q')],
            C::Open("queue"),
            "Q",
            "",
            "queue: who has which GPU of a shared machine, and who waits (`hvd-lab queue`)",
        ),
        queue::open,
    ),
    row(
        key(&[Char('#')], C::Open("rank"), "#", "", "a rank by its number or its host: its log, and its device"),
        log::find::open,
    ),
    row(
        key(&[Char('P')], C::Projector, "P", "", "for a projector: large step and speed-up, or the panes again"),
        screen::turn_projector,
    ),
    row(key(&[Code(K::F(2))], C::Tour, "F2", "", "the tour of the screen"), screen::start_tour),
    row(key(&[Code(K::F(5))], C::ResetBorders, "F5", "", "reset pane sizes"), screen::reset_borders),
    row(key(&[Char('?'), Code(K::F(1))], C::Help, "?", "help", "this help").ranked(0), help::windows::show_keys),
    row(key(ESCAPE, C::Back, "Esc", "", "dismiss a notice, leave the zoom").ranked(0), screen::back),
    row(
        key(&[Char('q'), Ctrl('c')], C::Quit, "q", "quit", "quit; a run can continue in the background").ranked(0),
        runs::confirm::quit,
    ),
];

/// The row of a command of the application.
pub fn row_of(command: Command) -> Option<&'static Row> {
    PANES.iter().find(|row| row.binding.command == command)
}

fn ranks(state: &mut State, direction: Direction) -> Vec<Action> {
    next_run::update::change(&mut state.shared, Field::Of(Key::Np), direction);
    Vec::new()
}

/// The keys of a pane that has the focus.
pub fn keys(pane: Pane) -> &'static [Binding] {
    match pane {
        Pane::Steps => next_run::keys::STEPS,
        Pane::Settings => next_run::keys::SETTINGS,
        Pane::Devices => devices::keys::KEYS,
        Pane::Chart => chart::keys::KEYS,
        Pane::Log => log::keys::KEYS,
        Pane::Runs => runs::keys::KEYS,
    }
}

/// Follows a command in the pane that has the keyboard.
pub fn update(state: &mut State, command: Command) -> Vec<Action> {
    match state.focus {
        Pane::Steps => next_run::update::steps(&mut state.shared, command),
        Pane::Settings => next_run::update::settings(state, command),
        Pane::Devices => devices::update::update(state, command),
        Pane::Chart => chart::update::update(&mut state.chart, &mut state.shared, command),
        Pane::Log => log::update::update(state, command),
        Pane::Runs => runs::update::update(state, command),
    }
}

/// Draws a pane in its place, which it may take in turn with others.
pub fn draw(frame: &mut Frame, area: Rect, pane: Pane, state: &State, focus: Focus, turns: &[Pane]) {
    let shared = &state.shared;
    match pane {
        Pane::Steps => next_run::steps::draw(frame, area, shared, focus),
        Pane::Settings => next_run::settings::draw(frame, area, (&state.next_run, state.windows.get()), shared, focus),
        Pane::Devices => devices::draw::draw(frame, area, &state.devices, shared, focus),
        Pane::Chart => chart::draw::draw(frame, area, &state.chart, shared, focus),
        Pane::Log => log::draw::draw(frame, area, &state.log, shared, focus, slot::width(turns)),
        Pane::Runs => runs::draw::draw(frame, area, &state.runs, shared, focus),
    }
}

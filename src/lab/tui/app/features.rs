//! The one list of what works whichever pane has the focus: a row is a key with its words, and what it does or opens.
//!
//! A feature with a window registers here by its opening key, and needs nothing else: footer, help and palette read the same
//! row. A pane is registered below, has its name in `actions::pane` and its place in `layout`.

use ratatui::Frame;
use ratatui::layout::Rect;

use super::screen;
use crate::tui::actions::{Action, Binding, Char, Code, Command as C, Command, Ctrl, ESCAPE, K, On, Pane, keys};
use crate::tui::next_run::fields::Field;
use crate::tui::state::{State, open};
use crate::tui::widgets::{Focus, slot};
use crate::tui::{
    chart, collectives, devices, exercise, faults, forms, help, inspection, lesson, log, next_run, notices, queue, runs, series,
    simulate,
};

/// A key of the application, and what it does.
pub struct AppKey {
    pub binding: Binding,
    pub act: fn(&mut State) -> Vec<Action>,
}

impl AppKey {
    const fn ranked(self, rank: u8) -> AppKey {
        AppKey { binding: self.binding.ranked(rank), ..self }
    }
}

const fn row(
    on: &'static [On],
    command: Command,
    (key, label): (&'static str, &'static str),
    help: &'static str,
    act: fn(&mut State) -> Vec<Action>,
) -> AppKey {
    AppKey { binding: keys::row(on, command, key, label, help), act }
}

/// In the order of the help.
pub static APP_KEYS: &[AppKey] = &[
    row(&[Char('r')], C::Run, ("r", "run"), "start a run with these steps and settings", next_run::confirm_start::run).ranked(0),
    row(&[Char('x')], C::Stop, ("x", "stop"), "stop the run (asks first)", runs::confirm::stop).ranked(0),
    row(&[Char('c')], C::Continue, ("c", "continue"), "train the chosen run for more epochs", runs::confirm::continue_run)
        .ranked(5),
    row(&[Char('b')], C::Baseline, ("b", "baseline"), "compare all runs with the chosen one", |state| {
        runs::state::baseline(&mut state.shared)
    })
    .ranked(5),
    row(&[Char('v')], C::Compare, ("v", ""), COMPARE, runs::compare::open),
    row(&[Char('i')], C::Details, ("i", "details"), "details of the chosen run, with its mpirun line", runs::details::open),
    row(&[Char('w')], C::Lesson, ("w", "lesson"), "the lesson of the chosen step: why you need it", lesson::reading::open),
    row(&[Char('e')], C::Edit, ("e", ""), "your own trainer: edit it; saving builds and runs it", exercise::windows::edit),
    row(&[Char('E')], C::App("exercise"), ("E", ""), "your own trainer: result of your last build", exercise::windows::show),
    row(&[Char('d')], C::Diff, ("d", ""), "what the chosen step changes in the program", exercise::windows::show_diff),
    row(&[Char('G')], C::Results, ("G", ""), "show the last before/after or ablation", series::turns::show),
    row(&[Char('+'), Char('=')], C::App("more ranks"), ("+ -", "np"), "more or fewer ranks", |state| ranks(state, true))
        .ranked(5),
    row(&[Char('-'), Char('_')], C::App("fewer ranks"), ("", ""), "", |state| ranks(state, false)),
    row(&[Code(K::Tab)], C::App("next pane"), ("Tab", "pane"), "next pane; Shift-Tab the one before", |state| {
        screen::turn_focus(state, 1)
    })
    .ranked(1),
    row(&[Code(K::BackTab)], C::App("previous pane"), ("", ""), "", |state| screen::turn_focus(state, Pane::ALL.len() - 1)),
    row(&[Char('z')], C::App("zoom"), ("z", "zoom"), "zoom the pane, or show all", screen::toggle_zoom),
    row(&[Char('m')], C::App("mouse"), ("m", ""), "release the mouse to select text, or take it again", screen::toggle_mouse),
    row(&[Char('T')], C::App("theme"), ("T", ""), THEME, screen::next_theme),
    row(&[Char(':'), Ctrl('p')], C::App("palette"), (":", ""), PALETTE, open::<help::windows::Palette>),
    row(&[Char('C')], C::App("collectives"), ("C", ""), COLLECTIVES, collectives::stage::open),
    row(&[Char('B')], C::App("benchmark"), ("B", ""), BENCHMARK, forms::form::benchmark),
    row(&[Char('I')], C::App("photos"), ("I", ""), "images: set up a training on photos (`hvd-lab nvcnn`)", forms::form::photos),
    row(&[Char('U')], C::App("simulate"), ("U", ""), SIMULATE, simulate::open),
    row(&[Char('F')], C::App("faults"), ("F", ""), FAULTS, faults::open),
    row(&[Char('Q')], C::App("queue"), ("Q", ""), QUEUE, queue::open),
    row(&[Char('O')], C::App("program"), ("O", ""), PROGRAM, forms::program::open),
    row(&[Char('K')], C::App("notices"), ("K", ""), NOTICES, open::<notices::Notices>),
    row(&[Char('J')], C::App("inspection"), ("J", ""), INSPECTION, inspection::open),
    row(&[Char('#')], C::App("rank"), ("#", ""), "a rank by its number or its host: its log, and its device", log::find::open),
    row(&[Char('P')], C::App("projector"), ("P", ""), PROJECTOR, screen::toggle_projector),
    row(&[Code(K::F(2))], C::App("tour"), ("F2", ""), "the tour: what ranks are, and the first run", screen::start_tour),
    row(&[Code(K::F(5))], C::App("borders"), ("F5", ""), "reset pane sizes", screen::reset_borders),
    row(&[Char('?'), Code(K::F(1))], C::Help, ("?", "help"), "this help", open::<help::windows::Keys>).ranked(0),
    row(ESCAPE, C::Back, ("Esc", ""), "dismiss a notice, leave the zoom", screen::back).ranked(0),
    row(&[Char('q'), Ctrl('c')], C::Quit, ("q", "quit"), "quit; a run can continue in the background", runs::confirm::quit)
        .ranked(0),
];

const COMPARE: &str = "compare the chosen run with the baseline: speed-up, accuracy, what differs";
const THEME: &str = "the next theme: dark, light, high contrast, colour-blind, mono";
const PALETTE: &str = "all commands, found by their words";
const COLLECTIVES: &str = "collectives: play an allreduce message by message; time and bandwidth by size";
const BENCHMARK: &str = "benchmark: set up how fast a model is trained (`hvd-lab bench`)";
const SIMULATE: &str = "up to how many GPUs? simulate what more of them would give (`hvd-lab simulate`)";
const FAULTS: &str = "faults: freeze, slow or end a rank on purpose, and see how it is found";
const QUEUE: &str = "queue: who has which GPU of a shared machine, and who waits (`hvd-lab queue`)";
const PROGRAM: &str = "a program of your own: run it, and see which of the ten steps are right in it (`hvd-lab inspect`)";
const NOTICES: &str = "kept notices: what was said, for they leave by themselves";
const INSPECTION: &str = "judged: what the inspector found in your own program, with the lines to change (`hvd-lab inspect`)";
const PROJECTOR: &str = "lecture view, for a projector: this run, large; or the panes";

/// The key of a command of the application.
pub fn find(command: Command) -> Option<&'static AppKey> {
    APP_KEYS.iter().find(|row| row.binding.command == command)
}

fn ranks(state: &mut State, up: bool) -> Vec<Action> {
    next_run::update::change(&mut state.shared, Field::Of("np"), up);
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
        Pane::Settings => next_run::settings::draw(frame, area, state, focus),
        Pane::Devices => devices::draw::draw(frame, area, &state.devices, shared, focus),
        Pane::Chart => chart::draw::draw(frame, area, &state.chart, shared, focus),
        Pane::Log => log::draw::draw(frame, area, &state.log, shared, focus, slot::width(turns)),
        Pane::Runs => runs::draw::draw(frame, area, &state.runs, shared, focus),
    }
}

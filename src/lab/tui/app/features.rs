//! The one list of features and panes: the state of each, its commands, its keys, and who follows and draws it.
//!
//! Never anything of a feature itself. A pane is registered here, has its name in `actions::pane` and its place in `layout`.

use ratatui::Frame;
use ratatui::layout::Rect;

use super::command::AppCommand;
use super::preferences::{Done, Dragged, Preferences};
use crate::domain::step::Step;
use crate::launch::Preset;
use crate::tui::actions::action::Action;
use crate::tui::actions::keys::{self as actions_keys, Binding, Move};
use crate::tui::actions::pane::Pane;
use crate::tui::chart::state::Chart;
use crate::tui::collectives::state::Collectives;
use crate::tui::devices::state::Devices;
use crate::tui::exercise::state::Exercise;
use crate::tui::faults::state::Faults;
use crate::tui::forms::state::Forms;
use crate::tui::help::state::Help;
use crate::tui::lesson::state::Lesson;
use crate::tui::log::state::Log;
use crate::tui::next_run::state::NextRun;
use crate::tui::queue::state::Queue;
use crate::tui::runs::state::Runs;
use crate::tui::series::state::SeriesView;
use crate::tui::shared::state::Shared;
use crate::tui::simulate::state::Simulate;
use crate::tui::widgets::frame::Focus;
use crate::tui::widgets::slot;
use crate::tui::widgets::theme::Theme;
use crate::tui::{
    chart, collectives, devices, exercise, faults, forms, help, lesson, log, next_run, queue, replay, runs, series, simulate,
};

/// Everything the screen knows: one owner, changed by `update` only, drawn by `view`.
#[derive(Clone, Debug)]
pub struct State {
    pub shared: Shared,
    pub next_run: NextRun,
    pub log: Log,
    pub chart: Chart,
    pub devices: Devices,
    pub runs: Runs,
    pub lesson: Lesson,
    pub series: SeriesView,
    pub exercise: Exercise,
    pub collectives: Collectives,
    pub forms: Forms,
    pub faults: Faults,
    pub queue: Queue,
    pub simulate: Simulate,
    pub help: Help,
    pub preferences: Preferences,
    /// What the learner has done so far, for the hint at what to do next.
    pub hints: Done,
    pub focus: Pane,
    /// Which pane has the place that several take in turn on a small screen.
    pub slot: Pane,
    pub zoom: bool,
    /// Large step and speed-up, for the last row of a lecture hall.
    pub projector: bool,
    /// What the pressed button holds.
    pub dragged: Option<Dragged>,
    pub done: bool,
}

impl State {
    pub fn new(theme: Theme, presets: Vec<Preset>, preset: Preset) -> State {
        State {
            shared: Shared::new(theme, presets, preset),
            next_run: NextRun::default(),
            log: Log::default(),
            chart: Chart::default(),
            devices: Devices::default(),
            runs: Runs::default(),
            lesson: Lesson::default(),
            series: SeriesView::default(),
            exercise: Exercise::default(),
            collectives: Collectives::default(),
            forms: Forms::default(),
            faults: Faults::default(),
            queue: Queue::default(),
            simulate: Simulate::default(),
            help: Help::default(),
            preferences: Preferences::default(),
            hints: Done::default(),
            focus: Pane::Steps,
            slot: Pane::Chart,
            zoom: false,
            projector: false,
            dragged: None,
            done: false,
        }
    }
}

// What a key asks for: of the application, or of one of its features.
macro_rules! commands {
    ($($variant:ident($command:ty)),+ $(,)?) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Command {
            /// Of the window in front.
            Scroll(Move),
            $($variant($command),)+
        }

        $(impl From<$command> for Command {
            fn from(command: $command) -> Command {
                Command::$variant(command)
            }
        }

        impl TryFrom<Command> for $command {
            type Error = Command;

            fn try_from(command: Command) -> Result<$command, Command> {
                if let Command::$variant(command) = command { Ok(command) } else { Err(command) }
            }
        })+

        impl actions_keys::Command for Command {
            fn typed(self, c: char) -> Command {
                match self {
                    Command::Scroll(_) => self,
                    $(Command::$variant(command) => Command::$variant(command.typed(c)),)+
                }
            }

            fn of_step(self, step: Step) -> Command {
                if let Command::App(AppCommand::ToggleStep(_)) = self { AppCommand::ToggleStep(step).into() } else { self }
            }

            fn movement(self) -> Option<Move> {
                match self {
                    Command::Scroll(by) => Some(by),
                    $(Command::$variant(command) => command.movement(),)+
                }
            }
        }
    };
}

commands! {
    App(AppCommand),
    NextRun(next_run::keys::Command),
    Log(log::keys::Command),
    Chart(chart::keys::Command),
    Devices(devices::keys::Command),
    Runs(runs::keys::Command),
    Lesson(lesson::keys::Command),
    Series(series::keys::Command),
    Exercise(exercise::keys::Command),
    Collectives(collectives::keys::Command),
    Forms(forms::keys::Command),
    Faults(faults::keys::Command),
    Queue(queue::keys::Command),
    Simulate(simulate::keys::Command),
    Help(help::keys::Command),
    Replay(replay::keys::Command),
}

impl Command {
    /// What a recording cannot: be started, stopped or continued. It has no trainer of the learner's own either.
    pub fn starts_or_stops(self) -> bool {
        matches!(
            self,
            Command::App(AppCommand::Run | AppCommand::Stop | AppCommand::Continue)
                | Command::NextRun(next_run::keys::Command::Guided | next_run::keys::Command::Ablation)
                | Command::Runs(runs::keys::Command::Continue)
                | Command::Lesson(lesson::keys::Command::Guided)
                | Command::Series(series::keys::Command::Stop)
                | Command::App(AppCommand::Edit | AppCommand::Exercise | AppCommand::Benchmark | AppCommand::Photos)
                | Command::App(AppCommand::Faults)
                | Command::Faults(faults::keys::Command::Make)
                | Command::Runs(runs::keys::Command::Again)
                | Command::Forms(forms::keys::Command::StartRun)
                | Command::Exercise(
                    exercise::keys::Command::Run
                        | exercise::keys::Command::Edit
                        | exercise::keys::Command::Mine
                        | exercise::keys::Command::Reset
                )
                | Command::Collectives(
                    collectives::keys::Command::Measure | collectives::keys::Command::StartRun | collectives::keys::Command::Stop
                )
        )
    }
}

/// Every feature that opens windows: the one list of them.
macro_rules! window_openers {
    ($state:ident, $($borrow:tt)+) => {
        [
            $($borrow)+ $state.next_run,
            $($borrow)+ $state.log,
            $($borrow)+ $state.devices,
            $($borrow)+ $state.runs,
            $($borrow)+ $state.lesson,
            $($borrow)+ $state.series,
            $($borrow)+ $state.exercise,
            $($borrow)+ $state.collectives,
            $($borrow)+ $state.forms,
            $($borrow)+ $state.faults,
            $($borrow)+ $state.queue,
            $($borrow)+ $state.simulate,
            $($borrow)+ $state.help,
        ]
    };
}

pub(super) use window_openers;

/// The keys of a pane that has the focus.
pub fn keys(pane: Pane) -> Vec<Binding<Command>> {
    match pane {
        Pane::Steps => wrapped(next_run::keys::STEPS),
        Pane::Settings => wrapped(next_run::keys::SETTINGS),
        Pane::Devices => wrapped(devices::keys::KEYS),
        Pane::Chart => wrapped(chart::keys::KEYS),
        Pane::Log => wrapped(log::keys::KEYS),
        Pane::Runs => wrapped(runs::keys::KEYS),
    }
}

/// Rows of a feature, as the screen's own commands.
pub fn wrapped<C: Copy>(rows: &[Binding<C>]) -> Vec<Binding<Command>>
where
    Command: From<C>,
{
    rows.iter().map(|row| row.wrapped()).collect()
}

/// A movement in a pane.
pub fn movement(pane: Pane, by: Move) -> Command {
    match pane {
        Pane::Steps | Pane::Settings => next_run::keys::Command::Move(by).into(),
        Pane::Devices => devices::keys::Command::Move(by).into(),
        Pane::Chart => chart::keys::Command::Move(by).into(),
        Pane::Log => log::keys::Command::Move(by).into(),
        Pane::Runs => runs::keys::Command::Move(by).into(),
    }
}

/// Follows a command of a feature, while its pane has the keyboard.
pub fn update(state: &mut State, command: Command) -> Vec<Action> {
    let shared = &mut state.shared;
    match command {
        Command::NextRun(command) if state.focus == Pane::Settings => {
            next_run::update::settings(&mut state.next_run, shared, command)
        }
        Command::NextRun(command) => next_run::update::steps(shared, command),
        Command::Log(command) => log::update::update(&mut state.log, shared, command),
        Command::Chart(command) => chart::update::update(&mut state.chart, shared, command),
        Command::Devices(command) => {
            devices::update::update(&mut state.devices, shared, command);
            Vec::new()
        }
        Command::Runs(command) => runs::update::update(&mut state.runs, shared, command),
        Command::Replay(order) => replay::update::update(order),
        // Of the application, or of windows only.
        Command::App(_) | Command::Scroll(_) => Vec::new(),
        Command::Lesson(_) | Command::Series(_) | Command::Exercise(_) => Vec::new(),
        Command::Collectives(_) | Command::Forms(_) | Command::Faults(_) => Vec::new(),
        Command::Queue(_) | Command::Simulate(_) | Command::Help(_) => Vec::new(),
    }
}

/// Draws a pane in its place, which it may take in turn with others.
pub fn draw(frame: &mut Frame, area: Rect, pane: Pane, state: &State, focus: Focus, turns: &[Pane]) {
    let shared = &state.shared;
    match pane {
        Pane::Steps => next_run::steps::draw(frame, area, shared, focus),
        Pane::Settings => next_run::settings::draw(frame, area, &state.next_run, shared, focus),
        Pane::Devices => devices::draw::draw(frame, area, &state.devices, shared, focus),
        Pane::Chart => chart::draw::draw(frame, area, &state.chart, shared, focus),
        Pane::Log => log::draw::draw(frame, area, &state.log, shared, focus, slot::width(turns)),
        Pane::Runs => runs::draw::draw(frame, area, &state.runs, shared, focus),
    }
}

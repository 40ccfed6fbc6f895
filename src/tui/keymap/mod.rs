//! The one table of keys: mode and key to command, with the words that footer and help show.
//!
//! Never dispatches by itself: `update` looks a key up here, so footer, help and behaviour cannot disagree.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

mod panes;
mod windows;

use super::log_view::LogCommand;
use super::mode::ModeKind;
use super::state::Pane;
use crate::domain::step::Step;
use crate::runs::recording::PlayerOrder;

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    ToggleStep(Step),
    AllSteps,
    NoSteps,
    Run,
    Stop,
    Continue,
    Baseline,
    /// Keeps the chosen run in the chart, or lets it go.
    Pin,
    /// Chart: a logarithmic scale, or a linear one.
    LogScale,
    /// Chart: by epoch, step or time.
    Along,
    ZoomIn,
    ZoomOut,
    CursorLeft,
    CursorRight,
    /// Chart: all of it again, without a cursor.
    Fit,
    /// Runs: the order the other way round.
    Reverse,
    Name,
    Note,
    Delete,
    Undo,
    /// The chosen run beside the baseline.
    Compare,
    /// Rows of what others published.
    Published,
    Export,
    Details,
    /// The lesson of the chosen step.
    Lesson,
    /// Lesson: start the run that shows what goes wrong without the step, or the one with it.
    RunBefore,
    RunAfter,
    /// Both of them, one after the other, side by side.
    Guided,
    /// All steps but one, in turn.
    Ablation,
    /// The last runs that took turns.
    Results,
    Hint,
    /// What the step changes in the program.
    Diff,
    /// Diff: the learner's own against the solution.
    Mine,
    /// The learner's program in the editor.
    Edit,
    /// What came of its last save.
    Exercise,
    /// The learner's program: a step back to its TODO, or all of it.
    Reset,
    /// Diff: one column or two.
    Columns,
    MoreRanks,
    FewerRanks,
    NextPane,
    PreviousPane,
    Zoom,
    Help,
    /// All commands by their words.
    Palette,
    /// Help: show only what has some words.
    SearchHelp,
    /// Release the mouse, or take it again.
    Mouse,
    /// Large step and speed-up.
    Projector,
    Tour,
    ResetBorders,
    /// The next theme.
    Theme,
    Quit,
    /// Closes what is in front: a window, a notice, the zoom.
    Back,
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    First,
    Last,
    /// Space: switch what is selected.
    Switch,
    /// Enter: open or accept what is selected.
    Accept,
    Insert(char),
    Erase,
    Clear,
    /// Typing: text as it stands, or a regular expression.
    Regex,
    Copy,
    Log(LogCommand),
    /// Devices and runs: the next order, and words that a row has to fit.
    Sort,
    Filter,
    Player(PlayerOrder),
    /// Quit window: the run goes on.
    LeaveRunning,
    /// Quit window: the run is stopped first.
    StopAndQuit,
    /// Back to the shell, until it continues the job.
    Suspend,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    Code(KeyCode),
    Char(char),
    Ctrl(char),
    /// 1 to 9 and 0, for the ten steps.
    Digit,
    /// Any character, for typing.
    Text,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Panes and windows alike.
    Everywhere,
    /// The panes, whichever has the focus.
    Panes,
    Pane(Pane),
    /// Windows that scroll.
    Pages,
    Window(ModeKind),
}

#[derive(Debug)]
pub struct Binding {
    pub scope: Scope,
    pub on: &'static [On],
    pub command: Command,
    /// The key as footer and help name it.
    pub key: &'static str,
    /// A word or two for the footer; empty keeps it out of the footer.
    pub label: &'static str,
    /// What it does, for the help; empty keeps it out of the help.
    pub help: &'static str,
}

const fn row(
    scope: Scope,
    on: &'static [On],
    command: Command,
    key: &'static str,
    label: &'static str,
    help: &'static str,
) -> Binding {
    Binding { scope, on, command, key, label, help }
}

const UP: &[On] = &[On::Code(KeyCode::Up), On::Char('k')];
const DOWN: &[On] = &[On::Code(KeyCode::Down), On::Char('j')];
const LEFT: &[On] = &[On::Code(KeyCode::Left), On::Char('h')];
const RIGHT: &[On] = &[On::Code(KeyCode::Right), On::Char('l')];
const ENTER: &[On] = &[On::Code(KeyCode::Enter)];
const SPACE: &[On] = &[On::Char(' ')];
const ESCAPE: &[On] = &[On::Code(KeyCode::Esc)];

/// One slice a place. The focused pane comes before all panes: its keys win.
static TABLES: &[&[Binding]] = &[
    windows::REPLAY,
    panes::STEPS,
    panes::SETTINGS,
    panes::LOG,
    panes::CHART,
    panes::DEVICES,
    panes::RUNS,
    panes::ALL,
    windows::EVERYWHERE,
    windows::PAGES,
    windows::EDIT,
    windows::HELP,
    windows::HELP_SEARCH,
    windows::PALETTE,
    windows::DETAILS,
    windows::DEVICE,
    windows::LESSON,
    windows::DIFF,
    windows::EXERCISE,
    windows::CONFIRM_RESET,
    windows::SERIES,
    windows::CONFIRM_ABLATION,
    windows::CONTINUE,
    windows::CONFIRM_STOP,
    windows::CONFIRM_DELETE,
    windows::COMPARE,
    windows::ASK,
    windows::CONFIRM_START,
    windows::QUIT,
];

/// Every binding there is.
pub fn table() -> impl Iterator<Item = &'static Binding> {
    TABLES.iter().copied().flatten()
}

/// What `key` asks for in this mode, with this pane focused.
pub fn command(mode: ModeKind, focus: Pane, key: KeyEvent) -> Option<Command> {
    active(mode, focus).find_map(|binding| binding.on.iter().find_map(|on| matches(*on, key, binding.command)))
}

/// The bindings in force, the most specific first.
pub fn active(mode: ModeKind, focus: Pane) -> impl Iterator<Item = &'static Binding> {
    let panes = matches!(mode, ModeKind::Normal | ModeKind::Replay);
    table().filter(move |binding| match binding.scope {
        Scope::Everywhere => true,
        Scope::Panes => panes,
        Scope::Pane(pane) => panes && pane == focus,
        Scope::Pages => mode.scrolls(),
        Scope::Window(kind) => mode == kind,
    })
}

fn matches(on: On, key: KeyEvent, command: Command) -> Option<Command> {
    let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
    let plain = !ctrl && !key.modifiers.contains(KeyModifiers::ALT);
    match (on, key.code) {
        (On::Code(code), pressed) => (code == pressed).then_some(command),
        (On::Char(c), KeyCode::Char(pressed)) => (plain && c == pressed).then_some(command),
        (On::Ctrl(c), KeyCode::Char(pressed)) => (ctrl && c == pressed).then_some(command),
        (On::Text, KeyCode::Char(c)) if plain => Some(Command::Insert(c)),
        (On::Digit, KeyCode::Char(c)) if plain => {
            let digit = c.to_digit(10)? as usize;
            Step::from_number(if digit == 0 { 10 } else { digit }).map(Command::ToggleStep)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_has_two_meanings_in_one_place() {
        let table: Vec<_> = table().collect();
        for (index, binding) in table.iter().enumerate() {
            for other in &table[index + 1..] {
                if binding.scope == other.scope {
                    let shared = binding.on.iter().find(|on| other.on.contains(on) && **on != On::Text);
                    assert_eq!(shared, None, "{binding:?} and {other:?}");
                }
            }
        }
    }

    #[test]
    fn whatever_the_footer_names_works() {
        for binding in table() {
            assert!(!binding.on.is_empty());
            if !binding.label.is_empty() {
                assert!(!binding.key.is_empty(), "{binding:?}");
            }
        }
    }
}

//! The one table of keys: mode and key to command, with the words that footer and help show.
//!
//! Never dispatches by itself: `update` looks a key up here, so footer, help and behaviour cannot disagree.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::mode::ModeKind;
use super::state::Pane;
use crate::domain::step::Step;

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
    Details,
    /// The lesson of the chosen step.
    Lesson,
    /// Lesson: start the run that shows what goes wrong without the step, or the one with it.
    RunBefore,
    RunAfter,
    Hint,
    MoreRanks,
    FewerRanks,
    NextPane,
    PreviousPane,
    Zoom,
    Help,
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
    Copy,
    /// Quit window: the run goes on.
    LeaveRunning,
    /// Quit window: the run is stopped first.
    StopAndQuit,
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
    /// The panes, whichever has the focus.
    Panes,
    Pane(Pane),
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

use Command as C;
use KeyCode as K;
use On::{Char, Code, Ctrl};
use Scope::{Pane as In, Panes, Window};

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

const UP: &[On] = &[Code(K::Up), Char('k')];
const DOWN: &[On] = &[Code(K::Down), Char('j')];
const LEFT: &[On] = &[Code(K::Left), Char('h')];
const RIGHT: &[On] = &[Code(K::Right), Char('l')];
const ENTER: &[On] = &[Code(K::Enter)];
const SPACE: &[On] = &[Char(' ')];
const ESCAPE: &[On] = &[Code(K::Esc)];

pub static TABLE: &[Binding] = &[
    // The focused pane comes first: its keys win over those of all panes.
    row(In(Pane::Steps), UP, C::Up, "↑↓", "choose", "choose a step"),
    row(In(Pane::Steps), DOWN, C::Down, "", "", ""),
    row(In(Pane::Steps), SPACE, C::Switch, "Space", "toggle", "toggle the chosen step"),
    row(In(Pane::Steps), ENTER, C::Lesson, "Enter", "lesson", "read the lesson of the chosen step"),
    row(In(Pane::Steps), &[Char('a')], C::AllSteps, "a", "all", "all ten steps on"),
    row(In(Pane::Steps), &[Char('n')], C::NoSteps, "n", "none", "all ten steps off: the serial program"),
    row(In(Pane::Steps), &[Code(K::Home)], C::First, "", "", ""),
    row(In(Pane::Steps), &[Code(K::End)], C::Last, "", "", ""),
    row(In(Pane::Settings), UP, C::Up, "↑↓", "choose", "choose a setting"),
    row(In(Pane::Settings), DOWN, C::Down, "", "", ""),
    row(In(Pane::Settings), LEFT, C::Left, "←→", "change", "previous or next value"),
    row(In(Pane::Settings), RIGHT, C::Right, "", "", ""),
    row(In(Pane::Settings), SPACE, C::Switch, "", "", ""),
    row(In(Pane::Settings), ENTER, C::Accept, "Enter", "type", "type a value"),
    row(In(Pane::Settings), &[Code(K::Home)], C::First, "", "", ""),
    row(In(Pane::Settings), &[Code(K::End)], C::Last, "", "", ""),
    row(In(Pane::Log), UP, C::Up, "↑↓", "scroll", "scroll; the view stays while new lines come"),
    row(In(Pane::Log), DOWN, C::Down, "", "", ""),
    row(In(Pane::Log), LEFT, C::Left, "←→", "process", "root, each process, all"),
    row(In(Pane::Log), RIGHT, C::Right, "", "", ""),
    row(In(Pane::Log), &[Code(K::PageUp)], C::PageUp, "PgUp", "", "ten lines at a time"),
    row(In(Pane::Log), &[Code(K::PageDown)], C::PageDown, "", "", ""),
    row(In(Pane::Log), &[Code(K::Home), Char('g')], C::First, "Home", "", "the oldest line kept"),
    row(In(Pane::Log), &[Code(K::End), Char('G'), Code(K::Enter)], C::Last, "End", "follow", "follow new lines again"),
    row(In(Pane::Chart), LEFT, C::Left, "←→", "loss/accuracy", "loss or accuracy, where only one fits"),
    row(In(Pane::Chart), RIGHT, C::Right, "", "", ""),
    row(In(Pane::Devices), UP, C::Up, "↑↓", "scroll", "scroll"),
    row(In(Pane::Devices), DOWN, C::Down, "", "", ""),
    row(In(Pane::Runs), UP, C::Up, "↑↓", "choose", "choose a run: log, chart and header show it"),
    row(In(Pane::Runs), DOWN, C::Down, "", "", ""),
    row(In(Pane::Runs), &[Code(K::PageUp)], C::PageUp, "", "", ""),
    row(In(Pane::Runs), &[Code(K::PageDown)], C::PageDown, "", "", ""),
    row(In(Pane::Runs), &[Code(K::Home), Char('g')], C::First, "", "", ""),
    row(In(Pane::Runs), &[Code(K::End), Char('G')], C::Last, "", "", ""),
    row(In(Pane::Runs), ENTER, C::Details, "Enter", "details", "details of the chosen run"),
    // All panes.
    row(Panes, &[On::Digit], C::ToggleStep(Step::InitAndPin), "1-9,0", "toggle", "toggle step 1 to 10"),
    row(Panes, &[Char('r')], C::Run, "r", "run", "start a run with these steps and settings"),
    row(Panes, &[Char('x')], C::Stop, "x", "stop", "stop the run (asks first)"),
    row(Panes, &[Char('c')], C::Continue, "c", "continue", "train the chosen run for more epochs"),
    row(Panes, &[Char('b')], C::Baseline, "b", "baseline", "compare all runs with the chosen one"),
    row(Panes, &[Char('i')], C::Details, "i", "details", "details of the chosen run, with its mpirun line"),
    row(Panes, &[Char('w')], C::Lesson, "w", "lesson", "why: the lesson of the chosen step"),
    row(Panes, &[Char('+'), Char('=')], C::MoreRanks, "+ -", "np", "more or fewer ranks"),
    row(Panes, &[Char('-'), Char('_')], C::FewerRanks, "", "", ""),
    row(Panes, &[Code(K::Tab)], C::NextPane, "Tab", "pane", "next pane; Shift-Tab the one before"),
    row(Panes, &[Code(K::BackTab)], C::PreviousPane, "", "", ""),
    row(Panes, &[Char('z')], C::Zoom, "z", "zoom", "the pane alone, or all of them again"),
    row(Panes, &[Char('?'), Code(K::F(1))], C::Help, "?", "help", "this help"),
    row(Panes, ESCAPE, C::Back, "Esc", "", "dismiss a notice, leave the zoom"),
    row(Panes, &[Char('q'), Ctrl('c')], C::Quit, "q", "quit", "quit; a run can go on without the screen"),
    // Windows.
    row(Window(ModeKind::Edit), ENTER, C::Accept, "Enter", "take over", "take the typed value over"),
    row(Window(ModeKind::Edit), &[Code(K::Esc), Ctrl('c')], C::Back, "Esc", "leave as it was", "leave the value as it was"),
    row(Window(ModeKind::Edit), &[Code(K::Backspace)], C::Erase, "", "", ""),
    row(Window(ModeKind::Edit), &[Ctrl('u')], C::Clear, "Ctrl-U", "clear", "clear the text"),
    row(Window(ModeKind::Edit), UP, C::Up, "", "", ""),
    row(Window(ModeKind::Edit), DOWN, C::Down, "", "", ""),
    row(Window(ModeKind::Edit), &[On::Text], C::Insert(' '), "", "", ""),
    row(Window(ModeKind::Help), UP, C::Up, "↑↓", "scroll", ""),
    row(Window(ModeKind::Help), DOWN, C::Down, "", "", ""),
    row(Window(ModeKind::Help), &[Code(K::PageUp)], C::PageUp, "", "", ""),
    row(Window(ModeKind::Help), &[Code(K::PageDown), Char(' ')], C::PageDown, "", "", ""),
    row(Window(ModeKind::Help), &[Code(K::Esc), Char('?'), Char('q'), Code(K::Enter), Ctrl('c')], C::Back, "Esc", "close", ""),
    row(Window(ModeKind::Details), UP, C::Up, "↑↓", "scroll", ""),
    row(Window(ModeKind::Details), DOWN, C::Down, "", "", ""),
    row(Window(ModeKind::Details), &[Code(K::PageUp)], C::PageUp, "", "", ""),
    row(Window(ModeKind::Details), &[Code(K::PageDown), Char(' ')], C::PageDown, "", "", ""),
    row(Window(ModeKind::Details), &[Char('y')], C::Copy, "y", "copy the command", "copy the mpirun line to the clipboard"),
    row(Window(ModeKind::Details), &[Char('b')], C::Baseline, "b", "baseline", "make it the baseline"),
    row(Window(ModeKind::Details), &[Char('c')], C::Continue, "c", "continue", "train it for more epochs"),
    row(Window(ModeKind::Details), &[Code(K::Esc), Char('i'), Char('q'), Code(K::Enter), Ctrl('c')], C::Back, "Esc", "close", ""),
    row(Window(ModeKind::Lesson), UP, C::Up, "↑↓", "scroll", ""),
    row(Window(ModeKind::Lesson), DOWN, C::Down, "", "", ""),
    row(Window(ModeKind::Lesson), &[Code(K::PageUp)], C::PageUp, "", "", ""),
    row(Window(ModeKind::Lesson), &[Code(K::PageDown), Char(' ')], C::PageDown, "", "", ""),
    row(Window(ModeKind::Lesson), LEFT, C::Left, "←→", "lessons", ""),
    row(Window(ModeKind::Lesson), RIGHT, C::Right, "", "", ""),
    row(Window(ModeKind::Lesson), &[Char('?')], C::Hint, "?", "hint", ""),
    row(Window(ModeKind::Lesson), &[Char('b')], C::RunBefore, "b", "run before", ""),
    row(Window(ModeKind::Lesson), &[Char('a')], C::RunAfter, "a", "run after", ""),
    row(Window(ModeKind::Lesson), ENTER, C::Accept, "", "", ""),
    row(Window(ModeKind::Lesson), &[Code(K::Backspace)], C::Erase, "", "", ""),
    row(Window(ModeKind::Lesson), &[Code(K::Esc), Char('w'), Char('q'), Ctrl('c')], C::Back, "Esc", "close", ""),
    // A number predicted, or the number of an answer.
    row(Window(ModeKind::Lesson), &[On::Text], C::Insert(' '), "", "", ""),
    row(Window(ModeKind::Continue), &[Code(K::Right), Code(K::Up), Char('+'), Char('=')], C::Up, "← →", "epochs", ""),
    row(Window(ModeKind::Continue), &[Code(K::Left), Code(K::Down), Char('-'), Char('_')], C::Down, "", "", ""),
    row(Window(ModeKind::Continue), &[Code(K::Enter), Char('c'), Char('y')], C::Accept, "Enter", "continue", ""),
    row(Window(ModeKind::Continue), &[Code(K::Esc), Char('n'), Char('q'), Ctrl('c')], C::Back, "Esc", "not now", ""),
    row(Window(ModeKind::ConfirmStop), &[Code(K::Enter), Char('y'), Char('x')], C::Accept, "y", "stop it", ""),
    row(Window(ModeKind::ConfirmStop), &[Code(K::Esc), Char('n'), Char('q'), Ctrl('c')], C::Back, "Esc", "let it run", ""),
    row(Window(ModeKind::ConfirmStart), &[Char('y')], C::Accept, "y", "start anyway", ""),
    row(
        Window(ModeKind::ConfirmStart),
        &[Code(K::Esc), Char('n'), Char('q'), Code(K::Enter), Ctrl('c')],
        C::Back,
        "Esc",
        "wait",
        "",
    ),
    row(Window(ModeKind::Quit), &[Char('l'), Code(K::Enter), Ctrl('c')], C::LeaveRunning, "l", "leave it running", ""),
    row(Window(ModeKind::Quit), &[Char('s'), Char('x')], C::StopAndQuit, "s", "stop it", ""),
    row(Window(ModeKind::Quit), &[Code(K::Esc), Char('n'), Char('q')], C::Back, "Esc", "stay", ""),
];

/// What `key` asks for in this mode, with this pane focused.
pub fn command(mode: ModeKind, focus: Pane, key: KeyEvent) -> Option<Command> {
    active(mode, focus).find_map(|binding| binding.on.iter().find_map(|on| matches(*on, key, binding.command)))
}

/// The bindings in force, the most specific first.
pub fn active(mode: ModeKind, focus: Pane) -> impl Iterator<Item = &'static Binding> {
    TABLE.iter().filter(move |binding| match binding.scope {
        Scope::Panes => mode == ModeKind::Normal,
        Scope::Pane(pane) => mode == ModeKind::Normal && pane == focus,
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
        for (index, binding) in TABLE.iter().enumerate() {
            for other in &TABLE[index + 1..] {
                if binding.scope == other.scope {
                    let shared = binding.on.iter().find(|on| other.on.contains(on) && **on != On::Text);
                    assert_eq!(shared, None, "{binding:?} and {other:?}");
                }
            }
        }
    }

    #[test]
    fn whatever_the_footer_names_works() {
        for binding in TABLE {
            assert!(!binding.on.is_empty());
            if !binding.label.is_empty() {
                assert!(!binding.key.is_empty(), "{binding:?}");
            }
        }
    }
}

//! The keys of the windows in front of the panes.
//!
//! Never decides anything: rows only.

use crate::runs::recording::PlayerOrder as P;
use crossterm::event::KeyCode as K;

use super::super::mode::ModeKind;
use super::On::{self, Char, Code, Ctrl};
use super::Scope::{Everywhere, Pages, Window};
use super::{Binding, Command as C, DOWN, ENTER, LEFT, RIGHT, UP, row};

pub static EVERYWHERE: &[Binding] =
    &[row(Everywhere, &[Ctrl('z')], C::Suspend, "Ctrl-Z", "", "back to the shell; `fg` shows the screen again")];

/// Windows of more lines than may fit.
pub static PAGES: &[Binding] = &[
    row(Pages, UP, C::Up, "↑↓", "scroll", "a line"),
    row(Pages, DOWN, C::Down, "", "", ""),
    row(Pages, &[Code(K::PageUp)], C::PageUp, "PgUp", "", "what fits; PgDn or Space forwards"),
    row(Pages, &[Code(K::PageDown), Char(' ')], C::PageDown, "", "", ""),
    row(Pages, &[Code(K::Home)], C::First, "Home", "", "to the top; End to the bottom"),
    row(Pages, &[Code(K::End)], C::Last, "", "", ""),
];

pub static EDIT: &[Binding] = &[
    row(Window(ModeKind::Edit), ENTER, C::Accept, "Enter", "take over", "take the typed value over"),
    row(Window(ModeKind::Edit), &[Code(K::Esc), Ctrl('c')], C::Back, "Esc", "leave as it was", "leave the value as it was"),
    row(Window(ModeKind::Edit), &[Code(K::Backspace)], C::Erase, "", "", ""),
    row(Window(ModeKind::Edit), &[Ctrl('u')], C::Clear, "Ctrl-U", "clear", "clear the text"),
    row(Window(ModeKind::Edit), UP, C::Up, "", "", ""),
    row(Window(ModeKind::Edit), DOWN, C::Down, "", "", ""),
    row(Window(ModeKind::Edit), &[On::Text], C::Insert(' '), "", "", ""),
];

/// No window: the keys of the player, before those of the panes. h and l still turn the tabs of the log.
pub static REPLAY: &[Binding] = &[
    row(Window(ModeKind::Replay), &[Char(' ')], C::Player(P::Pause), "Space", "pause", "pause, or go on"),
    row(Window(ModeKind::Replay), &[Code(K::Left)], C::Player(P::Seek(-5)), "←→", "seek", "five seconds back or forwards"),
    row(Window(ModeKind::Replay), &[Code(K::Right)], C::Player(P::Seek(5)), "", "", ""),
    row(Window(ModeKind::Replay), &[Code(K::Home)], C::Player(P::ToStart), "Home", "", "from the start; End to the end"),
    row(Window(ModeKind::Replay), &[Code(K::End)], C::Player(P::ToEnd), "", "", ""),
    row(Window(ModeKind::Replay), &[Char('+'), Char('=')], C::Player(P::Faster), "+ -", "speed", "faster or slower"),
    row(Window(ModeKind::Replay), &[Char('-'), Char('_')], C::Player(P::Slower), "", "", ""),
];

pub static HELP: &[Binding] = &[
    row(Window(ModeKind::Help), &[Char('/')], C::SearchHelp, "/", "search", ""),
    row(Window(ModeKind::Help), &[Code(K::Esc), Char('?'), Char('q'), Code(K::Enter), Ctrl('c')], C::Back, "Esc", "close", ""),
];

pub static HELP_SEARCH: &[Binding] = &[
    row(Window(ModeKind::HelpSearch), ENTER, C::Accept, "Enter", "keep", ""),
    row(Window(ModeKind::HelpSearch), &[Code(K::Esc), Ctrl('c')], C::Back, "Esc", "show all", ""),
    row(Window(ModeKind::HelpSearch), &[Code(K::Backspace)], C::Erase, "", "", ""),
    row(Window(ModeKind::HelpSearch), &[Ctrl('u')], C::Clear, "Ctrl-U", "clear", ""),
    row(Window(ModeKind::HelpSearch), &[On::Text], C::Insert(' '), "", "", ""),
];

pub static PALETTE: &[Binding] = &[
    row(Window(ModeKind::Palette), ENTER, C::Accept, "Enter", "run it", ""),
    row(Window(ModeKind::Palette), &[Code(K::Up), Ctrl('p')], C::Up, "↑↓", "choose", ""),
    row(Window(ModeKind::Palette), &[Code(K::Down), Ctrl('n')], C::Down, "", "", ""),
    row(Window(ModeKind::Palette), &[Code(K::PageUp)], C::PageUp, "", "", ""),
    row(Window(ModeKind::Palette), &[Code(K::PageDown)], C::PageDown, "", "", ""),
    row(Window(ModeKind::Palette), &[Code(K::Esc), Ctrl('c')], C::Back, "Esc", "close", ""),
    row(Window(ModeKind::Palette), &[Code(K::Backspace)], C::Erase, "", "", ""),
    row(Window(ModeKind::Palette), &[Ctrl('u')], C::Clear, "Ctrl-U", "clear", ""),
    row(Window(ModeKind::Palette), &[On::Text], C::Insert(' '), "", "", ""),
];

pub static DETAILS: &[Binding] = &[
    row(Window(ModeKind::Details), &[Char('y')], C::Copy, "y", "copy the command", "copy the mpirun line to the clipboard"),
    row(Window(ModeKind::Details), &[Char('b')], C::Baseline, "b", "baseline", "make it the baseline"),
    row(Window(ModeKind::Details), &[Char('c')], C::Continue, "c", "continue", "train it for more epochs"),
    row(Window(ModeKind::Details), &[Code(K::Esc), Char('i'), Char('q'), Code(K::Enter), Ctrl('c')], C::Back, "Esc", "close", ""),
];

pub static DEVICE: &[Binding] =
    &[row(Window(ModeKind::Device), &[Code(K::Esc), Char('q'), Code(K::Enter), Ctrl('c')], C::Back, "Esc", "close", "")];

pub static LESSON: &[Binding] = &[
    row(Window(ModeKind::Lesson), LEFT, C::Left, "←→", "lessons", ""),
    row(Window(ModeKind::Lesson), RIGHT, C::Right, "", "", ""),
    row(Window(ModeKind::Lesson), &[Char('?')], C::Hint, "?", "hint", ""),
    row(Window(ModeKind::Lesson), &[Char('g')], C::Guided, "g", "before and after", ""),
    row(Window(ModeKind::Lesson), &[Char('v')], C::Results, "", "", ""),
    row(Window(ModeKind::Lesson), &[Char('b')], C::RunBefore, "b", "run before", ""),
    row(Window(ModeKind::Lesson), &[Char('a')], C::RunAfter, "a", "run after", ""),
    row(Window(ModeKind::Lesson), &[Char('d')], C::Diff, "d", "diff", ""),
    row(Window(ModeKind::Lesson), ENTER, C::Accept, "", "", ""),
    row(Window(ModeKind::Lesson), &[Code(K::Backspace)], C::Erase, "", "", ""),
    row(Window(ModeKind::Lesson), &[Code(K::Esc), Char('w'), Char('q'), Ctrl('c')], C::Back, "Esc", "close", ""),
    // A number predicted, or the number of an answer.
    row(Window(ModeKind::Lesson), &[On::Text], C::Insert(' '), "", "", ""),
];

pub static EXERCISE: &[Binding] = &[
    row(Window(ModeKind::Exercise), &[Char('e')], C::Edit, "e", "edit", ""),
    row(Window(ModeKind::Exercise), &[Char('r')], C::Run, "r", "build and run", ""),
    row(Window(ModeKind::Exercise), &[Char('d')], C::Diff, "d", "diff to the solution", ""),
    row(
        Window(ModeKind::Exercise),
        &[Char('R')],
        C::Reset,
        "R",
        "reset",
        "a step of your program, or all of it, as it was (asks first)",
    ),
    row(Window(ModeKind::Exercise), &[Code(K::Esc), Char('q'), Code(K::Enter), Ctrl('c')], C::Back, "Esc", "close", ""),
];

pub static DIFF: &[Binding] = &[
    row(Window(ModeKind::Diff), LEFT, C::Left, "←→", "steps", ""),
    row(Window(ModeKind::Diff), RIGHT, C::Right, "", "", ""),
    row(Window(ModeKind::Diff), &[Char('m')], C::Mine, "m", "mine/step", ""),
    row(
        Window(ModeKind::Diff),
        &[Char('R')],
        C::Reset,
        "R",
        "reset",
        "this step of your program, or all of it, as it was (asks first)",
    ),
    row(Window(ModeKind::Diff), &[Char('s')], C::Columns, "s", "side by side", ""),
    row(Window(ModeKind::Diff), &[Char('w')], C::Lesson, "w", "lesson", ""),
    row(Window(ModeKind::Diff), &[Code(K::Esc), Char('d'), Char('q'), Code(K::Enter), Ctrl('c')], C::Back, "Esc", "close", ""),
];

pub static CONFIRM_RESET: &[Binding] = &[
    row(Window(ModeKind::ConfirmReset), &[Char('y')], C::Accept, "y", "this step", ""),
    row(Window(ModeKind::ConfirmReset), &[Char('a')], C::AllSteps, "a", "the whole program", ""),
    row(
        Window(ModeKind::ConfirmReset),
        &[Code(K::Esc), Char('n'), Char('q'), Code(K::Enter), Ctrl('c')],
        C::Back,
        "Esc",
        "leave it",
        "",
    ),
];

pub static SERIES: &[Binding] = &[
    row(Window(ModeKind::Series), &[Char('x')], C::Stop, "x", "cancel what waits, stop what runs", ""),
    row(Window(ModeKind::Series), &[Code(K::Esc), Char('v'), Char('q'), Code(K::Enter), Ctrl('c')], C::Back, "Esc", "close", ""),
];

pub static CONFIRM_ABLATION: &[Binding] = &[
    row(Window(ModeKind::ConfirmAblation), &[Char('y')], C::Accept, "y", "run them", ""),
    row(
        Window(ModeKind::ConfirmAblation),
        &[Code(K::Esc), Char('n'), Char('q'), Code(K::Enter), Ctrl('c')],
        C::Back,
        "Esc",
        "not now",
        "",
    ),
];

pub static CONTINUE: &[Binding] = &[
    row(Window(ModeKind::Continue), &[Code(K::Right), Code(K::Up), Char('+'), Char('=')], C::Up, "← →", "epochs", ""),
    row(Window(ModeKind::Continue), &[Code(K::Left), Code(K::Down), Char('-'), Char('_')], C::Down, "", "", ""),
    row(Window(ModeKind::Continue), &[Code(K::Enter), Char('c'), Char('y')], C::Accept, "Enter", "continue", ""),
    row(Window(ModeKind::Continue), &[Code(K::Esc), Char('n'), Char('q'), Ctrl('c')], C::Back, "Esc", "not now", ""),
];

pub static CONFIRM_STOP: &[Binding] = &[
    row(Window(ModeKind::ConfirmStop), &[Code(K::Enter), Char('y'), Char('x')], C::Accept, "y", "stop it", ""),
    row(Window(ModeKind::ConfirmStop), &[Code(K::Esc), Char('n'), Char('q'), Ctrl('c')], C::Back, "Esc", "let it run", ""),
];

pub static CONFIRM_DELETE: &[Binding] = &[
    row(Window(ModeKind::ConfirmDelete), &[Char('y'), Char('d'), Code(K::Enter)], C::Accept, "y", "delete it", ""),
    row(Window(ModeKind::ConfirmDelete), &[Code(K::Esc), Char('n'), Char('q'), Ctrl('c')], C::Back, "Esc", "keep it", ""),
];

pub static COMPARE: &[Binding] = &[
    row(Window(ModeKind::Compare), &[Char('b')], C::Baseline, "b", "baseline", "make it the baseline"),
    row(Window(ModeKind::Compare), &[Char('o')], C::Published, "o", "published", "what others published"),
    row(Window(ModeKind::Compare), &[Char('E')], C::Export, "E", "export", "write the comparison to a file"),
    row(Window(ModeKind::Compare), &[Code(K::Esc), Char('v'), Char('q'), Code(K::Enter), Ctrl('c')], C::Back, "Esc", "close", ""),
];

/// The line at the foot of the screen, whatever it is typed for: it names its own keys.
pub static ASK: &[Binding] = &[
    row(Window(ModeKind::Ask), ENTER, C::Accept, "Enter", "take over", ""),
    row(Window(ModeKind::Ask), &[Code(K::Esc), Ctrl('c')], C::Back, "Esc", "leave", ""),
    row(Window(ModeKind::Ask), &[Code(K::Backspace)], C::Erase, "", "", ""),
    row(Window(ModeKind::Ask), &[Ctrl('u')], C::Clear, "Ctrl-U", "clear", ""),
    row(Window(ModeKind::Ask), &[Ctrl('r')], C::Regex, "", "", ""),
    row(Window(ModeKind::Ask), &[On::Text], C::Insert(' '), "", "", ""),
];

pub static CONFIRM_START: &[Binding] = &[
    row(Window(ModeKind::ConfirmStart), &[Char('y')], C::Accept, "y", "start anyway", ""),
    row(
        Window(ModeKind::ConfirmStart),
        &[Code(K::Esc), Char('n'), Char('q'), Code(K::Enter), Ctrl('c')],
        C::Back,
        "Esc",
        "wait",
        "",
    ),
];

pub static QUIT: &[Binding] = &[
    row(Window(ModeKind::Quit), &[Char('l'), Code(K::Enter), Ctrl('c')], C::LeaveRunning, "l", "leave it running", ""),
    row(Window(ModeKind::Quit), &[Char('s'), Char('x')], C::StopAndQuit, "s", "stop it", ""),
    row(Window(ModeKind::Quit), &[Code(K::Esc), Char('n'), Char('q')], C::Back, "Esc", "stay", ""),
];

//! The keys of the panes: those of the focused pane first, then those that work in all of them.
//!
//! Never decides anything: rows only.

use crossterm::event::KeyCode as K;

use super::super::log_view::{LogCommand as L, Prompt};
use super::super::state::Pane;
use super::On::{self, Char, Code, Ctrl};
use super::Scope::{Pane as In, Panes};
use super::{Binding, Command as C, DOWN, ENTER, ESCAPE, LEFT, RIGHT, SPACE, UP, row};
use crate::domain::step::Step;

pub static STEPS: &[Binding] = &[
    row(In(Pane::Steps), UP, C::Up, "↑↓", "choose", "choose a step"),
    row(In(Pane::Steps), DOWN, C::Down, "", "", ""),
    row(In(Pane::Steps), SPACE, C::Switch, "Space", "toggle", "toggle the chosen step"),
    row(In(Pane::Steps), ENTER, C::Lesson, "Enter", "lesson", "read the lesson of the chosen step"),
    row(In(Pane::Steps), &[Char('a')], C::AllSteps, "a", "all", "all ten steps on"),
    row(In(Pane::Steps), &[Char('n')], C::NoSteps, "n", "none", "all ten steps off: the serial program"),
    row(
        In(Pane::Steps),
        &[Char('g')],
        C::Guided,
        "g",
        "before/after",
        "what the chosen step changes: before and after, side by side",
    ),
    row(In(Pane::Steps), &[Char('A')], C::Ablation, "A", "ablation", "all steps but one, in turn: 12 of them (asks first)"),
    row(In(Pane::Steps), &[Char('v')], C::Results, "v", "results", "what came of the last of these"),
    row(In(Pane::Steps), &[Code(K::Home)], C::First, "", "", ""),
    row(In(Pane::Steps), &[Code(K::End)], C::Last, "", "", ""),
];

pub static SETTINGS: &[Binding] = &[
    row(In(Pane::Settings), UP, C::Up, "↑↓", "choose", "choose a setting"),
    row(In(Pane::Settings), DOWN, C::Down, "", "", ""),
    row(In(Pane::Settings), LEFT, C::Left, "←→", "change", "previous or next value"),
    row(In(Pane::Settings), RIGHT, C::Right, "", "", ""),
    row(In(Pane::Settings), SPACE, C::Switch, "", "", ""),
    row(In(Pane::Settings), ENTER, C::Accept, "Enter", "type", "type a value"),
    row(In(Pane::Settings), &[Code(K::Home)], C::First, "", "", ""),
    row(In(Pane::Settings), &[Code(K::End)], C::Last, "", "", ""),
];

pub static LOG: &[Binding] = &[
    row(In(Pane::Log), UP, C::Up, "↑↓", "scroll", "scroll; the view stays while new lines come"),
    row(In(Pane::Log), DOWN, C::Down, "", "", ""),
    row(In(Pane::Log), LEFT, C::Left, "←→", "process", "root, each process, all"),
    row(In(Pane::Log), RIGHT, C::Right, "", "", ""),
    row(In(Pane::Log), &[Code(K::PageUp)], C::PageUp, "PgUp", "", "a screen at a time; PgDn forwards"),
    row(In(Pane::Log), &[Code(K::PageDown)], C::PageDown, "", "", ""),
    row(In(Pane::Log), &[Code(K::Home), Char('g')], C::First, "Home", "", "the first line"),
    row(In(Pane::Log), &[Code(K::End), Char('G'), Code(K::Enter)], C::Last, "End", "follow", "follow new lines again"),
    row(
        In(Pane::Log),
        &[Char('/')],
        C::Log(L::Prompt(Prompt::Search)),
        "/",
        "search",
        "search a text or, with Ctrl-R, a regular expression",
    ),
    row(In(Pane::Log), &[Char('n')], C::Log(L::NextMatch), "n N", "", "next match; N the one before"),
    row(In(Pane::Log), &[Char('N')], C::Log(L::PreviousMatch), "", "", ""),
    row(In(Pane::Log), &[Char('f')], C::Log(L::Prompt(Prompt::Filter)), "f", "filter", "only lines with a text; empty shows all"),
    row(In(Pane::Log), &[Char('F')], C::Log(L::Prompt(Prompt::InverseFilter)), "F", "", "only lines without a text"),
    row(In(Pane::Log), &[Char('W')], C::Log(L::Wrap), "W", "", "wrap long lines, or cut them"),
    row(In(Pane::Log), &[Char(',')], C::Log(L::Leftwards), ", .", "", "scroll cut lines to the left and right"),
    row(In(Pane::Log), &[Char('.')], C::Log(L::Rightwards), "", "", ""),
    row(In(Pane::Log), &[Char('t')], C::Log(L::Times), "t", "", "when each line came, since the launch"),
    row(In(Pane::Log), &[Char('v')], C::Log(L::Mark), "v", "", "mark lines with ↑↓, for y to copy"),
    row(In(Pane::Log), &[Char('y')], C::Log(L::Copy), "y", "copy", "copy the marked lines, or those on the screen"),
    row(In(Pane::Log), &[Char('o')], C::Log(L::Save), "o", "", "write all lines that the log shows into a file"),
];

pub static CHART: &[Binding] = &[
    row(In(Pane::Chart), LEFT, C::Left, "←→", "graph", "loss, accuracy, learning rate, images/s, step timeline"),
    row(In(Pane::Chart), RIGHT, C::Right, "", "", ""),
    row(In(Pane::Chart), &[Char('g')], C::LogScale, "g", "log", "logarithmic or linear scale"),
    row(In(Pane::Chart), &[Char('t')], C::Along, "t", "x axis", "by epoch, by step or by time"),
    row(In(Pane::Chart), &[Char(']'), Code(K::Up), Char('k')], C::ZoomIn, "[ ]", "zoom", "zoom out and in, also with ↓ and ↑"),
    row(In(Pane::Chart), &[Char('['), Code(K::Down), Char('j')], C::ZoomOut, "", "", ""),
    row(In(Pane::Chart), &[Char(',')], C::CursorLeft, ", .", "cursor", "cursor that reads values; in the timeline another epoch"),
    row(In(Pane::Chart), &[Char('.')], C::CursorRight, "", "", ""),
    row(In(Pane::Chart), &[Code(K::PageUp)], C::PageUp, "PgUp", "", "cursor ten places to the left; PgDn to the right"),
    row(In(Pane::Chart), &[Code(K::PageDown)], C::PageDown, "", "", ""),
    row(In(Pane::Chart), &[Code(K::Home)], C::First, "Home", "", "cursor to the start; End to the newest value"),
    row(In(Pane::Chart), &[Code(K::End)], C::Last, "", "", ""),
    row(In(Pane::Chart), &[Char('f')], C::Fit, "f", "whole", "all of it again, without the cursor"),
    row(In(Pane::Chart), &[Char('p')], C::Pin, "p", "pin", "keep the chosen run in the chart beside others, or let it go"),
];

pub static DEVICES: &[Binding] = &[
    row(In(Pane::Devices), UP, C::Up, "↑↓", "choose", "choose a device"),
    row(In(Pane::Devices), DOWN, C::Down, "", "", ""),
    row(In(Pane::Devices), LEFT, C::Left, "←→", "field", "choose a figure: its value, or why there is none"),
    row(In(Pane::Devices), RIGHT, C::Right, "", "", ""),
    row(In(Pane::Devices), ENTER, C::Accept, "Enter", "details", "all figures of the device, or why they are missing"),
    row(In(Pane::Devices), &[Char('s')], C::Sort, "s", "sort", "order by index, use, memory, power, temperature"),
    row(In(Pane::Devices), &[Char('/')], C::Filter, "/", "filter", "show only devices, ranks or processes with this text"),
    row(In(Pane::Devices), &[Code(K::PageUp)], C::PageUp, "", "", ""),
    row(In(Pane::Devices), &[Code(K::PageDown)], C::PageDown, "", "", ""),
    row(In(Pane::Devices), &[Code(K::Home), Char('g')], C::First, "", "", ""),
    row(In(Pane::Devices), &[Code(K::End), Char('G')], C::Last, "", "", ""),
];

pub static RUNS: &[Binding] = &[
    row(In(Pane::Runs), UP, C::Up, "↑↓", "choose", "choose a run: log, chart and header show it"),
    row(In(Pane::Runs), DOWN, C::Down, "", "", ""),
    row(In(Pane::Runs), &[Code(K::PageUp)], C::PageUp, "", "", ""),
    row(In(Pane::Runs), &[Code(K::PageDown)], C::PageDown, "", "", ""),
    row(In(Pane::Runs), &[Code(K::Home), Char('g')], C::First, "", "", ""),
    row(In(Pane::Runs), &[Code(K::End), Char('G')], C::Last, "", "", ""),
    row(In(Pane::Runs), &[Char('p')], C::Pin, "p", "pin", "keep the chosen run in the chart beside others, or let it go"),
    row(In(Pane::Runs), &[Char('/')], C::Filter, "/", "filter", "show only runs that fit some words: np:2, failed, !name:old"),
    row(In(Pane::Runs), &[Char('s')], C::Sort, "s", "sort", "sort by the next figure, best first"),
    row(In(Pane::Runs), &[Char('S')], C::Reverse, "S", "", "sort the other way round"),
    row(
        In(Pane::Runs),
        &[Char('v')],
        C::Compare,
        "v",
        "compare",
        "the chosen run against the baseline: what it gained and what differs",
    ),
    row(In(Pane::Runs), &[Char('o')], C::Published, "o", "", "rows of what others published, below the runs"),
    row(In(Pane::Runs), &[Char('R')], C::Name, "R", "name", "name the chosen run"),
    row(In(Pane::Runs), &[Char('N')], C::Note, "N", "", "write a note to the chosen run"),
    row(In(Pane::Runs), &[Char('d'), Code(K::Delete)], C::Delete, "d", "delete", "move the chosen run to the trash (asks first)"),
    row(In(Pane::Runs), &[Char('u')], C::Undo, "u", "undo", "take back the last name, note or delete"),
    row(In(Pane::Runs), &[Char('E')], C::Export, "E", "", "write the shown runs to a file: Markdown, CSV, JSON or SVG"),
    row(In(Pane::Runs), ENTER, C::Details, "Enter", "details", "details of the chosen run"),
];

/// Whichever pane has the focus.
pub static ALL: &[Binding] = &[
    row(Panes, &[On::Digit], C::ToggleStep(Step::InitAndPin), "1-9,0", "toggle", "toggle step 1 to 10"),
    row(Panes, &[Char('r')], C::Run, "r", "run", "start a run with these steps and settings"),
    row(Panes, &[Char('x')], C::Stop, "x", "stop", "stop the run (asks first)"),
    row(Panes, &[Char('c')], C::Continue, "c", "continue", "train the chosen run for more epochs"),
    row(Panes, &[Char('b')], C::Baseline, "b", "baseline", "compare all runs with the chosen one"),
    row(Panes, &[Char('i')], C::Details, "i", "details", "details of the chosen run, with its mpirun line"),
    row(Panes, &[Char('w')], C::Lesson, "w", "lesson", "why: the lesson of the chosen step"),
    row(Panes, &[Char('e')], C::Edit, "e", "", "your own trainer: edit it, saving builds and runs it"),
    row(Panes, &[Char('E')], C::Exercise, "E", "", "what came of the last save of it"),
    row(Panes, &[Char('d')], C::Diff, "d", "", "what the chosen step changes in the program"),
    row(Panes, &[Char('+'), Char('=')], C::MoreRanks, "+ -", "np", "more or fewer ranks"),
    row(Panes, &[Char('-'), Char('_')], C::FewerRanks, "", "", ""),
    row(Panes, &[Code(K::Tab)], C::NextPane, "Tab", "pane", "next pane; Shift-Tab the one before"),
    row(Panes, &[Code(K::BackTab)], C::PreviousPane, "", "", ""),
    row(Panes, &[Char('z')], C::Zoom, "z", "zoom", "the pane alone, or all of them again"),
    row(Panes, &[Char('m')], C::Mouse, "m", "", "release the mouse to select text, or take it again"),
    row(Panes, &[Char('T')], C::Theme, "T", "", "the next theme: dark, light, high contrast, colour-blind, mono"),
    row(Panes, &[Char(':'), Ctrl('p')], C::Palette, ":", "", "all commands, found by their words"),
    row(Panes, &[Char('P')], C::Projector, "P", "", "for a projector: large step and speed-up, or the panes again"),
    row(Panes, &[Code(K::F(2))], C::Tour, "F2", "", "the tour of the screen"),
    row(Panes, &[Code(K::F(5))], C::ResetBorders, "F5", "", "borders that were dragged back to where they were"),
    row(Panes, &[Char('?'), Code(K::F(1))], C::Help, "?", "help", "this help"),
    row(Panes, ESCAPE, C::Back, "Esc", "", "dismiss a notice, leave the zoom"),
    row(Panes, &[Char('q'), Ctrl('c')], C::Quit, "q", "quit", "quit; a run can go on without the screen"),
];

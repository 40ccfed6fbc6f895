//! The keys of the panes Steps and Next run.

use crate::tui::actions::{Binding, Char, Command as C, ENTER, LEFT_RIGHT, LIST, Move, SPACE, row};

pub static STEPS: &[Binding] = &[
    row(LIST, C::Move(Move::Up), "↑↓", "choose", "choose a step"),
    row(SPACE, C::Switch, "Space", "toggle", "toggle the chosen step").ranked(2),
    row(ENTER, C::Lesson, "Enter", "lesson", "read the lesson of the chosen step").ranked(2),
    row(&[Char('a')], C::AllSteps, "a", "all/none", "switch all ten steps on; again: all off, the serial program"),
    row(&[Char('g')], C::Guided, "g", "before/after", "run without and with the chosen step and compare (asks first)").ranked(2),
    row(&[Char('A')], C::Ablation, "A", "ablation", "run with all steps but one, each in turn: 12 runs (asks first)"),
];

pub static SETTINGS: &[Binding] = &[
    row(LIST, C::Move(Move::Up), "↑↓", "choose", "choose a setting"),
    row(LEFT_RIGHT, C::Move(Move::Left), "←→", "change", "previous or next value").ranked(2),
    row(SPACE, C::Move(Move::Right), "", "", ""),
    row(ENTER, C::Accept, "Enter", "type", "type a value").ranked(2),
];

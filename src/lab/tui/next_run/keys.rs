//! The keys of the panes Steps and Next run.

use crate::tui::actions::On::{Char, Code};
use crate::tui::actions::{Binding, Command, DOWN, ENTER, LEFT, Move, RIGHT, UP, row};
use crossterm::event::KeyCode as K;

use crate::tui::actions::keys::SPACE;

use Command as C;

pub static STEPS: &[Binding] = &[
    row(UP, C::Move(Move::Up), "↑↓", "choose", "choose a step"),
    row(DOWN, C::Move(Move::Down), "", "", ""),
    row(SPACE, C::Switch, "Space", "toggle", "toggle the chosen step").ranked(2),
    row(ENTER, C::Lesson, "Enter", "lesson", "read the lesson of the chosen step").ranked(2),
    row(&[Char('a')], C::AllSteps, "a", "all/none", "switch all ten steps on; again: all off, the serial program"),
    row(&[Char('g')], C::Guided, "g", "before/after", "run without and with the chosen step and compare (asks first)").ranked(2),
    row(&[Char('A')], C::Ablation, "A", "ablation", "run with all steps but one, each in turn: 12 runs (asks first)"),
    row(&[Code(K::Home)], C::Move(Move::First), "", "", ""),
    row(&[Code(K::End)], C::Move(Move::Last), "", "", ""),
];

pub static SETTINGS: &[Binding] = &[
    row(UP, C::Move(Move::Up), "↑↓", "choose", "choose a setting"),
    row(DOWN, C::Move(Move::Down), "", "", ""),
    row(LEFT, C::Change { up: false }, "←→", "change", "previous or next value").ranked(2),
    row(RIGHT, C::Change { up: true }, "", "", ""),
    row(SPACE, C::Change { up: true }, "", "", ""),
    row(ENTER, C::Accept, "Enter", "type", "type a value").ranked(2),
    row(&[Code(K::Home)], C::Move(Move::First), "", "", ""),
    row(&[Code(K::End)], C::Move(Move::Last), "", "", ""),
];

//! What each command does with the learner's own trainer and its diffs.
//!
//! Never starts a program: effects do.

use super::super::effect::Effect;
use super::super::keymap::Command;
use super::super::mode::Mode;
use super::super::state::State;
use super::lesson;
use crate::domain::step::Step;

/// What a step changes.
pub fn diff(state: &mut State, step: Step) {
    state.step = step;
    state.mode = Mode::Diff { step, scroll: 0 };
}

/// The diff is in front, scrolled as the command asks.
pub fn in_diff(state: &mut State, step: Step, scroll: usize, command: Command) -> Vec<Effect> {
    let number = step.number();
    match command {
        Command::Back => return Vec::new(),
        Command::Lesson => return lesson::open(state),
        Command::Left | Command::Right => {
            let other = if command == Command::Left { number.saturating_sub(1) } else { number + 1 };
            diff(state, Step::from_number(other).unwrap_or(step));
        }
        Command::Columns => {
            state.exercise.one_column ^= true;
            // Another number of rows: the place in the old ones means nothing.
            state.mode = Mode::Diff { step, scroll: 0 };
        }
        _ => state.mode = Mode::Diff { step, scroll },
    }
    Vec::new()
}

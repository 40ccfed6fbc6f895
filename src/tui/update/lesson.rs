//! What each command does while a lesson is read.
//!
//! Never tells an answer: the question does, once there is a prediction.

use super::super::effect::Effect;
use super::super::keymap::Command;
use super::super::mode::Mode;
use super::super::state::State;
use super::{command, exercise};
use crate::course::{Answer, Prediction};

/// The lesson of the step under the cursor, with what the run on the screen shows of it.
pub fn open(state: &mut State) -> Vec<Effect> {
    match state.lessons.of_step(state.step).map(|lesson| lesson.number) {
        Some(number) => show(state, number),
        None => {
            state.error(format!("there is no lesson for step {}: `hvd-lab lessons` lists those there are", state.step.number()));
        }
    }
    state.watched.iter().map(|watched| Effect::Judge(watched.id)).collect()
}

fn show(state: &mut State, number: usize) {
    if let Some(step) = state.lessons.lesson(number).and_then(|lesson| lesson.step) {
        state.step = step;
    }
    state.mode = Mode::Lesson { number, scroll: 0, hints: 0, typed: String::new() };
}

/// The window is open already, scrolled as the command asks.
pub fn obey(state: &mut State, command: Command) -> Vec<Effect> {
    let Mode::Lesson { number, hints, typed, .. } = &mut state.mode else { return Vec::new() };
    let number = *number;
    let Some(lesson) = state.lessons.lesson(number) else { return Vec::new() };
    match command {
        Command::Back => state.mode = Mode::Normal,
        Command::Diff => match lesson.step {
            Some(step) => exercise::diff(state, step),
            None => state.inform("this lesson changes nothing in the program"),
        },
        Command::Hint => *hints = (*hints + 1).min(lesson.hints.len()),
        Command::Left | Command::Right => {
            let numbers: Vec<usize> = state.lessons.lessons().map(|lesson| lesson.number).collect();
            let place = numbers.iter().position(|other| *other == number).unwrap_or(0);
            let to = if command == Command::Left { place.saturating_sub(1) } else { (place + 1).min(numbers.len() - 1) };
            if to != place {
                show(state, numbers[to]);
            }
        }
        Command::RunBefore | Command::RunAfter => {
            let Some(run) = lesson.run else {
                state.inform("this lesson has no run of its own: close it, and r runs what is set");
                return Vec::new();
            };
            state.touched = true;
            state.spec.steps = if command == Command::RunBefore { run.before } else { run.after };
            (state.spec.np, state.spec.epochs) = (run.np, run.epochs);
            state.mode = Mode::Normal;
            return command::obey(state, Command::Run);
        }
        Command::Insert(c) => match lesson.question.as_ref().map(|question| &question.answer) {
            Some(Answer::Choice { options, .. }) => {
                let chosen = c.to_digit(10).map(|digit| digit as usize).filter(|digit| (1..=options.len()).contains(digit));
                if let Some(digit) = chosen {
                    state.predictions.insert(number, Prediction::Choice(digit - 1));
                }
            }
            Some(Answer::Number { .. }) if (c.is_ascii_digit() || "+-.e".contains(c)) && typed.len() < 16 => typed.push(c),
            _ => {}
        },
        Command::Erase => {
            typed.pop();
        }
        Command::Accept => match typed.parse::<f64>() {
            Ok(value) => {
                typed.clear();
                state.predictions.insert(number, Prediction::Number(value));
            }
            Err(_) if typed.is_empty() => {}
            Err(_) => {
                let text = format!("`{typed}` is no number");
                state.error(text);
            }
        },
        _ => {}
    }
    Vec::new()
}

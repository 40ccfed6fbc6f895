//! What each command does while a lesson is read.
//!
//! Never tells an answer: the question does, once there is a prediction.

use super::super::effect::Effect;
use super::super::keymap::Command;
use super::super::mode::Mode;
use super::super::state::State;
use super::{command, exercise, series};
use crate::course::{Answer, Prediction};

/// The lesson of the step under the cursor, with what the run on the screen shows of it.
pub fn open(state: &mut State) -> Vec<Effect> {
    match state.course.lessons.of_step(state.step).map(|lesson| lesson.number) {
        Some(number) => show(state, number),
        None => {
            state.error(format!("there is no lesson for step {}: `hvd-lab lessons` lists those there are", state.step.number()));
        }
    }
    state.watched.iter().map(|watched| Effect::Judge(watched.id)).collect()
}

fn show(state: &mut State, number: usize) {
    if let Some(step) = state.course.lessons.lesson(number).and_then(|lesson| lesson.step) {
        state.step = step;
    }
    state.mode = Mode::Lesson { number, scroll: 0, hints: 0, typed: String::new() };
}

/// The window is open already, scrolled as the command asks.
pub fn obey(state: &mut State, command: Command) -> Vec<Effect> {
    let Mode::Lesson { number, hints, typed, .. } = &mut state.mode else { return Vec::new() };
    let number = *number;
    let Some(lesson) = state.course.lessons.lesson(number) else { return Vec::new() };
    match command {
        Command::Back => state.mode = Mode::Normal,
        Command::Diff => match lesson.step {
            Some(step) => exercise::diff(state, step),
            None => state.inform("this lesson changes nothing in the program"),
        },
        Command::Guided => return series::guided(state),
        Command::Results => series::show(state),
        Command::Hint => *hints = (*hints + 1).min(lesson.hints.len()),
        Command::Left | Command::Right => {
            let numbers: Vec<usize> = state.course.lessons.lessons().map(|lesson| lesson.number).collect();
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
                    return predict(state, number, Prediction::Choice(digit - 1));
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
                return predict(state, number, Prediction::Number(value));
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

/// Shown at once, and kept.
fn predict(state: &mut State, lesson: usize, prediction: Prediction) -> Vec<Effect> {
    let question = state.course.lessons.lesson(lesson).and_then(|lesson| lesson.question.as_ref());
    let Some(judged) = question.and_then(|question| question.judge(prediction)) else { return Vec::new() };
    let is_right = judged.is_right;
    state.course.answers.insert(lesson, prediction);
    vec![Effect::Predict { lesson, prediction, is_right }]
}

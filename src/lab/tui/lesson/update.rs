//! How a lesson is opened, and what its keys do.

use super::keys::Command;
use super::state::Lesson;
use super::windows::Reading;
use crate::course::{Answer, Prediction, has_folds};
use crate::tui::actions::action::Action;
use crate::tui::actions::effect::Effect;
use crate::tui::shared::state::Shared;

/// The lesson of the step under the cursor, with what the run on the screen shows of it.
pub fn open(lesson: &mut Lesson, shared: &mut Shared) -> Vec<Action> {
    match shared.course.lessons.of_step(shared.step).map(|lesson| lesson.number) {
        Some(number) => show(lesson, shared, number),
        None => {
            let step = shared.step.number();
            shared.error(format!("there is no lesson for step {step}: `hvd-lab lessons` lists those there are"));
        }
    }
    shared.watched.iter().map(|watched| Effect::Judge(watched.id).into()).collect()
}

fn show(lesson: &mut Lesson, shared: &mut Shared, number: usize) {
    if let Some(step) = shared.course.lessons.lesson(number).and_then(|lesson| lesson.step) {
        shared.step = step;
    }
    lesson.window = Some(Reading { number, scroll: 0, hints: 0, typed: String::new() }.into());
}

/// Opens the lesson with a number.
pub fn open_number(lesson: &mut Lesson, shared: &mut Shared, number: usize) -> Vec<Action> {
    match shared.course.lessons.lesson(number) {
        Some(_) => show(lesson, shared, number),
        None => shared.error(format!("there is no lesson {number}: `hvd-lab lessons` lists those there are")),
    }
    Vec::new()
}

/// The lesson was open, and stays open where it is put back.
pub fn reading(mut reading: Reading, lesson: &mut Lesson, shared: &mut Shared, command: Command) -> Vec<Action> {
    let number = reading.number;
    let Some(read) = shared.course.lessons.lesson(number) else { return Vec::new() };
    let mut actions = Vec::new();
    match command {
        Command::Back => return Vec::new(),
        Command::Diff => match read.step {
            Some(step) => return vec![Action::Diff(step)],
            None => shared.inform("this lesson has no step, so it changes nothing in the program"),
        },
        Command::Fold if has_folds(&read.body, shared.course.writes_rust) => lesson.is_unfolded = !lesson.is_unfolded,
        Command::Fold => shared.inform("this lesson has no parts to fold or unfold"),
        Command::Guided if read.step.is_none() => shared.inform("this lesson has no step to run without and with"),
        Command::Guided => actions.push(Action::Guided),
        Command::Results => actions.push(Action::ShowSeries),
        Command::Hint => {
            reading.hints = (reading.hints + 1).min(read.hints.len());
            let (shown, all) = (reading.hints, read.hints.len());
            shared.inform(match all {
                0 => "this lesson has no hints".to_owned(),
                _ => format!("hint {shown} of {all} is below the lesson: press End to see it"),
            });
        }
        Command::Previous | Command::Next => {
            let numbers: Vec<usize> = shared.course.lessons.lessons().map(|lesson| lesson.number).collect();
            let place = numbers.iter().position(|other| *other == number).unwrap_or(0);
            let to = if command == Command::Previous { place.saturating_sub(1) } else { (place + 1).min(numbers.len() - 1) };
            if to != place {
                show(lesson, shared, numbers[to]);
                return Vec::new();
            }
        }
        Command::RunBefore | Command::RunAfter if shared.replay.is_some() => {
            shared.inform("this is a recording: nothing starts here, and the settings stay the same");
        }
        Command::RunBefore | Command::RunAfter => match read.run {
            Some(run) => {
                shared.touched = true;
                shared.spec.workload.steps = if command == Command::RunBefore { run.before } else { run.after };
                (shared.spec.resources.np, shared.spec.workload.epochs) = (run.np, run.epochs);
                return vec![Action::Run];
            }
            None => shared.inform("this lesson has no run of its own. Close it and press r to run with the current settings"),
        },
        Command::Insert(c) => match shared.course.asked(read).map(|(_, question)| &question.answer) {
            Some(Answer::Choice { options, .. }) => {
                let chosen = c.to_digit(10).map(|digit| digit as usize).filter(|digit| (1..=options.len()).contains(digit));
                actions.extend(chosen.and_then(|digit| predict(shared, number, Prediction::Choice(digit - 1))));
            }
            Some(Answer::Number { .. }) if (c.is_ascii_digit() || "+-.e".contains(c)) && reading.typed.len() < 16 => {
                reading.typed.push(c);
            }
            _ => {}
        },
        Command::Erase => {
            reading.typed.pop();
        }
        Command::Accept => match reading.typed.parse::<f64>() {
            Ok(value) => {
                reading.typed.clear();
                actions.extend(predict(shared, number, Prediction::Number(value)));
            }
            Err(_) if reading.typed.is_empty() => {}
            Err(_) => shared.error(format!("`{}` is not a number", reading.typed)),
        },
    }
    lesson.window = Some(reading.into());
    actions
}

/// Shown at once, and written down.
fn predict(shared: &mut Shared, lesson: usize, prediction: Prediction) -> Option<Action> {
    let (asked, question) = shared.course.asked(shared.course.lessons.lesson(lesson)?)?;
    let is_right = question.judge(prediction)?.is_right;
    shared.course.answers.insert(asked, prediction);
    Some(Effect::Predict { asked, prediction, is_right }.into())
}

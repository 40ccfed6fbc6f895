//! A lesson that is read, and its question answered.

use super::draw::lines;
use crate::course::{Answer, Prediction, has_folds};
use crate::tui::actions::On::{Char, Code, Ctrl, Text};
use crate::tui::actions::{Action, BACKSPACE, Binding, Command, ENTER, Effect, K, LEFT_RIGHT, Move, Typing, row};
use crate::tui::shared::{Mark, Shared};
use crate::tui::state::{About, Outcome, Page, State, View, Window};

#[derive(Clone, Debug)]
pub struct Reading {
    pub number: usize,
    /// Hints that were asked for.
    pub hints: usize,
    /// A number that is being typed.
    pub typed: String,
}

/// The lesson of the step under the cursor, with what the run on the screen shows of it.
pub fn open(state: &mut State) -> Vec<Action> {
    let State { shared, windows, .. } = state;
    match shared.course.lessons.of_step(shared.step).map(|lesson| lesson.number) {
        Some(number) => windows.show(Reading::of(shared, number)),
        None => {
            let step = shared.step.number();
            shared.error(format!("there is no lesson for step {step}: `hvd-lab lessons` lists those there are"));
        }
    }
    shared.watched.iter().map(|watched| Effect::Judge(watched.id).into()).collect()
}

/// Opens the lesson with a number.
pub fn open_number(state: &mut State, number: usize) -> Vec<Action> {
    let State { shared, windows, .. } = state;
    match shared.course.lessons.lesson(number) {
        Some(_) => windows.show(Reading::of(shared, number)),
        None => shared.error(format!("there is no lesson {number}: `hvd-lab lessons` lists those there are")),
    }
    Vec::new()
}

impl Reading {
    /// Opens a lesson at its start, and moves the cursor to its step.
    fn of(shared: &mut Shared, number: usize) -> Reading {
        if let Some(step) = shared.course.lessons.lesson(number).and_then(|lesson| lesson.step) {
            shared.step = step;
        }
        Reading { number, hints: 0, typed: String::new() }
    }
}

pub static KEYS: &[Binding] = &[
    row(LEFT_RIGHT, Command::Move(Move::Left), "←→", "lessons", ""),
    row(&[Char('H')], Command::Hint, "H", "hint", ""),
    row(&[Char('g')], Command::Guided, "g", "before and after", ""),
    row(&[Char('G')], Command::Results, "G", "results", ""),
    row(&[Char('b')], Command::RunBefore, "b", "run before", ""),
    row(&[Char('a')], Command::RunAfter, "a", "run after", ""),
    row(&[Char('d')], Command::Diff, "d", "diff", ""),
    // The text of the lesson names it.
    row(&[Char('f')], Command::Fold, "f", "fold", "").ranked(1),
    row(ENTER, Command::Accept, "", "", ""),
    row(BACKSPACE, Command::Type(Typing::Erase), "", "", ""),
    row(&[Code(K::Esc), Char('w'), Char('q'), Ctrl('c')], Command::Back, "Esc", "close", "").ranked(0),
    row(&[Text], Command::Type(Typing::Insert(' ')), "", "", ""),
];

impl Window for Reading {
    fn about(&self, _: &State) -> About {
        About { keys: KEYS, scrolls: true, ..About::default() }
    }

    fn view(&self, state: &State, columns: u16) -> Option<View> {
        let read = state.shared.course.lessons.lesson(self.number)?;
        let title = match read.step {
            None => "Lesson".to_owned(),
            Some(step) => match state.shared.course.mark(step) {
                Mark::Done => format!("Step {}/10, ✓ done", step.number()),
                Mark::Seen => format!("Step {}/10, seen", step.number()),
                Mark::Failed => format!("Step {}/10, ✗ failed", step.number()),
                Mark::NotYet => format!("Step {}/10, not done yet", step.number()),
            },
        };
        let lines = |width| lines(state, read, self.hints, &self.typed, width);
        Some(Page::view(format!("{title}: {}", read.title), columns, 96, lines))
    }

    fn press(&mut self, state: &mut State, command: Command) -> Outcome {
        let State { lesson, shared, .. } = state;
        let number = self.number;
        let Some(read) = shared.course.lessons.lesson(number) else { return Outcome::CLOSE };
        let mut actions = Vec::new();
        match command {
            Command::Back => return Outcome::CLOSE,
            Command::Diff => match read.step {
                Some(step) => return Outcome::Close(vec![Action::Diff(step)]),
                None => shared.inform("this lesson has no step, so it changes nothing in the program"),
            },
            Command::Fold if has_folds(&read.body, shared.course.writes_rust) => lesson.is_unfolded = !lesson.is_unfolded,
            Command::Fold => shared.inform("this lesson has no parts to fold or unfold"),
            Command::Guided if read.step.is_none() => shared.inform("this lesson has no step to run without and with"),
            Command::Guided => actions.push(Action::Guided),
            Command::Results => actions.push(Action::ShowSeries),
            Command::Hint => {
                self.hints = (self.hints + 1).min(read.hints.len());
                let (shown, all) = (self.hints, read.hints.len());
                shared.inform(match all {
                    0 => "this lesson has no hints".to_owned(),
                    _ => format!("hint {shown} of {all} is below the lesson: press End to see it"),
                });
            }
            Command::Move(by) => {
                let numbers: Vec<usize> = shared.course.lessons.lessons().map(|lesson| lesson.number).collect();
                let place = numbers.iter().position(|other| *other == number).unwrap_or(0);
                let to = by.within(place, numbers.len());
                if to != place {
                    *self = Reading::of(shared, numbers[to]);
                    return Outcome::TOP;
                }
            }
            Command::RunBefore | Command::RunAfter => match read.run {
                Some(run) => {
                    shared.touched = true;
                    shared.spec.workload.steps = if command == Command::RunBefore { run.before } else { run.after };
                    (shared.spec.resources.np, shared.spec.workload.epochs) = (run.np, run.epochs);
                    return Outcome::Close(vec![Action::Press(None, Command::Run)]);
                }
                None => shared.inform("this lesson has no run of its own. Close it and press r to run with the current settings"),
            },
            Command::Type(Typing::Insert(c)) => match shared.course.asked(read).map(|(_, question)| &question.answer) {
                Some(Answer::Choice { options, .. }) => {
                    let chosen = c.to_digit(10).map(|digit| digit as usize).filter(|digit| (1..=options.len()).contains(digit));
                    actions.extend(chosen.and_then(|digit| predict(shared, number, Prediction::Choice(digit - 1))));
                }
                Some(Answer::Number { .. }) if (c.is_ascii_digit() || "+-.e".contains(c)) && self.typed.len() < 16 => {
                    self.typed.push(c);
                }
                _ => {}
            },
            Command::Type(_) => {
                self.typed.pop();
            }
            Command::Accept => match self.typed.parse::<f64>() {
                Ok(value) => {
                    self.typed.clear();
                    actions.extend(predict(shared, number, Prediction::Number(value)));
                }
                Err(_) if self.typed.is_empty() => {}
                Err(_) => shared.error(format!("`{}` is not a number", self.typed)),
            },
            _ => {}
        }
        Outcome::Stay(actions)
    }

    /// Keys for a step, in a lesson without one.
    fn is_idle(&self, state: &State, command: Command) -> Option<bool> {
        let read = state.shared.course.lessons.lesson(self.number)?;
        match command {
            Command::Fold => Some(!has_folds(&read.body, state.shared.course.writes_rust)),
            Command::Guided | Command::Diff => Some(read.step.is_none()),
            Command::RunBefore | Command::RunAfter => Some(read.run.is_none()),
            _ => None,
        }
    }
}

/// Shows the prediction at once, and saves it.
fn predict(shared: &mut Shared, lesson: usize, prediction: Prediction) -> Option<Action> {
    let (asked, question) = shared.course.asked(shared.course.lessons.lesson(lesson)?)?;
    let is_right = question.judge(prediction)?.is_right;
    shared.course.answers.insert(asked, prediction);
    Some(Effect::Predict { asked, prediction, is_right }.into())
}

//! The windows of the learner's own trainer: how it stands, a diff, and whether to reset it.

use crossterm::event::KeyCode as K;

use super::draw::{diff, diff_title, lines, list, reset_question, title};
use super::state::{Exercise, tracks_in_order};
use super::update::{begin, compare};
use crate::domain::step::Step;
use crate::exercise::{TWO_COLUMNS, Track};
use crate::tui::actions::{
    Action, Binding, Char, Code, Command, Ctrl, ENTER, Effect, LEFT_RIGHT, LIST, Move, TerminalOrder, row,
};
use crate::tui::state::{About, FRAME, Outcome, Page, State, View, Window};

/// Shows what the step under the cursor changes.
pub fn show_diff(state: &mut State) -> Vec<Action> {
    let step = state.shared.step;
    show_diff_of(state, step)
}

pub fn show_diff_of(state: &mut State, step: Step) -> Vec<Action> {
    let State { exercise, shared, windows, .. } = state;
    shared.step = step;
    let of = if exercise.has_steps() { exercise.track } else { exercise.ten_steps };
    windows.show(Diff { of, number: step.number(), mine: false });
    Vec::new()
}

/// Shows how the program stands.
pub fn show(state: &mut State) -> Vec<Action> {
    state.windows.show(Own::default());
    // A command may have judged it since.
    vec![Effect::ReadExercise.into(), Effect::ReadProgress.into()]
}

/// The editor, with the window of the exercise behind it, which shows what comes of a save.
pub fn edit(state: &mut State) -> Vec<Action> {
    state.windows.show(Own::default());
    vec![Effect::Terminal(TerminalOrder::Edit).into()]
}

/// How it stands.
#[derive(Clone, Debug, Default)]
pub struct Own {
    /// Hints that were asked for.
    pub hints: usize,
}

pub static OWN: &[Binding] = &[
    row(&[Char('e')], Command::Edit, "e", "edit", ""),
    row(&[Char('r')], Command::Run, "r", "run", "build it, run it and check what it did").ranked(0),
    row(&[Char('d')], Command::Diff, "d", "diff", "yours against the solution"),
    row(&[Char('v')], Command::Compare, "v", "compare", "run it on one rank and on two, and compare"),
    row(&[Char('u')], Command::Reset, "u", "undo", "put back a step of your program, or all of it (asks first)"),
    row(&[Char('H')], Command::Hint, "H", "hint", ""),
    row(&[Char('w')], Command::Lesson, "w", "lesson", ""),
    row(&[Char('o')], Command::Tracks, "o", "others", "other exercises").ranked(1),
    row(&[Code(K::Esc), Char('q'), Code(K::Enter), Ctrl('c')], Command::Back, "Esc", "close", "").ranked(0),
];

impl Window for Own {
    fn about(&self, _: &State) -> About {
        About { keys: OWN, scrolls: true, ..About::default() }
    }

    fn view(&self, state: &State, columns: u16) -> Option<View> {
        let (exercise, shared) = (&state.exercise, &state.shared);
        Some(Page::view(title(exercise.track), columns, 110, |width| lines(exercise, shared, self.hints, width)))
    }

    fn press(&mut self, state: &mut State, command: Command) -> Outcome {
        let State { exercise, shared, windows, .. } = state;
        match command {
            Command::Back => return Outcome::CLOSE,
            Command::Edit => return Outcome::Stay(vec![Effect::Terminal(TerminalOrder::Edit).into()]),
            Command::Run => return Outcome::Stay(begin(exercise, shared)),
            Command::Compare => return Outcome::Stay(compare(exercise, shared)),
            Command::Reset => {
                let number = exercise.reached();
                ask_reset(state, number);
            }
            Command::Diff => {
                windows.show(Diff { of: exercise.track, number: exercise.reached(), mine: true });
                return Outcome::Close(vec![Effect::ReadExercise.into()]);
            }
            Command::Hint => {
                let number = exercise.track.lesson(exercise.place());
                match shared.course.lessons.lesson(number).map_or(0, |lesson| lesson.hints.len()) {
                    0 => shared.inform(format!("lesson {number} has no hints")),
                    // Scrolled to, if it does not fit.
                    all => {
                        self.hints = (self.hints + 1).min(all);
                        return Outcome::TOP;
                    }
                }
            }
            Command::Lesson => {
                let number = exercise.place();
                if exercise.has_steps() {
                    shared.step = Step::from_number(number).unwrap_or(shared.step);
                }
                return Outcome::Close(vec![lesson(exercise.track, number)]);
            }
            Command::Tracks => {
                let chosen = tracks_in_order().iter().position(|track| *track == exercise.track).unwrap_or(0);
                windows.show_over(Tracks { chosen });
            }
            _ => {}
        }
        Outcome::STAY
    }
}

/// What a place changes in the program; or the learner's against the solution after it.
#[derive(Clone, Debug)]
pub struct Diff {
    pub of: Track,
    /// Number of the place, from 1.
    pub number: usize,
    pub mine: bool,
}

pub static DIFF: &[Binding] = &[
    row(LEFT_RIGHT, Command::Move(Move::Left), "←→", "steps", ""),
    row(&[Char('m')], Command::Mine, "m", "mine/step", ""),
    row(&[Char('u')], Command::Reset, "u", "undo", "put back this step of your program, or all of it (asks first)"),
    row(&[Char('s')], Command::Columns, "s", "side by side", ""),
    row(&[Char('w')], Command::Lesson, "w", "lesson", ""),
    row(&[Code(K::Esc), Char('d'), Char('q'), Code(K::Enter), Ctrl('c')], Command::Back, "Esc", "close", "").ranked(0),
];

impl Window for Diff {
    fn about(&self, _: &State) -> About {
        About { keys: DIFF, scrolls: true, ..About::default() }
    }

    fn view(&self, state: &State, columns: u16) -> Option<View> {
        let (exercise, shared) = (&state.exercise, &state.shared);
        // Programs need all the room there is.
        let width = usize::from(columns.saturating_sub(FRAME));
        let lines = diff(exercise, shared.theme, (self.of, self.number, self.mine), width);
        Some(View::Page(Page { title: diff_title(self.of, self.number, self.mine), columns, lines }))
    }

    fn press(&mut self, state: &mut State, command: Command) -> Outcome {
        let State { exercise, shared, windows, .. } = state;
        let Diff { of, number, mine, .. } = *self;
        match command {
            Command::Back => {
                if mine {
                    windows.show(Own::default());
                }
                return Outcome::CLOSE;
            }
            Command::Lesson => return Outcome::Close(vec![lesson(of, number)]),
            Command::Move(by) => {
                let Track::Program(program) = of else { return Outcome::STAY };
                let other = if by == Move::Left { number.saturating_sub(1) } else { number + 1 };
                let number = program.numbers().find(|number| *number == other).unwrap_or(number);
                if program.has_steps() {
                    shared.step = Step::from_number(number).unwrap_or(shared.step);
                }
                self.number = number;
                return Outcome::TOP;
            }
            Command::Mine if of == Track::Collectives => {
                shared.inform("this exercise has no places: this is yours against the solution")
            }
            Command::Mine if of.name() != exercise.track.name() => {
                shared.inform(format!("you are at another exercise, {}: E and then o open this one", exercise.track.name()));
            }
            Command::Mine => {
                self.mine = !mine;
                return Outcome::Top(vec![Effect::ReadExercise.into()]);
            }
            Command::Reset if mine => ask_reset(state, number),
            Command::Reset => {
                shared.inform("this is what the step changes: m shows your own program, where u undoes your changes");
            }
            Command::Columns => {
                let needed = TWO_COLUMNS + usize::from(FRAME);
                if usize::from(shared.size.0) < needed {
                    shared.inform(format!("side by side needs {needed} columns, and this screen has {}", shared.size.0))
                } else {
                    exercise.one_column ^= true
                }
                // Another number of rows: the place in the old ones means nothing.
                return Outcome::TOP;
            }
            _ => {}
        }
        Outcome::STAY
    }

    fn is_idle(&self, _: &State, command: Command) -> Option<bool> {
        (command == Command::Reset).then_some(!self.mine)
    }
}

/// All exercises, to choose one.
#[derive(Clone, Debug)]
pub struct Tracks {
    /// The row under the cursor.
    pub chosen: usize,
}

pub static TRACKS: &[Binding] = &[
    row(ENTER, Command::Accept, "Enter", "open it", "").ranked(0),
    row(LIST, Command::Move(Move::Up), "↑↓", "choose", "").ranked(1),
    row(&[Code(K::Esc), Char('q'), Ctrl('c')], Command::Back, "Esc", "back", "").ranked(0),
];

impl Window for Tracks {
    fn about(&self, _: &State) -> About {
        About { keys: TRACKS, ..About::default() }
    }

    fn view(&self, state: &State, columns: u16) -> Option<View> {
        let (exercise, shared) = (&state.exercise, &state.shared);
        Some(Page::view("Exercises", columns, 84, |width| list(exercise, shared.theme, self.chosen, width)))
    }

    fn press(&mut self, state: &mut State, command: Command) -> Outcome {
        let State { exercise, shared, windows, .. } = state;
        let all = tracks_in_order();
        match command {
            Command::Back => return Outcome::CLOSE,
            Command::Move(by) => self.chosen = by.within(self.chosen, all.len()),
            Command::Accept if exercise.is_busy() => {
                shared.inform(format!(
                    "your program of {} is being tried: wait until that is over, or stop its run",
                    exercise.track.name()
                ));
            }
            Command::Accept => {
                let Some(track) = all.get(self.chosen).copied() else { return Outcome::CLOSE };
                let Exercise { one_column, ten_steps, .. } = *exercise;
                *exercise = Exercise { track, one_column, ten_steps, ..Exercise::default() };
                windows.show(Own::default());
                return Outcome::Close(vec![Effect::ChooseExercise(track).into(), Effect::ReadExercise.into()]);
            }
            _ => {}
        }
        Outcome::STAY
    }
}

/// Put this place of the program back to its TODO, or the whole?
#[derive(Clone, Debug)]
pub struct ConfirmReset {
    pub number: usize,
}

pub static RESET: &[Binding] = &[
    row(&[Char('y')], Command::Step, "y", "this step", ""),
    row(&[Char('a')], Command::Whole, "a", "the whole program", ""),
    row(&[Code(K::Esc), Char('n'), Char('q'), Code(K::Enter), Ctrl('c')], Command::Back, "Esc", "leave it", "").ranked(0),
];

impl Window for ConfirmReset {
    fn about(&self, _: &State) -> About {
        About { keys: RESET, ..About::default() }
    }

    fn view(&self, state: &State, _: u16) -> Option<View> {
        Some(View::Question { title: "Reset", text: reset_question(&state.exercise, self.number) })
    }

    fn press(&mut self, state: &mut State, command: Command) -> Outcome {
        let part = match command {
            // A program without numbered places goes back as a whole.
            Command::Step if state.exercise.track == Track::Collectives => None,
            Command::Step => Some(self.number),
            Command::Whole => None,
            _ => return Outcome::CLOSE,
        };
        Outcome::Close(vec![Effect::ResetExercise(part).into()])
    }
}

/// The lesson about a place.
fn lesson(of: Track, number: usize) -> Action {
    match of {
        Track::Program(program) if program.has_steps() => Action::Lesson,
        of => Action::LessonOf(of.lesson(number)),
    }
}

fn ask_reset(state: &mut State, number: usize) {
    if state.exercise.program.is_empty() {
        state.shared.inform("you do not have your own trainer yet: press e to create it");
    } else {
        state.windows.show_over(ConfirmReset { number });
    }
}

//! The windows of the learner's own trainer: how it stands, a diff, and whether to reset it.

use super::windows::{ConfirmReset, Diff, Own, Tracks};
use crossterm::event::KeyCode as K;

use super::diff;
use super::draw::{lines, list, reset_question, title};
use super::keys::Command;
use super::state::Exercise;
use super::update;
use crate::tui::actions::action::Action;
use crate::tui::actions::keys::On::{Char, Code, Ctrl};
use crate::tui::actions::keys::{Binding, DOWN, ENTER, LEFT, Move, RIGHT, UP, row};
use crate::tui::shared::state::Shared;
use crate::tui::window::{FRAME, Page, Question, View, Window};

static OWN: &[Binding<Command>] = &[
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
    type Feature = Exercise;
    type Command = Command;

    fn tables() -> Vec<&'static [Binding<Command>]> {
        vec![OWN]
    }

    fn keys(&self) -> &'static [Binding<Command>] {
        OWN
    }

    fn view(&self, exercise: &Exercise, shared: &Shared, columns: u16) -> Option<View> {
        Some(Page::view(title(exercise.track), columns, 110, |width| lines(exercise, shared, self.hints, width)))
    }

    fn update(self, exercise: &mut Exercise, shared: &mut Shared, command: Command) -> Vec<Action> {
        update::own(self, exercise, shared, command)
    }

    fn scroll(&self) -> Option<usize> {
        Some(self.scroll)
    }

    fn scroll_to(&mut self, line: usize) {
        self.scroll = line;
    }
}

static DIFF: &[Binding<Command>] = &[
    row(LEFT, Command::Previous, "←→", "steps", ""),
    row(RIGHT, Command::Next, "", "", ""),
    row(&[Char('m')], Command::Mine, "m", "mine/step", ""),
    row(&[Char('u')], Command::Reset, "u", "undo", "put back this step of your program, or all of it (asks first)"),
    row(&[Char('s')], Command::Columns, "s", "side by side", ""),
    row(&[Char('w')], Command::Lesson, "w", "lesson", ""),
    row(&[Code(K::Esc), Char('d'), Char('q'), Code(K::Enter), Ctrl('c')], Command::Back, "Esc", "close", "").ranked(0),
];

impl Window for Diff {
    type Feature = Exercise;
    type Command = Command;

    fn tables() -> Vec<&'static [Binding<Command>]> {
        vec![DIFF]
    }

    fn keys(&self) -> &'static [Binding<Command>] {
        DIFF
    }

    fn view(&self, exercise: &Exercise, shared: &Shared, columns: u16) -> Option<View> {
        // Programs need all the room there is.
        let width = usize::from(columns.saturating_sub(FRAME));
        let lines = diff::lines(exercise, shared.theme, (self.of, self.number, self.mine), width);
        Some(View::Page(Page { title: diff::title(self.of, self.number, self.mine), columns, lines }))
    }

    fn update(self, exercise: &mut Exercise, shared: &mut Shared, command: Command) -> Vec<Action> {
        update::diff(self, exercise, shared, command)
    }

    fn scroll(&self) -> Option<usize> {
        Some(self.scroll)
    }

    fn scroll_to(&mut self, line: usize) {
        self.scroll = line;
    }
}

static TRACKS: &[Binding<Command>] = &[
    row(ENTER, Command::Choose, "Enter", "open it", "").ranked(0),
    row(UP, Command::Move(Move::Up), "↑↓", "choose", "").ranked(1),
    row(DOWN, Command::Move(Move::Down), "", "", ""),
    row(&[Code(K::Home)], Command::Move(Move::First), "", "", ""),
    row(&[Code(K::End)], Command::Move(Move::Last), "", "", ""),
    row(&[Code(K::Esc), Char('q'), Ctrl('c')], Command::Back, "Esc", "back", "").ranked(0),
];

impl Window for Tracks {
    type Feature = Exercise;
    type Command = Command;

    fn tables() -> Vec<&'static [Binding<Command>]> {
        vec![TRACKS]
    }

    fn keys(&self) -> &'static [Binding<Command>] {
        TRACKS
    }

    fn view(&self, exercise: &Exercise, shared: &Shared, columns: u16) -> Option<View> {
        Some(Page::view("Exercises", columns, 84, |width| list(exercise, shared.theme, self.chosen, width)))
    }

    fn update(self, exercise: &mut Exercise, shared: &mut Shared, command: Command) -> Vec<Action> {
        update::tracks(self, exercise, shared, command)
    }
}

static RESET: &[Binding<Command>] = &[
    row(&[Char('y')], Command::Step, "y", "this step", ""),
    row(&[Char('a')], Command::Whole, "a", "the whole program", ""),
    row(&[Code(K::Esc), Char('n'), Char('q'), Code(K::Enter), Ctrl('c')], Command::Back, "Esc", "leave it", "").ranked(0),
];

impl Window for ConfirmReset {
    type Feature = Exercise;
    type Command = Command;

    fn tables() -> Vec<&'static [Binding<Command>]> {
        vec![RESET]
    }

    fn keys(&self) -> &'static [Binding<Command>] {
        RESET
    }

    fn view(&self, exercise: &Exercise, _: &Shared, _: u16) -> Option<View> {
        Some(Question::view("Reset", reset_question(exercise, self.number)))
    }

    fn update(self, exercise: &mut Exercise, _: &mut Shared, command: Command) -> Vec<Action> {
        update::reset(self, exercise, command)
    }
}

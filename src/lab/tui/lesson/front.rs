//! A lesson that is read, and its question answered.

use super::windows::Reading;
use crossterm::event::KeyCode as K;

use super::draw::lines;
use super::keys::Command;
use super::state::Lesson;
use super::update;
use crate::tui::actions::action::Action;
use crate::tui::actions::keys::On::{Char, Code, Ctrl, Text};
use crate::tui::actions::keys::{BACKSPACE, Binding, ENTER, LEFT, RIGHT, row};
use crate::tui::shared::course::Mark;
use crate::tui::shared::state::Shared;
use crate::tui::window::{Page, View, Window};

static KEYS: &[Binding<Command>] = &[
    row(LEFT, Command::Previous, "←→", "lessons", ""),
    row(RIGHT, Command::Next, "", "", ""),
    row(&[Char('H')], Command::Hint, "H", "hint", ""),
    row(&[Char('g')], Command::Guided, "g", "before and after", ""),
    row(&[Char('G')], Command::Results, "G", "results", ""),
    row(&[Char('b')], Command::RunBefore, "b", "run before", ""),
    row(&[Char('a')], Command::RunAfter, "a", "run after", ""),
    row(&[Char('d')], Command::Diff, "d", "diff", ""),
    row(&[Char('f')], Command::Fold, "f", "fold", ""),
    row(ENTER, Command::Accept, "", "", ""),
    row(BACKSPACE, Command::Erase, "", "", ""),
    row(&[Code(K::Esc), Char('w'), Char('q'), Ctrl('c')], Command::Back, "Esc", "close", "").ranked(0),
    row(&[Text], Command::Insert(' '), "", "", ""),
];

impl Window for Reading {
    type Feature = Lesson;
    type Command = Command;

    fn tables() -> Vec<&'static [Binding<Command>]> {
        vec![KEYS]
    }

    fn keys(&self) -> &'static [Binding<Command>] {
        KEYS
    }

    fn view(&self, lesson: &Lesson, shared: &Shared, columns: u16) -> Option<View> {
        let read = shared.course.lessons.lesson(self.number)?;
        let title = match read.step {
            None => "Lesson".to_owned(),
            Some(step) => match shared.course.mark(step) {
                Mark::Done => format!("Step {}/10, ✓ done", step.number()),
                Mark::Seen => format!("Step {}/10, seen", step.number()),
                Mark::Failed => format!("Step {}/10, ✗ failed", step.number()),
                Mark::NotYet => format!("Step {}/10, not done yet", step.number()),
            },
        };
        let lines = |width| lines(lesson, shared, read, self.hints, &self.typed, width);
        Some(Page::view(format!("{title}: {}", read.title), columns, 96, lines))
    }

    fn update(self, lesson: &mut Lesson, shared: &mut Shared, command: Command) -> Vec<Action> {
        update::reading(self, lesson, shared, command)
    }

    fn scroll(&self) -> Option<usize> {
        Some(self.scroll)
    }

    fn scroll_to(&mut self, line: usize) {
        self.scroll = line;
    }
}

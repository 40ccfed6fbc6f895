//! The lesson that is read.

use super::page::LessonPage;
use super::windows::Window;
use crate::course;
use crate::tui::shared::state::Shared;
use crate::tui::window::opens;

#[derive(Clone, Debug, Default)]
pub struct Lesson {
    /// The text that is read, laid out.
    pub page: LessonPage,
    /// The same lines in other libraries and languages are shown too. It stays so from lesson to lesson.
    pub is_unfolded: bool,
    pub window: Option<Window>,
}

impl Lesson {
    /// The one that is open.
    pub fn read<'a>(&self, shared: &'a Shared) -> Option<&'a course::Lesson> {
        let Some(Window::Reading(reading)) = &self.window else { return None };
        shared.course.lessons.lesson(reading.number)
    }
}

opens!(Lesson, Window);

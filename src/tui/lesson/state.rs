//! The lesson that is read.

use super::page::LessonPage;
use super::windows::Window;
use crate::tui::window::opens;

#[derive(Clone, Debug, Default)]
pub struct Lesson {
    /// The text that is read, laid out.
    pub page: LessonPage,
    pub window: Option<Window>,
}

opens!(Lesson, Window);

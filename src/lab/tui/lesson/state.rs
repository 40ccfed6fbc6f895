//! How lessons are read.

use super::page::LessonPage;

#[derive(Clone, Debug, Default)]
pub struct Lesson {
    /// The text that is read, laid out.
    pub page: LessonPage,
    /// The same lines in other libraries and languages are shown too. It stays so from lesson to lesson.
    pub is_unfolded: bool,
}

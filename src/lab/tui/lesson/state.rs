//! How lessons are read, and the text of the one that is read, laid out once for a width: Markdown is parsed neither for a key nor for
//! a frame.

use std::sync::{Arc, Mutex, PoisonError};

use crate::course::{Row, lay_out};

#[derive(Clone, Debug, Default)]
pub struct Lesson {
    /// The last page. What it gives depends on what it is asked alone, so that drawing stays a function of the state.
    page: Arc<Mutex<Option<Page>>>,
    /// The same lines in other libraries and languages are shown too. It stays so from lesson to lesson.
    pub is_unfolded: bool,
}

/// Its Markdown, its width and its rows.
type Page = (String, usize, Arc<[Row]>);

impl Lesson {
    /// The text that is read, laid out.
    pub fn rows(&self, markdown: &str, width: usize) -> Arc<[Row]> {
        let mut last = self.page.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((.., rows)) = last.as_ref().filter(|(text, columns, _)| *columns == width && text == markdown) {
            return rows.clone();
        }
        let rows: Arc<[Row]> = lay_out(markdown, width).into();
        *last = Some((markdown.to_owned(), width, rows.clone()));
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_laid_out_once_for_a_text_and_a_width() {
        let page = Lesson::default();
        let first = page.rows("some *words* to read", 40);
        assert!(Arc::ptr_eq(&first, &page.rows("some *words* to read", 40)));
        assert!(Arc::ptr_eq(&first, &page.clone().rows("some *words* to read", 40)));
        assert_eq!(page.rows("some *words* to read", 8)[..], lay_out("some *words* to read", 8)[..]);
        assert_eq!(page.rows("other words", 8)[..], lay_out("other words", 8)[..]);
        assert!(!Arc::ptr_eq(&first, &page.rows("some *words* to read", 40)));
    }
}

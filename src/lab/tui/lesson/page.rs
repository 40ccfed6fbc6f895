//! The text of the lesson that is read, laid out once for a width: Markdown is parsed neither for a key nor for a frame.

use std::sync::{Arc, Mutex, PoisonError};

use crate::course::{Row, lay_out};

/// Remembers the last page. What it gives depends on what it is asked alone, so that drawing stays a function of the state.
#[derive(Debug, Default)]
pub struct LessonPage {
    last: Mutex<Option<Page>>,
}

#[derive(Clone, Debug)]
struct Page {
    markdown: String,
    width: usize,
    rows: Arc<[Row]>,
}

impl LessonPage {
    pub fn rows(&self, markdown: &str, width: usize) -> Arc<[Row]> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(page) = last.as_ref().filter(|page| page.width == width && page.markdown == markdown) {
            return page.rows.clone();
        }
        let rows: Arc<[Row]> = lay_out(markdown, width).into();
        *last = Some(Page { markdown: markdown.to_owned(), width, rows: rows.clone() });
        rows
    }
}

impl Clone for LessonPage {
    fn clone(&self) -> LessonPage {
        LessonPage { last: Mutex::new(self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_laid_out_once_for_a_text_and_a_width() {
        let page = LessonPage::default();
        let first = page.rows("some *words* to read", 40);
        assert!(Arc::ptr_eq(&first, &page.rows("some *words* to read", 40)));
        assert!(Arc::ptr_eq(&first, &page.clone().rows("some *words* to read", 40)));
        assert_eq!(page.rows("some *words* to read", 8)[..], lay_out("some *words* to read", 8)[..]);
        assert_eq!(page.rows("other words", 8)[..], lay_out("other words", 8)[..]);
        assert!(!Arc::ptr_eq(&first, &page.rows("some *words* to read", 40)));
    }
}

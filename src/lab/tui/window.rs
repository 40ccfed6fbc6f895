//! What a window shows: a page, a question, a list or a line.

use ratatui::text::Line;

use super::widgets::list::List;
use super::widgets::prompt::Prompt;

/// What a window shows.
#[derive(Debug)]
pub enum View {
    /// Lines, more than may fit.
    Page(Page),
    /// Some lines, and the keys that answer.
    Question { title: &'static str, text: Vec<String> },
    /// Rows to choose from by typing.
    List(List),
    /// A line at the foot of the screen.
    Line(Prompt),
    /// It is typed where the value stands.
    InPlace,
}

/// More lines than may fit.
#[derive(Debug)]
pub struct Page {
    pub title: String,
    /// Columns with its frame.
    pub columns: u16,
    pub lines: Vec<Line<'static>>,
}

/// The columns that a frame and its padding take.
pub const FRAME: u16 = 4;

impl Page {
    /// `lines` are made for what is left of `columns`, of which the page takes at most `most`.
    pub fn view(title: impl Into<String>, columns: u16, most: u16, lines: impl FnOnce(usize) -> Vec<Line<'static>>) -> View {
        let columns = columns.saturating_sub(FRAME).min(most);
        View::Page(Page { title: title.into(), columns, lines: lines(usize::from(columns.saturating_sub(FRAME))) })
    }
}

//! Lines of a window about something: titles, text, and facts by their names.
//!
//! Nothing is cut: what does not fit continues on the next line.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::theme::Theme;
use crate::columns::{self, wrap};

/// Text broken into lines of this style.
pub fn wrapped(text: &str, width: usize, style: Style) -> Vec<Line<'static>> {
    wrap(text, width).into_iter().map(|line| Line::styled(line, style)).collect()
}

/// As [`wrapped`], with a space before each line.
pub fn indented(text: &str, width: usize, style: Style) -> Vec<Line<'static>> {
    wrap(text, width).into_iter().map(|line| Line::styled(format!(" {line}"), style)).collect()
}

#[derive(Debug)]
pub struct Sheet {
    pub lines: Vec<Line<'static>>,
    pub theme: Theme,
    pub width: usize,
    /// Columns of the names.
    pub name: usize,
}

impl Sheet {
    pub fn new(theme: Theme, width: usize, name: usize) -> Sheet {
        Sheet { lines: Vec::new(), theme, width, name }
    }

    /// A heading, apart from what is above it.
    pub fn title(&mut self, text: &str) {
        if !self.lines.is_empty() {
            self.lines.push(Line::raw(""));
        }
        self.lines.push(Line::styled(text.to_owned(), self.theme.key()));
    }

    pub fn text(&mut self, text: &str, style: Style) {
        self.lines.extend(wrapped(text, self.width, style));
    }

    pub fn fact(&mut self, name: &str, value: &str) {
        self.styled_fact(name, value, self.theme.text());
    }

    pub fn styled_fact(&mut self, name: &str, value: &str, style: Style) {
        // A name that fills its column is not to touch the value.
        let name = if columns::width(name) < self.name { name.to_owned() } else { format!("{name} ") };
        let beside = self.width.saturating_sub(self.name.max(columns::width(&name)));
        for (index, line) in wrap(value, beside).into_iter().enumerate() {
            let (name, width) = (if index == 0 { name.as_str() } else { "" }, self.name);
            self.lines
                .push(Line::from(vec![Span::styled(format!("{name:<width$}"), self.theme.dim()), Span::styled(line, style)]));
        }
    }
}

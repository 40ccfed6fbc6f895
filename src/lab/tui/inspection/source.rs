//! The lines of the user's own program around one of them, where there is no editor to open it.

use ratatui::text::Line;

use crate::columns::cut;
use crate::domain::printable;
use crate::tui::state::{Page, State, View, Window};

/// Lines that are shown before the one that is meant, and behind it.
const BEFORE: usize = 8;
const BEHIND: usize = 40;

#[derive(Clone, Debug)]
pub struct Source {
    title: String,
    /// Number and text, made safe.
    lines: Vec<(usize, String)>,
    /// The number of the one that is meant.
    line: usize,
}

/// Shows them in front of the findings.
pub fn show(state: &mut State, file: &str, line: usize, lines: &[String]) {
    let numbered =
        lines.iter().enumerate().map(|(place, text)| (place + 1, printable::line(&text.replace('\t', "    ")).into_owned()));
    let around = numbered.skip(line.saturating_sub(BEFORE + 1)).take(BEFORE + 1 + BEHIND).collect();
    let title = format!("{} (set EDITOR to open it)", printable::excerpt(file));
    state.windows.show_over(Source { title, lines: around, line });
}

impl Window for Source {
    fn view(&self, state: &State, columns: u16) -> Option<View> {
        let theme = state.shared.theme;
        let row = |(number, text): &(usize, String), width| {
            let sign = if *number == self.line { "▶" } else { " " };
            let style = if *number == self.line { theme.strong() } else { theme.text() };
            Line::styled(cut(&format!("{sign}{number:>5}  {text}"), width), style)
        };
        Some(Page::view(self.title.clone(), columns, 120, |width| self.lines.iter().map(|line| row(line, width)).collect()))
    }
}

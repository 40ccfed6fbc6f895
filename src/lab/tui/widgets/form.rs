//! A form in a window: settings one below the other, the chosen one marked, and below them what there is to say.

use ratatui::style::Style;
use ratatui::text::Line;

use super::sheet::wrapped;
use super::theme::Theme;
use crate::columns::left;

/// Rows of the screen's header and footer, and of the frame.
const AROUND: usize = 3 + 2;

/// Rows that a form has on a screen of `screen` rows.
pub fn room(screen: u16) -> usize {
    usize::from(screen).saturating_sub(AROUND)
}

/// In `rows` rows of `width` columns. What is said always shows; of the settings those around the chosen one, where not all fit.
pub fn lines(
    theme: Theme,
    settings: &[String],
    chosen: usize,
    said: &[(String, Style)],
    (width, rows): (usize, usize),
) -> Vec<Line<'static>> {
    let said: Vec<Line> = said.iter().flat_map(|(text, style)| wrapped(text, width, *style)).collect();
    let all = settings.len();
    let room = rows.saturating_sub(said.len() + 1).clamp(1, all.max(1));
    let first = (chosen + 1).saturating_sub(room).min(all.saturating_sub(room));
    let row = |(place, text): (usize, &String)| match place == chosen {
        true => Line::styled(left(text, width), theme.cursor(true)),
        false => Line::raw(text.clone()),
    };
    let mut lines: Vec<Line> = settings.iter().enumerate().skip(first).take(room).map(row).collect();
    let more =
        if room < all { format!(" {} to {} of {all}, ↑↓ shows the others", first + 1, first + room) } else { String::new() };
    lines.push(Line::styled(more, theme.dim()));
    lines.extend(said);
    lines
}

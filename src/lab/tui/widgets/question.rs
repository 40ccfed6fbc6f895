//! A question in front of the panes, and the keys that answer it.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};

use super::frame;
use super::theme::Theme;

/// Key and words of an answer.
pub type Answer = (&'static str, &'static str);

fn lines(theme: Theme, text: &[String], answers: &[Answer]) -> Vec<Line<'static>> {
    let text = text.iter().map(|line| Line::raw(line.clone()));
    let mut lines: Vec<Line> = std::iter::once(Line::raw("")).chain(text).chain([Line::raw("")]).collect();
    lines.push(Line::from_iter(
        answers.iter().flat_map(|(key, label)| [Span::styled(*key, theme.key()), Span::raw(format!(" {label}   "))]),
    ));
    lines
}

pub fn place(area: Rect, theme: Theme, text: &[String], answers: &[Answer]) -> Rect {
    let lines = lines(theme, text, answers);
    let width = lines.iter().map(Line::width).max().unwrap_or(0) as u16 + 6;
    frame::centred(area, width, lines.len() as u16 + 2)
}

/// The answer under the pointer, by its place.
pub fn hit(place: Rect, answers: &[Answer], at: Position) -> Option<usize> {
    if at.y + 2 != place.bottom() {
        return None;
    }
    // Behind the frame and its padding.
    let mut from = place.x + 2;
    answers.iter().position(|(key, label)| {
        let width = (key.chars().count() + 1 + label.chars().count()) as u16;
        let answer = Rect::new(from, at.y, width, 1);
        from += width + 3;
        answer.contains(at)
    })
}

pub fn draw(frame: &mut Frame, area: Rect, theme: Theme, title: &str, text: &[String], answers: &[Answer]) {
    let place = place(area, theme, text, answers);
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(lines(theme, text, answers)).block(frame::window(theme, title)), place);
}

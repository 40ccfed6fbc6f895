//! What happened or went wrong, on the lowest lines between header and footer, where it covers a border and no answer.
//!
//! One line covers the lower border of the panes only. News leaves by itself; a problem stays until it is dismissed.

use ratatui::Frame;
use ratatui::layout::{Margin, Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};

use super::theme::Theme;
use crate::columns::{self, wrap};

/// Seconds that news stays at least, and characters that are read in a further second.
const NEWS_S: f64 = 5.0;
const READ_PER_S: f64 = 25.0;

#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    pub text: String,
    pub is_error: bool,
}

impl Notice {
    /// Seconds until it leaves by itself, when it came so long ago; `None` where it stays.
    pub fn left_s(&self, ago_s: f64) -> Option<f64> {
        let lasts_s = NEWS_S + self.text.chars().count() as f64 / READ_PER_S;
        // The clock of a recording may be put back.
        (!self.is_error).then(|| (lasts_s - ago_s).clamp(0.0, lasts_s))
    }
}

const DISMISS: &str = " Esc ";

/// Where it stands, and its text in lines: at the foot of the body, or at its head where it would cover what is kept in sight.
fn laid_out(body: Rect, notice: &Notice, kept: Option<Rect>) -> (Rect, Vec<String>) {
    // In words too, for colour and sign are small.
    let text = if notice.is_error { format!("Problem: {}", notice.text) } else { notice.text.clone() };
    let lines = wrap(&text, usize::from(body.width).saturating_sub(4 + DISMISS.len()));
    let height = (lines.len() as u16).min(body.height);
    let below = Rect { y: body.bottom() - height, height, ..body };
    let above = Rect { y: body.y, ..below };
    // The border of what is kept may be covered.
    let is_covered = |place: Rect| kept.is_some_and(|kept| kept.inner(Margin::new(1, 1)).intersects(place));
    (if is_covered(below) && !is_covered(above) { above } else { below }, lines)
}

/// The pointer is on it.
pub fn hit(notice: &Notice, body: Rect, kept: Option<Rect>, at: Position) -> bool {
    laid_out(body, notice, kept).0.contains(at)
}

pub fn draw(frame: &mut Frame, body: Rect, theme: Theme, notice: &Notice, kept: Option<Rect>) {
    let (sign, style) = if notice.is_error { (" ✗ ", theme.warn()) } else { (" ▸ ", theme.accent()) };
    let (place, lines) = laid_out(body, notice, kept);
    let text = lines.into_iter().enumerate().map(|(index, line)| {
        let free = usize::from(place.width).saturating_sub(3 + columns::width(&line) + DISMISS.len());
        let dismiss = if index == 0 { format!("{:free$}{DISMISS}", "") } else { String::new() };
        Line::from(vec![
            Span::styled(if index == 0 { sign } else { "   " }, style),
            Span::styled(line, if notice.is_error { style } else { theme.text() }),
            Span::styled(dismiss, theme.key()),
        ])
    });
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(text.collect::<Vec<_>>()), place);
}

//! A page of the tour, in a place that is empty at first.
//!
//! Never takes a key but Enter and Escape: any other ends the tour and does what it always does.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};

use super::super::habits::TOUR;
use super::super::mode::Mode;
use super::super::state::State;
use super::{centred, window_frame, wrap};

pub fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let Some((page, (title, text))) = state.habits.tour.and_then(|page| Some((page, TOUR.get(page)?))) else { return };
    if state.mode != Mode::Normal {
        return;
    }
    let theme = state.theme;
    let width = area.width.min(46);
    let mut lines: Vec<Line> = wrap(text, width.saturating_sub(4) as usize).into_iter().map(Line::raw).collect();
    lines.push(Line::raw(""));
    let last = page + 1 == TOUR.len();
    let keys = [("Enter", if last { "ends the tour" } else { "goes on" }), ("Esc", "skips it")];
    lines.push(Line::from_iter(
        keys.into_iter()
            .take(if last { 1 } else { 2 })
            .flat_map(|(key, what)| [Span::styled(key, theme.key()), Span::styled(format!(" {what}   "), theme.dim())]),
    ));
    let place = centred(area, width, lines.len() as u16 + 2);
    let block = window_frame(state, &format!("Tour {} of {}: {title}", page + 1, TOUR.len()));
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(lines).block(block), place);
}

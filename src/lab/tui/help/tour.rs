//! The tour: a page at a time, in a place that is empty at first.
//!
//! The tour takes Enter and Escape. The keys that a page names do what they always do, and the next page follows; any other
//! key ends the tour.

use crossterm::event::KeyCode;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};

use super::state::{Help, Page, TOUR};
use crate::columns::wrap;
use crate::tui::actions::Pane;
use crate::tui::widgets::Theme;
use crate::tui::widgets::frame::{self, centred};

/// A key while a page may be on the screen: true where the tour takes it for itself.
pub fn takes(help: &mut Help, key: KeyCode, replay: bool) -> bool {
    let Some((number, page)) = help.tour.take().and_then(|number| Some((number, TOUR.get(number)?))) else { return false };
    let is_refused = replay && key == KeyCode::Char('r');
    let is_its_own = matches!(key, KeyCode::Char(c) if page.keys.contains(c) && !is_refused)
        || key == KeyCode::Tab && page.keys.contains('\t');
    if key == KeyCode::Enter || is_its_own {
        help.tour = (number + 1 < TOUR.len()).then_some(number + 1);
    }
    matches!(key, KeyCode::Enter | KeyCode::Esc)
}

/// The pane that the page speaks of.
pub fn pane(help: &Help) -> Option<Pane> {
    TOUR.get(help.tour?)?.pane
}

/// What decides between the wordings of a page.
#[derive(Clone, Copy, Debug)]
pub struct TourContext {
    pub replay: bool,
    /// The screen shows two panes only.
    pub small: bool,
}

pub fn draw(frame: &mut Frame, area: Rect, theme: Theme, help: &Help, context: TourContext) {
    let Some((page, Page { title, text, small, replay, .. })) = help.tour.and_then(|page| Some((page, TOUR.get(page)?))) else {
        return;
    };
    let text = replay.filter(|_| context.replay).or(small.filter(|_| context.small)).unwrap_or(text);
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
    let block = frame::window(theme, &format!("Tour {} of {}: {title}", page + 1, TOUR.len()));
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(lines).block(block), place);
}

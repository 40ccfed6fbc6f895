//! The tour: a page at a time, where it covers nothing of which it speaks. It starts the first run, and goes on with it.
//!
//! The tour takes Enter and Escape. The keys that a page names do what they always do; any other key ends the tour.

use crossterm::event::KeyCode;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Clear, Paragraph};

use super::state::{Help, OFFER, TOUR};
use crate::tui::actions::Pane;
use crate::tui::shared::Shared;
use crate::tui::widgets::frame::{self, centred};

/// The widest page, with its frame.
const WIDTH: u16 = 60;

/// What a key is for while a page is on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// The tour alone.
    Tour,
    /// The first run.
    Run,
    /// What it always does.
    Usual,
}

/// A key while a page may be on the screen.
pub fn take(help: &mut Help, key: KeyCode, shared: &Shared) -> Taken {
    let Some((number, page)) = help.tour.and_then(|number| Some((number, TOUR.get(number)?))) else { return Taken::Usual };
    let is_refused = shared.replay.is_some() && key == KeyCode::Char('r');
    let stays = match key {
        KeyCode::Char(c) => page.keys.contains(c) && !is_refused,
        KeyCode::Tab => page.keys.contains('\t'),
        // The page stays until there is a run: one that cannot start says why.
        KeyCode::Enter => offers(help, shared),
        _ => false,
    };
    help.tour = match key {
        _ if stays => Some(number),
        KeyCode::Enter => Some(number + 1).filter(|next| *next < TOUR.len()),
        _ => None,
    };
    match key {
        KeyCode::Enter if stays => Taken::Run,
        KeyCode::Enter | KeyCode::Esc => Taken::Tour,
        _ => Taken::Usual,
    }
}

/// Enter starts the first run.
fn offers(help: &Help, shared: &Shared) -> bool {
    help.tour == Some(OFFER) && shared.replay.is_none() && shared.runs.is_empty()
}

/// What the page waited for has come, or cannot come any more.
pub fn follow(help: &mut Help, page: usize, has_come: bool) {
    if help.tour == Some(page) {
        help.tour = has_come.then_some(page + 1);
    }
}

/// The pane that the page speaks of.
pub fn pane(help: &Help) -> Option<Pane> {
    TOUR.get(help.tour?)?.pane
}

/// The pane that the page lies over: one that is empty at first, then one that shows nothing of the run.
pub fn place(help: &Help) -> Pane {
    if help.tour > Some(OFFER) { Pane::Steps } else { Pane::Chart }
}

/// Draws the page in the quiet place, or lower where it needs more rows.
pub fn draw(frame: &mut Frame, quiet: Rect, body: Rect, help: &Help, shared: &Shared) {
    let Some((number, page)) = help.tour.and_then(|number| Some((number, TOUR.get(number)?))) else { return };
    let theme = shared.theme;
    let width = quiet.width.min(WIDTH);
    let mut lines = theme.with_keys(&page.words(shared.replay.is_some()), usize::from(width.saturating_sub(4)));
    lines.push(Line::raw(""));
    let is_last = number + 1 == TOUR.len();
    let enter = match () {
        () if offers(help, shared) => "starts the first run",
        () if is_last => "ends the tour",
        () => "goes on",
    };
    let escape = if is_last { "" } else { "`Esc` ends it" };
    lines.push(if offers(help, shared) && shared.is_starting() {
        Line::styled("a run is starting …", theme.accent())
    } else {
        theme.keyed(&format!("`Enter` {enter}  {escape}"), theme.dim())
    });
    let height = (lines.len() as u16 + 2).min(body.height);
    let mut place = centred(quiet, width, height);
    if height > quiet.height {
        place = Rect { y: quiet.y.min(body.bottom() - height), height, ..place };
    }
    frame.render_widget(Clear, place);
    let block = frame::window(theme, &format!("Tour {} of {}: {}", number + 1, TOUR.len(), page.title));
    frame.render_widget(Paragraph::new(lines).block(block), place);
}

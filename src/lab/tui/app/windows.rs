//! The window in front: where it lies, how it is drawn, and what a key or a click does to it.

use crossterm::event::KeyCode;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};

use super::layout;
use crate::tui::actions::{Action, Binding, Command, Move, On};
use crate::tui::state::{About, Outcome, State, View};
use crate::tui::widgets::{list, page, prompt, question};

/// Closes the windows about runs that are gone.
pub fn forget_gone(state: &mut State) {
    let mut windows = std::mem::take(&mut state.windows);
    windows.retain(|window| window.about(state).run.is_none_or(|run| state.shared.summary(run).is_some()));
    state.windows = windows;
}

/// What the window in front is like now.
pub fn about(state: &State) -> Option<About> {
    Some(state.windows.front()?.about(state))
}

/// The key table of the window in front.
pub fn keys(state: &State) -> Option<&'static [Binding]> {
    Some(about(state)?.keys)
}

/// The window in front has lines that can be scrolled, whether all fit or not.
pub fn scrolls(state: &State) -> bool {
    about(state).is_some_and(|about| about.scrolls)
}

/// The view of the window in front on a screen of this size, and the area between header and footer.
fn view(state: &State, screen: Rect) -> Option<(View, Rect)> {
    let body = layout::body(screen)?;
    Some((state.windows.front()?.view(state, body.width)?, body))
}

/// A key while the window is in front.
pub fn press(state: &mut State, command: Command) -> Vec<Action> {
    let (last, page) = match view(state, state.shared.screen()).filter(|_| scrolls(state)) {
        Some((View::Page(page), body)) => {
            let place = page::place(body, page.columns, page.lines.len());
            (page::last(place, page.lines.len()), page::step(place))
        }
        _ => (0, 0),
    };
    let Some((place, mut open)) = state.windows.take() else { return Vec::new() };
    // Fewer lines than before leave it behind the last of them.
    open.scroll = open.scroll.min(last);
    let outcome = if let Command::Scroll(by) = command {
        open.scroll = by.by_pages(open.scroll, last + 1, page);
        Outcome::STAY
    } else {
        open.window.press(state, command)
    };
    let actions = match outcome {
        Outcome::Stay(actions) => actions,
        Outcome::Top(actions) => {
            open.scroll = 0;
            actions
        }
        Outcome::Close(actions) => return actions,
    };
    state.windows.put_back(place, open);
    actions
}

/// What a click asks for while a window is in front: an answer gives what its key does, a row of a list is chosen, and a click beside
/// the window is Escape.
pub fn click(state: &mut State, at: Position) -> Option<Command> {
    let area = state.shared.screen();
    let (place, (view, _)) = (place(state, area)?, view(state, area)?);
    match view {
        // It is typed elsewhere.
        View::Line(_) | View::InPlace => None,
        _ if !place.contains(at) => bound(state, On::Code(KeyCode::Esc)),
        View::Page(_) => None,
        View::List(list) => {
            state.windows.front_mut()?.choose(list::hit(&list, area, at)?);
            bound(state, On::Code(KeyCode::Enter))
        }
        View::Question { .. } => question::hit(place, keys(state)?, at),
    }
}

/// Where the window in front lies on a screen of this size.
pub fn place(state: &State, area: Rect) -> Option<Rect> {
    let (view, body) = view(state, area)?;
    Some(match view {
        View::Page(page) => page::place(body, page.columns, page.lines.len()),
        View::List(_) => list::place(area),
        View::Question { text, .. } => question::place(body, state.shared.theme, &text, keys(state)?),
        View::Line(_) | View::InPlace => Rect { y: body.bottom(), height: 1, ..body },
    })
}

/// The words of a line that is typed at the foot of the screen, under the pointer; `None` where no line is.
pub fn hit_line(state: &State, footer: Rect, at: Position) -> Option<Option<Command>> {
    let Some((View::Line(line), _)) = view(state, state.shared.screen()) else { return None };
    Some(prompt::hit(&line, state.shared.theme, footer, at).and_then(|on| bound(state, on)))
}

/// What a key asks of the window in front.
pub fn bound(state: &State, on: On) -> Option<Command> {
    keys(state)?.iter().find_map(|binding| binding.command_on(on))
}

/// What the wheel does in it, if anything.
pub fn wheel(state: &State, by: Move) -> Option<Command> {
    if scrolls(state) {
        return Some(Command::Scroll(by));
    }
    // A list to choose from says so in its table.
    let chooses = |binding: &Binding| binding.label == "choose";
    let code = if by == Move::Up { KeyCode::Up } else { KeyCode::Down };
    keys(state)?.iter().any(chooses).then(|| bound(state, On::Code(code))).flatten()
}

pub fn draw(frame: &mut Frame, area: Rect, footer: Rect, state: &State) {
    let theme = state.shared.theme;
    let scroll = state.windows.scroll().filter(|_| scrolls(state)).unwrap_or(0);
    let Some((view, body)) = view(state, area) else { return };
    match view {
        View::Page(page) => {
            let place = page::place(body, page.columns, page.lines.len());
            page::draw(frame, place, theme, &page.title, page.lines, scroll);
        }
        View::List(list) => list::draw(frame, area, theme, &list),
        View::Question { title, text } => question::draw(frame, body, theme, title, &text, keys(state).unwrap_or_default()),
        View::Line(line) => prompt::draw(frame, footer, theme, &line),
        View::InPlace => {}
    }
}

//! The window in front: which feature's it is, where it lies, how it is drawn, and what a key or a click does to it.
//!
//! Never more than one: what is opened last closes what was open.

use crossterm::event::KeyCode;
use ratatui::Frame;
use ratatui::layout::{Position, Rect};

use super::features::{Command, State, window_openers};
use super::layout;
use crate::runs::RunId;
use crate::tui::actions::action::Action;
use crate::tui::actions::keys::{Binding, Move, On};
use crate::tui::shared::state::Shared;
use crate::tui::widgets::page::Reach;
use crate::tui::widgets::question::Answer;
use crate::tui::widgets::{list, page, prompt, question};
use crate::tui::window::{Opens, View, Window};

/// A feature that opens windows, whatever its commands are.
trait Front {
    fn is_open(&self) -> bool;
    fn close(&mut self);
    fn keys(&self) -> Vec<Binding<Command>>;
    #[cfg(test)]
    fn tables(&self) -> Vec<Vec<Binding<Command>>>;
    fn view(&self, shared: &Shared, columns: u16) -> Option<View>;
    fn press(&mut self, shared: &mut Shared, command: Command) -> Vec<Action>;
    fn scroll(&self) -> Option<usize>;
    fn scroll_to(&mut self, line: usize);
    fn choose(&mut self, row: usize);
    fn run(&self) -> Option<RunId>;
}

fn table<C: Copy>(rows: &[Binding<C>]) -> Vec<Binding<Command>>
where
    Command: From<C>,
{
    rows.iter().map(|row| row.wrapped()).collect()
}

impl<F: Opens> Front for F
where
    Command: From<<F::Window as Window>::Command> + TryInto<<F::Window as Window>::Command>,
{
    fn is_open(&self) -> bool {
        self.window().is_some()
    }

    fn close(&mut self) {
        *self.window_mut() = None;
    }

    fn keys(&self) -> Vec<Binding<Command>> {
        self.window().as_ref().map_or_else(Vec::new, |window| table(window.keys()))
    }

    #[cfg(test)]
    fn tables(&self) -> Vec<Vec<Binding<Command>>> {
        F::Window::tables().into_iter().map(table).collect()
    }

    fn view(&self, shared: &Shared, columns: u16) -> Option<View> {
        self.window().as_ref()?.view(self, shared, columns)
    }

    fn press(&mut self, shared: &mut Shared, command: Command) -> Vec<Action> {
        let Ok(command) = command.try_into() else { return Vec::new() };
        self.window_mut().take().map_or_else(Vec::new, |window| window.update(self, shared, command))
    }

    fn scroll(&self) -> Option<usize> {
        self.window().as_ref()?.scroll()
    }

    fn scroll_to(&mut self, line: usize) {
        if let Some(window) = self.window_mut() {
            window.scroll_to(line);
        }
    }

    fn choose(&mut self, row: usize) {
        if let Some(window) = self.window_mut() {
            window.choose(row);
        }
    }

    fn run(&self) -> Option<RunId> {
        self.window().as_ref()?.run()
    }
}

fn features(state: &State) -> [&dyn Front; 13] {
    window_openers!(state, &)
}

fn front(state: &State) -> Option<&dyn Front> {
    features(state).into_iter().find(|feature| feature.is_open())
}

/// With what its windows read beside their own.
fn front_mut(state: &mut State) -> Option<(&mut dyn Front, &mut Shared)> {
    let features: [&mut dyn Front; 13] = window_openers!(state, &mut);
    features.into_iter().find(|feature| feature.is_open()).map(|feature| (feature, &mut state.shared))
}

pub fn is_open(state: &State) -> bool {
    front(state).is_some()
}

/// Closes whatever is open.
pub fn close(state: &mut State) {
    if let Some((feature, _)) = front_mut(state) {
        feature.close();
    }
}

/// Opens what `open` opens, in the place of the window that is there.
pub fn replace<T>(state: &mut State, open: impl FnOnce(&mut State) -> T) -> T {
    let was_open = features(state).map(Front::is_open);
    let done = open(state);
    let is_new = features(state).into_iter().zip(was_open).any(|(feature, was)| feature.is_open() && !was);
    if is_new {
        let features: [&mut dyn Front; 13] = window_openers!(state, &mut);
        features.into_iter().zip(was_open).filter(|(_, was)| *was).for_each(|(feature, _)| feature.close());
    }
    done
}

/// Closes the window about a run that is gone.
pub fn forget_gone(state: &mut State) {
    let gone = front(state).and_then(|feature| feature.run()).is_some_and(|run| state.shared.summary(run).is_none());
    if gone {
        close(state);
    }
}

/// The key table of the window in front.
pub fn keys(state: &State) -> Option<Vec<Binding<Command>>> {
    front(state).map(Front::keys)
}

/// Each window's key tables.
#[cfg(test)]
pub fn tables() -> Vec<Vec<Binding<Command>>> {
    let state = crate::tui::testing::samples::fresh();
    features(&state).into_iter().flat_map(Front::tables).collect()
}

/// The window in front has lines that can be scrolled, whether all fit or not.
pub fn scrolls(state: &State) -> bool {
    front(state).is_some_and(|feature| feature.scroll().is_some())
}

/// What the window in front shows on a screen of this size, and what is between header and footer there.
fn view(state: &State, screen: Rect) -> Option<(View, Rect)> {
    let body = layout::body(screen)?;
    Some((front(state)?.view(&state.shared, body.width)?, body))
}

fn screen(state: &State) -> Rect {
    Rect::new(0, 0, state.shared.size.0, state.shared.size.1)
}

/// A key while the window is in front.
pub fn press(state: &mut State, command: Command) -> Vec<Action> {
    let reach = match view(state, screen(state)).filter(|_| scrolls(state)) {
        Some((View::Page(page), body)) => Reach::of(page::place(body, page.columns, page.lines.len()), page.lines.len()),
        _ => Reach::default(),
    };
    let Some((feature, shared)) = front_mut(state) else { return Vec::new() };
    if let Some(at) = feature.scroll() {
        // Fewer lines than before leave it behind the last of them.
        feature.scroll_to(if let Command::Scroll(by) = command { reach.scrolled(at, by) } else { at.min(reach.last) });
    }
    if let Command::Scroll(_) = command { Vec::new() } else { feature.press(shared, command) }
}

/// What a click means while a window is in front.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Hit {
    Outside,
    Key(Command),
    /// A row of its list, by its place.
    Row(usize),
    /// On what answers to no click.
    Inside,
}

/// The keys that a question names.
fn answers(keys: &[Binding<Command>]) -> Vec<(Answer, Command)> {
    let named = keys.iter().filter(|binding| !binding.label.is_empty());
    named.map(|binding| ((binding.key, binding.label), binding.command)).collect()
}

/// A click; `None` where no window is in front, or where it is typed elsewhere.
pub fn hit(state: &State, at: Position) -> Option<Hit> {
    let area = screen(state);
    let (view, body) = view(state, area)?;
    let (place, hit) = match view {
        View::Page(page) => (page::place(body, page.columns, page.lines.len()), None),
        View::List(list) => (list::place(area), list::hit(&list, area, at).map(Hit::Row)),
        View::Question(asked) => {
            let (answers, commands): (Vec<Answer>, Vec<Command>) = answers(&keys(state)?).into_iter().unzip();
            let place = question::place(area, state.shared.theme, &asked.text, &answers);
            (place, question::hit(place, &answers, at).map(|answer| Hit::Key(commands[answer])))
        }
        View::Line(_) | View::InPlace => return None,
    };
    Some(if place.contains(at) { hit.unwrap_or(Hit::Inside) } else { Hit::Outside })
}

/// Where the window in front lies on a screen of this size.
#[cfg(test)]
pub fn place(state: &State, area: Rect) -> Option<Rect> {
    let (view, body) = view(state, area)?;
    Some(match view {
        View::Page(page) => page::place(body, page.columns, page.lines.len()),
        View::List(_) => list::place(area),
        View::Question(asked) => {
            let answers: Vec<Answer> = answers(&keys(state)?).into_iter().map(|(answer, _)| answer).collect();
            question::place(area, state.shared.theme, &asked.text, &answers)
        }
        View::Line(_) | View::InPlace => Rect { y: body.bottom(), height: 1, ..body },
    })
}

/// The words of a line that is typed at the foot of the screen, under the pointer; `None` where no line is.
pub fn hit_line(state: &State, footer: Rect, at: Position) -> Option<Option<Command>> {
    let Some((View::Line(line), _)) = view(state, screen(state)) else { return None };
    let on = prompt::hit(&line, state.shared.theme, footer, at);
    let of_key = |on: On| keys(state)?.into_iter().find(|binding| binding.on.contains(&on)).map(|binding| binding.command);
    Some(on.and_then(of_key))
}

/// The command of the key that closes the window in front.
pub fn back(state: &State) -> Option<Command> {
    of_code(state, KeyCode::Esc)
}

/// The command of Enter.
pub fn accept(state: &State) -> Option<Command> {
    of_code(state, KeyCode::Enter)
}

fn of_code(state: &State, code: KeyCode) -> Option<Command> {
    let key = keys(state)?.into_iter().find(|binding| binding.on.contains(&On::Code(code)));
    key.map(|binding| binding.command)
}

/// What the wheel does in it, if anything.
pub fn wheel(state: &State, by: Move) -> Option<Command> {
    if scrolls(state) {
        return Some(Command::Scroll(by));
    }
    // A list to choose from says so in its table.
    let chooses = |binding: &Binding<Command>| binding.label == "choose";
    let code = if by == Move::Up { KeyCode::Up } else { KeyCode::Down };
    keys(state)?.iter().any(chooses).then(|| of_code(state, code)).flatten()
}

pub fn choose(state: &mut State, row: usize) {
    if let Some((feature, _)) = front_mut(state) {
        feature.choose(row);
    }
}

pub fn draw(frame: &mut Frame, area: Rect, footer: Rect, state: &State) {
    let theme = state.shared.theme;
    let scroll = front(state).and_then(|feature| feature.scroll()).unwrap_or(0);
    let Some((view, body)) = view(state, area) else { return };
    match view {
        View::Page(page) => {
            let place = page::place(body, page.columns, page.lines.len());
            page::draw(frame, place, theme, &page.title, page.lines, scroll);
        }
        View::List(list) => list::draw(frame, area, theme, &list),
        View::Question(asked) => {
            let answers: Vec<Answer> = answers(&keys(state).unwrap_or_default()).into_iter().map(|(answer, _)| answer).collect();
            question::draw(frame, area, theme, asked.title, &asked.text, &answers);
        }
        View::Line(line) => prompt::draw(frame, footer, theme, &line),
        View::InPlace => {}
    }
}

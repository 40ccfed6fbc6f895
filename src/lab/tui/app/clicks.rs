//! What the mouse does: a click chooses, the wheel scrolls what is under it, a pressed button drags a border or the cursor.
//!
//! Never a way of its own: all that it does, a key does too. Every click is resolved here.

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Margin, Position, Rect};

use super::dispatch::{self, act, perform};
use super::layout::Places;
use super::{footer, keymap, places, screen, view, windows};
use crate::tui::actions::action::Action;
use crate::tui::actions::command::{Command, Move};
use crate::tui::actions::effect::Effect;
use crate::tui::actions::pane::Pane;
use crate::tui::chart::graph::Tab;
use crate::tui::preferences::Dragged;
use crate::tui::state::State;
use crate::tui::widgets::{notice, slot};
use crate::tui::{chart, devices, log, next_run, runs};

/// Lines of one notch of the wheel, where lines are scrolled.
const NOTCH: usize = 3;

pub fn handle(state: &mut State, event: MouseEvent) -> Vec<Effect> {
    let at = Position::new(event.column, event.row);
    let Some(mut shown) = places::of(state) else { return Vec::new() };
    if state.projector {
        // No pane is there to be clicked.
        (shown.panes, shown.borders, shown.shared) = Default::default();
    }
    if matches!(event.kind, MouseEventKind::Down(_)) {
        // It stands in front of all.
        let kept = view::kept_in_sight(state, &shown);
        if state.shared.notice.as_ref().is_some_and(|notice| notice::hit(notice, shown.body, kept, at)) {
            state.shared.notice = None;
            return Vec::new();
        }
        state.shared.forget_news();
    }
    // Shift turns a wheel that has one axis only.
    let sideways = event.modifiers.contains(KeyModifiers::SHIFT);
    match event.kind {
        MouseEventKind::Down(MouseButton::Left) => press(state, &shown, at),
        MouseEventKind::Drag(MouseButton::Left) => {
            drag(state, &shown, at);
            Vec::new()
        }
        MouseEventKind::Up(_) => {
            state.dragged = None;
            Vec::new()
        }
        MouseEventKind::ScrollUp if !sideways => wheel(state, &shown, at, Move::Up),
        MouseEventKind::ScrollDown if !sideways => wheel(state, &shown, at, Move::Down),
        MouseEventKind::ScrollLeft | MouseEventKind::ScrollUp => wheel(state, &shown, at, Move::Left),
        MouseEventKind::ScrollRight | MouseEventKind::ScrollDown => wheel(state, &shown, at, Move::Right),
        _ => Vec::new(),
    }
}

fn drag(state: &mut State, places: &Places, at: Position) {
    match state.dragged {
        Some(Dragged::Border(split)) => {
            if let Some(border) = places.borders.iter().find(|border| border.split == split) {
                state.preferences.shares.insert(split, border.share(at));
            }
        }
        Some(Dragged::Cursor) => {
            if let Some((Pane::Chart, area)) = pane_at(places, at)
                && let Some(Hit::Graph(chart::draw::Hit { x: Some(x), .. })) = hit(state, Pane::Chart, area, at)
            {
                state.chart.put_cursor(&state.shared, x);
            }
        }
        None => {}
    }
}

fn pane_at(places: &Places, at: Position) -> Option<(Pane, Rect)> {
    places.panes.iter().copied().find(|(_, area)| area.contains(at))
}

fn press(state: &mut State, places: &Places, at: Position) -> Vec<Effect> {
    if places.footer.contains(at) {
        let typed = windows::hit_line(state, places.footer, at);
        let command = typed.unwrap_or_else(|| footer::hit(state, places.footer, at));
        return command.map_or_else(Vec::new, |command| perform(state, command));
    }
    if !state.windows.is_empty() {
        return in_window(state, at);
    }
    if let Some(pane) = places.shared.and_then(|area| slot::hit(area, places.turns, at)) {
        screen::focus(state, pane);
        return Vec::new();
    }
    let Some((pane, area)) = pane_at(places, at) else { return Vec::new() };
    let hit = hit(state, pane, area, at);
    if hit.is_none() {
        let border = places.borders.iter().find(|border| border.contains(at));
        state.dragged = border.map(|border| Dragged::Border(border.split));
    }
    let was = std::mem::replace(&mut state.focus, pane);
    hit.map_or_else(Vec::new, |hit| click(state, hit, was == pane))
}

/// A window keeps the keyboard until it is answered: a click on an answer gives it, one beside the window is Escape.
fn in_window(state: &mut State, at: Position) -> Vec<Effect> {
    let command = match windows::hit(state, at) {
        Some(windows::Hit::Outside) => windows::back(state),
        Some(windows::Hit::Key(command)) => Some(command),
        Some(windows::Hit::Row(row)) => {
            windows::choose(state, row);
            windows::accept(state)
        }
        Some(windows::Hit::Inside) | None => None,
    };
    command.map_or_else(Vec::new, |command| perform(state, command))
}

/// What of a pane lies under the pointer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Hit {
    Step(next_run::steps::Hit),
    Setting(next_run::settings::Hit),
    Run(runs::draw::Hit),
    /// By its place among the shown.
    Device(usize),
    Graph(chart::draw::Hit),
    Legend(crate::runs::RunId),
    Tab(log::state::LogTab),
}

/// What a click at `at` means in a pane drawn in `area`. A pane without an answer just gets the focus.
pub fn hit(state: &State, pane: Pane, area: Rect, at: Position) -> Option<Hit> {
    let inner = area.inner(Margin::new(1, 1));
    let (shared, focus) = (&state.shared, view::focus(state, pane));
    if !inner.contains(at) {
        return match pane {
            Pane::Log => log::draw::tab_hit(&state.log, shared, area, at).map(Hit::Tab),
            Pane::Chart => chart::draw::legend_hit(&state.chart, shared, area, at).map(Hit::Legend),
            _ => None,
        };
    }
    match pane {
        Pane::Steps => next_run::steps::hit(inner, at).map(Hit::Step),
        Pane::Settings => {
            next_run::settings::hit((&state.next_run, state.windows.get()), shared, focus, inner, at).map(Hit::Setting)
        }
        Pane::Runs => runs::draw::hit(&state.runs, shared, inner, at).map(Hit::Run),
        Pane::Devices => devices::draw::hit(&state.devices, shared, focus, inner, at).map(Hit::Device),
        Pane::Chart => chart::draw::hit(&state.chart, shared, inner, at).map(Hit::Graph),
        Pane::Log => None,
    }
}

/// A click on something in a pane, which had the focus or not: the second on the same thing is Enter.
fn click(state: &mut State, hit: Hit, was_focused: bool) -> Vec<Effect> {
    use next_run::settings::Hit as Setting;
    let command: Command = match hit {
        Hit::Step(next_run::steps::Hit { step, mark }) => {
            state.shared.step = step;
            if !mark {
                return Vec::new();
            }
            Command::Switch
        }
        Hit::Setting(Setting::Field(field)) if state.next_run.field == field && was_focused => Command::Accept,
        Hit::Setting(Setting::Field(field)) => {
            state.next_run.field = field;
            return Vec::new();
        }
        Hit::Setting(Setting::Change(direction)) => Command::Change(direction),
        Hit::Legend(run) | Hit::Run(runs::draw::Hit::Run(run)) => {
            let is_watched = state.shared.watched.as_ref().is_some_and(|watched| watched.id == run);
            match (is_watched, was_focused) {
                (true, true) => Command::Details,
                (true, false) => return Vec::new(),
                (false, _) => return act(state, vec![Action::Watch(run)]),
            }
        }
        Hit::Run(runs::draw::Hit::Title(title)) => {
            runs::update::sort_by(&mut state.runs, &mut state.shared, title);
            return Vec::new();
        }
        Hit::Device(place) if state.devices.cursor() == place && was_focused => Command::Accept,
        Hit::Device(place) => {
            state.devices.choose(place);
            return Vec::new();
        }
        Hit::Graph(chart::draw::Hit { graph, x }) => {
            state.chart.tab = Tab::Graph(graph);
            if let Some(x) = x {
                state.chart.put_cursor(&state.shared, x);
                state.dragged = Some(Dragged::Cursor);
            }
            return Vec::new();
        }
        Hit::Tab(tab) => return dispatch::turn_log(state, tab),
    };
    perform(state, command)
}

fn wheel(state: &mut State, places: &Places, at: Position, by: Move) -> Vec<Effect> {
    let is_sideways = matches!(by, Move::Left | Move::Right);
    if !state.windows.is_empty() {
        // A window of lines scrolls, a list chooses; in any other, up and down are answers.
        let command = if is_sideways { None } else { windows::wheel(state, by) };
        return command.map_or_else(Vec::new, |command| repeat(state, command, NOTCH));
    }
    let Some((pane, _)) = pane_at(places, at) else { return Vec::new() };
    let (command, times) = match (pane, by) {
        (Pane::Log, Move::Left | Move::Right) if !state.log.cuts => return Vec::new(),
        (Pane::Log, Move::Left) => (Command::Leftwards, 1),
        (Pane::Log, Move::Right) => (Command::Rightwards, 1),
        (Pane::Log, by) => (Command::Move(by), NOTCH),
        (Pane::Chart, Move::Up) => (Command::ZoomIn, 1),
        (Pane::Chart, Move::Down) => (Command::ZoomOut, 1),
        (Pane::Chart, Move::Left) => (Command::CursorLeft, 1),
        (Pane::Chart, _) => (Command::CursorRight, 1),
        // Values are changed by a key or a click, never in passing.
        _ if is_sideways => return Vec::new(),
        (_, by) => (Command::Move(by), 1),
    };
    let is_there = |key: &&keymap::Key| key.scope == keymap::Scope::Pane(pane) && key.binding.command == command;
    if keymap::table().find(is_there).is_none() {
        return Vec::new();
    }
    // What is under the pointer scrolls; the keyboard stays where it is.
    let focus = std::mem::replace(&mut state.focus, pane);
    let effects = repeat(state, command, times);
    state.focus = focus;
    effects
}

fn repeat(state: &mut State, command: Command, times: usize) -> Vec<Effect> {
    (0..times).flat_map(|_| perform(state, command)).collect()
}

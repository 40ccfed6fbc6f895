//! What the mouse does: a click chooses, the wheel scrolls what is under it, a pressed button drags a border or the cursor.
//!
//! Whatever the mouse does, a key does too. Every click is resolved here.

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Margin, Position, Rect};

use super::dispatch::{self, act, perform};
use super::layout::Places;
use super::{footer, places, screen, view, windows};
use crate::runs::RunId;
use crate::tui::actions::{Action, Command, Effect, Move, Pane};
use crate::tui::chart::graph::Tab;
use crate::tui::preferences::Dragged;
use crate::tui::state::State;
use crate::tui::widgets::{Focus, notice, slot};
use crate::tui::{chart, devices, log, next_run, runs};

/// Lines of one notch of the wheel, where lines are scrolled.
const NOTCH: usize = 3;
/// Around what a pane shows.
const FRAME: Margin = Margin::new(1, 1);

pub fn handle(state: &mut State, event: MouseEvent) -> Vec<Effect> {
    let at = Position::new(event.column, event.row);
    let Some(mut shown) = places::current(state) else { return Vec::new() };
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
        state.shared.forget_notice();
    }
    // Shift turns a wheel that has one axis only.
    let sideways = event.modifiers.contains(KeyModifiers::SHIFT);
    match event.kind {
        MouseEventKind::Down(MouseButton::Left) => return press(state, &shown, at),
        MouseEventKind::ScrollUp if !sideways => return wheel(state, &shown, at, Move::Up),
        MouseEventKind::ScrollDown if !sideways => return wheel(state, &shown, at, Move::Down),
        MouseEventKind::ScrollLeft | MouseEventKind::ScrollUp => return wheel(state, &shown, at, Move::Left),
        MouseEventKind::ScrollRight | MouseEventKind::ScrollDown => return wheel(state, &shown, at, Move::Right),
        MouseEventKind::Drag(MouseButton::Left) => drag(state, &shown, at),
        MouseEventKind::Up(_) => state.dragged = None,
        _ => {}
    }
    Vec::new()
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
                && let inner = area.inner(FRAME)
                && inner.contains(at)
                && let Some((_, Some(x))) = chart::draw::hit(&state.chart, &state.shared, inner, at)
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
    // A window keeps the keyboard until it is answered.
    if !state.windows.is_empty() {
        return windows::click(state, at).map_or_else(Vec::new, |command| perform(state, command));
    }
    if let Some(pane) = places.shared.and_then(|area| slot::hit(area, places.turns, at)) {
        screen::focus(state, pane);
        return Vec::new();
    }
    let Some((pane, area)) = pane_at(places, at) else { return Vec::new() };
    let focus = view::focus(state, pane);
    let was_focused = std::mem::replace(&mut state.focus, pane) == pane;
    click(state, pane, area, at, focus, was_focused).unwrap_or_else(|| {
        let border = places.borders.iter().find(|border| border.contains(at));
        state.dragged = border.map(|border| Dragged::Border(border.split));
        Vec::new()
    })
}

/// Does what a click means in a pane drawn in `area`, which had the keyboard or not: the second on the same thing is Enter. `None`
/// where nothing that can be clicked lies under the pointer.
fn click(state: &mut State, pane: Pane, area: Rect, at: Position, focus: Focus, was_focused: bool) -> Option<Vec<Effect>> {
    use next_run::settings::Hit as Setting;
    let (inner, shared) = (area.inner(FRAME), &mut state.shared);
    let command = match pane {
        Pane::Log if !inner.contains(at) => {
            let tab = log::draw::tab_hit(&state.log, shared, area, at)?;
            return Some(dispatch::show_log_tab(state, tab));
        }
        Pane::Chart if !inner.contains(at) => {
            let run = chart::draw::legend_hit(&state.chart, shared, area, at)?;
            return Some(click_run(state, run, was_focused));
        }
        _ if !inner.contains(at) => return None,
        Pane::Log => return None,
        Pane::Steps => {
            let (step, is_on_mark) = next_run::steps::hit(inner, at)?;
            shared.step = step;
            is_on_mark.then_some(Command::Switch)
        }
        Pane::Settings => match next_run::settings::hit(state, focus, inner, at)? {
            Setting::Field(field) => {
                let is_second = std::mem::replace(&mut state.next_run.field, field) == field && was_focused;
                is_second.then_some(Command::Accept)
            }
            Setting::Change { up } => Some(Command::Move(if up { Move::Right } else { Move::Left })),
        },
        Pane::Runs => match runs::draw::hit(&state.runs, shared, inner, at)? {
            runs::draw::Hit::Run(run) => return Some(click_run(state, run, was_focused)),
            runs::draw::Hit::Title(title) => {
                runs::update::sort_by(&mut state.runs, shared, title);
                None
            }
        },
        Pane::Devices => {
            let place = devices::draw::hit(&state.devices, shared, focus, inner, at)?;
            let is_second = state.devices.cursor() == place && was_focused;
            if !is_second {
                state.devices.choose(place);
            }
            is_second.then_some(Command::Accept)
        }
        Pane::Chart => {
            let (graph, x) = chart::draw::hit(&state.chart, shared, inner, at)?;
            state.chart.tab = Tab::Graph(graph);
            if let Some(x) = x {
                state.chart.put_cursor(shared, x);
                state.dragged = Some(Dragged::Cursor);
            }
            None
        }
    };
    Some(command.map_or_else(Vec::new, |command| perform(state, command)))
}

/// Puts a run on the screen; one that is there already shows its details, if its pane had the keyboard.
fn click_run(state: &mut State, run: RunId, was_focused: bool) -> Vec<Effect> {
    if state.shared.watched.as_ref().is_none_or(|watched| watched.id != run) {
        return act(state, vec![Action::Watch(run)]);
    }
    if was_focused { perform(state, Command::Details) } else { Vec::new() }
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
        // The wheel does not change values: that takes a key or a click.
        _ if is_sideways => return Vec::new(),
        (_, by) => (Command::Move(by), 1),
    };
    // The pane under the pointer scrolls; the focus stays where it is.
    let focus = std::mem::replace(&mut state.focus, pane);
    let effects = repeat(state, command, times);
    state.focus = focus;
    effects
}

fn repeat(state: &mut State, command: Command, times: usize) -> Vec<Effect> {
    (0..times).flat_map(|_| perform(state, command)).collect()
}

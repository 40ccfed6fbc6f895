//! What the mouse does: a click chooses, the wheel scrolls what is under it, a pressed button drags a border.
//!
//! Never a way of its own: all that it does, a key does too.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};

use super::super::effect::Effect;
use super::super::keymap::{self, Command, Scope};
use super::super::layout::{Places, places};
use super::super::mode::Mode;
use super::super::pane::{self, Hit};
use super::super::state::{Pane, State};
use super::{command, watch};

/// Lines of one notch of the wheel, where lines are scrolled.
const NOTCH: usize = 3;

pub fn obey(state: &mut State, event: MouseEvent) -> Vec<Effect> {
    let at = Position::new(event.column, event.row);
    let Some(mut places) = shown(state) else { return Vec::new() };
    if state.habits.projector {
        // No pane is there to be clicked.
        (places.panes, places.borders, places.shared) = Default::default();
    }
    match event.kind {
        MouseEventKind::Down(MouseButton::Left) => press(state, &places, at),
        MouseEventKind::Drag(MouseButton::Left) => {
            let dragged = state.habits.dragged;
            if let Some(border) = places.borders.iter().find(|border| Some(border.split) == dragged) {
                state.habits.shares.insert(border.split, border.share(at));
            }
            Vec::new()
        }
        MouseEventKind::Up(_) => {
            state.habits.dragged = None;
            Vec::new()
        }
        MouseEventKind::ScrollUp => wheel(state, &places, at, Command::Up),
        MouseEventKind::ScrollDown => wheel(state, &places, at, Command::Down),
        _ => Vec::new(),
    }
}

/// Gives the mouse back to the terminal, or takes it again.
pub fn switch(state: &mut State) -> Vec<Effect> {
    state.habits.mouse = !state.habits.mouse;
    state.inform(if state.habits.mouse {
        "the mouse is the lab's again: click, wheel, drag borders"
    } else {
        "the mouse is the terminal's: it selects text; m takes it again"
    });
    vec![Effect::CaptureMouse(state.habits.mouse)]
}

fn shown(state: &State) -> Option<Places> {
    let screen = Rect::new(0, 0, state.size.0, state.size.1);
    places(screen, state.zoom.then_some(state.focus), state.slot, pane::devices::rows(state), &state.habits.shares)
}

fn pane_at(places: &Places, at: Position) -> Option<(Pane, Rect)> {
    places.panes.iter().copied().find(|(_, area)| area.contains(at))
}

fn press(state: &mut State, places: &Places, at: Position) -> Vec<Effect> {
    if places.footer.contains(at) {
        let command = pane::footer::hit(state, places.footer, at);
        return command.map_or_else(Vec::new, |command| command::obey(state, command));
    }
    // A window keeps the keyboard until it is answered: its answers stand in the footer.
    if state.mode != Mode::Normal {
        return Vec::new();
    }
    if let Some(pane) = places.shared.and_then(|area| pane::shared_hit(area, at)) {
        (state.focus, state.slot) = (pane, pane);
        return Vec::new();
    }
    let Some((pane, area)) = pane_at(places, at) else { return Vec::new() };
    let hit = pane::hit(state, pane, area, at);
    if hit.is_none() {
        state.habits.dragged = places.borders.iter().find(|border| border.contains(at)).map(|border| border.split);
    }
    let was = std::mem::replace(&mut state.focus, pane);
    match hit {
        Some(Hit::Step { step, mark }) => {
            state.step = step;
            if mark { command::obey(state, Command::Switch) } else { Vec::new() }
        }
        // A second click opens the value, as Enter does.
        Some(Hit::Field(field)) if state.field == field && was == pane => command::obey(state, Command::Accept),
        Some(Hit::Field(field)) => {
            state.field = field;
            Vec::new()
        }
        Some(Hit::Run(run)) if state.watched.as_ref().is_some_and(|watched| watched.id == run) => {
            if was == pane {
                command::obey(state, Command::Details)
            } else {
                Vec::new()
            }
        }
        Some(Hit::Run(run)) => watch(state, run),
        None => Vec::new(),
    }
}

fn wheel(state: &mut State, places: &Places, at: Position, command: Command) -> Vec<Effect> {
    if state.mode != Mode::Normal {
        // A window that scrolls says so in the table; in any other, up and down are answers.
        let scrolls = keymap::active(state.mode.kind(), state.focus)
            .any(|binding| binding.command == Command::Up && ["scroll", "choose"].contains(&binding.label));
        return if scrolls { repeat(state, command, NOTCH) } else { Vec::new() };
    }
    let Some((pane, _)) = pane_at(places, at) else { return Vec::new() };
    let in_pane = |binding: &&keymap::Binding| binding.scope == Scope::Pane(pane) && binding.command == command;
    if keymap::table().find(in_pane).is_none() {
        return Vec::new();
    }
    // What is under the pointer scrolls; the keyboard stays where it is.
    let focus = std::mem::replace(&mut state.focus, pane);
    let effects = repeat(state, command, if pane == Pane::Log { NOTCH } else { 1 });
    state.focus = focus;
    effects
}

fn repeat(state: &mut State, command: Command, times: usize) -> Vec<Effect> {
    (0..times).flat_map(|_| command::obey(state, command)).collect()
}

//! What the mouse does: a click chooses, the wheel scrolls what is under it, a pressed button drags a border or the cursor.
//!
//! Never a way of its own: all that it does, a key does too.

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};

use super::super::chart_view;
use super::super::effect::Effect;
use super::super::graph::Tab;
use super::super::habits::Dragged;
use super::super::keymap::{self, Command, Scope};
use super::super::layout::{Places, places};
use super::super::log_view::LogCommand;
use super::super::mode::Mode;
use super::super::pane::window::WindowHit;
use super::super::pane::{self, Hit};
use super::super::settings::Direction;
use super::super::state::{Pane, State};
use super::{command, log, runs, watch};

/// Lines of one notch of the wheel, where lines are scrolled.
const NOTCH: usize = 3;

pub fn obey(state: &mut State, event: MouseEvent) -> Vec<Effect> {
    let at = Position::new(event.column, event.row);
    let Some(mut places) = shown(state) else { return Vec::new() };
    if state.habits.projector {
        // No pane is there to be clicked.
        (places.panes, places.borders, places.shared) = Default::default();
    }
    if matches!(event.kind, MouseEventKind::Down(_)) {
        // It stands in front of all.
        if pane::notice::hit(state, places.footer, at) {
            state.notice = None;
            return Vec::new();
        }
        state.forget_news();
    }
    // Shift turns a wheel that has one axis only.
    let sideways = event.modifiers.contains(KeyModifiers::SHIFT);
    match event.kind {
        MouseEventKind::Down(MouseButton::Left) => press(state, &places, at),
        MouseEventKind::Drag(MouseButton::Left) => {
            drag(state, &places, at);
            Vec::new()
        }
        MouseEventKind::Up(_) => {
            state.habits.dragged = None;
            Vec::new()
        }
        MouseEventKind::ScrollUp if !sideways => wheel(state, &places, at, Command::Up),
        MouseEventKind::ScrollDown if !sideways => wheel(state, &places, at, Command::Down),
        MouseEventKind::ScrollLeft | MouseEventKind::ScrollUp => wheel(state, &places, at, Command::Left),
        MouseEventKind::ScrollRight | MouseEventKind::ScrollDown => wheel(state, &places, at, Command::Right),
        _ => Vec::new(),
    }
}

fn drag(state: &mut State, places: &Places, at: Position) {
    match state.habits.dragged {
        Some(Dragged::Border(split)) => {
            if let Some(border) = places.borders.iter().find(|border| border.split == split) {
                state.habits.shares.insert(split, border.share(at));
            }
        }
        Some(Dragged::Cursor) => {
            if let Some((Pane::Chart, area)) = pane_at(places, at)
                && let Some(Hit::Graph { x: Some(x), .. }) = pane::hit(state, Pane::Chart, area, at)
            {
                chart_view::put_cursor(state, x);
            }
        }
        None => {}
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

fn screen(state: &State) -> Rect {
    Rect::new(0, 0, state.size.0, state.size.1)
}

fn shown(state: &State) -> Option<Places> {
    places(screen(state), state.zoom.then_some(state.focus), state.slot, pane::devices::rows(state), &state.habits.shares)
}

fn pane_at(places: &Places, at: Position) -> Option<(Pane, Rect)> {
    places.panes.iter().copied().find(|(_, area)| area.contains(at))
}

fn press(state: &mut State, places: &Places, at: Position) -> Vec<Effect> {
    if places.footer.contains(at) {
        let typed = pane::ask::hit(state, places.footer, at);
        let command = typed.unwrap_or_else(|| pane::footer::hit(state, places.footer, at));
        return command.map_or_else(Vec::new, |command| command::obey(state, command));
    }
    if state.mode != Mode::Normal {
        return in_window(state, at);
    }
    if let Some(pane) = places.shared.and_then(|area| pane::shared_hit(area, at)) {
        (state.focus, state.slot) = (pane, pane);
        return Vec::new();
    }
    let Some((pane, area)) = pane_at(places, at) else { return Vec::new() };
    let hit = pane::hit(state, pane, area, at);
    if hit.is_none() {
        let border = places.borders.iter().find(|border| border.contains(at));
        state.habits.dragged = border.map(|border| Dragged::Border(border.split));
    }
    let was = std::mem::replace(&mut state.focus, pane);
    hit.map_or_else(Vec::new, |hit| click(state, hit, was == pane))
}

/// A window keeps the keyboard until it is answered: a click on an answer gives it, one beside the window is Escape.
fn in_window(state: &mut State, at: Position) -> Vec<Effect> {
    let command = match pane::window::hit(state, screen(state), at) {
        Some(WindowHit::Outside) => Command::Back,
        Some(WindowHit::Answer(command)) => command,
        Some(WindowHit::Entry(entry)) => {
            if let Mode::Palette { chosen, .. } = &mut state.mode {
                *chosen = entry;
            }
            Command::Accept
        }
        Some(WindowHit::Inside) | None => return Vec::new(),
    };
    command::obey(state, command)
}

/// A click on something in a pane, which had the focus or not: the second on the same thing is Enter.
fn click(state: &mut State, hit: Hit, was_focused: bool) -> Vec<Effect> {
    match hit {
        Hit::Step { step, mark } => {
            state.step = step;
            if mark { command::obey(state, Command::Switch) } else { Vec::new() }
        }
        Hit::Field(field) if state.field == field && was_focused => command::obey(state, Command::Accept),
        Hit::Field(field) => {
            state.field = field;
            Vec::new()
        }
        Hit::Change(Direction::Down) => command::obey(state, Command::Left),
        Hit::Change(Direction::Up) => command::obey(state, Command::Right),
        Hit::Run(run) if state.watched.as_ref().is_some_and(|watched| watched.id == run) => {
            if was_focused {
                command::obey(state, Command::Details)
            } else {
                Vec::new()
            }
        }
        Hit::Run(run) => watch(state, run),
        Hit::RunsTitle(title) => {
            runs::sort_by(state, title);
            Vec::new()
        }
        Hit::Device(place) if state.devices.cursor() == place && was_focused => command::obey(state, Command::Accept),
        Hit::Device(place) => {
            state.devices.choose(place);
            Vec::new()
        }
        Hit::Graph { graph, x } => {
            state.chart_view.tab = Tab::Graph(graph);
            if let Some(x) = x {
                chart_view::put_cursor(state, x);
                state.habits.dragged = Some(Dragged::Cursor);
            }
            Vec::new()
        }
        Hit::Tab(tab) => log::turn_to(state, tab),
    }
}

fn wheel(state: &mut State, places: &Places, at: Position, command: Command) -> Vec<Effect> {
    if state.mode != Mode::Normal {
        if matches!(command, Command::Left | Command::Right) {
            return Vec::new();
        }
        // A window that scrolls says so in the table; in any other, up and down are answers.
        let scrolls = keymap::active(state.mode.kind(), state.focus)
            .any(|binding| binding.command == Command::Up && ["scroll", "choose"].contains(&binding.label));
        return if scrolls { repeat(state, command, NOTCH) } else { Vec::new() };
    }
    let Some((pane, _)) = pane_at(places, at) else { return Vec::new() };
    let (command, times) = match (pane, command) {
        (Pane::Log, Command::Left | Command::Right) if state.log.wraps => return Vec::new(),
        (Pane::Log, Command::Left) => (Command::Log(LogCommand::Leftwards), 1),
        (Pane::Log, Command::Right) => (Command::Log(LogCommand::Rightwards), 1),
        (Pane::Log, command) => (command, NOTCH),
        (Pane::Chart, Command::Up) => (Command::ZoomIn, 1),
        (Pane::Chart, Command::Down) => (Command::ZoomOut, 1),
        (Pane::Chart, Command::Left) => (Command::CursorLeft, 1),
        (Pane::Chart, Command::Right) => (Command::CursorRight, 1),
        // Values are changed by a key or a click, never in passing.
        (_, Command::Left | Command::Right) => return Vec::new(),
        (_, command) => (command, 1),
    };
    let in_pane = |binding: &&keymap::Binding| binding.scope == Scope::Pane(pane) && binding.command == command;
    if keymap::table().find(in_pane).is_none() {
        return Vec::new();
    }
    // What is under the pointer scrolls; the keyboard stays where it is.
    let focus = std::mem::replace(&mut state.focus, pane);
    let effects = repeat(state, command, times);
    state.focus = focus;
    effects
}

fn repeat(state: &mut State, command: Command, times: usize) -> Vec<Effect> {
    (0..times).flat_map(|_| command::obey(state, command)).collect()
}

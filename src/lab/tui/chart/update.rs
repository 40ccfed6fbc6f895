//! What the keys of the chart do.

use super::graph::Tab;
use super::state::Chart;
use crate::tui::actions::{Action, Command, Move, cycle};
use crate::tui::shared::Shared;

/// Places that the cursor moves at a time with Page up and Page down.
const PAGE: f64 = 10.0;

pub fn update(chart: &mut Chart, shared: &mut Shared, command: Command) -> Vec<Action> {
    let reach = chart.reach(shared);
    let range = &mut chart.range;
    match (command, chart.tab) {
        (Command::Pin, _) => return if shared.toggle_pin() { vec![Action::RefreshChart] } else { Vec::new() },
        (Command::Move(Move::Left), tab) => chart.tab = cycle(&Tab::ALL, tab, Tab::ALL.len() - 1),
        (Command::Move(Move::Right), tab) => chart.tab = cycle(&Tab::ALL, tab, 1),
        (command, Tab::Timeline) => timeline(chart, shared, command),
        (Command::LogScale, Tab::Graph(graph)) => chart.log[graph as usize] ^= true,
        (Command::Along, _) => range.turn(shared.watched.as_ref().map(|watched| &watched.curves.loss)),
        (Command::ZoomIn | Command::Move(Move::Up), _) => range.zoom_in(),
        (Command::ZoomOut | Command::Move(Move::Down), _) => range.zoom_out(),
        (Command::CursorLeft, _) => range.move_cursor(-1.0, reach),
        (Command::CursorRight, _) => range.move_cursor(1.0, reach),
        (Command::Move(Move::PageUp), _) => range.move_cursor(-PAGE, reach),
        (Command::Move(Move::PageDown), _) => range.move_cursor(PAGE, reach),
        (Command::Move(Move::First), _) => range.put_cursor(0.0, reach),
        (Command::Move(Move::Last), _) => range.put_cursor(reach.newest, reach),
        (Command::Fit, _) => range.reset(),
        _ => {}
    }
    Vec::new()
}

fn timeline(chart: &mut Chart, shared: &mut Shared, command: Command) {
    let Some(watched) = &shared.watched else { return };
    let epochs = watched.phases().epochs();
    let now = chart.epoch.or(watched.phases().newest()).unwrap_or(0);
    match command {
        Command::CursorLeft => chart.epoch = epochs.iter().rev().find(|epoch| **epoch < now).copied().or(chart.epoch),
        Command::CursorRight => chart.epoch = epochs.iter().find(|epoch| **epoch > now).copied(),
        Command::Move(Move::First) => chart.epoch = epochs.first().copied(),
        Command::Move(Move::Last) => chart.epoch = None,
        Command::ZoomIn | Command::Move(Move::Up) => chart.scroll = chart.scroll.saturating_sub(1),
        Command::ZoomOut | Command::Move(Move::Down) => {
            chart.scroll = (chart.scroll + 1).min(watched.phases().processes().saturating_sub(1));
        }
        Command::Fit => (chart.epoch, chart.scroll) = (None, 0),
        Command::LogScale => shared.inform("the step timeline has no scale to change: ← and → show curves"),
        Command::Along => shared.inform("the step timeline has no x axis to change: ← and → show curves"),
        _ => {}
    }
}

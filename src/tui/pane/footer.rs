//! One line of keys, from the key table: those of the focused pane first.
//!
//! Never names a key that does nothing.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::super::keymap::{self, Binding, Command, Scope};
use super::super::replay;
use super::super::state::State;
use crate::columns;

/// Kept when there is no room for all: what a first-time user needs.
fn rank(binding: &Binding) -> u8 {
    match (binding.scope, binding.command) {
        (_, Command::Player(_) | Command::Run | Command::Quit | Command::Help | Command::ToggleStep(_)) => 0,
        (_, Command::NextPane | Command::Stop) => 1,
        (Scope::Pane(_), Command::Switch | Command::Accept | Command::Left) => 2,
        (Scope::Pane(_), _) => 3,
        (_, Command::MoreRanks | Command::Continue | Command::Baseline) => 4,
        _ => 5,
    }
}

pub fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let theme = state.theme;
    let spans = shown(state, area.width).into_iter().flat_map(|binding| {
        [Span::styled(format!(" {}", binding.key), theme.key()), Span::styled(format!(" {} ", binding.label), theme.dim())]
    });
    frame.render_widget(Paragraph::new(Line::from_iter(spans)), area);
}

/// What the words under the pointer ask for.
pub fn hit(state: &State, area: Rect, at: Position) -> Option<Command> {
    let mut from = area.x;
    let binding = shown(state, area.width).into_iter().find(|binding| {
        from += width(binding) as u16;
        at.x < from
    })?;
    // A key for ten steps says not which one.
    (!matches!(binding.command, Command::ToggleStep(_))).then_some(binding.command)
}

fn width(binding: &Binding) -> usize {
    columns::width(binding.key) + columns::width(binding.label) + 3
}

/// The bindings that there is room for.
fn shown(state: &State, columns: u16) -> Vec<&'static Binding> {
    let active: Vec<&Binding> = keymap::active(state.keys(), state.focus).collect();
    // A key that means something else to a place before it, as those of a replay, is named there only.
    let is_taken = |index: usize| active[..index].iter().any(|before| before.on.contains(&active[index].on[0]));
    let is_refused = |command| state.replay.is_some() && replay::refuses(command);
    let all: Vec<&Binding> = (0..active.len())
        .filter(|&index| !active[index].label.is_empty() && !is_taken(index) && !is_refused(active[index].command))
        .map(|index| active[index])
        .collect();
    let mut chosen: Vec<usize> = Vec::new();
    let mut left = columns as usize;
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|&index| rank(all[index]));
    for index in order {
        if width(all[index]) <= left {
            left -= width(all[index]);
            chosen.push(index);
        }
    }
    chosen.sort_unstable();
    chosen.into_iter().map(|index| all[index]).collect()
}

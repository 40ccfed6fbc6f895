//! One line of keys, from the key table: those of the focused pane first.
//!
//! Never names a key that does nothing.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::super::keymap::{self, Binding, Command, Scope};
use super::super::state::State;

/// Kept when there is no room for all: what a first-time user needs.
fn rank(binding: &Binding) -> u8 {
    match (binding.scope, binding.command) {
        (_, Command::Run | Command::Quit | Command::Help | Command::ToggleStep(_)) => 0,
        (_, Command::NextPane | Command::Stop) => 1,
        (Scope::Pane(_), Command::Switch | Command::Accept | Command::Left) => 2,
        (Scope::Pane(_), _) => 3,
        (_, Command::MoreRanks | Command::Continue | Command::Baseline) => 4,
        _ => 5,
    }
}

pub fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let theme = state.theme;
    let all: Vec<&Binding> = keymap::active(state.mode.kind(), state.focus).filter(|binding| !binding.label.is_empty()).collect();
    let width_of = |binding: &Binding| binding.key.chars().count() + binding.label.chars().count() + 3;
    let mut chosen: Vec<usize> = Vec::new();
    let mut left = area.width as usize;
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|&index| rank(all[index]));
    for index in order {
        let width = width_of(all[index]);
        if width <= left {
            left -= width;
            chosen.push(index);
        }
    }
    chosen.sort_unstable();
    let spans = chosen.into_iter().flat_map(|index| {
        let binding = all[index];
        [Span::styled(format!(" {}", binding.key), theme.key()), Span::styled(format!(" {} ", binding.label), theme.dim())]
    });
    frame.render_widget(Paragraph::new(Line::from_iter(spans)), area);
}

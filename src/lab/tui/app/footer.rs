//! One line of keys, from the key tables: those of the focused pane first.
//!
//! A key that does nothing now is left out; the key for help stays.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::keymap::{self, Key, Scope};
use crate::columns;
use crate::tui::actions::{Binding, Command, Pane};
use crate::tui::chart::graph::Tab;
use crate::tui::state::State;
use crate::tui::widgets::under;

/// From this rank on a key is left out rather than that the words get shorter.
const LESSER: u8 = 3;

/// Where there is no room for all, the lowest stay longest: what starts, stops, helps and ends, then what the place is for.
fn rank(key: &Key) -> u8 {
    key.binding.rank.unwrap_or(match key.scope {
        Scope::Replay => 0,
        Scope::Window => 2,
        Scope::Pane(_) | Scope::Everywhere => LESSER,
        Scope::Panes | Scope::Pages => 6,
    })
}

/// Where not all words have room.
fn short(label: &'static str) -> &'static str {
    match label {
        "choose" => "move",
        "toggle" => "on/off",
        "before/after" => "b/a",
        "before and after" => "both",
        "run before" => "before",
        "run after" => "after",
        "details" => "info",
        "compare" => "vs.",
        "delete" => "del",
        "filter" => "only",
        "search" => "find",
        "x axis" => "axis",
        "cursor" => "read",
        "measure" => "run",
        label => label,
    }
}

pub fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let theme = state.shared.theme;
    let spans = shown(state, area.width).into_iter().flat_map(|binding| {
        [Span::styled(format!(" {}", binding.key), theme.key()), Span::styled(format!(" {} ", binding.label), theme.dim())]
    });
    frame.render_widget(Line::from_iter(spans), area);
}

/// What the words under the pointer ask for.
pub fn hit(state: &State, area: Rect, at: Position) -> Option<Command> {
    let keys = shown(state, area.width).into_iter().map(|binding| (binding.command, width(&binding)));
    // A key for ten steps says not which one.
    under(area.as_position(), keys, at).filter(|command| !matches!(command, Command::ToggleStep(_)))
}

fn width(binding: &Binding) -> usize {
    columns::width(binding.key) + columns::width(binding.label) + 3
}

/// Those that there is room for: with their words, or with shorter ones where that saves one that matters.
fn shown(state: &State, columns: u16) -> Vec<Binding> {
    let (mut keys, mut left) = (named(state), usize::from(columns));
    if keys.iter().filter(|key| rank(key) < LESSER).map(|key| width(&key.binding)).sum::<usize>() > left {
        keys.iter_mut().for_each(|key| key.binding.label = short(key.binding.label));
    }
    let mut by_rank: Vec<(usize, Key)> = keys.into_iter().enumerate().collect();
    by_rank.sort_by_key(|(_, key)| rank(key));
    by_rank.retain(|(_, key)| {
        let rest = left.checked_sub(width(&key.binding));
        left = rest.unwrap_or(left);
        rest.is_some()
    });
    by_rank.sort_by_key(|(place, _)| *place);
    by_rank.into_iter().map(|(_, key)| key.binding).collect()
}

/// The keys in force that have a word, as far as they do something now.
fn named(state: &State) -> Vec<Key> {
    let active = keymap::in_force(state);
    // A key that means something else to a place before it, as those of a replay, is named there only.
    let is_taken = |index: usize| active[..index].iter().any(|before| before.binding.on.contains(&active[index].binding.on[0]));
    let named = (0..active.len()).filter(|&index| {
        let binding = &active[index].binding;
        !binding.label.is_empty() && !is_taken(index) && !is_idle(state, binding.command)
    });
    named.map(|index| active[index]).collect()
}

/// It would do nothing now, or nothing that another key does not.
fn is_idle(state: &State, command: Command) -> bool {
    let (shared, watched) = (&state.shared, &state.shared.watched);
    let window = state.windows.front();
    if shared.replay.is_some() && command.starts_or_stops() {
        return true;
    }
    if let Some(is_idle) = window.and_then(|window| window.is_idle(state, command)) {
        return is_idle;
    }
    match command {
        // As ← and → do, which are named.
        Command::Accept if window.is_none() && state.focus == Pane::Settings => state.next_run.field.is_choice(),
        Command::Accept if window.is_none() && state.focus == Pane::Runs => watched.is_none(),
        Command::Along | Command::LogScale => state.chart.tab == Tab::Timeline,
        Command::Stop => shared.going().is_none(),
        Command::Ablation => shared.spec.resources.np == 1,
        Command::Continue => watched.as_ref().is_none_or(|watched| watched.is_going()),
        Command::Baseline | Command::Details | Command::Pin | Command::Delete => watched.is_none(),
        Command::Compare => window.is_none() && watched.is_none(),
        _ => false,
    }
}

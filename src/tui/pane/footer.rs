//! One line of keys, from the key table: those of the focused pane first.
//!
//! Never names a key that does nothing, and never leaves out how to get help.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::super::keymap::{self, Binding, Command, Scope};
use super::super::log_view::{LogCommand, Prompt};
use super::super::mode::Mode;
use super::super::replay;
use super::super::state::{Pane, State};
use crate::columns;
use crate::course::Next;

/// A key with the word that there is room for.
type Entry = (&'static Binding, &'static str);

/// From this on a key is left out rather than that the words get shorter.
const LESSER: u8 = 3;

/// Kept when there is no room for all: what starts, stops, helps and ends, then what the place is for.
fn rank(binding: &Binding) -> u8 {
    use Command as C;
    match (binding.scope, binding.command) {
        (_, C::Player(_) | C::Run | C::Stop | C::Quit | C::Help | C::Back) => 0,
        (Scope::Panes, C::NextPane) => 1,
        (Scope::Pane(_), C::Switch | C::Accept | C::Left | C::Guided | C::Lesson) => 2,
        (Scope::Pane(Pane::Runs), C::Pin | C::Compare | C::Delete) => 2,
        (Scope::Pane(_), C::Filter | C::Sort | C::Along | C::ZoomIn | C::CursorLeft) => 2,
        (Scope::Pane(_), C::Last | C::Log(LogCommand::Prompt(Prompt::Search | Prompt::Filter))) => 2,
        (Scope::Window(_), _) => 2,
        (Scope::Pane(_) | Scope::Everywhere, _) => LESSER,
        (_, C::ToggleStep(_)) => 4,
        (_, C::MoreRanks | C::Continue | C::Baseline) => 5,
        _ => 6,
    }
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
        "build and run" => "run",
        "diff to the solution" => "diff",
        "details" => "info",
        "compare" => "vs.",
        "delete" => "del",
        "filter" => "only",
        "search" => "find",
        "process" => "rank",
        "x axis" => "axis",
        "cursor" => "read",
        label => label,
    }
}

pub fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let theme = state.theme;
    let spans = shown(state, area.width).into_iter().flat_map(|(binding, label)| {
        [Span::styled(format!(" {}", binding.key), theme.key()), Span::styled(format!(" {label} "), theme.dim())]
    });
    frame.render_widget(Paragraph::new(Line::from_iter(spans)), area);
}

/// What the words under the pointer ask for.
pub fn hit(state: &State, area: Rect, at: Position) -> Option<Command> {
    let mut from = area.x;
    let (binding, _) = shown(state, area.width).into_iter().find(|entry| {
        from += width(entry) as u16;
        at.x < from
    })?;
    // A key for ten steps says not which one.
    (!matches!(binding.command, Command::ToggleStep(_))).then_some(binding.command)
}

fn width((binding, label): &Entry) -> usize {
    columns::width(binding.key) + columns::width(label) + 3
}

/// The bindings that there is room for: with their words, or with shorter ones where that saves one that matters.
fn shown(state: &State, columns: u16) -> Vec<Entry> {
    let columns = columns as usize;
    let all = named(state);
    let matter = all.iter().filter(|entry| rank(entry.0) < LESSER).map(width).sum::<usize>();
    let all: Vec<Entry> = match matter <= columns {
        true => all,
        false => all.into_iter().map(|(binding, label)| (binding, short(label))).collect(),
    };
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|&index| rank(all[index].0));
    let (mut chosen, mut left) = (Vec::new(), columns);
    for index in order {
        if width(&all[index]) <= left {
            left -= width(&all[index]);
            chosen.push(index);
        }
    }
    chosen.sort_unstable();
    chosen.into_iter().map(|index| all[index]).collect()
}

/// The bindings in force that have a word, as far as they do something now.
fn named(state: &State) -> Vec<Entry> {
    let active: Vec<&Binding> = keymap::active(state.keys(), state.focus).collect();
    // A key that means something else to a place before it, as those of a replay, is named there only.
    let is_taken = |index: usize| active[..index].iter().any(|before| before.on.contains(&active[index].on[0]));
    let is_idle = |binding: &Binding| match binding.command {
        command if state.replay.is_some() && replay::refuses(command) => true,
        Command::Reset => matches!(state.mode, Mode::Diff { mine: false, .. }),
        Command::Stop if binding.scope == Scope::Panes => state.going().is_none(),
        // The window of runs that take turns.
        Command::Stop => state.next_turn() == Next::Over,
        Command::Continue => state.watched.as_ref().is_none_or(|watched| watched.is_going()),
        Command::Compare | Command::Baseline | Command::Details | Command::Pin | Command::Delete => state.watched.is_none(),
        _ => false,
    };
    let named = (0..active.len()).filter(|&index| !active[index].label.is_empty() && !is_taken(index) && !is_idle(active[index]));
    named.map(|index| (active[index], active[index].label)).collect()
}

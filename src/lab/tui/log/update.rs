//! What the keys of the log do.

use super::ask::ask;
use super::read::{read, turn_to};
use super::state::{Log, tabs};
use crate::runs::{Jump, Place};
use crate::tui::actions::{Action, Command, Effect, LogOrder, Move, TerminalOrder, cycle};
use crate::tui::shared::Shared;
use crate::tui::state::State;

/// Lines that can be marked: what a clipboard takes, and a page holds.
const MOST_MARKED: usize = 500;

pub fn update(state: &mut State, command: Command) -> Vec<Action> {
    let State { log, shared, windows, .. } = state;
    match command {
        Command::Move(Move::Left | Move::Right) => {
            let tabs = tabs(shared);
            let step = if command == Command::Move(Move::Right) { 1 } else { tabs.len() - 1 };
            return turn_to(log, shared, cycle(&tabs, log.tab, step));
        }
        Command::Move(by) if log.marked.is_some() => mark(log, shared, by),
        Command::Move(by) => scroll(log, shared, by),
        Command::Prompt(prompt) => {
            windows.show(ask(log, prompt));
            return Vec::new();
        }
        command => return own(log, shared, command),
    }
    // Even if the page has these lines: the reader must know what to read when new lines come.
    read(log, shared, None)
}

fn scroll(log: &mut Log, shared: &Shared, by: Move) {
    let (width, height) = log.room(shared);
    let (top, last) = (log.visible(width, height).start, log.last_top(width, height));
    let to = by.by_pages(top, last + 1, height.saturating_sub(1).max(1)).min(last);
    // Down from the last screen follows again; a screen that shows all has nowhere to go.
    let follows = to == last && matches!(by, Move::Down | Move::PageDown | Move::Last);
    log.place = if follows || last == 0 { Place::End } else { Place::Line(to) };
}

/// Moves the end of the marked lines, and the view with it.
fn mark(log: &mut Log, shared: &Shared, by: Move) {
    let (width, height) = log.room(shared);
    let Some((from, at)) = log.marked else { return };
    let visible = log.visible(width, height);
    let to = by.by_pages(at, log.page.shown, height);
    let to = to.clamp(from.saturating_sub(MOST_MARKED - 1), from + MOST_MARKED - 1).min(log.page.shown.saturating_sub(1));
    log.marked = Some((from, to));
    // No further than is needed to see it.
    log.place = Place::Line(to.min(visible.start + (to + 1).saturating_sub(visible.end)));
}

fn own(log: &mut Log, shared: &mut Shared, command: Command) -> Vec<Action> {
    let (width, height) = log.room(shared);
    let visible = log.visible(width, height);
    match command {
        Command::NextMatch | Command::PreviousMatch if log.search.is_none() => shared.inform("no search yet: / starts one"),
        Command::NextMatch => {
            let from = log.found.map_or(visible.start, |found| found.line + 1);
            return read(log, shared, Some(Jump::Forward(from)));
        }
        Command::PreviousMatch => {
            let from = log.found.map_or(visible.end, |found| found.line);
            return read(log, shared, Some(Jump::Back(from)));
        }
        Command::Wrap => {
            // The line on top stays there.
            if log.place != Place::End {
                log.place = Place::Line(visible.start);
            }
            log.cuts = !log.cuts;
            log.left = 0;
        }
        Command::Leftwards | Command::Rightwards if !log.cuts => {
            shared.inform("these lines are wrapped: W cuts them, then , and . scroll sideways");
        }
        Command::Leftwards | Command::Rightwards => {
            log.turn_sideways(command == Command::Rightwards, width, height);
        }
        Command::Times => log.shows_times = !log.shows_times,
        Command::Mark => {
            let last = visible.end.checked_sub(1).filter(|_| log.marked.is_none());
            log.marked = last.map(|last| (last, last));
            if log.marked.is_some() {
                // The row that counts the marked lines takes one off the end.
                log.place = Place::Line(visible.start + height.saturating_sub(log.room(shared).1));
                return read(log, shared, None);
            }
        }
        Command::Copy => return copy(log, shared),
        Command::Save => match &shared.watched {
            Some(watched) => {
                let name = format!("run-{}-{}", watched.id, log.tab.name());
                return vec![Effect::Log(watched.id, LogOrder::Save(log.query(), name)).into()];
            }
            None => shared.inform("no log to save yet: r starts a run"),
        },
        _ => {}
    }
    Vec::new()
}

/// The marked lines, else those on the screen.
fn copy(log: &mut Log, shared: &mut Shared) -> Vec<Action> {
    let (width, height) = log.room(shared);
    let lines = log.marked_lines().unwrap_or_else(|| log.visible(width, height));
    let texts: Vec<&str> = lines.filter_map(|line| Some(log.line(line)?.text.as_str())).collect();
    if texts.is_empty() {
        return shared.refuse("no lines to copy");
    }
    let text = texts.join("\n") + "\n";
    log.marked = None;
    vec![Effect::Terminal(TerminalOrder::Copy(text)).into()]
}

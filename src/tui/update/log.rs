//! What the keys of the log do, and what becomes of a page that was read.
//!
//! Never hides a line by searching: a search finds, a filter hides.

use super::super::ask::Ask;
use super::super::effect::Effect;
use super::super::keymap::Command;
use super::super::log_view::{LogCommand, LogTab, Prompt, tabs};
use super::super::pane::log::room;
use super::super::state::{Pane, State};
use super::ask;
use crate::runs::{Jump, LogFilter, LogPage, Pattern, Place, RunId};

/// Lines that can be marked: what a clipboard takes, and a page holds.
const MOST_MARKED: usize = 500;

pub fn obey(state: &mut State, command: Command) -> Vec<Effect> {
    match command {
        Command::Left | Command::Right => {
            let tabs = tabs(state);
            let place = tabs.iter().position(|tab| *tab == state.log.tab).unwrap_or(0);
            let step = if command == Command::Right { 1 } else { tabs.len() - 1 };
            return turn_to(state, tabs[(place + step) % tabs.len()]);
        }
        Command::Log(command) => return own(state, command),
        _ if state.log.marked.is_some() => mark(state, command),
        _ => scroll(state, command),
    }
    // Also where the page has these lines: whoever reads must know what to read when new lines come.
    read(state, None)
}

/// Shows a tab from its end.
pub fn turn_to(state: &mut State, tab: LogTab) -> Vec<Effect> {
    state.log.tab = tab;
    (state.log.place, state.log.found, state.log.marked) = (Place::End, None, None);
    read(state, None)
}

fn scroll(state: &mut State, command: Command) {
    let (width, height) = room(state);
    let log = &mut state.log;
    let (top, last) = (log.visible(width, height).start, log.last_top(width, height));
    let page = height.saturating_sub(1).max(1);
    let to = match command {
        Command::Up => top.saturating_sub(1),
        Command::PageUp => top.saturating_sub(page),
        Command::First => 0,
        Command::Down => top + 1,
        Command::PageDown => top + page,
        _ => usize::MAX,
    };
    // Down from the last screen follows again; a screen that shows all has nowhere to go.
    let downwards = matches!(command, Command::Down | Command::PageDown) && to >= last;
    log.place = if to == usize::MAX || downwards || last == 0 { Place::End } else { Place::Line(to.min(last)) };
}

/// Moves the end of the marked lines, and the view with it.
fn mark(state: &mut State, command: Command) {
    let (width, height) = room(state);
    let log = &mut state.log;
    let Some((from, at)) = log.marked else { return };
    let visible = log.visible(width, height);
    let to = match command {
        Command::Up => at.saturating_sub(1),
        Command::Down => at + 1,
        Command::PageUp => at.saturating_sub(height),
        Command::PageDown => at + height,
        Command::First => 0,
        _ => usize::MAX,
    };
    let to = to.clamp(from.saturating_sub(MOST_MARKED - 1), from + MOST_MARKED - 1).min(log.page.shown.saturating_sub(1));
    log.marked = Some((from, to));
    if to < visible.start {
        log.place = Place::Line(to);
    } else if to >= visible.end {
        log.place = Place::Line(visible.start + (to + 1 - visible.end));
    } else {
        log.place = Place::Line(visible.start);
    }
}

fn own(state: &mut State, command: LogCommand) -> Vec<Effect> {
    let (width, height) = room(state);
    let visible = state.log.visible(width, height);
    match command {
        LogCommand::Prompt(prompt) => {
            let log = &state.log;
            let filter = |inverse| log.filter.as_ref().filter(|filter| filter.inverse == inverse).map(|filter| &filter.pattern);
            let pattern = match prompt {
                Prompt::Search => log.search.as_ref(),
                Prompt::Filter => filter(false),
                Prompt::InverseFilter => filter(true),
            };
            let regex = pattern.is_some_and(Pattern::is_regex);
            let text = pattern.map(|pattern| pattern.text().to_owned()).unwrap_or_default();
            ask::open(state, Ask::Log { prompt, regex }, text);
        }
        LogCommand::NextMatch | LogCommand::PreviousMatch if state.log.search.is_none() => {
            state.inform("nothing searched for yet: / searches")
        }
        LogCommand::NextMatch => {
            let from = state.log.found.map_or(visible.start, |found| found.line + 1);
            return read(state, Some(Jump::Forward(from)));
        }
        LogCommand::PreviousMatch => {
            let from = state.log.found.map_or(visible.end, |found| found.line);
            return read(state, Some(Jump::Back(from)));
        }
        LogCommand::Wrap => {
            // The line on top stays there.
            if state.log.place != Place::End {
                state.log.place = Place::Line(visible.start);
            }
            state.log.wraps = !state.log.wraps;
            state.log.left = 0;
        }
        LogCommand::Leftwards | LogCommand::Rightwards if state.log.wraps => {
            state.inform("these lines are wrapped: W cuts them, then , and . scroll sideways");
        }
        LogCommand::Leftwards | LogCommand::Rightwards => {
            state.log.turn_sideways(command == LogCommand::Rightwards, width, height);
        }
        LogCommand::Times => state.log.shows_times = !state.log.shows_times,
        LogCommand::Mark => {
            let rows_before = height;
            state.log.marked = match state.log.marked {
                Some(_) => None,
                None => visible.end.checked_sub(1).map(|last| (last, last)),
            };
            if state.log.marked.is_some() {
                // The row that counts the marked lines takes one off the end.
                state.log.place = Place::Line(visible.start + rows_before.saturating_sub(room(state).1));
                return read(state, None);
            }
        }
        LogCommand::Copy => return copy(state),
        LogCommand::Save => match &state.watched {
            Some(watched) => {
                let (run, name) = (watched.id, format!("run-{}-{}", watched.id, state.log.tab.name()));
                return vec![Effect::SaveLog { run, query: state.log.query(), name }];
            }
            None => state.inform("no log to save yet: r starts a run"),
        },
    }
    Vec::new()
}

/// The marked lines, else those on the screen.
fn copy(state: &mut State) -> Vec<Effect> {
    let (width, height) = room(state);
    let lines = state.log.marked_lines().unwrap_or_else(|| state.log.visible(width, height));
    let texts: Vec<&str> = lines.filter_map(|line| Some(state.log.line(line)?.text.as_str())).collect();
    if texts.is_empty() {
        state.inform("no lines to copy");
        return Vec::new();
    }
    let text = texts.join("\n") + "\n";
    state.log.marked = None;
    vec![Effect::Copy(text)]
}

/// Searches or filters the log; by nothing shows all again.
pub fn look_for(state: &mut State, prompt: Prompt, pattern: Option<Pattern>) -> Vec<Effect> {
    let (width, height) = room(state);
    let visible = state.log.visible(width, height);
    let log = &mut state.log;
    log.found = None;
    let jump = match prompt {
        Prompt::Search => {
            log.search = pattern;
            // At the end the last match is the nearest; elsewhere the next below the first row.
            let nearest = if log.place == Place::End { Jump::Back(usize::MAX) } else { Jump::Forward(visible.start) };
            log.search.is_some().then_some(nearest)
        }
        Prompt::Filter | Prompt::InverseFilter => {
            // Where one was, as far as it is still shown.
            if let (Place::Line(_), Some(line)) = (log.place, log.line(visible.start)) {
                log.place = Place::Number(line.number);
            }
            log.filter = pattern.map(|pattern| LogFilter { pattern, inverse: prompt == Prompt::InverseFilter });
            log.marked = None;
            None
        }
    };
    read(state, jump)
}

/// Ends the marking or the search; false where there is neither.
pub fn back(state: &mut State) -> Option<Vec<Effect>> {
    if state.focus != Pane::Log {
        return None;
    }
    if state.log.marked.take().is_some() {
        return Some(Vec::new());
    }
    state.log.search.take()?;
    state.log.found = None;
    Some(read(state, None))
}

/// Takes what was read for the log of a run.
pub fn take(state: &mut State, run: RunId, page: LogPage) {
    if state.watched.as_ref().is_none_or(|watched| watched.id != run) {
        return;
    }
    let jumped = page.jumped;
    let (width, height) = room(state);
    let before = state.log.visible(width, height);
    let was_current = state.log.page.query.source == page.query.source && state.log.page.query.filter == page.query.filter;
    if !state.log.take(page) {
        return;
    }
    if let Some(found) = jumped {
        // A match on the screen moves nothing; any other shows with what stands before it.
        let top = match was_current && before.contains(&found.line) && before.end - before.start > 1 {
            true => before.start,
            false => found.line.saturating_sub(height / 3),
        };
        state.log.place = Place::Line(top);
        state.log.reveal(found.line, width);
    }
}

/// Asks for the page of the log as it shall be now.
pub fn read(state: &mut State, jump: Option<Jump>) -> Vec<Effect> {
    let (_, height) = room(state);
    match &state.watched {
        Some(watched) => {
            // Of a recording that is played, what was printed until then.
            let played = state.replay.as_ref().filter(|replay| replay.run == watched.id);
            let until_ms = played.map(|replay| (replay.position.time_s * 1e3) as u64);
            vec![Effect::ReadLog(watched.id, state.log.request(height.max(24), jump, until_ms))]
        }
        None => Vec::new(),
    }
}

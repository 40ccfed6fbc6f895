//! What the keys of the log do, and what becomes of a page that was read.
//!
//! Never hides a line by searching: a search finds, a filter hides.

use super::keys::{Command, Prompt};
use super::room::room;
use super::state::{Log, LogTab, tabs};
use super::windows::Ask;
use crate::runs::{Jump, LogFilter, LogPage, Pattern, Place, RunId};
use crate::tui::actions::action::Action;
use crate::tui::actions::effect::Effect;
use crate::tui::actions::keys::Move;
use crate::tui::shared::state::Shared;

/// Lines that can be marked: what a clipboard takes, and a page holds.
const MOST_MARKED: usize = 500;

pub fn update(log: &mut Log, shared: &mut Shared, command: Command) -> Vec<Action> {
    match command {
        Command::Move(Move::Left | Move::Right) => {
            let tabs = tabs(shared);
            let place = tabs.iter().position(|tab| *tab == log.tab).unwrap_or(0);
            let step = if command == Command::Move(Move::Right) { 1 } else { tabs.len() - 1 };
            return turn_to(log, shared, tabs[(place + step) % tabs.len()]);
        }
        Command::Move(by) if log.marked.is_some() => mark(log, shared, by),
        Command::Move(by) => scroll(log, shared, by),
        command => return own(log, shared, command),
    }
    // Even if the page has these lines: the reader must know what to read when new lines come.
    read(log, shared, None)
}

/// Shows a tab from its end.
pub fn turn_to(log: &mut Log, shared: &Shared, tab: LogTab) -> Vec<Action> {
    log.tab = tab;
    (log.place, log.found, log.marked) = (Place::End, None, None);
    read(log, shared, None)
}

fn scroll(log: &mut Log, shared: &Shared, by: Move) {
    let (width, height) = room(log, shared);
    let (top, last) = (log.visible(width, height).start, log.last_top(width, height));
    let page = height.saturating_sub(1).max(1);
    let to = match by {
        Move::Up => top.saturating_sub(1),
        Move::PageUp => top.saturating_sub(page),
        Move::First => 0,
        Move::Down => top + 1,
        Move::PageDown => top + page,
        _ => usize::MAX,
    };
    // Down from the last screen follows again; a screen that shows all has nowhere to go.
    let downwards = matches!(by, Move::Down | Move::PageDown) && to >= last;
    log.place = if to == usize::MAX || downwards || last == 0 { Place::End } else { Place::Line(to.min(last)) };
}

/// Moves the end of the marked lines, and the view with it.
fn mark(log: &mut Log, shared: &Shared, by: Move) {
    let (width, height) = room(log, shared);
    let Some((from, at)) = log.marked else { return };
    let visible = log.visible(width, height);
    let to = match by {
        Move::Up => at.saturating_sub(1),
        Move::Down => at + 1,
        Move::PageUp => at.saturating_sub(height),
        Move::PageDown => at + height,
        Move::First => 0,
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

fn own(log: &mut Log, shared: &mut Shared, command: Command) -> Vec<Action> {
    let (width, height) = room(log, shared);
    let visible = log.visible(width, height);
    match command {
        Command::Prompt(prompt) => {
            let filter = |inverse| log.filter.as_ref().filter(|filter| filter.inverse == inverse).map(|filter| &filter.pattern);
            let pattern = match prompt {
                Prompt::Search => log.search.as_ref(),
                Prompt::Filter => filter(false),
                Prompt::InverseFilter => filter(true),
            };
            let regex = pattern.is_some_and(Pattern::is_regex);
            let text = pattern.map(|pattern| pattern.text().to_owned()).unwrap_or_default();
            log.window = Some(Ask { prompt, regex, text, error: None, before: log.search.clone(), from: log.place }.into());
        }
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
            log.wraps = !log.wraps;
            log.left = 0;
        }
        Command::Leftwards | Command::Rightwards if log.wraps => {
            shared.inform("these lines are wrapped: W cuts them, then , and . scroll sideways");
        }
        Command::Leftwards | Command::Rightwards => {
            log.turn_sideways(command == Command::Rightwards, width, height);
        }
        Command::Times => log.shows_times = !log.shows_times,
        Command::Mark => {
            let rows_before = height;
            log.marked = match log.marked {
                Some(_) => None,
                None => visible.end.checked_sub(1).map(|last| (last, last)),
            };
            if log.marked.is_some() {
                // The row that counts the marked lines takes one off the end.
                log.place = Place::Line(visible.start + rows_before.saturating_sub(room(log, shared).1));
                return read(log, shared, None);
            }
        }
        Command::Copy => return copy(log, shared),
        Command::Save => match &shared.watched {
            Some(watched) => {
                let (run, name) = (watched.id, format!("run-{}-{}", watched.id, log.tab.name()));
                return vec![Effect::SaveLog { run, query: log.query(), name }.into()];
            }
            None => shared.inform("no log to save yet: r starts a run"),
        },
        // Of the line that is typed.
        Command::Move(_) | Command::Type(_) | Command::Regex | Command::Accept | Command::Back => {}
    }
    Vec::new()
}

/// The marked lines, else those on the screen.
fn copy(log: &mut Log, shared: &mut Shared) -> Vec<Action> {
    let (width, height) = room(log, shared);
    let lines = log.marked_lines().unwrap_or_else(|| log.visible(width, height));
    let texts: Vec<&str> = lines.filter_map(|line| Some(log.line(line)?.text.as_str())).collect();
    if texts.is_empty() {
        shared.inform("no lines to copy");
        return Vec::new();
    }
    let text = texts.join("\n") + "\n";
    log.marked = None;
    vec![Effect::Copy(text).into()]
}

/// Searches or filters the log; by nothing shows all again.
pub fn look_for(log: &mut Log, shared: &Shared, prompt: Prompt, pattern: Option<Pattern>) -> Vec<Action> {
    let (width, height) = room(log, shared);
    let visible = log.visible(width, height);
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
    read(log, shared, jump)
}

/// Ends the marking or the search; false where there is neither.
pub fn back(log: &mut Log, shared: &Shared) -> Option<Vec<Action>> {
    if log.marked.take().is_some() {
        return Some(Vec::new());
    }
    log.search.take()?;
    log.found = None;
    Some(read(log, shared, None))
}

/// Takes what was read for the log of a run.
pub fn take(log: &mut Log, shared: &Shared, run: RunId, page: LogPage) {
    if shared.watched.as_ref().is_none_or(|watched| watched.id != run) {
        return;
    }
    let jumped = page.jumped;
    let (width, height) = room(log, shared);
    let before = log.visible(width, height);
    let was_current = log.page.query.source == page.query.source && log.page.query.filter == page.query.filter;
    if !log.take(page) {
        return;
    }
    if let Some(found) = jumped {
        // A match on the screen moves nothing; any other shows with what stands before it.
        let top = match was_current && before.contains(&found.line) && before.end - before.start > 1 {
            true => before.start,
            false => found.line.saturating_sub(height / 3),
        };
        log.place = Place::Line(top);
        log.reveal(found.line, width);
    }
}

/// Asks for the page that the log should show now.
pub fn read(log: &mut Log, shared: &Shared, jump: Option<Jump>) -> Vec<Action> {
    let (_, height) = room(log, shared);
    match &shared.watched {
        Some(watched) => {
            // Of a recording that is played, what was printed until then.
            let played = shared.replay.as_ref().filter(|replay| replay.run == watched.id);
            let until_ms = played.map(|replay| (replay.position.time_s * 1e3) as u64);
            vec![Effect::ReadLog(watched.id, log.request(height.max(24), jump, until_ms)).into()]
        }
        None => Vec::new(),
    }
}

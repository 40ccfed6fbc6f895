//! Which page of the log is read, what is searched for in it, and what becomes of a page that was read.
//!
//! Never hides a line by searching: a search finds, a filter hides.

use super::state::{Log, LogTab};
use crate::runs::{Jump, LogFilter, LogPage, Pattern, Place, RunId};
use crate::tui::actions::{Action, Effect, LogOrder, Prompt};
use crate::tui::shared::Shared;

/// Shows a tab from its end.
pub fn turn_to(log: &mut Log, shared: &Shared, tab: LogTab) -> Vec<Action> {
    log.tab = tab;
    (log.place, log.found, log.marked) = (Place::End, None, None);
    read(log, shared, None)
}

/// Searches or filters the log; by nothing shows all again.
pub fn look_for(log: &mut Log, shared: &Shared, prompt: Prompt, pattern: Option<Pattern>) -> Vec<Action> {
    let (width, height) = log.room(shared);
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

/// Ends the marking, the search or the filter; `None` where there is none of them.
pub fn back(log: &mut Log, shared: &Shared) -> Option<Vec<Action>> {
    if log.marked.take().is_some() {
        return Some(Vec::new());
    }
    if log.search.take().is_some() {
        log.found = None;
        return Some(read(log, shared, None));
    }
    log.filter.as_ref()?;
    Some(look_for(log, shared, Prompt::Filter, None))
}

/// Takes what was read for the log of a run.
pub fn take(log: &mut Log, shared: &Shared, run: RunId, page: LogPage) {
    if shared.watched.as_ref().is_none_or(|watched| watched.id != run) {
        return;
    }
    let jumped = page.jumped;
    let (width, height) = log.room(shared);
    let before = log.visible(width, height);
    let was_current = log.page.query.source == page.query.source && log.page.query.filter == page.query.filter;
    if !log.take(page) {
        return;
    }
    if let Some(found) = jumped {
        // A match on the screen moves nothing; any other shows with what stands before it.
        let is_in_sight = was_current && before.contains(&found.line) && before.end - before.start > 1;
        log.place = Place::Line(if is_in_sight { before.start } else { found.line.saturating_sub(height / 3) });
        log.reveal(found.line, width);
    }
}

/// Asks for the page that the log should show now.
pub fn read(log: &mut Log, shared: &Shared, jump: Option<Jump>) -> Vec<Action> {
    let (_, height) = log.room(shared);
    match &shared.watched {
        Some(watched) => {
            // Of a recording that is played, what was printed until then.
            let played = shared.replay.as_ref().filter(|replay| replay.run == watched.id);
            let until_ms = played.map(|replay| (replay.position.time_s * 1e3) as u64);
            vec![Effect::Log(watched.id, LogOrder::Read(log.request(height.max(24), jump, until_ms))).into()]
        }
        None => Vec::new(),
    }
}

//! The runs pane: choose, filter, sort, name, delete, compare, export.
//!
//! Never touches a folder: what is to be done there goes out as an effect.

use std::path::Path;

use super::super::ask::Ask;
use super::super::effect::Effect;
use super::super::keymap::Command;
use super::super::mode::Mode;
use super::super::pane::runs::order_of;
use super::super::runs_view::{Change, Changed};
use super::super::state::State;
use super::ask;
use super::command::moved;
use super::watch;
use crate::runs::export::Format;
use crate::runs::{RunId, RunSummary, SortKey};

pub fn obey(state: &mut State, command: Command) -> Vec<Effect> {
    match command {
        Command::Filter => {
            let text = state.runs_view.filter.text().to_owned();
            ask::open(state, Ask::FilterRuns { before: text.clone() }, text);
        }
        Command::Sort => {
            (state.runs_view.sort, state.runs_view.reverse) = (state.runs_view.sort.next(), false);
        }
        Command::Reverse => state.runs_view.reverse = !state.runs_view.reverse,
        Command::Published => state.runs_view.published = !state.runs_view.published,
        Command::Name | Command::Note => annotate(state, command),
        Command::Delete => delete(state),
        Command::Undo => return vec![Effect::Change(Change::Undo(state.runs_view.undo()))],
        Command::Compare => compare(state),
        Command::Export => export(state),
        _ => return choose(state, command),
    }
    Vec::new()
}

/// By the column with this title, best first; the other way round where it is so already.
pub fn sort_by(state: &mut State, title: &str) {
    let view = &mut state.runs_view;
    match order_of(title) {
        Some(order) => (view.sort, view.reverse) = (order, view.sort == order && !view.reverse),
        None => {
            let orders: Vec<&str> = SortKey::ALL.into_iter().map(SortKey::name).collect();
            state.inform(format!("runs are not sorted by {title}, but by {}", orders.join(", ")));
        }
    }
}

fn choose(state: &mut State, command: Command) -> Vec<Effect> {
    let shown: Vec<RunId> = state.runs_view.shown(&state.runs).into_iter().map(|run| run.id).collect();
    let chosen = state.watched.as_ref().map(|watched| watched.id);
    let place = shown.iter().position(|id| Some(*id) == chosen);
    // Where the filter hides the chosen run the first one is next, whichever way one goes.
    let to = place.map_or(if command == Command::Last { shown.len().saturating_sub(1) } else { 0 }, |place| {
        moved(place, shown.len(), command)
    });
    match shown.get(to).filter(|id| Some(**id) != chosen) {
        Some(run) => watch(state, *run),
        None => Vec::new(),
    }
}

fn chosen(state: &mut State) -> Option<RunSummary> {
    let run = state.watched.as_ref().and_then(|watched| state.summary(watched.id)).cloned();
    if run.is_none() {
        state.inform("no run yet: r starts one");
    }
    run
}

fn annotate(state: &mut State, command: Command) {
    let Some(run) = chosen(state) else { return };
    let Some(record) = run.record else {
        return state.error(format!("the record of run {} cannot be read, so it takes no name and no note", run.id));
    };
    let (ask, text) = match command {
        Command::Name => (Ask::Name(run.id), record.name),
        _ => (Ask::Note(run.id), record.note),
    };
    ask::open(state, ask, text.unwrap_or_default());
}

fn delete(state: &mut State) {
    let Some(run) = chosen(state) else { return };
    match state.run_state(&run).is_over() {
        true => state.mode = Mode::ConfirmDelete { run: run.id },
        false => state.inform(format!("run {} is still going: x stops it, then it can be deleted", run.id)),
    }
}

pub fn compare(state: &mut State) {
    let Some(run) = chosen(state) else { return };
    match state.baseline() {
        Some(_) => state.mode = Mode::Compare { run: run.id, scroll: 0 },
        None => state.inform("nothing to compare with yet: no run has measured images/s"),
    }
}

fn export(state: &mut State) {
    match state.baseline() {
        Some(_) => ask::open(state, Ask::Export, "runs.md".into()),
        None => state.inform("nothing to export yet: no run has measured images/s"),
    }
}

/// A line of this pane was typed to its end.
pub fn answered(state: &mut State, ask: &Ask, text: &str) -> Result<Vec<Effect>, String> {
    match ask {
        Ask::Name(run) => Ok(vec![Effect::Change(Change::Name(*run, text.to_owned()))]),
        Ask::Note(run) => Ok(vec![Effect::Change(Change::Note(*run, text.to_owned()))]),
        Ask::Export => {
            let file = text.trim().to_owned();
            Format::of(Path::new(&file)).map(|_| write(state, file))
        }
        _ => Ok(first_that_fits(state)),
    }
}

/// A filter that hides the chosen run chooses another.
fn first_that_fits(state: &mut State) -> Vec<Effect> {
    let chosen = state.watched.as_ref().map(|watched| watched.id);
    let shown = state.runs_view.shown(&state.runs);
    match shown.first().map(|run| run.id) {
        Some(first) if !shown.iter().any(|run| Some(run.id) == chosen) => watch(state, first),
        _ => Vec::new(),
    }
}

fn write(state: &State, file: String) -> Vec<Effect> {
    let Some(baseline) = state.baseline().map(|run| run.id) else { return Vec::new() };
    let runs = state.runs_view.shown(&state.runs).into_iter().map(|run| run.id).collect();
    vec![Effect::Change(Change::Export { file, runs, baseline, published: state.runs_view.published })]
}

/// A change has been made.
pub fn changed(state: &mut State, changed: Changed) -> Vec<Effect> {
    state.inform(changed.text);
    if let Some(undo) = changed.undo {
        state.runs_view.remember(undo);
    }
    let mut effects = changed.show.map_or_else(Vec::new, |run| watch(state, run));
    effects.push(Effect::ListRuns);
    effects
}

/// The run on the screen was deleted, here or elsewhere: its neighbour takes its place, and windows about it close.
pub fn replace_deleted(state: &mut State, before: &[RunSummary]) -> Vec<Effect> {
    let Some(watched) = &state.watched else { return Vec::new() };
    let (gone, is_over) = (watched.id, !watched.is_going());
    let was_there = before.iter().any(|run| run.id == gone);
    // One that has just been started is not in the list yet.
    if !(was_there && is_over) || state.summary(gone).is_some() {
        return Vec::new();
    }
    if state.mode.run().is_some_and(|run| state.summary(run).is_none()) {
        state.mode = Mode::Normal;
    }
    match state.runs_view.neighbour(before, gone, &state.runs) {
        Some(run) => watch(state, run),
        None => {
            state.watched = None;
            Vec::new()
        }
    }
}

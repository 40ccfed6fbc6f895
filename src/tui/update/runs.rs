//! The runs pane: choose, filter, sort, name, delete, compare, export.
//!
//! Never touches a folder: what is to be done there goes out as an effect.

use std::path::Path;

use super::super::effect::Effect;
use super::super::keymap::Command;
use super::super::mode::Mode;
use super::super::runs_view::{Ask, Change, Changed};
use super::super::state::State;
use super::command::moved;
use super::typed;
use super::watch;
use crate::runs::export::Format;
use crate::runs::{Filter, RunId, RunSummary};

pub fn obey(state: &mut State, command: Command) -> Vec<Effect> {
    match command {
        Command::Filter => {
            let text = state.runs_view.filter.text().to_owned();
            state.mode = Mode::Ask { ask: Ask::Filter { before: text.clone() }, text, error: None };
        }
        Command::Sort => {
            (state.runs_view.sort, state.runs_view.reverse) = (state.runs_view.sort.next(), false);
        }
        Command::Reverse => state.runs_view.reverse = !state.runs_view.reverse,
        Command::Published => state.runs_view.published = !state.runs_view.published,
        Command::Name | Command::Note => annotate(state, command),
        Command::Delete => delete(state),
        Command::Undo => return vec![Effect::Change(Change::Undo)],
        Command::Compare => compare(state),
        Command::Export => export(state),
        _ => return choose(state, command),
    }
    Vec::new()
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
    state.mode = Mode::Ask { ask, text: text.unwrap_or_default(), error: None };
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
        Some(_) => state.mode = Mode::Ask { ask: Ask::Export, text: "runs.md".into(), error: None },
        None => state.inform("nothing to export yet: no run has measured images/s"),
    }
}

/// A line is being typed.
pub fn ask(state: &mut State, ask: Ask, mut text: String, command: Command) -> Vec<Effect> {
    match (command, &ask) {
        (Command::Back, Ask::Filter { before }) => {
            state.runs_view.filter = Filter::new(before);
            return Vec::new();
        }
        (Command::Back, _) => return Vec::new(),
        (Command::Accept, Ask::Filter { .. }) => return first_that_fits(state),
        (Command::Accept, Ask::Name(run)) => return vec![Effect::Change(Change::Name(*run, text))],
        (Command::Accept, Ask::Note(run)) => return vec![Effect::Change(Change::Note(*run, text))],
        (Command::Accept, Ask::Export) => {
            let file = text.trim().to_owned();
            return match Format::of(Path::new(&file)) {
                Ok(_) => write(state, file),
                Err(error) => {
                    state.mode = Mode::Ask { ask, text, error: Some(error) };
                    Vec::new()
                }
            };
        }
        (command, _) => typed::edit(&mut text, command, usize::MAX),
    }
    if let Ask::Filter { .. } = ask {
        state.runs_view.filter = Filter::new(&text);
    }
    state.mode = Mode::Ask { ask, text, error: None };
    Vec::new()
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

//! What the keys of the table of runs do, and what becomes of a run that was changed or deleted.

use super::state::{Runs, chosen, order_of};
use super::{ask, confirm, details};
use crate::runs::{RunId, RunSummary, SortKey};
use crate::tui::actions::{Action, Change, Changed, Command, Effect, Move};
use crate::tui::shared::{Shared, is_of_collectives, repeatable};
use crate::tui::state::State;

pub fn update(state: &mut State, command: Command) -> Vec<Action> {
    let State { runs, shared, .. } = state;
    match command {
        Command::Move(by) => return choose(runs, shared, by),
        Command::Pin => return if shared.toggle_pin() { vec![Action::RefreshChart] } else { Vec::new() },
        Command::Filter => ask::filter(state),
        Command::Sort => (runs.sort, runs.reverse) = (runs.sort.next(), false),
        Command::Reverse => runs.reverse = !runs.reverse,
        Command::Published => runs.published = !runs.published,
        Command::Name | Command::Note => ask::annotate(state, command),
        Command::Delete => confirm::delete(state),
        Command::Undo => return vec![Effect::Change(Change::Undo(Box::new(runs.undo()))).into()],
        Command::Export => ask::export(state),
        Command::Again => return again(shared),
        // Messages and times, rather than a page.
        Command::Accept if shared.summary_on_screen().is_some_and(is_of_collectives) => return vec![Action::Collectives],
        Command::Accept => return details::open(state),
        _ => {}
    }
    Vec::new()
}

/// By the column with this title, best first; the other way round where it is so already.
pub fn sort_by(runs: &mut Runs, shared: &mut Shared, title: &str) {
    match order_of(title) {
        Some(order) => (runs.sort, runs.reverse) = (order, runs.sort == order && !runs.reverse),
        None => {
            shared.inform(format!("runs are not sorted by {title}, but by {}", SortKey::names()));
        }
    }
}

fn choose(runs: &Runs, shared: &Shared, by: Move) -> Vec<Action> {
    let shown: Vec<RunId> = runs.shown(&shared.runs).into_iter().map(|run| run.id).collect();
    let chosen = shared.watched.as_ref().map(|watched| watched.id);
    let place = shown.iter().position(|id| Some(*id) == chosen);
    // Where the filter hides the chosen run the first one is next, whichever way one goes.
    let first = if by == Move::Last { shown.len().saturating_sub(1) } else { 0 };
    let to = place.map_or(first, |place| by.within(place, shown.len()));
    shown.get(to).filter(|id| Some(**id) != chosen).map(|run| Action::Watch(*run)).into_iter().collect()
}

/// The form with the settings of the chosen run, to change some and start it again.
fn again(shared: &mut Shared) -> Vec<Action> {
    let Some(run) = chosen(shared) else { return Vec::new() };
    let wanted = repeatable(&run);
    match run.record.map(|record| record.request.spec) {
        Some(spec) if spec.benchmark().is_some() || spec.nvcnn().is_some() => vec![Action::SetUp(Box::new(spec))],
        Some(spec) if spec.command().is_some() => {
            let verb = if spec.command().is_some_and(|command| command.inspect) { "inspect" } else { "run" };
            shared.refuse(format!("run {} is a program of your own: `hvd-lab {verb} -- PROGRAM` starts it again", run.id))
        }
        _ if wanted.is_some() => {
            wanted.into_iter().for_each(|spec| shared.set_up(spec));
            shared.inform(format!("Next run has the settings of run {}: r starts it", run.id));
            // It may be of other images than those that were looked for last.
            vec![Effect::LocateData(Box::new(shared.spec.clone())).into()]
        }
        _ => shared.refuse(format!("run {} is no benchmark and no training on photos: r and C start the other kinds", run.id)),
    }
}

/// A change has been made.
pub fn changed(runs: &mut Runs, shared: &mut Shared, changed: Changed) -> Vec<Action> {
    shared.inform(changed.text);
    if let Some(undo) = changed.undo {
        runs.remember(undo);
    }
    changed.show.map(Action::Watch).into_iter().chain([Effect::ListRuns.into()]).collect()
}

/// The run on the screen, if it was listed `before` and is gone, here or elsewhere.
pub fn deleted(shared: &Shared, before: &[RunSummary]) -> Option<RunId> {
    let watched = shared.watched.as_ref()?;
    let was_there = before.iter().any(|run| run.id == watched.id);
    // One that has just been started is not in the list yet.
    (was_there && !watched.is_going() && shared.summary(watched.id).is_none()).then_some(watched.id)
}

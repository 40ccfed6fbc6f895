//! What is done with runs: choose, filter, sort, name, delete, compare, export; stop, continue, make the baseline.

use super::keys::Command;
use super::state::{Runs, order_of};
use super::windows::{Ask, Asked, Compare, ConfirmDelete, ConfirmStop, Continue, Details, Quit, Window};
use crate::domain::run::RunState;
use crate::runs::{RunId, RunSummary, SortKey, epochs_to_go_on_to};
use crate::tui::actions::action::Action;
use crate::tui::actions::change::{Change, Changed};
use crate::tui::actions::effect::Effect;
use crate::tui::actions::keys::Move;
use crate::tui::shared::measured::{has_steps, is_of_collectives};
use crate::tui::shared::state::Shared;

pub fn update(runs: &mut Runs, shared: &mut Shared, command: Command) -> Vec<Action> {
    match command {
        Command::Move(by) => return choose(runs, shared, by),
        Command::Pin => return if shared.toggle_pin() { vec![Action::RefreshChart] } else { Vec::new() },
        Command::Filter => {
            let text = runs.filter.text().to_owned();
            ask(runs, Asked::Filter { before: text.clone() }, text);
        }
        Command::Sort => (runs.sort, runs.reverse) = (runs.sort.next(), false),
        Command::Reverse => runs.reverse = !runs.reverse,
        Command::Published => runs.published = !runs.published,
        Command::Name | Command::Note => annotate(runs, shared, command),
        Command::Delete => delete(runs, shared),
        Command::Undo => return vec![Effect::Change(Change::Undo(runs.undo())).into()],
        Command::Compare => compare(runs, shared),
        Command::Export => export(runs, shared),
        Command::Again => return again(shared),
        Command::Details if watches_collectives(shared) => return vec![Action::Collectives],
        Command::Details => details(runs, shared),
        // Of windows only.
        Command::Baseline
        | Command::Continue
        | Command::Copy
        | Command::Leave
        | Command::StopAndLeave
        | Command::Type(_)
        | Command::Accept
        | Command::Back => {}
    }
    Vec::new()
}

fn ask(runs: &mut Runs, what: Asked, text: String) {
    runs.window = Some(Ask { what, text, error: None }.into());
}

/// By the column with this title, best first; the other way round where it is so already.
pub fn sort_by(runs: &mut Runs, shared: &mut Shared, title: &str) {
    match order_of(title) {
        Some(order) => (runs.sort, runs.reverse) = (order, runs.sort == order && !runs.reverse),
        None => {
            let orders: Vec<&str> = SortKey::ALL.into_iter().map(SortKey::name).collect();
            shared.inform(format!("runs are not sorted by {title}, but by {}", orders.join(", ")));
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

fn chosen(shared: &mut Shared) -> Option<RunSummary> {
    let run = shared.watched.as_ref().and_then(|watched| shared.summary(watched.id)).cloned();
    if run.is_none() {
        shared.inform("no run yet: r starts one");
    }
    run
}

/// The form with the settings of the chosen run, to change some and start it again.
fn again(shared: &mut Shared) -> Vec<Action> {
    let Some(run) = chosen(shared) else { return Vec::new() };
    match run.record.map(|record| record.spec) {
        Some(spec) if spec.benchmark().is_some() || spec.nvcnn().is_some() => vec![Action::SetUp(Box::new(spec))],
        Some(spec) if spec.command().is_some() => {
            shared.inform(format!("run {} is a program of your own: `hvd-lab run -- PROGRAM` starts it again", run.id));
            Vec::new()
        }
        _ => {
            shared.inform(format!("run {} is no benchmark and no training on photos: r and C start the other kinds", run.id));
            Vec::new()
        }
    }
}

/// The run on the screen has messages and times to show, rather than a page.
fn watches_collectives(shared: &Shared) -> bool {
    shared.watched.as_ref().and_then(|watched| shared.summary(watched.id)).is_some_and(is_of_collectives)
}

pub fn details(runs: &mut Runs, shared: &mut Shared) {
    match shared.watched.as_ref().map(|watched| watched.id) {
        Some(run) => {
            // Of a run that is not listed yet nothing is known that speaks against it.
            let is_training = shared.summary(run).is_none_or(has_steps);
            runs.window = Some(Details { run, is_training, scroll: 0 }.into());
        }
        None => shared.inform("no run yet: r starts one"),
    }
}

fn annotate(runs: &mut Runs, shared: &mut Shared, command: Command) {
    let Some(run) = chosen(shared) else { return };
    let Some(record) = run.record else {
        return shared.error(format!("the record of run {} cannot be read, so you cannot name it or add a note", run.id));
    };
    let (what, text) = match command {
        Command::Name => (Asked::Name(run.id), record.name),
        _ => (Asked::Note(run.id), record.note),
    };
    ask(runs, what, text.unwrap_or_default());
}

fn delete(runs: &mut Runs, shared: &mut Shared) {
    let Some(run) = chosen(shared) else { return };
    match (shared.run_state(&run).is_over(), shared.out_of_reach(run.id)) {
        (true, _) => runs.window = Some(ConfirmDelete { run: run.id }.into()),
        (false, Some(why)) => shared.inform(why),
        (false, None) => shared.inform(format!("run {} is still running: x stops it, then it can be deleted", run.id)),
    }
}

pub fn compare(runs: &mut Runs, shared: &mut Shared) {
    let Some(run) = chosen(shared) else { return };
    let Some(baseline) = shared.baseline().map(|baseline| baseline.id) else {
        return shared.inform("nothing to compare with yet: no run has measured images/s");
    };
    // Nothing is learned of a run beside itself: the one that gained most, or else the newest, stands in for it.
    let other = || {
        let newest = || shared.runs.iter().rev().map(|run| run.id).find(|run| *run != baseline);
        shared.best_gain().map(|gain| gain.run).or_else(newest)
    };
    match if run.id == baseline { other() } else { Some(run.id) } {
        Some(run) => runs.window = Some(Compare { run, scroll: 0 }.into()),
        None => shared.inform(format!("run {baseline} is the baseline, and the only run: r starts one to compare with it")),
    }
}

pub fn export(runs: &mut Runs, shared: &mut Shared) {
    match shared.baseline() {
        Some(_) => ask(runs, Asked::Export, "runs.md".into()),
        None => shared.inform("nothing to export yet: no run has measured images/s"),
    }
}

/// A filter that hides the chosen run chooses another.
pub fn first_that_fits(runs: &Runs, shared: &Shared) -> Vec<Action> {
    let chosen = shared.watched.as_ref().map(|watched| watched.id);
    let shown = runs.shown(&shared.runs);
    match shown.first().map(|run| run.id) {
        Some(first) if !shown.iter().any(|run| Some(run.id) == chosen) => vec![Action::Watch(first)],
        _ => Vec::new(),
    }
}

/// Writes the shown runs to a file.
pub fn write(runs: &Runs, shared: &Shared, file: String) -> Vec<Action> {
    let Some(baseline) = shared.baseline().map(|run| run.id) else { return Vec::new() };
    let shown = runs.shown(&shared.runs).into_iter().map(|run| run.id).collect();
    vec![Effect::Change(Change::Export { file, runs: shown, baseline, published: runs.published }).into()]
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

pub fn stop(runs: &mut Runs, shared: &mut Shared) {
    if let Some(why) = shared.watched.as_ref().and_then(|watched| shared.out_of_reach(watched.id)) {
        return shared.inform(why);
    }
    match shared.going() {
        Some(run) => runs.window = Some(ConfirmStop { run }.into()),
        None if shared.is_starting() => shared.inform("the run is only just starting: x stops it as soon as it appears"),
        None => shared.inform("no run is running: nothing to stop"),
    }
}

pub fn ask_to_quit(runs: &mut Runs, going: RunId) {
    runs.window = Some(Quit { going }.into());
}

pub fn continue_run(runs: &mut Runs, shared: &mut Shared) {
    let Some(run) = shared.watched.as_ref().and_then(|watched| shared.summary(watched.id)) else {
        return shared.inform("no run to continue yet: r starts one");
    };
    match how_to_continue(shared, run) {
        Ok(window) => runs.window = Some(window),
        Err(Refused::NotYet(why)) => shared.inform(why),
        Err(Refused::Never(why)) => shared.error(why),
    }
}

/// Why a run cannot go on.
enum Refused {
    NotYet(String),
    Never(String),
}

fn how_to_continue(shared: &Shared, run: &RunSummary) -> Result<Window, Refused> {
    let id = run.id;
    let never = |why: String| Err(Refused::Never(why));
    let Some(record) = &run.record else {
        return never(format!("the record of run {id} cannot be read, so it cannot go on"));
    };
    if record.spec.collectives().is_some() {
        let why = format!("run {id} measured allreduces, so there is nothing to continue: to measure again press C, then Enter");
        return Err(Refused::NotYet(why));
    }
    if record.spec.nvcnn().is_some() {
        let why = format!(
            "run {id} goes on from here by itself: start it again with the same --log_dir, and it takes the newest checkpoint"
        );
        return Err(Refused::NotYet(why));
    }
    let Some(training) = record.training() else {
        let why = record.spec.problem().unwrap_or_else(|| format!("it trains nothing ({})", record.spec.workload.title()));
        return never(format!("run {id} cannot go on: {why}"));
    };
    if let Some(why) = shared.out_of_reach(id) {
        return Err(Refused::NotYet(why));
    }
    if !shared.run_state(run).is_over() {
        return Err(Refused::NotYet(format!("run {id} is still running: it can be continued when it has ended")));
    }
    if !training.checkpointing {
        return never(format!("run {id} wrote no checkpoints, so it cannot go on: switch checkpoints on for the next run"));
    }
    // The list may be a moment behind what the run itself has told.
    let told = shared.watched.as_ref().and_then(|watched| watched.last_epoch()).map_or(0, |report| report.epoch);
    let done = run.last_epoch.max(told);
    let goal = epochs_to_go_on_to(training.epochs, done, shared.run_state(run));
    Ok(Continue { run: id, done, more: goal.saturating_sub(done) }.into())
}

pub fn baseline(shared: &mut Shared) -> Vec<Action> {
    match shared.watched.as_ref().map(|watched| watched.id) {
        Some(run) => baseline_of(shared, run),
        None => {
            shared.inform("no run to compare with yet: r starts one");
            Vec::new()
        }
    }
}

/// Makes this run the one that others are compared with.
pub fn baseline_of(shared: &mut Shared, run: RunId) -> Vec<Action> {
    let Some(run) = shared.summary(run) else {
        shared.inform(format!("run {run} is not in the list yet"));
        return Vec::new();
    };
    if let Some(problem) = run.record.as_ref().and_then(|record| record.spec.workload.problem()) {
        let id = run.id;
        shared.error(format!("run {id} cannot be the baseline: {problem}"));
        return Vec::new();
    }
    let (id, measured, now) = (run.id, run.figures.images_per_sec.is_some(), shared.run_state(run));
    if !measured && now != RunState::Running {
        shared.error(format!("run {id} measured no images/s: choose a run that finished an epoch"));
        return Vec::new();
    }
    shared.baseline = Some(id);
    shared.inform(format!("speed-up and efficiency now compare with run {id}"));
    vec![Action::RefreshChart]
}

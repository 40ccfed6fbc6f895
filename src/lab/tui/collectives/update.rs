//! What opens the window of the collectives, and what a run tells while it is open.

use super::stage::Stage;
use super::state::{Collectives, LEAST_RANKS, Show};
use crate::domain::measured::Measured;
use crate::runs::RunId;
use crate::tui::actions::{Action, Effect};
use crate::tui::shared::{Shared, is_of_collectives};
use crate::tui::state::{State, Windows};

/// Opens on the run on the screen, else on the newest run of collectives, else on the schedules that need no run.
pub fn open(state: &mut State) -> Vec<Action> {
    let State { collectives: own, shared, windows, .. } = state;
    let watched = shared.watched.as_ref().map(|watched| watched.id);
    let mut all = shared.runs.iter().filter(|run| is_of_collectives(run)).map(|run| run.id);
    let run = all.clone().find(|run| Some(*run) == watched).or(all.next_back());
    if run != own.run {
        *own = Collectives { run, asked: own.asked.take(), ..Collectives::default() };
    }
    let record = run.and_then(|run| shared.summary(run)?.record.as_ref());
    own.ranks = record.map_or(shared.spec.resources.np.max(LEAST_RANKS), |record| record.np());
    own.link = record.and_then(|record| record.request.spec.collectives()?.link());
    own.shape = record.and_then(|record| Some(record.request.spec.collectives()?.shape));
    own.is_log_due = run.is_some_and(|run| is_log_due(shared, run));
    own.show = Show::Messages;
    windows.show(Stage { run });
    own.take_log();
    let mut actions = Vec::new();
    if let Some(run) = run {
        if watched != Some(run) {
            actions.push(Action::Watch(run));
        }
        actions.extend(read(own, run));
    }
    actions
}

/// It was asked for its messages, and has told all that it will.
fn is_log_due(shared: &Shared, run: RunId) -> bool {
    let was_asked = shared.summary(run).and_then(|run| run.record.as_ref()?.request.spec.collectives()?.log_bytes).is_some();
    was_asked && shared.status(run).is_some_and(|status| status.state.is_over())
}

/// Once at a time: what is told while it is being read is read after that.
fn read(own: &mut Collectives, run: RunId) -> Option<Action> {
    own.has_news = own.is_reading;
    let begins = !std::mem::replace(&mut own.is_reading, true);
    begins.then(|| Effect::ReadCollectives(run).into())
}

/// The run on the screen has told something of its collectives.
pub fn told(own: &mut Collectives, windows: &Windows, run: RunId) -> Option<Action> {
    if windows.has::<Stage>() && own.run == Some(run) { read(own, run) } else { None }
}

/// What a run has measured so far.
pub fn receive(own: &mut Collectives, shared: &Shared, run: RunId, measured: Measured) -> Option<Action> {
    if own.run != Some(run) {
        return None;
    }
    let chosen = own.method().to_owned();
    own.measured = measured;
    own.method = own.methods().iter().position(|method| *method == chosen).unwrap_or(0);
    (own.is_reading, own.is_log_due) = (false, is_log_due(shared, run));
    own.take_log();
    if std::mem::take(&mut own.has_news) { read(own, run) } else { None }
}

/// It is so late, while the player plays.
pub fn beat(own: &mut Collectives, now_s: f64) {
    if let Some(log) = &own.log {
        own.player.tell(log, now_s);
    }
}

/// The run that the form asked for is there: its rows come as they are measured.
pub fn started(own: &mut Collectives, windows: &mut Windows, run: RunId) -> Option<Action> {
    let was_asked = std::mem::take(&mut own.is_starting);
    let stage = windows.get_mut::<Stage>().filter(|_| was_asked)?;
    let asked = own.asked.clone()?;
    stage.run = Some(run);
    let (ranks, shape, link) = (asked.resources.np, asked.collectives().map(|spec| spec.shape), asked.collectives()?.link());
    *own = Collectives { run: Some(run), ranks, shape, link, asked: Some(asked), show: own.show, ..Collectives::default() };
    own.take_log();
    read(own, run)
}

/// The run that is shown has ended.
pub fn ended(own: &Collectives, windows: &Windows, shared: &mut Shared, run: RunId) {
    if windows.has::<Stage>()
        && own.run == Some(run)
        && let Some(status) = shared.status(run)
    {
        let text = format!("run {run} {}", status.end_in_words());
        shared.inform(text);
    }
}

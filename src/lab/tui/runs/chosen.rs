//! The chosen run, and the one that the others are compared with.

use crate::domain::run::RunState;
use crate::runs::{RunId, RunSummary};
use crate::tui::actions::Action;
use crate::tui::shared::Shared;

/// Without one it says how to get one.
pub fn chosen(shared: &mut Shared) -> Option<RunSummary> {
    let run = shared.summary_on_screen().cloned();
    if run.is_none() {
        shared.inform("no run yet: r starts one");
    }
    run
}

pub fn baseline(shared: &mut Shared) -> Vec<Action> {
    match shared.watched.as_ref().map(|watched| watched.id) {
        Some(run) => baseline_of(shared, run),
        None => shared.refuse("no run to compare with yet: r starts one"),
    }
}

/// Makes this run the one that others are compared with.
pub fn baseline_of(shared: &mut Shared, run: RunId) -> Vec<Action> {
    let Some(run) = shared.summary(run) else {
        return shared.refuse(format!("run {run} is not in the list yet"));
    };
    if let Some(problem) = run.record.as_ref().and_then(|record| record.request.spec.workload.problem()) {
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

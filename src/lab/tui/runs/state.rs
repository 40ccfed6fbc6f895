//! What the table of runs remembers, which run is chosen, and which one the others are compared with.

use crate::domain::device::DeviceKind;
use crate::domain::run::RunState;
use crate::runs::{Filter, RunId, RunSummary, SortKey, select};
use crate::tui::actions::{Action, Change};
use crate::tui::shared::Shared;

#[derive(Clone, Debug, Default)]
pub struct Runs {
    pub filter: Filter,
    pub sort: SortKey,
    pub reverse: bool,
    /// Rows of what others published stand below the runs.
    pub published: bool,
    /// What takes the last changes back, the newest last.
    history: Vec<Change>,
}

/// Changes that can be taken back: as many as one remembers.
const MOST_UNDOS: usize = 20;

impl Runs {
    /// The runs that the table shows, in its order.
    pub fn shown<'a>(&self, runs: &'a [RunSummary]) -> Vec<&'a RunSummary> {
        select(runs, &self.filter, self.sort, self.reverse)
    }

    /// Lines that the table would like to have for so many runs; in steps, so that the screen does not move with each run.
    pub fn wished_rows(&self, runs: usize) -> u16 {
        const STEP: usize = 4;
        const HEAD: usize = 1;
        // What others published takes all that there is.
        let rows = if self.published { usize::MAX / 2 } else { runs.max(1).div_ceil(STEP) * STEP + HEAD };
        rows.try_into().unwrap_or(u16::MAX / 2)
    }

    pub fn remember(&mut self, undo: Change) {
        self.history.push(undo);
        let forgotten = self.history.len().saturating_sub(MOST_UNDOS);
        self.history.drain(..forgotten);
    }

    /// What takes the last change back, and is done with then.
    pub fn undo(&mut self) -> Change {
        self.history.pop().unwrap_or(Change::Restore(None))
    }

    /// The run to show when `gone` is no longer in `runs`: the one that took its place in the table `before`.
    pub fn neighbour(&self, before: &[RunSummary], gone: RunId, runs: &[RunSummary]) -> Option<RunId> {
        let order: Vec<RunId> = self.shown(before).into_iter().map(|run| run.id).collect();
        let place = order.iter().position(|id| *id == gone).unwrap_or(0);
        let (above, below) = order.split_at(place);
        let is_left = |id: &&RunId| runs.iter().any(|run| run.id == **id);
        let neighbour = below.iter().find(is_left).or_else(|| above.iter().rfind(is_left)).copied();
        neighbour.or(runs.last().map(|run| run.id))
    }
}

/// What a click on a title sorts by, where there is such an order.
pub fn order_of(title: &str) -> Option<SortKey> {
    Some(match title {
        "run" => SortKey::Number,
        "state" => SortKey::State,
        "np" => SortKey::Np,
        // Against one baseline the fastest gained most.
        "img/s" | "speed-up" => SortKey::Rate,
        "time" => SortKey::Time,
        "target" | "sooner" => SortKey::ToTarget,
        "test acc" => SortKey::Accuracy,
        "dev-s" => SortKey::Cost,
        "name" => SortKey::Name,
        _ => return None,
    })
}

/// GPUs and cores are not the same money.
pub fn cost_name(run: &RunSummary) -> &'static str {
    match run.devices.map(|devices| devices.kind) {
        Some(DeviceKind::Gpu) => "GPU-seconds",
        _ => "device-seconds",
    }
}

/// The chosen run. Without one it says how to get one.
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

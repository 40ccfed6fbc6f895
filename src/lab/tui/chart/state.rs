//! What the chart shows: runs, each in a colour and under a letter that it keeps, and which part of them.
//!
//! Curves of runs that are not on the screen are asked for as effects.

use std::collections::{BTreeMap, BTreeSet};

use super::graph::{Graph, Tab};
use super::range::{Range, Reach};
use crate::domain::run::RunState;
use crate::runs::{RunId, RunSummary};
use crate::tui::actions::Effect;
use crate::tui::shared::{Along, Curves, Shared, kind_of};

#[derive(Clone, Debug, Default)]
pub struct Chart {
    pub tab: Tab,
    pub range: Range,
    /// Which graphs have a logarithmic scale.
    pub log: [bool; Graph::ALL.len()],
    /// Timeline: the epoch that is shown; `None` for the newest.
    pub epoch: Option<usize>,
    /// Timeline: processes above the first one shown.
    pub scroll: usize,
    /// Curves of shown runs that are not followed, and how far each run was when they were read.
    read: BTreeMap<RunId, (Option<Progress>, Curves)>,
}

/// The curves of a run are read again when this changes.
type Progress = (RunState, usize);

/// The run on the screen, the one that it is held against and the pinned runs, each once; those that are gone are left out, and
/// those of [`other_kinds`].
pub fn shown(shared: &Shared) -> Vec<RunId> {
    let watched = shared.watched.as_ref().map(|watched| watched.id);
    let mut shown: Vec<RunId> = watched.into_iter().collect();
    for run in wanted(shared).filter(|run| !is_another_kind(shared, *run)) {
        if !shown.contains(&run) {
            shown.push(run);
        }
    }
    shown
}

/// Runs that would stand beside the one on the screen if they did the same: epochs of a training and iterations of a benchmark
/// have no axis in common.
pub fn other_kinds(shared: &Shared) -> BTreeSet<RunId> {
    wanted(shared).filter(|run| is_another_kind(shared, *run)).collect()
}

/// Both runs of the answer on top, or else the baseline, and the pinned runs, as far as they are there.
fn wanted(shared: &Shared) -> impl Iterator<Item = RunId> {
    let listed = |run: &RunId| shared.summary(*run).is_some();
    let answer: Vec<RunId> = match shared.pair() {
        Some(pair) => pair.runs().map(|run| run.id).into(),
        None => shared.baseline().map(|run| run.id).into_iter().collect(),
    };
    answer.into_iter().chain(shared.pins.pinned.iter().copied().filter(listed))
}

fn is_another_kind(shared: &Shared, run: RunId) -> bool {
    // A run that is only just starting is not listed yet, so its kind is unknown.
    let kinds = shared.summary_on_screen().and_then(kind_of).zip(shared.summary(run).and_then(kind_of));
    kinds.is_some_and(|(own, other)| own != other)
}

/// The chart shows two runs whose speeds can be compared: by time one sees which is faster.
fn is_compared(shared: &Shared) -> bool {
    shared.pair().is_some_and(|pair| pair.has_other_ranks() || shared.gain_over(pair.after, pair.before).is_ok())
}

impl Chart {
    pub fn is_log(&self, graph: Graph) -> bool {
        self.log[graph as usize]
    }

    pub fn receive(&mut self, run: RunId, curves: Curves) {
        // Curves of a run that has been unpinned since are dropped.
        if let Some((_, place)) = self.read.get_mut(&run) {
            *place = curves;
        }
    }

    /// The curves of a shown run. `None` while they are being read.
    pub fn curves<'a>(&'a self, shared: &'a Shared, run: RunId) -> Option<&'a Curves> {
        match shared.watched.as_ref().filter(|watched| watched.id == run) {
            Some(watched) => Some(&watched.curves),
            None => self.read.get(&run).map(|(_, curves)| curves),
        }
    }

    /// After a change of what is shown or of how far a run is: colours for new runs, and the curves that are missing.
    pub fn refresh(&mut self, shared: &mut Shared) -> Vec<Effect> {
        let shown = shown(shared);
        shared.pins.assign(&shown);
        let counts_steps = shared.watched.as_ref().is_some_and(|watched| watched.curves.tells_no_epochs);
        let along = match is_compared(shared) {
            true => Along::Time,
            false if counts_steps => Along::Step,
            false => Along::Epoch,
        };
        self.range.suggest(along, shared.watched.as_ref().map(|watched| &watched.curves.loss));
        let watched = shared.watched.as_ref().map(|watched| watched.id);
        let progress = |run: &RunSummary| (run.status.state, run.last_epoch);
        let unfollowed = shown.into_iter().filter(|run| Some(*run) != watched);
        let now: BTreeMap<RunId, Option<Progress>> = unfollowed.map(|run| (run, shared.summary(run).map(progress))).collect();
        self.read.retain(|run, _| now.contains_key(run));
        let mut effects = Vec::new();
        for (run, progress) in now {
            if self.read.get(&run).is_none_or(|(known, _)| *known != progress) {
                // The old curves stay on the screen until the new ones are there.
                self.read.entry(run).or_default().0 = progress;
                effects.push(Effect::ReadCurves(run));
            }
        }
        effects
    }

    /// How far the shown curves reach.
    pub fn reach(&self, shared: &Shared) -> Reach {
        let along = self.range.along;
        let shown: Vec<&Curves> = shown(shared).into_iter().filter_map(|run| self.curves(shared, run)).collect();
        let most = |end: &dyn Fn(&Curves) -> f64| shown.iter().map(|curves| end(curves)).fold(0.0, f64::max);
        let (end, furthest) = (most(&|curves| curves.planned_end(along)), most(&|curves| curves.end(along)));
        let own = shared.watched.as_ref().map(|watched| watched.curves.end(along)).filter(|own| *own > 0.0);
        Reach { end, furthest, newest: own.unwrap_or(furthest) }
    }

    /// Where a pointer says.
    pub fn put_cursor(&mut self, shared: &Shared, x: f64) {
        let reach = self.reach(shared);
        self.range.put_cursor(x, reach);
    }
}

//! Where the time of each process went, epoch by epoch, and which of them the others wait for.
//!
//! An epoch that a process has not reported is missing.

use std::collections::BTreeSet;

use crate::domain::history::History;
use crate::domain::phase::{Phase, PhaseSeconds};

/// Epochs kept of each process.
pub const EPOCHS: usize = 256;
/// Below this the difference between processes is noise.
const STRAGGLES: f64 = 0.03;

/// A mean step of one process in one epoch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanStep {
    pub process: usize,
    /// Of the parts of a step only.
    seconds: PhaseSeconds,
}

impl MeanStep {
    pub fn ms(&self, phase: Phase) -> f64 {
        1000.0 * self.seconds[phase]
    }

    pub fn total_ms(&self) -> f64 {
        Phase::OF_STEP.into_iter().map(|phase| self.ms(phase)).sum()
    }

    /// What it computes, waits for data, and waits for other processes.
    pub fn parts_ms(&self) -> [f64; 3] {
        let [data, waits] = [Phase::Data, Phase::AllreduceExposed].map(|phase| self.ms(phase));
        [self.total_ms() - data - waits, data, waits]
    }

    /// Without waiting for others: what a process is slow by itself in.
    fn own_ms(&self) -> f64 {
        self.total_ms() - self.ms(Phase::AllreduceExposed)
    }
}

/// The process that the others wait for, and what it is slower in than their mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Straggler {
    pub process: usize,
    pub phase: Phase,
    /// 0.12 for 12 % more. `None` where the others spend nothing on it.
    pub more: Option<f64>,
    pub more_ms: f64,
    /// What the others wait longer than it does, in the mean.
    pub waited_ms: f64,
}

/// The epochs of a run, asked for where their time went.
#[derive(Clone, Copy, Debug)]
pub struct Phases<'a>(pub &'a History);

impl Phases<'_> {
    /// Epochs that any process has reported, in order.
    pub fn epochs(&self) -> Vec<usize> {
        let all: BTreeSet<usize> = self.0.all_epochs().map(|(_, _, report)| report.epoch).collect();
        all.into_iter().collect()
    }

    /// Processes that have reported an epoch.
    fn by_process(&self) -> BTreeSet<usize> {
        self.0.all_epochs().map(|(_, process, _)| process).collect()
    }

    pub fn processes(&self) -> usize {
        self.by_process().len()
    }

    /// The newest epoch that all have reported; else the newest of any. All are those of the newest attempt that has one.
    pub fn newest(&self) -> Option<usize> {
        let trained = self.0.trained()?;
        let last = |process: &usize| self.0.epochs(*process).next_back().map(|report| report.epoch);
        let now: Vec<usize> = trained.processes.keys().copied().filter(|process| last(process).is_some()).collect();
        let common = now.iter().filter_map(last).min()?;
        let all = now.iter().all(|process| self.0.epochs(*process).any(|report| report.epoch == common));
        if all { Some(common) } else { now.iter().filter_map(last).max() }
    }

    /// Whether any process has reported what its steps consist of: a program of the user's own may not.
    pub fn has_steps(&self) -> bool {
        let newest = self.newest().map(|epoch| self.mean_steps(epoch)).unwrap_or_default();
        newest.iter().any(|(step, _)| step.total_ms() > 0.0)
    }

    /// The mean step of each process in this epoch, and its number of steps.
    pub fn mean_steps(&self, epoch: usize) -> Vec<(MeanStep, usize)> {
        let of = |process: usize| {
            let report = self.0.epochs(process).rfind(|report| report.epoch == epoch)?;
            let per_step = |phase: Phase| {
                let seconds = report.phases[phase] / report.batches.max(1) as f64;
                (phase, if seconds.is_finite() { seconds.max(0.0) } else { 0.0 })
            };
            Some((MeanStep { process, seconds: Phase::OF_STEP.map(per_step).into() }, report.batches))
        };
        self.by_process().into_iter().filter_map(of).collect()
    }
}

/// The cells of each part in a bar of `width` that is as long as `longest`. Ends are rounded, so that the parts add up to the whole.
pub fn cells(parts: &[f64], longest: f64, width: usize) -> Vec<usize> {
    let end = |part: f64| if longest > 0.0 { ((part / longest * width as f64).round() as usize).min(width) } else { 0 };
    let (mut so_far, mut drawn) = (0.0, 0);
    let each = parts.iter().map(|part| {
        so_far += part;
        let from = drawn;
        drawn = end(so_far).max(from);
        drawn - from
    });
    each.collect()
}

/// The slowest process, where it works 3 % longer than the mean of the others; else the largest difference to that mean.
pub fn straggler(steps: &[MeanStep]) -> Result<Straggler, f64> {
    let mean = |without: usize, of: &dyn Fn(&MeanStep) -> f64| {
        let others = steps.iter().filter(|step| step.process != without);
        others.map(of).sum::<f64>() / (steps.len().max(2) - 1) as f64
    };
    let by_own = |a: &&MeanStep, b: &&MeanStep| a.own_ms().total_cmp(&b.own_ms());
    let Some(slowest) = steps.iter().max_by(by_own) else { return Err(0.0) };
    let others = mean(slowest.process, &MeanStep::own_ms);
    let more = if others > 0.0 { slowest.own_ms() / others - 1.0 } else { 0.0 };
    if more < STRAGGLES {
        return Err(more);
    }
    let excess = |phase: &Phase| slowest.ms(*phase) - mean(slowest.process, &|step| step.ms(*phase));
    let own = Phase::OF_STEP.into_iter().filter(|phase| *phase != Phase::AllreduceExposed);
    let phase = own.max_by(|a, b| excess(a).total_cmp(&excess(b))).unwrap_or(Phase::Forward);
    let usual = mean(slowest.process, &|step| step.ms(phase));
    Ok(Straggler {
        process: slowest.process,
        phase,
        more: (usual > 0.0).then(|| slowest.ms(phase) / usual - 1.0),
        more_ms: excess(&phase),
        waited_ms: -excess(&Phase::AllreduceExposed),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::event::{EpochReport, Event, EventLine};
    use crate::domain::history::Keep;

    /// Reports of one epoch of 100 steps; forward, exposed allreduce in ms a step.
    fn history(epoch: usize, processes: &[(f64, f64)]) -> History {
        let mut all = History::new(Keep::Epochs(EPOCHS));
        for (process, (forward, allreduce)) in processes.iter().enumerate() {
            let seconds = |ms: f64| ms / 10.0;
            let phases = PhaseSeconds::from([
                (Phase::Data, seconds(1.0)),
                (Phase::Forward, seconds(*forward)),
                (Phase::Backward, seconds(20.0)),
                (Phase::AllreduceExposed, seconds(*allreduce)),
                (Phase::Optimizer, seconds(2.0)),
            ]);
            let report = EpochReport { epoch, batches: 100, phases, ..EpochReport::sample() };
            all.take(&EventLine { time_s: 1.0, process, event: Event::Epoch(report) });
        }
        all
    }

    fn judge(processes: &[(f64, f64)]) -> Result<Straggler, f64> {
        let steps = Phases(&history(1, processes)).mean_steps(1);
        let steps: Vec<MeanStep> = steps.into_iter().map(|(step, _)| step).collect();
        straggler(&steps)
    }

    #[test]
    fn the_straggler_is_named_with_its_phase_and_what_the_others_wait() {
        let found = judge(&[(10.0, 6.0), (16.0, 0.5), (10.0, 6.0), (10.0, 6.0)]).unwrap();
        assert_eq!((found.process, found.phase), (1, Phase::Forward));
        assert!((found.more.unwrap() - 0.6).abs() < 1e-9 && (found.more_ms - 6.0).abs() < 1e-9, "{found:?}");
        assert!((found.waited_ms - 5.5).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn waiting_makes_no_straggler_and_neither_does_noise() {
        // Process 0 waits for something outside of its own work; process 1 is 0.5 ms of 33 slower.
        let spread = judge(&[(10.0, 30.0), (10.5, 0.0)]).unwrap_err();
        assert!((spread - 0.5 / 33.0).abs() < 1e-9, "{spread}");
        assert_eq!(judge(&[(10.0, 0.0)]), Err(0.0));
        assert_eq!(straggler(&[]), Err(0.0));
    }

    #[test]
    fn the_newest_epoch_is_one_that_all_have_reported() {
        let mut history = history(1, &[(10.0, 1.0), (10.0, 1.0)]);
        let ahead = EpochReport { epoch: 2, ..EpochReport::sample() };
        history.take(&EventLine { time_s: 2.0, process: 0, event: Event::Epoch(ahead) });
        let all = Phases(&history);
        assert_eq!((all.newest(), all.epochs()), (Some(1), vec![1, 2]));
        assert_eq!(all.mean_steps(2).len(), 1);
        assert_eq!(Phases(&History::new(Keep::Everything)).newest(), None);
    }
}

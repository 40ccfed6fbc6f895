//! Where the time of each process went, epoch by epoch, and which of them the others wait for.
//!
//! Never guesses: an epoch that a process has not reported is not there.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::domain::event::{Event, EventLine, PhaseSeconds};

/// Epochs kept of each process.
const EPOCHS: usize = 256;
/// Below this the difference between processes is noise.
const STRAGGLES: f64 = 0.03;

/// Parts of a step, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Data,
    Forward,
    Backward,
    /// Waiting for gradients of other ranks, not hidden behind computation.
    Allreduce,
    Optimizer,
}

impl Phase {
    pub const ALL: [Phase; 5] = [Phase::Data, Phase::Forward, Phase::Backward, Phase::Allreduce, Phase::Optimizer];

    pub fn name(self) -> &'static str {
        match self {
            Phase::Data => "data",
            Phase::Forward => "forward",
            Phase::Backward => "backward",
            Phase::Allreduce => "exposed allreduce",
            Phase::Optimizer => "optimizer",
        }
    }

    fn seconds(self, phases: &PhaseSeconds) -> f64 {
        match self {
            Phase::Data => phases.data,
            Phase::Forward => phases.forward,
            Phase::Backward => phases.backward,
            Phase::Allreduce => phases.allreduce_exposed,
            Phase::Optimizer => phases.optimizer,
        }
    }
}

/// A mean step of one process in one epoch, in milliseconds by phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanStep {
    pub process: usize,
    ms: [f64; 5],
}

impl MeanStep {
    pub fn ms(&self, phase: Phase) -> f64 {
        self.ms[phase as usize]
    }

    pub fn total_ms(&self) -> f64 {
        self.ms.iter().sum()
    }

    /// Without waiting for others: what a process is slow by itself in.
    fn own_ms(&self) -> f64 {
        self.total_ms() - self.ms(Phase::Allreduce)
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

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Phases {
    /// Epoch (counted from 1), seconds and steps, by process.
    by_process: BTreeMap<usize, VecDeque<(usize, PhaseSeconds, usize)>>,
}

impl Phases {
    pub fn absorb(&mut self, line: &EventLine) {
        let Event::Epoch(report) = &line.event else { return };
        let epochs = self.by_process.entry(line.process).or_default();
        // A continued run trains again what its checkpoint did not hold.
        epochs.retain(|(epoch, ..)| *epoch < report.epoch);
        if epochs.len() == EPOCHS {
            epochs.pop_front();
        }
        epochs.push_back((report.epoch, report.phases, report.batches));
    }

    /// Epochs that any process has reported, in order.
    pub fn epochs(&self) -> Vec<usize> {
        let all: BTreeSet<usize> = self.by_process.values().flatten().map(|(epoch, ..)| *epoch).collect();
        all.into_iter().collect()
    }

    pub fn processes(&self) -> usize {
        self.by_process.len()
    }

    /// The newest epoch that all have reported; else the newest of any.
    pub fn newest(&self) -> Option<usize> {
        let last = |epochs: &VecDeque<(usize, PhaseSeconds, usize)>| epochs.back().map(|(epoch, ..)| *epoch);
        let common = self.by_process.values().filter_map(last).min()?;
        let all = self.by_process.values().all(|epochs| epochs.iter().any(|(epoch, ..)| *epoch == common));
        if all { Some(common) } else { self.by_process.values().filter_map(last).max() }
    }

    /// The mean step of each process in this epoch, and its number of steps.
    pub fn mean_steps(&self, epoch: usize) -> Vec<(MeanStep, usize)> {
        let of = |(process, epochs): (&usize, &VecDeque<(usize, PhaseSeconds, usize)>)| {
            let (_, phases, steps) = epochs.iter().find(|(number, ..)| *number == epoch)?;
            let per_step = |phase: Phase| {
                let ms = 1000.0 * phase.seconds(phases) / (*steps).max(1) as f64;
                if ms.is_finite() { ms.max(0.0) } else { 0.0 }
            };
            Some((MeanStep { process: *process, ms: Phase::ALL.map(per_step) }, *steps))
        };
        self.by_process.iter().filter_map(of).collect()
    }
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
    let own = Phase::ALL.into_iter().filter(|phase| *phase != Phase::Allreduce);
    let phase = own.max_by(|a, b| excess(a).total_cmp(&excess(b))).unwrap_or(Phase::Forward);
    let usual = mean(slowest.process, &|step| step.ms(phase));
    Ok(Straggler {
        process: slowest.process,
        phase,
        more: (usual > 0.0).then(|| slowest.ms(phase) / usual - 1.0),
        more_ms: excess(&phase),
        waited_ms: -excess(&Phase::Allreduce),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::event::EpochReport;

    /// Reports of one epoch of 100 steps; forward, exposed allreduce in ms a step.
    fn phases(epoch: usize, processes: &[(f64, f64)]) -> Phases {
        let mut all = Phases::default();
        for (process, (forward, allreduce)) in processes.iter().enumerate() {
            let seconds = |ms: f64| ms / 10.0;
            let phases = PhaseSeconds {
                data: seconds(1.0),
                forward: seconds(*forward),
                backward: seconds(20.0),
                allreduce_exposed: seconds(*allreduce),
                optimizer: seconds(2.0),
                ..PhaseSeconds::default()
            };
            let report = EpochReport { epoch, batches: 100, phases, ..EpochReport::sample() };
            all.absorb(&EventLine { time_s: 1.0, process, event: Event::Epoch(report) });
        }
        all
    }

    fn judge(processes: &[(f64, f64)]) -> Result<Straggler, f64> {
        let steps: Vec<MeanStep> = phases(1, processes).mean_steps(1).into_iter().map(|(step, _)| step).collect();
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
        let mut all = phases(1, &[(10.0, 1.0), (10.0, 1.0)]);
        let ahead = EpochReport { epoch: 2, ..EpochReport::sample() };
        all.absorb(&EventLine { time_s: 2.0, process: 0, event: Event::Epoch(ahead) });
        assert_eq!((all.newest(), all.epochs()), (Some(1), vec![1, 2]));
        assert_eq!(all.mean_steps(2).len(), 1);
        assert_eq!(Phases::default().newest(), None);
    }
}

//! What runs on one and two ranks tell of this machine: compute time, its jitter, what sharing costs, and the time of messages.
//!
//! Never reads a run's settings for its figures: what the ranks reported counts.

use std::collections::BTreeSet;

use crate::domain::collective::Fit;
use crate::domain::history::{Attempt, History, Keep, Process};
use crate::domain::phase::Phase;
use crate::domain::speedup::median;
use crate::runs::{Measurement, RunFolder, RunId, RunStore, StoreError};

/// Steps that are looked at for the jitter: more say nothing new.
const MOST_STEPS: usize = 100_000;

/// Why nothing can be learned from these runs.
#[derive(Debug, thiserror::Error)]
pub enum OwnError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("run {id} {problem}")]
    Run { id: RunId, problem: String },
    #[error("{0}")]
    Missing(&'static str),
}

/// What one run tells of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    pub id: RunId,
    pub ranks: usize,
    pub model: String,
    pub parameters: usize,
    /// Images of a rank in a step.
    pub batch: usize,
    /// GPUs of the host, or cores: what its ranks share out.
    pub devices: usize,
    pub is_gpu: bool,
    pub hosts: usize,
    /// Of all ranks: the median of the epochs.
    pub images_per_s: f64,
    /// Standard error of that, as a part of it.
    pub uncertainty: f64,
    /// What a rank computes in a step: the rest of its time.
    pub compute_s: f64,
    /// What a rank waits for others in a step: the mean over ranks.
    pub exposed_s: f64,
    /// Standard deviation of a step, as a part of it; told from the steps of a rank, without the slowest.
    pub jitter: f64,
    /// Backward as a part of forward and backward, where the ranks could tell them apart.
    pub backward_share: Option<f64>,
    /// The part of the cores that other programs used meanwhile, where that is worth a word.
    pub disturbed: Option<f64>,
}

impl Sample {
    pub fn step_s(&self) -> f64 {
        (self.ranks * self.batch) as f64 / self.images_per_s
    }

    /// # Errors
    /// What the run lacks, in words that go on from its number.
    fn of(folder: &RunFolder, id: RunId, disturbed: Option<f64>) -> Result<Sample, String> {
        let mut history = History::new(Keep::Everything);
        folder.events().for_each(|line| history.take(&line));
        let attempt = history.trained().or(history.attempt()).ok_or("has told nothing yet: wait for its first epoch")?;
        let described = |process: &Process| Some((process.topology.clone()?, process.config.clone()?));
        let (topology, config) = attempt
            .processes
            .values()
            .find_map(described)
            .ok_or("has not trained: `hvd-lab run` and its steps are what a simulation is calibrated with")?;
        let ranks = topology.topology.size.0;
        if ranks != attempt.processes.len() {
            return Err("has ranks that train apart: switch step 1 on".to_owned());
        }
        if ranks > 1 && !config.steps.contains(crate::domain::step::Step::DistributedOptimizer) {
            return Err("exchanges no gradients: switch step 3 on".to_owned());
        }
        let epochs = epochs(attempt);
        if epochs.is_empty() {
            return Err("has trained no whole epoch on all ranks: wait for it, or choose another".to_owned());
        }
        let of = |figure: fn(&Epoch) -> f64| median(&epochs.iter().map(figure).collect::<Vec<f64>>()).unwrap_or(0.0);
        let steps = attempt.processes.values().next().map_or(0, |process| process.steps.len());
        let (images_per_s, jitter) = (of(|epoch| epoch.images_per_s), jitter(attempt));
        let rates: Vec<f64> = epochs.iter().map(|epoch| epoch.images_per_s).collect();
        let by_epochs = spread(&rates) / images_per_s / (rates.len() as f64).sqrt();
        // One epoch has no spread, and steps that are measured one by one say how well the mean of them is known.
        let by_steps = jitter / (steps.max(1) as f64).sqrt();
        let host = |process: &Process| process.topology.as_ref().map(|topology| topology.host.clone());
        let hosts: BTreeSet<String> = attempt.processes.values().filter_map(host).collect();
        let halves = of(|epoch| epoch.backward_s / (epoch.forward_s + epoch.backward_s));
        Ok(Sample {
            id,
            ranks,
            model: config.model,
            parameters: config.parameters,
            batch: config.local_batch_size,
            devices: topology.devices_found.unwrap_or(topology.cores.len()).max(1),
            is_gpu: topology.device != "cpu",
            hosts: hosts.len(),
            images_per_s,
            uncertainty: by_epochs.max(by_steps),
            compute_s: of(|epoch| epoch.compute_s),
            exposed_s: of(|epoch| epoch.exposed_s),
            jitter,
            backward_share: (halves > 0.0 && halves < 1.0).then_some(halves),
            disturbed,
        })
    }
}

/// An epoch that all ranks have ended.
struct Epoch {
    images_per_s: f64,
    compute_s: f64,
    exposed_s: f64,
    forward_s: f64,
    backward_s: f64,
}

/// The first one warms up, and is left out where there are more.
fn epochs(attempt: &Attempt) -> Vec<Epoch> {
    let first: Vec<usize> =
        attempt.processes.values().next().map_or(Vec::new(), |root| root.epochs.iter().map(|report| report.epoch).collect());
    let ranks = attempt.processes.len();
    let epoch = |number: &usize| {
        let reports =
            attempt.processes.values().filter_map(|process| process.epochs.iter().find(|report| report.epoch == *number));
        let reports: Vec<_> = reports.filter(|report| report.batches > 0 && report.phases[Phase::Training] > 0.0).collect();
        (reports.len() == ranks).then(|| {
            let mean = |seconds: &dyn Fn(&crate::domain::event::EpochReport) -> f64| {
                reports.iter().map(|report| seconds(report) / report.batches as f64).sum::<f64>() / ranks as f64
            };
            Epoch {
                images_per_s: reports.iter().map(|report| report.images as f64 / report.phases[Phase::Training]).sum(),
                compute_s: mean(&|report| report.phases[Phase::Training] - report.phases[Phase::AllreduceExposed]),
                exposed_s: mean(&|report| report.phases[Phase::AllreduceExposed]),
                forward_s: mean(&|report| report.phases[Phase::Forward]),
                backward_s: mean(&|report| report.phases[Phase::Backward]),
            }
        })
    };
    let mut epochs: Vec<Epoch> = first.iter().filter_map(epoch).collect();
    if epochs.len() > 1 {
        epochs.remove(0);
    }
    epochs
}

/// Of the times between the steps of an epoch, on the first rank.
fn jitter(attempt: &Attempt) -> f64 {
    let steps = attempt.processes.values().next().map_or(&[][..], |root| &root.steps);
    let pairs = steps.windows(2).take(MOST_STEPS).filter(|pair| pair[0].epoch == pair[1].epoch);
    let seconds: Vec<f64> = pairs.map(|pair| pair[1].time_s - pair[0].time_s).filter(|seconds| *seconds > 0.0).collect();
    median(&seconds).map_or(0.0, |usual| (spread(&seconds) / usual).min(1.0))
}

/// Standard deviation by the median of the deviations, which a few interruptions do not change.
fn spread(numbers: &[f64]) -> f64 {
    let usual = median(numbers).unwrap_or(0.0);
    1.4826 * median(&numbers.iter().map(|number| (number - usual).abs()).collect::<Vec<f64>>()).unwrap_or(0.0)
}

/// What the runs that were named tell together.
#[derive(Clone, Debug, PartialEq)]
pub struct Own {
    /// On one rank.
    pub one: Sample,
    /// On two.
    pub two: Option<Sample>,
    /// Alpha, beta and gamma between two ranks, of a run of collectives.
    pub fit: Option<Fit>,
    /// On more ranks: never used, only set beside what is predicted.
    pub held_out: Vec<Sample>,
}

impl Own {
    /// From these runs, in any order. Of several on as many ranks the fastest counts.
    ///
    /// # Errors
    /// [`OwnError`].
    pub fn open(store: &RunStore, ids: &[RunId]) -> Result<Own, OwnError> {
        let (mut samples, mut fit) = (Vec::new(), None);
        for id in ids {
            let record = store.record(*id)?;
            let folder = store.folder(*id);
            if record.request.spec.collectives().is_some() {
                let measured = Measurement::of(&folder, record)?.measured;
                let problem = |refused| OwnError::Run { id: *id, problem: format!("tells nothing of messages: {refused}") };
                fit = Some(measured.machine.fit(2).map_err(problem)?);
            } else {
                samples.push(Sample::of(&folder, *id, record.disturbed()).map_err(|problem| OwnError::Run { id: *id, problem })?);
            }
        }
        Own::new(samples, fit)
    }

    /// # Errors
    /// What is missing, or does not belong together.
    fn new(mut samples: Vec<Sample>, fit: Option<Fit>) -> Result<Own, OwnError> {
        let missing = OwnError::Missing("--from needs a training run on one rank: `hvd-lab run --np 1`");
        let one = samples.iter().find(|sample| sample.ranks == 1).cloned().ok_or(missing)?;
        for sample in &samples {
            let differs = if (&sample.model, sample.batch) != (&one.model, one.batch) {
                Some(format!(
                    "trains {} with {} images a rank, and run {} {} with {}: they must be the same",
                    sample.model, sample.batch, one.id, one.model, one.batch
                ))
            } else if sample.hosts > 1 {
                Some("is on several hosts: calibrate with runs on one host".to_owned())
            } else if (sample.devices, sample.is_gpu) != (one.devices, one.is_gpu) {
                Some(format!("ran on another machine than run {}", one.id))
            } else {
                None
            };
            if let Some(problem) = differs {
                return Err(OwnError::Run { id: sample.id, problem });
            }
        }
        // Other programs only ever make a run slower.
        samples.sort_by(|a, b| a.ranks.cmp(&b.ranks).then(b.images_per_s.total_cmp(&a.images_per_s)));
        samples.dedup_by_key(|sample| sample.ranks);
        let mut samples = samples.into_iter();
        let one = samples.next().filter(|sample| sample.ranks == 1).unwrap_or(one);
        let (two, held_out) = samples.partition::<Vec<Sample>, _>(|sample| sample.ranks == 2);
        let two = two.into_iter().next();
        Ok(Own { one, two, fit, held_out })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::event::{ConfigReport, EpochReport, Event, EventLine, TopologyReport};
    use crate::domain::topology::WorldSize;

    impl Sample {
        /// Of a run without noise, where ranks share two cores.
        pub(in crate::simulate) fn of_steps(ranks: usize, step_s: f64, exposed_s: f64) -> Sample {
            Sample {
                id: RunId(ranks as u32),
                ranks,
                model: "wrn-10-1".into(),
                parameters: 77_850,
                batch: 64,
                devices: 2,
                is_gpu: false,
                hosts: 1,
                images_per_s: (ranks * 64) as f64 / step_s,
                uncertainty: 0.0,
                compute_s: step_s - exposed_s,
                exposed_s,
                jitter: 0.0,
                backward_share: Some(0.6),
                disturbed: None,
            }
        }
    }

    #[test]
    fn runs_that_do_not_belong_together_are_refused() {
        let one = || Sample::of_steps(1, 0.06, 0.0);
        let refused = |samples: Vec<Sample>| Own::new(samples, None).unwrap_err().to_string();
        assert!(refused(vec![]).contains("--np 1"));
        assert!(refused(vec![Sample::of_steps(2, 0.06, 0.0)]).contains("--np 1"));
        let other = Sample { batch: 32, ..Sample::of_steps(2, 0.06, 0.0) };
        assert!(refused(vec![one(), other]).contains("run 2 trains wrn-10-1 with 32 images"));
        let elsewhere = Sample { devices: 8, ..Sample::of_steps(2, 0.06, 0.0) };
        assert!(refused(vec![one(), elsewhere]).contains("another machine"));
        let hosts = Sample { hosts: 2, ..Sample::of_steps(2, 0.06, 0.0) };
        assert!(refused(vec![one(), hosts]).contains("several hosts"));
        let own = Own::new(vec![Sample::of_steps(4, 0.2, 0.0), one()], None).unwrap();
        assert_eq!((own.two, own.held_out.len()), (None, 1));
        let disturbed = Sample { id: RunId(9), ..Sample::of_steps(2, 0.09, 0.0) };
        let own =
            Own::new(vec![Sample::of_steps(1, 0.07, 0.0), disturbed, Sample::of_steps(2, 0.065, 0.0), one()], None).unwrap();
        assert_eq!((own.one.step_s(), own.two.unwrap().id), (0.06, RunId(2)), "the fastest of each");
    }

    /// What so many ranks would have written in epochs of ten steps, of which each takes so long.
    fn told(folder: &RunFolder, ranks: usize, change: impl Fn(usize, &mut Vec<Event>)) {
        let mut lines = String::new();
        for process in 0..ranks {
            let mut topology = TopologyReport::sample();
            topology.topology.size = WorldSize(ranks);
            let config = ConfigReport { local_batch_size: 64, ..ConfigReport::sample() };
            let epoch = |epoch| {
                let phases =
                    [(Phase::Training, 1.0), (Phase::Forward, 0.3), (Phase::Backward, 0.6), (Phase::AllreduceExposed, 0.1)];
                Event::Epoch(EpochReport { epoch, batches: 10, images: 640, phases: phases.into(), ..EpochReport::sample() })
            };
            let mut events = vec![Event::Topology(topology), Event::Config(config)];
            events.extend((0..10).map(|batch| Event::Step { epoch: 0, batch, lr: 0.1, loss: 1.0 }));
            events.extend([1, 2, 3].map(epoch));
            change(process, &mut events);
            for (at, event) in events.into_iter().enumerate() {
                lines += &EventLine { time_s: 1e9 + at as f64 * 0.1, process, event }.to_line();
                lines.push('\n');
            }
        }
        std::fs::write(folder.events_file(), lines).unwrap();
    }

    #[test]
    fn a_run_tells_the_parts_of_its_steps() {
        let home = tempfile::tempdir().unwrap();
        let folder = RunFolder::new(home.path());
        let read = || Sample::of(&folder, RunId(1), None);
        told(&folder, 2, |_, _| {});
        let sample = read().unwrap();
        assert_eq!((sample.ranks, sample.batch, sample.devices, sample.is_gpu, sample.hosts), (2, 64, 4, false, 1));
        assert!((sample.images_per_s - 1280.0).abs() < 1e-6 && (sample.step_s() - 0.1).abs() < 1e-9, "{sample:?}");
        assert!((sample.compute_s - 0.09).abs() < 1e-9 && (sample.exposed_s - 0.01).abs() < 1e-9, "{sample:?}");
        assert!(sample.jitter < 1e-6 && (sample.backward_share.unwrap() - 2.0 / 3.0).abs() < 1e-9, "{sample:?}");
    }

    #[test]
    fn a_run_that_tells_too_little_says_what_is_missing() {
        let home = tempfile::tempdir().unwrap();
        let folder = RunFolder::new(home.path());
        let refused = || Sample::of(&folder, RunId(1), None).unwrap_err();
        assert!(refused().contains("told nothing yet"), "no file");
        let is_epoch = |event: &Event| matches!(event, Event::Epoch(_));
        told(&folder, 1, |_, events| events.retain(|event| !is_epoch(event)));
        assert!(refused().contains("no whole epoch"));
        told(&folder, 2, |process, events| events.retain(|event| process == 0 || !is_epoch(event)));
        assert!(refused().contains("no whole epoch on all ranks"), "one rank was killed");
        told(&folder, 2, |_, events| events.retain(|event| !matches!(event, Event::Config(_))));
        assert!(refused().contains("has not trained"));
        let alone = |_: usize, events: &mut Vec<Event>| {
            if let Some(Event::Topology(topology)) = events.first_mut() {
                topology.topology.size = WorldSize(1);
            }
        };
        told(&folder, 2, alone);
        assert!(refused().contains("train apart"));
        std::fs::write(folder.events_file(), "{\"event\":\"epoch\"}\n\x1b[2J\n{\"ti").unwrap();
        assert!(refused().contains("told nothing yet"), "damaged lines");
    }

    #[test]
    fn a_few_interruptions_are_no_jitter() {
        let mut steps = vec![1.0; 50];
        steps.extend([9.0, 20.0]);
        assert_eq!(spread(&steps), 0.0);
        assert_eq!(spread(&[]), 0.0);
        assert!((spread(&[1.0, 2.0, 3.0, 4.0, 5.0]) - 1.4826).abs() < 1e-9);
    }
}

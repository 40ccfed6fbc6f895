//! What one process reported in one attempt.

use super::observed::Observed;
use crate::domain::benchmark::{IterationReport, PlacementReport};
use crate::domain::collective::{AllreduceReport, LinkReport, MessagesReport};
use crate::domain::event::{
    BroadcastReport, CheckpointAction, CheckpointReport, ConfigReport, DigestMoment, EpochReport, Event, EventLine,
    InspectorReport, TopologyReport,
};
use crate::domain::pipeline::{PipelineReport, TransformsReport};
use crate::domain::user_metrics::LoggedSoFar;

/// How much of a run's events stays in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// The newest epochs of each process, at most this many, and its last step: enough for a run of any length.
    Epochs(usize),
    /// Every step, digest and checkpoint too.
    #[default]
    Everything,
}

/// The most iterations, or rows of a table, that are kept of a process.
const MANY: usize = 10_000;
/// The newest digests of the weights that are kept of a process where not everything is: ranks that do not wait for each other
/// are some epochs apart.
const NEWEST_WEIGHTS: usize = 8;

/// What one process reported in one attempt.
#[derive(Clone, Debug, Default)]
pub struct Process {
    pub topology: Option<TopologyReport>,
    pub config: Option<ConfigReport>,
    /// The last step.
    pub step: Option<TrainingStep>,
    /// All steps, with [`Keep::Everything`].
    pub steps: Vec<TrainingStep>,
    /// The epochs that ended in this attempt, oldest first. Their `cumulative_seconds` go on from the attempts before.
    pub epochs: Vec<EpochReport>,
    /// With the epoch: counted from 0 at the first gradients, else the last epoch trained. Without [`Keep::Everything`] only
    /// the newest of the weights.
    pub digests: Vec<(DigestMoment, usize, String)>,
    /// Some of the numbers behind each digest, with moment and epoch. With [`Keep::Everything`].
    pub samples: Vec<(DigestMoment, usize, Vec<f32>)>,
    /// With [`Keep::Everything`].
    pub checkpoints: Vec<CheckpointReport>,
    /// Checkpoints written within an epoch.
    pub commits: Commits,
    /// The result on the test set: of this rank alone, or of all ranks together.
    pub test: Option<Test>,
    /// Training stopped early after this epoch, counted from 1.
    pub early_stop: Option<usize>,
    /// Rows of the table of collectives, in their order.
    pub allreduces: Vec<AllreduceReport>,
    /// The messages that it received, one allreduce after the other. With [`Keep::Everything`].
    pub messages: Vec<MessagesReport>,
    pub link: Option<LinkReport>,
    /// Where a rank of a benchmark really runs.
    pub placement: Option<PlacementReport>,
    /// The last report of the image pipeline.
    pub pipeline: Option<PipelineReport>,
    pub transforms: Option<TransformsReport>,
    /// Each with the number of steps before it. With [`Keep::Everything`].
    pub broadcasts: Vec<(usize, BroadcastReport)>,
    /// Iterations of a benchmark, in their order.
    pub iterations: Vec<IterationReport>,
    /// What the library saw of its training. With [`Keep::Everything`].
    pub observed: Observed,
    /// What the user's own program logged.
    pub logged: LoggedSoFar,
    /// Ranks of the group that the inspector saw it join; 0 where it saw none.
    pub group: usize,
    /// Events of this process that did not arrive, or do not count.
    pub lost_events: u64,
    /// The process ended well.
    pub has_finished: bool,
    pub continuation: Continuation,
}

/// Checkpoints that were written while the ranks trained on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Commits {
    pub count: usize,
    /// For how long the root stopped for them.
    pub stopped_s: f64,
}

/// How what a process did in one attempt fits between the other attempts of the run.
#[derive(Clone, Debug, Default)]
pub struct Continuation {
    /// Epochs after this one were lost: a later attempt went on from a checkpoint before them.
    kept_until: Option<usize>,
    /// Training seconds of the earlier attempts that this one continues.
    trained_before_s: f64,
    clock: Clock,
}

/// One optimizer step; epoch and batch count from 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrainingStep {
    pub epoch: usize,
    pub batch: usize,
    pub lr: f64,
    pub loss: f64,
    /// Unix time of its end.
    pub time_s: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Test {
    pub loss: f64,
    pub accuracy: f64,
    pub images: usize,
}

/// What the run had spent at the end of the epoch from which an attempt continues.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Spent {
    /// Training with validation, as the trainer counts it.
    pub trained_s: f64,
    /// Since the launch.
    pub passed_s: f64,
}

/// The time of a run as it passes for one process: since the launch, with start-up, without pauses between attempts.
#[derive(Clone, Debug, Default)]
struct Clock {
    /// Unix time of the first event of this attempt.
    began_s: Option<f64>,
    before_s: f64,
    now_s: f64,
    /// At the end of each epoch that is kept.
    ends_s: Vec<f64>,
}

impl Clock {
    fn take(&mut self, time_s: f64) {
        let began_s = *self.began_s.get_or_insert(time_s);
        // Clocks are set back at times; a run is not.
        self.now_s = self.now_s.max(self.before_s + time_s - began_s);
    }

    fn go_on_from(&mut self, before_s: f64) {
        let later = before_s - self.before_s;
        self.before_s = before_s;
        self.now_s += later;
        self.ends_s.iter_mut().for_each(|end_s| *end_s += later);
    }
}

impl Process {
    pub(super) fn take(&mut self, line: &EventLine, keep: Keep) {
        self.continuation.clock.take(line.time_s);
        let everything = keep == Keep::Everything;
        match &line.event {
            Event::Topology(report) => self.topology = Some(report.clone()),
            Event::Config(report) => self.config = Some(report.clone()),
            Event::Step { epoch, batch, lr, loss } => {
                let step = TrainingStep { epoch: *epoch, batch: *batch, lr: *lr, loss: *loss, time_s: line.time_s };
                self.step = Some(step);
                if everything {
                    self.steps.push(step);
                }
            }
            Event::Epoch(report) => self.end_epoch(report, keep),
            Event::Logged(logged) => self.logged.take(logged),
            Event::Inspected(report) => {
                if let InspectorReport::Group(group) = report.as_ref() {
                    self.group = group.size;
                }
            }
            Event::Digest { moment, epoch, digest, sample } if everything || moment.is_of_weights() => {
                if !everything && self.digests.len() == NEWEST_WEIGHTS {
                    self.digests.remove(0);
                }
                self.digests.push((*moment, *epoch, digest.clone()));
                if everything && !sample.is_empty() {
                    self.samples.push((*moment, *epoch, sample.clone()));
                }
            }
            Event::Checkpoint(report) if report.action == CheckpointAction::Committed => {
                self.commits.count += 1;
                self.commits.stopped_s += report.stopped_seconds.unwrap_or_default();
                self.checkpoints.extend(everything.then(|| report.clone()));
            }
            Event::Checkpoint(report) if everything => self.checkpoints.push(report.clone()),
            Event::Test { loss, accuracy, images, .. } => {
                self.test = Some(Test { loss: *loss, accuracy: *accuracy, images: *images });
            }
            Event::EarlyStop { epoch } => self.early_stop = Some(*epoch),
            Event::Allreduce(report) if self.allreduces.len() < MANY => self.allreduces.push(report.clone()),
            Event::Messages(report) if everything => match self.messages.last_mut() {
                Some(before) if report.goes_on_from(before) => before.messages.extend(report.messages.iter().cloned()),
                _ => self.messages.push(report.clone()),
            },
            Event::Link(report) => self.link = Some(report.clone()),
            Event::Placement(report) => self.placement = Some(report.clone()),
            Event::Pipeline(report) => self.pipeline = Some(report.clone()),
            Event::Transforms(report) => self.transforms = Some(report.clone()),
            Event::Broadcast(report) if everything => self.broadcasts.push((self.steps.len(), *report)),
            Event::Iteration(report) if self.iterations.len() < MANY => self.iterations.push(report.clone()),
            Event::Observed(seen) if everything => self.observed.take(seen, self.steps.len()),
            Event::Lost { events } => self.lost_events = self.lost_events.saturating_add(*events),
            Event::Finished { .. } => self.has_finished = true,
            // Other events belong to the attempt as a whole, or are kept only with everything.
            _ => {}
        }
    }

    fn end_epoch(&mut self, report: &EpochReport, keep: Keep) {
        if let Keep::Epochs(most) = keep
            && self.epochs.len() >= most.max(1)
        {
            // Drop a sixteenth at once: removing one at a time is quadratic.
            let gone = if most > MANY { most / 16 } else { 1 };
            self.epochs.drain(..gone);
            self.continuation.clock.ends_s.drain(..gone);
        }
        let cumulative_seconds = self.continuation.trained_before_s + report.cumulative_seconds;
        self.epochs.push(EpochReport { cumulative_seconds, ..report.clone() });
        let clock = &mut self.continuation.clock;
        clock.ends_s.push(clock.now_s);
    }

    /// The process ended this epoch, but its report was lost.
    pub(super) fn restore(&mut self, report: &EpochReport, keep: Keep) {
        if self.epochs.last().is_none_or(|last| last.epoch < report.epoch) {
            let clock = &mut self.continuation.clock;
            // How long it took to start is not known where nothing else is.
            clock.now_s = clock.now_s.max(clock.before_s + report.cumulative_seconds);
            self.end_epoch(report, keep);
        }
    }

    /// This attempt continues from there: the epochs that it has trained already move with it.
    pub(super) fn go_on_from(&mut self, spent: Spent) {
        let later_s = spent.trained_s - self.continuation.trained_before_s;
        self.epochs.iter_mut().for_each(|report| report.cumulative_seconds += later_s);
        self.continuation.trained_before_s = spent.trained_s;
        self.continuation.clock.go_on_from(spent.passed_s);
    }

    /// A later attempt continues from the end of this epoch.
    pub(super) fn lose_after(&mut self, epoch: usize) {
        let kept_until = &mut self.continuation.kept_until;
        *kept_until = Some(kept_until.map_or(epoch, |kept| kept.min(epoch)));
    }

    /// The epochs that no later attempt has lost.
    pub fn kept(&self) -> impl DoubleEndedIterator<Item = &EpochReport> {
        self.epochs.iter().filter(|report| self.continuation.kept_until.is_none_or(|last| report.epoch <= last))
    }

    /// What the run had spent when its newest epoch up to this one ended.
    pub(super) fn spent_until(&self, epoch: usize) -> Option<Spent> {
        let last = self.kept().rfind(|report| report.epoch <= epoch)?;
        let place = self.epochs.iter().rposition(|report| report.epoch == last.epoch)?;
        let passed_s = self.continuation.clock.ends_s.get(place).copied().unwrap_or_default();
        Some(Spent { trained_s: last.cumulative_seconds, passed_s })
    }

    /// Seconds from the launch of the run to the newest event: with start-up, without the pauses between attempts and
    /// without what was lost.
    pub fn passed_s(&self) -> f64 {
        self.continuation.clock.now_s
    }

    /// Steps that it has taken since the first epoch began, in this attempt and those that it continues.
    pub fn steps_done(&self) -> usize {
        let steps_per_epoch = self.config.as_ref().map_or(0, |config| config.steps_per_epoch);
        self.step.map_or(0, |step| step.epoch.saturating_mul(steps_per_epoch).saturating_add(step.batch + 1))
    }

    pub fn digest(&self, moment: DigestMoment, epoch: usize) -> Option<&str> {
        self.digests.iter().find(|(at, of, _)| (*at, *of) == (moment, epoch)).map(|(.., digest)| digest.as_str())
    }

    /// All digests of a moment, in order.
    pub fn digests_of(&self, moment: DigestMoment) -> Vec<&str> {
        self.digests.iter().filter(|(at, ..)| *at == moment).map(|(.., digest)| digest.as_str()).collect()
    }

    pub fn sample(&self, moment: DigestMoment, epoch: usize) -> Option<&[f32]> {
        self.samples.iter().find(|(at, of, _)| (*at, *of) == (moment, epoch)).map(|(.., sample)| sample.as_slice())
    }

    /// The first sample of a moment.
    pub fn first_sample(&self, moment: DigestMoment) -> Option<&[f32]> {
        self.samples.iter().find(|(at, ..)| *at == moment).map(|(.., sample)| sample.as_slice())
    }

    pub fn epoch(&self, epoch: usize) -> Option<&EpochReport> {
        self.epochs.iter().find(|report| report.epoch == epoch)
    }
}

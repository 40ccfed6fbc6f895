//! Further runs of the learner's program, in which a wrong program shows that looks right on two ranks of one host.
//!
//! Each is made for the place that it matters for, and all of them once the whole program is done. Never judges: `course` does.

use std::path::Path;

use super::program::Program;
use crate::course::{Evidence, Outcome, Verdict};
use crate::domain::job::{Resources, Workload};
use crate::domain::run::{RunState, RunStatus};
use crate::domain::step::Step;
use crate::launch::{self, LaunchError, MoreWork};
use crate::runs::{RunId, RunRequest, RunStore, Trial};

/// A difference smaller than one image of a validation makes.
const BELOW: f64 = 1e-6;

/// The difference between a further run and the first one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Condition {
    /// Three ranks, as if on two hosts: the number of ranks is not 2, and a local rank is not the rank.
    ThreeRanks,
    /// The same of the ten steps: long enough for the rate to fall, on few images.
    LongOnThreeRanks,
    /// A target accuracy that the mean over the ranks exceeds and the accuracy of one rank does not.
    EarlyStop { target: f64 },
    /// One more epoch, from the last checkpoint.
    GoOn { epochs: usize },
}

impl Program {
    /// Whether a program of this text that passes is tried further.
    pub(super) fn is_tried_further(&self, text: &str) -> bool {
        let done = self.done(text);
        let conditional = [Step::AverageMetrics, Step::CheckpointOnRoot].map(Step::number);
        done.len() == self.count && !self.is_in_pytorch()
            || self.has_steps() && done.iter().max().is_some_and(|last| conditional.contains(last))
    }

    /// The conditions for a program of this text, of which a first run left this behind if it shows steps.
    pub fn conditions(&self, text: &str, first: Option<&Evidence>) -> Vec<Condition> {
        let done = self.done(text);
        let (Some(last), Some(first)) = (done.iter().copied().max(), first) else {
            return (done.len() == self.count).then_some(Condition::ThreeRanks).into_iter().collect();
        };
        let matters = |step: Step| last == step.number() || done.len() == self.count;
        let go_on = Condition::GoOn { epochs: first.spec.workload.epochs + 1 };
        let all = [
            matters(Step::AverageMetrics).then(|| Some(Condition::EarlyStop { target: between(first)? })).flatten(),
            matters(Step::CheckpointOnRoot).then_some(go_on),
            (done.len() == self.count).then_some(Condition::LongOnThreeRanks),
        ];
        all.into_iter().flatten().collect()
    }
}

/// A little above the lowest accuracy of the ranks after the first epoch where they differ, and a little below it where they do not:
/// then all ranks reach it, and have to stop.
fn between(first: &Evidence) -> Option<f64> {
    let attempt = first.history.attempts.first()?;
    let own = attempt.processes.values().map(|process| Some(process.epoch(1)?.validation.accuracy));
    let own: Vec<f64> = own.collect::<Option<_>>()?;
    let (low, high) = own.iter().fold((f64::MAX, f64::MIN), |(low, high), own| (low.min(*own), high.max(*own)));
    if high > low { Some(low + (high - low) / (2 * own.len()) as f64) } else { Some(low - BELOW).filter(|target| *target > 0.0) }
}

/// Epochs until the rate has fallen once, in batches of so many images, of which each of three ranks gets three, and one to validate on.
const FALL_EPOCHS: usize = 16;
const FALL_BATCH: usize = 8;
/// Images, of digits, of which each rank has a batch; and steps of a training on photos, of which some have a broadcast and some none.
const DIGITS: (usize, usize) = (128, 64);
const PHOTO_STEPS: usize = 7;
/// Ranks on each simulated host.
const RANKS_PER_HOST: usize = 2;

impl Condition {
    /// The condition as the end of a sentence.
    pub fn in_words(self) -> &'static str {
        match self {
            Condition::ThreeRanks => "on 3 ranks of two simulated hosts",
            Condition::LongOnThreeRanks => "on 3 ranks of two simulated hosts, for 16 epochs",
            Condition::EarlyStop { .. } => "with a target accuracy that the ranks reach",
            Condition::GoOn { .. } => "going on from its checkpoint",
        }
    }

    /// Starts it: a run of its own, or more of the first one.
    ///
    /// # Errors
    /// As for every run.
    pub fn start(
        self,
        program: &Program,
        store: &RunStore,
        built: &Path,
        text: &str,
        first: RunId,
    ) -> Result<RunId, LaunchError> {
        let mut request = RunRequest { trial: Some(Trial::Further), ..program.request(built.to_owned(), text) };
        if matches!(self, Condition::ThreeRanks | Condition::LongOnThreeRanks) {
            let limit = request.spec.resources.time_limit_s;
            request.spec.resources = Resources { time_limit_s: limit, ..Resources::ranks(3) };
        }
        if let Workload::Nvcnn(photos) = &mut request.spec.workload {
            (photos.ranks_per_host, photos.num_batches) = (Some(RANKS_PER_HOST), PHOTO_STEPS);
        }
        let Some(training) = request.spec.workload.training_mut() else { return launch::start(store, request) };
        let mut on_two_hosts = |images, validation_images| {
            training.trainer_flags.extend(["--ranks-per-host".to_owned(), RANKS_PER_HOST.to_string()]);
            (training.train_images, training.validation_images) = (Some(images), Some(validation_images));
        };
        match self {
            Condition::GoOn { epochs } => {
                launch::continue_run(store, first, MoreWork::epochs(epochs))?;
                return Ok(first);
            }
            Condition::EarlyStop { target } => (training.target_accuracy, training.patience) = (target, 1),
            Condition::ThreeRanks => on_two_hosts(DIGITS.0, DIGITS.1),
            Condition::LongOnThreeRanks => {
                on_two_hosts(9 * FALL_BATCH, FALL_BATCH);
                // Nobody stops before.
                (training.epochs, training.batch_size, training.target_accuracy) = (FALL_EPOCHS, FALL_BATCH, 1.0);
            }
        }
        launch::start(store, request)
    }

    /// Enters what went wrong under this condition into what the first run showed.
    pub fn enter(self, program: &Program, text: &str, status: &RunStatus, shown: &[Verdict], first: &mut [Verdict]) {
        let done = program.done(text);
        let failed = shown.iter().filter(|shown| done.contains(&shown.number) && shown.outcome == Outcome::Failed);
        let failed: Vec<(usize, String)> = failed.map(|shown| (shown.number, shown.evidence.clone())).collect();
        if failed.is_empty() && status.state != RunState::Finished {
            let why = format!("the run {}", status.end_in_words());
            // An error that names a line is that line's, whichever run it ended.
            match program.place_of_error(&status.message, text) {
                Some(place) => self.fail(place, &why, first),
                None => self.blame(&why, first),
            }
        }
        failed.into_iter().for_each(|(number, why)| self.fail(number, &why, first));
    }

    /// Enters what went wrong where no check says which place it is.
    pub fn blame(self, why: &str, first: &mut [Verdict]) {
        let place = match self {
            Condition::EarlyStop { .. } => Step::AverageMetrics.number(),
            Condition::GoOn { .. } => Step::CheckpointOnRoot.number(),
            Condition::ThreeRanks | Condition::LongOnThreeRanks => Step::InitAndPin.number(),
        };
        self.fail(place, why, first);
    }

    fn fail(self, number: usize, why: &str, first: &mut [Verdict]) {
        if let Some(place) = first.iter_mut().find(|shown| shown.number == number) {
            place.outcome = Outcome::Failed;
            place.evidence = format!("{}, {why}", self.in_words());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::event::{EpochReport, Event, EventLine, Metrics};
    use crate::exercise::{FOUR_CHANGES, NVCNN, TEN_STEPS};

    fn evidence(accuracies: &[f64]) -> Evidence {
        let mut evidence = Evidence::new((TEN_STEPS.job)(&TEN_STEPS, "").training_job().unwrap());
        for (process, accuracy) in accuracies.iter().enumerate() {
            let validation = Metrics { loss: 1.0, accuracy: *accuracy };
            let event = Event::Epoch(EpochReport { validation, ..EpochReport::sample() });
            evidence.take(&EventLine { time_s: 1.0, process, event });
        }
        evidence
    }

    #[test]
    fn each_condition_comes_with_the_place_that_it_matters_for() {
        let first = evidence(&[0.5, 0.75]);
        let of = |done: usize| TEN_STEPS.conditions(&TEN_STEPS.solution(done), Some(&first));
        let (stop, go_on) = (Condition::EarlyStop { target: 0.5625 }, Condition::GoOn { epochs: 3 });
        for done in [0, 1, 2, 3, 4, 5, 8, 9] {
            assert_eq!(of(done), []);
            assert!(!TEN_STEPS.is_tried_further(&TEN_STEPS.solution(done)), "{done}");
        }
        assert!([6, 7, 10].iter().all(|done| TEN_STEPS.is_tried_further(&TEN_STEPS.solution(*done))));
        assert_eq!((of(6), of(7)), (vec![stop], vec![go_on]));
        assert_eq!(of(10), [stop, go_on, Condition::LongOnThreeRanks]);
        let same = evidence(&[0.5, 0.5]);
        let reached = Condition::EarlyStop { target: 0.5 - BELOW };
        assert_eq!(
            TEN_STEPS.conditions(&TEN_STEPS.solution(6), Some(&same)),
            [reached],
            "nobody can differ, and all have to stop"
        );
        let nothing = evidence(&[0.0, 0.0]);
        assert_eq!(TEN_STEPS.conditions(&TEN_STEPS.solution(6), Some(&nothing)), [], "no target is below that");
        for program in [&FOUR_CHANGES, &NVCNN] {
            let of = |done: usize| program.conditions(&program.solution(done), None);
            assert_eq!((of(program.count - 1), of(program.count)), (vec![], vec![Condition::ThreeRanks]), "{program:?}");
        }
    }
}

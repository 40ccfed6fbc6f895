//! What more ranks, or other settings, cost or gained in accuracy, and why, as far as the two runs themselves show it.
//!
//! Never reads a file: two summaries in, words out.

use super::{RunSummary, differences};
use crate::domain::run::RunState;
use crate::domain::step::Step;
use crate::domain::training::TrainingSpec;
use crate::domain::units;

/// Percentage points by which two runs may differ because of their seeds alone. Smaller differences are not explained.
pub const POINTS_OF_SEEDS: f64 = 3.0;
/// Fewer updates than the other run by more than this part are a cause.
const FEWER: f64 = 0.1;

/// The accuracy of a run beside another's.
#[derive(Clone, Debug, PartialEq)]
pub struct AccuracyChange {
    /// Of the run, 0 to 1.
    pub accuracy: f64,
    /// Of the other.
    pub before: f64,
    /// What lowered or raised it, the most telling first; none where the difference is small.
    pub causes: Vec<String>,
}

impl AccuracyChange {
    /// Percentage points above the other run; below 0 under it.
    pub fn points(&self) -> f64 {
        (self.accuracy - self.before) * 100.0
    }

    /// Another seed would make as much of a difference.
    pub fn is_small(&self) -> bool {
        self.points().abs() <= POINTS_OF_SEEDS
    }
}

impl RunSummary {
    /// The accuracy as a table shows it: of the test, or else of the validation, which is marked.
    pub fn shown_accuracy(&self) -> Option<String> {
        let validated = || Some(units::accuracy(self.validation?.accuracy) + " val");
        self.test.map(|test| units::accuracy(test.accuracy)).or_else(validated)
    }
}

/// A training and what became of it.
struct Half<'a> {
    run: &'a RunSummary,
    training: &'a TrainingSpec,
    np: usize,
}

/// How the accuracy of `run` differs from that of `other`, and why. `None` unless both are finished trainings with an accuracy.
pub fn accuracy_change(run: &RunSummary, other: &RunSummary) -> Option<AccuracyChange> {
    let of_both = run.test.zip(other.test).or(run.validation.zip(other.validation));
    let (now, before) = of_both.map(|(now, before)| (now.accuracy, before.accuracy))?;
    // What was stopped or failed was cut off somewhere: how accurate it was then says nothing of its settings.
    let is_whole = |run: &RunSummary| run.status.state == RunState::Finished;
    if !(is_whole(run) && is_whole(other) && now.is_finite() && before.is_finite()) {
        return None;
    }
    let [half, held_against] = [Half::of(run)?, Half::of(other)?];
    let mut change = AccuracyChange { accuracy: now, before, causes: Vec::new() };
    if !change.is_small() {
        change.causes = causes(&half, &held_against, change.points() < 0.0);
    }
    Some(change)
}

impl<'a> Half<'a> {
    fn of(run: &'a RunSummary) -> Option<Half<'a>> {
        let record = run.record.as_ref()?;
        Some(Half { run, training: record.training()?, np: record.np() })
    }

    /// Times that the weights were changed.
    fn updates(&self) -> usize {
        self.training.steps_per_epoch(self.np).saturating_mul(self.run.last_epoch)
    }

    /// The epochs of the warm-up, where the training ended before it did.
    fn climbing_to(&self) -> Option<usize> {
        let last = self.training.last_warmup_epoch(self.np)?;
        (self.run.last_epoch < last).then_some(last)
    }

    /// Its ranks know of each other, and this step is off.
    fn lacks(&self, step: Step) -> bool {
        self.np > 1 && !self.training.steps.is_effective(step)
    }
}

fn causes(run: &Half, other: &Half, is_lower: bool) -> Vec<String> {
    let (worse, better) = if is_lower { (run, other) } else { (other, run) };
    let place = if is_lower { String::new() } else { format!("in run {} ", other.run.id) };
    let mut causes: Vec<String> = Vec::new();
    if worse.run.train.is_some_and(|train| !train.loss.is_finite()) {
        causes.push(format!("{place}the loss is no longer a number: the rate is too high"));
    }
    // How often the weights were changed moves more than most steps do.
    let [fewer, more] = [worse, better].map(|half| half.updates() as f64);
    let updates = (fewer < more * (1.0 - FEWER)).then(|| format!("{} updates instead of {}", run.updates(), other.updates()));
    let is_alone = worse.lacks(Step::DistributedOptimizer) && !better.lacks(Step::DistributedOptimizer);
    let (first, last) = if is_alone { (None, updates) } else { (updates, None) };
    causes.extend(first);
    let lacking = STEPS.iter().filter(|(step, _)| worse.lacks(*step) && !better.lacks(*step));
    causes.extend(lacking.map(|(step, what)| format!("{place}{what} (step {} is off)", step.number())));
    // Without step 1 every other step is without effect, which the first cause says.
    if worse.lacks(Step::InitAndPin) && !better.lacks(Step::InitAndPin) {
        causes.truncate(1);
    }
    causes.extend(last);
    if let Some(last) = worse.climbing_to().filter(|_| better.climbing_to().is_none()) {
        causes.push(format!("{place}the rate was still climbing: epoch {} of {last} of the warm-up", worse.run.last_epoch));
    }
    let optimizers = [run, other].map(|half| if half.training.steps.contains(Step::NovoGrad) { "NovoGrad" } else { "SGD" });
    if optimizers[0] != optimizers[1] {
        causes.push(format!("{} instead of {}", optimizers[0], optimizers[1]));
    }
    causes.extend(settings(run.run, other.run));
    if causes.is_empty() {
        causes.push("the settings give no cause".into());
    }
    causes
}

/// What a training on several ranks suffers from where a step is off, if the step has a part in the accuracy.
const STEPS: [(Step, &str); 6] = [
    (Step::InitAndPin, "every rank took itself for the only one"),
    (Step::DistributedOptimizer, "each rank trained alone"),
    (Step::Broadcast, "the ranks started from different weights"),
    (Step::AverageMetrics, "the accuracy is of one rank only"),
    (Step::ScaleLearningRate, "the rate was not scaled"),
    (Step::Warmup, "the full rate from the first step"),
];

/// Settings that may move the accuracy either way, in the order of their names.
fn settings(run: &RunSummary, other: &RunSummary) -> impl Iterator<Item = String> {
    const EITHER_WAY: [&str; 10] =
        ["base_lr", "data", "images", "model", "momentum", "precision", "seed", "train_images", "trainer_flags", "wd"];
    let found = other.record.as_ref().zip(run.record.as_ref()).map(|(other, run)| differences(other, run));
    let found = found.into_iter().flatten().filter(|one| EITHER_WAY.contains(&one.setting.as_str()));
    found.map(|one| format!("{} {} instead of {}", one.label(), one.run, one.baseline))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::event::Metrics;
    use crate::domain::step::StepSet;
    use crate::runs::tests::{record, status};
    use crate::runs::{RunId, Tally};

    /// A training of three epochs that reached so much, in per cent.
    fn trained(id: u32, np: usize, percent: f64, change: impl FnOnce(&mut TrainingSpec)) -> RunSummary {
        let mut run = RunSummary {
            id: RunId(id),
            record: Some(record(np)),
            status: status(RunState::Finished),
            elsewhere: None,
            tally: Tally {
                last_epoch: 3,
                train: Some(Metrics { loss: 0.5, accuracy: 0.8 }),
                test: Some(Metrics { loss: 0.5, accuracy: percent / 100.0 }),
                ..Tally::default()
            },
        };
        let training = run.record.as_mut().unwrap().request.spec.workload.training_mut().unwrap();
        *training = TrainingSpec::sample();
        change(training);
        run
    }

    fn said(run: &RunSummary, other: &RunSummary) -> String {
        accuracy_change(run, other).map_or("nothing".into(), |change| change.causes.join(", and "))
    }

    #[test]
    fn each_cause_is_named_from_the_evidence_of_the_two_runs() {
        let as_it_is = |_: &mut TrainingSpec| {};
        let without = |step: Step| move |training: &mut TrainingSpec| training.steps = StepSet::ALL.without(step);
        let warm = |training: &mut TrainingSpec| training.warmup_epochs = 2.0;
        let one = || trained(1, 1, 80.0, as_it_is);
        let two = || trained(1, 2, 80.0, warm);
        let climbing = "the rate was still climbing: epoch 3 of 5 of the warm-up";
        let mut broken = trained(2, 2, 10.0, warm);
        broken.tally.train.as_mut().unwrap().loss = f64::NAN;
        let cases: [(RunSummary, RunSummary, String); 13] = [
            (trained(2, 2, 70.1, as_it_is), one(), format!("282 updates instead of 564, and {climbing}")),
            (trained(2, 2, 70.1, warm), one(), "282 updates instead of 564".into()),
            (one(), trained(2, 2, 70.1, as_it_is), format!("564 updates instead of 282, and in run 2 {climbing}")),
            (trained(2, 2, 70.0, as_it_is), two(), climbing.into()),
            (
                trained(2, 2, 60.0, |t| (warm(t), without(Step::Broadcast)(t)).1),
                two(),
                "the ranks started from different weights (step 4 is off)".into(),
            ),
            (
                two(),
                trained(2, 2, 60.0, |t| (warm(t), without(Step::ScaleLearningRate)(t)).1),
                "in run 2 the rate was not scaled (step 8 is off)".into(),
            ),
            (
                trained(2, 2, 60.0, |t| (warm(t), without(Step::InitAndPin)(t)).1),
                two(),
                "every rank took itself for the only one (step 1 is off)".into(),
            ),
            // Step 5 off doubles the updates of the better run, which is more than step 4 does.
            (
                trained(2, 2, 60.0, |t| (warm(t), without(Step::Broadcast)(t)).1),
                trained(1, 2, 80.0, |t| (warm(t), without(Step::FewerSteps)(t)).1),
                "282 updates instead of 564, and the ranks started from different weights (step 4 is off)".into(),
            ),
            (broken, two(), "the loss is no longer a number: the rate is too high".into()),
            (trained(2, 2, 60.0, |t| (warm(t), t.base_lr = 0.1).1), two(), "base LR 0.1 instead of 0.01".into()),
            (trained(2, 2, 60.0, warm), two(), "the settings give no cause".into()),
            (trained(2, 2, 60.0, |t| (warm(t), without(Step::NovoGrad)(t)).1), two(), "SGD instead of NovoGrad".into()),
            (trained(2, 2, 78.0, as_it_is), one(), String::new()),
        ];
        for (run, other, words) in cases {
            assert_eq!(said(&run, &other), words);
        }
    }

    #[test]
    fn points_have_a_sign_and_few_of_them_are_what_a_seed_makes() {
        let change = |now: f64| accuracy_change(&trained(2, 2, now, |_| {}), &trained(1, 1, 70.0, |_| {})).unwrap();
        for (now, points, is_small) in [(60.1, -9.9, false), (67.1, -2.9, true), (70.0, 0.0, true), (74.0, 4.0, false)] {
            assert!((change(now).points() - points).abs() < 1e-9 && change(now).is_small() == is_small, "{now}");
        }
    }

    #[test]
    fn what_has_no_accuracy_yet_is_not_judged() {
        let other = trained(1, 1, 70.0, |_| {});
        let going = RunSummary { status: status(RunState::Running), ..trained(2, 2, 60.0, |_| {}) };
        assert_eq!(accuracy_change(&going, &other), None);
        for cut_off in [RunState::Stopped, RunState::Failed] {
            let run = RunSummary { status: status(cut_off), ..trained(2, 2, 60.0, |_| {}) };
            assert_eq!(accuracy_change(&run, &other), None, "{cut_off:?}");
        }
        let mut untested = trained(2, 2, 60.0, |_| {});
        untested.tally.test = None;
        assert_eq!(accuracy_change(&untested, &other), None, "a test beside a validation would be no comparison");
        assert_eq!(accuracy_change(&RunSummary { record: None, ..trained(2, 2, 60.0, |_| {}) }, &other), None);
        let mut broken = trained(2, 2, 60.0, |_| {});
        broken.tally.test.as_mut().unwrap().accuracy = f64::NAN;
        assert_eq!(accuracy_change(&broken, &other), None);
    }
}

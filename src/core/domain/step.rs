//! The ten steps from serial to distributed training, and sets of them (`1-10`, `none`, `1,3,5-7`).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::units;

crate::named! {
    /// One of the ten steps, in the order of the lab, with its title.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    Step {
        InitAndPin = "Init and pin a device",
        VerboseOnRoot = "Print on rank 0 only",
        DistributedOptimizer = "Average gradients",
        Broadcast = "Broadcast the weights",
        FewerSteps = "Fewer steps per epoch",
        AverageMetrics = "Average the metrics",
        CheckpointOnRoot = "Checkpoint on rank 0",
        ScaleLearningRate = "Scale the learning rate",
        Warmup = "Warm the rate up",
        NovoGrad = "NovoGrad optimizer",
    }
}

impl Step {
    /// 1 to 10.
    pub fn number(self) -> usize {
        1 + self as usize
    }

    pub fn from_number(number: usize) -> Option<Step> {
        Step::ALL.get(number.checked_sub(1)?).copied()
    }

    /// At most 24 characters, for narrow lists.
    pub fn title(self) -> &'static str {
        self.name()
    }

    /// What a run shows when the step is off, in one sentence.
    pub fn without(self) -> &'static str {
        match self {
            Step::InitAndPin => "Every process thinks it is rank 0 of 1 and takes the same device.",
            Step::VerboseOnRoot => "Every rank prints every line.",
            Step::DistributedOptimizer => "Each rank trains alone: no rank learns from the images of the others.",
            Step::Broadcast => "Ranks start from different random weights and stay different.",
            Step::FewerSteps => "Every rank does the whole epoch: N times the work, no time saved.",
            Step::AverageMetrics => "Each rank decides on its own validation result, and the results differ.",
            Step::CheckpointOnRoot => "All ranks write the same checkpoint file; the last writer wins.",
            Step::ScaleLearningRate => "N times fewer updates at the old rate: training falls behind.",
            Step::Warmup => "Training starts at the full scaled rate, with fresh random weights.",
            Step::NovoGrad => "SGD with momentum, which copes worse with large global batches.",
        }
    }

    /// Horovod's own spelling of the step.
    pub fn horovod(self) -> &'static str {
        match self {
            Step::InitAndPin => "hvd.init(); set_visible_devices(gpus[hvd.local_rank()])",
            Step::VerboseOnRoot => "verbose = 1 if hvd.rank() == 0 else 0",
            Step::DistributedOptimizer => "opt = hvd.DistributedOptimizer(opt)",
            Step::Broadcast => "BroadcastGlobalVariablesCallback(0)",
            Step::FewerSteps => "steps_per_epoch = len(train_iter) // hvd.size()",
            Step::AverageMetrics => "MetricAverageCallback()",
            Step::CheckpointOnRoot => "if hvd.rank() == 0: callbacks.append(ModelCheckpoint(...))",
            Step::ScaleLearningRate => "lr = base_lr * hvd.size()",
            Step::Warmup => "LearningRateWarmupCallback(initial_lr, warmup_epochs=5)",
            Step::NovoGrad => "opt = NovoGrad(lr)",
        }
    }

    /// The step this one has no effect without. Any combination runs; this only explains. An optimizer needs no other
    /// rank, so step 10 stands alone.
    pub fn needs(self) -> Option<Step> {
        (!matches!(self, Step::InitAndPin | Step::NovoGrad)).then_some(Step::InitAndPin)
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Step {}/10: {}", self.number(), self.title())
    }
}

/// A set of steps; prints and parses as `1-3,5` or `none`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StepSet(u16);

impl StepSet {
    pub const NONE: StepSet = StepSet(0);
    pub const ALL: StepSet = StepSet(0b111_1111_1110);

    /// Steps 1 to `count`; none for 0.
    pub fn first(count: usize) -> StepSet {
        Step::ALL.into_iter().take(count).collect()
    }

    pub fn contains(self, step: Step) -> bool {
        self.0 & (1 << step.number()) != 0
    }

    /// On, and step 1 as well where the step needs it: a rank that knows of no other rank cannot share.
    pub fn is_effective(self, step: Step) -> bool {
        self.contains(step) && step.needs().is_none_or(|needed| self.contains(needed))
    }

    #[must_use]
    pub fn with(self, step: Step) -> StepSet {
        StepSet(self.0 | 1 << step.number())
    }

    #[must_use]
    pub fn without(self, step: Step) -> StepSet {
        StepSet(self.0 & !(1 << step.number()))
    }

    #[must_use]
    pub fn toggled(self, step: Step) -> StepSet {
        StepSet(self.0 ^ 1 << step.number())
    }

    /// `no steps`, `step 1`, `steps 1-4, 6`.
    pub fn in_words(self) -> String {
        let numbers = self.to_string().replace(',', ", ");
        match self.iter().count() {
            0 => "no steps".to_owned(),
            1 => format!("step {numbers}"),
            _ => format!("steps {numbers}"),
        }
    }

    pub fn iter(self) -> impl Iterator<Item = Step> {
        Step::ALL.into_iter().filter(move |step| self.contains(*step))
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl FromIterator<Step> for StepSet {
    fn from_iter<T: IntoIterator<Item = Step>>(steps: T) -> StepSet {
        steps.into_iter().fold(StepSet::NONE, StepSet::with)
    }
}

impl fmt::Display for StepSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("none");
        }
        f.write_str(&units::ranges(&self.iter().map(Step::number).collect::<Vec<_>>()))
    }
}

impl super::setting::Named for StepSet {}

impl FromStr for StepSet {
    type Err = String;

    fn from_str(text: &str) -> Result<StepSet, String> {
        let text = text.trim();
        match text {
            "none" => return Ok(StepSet::NONE),
            "all" => return Ok(StepSet::ALL),
            _ => {}
        }
        let error = || format!("`{text}` is not a valid step list: use numbers from 1 to 10, such as 1-10, 1,3,5-7 or none");
        let number = |word: &str| word.trim().parse().ok().and_then(Step::from_number).ok_or_else(error);
        let mut set = StepSet::NONE;
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(error());
            }
            set = Step::ALL.into_iter().filter(|step| (first..=last).contains(step)).fold(set, StepSet::with);
        }
        Ok(set)
    }
}

super::named::as_text!(StepSet);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_said_in_words() {
        let said = ["none", "4", "1-3,6"].map(|text| text.parse::<StepSet>().unwrap().in_words());
        assert_eq!(said, ["no steps", "step 4", "steps 1-3, 6"]);
    }

    #[test]
    fn every_set_prints_as_it_parses() {
        for bits in 0..1024u16 {
            let set = StepSet(bits << 1);
            assert_eq!(set.to_string().parse(), Ok(set), "{set}");
        }
    }

    #[test]
    fn lists_that_mean_nothing_are_refused_by_name() {
        for bad in ["", "0", "11", "3-1", "1,,2", "1-", "-3", "one", "1-11", "1.5", "1 2", "none,1"] {
            let error = bad.parse::<StepSet>().unwrap_err();
            assert!(error.contains(bad.trim()), "{error}");
        }
    }

    #[test]
    fn a_step_without_step_one_has_no_effect() {
        let set: StepSet = "3,4".parse().unwrap();
        assert!(set.contains(Step::Broadcast) && !set.is_effective(Step::Broadcast));
        assert!(set.with(Step::InitAndPin).is_effective(Step::Broadcast));
        assert!(set.with(Step::NovoGrad).is_effective(Step::NovoGrad), "an optimizer needs no other rank");
    }
}

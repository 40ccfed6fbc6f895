//! The ten steps: of each, how a run is judged and what it changes between two runs. One file a step.

mod average_metrics;
pub(super) mod broadcast;
pub(super) mod checkpoint_on_root;
pub(super) mod distributed_optimizer;
mod fewer_steps;
pub(super) mod init_and_pin;
mod novograd;
pub(super) mod scale_learning_rate;
mod verbose_on_root;
mod warmup;

use super::check::group::Group;
use super::check::verdict::Finding;
use super::contrast::{Contrast, Side};
use crate::domain::step::Step;

/// How a run is judged by a step, and what the step changes between two runs.
pub struct Rules {
    pub check: fn(&Group) -> Finding,
    pub contrast: fn(&[Side; 2], &mut Contrast),
}

macro_rules! rules {
    ($module:ident) => {
        Rules { check: $module::check, contrast: $module::contrast }
    };
}

pub fn rules(step: Step) -> Rules {
    match step {
        Step::InitAndPin => rules!(init_and_pin),
        Step::VerboseOnRoot => rules!(verbose_on_root),
        Step::DistributedOptimizer => rules!(distributed_optimizer),
        Step::Broadcast => rules!(broadcast),
        Step::FewerSteps => rules!(fewer_steps),
        Step::AverageMetrics => rules!(average_metrics),
        Step::CheckpointOnRoot => rules!(checkpoint_on_root),
        Step::ScaleLearningRate => rules!(scale_learning_rate),
        Step::Warmup => rules!(warmup),
        Step::NovoGrad => rules!(novograd),
    }
}

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
    pub contrast: fn([&Side; 2], &mut Contrast),
}

pub fn rules(step: Step) -> Rules {
    match step {
        Step::InitAndPin => Rules { check: init_and_pin::check, contrast: init_and_pin::contrast },
        Step::VerboseOnRoot => Rules { check: verbose_on_root::check, contrast: verbose_on_root::contrast },
        Step::DistributedOptimizer => Rules { check: distributed_optimizer::check, contrast: distributed_optimizer::contrast },
        Step::Broadcast => Rules { check: broadcast::check, contrast: broadcast::contrast },
        Step::FewerSteps => Rules { check: fewer_steps::check, contrast: fewer_steps::contrast },
        Step::AverageMetrics => Rules { check: average_metrics::check, contrast: average_metrics::contrast },
        Step::CheckpointOnRoot => Rules { check: checkpoint_on_root::check, contrast: checkpoint_on_root::contrast },
        Step::ScaleLearningRate => Rules { check: scale_learning_rate::check, contrast: scale_learning_rate::contrast },
        Step::Warmup => Rules { check: warmup::check, contrast: warmup::contrast },
        Step::NovoGrad => Rules { check: novograd::check, contrast: novograd::contrast },
    }
}

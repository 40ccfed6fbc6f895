//! Gradient accumulation: the batches whose gradients add up to one update.

use tch::Tensor;

use super::optimizer::Optimizer;
use super::params::FlatTensors;

/// One batch of an update, with its place among those whose gradients add up (`--backward-passes-per-step`).
///
/// # Horovod
/// `hvd.DistributedOptimizer(opt, backward_passes_per_step=N)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccumulationStep {
    /// The first batch of an update starts from zero gradients.
    pub is_first: bool,
    /// After the last batch, the ranks' gradients are averaged and applied.
    pub is_last: bool,
    /// Batches of this update: fewer than asked for at the end of an epoch that does not divide evenly.
    pub of: usize,
}

impl AccumulationStep {
    /// The step of batch `index` (from 0) among the epoch's `batches`.
    pub fn at(index: usize, batches: usize, passes_per_step: usize) -> AccumulationStep {
        let first = index - index % passes_per_step;
        let of = passes_per_step.min(batches - first);
        AccumulationStep { is_first: index == first, is_last: index + 1 == first + of, of }
    }

    /// Adds this batch's gradients to those of the update, divided by the number of its batches.
    ///
    /// # Shapes
    /// `loss`: a scalar, the mean over the batch.
    pub fn backward(&self, loss: &Tensor, params: &mut FlatTensors, optimizer: &mut dyn Optimizer) {
        if self.is_first {
            params.zero_gradients();
        }
        if self.is_last {
            optimizer.prepare_for_backward();
        }
        match self.of {
            1 => loss.backward(),
            passes => (loss / passes as f64).backward(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_add_up_to_updates() {
        let passes = |batches, k| (0..batches).map(|index| AccumulationStep::at(index, batches, k)).collect::<Vec<_>>();
        assert!(passes(3, 1).iter().all(|pass| pass.is_first && pass.is_last && pass.of == 1));
        let five = passes(5, 2);
        assert_eq!(five.iter().map(|pass| pass.is_first).collect::<Vec<_>>(), [true, false, true, false, true]);
        assert_eq!(five.iter().map(|pass| pass.is_last).collect::<Vec<_>>(), [false, true, false, true, true]);
        assert_eq!(five.iter().map(|pass| pass.of).collect::<Vec<_>>(), [2, 2, 2, 2, 1]);
    }
}

//! The learning rate of every batch: scaling by size (step 8), gradual warmup (step 9), step decay.
//!
//! Never looks at a run: formulas only, so the trainer and the checks use the same ones.

use serde::{Deserialize, Serialize};

/// Everything the learning rate depends on.
///
/// # Horovod
/// `LearningRateWarmupCallback` and `LearningRateScheduleCallback`, with the multiplier applied once: the original
/// script multiplied the initial rate by a schedule that already contained it, which cost a factor of 100.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LearningRateSchedule {
    /// The rate before decay and after warmup: that of a single rank, times `size` with step 8.
    pub initial_lr: f64,
    /// Number of ranks.
    pub size: usize,
    /// Step 9: epochs of ramp; 0 for none.
    pub warmup_epochs: f64,
    /// Batches of one rank in one epoch.
    pub steps_per_epoch: usize,
}

impl LearningRateSchedule {
    /// The rate of batch `batch` (0-based) of epoch `epoch` (0-based).
    ///
    /// While warming up: `initial / size * (e * (size - 1) / warmup + 1)` with `e = epoch + (batch + 1) / steps`.
    pub fn lr(&self, epoch: usize, batch: usize) -> f64 {
        if (epoch as f64) < self.warmup_epochs && self.size > 1 {
            // Past the end of a fractional warmup the ramp stays where it ends.
            let e = (epoch as f64 + batch.saturating_add(1) as f64 / self.steps_per_epoch.max(1) as f64).min(self.warmup_epochs);
            return self.initial_lr / self.size as f64 * (e * (self.size as f64 - 1.0) / self.warmup_epochs + 1.0);
        }
        self.initial_lr * decay(epoch)
    }

    /// The last warmup epoch, counted from 1, if there is a ramp.
    pub fn last_warmup_epoch(&self) -> Option<usize> {
        (self.warmup_epochs > 0.0 && self.size > 1).then_some(self.warmup_epochs.ceil() as usize)
    }
}

/// 1, 0.1, 0.01, 0.001 from epochs 0, 15, 25, 35 on (0-based).
pub fn decay(epoch: usize) -> f64 {
    match epoch {
        0..15 => 1.0,
        15..25 => 1e-1,
        25..35 => 1e-2,
        _ => 1e-3,
    }
}

/// Batches of one rank in one epoch: `ceil(images / batch)`, divided by `size` with step 5 (rounded down, at least 1).
pub fn steps_per_epoch(images: usize, batch_size: usize, divide_by: usize) -> usize {
    (batches(images, batch_size) / divide_by.max(1)).max(1)
}

/// Validation batches of one rank: `3 * ceil(images / batch) / size` with step 5, the whole set once without.
pub fn validation_steps(images: usize, batch_size: usize, divide_by: Option<usize>) -> usize {
    let batches = batches(images, batch_size);
    divide_by.map_or(batches, |size| batches.saturating_mul(3) / size.max(1)).max(1)
}

/// The numbers may be another program's: no batch of 0 images ends the lab.
fn batches(images: usize, batch_size: usize) -> usize {
    images.div_ceil(batch_size.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAB: LearningRateSchedule = LearningRateSchedule { initial_lr: 0.04, size: 4, warmup_epochs: 5.0, steps_per_epoch: 29 };

    #[test]
    fn warmup_follows_the_published_ramp() {
        assert!((LAB.lr(0, 0) - 0.0102069).abs() < 5e-8);
        let ends: Vec<f64> = (0..5).map(|epoch| LAB.lr(epoch, 28)).collect();
        for (got, want) in ends.iter().zip([0.016, 0.022, 0.028, 0.034, 0.040]) {
            assert!((got - want).abs() < 1e-12, "{ends:?}");
        }
    }

    #[test]
    fn decay_is_applied_once_to_the_scaled_rate() {
        for (epoch, want) in [(5, 0.04), (14, 0.04), (15, 0.004), (24, 0.004), (25, 4e-4), (35, 4e-5), (39, 4e-5)] {
            assert!((LAB.lr(epoch, 0) - want).abs() < 1e-12);
        }
    }

    #[test]
    fn alone_nothing_changes() {
        let alone = LearningRateSchedule { initial_lr: 0.01, size: 1, ..LAB };
        assert_eq!(alone.lr(0, 0), 0.01);
        assert_eq!(alone.last_warmup_epoch(), None);
    }

    #[test]
    fn the_lab_counts_29_steps_and_15_validation_steps_at_4_ranks() {
        assert_eq!(steps_per_epoch(60_000, 512, 1), 118);
        assert_eq!(steps_per_epoch(60_000, 512, 4), 29);
        assert_eq!(validation_steps(10_000, 512, Some(4)), 15);
        assert_eq!(validation_steps(10_000, 512, None), 20);
        assert_eq!(steps_per_epoch(10, 64, 8), 1);
    }

    #[test]
    fn numbers_that_no_run_has_do_no_harm() {
        assert_eq!((steps_per_epoch(10, 0, 0), validation_steps(10, 0, Some(0))), (10, 30));
        assert_eq!(validation_steps(usize::MAX, 1, Some(1)), usize::MAX);
        let none = LearningRateSchedule { size: 0, steps_per_epoch: 0, ..LAB };
        assert!(none.lr(usize::MAX, usize::MAX) > 0.0);
        assert!(LAB.lr(0, usize::MAX) > 0.0, "past the end of the ramp");
    }
}

//! Whether accuracies without a sign are per cent: once a program prints one above 1, all later ones are.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::domain::user_metrics::Figure;

/// What is known of the accuracies of one program.
#[derive(Debug, Default)]
pub struct Percents(AtomicBool);

impl Percents {
    /// A figure as it is kept: an accuracy as [`Percents::fraction`] has it, any other as it is.
    pub fn told(&self, field: Figure, value: f64) -> Option<f64> {
        if matches!(field.name, "accuracy" | "val_accuracy") { self.fraction(value, false) } else { Some(value) }
    }

    /// An accuracy from 0 to 1; `None` if it is out of range, or if it could be per cent and nothing says whether it is.
    pub fn fraction(&self, value: f64, may_be_percent: bool) -> Option<f64> {
        if value > 1.0 && value <= 100.0 {
            self.0.store(true, Ordering::Relaxed);
        }
        match self.0.load(Ordering::Relaxed) {
            _ if !(0.0..=100.0).contains(&value) => None,
            true => Some(value / 100.0),
            false => Some(value).filter(|value| !may_be_percent || *value == 0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_accuracy_above_1_tells_of_those_behind_it() {
        let percents = Percents::default();
        assert_eq!([percents.fraction(0.98, false), percents.fraction(0.98, true)], [Some(0.98), None]);
        assert_eq!([percents.fraction(93.5, true), percents.fraction(0.5, true)], [Some(0.935), Some(0.005)]);
        assert_eq!(
            [percents.fraction(101.0, false), percents.fraction(-1.0, false), percents.fraction(f64::NAN, false)],
            [None; 3]
        );
    }
}
